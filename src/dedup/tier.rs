//! The tiers of duplication, and how the near tier finds its candidates.

use serde::{Deserialize, Serialize};
use strum::IntoStaticStr;

/// One way to be a duplicate.
#[derive(
    Debug,
    Clone,
    Copy,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Serialize,
    Deserialize,
    IntoStaticStr,
    schemars::JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
pub enum Tier {
    /// The same bytes after content decoding.
    Raw,
    /// The same visible text, ignoring case and runs of white space.
    Normalized,
    /// The same sequence of words in the main text.
    Content,
    /// Nearly the same main text.
    Near,
}

impl Tier {
    /// All tiers, cheapest first.
    pub const ALL: [Tier; 4] = [Tier::Raw, Tier::Normalized, Tier::Content, Tier::Near];

    /// The name in logs, records and counters.
    pub fn name(self) -> &'static str {
        self.into()
    }
}

/// How candidates for near duplicates are found.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Finder {
    /// By `SimHash`: about 50 bytes per document.
    #[default]
    Simhash,
    /// By `SimHash` and by the bands of a `MinHash` signature. This finds nearly all pages at or
    /// above the similarity threshold and takes about 700 bytes more per document.
    Minhash,
}
