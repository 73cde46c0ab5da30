//! An entry of a commit log: what a commit changes, who made it, and where it stands.
//!
//! The form is a version (1 byte), the head with its length, the batches with their lengths before
//! compression, compressed as one (zstd), and a checksum (xxh3, 8 bytes, little-endian) of all
//! before it.

use crate::store::Batch;
use crate::store::sealed::{Broken, seal, unseal};
use serde::{Deserialize, Serialize};

/// Version of the form that is written.
const VERSION: u8 = 1;

/// Compression level: higher ones take longer than they save of a local network.
const LEVEL: i32 = 1;

/// Bytes that an entry may have before compression. The largest that was seen has 70 kB; what is
/// announced beyond this is damage.
const MAX_BYTES: usize = 1 << 30;

/// Who has written an entry: drawn at each start, so that a copy of a directory is not taken for
/// it.
pub(super) type Writer = [u8; 16];

/// What an entry is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Kind {
    /// A commit, with its number.
    Commit,
    /// A writer begins after the commit of this number, or finds that the log has lost what stood
    /// behind it. Whoever follows and has not applied that commit needs a new copy.
    Begin,
}

/// One entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Entry {
    pub(super) head: Head,
    /// What everybody applies.
    pub(super) shared: Batch,
    /// What only the writer applies: it is about the files of its disk.
    pub(super) here: Batch,
}

/// What an entry says of itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Head {
    pub(super) kind: Kind,
    /// Which owner of the log this one is.
    pub(super) epoch: u64,
    /// Number of the commit.
    pub(super) number: u64,
    pub(super) writer: Writer,
}

impl Entry {
    /// The entry by which an owner begins, or says that it goes on although the log lost its end.
    pub(super) fn begin(epoch: u64, number: u64, writer: Writer) -> Self {
        Self {
            head: Head {
                kind: Kind::Begin,
                epoch,
                number,
                writer,
            },
            shared: Batch::new(),
            here: Batch::new(),
        }
    }

    pub(super) fn encode(&self) -> Result<Vec<u8>, String> {
        let (shared, here) = (self.shared.encode(), self.here.encode());
        let head = postcard::to_stdvec(&(self.head, shared.len(), here.len()));
        let head = head.map_err(|error| error.to_string())?;
        let batches = zstd::bulk::compress(&[shared, here].concat(), LEVEL);
        let batches = batches.map_err(|error| format!("it cannot be compressed: {error}"))?;
        Ok(seal([&[VERSION][..], &head, &batches].concat()))
    }

    pub(super) fn decode(bytes: &[u8]) -> Result<Self, String> {
        let rest = unseal(VERSION, bytes).map_err(|broken| match broken {
            Broken::Short if bytes.is_empty() => "it is empty".to_owned(),
            Broken::Short => "it is cut off".to_owned(),
            Broken::Version(other) => {
                format!("it has the form {other}, and this version of gleaner reads form {VERSION}")
            }
            Broken::Checksum => "its checksum does not match".to_owned(),
        })?;
        let head = postcard::take_from_bytes::<(Head, usize, usize)>(rest);
        let ((head, shared, here), batches) = head.map_err(|error| error.to_string())?;
        let length = shared.checked_add(here).filter(|it| *it <= MAX_BYTES);
        let length = length.ok_or("it is too long")?;
        let plain = zstd::bulk::decompress(batches, length).map_err(|error| error.to_string())?;
        let (shared, here) = plain.split_at_checked(shared).ok_or("it is cut off")?;
        let batch = |bytes| Batch::decode(bytes).map_err(|error| error.to_string());
        Ok(Self {
            head,
            shared: batch(shared)?,
            here: batch(here)?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::Table;

    #[test]
    fn what_is_written_is_read_and_damage_is_told() {
        let (mut shared, mut here) = (Batch::new(), Batch::new());
        shared.put(Table::Pages, "page", vec![7; 900]);
        shared.delete(Table::Queue, "row");
        here.put(Table::Meta, "disk", "end");
        let entry = Entry {
            head: Head {
                kind: Kind::Commit,
                epoch: 3,
                number: 1_000,
                writer: [9; 16],
            },
            shared,
            here,
        };
        let bytes = entry.encode().unwrap();
        assert!(bytes.len() < 200, "{}", bytes.len());
        assert_eq!(Entry::decode(&bytes), Ok(entry));
        for at in 0..bytes.len() {
            assert!(Entry::decode(&bytes[..at]).is_err());
            let mut damaged = bytes.clone();
            damaged[at] ^= 0x10;
            assert!(Entry::decode(&damaged).is_err());
        }
        // What is announced reserves nothing.
        let head = postcard::to_stdvec(&(
            Head {
                kind: Kind::Begin,
                epoch: 0,
                number: 0,
                writer: [0; 16],
            },
            usize::MAX / 2,
            usize::MAX / 4,
        ));
        let bytes = seal([&[VERSION][..], &head.unwrap()].concat());
        assert_eq!(Entry::decode(&bytes), Err("it is too long".to_owned()));
    }
}
