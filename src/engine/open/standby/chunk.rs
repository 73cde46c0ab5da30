//! Chunks of a copy: rows and keys of a crawl that goes on, as they are carried to who makes a copy
//! of it.

use serde::{Deserialize, Serialize};

use crate::store::copy::{NextRow, Origin};
use crate::store::{pack, unpack};

/// Version of the form in which chunks are carried.
const VERSION: u8 = 1;

/// Drawn by who makes a copy: chunks of others are not for it.
pub type CopyId = [u8; 8];

/// How far a copy is: what it is given next.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum CopyCursor {
    /// Where the log is gone on with from.
    Start,
    /// Rows.
    Row(NextRow),
    /// The URLs seen that are in files, from this key on.
    Seen(u64),
    /// Nothing: the log has the rest.
    End,
}

/// A part of a copy.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CopyChunk {
    /// Which copy it is for.
    pub id: CopyId,
    /// Which owner of the log it is from. What two owners have is not put together.
    pub epoch: u64,
    /// What it begins with.
    pub from: CopyCursor,
    /// What follows.
    pub to: CopyCursor,
    pub(super) part: Part,
}

/// What is in a chunk.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Part {
    /// Where the original stands before its first row is read, and the format of its rows.
    Start { origin: Origin, format: Vec<u8> },
    /// A batch that puts rows.
    Rows(Vec<u8>),
    /// Keys: the first, and the distance of each other one from the one before.
    Seen(Vec<u64>),
    /// Where the original stands after the last was read.
    End(Origin),
}

/// Returns keys, which ascend, as they are carried.
pub(super) fn distances(keys: impl Iterator<Item = u64>) -> Vec<u64> {
    let mut last = 0;
    keys.map(|key| key - std::mem::replace(&mut last, key))
        .collect()
}

/// Returns the keys that were carried; `None` where they would be too large.
pub(super) fn keys(distances: &[u64]) -> Option<Vec<u64>> {
    let mut last = 0_u64;
    let mut keys = Vec::with_capacity(distances.len());
    for distance in distances {
        last = last.checked_add(*distance)?;
        keys.push(last);
    }
    Some(keys)
}

impl CopyChunk {
    /// Returns the chunk as bytes, packed and with a checksum.
    pub fn encode(&self) -> Vec<u8> {
        pack(VERSION, self)
    }

    /// Reads what [`encode`](Self::encode) wrote.
    ///
    /// # Errors
    ///
    /// Says what is wrong with what is damaged, or of another version.
    pub fn decode(bytes: &[u8]) -> Result<Self, String> {
        unpack(VERSION, bytes)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::store::seal;

    fn chunk(part: Part) -> CopyChunk {
        CopyChunk {
            id: [3; 8],
            epoch: 7,
            from: CopyCursor::Row(NextRow::first()),
            to: CopyCursor::Seen(9),
            part,
        }
    }

    #[test]
    fn damage_is_told() {
        let chunk = chunk(Part::Rows(vec![7; 500]));
        let bytes = chunk.encode();
        assert!(bytes.len() < 100, "{}", bytes.len());
        assert_eq!(CopyChunk::decode(&bytes), Ok(chunk));
        for at in 0..bytes.len() {
            assert!(CopyChunk::decode(&bytes[..at]).is_err());
            let mut damaged = bytes.clone();
            damaged[at] ^= 0x10;
            assert!(CopyChunk::decode(&damaged).is_err());
        }
        let long = seal([&[VERSION][..], &u64::MAX.to_le_bytes()].concat());
        assert_eq!(CopyChunk::decode(&long), Err("it is too long".to_owned()));
    }

    proptest! {
        #[test]
        fn keys_are_carried_as_distances(these in prop::collection::btree_set(any::<u64>(), 0..50)) {
            let chunk = chunk(Part::Seen(distances(these.iter().copied())));
            let read = CopyChunk::decode(&chunk.encode()).unwrap();
            let Part::Seen(carried) = read.part else { panic!() };
            prop_assert_eq!(keys(&carried), Some(these.into_iter().collect::<Vec<_>>()));
        }
    }

    #[test]
    fn keys_beyond_the_largest_are_refused() {
        assert_eq!(keys(&[u64::MAX, 1]), None);
    }
}
