//! The scope of a crawl: which URLs share enough with a seed to be followed.

use std::collections::HashSet;
use std::convert::Infallible;

use serde::{Deserialize, Serialize};

use crate::url::{self, HostKey, Site, Url};

/// What a URL must share with a seed to be followed.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum ScopeKind {
    /// The host name, and the port if it is not the default port. http and https are equal.
    #[default]
    Host,
    /// The registrable domain: `www.example.co.uk` and `example.co.uk` are equal.
    Domain,
    /// The URL of the seed up to its last slash.
    Prefix,
    /// Nothing: every link is followed.
    Any,
}

/// Where a seed that redirects takes the scope along to.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum MovedSeeds {
    /// Nowhere.
    Never,
    /// To other hosts of its registrable domain, as from `example.org` to `www.example.org`.
    Domain,
    /// There, and to another site if it has moved for good (301 or 308).
    #[default]
    Permanent,
}

/// The scope of a crawl: its kind, and one entry per host, domain or prefix of the seeds. It grows
/// with the seeds, not with the crawl.
#[derive(Debug, Clone, Default)]
pub struct Scope {
    kind: ScopeKind,
    moved_seeds: MovedSeeds,
    /// Entries of the seeds, as far as they count, each behind its letter.
    given: HashSet<String>,
    /// Those of URLs that seeds have moved to.
    moved: HashSet<String>,
    /// Set if there are entries of seeds with a scope of their own.
    has_own: bool,
}

/// Kinds that need entries.
const KINDS: [ScopeKind; 3] = [ScopeKind::Host, ScopeKind::Domain, ScopeKind::Prefix];

/// Stands before the letter of an entry of a URL that a seed has moved to.
const MOVED: u8 = b'm';

impl Scope {
    /// An empty scope of a kind.
    pub fn new(kind: ScopeKind, moved_seeds: MovedSeeds) -> Self {
        Self {
            kind,
            moved_seeds,
            ..Self::default()
        }
    }

    /// Adds a seed, which may have a scope of its own. Returns its new entries in their stored
    /// form, which [`Scope::restore`] reads.
    pub fn add_seed(&mut self, seed: &Url, own: Option<ScopeKind>) -> Vec<Vec<u8>> {
        let entries = self.new_entries(seed, own);
        for entry in &entries {
            self.restore(entry, &[]);
        }
        entries
    }

    /// The entries that a seed would add, in their stored form.
    pub fn new_entries(&self, seed: &Url, own: Option<ScopeKind>) -> Vec<Vec<u8>> {
        let new = entries_of(seed, own).into_iter();
        let new = new.filter(|entry| !self.given.contains(entry));
        new.map(String::into_bytes).collect()
    }

    /// Returns `true` if a seed at `from`, which may have a scope of its own, takes the scope along
    /// when it redirects to `to`. A prefix does not become one that contains it: a part of a site
    /// that leads to its page for logging in is not the whole site.
    pub fn moves(
        &self,
        (from, to): (&Url, &Url),
        own: Option<ScopeKind>,
        is_permanent: bool,
    ) -> bool {
        let of_prefix = |url| entry(ScopeKind::Prefix, b'p', url, directory(url));
        let is_prefix = own.unwrap_or(self.kind) == ScopeKind::Prefix;
        if is_prefix && of_prefix(from).starts_with(&of_prefix(to)) {
            return false;
        }
        let takes = match self.moved_seeds {
            MovedSeeds::Never => false,
            MovedSeeds::Permanent if is_permanent => true,
            MovedSeeds::Permanent | MovedSeeds::Domain => Site::of(from) == Site::of(to),
        };
        takes && !self.admits(to)
    }

    /// Adds what a seed has moved to. Returns `true` if that is new.
    pub fn add_moved(&mut self, (from, to): (&Url, &Url), own: Option<ScopeKind>) -> bool {
        let entries = self.moved_entries((from, to), own);
        let was_admitted = self.admits(to);
        for (entry, row) in &entries {
            self.restore(entry, row);
        }
        !was_admitted && self.admits(to)
    }

