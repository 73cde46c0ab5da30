//! An immutable file of sorted pairs: written once, verified at each start, searched while mapped.
//!
//! Layout, little-endian: a header of 64 bytes (magic, version, bytes per value, count, smallest
//! and largest key, zeros), the keys, the values in the same order (0, 4 or 8 bytes each, as the
//! largest value needs), and the CRC-32 of everything before it. Keys stand together so that a
//! look-up touches one or two cache lines, and a set has no second column at all.

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use crc32fast::Hasher;
use memmap2::Mmap;
use pulp::{Arch, NullaryFnOnce};

use super::error::Error;
use super::fence::{Bounds, Fence, search};
use super::map::map;
use super::pair::Pair;

const MAGIC: [u8; 8] = *b"gleanrun";
const VERSION: u32 = 1;
/// Length of the header: a cache line, so that no key straddles two.
const HEADER: usize = 64;
const TRAILER: usize = 4;
/// Maximum number of pairs of one key that a search for near keys visits. A stranger can make any
/// number of documents with one fingerprint.
pub(super) const MOST_OF_KEY: u32 = 256;
/// Maximum number of pairs that it visits in one range, for fingerprints that differ a little.
pub(super) const MOST_OF_RANGE: u32 = 4_096;
/// Buffer size for reading and writing, in bytes; a multiple of the size of a key.
const BUFFER: usize = 256 << 10;

/// A sorted file, mapped into memory.
#[derive(Debug)]
pub(super) struct RunFile {
    id: u64,
    path: PathBuf,
    header: Header,
    crc: u32,
    newest: u64,
    map: Mmap,
    fence: Fence,
}

impl RunFile {
    /// Returns the number in the file's name, which is unique among existing files.
    pub(super) fn id(&self) -> u64 {
        self.id
    }

    /// Returns the sequence of the last delta with pairs in the file, as the manifest keeps it.
    pub(super) fn newest(&self) -> u64 {
        self.newest
    }

    /// Sets the sequence that [`newest`](Self::newest) returns.
    pub(super) fn with_newest(mut self, newest: u64) -> Self {
        self.newest = newest;
        self
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    pub(super) fn count(&self) -> u64 {
        self.header.count
    }

    /// Returns the CRC-32 of the whole file. The manifest keeps it too, to tell this file from
    /// another one.
    pub(super) fn crc(&self) -> u32 {
        self.crc
    }

    /// Returns the bounds of this file, for a merge with others.
    pub(super) fn bounds(&self) -> Bounds {
        Bounds {
            min: self.header.min,
            max: self.header.max,
            count: self.header.count,
        }
    }

    pub(super) fn memory_bytes(&self) -> usize {
        self.fence.memory_bytes()
    }

    pub(super) fn mapped_bytes(&self) -> u64 {
        self.map.len() as u64
    }

    /// Returns all keys, ascending; a key with several values is repeated.
    pub(super) fn keys(&self) -> &[[u8; 8]] {
        // Opening and writing compared the length with the header, so the range is inside the map.
        self.map[HEADER..HEADER + self.header.count as usize * 8]
            .as_chunks()
            .0
    }

    fn values(&self) -> Values<'_> {
        let bytes = &self.map[HEADER + self.header.count as usize * 8..self.map.len() - TRAILER];
        match self.header.width {
            Width::Zero => Values::Zero,
            Width::U32 => Values::U32(bytes.as_chunks().0),
            Width::U64 => Values::U64(bytes.as_chunks().0),
        }
    }

    pub(super) fn contains(&self, key: u64) -> bool {
        let position = self.lower_bound(key);
        self.keys()
            .get(position)
            .is_some_and(|found| u64::from_le_bytes(*found) == key)
    }

