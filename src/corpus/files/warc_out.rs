//! Writes the output of `gleaner dedup -o`: the records of WARC files without the bodies of
//! duplicates.
//!
//! | record | becomes |
//! |---|---|
//! | a response whose payload is already written, under a head that players treat alike | a revisit that names the response with the payload |
//! | a page that duplicates another with other bytes | a metadata record with the verdict and the original; beside it, in `texts/`, the main text as a conversion record |
//! | a revisit of a record that was left out | a revisit, or metadata, of the original of that record |
//! | any other | itself, byte for byte |
//!
//! A record that replaces another keeps its id, so requests and metadata that name the id stay
//! valid. No record refers to one without a body: a record that an earlier revisit refers to is
//! written in full.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::xxh3_64;

use super::warc_in::{SourceKind, SourceRecord};
use crate::archive::{
    self, Archive as _, FileNames, Original, Record, RecordId, Relation, Start, WarcArchive,
    WarcOptions,
};
use crate::corpus::{CorpusVerdict, Error, Options, Saved, SavedError};

/// The bodies that are left out of the written WARC files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StoredBodies {
    /// Leaves out the bodies of all duplicates.
    Unique,
    /// Leaves out only the bodies whose payload is already written.
    ExactOnly,
}

/// A record whose body is in an archive.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(in crate::corpus) struct Origin {
    id: String,
    url: String,
    date: String,
    /// The payload's digest as the record names it.
    digest: String,
}

/// A fact that later runs need.
#[derive(Debug, Serialize, Deserialize)]
pub(in crate::corpus) enum Note {
    /// The next origin and, if it has a payload, the first half of the payload's SHA-256.
    Origin(Origin, Option<u128>),
    /// The origin of the next document.
    DocumentOf(u32),
    /// A record, by its keys, whose body was left out.
    LeftOut([u64; 2], LeftOut),
    /// A record, by its keys, that must be written in full.
    Promised([u64; 2]),
}

impl Note {
    /// Reads a note of an index.
    pub(in crate::corpus) fn decode(bytes: &[u8], saved: &Saved) -> Result<Self, SavedError> {
        let note = postcard::from_bytes(bytes);
        note.map_err(|_| saved.damaged("a note in it cannot be read"))
    }

    /// The note as it stands in an index.
    pub(in crate::corpus) fn encode(&self) -> Vec<u8> {
        postcard::to_stdvec(self).expect("a note is plain data")
    }
}

/// A record whose body was left out.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub(in crate::corpus) struct LeftOut {
    origin: u32,
    /// Whether its payload is that of the origin.
    is_identical: bool,
}

impl LeftOut {
    /// The number of the record that has the body.
    pub(in crate::corpus) fn origin(self) -> u32 {
        self.origin
    }

    /// The same where that record has another number.
    pub(in crate::corpus) fn at(self, origin: u32) -> Self {
        Self { origin, ..self }
    }
}

/// A judged page.
pub(in crate::corpus) struct JudgedPage<'a> {
    pub(in crate::corpus) judged: &'a CorpusVerdict,
    /// The id, as JSON, of the document that the page duplicates.
    pub(in crate::corpus) of: Option<&'a str>,
}

/// The output of a run, and what must be known of earlier output.
pub(in crate::corpus) struct WarcOutput {
    /// The archive to write to; `None` if the run writes no records.
    archive: Option<WarcArchive>,
    /// The archive of the main texts of duplicates, beside it: whoever reads the records gets each
    /// page once.
    texts: Option<WarcArchive>,
    store: StoredBodies,
    /// Whether notes are needed.
    takes_notes: bool,
    notes: Vec<Note>,
    origins: Vec<Origin>,
    by_payload: HashMap<u128, u32>,
    /// The origin of each document.
    origin_of: Vec<Option<u32>>,
    /// The origin of the next document, from a note.
    next: Option<u32>,
    left_out: HashMap<u64, LeftOut>,
    promised: HashSet<u64>,
}

