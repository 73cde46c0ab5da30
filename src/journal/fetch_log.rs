//! `log/fetch.jsonl`: one line per visit, for people and their tools.
//!
//! The log is written before the commit, and its end is part of the commit, like the archive's.
//! Lines of visits that were never acknowledged are cut off at the next start, so each visit has
//! exactly one line even after a kill. Readers read up to what `acknowledged` says, never further.
//! The log is synced at checkpoints only: after a power cut its last lines may be missing, which
//! affects its readers but not the crawl.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read as _, Write};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::acknowledged::{Acknowledged, AcknowledgedFile};
use super::page_line::PageLine;
use crate::archive::unacknowledged;
use crate::rows::{LogTail, VisitVerdict};

/// One line: one visit.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct LogLine {
    /// Time at which the request began (RFC 3339).
    pub time: String,
    /// HTTP status; 0 if there was no response.
    pub status: u16,
    /// Bytes of the body as received.
    pub size: u64,
    /// The URL as requested.
    pub url: String,
    /// One letter per hop from the seed: L link, R redirect, E embedded frame, I implied, P
    /// robots.txt, M named by robots.txt or a sitemap.
    pub path: String,
    /// The page on which the URL was found.
    pub via: Option<String>,
    /// Media type as declared.
    pub mime: Option<String>,
    /// Time from the request to the last byte, in milliseconds.
    pub duration_ms: u64,
    /// `unique`, `raw`, `normalized`, `content`, `near` or `ineligible`; `failed`, `retry`,
    /// `forbidden`, `robots` or `sitemap` for what was not judged.
    pub verdict: VisitVerdict,
    /// URL of the original, for a duplicate.
    pub original: Option<String>,
    /// What was unusual: class and message of a failure, bounds that cut something.
    pub annotation: Option<String>,
    /// What is known of the page, if the URL was answered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub page: Option<Box<PageLine>>,
}

/// The log, open for appending.
pub struct FetchLog {
    directory: PathBuf,
    max_bytes: u64,
    tail: LogTail,
    file: File,
    acknowledged: LogTail,
    acknowledged_file: AcknowledgedFile,
}

/// Name of the current file; full ones have a number.
const CURRENT: &str = "fetch.jsonl";

impl FetchLog {
    /// Opens the log at its acknowledged end.
    pub fn open(directory: &Path, max_bytes: u64, tail: LogTail) -> Result<Self, LogError> {
        let fail = |source| LogError {
            path: directory.to_owned(),
            source,
        };
        fs::create_dir_all(directory).map_err(fail)?;
        // A rotation that was not acknowledged is undone: its full file becomes the current one
        // again.
        let mut extra = rotated_path(directory, tail.rotated + 1);
        let current = directory.join(CURRENT);
        while extra.exists() {
            fs::rename(&extra, &current).map_err(fail)?;
            extra = rotated_path(directory, tail.rotated + 1);
        }
        let open = || OpenOptions::new().create(true).append(true).open(&current);
        let mut file = open().map_err(fail)?;
        let found = file.metadata().map_err(fail)?.len();
        if found > tail.bytes {
            file.set_len(tail.bytes).map_err(fail)?;
        }
        // What a power cut took from the end may have ended within a line; what it took from the
        // middle reads as zeros.
        let mut bytes = tail.bytes;
        if found < tail.bytes || has_zeros(&current).map_err(fail)? {
            bytes = keep_whole_lines(&current).map_err(fail)?;
            file = open().map_err(fail)?;
            tracing::warn!(
                bytes = tail.bytes - bytes,
                "lines of the fetch log are lost; the crawl does not need them, and `gleaner pages` lacks them"
            );
        }
        let tail = LogTail { bytes, ..tail };
        let log = Self {
            directory: directory.to_owned(),
            max_bytes,
            tail,
            file,
            acknowledged: tail,
            acknowledged_file: AcknowledgedFile::open(directory).map_err(fail)?,
        };
        log.tell(true).map_err(fail)?;
        Ok(log)
    }

    /// Sets aside what the log has beyond its end as a store knows it that lost commits: a copy of
    /// the file in which it ends, and all files after it, as `….unacknowledged`.
    pub fn set_rest_aside(directory: &Path, tail: LogTail) -> Result<(), LogError> {
        let fail = |source| LogError {
            path: directory.to_owned(),
            source,
        };
        let current = directory.join(CURRENT);
        let mut number = tail.rotated;
        let mut files = Vec::new();
        while let Some(next) = number
            .checked_add(1)
            .map(|next| rotated_path(directory, next))
            && next.try_exists().map_err(fail)?
        {
            files.push(next);
            number += 1;
        }
        if current.try_exists().map_err(fail)? {
            files.push(current.clone());
        }
        let Some((first, later)) = files.split_first() else {
            return Ok(());
        };
        for file in later {
            let aside = unacknowledged(file).map_err(fail)?;
            fs::rename(file, aside).map_err(fail)?;
        }
        let aside = unacknowledged(first).map_err(fail)?;
        fs::copy(first, aside).map_err(fail)?;
        fs::rename(first, &current).map_err(fail)
    }

