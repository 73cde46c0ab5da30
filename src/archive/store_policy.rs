//! Which bodies a crawl keeps in its archive.

use serde::{Deserialize, Serialize};

/// Which bodies the archive keeps.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum StorePolicy {
    /// One of each page: the bodies of all duplicates are left out.
    #[default]
    Unique,
    /// The bodies of byte-for-byte duplicates are left out, those of other duplicates are kept.
    ExactOnly,
    /// Every body.
    All,
}

/// What is kept of the body of a duplicate in other bytes, if [`StorePolicy`] leaves it out.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum DuplicateBodies {
    /// The difference from its original, from which it can be rebuilt, and its main text.
    #[default]
    Delta,
    /// Its main text.
    Text,
    /// Nothing.
    None,
    /// Everything, as a response.
    Full,
}
