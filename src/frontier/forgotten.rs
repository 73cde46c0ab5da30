//! What a person had the crawl forget: it is not queued, not fetched and not recorded again, until
//! it is told to come back.
//!
//! A host or a prefix is a rule, in one row with all others. A single URL has a row under its id,
//! and none with its text: what is forgotten should not be told by the list of what is forgotten.
//! The pages that were forgotten by a rule have such rows, too. Once the rule is taken back they
//! tell which of the URLs that the crawl has seen may be queued once more.

use std::sync::Arc;

use arc_swap::ArcSwap;
use serde::{Deserialize, Serialize};

use crate::store::{Batch, Result, Store, Table, decode, encode, keys};
use crate::url::{self, HostKey, HostPattern, Identity, Url, UrlId};

/// Maximum number of hosts and prefixes in force together, and of those that were taken back. All
/// are read whenever URLs of a host are.
pub const MAX_RULES: usize = 10_000;

/// What a person asks to forget, or to bring back.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Selection {
    /// Single URLs.
    pub urls: Vec<String>,
    /// Single URLs by the ids under which they may be known, where they are not to be written down.
    pub ids: Vec<UrlId>,
    /// Hosts, each with its subdomains.
    pub hosts: Vec<HostPattern>,
    /// Beginnings of URLs.
    pub prefixes: Vec<String>,
}

impl Selection {
    /// Returns `true` if nothing is selected.
    pub fn is_empty(&self) -> bool {
        self.urls.is_empty()
            && self.ids.is_empty()
            && self.hosts.is_empty()
            && self.prefixes.is_empty()
    }

    /// Takes out what may come back: a URL, a host or a prefix that was given as such.
    pub fn take_out(&mut self, back: &Self, identity: &Identity) {
        let ids = back.ids(identity);
        let is_back = |id: &UrlId| ids.contains(id);
        self.ids.retain(|id| !is_back(id));
        self.urls.retain(|text| match url::parse(text) {
            Ok(url) => !ids_of(&url, identity).iter().any(is_back),
            Err(_) => true,
        });
        let rules = ForgetRules::from(back);
        self.hosts.retain(|host| !rules.hosts.contains(host));
        let written = |it: &String| url::parse(it).map_or_else(|_| it.clone(), String::from);
        self.prefixes
            .retain(|prefix| !rules.prefixes.contains(&written(prefix)));
    }

    /// Adds what another one selects.
    pub fn add(&mut self, other: Self) {
        self.urls.extend(other.urls);
        self.ids.extend(other.ids);
        self.hosts.extend(other.hosts);
        self.prefixes.extend(other.prefixes);
    }

    /// Returns the ids under which its single URLs may be known.
    pub fn ids(&self, identity: &Identity) -> Vec<UrlId> {
        let urls = self.urls.iter().filter_map(|it| url::parse(it).ok());
        let ids = urls.flat_map(|url| ids_of(&url, identity));
        self.ids.iter().copied().chain(ids).collect()
    }
}

/// Hosts and prefixes.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ForgetRules {
    /// Hosts, each with its subdomains.
    pub hosts: Vec<HostPattern>,
    /// Beginnings of URLs, as URLs are requested.
    pub prefixes: Vec<String>,
}

impl ForgetRules {
    /// Returns `true` if a URL is among them.
    pub fn has(&self, url: &Url) -> bool {
        let host = (!self.hosts.is_empty()).then(|| HostKey::of(url));
        host.is_some_and(|host| self.has_host(&host))
            || self.prefixes.iter().any(|it| url.as_str().starts_with(it))
    }

    /// Returns `true` if a host is among them as a whole.
    pub fn has_host(&self, host: &HostKey) -> bool {
        self.hosts.iter().any(|pattern| pattern.matches(host))
    }

    fn is_empty(&self) -> bool {
        self.hosts.is_empty() && self.prefixes.is_empty()
    }

    fn add(&mut self, other: &Self) {
        let hosts = other.hosts.iter().filter(|it| !self.hosts.contains(it));
        let hosts: Vec<_> = hosts.cloned().collect();
        self.hosts.extend(hosts);
        let prefixes = other.prefixes.iter();
        let prefixes = prefixes.filter(|it| !self.prefixes.contains(it));
        let prefixes: Vec<_> = prefixes.cloned().collect();
        self.prefixes.extend(prefixes);
    }

    fn remove(&mut self, other: &Self) {
        self.hosts.retain(|it| !other.hosts.contains(it));
        self.prefixes.retain(|it| !other.prefixes.contains(it));
    }

    fn len(&self) -> usize {
        self.hosts.len() + self.prefixes.len()
    }
}

