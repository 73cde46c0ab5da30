//! Bytes that deduplication saved: a row of `Meta`, so that they need not be added up over all
//! pages.

use std::collections::BTreeMap;

use super::{CrawlState, Fate, PAGES, PageRecord};
use crate::archive::RecordKind;
use crate::store::{Batch, Durability, Result, Store, Table, decode, encode, keys};

/// Bytes of bodies that did not have to be stored because they repeat others, by the name of the
/// tier that found that. Counted at the first answer of each page, and never taken back.
pub type SavedBytes = BTreeMap<String, u64>;

/// Reads what a crawl has saved; `None` if it was begun by a version that did not count it.
pub fn saved_bytes(store: &dyn Store, state: &CrawlState) -> Result<Option<SavedBytes>> {
    match store.get(Table::Meta, keys::meta::SAVED)? {
        Some(row) => decode(Table::Meta, &row).map(Some),
        None => Ok((state.sequence == 0).then(SavedBytes::new)),
    }
}

/// Counts what a crawl has saved that was begun by a version that did not, and notes it: what its
/// duplicates save now, as far as they are known. Reads the page of each.
pub fn count_saved(store: &dyn Store) -> Result<SavedBytes> {
    /// Duplicates that are read at once.
    const ROWS: usize = 1_000;
    let mut sum = SavedBytes::new();
    let mut from = Vec::new();
    loop {
        let rows = store.range(Table::Clusters, &[], &from, ROWS)?;
        let members = rows.iter().filter_map(|(key, _)| keys::parse_member(key));
        let members: Vec<_> = members.collect();
        let ids: Vec<&[u8]> = members.iter().map(|(_, id)| &id[..]).collect();
        let pages = store.get_many(Table::Pages, &ids)?;
        for ((cluster, _), row) in members.iter().zip(pages) {
            let Some(page) = row.map(|row| PAGES.decode(&row)).transpose()? else {
                continue;
            };
            // The page may have left the cluster.
            if let Some(duplicate) = page.duplicate().filter(|it| it.of == *cluster) {
                let name = duplicate.tier.name().to_owned();
                *sum.entry(name).or_default() += saved_by(&page);
            }
        }
        match rows.last() {
            Some((last, _)) if rows.len() == ROWS => from = [&last[..], &[0]].concat(),
            _ => break,
        }
    }
    let mut batch = Batch::new();
    batch.put(Table::Meta, keys::meta::SAVED, encode(&sum));
    store.commit(batch, Durability::Disk)?;
    Ok(sum)
}

/// Bytes of a page's body that are not in the archive.
pub fn saved_by(page: &PageRecord) -> u64 {
    let is_stored = matches!(page.record, Some((RecordKind::Response, _)));
    match &page.fate {
        Fate::Answered { size, .. } if !is_stored => *size,
        _ => 0,
    }
}

/// Adds what a commit saves, and returns the sum if it has changed. The first
/// commit of a crawl writes the row in any case: from then on it is known that it is counted.
pub fn add_saved(
    before: &SavedBytes,
    more: &SavedBytes,
    is_first: bool,
    batch: &mut Batch,
) -> Option<SavedBytes> {
    if more.is_empty() && !is_first {
        return None;
    }
    let mut sum = before.clone();
    for (tier, bytes) in more {
        *sum.entry(tier.clone()).or_default() += bytes;
    }
    batch.put(Table::Meta, keys::meta::SAVED, encode(&sum));
    Some(sum)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::{Durability, Memory};

    #[test]
    fn what_is_saved_is_known_if_it_was_counted_from_the_beginning() {
        let store = Memory::default();
        let at = |sequence| CrawlState {
            sequence,
            ..CrawlState::default()
        };
        let begun = saved_bytes(&store, &at(0)).unwrap();
        assert_eq!(begun, Some(SavedBytes::new()));
        assert_eq!(saved_bytes(&store, &at(1)).unwrap(), None);
        let commit = |more: &[(&str, u64)], is_first: bool| {
            let more = more
                .iter()
                .map(|(tier, bytes)| ((*tier).to_owned(), *bytes));
            let before = saved_bytes(&store, &at(u64::from(!is_first))).unwrap()?;
            let mut batch = Batch::new();
            let sum = add_saved(&before, &more.collect(), is_first, &mut batch);
            store.commit(batch, Durability::Process).unwrap();
            sum
        };
        assert_eq!(commit(&[("near", 3)], false), None);
        assert_eq!(commit(&[], true), Some(SavedBytes::new()));
        assert_eq!(commit(&[], false), None);
        commit(&[("near", 3), ("raw", 4)], false);
        let sum = commit(&[("near", 5)], false).unwrap();
        assert_eq!((sum["near"], sum["raw"]), (8, 4));
        assert_eq!(saved_bytes(&store, &at(4)).unwrap(), Some(sum));
    }
}
