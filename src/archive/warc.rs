//! The archive on disk: a directory of segments, each a chain of gzip members that begins with a
//! warcinfo record (`names.rs` has their names). Segments are written one after the other and only
//! at the end. One that is closed is never written to again, and may be moved away.
//!
//! A crash can leave a longer last segment, or more segments, than the store acknowledged;
//! [`WarcArchive::open`] cuts off the former and sets the latter aside. Nothing before the
//! acknowledged tail is ever written to, and no whole segment of an earlier process is deleted.
//! Only one process at a time may write to a directory; the engine's lock ensures that.

use std::fs;
use std::path::{Path, PathBuf};

use jiff::Timestamp;

use super::ahead::Ahead;
use super::cdxj::{self, IndexBeside};
use super::directory::{create_directory, sync_directory};
use super::encode::Encoders;
use super::id::{DigestAlgorithm, RecordId};
use super::names::{FileNames, marked};
use super::opening::warcinfo;
use super::reader::{self, Limits, SegmentReader};
use super::record::Record;
use super::segment::{Segment, copy_end, unacknowledged};
use super::{Archive, Error, Location, Result, Tail};

/// Upper estimate of what header and gzip framing add to a block, in bytes; used to decide whether
/// an append still fits into the segment. A header without long URIs has about 700 bytes.
const RECORD_OVERHEAD: u64 = 1024;

/// Directory of the archive of texts in a data directory, and the prefix of its files.
const TEXTS: &str = "texts";

/// Maximum length of the part of a name before the number, in bytes.
const MAX_STEM: usize = 200;

/// Where and how records are written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WarcOptions {
    /// Directory of the segments; created if there is none.
    pub directory: PathBuf,
    /// The names of the segments, of letters, digits, `-`, `_` and `.`.
    pub names: FileNames,
    /// Size in bytes after which a new segment begins. Only an append that is larger by itself
    /// makes a larger segment. Default: 1 GB, as annex C of the standard recommends.
    pub max_segment_bytes: u64,
    /// gzip level, 0 to 9. Default: 1. Measured on 1,500 pages of manuals of 22 kB: level 1 takes
    /// 73 us a page, level 4 takes 119 and 5 % less space, level 6 takes 158 and 8 % less. Level 9
    /// takes more than twice the time of level 6 and 1 % less space.
    pub compression: u32,
    /// What the digests in headers are made with.
    pub digest: DigestAlgorithm,
    /// Fields of the warcinfo record that opens each segment, as name and value. `software`,
    /// `format` and `conformsTo` are added if missing.
    pub info: Vec<(String, String)>,
    /// Set if each segment has an index of its captures beside it.
    pub indexed: bool,
}

impl WarcOptions {
    /// Returns the default options for an archive in `directory`.
    pub fn new(directory: impl Into<PathBuf>) -> Self {
        Self {
            directory: directory.into(),
            names: FileNames::plain("gleaner"),
            max_segment_bytes: 1_000_000_000,
            compression: 1,
            digest: DigestAlgorithm::default(),
            info: Vec::new(),
            indexed: false,
        }
    }

    /// Returns the default options for the pages of the crawl in a data directory.
    pub fn pages_of(data: &Path, names: FileNames) -> Self {
        Self {
            names,
            indexed: true,
            ..Self::new(data.join("warc"))
        }
    }

    /// Returns the default options for the archive of texts of the crawl in a data directory.
    pub fn texts_of(data: &Path, names: FileNames) -> Self {
        Self {
            names,
            ..Self::new(data.join(TEXTS))
        }
    }

    /// Returns the path of a file of either archive of the crawl in a data directory, by its whole
    /// name.
    pub fn path_of(data: &Path, file: &str) -> PathBuf {
        let after = file.strip_prefix(TEXTS).unwrap_or_default();
        let directory = match after.starts_with('-') {
            true => TEXTS,
            false => "warc",
        };
        data.join(directory).join(file)
    }

    /// Returns the path of segment `number` once it is closed. Readers find it before, too.
    pub fn segment_path(&self, number: u32) -> PathBuf {
        self.directory.join(self.names.name(number))
    }

