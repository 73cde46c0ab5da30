//! Turns verdicts back into stored responses, on a user's request: a duplicate becomes a page of
//! its own, with the body that was kept of it.
//!
//! The response has the date of the visit and its head. A body that came with a content coding is
//! stored without it; the head then says so, because a reader would undo the coding again. Each
//! group of pages is one commit, so a kill leaves a page restored or not.

use std::collections::BTreeMap;
use std::path::Path;

use bytes::Bytes;
use jiff::Timestamp;
use serde::Serialize;

use super::kept::body_place;
use super::membership::file;
use crate::archive::{Capture, Digest, Record, RecordKind};
use crate::dedup::{Document, Fingerprints, Stored, Tier};
use crate::engine::clock::Clock;
use crate::engine::commit::{Committer, Group, Places, TextPlace, VisitEffects, payload_type};
use crate::engine::error::Error;
use crate::engine::open::{self, DataDirectory};
use crate::engine::options::Options;
use crate::engine::ring::reading::{Answer, Reader};
use crate::fetch::Exchange;
use crate::journal::{Bodies, Content, Digests, LogLine, PageLine};
use crate::rows::{Fate, Judgement, PAGES, PageRecord, VisitVerdict};
use crate::store::Table;
use crate::url::{self, HostKey, HostPattern, Url, UrlId};

/// Number of rows read at a time.
const ROWS: usize = 2_000;

/// Number of pages per commit.
const PAGES_PER_COMMIT: usize = 16;

/// Number of pages that could not be restored, and are named.
const NAMED: usize = 10;

/// What is restored.
#[derive(Debug, Clone)]
pub struct RestoreFilter {
    /// Duplicates of these tiers.
    pub tiers: Vec<Tier>,
    /// Restricts it to these hosts.
    pub host: Option<HostPattern>,
    /// Restricts it to these URLs, if there are any.
    pub urls: Vec<Url>,
    /// Counts only.
    pub dry_run: bool,
}

/// What was restored, or would be.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Restored {
    /// Number of pages, by tier.
    pub pages: BTreeMap<&'static str, u64>,
    /// Bytes of their bodies.
    pub bytes: u64,
    /// Number of duplicates of which no body was kept.
    pub not_kept: u64,
    /// Number of pages whose bodies could not be read.
    pub failed: u64,
    /// Number of URLs that were named and are not to be restored.
    pub refused: u64,
    /// The first of both, with the reason for each.
    pub failures: Vec<String>,
}

/// A page that can be restored.
struct Found {
    id: UrlId,
    page: PageRecord,
    url: Url,
    tier: Tier,
    content: Content,
}

/// Turns duplicates into pages of their own. No crawl may be running.
pub fn restore(path: &Path, options: &Options, filter: &RestoreFilter) -> Result<Restored, Error> {
    let directory = DataDirectory::take_existing(path)?;
    let mut committer = open::open(&directory, options)?;
    let options = &Options {
        features: committer.lookups.index.features().clone(),
        ..options.clone()
    };
    let reader = Reader::new(&committer.gate.identity, options);
    let bodies = Bodies::of(path);
    let clock = Clock::start();
    let mut done = Restored::default();
    let identity = committer.gate.identity.clone();
    let mut named: BTreeMap<UrlId, &Url> = BTreeMap::new();
    named.extend(filter.urls.iter().map(|url| (identity.id(url), url)));
    let mut from = Vec::new();
    loop {
        let rows = committer.store.range(Table::Pages, &[], &from, ROWS)?;
        let mut group = Vec::new();
        for (key, row) in &rows {
            let Ok(id) = key.as_slice().try_into() else {
                continue;
            };
            let page = PAGES.decode(row)?;
            let id = UrlId::from_bytes(id);
            if !filter.urls.is_empty() && !named.contains_key(&id) {
                continue;
            }
            let Some(meant) = meant(filter, &page) else {
                continue;
            };
            named.remove(&id);
            let is_dry_run = filter.dry_run;
            let found = find(
                &committer,
                &bodies,
                (id, page),
                meant,
                is_dry_run,
                &mut done,
            )?;
            group.extend(found);
            if group.len() == PAGES_PER_COMMIT {
                commit(&mut committer, &reader, std::mem::take(&mut group), clock)?;
            }
        }
        commit(&mut committer, &reader, group, clock)?;
        match rows.last() {
            Some((last, _)) if rows.len() == ROWS => from = [&last[..], &[0]].concat(),
            _ => break,
        }
    }
    for url in named.into_values() {
        done.refused += 1;
        let page = PAGES.get(&*committer.store, identity.id(url).as_bytes())?;
        let reason = match page.as_ref().map(PageRecord::duplicate) {
            None => "the crawl has not visited it",
            Some(None) => "it is no duplicate",
            Some(Some(it)) if it.tier == Tier::Raw => "it has the bytes of its original",
            Some(Some(_)) => "it is a duplicate of another tier, or elsewhere",
        };
        done.failures.push(format!("{url}: {reason}"));
    }
    committer.pack(clock.now())?;
    committer.close_files()?;
    committer.checkpoint()?;
    Ok(done)
}