    /// The entries that what a seed has moved to would add, in their stored form: key and row.
    pub fn moved_entries(
        &self,
        (from, to): (&Url, &Url),
        own: Option<ScopeKind>,
    ) -> Vec<(Vec<u8>, Vec<u8>)> {
        let new = entries_of(to, own).into_iter();
        let new = new.filter(|it| !self.given.contains(it) && !self.moved.contains(it));
        let row = format!("{}\n{}", HostKey::of(from), HostKey::of(to)).into_bytes();
        new.map(|entry| ([&[MOVED], entry.as_bytes()].concat(), row.clone()))
            .collect()
    }

    /// Adds a stored entry. One for a kind other than the scope's own is not held in memory.
    pub fn restore(&mut self, entry: &[u8], row: &[u8]) {
        let (entry, held) = match entry.split_first() {
            Some((&MOVED, entry)) if counts(self.moved_seeds, row) => (entry, &mut self.moved),
            Some((&MOVED, _)) | None => return,
            Some(_) => (entry, &mut self.given),
        };
        let is_own = entry.first().is_some_and(u8::is_ascii_uppercase);
        self.has_own |= is_own;
        if is_own || entry.first().copied() == letter(self.kind) {
            held.insert(String::from_utf8_lossy(entry).into_owned());
        }
    }

    /// Whether `url` is followed.
    pub fn admits(&self, url: &Url) -> bool {
        let admitted = admits((self.kind, self.has_own), url, |entry| {
            Ok::<_, Infallible>(self.given.contains(entry) || self.moved.contains(entry))
        });
        admitted.is_ok_and(|by| by.is_some())
    }
}

/// By which kind of scope `url` is followed, that of the crawl or a seed's own, given the stored
/// entries; `None` if it is not. `get` returns the row of an entry.
pub fn admits_by_entries<E>(
    (kind, moved_seeds): (ScopeKind, MovedSeeds),
    url: &Url,
    mut get: impl FnMut(&[u8]) -> Result<Option<Vec<u8>>, E>,
) -> Result<Option<ScopeKind>, E> {
    admits((kind, true), url, |entry| {
        if get(entry.as_bytes())?.is_some() {
            return Ok(true);
        }
        let moved = get(&[&[MOVED], entry.as_bytes()].concat())?;
        Ok(moved.is_some_and(|row| counts(moved_seeds, &row)))
    })
}

fn admits<E>(
    (kind, has_own): (ScopeKind, bool),
    url: &Url,
    mut has: impl FnMut(&str) -> Result<bool, E>,
) -> Result<Option<ScopeKind>, E> {
    let Some(usual) = letter(kind) else {
        return Ok(Some(kind));
    };
    if admits_kind(kind, usual, url, &mut has)? {
        return Ok(Some(kind));
    }
    for kind in KINDS.into_iter().filter(|_| has_own) {
        let own = letter(kind).unwrap_or(usual).to_ascii_uppercase();
        if admits_kind(kind, own, url, &mut has)? {
            return Ok(Some(kind));
        }
    }
    Ok(None)
}

fn admits_kind<E>(
    kind: ScopeKind,
    letter: u8,
    url: &Url,
    has: &mut impl FnMut(&str) -> Result<bool, E>,
) -> Result<bool, E> {
    let entry = entry(kind, letter, url, url.path());
    if kind != ScopeKind::Prefix {
        return has(&entry);
    }
    // Every prefix ends with a slash, so the prefixes of the URL are tried, longest first.
    for (at, _) in entry.rmatch_indices('/') {
        if has(&entry[..=at])? {
            return Ok(true);
        }
    }
    Ok(false)
}

