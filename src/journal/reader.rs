//! Reads the lines of the fetch log from a position on, up to an end that is known to be committed.

use std::fs::{File, OpenOptions};
use std::io::{self, BufRead as _, BufReader, Read as _, Take};
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};

use super::fetch_log::{current_path, full_path};
use super::position::Position;
use crate::rows::LogTail;

/// Maximum length of a line, in bytes: URLs are limited to 16 KiB, headers to a setting far below.
const MAX_LINE: u64 = 4 << 20;

/// The lines of a log, in order.
pub struct LogReader {
    directory: PathBuf,
    /// The end of what is committed.
    pub end: LogTail,
    /// Position behind the last line that was returned.
    pub position: Position,
    file: Option<BufReader<Take<File>>>,
    /// The file that is written over, and its number.
    written: Option<(u32, File)>,
}

impl LogReader {
    /// Reads the log in a directory, between a position and an end.
    pub fn new(directory: &Path, position: Position, end: LogTail) -> Self {
        Self {
            directory: directory.to_owned(),
            end,
            position,
            file: None,
            written: None,
        }
    }

    /// Returns the next line as it stands in its file, or `None` at the end of what is committed. A
    /// file that was moved away is passed over.
    pub fn next_line(&mut self) -> io::Result<Option<Vec<u8>>> {
        loop {
            let is_full = self.position.file < self.end.rotated;
            let beyond =
                (self.position.file, self.position.byte) >= (self.end.rotated, self.end.bytes);
            if !is_full && beyond {
                return Ok(None);
            }
            let line = self.next_in_file(is_full)?;
            if line.is_some() || !is_full {
                return Ok(line);
            }
            self.position = Position {
                file: self.position.file + 1,
                byte: 0,
            };
            self.file = None;
        }
    }

    /// Returns the next line of this file, or `None` at the end of the file or of what may be read
    /// of it.
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

    /// Opens the file of the position to read it, or returns `None` if it no longer exists.
    pub fn open_file(&self) -> io::Result<Option<File>> {
        self.open_as(OpenOptions::new().read(true))
    }

    /// Opens the file of the position, or returns `None` if it no longer exists.
    fn open_as(&self, options: &OpenOptions) -> io::Result<Option<File>> {
        let full = full_path(&self.directory, self.position.file);
        loop {
            match options.open(&full) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                opened => return opened.map(Some),
            }
            if self.position.file < self.end.rotated {
                return Ok(None);
            }
            match options.open(current_path(&self.directory)) {
                // The file was full in the meantime, so this may be the one after it.
                Ok(_) if full.exists() => {}
                Err(error) if error.kind() == io::ErrorKind::NotFound && full.exists() => {}
                opened => return opened.map(Some),
            }
        }
    }

    /// Writes `line` over the line that was returned last, which has `length` bytes with its end;
    /// what it is shorter is filled with spaces.
    ///
    /// # Errors
    ///
    /// Those of the operating system; [`io::ErrorKind::InvalidInput`] if it is longer.
    pub fn overwrite(&mut self, line: &[u8], length: usize) -> io::Result<()> {
        let room = length.checked_sub(1).filter(|room| line.len() <= *room);
        let (Some(room), Some(at)) = (room, self.position.byte.checked_sub(length as u64)) else {
            return Err(io::ErrorKind::InvalidInput.into());
        };
        let mut text = line.to_vec();
        text.resize(room, b' ');
        let number = self.position.file;
        if self
            .written
            .as_ref()
            .is_none_or(|(open, _)| *open != number)
        {
            self.sync()?;
            let file = self.open_as(OpenOptions::new().write(true))?;
            self.written = file.map(|file| (number, file));
        }
        match &self.written {
            Some((_, file)) => file.write_all_at(&text, at),
            None => Ok(()),
        }
    }

    /// Makes durable what was written over.
    pub fn sync(&mut self) -> io::Result<()> {
        match self.written.take() {
            Some((_, file)) => file.sync_data(),
            None => Ok(()),
        }
    }
}

/// What stands in place of a line that was forgotten.
pub const FORGOTTEN_LINE: &[u8] = br#"{"forgotten":true}"#;