    /// Makes what was appended durable.
    pub fn sync(&self) -> Result<(), LogError> {
        self.file.sync_data().map_err(|error| self.failed(error))
    }

    /// Makes what was appended visible to readers: its end is committed.
    pub fn acknowledge(&mut self) -> Result<(), LogError> {
        if self.acknowledged == self.tail {
            return Ok(());
        }
        self.acknowledged = self.tail;
        self.tell(true).map_err(|error| self.failed(error))
    }

    fn tell(&self, open: bool) -> io::Result<()> {
        let tail = self.acknowledged;
        self.acknowledged_file.write(Acknowledged { tail, open })
    }

    /// Appends lines, all to one file, and returns the new end.
    pub fn append(&mut self, lines: &[LogLine]) -> Result<LogTail, LogError> {
        let mut text = Vec::new();
        for line in lines {
            serde_json::to_writer(&mut text, line).map_err(|error| self.failed(error.into()))?;
            text.push(b'\n');
        }
        if self.tail.bytes > 0 && self.tail.bytes + text.len() as u64 > self.max_bytes {
            self.rotate().map_err(|error| self.failed(error))?;
        }
        self.file
            .write_all(&text)
            .map_err(|error| self.failed(error))?;
        self.tail.bytes += text.len() as u64;
        Ok(self.tail)
    }

    fn rotate(&mut self) -> io::Result<()> {
        self.file.sync_data()?;
        let current = self.directory.join(CURRENT);
        fs::rename(
            &current,
            rotated_path(&self.directory, self.tail.rotated + 1),
        )?;
        self.file = OpenOptions::new()
            .create(true)
            .append(true)
            .open(&current)?;
        // Before a commit acknowledges the new file: else a power cut might undo the renaming
        // alone, and the full file would be cut to the length of the new one.
        File::open(&self.directory)?.sync_all()?;
        self.tail = LogTail {
            rotated: self.tail.rotated + 1,
            bytes: 0,
        };
        Ok(())
    }

    fn failed(&self, source: io::Error) -> LogError {
        LogError {
            path: self.directory.clone(),
            source,
        }
    }
}

impl Drop for FetchLog {
    /// Tells readers that nothing more will come. A process that is killed cannot.
    fn drop(&mut self) {
        if let Err(error) = self.tell(false) {
            tracing::warn!(%error, "cannot tell readers of the fetch log that it has ended");
        }
    }
}

/// Returns the path of the full file that has `before` full files before it.
pub fn full_path(directory: &Path, before: u32) -> PathBuf {
    rotated_path(directory, before.saturating_add(1))
}

/// Returns the path of the file that is being written.
pub fn current_path(directory: &Path) -> PathBuf {
    directory.join(CURRENT)
}

/// Returns where the log in a directory ends that nobody writes: at the end of its last file,
/// whatever of it is committed.
///
/// # Errors
///
/// The operating system's.
pub fn end_of_files(directory: &Path) -> io::Result<LogTail> {
    let mut tail = LogTail::default();
    let entries = match fs::read_dir(directory) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(tail),
        entries => entries?,
    };
    for entry in entries {
        let entry = entry?;
        let name = entry.file_name();
        let name = name.to_string_lossy();
        if name == CURRENT {
            tail.bytes = entry.metadata()?.len();
        }
        // Full files before it may have been moved away.
        let number = name.strip_prefix("fetch-");
        let number = number.and_then(|it| it.strip_suffix(".jsonl")?.parse().ok());
        tail.rotated = tail.rotated.max(number.unwrap_or_default());
    }
    Ok(tail)
}

/// Whether a file has a byte that no line has.
fn has_zeros(path: &Path) -> io::Result<bool> {
    let mut file = File::open(path)?;
    let mut piece = vec![0; 64 << 10];
    loop {
        let read = file.read(&mut piece)?;
        let piece = piece.get(..read).unwrap_or_default();
        if piece.is_empty() || memchr::memchr(0, piece).is_some() {
            return Ok(!piece.is_empty());
        }
    }
}

/// Keeps the lines of a file that a power cut has left whole, and returns its length then.
fn keep_whole_lines(path: &Path) -> io::Result<u64> {
    let text = fs::read(path)?;
    let lines = text.split_inclusive(|byte| *byte == b'\n');
    let is_whole = |line: &&[u8]| line.ends_with(b"\n") && !line.contains(&0);
    let kept: Vec<u8> = lines.filter(is_whole).flatten().copied().collect();
    let staged = path.with_extension("new");
    let mut file = File::create(&staged)?;
    file.write_all(&kept)?;
    file.sync_all()?;
    fs::rename(staged, path)?;
    Ok(kept.len() as u64)
}

