//! Reads the engine's journals as they lie on disk, before the engine does.
//!
//! A journal is a list of batches: a start with the number of its items and its sequence number,
//! the items, an end with a checksum of the items. When it opens, the engine takes whatever it
//! cannot read for the torn end of the last batch, and cuts the file there; and its checksum does
//! not cover the sequence number, by which it orders the versions of a row. So one damaged bit
//! could cost all commits behind it, or give rows back that were replaced, and nobody would know.
//! And where the end of a batch is there, but not all of its items, as a power cut may leave the
//! last one, the engine refuses it or panics.
//!
//! Every commit is synced before the next one begins. Therefore a batch that can be read behind one
//! that cannot, and a sequence number out of order, are damage, whatever the process died of.
//!
//! Order tells nothing of a first number that is too low, or of a last one that is too high. So
//! each batch has a row that says, under the checksum, which number was the next when it was made
//! (`next_number`). A first number that is too low would be harmful: the engine takes a batch for
//! one that is in its sorted files if they have a higher number.

use std::collections::BTreeSet;
use std::fs::{self, File, OpenOptions};
use std::io::{self, BufReader, Read, Seek, SeekFrom, Write as _};
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};

use memchr::memmem;
use rustix::io::Errno;
use xxhash_rust::xxh3::Xxh3;

use super::keys;

/// What ends every batch, behind its checksum.
const TRAILER: &[u8; 4] = b"FJL\x03";

const START: u8 = 1;
const ITEM: u8 = 2;
const END: u8 = 3;
const CLEAR: u8 = 4;

/// Bytes that are searched at a time.
const PIECE: usize = 256 << 10;

/// Bytes of a start before the sequence number: its tag, and the number of items.
const BEFORE_NUMBER: u64 = 5;

/// How far the number of a batch may be above the one that was the next when the batch was made.
/// In between, at most a few are taken by threads that write sorted files.
const FAR: u64 = 1 << 20;

/// Returns the row that says in a batch which number is the next.
pub(super) fn next_number(number: u64) -> (&'static [u8], [u8; 8]) {
    (keys::meta::NEXT_NUMBER, number.to_be_bytes())
}

/// What is wrong with a journal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JournalDamage {
    /// The journal.
    pub path: PathBuf,
    /// Where, in bytes.
    pub offset: u64,
    /// What is wrong there.
    pub kind: JournalDamageKind,
}

/// The kinds of damage of a journal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum JournalDamageKind {
    /// A batch cannot be read, and later ones can, of which the first begins at this offset.
    Unreadable {
        /// The offset of the next batch, in bytes.
        next: u64,
    },
    /// A sequence number is not between those of its neighbours.
    OutOfOrder {
        /// The number as found.
        found: u64,
        /// What it was, if only one number fits.
        was: Option<u64>,
    },
}

impl std::fmt::Display for JournalDamage {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (path, offset) = (self.path.display(), self.offset);
        match self.kind {
            JournalDamageKind::Unreadable { next } => write!(
                f,
                "the commit at byte {offset} of {path} cannot be read, and later ones, from byte \
                 {next} on, can"
            ),
            JournalDamageKind::OutOfOrder { found, .. } => write!(
                f,
                "the commit at byte {offset} of {path} has the number {found}, which is out of \
                 order"
            ),
        }
    }
}

/// What is damaged of the files that the engine would cut or delete when it opens.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Audit {
    /// Damage of journals, in order.
    pub journals: Vec<JournalDamage>,
    /// Journals behind whose last whole batch something else stands, which begins at this offset:
    /// what a crash has left of a batch, or damage of the last one.
    pub torn: Vec<(PathBuf, u64)>,
    /// Directories of tables that have rows, and have lost the file that says so: the engine would
    /// take them for tables that were never used.
    pub tables: Vec<PathBuf>,
}

/// Reads all journals of the store in `path`. Nothing is written. A last sequence number that is
/// less than a million too high is not noticed: it leaves the order as it is. In journals of
/// versions before the row of `next_number`, neither is any last one that is too high, nor a
/// first one that is too low.
pub fn audit(path: &Path) -> io::Result<Audit> {
    let mut used = BTreeSet::new();
    let mut found = audit_journals(path, &mut used)?;
    found.tables = audit_tables(&path.join("keyspaces"), &used)?;
    Ok(found)
}

