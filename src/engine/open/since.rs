//! Takes in what earlier crawls of the same sites hold (`archive.since`): of each URL where its
//! response is, and by what it is asked for again.
//!
//! The files of their archives are read, and nothing else: so it works beside a process that crawls
//! there, and for WARC files of any crawler. It goes through the commit like everything else; each
//! commit records how far a file was read, so one that was killed goes on there, and what is
//! written later is read at the next start.

use std::collections::BTreeSet;
use std::io;
use std::path::Path;

use sha2::{Digest as _, Sha256};

use super::earlier::archives_of;
use super::records::{date, is_verdict, mark, next_chunk, read_all, target};
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
use crate::url::{Identity, UrlId};

/// Number of records that are read at once and share a commit.
const CHUNK_RECORDS: usize = 2_048;

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
            let chunk = next_chunk(&mut records, CHUNK_RECORDS, |_| damaged += 1)?;
            let Some(last) = chunk.last() else { break };
            file.through = last.offset + last.length;
            let number = file.number;
            let captures = read_all(&chunk, |record| capture(record, number, &identity))?;
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
    let at = |path: &Path| archive::present(path).unwrap_or_else(|| path.to_owned());
    let (one, other) = (mark(&at(one))?, mark(&at(other))?);
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

/// Returns the answer that a record is about; `None` for other records, and answers that say
/// nothing of the page as it is.
fn capture(record: &ReadRecord, file: u32, identity: &Identity) -> Option<EarlierCapture> {
    let kind = record.header("WARC-Type")?;
    let (id, url) = named(record, "WARC-Target-URI", identity)?;
    let started = date(record, "WARC-Date")?;
    let seen = started.as_microsecond();
    let of = |validators, held| EarlierCapture {
        id,
        url: url.clone(),
        seen,
        validators,
        held,
    };
    if kind == "metadata" {
        return is_verdict(record).then(|| of(None, Held::Nowhere));
    }
    if !matches!(kind, "response" | "revisit") {
        return None;
    }
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
                url: named(record, "WARC-Refers-To-Target-URI", identity)
                    .unwrap_or_else(|| (id, url.clone())),
                date: date(record, "WARC-Refers-To-Date")
                    .map_or(0, jiff::Timestamp::as_microsecond),
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
fn named(record: &ReadRecord, field: &str, identity: &Identity) -> Option<(UrlId, String)> {
    let url = target(record, field)?;
    Some((identity.as_written(&url), url.into()))
}
