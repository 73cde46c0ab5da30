//! Takes records out of files that are closed: what a person had forgotten is overwritten in place,
//! by a gzip member of the same length, so that no offset moves and every index stays right.
//!
//! This is the one exception to the rule that an acknowledged byte never changes. A record becomes
//! a tombstone: a metadata record under its id, with nothing of what it said. A pack loses the
//! bodies that are named, and the others keep their numbers. Doing it twice is harmless, so whoever
//! is killed in between does it again.

use std::collections::BTreeSet;
use std::fs::{self, File, OpenOptions};
use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::os::unix::fs::FileExt as _;
use std::path::Path;

use flate2::bufread::GzDecoder;
use jiff::Timestamp;
use libdeflater::{CompressionLvl, Compressor, Crc};

use super::cdxj::{IndexLine, index_path};
use super::directory::replace_file_with;
use super::foreign::RecordStream;
use super::id::{Digest, RecordId};
use super::names::{marked, whole_name};
use super::pack::{PackedBody, pack, unpack};
use super::reader::{Limits, ReadRecord, SegmentReader};
use super::{Error, Result};

/// What a gzip member begins with: magic, deflate, no flags, no time, no level, an unknown system
/// (RFC 1952, section 2.3).
const HEADER: [u8; 10] = [0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 0xff];

/// The flag of a comment in that header.
const HAS_COMMENT: u8 = 16;

/// A block of a deflate stream that is stored, is not the last, and holds nothing (RFC 1951,
/// section 3.2.4).
const NOTHING: [u8; 5] = [0, 0, 0, 0xff, 0xff];

/// Number of bytes in which the beginning of the record before another is looked for: first so
/// many, then, if it is not found there, so many.
const BEHIND: [u64; 2] = [8 << 10, 512 << 10];

/// A place in a file: offset and length of a gzip member, in bytes.
pub type Span = (u64, u64);

/// A record that stands beside another of the same visit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Beside {
    /// Where it stands.
    pub span: Span,
    /// Its id, if it is metadata: bodies in packs name that of their visit.
    pub visit: Option<RecordId>,
}

/// Returns the records beside the one at `span` that are about a URL that is meant: its request
/// stands before it, its metadata behind it.
///
/// # Errors
///
/// [`Error::Io`] if the file cannot be read. What is damaged beside the record is not part of it.
pub fn records_beside(
    path: &Path,
    span: Span,
    is_meant: &dyn Fn(&str) -> bool,
) -> Result<Vec<Beside>> {
    let file = super::elsewhere::open_to_read(path).map_err(Error::io("open", path))?;
    let about = |record: &ReadRecord| record.header("WARC-Target-URI").is_some_and(is_meant);
    let beside = |span, record: &ReadRecord| Beside {
        span,
        visit: visit_of(record),
    };
    let mut found = Vec::new();
    let mut first = span.0;
    while let Some(before) = record_before(&file, first).map_err(Error::io("read", path))? {
        let Some(Ok(record)) = SegmentReader::open_at(path, before, Limits::default())?.next()
        else {
            break;
        };
        if !about(&record) {
            break;
        }
        found.push(beside((before, first - before), &record));
        first = before;
    }
    for record in SegmentReader::open_at(path, span.0 + span.1, Limits::default())? {
        match record {
            Ok(record) if about(&record) => {
                found.push(beside((record.offset, record.length), &record));
            }
            Err(error) if error.io_kind().is_some() => return Err(error),
            _ => break,
        }
    }
    Ok(found)
}

/// Returns the id of the record at an offset, if it is metadata or what is left of that.
///
/// # Errors
///
/// [`Error::Io`] if the file cannot be read.
pub fn visit_at(path: &Path, offset: u64) -> Result<Option<RecordId>> {
    match SegmentReader::open_at(path, offset, Limits::default())?.next() {
        Some(Err(error)) if error.io_kind().is_some() => Err(error),
        Some(Ok(record)) => Ok(visit_of(&record)),
        _ => Ok(None),
    }
}

