//! The witness column: what near duplicates are verified by, in rows of one width in order of document
//! id, so that a candidate costs one read of 140 bytes that the kernel has cached, where a row in sled
//! costs 18 microseconds.
//!
//! Rows are written at checkpoints only, and all of it can be made again from the documents: a row that
//! does not match its checksum is no row, and a file that does not begin as expected is begun anew. The
//! file is read and not mapped, because it grows: a mapping is sound only for files that stay.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use rustix::fs::FallocateFlags;

use super::minhash::HASHES;
use super::{DocumentId, Signature, features};

/// Bytes of a row: SimHash, sketch, checksum.
const ROW: usize = 8 + HASHES + 4;

/// Bytes before the first row: a title, then a hash of what the features are.
const HEAD: usize = 24;

const TITLE: &[u8; 16] = b"gleaner witness\n";

/// The column of a crawl.
#[derive(Debug)]
pub(super) struct WitnessColumn {
    file: File,
    path: PathBuf,
    /// The highest id that the file has room for.
    through: DocumentId,
}

impl WitnessColumn {
    /// Opens the column at `path`, or begins it anew where it is missing, damaged or of other features.
    pub(super) fn open(path: &Path) -> io::Result<Self> {
        let file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .open(path)?;
        let mut column = Self {
            file,
            path: path.to_owned(),
            through: 0,
        };
        let mut found = [0; HEAD];
        let is_ours = column.file.read_exact_at(&mut found, 0).is_ok() && found == head();
        if is_ours {
            let rows = column.file.metadata()?.len().saturating_sub(HEAD as u64);
            column.through = rows / ROW as u64;
        } else {
            column.file.set_len(0)?;
            column.file.write_all_at(&head(), 0)?;
        }
        Ok(column)
    }

    /// Where it is.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// The highest id that was written, or 0.
    pub(super) fn through(&self) -> DocumentId {
        self.through
    }

    /// The row of a document; `None` if it has none, or one that cannot be read.
    pub(super) fn get(&self, id: DocumentId) -> Option<Signature> {
        let mut row = [0; ROW];
        self.file.read_exact_at(&mut row, place(id)?).ok()?;
        let (rest, crc) = row.split_last_chunk::<4>()?;
        if checksum(id, rest) != u32::from_le_bytes(*crc) {
            return None;
        }
        let (simhash, sketch) = rest.split_first_chunk::<8>()?;
        Some(Signature::Witnessed {
            simhash: u64::from_le_bytes(*simhash),
            sketch: Box::new(sketch.try_into().ok()?),
        })
    }

    /// Writes the row of a document; not durable before [`sync`](Self::sync).
    pub(super) fn put(&mut self, id: DocumentId, signature: Option<&Signature>) -> io::Result<()> {
        let Some(place) = place(id) else {
            return Ok(());
        };
        // A document without a fingerprint has a row of zeros, whose checksum is wrong.
        let mut row = [0; ROW];
        let witness = signature.and_then(|it| Some((it.simhash()?, it.sketch()?)));
        if let Some((simhash, sketch)) = witness {
            let (fields, crc) = row.split_at_mut(ROW - 4);
            fields[..8].copy_from_slice(&simhash.to_le_bytes());
            fields[8..].copy_from_slice(&sketch[..]);
            crc.copy_from_slice(&checksum(id, fields).to_le_bytes());
        }
        self.file.write_all_at(&row, place)?;
        self.through = self.through.max(id);
        Ok(())
    }

    /// Takes away the rows of documents, by ascending ids, and gives the space of neighbouring ones back,
    /// where the file system can.
    pub(super) fn remove(&mut self, ids: &[DocumentId]) -> io::Result<()> {
        for neighbours in ids.chunk_by(|a, b| a + 1 == *b) {
            let (Some(first), Some(last)) = (neighbours.first(), neighbours.last()) else {
                continue;
            };
            let (Some(from), Some(to)) = (place(*first), place(last.saturating_add(1))) else {
                continue;
            };
            let length = self.file.metadata()?.len();
            let to = to.min(length);
            if from >= to {
                continue;
            }
            let how = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
            if rustix::fs::fallocate(&self.file, how, from, to - from).is_err() {
                // A row of zeros is none, too.
                for id in neighbours {
                    self.put(*id, None)?;
                }
            }
        }
        Ok(())
    }

