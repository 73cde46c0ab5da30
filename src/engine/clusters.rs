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

use serde::{Deserialize, Serialize};

use super::Error;
use super::committer::Committer;
use super::effects::Group;
use super::rows::{Fate, Judgement, PageRecord};
use super::visit::Judged;
use crate::dedup::{Document, DocumentId};
use crate::store::{Store, Table, decode, keys};
use crate::url::{self, HostKey, Identity, UrlId};

/// Words of members about who is canonical that are heard; there may be a million of them.
const MAX_NAMINGS: usize = 256;

/// Where a page stands among those that are the same: the least is the one that they are best
/// called by. In order: it calls itself canonical, and not another; https; the shorter URL; more
/// words; its body is kept; it was seen earlier.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Rank([u8; 16]);

/// Whom a page calls canonical.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Claim {
    Itself,
    Nobody,
    Another(UrlId),
}

/// What a rank is made of.
struct Merits<'a> {
    claim: Claim,
    url: &'a str,
    words: u32,
    is_kept: bool,
    /// Microseconds since 1970.
    first_seen: i64,
}

/// The byte that says whether the body is kept.
const KEPT: usize = 8;

impl Rank {
    /// That of a page of which only that is known yet.
    pub(super) fn unsettled(is_kept: bool) -> Self {
        let mut rank = Self::default();
        rank.0[KEPT] = u8::from(!is_kept);
        rank
    }

    fn of(merits: &Merits<'_>) -> Self {
        let claim = match merits.claim {
            Claim::Itself => 0,
            Claim::Nobody => 1,
            Claim::Another(_) => 2,
        };
        let is_https = merits.url.starts_with("https:");
        let length = u16::try_from(merits.url.len()).unwrap_or(u16::MAX);
        let seen = u64::try_from(merits.first_seen).unwrap_or(0).to_be_bytes();
        let mut rank = [0; 16];
        rank[0] = claim;
        rank[1] = u8::from(!is_https);
        rank[2..4].copy_from_slice(&length.to_be_bytes());
        rank[4..KEPT].copy_from_slice(&(!merits.words).to_be_bytes());
        rank[KEPT] = u8::from(!merits.is_kept);
        // Seven bytes of microseconds end in the year 4253.
        rank[9..].copy_from_slice(&seen[1..]);
        Self(rank)
    }

    fn is_kept(self) -> bool {
        self.0[KEPT] == 0
    }
}