/// Returns tables that are used and have no `current`, which the engine writes when it creates one.
fn audit_tables(path: &Path, used: &BTreeSet<u64>) -> io::Result<Vec<PathBuf>> {
    let mut lost = Vec::new();
    for path in entries(path)? {
        let number = path
            .file_name()
            .and_then(|name| name.to_str()?.parse().ok());
        if path.join("current").try_exists()? {
            continue;
        }
        let has_files =
            fs::read_dir(path.join("tables")).is_ok_and(|mut tables| tables.next().is_some());
        if has_files || number.is_some_and(|number| used.contains(&number)) {
            lost.push(path);
        }
    }
    lost.sort_unstable();
    Ok(lost)
}

/// Cuts a journal at the end of a batch, as the engine does with what it cannot read.
pub fn cut(journal: &Path, offset: u64) -> io::Result<()> {
    let file = OpenOptions::new().write(true).open(journal)?;
    if file.metadata()?.len() > offset {
        file.set_len(offset)?;
    }
    file.sync_all()
}

/// Returns what is damaged of the journals, and adds the tables that they are about.
fn audit_journals(path: &Path, used: &mut BTreeSet<u64>) -> io::Result<Audit> {
    let journals = journals(path)?;
    let mut audit = Audit::default();
    let mut batches: Vec<Batch> = Vec::new();
    for (journal, path) in journals.iter().enumerate() {
        let mut from = 0;
        loop {
            let mut input = Input::open(path, from)?;
            let end = input.read(&mut |offset, numbers| {
                batches.push(Batch {
                    journal,
                    offset,
                    number: numbers.own,
                    at_least: numbers.at_least,
                });
            })?;
            used.append(&mut input.tables);
            let next = match what_follows(path, end)? {
                Rest::Batch(next) => next,
                Rest::Torn => {
                    audit.torn.push((path.clone(), end));
                    break;
                }
                Rest::Room => break,
            };
            audit.journals.push(JournalDamage {
                path: path.clone(),
                offset: end,
                kind: JournalDamageKind::Unreadable { next },
            });
            from = next;
        }
    }
    for (batch, was) in out_of_order(&batches) {
        let journal = journals.get(batch.journal);
        audit.journals.extend(journal.map(|path| JournalDamage {
            path: path.clone(),
            offset: batch.offset,
            kind: JournalDamageKind::OutOfOrder {
                found: batch.number,
                was,
            },
        }));
    }
    Ok(audit)
}

/// Writes back what a sequence number was, where only one number fits. Returns `true` if that mends
/// the damage.
pub fn mend(damage: &JournalDamage) -> io::Result<bool> {
    let JournalDamageKind::OutOfOrder { was: Some(was), .. } = damage.kind else {
        return Ok(false);
    };
    let file = OpenOptions::new().write(true).open(&damage.path)?;
    file.write_all_at(&was.to_le_bytes(), damage.offset + BEFORE_NUMBER)?;
    file.sync_all()?;
    Ok(true)
}

/// Writes the file `current` of a table anew, which names the newest whole list of the table's
/// files. Returns `true` if there is such a list. One that was not taken into use yet has the same
/// rows.
pub fn mend_table(table: &Path) -> io::Result<bool> {
    let mut lists = Vec::new();
    for entry in fs::read_dir(table)? {
        let name = entry?.file_name();
        let number = name.to_str().and_then(|name| name.strip_prefix('v'));
        lists.extend(number.and_then(|number| number.parse::<u64>().ok()));
    }
    lists.sort_unstable();
    let path = |number: u64| table.join(format!("v{number}"));
    // The next list may be there in part, if the process died while it was written.
    let is_whole = |number: &u64| sfa::Reader::new(path(*number)).is_ok();
    let Some(number) = lists.into_iter().rev().find(is_whole) else {
        return Ok(false);
    };
    let list = fs::read(path(number))?;
    let mut current = number.to_le_bytes().to_vec();
    current.extend(xxhash_rust::xxh3::xxh3_128(&list).to_le_bytes());
    // The kind of checksum.
    current.push(0);
    let staged = table.join("current.new");
    let mut file = File::create(&staged)?;
    file.write_all(&current)?;
    file.sync_all()?;
    fs::rename(staged, table.join("current"))?;
    File::open(table)?.sync_all()?;
    Ok(true)
}

