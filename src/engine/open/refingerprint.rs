//! Recomputes fingerprints from the archive, if a crawl continues with other settings of what they
//! are made of, or with a gleaner that makes them differently. Old and new ones would never match.
//!
//! The row that says what the fingerprints are made of is removed before the first is recomputed,
//! and written when the last is in place. Another row says how far that is, so a run that is
//! stopped or killed in between is continued by the next one with the same settings. A page that
//! cannot be read again, because its record is damaged or in the archive of an earlier crawl, keeps
//! the signatures of its bytes and its visible text, which depend on no setting.

use std::collections::BTreeSet;
use std::path::PathBuf;

use bytes::Bytes;
use serde::{Deserialize, Serialize};

use super::parts::in_parts;
use crate::archive::{self, Limits, Location, ReadRecord, RecordKind, SegmentReader, WarcOptions};
use crate::dedup::{Document, Fingerprints};
use crate::engine::Options;
use crate::engine::error::Error;
use crate::engine::messages::Opening;
use crate::engine::ring::reading::{Answer, Reader};
use crate::rows::PageRecord;
use crate::store::{Batch, Durability, Store, Table, decode, encode, for_each, keys};
use crate::url::{self, Identity};

/// Number of pages that are read and written at a time.
const CHUNK: usize = 512;

/// Number of pages between progress messages.
const OFTEN: u64 = 10_000;

/// Returns `true` if the fingerprints of a crawl are made differently from those of this run.
pub(super) fn is_due(store: &dyn Store, options: &Options) -> Result<bool, Error> {
    let found = store.get(Table::Meta, keys::meta::FEATURES)?;
    Ok(found.unwrap_or_default() != options.features.line().as_bytes())
}

/// How far the fingerprints are recomputed.
#[derive(Debug, Serialize, Deserialize)]
struct Progress {
    /// What they will be made of.
    line: String,
    /// The key of the page to continue with.
    after: Vec<u8>,
}

/// Recomputes fingerprints.
pub(super) struct Refingerprint<'a> {
    store: &'a dyn Store,
    warc: WarcOptions,
    reader: Reader,
    line: String,
    opening: Opening,
    /// Number of pages that are read and written at a time.
    chunk: usize,
}

impl<'a> Refingerprint<'a> {
    /// Reads from an archive.
    pub(super) fn new(
        store: &'a dyn Store,
        warc: WarcOptions,
        identity: &Identity,
        options: &Options,
    ) -> Self {
        Self {
            store,
            warc,
            reader: Reader::new(identity, options),
            line: options.features.line(),
            opening: options.opening.clone(),
            chunk: CHUNK,
        }
    }

    /// Recomputes the fingerprints of all originals. What was in runs and documents is invalid
    /// then. Returns the number of those that this run recomputed.
    ///
    /// # Errors
    ///
    /// [`Error::Stopped`] if the opening is to end; the next run continues.
    pub(super) fn run(&self) -> Result<u64, Error> {
        self.check()?;
        let mut after = self.begin()?;
        let (mut count, mut said) = (0, 0);
        loop {
            self.opening.step()?;
            let rows = self.store.range(Table::Pages, &[], &after, self.chunk)?;
            let Some((last, _)) = rows.last() else { break };
            after = [last, &[0][..]].concat();
            let made = in_parts(&rows, |rows| self.again(rows));
            let made =
                made.map_err(|_| Error::Internal("reading the archive failed".to_owned()))?;
            let mut batch = Batch::new();
            for pages in made {
                for (key, page) in pages? {
                    batch.put(Table::Pages, key, encode(&page));
                    count += 1;
                }
            }
            self.note(&after, &mut batch);
            self.store.commit(batch, Durability::Disk)?;
            if count >= said + OFTEN {
                said = count;
                tracing::info!(pages = count, "fingerprints recomputed");
            }
        }
        tracing::info!(pages = count, "all fingerprints are recomputed");
        Ok(count)
    }

    /// Returns the page to continue with, or to begin with.
    fn begin(&self) -> Result<Vec<u8>, Error> {
        let progress = match self.store.get(Table::Meta, keys::meta::REFINGERPRINT)? {
            Some(row) => Some(decode::<Progress>(Table::Meta, &row)?),
            None => None,
        };
        if let Some(progress) = progress.filter(|it| it.line == self.line) {
            tracing::warn!("recomputing the fingerprints from the archive goes on");
            return Ok(progress.after);
        }
        tracing::warn!(
            "how fingerprints or main texts are made has changed; they are recomputed from the archive"
        );
        let mut batch = Batch::new();
        batch.delete(Table::Meta, keys::meta::FEATURES);
        self.note(&[], &mut batch);
        self.store.commit(batch, Durability::Disk)?;
        Ok(Vec::new())
    }

    fn note(&self, after: &[u8], batch: &mut Batch) {
        let progress = Progress {
            line: self.line.clone(),
            after: after.to_vec(),
        };
        batch.put(Table::Meta, keys::meta::REFINGERPRINT, encode(&progress));
    }

    /// Refuses an archive with a missing file, before anything is changed.
    fn check(&self) -> Result<(), Error> {
        let mut segments = BTreeSet::new();
        for_each(self.store, Table::Pages, &[], &mut |_, row| {
            let page: PageRecord = decode(Table::Pages, row)?;
            let document = page.document.filter(|it| !it.stored.is_elsewhere());
            segments.extend(document.map(|document| document.stored.segment));
            Ok(())
        })?;
        let mut files = segments.into_iter().map(|segment| self.file(segment));
        match files.find(|file| archive::present(file).is_none()) {
            Some(file) => Err(Error::Refingerprint { file }),
            None => Ok(()),
        }
    }

    fn file(&self, segment: u32) -> PathBuf {
        self.warc.segment_path(segment)
    }

