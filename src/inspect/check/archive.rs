//! The archives: all records can be read and have their digests, and are where rows say they are.

use std::collections::HashMap;
use std::fs::{self, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use super::index::Lines;
use super::{PartChecked, Subject, within};
use crate::archive::{
    self, Limits, ReadRecord, RecordId, RecordKind, SegmentReader, Tail, WarcOptions,
};
use crate::dedup::Document;
use crate::engine::{Error, body_place};
use crate::inspect::chain::chain;
use crate::journal::{Bodies, BodyError};
use crate::rows::{ArchiveNames, KEPT, Kept, OtherFiles, PAGES, PageRecord};
use crate::store::{Table, decode, keys};
use crate::url::UrlId;

const ADVICE: &str = "put the file back from a backup; a page whose record is lost can be fetched \
     again into another data directory";

/// What is expected of a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Expected {
    offset: u64,
    length: u64,
    kind: u8,
    /// Zeros if it is not known.
    id: [u8; 16],
}

/// The kinds of records that rows name, as their `WARC-Type`.
const KINDS: [(RecordKind, &str); 4] = [
    (RecordKind::Response, "response"),
    (RecordKind::Revisit, "revisit"),
    (RecordKind::Metadata, "metadata"),
    (RecordKind::Conversion, "conversion"),
];

impl Expected {
    const BYTES: usize = 33;

    fn to_bytes(self) -> [u8; Self::BYTES] {
        let mut bytes = [0; Self::BYTES];
        bytes[..8].copy_from_slice(&self.offset.to_le_bytes());
        bytes[8..16].copy_from_slice(&self.length.to_le_bytes());
        bytes[16] = self.kind;
        bytes[17..].copy_from_slice(&self.id);
        bytes
    }

    fn of_bytes(bytes: &[u8; Self::BYTES]) -> Option<Self> {
        let (offset, rest) = bytes.split_first_chunk()?;
        let (length, rest) = rest.split_first_chunk()?;
        let (kind, id) = rest.split_first()?;
        Some(Self {
            offset: u64::from_le_bytes(*offset),
            length: u64::from_le_bytes(*length),
            kind: *kind,
            id: id.try_into().ok()?,
        })
    }
}

/// The places that rows name, by file of the archive. They are kept in files, because there are as
/// many as pages.
pub(super) struct Places {
    folder: PathBuf,
    waiting: HashMap<u32, Vec<u8>>,
    bytes: usize,
}

impl Places {
    /// Bytes of places in memory.
    const MAX_BYTES: usize = 8 << 20;

    pub(super) fn new(folder: &Path) -> Self {
        Self {
            folder: folder.to_owned(),
            waiting: HashMap::new(),
            bytes: 0,
        }
    }

    /// Adds the places that a page's row names.
    pub(super) fn of_page(&mut self, page: &PageRecord) -> io::Result<()> {
        if let Some((kind, location)) = &page.record {
            let kind = KINDS.iter().position(|(it, _)| it == kind);
            let place = (location.offset, location.length);
            self.add(location.segment, place, kind.unwrap_or(0), [0; 16])?;
        }
        match &page.document {
            Some(document) => self.of_document(document),
            None => Ok(()),
        }
    }

    /// Adds the place of a document's response.
    pub(super) fn of_document(&mut self, document: &Document) -> io::Result<()> {
        let stored = &document.stored;
        // A document whose response is nowhere has no length.
        if stored.is_elsewhere() || stored.length == 0 {
            return Ok(());
        }
        self.add(
            stored.segment,
            (stored.offset, stored.length),
            0,
            stored.record,
        )
    }

    fn add(
        &mut self,
        segment: u32,
        (offset, length): (u64, u64),
        kind: usize,
        id: [u8; 16],
    ) -> io::Result<()> {
        let expected = Expected {
            offset,
            length,
            kind: kind as u8,
            id,
        };
        let waiting = self.waiting.entry(segment).or_default();
        waiting.extend_from_slice(&expected.to_bytes());
        self.bytes += Expected::BYTES;
        match self.bytes > Self::MAX_BYTES {
            true => self.write(),
            false => Ok(()),
        }
    }

