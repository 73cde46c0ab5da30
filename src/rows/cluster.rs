//! Clusters of duplicates: which pages belong to which original, and which URL of a cluster is
//! canonical.
//!
//! A cluster is named by its original's document. Its members are keys in `Clusters`, best first,
//! written in the same batch as their records; what is kept of a duplicate is in its record only.
//! The original has no row in `Clusters`.
//!
//! The original is the earliest page and stays it: new pages are compared with it and revisit
//! records refer to it, so a better URL that comes later must not change either. Which URL is
//! canonical is computed when it is asked for, from what the members say at that time.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use super::PAGES;
use super::page_record::{Fate, PageRecord};
use super::rank::{Claim, Merits, Rank};
use super::shards::ForeignOriginal;
use crate::dedup::{Document, DocumentId, shard_of};
use crate::store::{Result, Store, Table, keys};
use crate::url::{self, Identity, Site, UrlId};
use xxhash_rust::xxh3::xxh3_64;

/// Maximum number of `rel=canonical` votes counted per cluster: of sites, each for a URL. A cluster
/// may have a million members.
const MAX_CANONICAL_VOTES: usize = 256;
/// Maximum number of pages of a site that are counted for a URL.
const MAX_PAGES_OF_SITE: usize = 16;

impl Claim {
    /// Derives the claim from a page record.
    pub fn of(identity: &Identity, id: UrlId, page: &PageRecord) -> Self {
        let Fate::Answered { canonical, .. } = &page.fate else {
            return Self::Nobody;
        };
        match canonical.as_deref().map(url::parse) {
            Some(Ok(hint)) => match identity.id(&hint) {
                named if named == id => Self::Itself,
                named => Self::Another(named),
            },
            _ => Self::Nobody,
        }
    }
}

/// Returns a hash of the registrable domain of a URL, whose pages have one vote together.
fn site_of(url: &str) -> [u8; 8] {
    let site = url::parse(url).map(|url| Site::of(&url));
    let name = site.as_ref().map_or(url, Site::as_str);
    xxh3_64(name.as_bytes()).to_be_bytes()
}

/// Returns the keys of a page in `Clusters`.
pub fn cluster_rows(identity: &Identity, id: UrlId, page: &PageRecord) -> Vec<Vec<u8>> {
    let Some(duplicate) = page.duplicate() else {
        return Vec::new();
    };
    let mut rows = vec![keys::member(duplicate.of, &duplicate.rank.0, id.as_bytes())];
    if let Claim::Another(named) = Claim::of(identity, id, page) {
        rows.push(keys::canonical_vote(
            duplicate.of,
            named.as_bytes(),
            &site_of(&page.url),
            id.as_bytes(),
        ));
    }
    rows
}

/// The original of a cluster, as its page is now.
pub struct Head {
    /// Id of its URL.
    pub id: UrlId,
    /// Its page record.
    pub page: PageRecord,
    cluster: DocumentId,
}

impl Head {
    /// Reads the original of a cluster, by its document and the id of its URL. Returns `None` if
    /// there is no page record. Of an original of another shard there is what was told of it.
    pub fn read(store: &dyn Store, cluster: DocumentId, id: UrlId) -> Result<Option<Self>> {
        if shard_of(cluster).is_some() {
            let original = ForeignOriginal::read(store, cluster)?;
            let page = original.map(ForeignOriginal::into_page);
            return Ok(page.map(|page| Self { id, page, cluster }));
        }
        let page = PAGES.get(store, id.as_bytes())?;
        Ok(page.map(|page| Self { id, page, cluster }))
    }

    /// Returns the document, if the page still is what the members repeat.
    pub fn document(&self) -> Option<&Document> {
        let document = self.page.original();
        document.filter(|document| document.id == self.cluster)
    }

    /// Returns the canonical URL of the cluster: the one that most sites name with `rel=canonical`
    /// on one of their members or more, else the best by rank. Only pages that belong to the
    /// cluster count. No site takes the name from the original's by its word for itself, and none
    /// at all if the original's site names one of its members.
    pub fn canonical(&self, store: &dyn Store, identity: &Identity) -> Result<String> {
        // How many pages of a site name which URL.
        let mut sites: BTreeMap<[u8; 8], BTreeMap<UrlId, usize>> = BTreeMap::new();
        let prefix = keys::canonical_votes(self.cluster);
        let mut from = prefix.clone();
        for _ in 0..MAX_CANONICAL_VOTES {
            let rows = store.range(Table::Clusters, &prefix, &from, MAX_PAGES_OF_SITE)?;
            let mut votes = rows.iter().map(|(key, _)| keys::parse_canonical_vote(key));
            let Some(Some((named, site))) = votes.next() else {
                break;
            };
            let pages = 1 + votes.take_while(|it| *it == Some((named, site))).count();
            let of_site = sites.entry(site).or_default();
            *of_site.entry(UrlId::from_bytes(named)).or_default() += pages;
            // Past the other votes of the site for this URL: no id is higher.
            from = keys::canonical_vote(self.cluster, &named, &site, &[u8::MAX; 16]);
            from.push(0);
        }
        let own = site_of(&self.page.url);
        let claim = match self.document() {
            Some(_) => Claim::of(identity, self.id, &self.page),
            None => Claim::Nobody,
        };
        if let Claim::Another(named) = claim {
            *sites.entry(own).or_default().entry(named).or_default() += 1;
        }
        let mut members: BTreeMap<UrlId, Option<(Rank, String)>> = BTreeMap::new();
        let mut member = |id| -> Result<Option<(Rank, String)>> {
            if let Some(known) = members.get(&id) {
                return Ok(known.clone());
            }
            let found = self.member(store, identity, id)?;
            members.insert(id, found.clone());
            Ok(found)
        };
        // The vote of a site is for what most of its pages name.
        let mut votes: BTreeMap<UrlId, usize> = BTreeMap::new();
        let mut has_own = false;
        for (site, named) in &sites {
            let most = named.values().max().copied().unwrap_or(0);
            for (named, _) in named.iter().filter(|(_, pages)| **pages == most) {
                let is_own = *site == own;
                match member(*named)? {
                    Some((_, url)) if is_own || site_of(&url) != *site => {
                        has_own |= is_own;
                        // What the original's site says is decided by no others.
                        let weight = if is_own { MAX_CANONICAL_VOTES + 1 } else { 1 };
                        *votes.entry(*named).or_default() += weight;
                    }
                    _ => {}
                }
            }
        }
        let is_settled = claim == Claim::Itself && !has_own;
        let mut best: Option<((Reverse<usize>, Rank), String)> = None;
        let mut offer = |votes: usize, (rank, url): (Rank, String)| {
            let rank = match site_of(&url) == own {
                true => rank,
                false if is_settled => return,
                false => rank.without_claim(),
            };
            let place = (Reverse(votes), rank);
            if best.as_ref().is_none_or(|(best, _)| place < *best) {
                best = Some((place, url));
            }
        };
        for (named, votes) in votes {
            if let Some(found) = member(named)? {
                offer(votes, found);
            }
        }
        if let Some(original) = member(self.id)? {
            offer(0, original);
        }
        // A record may have changed since its row was read.
        let prefix = keys::members(self.cluster);
        for (key, _) in store.range(Table::Clusters, &prefix, &prefix, 4)? {
            if let Some((_, id)) = keys::parse_member(&key)
                && let Some(found) = member(UrlId::from_bytes(id))?
            {
                offer(0, found);
            }
        }
        Ok(best.map_or_else(|| self.page.url.clone(), |(_, url)| url))
    }

    /// Returns rank and URL of a page if it belongs to the cluster.
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