/// Returns `true` if the record at an offset is a revisit that refers to the capture of a URL that
/// is meant.
///
/// # Errors
///
/// [`Error::Io`] if the file cannot be read.
pub fn refers_to(path: &Path, offset: u64, is_meant: &dyn Fn(&str) -> bool) -> Result<bool> {
    match SegmentReader::open_at(path, offset, Limits::default())?.next() {
        Some(Err(error)) if error.io_kind().is_some() => Err(error),
        Some(Ok(record)) => {
            let of = record.header("WARC-Refers-To-Target-URI");
            Ok(of.is_some_and(is_meant))
        }
        _ => Ok(false),
    }
}

fn visit_of(record: &ReadRecord) -> Option<RecordId> {
    let is_metadata = record.header("WARC-Type") == Some("metadata");
    let id = record.header("WARC-Record-ID").filter(|_| is_metadata);
    id.and_then(RecordId::parse)
}

/// Calls `visit` for every body of a pack in a file that was not taken out: the id of its visit,
/// the span of its pack, and its number there. What is damaged is left out.
///
/// # Errors
///
/// [`Error::Io`], or what `visit` says.
pub fn for_each_packed<E: From<Error>>(
    path: &Path,
    visit: &mut dyn FnMut(RecordId, Span, u8) -> std::result::Result<(), E>,
) -> std::result::Result<(), E> {
    for record in RecordStream::open(path, Limits::default())? {
        let record = match record {
            Err(error) if error.io_kind().is_some() => return Err(error.into()),
            Err(_) => continue,
            Ok(record) => record,
        };
        for (number, body) in (0..).zip(unpack(&record.block).unwrap_or_default()) {
            if body != nobody() {
                visit(body.visit, (record.offset, record.length), number)?;
            }
        }
    }
    Ok(())
}

/// Returns the spans of the records of verdicts that follow the record at `span`, of the same
/// visit, and name an original that is meant.
///
/// # Errors
///
/// [`Error::Io`] if the file cannot be read. What is damaged ends the search.
pub fn verdicts_behind(
    path: &Path,
    span: Span,
    is_meant: &dyn Fn(&str) -> bool,
) -> Result<Vec<Span>> {
    let mut spans = Vec::new();
    for record in SegmentReader::open_at(path, span.0 + span.1, Limits::default())? {
        match record {
            Ok(record) if record.header("WARC-Type") == Some("metadata") => {
                let mut lines = record.block.split(|byte| *byte == b'\n');
                let names = |line: &[u8]| {
                    let original = line.strip_prefix(b"original: ");
                    let original = original.and_then(|it| str::from_utf8(it).ok());
                    original.is_some_and(|it| is_meant(it.trim()))
                };
                if lines.any(names) {
                    spans.push((record.offset, record.length));
                }
            }
            Err(error) if error.io_kind().is_some() => return Err(error),
            _ => break,
        }
    }
    Ok(spans)
}

/// Returns where the member begins that ends at `end`, if that can be told.
fn record_before(file: &File, end: u64) -> io::Result<Option<u64>> {
    for most in BEHIND {
        let from = end.saturating_sub(most);
        let mut bytes = vec![0; usize::try_from(end - from).unwrap_or(0)];
        file.read_exact_at(&mut bytes, from)?;
        let starts = memchr::memmem::rfind_iter(&bytes, &HEADER[..3]);
        for start in starts {
            let Some(member) = bytes.get(start..) else {
                continue;
            };
            if is_one_member(member) {
                return Ok(Some(from + start as u64));
            }
        }
    }
    Ok(None)
}

/// Whether bytes are one gzip member with a record, to their end.
#[expect(
    clippy::disallowed_methods,
    reason = "some bytes are read, and the rest goes nowhere"
)]
fn is_one_member(bytes: &[u8]) -> bool {
    let mut rest = bytes;
    let mut text = GzDecoder::new(&mut rest);
    let mut begins = [0; 5];
    let is_record = text.read_exact(&mut begins).is_ok() && begins == *b"WARC/";
    is_record && io::copy(&mut text, &mut io::sink()).is_ok() && {
        drop(text);
        rest.is_empty()
    }
}

/// A file out of which records are taken.
pub struct Eraser {
    file: File,
    path: std::path::PathBuf,
}

