//! Bloom filters over the keys of the URLs seen, and the file in which they outlive the process.
//!
//! The file is a copy and may be missing, old or damaged; then all keys, or those that are newer,
//! are read from the runs. It is written piece by piece between commits while keys are added. Bits
//! are only ever set, so every piece contains at least the keys that were there when writing began,
//! and the file promises no more than that.

use std::fs::{self, File};
use std::io::{self, BufReader, BufWriter, Read, Write};
use std::path::{Path, PathBuf};
use std::thread::{self, JoinHandle};

use bloomfilter::Bloom;
use crc32fast::Hasher;

/// Rate of false positives of a full filter. Each costs a search in the runs.
const FALSE_POSITIVES: f64 = 0.01;

/// The first filter is planned for one in so many of the keys that are expected: most crawls stay
/// far below that number.
const FIRST: u64 = 8;

/// A list of filters. When the last one is full, one of twice its size is added, or of the size
/// that was expected if that is more.
pub(super) struct Filters {
    /// The filters. Keys are added to the last one.
    list: Vec<Filter>,
    /// Number of keys that are expected in all.
    expected: u64,
}

struct Filter {
    bloom: Bloom<u64>,
    /// Number of keys that it is planned for.
    planned: u64,
    /// Number of keys added.
    count: u64,
}

impl Filters {
    /// Empty filters for so many keys, of which `known` are added soon.
    pub(super) fn new(expected: u64, known: u64) -> Self {
        let first = expected / FIRST;
        let planned = if known < first {
            first
        } else {
            expected.max(known)
        };
        Self {
            list: vec![Filter::new(planned)],
            expected,
        }
    }

    /// The same filters, which grow as is best for so many keys.
    pub(super) fn expecting(self, expected: u64) -> Self {
        Self { expected, ..self }
    }

    /// Whether the key may have been added. False is certain, true may be wrong.
    pub(super) fn check(&self, key: u64) -> bool {
        // The last filter is the largest and contains the recent keys.
        self.list.iter().rev().any(|it| it.bloom.check(&key))
    }

    /// Adds a key, unless all of its bits are set already.
    pub(super) fn note(&mut self, key: u64) {
        if self.check(key) {
            return;
        }
        let full = self.list.last().filter(|last| last.count >= last.planned);
        if let Some(planned) = full.map(|it| it.planned) {
            let planned = planned.saturating_mul(2).max(self.expected);
            self.list.push(Filter::new(planned));
        }
        if let Some(filter) = self.list.last_mut() {
            filter.bloom.set(&key);
            filter.count += 1;
        }
    }

    /// Bytes used in memory, and in a file.
    pub(super) fn bytes(&self) -> u64 {
        self.list.iter().map(|it| it.bloom.len() / 8).sum()
    }

    /// Number of filters.
    pub(super) fn len(&self) -> usize {
        self.list.len()
    }
}

impl Filter {
    fn new(planned: u64) -> Self {
        // The seed only spreads the bits; the keys are already hashed under the secret of the
        // crawl.
        let mut seed = [0; 32];
        for (n, byte) in seed.iter_mut().enumerate() {
            *byte = n as u8 ^ 0xa5;
        }
        let planned = planned.max(1_024);
        let items = usize::try_from(planned).unwrap_or(usize::MAX);
        Self {
            bloom: Bloom::new_for_fp_rate_with_seed(items, FALSE_POSITIVES, &seed)
                .expect("a rate of 1 % and at least one item are what the filter asks for"),
            planned,
            count: 0,
        }
    }
}

/// The file of a crawl's filters. Layout, little-endian: magic and version (8 bytes); crawl, the
/// delta that it covers, number of filters (8 bytes each); for each filter the keys planned, the
/// keys added and its size in bytes (8 bytes each); then the filters; then the CRC-32 of everything
/// before.
pub(super) struct FilterFile {
    path: PathBuf,
    /// Identifies the crawl. The filters of another crawl would make known URLs new.
    crawl: u64,
    /// The last delta whose keys are certain to be in the file; 0 if there is no file.
    through: u64,
    saving: Option<Saving>,
}

/// A write of the file that is under way.
enum Saving {
    Pieces {
        out: BufWriter<File>,
        hasher: Hasher,
        /// Number of filters when it began. Keys added later are not promised.
        filters: usize,
        /// The filter to continue with, and the byte in it.
        next: (usize, usize),
        through: u64,
    },
    /// The file is complete; a thread syncs and renames it.
    Sync {
        thread: JoinHandle<io::Result<()>>,
        through: u64,
    },
}

