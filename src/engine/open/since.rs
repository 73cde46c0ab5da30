//! Takes in what earlier crawls of the same sites hold (`archive.since`): of each URL where its
//! response is, and by what it is asked for again.
//!
//! The files of their archives are read, and nothing else: so it works beside a process that crawls
//! there, and for WARC files of any crawler. It goes through the commit like everything else; each
//! commit records how far a file was read, so one that was killed goes on there, and what is
//! written later is read at the next start.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{self, Read as _};
use std::path::Path;

use jiff::Timestamp;
use sha2::{Digest as _, Sha256};

use super::earlier::archives_of;
use super::parts::in_parts;
use crate::archive::{self, Limits, ReadRecord, RecordId, RecordStream, whole_name};
use crate::engine::clock::Clock;
use crate::engine::crawl::Crawl;
use crate::engine::error::Error;
use crate::engine::messages::StopHandle;
use crate::engine::visit::{EarlierCapture, EarlierPart, Entry, Held};
use crate::fetch::Exchange;
use crate::frontier::Validators;
use crate::rows::{EarlierFile, EarlierPage};
use crate::store::{Store, Table, for_each, keys};
use crate::url::{self, Identity};

/// Number of records, and bytes of their blocks, that are read at once and share a commit.
const CHUNK_RECORDS: usize = 2_048;
const CHUNK_BYTES: usize = 32 << 20;

/// Number of bytes by which two files of one name are told apart.
const MARK_BYTES: u64 = 64 << 10;

impl Crawl {
    /// Takes in what the earlier crawls of `archive.since` hold, until asked to stop. Returns the
    /// number of URLs of which they hold a response, and that of those of which they have answers,
    /// but no body that could be referred to, as far as this was not read before.
    ///
    /// # Errors
    ///
    /// [`Error::Since`] if one of them is not there, or two have different files of one name.
    pub fn look_back(&mut self, stop: &StopHandle) -> Result<(u64, u64), Error> {
        let data = self.directory.path().to_owned();
        let archives = archives_of(&self.options.archive.since, &data)?;
        let (mut held, mut unheld) = (0, 0);
        for archive in &archives {
            for file in archive::files_of(archive).map_err(io_at(archive))?.paths {
                let file = whole_name(&file);
                let found = self.read_earlier(archive, &file, stop)?;
                held += found.0;
                unheld += found.1;
                if stop.is_stopped() {
                    return Ok((held, unheld));
                }
            }
        }
        Ok((held, unheld))
    }

    fn read_earlier(
        &mut self,
        archive: &Path,
        path: &Path,
        stop: &StopHandle,
    ) -> Result<(u64, u64), Error> {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let mut file = self.earlier_file(archive, path, &name)?;
        let known = EarlierFile::read(&*self.committer.store, &name)?;
        if known.is_some_and(|known| known != file) {
            // It was moved, and may have nothing new.
            self.commit_earlier(&name, &file, Vec::new())?;
        }
        let now = archive::present(path).unwrap_or_else(|| path.to_owned());
        let mut records = RecordStream::open_at(&now, file.through, Limits::default())?;
        let identity = self.committer.gate.identity.clone();
        let (mut held, mut unheld, mut damaged) = (BTreeSet::new(), BTreeSet::new(), 0_u64);
        loop {
            let chunk = next_chunk(&mut records, &mut damaged)?;
            let Some(last) = chunk.last() else { break };
            file.through = last.offset + last.length;
            let number = file.number;
            let read = in_parts(&chunk, |part: &[ReadRecord]| -> Vec<EarlierCapture> {
                let captures = part.iter();
                captures
                    .filter_map(|record| capture(record, number, &identity))
                    .collect()
            });
            let read =
                read.map_err(|_| Error::Internal("reading a WARC file failed".to_owned()))?;
            let captures: Vec<EarlierCapture> = read.into_iter().flatten().collect();
            for capture in &captures {
                match capture.held {
                    Held::Nowhere => unheld.insert(capture.id.key()),
                    _ => held.insert(capture.id.key()),
                };
            }
            self.commit_earlier(&name, &file, captures)?;
            if stop.is_stopped() {
                break;
            }
        }
        if damaged > 0 {
            tracing::warn!(file = %now.display(), places = damaged, "some records of an earlier crawl cannot be read: their pages are fetched whole");
        }
        let only_unheld = unheld.difference(&held).count() as u64;
        Ok((held.len() as u64, only_unheld))
    }

