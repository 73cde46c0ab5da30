//! `Groups`: what the pages of their own resemble. Identity is a matter of verdicts; this is
//! likeness, by which consumers may collapse what the archive keeps.

use serde::{Deserialize, Serialize};

use crate::dedup::{DocumentId, Similarity};
use crate::url::UrlId;

/// The group of a page of its own: an original that it resembles.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Likeness {
    /// Document of that original, which names the group.
    pub of: DocumentId,
    /// URL id of that original.
    pub page: UrlId,
    /// URL of that original.
    pub url: String,
    /// Similarity of the two whole texts.
    pub similarity: Similarity,
    /// Number of bits in which their `SimHash`es differ.
    pub distance: u8,
    /// Set if their main texts differ in digits only. Known with `dedup.profile = "corpus"`.
    pub is_in_digits: bool,
}