/// The letter before the entries that count for a kind; a capital stands before those of seeds that
/// have this kind of their own.
fn letter(kind: ScopeKind) -> Option<u8> {
    match kind {
        ScopeKind::Host => Some(b'h'),
        ScopeKind::Domain => Some(b'd'),
        ScopeKind::Prefix => Some(b'p'),
        ScopeKind::Any => None,
    }
}

/// The entries of a seed. Those for every kind are stored, so that a crawl can be resumed with
/// another kind, unless the seed has one of its own.
fn entries_of(seed: &Url, own: Option<ScopeKind>) -> Vec<String> {
    let kinds = KINDS
        .into_iter()
        .filter(|kind| own.is_none_or(|own| own == *kind));
    let entries = kinds.filter_map(|kind| {
        let letter = letter(kind)?;
        let letter = match own {
            Some(_) => letter.to_ascii_uppercase(),
            None => letter,
        };
        Some(entry(kind, letter, seed, directory(seed)))
    });
    entries.collect()
}

/// The path of a URL up to its last slash.
fn directory(url: &Url) -> &str {
    let path = url.path();
    let last = path.rfind('/').unwrap_or(0);
    path.get(..=last).unwrap_or("/")
}

fn entry(kind: ScopeKind, letter: u8, url: &Url, path: &str) -> String {
    let letter = char::from(letter);
    match kind {
        ScopeKind::Domain => format!("{letter}{}", Site::of(url).as_str()),
        ScopeKind::Prefix => format!("{letter}{}{path}", host(url)),
        ScopeKind::Host | ScopeKind::Any => format!("{letter}{}", host(url)),
    }
}

/// Whether the entry of a move counts, by its row: the host of the seed and that of its target.
fn counts(moved_seeds: MovedSeeds, row: &[u8]) -> bool {
    match moved_seeds {
        MovedSeeds::Never => false,
        MovedSeeds::Permanent => true,
        MovedSeeds::Domain => {
            let text = std::str::from_utf8(row).unwrap_or_default();
            let hosts = text.split_once('\n');
            let sites = hosts.and_then(|(from, to)| Some((site(from)?, site(to)?)));
            sites.is_some_and(|(from, to)| from == to)
        }
    }
}

fn site(url: &str) -> Option<Site> {
    url::parse(url).ok().map(|url| Site::of(&url))
}

