//! Import of what earlier crawls know: the URLs in their WARC files are not fetched again, and new
//! pages are compared with their pages.
//!
//! The import goes through the commit like everything else. A file is read record by record; each
//! commit records how far, so an import that was killed resumes there, and one that is done does
//! not start again. A URL that is known already, from any source, is skipped.

use std::fs::File;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use sha2::{Digest as _, Sha256};
use xxhash_rust::xxh3::xxh3_128;

use super::records::{date, is_verdict, mark, next_chunk, read_all, target};
use crate::archive::{self, Limits, ReadRecord, RecordId, RecordStream};
use crate::engine::admission::is_without_page;
use crate::engine::clock::Clock;
use crate::engine::crawl::Crawl;
use crate::engine::error::Error;
use crate::engine::messages::StopHandle;
use crate::engine::ring::analysts::Analysts;
use crate::engine::ring::reading::Reader;
use crate::engine::visit::{Entry, Findings, KnownBody, KnownPage, KnownPages};
use crate::fetch::{Cut, Exchange};
use crate::store::{Table, decode, keys};
use crate::url;

/// Number of records that are processed at once and share a commit.
const CHUNK_RECORDS: usize = 256;

/// Number of damaged records that are named.
const TOLD: u64 = 10;

/// Returns the WARC files that a path names, sorted by name: a file itself, those in `warc` of a
/// data directory, or those in any other directory.
pub fn known_files(path: &Path) -> io::Result<Vec<PathBuf>> {
    if !path.is_dir() {
        return File::open(path).map(|_| vec![path.to_owned()]);
    }
    let archive = path.join("warc");
    let directory = if archive.is_dir() { &archive } else { path };
    let files = archive::files_of(directory)?;
    if files.paths.is_empty() {
        return Err(io::Error::other("there is no WARC file in it"));
    }
    if files.missing > 0 {
        let (missing, directory) = (files.missing, directory.display());
        tracing::warn!(
            missing,
            "files of {directory} are nowhere: what is in them is not known"
        );
    }
    Ok(files.paths)
}

impl Crawl {
    /// Imports what a WARC file of an earlier crawl knows, until asked to stop. A record that
    /// cannot be read, such as the last of a running crawl, is left out.
    pub fn know(&mut self, file: &Path, stop: &StopHandle) -> Result<(), Error> {
        let progress = progress_key(file)?;
        let store = &self.committer.store;
        let from: u64 = match store.get(Table::Meta, &progress)? {
            Some(row) => decode(Table::Meta, &row)?,
            None => 0,
        };
        let analysts = Analysts::new(
            Reader::new(&self.committer.gate.identity, &self.options),
            Arc::clone(&self.committer.gate.policies),
        );
        let name = file.file_name().unwrap_or_default().to_string_lossy();
        let mut records = RecordStream::open_at(file, from, Limits::default())?;
        let mut through = from;
        let mut damages = Damages::default();
        loop {
            let chunk = next_chunk(&mut records, CHUNK_RECORDS, |error| damages.add(error))?;
            if chunk.is_empty() {
                return damages.end(file);
            }
            // Where members hold several records, the file is read again from its beginning if it
            // is not read to its end, and nothing in it is new.
            let last = chunk.iter().rev().find(|it| it.length > 0);
            through = last.map_or(through, |it| it.offset + it.length);
            damages.is_archive = true;
            let mut new = Vec::new();
            for record in chunk {
                if self.is_new(&record, &analysts)? {
                    new.push(record);
                }
            }
            let known = KnownPages {
                archive: name.clone().into_owned(),
                pages: read_all(&new, |record| page(record, &analysts))?,
                progress: progress.clone(),
                through,
            };
            let now = Clock::start().now();
            self.committer.commit(vec![Entry::Known(known)], now)?;
            self.committer.checkpoint_if_due()?;
            if stop.is_stopped() {
                return Ok(());
            }
        }
    }

