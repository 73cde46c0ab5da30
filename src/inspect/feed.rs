//! The committed log as a stream: from a position up to what is acknowledged, and on from there
//! while a crawl runs.
//!
//! Only reads files, so it works beside the process that has the store locked. What that process
//! has not committed is never read, because a kill would take it back. Lines are never changed.

use std::fs::File;
use std::io::{self, BufRead as _, BufReader, Read as _, Take};
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crate::engine::{DataDirectory, DirectoryError, Error, open_store};
use crate::journal::{Acknowledged, AcknowledgedFile, Position, current_path, full_path};
use crate::journal::{LogError, LogLine};
use crate::rows::{DiskState, LogTail};

/// Maximum length of a line, in bytes: URLs are limited to 16 KiB, headers to a setting far below.
const MAX_LINE: u64 = 4 << 20;

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
    end: LogTail,
    /// Position behind the last line that was returned.
    position: Position,
    file: Option<BufReader<Take<File>>>,
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
            log,
            end,
            position: after,
            file: None,
            last_news: Instant::now(),
        };
        feed.check_position()?;
        Ok(feed)
    }

    /// Returns the next line and the position behind it, or `None` at the end of what is known to
    /// be committed. Lines that cannot be read are skipped.
    pub fn read_line(&mut self) -> Result<Option<(LogLine, Position)>, Error> {
        loop {
            let is_full = self.position.file < self.end.rotated;
            let beyond =
                (self.position.file, self.position.byte) >= (self.end.rotated, self.end.bytes);
            if !is_full && beyond {
                return Ok(None);
            }
            let Some(line) = self
                .next_in_file(is_full)
                .map_err(|error| self.failed(error))?
            else {
                if !is_full {
                    return Ok(None);
                }
                self.position = Position {
                    file: self.position.file + 1,
                    byte: 0,
                };
                self.file = None;
                continue;
            };
            match serde_json::from_slice(&line) {
                Ok(line) => return Ok(Some((line, self.position))),
                Err(error) => {
                    tracing::warn!(%error, before = %self.position, "a line of the fetch log cannot be read");
                }
            }
        }
    }

    /// Updates how far the log is committed.
    pub fn refresh(&mut self) -> Result<Outlook, Error> {
        let known = self.end;
        let found = self.look()?;
        if self.end != known {
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
        self.end = self.end.max(found.tail);
        Ok(found)
    }

    /// Returns the next line of this file without its end, or `None` at the end of the file or of
    /// what may be read of it.
    fn next_in_file(&mut self, is_full: bool) -> io::Result<Option<Vec<u8>>> {
        let Position { file, byte } = self.position;
        if self.file.is_none() {
            let Some(mut opened) = self.open_file()? else {
                tracing::warn!(
                    file,
                    "a file of the fetch log was moved away; its lines are skipped"
                );
                return Ok(None);
            };
            io::Seek::seek(&mut opened, io::SeekFrom::Start(byte))?;
            self.file = Some(BufReader::new(opened.take(0)));
        }
        let Some(reader) = &mut self.file else {
            return Ok(None);
        };
        // Reads no byte further, because the buffer would then hold what a kill takes back.
        let buffered = byte + reader.buffer().len() as u64;
        let end = if is_full { u64::MAX } else { self.end.bytes };
        reader.get_mut().set_limit(end.saturating_sub(buffered));
        let mut line = Vec::new();
        let read = reader.take(MAX_LINE).read_until(b'\n', &mut line)?;
        self.position.byte += read as u64;
        Ok((read > 0).then_some(line))
    }

    /// Opens the file of the position, or returns `None` if it no longer exists.
    fn open_file(&self) -> io::Result<Option<File>> {
        let full = full_path(&self.log, self.position.file);
        loop {
            match File::open(&full) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                opened => return opened.map(Some),
            }
            if self.position.file < self.end.rotated {
                return Ok(None);
            }
            match File::open(current_path(&self.log)) {
                // The file was full in the meantime, so this may be the one after it.
                Ok(_) if full.exists() => {}
                Err(error) if error.kind() == io::ErrorKind::NotFound && full.exists() => {}
                opened => return opened.map(Some),
            }
        }
    }

    /// Refuses a position at which no line of this log ends.
    fn check_position(&mut self) -> Result<(), Error> {
        let Position { file, byte } = self.position;
        let refused = |reason| {
            Err(Error::Position {
                position: self.position,
                path: self.log.clone(),
                reason,
            })
        };
        let is_beyond = (file, if file < self.end.rotated { 0 } else { byte })
            > (self.end.rotated, self.end.bytes);
        if is_beyond {
            return refused("it is beyond the end of what is committed");
        }
        if byte == 0 {
            return Ok(());
        }
        let Some(opened) = self.open_file().map_err(|error| self.failed(error))? else {
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
    use crate::journal::FetchLog;

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
        let behind: Position = feed.position.to_string().parse().unwrap();
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
