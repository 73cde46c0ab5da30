//! Texts that are alike or are not, and archives of pages as crawls before this one wrote them.

use std::path::{Path, PathBuf};

use gleaner::archive::{Archive as _, Capture, Digest, Record, Start, WarcArchive, WarcOptions};
use jiff::Timestamp;

/// `count` words, the same ones for the same seed.
pub(crate) fn words(seed: u64, count: u64) -> Vec<String> {
    let word = |at| format!("word{}", (at * at * 7 + at * 13 + seed * 1_013) % 4_001);
    (0..count).map(word).collect()
}

/// The same words as one text.
pub(crate) fn text(seed: u64, count: u64) -> String {
    words(seed, count).join(" ")
}

/// A page of an archive.
pub(crate) struct Visit {
    pub(crate) path: String,
    pub(crate) status: &'static str,
    pub(crate) mime: &'static str,
    pub(crate) body: String,
}

impl Visit {
    pub(crate) fn new(path: &str, body: &str) -> Self {
        Self {
            path: path.to_owned(),
            status: "200 OK",
            mime: "text/html",
            body: body.to_owned(),
        }
    }

    /// Where it was found.
    pub(crate) fn target(&self) -> String {
        target(&self.path)
    }

    /// Its response, the `at`-th of an archive.
    pub(crate) fn response(&self, at: usize) -> Record {
        let head = format!(
            "HTTP/1.1 {}\r\nContent-Type: {}\r\n\r\n",
            self.status, self.mime
        );
        let body = self.body.clone();
        let digest = Digest::of(body.as_bytes());
        let target = self.target();
        Record::response(
            &capture(&target, at),
            head.into_bytes(),
            body.into(),
            digest,
            None,
        )
    }

    /// Its request, and its response.
    pub(crate) fn records(&self, at: usize) -> [Record; 2] {
        let response = self.response(at);
        let head = format!("GET /{} HTTP/1.1\r\n\r\n", self.path).into_bytes();
        let target = self.target();
        [
            Record::request(&capture(&target, at), head, response.id()),
            response,
        ]
    }
}

/// The URL of a path.
pub(crate) fn target(path: &str) -> String {
    format!("http://example.org/{path}")
}

/// What is said of the `at`-th record of an archive.
pub(crate) fn capture(target: &str, at: usize) -> Capture<'_> {
    let second = 1_700_000_000 + i64::try_from(at).expect("few");
    Capture {
        target,
        date: Timestamp::from_second(second).expect("a time"),
        ip: None,
        protocols: &[],
    }
}

/// Writes an archive with these records into a directory, and gives its file.
pub(crate) fn archive_of(directory: &Path, records: &[Record]) -> PathBuf {
    let opened = WarcArchive::open(WarcOptions::new(directory), Start::Empty);
    let (mut archive, _) = opened.expect("an archive");
    archive.append(records).expect("room for it");
    archive.sync().expect("a disk");
    directory.join("gleaner-00000000.warc.gz")
}
