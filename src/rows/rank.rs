//! The rank of a page in its cluster.

use serde::{Deserialize, Serialize};

use crate::url::UrlId;

/// The rank of a page among those that are the same; the lowest is the canonical one. Ordered by:
/// naming itself as canonical rather than nobody, and nobody rather than another; https; shorter
/// URL; more words; body stored; seen earlier.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Rank(pub(super) [u8; 16]);

/// Which page a page names as canonical.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Claim {
    /// Itself.
    Itself,
    /// No page.
    Nobody,
    /// Another page.
    Another(UrlId),
}

/// The properties that make up a rank.
pub struct Merits<'a> {
    /// Which page the page names as canonical.
    pub claim: Claim,
    /// URL of the page.
    pub url: &'a str,
    /// Number of words of its text.
    pub words: u32,
    /// Set if its body is stored.
    pub is_kept: bool,
    /// Time of the first visit, in microseconds since 1970.
    pub first_seen: i64,
}

/// The first byte of a page that names no page as canonical.
const NOBODY: u8 = 1;
/// Index of the byte that says whether the body is stored.
const KEPT: usize = 8;

impl Rank {
    /// Returns a provisional rank, for a page of which nothing else is known yet.
    pub fn unsettled(is_kept: bool) -> Self {
        let mut rank = Self::default();
        rank.0[KEPT] = u8::from(!is_kept);
        rank
    }

    /// Computes the rank.
    pub fn of(merits: &Merits<'_>) -> Self {
        let claim = match merits.claim {
            Claim::Itself => 0,
            Claim::Nobody => NOBODY,
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
        // Seven bytes of microseconds last until the year 4253.
        rank[9..].copy_from_slice(&seen[1..]);
        Self(rank)
    }

    /// Returns the rank of a page whose word for itself does not count.
    #[must_use]
    pub(super) fn without_claim(mut self) -> Self {
        self.0[0] = self.0[0].max(NOBODY);
        self
    }

    /// Returns `true` if the body is stored.
    pub fn is_kept(self) -> bool {
        self.0[KEPT] == 0
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