const MAGIC: [u8; 8] = *b"gleanbf1";
/// Bytes written at once: a fraction of a millisecond.
const PIECE: usize = 1 << 20;
/// More filters than any crawl needs, since each is twice the size of the one before.
const MAX_FILTERS: u64 = 64;

impl FilterFile {
    /// Reads the file. Returns no filters if there is none or it cannot be used; the last value
    /// says why, if that is worth a warning.
    pub(super) fn open(path: PathBuf, crawl: u64) -> (Self, Option<Filters>, Option<String>) {
        let mut file = Self {
            path,
            crawl,
            through: 0,
            saving: None,
        };
        match read(&file.path, crawl) {
            Ok(Some((filters, through))) => {
                file.through = through;
                (file, Some(filters), None)
            }
            Ok(None) => (file, None, None),
            Err(error) => (file, None, Some(error.to_string())),
        }
    }

    /// The last delta whose keys are certain to be in the file; 0 if there is no file.
    pub(super) fn through(&self) -> u64 {
        self.through
    }

    pub(super) fn is_saving(&self) -> bool {
        self.saving.is_some()
    }

    /// Begins to write the file, which will contain all keys up to the delta `through`.
    pub(super) fn begin(&mut self, filters: &Filters, through: u64) -> io::Result<()> {
        let mut head = MAGIC.to_vec();
        let mut put = |number: u64| head.extend_from_slice(&number.to_le_bytes());
        put(self.crawl);
        put(through);
        put(filters.len() as u64);
        for filter in &filters.list {
            put(filter.planned);
            put(filter.count);
            put(filter.bloom.as_slice().len() as u64);
        }
        let mut out = BufWriter::new(File::create(self.staged())?);
        let mut hasher = Hasher::new();
        hasher.update(&head);
        out.write_all(&head)?;
        self.saving = Some(Saving::Pieces {
            out,
            hasher,
            filters: filters.len(),
            next: (0, 0),
            through,
        });
        Ok(())
    }

    /// Performs the next step of a write, if one is under way.
    pub(super) fn step(&mut self, filters: &Filters) -> io::Result<()> {
        match self.saving.take() {
            None => Ok(()),
            Some(Saving::Pieces {
                mut out,
                mut hasher,
                filters: count,
                mut next,
                through,
            }) => {
                if let Some(filter) = filters.list.get(next.0).filter(|_| next.0 < count) {
                    let rest = filter.bloom.as_slice().get(next.1..).unwrap_or_default();
                    let piece = rest.get(..PIECE).unwrap_or(rest);
                    hasher.update(piece);
                    out.write_all(piece)?;
                    next = if piece.len() < rest.len() {
                        (next.0, next.1 + piece.len())
                    } else {
                        (next.0 + 1, 0)
                    };
                    self.saving = Some(Saving::Pieces {
                        out,
                        hasher,
                        filters: count,
                        next,
                        through,
                    });
                    return Ok(());
                }
                out.write_all(&hasher.finalize().to_le_bytes())?;
                let file = out.into_inner().map_err(io::IntoInnerError::into_error)?;
                let (staged, path) = (self.staged(), self.path.clone());
                let thread = thread::Builder::new()
                    .name("filter-sync".to_owned())
                    .spawn(move || {
                        file.sync_all()?;
                        fs::rename(staged, path)
                    })?;
                self.saving = Some(Saving::Sync { thread, through });
                Ok(())
            }
            Some(Saving::Sync { thread, through }) => {
                if !thread.is_finished() {
                    self.saving = Some(Saving::Sync { thread, through });
                    return Ok(());
                }
                self.installed(thread, through)
            }
        }
    }

    /// Completes or abandons the write that is under way.
    pub(super) fn finish(&mut self, filters: &Filters) -> io::Result<()> {
        while self.saving.is_some() {
            match self.saving.take() {
                Some(Saving::Sync { thread, through }) => self.installed(thread, through)?,
                saving => {
                    self.saving = saving;
                    self.step(filters)?;
                }
            }
        }
        Ok(())
    }

    fn installed(&mut self, thread: JoinHandle<io::Result<()>>, through: u64) -> io::Result<()> {
        let panicked = |_| io::Error::other("the thread that syncs it panicked");
        thread.join().map_err(panicked)??;
        self.through = through;
        Ok(())
    }

    fn staged(&self) -> PathBuf {
        self.path.with_extension("tmp")
    }
}

