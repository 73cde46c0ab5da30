//! What came of a visit, in one word.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::dedup::{Tier, Verdict};

/// What came of a visit, as the fetch log and the counters name it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum VisitVerdict {
    /// The page is an original.
    Unique,
    /// The page repeats an original byte for byte.
    Raw,
    /// The page repeats an original but for its markup.
    Normalized,
    /// The main text of the page is that of an original.
    Content,
    /// The page is a near duplicate of an original.
    Near,
    /// The page was visited before and has not changed.
    Unchanged,
    /// The response can be neither an original nor a duplicate.
    Ineligible,
    /// A robots.txt was fetched.
    Robots,
    /// A sitemap was fetched.
    Sitemap,
    /// A file was fetched that a page needs to be shown.
    Requisite,
    /// The attempt failed and will be repeated.
    Retry,
    /// The URL was given up without a response.
    #[default]
    Failed,
    /// robots.txt forbids the URL.
    Forbidden,
    /// The page was visited again to see which of its lines change with each visit.
    Checked,
}

impl VisitVerdict {
    /// Returns the name in logs, counters and JSON.
    pub fn name(self) -> &'static str {
        match self {
            Self::Unique => "unique",
            Self::Raw => Tier::Raw.name(),
            Self::Normalized => Tier::Normalized.name(),
            Self::Content => Tier::Content.name(),
            Self::Near => Tier::Near.name(),
            Self::Unchanged => "unchanged",
            Self::Ineligible => "ineligible",
            Self::Robots => "robots",
            Self::Sitemap => "sitemap",
            Self::Requisite => "requisite",
            Self::Retry => "retry",
            Self::Failed => "failed",
            Self::Forbidden => "forbidden",
            Self::Checked => "checked",
        }
    }
}

impl From<&Verdict> for VisitVerdict {
    fn from(verdict: &Verdict) -> Self {
        match verdict {
            Verdict::Unique => Self::Unique,
            Verdict::Duplicate(repeat) => repeat.tier.into(),
            Verdict::Unchanged(_) => Self::Unchanged,
            Verdict::Ineligible(_) => Self::Ineligible,
        }
    }
}

impl From<Tier> for VisitVerdict {
    fn from(tier: Tier) -> Self {
        match tier {
            Tier::Raw => Self::Raw,
            Tier::Normalized => Self::Normalized,
            Tier::Content => Self::Content,
            Tier::Near => Self::Near,
        }
    }
}

impl fmt::Display for VisitVerdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl PartialEq<str> for VisitVerdict {
    fn eq(&self, name: &str) -> bool {
        self.name() == name
    }
}

impl PartialEq<&str> for VisitVerdict {
    fn eq(&self, name: &&str) -> bool {
        self.name() == *name
    }
}
