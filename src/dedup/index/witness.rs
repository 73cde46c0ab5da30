//! The witness column: the signatures of fixed width (digests, SimHash, sketch), in rows of fixed
//! width by document id.
//!
//! A candidate is verified with one read of 237 bytes that the kernel has usually cached; a row in
//! sled costs 18 microseconds and twice the space.
//!
//! Rows are written only at checkpoints. Sled does not hold these signatures, but the store does,
//! so a damaged column is rebuilt in a new file that replaces the old one when it is complete. Each
//! start reads all rows once and verifies their checksums. The file is read rather than mapped,
//! because it grows and a mapping is sound only for a file of fixed size.

use std::fs::{File, OpenOptions};
use std::io::{self, BufReader, Read, Seek, SeekFrom};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use rustix::fs::FallocateFlags;

use crate::dedup::{DocumentId, Fingerprints, HASHES, Signature, Tier, features};

/// Length of a digest in bytes.
const DIGEST: usize = 32;

/// The tiers whose digests a row holds, in order. The signature of the near tier follows them.
const DIGESTS: [Tier; 3] = [Tier::Raw, Tier::Normalized, Tier::Content];

/// Length of a row without its checksum: a bit for each signature that is present, the digests, the
/// SimHash, the sketch.
const FIELDS: usize = 1 + DIGESTS.len() * DIGEST + 8 + HASHES;

/// Length of a row in bytes.
const ROW: usize = FIELDS + 4;

/// Bytes before the first row: a title, then a hash of the version of the features.
const HEAD: usize = 24;

const TITLE: &[u8; 16] = b"gleaner witness\n";

/// The witness column of a crawl.
#[derive(Debug)]
pub(super) struct WitnessColumn {
    file: File,
    path: PathBuf,
    /// The highest id with a row in the file.
    through: AtomicU64,
}

impl WitnessColumn {
    /// Opens the column at `path`. Starts an empty one if it is missing, begins in another way, or
    /// was made with other features.
    pub(super) fn open(path: &Path) -> io::Result<Self> {
        let file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .open(path)?;
        let column = Self {
            file,
            path: path.to_owned(),
            through: AtomicU64::new(0),
        };
        let mut found = [0; HEAD];
        let is_ours = match column.file.read_exact_at(&mut found, 0) {
            Ok(()) => found == head(),
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => false,
            Err(error) => return Err(error),
        };
        if is_ours {
            let rows = column.file.metadata()?.len().saturating_sub(HEAD as u64);
            column.through.store(rows / ROW as u64, Ordering::Relaxed);
        } else {
            column.file.set_len(0)?;
            column.file.write_all_at(&head(), 0)?;
        }
        Ok(column)
    }

    /// Starts an empty column in a temporary file, which replaces the column at `path` by
    /// [`take_place`](Self::take_place).
    pub(super) fn begin(path: &Path) -> io::Result<Self> {
        let path = path.with_extension("witness.new");
        match std::fs::remove_file(&path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => Self::open(&path),
        }
    }

    /// Syncs the column and renames it to `path`.
    pub(super) fn take_place(&mut self, path: &Path) -> io::Result<()> {
        self.file.sync_all()?;
        std::fs::rename(&self.path, path)?;
        path.clone_into(&mut self.path);
        match path.parent() {
            Some(directory) => File::open(directory)?.sync_all(),
            None => Ok(()),
        }
    }

    /// The path of the file.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// The highest id written; 0 if none.
    pub(super) fn through(&self) -> DocumentId {
        self.through.load(Ordering::Relaxed)
    }

    /// The last document before the first damaged row. Reads the whole file sequentially.
    pub(super) fn whole_through(&self) -> io::Result<DocumentId> {
        (&self.file).seek(SeekFrom::Start(HEAD as u64))?;
        let mut rows = BufReader::with_capacity(ROW << 12, &self.file);
        let mut row = [0; ROW];
        let through = self.through();
        for id in 1..=through {
            rows.read_exact(&mut row)?;
            if row != [0; ROW] && fields(id, &row).is_none() {
                return Ok(id - 1);
            }
        }
        Ok(through)
    }

