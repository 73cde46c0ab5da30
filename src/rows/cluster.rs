//! Clusters of duplicates: who belongs to which original, and which URL a cluster is best called by.
//!
//! A cluster is named by its original's document. Its members are keys in `Clusters`, best first, written
//! in the batch that writes their records; what is kept of a duplicate is in its record, once. The
//! original has no row there.
//!
//! The original is the earliest, and stays it: it is what new pages are compared with and what
//! revisit records refer to, so a better URL that comes later must not change either. Which member
//! is canonical is decided when somebody asks, from what its members say by then.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use super::PAGES;
use super::page_record::PageRecord;
use super::rank::{Claim, Merits, Rank};
use crate::dedup::{Document, DocumentId};
use crate::store::{Result, Store, Table, keys};
use crate::url::{Identity, UrlId};

/// Words of members about who is canonical that are heard; there may be a million of them.
const MAX_NAMINGS: usize = 256;

/// The original of a cluster, as its page stands now.
pub struct Head {
    /// Its page.
    pub id: UrlId,
    /// Its record.
    pub page: PageRecord,
    cluster: DocumentId,
}

impl Head {
    /// The original that a member of the cluster names; `None` if its page is not known.
    pub fn read(store: &dyn Store, cluster: DocumentId, id: UrlId) -> Result<Option<Self>> {
        let page = PAGES.get(store, id.as_bytes())?;
        Ok(page.map(|page| Self { id, page, cluster }))
    }

    /// The document, while the page still is what the members repeat.
    pub fn document(&self) -> Option<&Document> {
        let document = self.page.original();
        document.filter(|document| document.id == self.cluster)
    }

    /// The URL that its cluster is best called by: the one that most members name as canonical, else the
    /// best by rank. Only who belongs to the cluster counts.
    pub fn canonical(&self, store: &dyn Store, identity: &Identity) -> Result<String> {
        let mut votes: BTreeMap<UrlId, usize> = BTreeMap::new();
        let prefix = keys::canonical_votes(self.cluster);
        for (key, _) in store.range(Table::Clusters, &prefix, &prefix, MAX_NAMINGS)? {
            if let Some(named) = keys::parse_canonical_vote(&key) {
                *votes.entry(UrlId::from_bytes(named)).or_default() += 1;
            }
        }
        if self.document().is_some()
            && let Claim::Another(named) = Claim::of(identity, self.id, &self.page)
        {
            *votes.entry(named).or_default() += 1;
        }
        let mut best: Option<((Reverse<usize>, Rank), String)> = None;
        let mut offer = |votes: usize, (rank, url): (Rank, String)| {
            let place = (Reverse(votes), rank);
            if best.as_ref().is_none_or(|(best, _)| place < *best) {
                best = Some((place, url));
            }
        };
        for (named, votes) in votes {
            if let Some(member) = self.member(store, identity, named)? {
                offer(votes, member);
            }
        }
        if let Some(original) = self.member(store, identity, self.id)? {
            offer(0, original);
        }
        // A record may have moved on since its row was read.
        let prefix = keys::members(self.cluster);
        for (key, _) in store.range(Table::Clusters, &prefix, &prefix, 4)? {
            if let Some((_, id)) = keys::parse_member(&key)
                && let Some(member) = self.member(store, identity, UrlId::from_bytes(id))?
            {
                offer(0, member);
            }
        }
        Ok(best.map_or_else(|| self.page.url.clone(), |(_, url)| url))
    }

    /// Rank and URL of a page, if it belongs to the cluster.
    fn member(
        &self,
        store: &dyn Store,
        identity: &Identity,
        id: UrlId,
    ) -> Result<Option<(Rank, String)>> {
        if id == self.id {
            return Ok(self.document().map(|document| {
                let rank = Rank::of(&Merits {
                    claim: Claim::of(identity, id, &self.page),
                    url: &self.page.url,
                    words: document.fingerprints.words,
                    is_kept: true,
                    first_seen: document.fetched,
                });
                (rank, self.page.url.clone())
            }));
        }
        let Some(page) = PAGES.get(store, id.as_bytes())? else {
            return Ok(None);
        };
        let duplicate = page.duplicate().filter(|it| it.of == self.cluster);
        Ok(duplicate.map(|it| it.rank).map(|rank| (rank, page.url)))
    }
}
