//! What a crawl left, in terms that do not depend on who came first, so that a crawl that something
//! went wrong with can be compared with an undisturbed one. Reading it checks that its parts agree.

// Each test binary uses its part of it.
#![allow(dead_code)]

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use gleaner::archive::{Digest, Limits, Location, RecordId, RecordKind, WarcOptions};
use gleaner::dedup::{Documents, Features, Fingerprints, Signature, Text, Tier, structures};
use gleaner::engine::{Bodies, BodyPlace, DataDirectory, Fate, Judgement, PageRecord, body_place};
use gleaner::frontier::SEEN;
use gleaner::journal::{Acknowledged, BodyError, LogLine, LogReader};
use gleaner::runs::{Catalog, Options};
use gleaner::store::{self, Embedded, Table};
use gleaner::url::{Canonicalizer, UrlId, parse};
use gleaner::{Error, Feed, Position};

use crate::run::{check_records, form, log, read_records};

/// SimHash as gleaner computes it, for near-duplicates that hold by its own measure.
pub(crate) fn simhash(text: &str) -> u64 {
    let fingerprints = Fingerprints::of(b"", &Text::new(text, text));
    match fingerprints.get(Tier::Near) {
        Some(Signature::Witnessed { simhash, .. }) => *simhash,
        other => panic!("no SimHash of this text: {other:?}"),
    }
}

/// What a crawl leaves, in terms that do not depend on who came first.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Left {
    /// Canonical URLs that have a record.
    pub(crate) pages: BTreeSet<String>,
    /// Clusters of duplicates, singletons included.
    pub(crate) clusters: BTreeSet<BTreeSet<String>>,
    /// Those of them that were answered.
    pub(crate) answered: BTreeSet<String>,
    /// How often each payload is stored as a response, with what players take from its head.
    pub(crate) payloads: BTreeMap<String, usize>,
}

impl Left {
    /// Each payload is stored once.
    pub(crate) fn check_payloads(&self) {
        assert!(
            self.payloads.values().all(|times| *times == 1),
            "{:?}",
            self.payloads
        );
    }
}

/// The row of every URL that a crawl is done with.
pub(crate) fn rows(data: &Path) -> BTreeMap<UrlId, PageRecord> {
    // The follower may be looking into it.
    let _ours = DataDirectory::take(data).expect("nobody else keeps it for long");
    let store = Embedded::open(&data.join("store"), &store::Options::default())
        .expect("the store opens after a kill");
    let mut rows = BTreeMap::new();
    store::for_each(&store, Table::Pages, &[], &mut |key, row| {
        let id = UrlId::from_bytes(key.try_into().expect("keys are ids"));
        rows.insert(id, store::decode(Table::Pages, row)?);
        Ok(())
    })
    .expect("the store is whole");
    rows
}

/// The names of the files of a crawl's archives.
fn archive_names(data: &Path) -> gleaner::rows::ArchiveNames {
    let _ours = DataDirectory::take(data).expect("nobody else keeps it for long");
    let store = Embedded::open(&data.join("store"), &store::Options::default())
        .expect("the store opens after a kill");
    gleaner::rows::ArchiveNames::read(&store).expect("the row is whole")
}

/// Original's document and page of every member of a cluster, as the store lists them.
pub(crate) fn members(data: &Path) -> BTreeSet<(u64, UrlId)> {
    let _ours = DataDirectory::take(data).expect("nobody else keeps it for long");
    let store = Embedded::open(&data.join("store"), &store::Options::default())
        .expect("the store opens after a kill");
    let mut members = BTreeSet::new();
    store::for_each(&store, Table::Clusters, &[], &mut |key, _| {
        let member = store::keys::parse_member(key);
        members.extend(member.map(|(document, id)| (document, UrlId::from_bytes(id))));
        Ok(())
    })
    .expect("the store is whole");
    members
}

