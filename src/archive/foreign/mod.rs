//! Reads WARC files whoever wrote them: plain, gzip with a member for each record or one for all,
//! zstd with or without a dictionary. (`reader.rs` reads this archive's own files, where anything
//! unusual is damage.)
//!
//! What is damaged costs the records that it touches: reading goes on at the next record that can
//! be found, and each gap is one error. Files may be torn or hostile: reading them gives errors,
//! never a panic, and takes no more memory than [`Limits`] allow.

mod text;

use std::path::{Path, PathBuf};

use super::reader::{Head, Limits, ReadRecord, Wrong, content_length, named_fields};
use super::{Error, Result};
use text::{Place, Text};

/// What begins each record.
const VERSION: &[u8] = b"WARC/1.";

/// Maximum number of damaged records after which a file is given up.
const MAX_DAMAGED: u64 = 10_000;

/// The records of a file that anyone may have written. After an error it goes on.
///
/// A record's offset and length are those of its gzip member or zstd frame, or of its bytes in a
/// plain file. Where a member has several records, the length is 0: such a record cannot be read
/// from its offset alone.
pub struct RecordStream {
    path: PathBuf,
    text: Text,
    limits: Limits,
    damaged: u64,
    is_over: bool,
}

impl RecordStream {
    /// Opens a file.
    pub fn open(path: &Path, limits: Limits) -> Result<Self> {
        Self::open_at(path, 0, limits)
    }

    /// Opens a file at the beginning of a record that can be read from its offset alone.
    pub fn open_at(path: &Path, offset: u64, limits: Limits) -> Result<Self> {
        let text = Text::open(path, offset).map_err(Error::io("open", path))?;
        Ok(Self {
            path: path.to_owned(),
            text,
            limits,
            damaged: 0,
            is_over: false,
        })
    }

    /// Returns how many bytes of the file were read.
    pub fn position(&self) -> u64 {
        self.text.position()
    }

    /// Returns `true` if the file is compressed, so that what is between records is part of them.
    pub fn is_compressed(&self) -> bool {
        self.text.is_compressed()
    }

    /// Reads a record; `None` at the end.
    fn read(&mut self) -> std::result::Result<Option<ReadRecord>, (u64, Wrong)> {
        let begin = match self.text.begin() {
            Ok(Some(begin)) => begin,
            Ok(None) => return Ok(None),
            Err(source) => return Err((self.text.member(), source.into())),
        };
        let wrong = |wrong| (begin.member, wrong);
        let ((version, headers), block) = self.record().map_err(wrong)?;
        let end = self.text.end().map_err(|source| wrong(source.into()))?;
        Ok(Some(ReadRecord {
            version,
            headers,
            block,
            offset: begin.offset(),
            length: begin.length_to(end),
        }))
    }

    fn record(&mut self) -> std::result::Result<(Head, Vec<u8>), Wrong> {
        let head = named_fields(&mut self.text, self.limits.header_bytes)?;
        let length = content_length(&head.1)?;
        if length > self.limits.block_bytes {
            return Err(Wrong::TooLarge {
                length,
                limit: self.limits.block_bytes,
            });
        }
        let block = self.text.take_bytes(length)?;
        if (block.len() as u64) < length {
            return Err(Wrong::Format(format!(
                "its block should have {length} bytes and has {}",
                block.len()
            )));
        }
        // Some writers forget the two line ends after the last record, or after each.
        match self.text.skip_line_ends()? {
            2.. => Ok((head, block)),
            _ if self.text.is_over()? || self.text.is_at(VERSION)? => Ok((head, block)),
            _ => Err(Wrong::Format(
                "its block is not followed by two line ends, so that its length must be wrong"
                    .to_owned(),
            )),
        }
    }

    /// Finds the next record behind what cannot be read. `begin` is where that begins.
    fn recover(&mut self, begin: Option<Place>, member: u64) -> bool {
        self.damaged += 1;
        self.damaged <= MAX_DAMAGED && self.text.recover(begin, member, VERSION).unwrap_or(false)
    }
}

impl Iterator for RecordStream {
    type Item = Result<ReadRecord>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.is_over {
            return None;
        }
        match self.read() {
            Ok(Some(record)) => Some(Ok(record)),
            Ok(None) => {
                self.is_over = true;
                None
            }
            Err((offset, wrong)) => {
                let begin = self.text.begun();
                self.is_over = !self.recover(begin, offset);
                let at = begin.map_or(offset, Place::offset);
                Some(Err(wrong.at(&self.path, at)))
            }
        }
    }
}

#[cfg(test)]
mod tests;
