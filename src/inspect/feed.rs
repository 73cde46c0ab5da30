//! The committed log as a stream: from a position up to what is acknowledged, and on from there
//! while a crawl runs.
//!
//! Only reads files, so it works beside the process that has the store locked. What that process
//! has not committed is never read, because a kill would take it back. Lines are never changed.

use std::io;
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crate::engine::{DataDirectory, DirectoryError, Error, open_store};
use crate::journal::{
    Acknowledged, AcknowledgedFile, FORGOTTEN_LINE, LogError, LogLine, LogReader, Position,
};
use crate::rows::{DiskState, LogTail};

/// Time without news after which the reader checks whether the crawl is still running.
const PATIENCE: Duration = Duration::from_secs(1);

/// What to expect of a log that was read to its acknowledged end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outlook {
    /// A crawl is running.
    Running,
    /// The crawl was killed; it may be resumed.
    Killed,
    /// The crawl has ended; what it left can be read now.
    Ended,
}

/// The committed lines of a log, in order.
pub struct Feed {
    data: PathBuf,
    log: PathBuf,
    lines: LogReader,
    last_news: Instant,
}

impl Feed {
    /// Opens the log of a data directory at `after`.
    pub fn open(data: &Path, after: Position) -> Result<Self, Error> {
        DataDirectory::check_version(data)?;
        let log = data.join("log");
        let end = match DataDirectory::take_existing(data) {
            Ok(directory) => committed(&directory, &log)?,
            Err(DirectoryError::InUse { .. }) => acknowledged(&log)?.unwrap_or_default().tail,
            Err(error) => return Err(error.into()),
        };
        let mut feed = Self {
            data: data.to_owned(),
            lines: LogReader::new(&log, after, end),
            log,
            last_news: Instant::now(),
        };
        feed.check_position()?;
        Ok(feed)
    }

    /// Returns the next line and the position behind it, or `None` at the end of what is known to
    /// be committed. Lines that cannot be read are skipped.
    pub fn read_line(&mut self) -> Result<Option<(LogLine, Position)>, Error> {
        loop {
            let line = self.lines.next_line();
            let Some(line) = line.map_err(|error| self.failed(error))? else {
                return Ok(None);
            };
            if line.starts_with(FORGOTTEN_LINE) {
                continue;
            }
            match serde_json::from_slice(&line) {
                Ok(line) => return Ok(Some((line, self.lines.position))),
                Err(error) => {
                    tracing::warn!(%error, before = %self.lines.position, "a line of the fetch log cannot be read");
                }
            }
        }
    }

    /// Updates how far the log is committed.
    pub fn refresh(&mut self) -> Result<Outlook, Error> {
        let known = self.lines.end;
        let found = self.look()?;
        if self.lines.end != known {
            self.last_news = Instant::now();
            return Ok(Outlook::Running);
        }
        if found.open && self.last_news.elapsed() < PATIENCE {
            return Ok(Outlook::Running);
        }
        if DataDirectory::is_taken(&self.data) {
            self.last_news = Instant::now();
            return Ok(Outlook::Running);
        }
        // Looks again, because the crawl may have committed after the first look and ended before
        // the second.
        Ok(if self.look()?.open {
            Outlook::Killed
        } else {
            Outlook::Ended
        })
    }

    fn look(&mut self) -> Result<Acknowledged, Error> {
        let found = acknowledged(&self.log)?.unwrap_or(Acknowledged {
            open: true,
            ..Acknowledged::default()
        });
        // After a kill, the store may acknowledge more than the file does.
        self.lines.end = self.lines.end.max(found.tail);
        Ok(found)
    }

    /// Refuses a position at which no line of this log ends.
    fn check_position(&mut self) -> Result<(), Error> {
        let Position { file, byte } = self.lines.position;
        let refused = |reason| {
            Err(Error::Position {
                position: self.lines.position,
                path: self.log.clone(),
                reason,
            })
        };
        let is_beyond = (
            file,
            if file < self.lines.end.rotated {
                0
            } else {
                byte
            },
        ) > (self.lines.end.rotated, self.lines.end.bytes);
        if is_beyond {
            return refused("it is beyond the end of what is committed");
        }
        if byte == 0 {
            return Ok(());
        }
        let Some(opened) = self.lines.open_file().map_err(|error| self.failed(error))? else {
            return refused("its file was moved away");
        };
        let mut before = [0];
        match opened.read_exact_at(&mut before, byte - 1) {
            Ok(()) if before == *b"\n" => Ok(()),
            _ => refused("no line ends there"),
        }
    }

