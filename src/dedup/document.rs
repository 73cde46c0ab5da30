//! Documents: stored responses that other pages can repeat, and their places in the archive.

use serde::{Deserialize, Serialize};

use super::Fingerprints;
use crate::url::UrlId;

/// The number of a document. Numbers start at 1 and rise in the order of discovery. A document of
/// another shard of the crawl has a number by which it is told from all others (`foreign`).
pub type DocumentId = u64;

/// The bit that numbers of other shards' documents have. They stay below 2^53, so that readers of
/// JSON whose numbers are `f64` keep them whole.
const FOREIGN: DocumentId = 1 << 52;
/// Bits of the number that a document has in its own shard.
const NUMBER_BITS: u32 = 44;

/// The number under which the document `number` of another shard is known.
pub fn foreign(shard: u16, number: DocumentId) -> DocumentId {
    FOREIGN | u64::from(shard) << NUMBER_BITS | number
}

/// The shard of a document of another shard; `None` if it is an own one.
pub fn shard_of(document: DocumentId) -> Option<u16> {
    let shard = (document & !FOREIGN) >> NUMBER_BITS;
    (document & FOREIGN != 0).then(|| u16::try_from(shard).unwrap_or(u16::MAX))
}

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn documents_of_other_shards_have_numbers_of_their_own() {
        assert_eq!(shard_of(7), None);
        let all = [(0, 7), (1, 7), (255, (1 << NUMBER_BITS) - 1)].map(|(shard, number)| {
            let id = foreign(shard, number);
            assert_eq!(shard_of(id), Some(shard));
            id
        });
        assert!(all.is_sorted() && all.iter().all(|id| *id > u64::from(u32::MAX)));
        assert!(all.iter().all(|id| *id < 1 << 53), "exact as an f64");
    }
}