/// Returns the paths of what is in a directory; nothing if it does not exist.
fn entries(path: &Path) -> io::Result<Vec<PathBuf>> {
    match fs::read_dir(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
        entries => entries?.map(|entry| Ok(entry?.path())).collect(),
    }
}

/// Returns the journals of a store, oldest first.
fn journals(path: &Path) -> io::Result<Vec<PathBuf>> {
    let mut journals = Vec::new();
    for path in entries(path)? {
        let name = path.file_name().and_then(|name| name.to_str());
        let number = name.and_then(|name| name.strip_suffix(".jnl")?.parse::<u64>().ok());
        journals.extend(number.map(|number| (number, path)));
    }
    journals.sort_unstable();
    Ok(journals.into_iter().map(|(_, path)| path).collect())
}

/// A batch that can be read: its journal, where it begins, and its sequence number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Batch {
    journal: usize,
    offset: u64,
    number: u64,
    /// The number that was the next when the batch was made.
    at_least: Option<u64>,
}

impl Batch {
    /// Whether the number is one that the batch may have got.
    fn is_possible(&self) -> bool {
        let above = self.at_least.map(|least| self.number.checked_sub(least));
        above.is_none_or(|above| above.is_some_and(|above| above < FAR))
    }
}

/// Returns the batches whose numbers do not rise, or are impossible, with what each was if that is
/// known, or stands for any number that it may have been: all but those of a longest rising
/// subsequence.
fn out_of_order(batches: &[Batch]) -> Vec<(Batch, Option<u64>)> {
    // Of the subsequences of each length the one with the lowest last number: where it ends.
    let mut ends: Vec<usize> = Vec::new();
    let mut before: Vec<Option<usize>> = Vec::with_capacity(batches.len());
    let number = |at: usize| batches.get(at).map_or(0, |batch| batch.number);
    for (at, batch) in batches.iter().enumerate() {
        if !batch.is_possible() {
            before.push(None);
            continue;
        }
        let length = ends.partition_point(|end| number(*end) < batch.number);
        before.push(length.checked_sub(1).and_then(|it| ends.get(it)).copied());
        match ends.get_mut(length) {
            Some(end) => *end = at,
            None => ends.push(at),
        }
    }
    let mut rising = Vec::with_capacity(ends.len());
    let mut last = ends.last().copied();
    while let Some(at) = last {
        rising.push(at);
        last = before.get(at).copied().flatten();
    }
    rising.reverse();
    let mut found = Vec::new();
    let mut gap = |low: Option<usize>, high: Option<usize>| {
        let from = low.map_or(0, |low| low + 1);
        let between = batches.get(from..high.unwrap_or(batches.len()));
        let between = between.unwrap_or_default();
        // As many numbers as batches: then each has its own.
        let is_exact = low.zip(high).is_some_and(|(low, high)| {
            number(high).checked_sub(number(low)) == Some(between.len() as u64 + 1)
        });
        for (nth, batch) in (1..).zip(between) {
            let exact = low.filter(|_| is_exact).map(|low| number(low) + nth);
            found.push((*batch, exact.or(batch.at_least)));
        }
    };
    let mut low = None;
    for at in rising {
        gap(low, Some(at));
        low = Some(at);
    }
    gap(low, None);
    found
}

/// What stands in a journal where no batch begins that can be read.
enum Rest {
    /// Something, and a batch behind it, which begins at this offset.
    Batch(u64),
    /// Something that is no batch.
    Torn,
    /// Nothing, or the room that the engine reserves.
    Room,
}

