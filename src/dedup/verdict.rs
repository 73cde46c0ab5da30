//! What became of a page: whether it repeats a stored one, and if it was not compared, why.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::document::Document;
use super::{Similarity, Tier};

/// What became of a page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// Nothing like it is stored: it is an original from now on.
    Unique,
    /// It repeats an original.
    Duplicate(Repeat),
    /// It was visited before, and is what it was then: the original that it still is, or the one
    /// that it still repeats.
    Unchanged(Repeat),
    /// Not a page that can be an original or a duplicate.
    Ineligible(Ineligible),
}

impl Verdict {
    /// The stored page that it repeats, if it does.
    pub fn repeats(&self) -> Option<&Repeat> {
        match self {
            Verdict::Duplicate(repeat) | Verdict::Unchanged(repeat) => Some(repeat),
            Verdict::Unique | Verdict::Ineligible(_) => None,
        }
    }

    /// The verdict's name in logs, records and counters.
    pub fn name(&self) -> &'static str {
        match self {
            Verdict::Unique => "unique",
            Verdict::Duplicate(repeat) => repeat.tier.name(),
            Verdict::Unchanged(_) => "unchanged",
            Verdict::Ineligible(_) => "ineligible",
        }
    }
}

/// Why an answer cannot be an original or a duplicate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Ineligible {
    /// It is none, or no success: an error, a redirect.
    Status,
    /// It has no body.
    Empty,
    /// Something is missing of it, so that it may differ from another where it was cut.
    Cut,
    /// A CAPTCHA or another test that the visitor is no machine.
    Challenge,
    /// A refusal that was sent as a page.
    Denied,
    /// A question for consent in place of the page.
    Consent,
    /// A short text that the host gives under many URLs.
    Repeated,
    /// It is neither HTML nor text, and such bodies are not kept.
    Kind,
}

impl Ineligible {
    /// The reason's name in logs, records and counters.
    pub fn name(self) -> &'static str {
        match self {
            Self::Status => "status",
            Self::Empty => "empty",
            Self::Cut => "cut",
            Self::Kind => "kind",
            Self::Challenge => "challenge",
            Self::Denied => "denied",
            Self::Consent => "consent",
            Self::Repeated => "repeated",
        }
    }

    /// Whether the server gave something else in place of the page.
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
    /// The tier that found the two the same.
    pub tier: Tier,
    /// Bits in which their `SimHash`es differ; 0 for an exact tier.
    pub distance: u8,
    /// Their similarity; 1 for an exact tier.
    pub similarity: Similarity,
}

impl Repeat {
    /// The two are the same by an exact tier.
    pub fn exact(original: Arc<Document>, tier: Tier) -> Self {
        Self {
            original,
            tier,
            distance: 0,
            similarity: Similarity::EXACT,
        }
    }
}