/// Reads what a crawl with the default features left, and checks that its parts agree: every
/// document has its record in the archive, its row in the documents and its keys in the runs.
#[track_caller]
pub(crate) fn left(data: &Path) -> Left {
    left_by(data, &Features::default(), None)
}

/// The same for a crawl with these features, which may know what an earlier crawl has stored.
#[track_caller]
pub(crate) fn left_by(data: &Path, features: &Features, earlier: Option<&Path>) -> Left {
    let records = rows(data);
    let duplicates = records
        .iter()
        .filter_map(|(id, page)| Some((page.duplicate()?.of, *id)));
    assert_eq!(duplicates.collect::<BTreeSet<_>>(), members(data));

    let mut payloads = BTreeMap::new();
    let stored = read_records(data);
    for record in &stored {
        // A redirect, and what has no payload, are stored each time.
        if record.header("WARC-Type") == Some("response")
            && let Some(form) = form(record)
        {
            let digest = record.header("WARC-Payload-Digest").expect("a digest");
            let response = format!("{digest} {}", form.join(", "));
            *payloads.entry(response).or_default() += 1;
        }
    }
    let mut all = earlier.map(read_records).unwrap_or_default();
    all.extend(stored);
    check_records(&all);

    let names: Vec<_> = [SEEN]
        .into_iter()
        .chain(structures())
        .map(|name| (name, Options::default()))
        .collect();
    let (catalog, damage) = Catalog::open(&data.join("runs"), &names).expect("the runs open");
    assert_eq!(damage, []);
    let (documents, damage) =
        Documents::open(&data.join("documents"), 1 << 20, 0).expect("the documents open");
    assert!(damage.is_none());
    let warc = WarcOptions::pages_of(data, archive_names(data).pages);
    let mut members: BTreeMap<UrlId, BTreeSet<String>> = BTreeMap::new();
    for (id, page) in &records {
        assert!(
            catalog[0].contains(id.key()),
            "{} is not among the URLs seen",
            page.url
        );
        if let Some(document) = &page.document {
            let row = documents.get(document.id).expect("documents are read");
            assert_eq!(row.as_deref(), Some(document), "{}", page.url);
            for posting in gleaner::dedup::postings(document, features) {
                let mut found = Vec::new();
                catalog[1 + usize::from(posting.structure)].find(posting.key, &mut found);
                assert!(found.contains(&document.id), "{posting:?} is lost");
            }
            if matches!(page.fate, Fate::Known { .. }) {
                // Its record is in the earlier archive.
                continue;
            }
            let location = Location {
                segment: document.stored.segment,
                offset: document.stored.offset,
                length: document.stored.length,
            };
            let record = warc
                .read(&location, Limits::default())
                .expect("its record is there");
            let own = RecordId::new(u128::from_be_bytes(document.stored.record));
            assert_eq!(
                record.header("WARC-Record-ID"),
                Some(own.to_string().as_str())
            );
        }
        if let Fate::Answered { judgement, .. } = &page.fate {
            let original = match judgement {
                Judgement::Unique => *id,
                Judgement::Duplicate(duplicate) => duplicate.page,
                Judgement::Ineligible(_) => continue,
            };
            members
                .entry(original)
                .or_default()
                .insert(canonical(&page.url));
        }
    }
    check_bodies(data, &records, earlier.is_some());
    Left {
        pages: records.values().map(|page| canonical(&page.url)).collect(),
        clusters: members.into_values().collect(),
        answered: records
            .values()
            .filter(|page| matches!(page.fate, Fate::Answered { .. }))
            .map(|page| canonical(&page.url))
            .collect(),
        payloads,
    }
}