impl Drop for FilterFile {
    fn drop(&mut self) {
        // An incomplete file is useless. A complete one is waited for, so that no thread writes
        // after another process has opened the directory.
        if let Some(Saving::Sync { thread, .. }) = self.saving.take() {
            let _ = thread.join();
        }
    }
}

/// Reads a file of filters, and checks that it is what was written.
pub fn verify_filters(path: &Path) -> io::Result<()> {
    const PIECE: usize = 256 << 10;
    let mut file = File::open(path)?;
    let length = file.metadata()?.len();
    let damaged = || io::Error::new(io::ErrorKind::InvalidData, "its checksum does not match");
    let mut left = length.checked_sub(4).ok_or_else(damaged)?;
    let mut hasher = Hasher::new();
    let mut piece = vec![0; PIECE];
    while left > 0 {
        let piece = &mut piece[..left.min(PIECE as u64) as usize];
        file.read_exact(piece)?;
        hasher.update(piece);
        left -= piece.len() as u64;
    }
    let mut stored = [0; 4];
    file.read_exact(&mut stored)?;
    match stored == hasher.finalize().to_le_bytes() {
        true => Ok(()),
        false => Err(damaged()),
    }
}

/// Reads the filters and the delta that they cover; `None` if there is no file or it belongs to
/// another crawl.
fn read(path: &Path, crawl: u64) -> io::Result<Option<(Filters, u64)>> {
    let damaged = |why: &str| io::Error::new(io::ErrorKind::InvalidData, why);
    let file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    };
    let mut left = file.metadata()?.len();
    let mut input = BufReader::new(file);
    let mut hasher = Hasher::new();
    let mut take = |input: &mut BufReader<File>, length: u64| -> io::Result<Vec<u8>> {
        // Memory is reserved only for what the file can fill.
        left = left
            .checked_sub(length)
            .ok_or_else(|| damaged("it is cut off"))?;
        let mut bytes = vec![0; length as usize];
        input.read_exact(&mut bytes)?;
        hasher.update(&bytes);
        Ok(bytes)
    };
    let head = take(&mut input, 32)?;
    let number = |bytes: &[u8], at: usize| {
        let bytes = bytes.as_chunks().0.get(at);
        bytes.map_or(0, |bytes| u64::from_le_bytes(*bytes))
    };
    if head.get(..8) != Some(&MAGIC[..]) {
        return Err(damaged("it does not begin as such a file does"));
    }
    let (through, count) = (number(&head, 2), number(&head, 3));
    if count == 0 || count > MAX_FILTERS {
        return Err(damaged("it has no possible number of filters"));
    }
    let shapes = take(&mut input, count * 24)?;
    let mut list = Vec::new();
    for at in 0..count as usize {
        let bytes = take(&mut input, number(&shapes, at * 3 + 2))?;
        list.push(Filter {
            planned: number(&shapes, at * 3),
            count: number(&shapes, at * 3 + 1),
            bloom: Bloom::from_bytes(bytes).map_err(damaged)?,
        });
    }
    let crc = hasher.finalize().to_le_bytes();
    let mut stored = Vec::new();
    input.read_to_end(&mut stored)?;
    if stored != crc {
        return Err(damaged("its checksum does not match"));
    }
    let filters = Filters { list, expected: 0 };
    Ok((number(&head, 1) == crawl).then_some((filters, through)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn filters_begin_small_and_grow_to_what_is_expected() {
        let planned = |filters: &Filters| -> Vec<u64> {
            let planned = filters.list.iter().map(|it| it.planned);
            planned.collect()
        };
        let mut filters = Filters::new(80_000, 100);
        assert_eq!(planned(&filters), [10_000]);
        (1..=11_000).for_each(|key| filters.note(key));
        assert_eq!(planned(&filters), [10_000, 80_000]);
        (11_000..=100_000).for_each(|key| filters.note(key));
        assert_eq!(planned(&filters), [10_000, 80_000, 160_000]);
        assert!((1..=100_000).all(|key| filters.check(key)));
        // As many as are known already, at once.
        assert_eq!(planned(&Filters::new(80_000, 10_000)), [80_000]);
        assert_eq!(planned(&Filters::new(80_000, 90_000)), [90_000]);
        // A file of an earlier version.
        let mut read = Filters::new(1_024, 1_024).expecting(5_000);
        (1..=2_000).for_each(|key| read.note(key));
        assert_eq!(planned(&read), [1_024, 5_000]);
    }
}