/// Returns tier and URL of a page that is to be restored; `None` of others.
fn meant(filter: &RestoreFilter, page: &PageRecord) -> Option<(Tier, Url)> {
    let tier = page.duplicate()?.tier;
    let url = url::parse(&page.url).ok()?;
    let is_meant = |pattern: &HostPattern| pattern.matches(&HostKey::of(&url));
    let is_one = filter.tiers.contains(&tier) && filter.host.as_ref().is_none_or(is_meant);
    is_one.then_some((tier, url))
}

/// Reads the body of a page that is to be restored, and counts it.
fn find(
    committer: &Committer,
    bodies: &Bodies,
    (id, page): (UrlId, PageRecord),
    (tier, url): (Tier, Url),
    is_dry_run: bool,
    done: &mut Restored,
) -> Result<Option<Found>, Error> {
    let Some(place) = body_place(&*committer.store, id, &page)? else {
        done.not_kept += 1;
        return Ok(None);
    };
    let content = match bodies.read(&place) {
        Ok(content) => content,
        Err(error) => {
            done.failed += 1;
            if done.failures.len() < NAMED {
                let mut reason = format!("{}: {error}", page.url);
                let mut cause = std::error::Error::source(&error);
                while let Some(error) = cause {
                    reason = format!("{reason}: {error}");
                    cause = error.source();
                }
                done.failures.push(reason);
            }
            return Ok(None);
        }
    };
    *done.pages.entry(tier.name()).or_default() += 1;
    done.bytes += content.body().len() as u64;
    Ok((!is_dry_run).then_some(Found {
        id,
        page,
        url,
        tier,
        content,
    }))
}

fn commit(
    committer: &mut Committer,
    reader: &Reader,
    group: Vec<Found>,
    clock: Clock,
) -> Result<(), Error> {
    if group.is_empty() {
        return Ok(());
    }
    let set = committer.collect(clock.now(), |judge, changes| {
        for found in group {
            let identity = &judge.gate.identity;
            let (record, effects) = restored(&found, reader, changes);
            let host = HostKey::of(&found.url);
            let previous = Some(&found.page);
            let set = &mut changes.set;
            file((found.id, &host), previous, &record.page, identity, set)?;
            set.put_page(found.id, record.page, Some(record.document));
            set.unkept.push(found.id);
            set.visits.push(effects);
        }
        Ok(())
    })?;
    committer.write(set)?;
    committer.checkpoint_if_due()
}

/// A page's record as it will be, and the number of its document.
struct NewRecord {
    page: PageRecord,
    document: u64,
}