impl Claim {
    fn of(identity: &Identity, id: UrlId, page: &PageRecord) -> Self {
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

/// The rows of a page in `Clusters`.
fn rows(identity: &Identity, id: UrlId, page: &PageRecord) -> Vec<Vec<u8>> {
    let Some(duplicate) = page.duplicate() else {
        return Vec::new();
    };
    let mut rows = vec![keys::member(duplicate.of, &duplicate.rank.0, id.as_bytes())];
    if let Claim::Another(named) = Claim::of(identity, id, page) {
        rows.push(keys::naming(duplicate.of, named.as_bytes(), id.as_bytes()));
    }
    rows
}

impl Committer {
    /// Completes what is kept of a duplicate by what was kept of it before.
    pub(super) fn settle(
        &self,
        judged: &Judged,
        previous: Option<&PageRecord>,
        page: &mut PageRecord,
    ) {
        let claim = Claim::of(&self.identity, judged.analysed.fetched.task.queued.id, page);
        let before = previous.and_then(PageRecord::duplicate).copied();
        let Fate::Answered {
            judgement: Judgement::Duplicate(duplicate),
            ..
        } = &mut page.fate
        else {
            return;
        };
        let before = before.filter(|before| before.of == duplicate.of);
        duplicate.first_seen = before.map_or(page.time, |before| before.first_seen);
        duplicate.last_checked = page.time;
        let was_kept = before.is_some_and(|before| before.rank.is_kept());
        let fingerprints = judged.analysed.fingerprints.as_ref();
        duplicate.rank = Rank::of(&Merits {
            claim,
            url: &page.url,
            words: fingerprints.map_or(0, |fingerprints| fingerprints.words),
            is_kept: duplicate.rank.is_kept() || was_kept,
            first_seen: duplicate.first_seen,
        });
    }

    /// Files a page under the cluster that it belongs to now, and no more under the one before.
    pub(super) fn file(
        &mut self,
        (id, host): (UrlId, &HostKey),
        previous: Option<&PageRecord>,
        page: &PageRecord,
        group: &mut Group,
    ) -> Result<(), Error> {
        let before = previous.map(|previous| rows(&self.identity, id, previous));
        let before = before.unwrap_or_default();
        let now = rows(&self.identity, id, page);
        for row in before.iter().filter(|row| !now.contains(row)) {
            group.batch.delete(Table::Clusters, row.clone());
        }
        for row in now.into_iter().filter(|row| !before.contains(row)) {
            group.batch.put(Table::Clusters, row, Vec::new());
        }
        let (was, is) = (previous.map(counted).unwrap_or_default(), counted(page));
        if was != is {
            let host = group.host(&*self.store, host)?;
            host.judged = (host.judged + is.0).saturating_sub(was.0);
            host.duplicates = (host.duplicates + is.1).saturating_sub(was.1);
        }
        Ok(())
    }
}

/// What a page counts as among its host's: judged, duplicate.
fn counted(page: &PageRecord) -> (u64, u64) {
    match &page.fate {
        Fate::Answered { judgement, .. } => match judgement {
            Judgement::Unique => (1, 0),
            Judgement::Duplicate(_) => (1, 1),
            Judgement::Ineligible(_) => (0, 0),
        },
        Fate::Failed { .. } | Fate::Sitemap { .. } | Fate::Known { .. } => (0, 0),
    }
}

/// A page by its id.
pub(super) fn page(store: &dyn Store, id: UrlId) -> Result<Option<PageRecord>, Error> {
    Ok(match store.get(Table::Pages, id.as_bytes())? {
        Some(row) => Some(decode(Table::Pages, &row)?),
        None => None,
    })
}

/// The original of a cluster, as its page stands now.
pub(super) struct Head {
    /// Its page.
    pub(super) id: UrlId,
    pub(super) page: PageRecord,
    cluster: DocumentId,
}

impl Head {
    /// The original that a member of the cluster names; `None` if its page is not known.
    pub(super) fn read(
        store: &dyn Store,
        cluster: DocumentId,
        id: UrlId,
    ) -> Result<Option<Self>, Error> {
        let page = page(store, id)?;
        Ok(page.map(|page| Self { id, page, cluster }))
    }

    /// The document, while the page still is what the members repeat.
    pub(super) fn document(&self) -> Option<&Document> {
        let document = self.page.original();
        document.filter(|document| document.id == self.cluster)
    }

    /// The URL that its cluster is best called by: the one that most members name as canonical, else the
    /// best by rank. Only who belongs to the cluster counts.
    pub(super) fn canonical(
        &self,
        store: &dyn Store,
        identity: &Identity,
    ) -> Result<String, Error> {
        let mut votes: BTreeMap<UrlId, usize> = BTreeMap::new();
        let prefix = keys::namings(self.cluster);
        for (key, _) in store.range(Table::Clusters, &prefix, &prefix, MAX_NAMINGS)? {
            if let Some(named) = keys::parse_naming(&key) {
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
    ) -> Result<Option<(Rank, String)>, Error> {
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
        let Some(page) = page(store, id)? else {
            return Ok(None);
        };
        let duplicate = page.duplicate().filter(|it| it.of == self.cluster);
        Ok(duplicate.map(|it| it.rank).map(|rank| (rank, page.url)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn merits(url: &str) -> Merits<'_> {
        Merits {
            claim: Claim::Nobody,
            url,
            words: 100,
            is_kept: false,
            first_seen: 1_700_000_000_000_000,
        }
    }

    #[test]
    fn each_merit_counts_before_those_that_follow() {
        let ranked = [
            Merits {
                claim: Claim::Itself,
                ..merits("http://long.example/a/b")
            },
            merits("https://a.example/b"),
            merits("https://a.example/b/c"),
            Merits {
                words: 101,
                ..merits("http://a.example/b")
            },
            Merits {
                is_kept: true,
                ..merits("http://a.example/b")
            },
            Merits {
                first_seen: 0,
                ..merits("http://a.example/b")
            },
            merits("http://a.example/b"),
            Merits {
                first_seen: 1_800_000_000_000_000,
                ..merits("http://a.example/b")
            },
            Merits {
                claim: Claim::Another(UrlId::from_bytes([1; 16])),
                ..merits("https://a.example/")
            },
        ];
        let ranks: Vec<_> = ranked.iter().map(Rank::of).collect();
        assert!(ranks.is_sorted_by(|a, b| a < b), "{ranks:?}");
        assert!(ranks[4].is_kept() && !ranks[3].is_kept());
        assert!(Rank::unsettled(true).is_kept() && !Rank::unsettled(false).is_kept());
    }
}