    /// Returns the pairs with keys from `low` to `high`, both inclusive, ascending.
    pub(super) fn pairs(&self, low: u64, high: u64) -> Pairs<'_> {
        Pairs {
            keys: self.keys(),
            values: self.values(),
            next: self.lower_bound(low),
            high,
        }
    }

    /// Calls `visit` for the pairs whose keys lie in one of the ranges and differ from `value` in
    /// at most `bits` bits: at most [`MOST_OF_KEY`] of each key, those with the lowest values, and
    /// [`MOST_OF_RANGE`] of each range. A look-up among millions of keys waits for memory, so the
    /// beginnings of all ranges are prefetched before any is read, and the waits overlap.
    pub(super) fn near(
        &self,
        ranges: &[(u64, u64)],
        value: u64,
        bits: u32,
        visit: &mut impl FnMut(u64, u64),
    ) {
        let (keys, values) = (self.keys(), self.values());
        let touched = ranges.iter().map(|(low, _)| self.touch(*low));
        std::hint::black_box(touched.fold(0, |all, byte| all ^ byte));
        for &(low, high) in ranges {
            let mut next = self.lower_bound(low);
            let (mut last, mut of_key, mut of_range) = (None, 0, 0);
            while let Some(found) = Arch::new().dispatch(NearbyKeys {
                keys: keys.get(next..).unwrap_or_default(),
                high,
                value,
                bits,
            }) {
                next += found;
                if let (Some(key), Some(value)) = (keys.get(next), values.get(next)) {
                    let key = u64::from_le_bytes(*key);
                    visit(key, value);
                    of_key = if last == Some(key) { of_key + 1 } else { 1 };
                    of_range += 1;
                    last = Some(key);
                    if of_range >= MOST_OF_RANGE {
                        break;
                    }
                    if of_key >= MOST_OF_KEY {
                        match key.checked_add(1) {
                            Some(above) => next = self.lower_bound(above),
                            None => break,
                        }
                        continue;
                    }
                }
                next += 1;
            }
        }
    }

    /// Prefetches the keys of the cell of `key`, without waiting for any of them.
    fn touch(&self, key: u64) -> u8 {
        /// Keys per cache line.
        const KEYS_PER_LINE: usize = 8;
        /// Maximum number of keys that are prefetched.
        const MAX_PREFETCHED: usize = 32 * KEYS_PER_LINE;
        if !(self.header.min..=self.header.max).contains(&key) {
            return 0;
        }
        let (start, end, _) = self.fence.cell(key);
        let keys = self.keys().get(start..end.min(start + MAX_PREFETCHED));
        let lines = keys.unwrap_or_default().chunks(KEYS_PER_LINE);
        lines.fold(0, |touched, line| touched ^ line[0][0])
    }

    /// Returns the position of the first key that is not less than `key`.
    fn lower_bound(&self, key: u64) -> usize {
        let Header {
            min, max, count, ..
        } = self.header;
        if key <= min {
            return 0;
        }
        if key > max {
            return count as usize;
        }
        // min < key <= max, so the cell exists, and only its keys have to be compared.
        let (start, end, guess) = self.fence.cell(key);
        start + search(&self.keys()[start..end], guess, key)
    }

    /// Opens and maps a file. First reads it once in the ordinary way, so that a bad sector is an
    /// error and not a signal. Takes about 1.5 ns per pair if the file is cached.
    pub(super) fn open(path: &Path, id: u64) -> Result<Self, Error> {
        let damaged = |why: &str| Error::Damaged {
            path: path.to_owned(),
            why: why.to_owned(),
        };
        let mut file = File::open(path).map_err(Error::io("open", path))?;
        let length = file.metadata().map_err(Error::io("inspect", path))?.len();

        let mut bytes = [0; HEADER];
        if length < (HEADER + TRAILER) as u64 {
            return Err(damaged("it is shorter than its header"));
        }
        file.read_exact(&mut bytes)
            .map_err(Error::io("read", path))?;
        let header = Header::decode(&bytes, path)?;
        if header.length() != Some(length) {
            return Err(damaged("its length is not what its header says"));
        }

        let mut hasher = Hasher::new();
        hasher.update(&bytes);
        let mut fence = Fence::new(header.bounds());
        let mut buffer = vec![0; BUFFER];
        let mut left = length - (HEADER + TRAILER) as u64;
        let (mut position, mut previous) = (0, header.min);
        while left > 0 {
            let piece = &mut buffer[..left.min(BUFFER as u64) as usize];
            file.read_exact(piece).map_err(Error::io("read", path))?;
            hasher.update(piece);
            left -= piece.len() as u64;
            let keys = (header.count as usize - position).min(BUFFER / 8);
            for key in piece.as_chunks().0.iter().take(keys) {
                let key = u64::from_le_bytes(*key);
                if key < previous || key > header.max {
                    return Err(damaged("its keys are out of order"));
                }
                fence.push(position, key);
                (position, previous) = (position + 1, key);
            }
        }
        fence.finish(position);

        let mut stored = [0; TRAILER];
        file.read_exact(&mut stored)
            .map_err(Error::io("read", path))?;
        let crc = hasher.finalize();
        if crc != u32::from_le_bytes(stored) {
            return Err(damaged("its checksum does not match"));
        }
        let map = map(&file).map_err(Error::io("map", path))?;
        if map.len() as u64 != length {
            return Err(damaged("it changed while it was read"));
        }
        Ok(Self {
            id,
            path: path.to_owned(),
            header,
            crc,
            newest: 0,
            map,
            fence,
        })
    }

    /// Writes and syncs a new file; on failure the partial file is removed. `pairs` is called twice
    /// for the same sorted pairs, once per column, so that nothing has to be held in memory. The
    /// directory entry is not synced: the checkpoint does that once for all files.
    pub(super) fn write<I>(
        path: &Path,
        id: u64,
        bounds: Bounds,
        pairs: impl Fn() -> I,
    ) -> Result<Self, Error>
    where
        I: Iterator<Item = Pair>,
    {
        let mut options = OpenOptions::new();
        let file = options
            .read(true)
            .write(true)
            .create_new(true)
            .open(path)
            .map_err(Error::io("create", path))?;
        let written = Self::fill(file, path, id, bounds, pairs);
        if written.is_err() {
            // If this fails too, the next opening of the catalog removes the file.
            let _ = fs::remove_file(path);
        }
        written
    }

    fn fill<I>(
        file: File,
        path: &Path,
        id: u64,
        bounds: Bounds,
        pairs: impl Fn() -> I,
    ) -> Result<Self, Error>
    where
        I: Iterator<Item = Pair>,
    {
        let failed = || Error::io("write", path);
        let mut fence = Fence::new(bounds);
        let (mut count, mut all_values) = (0, 0);
        // The header comes first but is known last, so its place is left open until then.
        let mut out = BufWriter::with_capacity(
            BUFFER,
            Hashed {
                file,
                hasher: Hasher::new(),
            },
        );
        out.get_mut()
            .file
            .seek(SeekFrom::Start(HEADER as u64))
            .map_err(failed())?;
        for (key, value) in pairs() {
            out.write_all(&key.to_le_bytes()).map_err(failed())?;
            fence.push(count, key);
            count += 1;
            all_values |= value;
        }
        fence.finish(count);
        let width = Width::of(all_values);
        if width != Width::Zero {
            for (_, value) in pairs() {
                out.write_all(&value.to_le_bytes()[..width as usize])
                    .map_err(failed())?;
            }
        }
        let Hashed {
            mut file,
            hasher: body,
        } = out
            .into_inner()
            .map_err(|error| failed()(error.into_error()))?;

        let header = Header {
            width,
            count: count as u64,
            min: bounds.min,
            max: bounds.max,
        };
        let mut hasher = Hasher::new();
        hasher.update(&header.encode());
        hasher.combine(&body);
        let crc = hasher.finalize();
        file.write_all(&crc.to_le_bytes()).map_err(failed())?;
        file.seek(SeekFrom::Start(0)).map_err(failed())?;
        file.write_all(&header.encode()).map_err(failed())?;
        file.sync_all().map_err(Error::io("sync", path))?;

        let map = map(&file).map_err(Error::io("map", path))?;
        if Some(map.len() as u64) != header.length() {
            let why = "its two columns differ in length".to_owned();
            return Err(Error::Damaged {
                path: path.to_owned(),
                why,
            });
        }
        Ok(Self {
            id,
            path: path.to_owned(),
            header,
            crc,
            newest: 0,
            map,
            fence,
        })
    }
}