impl From<&Selection> for ForgetRules {
    fn from(selection: &Selection) -> Self {
        // As URLs are written when they are requested.
        let prefixes = selection.prefixes.iter().map(|it| match url::parse(it) {
            Ok(url) => url.to_string(),
            Err(_) => it.clone(),
        });
        Self {
            hosts: selection.hosts.clone(),
            prefixes: prefixes.collect(),
        }
    }
}

/// What is forgotten, as far as it is kept in memory.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Forgotten {
    /// What is forgotten by rule.
    rules: ForgetRules,
    /// What was, and may come back.
    back: ForgetRules,
    /// Set if URLs have rows of their own.
    has_urls: bool,
}

/// What is known of a URL that may be forgotten.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Remembrance {
    /// Nothing: it is as any other.
    Usual,
    /// It is forgotten.
    Forgotten,
    /// It was, and may be queued although the crawl has seen it.
    Back,
}

/// What is forgotten, for all who ask while a crawl runs.
pub type SharedForgotten = Arc<ArcSwap<Forgotten>>;

/// Returns the key of the row of a URL.
fn key(id: UrlId) -> Vec<u8> {
    [keys::meta::FORGOTTEN_URL, id.as_bytes()].concat()
}

impl Forgotten {
    /// Reads what a crawl was told to forget.
    pub fn read(store: &dyn Store) -> Result<Self> {
        let row = store.get(Table::Meta, keys::meta::FORGOTTEN)?;
        row.map_or(Ok(Self::default()), |row| decode(Table::Meta, &row))
    }

    /// Returns `true` if nothing was ever forgotten.
    pub fn is_empty(&self) -> bool {
        self.rules.is_empty() && self.back.is_empty() && !self.has_urls
    }

    /// Returns the rules in force.
    pub fn rules(&self) -> &ForgetRules {
        &self.rules
    }

    /// Returns what is known of a URL, which has one of these ids.
    pub fn of(&self, url: &Url, ids: &[UrlId], store: &dyn Store) -> Result<Remembrance> {
        if self.is_empty() {
            return Ok(Remembrance::Usual);
        }
        if self.rules.has(url) {
            return Ok(Remembrance::Forgotten);
        }
        if !self.has_urls {
            return Ok(Remembrance::Usual);
        }
        for id in ids {
            if store.get(Table::Meta, &key(*id))?.is_some() {
                return Ok(match self.back.has(url) {
                    true => Remembrance::Back,
                    false => Remembrance::Forgotten,
                });
            }
        }
        Ok(Remembrance::Usual)
    }

    /// Returns the time since which a URL is forgotten, in milliseconds since 1970; `None` if it is
    /// not, or no row says so.
    pub fn since(id: UrlId, store: &dyn Store) -> Result<Option<u64>> {
        let row = store.get(Table::Meta, &key(id))?;
        row.map(|row| decode(Table::Meta, &row)).transpose()
    }

    /// Adds rules, and notes whether URLs have rows.
    ///
    /// # Errors
    ///
    /// The number of rules that there would be, if it is too large.
    pub fn add(&mut self, rules: &ForgetRules, has_urls: bool) -> std::result::Result<(), usize> {
        let mut all = self.rules.clone();
        all.add(rules);
        if all.len() > MAX_RULES {
            return Err(all.len());
        }
        self.rules = all;
        self.back.remove(rules);
        self.has_urls |= has_urls;
        Ok(())
    }

    /// Notes that URLs have rows.
    pub fn note_urls(&mut self) {
        self.has_urls = true;
    }

    /// Takes rules back. Returns how many of them were in force.
    pub fn take_back(&mut self, rules: &ForgetRules) -> usize {
        let before = self.rules.len();
        self.rules.remove(rules);
        let known = before - self.rules.len();
        if known > 0 {
            self.back.add(rules);
            // The oldest are given up: their URLs are brought back one by one.
            let excess = self.back.len().saturating_sub(MAX_RULES);
            let hosts = excess.min(self.back.hosts.len());
            self.back.hosts.drain(..hosts);
            self.back.prefixes.drain(..excess - hosts);
        }
        known
    }

    /// Writes the row.
    pub fn put(&self, batch: &mut Batch) {
        batch.put(Table::Meta, keys::meta::FORGOTTEN, encode(self));
    }

    /// Writes that a URL is forgotten, with the time in milliseconds since 1970.
    pub fn put_url(id: UrlId, now: u64, batch: &mut Batch) {
        batch.put(Table::Meta, key(id), encode(&now));
    }

    /// Removes the row of a URL.
    pub fn remove_url(id: UrlId, batch: &mut Batch) {
        batch.delete(Table::Meta, key(id));
    }
}

