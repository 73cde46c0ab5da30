//! Expectations: what a visit of a URL is expected to yield, by where the URL was found and by what
//! is known of its kinds. Determines its priority and what its visit proves.

use serde::{Deserialize, Serialize};

use super::kinds::KindId;
use super::ledger::Stratum;

/// What a visit of a URL is expected to yield.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Expectation {
    /// A page like any other.
    #[default]
    Usual,
    /// It was deferred and came back. What its visit says is no evidence against its kinds.
    Returned,
    /// It was visited, and is visited again to see which of its lines change between two visits.
    Again {
        /// The slot that is meant.
        slot: u32,
        /// The line that stood there, and its text without numbers.
        line: u32,
        letters: u32,
    },
    /// It is a sample of a kind whose URLs are deferred.
    Sample {
        /// The kind.
        kind: KindId,
        /// Where it was found.
        stratum: Stratum,
    },
    /// It was found on a page that said nothing.
    Doubtful {
        /// Number of pages in a row that said nothing.
        silent: u8,
        /// The kind of which the first of them was a sample, for the next two; 0 if it was none.
        sampled: KindId,
    },
}

/// Pages in a row that said nothing to which a page that says something is credited.
const CREDITED: u8 = 2;
/// Priority classes by which a URL is served later for each page in a row that said nothing.
const DOUBT: u8 = 4;

impl Expectation {
    /// The expectation of a link on a page with this one, which said something of its own, or
    /// nothing, or of which that is not known.
    #[must_use]
    pub fn of_link(self, said: Option<bool>) -> Self {
        match (said, self) {
            (Some(true), _) => Self::Usual,
            (None, Self::Doubtful { .. }) => self,
            (_, Self::Sample { kind, .. }) => Self::Doubtful {
                silent: 1,
                sampled: kind,
            },
            (None, _) => Self::Usual,
            (Some(false), Self::Doubtful { silent, sampled }) => Self::Doubtful {
                silent: silent.saturating_add(1),
                sampled: if silent < CREDITED { sampled } else { 0 },
            },
            (Some(false), _) => Self::Doubtful {
                silent: 1,
                sampled: 0,
            },
        }
    }

    /// The pages before it to which it is credited if it says something, and the kind of which the
    /// first was a sample.
    pub fn credited(self) -> (u8, Option<KindId>) {
        match self {
            Self::Doubtful { silent, sampled } if silent <= CREDITED => {
                (silent, (sampled != 0).then_some(sampled))
            }
            _ => (0, None),
        }
    }

    /// Number of pages in a row before it that said nothing.
    pub fn silent(self) -> u8 {
        match self {
            Self::Doubtful { silent, .. } => silent,
            _ => 0,
        }
    }

    /// The stratum to which the URL belongs if it is deferred.
    pub fn stratum(self) -> Stratum {
        match self {
            Self::Doubtful { .. } => Stratum::Poor,
            Self::Sample { stratum, .. } => stratum,
            _ => Stratum::Good,
        }
    }

    /// The priority class of a URL that would be in `class` otherwise.
    pub fn class(self, class: u8, last: u8) -> u8 {
        match self {
            Self::Doubtful { silent, .. } => {
                class.saturating_add(silent.saturating_mul(DOUBT)).min(last)
            }
            Self::Sample { .. } => last,
            _ => class,
        }
    }
}
