//! A document: a stored response that others can repeat, and where the archive has it.

use serde::{Deserialize, Serialize};

use super::Fingerprints;
use crate::url::UrlId;

/// The number of a document, rising from 1 in the order of discovery.
pub type DocumentId = u64;

/// A stored response, to which duplicates refer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Document {
    /// Its number.
    pub id: DocumentId,
    /// The page's identity.
    pub url_id: UrlId,
    /// The page's URL as it was requested.
    pub url: String,
    /// When it was fetched: microseconds since 1970.
    pub fetched: i64,
    /// Where its record stands.
    pub stored: Stored,
    /// Whose response that is, if not its own page's: the bytes were there already.
    pub stored_for: Option<Box<StoredFor>>,
    /// SHA-256 of the payload as stored.
    pub payload: [u8; 32],
    /// Its signatures. Empty for what cannot be an original: an error page, a robots.txt.
    pub fingerprints: Fingerprints,
}

/// The capture that a response was stored for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StoredFor {
    /// The URL as it was requested.
    pub url: String,
    /// When it was fetched: microseconds since 1970.
    pub fetched: i64,
}

/// Where the archive keeps a response.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stored {
    /// The record's id; zeros where an earlier crawl gave it one that is no UUID.
    pub record: [u8; 16],
    /// Number of the segment file.
    pub segment: u32,
    /// Byte offset of the record in it.
    pub offset: u64,
    /// Bytes of the record.
    pub length: u64,
}

impl Stored {
    /// The segment of what is in no archive of this crawl, but in that of an earlier one.
    pub const ELSEWHERE: u32 = u32::MAX;

    /// Whether it is in the archive of an earlier crawl.
    pub fn is_elsewhere(&self) -> bool {
        self.segment == Self::ELSEWHERE
    }
}