/// Returns the ids under which a URL may be known: as a page, and as it is written.
pub fn ids_of(url: &Url, identity: &Identity) -> [UrlId; 2] {
    [identity.id(url), identity.as_written(url)]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::{Durability, Memory};

    #[test]
    fn what_may_come_back_is_selected_no_more() {
        let secret = crate::url::Secret::from_bytes([3; crate::url::Secret::LEN]);
        let identity = Identity::new(crate::url::Canonicalizer::default(), secret);
        let of = |urls: &[&str], hosts: &[&str], prefixes: &[&str]| Selection {
            urls: urls.iter().map(|it| (*it).to_owned()).collect(),
            hosts: hosts.iter().map(|it| it.parse().unwrap()).collect(),
            prefixes: prefixes.iter().map(|it| (*it).to_owned()).collect(),
            ..Selection::default()
        };
        let all = of(
            &["http://a.example/1", "http://a.example/2"],
            &["b.example", "c.example"],
            &["http://d.example", "http://e.example/"],
        );
        let by_ids = Selection {
            ids: all.ids(&identity),
            urls: Vec::new(),
            ..all.clone()
        };
        let back = of(
            &["http://a.example/1#x"],
            &["b.example"],
            &["http://d.example/"],
        );
        for mut selection in [all, by_ids] {
            selection.take_out(&back, &identity);
            let left = of(
                &["http://a.example/2"],
                &["c.example"],
                &["http://e.example/"],
            );
            assert_eq!(selection.ids(&identity), left.ids(&identity));
            assert_eq!(selection.hosts, left.hosts);
            assert_eq!(selection.prefixes, left.prefixes);
        }
        let mut none = of(&["http://a.example/1"], &[], &[]);
        none.take_out(&back, &identity);
        assert!(none.is_empty());
    }

    fn rules(hosts: &[&str], prefixes: &[&str]) -> ForgetRules {
        ForgetRules::from(&Selection {
            hosts: hosts.iter().map(|it| it.parse().unwrap()).collect(),
            prefixes: prefixes.iter().map(|it| (*it).to_owned()).collect(),
            ..Selection::default()
        })
    }

    #[test]
    fn rules_meet_what_they_name_and_nothing_else() {
        let rules = rules(&["a.example"], &["https://b.example/people/"]);
        let has = |url: &str| rules.has(&url::parse(url).unwrap());
        assert!(has("http://a.example/") && has("https://www.a.example/x?y"));
        assert!(has("https://b.example/people/") && has("https://b.example/people/x"));
        assert!(!has("https://b.example/people") && !has("http://b.example/people/x"));
        assert!(!has("http://aa.example/") && !has("https://b.example/"));
    }

    #[test]
    fn what_comes_back_is_what_was_forgotten() {
        let store = Memory::default();
        let url = url::parse("http://a.example/1").unwrap();
        let other = url::parse("http://a.example/2").unwrap();
        let ids = [UrlId::from_bytes([1; 16])];
        let none = [UrlId::from_bytes([2; 16])];
        let mut forgotten = Forgotten::read(&store).unwrap();
        assert!(forgotten.is_empty());
        forgotten.add(&rules(&["a.example"], &[]), true).unwrap();
        let mut batch = Batch::new();
        Forgotten::put_url(ids[0], 7, &mut batch);
        forgotten.put(&mut batch);
        store.commit(batch, Durability::Disk).unwrap();
        let mut forgotten = Forgotten::read(&store).unwrap();
        let of = |it: &Forgotten, url, ids: &[UrlId]| it.of(url, ids, &store).unwrap();
        assert_eq!(of(&forgotten, &url, &ids), Remembrance::Forgotten);
        assert_eq!(of(&forgotten, &other, &none), Remembrance::Forgotten);
        assert_eq!(Forgotten::since(ids[0], &store).unwrap(), Some(7));
        assert_eq!(forgotten.take_back(&rules(&["b.example"], &[])), 0);
        assert_eq!(forgotten.take_back(&rules(&["a.example"], &[])), 1);
        assert_eq!(of(&forgotten, &url, &ids), Remembrance::Back);
        assert_eq!(of(&forgotten, &other, &none), Remembrance::Usual);
        forgotten.add(&rules(&["a.example"], &[]), true).unwrap();
        assert_eq!(of(&forgotten, &url, &ids), Remembrance::Forgotten);
    }

    #[test]
    fn there_are_not_too_many_rules() {
        let mut forgotten = Forgotten::default();
        let many: Vec<String> = (0..MAX_RULES).map(|n| format!("http://{n}/")).collect();
        let many: Vec<&str> = many.iter().map(String::as_str).collect();
        forgotten.add(&rules(&[], &many), false).unwrap();
        let one_more = forgotten.add(&rules(&["a.example"], &[]), false);
        assert_eq!(one_more, Err(MAX_RULES + 1));
        assert!(
            !forgotten
                .rules()
                .has_host(&HostKey::parse("http://a.example").unwrap())
        );
    }
}