    fn commit_earlier(
        &mut self,
        name: &str,
        file: &EarlierFile,
        captures: Vec<EarlierCapture>,
    ) -> Result<(), Error> {
        let part = EarlierPart {
            name: name.to_owned(),
            file: file.clone(),
            captures,
        };
        let now = Clock::start().now();
        self.committer.commit(vec![Entry::Earlier(part)], now)?;
        self.committer.checkpoint_if_due()
    }

    /// Returns how far a file was read. One that was moved is the same; another of its name is
    /// refused, because readers find files by their names.
    fn earlier_file(&self, archive: &Path, path: &Path, name: &str) -> Result<EarlierFile, Error> {
        let store = &*self.committer.store;
        let refuse = |other: &Path| Error::Since {
            directory: archive.to_owned(),
            reason: format!(
                "its file {name} has the name of another file, {}; rename one of them, or leave one of the crawls out",
                other.display()
            ),
        };
        let own = self.directory.path().join("warc").join(name);
        if own.exists() {
            return Err(refuse(&own));
        }
        let Some(known) = EarlierFile::read(store, name)? else {
            return Ok(EarlierFile::new(next_number(store)?, path));
        };
        let before = known.path();
        if before == path {
            return Ok(known);
        }
        if archive::present(&before).is_some() && !is_same(&before, path).map_err(io_at(path))? {
            return Err(refuse(&before));
        }
        let mut moved = EarlierFile::new(known.number, path);
        moved.through = known.through;
        Ok(moved)
    }
}

/// Returns the number of the next file of earlier crawls.
fn next_number(store: &dyn Store) -> Result<u32, Error> {
    let mut next = 0;
    for_each(
        store,
        Table::Meta,
        keys::meta::EARLIER_NAME,
        &mut |key, _| {
            let number = key.last_chunk().map(|number| u32::from_be_bytes(*number));
            next = next.max(number.unwrap_or_default() + 1);
            Ok(())
        },
    )?;
    Ok(next)
}

/// Tells whether two files begin alike: with the id of their first record, which no others have.
fn is_same(one: &Path, other: &Path) -> io::Result<bool> {
    let mark = |path: &Path| -> io::Result<Vec<u8>> {
        let path = archive::present(path).unwrap_or_else(|| path.to_owned());
        let mut mark = Vec::new();
        File::open(path)?.take(MARK_BYTES).read_to_end(&mut mark)?;
        Ok(mark)
    };
    let (one, other) = (mark(one)?, mark(other)?);
    let both = one.len().min(other.len());
    Ok(both > 0 && one.get(..both) == other.get(..both))
}

fn io_at(path: &Path) -> impl FnOnce(io::Error) -> Error {
    let path = path.to_owned();
    |source| {
        Error::Archive(archive::Error::Io {
            action: "read",
            path,
            source,
        })
    }
}

/// Reads the next records; none at the end.
fn next_chunk(
    records: &mut RecordStream,
    damaged: &mut u64,
) -> Result<Vec<ReadRecord>, archive::Error> {
    let mut chunk: Vec<ReadRecord> = Vec::new();
    let mut bytes = 0;
    while chunk.len() < CHUNK_RECORDS && bytes < CHUNK_BYTES {
        match records.next() {
            Some(Ok(record)) => {
                bytes += record.block.len();
                chunk.push(record);
            }
            Some(Err(error @ archive::Error::Io { .. })) => return Err(error),
            Some(Err(_)) => *damaged += 1,
            None => break,
        }
    }
    Ok(chunk)
}