/// Looks at what follows the last batch that can be read.
fn what_follows(path: &Path, from: u64) -> io::Result<Rest> {
    let mut file = File::open(path)?;
    let mut piece = vec![0; PIECE];
    let zeros = vec![0; PIECE];
    // The last bytes of a piece are kept, for a trailer may begin in them.
    let (mut kept, mut position) = (0, from);
    let mut is_room = true;
    loop {
        let written = next_written(&file, position + kept as u64)?;
        if written > position + kept as u64 {
            (position, kept) = (written, 0);
        }
        let read = file.read(piece.get_mut(kept..).unwrap_or_default())?;
        if read == 0 {
            return Ok(if is_room { Rest::Room } else { Rest::Torn });
        }
        let filled = piece.get(..kept + read).unwrap_or_default();
        is_room = is_room && zeros.starts_with(filled);
        // Batches follow one another, so behind the end of one the next begins.
        for found in memmem::find_iter(filled, TRAILER) {
            let at = position + (found + TRAILER.len()) as u64;
            if Input::open(path, at)?.batch()?.is_some() {
                return Ok(Rest::Batch(at));
            }
        }
        let end = filled.len();
        let keep = end.min(TRAILER.len() - 1);
        piece.copy_within(end - keep..end, 0);
        position += (end - keep) as u64;
        kept = keep;
    }
}

/// Moves a file from some offset to where something was written next, and returns where that is:
/// nearly all of the room that the engine reserves is a hole, which reads as zeros.
pub(crate) fn next_written(mut file: &File, from: u64) -> io::Result<u64> {
    match rustix::fs::seek(file, rustix::fs::SeekFrom::Data(from)) {
        Ok(at) => Ok(at),
        // Nothing was.
        Err(Errno::NXIO) => file.seek(SeekFrom::End(0)),
        // Not all file systems say.
        Err(_) => file.seek(SeekFrom::Start(from)),
    }
}

/// What a batch says about its sequence number.
#[derive(Clone, Copy)]
struct Numbers {
    /// The number, which no checksum covers.
    own: u64,
    /// The number that was the next when the batch was made, as a row says.
    at_least: Option<u64>,
}

/// A journal that is read from some offset on.
struct Input {
    file: BufReader<File>,
    position: u64,
    length: u64,
    /// The tables that have items in what was read.
    tables: BTreeSet<u64>,
}

impl Input {
    fn open(path: &Path, from: u64) -> io::Result<Self> {
        let mut file = File::open(path)?;
        let length = file.metadata()?.len();
        file.seek(SeekFrom::Start(from))?;
        Ok(Self {
            file: BufReader::with_capacity(64 << 10, file),
            position: from,
            length,
            tables: BTreeSet::new(),
        })
    }

    /// Reads whole batches one after another, and returns where the first thing begins that is
    /// none.
    fn read(&mut self, visit: &mut dyn FnMut(u64, Numbers)) -> io::Result<u64> {
        let mut end = self.position;
        while let Some(numbers) = self.batch()? {
            visit(end, numbers);
            end = self.position;
        }
        Ok(end)
    }

    /// Reads some bytes, or `None` at the end of the file.
    fn bytes<const N: usize>(&mut self) -> io::Result<Option<[u8; N]>> {
        let mut bytes = [0; N];
        if self.length.saturating_sub(self.position) < N as u64 {
            return Ok(None);
        }
        self.file.read_exact(&mut bytes)?;
        self.position += N as u64;
        Ok(Some(bytes))
    }

    /// Reads a whole batch, and returns its numbers; `None` if there is none.
    fn batch(&mut self) -> io::Result<Option<Numbers>> {
        let Some([START]) = self.bytes()? else {
            return Ok(None);
        };
        let (Some(items), Some(number)) = (self.bytes()?, self.bytes()?) else {
            return Ok(None);
        };
        let mut hasher = Xxh3::new();
        let mut at_least = None;
        for _ in 0..u32::from_le_bytes(items) {
            if !self.item(&mut hasher, &mut at_least)? {
                return Ok(None);
            }
        }
        let (Some([END]), Some(checksum), Some(trailer)) =
            (self.bytes()?, self.bytes()?, self.bytes()?)
        else {
            return Ok(None);
        };
        let is_whole = u64::from_le_bytes(checksum) == hasher.digest() && trailer == *TRAILER;
        Ok(is_whole.then_some(Numbers {
            own: u64::from_le_bytes(number),
            at_least,
        }))
    }