impl Eraser {
    /// Opens the file at `path`, where it is now.
    ///
    /// # Errors
    ///
    /// [`Error::Io`] if it cannot be written to.
    pub fn open(path: &Path) -> Result<Self> {
        let file = OpenOptions::new().read(true).write(true).open(path);
        Ok(Self {
            file: file.map_err(Error::io("change", path))?,
            path: path.to_owned(),
        })
    }

    /// Puts a tombstone in place of the record at `span`. Returns `false` if there was one already.
    ///
    /// # Errors
    ///
    /// [`Error::Io`], or [`Error::Format`] if no record is that short.
    pub fn bury(&self, (offset, length): Span) -> Result<bool> {
        let found = self.read(offset);
        if let Some(found) = &found
            && found.length == length
            && is_tombstone(found)
        {
            return Ok(false);
        }
        // Half of it may have been overwritten before.
        let id = found.as_ref().and_then(|it| it.header("WARC-Record-ID"));
        let id = id.map_or_else(|| self.id_at(offset).to_string(), str::to_owned);
        let member = member_of(&tombstone(&id, Timestamp::now()), length);
        self.put((offset, length), member)?;
        Ok(true)
    }

    /// Takes bodies out of the pack at `span`, by their numbers.
    ///
    /// # Errors
    ///
    /// [`Error::Io`], or [`Error::Format`] if the record is damaged.
    pub fn unpack_out(&self, (offset, length): Span, numbers: &[u8]) -> Result<()> {
        let damaged = |reason: &str| Error::Format {
            path: self.path.clone(),
            offset,
            reason: reason.to_owned(),
        };
        let mut record = match SegmentReader::open_at(&self.path, offset, Limits::default())?.next()
        {
            Some(record) => record?,
            None => return Err(damaged("the file ends before it")),
        };
        let mut bodies = unpack(&record.block).map_err(|error| damaged(&error.to_string()))?;
        for number in numbers {
            if let Some(body) = bodies.get_mut(usize::from(*number)) {
                *body = nobody();
            }
        }
        record.block = pack(&bodies);
        for (name, value) in &mut record.headers {
            if name.eq_ignore_ascii_case("Content-Length") {
                *value = record.block.len().to_string();
            } else if name.eq_ignore_ascii_case("WARC-Block-Digest") {
                *value = Digest::of(&record.block).to_string();
            }
        }
        self.put((offset, length), member_of(&record.to_bytes(), length))
    }

    /// Returns an id for a record of which none is known.
    fn id_at(&self, offset: u64) -> RecordId {
        let place = format!("{}:{offset}", self.path.display());
        let digest = Digest::of(place.as_bytes());
        RecordId::from_bytes(digest.as_bytes().first_chunk().copied().unwrap_or_default())
    }

    fn read(&self, offset: u64) -> Option<ReadRecord> {
        let mut records = SegmentReader::open_at(&self.path, offset, Limits::default()).ok()?;
        records.next()?.ok()
    }

    fn put(&self, (offset, length): Span, member: Option<Vec<u8>>) -> Result<()> {
        let member = member.ok_or_else(|| Error::Format {
            path: self.path.clone(),
            offset,
            reason: format!("nothing can be put in place of a record of {length} bytes"),
        })?;
        self.file
            .write_all_at(&member, offset)
            .map_err(Error::io("write to", &self.path))
    }

    /// Makes it durable.
    ///
    /// # Errors
    ///
    /// [`Error::Io`].
    pub fn finish(self) -> Result<()> {
        self.file.sync_all().map_err(Error::io("sync", &self.path))
    }
}

/// Takes the lines of the records at these offsets out of the index beside a file, if it has one.
/// Returns how many there were. The index of a file that was left while it was written goes: it is
/// made of the records when it is needed.
///
/// # Errors
///
/// [`Error::Io`]; then the index is as it was.
pub fn take_out_of_index(warc: &Path, offsets: &BTreeSet<u64>) -> Result<u64> {
    let path = index_path(&whole_name(warc));
    let begun = marked(&path);
    match fs::remove_file(&begun) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            return Err(Error::io("remove", &begun)(error));
        }
        _ => {}
    }
    let lines = match File::open(&path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(0),
        opened => BufReader::new(opened.map_err(Error::io("open", &path))?),
    };
    let mut taken = 0;
    let written = replace_file_with(&path, |file| {
        for line in lines.lines() {
            let line = line?;
            let offset = IndexLine::parse(&line).map(|line| line.offset);
            if offset.is_some_and(|offset| offsets.contains(&offset)) {
                taken += 1;
                continue;
            }
            writeln!(file, "{line}")?;
        }
        Ok(())
    });
    written.map_err(Error::io("write", &path))?;
    Ok(taken)
}

