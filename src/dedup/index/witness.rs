//! The witness column: the signatures of one width (digests, SimHash, sketch), in rows of one width
//! in order of document id, so that a candidate costs one read of 237 bytes that the kernel has
//! cached, where a row in sled costs 18 microseconds; and sled takes about twice the bytes of a
//! row.
//!
//! Rows are written at checkpoints only. Sled does not have what is here; the store has, so all of
//! it can be made again: in another file, which takes the place of this one when it is whole. Each
//! start reads all rows once, to tell whether they match their checksums. The file is read and not
//! mapped, because it grows: a mapping is sound only for files that stay.

use std::fs::{File, OpenOptions};
use std::io::{self, BufReader, Read, Seek, SeekFrom};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use rustix::fs::FallocateFlags;

use crate::dedup::{DocumentId, Fingerprints, HASHES, Signature, Tier, features};

/// Bytes of a digest.
const DIGEST: usize = 32;

/// The tiers whose digests are kept, in their order; the near tier comes behind them.
const DIGESTS: [Tier; 3] = [Tier::Raw, Tier::Normalized, Tier::Content];

/// Bytes of a row without its checksum: which signatures there are, a bit each; digests, SimHash,
/// sketch.
const FIELDS: usize = 1 + DIGESTS.len() * DIGEST + 8 + HASHES;

/// Bytes of a row.
const ROW: usize = FIELDS + 4;

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
    /// Opens the column at `path`, or begins it anew where it is missing, damaged or of other
    /// features.
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

    /// Begins a column anew, in another file than that at `path` until
    /// [`take_place`](Self::take_place).
    pub(super) fn begin(path: &Path) -> io::Result<Self> {
        let path = path.with_extension("witness.new");
        match std::fs::remove_file(&path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => Self::open(&path),
        }
    }

    /// Puts the column in the place of the one at `path`, when the disk has all of it.
    pub(super) fn take_place(&mut self, path: &Path) -> io::Result<()> {
        self.file.sync_all()?;
        std::fs::rename(&self.path, path)?;
        path.clone_into(&mut self.path);
        match path.parent() {
            Some(directory) => File::open(directory)?.sync_all(),
            None => Ok(()),
        }
    }

    /// Where it is.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// The highest id that was written, or 0.
    pub(super) fn through(&self) -> DocumentId {
        self.through
    }

    /// The last document up to which all rows are as they were written: one sequential read.
    pub(super) fn whole_through(&self) -> io::Result<DocumentId> {
        (&self.file).seek(SeekFrom::Start(HEAD as u64))?;
        let mut rows = BufReader::with_capacity(ROW << 12, &self.file);
        let mut row = [0; ROW];
        for id in 1..=self.through {
            rows.read_exact(&mut row)?;
            if row != [0; ROW] && fields(id, &row).is_none() {
                return Ok(id - 1);
            }
        }
        Ok(self.through)
    }

    /// The signatures of a document; `None` if it has none here, or a row that cannot be read.
    pub(super) fn get(&self, id: DocumentId) -> Option<WitnessRow> {
        let mut row = [0; ROW];
        self.file.read_exact_at(&mut row, place(id)?).ok()?;
        Some(WitnessRow(*fields(id, &row)?))
    }

    /// Writes the row of a document; not durable before [`sync`](Self::sync).
    pub(super) fn put(&mut self, id: DocumentId, fingerprints: &Fingerprints) -> io::Result<()> {
        let Some(place) = place(id) else {
            return Ok(());
        };
        // A document without signatures has a row of zeros, whose checksum is wrong.
        let mut row = [0; ROW];
        let kept = WitnessRow::of(fingerprints);
        if kept.0[0] != 0 {
            let (fields, crc) = row.split_at_mut(FIELDS);
            fields.copy_from_slice(&kept.0);
            crc.copy_from_slice(&checksum(id, fields).to_le_bytes());
        }
        self.file.write_all_at(&row, place)?;
        self.through = self.through.max(id);
        Ok(())
    }

    /// Takes away the rows of documents, by ascending ids, and gives the space of neighbouring ones
    /// back, where the file system can.
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
                    self.put(*id, &Fingerprints::default())?;
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

/// The signatures of one document.
pub(super) struct WitnessRow([u8; FIELDS]);

impl WitnessRow {
    /// Whether a signature is one that is kept here.
    pub(super) fn holds(signature: &Signature) -> bool {
        match signature {
            Signature::Digest(_) | Signature::Witnessed { .. } => true,
            // Of a signature the column has the sketch only.
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

    /// The signature of a tier, if it is kept here.
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

/// A row without its checksum, if that matches.
fn fields(id: DocumentId, row: &[u8; ROW]) -> Option<&[u8; FIELDS]> {
    let (fields, crc) = row.split_first_chunk::<FIELDS>()?;
    (checksum(id, fields).to_le_bytes() == crc).then_some(fields)
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

    fn signatures(of: u8) -> Fingerprints {
        let words: Vec<_> = (0..80).map(|word| format!("word{of}x{word}")).collect();
        let text = crate::dedup::Text::whole(&words.join(" "));
        Fingerprints::of(&[of], &text)
    }

    /// Whether the column has all signatures of a document.
    fn has(column: &WitnessColumn, id: DocumentId, signatures: &Fingerprints) -> bool {
        let kept = column.get(id);
        Tier::ALL.into_iter().all(|tier| {
            let kept = kept.as_ref().and_then(|kept| kept.signature(tier));
            kept.is_some() && kept.as_ref() == signatures.get(tier)
        })
    }

    #[test]
    fn rows_are_found_after_reopening() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("witness");
        let mut column = WitnessColumn::open(&path).unwrap();
        column.put(1, &signatures(1)).unwrap();
        column.put(2, &Fingerprints::default()).unwrap();
        column.put(5, &signatures(5)).unwrap();
        column.sync().unwrap();
        let column = WitnessColumn::open(&path).unwrap();
        assert_eq!(column.through(), 5);
        // Ids without a row are no damage.
        assert_eq!(column.whole_through().unwrap(), 5);
        assert!(has(&column, 1, &signatures(1)));
        for id in [0, 2, 3, 4, 6, u64::MAX] {
            assert!(column.get(id).is_none(), "{id}");
        }
        assert!(has(&column, 5, &signatures(5)));
    }

    #[test]
    fn what_is_removed_is_gone_and_its_space_too() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("witness");
        let mut column = WitnessColumn::open(&path).unwrap();
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
        column.put(1, &signatures(1)).unwrap();
        column.put(2, &signatures(2)).unwrap();
        let mut bytes = std::fs::read(&path).unwrap();
        bytes[HEAD + 20] ^= 1;
        std::fs::write(&path, &bytes).unwrap();
        let column = WitnessColumn::open(&path).unwrap();
        assert_eq!(column.whole_through().unwrap(), 0);
        assert!(column.get(1).is_none());
        assert!(has(&column, 2, &signatures(2)));
        bytes[17] ^= 1;
        std::fs::write(&path, &bytes).unwrap();
        let column = WitnessColumn::open(&path).unwrap();
        assert_eq!(column.through(), 0, "other features: begun anew");
    }
}