    /// Returns `true` if a record's URL is not known, or only by answers without a page; others
    /// need not be parsed.
    fn is_new(&mut self, record: &ReadRecord, analysts: &Analysts) -> Result<bool, Error> {
        let Some(url) = target(record, "WARC-Target-URI") else {
            return Ok(false);
        };
        let id = analysts.reader.identity.id(&url);
        if !self.committer.lookups.is_seen(id) {
            return Ok(true);
        }
        let is_response = record.header("WARC-Type") == Some("response");
        Ok(is_response && is_without_page(&*self.committer.store, id)?)
    }
}

/// Returns the key of the row that records how far a file was read.
fn progress_key(file: &Path) -> Result<Vec<u8>, archive::Error> {
    let mark = mark(file).map_err(|source| archive::Error::Io {
        action: "read",
        path: file.to_owned(),
        source,
    })?;
    let mark = hex::encode(xxh3_128(&mark).to_be_bytes());
    Ok([keys::meta::KNOWN, mark.as_bytes()].concat())
}

/// The records of a file that cannot be read.
#[derive(Debug, Default)]
struct Damages {
    count: u64,
    first: Option<archive::Error>,
    /// Set once a record was read.
    is_archive: bool,
}

impl Damages {
    fn add(&mut self, error: archive::Error) {
        self.count += 1;
        if self.count <= TOLD && (self.is_archive || self.count > 1) {
            tracing::warn!(%error, "left out of what is known");
        }
        self.first.get_or_insert(error);
    }

    /// Says how many there were. A file without a record that can be read is none.
    fn end(self, file: &Path) -> Result<(), Error> {
        match self.first {
            Some(error) if !self.is_archive => Err(error.into()),
            Some(error) => {
                let (file, places) = (file.display(), self.count);
                tracing::warn!(%file, places, first = %error, "some records of a known file cannot be read");
                Ok(())
            }
            None => Ok(()),
        }
    }
}

/// Returns what a record says about its URL, or `None` if that has to be fetched again.
fn page(record: &ReadRecord, analysts: &Analysts) -> Option<KnownPage> {
    let url = target(record, "WARC-Target-URI")?;
    let date = date(record, "WARC-Date")?;
    let mut known = KnownPage {
        id: analysts.reader.identity.id(&url),
        url: url.to_string(),
        time: date.as_microsecond(),
        status: 0,
        mime: None,
        body: None,
    };
    let kind = record.header("WARC-Type")?;
    if !is_verdict(record) && !matches!(kind, "response" | "revisit") {
        return None;
    }
    let exchange = record.http_parts().and_then(|(head, payload)| {
        let cut = record.header("WARC-Truncated").map(|reason| match reason {
            "length" => Cut::Length,
            "time" => Cut::Time,
            _ => Cut::Disconnect,
        });
        Exchange::from_archive(head, payload, date, cut)
    });
    if let Some(exchange) = &exchange {
        // The server may say something else next time; a revisit record is always marked as
        // truncated.
        let is_broken = kind == "response" && exchange.cut == Some(Cut::Disconnect);
        if exchange.status >= 500 || exchange.asks_for_time() || is_broken {
            return None;
        }
        // It leads to another form of the same URL, and what that form gave follows.
        let target = exchange.header("location");
        let target = target.and_then(|target| url::join(&url, target).ok());
        if matches!(exchange.status, 300..400)
            && target.is_some_and(|target| analysts.reader.identity.id(&target) == known.id)
        {
            return None;
        }
        known.status = exchange.status;
        known.mime = exchange.mime();
    }
    if let (Some(exchange), "response") = (exchange, kind) {
        let id = record.header("WARC-Record-ID").and_then(RecordId::parse);
        let read = catch_unwind(AssertUnwindSafe(|| {
            analysts.read_page((&exchange, None), &url, false, &mut Vec::new())
        }));
        let is_refusal = matches!(&read, Ok((Findings::Page(page), _)) if page.refusal.is_some());
        known.body = Some(KnownBody {
            record: id.map_or([0; 16], |id| *id.as_bytes()),
            payload: Sha256::digest(&exchange.body).into(),
            fingerprints: read.ok().and_then(|(_, signed)| signed.fingerprints.ok()),
            is_refusal,
        });
    }
    Some(known)
}
