//! What `gleaner dedup -o` writes: the records of WARC files, with the bodies of duplicates left
//! out.
//!
//! | a record | becomes |
//! |---|---|
//! | a response whose payload is written already | a revisit that names the response that has it |
//! | a page that is a duplicate in other bytes | a metadata record with verdict and original, and its main text as conversion |
//! | a revisit of a record that was left out | a revisit, or metadata, of what that one was a duplicate of |
//! | any other | itself, byte for byte |
//!
//! A record in another's place keeps its id, so requests and metadata that name it still do.
//! Nothing refers to a record without a body: what a revisit was seen to refer to is written whole.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::xxh3_64;

use super::warc_in::{Capture, CaptureKind};
use crate::archive::{
    self, Archive as _, Original, Record, RecordId, Relation, WarcArchive, WarcOptions,
};
use crate::corpus::{CorpusVerdict, Error, Options};

/// Which bodies are left out of the WARC files that are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StoredBodies {
    /// Those of all duplicates are left out.
    Unique,
    /// Those whose payload is written already are left out.
    ExactOnly,
}

/// A record whose body is in an archive.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(in crate::corpus) struct Origin {
    id: String,
    url: String,
    date: String,
    /// Of its payload, as the record names it.
    digest: String,
}

/// What has to be known again in a later run.
#[derive(Debug, Serialize, Deserialize)]
pub(in crate::corpus) enum Note {
    /// The next origin, and the first half of the SHA-256 of its payload if there is one.
    Origin(Origin, Option<u128>),
    /// The origin of the next document.
    DocumentOf(u32),
    /// A record, by its keys, that stands for one without a body of its own.
    LeftOut([u64; 2], LeftOut),
    /// A record, by its keys, that must be written whole.
    Promised([u64; 2]),
}

/// A record without a body of its own.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub(in crate::corpus) struct LeftOut {
    origin: u32,
    /// Whether its payload is that of the origin.
    is_identical: bool,
}

/// A judged page, as far as it matters here.
pub(in crate::corpus) struct JudgedPage<'a> {
    pub(in crate::corpus) judged: &'a CorpusVerdict,
    /// Id of the document that it is a duplicate of, as JSON.
    pub(in crate::corpus) of: Option<&'a str>,
}

/// What is written, and what was.
pub(in crate::corpus) struct WarcOutput {
    /// Where records go; without one, all of them stay where they are.
    archive: Option<WarcArchive>,
    store: StoredBodies,
    /// Whether notes are wanted.
    takes_notes: bool,
    notes: Vec<Note>,
    origins: Vec<Origin>,
    by_payload: HashMap<u128, u32>,
    /// For each document.
    origin_of: Vec<Option<u32>>,
    /// The origin of the next document that a note told.
    next: Option<u32>,
    left_out: HashMap<u64, LeftOut>,
    promised: HashSet<u64>,
}

impl WarcOutput {
    /// Nothing written yet. With a directory, which must be new or empty, records are written
    /// there.
    pub(in crate::corpus) fn new(
        directory: Option<&Path>,
        store: StoredBodies,
        takes_notes: bool,
        options: &Options,
        sources: &[PathBuf],
    ) -> Result<Self, Error> {
        let archive = directory.map(|directory| begin(directory, store, options, sources));
        Ok(Self {
            archive: archive.transpose()?,
            store,
            takes_notes,
            notes: Vec::new(),
            origins: Vec::new(),
            by_payload: HashMap::new(),
            origin_of: Vec::new(),
            next: None,
            left_out: HashMap::new(),
            promised: HashSet::new(),
        })
    }

    /// What an earlier run noted.
    pub(in crate::corpus) fn apply(&mut self, note: Note) {
        match note {
            Note::Origin(origin, payload) => {
                let at = self.origins.len() as u32;
                self.origins.push(origin);
                if let Some(payload) = payload {
                    self.by_payload.entry(payload).or_insert(at);
                }
            }
            Note::DocumentOf(origin) => self.next = Some(origin),
            Note::LeftOut(keys, left_out) => {
                self.left_out.extend(keys.map(|key| (key, left_out)));
            }
            Note::Promised(keys) => self.promised.extend(keys),
        }
    }

    /// A document of an earlier run, or one that no record stands for.
    pub(in crate::corpus) fn skip_document(&mut self) {
        self.origin_of.push(self.next.take());
    }

    /// What is to be noted before the document, or the record, that was taken.
    pub(in crate::corpus) fn notes(&mut self) -> impl Iterator<Item = Note> {
        self.notes.drain(..)
    }