/// Adds a page's response and document, and returns its record and the effects of a visit.
fn restored(found: &Found, reader: &Reader, group: &mut Group<'_>) -> (NewRecord, VisitEffects) {
    let mut page = found.page.clone();
    let date = Timestamp::from_microsecond(page.time).unwrap_or_default();
    let body = Bytes::copy_from_slice(found.content.body());
    let head = stored_head(&found.content);
    let capture = Capture {
        target: &page.url,
        date,
        ip: None,
        protocols: &[],
    };
    let digest = Digest::of(&body);
    let exchange = Exchange::from_archive(&head, &body, date, None);
    let record = Record::response(&capture, head.clone(), body.clone(), digest, None)
        .identified_as(exchange.as_ref().and_then(payload_type));
    let headers = exchange
        .map(|exchange| exchange.headers)
        .unwrap_or_default();
    let answer = Answer {
        headers: &headers,
        body: &body,
        sha256: None,
        is_cut: false,
    };
    let (_, signed) = reader.read(&answer, &found.url, |_, _| true, &mut Vec::new());
    // Narrower bounds than at its visit may cut it: then it is no original for others.
    let fingerprints = signed.fingerprints.unwrap_or_default();
    let line = line(&page, date, &fingerprints, signed.simhash);
    let stored = Stored {
        record: *record.id().as_bytes(),
        ..Stored::default()
    };
    let document = group.add_document(Document {
        id: 0,
        url_id: found.id,
        url: page.url.clone(),
        fetched: page.time,
        stored,
        stored_for: None,
        payload: *digest.as_bytes(),
        fingerprints: fingerprints.clone(),
    });
    group.set.records.push(record);
    let verdicts = &mut group.set.state.counters.verdicts;
    verdicts.take_back(found.tier.name());
    verdicts.add(&VisitVerdict::Unique);
    if let Fate::Answered { judgement, .. } = &mut page.fate {
        *judgement = Judgement::Unique;
    }
    // Its place is filled in when it is known.
    page.record = None;
    page.document = None;
    let effects = VisitEffects {
        page: Some(found.id),
        records: 1,
        places: Places {
            main: Some((RecordKind::Response, 0)),
            text: Some(TextPlace::Own(RecordKind::Response, 0)),
        },
        line: Some(line.0),
        page_line: Some(line.1),
        via: page.via,
        ..VisitEffects::default()
    };
    (NewRecord { page, document }, effects)
}

/// Returns the head of a response whose content coding was undone: it names the coding under
/// another name, and the length of the body as it is.
pub(crate) fn stored_head(content: &Content) -> Vec<u8> {
    let is_coded = content.is_coded() || content.header("content-encoding").is_none();
    if is_coded {
        return content.head().to_vec();
    }
    let mut head = Vec::with_capacity(content.head().len() + 32);
    for line in content.head().split_inclusive(|byte| *byte == b'\n') {
        let name = line.split(|byte| *byte == b':').next().unwrap_or_default();
        if name.eq_ignore_ascii_case(b"content-length") {
            let length = content.body().len();
            head.extend_from_slice(format!("content-length: {length}\r\n").as_bytes());
        } else {
            if name.eq_ignore_ascii_case(b"content-encoding") {
                head.extend_from_slice(b"x-archive-orig-");
            }
            head.extend_from_slice(line);
        }
    }
    head
}

/// Returns the line of the log that supersedes the one of the visit.
fn line(
    page: &PageRecord,
    date: Timestamp,
    fingerprints: &Fingerprints,
    simhash: Option<u64>,
) -> (LogLine, PageLine) {
    let mut line = LogLine {
        time: format!("{date:.3}"),
        url: page.url.clone(),
        verdict: VisitVerdict::Unique,
        annotation: Some("restored".to_owned()),
        ..LogLine::default()
    };
    let mut of_page = PageLine {
        words: Some(fingerprints.words),
        digests: Digests::of(fingerprints),
        simhash: simhash.map(|bits| format!("{bits:016x}")),
        ..PageLine::default()
    };
    if let Fate::Answered {
        status,
        mime,
        size,
        title,
        language,
        canonical,
        ..
    } = &page.fate
    {
        line.status = *status;
        line.size = *size;
        line.mime.clone_from(mime);
        of_page.title.clone_from(title);
        of_page.language.clone_from(language);
        of_page.canonical_hint.clone_from(canonical);
    }
    (line, of_page)
}