    fn file(&self, segment: u32) -> PathBuf {
        self.folder.join(format!("places-{segment}"))
    }

    fn write(&mut self) -> io::Result<()> {
        let mut options = OpenOptions::new();
        options.create(true).append(true);
        for (segment, bytes) in std::mem::take(&mut self.waiting) {
            options.open(self.file(segment))?.write_all(&bytes)?;
        }
        self.bytes = 0;
        Ok(())
    }

    /// Takes the places in one file of the archive.
    fn take(&mut self, segment: u32) -> io::Result<HashMap<u64, Vec<Expected>>> {
        self.write()?;
        let bytes = match fs::read(self.file(segment)) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Vec::new(),
            bytes => bytes?,
        };
        let mut places: HashMap<u64, Vec<Expected>> = HashMap::new();
        for bytes in bytes.as_chunks().0 {
            if let Some(expected) = Expected::of_bytes(bytes) {
                places.entry(expected.offset).or_default().push(expected);
            }
        }
        Ok(places)
    }
}

/// Checks both archives.
pub(super) fn check(subject: &Subject<'_>, mut places: Places) -> Result<Vec<PartChecked>, Error> {
    let texts = subject.store.get(Table::Meta, keys::meta::TEXTS)?;
    let texts: Tail = texts.map_or(Ok(Tail::default()), |row| decode(Table::Meta, &row))?;
    let names = ArchiveNames::read(subject.store)?;
    let others = OtherFiles::read(subject.store)?;
    let warc = WarcOptions::pages_of(subject.data, names.pages);
    let pages = segments(
        subject,
        "warc",
        &warc,
        (subject.disk.archive, &others.pages),
        &mut |segment| places.take(segment),
    )?;
    let of_texts = WarcOptions::texts_of(subject.data, names.texts);
    let texts = (texts, &*others.texts);
    let texts = segments(subject, "texts", &of_texts, texts, &mut |_| {
        Ok(HashMap::new())
    })?;
    Ok(vec![pages.advise(ADVICE), texts.advise(ADVICE)])
}

type Take<'a> = dyn FnMut(u32) -> io::Result<HashMap<u64, Vec<Expected>>> + 'a;

/// Checks the files of an archive up to its acknowledged end.
fn segments(
    subject: &Subject<'_>,
    name: &'static str,
    options: &WarcOptions,
    (tail, others): (Tail, &[(u32, u32)]),
    take: &mut Take<'_>,
) -> Result<PartChecked, Error> {
    let mut part = PartChecked::new(name, "records");
    if !others.is_empty() {
        part.note("other workers have owned this crawl; files of theirs are not looked for");
    }
    for segment in OtherFiles::here(others, tail.segment) {
        let path = options.segment_path(segment);
        let path = archive::present(&path).unwrap_or(path);
        let shown = within(subject.data, &path);
        let shown = shown.display();
        let is_last = segment == tail.segment;
        let end = match fs::metadata(&path) {
            Ok(_) if is_last => tail.offset,
            Ok(about) => about.len(),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                if is_last && tail.offset > 0 {
                    part.damage(format!("{shown} is missing"));
                } else if !is_last {
                    part.note(format!("{shown} is not there; was it moved away?"));
                }
                continue;
            }
            Err(error) => {
                part.damage(format!("{shown}: {error}"));
                continue;
            }
        };
        let mut expected = take(segment).map_err(|source| crate::engine::DirectoryError::Io {
            path: subject.copy.to_owned(),
            source,
        })?;
        let records = SegmentReader::open_at(&path, 0, Limits::default());
        let mut at = 0;
        let mut lines = Lines::default();
        let file = options.names.name(segment);
        for record in records.into_iter().flatten() {
            if at >= end {
                break;
            }
            let record = match record {
                Ok(record) => record,
                Err(error) => {
                    part.damage(chain(&error));
                    break;
                }
            };
            at = record.offset + record.length;
            part.read += 1;
            lines.of_record(&record, &file);
            if record.block_is_intact() == Some(false) {
                let offset = record.offset;
                part.damage(format!(
                    "{shown}: the digest of the record at byte {offset} is another"
                ));
            }
            for wanted in expected.remove(&record.offset).unwrap_or_default() {
                if let Some(wrong) = mismatch(&wanted, &record) {
                    let offset = record.offset;
                    part.damage(format!("{shown}: the record at byte {offset} {wrong}"));
                }
            }
        }
        if at < end {
            part.damage(format!(
                "{shown} ends at byte {at}, and {end} are acknowledged"
            ));
        } else if let Some(wrong) = lines.compare(&path) {
            part.damage(format!(
                "the index of {shown} {wrong}: `gleaner warc index --beside` makes it again"
            ));
        }
        for offset in expected.into_keys() {
            part.damage(format!(
                "{shown}: no record begins at byte {offset}, where a page's should"
            ));
        }
    }
    Ok(part)
}