/// Every page is given back, as its visit found it: stored, or rebuilt from what was kept. That of
/// one that repeats a page of an earlier crawl may be there.
fn check_bodies(data: &Path, records: &BTreeMap<UrlId, PageRecord>, has_earlier: bool) {
    let logged: BTreeMap<String, Option<String>> = log(data)
        .into_iter()
        .filter_map(|line| Some((line.url, line.page?.digests.raw)))
        .collect();
    let _ours = DataDirectory::take(data).expect("nobody else keeps it for long");
    let store = Embedded::open(&data.join("store"), &store::Options::default())
        .expect("the store opens after a kill");
    let bodies = Bodies::of(data);
    let mut rebuilt = 0;
    for (id, page) in records {
        if !matches!(page.fate, Fate::Answered { .. }) {
            continue;
        }
        let place = body_place(&store, *id, page).expect("rows are read");
        let place = place.unwrap_or_else(|| panic!("nothing is kept of {}", page.url));
        let is_rebuilt = matches!(place, BodyPlace::Pack { .. } | BodyPlace::Waiting { .. });
        rebuilt += usize::from(is_rebuilt);
        let content = match bodies.read(&place) {
            Err(BodyError::NoResponse { .. }) if has_earlier => continue,
            read => read.unwrap_or_else(|error| panic!("{}: {error:?}", page.url)),
        };
        if let Some(Some(digest)) = logged.get(&page.url) {
            let own = Digest::of(content.body()).to_string();
            assert_eq!(own, format!("sha256:{digest}"), "{}", page.url);
        }
    }
    let is_near = |page: &&PageRecord| page.duplicate().is_some_and(|it| it.tier != Tier::Raw);
    let stored = |page: &&PageRecord| {
        use RecordKind::{Response, Revisit};
        matches!(page.record, Some((Response | Revisit, _)))
    };
    let left_out = records
        .values()
        .filter(|it| is_near(it) && !stored(it))
        .count();
    assert_eq!(rebuilt, left_out, "the bodies of those are kept as deltas");
}

pub(crate) fn canonical(url: &str) -> String {
    Canonicalizer::default()
        .canonicalize(&parse(url).expect("a URL"))
        .to_string()
}

/// The committed lines of the log of a directory. One that holds a copy that is not complete has
/// its own from when it owned the crawl.
pub(crate) fn committed_lines(data: &Path) -> Vec<LogLine> {
    let log = data.join("log");
    if !log.exists() {
        return Vec::new();
    }
    let mut lines = Vec::new();
    match Feed::open(data, Position::default()) {
        Err(Error::Store(store::Error::Outdated { .. })) => {
            let end = Acknowledged::read(&log).expect("it can be read");
            let end = end.unwrap_or_default().tail;
            let mut reader = LogReader::new(&log, Position::default(), end);
            while let Some(line) = reader.next_line().expect("it can be read") {
                lines.push(serde_json::from_slice(&line).expect("a line"));
            }
        }
        feed => {
            let mut feed = feed.expect("there is a log");
            while let Some((line, _)) = feed.read_line().expect("the log can be read") {
                lines.push(line);
            }
        }
    }
    lines
}

/// Adds the URLs that a crawl is done with, by the lines of its log that are committed, each as
/// often as it was fetched for that. Visits that only checked what was learned do not count, nor
/// those that found a likeness: such a page is judged again when its site, or its original's, is
/// better known. A copy byte for byte counts.
pub(crate) fn add_committed(data: &Path, urls: &mut BTreeMap<String, usize>) {
    const OTHERS: [&str; 3] = ["retry", "checked", "unchanged"];
    const LIKE: [&str; 2] = ["content", "near"];
    for line in committed_lines(data) {
        let is_one_of = |verdicts: &[&str]| verdicts.iter().any(|it| line.verdict == **it);
        if !is_one_of(&OTHERS) {
            let is_final = !is_one_of(&LIKE);
            *urls.entry(line.url).or_default() += usize::from(is_final);
        }
    }
}

/// Checks that what several shards are done with was fetched no more often than by one machine.
#[track_caller]
pub(crate) fn check_times(found: &BTreeMap<String, usize>, alone: &BTreeMap<String, usize>) {
    for (url, times) in found {
        let most = alone.get(url).map_or(1, |times| *times.max(&1));
        assert!(*times <= most, "{url}: {times}");
    }
}