    /// Writes a record; `page` if it is that of a page.
    pub(in crate::corpus) fn take(
        &mut self,
        capture: &Capture,
        page: Option<&JudgedPage<'_>>,
    ) -> Result<(), Error> {
        match &capture.kind {
            CaptureKind::Response(payload) => self.response(capture, payload.as_ref(), page)?,
            CaptureKind::Revisit {
                id,
                url,
                date,
                is_identical,
            } => {
                let keys = keys(
                    id.as_deref().unwrap_or_default(),
                    url.as_deref().unwrap_or_default(),
                    date.as_deref().unwrap_or_default(),
                );
                self.revisit(capture, keys, *is_identical)?;
            }
            CaptureKind::Other => self.as_it_is(capture)?,
        }
        Ok(())
    }

    fn response(
        &mut self,
        capture: &Capture,
        payload: Option<&(u128, String)>,
        page: Option<&JudgedPage<'_>>,
    ) -> Result<(), Error> {
        let own_keys = keys(&capture.id, &capture.url, &capture.date);
        let is_promised = own_keys.iter().any(|key| self.promised.contains(key));
        // A record whose date is none cannot be written anew.
        let may_leave_out =
            self.archive.is_some() && !is_promised && parsed(&capture.date).is_some();
        let same = payload.and_then(|(half, _)| self.by_payload.get(half).copied());
        let duplicate = page.and_then(|page| page.judged.duplicate);
        let repeated = duplicate.and_then(|it| *self.origin_of.get(it.of as usize)?);
        let origin = match (same, repeated) {
            (Some(origin), _) if may_leave_out => {
                self.write_revisit(capture, origin)?;
                self.leave_out(own_keys, origin, true);
                origin
            }
            (_, Some(origin)) if may_leave_out && self.store == StoredBodies::Unique => {
                self.write_metadata(capture, origin, page)?;
                self.leave_out(own_keys, origin, false);
                origin
            }
            (Some(origin), _) if self.archive.is_none() => origin,
            _ => {
                self.as_it_is(capture)?;
                if payload.is_none() && page.is_none() {
                    return Ok(());
                }
                let origin = Origin {
                    id: capture.id.clone(),
                    url: capture.url.clone(),
                    date: capture.date.clone(),
                    digest: payload
                        .map(|(_, digest)| digest.clone())
                        .unwrap_or_default(),
                };
                let payload = payload.map(|(half, _)| *half);
                let at = self.origins.len() as u32;
                self.note(|| Note::Origin(origin.clone(), payload));
                self.apply(Note::Origin(origin, payload));
                at
            }
        };
        if page.is_some() {
            self.note(|| Note::DocumentOf(origin));
            self.origin_of.push(Some(origin));
        }
        Ok(())
    }

    fn revisit(
        &mut self,
        capture: &Capture,
        keys_of_original: [u64; 2],
        is_identical: bool,
    ) -> Result<(), Error> {
        let mut known = keys_of_original
            .iter()
            .filter_map(|key| self.left_out.get(key));
        let Some(left_out) = known.next().copied() else {
            self.note(|| Note::Promised(keys_of_original));
            self.promised.extend(keys_of_original);
            return self.as_it_is(capture);
        };
        if self.archive.is_none() || parsed(&capture.date).is_none() {
            return self.as_it_is(capture);
        }
        match is_identical && left_out.is_identical {
            true => self.write_revisit(capture, left_out.origin),
            false => self.write_metadata(capture, left_out.origin, None),
        }
    }

    fn leave_out(&mut self, keys: [u64; 2], origin: u32, is_identical: bool) {
        let left_out = LeftOut {
            origin,
            is_identical,
        };
        self.note(|| Note::LeftOut(keys, left_out));
        self.apply(Note::LeftOut(keys, left_out));
    }

    fn note(&mut self, note: impl FnOnce() -> Note) {
        if self.takes_notes {
            self.notes.push(note());
        }
    }

    fn as_it_is(&mut self, capture: &Capture) -> Result<(), Error> {
        match &mut self.archive {
            Some(archive) => archive
                .append_as_it_is(&capture.member)
                .map_err(Error::Archive),
            None => Ok(()),
        }
    }

    fn write_revisit(&mut self, capture: &Capture, origin: u32) -> Result<(), Error> {
        let Some(origin) = self.origins.get(origin as usize) else {
            return Ok(());
        };
        let record = Record::revisit(
            &captured(capture),
            capture.head.clone(),
            &origin.digest,
            &original(origin),
        );
        self.write(capture, vec![record])
    }