    /// Returns the path of segment `number` while it is written.
    fn open_path(&self, number: u32) -> PathBuf {
        match self.names.is_marked(number) {
            true => marked(&self.segment_path(number)),
            false => self.segment_path(number),
        }
    }

    /// Reads the record at `location`.
    pub fn read(&self, location: &Location, limits: Limits) -> Result<reader::ReadRecord> {
        let path = self.segment_path(location.segment);
        let mut records = SegmentReader::open_at(&path, location.offset, limits)?;
        records.next().unwrap_or(Err(Error::Torn {
            path,
            offset: location.offset,
        }))
    }

    fn check(&self) -> Result<()> {
        let allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
        let is_allowed = |part: &&str| {
            (1..=MAX_STEM).contains(&part.len())
                && part.chars().all(allowed)
                && !part.starts_with(['-', '.'])
        };
        if let Some(part) = self.names.parts().find(|part| !is_allowed(part)) {
            return Err(Error::Option {
                option: "names",
                value: part.to_owned(),
                expected: "give 1 to 200 letters, digits, `-`, `_` or `.`",
            });
        }
        if self.compression > 9 {
            return Err(Error::Option {
                option: "compression",
                value: self.compression.to_string(),
                expected: "give a gzip level from 0 to 9",
            });
        }
        Ok(())
    }
}

/// What [`WarcArchive::open`] found behind the tail.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Recovery {
    /// Number of bytes that were cut off the segment of the tail.
    pub bytes_cut: u64,
    /// Files with what no tail acknowledged, under their new names.
    pub set_aside: Vec<PathBuf>,
}

/// A segment in the directory.
#[derive(Debug, Clone, Copy)]
struct Found {
    number: u32,
    length: u64,
    /// Set if its name says that it is being written.
    is_open: bool,
}

/// What becomes of what follows a tail.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Rest {
    /// It is removed: this process wrote it in vain.
    Removed,
    /// The end of the tail's segment is cut off, and further segments are set aside.
    Cut,
    /// All of it is set aside.
    Kept,
}

/// Where an archive begins to write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Start {
    /// Anew.
    Empty,
    /// At the last tail that the store acknowledged.
    At(Tail),
    /// The same, where the store has lost commits: what follows the tail was acknowledged once, and
    /// is kept.
    Behind(Tail),
}

/// A directory of WARC segments, open for appending.
pub struct WarcArchive {
    options: WarcOptions,
    /// Position of the next byte. Everything before it is whole records.
    tail: Tail,
    /// The segment of `tail`, once something was or is about to be written to it.
    segment: Option<Segment>,
    /// The index of that segment, if there is to be one.
    index: Option<IndexBeside>,
    /// Set if the directory has an entry that was not synced.
    entry_unsynced: bool,
    /// Set after a failed sync: see [`Error::InDoubt`].
    in_doubt: bool,
    encoders: Encoders,
}

impl WarcArchive {
    /// Opens the archive where it is to be continued, and cuts off the end of that segment. No
    /// whole segment is ever removed: those that follow, or all if the archive begins anew, are
    /// renamed to `….unacknowledged`, so that losing the store does not mean losing the pages too.
    pub fn open(options: WarcOptions, start: Start) -> Result<(WarcArchive, Recovery)> {
        options.check()?;
        create_directory(&options.directory)?;
        let mut archive = WarcArchive {
            encoders: Encoders::new(options.compression, options.digest),
            options,
            tail: Tail::default(),
            segment: None,
            index: None,
            entry_unsynced: false,
            in_doubt: false,
        };
        let recovery = match start {
            Start::At(tail) => archive.cut(&tail, Rest::Cut)?,
            Start::Behind(tail) => archive.cut(&tail, Rest::Kept)?,
            Start::Empty => archive.set_all_aside()?,
        };
        Ok((archive, recovery))
    }

    /// Returns the end of what was appended, synced or not.
    pub fn end(&self) -> Tail {
        self.tail
    }

