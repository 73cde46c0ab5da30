//! Documents: stored responses that other pages can repeat, and their places in the archive.

use serde::{Deserialize, Serialize};

use super::Fingerprints;
use crate::url::UrlId;

/// The number of a document. Numbers start at 1 and rise in the order of discovery.
pub type DocumentId = u64;

/// A stored response. Duplicates refer to it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Document {
    /// The document's number.
    pub id: DocumentId,
    /// The page's identity.
    pub url_id: UrlId,
    /// The page's URL as requested.
    pub url: String,
    /// Time of the fetch, in microseconds since 1970.
    pub fetched: i64,
    /// The place of the response in the archive.
    pub stored: Stored,
    /// The capture that the stored bytes belong to, if it is another page's with the same payload.
    pub stored_for: Option<Box<StoredFor>>,
    /// SHA-256 of the payload as stored.
    pub payload: [u8; 32],
    /// The page's fingerprints. Empty if it cannot be an original, such as an error page or
    /// robots.txt.
    pub fingerprints: Fingerprints,
}

/// The capture that a response was stored for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StoredFor {
    /// The URL as requested.
    pub url: String,
    /// Time of the fetch, in microseconds since 1970.
    pub fetched: i64,
}

/// The place of a response in the archive.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Stored {
    /// The record's UUID; zeros if the earlier crawl that wrote the record gave it another kind of
    /// id.
    pub record: [u8; 16],
    /// Number of the segment file, or [`ELSEWHERE`](Self::ELSEWHERE).
    pub segment: u32,
    /// Byte offset of the record in the segment.
    pub offset: u64,
    /// Length of the record in bytes.
    pub length: u64,
}

impl Stored {
    /// The segment number of a response that is in the archive of an earlier crawl only.
    pub const ELSEWHERE: u32 = u32::MAX;

    /// Whether the response is in the archive of an earlier crawl.
    pub fn is_elsewhere(&self) -> bool {
        self.segment == Self::ELSEWHERE
    }
}
