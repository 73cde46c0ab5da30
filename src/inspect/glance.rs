//! What an operator looks for first, beside the counters: the room that a crawl takes and has, and
//! the last visit that failed.

use std::fs::{self, File};
use std::io::{self, Read as _, Seek as _, SeekFrom};
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::engine::free_bytes;
use crate::journal::{LogLine, current_path};
use crate::rows::VisitVerdict;
use crate::url::HostKey;

/// Bytes at the end of the log in which a failure is looked for.
const TAIL: u64 = 1 << 20;

/// The room that a crawl takes and has on its disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct DiskUse {
    /// Bytes of the files in the data directory.
    pub taken: u64,
    /// Bytes that are free on its disk.
    pub free: u64,
}

/// The last visit that failed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct LastError {
    /// When it began (RFC 3339).
    pub time: String,
    /// The URL.
    pub url: String,
    /// Class and message of the failure.
    pub error: String,
}

impl DiskUse {
    /// Reads it; `None` if the disk does not tell.
    pub(super) fn of(data: &Path) -> Option<Self> {
        Some(Self {
            free: free_bytes(data).ok()?,
            taken: bytes_below(data),
        })
    }
}

/// The bytes of all files below a directory. What leaves while it is read counts for nothing.
fn bytes_below(directory: &Path) -> u64 {
    let Ok(entries) = fs::read_dir(directory) else {
        return 0;
    };
    let bytes = |entry: fs::DirEntry| match entry.metadata() {
        Ok(meta) if meta.is_dir() => bytes_below(&entry.path()),
        Ok(meta) => meta.len(),
        Err(_) => 0,
    };
    entries.flatten().map(bytes).sum()
}

/// Returns the last visit in the log that failed, whether it is tried again or was given up. What
/// was not asked for did not fail.
pub(super) fn last_error(data: &Path) -> Option<LastError> {
    let text = tail(&current_path(&data.join("log"))).ok()?;
    let lines = text.rsplit(|byte| *byte == b'\n');
    let lines = lines.filter_map(|line| serde_json::from_slice::<LogLine>(line).ok());
    let mut failed = lines.filter_map(|line| {
        let is_failure = match line.verdict {
            VisitVerdict::Failed | VisitVerdict::Retry => true,
            // A host that is not there fails at its robots.txt.
            VisitVerdict::Robots => line.status == 0,
            _ => false,
        };
        let error = line.annotation.filter(|_| is_failure)?;
        let was_asked = ![
            "blocked", "dropped", "budget", "guard", "unwanted", "logs-out",
        ]
        .iter()
        .any(|class| error.starts_with(&format!("{class}:")));
        was_asked.then_some(LastError {
            time: line.time,
            url: line.url,
            error,
        })
    });
    failed.next()
}

/// A visit, as the log has it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, schemars::JsonSchema)]
pub struct VisitSeen {
    /// When it began (RFC 3339).
    pub time: String,
    /// The URL.
    pub url: String,
    /// HTTP status; 0 if there was no response.
    pub status: u16,
    /// Bytes of the body.
    pub size: u64,
    /// Time from the request to the last byte, in milliseconds.
    pub duration_ms: u64,
    /// What came of it: a verdict, or `failed`, `retry`, `forbidden` and the like.
    pub verdict: String,
    /// What was unusual: class and message of a failure, bounds that cut something.
    pub annotation: Option<String>,
}

/// The last visits of a host that the end of the log has, latest first.
pub(super) fn last_visits(data: &Path, host: &HostKey, most: usize) -> Vec<VisitSeen> {
    let text = tail(&current_path(&data.join("log"))).unwrap_or_default();
    let lines = text.rsplit(|byte| *byte == b'\n');
    let lines = lines.filter_map(|line| serde_json::from_slice::<LogLine>(line).ok());
    let is_its = |line: &LogLine| {
        let url = crate::url::parse(&line.url);
        url.is_ok_and(|url| HostKey::of(&url) == *host)
    };
    let visits = lines.filter(is_its).take(most).map(|line| VisitSeen {
        time: line.time,
        url: line.url,
        status: line.status,
        size: line.size,
        duration_ms: line.duration_ms,
        verdict: line.verdict.name().to_owned(),
        annotation: line.annotation,
    });
    visits.collect()
}

/// The end of a file.
fn tail(path: &Path) -> io::Result<Vec<u8>> {
    let mut file = File::open(path)?;
    let length = file.metadata()?.len();
    file.seek(SeekFrom::Start(length.saturating_sub(TAIL)))?;
    let mut text = Vec::new();
    file.take(TAIL).read_to_end(&mut text)?;
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_failure_is_found_among_what_did_not_fail() {
        let place = tempfile::tempdir().unwrap();
        let log = place.path().join("log");
        fs::create_dir(&log).unwrap();
        let line = |url: &str, verdict, annotation: Option<&str>| {
            let line = LogLine {
                time: "2026-01-02T03:04:05Z".to_owned(),
                url: url.to_owned(),
                verdict,
                annotation: annotation.map(str::to_owned),
                ..LogLine::default()
            };
            serde_json::to_string(&line).unwrap() + "\n"
        };
        let check = |lines: &[String], expected: Option<&str>| {
            fs::write(current_path(&log), lines.concat()).unwrap();
            let found = last_error(place.path()).map(|it| it.url);
            assert_eq!(found.as_deref(), expected);
        };
        assert_eq!(last_error(place.path()), None, "there is no log");
        let fine = line("fine", VisitVerdict::Unique, Some("LinksCut"));
        let robots = line("robots", VisitVerdict::Forbidden, Some("robots: line 2"));
        let blocked = line(
            "blocked",
            VisitVerdict::Failed,
            Some("blocked: a.txt, line 2"),
        );
        let innocent = [fine, robots, blocked];
        check(&innocent, None);
        let host = line("host", VisitVerdict::Robots, Some("connect: refused"));
        check(&[&[host][..], &innocent[..]].concat(), Some("host"));
        let failed = line("failed", VisitVerdict::Failed, Some("timeout: no response"));
        let retried = line("retried", VisitVerdict::Retry, Some("connect: refused"));
        let begins = [failed.clone(), retried];
        check(&[&begins[..], &innocent[..]].concat(), Some("retried"));
        // A line that is being written is none yet.
        let half = failed[..20].to_owned();
        check(&[failed, half], Some("failed"));
    }

    #[test]
    fn room_is_that_of_all_files() {
        let place = tempfile::tempdir().unwrap();
        fs::create_dir(place.path().join("a")).unwrap();
        fs::write(place.path().join("a/b"), [0; 1_000]).unwrap();
        fs::write(place.path().join("c"), [0; 24]).unwrap();
        let disk = DiskUse::of(place.path()).unwrap();
        assert_eq!(disk.taken, 1_024);
        assert!(disk.free > 0);
    }
}