    /// Goes on with segment `segment`, if that is further on, and returns the numbers that are left
    /// out: from, to (without).
    pub fn skip_to(&mut self, segment: u32) -> Result<Option<(u32, u32)>> {
        if self.tail.segment >= segment {
            return Ok(None);
        }
        self.close()?;
        let from = std::mem::replace(&mut self.tail, Tail { segment, offset: 0 }).segment;
        Ok((from < segment).then_some((from, segment)))
    }

    /// Returns the options of the archive, which also give the segments' names.
    pub fn options(&self) -> &WarcOptions {
        &self.options
    }

    /// Rewinds the archive and returns what was cut, or only set aside.
    fn cut(&mut self, tail: &Tail, rest: Rest) -> Result<Recovery> {
        let segments = self.segments()?;
        let path = self.options.segment_path(tail.segment);
        let found = segments.iter().find(|it| it.number == tail.segment);
        let length = found.map_or(0, |it| it.length);
        if length < tail.offset {
            return Err(Error::TailBeyondEnd {
                path,
                acknowledged: tail.offset,
                found: length,
            });
        }
        // It was closed, and the next was not acknowledged any more: what is closed stays so.
        let is_marked = self.options.names.is_marked(tail.segment);
        let is_closed = is_marked && found.is_some_and(|it| !it.is_open);
        let stays = is_closed && length == tail.offset;
        // Done before anything is cut: if this fails, no byte has changed.
        let segment = match tail.offset {
            0 => None,
            _ if stays => None,
            _ => {
                let open = self.options.open_path(tail.segment);
                if is_closed {
                    fs::rename(&path, &open).map_err(Error::io("rename", &path))?;
                }
                Some(Segment::reopen(&open)?)
            }
        };
        // If one of the following steps fails, the open file and the old tail are no longer valid.
        self.in_doubt = true;
        let mut recovery = Recovery::default();
        // Last first, so that a crash in between leaves no gap.
        for Found {
            number,
            length,
            is_open,
        } in segments.into_iter().rev()
        {
            if number > tail.segment || (number == tail.segment && tail.offset == 0) {
                if rest == Rest::Removed {
                    let path = self.found_path(number, is_open);
                    fs::remove_file(&path).map_err(Error::io("remove", &path))?;
                    cdxj::forget(&self.options.segment_path(number))?;
                } else {
                    recovery.set_aside.push(self.set_aside(number, is_open)?);
                }
            } else if number == tail.segment && length > tail.offset {
                if rest == Rest::Kept {
                    let copy = self.unacknowledged(number)?;
                    copy_end(&self.options.open_path(number), tail.offset, &copy)?;
                    recovery.set_aside.push(copy);
                }
                if let Some(segment) = &segment {
                    segment.cut(tail.offset)?;
                }
                recovery.bytes_cut += length - tail.offset;
            }
        }
        if *tail == Tail::default() && rest != Rest::Removed {
            self.set_strangers_aside(&mut recovery)?;
        }
        self.index = None;
        if self.options.indexed && stays && tail.offset > 0 {
            IndexBeside::complete(&path, length, self.options.digest)?;
        } else if self.options.indexed && tail.offset > 0 {
            self.index = Some(IndexBeside::resume(
                &path,
                tail.offset,
                self.options.digest,
            )?);
        }
        self.entry_unsynced = true;
        self.in_doubt = false;
        self.segment = segment;
        self.tail = match stays && tail.offset > 0 {
            true => self.after(tail.segment)?,
            false => *tail,
        };
        Ok(recovery)
    }

    /// Renames every segment, so that a new archive can begin beside them.
    fn set_all_aside(&mut self) -> Result<Recovery> {
        let mut recovery = Recovery::default();
        for found in self.segments()? {
            recovery
                .set_aside
                .push(self.set_aside(found.number, found.is_open)?);
        }
        self.set_strangers_aside(&mut recovery)?;
        self.entry_unsynced = true;
        Ok(recovery)
    }

    /// Renames what a crawl of another name left in the directory: its store is lost.
    fn set_strangers_aside(&self, recovery: &mut Recovery) -> Result<()> {
        for name in self.entries()? {
            if self.options.names.is_strange(&name) {
                let from = self.options.directory.join(&name);
                let to = unacknowledged(&from).map_err(Error::io("examine", &from))?;
                fs::rename(&from, &to).map_err(Error::io("set aside", &from))?;
                recovery.set_aside.push(to);
            }
        }
        Ok(())
    }