    /// The row of a document, if it has one.
    ///
    /// # Errors
    ///
    /// An error of the file system; [`io::ErrorKind::InvalidData`] if the row is damaged.
    pub(super) fn get(&self, id: DocumentId) -> io::Result<Option<WitnessRow>> {
        let Some(place) = place(id).filter(|_| id <= self.through()) else {
            return Ok(None);
        };
        let mut row = [0; ROW];
        self.file.read_exact_at(&mut row, place)?;
        if row == [0; ROW] {
            return Ok(None);
        }
        match fields(id, &row) {
            Some(fields) => Ok(Some(WitnessRow(*fields))),
            None => Err(io::Error::new(
                io::ErrorKind::InvalidData,
                format!("the checksum of row {id} does not match"),
            )),
        }
    }

    /// Writes the row of a document. It is durable after the next [`sync`](Self::sync).
    pub(super) fn put(&self, id: DocumentId, fingerprints: &Fingerprints) -> io::Result<()> {
        let Some(place) = place(id) else {
            return Ok(());
        };
        // A document without signatures gets a row of zeros, whose checksum does not match.
        let mut row = [0; ROW];
        let kept = WitnessRow::of(fingerprints);
        if kept.0[0] != 0 {
            let (fields, crc) = row.split_at_mut(FIELDS);
            fields.copy_from_slice(&kept.0);
            crc.copy_from_slice(&checksum(id, fields).to_le_bytes());
        }
        self.file.write_all_at(&row, place)?;
        self.through.fetch_max(id, Ordering::Relaxed);
        Ok(())
    }

    /// Removes the rows of documents, given by ascending id, and frees the space of adjacent ones
    /// if the file system supports it.
    pub(super) fn remove(&self, ids: &[DocumentId]) -> io::Result<()> {
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
                // A row of zeros also counts as no row.
                for id in neighbours {
                    self.put(*id, &Fingerprints::default())?;
                }
            }
        }
        Ok(())
    }

    /// Waits until all rows are on disk.
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

/// The offset of a document's row. Ids start at 1.
fn place(id: DocumentId) -> Option<u64> {
    let rows = id.checked_sub(1)?.checked_mul(ROW as u64)?;
    rows.checked_add(HEAD as u64)
}

/// The signatures of one document.
pub(super) struct WitnessRow([u8; FIELDS]);

impl WitnessRow {
    /// Whether a row can hold a signature completely.
    pub(super) fn holds(signature: &Signature) -> bool {
        match signature {
            Signature::Digest(_) | Signature::Witnessed { .. } => true,
            // Of a `MinHash` signature, a row holds only the sketch.
            Signature::Shingles(_) | Signature::MinHashed { .. } => false,
        }
    }

    fn of(fingerprints: &Fingerprints) -> Self {
        let mut fields = [0; FIELDS];
        let (flags, rest) = fields.split_at_mut(1);
        let (digests, near) = rest.split_at_mut(DIGESTS.len() * DIGEST);
        for ((at, tier), place) in (0..).zip(DIGESTS).zip(digests.chunks_exact_mut(DIGEST)) {
            if let Some(Signature::Digest(digest)) = fingerprints.get(tier) {
                place.copy_from_slice(digest);
                flags[0] |= 1 << at;
            }
        }
        let witness = fingerprints.get(Tier::Near);
        let witness = witness.and_then(|it| Some((it.simhash()?, it.sketch()?)));
        if let Some((simhash, sketch)) = witness {
            near[..8].copy_from_slice(&simhash.to_le_bytes());
            near[8..].copy_from_slice(&sketch[..]);
            flags[0] |= 1 << DIGESTS.len();
        }
        Self(fields)
    }