    /// Returns the rows that change.
    fn again(&self, rows: &[(Vec<u8>, Vec<u8>)]) -> Result<Vec<(Vec<u8>, PageRecord)>, Error> {
        let mut changed = Vec::new();
        for (key, row) in rows {
            let mut page: PageRecord = decode(Table::Pages, row)?;
            let Some(document) = &page.document else {
                continue;
            };
            if document.fingerprints == Fingerprints::default() {
                continue;
            }
            let fingerprints = match self.sign(&page, document) {
                Ok(fingerprints) => fingerprints,
                Err(error @ archive::Error::Io { .. }) => return Err(error.into()),
                Err(error) => {
                    tracing::warn!(url = page.url, %error, "cannot read this page from the archive");
                    document.fingerprints.of_bytes_and_text()
                }
            };
            if let Some(document) = &mut page.document {
                document.fingerprints = fingerprints;
            }
            changed.push((key.clone(), page));
        }
        Ok(changed)
    }

    /// Signs a page as it is stored.
    fn sign(&self, page: &PageRecord, document: &Document) -> Result<Fingerprints, archive::Error> {
        let stored = &document.stored;
        if stored.is_elsewhere() {
            return Ok(document.fingerprints.of_bytes_and_text());
        }
        let response = self.record(&stored.into())?;
        // The bytes may be those of another page, but the headers that say how to read them are its
        // own.
        let revisit = match &page.record {
            Some((RecordKind::Revisit, location)) => Some(self.record(location)?),
            _ => None,
        };
        let (Some((head, payload)), Ok(url)) = (response.http_parts(), url::parse(&page.url))
        else {
            return Ok(document.fingerprints.of_bytes_and_text());
        };
        let own = revisit.as_ref().and_then(ReadRecord::http_parts);
        let answer = Answer {
            headers: &headers(own.map_or(head, |(head, _)| head)),
            body: &Bytes::copy_from_slice(payload),
            sha256: None,
            is_cut: false,
        };
        let (_, signed) = self
            .reader
            .read(&answer, &url, |_, _| true, &mut Vec::new());
        // Narrower bounds than before may cut it: then it is no original.
        Ok(signed.fingerprints.unwrap_or_default())
    }

    fn record(&self, location: &Location) -> Result<ReadRecord, archive::Error> {
        let path = self.file(location.segment);
        let mut records = SegmentReader::open_at(&path, location.offset, Limits::default())?;
        records.next().unwrap_or(Err(archive::Error::Torn {
            path,
            offset: location.offset,
        }))
    }
}

/// Returns the header fields of a stored head, with names in lower case.
fn headers(head: &[u8]) -> Vec<(String, Vec<u8>)> {
    let lines = head.split(|byte| *byte == b'\n').skip(1);
    lines
        .filter_map(|line| {
            let at = line.iter().position(|byte| *byte == b':')?;
            let (name, value) = line.split_at(at);
            let name = String::from_utf8_lossy(name).trim().to_ascii_lowercase();
            Some((name, value.get(1..)?.trim_ascii().to_vec()))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dedup::Features;
    use crate::engine::messages::StopHandle;
    use crate::engine::testing::{World, html, words};
    use crate::rows::ArchiveNames;

    /// Each run is stopped after one part, or killed there.
    #[test]
    fn what_is_stopped_goes_on_where_it_was() {
        let mut world = World::new();
        for page in 0..9 {
            let url = format!("http://a.example/{page}");
            world.visit(&url, &html("", &words(page)));
        }
        let identity = world.committer().gate.identity.clone();
        let names = ArchiveNames::read(&*world.store()).unwrap();
        let warc = WarcOptions::pages_of(&world.place.path().join("data"), names.pages);
        let (store, mut options) = (world.store(), world.options.clone());
        options.features = Features {
            seed: 7,
            ..options.features
        };
        let stop = StopHandle::new();
        stop.stop();
        let stopped = |options: &Options| {
            let mut run = Refingerprint::new(&*store, warc.clone(), &identity, options);
            run.chunk = 2;
            run
        };
        let mut parts = 0;
        let mut made = 0;
        loop {
            let run = stopped(&options);
            // The step before a part is the one that stops it: this one is let through.
            let before = run.begin().unwrap();
            let rows = run
                .store
                .range(Table::Pages, &[], &before, run.chunk)
                .unwrap();
            let Some((last, _)) = rows.last() else { break };
            let after = [last, &[0][..]].concat();
            let mut batch = Batch::new();
            for (key, page) in run.again(&rows).unwrap() {
                batch.put(Table::Pages, key, encode(&page));
                made += 1;
            }
            run.note(&after, &mut batch);
            run.store.commit(batch, Durability::Disk).unwrap();
            parts += 1;
        }
        assert_eq!((parts, made), (5, 9));
        // Nothing is left to do, and a run that is to stop says so.
        assert_eq!(stopped(&options).run().unwrap(), 0);
        options.opening = Opening::new(stop);
        assert!(matches!(stopped(&options).run(), Err(Error::Stopped(_))));
        // Other settings begin anew.
        options.features.seed = 8;
        options.opening = Opening::default();
        assert_eq!(stopped(&options).run().unwrap(), 9);
        assert_eq!(options.opening.steps(), 6);
    }

    #[test]
    fn a_stored_head_is_read_as_it_was_received() {
        let head = b"HTTP/1.1 200 OK\r\nContent-Type:  text/html; charset=latin1 \r\nX: \xff\r\nnone\r\n\r\n";
        let expected = [
            ("content-type", &b"text/html; charset=latin1"[..]),
            ("x", b"\xff"),
        ];
        let expected = expected.map(|(name, value)| (name.to_owned(), value.to_vec()));
        assert_eq!(headers(head), expected);
    }
}