fn rotated_path(directory: &Path, number: u32) -> PathBuf {
    directory.join(format!("fetch-{number:06}.jsonl"))
}

/// The log could not be written or read. Ends the run; what was committed stays.
#[derive(Debug, thiserror::Error)]
#[error("cannot use the fetch log in {path}: {source}")]
pub struct LogError {
    /// Directory of the log.
    pub path: PathBuf,
    /// The underlying error.
    pub source: io::Error,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(n: usize) -> LogLine {
        LogLine {
            url: format!("http://example.org/{n}"),
            ..LogLine::default()
        }
    }

    fn lines(directory: &Path) -> Vec<String> {
        let mut files: Vec<_> = fs::read_dir(directory)
            .unwrap()
            .map(|entry| entry.unwrap().path())
            .filter(|path| path.extension().is_some_and(|it| it == "jsonl"))
            .collect();
        files.sort();
        files
            .iter()
            .flat_map(|file| {
                fs::read_to_string(file)
                    .unwrap()
                    .lines()
                    .map(str::to_owned)
                    .collect::<Vec<_>>()
            })
            .map(|text| serde_json::from_str::<LogLine>(&text).unwrap().url)
            .collect()
    }

    #[test]
    fn what_was_not_acknowledged_is_cut_off_also_across_a_rotation() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path();
        let one = serde_json::to_string(&line(0)).unwrap().len() as u64 + 1;
        for acknowledged in 0..6 {
            let _ = fs::remove_dir_all(path);
            // Two lines a file.
            let mut log = FetchLog::open(path, 2 * one, LogTail::default()).unwrap();
            let mut tail = LogTail::default();
            for n in 0..acknowledged {
                tail = log.append(&[line(n)]).unwrap();
            }
            let ahead = FetchLog::append(&mut log, &[line(7)]).unwrap();
            assert!(ahead.rotated >= tail.rotated);
            drop(log);
            let mut log = FetchLog::open(path, 2 * one, tail).unwrap();
            log.append(&[line(8)]).unwrap();
            let mut found = lines(path);
            found.sort();
            let mut expected: Vec<_> = (0..acknowledged).map(|n| line(n).url).collect();
            expected.push(line(8).url);
            assert_eq!(found, expected, "after {acknowledged}");
        }
    }

    #[test]
    fn what_a_store_has_forgotten_is_set_aside() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path();
        let one = serde_json::to_string(&line(0)).unwrap().len() as u64 + 1;
        let mut log = FetchLog::open(path, 2 * one, LogTail::default()).unwrap();
        let mut tails = vec![LogTail::default()];
        tails.extend((0..7).map(|n| log.append(&[line(n)]).unwrap()));
        drop(log);
        FetchLog::set_rest_aside(path, tails[3]).unwrap();
        drop(FetchLog::open(path, 2 * one, tails[3]).unwrap());
        let kept: Vec<_> = (0..3).map(|n| line(n).url).collect();
        assert_eq!(lines(path), kept);
        let aside = fs::read_dir(path)
            .unwrap()
            .map(|entry| entry.unwrap().path());
        let aside = aside.filter(|it| it.extension().is_some_and(|it| it == "unacknowledged"));
        let mut text: Vec<String> = aside.map(|it| fs::read_to_string(it).unwrap()).collect();
        text.sort();
        let lost = (2..7).map(|n| serde_json::to_string(&line(n)).unwrap() + "\n");
        assert_eq!(text.concat(), lost.collect::<String>());
    }

    #[test]
    fn a_torn_line_does_not_swallow_the_next() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path();
        let mut log = FetchLog::open(path, 1 << 20, LogTail::default()).unwrap();
        let tail = log.append(&[line(1), line(2)]).unwrap();
        drop(log);
        let file = OpenOptions::new()
            .write(true)
            .open(current_path(path))
            .unwrap();
        file.set_len(tail.bytes - 5).unwrap();
        let mut log = FetchLog::open(path, 1 << 20, tail).unwrap();
        log.append(&[line(3)]).unwrap();
        assert_eq!(lines(path), [line(1).url, line(3).url]);
    }

    #[test]
    fn a_line_that_a_power_cut_took_from_the_middle_is_left_out() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path();
        let mut log = FetchLog::open(path, 1 << 20, LogTail::default()).unwrap();
        let first = log.append(&[line(1)]).unwrap();
        let tail = log.append(&[line(2), line(3)]).unwrap();
        drop(log);
        let mut bytes = fs::read(current_path(path)).unwrap();
        bytes[first.bytes as usize + 3..first.bytes as usize + 9].fill(0);
        fs::write(current_path(path), bytes).unwrap();
        let mut log = FetchLog::open(path, 1 << 20, tail).unwrap();
        let tail = log.append(&[line(4)]).unwrap();
        assert_eq!(lines(path), [1, 3, 4].map(|n| line(n).url));
        let length = fs::metadata(current_path(path)).unwrap().len();
        assert_eq!(length, tail.bytes);
    }
}
