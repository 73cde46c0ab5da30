//! Verdicts: whether a page repeats a stored one or, if it was not compared, why.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use strum::IntoStaticStr;

use super::document::Document;
use super::{Similarity, Tier};

/// The result of comparing a page with the stored ones.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// No stored page matches. The page becomes an original.
    Unique,
    /// The page repeats an original.
    Duplicate(Repeat),
    /// The page was visited before and has not changed. It is still the named original, or still
    /// repeats it.
    Unchanged(Repeat),
    /// The page can be neither an original nor a duplicate.
    Ineligible(Ineligible),
}

impl Verdict {
    /// The stored page that the page repeats, if any.
    pub fn repeats(&self) -> Option<&Repeat> {
        match self {
            Verdict::Duplicate(repeat) | Verdict::Unchanged(repeat) => Some(repeat),
            Verdict::Unique | Verdict::Ineligible(_) => None,
        }
    }

    /// The name in logs, records and counters: for a duplicate that of its tier.
    pub fn name(&self) -> &'static str {
        match self {
            Verdict::Unique => "unique",
            Verdict::Duplicate(repeat) => repeat.tier.name(),
            Verdict::Unchanged(_) => "unchanged",
            Verdict::Ineligible(_) => "ineligible",
        }
    }
}

/// The reason why a response can be neither an original nor a duplicate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, IntoStaticStr)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
pub enum Ineligible {
    /// There is no response, or its status is not 2xx.
    Status,
    /// The body is empty.
    Empty,
    /// The body is incomplete, so the page may differ from another in the missing part.
    Cut,
    /// The server sent a CAPTCHA or another test for humans instead of the page.
    Challenge,
    /// The server sent a refusal instead of the page.
    Denied,
    /// The server sent a consent question instead of the page.
    Consent,
    /// The host sends this short text under many URLs.
    Repeated,
    /// The body is neither HTML nor text, and such bodies are not archived.
    Kind,
    /// The page says nothing until its scripts run.
    ScriptShell,
}

impl Ineligible {
    /// The name in logs, records and counters.
    pub fn name(self) -> &'static str {
        self.into()
    }

    /// Whether the server sent something else instead of the page.
    pub fn is_refusal(self) -> bool {
        matches!(
            self,
            Self::Challenge | Self::Denied | Self::Consent | Self::Repeated
        )
    }
}

/// The stored page that a page repeats, and how closely.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Repeat {
    /// The stored page.
    pub original: Arc<Document>,
    /// The tier at which the two match.
    pub tier: Tier,
    /// Number of bits in which their `SimHash` values differ; 0 for an exact tier.
    pub distance: u8,
    /// Their similarity; 1 for an exact tier.
    pub similarity: Similarity,
}

impl Repeat {
    /// A match at an exact tier.
    pub fn exact(original: Arc<Document>, tier: Tier) -> Self {
        Self {
            original,
            tier,
            distance: 0,
            similarity: Similarity::EXACT,
        }
    }
}