    /// Renames a segment, and returns its new path.
    fn set_aside(&self, number: u32, is_open: bool) -> Result<PathBuf> {
        let from = self.found_path(number, is_open);
        let to = self.unacknowledged(number)?;
        fs::rename(&from, &to).map_err(Error::io("set aside", &from))?;
        cdxj::forget(&self.options.segment_path(number))?;
        Ok(to)
    }

    /// Returns a path that is free for what of a segment was not acknowledged.
    fn unacknowledged(&self, number: u32) -> Result<PathBuf> {
        let path = self.options.segment_path(number);
        unacknowledged(&path).map_err(Error::io("examine", &path))
    }

    fn found_path(&self, number: u32, is_open: bool) -> PathBuf {
        match is_open {
            true => self.options.open_path(number),
            false => self.options.segment_path(number),
        }
    }

    /// Returns the names in the directory, in order.
    fn entries(&self) -> Result<Vec<String>> {
        let directory = &self.options.directory;
        let mut names = Vec::new();
        for entry in fs::read_dir(directory).map_err(Error::io("list", directory))? {
            let entry = entry.map_err(Error::io("list", directory))?;
            names.extend(entry.file_name().into_string().ok());
        }
        names.sort_unstable();
        Ok(names)
    }

    /// Returns every segment, in order.
    fn segments(&self) -> Result<Vec<Found>> {
        let mut segments: Vec<Found> = Vec::new();
        for name in self.entries()? {
            let Some((number, is_open)) = self.options.names.number(&name) else {
                continue;
            };
            let path = self.options.directory.join(name);
            let about = fs::metadata(&path).map_err(Error::io("examine", &path))?;
            segments.push(Found {
                number,
                is_open,
                length: about.len(),
            });
        }
        segments.sort_unstable_by_key(|it| it.number);
        let twice = segments.windows(2).find(|it| it[0].number == it[1].number);
        match twice {
            Some(twice) => Err(Error::Twice {
                path: self.options.segment_path(twice[0].number),
            }),
            None => Ok(segments),
        }
    }

    /// Returns the beginning of the segment after one.
    fn after(&self, segment: u32) -> Result<Tail> {
        let next = segment.checked_add(1).ok_or(Error::Option {
            option: "max_segment_bytes",
            value: self.options.max_segment_bytes.to_string(),
            expected: "there are no more segment numbers, give more bytes to a segment",
        })?;
        Ok(Tail {
            segment: next,
            offset: 0,
        })
    }

    /// Starts a new segment if `expected` more bytes may not fit into the current one.
    fn make_room(&mut self, expected: u64) -> Result<()> {
        let full = self.tail.offset.saturating_add(expected) > self.options.max_segment_bytes;
        if self.tail.offset == 0 || !full {
            return Ok(());
        }
        self.close()
    }

    /// Returns the id of the current segment's warcinfo record, and its bytes if they are still to
    /// be written.
    fn opening(&mut self) -> Result<(RecordId, Vec<u8>)> {
        if let Some(id) = self.segment.as_ref().and_then(|open| open.warcinfo) {
            return Ok((id, Vec::new()));
        }
        let name = self.options.names.name(self.tail.segment);
        let record = warcinfo(&name, &self.options.directory, &self.options.info);
        let members = self.encoders.encode(std::slice::from_ref(&record), None)?;
        Ok((record.id(), members.concat()))
    }