impl WarcOutput {
    /// An empty output. If a directory is given, which must be new or empty, records are written
    /// there.
    pub(in crate::corpus) fn new(
        directory: Option<&Path>,
        store: StoredBodies,
        takes_notes: bool,
        options: &Options,
        sources: &[PathBuf],
    ) -> Result<Self, Error> {
        let archives = directory.map(|directory| begin(directory, store, options, sources));
        let (archive, texts) = archives.transpose()?.unzip();
        Ok(Self {
            archive,
            texts,
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

    /// Applies a note of an earlier run.
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

    /// Counts a document of an earlier run, or one without a record.
    pub(in crate::corpus) fn skip_document(&mut self) {
        self.origin_of.push(self.next.take());
    }

    /// The notes that must be stored before the last document or record.
    pub(in crate::corpus) fn notes(&mut self) -> impl Iterator<Item = Note> {
        self.notes.drain(..)
    }

    /// Writes a record. `page` is given if the record is a page.
    pub(in crate::corpus) fn take(
        &mut self,
        capture: &SourceRecord,
        page: Option<&JudgedPage<'_>>,
    ) -> Result<(), Error> {
        match &capture.kind {
            SourceKind::Response(payload) => self.response(capture, payload.as_ref(), page)?,
            SourceKind::Revisit {
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
            SourceKind::Other => self.as_it_is(capture)?,
        }
        Ok(())
    }

    fn response(
        &mut self,
        capture: &SourceRecord,
        payload: Option<&(u128, String)>,
        page: Option<&JudgedPage<'_>>,
    ) -> Result<(), Error> {
        let own_keys = keys(&capture.id, &capture.url, &capture.date);
        let is_promised = own_keys.iter().any(|key| self.promised.contains(key));
        // A record without a valid date cannot be rewritten.
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
        capture: &SourceRecord,
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
        if is_identical && left_out.is_identical {
            self.write_revisit(capture, left_out.origin)
        } else {
            self.write_metadata(capture, left_out.origin, None)
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

    fn as_it_is(&mut self, capture: &SourceRecord) -> Result<(), Error> {
        match &mut self.archive {
            Some(archive) => archive
                .append_as_it_is(&capture.member)
                .map_err(Error::Archive),
            None => Ok(()),
        }
    }

    fn write_revisit(&mut self, capture: &SourceRecord, origin: u32) -> Result<(), Error> {
        let Some(origin) = self.origins.get(origin as usize) else {
            return Ok(());
        };
        let record = Record::revisit(
            &captured(capture),
            capture.head.clone(),
            &origin.digest,
            &original(origin),
        );
        self.write(capture, record)
    }

    fn write_metadata(
        &mut self,
        capture: &SourceRecord,
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
        if let (Some(text), Some(texts)) = (text, &mut self.texts) {
            let conversion = Record::conversion(&about, Some(id), text);
            texts.append(&[conversion]).map_err(Error::Archive)?;
        }
        self.write(capture, metadata)
    }

    /// Writes a record instead of the captured one.
    fn write(&mut self, capture: &SourceRecord, record: Record) -> Result<(), Error> {
        let record = match RecordId::parse(&capture.id) {
            Some(id) => record.in_place_of(id),
            None => record,
        };
        match &mut self.archive {
            Some(archive) => archive.append(&[record]).map(drop).map_err(Error::Archive),
            None => Ok(()),
        }
    }

    /// Waits until everything written is on disk.
    pub(in crate::corpus) fn finish(&mut self) -> Result<(), Error> {
        for archive in self.archive.iter_mut().chain(&mut self.texts) {
            archive.sync().map_err(Error::Archive)?;
        }
        Ok(())
    }
}

/// Creates the archives of records and of texts, whose warcinfo records say how they were made.
fn begin(
    directory: &Path,
    store: StoredBodies,
    options: &Options,
    sources: &[PathBuf],
) -> Result<(WarcArchive, WarcArchive), Error> {
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
    warc.names = FileNames::plain("deduplicated");
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
    let texts = WarcOptions {
        info: warc.info.clone(),
        ..WarcOptions::texts_of(directory, FileNames::plain("texts"))
    };
    let open = |options| WarcArchive::open(options, Start::Empty).map_err(Error::Archive);
    Ok((open(warc)?.0, open(texts)?.0))
}

fn captured(capture: &SourceRecord) -> archive::Capture<'_> {
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

/// The keys by which a revisit refers to a record: its id, and its URL with its date. Missing
/// values give no key of their own.
fn keys(id: &str, url: &str, date: &str) -> [u64; 2] {
    let by_id = xxh3_64(id.trim_matches(['<', '>']).as_bytes());
    let by_place = if url.is_empty() || date.is_empty() {
        by_id
    } else {
        xxh3_64(format!("{url}\n{date}").as_bytes())
    };
    if id.is_empty() {
        [by_place; 2]
    } else {
        [by_id, by_place]
    }
}