/// The host name, and the port if it is not the default port.
fn host(url: &Url) -> String {
    let name = url.host_str().unwrap_or_default().trim_end_matches('.');
    match url.port() {
        Some(port) => format!("{name}:{port}"),
        None => name.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::url::parse;

    fn check(kind: ScopeKind, seed: &str, admitted: &[&str], refused: &[&str]) {
        let new = || Scope::new(kind, MovedSeeds::Never);
        let mut scope = new();
        let kept = scope.add_seed(&parse(seed).unwrap(), None);
        let mut restored = new();
        for entry in &kept {
            restored.restore(entry, &[]);
        }
        let by_entries = |url: &str| {
            let of = (kind, MovedSeeds::Never);
            admits_by_entries(of, &parse(url).unwrap(), |entry| {
                let is_kept = kept.iter().any(|it| it == entry);
                Ok::<_, Infallible>(is_kept.then(Vec::new))
            })
        };
        assert!(
            admitted
                .iter()
                .all(|url| by_entries(url).unwrap() == Some(kind))
        );
        assert!(!refused.iter().any(|url| by_entries(url).unwrap().is_some()));
        for scope in [&scope, &restored] {
            for url in admitted {
                assert!(
                    scope.admits(&parse(url).unwrap()),
                    "{kind:?} {seed} must admit {url}"
                );
            }
            for url in refused {
                assert!(
                    !scope.admits(&parse(url).unwrap()),
                    "{kind:?} {seed} must refuse {url}"
                );
            }
        }
    }

    #[test]
    fn by_host() {
        check(
            ScopeKind::Host,
            "http://www.example.org/a/b",
            &[
                "http://www.example.org/",
                "https://www.example.org/x",
                "http://WWW.example.org:80/",
            ],
            &[
                "http://example.org/",
                "http://www.example.org:8080/",
                "http://www.example.org.evil.net/",
            ],
        );
        check(
            ScopeKind::Host,
            "http://127.0.0.1:8000/",
            &["http://127.0.0.1:8000/x"],
            &["http://127.0.0.1/", "http://127.0.0.2:8000/"],
        );
    }

    #[test]
    fn by_domain() {
        check(
            ScopeKind::Domain,
            "http://www.example.co.uk/",
            &["http://example.co.uk/", "https://shop.example.co.uk:444/"],
            &["http://other.co.uk/", "http://co.uk/"],
        );
    }

    #[test]
    fn by_prefix() {
        check(
            ScopeKind::Prefix,
            "http://example.org/docs/index.html",
            &[
                "http://example.org/docs/",
                "https://example.org/docs/a/b?c",
                "http://example.org/docs/x",
            ],
            &[
                "http://example.org/",
                "http://example.org/docs",
                "http://example.org/docsy/",
                "http://a.example.org/docs/",
            ],
        );
        check(
            ScopeKind::Prefix,
            "http://example.org",
            &["http://example.org/anything"],
            &["http://example.com/"],
        );
    }

    #[test]
    fn any() {
        check(
            ScopeKind::Any,
            "http://example.org/",
            &["https://example.com/"],
            &[],
        );
    }

    #[test]
    fn seeds_add_up_and_repeat_nothing() {
        let mut scope = Scope::new(ScopeKind::Host, MovedSeeds::Never);
        scope.add_seed(&parse("http://a.org/").unwrap(), None);
        let again = scope.add_seed(&parse("http://a.org/other").unwrap(), None);
        assert!(!again.iter().any(|entry| entry[0] == b'h'));
        scope.add_seed(&parse("http://b.org/").unwrap(), None);
        assert!(scope.admits(&parse("http://a.org/1").unwrap()));
        assert!(scope.admits(&parse("http://b.org/1").unwrap()));
    }

    #[test]
    fn a_part_of_a_site_does_not_become_the_whole_by_a_redirect() {
        let check = |from: &str, to: &str, expected| {
            let (from, to) = (parse(from).unwrap(), parse(to).unwrap());
            let mut scope = Scope::new(ScopeKind::Prefix, MovedSeeds::default());
            scope.add_seed(&from, None);
            assert_eq!(
                scope.moves((&from, &to), None, false),
                expected,
                "{from} {to}"
            );
            let mut scope = Scope::new(ScopeKind::Host, MovedSeeds::default());
            scope.add_seed(&from, Some(ScopeKind::Prefix));
            let own = Some(ScopeKind::Prefix);
            assert_eq!(
                scope.moves((&from, &to), own, false),
                expected,
                "{from} {to}"
            );
        };
        // A part that was moved elsewhere is that part still.
        check("http://a.org/docs/", "http://a.org/en/docs/", true);
        check("http://a.org/docs/", "http://www.a.org/docs/", true);
        check("http://a.org/members/", "http://a.org/login", false);
        check("http://a.org/a/b/c", "http://a.org/a/", false);
        check("http://a.org/docs/", "http://a.org/docs/1", false);
    }

    #[test]
    fn what_seeds_have_moved_to_counts_as_long_as_the_setting_says_so() {
        let url = |text: &str| parse(text).unwrap();
        let check = |moved_seeds, to: &str, is_permanent, expected| {
            let (from, to) = (url("http://a.org/"), url(to));
            let mut scope = Scope::new(ScopeKind::Host, moved_seeds);
            scope.add_seed(&from, None);
            let moves = scope.moves((&from, &to), None, is_permanent);
            assert_eq!(moves, expected, "{moved_seeds:?} {to}");
            if !moves {
                return;
            }
            let rows = scope.moved_entries((&from, &to), None);
            assert!(scope.add_moved((&from, &to), None) && scope.admits(&to));
            assert!(!scope.add_moved((&from, &to), None));
            for setting in [MovedSeeds::Never, MovedSeeds::Domain, MovedSeeds::Permanent] {
                let mut later = Scope::new(ScopeKind::Host, setting);
                for (entry, row) in &rows {
                    later.restore(entry, row);
                }
                let by_entries = admits_by_entries((ScopeKind::Host, setting), &to, |entry| {
                    let row = rows.iter().find(|(key, _)| key == entry);
                    Ok::<_, Infallible>(row.map(|(_, row)| row.clone()))
                });
                assert_eq!(by_entries.map(|by| by.is_some()), Ok(later.admits(&to)));
                let is_of_domain = Site::of(&from) == Site::of(&to);
                let holds = match setting {
                    MovedSeeds::Never => false,
                    MovedSeeds::Domain => is_of_domain,
                    MovedSeeds::Permanent => true,
                };
                assert_eq!(later.admits(&to), holds, "{setting:?} {to}");
            }
        };
        let (www, other) = ("http://www.a.org/", "http://b.org/");
        for (to, is_permanent, expected) in [
            (www, false, [false, true, true]),
            (www, true, [false, true, true]),
            (other, false, [false, false, false]),
            (other, true, [false, false, true]),
            // It is in scope anyway.
            ("https://a.org/x", true, [false, false, false]),
        ] {
            check(MovedSeeds::Never, to, is_permanent, expected[0]);
            check(MovedSeeds::Domain, to, is_permanent, expected[1]);
            check(MovedSeeds::Permanent, to, is_permanent, expected[2]);
        }
    }

    #[test]
    fn a_seed_that_is_given_stays_when_the_move_there_is_taken_back() {
        let (from, to) = (
            parse("http://a.org/").unwrap(),
            parse("http://b.org/").unwrap(),
        );
        let mut scope = Scope::new(ScopeKind::Host, MovedSeeds::Permanent);
        let moved = scope.moved_entries((&from, &to), None);
        scope.add_moved((&from, &to), None);
        let given = scope.add_seed(&to, None);
        let mut later = Scope::new(ScopeKind::Host, MovedSeeds::Never);
        for (entry, row) in &moved {
            later.restore(entry, row);
        }
        assert!(!later.admits(&to));
        for entry in &given {
            later.restore(entry, &[]);
        }
        assert!(later.admits(&to));
    }

    #[test]
    fn a_seed_may_have_a_scope_of_its_own() {
        let url = |text: &str| parse(text).unwrap();
        for kind in [ScopeKind::Host, ScopeKind::Prefix] {
            let mut scope = Scope::new(kind, MovedSeeds::Never);
            scope.add_seed(&url("http://a.org/x/"), None);
            let own = Some(ScopeKind::Prefix);
            let mut kept = scope.add_seed(&url("http://b.org/docs/"), own);
            kept.extend(scope.add_seed(&url("http://c.org/"), Some(ScopeKind::Domain)));
            kept.extend(scope.add_seed(&url("http://d.org/"), Some(ScopeKind::Any)));
            let check = |text: &str, expected| {
                assert_eq!(scope.admits(&url(text)), expected, "{kind:?} {text}");
                let of = (kind, MovedSeeds::Never);
                let by_entries = admits_by_entries(of, &url(text), |entry| {
                    let is_kept = kept.iter().any(|it| it == entry);
                    Ok::<_, Infallible>(is_kept.then(Vec::new))
                });
                if !text.contains("a.org") {
                    assert_eq!(
                        by_entries.map(|by| by.is_some()),
                        Ok(expected),
                        "{kind:?} {text}"
                    );
                }
            };
            check("http://a.org/x/y", true);
            check("http://a.org/z", kind == ScopeKind::Host);
            check("http://b.org/docs/x", true);
            check("http://b.org/", false);
            check("http://www.c.org/", true);
            // What is found from that seed is admitted by the seed, not by where it is.
            check("http://d.org/x", false);
        }
    }
}
