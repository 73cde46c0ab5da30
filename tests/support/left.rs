//! What a crawl left: the lines of its fetch log, and the records of its archive, which are checked
//! whenever they are read.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use gleaner::archive::{self, Digest, ReadRecord};
use gleaner::engine::LogLine;

/// Every line of a fetch log, in order.
pub(crate) fn log(data: &Path) -> Vec<LogLine> {
    let mut files = files(&data.join("log"), "jsonl");
    // Beside it are the history of the crawl and its events.
    files.retain(|file| !file.ends_with("history.jsonl") && !file.ends_with("events.jsonl"));
    // `fetch-000001.jsonl` and so on come before `fetch.jsonl`.
    files.sort();
    files
        .iter()
        .flat_map(|file| {
            let text = fs::read_to_string(file).expect("the log is text");
            text.lines()
                .map(|line| serde_json::from_str(line).expect("each line is one visit"))
                .collect::<Vec<_>>()
        })
        .collect()
}

/// The lines of a fetch log that are about pages that were answered, by URL. A page that was
/// visited again, to see which of its lines change, or because the template of its site is known by
/// now, has two lines. The last one counts, unless it only says that nothing has changed.
#[track_caller]
pub(crate) fn pages(data: &Path) -> BTreeMap<String, LogLine> {
    let mut pages = BTreeMap::new();
    let mut visits: BTreeMap<String, usize> = BTreeMap::new();
    for line in log(data) {
        let others = [
            "robots",
            "sitemap",
            "requisite",
            "retry",
            "failed",
            "forbidden",
            "checked",
        ];
        if !others.contains(&line.verdict.name()) {
            let url = line.url.clone();
            *visits.entry(url.clone()).or_insert(0) += 1;
            assert!(visits[&url] <= 2, "{url} has more than two lines");
            if line.verdict.name() != "unchanged" || !pages.contains_key(&url) {
                pages.insert(url, line);
            }
        }
    }
    pages
}

/// Every record of a crawl's archives, in order, those of texts last. Whatever a test is about, an
/// archive is sound: each file begins with warcinfo, digests are those of what is stored, heads and
/// payloads agree, and what refers to a record refers to one that is there.
#[track_caller]
pub(crate) fn records(data: &Path) -> Vec<ReadRecord> {
    let records = read_records(data);
    check_records(&records);
    check_revisits(&records);
    records
}

/// The same records, which may refer to those of another crawl.
#[track_caller]
pub(crate) fn read_records(data: &Path) -> Vec<ReadRecord> {
    let mut records = Vec::new();
    for file in warcs(data).into_iter().chain(texts(data)) {
        let found: Vec<ReadRecord> = archive::records(&file)
            .expect("the file is there")
            .collect::<Result<_, _>>()
            .expect("every record is whole");
        assert_eq!(
            found.first().and_then(|it| it.header("WARC-Type")),
            Some("warcinfo"),
            "{}",
            file.display()
        );
        records.extend(found);
    }
    records
}

/// The files of a crawl's archive of pages, in order, also the one that is being written.
pub(crate) fn warcs(data: &Path) -> Vec<PathBuf> {
    let mut all = files(&data.join("warc"), "warc.gz");
    all.extend(files(&data.join("warc"), "warc.gz.open"));
    all
}

/// The same of its archive of texts.
pub(crate) fn texts(data: &Path) -> Vec<PathBuf> {
    let mut all = files(&data.join("texts"), "warc.gz");
    all.extend(files(&data.join("texts"), "warc.gz.open"));
    all
}