    /// The signature at a tier, if the row has it.
    pub(super) fn signature(&self, tier: Tier) -> Option<Signature> {
        let (flags, rest) = self.0.split_first()?;
        let (digests, near) = rest.split_at_checked(DIGESTS.len() * DIGEST)?;
        let at = DIGESTS.iter().position(|it| *it == tier);
        if flags >> at.unwrap_or(DIGESTS.len()) & 1 == 0 {
            return None;
        }
        if let Some(at) = at {
            let digest = digests.as_chunks().0.get(at)?;
            return Some(Signature::Digest(*digest));
        }
        let (simhash, sketch) = near.split_first_chunk::<8>()?;
        Some(Signature::Witnessed {
            simhash: u64::from_le_bytes(*simhash),
            sketch: Box::new(sketch.try_into().ok()?),
        })
    }
}

/// A row without its checksum; `None` if the checksum does not match.
fn fields(id: DocumentId, row: &[u8; ROW]) -> Option<&[u8; FIELDS]> {
    let (fields, crc) = row.split_first_chunk::<FIELDS>()?;
    (checksum(id, fields).to_le_bytes() == crc).then_some(fields)
}

/// The checksum of a row. It includes the id, so that a misplaced row fails, and is never 0, so
/// that a row of zeros fails.
fn checksum(id: DocumentId, fields: &[u8]) -> u32 {
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(&id.to_le_bytes());
    hasher.update(fields);
    hasher.finalize().max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn signatures(of: u8) -> Fingerprints {
        let words: Vec<_> = (0..80).map(|word| format!("word{of}x{word}")).collect();
        let text = crate::dedup::Text::whole(&words.join(" "));
        Fingerprints::of(&[of], &text)
    }

    /// Whether the column has all signatures of a document.
    fn has(column: &WitnessColumn, id: DocumentId, signatures: &Fingerprints) -> bool {
        let kept = column.get(id).unwrap();
        Tier::ALL.into_iter().all(|tier| {
            let kept = kept.as_ref().and_then(|kept| kept.signature(tier));
            kept.is_some() && kept.as_ref() == signatures.get(tier)
        })
    }

    #[test]
    fn rows_are_found_after_reopening() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("witness");
        let column = WitnessColumn::open(&path).unwrap();
        column.put(1, &signatures(1)).unwrap();
        column.put(2, &Fingerprints::default()).unwrap();
        column.put(5, &signatures(5)).unwrap();
        column.sync().unwrap();
        let column = WitnessColumn::open(&path).unwrap();
        assert_eq!(column.through(), 5);
        // An id without a row is no damage.
        assert_eq!(column.whole_through().unwrap(), 5);
        assert!(has(&column, 1, &signatures(1)));
        for id in [0, 2, 3, 4, 6, u64::MAX] {
            assert!(column.get(id).unwrap().is_none(), "{id}");
        }
        assert!(has(&column, 5, &signatures(5)));
    }

    #[test]
    fn what_is_removed_is_gone_and_its_space_too() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("witness");
        let column = WitnessColumn::open(&path).unwrap();
        let signatures = signatures(1);
        for id in 1..=3_000 {
            column.put(id, &signatures).unwrap();
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
            let row = column.get(id).unwrap();
            assert_eq!(row.is_some(), !removed.contains(&id), "{id}");
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
    fn what_is_damaged_is_an_error() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("witness");
        let column = WitnessColumn::open(&path).unwrap();
        column.put(1, &signatures(1)).unwrap();
        column.put(2, &signatures(2)).unwrap();
        let mut bytes = std::fs::read(&path).unwrap();
        bytes[HEAD + 20] ^= 1;
        std::fs::write(&path, &bytes).unwrap();
        let column = WitnessColumn::open(&path).unwrap();
        assert_eq!(column.whole_through().unwrap(), 0);
        let damaged = |id| column.get(id).map(drop).unwrap_err().kind();
        assert_eq!(damaged(1), io::ErrorKind::InvalidData);
        assert!(has(&column, 2, &signatures(2)));
        // Cut off while it is open.
        std::fs::write(&path, &bytes[..bytes.len() - 1]).unwrap();
        assert_eq!(damaged(2), io::ErrorKind::UnexpectedEof);
        bytes[17] ^= 1;
        std::fs::write(&path, &bytes).unwrap();
        let column = WitnessColumn::open(&path).unwrap();
        assert_eq!(column.through(), 0, "other features: begun anew");
    }
}
