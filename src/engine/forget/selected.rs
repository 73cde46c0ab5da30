//! Which URLs are meant, and what of them is to be overwritten.

use std::collections::HashSet;
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::archive::{RecordKind, Span};
use crate::engine::events::{CrawlEvent, MAX_TEXT};
use crate::frontier::{ForgetRules, Selection, ids_of};
use crate::journal::RecordPlace;
use crate::rows::{ArchiveNames, KEPT, PageRecord};
use crate::store::{Batch, Result, Store, Table, decode, encode, keys};
use crate::url::{self, HostKey, Identity, UrlId};

/// What is being forgotten: a row of `Meta`, from the first step to the last.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Forgetting {
    /// Ids of single URLs, under both names that each may have.
    pub(crate) urls: Vec<UrlId>,
    /// Hosts and prefixes.
    pub(crate) rules: ForgetRules,
}

impl Forgetting {
    /// Reads what is being forgotten.
    pub(crate) fn read(store: &dyn Store) -> Result<Option<Self>> {
        let row = store.get(Table::Meta, keys::meta::FORGETTING)?;
        row.map(|row| decode(Table::Meta, &row)).transpose()
    }

    /// What a person selected.
    pub(crate) fn of(selection: &Selection, identity: &Identity) -> Self {
        Self {
            urls: selection.ids(identity),
            rules: selection.into(),
        }
    }

    /// Adds what is being forgotten already.
    pub(crate) fn and(mut self, other: Self) -> Self {
        self.urls.extend(other.urls);
        self.urls.sort_unstable();
        self.urls.dedup();
        self.rules.hosts.extend(other.rules.hosts);
        self.rules.prefixes.extend(other.rules.prefixes);
        self
    }
}

/// Tells which URLs are meant.
pub(crate) struct Selected {
    urls: HashSet<UrlId>,
    rules: ForgetRules,
    identity: Identity,
}

impl Selected {
    pub(crate) fn new(forgetting: Forgetting, identity: Identity) -> Self {
        Self {
            urls: forgetting.urls.into_iter().collect(),
            rules: forgetting.rules,
            identity,
        }
    }

    /// Returns `true` if a URL is meant.
    pub(crate) fn has(&self, url: &str) -> bool {
        let Ok(url) = url::parse(url) else {
            return false;
        };
        let is_one = || {
            ids_of(&url, &self.identity)
                .iter()
                .any(|id| self.urls.contains(id))
        };
        self.rules.has(&url) || (!self.urls.is_empty() && is_one())
    }

    /// Returns `true` if a host is meant as a whole.
    pub(crate) fn has_host(&self, host: &HostKey) -> bool {
        self.rules.has_host(host)
    }

    /// Returns `true` if an event says something of what is meant.
    pub(crate) fn is_told_by(&self, event: &CrawlEvent) -> bool {
        let names = |word: &str| self.has(word.trim_end_matches([',', ':', ';']));
        let has_host = |host: &str| HostKey::parse(host).is_some_and(|it| self.has_host(&it));
        // A URL that was cut off may be one of them.
        let is_cut = |text: &str| {
            let last = text.rsplit(' ').next().unwrap_or_default();
            text.len() + 3 >= MAX_TEXT && last.starts_with("http")
        };
        event.host.as_deref().is_some_and(has_host)
            || event.text.split(' ').any(names)
            || is_cut(&event.text)
    }

    /// Returns `true` if the row of a page, under this key, is meant.
    pub(crate) fn has_page(&self, key: &[u8], url: &str) -> bool {
        let id = key.try_into().map(UrlId::from_bytes);
        id.is_ok_and(|id| self.urls.contains(&id)) || self.has(url)
    }
}

/// Something in a file of an archive that is to be overwritten: a row of `Meta`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Erasure {
    /// Name of the file.
    pub(crate) file: String,
    /// Offset of the record.
    pub(crate) offset: u64,
    /// Number of a body in the pack that the record is; `None` for the record as a whole.
    pub(crate) body: Option<u8>,
    /// Length of the record, in bytes.
    pub(crate) length: u64,
}

/// Returns what is to be overwritten of the record of a page that is judged again: it names what
/// goes, and another takes its place.
pub(crate) fn of_record(
    store: &dyn Store,
    names: &ArchiveNames,
    id: UrlId,
    page: &PageRecord,
) -> Result<Vec<Erasure>> {
    let mut all = Vec::new();
    if let Some((kind @ (RecordKind::Revisit | RecordKind::Metadata), place)) = &page.record {
        all.push(Erasure::record(&RecordPlace::of(names, *kind, place)));
    }
    if let Some((pack, number)) = KEPT.get(store, id.as_bytes())?.and_then(|it| it.pack) {
        all.push(Erasure::body(&RecordPlace::of_text(names, &pack), number));
    }
    Ok(all)
}

/// What stands in a key in place of the number of a body.
const WHOLE: u8 = u8::MAX;

impl Erasure {
    /// The record at a place.
    pub(crate) fn record(place: &RecordPlace) -> Self {
        Self {
            file: place.file.clone(),
            offset: place.offset,
            body: None,
            length: place.length,
        }
    }

    /// The record at a span of a file.
    pub(crate) fn at(path: &Path, (offset, length): Span) -> Self {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        Self {
            file: name.strip_suffix(".open").unwrap_or(&name).to_owned(),
            offset,
            body: None,
            length,
        }
    }

    /// A body of the pack at a place.
    pub(crate) fn body(place: &RecordPlace, number: u8) -> Self {
        Self {
            body: Some(number),
            ..Self::record(place)
        }
    }

    /// Returns the key of the row.
    pub(crate) fn key(&self) -> Vec<u8> {
        let number = self.body.unwrap_or(WHOLE);
        let (prefix, name) = (keys::meta::ERASE, self.file.as_bytes());
        // No name has a NUL, so that the files do not mix.
        [prefix, name, &[0], &self.offset.to_be_bytes(), &[number]].concat()
    }

    /// Writes the row.
    pub(crate) fn put(&self, batch: &mut Batch) {
        batch.put(Table::Meta, self.key(), encode(&self.length));
    }

    /// Reads a row.
    pub(crate) fn parse(key: &[u8], row: &[u8]) -> Option<Self> {
        let (rest, number) = key
            .strip_prefix(keys::meta::ERASE)?
            .split_last_chunk::<1>()?;
        let (rest, offset) = rest.split_last_chunk::<8>()?;
        let file = String::from_utf8(rest.strip_suffix(&[0])?.to_vec()).ok()?;
        Some(Self {
            file,
            offset: u64::from_be_bytes(*offset),
            body: (number[0] != WHOLE).then_some(number[0]),
            length: decode(Table::Meta, row).ok()?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::encode;

    #[test]
    fn rows_of_what_is_overwritten_are_in_the_order_of_the_files() {
        let of = |file: &str, offset, body| Erasure {
            file: file.to_owned(),
            offset,
            body,
            length: offset + 7,
        };
        let all = [
            of("a.warc.gz", 1, Some(0)),
            of("a.warc.gz", 1, None),
            of("a.warc.gz", 256, None),
            of("aa.warc.gz", 0, None),
        ];
        let keys: Vec<_> = all.iter().map(Erasure::key).collect();
        assert!(keys.is_sorted());
        for (it, key) in all.iter().zip(&keys) {
            let row = encode(&it.length);
            assert_eq!(Erasure::parse(key, &row).as_ref(), Some(it));
        }
        assert_eq!(Erasure::parse(b"erase/x", &encode(&1_u64)), None);
    }
}