    /// Waits until the disk has all rows.
    pub(super) fn sync(&self) -> io::Result<()> {
        self.file.sync_data()
    }
}

fn head() -> [u8; HEAD] {
    let mut head = [0; HEAD];
    let (title, features) = head.split_at_mut(TITLE.len());
    title.copy_from_slice(TITLE);
    features
        .copy_from_slice(&xxhash_rust::xxh3::xxh3_64(features::VERSION.as_bytes()).to_le_bytes());
    head
}

/// The offset of a document's row; ids begin at 1.
fn place(id: DocumentId) -> Option<u64> {
    let rows = id.checked_sub(1)?.checked_mul(ROW as u64)?;
    rows.checked_add(HEAD as u64)
}

/// The checksum of a row, which is wrong at another document's place, and never 0 for zeros.
fn checksum(id: DocumentId, fields: &[u8]) -> u32 {
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(&id.to_le_bytes());
    hasher.update(fields);
    hasher.finalize().max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn signature(of: u8) -> Signature {
        Signature::Witnessed {
            simhash: u64::from(of),
            sketch: Box::new([of; HASHES]),
        }
    }

    #[test]
    fn rows_are_found_after_reopening() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("witness");
        let mut column = WitnessColumn::open(&path).unwrap();
        column.put(1, Some(&signature(1))).unwrap();
        column.put(2, None).unwrap();
        column.put(5, Some(&signature(5))).unwrap();
        column.sync().unwrap();
        let column = WitnessColumn::open(&path).unwrap();
        assert_eq!(column.through(), 5);
        assert_eq!(column.get(1), Some(signature(1)));
        for id in [0, 2, 3, 4, 6, u64::MAX] {
            assert_eq!(column.get(id), None, "{id}");
        }
        assert_eq!(column.get(5), Some(signature(5)));
    }

    #[test]
    fn what_is_removed_is_gone_and_its_space_too() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("witness");
        let mut column = WitnessColumn::open(&path).unwrap();
        for id in 1..=3_000 {
            column.put(id, Some(&signature(id as u8))).unwrap();
        }
        column.sync().unwrap();
        let blocks = || std::os::unix::fs::MetadataExt::blocks(&column_metadata(&path));
        let before = blocks();
        let removed: Vec<DocumentId> = (1..=2_900).filter(|id| *id != 1_500).collect();
        column.remove(&removed).unwrap();
        column.remove(&[3_001, 9_000]).unwrap();
        column.sync().unwrap();
        let column = WitnessColumn::open(&path).unwrap();
        for id in 1..=3_000 {
            assert_eq!(column.get(id).is_some(), !removed.contains(&id), "{id}");
        }
        assert!(
            blocks() < before / 4,
            "{before} blocks, and {} now",
            blocks()
        );
    }

    fn column_metadata(path: &Path) -> std::fs::Metadata {
        std::fs::metadata(path).unwrap()
    }

    #[test]
    fn what_is_damaged_is_no_witness() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("witness");
        let mut column = WitnessColumn::open(&path).unwrap();
        column.put(1, Some(&signature(1))).unwrap();
        column.put(2, Some(&signature(2))).unwrap();
        let mut bytes = std::fs::read(&path).unwrap();
        bytes[HEAD + 20] ^= 1;
        std::fs::write(&path, &bytes).unwrap();
        let column = WitnessColumn::open(&path).unwrap();
        assert_eq!(column.get(1), None);
        assert_eq!(column.get(2), Some(signature(2)));
        bytes[17] ^= 1;
        std::fs::write(&path, &bytes).unwrap();
        let column = WitnessColumn::open(&path).unwrap();
        assert_eq!(column.through(), 0, "other features: begun anew");
    }
}