/// Searches for the next key that differs from `value` in few bits; compiled so that it uses the
/// processor's own population count.
struct NearbyKeys<'a> {
    keys: &'a [[u8; 8]],
    /// Last key of the range.
    high: u64,
    value: u64,
    bits: u32,
}

impl NullaryFnOnce for NearbyKeys<'_> {
    /// The position of the key.
    type Output = Option<usize>;

    #[inline(always)]
    #[expect(
        clippy::inline_always,
        reason = "it must be compiled into the dispatcher"
    )]
    fn call(self) -> Option<usize> {
        for (at, key) in self.keys.iter().enumerate() {
            let key = u64::from_le_bytes(*key);
            if key > self.high {
                return None;
            }
            if (key ^ self.value).count_ones() <= self.bits {
                return Some(at);
            }
        }
        None
    }
}

/// Pairs of one file within a range of keys.
pub(super) struct Pairs<'a> {
    keys: &'a [[u8; 8]],
    values: Values<'a>,
    next: usize,
    high: u64,
}

/// The column of values.
enum Values<'a> {
    Zero,
    U32(&'a [[u8; 4]]),
    U64(&'a [[u8; 8]]),
}

impl Values<'_> {
    fn get(&self, at: usize) -> Option<u64> {
        Some(match self {
            Self::Zero => 0,
            Self::U32(values) => u64::from(u32::from_le_bytes(*values.get(at)?)),
            Self::U64(values) => u64::from_le_bytes(*values.get(at)?),
        })
    }
}