/// Returns the answer that a record is about; `None` for other records, and answers that say
/// nothing of the page as it is.
fn capture(record: &ReadRecord, file: u32, identity: &Identity) -> Option<EarlierCapture> {
    let kind = record.header("WARC-Type")?;
    let (id, url) = target(record, "WARC-Target-URI", identity)?;
    let seen = date(record, "WARC-Date")?;
    let of = |validators, held| EarlierCapture {
        id,
        url: url.clone(),
        seen,
        validators,
        held,
    };
    if kind == "metadata" {
        let mut lines = record.block.split(|byte| *byte == b'\n');
        let is_verdict = lines.any(|line| line.starts_with(b"verdict:"));
        return is_verdict.then(|| of(None, Held::Nowhere));
    }
    if !matches!(kind, "response" | "revisit") {
        return None;
    }
    let started = Timestamp::from_microsecond(seen).ok()?;
    let answer = record
        .http_parts()
        .and_then(|(head, payload)| Exchange::from_archive(head, payload, started, None));
    let validators = answer.as_ref().and_then(validators_of);
    if kind == "revisit" {
        // What one without a head refers to has a status.
        let is_success = |answer: &Exchange| matches!(answer.status, 200 | 304);
        if !answer.as_ref().map_or(record.block.is_empty(), is_success) {
            return None;
        }
        let original = record.header("WARC-Refers-To").and_then(RecordId::parse);
        return Some(of(
            validators,
            Held::ReferredTo {
                record: original.map_or([0; 16], |id| *id.as_bytes()),
                url: target(record, "WARC-Refers-To-Target-URI", identity)
                    .unwrap_or_else(|| (id, url.clone())),
                date: date(record, "WARC-Refers-To-Date").unwrap_or_default(),
            },
        ));
    }
    let exchange = answer?;
    // A part of a page, or nothing, is nothing to be referred to.
    if exchange.status != 200
        || exchange.body.is_empty()
        || record.header("WARC-Truncated").is_some()
    {
        return None;
    }
    let is_alone = record.length > 0 && record.header("WARC-Segment-Number").is_none();
    let own = record.header("WARC-Record-ID").and_then(RecordId::parse);
    let held = EarlierPage {
        file,
        offset: record.offset,
        length: record.length,
        record: own.map_or([0; 16], |id| *id.as_bytes()),
        url: None,
        date: seen,
        payload: Sha256::digest(&exchange.body).into(),
        form: exchange.replay_form(),
        validators: validators.clone(),
        seen,
        confirmed: None,
    };
    Some(match is_alone {
        true => of(validators, Held::Here(held)),
        false => of(None, Held::Nowhere),
    })
}

/// Returns what the head of an answer has to be asked for by.
fn validators_of(answer: &Exchange) -> Option<Validators> {
    let sent = answer.conditions();
    let validators = Validators {
        etag: sent.etag.map(str::to_owned),
        last_modified: sent.last_modified.map(str::to_owned),
    };
    let has_any = validators.etag.is_some() || validators.last_modified.is_some();
    has_any.then_some(validators)
}

/// Returns the id and the text of a URL that a record names, as it is written, if it can be
/// crawled.
fn target(record: &ReadRecord, field: &str, identity: &Identity) -> Option<(url::UrlId, String)> {
    let uri = record.header(field)?.trim_matches(['<', '>']);
    let url = url::parse(uri).ok()?;
    let is_web = matches!(url.scheme(), "http" | "https");
    is_web.then(|| (identity.as_written(&url), url.into()))
}

fn date(record: &ReadRecord, field: &str) -> Option<i64> {
    let date: Timestamp = record.header(field)?.parse().ok()?;
    Some(date.as_microsecond())
}