    fn write_metadata(
        &mut self,
        capture: &Capture,
        origin: u32,
        page: Option<&JudgedPage<'_>>,
    ) -> Result<(), Error> {
        let Some(origin) = self.origins.get(origin as usize) else {
            return Ok(());
        };
        let duplicate = page.and_then(|page| Some((page.of?, page.judged.duplicate?)));
        let mut fields = vec![(
            "verdict",
            duplicate.map_or("revisit", |it| it.1.kind()).to_owned(),
        )];
        if let Some((of, duplicate)) = duplicate {
            let of: Option<String> = serde_json::from_str(of).ok();
            fields.extend(of.map(|of| ("duplicate-of", of)));
            fields.extend(duplicate.distance.map(|it| ("distance", it.to_string())));
            fields.extend(
                duplicate
                    .similarity
                    .map(|it| ("similarity", format!("{it:.3}"))),
            );
        }
        fields.extend([
            ("original", origin.url.clone()),
            ("original-record", origin.id.clone()),
            ("original-date", origin.date.clone()),
        ]);
        let fields: Vec<_> = fields
            .iter()
            .map(|(name, value)| (*name, value.as_str()))
            .collect();
        let about = captured(capture);
        let relation = RecordId::parse(&origin.id).map(Relation::RefersTo);
        let metadata = Record::metadata(&about, relation, &fields);
        let id = RecordId::parse(&capture.id).unwrap_or_else(|| metadata.id());
        let text = capture.text.as_deref();
        let conversion = text.map(|text| Record::conversion(&about, Some(id), text));
        self.write(capture, [metadata].into_iter().chain(conversion).collect())
    }

    /// Writes records, the first in the place of that which was captured.
    fn write(&mut self, capture: &Capture, mut records: Vec<Record>) -> Result<(), Error> {
        if let (Some(id), false) = (RecordId::parse(&capture.id), records.is_empty()) {
            let first = records.remove(0).in_place_of(id);
            records.insert(0, first);
        }
        match &mut self.archive {
            Some(archive) => archive.append(&records).map(drop).map_err(Error::Archive),
            None => Ok(()),
        }
    }

    /// Waits until the disk has what was written.
    pub(in crate::corpus) fn finish(&mut self) -> Result<(), Error> {
        match &mut self.archive {
            Some(archive) => archive.sync().map(drop).map_err(Error::Archive),
            None => Ok(()),
        }
    }
}

/// Begins an archive that says how it was made.
fn begin(
    directory: &Path,
    store: StoredBodies,
    options: &Options,
    sources: &[PathBuf],
) -> Result<WarcArchive, Error> {
    let is_used = std::fs::read_dir(directory).is_ok_and(|mut entries| entries.next().is_some());
    if is_used {
        return Err(Error::input(format!(
            "{} is not empty; give a new or empty directory with --output",
            directory.display()
        )));
    }
    let settings = options.settings().into_iter();
    let settings = settings.map(|(name, value)| format!("{name}: {value}"));
    let settings = settings.collect::<Vec<_>>().join("; ");
    let left_out = match store {
        StoredBodies::Unique => "of all duplicates",
        StoredBodies::ExactOnly => "whose payload is here already",
    };
    let sources = sources.iter().map(|path| path.display().to_string());
    let mut warc = WarcOptions::new(directory);
    "deduplicated".clone_into(&mut warc.prefix);
    warc.info = [
        (
            "description",
            format!(
                "deduplicated by `gleaner dedup`: the bodies {left_out} are left out; a record in the place of another has its id"
            ),
        ),
        ("deduplication", settings),
        ("source", sources.collect::<Vec<_>>().join(", ")),
    ]
    .map(|(name, value)| (name.to_owned(), value))
    .into();
    let (archive, _) = WarcArchive::open(warc, None).map_err(Error::Archive)?;
    Ok(archive)
}

fn captured(capture: &Capture) -> archive::Capture<'_> {
    archive::Capture {
        target: &capture.url,
        date: parsed(&capture.date).unwrap_or_default(),
        ip: capture.ip.as_deref().and_then(|ip| ip.parse().ok()),
        protocols: &[],
    }
}

fn parsed(date: &str) -> Option<Timestamp> {
    date.parse().ok()
}

fn original(origin: &Origin) -> Original {
    Original {
        record: RecordId::parse(&origin.id),
        target_uri: origin.url.clone(),
        date: origin.date.clone(),
    }
}

/// By what a revisit refers to a record: its id, or its URL and date. What is missing leads
/// nowhere.
fn keys(id: &str, url: &str, date: &str) -> [u64; 2] {
    let by_id = xxh3_64(id.trim_matches(['<', '>']).as_bytes());
    let by_place = match url.is_empty() || date.is_empty() {
        true => by_id,
        false => xxh3_64(format!("{url}\n{date}").as_bytes()),
    };
    match id.is_empty() {
        true => [by_place; 2],
        false => [by_id, by_place],
    }
}