impl Iterator for Pairs<'_> {
    type Item = Pair;

    fn next(&mut self) -> Option<Pair> {
        let key = u64::from_le_bytes(*self.keys.get(self.next)?);
        if key > self.high {
            return None;
        }
        let value = self.values.get(self.next)?;
        self.next += 1;
        Some((key, value))
    }
}

/// Bytes per value on disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Width {
    Zero = 0,
    U32 = 4,
    U64 = 8,
}

impl Width {
    /// Returns the narrowest width for values whose set bits are among `bits`.
    fn of(bits: u64) -> Self {
        match bits {
            0 => Self::Zero,
            _ if bits >> 32 == 0 => Self::U32,
            _ => Self::U64,
        }
    }
}

#[derive(Debug, Clone, Copy)]
struct Header {
    width: Width,
    count: u64,
    min: u64,
    max: u64,
}

impl Header {
    fn bounds(self) -> Bounds {
        Bounds {
            min: self.min,
            max: self.max,
            count: self.count,
        }
    }

    /// Returns the length of the whole file, or `None` if no file can be that long.
    fn length(self) -> Option<u64> {
        let columns = self.count.checked_mul(8 + self.width as u64)?;
        columns.checked_add((HEADER + TRAILER) as u64)
    }

    fn encode(self) -> [u8; HEADER] {
        let mut bytes = [0; HEADER];
        bytes[..8].copy_from_slice(&MAGIC);
        bytes[8..12].copy_from_slice(&VERSION.to_le_bytes());
        bytes[12..16].copy_from_slice(&(self.width as u32).to_le_bytes());
        bytes[16..24].copy_from_slice(&self.count.to_le_bytes());
        bytes[24..32].copy_from_slice(&self.min.to_le_bytes());
        bytes[32..40].copy_from_slice(&self.max.to_le_bytes());
        bytes
    }

    fn decode(bytes: &[u8; HEADER], path: &Path) -> Result<Self, Error> {
        let damaged = |why: &str| Error::Damaged {
            path: path.to_owned(),
            why: why.to_owned(),
        };
        // The header has five words of eight bytes; the rest of it is zeros.
        let [magic, kind, count, min, max, ..] = *bytes.as_chunks::<8>().0 else {
            return Err(damaged("its header is too short"));
        };
        if magic != MAGIC {
            return Err(damaged("it does not begin like a run file"));
        }
        let kind = u64::from_le_bytes(kind);
        // Future formats have a future manifest version, which is refused before this point.
        if kind as u32 != VERSION {
            return Err(damaged("its format version is unknown"));
        }
        let width = match kind >> 32 {
            0 => Width::Zero,
            4 => Width::U32,
            8 => Width::U64,
            _ => return Err(damaged("its values have an impossible width")),
        };
        let [count, min, max] = [count, min, max].map(u64::from_le_bytes);
        if min > max {
            return Err(damaged("its least key is greater than its greatest"));
        }
        Ok(Self {
            width,
            count,
            min,
            max,
        })
    }
}

/// A file, with a running checksum of what is written to it.
struct Hashed {
    file: File,
    hasher: Hasher,
}

impl Write for Hashed {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        let written = self.file.write(bytes)?;
        self.hasher.update(&bytes[..written]);
        Ok(written)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        self.file.flush()
    }
}

/// Tells whether an operation failed because its file does not exist.
pub(super) fn is_missing(error: &Error) -> bool {
    matches!(error, Error::Io { source, .. } if source.kind() == io::ErrorKind::NotFound)
}

/// Removes a file that the manifest does not name. If that fails, the next opening of the catalog
/// removes it.
pub(super) fn discard(path: &Path) {
    let _ = fs::remove_file(path);
}