    fn failed(&self, source: io::Error) -> Error {
        LogError {
            path: self.log.clone(),
            source,
        }
        .into()
    }
}

/// Reads the end of the log in a data directory from the store, which this process has locked.
fn committed(directory: &DataDirectory, log: &Path) -> Result<LogTail, Error> {
    let store = open_store(directory)?;
    let tail = DiskState::read(&*store)?.unwrap_or_default().log;
    match acknowledged(log)? {
        Some(found) if found.tail < tail => {
            // A kill left the file behind the store. Once repaired, it never acknowledges less than
            // a reader was given.
            let mended = Acknowledged { tail, ..found };
            let written = AcknowledgedFile::open(log).and_then(|file| file.write(mended));
            if let Err(error) = written {
                tracing::warn!(%error, "cannot update log/acknowledged for other readers");
            }
        }
        _ => {}
    }
    Ok(tail)
}

fn acknowledged(log: &Path) -> Result<Option<Acknowledged>, Error> {
    Acknowledged::read(log).map_err(|source| {
        LogError {
            path: log.to_owned(),
            source,
        }
        .into()
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::journal::{FetchLog, full_path};

    fn lines(numbers: std::ops::Range<usize>) -> Vec<LogLine> {
        let line = |number| LogLine {
            url: format!("http://example.org/{number}"),
            ..LogLine::default()
        };
        numbers.map(line).collect()
    }

    /// The numbers of the lines up to the end that is known.
    fn read(feed: &mut Feed) -> Vec<usize> {
        let mut numbers = Vec::new();
        while let Some((line, _)) = feed.read_line().unwrap() {
            let number = line.url.rsplit('/').next().unwrap();
            numbers.push(number.parse().unwrap());
        }
        numbers
    }

    #[test]
    fn lines_are_read_when_they_are_acknowledged_and_not_before() {
        let directory = tempfile::tempdir().unwrap();
        let data = directory.path();
        let ours = DataDirectory::take(data).unwrap();
        // Some lines a file.
        let mut log = FetchLog::open(&data.join("log"), 600, LogTail::default()).unwrap();
        let mut feed = Feed::open(data, Position::default()).unwrap();
        let mut expected = 0;
        for number in 0..9 {
            log.append(&lines(number..number + 1)).unwrap();
            assert_eq!(feed.refresh().unwrap(), Outlook::Running);
            assert_eq!(read(&mut feed), [] as [usize; 0]);
            if number % 2 == 0 {
                log.acknowledge().unwrap();
                assert_eq!(feed.refresh().unwrap(), Outlook::Running);
                let now: Vec<usize> = (expected..=number).collect();
                assert_eq!(read(&mut feed), now);
                expected = number + 1;
            }
        }
        let behind: Position = feed.lines.position.to_string().parse().unwrap();
        assert!(behind.file > 1, "the log was rotated");
        drop(log);
        assert_eq!(
            feed.refresh().unwrap(),
            Outlook::Running,
            "it is still ours"
        );
        let mut second = Feed::open(data, behind).unwrap();
        drop(ours);
        assert_eq!(feed.refresh().unwrap(), Outlook::Ended);
        assert_eq!(read(&mut second), [] as [usize; 0]);
    }

    #[test]
    fn a_file_that_was_moved_away_is_left_out_and_no_place_to_go_on_from() {
        let directory = tempfile::tempdir().unwrap();
        let data = directory.path();
        let _ours = DataDirectory::take(data).unwrap();
        let log = data.join("log");
        let mut writer = FetchLog::open(&log, 1, LogTail::default()).unwrap();
        for number in 0..3 {
            writer.append(&lines(number..number + 1)).unwrap();
        }
        writer.acknowledge().unwrap();
        let size = std::fs::metadata(full_path(&log, 0)).unwrap().len();
        std::fs::remove_file(full_path(&log, 0)).unwrap();
        let mut feed = Feed::open(data, Position::default()).unwrap();
        assert_eq!(read(&mut feed), [1, 2]);
        let refused = |file, byte| {
            let refused = Feed::open(data, Position { file, byte });
            assert!(
                matches!(refused, Err(Error::Position { .. })),
                "{file}:{byte}"
            );
        };
        refused(0, size);
        refused(1, size - 1);
        refused(2, size + 1);
        refused(3, 0);
        let mut feed = Feed::open(
            data,
            Position {
                file: 1,
                byte: size,
            },
        )
        .unwrap();
        assert_eq!(read(&mut feed), [2]);
    }
}