/// Checks records of an archive as [`records`] does.
#[track_caller]
pub(crate) fn check_records(records: &[ReadRecord]) {
    let mut by_id = BTreeMap::new();
    for record in records {
        let id = field(record, "WARC-Record-ID");
        assert!(by_id.insert(id, record).is_none(), "{id} twice");
        assert_ne!(record.block_is_intact(), Some(false), "{record:?}");
        if kind(record) == "response" {
            let (head, payload) = record.http_parts().expect("an HTTP message");
            assert_eq!(payload_digest(record), Digest::of(payload), "{record:?}");
            let head = String::from_utf8_lossy(head).to_lowercase();
            assert!(!head.contains("\r\ntransfer-encoding:"), "{head}");
        }
    }
    for record in records {
        for name in ["WARC-Refers-To", "WARC-Concurrent-To"] {
            if let Some(id) = record.header(name) {
                assert!(by_id.contains_key(id), "{name} {id} is not there");
            }
        }
        let is_bare = record.header("WARC-Refers-To").is_none();
        if kind(record) == "revisit" && is_bare {
            // A server's word that something of which no body is kept is the same.
            let profile = field(record, "WARC-Profile");
            assert!(profile.ends_with("/server-not-modified"), "{record:?}");
        } else if kind(record) == "revisit" {
            let original = by_id[field(record, "WARC-Refers-To")];
            assert_eq!(kind(original), "response");
            assert_eq!(payload_digest(record), payload_digest(original));
            let same = |name: &str, of: &str| assert_eq!(field(record, name), field(original, of));
            same("WARC-Refers-To-Target-URI", "WARC-Target-URI");
            same("WARC-Refers-To-Date", "WARC-Date");
        }
    }
}

/// Checks that a player which takes the head of the original for that of a revisit record shows the
/// same.
#[track_caller]
fn check_revisits(records: &[ReadRecord]) {
    let original = |revisit: &ReadRecord| {
        let id = revisit.header("WARC-Refers-To")?.to_owned();
        records.iter().find(|it| field(it, "WARC-Record-ID") == id)
    };
    for revisit in records.iter().filter(|it| kind(it) == "revisit") {
        let Some(original) = original(revisit) else {
            continue;
        };
        let stored = form(original);
        assert!(stored.is_some(), "{revisit:?}");
        // A 304 has a status of its own, and may leave out the rest.
        if revisit.has_identical_payload() {
            let (head, _) = revisit.http_parts().expect("an HTTP message");
            assert_eq!(Some(form_of(head)), stored, "{revisit:?}");
        }
    }
}

/// What players take from the head of a response; `None` if no revisit record may refer to it.
pub(crate) fn form(response: &ReadRecord) -> Option<Vec<String>> {
    let (head, payload) = response.http_parts().expect("an HTTP message");
    let form = form_of(head);
    let is_redirect = form.last().is_some_and(|status| status.starts_with('3'));
    (!payload.is_empty() && !is_redirect).then_some(form)
}

fn form_of(head: &[u8]) -> Vec<String> {
    let head = String::from_utf8_lossy(head).to_lowercase();
    let taken = |it: &&str| it.starts_with("content-type:") || it.starts_with("content-encoding:");
    let mut form: Vec<String> = head.lines().filter(taken).map(str::to_owned).collect();
    form.push(head.split(' ').nth(1).expect("a status").to_owned());
    form
}

/// A field that a record must have.
#[track_caller]
pub(crate) fn field<'a>(record: &'a ReadRecord, name: &str) -> &'a str {
    record
        .header(name)
        .unwrap_or_else(|| panic!("no {name} in {:?}", record.headers))
}

/// `response`, `request`, `revisit`, `metadata`, `conversion` or `warcinfo`.
#[track_caller]
pub(crate) fn kind(record: &ReadRecord) -> &str {
    field(record, "WARC-Type")
}

/// The digest that a record names for its payload.
#[track_caller]
pub(crate) fn payload_digest(record: &ReadRecord) -> Digest {
    let text = field(record, "WARC-Payload-Digest");
    Digest::parse(text).unwrap_or_else(|| panic!("{text} is no SHA-256"))
}

/// The records of a kind about a URL.
pub(crate) fn about<'a>(records: &'a [ReadRecord], wanted: &str, url: &str) -> Vec<&'a ReadRecord> {
    records
        .iter()
        .filter(|it| kind(it) == wanted && it.header("WARC-Target-URI") == Some(url))
        .collect()
}

/// The only record of a kind about a URL.
#[track_caller]
pub(crate) fn only<'a>(records: &'a [ReadRecord], wanted: &str, url: &str) -> &'a ReadRecord {
    let found = about(records, wanted, url);
    assert_eq!(found.len(), 1, "{wanted} records of {url}");
    found[0]
}

fn files(directory: &Path, ending: &str) -> Vec<PathBuf> {
    let mut files: Vec<PathBuf> = fs::read_dir(directory)
        .into_iter()
        .flatten()
        .map(|entry| entry.expect("the directory stays").path())
        .filter(|path| path.to_string_lossy().ends_with(ending))
        .collect();
    files.sort();
    files
}