    /// Writes gzip members of one record each, preceded by the segment's warcinfo record if needed.
    fn write(
        &mut self,
        warcinfo: RecordId,
        opening: Vec<u8>,
        members: &[impl AsRef<[u8]>],
    ) -> Result<Vec<Location>> {
        let Tail { segment, offset } = self.tail;
        let mut bytes = opening;
        bytes.reserve_exact(members.iter().map(|member| member.as_ref().len()).sum());
        let mut locations = Vec::with_capacity(members.len());
        for member in members {
            let member = member.as_ref();
            locations.push(Location {
                segment,
                offset: offset + bytes.len() as u64,
                length: member.len() as u64,
            });
            bytes.extend_from_slice(member);
        }
        let open = match &mut self.segment {
            Some(open) => open,
            none => {
                if self.options.indexed {
                    let warc = self.options.segment_path(segment);
                    self.index = Some(IndexBeside::resume(&warc, 0, self.options.digest)?);
                }
                let created = Segment::create(self.options.open_path(segment))?;
                self.entry_unsynced = true;
                none.insert(created)
            }
        };
        open.write(offset, &bytes)?;
        open.warcinfo = Some(warcinfo);
        self.tail.offset = offset + bytes.len() as u64;
        Ok(locations)
    }

    /// Appends a record of another archive unchanged: a whole gzip member.
    pub fn append_as_it_is(&mut self, member: &[u8]) -> Result<()> {
        self.refuse_doubt()?;
        self.make_room(member.len() as u64)?;
        let (warcinfo, opening) = self.opening()?;
        self.write(warcinfo, opening, &[member]).map(drop)
    }

    /// Syncs the current segment.
    fn sync_segment(&mut self) -> Result<()> {
        if let Some(segment) = &mut self.segment {
            // After a failed sync the kernel may count the lost pages as clean, so a second attempt
            // that succeeds proves nothing.
            self.in_doubt = true;
            segment.sync(self.tail.offset)?;
            self.in_doubt = false;
        }
        Ok(())
    }

    fn refuse_doubt(&self) -> Result<()> {
        if self.in_doubt {
            return Err(Error::InDoubt {
                directory: self.options.directory.clone(),
            });
        }
        Ok(())
    }
}

impl Archive for WarcArchive {
    fn append(&mut self, records: &[Record]) -> Result<Vec<Location>> {
        self.refuse_doubt()?;
        if records.is_empty() {
            return Ok(Vec::new());
        }
        // Lengths are counted uncompressed, because the segment has to be known before the records
        // are encoded (each names its warcinfo record): a segment ends a little early rather than
        // late.
        let lengths = records.iter().map(Record::block_length);
        self.make_room(lengths.map(|length| length + RECORD_OVERHEAD).sum())?;
        let (warcinfo, opening) = self.opening()?;
        let members = self.encoders.encode(records, Some(warcinfo))?;
        let places = self.write(warcinfo, opening, &members)?;
        if let Some(index) = &mut self.index {
            index.add(records, &places);
        }
        Ok(places)
    }

    fn ahead(&self) -> Option<Ahead> {
        self.encoders.ahead()
    }

    /// The file is whole and synced before it gets its name, and the directory is synced before
    /// the tail moves on. A crash in between leaves a closed file of the acknowledged length, or a
    /// longer one that is opened again and cut.
    fn close(&mut self) -> Result<()> {
        self.refuse_doubt()?;
        if self.tail.offset == 0 {
            return Ok(());
        }
        let next = self.after(self.tail.segment)?;
        // It is not opened again, so it has to be synced now.
        self.sync_segment()?;
        if let Some(index) = &self.index {
            index.close()?;
            self.index = None;
            self.entry_unsynced = true;
        }
        let (open, closed) = (
            self.options.open_path(self.tail.segment),
            self.options.segment_path(self.tail.segment),
        );
        if open != closed {
            fs::rename(&open, &closed).map_err(Error::io("rename", &open))?;
            self.entry_unsynced = true;
        }
        self.segment = None;
        self.tail = next;
        Ok(())
    }

    fn begun(&self) -> Option<Timestamp> {
        self.segment.as_ref().map(|segment| segment.begun)
    }

    fn sync(&mut self) -> Result<Tail> {
        self.refuse_doubt()?;
        self.sync_segment()?;
        if self.entry_unsynced {
            self.in_doubt = true;
            sync_directory(&self.options.directory)?;
            self.in_doubt = false;
            self.entry_unsynced = false;
        }
        Ok(self.tail)
    }

    fn rewind(&mut self, tail: &Tail) -> Result<()> {
        self.cut(tail, Rest::Removed).map(drop)
    }
}

#[cfg(test)]
mod tests {

    use super::super::Capture;
    use super::*;