/// Returns how a record differs from what a row says of it.
fn mismatch(wanted: &Expected, record: &ReadRecord) -> Option<String> {
    let kind = KINDS
        .get(usize::from(wanted.kind))
        .map_or("", |kind| kind.1);
    let found = record.header("WARC-Type").unwrap_or_default();
    if found != kind {
        return Some(format!("is a {found}, and should be a {kind}"));
    }
    if record.length != wanted.length {
        return Some(format!(
            "has {} bytes, and should have {}",
            record.length, wanted.length
        ));
    }
    let id = record.header("WARC-Record-ID").and_then(RecordId::parse);
    let is_it = wanted.id == [0; 16] || id.is_none_or(|id| *id.as_bytes() == wanted.id);
    (!is_it).then(|| "is another one".to_owned())
}

/// Checks what is kept of bodies of duplicates: each can be rebuilt.
pub(super) fn check_bodies(subject: &Subject<'_>) -> PartChecked {
    let mut part = PartChecked::new("bodies of duplicates", "bodies");
    let bodies = Bodies::of(subject.data);
    let mut ids: Vec<UrlId> = Vec::new();
    let mut from = Vec::new();
    loop {
        // A piece at a time, because reading them takes long.
        const PIECE: usize = 1_000;
        let rows = match subject.store.range(Table::Kept, &[], &from, PIECE) {
            Ok(rows) => rows,
            Err(error) => {
                part.damage(error);
                break;
            }
        };
        ids.clear();
        for (key, row) in &rows {
            match (key.as_slice().try_into(), decode::<Kept>(KEPT.table(), row)) {
                (Ok(id), Ok(_)) => ids.push(UrlId::from_bytes(id)),
                _ => part.damage(format!("row {} of kept cannot be read", hex::encode(key))),
            }
        }
        for id in &ids {
            part.read += 1;
            body(subject, &bodies, *id, &mut part);
        }
        match rows.last() {
            Some((last, _)) if rows.len() == PIECE => from = [&last[..], &[0]].concat(),
            _ => break,
        }
    }
    part.advise(ADVICE)
}

/// Rebuilds a body.
fn body(subject: &Subject<'_>, bodies: &Bodies, id: UrlId, part: &mut PartChecked) {
    let page = match PAGES.get(subject.store, id.as_bytes()) {
        Ok(Some(page)) => page,
        Ok(None) => {
            return part.damage(format!("a body is kept of a page that is not known: {id}"));
        }
        Err(error) => return part.damage(error),
    };
    let place = match body_place(subject.store, id, &page) {
        Ok(Some(place)) => place,
        // It became a page of its own since.
        Ok(None) => return,
        Err(error) => return part.damage(error),
    };
    let is_moved = |error: &archive::Error| error.io_kind() == Some(io::ErrorKind::NotFound);
    match bodies.read(&place) {
        Ok(_) => {}
        Err(BodyError::Archive(error) | BodyError::Base(error)) if is_moved(&error) => {
            part.note(chain(&error));
        }
        Err(error) => part.damage(format!("{}: {}", page.url, chain(&error))),
    }
}