/// Calls `visit` for every capture in the index beside a file: its URL and its span. Returns
/// `false` if the file has no index.
///
/// # Errors
///
/// [`Error::Io`].
pub fn for_each_capture(warc: &Path, visit: &mut dyn FnMut(&str, Span)) -> Result<bool> {
    let path = index_path(warc);
    let file = match File::open(&path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
        opened => opened.map_err(Error::io("open", &path))?,
    };
    for line in BufReader::new(file).lines() {
        let line = line.map_err(Error::io("read", &path))?;
        if let Some(line) = IndexLine::parse(&line) {
            visit(&line.url, (line.offset, line.length));
        }
    }
    Ok(true)
}

/// Calls `visit` for every record of a file that names a URL: that, and its span. What is damaged
/// is left out.
///
/// # Errors
///
/// [`Error::Io`].
pub fn for_each_target(warc: &Path, visit: &mut dyn FnMut(&str, Span)) -> Result<()> {
    for record in RecordStream::open_at(warc, 0, Limits::default())? {
        match record {
            Err(error) if error.io_kind().is_some() => return Err(error),
            Err(_) => {}
            Ok(record) => {
                if let Some(target) = record.header("WARC-Target-URI") {
                    visit(target, (record.offset, record.length));
                }
            }
        }
    }
    Ok(())
}

/// Returns `true` if a record is what is left of one that was forgotten.
pub fn is_tombstone(record: &ReadRecord) -> bool {
    record.block == TOMBSTONE
}

const TOMBSTONE: &[u8] = b"note: forgotten\r\n";

/// Returns the record that stands in place of one that was forgotten.
fn tombstone(id: &str, now: Timestamp) -> Vec<u8> {
    let head = format!(
        "WARC/1.1\r\nWARC-Type: metadata\r\nWARC-Record-ID: {id}\r\nWARC-Date: {now:.0}\r\n\
         Content-Type: application/warc-fields\r\nContent-Length: {}\r\n\r\n",
        TOMBSTONE.len()
    );
    [head.as_bytes(), TOMBSTONE, b"\r\n\r\n"].concat()
}

/// Returns what stands in a pack in place of a body.
fn nobody() -> PackedBody {
    PackedBody {
        visit: RecordId::from_bytes([0; 16]),
        base: None,
        digest: Digest::from_bytes([0; 32]),
        received: None,
        is_coded: false,
        head_length: 0,
        length: 0,
        data: Vec::new(),
    }
}

/// Returns a gzip member with this content that is exactly so many bytes long; `None` if it would
/// be longer. What is left over is filled with blocks that hold nothing, and with a comment for
/// what these do not divide.
fn member_of(content: &[u8], length: u64) -> Option<Vec<u8>> {
    let mut compressor = Compressor::new(CompressionLvl::best());
    let mut data = vec![0; compressor.deflate_compress_bound(content.len())];
    let written = compressor.deflate_compress(content, &mut data).ok()?;
    data.truncate(written);
    let length = usize::try_from(length).ok()?;
    let left = length.checked_sub(HEADER.len() + data.len() + 8)?;
    let mut member = Vec::with_capacity(length);
    member.extend_from_slice(&HEADER);
    let comment = left % NOTHING.len();
    if comment > 0 {
        member[3] |= HAS_COMMENT;
        member.resize(member.len() + comment - 1, b' ');
        member.push(0);
    }
    for _ in 0..left / NOTHING.len() {
        member.extend_from_slice(&NOTHING);
    }
    member.extend_from_slice(&data);
    let mut checksum = Crc::new();
    checksum.update(content);
    member.extend_from_slice(&checksum.sum().to_le_bytes());
    let size = u32::try_from(content.len() as u64 & u64::from(u32::MAX)).unwrap_or_default();
    member.extend_from_slice(&size.to_le_bytes());
    Some(member)
}

#[cfg(test)]
mod tests;