    fn note(target: &str) -> Record {
        let capture = Capture {
            target,
            date: Timestamp::UNIX_EPOCH,
            ip: None,
            protocols: &[],
        };
        Record::metadata(&capture, None, &[("note", "text")])
    }

    fn open(directory: &Path, start: Start) -> WarcArchive {
        WarcArchive::open(WarcOptions::new(directory), start)
            .unwrap()
            .0
    }

    #[test]
    fn options_without_meaning_are_refused() {
        let directory = tempfile::tempdir().unwrap();
        let refused = |change: fn(&mut WarcOptions)| {
            let mut options = WarcOptions::new(directory.path());
            change(&mut options);
            matches!(
                WarcArchive::open(options, Start::Empty),
                Err(Error::Option { .. })
            )
        };
        assert!(refused(|options| options.names = FileNames::plain("")));
        assert!(refused(
            |options| options.names = FileNames::plain("../elsewhere")
        ));
        assert!(refused(|options| options.compression = 10));
        assert!(!refused(|_| {}));
    }

    /// A full disk, simulated by `/dev/full`: the error says so, nothing that was acknowledged
    /// changes, and after a rewind the archive can be written again.
    #[cfg(target_os = "linux")]
    #[test]
    fn a_full_disk_is_reported_and_survived() {
        let directory = tempfile::tempdir().unwrap();
        let mut archive = open(directory.path(), Start::Empty);
        archive.append(&[note("http://a.test/")]).unwrap();
        let tail = archive.sync().unwrap();
        let path = archive.options.segment_path(0);
        let acknowledged = fs::read(&path).unwrap();

        let full = fs::OpenOptions::new()
            .write(true)
            .open("/dev/full")
            .unwrap();
        archive.segment.as_mut().unwrap().file = full;
        let error = archive.append(&[note("http://b.test/")]).unwrap_err();
        assert!(error.is_storage_full(), "{error:?}");
        assert!(error.to_string().contains("gleaner-00000000"), "{error}");
        assert_eq!(archive.end(), tail);
        // The device cannot be truncated either, so nothing can be promised until the rewind.
        assert!(archive.append(&[note("http://c.test/")]).is_err());
        assert!(archive.sync().is_err());

        archive.rewind(&tail).unwrap();
        assert_eq!(fs::read(&path).unwrap(), acknowledged);
        let location = archive.append(&[note("http://d.test/")]).unwrap()[0];
        archive.sync().unwrap();
        assert!(fs::read(&path).unwrap().starts_with(&acknowledged));
        let record = archive.options.read(&location, Limits::default()).unwrap();
        assert_eq!(record.header("WARC-Target-URI"), Some("http://d.test/"));
    }

    /// A write that failed half-way is cut off by the next use, without a rewind.
    #[test]
    fn a_short_write_leaves_no_trace() {
        let directory = tempfile::tempdir().unwrap();
        let mut archive = open(directory.path(), Start::Empty);
        archive.append(&[note("http://a.test/")]).unwrap();
        let end = archive.end();
        let segment = archive.segment.as_mut().unwrap();
        std::io::Write::write_all(&mut segment.file, b"half a record").unwrap();
        segment.torn = true;
        assert_eq!(archive.sync().unwrap(), end);
        let length = fs::metadata(archive.options.segment_path(0)).unwrap().len();
        assert_eq!(length, end.offset);
    }

    /// After a failed sync nothing is accepted until the rewind.
    #[test]
    fn doubt_ends_with_a_rewind() {
        let directory = tempfile::tempdir().unwrap();
        let mut archive = open(directory.path(), Start::Empty);
        archive.append(&[note("http://a.test/")]).unwrap();
        let tail = archive.sync().unwrap();
        archive.in_doubt = true;
        let refused = archive.append(&[note("http://b.test/")]);
        assert!(matches!(refused, Err(Error::InDoubt { .. })));
        assert!(matches!(archive.sync(), Err(Error::InDoubt { .. })));
        archive.rewind(&tail).unwrap();
        archive.append(&[note("http://b.test/")]).unwrap();
        assert!(archive.sync().unwrap() > tail);
    }
}
