//! Where a page stands among those that are the same as it.

use serde::{Deserialize, Serialize};

use super::page_record::{Fate, PageRecord};
use crate::store::keys;
use crate::url::{self, Identity, UrlId};

/// Where a page stands among those that are the same: the least is the one that they are best
/// called by. In order: it calls itself canonical, and not another; https; the shorter URL; more
/// words; its body is kept; it was seen earlier.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Rank([u8; 16]);

/// Whom a page calls canonical.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Claim {
    /// Itself.
    Itself,
    /// No page.
    Nobody,
    /// Another page.
    Another(UrlId),
}

/// What a rank is made of.
pub struct Merits<'a> {
    /// Whom the page calls canonical.
    pub claim: Claim,
    /// Its URL.
    pub url: &'a str,
    /// Words of its text.
    pub words: u32,
    /// Its body is stored.
    pub is_kept: bool,
    /// Microseconds since 1970.
    pub first_seen: i64,
}

/// The byte that says whether the body is kept.
const KEPT: usize = 8;

impl Rank {
    /// That of a page of which only that is known yet.
    pub fn unsettled(is_kept: bool) -> Self {
        let mut rank = Self::default();
        rank.0[KEPT] = u8::from(!is_kept);
        rank
    }

    /// Derived from what is known of a page.
    pub fn of(merits: &Merits<'_>) -> Self {
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

    /// Whether the body is stored.
    pub fn is_kept(self) -> bool {
        self.0[KEPT] == 0
    }
}

impl Claim {
    /// Derived from what is known of a page.
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

/// The rows of a page in `Clusters`.
pub fn cluster_rows(identity: &Identity, id: UrlId, page: &PageRecord) -> Vec<Vec<u8>> {
    let Some(duplicate) = page.duplicate() else {
        return Vec::new();
    };
    let mut rows = vec![keys::member(duplicate.of, &duplicate.rank.0, id.as_bytes())];
    if let Claim::Another(named) = Claim::of(identity, id, page) {
        rows.push(keys::canonical_vote(
            duplicate.of,
            named.as_bytes(),
            id.as_bytes(),
        ));
    }
    rows
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