    /// Reads an item; `false` if there is none. If it is the row of [`next_number`], its number
    /// goes to `at_least`.
    fn item(&mut self, hasher: &mut Xxh3, at_least: &mut Option<u64>) -> io::Result<bool> {
        let Some([tag]) = self.bytes()? else {
            return Ok(false);
        };
        hasher.update(&[tag]);
        if tag == CLEAR {
            let table: Option<[u8; 8]> = self.bytes()?;
            hasher.update(&table.unwrap_or_default());
            return Ok(table.is_some());
        }
        // Kind of the value and whether it is compressed, then the table.
        let (ITEM, Some(kinds), Some(table)) = (tag, self.bytes::<2>()?, self.bytes::<8>()?) else {
            return Ok(false);
        };
        let (Some(key), Some(plain), Some(stored)) =
            (self.bytes::<2>()?, self.bytes::<4>()?, self.bytes::<4>()?)
        else {
            return Ok(false);
        };
        for bytes in [&kinds[..], &table, &key, &plain, &stored] {
            hasher.update(bytes);
        }
        let mut left = u64::from(u16::from_le_bytes(key)) + u64::from(u32::from_le_bytes(stored));
        if left > self.length.saturating_sub(self.position) {
            return Ok(false);
        }
        let (name, _) = next_number(0);
        let is_number = usize::from(u16::from_le_bytes(key)) == name.len() && plain == stored;
        let mut piece = [0; 4_096];
        while left > 0 {
            let piece = &mut piece[..left.min(4_096) as usize];
            self.file.read_exact(piece)?;
            hasher.update(piece);
            if let Some(number) = piece.strip_prefix(name).filter(|_| is_number) {
                *at_least = number.try_into().map(u64::from_be_bytes).ok().or(*at_least);
            }
            self.position += piece.len() as u64;
            left -= piece.len() as u64;
        }
        self.tables.insert(u64::from_le_bytes(table));
        Ok(true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::{Batch as Changes, Durability, Embedded, Options, Store as _, Table};

    const COMMITS: u64 = 40;

    /// A store with some commits, and the offsets of their batches.
    fn written(directory: &Path) -> (PathBuf, Vec<u64>) {
        let path = directory.join("store");
        let store = Embedded::open(&path, &Options::default()).unwrap();
        for number in 0..COMMITS {
            let mut changes = Changes::new();
            changes.put(Table::Meta, "last", number.to_string());
            // Long enough to be compressed.
            let long = format!("row {number} ").repeat(800);
            changes.put(Table::Pages, number.to_be_bytes(), long);
            changes.delete(Table::Queue, number.to_be_bytes());
            store.commit(changes, Durability::Disk).unwrap();
        }
        drop(store);
        let journal = journals(&path).unwrap().pop().unwrap();
        let mut offsets = Vec::new();
        let mut input = Input::open(&journal, 0).unwrap();
        input.read(&mut |offset, _| offsets.push(offset)).unwrap();
        assert_eq!(offsets.len() as u64, COMMITS);
        // Without most of the room that is reserved behind them.
        let end = offsets.last().unwrap() + 1_000;
        let file = OpenOptions::new().write(true).open(&journal).unwrap();
        file.set_len(end).unwrap();
        (journal, offsets)
    }

    fn store_of(journal: &Path) -> &Path {
        journal.parent().unwrap()
    }

    #[test]
    fn a_sound_journal_and_a_torn_end_are_no_damage() {
        let directory = tempfile::tempdir().unwrap();
        let (journal, offsets) = written(directory.path());
        let bytes = fs::read(&journal).unwrap();
        let last = *offsets.last().unwrap() as usize;
        assert_eq!(audit(store_of(&journal)).unwrap(), Audit::default());
        for torn in [last + 1, last + 14, last + 60] {
            let expected = Audit {
                torn: vec![(journal.clone(), last as u64)],
                ..Audit::default()
            };
            // As after a kill, with and without the room that was reserved.
            fs::write(&journal, &bytes[..torn]).unwrap();
            assert_eq!(audit(store_of(&journal)).unwrap(), expected);
            let mut zeros = bytes.clone();
            zeros[torn..].fill(0);
            fs::write(&journal, &zeros).unwrap();
            assert_eq!(audit(store_of(&journal)).unwrap(), expected);
        }
        assert_eq!(audit(directory.path()).unwrap(), Audit::default());
    }

    #[test]
    fn a_commit_behind_a_hole_is_found() {
        let directory = tempfile::tempdir().unwrap();
        let (journal, offsets) = written(directory.path());
        let bytes = fs::read(&journal).unwrap();
        let [first, last] = [0, offsets.len() - 2].map(|at| {
            let (from, to) = (offsets[at] as usize, offsets[at + 1] as usize);
            &bytes[from..to]
        });
        let behind = first.len() as u64 + (40 << 20);
        // The end of the one before stands in front of it.
        let end = [TRAILER, last].concat();
        let file = File::create(&journal).unwrap();
        file.write_all_at(first, 0).unwrap();
        file.write_all_at(&end, behind).unwrap();
        file.set_len(behind + (64 << 20)).unwrap();
        let found = audit(store_of(&journal)).unwrap().journals;
        let next = behind + TRAILER.len() as u64;
        let kind = JournalDamageKind::Unreadable { next };
        assert_eq!(found[0].kind, kind);
    }

    /// A power cut may leave the end of a commit, and not its middle. The engine panics then.
    #[test]
    fn a_last_commit_that_has_its_end_but_not_its_middle_is_cut() {
        let directory = tempfile::tempdir().unwrap();
        let (journal, offsets) = written(directory.path());
        let mut bytes = fs::read(&journal).unwrap();
        let last = *offsets.last().unwrap() as usize;
        bytes[last + 30..last + 60].fill(0);
        fs::write(&journal, &bytes).unwrap();
        let torn = audit(store_of(&journal)).unwrap().torn;
        assert_eq!(torn, [(journal.clone(), last as u64)]);
        cut(&journal, last as u64).unwrap();
        let store = Embedded::open(store_of(&journal), &Options::default()).unwrap();
        let row = store.get(Table::Meta, b"last").unwrap();
        assert_eq!(row.unwrap(), (COMMITS - 2).to_string().as_bytes());
    }

    /// Whatever bit of a batch is flipped, it is noticed.
    #[test]
    fn each_flip_within_a_journal_is_noticed() {
        let directory = tempfile::tempdir().unwrap();
        let (journal, offsets) = written(directory.path());
        let bytes = fs::read(&journal).unwrap();
        let (from, to) = (offsets[20], offsets[21]);
        let bytes_of_batch = (from..from + 60).chain((from + 60..to - 20).step_by(7));
        for at in bytes_of_batch.chain(to - 20..to) {
            let mut damaged = bytes.clone();
            damaged[at as usize] ^= 1 << (at % 8);
            fs::write(&journal, &damaged).unwrap();
            let found = audit(store_of(&journal)).unwrap().journals;
            let [damage] = &found[..] else {
                panic!("byte {at}: {found:?}");
            };
            assert_eq!((damage.offset, &damage.path), (from, &journal), "byte {at}");
            let is_number = (from + BEFORE_NUMBER..from + BEFORE_NUMBER + 8).contains(&at);
            match damage.kind {
                JournalDamageKind::OutOfOrder { .. } => assert!(is_number, "byte {at}"),
                JournalDamageKind::Unreadable { next } => {
                    // Without the trailer of one batch, the beginning of the next is not found.
                    let expected = if at < to - 4 { to } else { offsets[22] };
                    assert_eq!(next, expected, "byte {at}");
                }
            }
            let is_mended = mend(damage).unwrap();
            assert_eq!(is_mended, is_number, "byte {at}");
            assert_eq!(is_mended, fs::read(&journal).unwrap() == bytes);
        }
        // A sector of zeros.
        let mut damaged = bytes.clone();
        damaged[from as usize..to as usize].fill(0);
        fs::write(&journal, &damaged).unwrap();
        assert_eq!(audit(store_of(&journal)).unwrap().journals.len(), 1);
    }

    /// All rows of the tables that [`written`] writes to, without that of [`next_number`].
    fn rows(store: &Embedded) -> Vec<(Vec<u8>, Vec<u8>)> {
        let tables = [Table::Meta, Table::Pages, Table::Queue];
        let rows = tables.map(|table| store.range(table, b"", b"", 1_000).unwrap());
        let mut rows = rows.concat();
        rows.retain(|(key, _)| key != keys::meta::NEXT_NUMBER);
        rows
    }

    /// The first number flipped low, and the last one flipped high, leave all numbers rising.
    #[test]
    fn a_number_that_rises_and_is_wrong_is_noticed_or_harmless() {
        let directory = tempfile::tempdir().unwrap();
        let (journal, offsets) = written(directory.path());
        let bytes = fs::read(&journal).unwrap();
        let mut noticed = [0, 0];
        for (at, offset) in [offsets[0], offsets[offsets.len() - 1]]
            .into_iter()
            .enumerate()
        {
            for bit in 0..64 {
                let mut damaged = bytes.clone();
                damaged[(offset + BEFORE_NUMBER) as usize + bit / 8] ^= 1 << (bit % 8);
                fs::write(&journal, &damaged).unwrap();
                let found = audit(store_of(&journal)).unwrap().journals;
                if let [damage] = &found[..] {
                    assert_eq!(damage.offset, offset, "bit {bit}");
                    assert!(mend(damage).unwrap());
                    assert_eq!(fs::read(&journal).unwrap(), bytes);
                    noticed[at] += 1;
                } else {
                    assert!(at == 1 && bit < 20, "bit {bit}: {found:?}");
                }
            }
        }
        assert_eq!(noticed[0], 64);
        assert!(noticed[1] >= 64 - 20, "{noticed:?}");
    }

    /// What is not noticed leaves all rows as they are, also those that come later.
    #[test]
    fn a_last_number_that_is_a_little_too_high_is_harmless() {
        let directory = tempfile::tempdir().unwrap();
        let (journal, offsets) = written(directory.path());
        let place = (offsets[offsets.len() - 1] + BEFORE_NUMBER) as usize;
        let mut bytes = fs::read(&journal).unwrap();
        bytes[place + 2] ^= 8;
        let open = || Embedded::open(store_of(&journal), &Options::default()).unwrap();
        let sound = rows(&open());
        fs::write(&journal, &bytes).unwrap();
        assert_eq!(audit(store_of(&journal)).unwrap(), Audit::default());
        let store = open();
        assert_eq!(rows(&store), sound);
        let mut changes = Changes::new();
        changes.put(Table::Meta, "last", "later");
        store.commit(changes, Durability::Disk).unwrap();
        drop(store);
        assert_eq!(audit(store_of(&journal)).unwrap(), Audit::default());
        let last = open().get(Table::Meta, b"last").unwrap();
        assert_eq!(last.as_deref(), Some(&b"later"[..]));
    }

    #[test]
    fn a_table_that_would_be_deleted_is_noticed() {
        let directory = tempfile::tempdir().unwrap();
        let (journal, _) = written(directory.path());
        let keyspaces = store_of(&journal).join("keyspaces");
        // What a crash leaves while a table is created.
        let unused = keyspaces.join("77");
        fs::create_dir_all(unused.join("tables")).unwrap();
        fs::write(unused.join("v0"), b"").unwrap();
        assert_eq!(audit(store_of(&journal)).unwrap(), Audit::default());
        drop(Embedded::open(store_of(&journal), &Options::default()).unwrap());
        assert!(!unused.exists());
        let mut lost = 0;
        for table in fs::read_dir(&keyspaces).unwrap() {
            let table = table.unwrap().path();
            let sound = fs::read(table.join("current")).unwrap();
            fs::remove_file(table.join("current")).unwrap();
            let found = audit(store_of(&journal)).unwrap().tables;
            if !found.is_empty() {
                assert_eq!(found, std::slice::from_ref(&table));
                // A list whose writing was interrupted.
                fs::write(table.join("v9"), b"torn").unwrap();
                assert!(mend_table(&table).unwrap());
                fs::remove_file(table.join("v9")).unwrap();
                assert_eq!(fs::read(table.join("current")).unwrap(), sound);
                lost += 1;
            }
            fs::write(table.join("current"), sound).unwrap();
        }
        assert_eq!(lost, 3);
    }
}
