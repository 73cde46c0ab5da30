//! The tiers of duplication, and how the last of them finds its candidates.

use serde::{Deserialize, Serialize};

/// The tiers of duplication, cheapest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Tier {
    /// The same bytes, after content decoding.
    Raw,
    /// The same visible text, case and white space folded.
    Normalized,
    /// The same word sequence of the main content.
    Content,
    /// Almost the same main content.
    Near,
}

impl Tier {
    /// All tiers, cheapest first.
    pub const ALL: [Tier; 4] = [Tier::Raw, Tier::Normalized, Tier::Content, Tier::Near];

    /// The tier's name in logs, records and counters.
    pub fn name(self) -> &'static str {
        match self {
            Tier::Raw => "raw",
            Tier::Normalized => "normalized",
            Tier::Content => "content",
            Tier::Near => "near",
        }
    }
}

/// How near duplicates are found.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Finder {
    /// By their `SimHash`: some 50 bytes a document.
    #[default]
    Simhash,
    /// By their `SimHash`, and by the bands of a `MinHash` signature, which finds nearly all that
    /// reach the similarity: some 700 bytes more a document.
    Minhash,
}
