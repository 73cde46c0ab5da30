//! Segments read back, one gzip member after the other: for looking up an original, for audits,
//! for rebuilding what was derived from the archive, and for tests. Files may be torn or hostile:
//! the answer is then an error, never a panic, and never more memory than [`Limits`] allow.
//! Reads WARC/1.0 too. Never writes.

use std::fs::File;
use std::io::{self, BufRead as _, BufReader, ErrorKind, Read, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};

use flate2::bufread::GzDecoder;

use super::id::Digest;
use super::{Error, Result};

/// How much of one record is held in memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of version line and named fields. Default: 256 kB; `record.rs` writes at most two
    /// URIs of 64 kB and a few hundred bytes.
    pub header_bytes: u64,
    /// Bytes of the block. Default: 256 MB.
    pub block_bytes: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            header_bytes: 256 * 1024,
            block_bytes: 256 * 1024 * 1024,
        }
    }
}

/// A record as it was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReadRecord {
    /// Named fields in their order, without the white space around values.
    pub headers: Vec<(String, String)>,
    /// The block.
    pub block: Vec<u8>,
    /// First byte of its gzip member in the file.
    pub offset: u64,
    /// Bytes of the gzip member.
    pub length: u64,
}

impl ReadRecord {
    /// The first value of a field; names are compared without regard to case.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers
            .iter()
            .find(|(field, _)| field.eq_ignore_ascii_case(name))
            .map(|(_, value)| value.as_str())
    }

    /// Head (with the empty line that ends it) and payload of a block that is an HTTP message.
    pub fn http_parts(&self) -> Option<(&[u8], &[u8])> {
        let is_http = |value: &str| value.trim_start().starts_with("application/http");
        if !self.header("Content-Type").is_some_and(is_http) {
            return None;
        }
        let end = self.block.windows(4).position(|w| w == b"\r\n\r\n")? + 4;
        self.block.split_at_checked(end)
    }

    /// Whether the block has the digest that its header names; nothing if it names none, or one of
    /// another kind than SHA-256.
    pub fn block_is_intact(&self) -> Option<bool> {
        let named = Digest::parse(self.header("WARC-Block-Digest")?)?;
        Some(named == Digest::of(&self.block))
    }
}

/// The records of a segment, from its first one.
pub fn records(path: impl AsRef<Path>) -> Result<SegmentReader> {
    SegmentReader::open_at(path.as_ref(), 0, Limits::default())
}

/// An iterator over the records of one file. After an error it ends: where the next record would
/// begin is then unknown.
pub struct SegmentReader {
    path: PathBuf,
    file: Counted,
    limits: Limits,
    done: bool,
}

impl SegmentReader {
    /// Reads from the record at `offset` on.
    pub fn open_at(path: &Path, offset: u64, limits: Limits) -> Result<Self> {
        let mut file = File::open(path).map_err(Error::io("open", path))?;
        if offset > 0 {
            file.seek(SeekFrom::Start(offset))
                .map_err(Error::io("read", path))?;
        }
        Ok(Self {
            path: path.to_owned(),
            file: Counted {
                file: BufReader::with_capacity(64 * 1024, file),
                position: offset,
            },
            limits,
            done: false,
        })
    }

    fn read(&mut self) -> Option<Result<ReadRecord>> {
        let offset = self.file.position;
        let record = match self.file.fill_buf() {
            Ok([]) => return None,
            Ok(_) => self.member(offset),
            Err(source) => Err(Wrong::Io(source)),
        };
        Some(record.map_err(|wrong| wrong.at(&self.path, offset)))
    }

    /// One gzip member, which must hold one record and nothing else.
    fn member(&mut self, offset: u64) -> std::result::Result<ReadRecord, Wrong> {
        let mut text = BufReader::new(GzDecoder::new(&mut self.file));
        let headers = named_fields(&mut text, self.limits.header_bytes)?;
        let block_length = content_length(&headers)?;
        if block_length > self.limits.block_bytes {
            let limit = self.limits.block_bytes;
            return Err(Wrong::Format(format!(
                "its block of {block_length} bytes is larger than the {limit} that may be read"
            )));
        }
        // Memory follows what is there, not what the header promises.
        let mut block = Vec::new();
        (&mut text).take(block_length).read_to_end(&mut block)?;
        if (block.len() as u64) < block_length {
            return Err(Wrong::Format(format!(
                "its block should have {block_length} bytes and has {}",
                block.len()
            )));
        }
        // Reading to the end of the member is also what checks its checksum.
        let mut rest = Vec::new();
        (&mut text).take(5).read_to_end(&mut rest)?;
        if rest != b"\r\n\r\n" {
            return Err(Wrong::Format(
                "its block is not followed by two line ends and the end of the gzip member"
                    .to_owned(),
            ));
        }
        drop(text);
        Ok(ReadRecord {
            headers,
            block,
            offset,
            length: self.file.position - offset,
        })
    }
}

impl Iterator for SegmentReader {
    type Item = Result<ReadRecord>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.done {
            return None;
        }
        let record = self.read();
        self.done = !matches!(record, Some(Ok(_)));
        record
    }
}

/// What stopped a record from being read, before it is known where that was.
enum Wrong {
    Io(io::Error),
    Format(String),
}

impl Wrong {
    fn at(self, path: &Path, offset: u64) -> Error {
        let path = path.to_owned();
        match self {
            Wrong::Io(source) => match source.kind() {
                ErrorKind::UnexpectedEof => Error::Torn { path, offset },
                // The decoder's words for bytes that are not gzip.
                ErrorKind::InvalidInput | ErrorKind::InvalidData => Error::Format {
                    path,
                    offset,
                    reason: source.to_string(),
                },
                _ => Error::io("read", &path)(source),
            },
            Wrong::Format(reason) => Error::Format {
                path,
                offset,
                reason,
            },
        }
    }
}

impl From<io::Error> for Wrong {
    fn from(source: io::Error) -> Self {
        Wrong::Io(source)
    }
}

/// Version line and named fields up to the empty line, at most `limit` bytes.
fn named_fields(
    text: &mut impl io::BufRead,
    limit: u64,
) -> std::result::Result<Vec<(String, String)>, Wrong> {
    let mut text = text.take(limit);
    let mut line = Vec::new();
    let mut next_line = || {
        line.clear();
        text.read_until(b'\n', &mut line)?;
        let Some(without_end) = line.strip_suffix(b"\n") else {
            return Err(Wrong::Format(match text.limit() {
                0 => format!("its header is longer than {limit} bytes"),
                _ => "its header does not end".to_owned(),
            }));
        };
        let without_end = without_end.strip_suffix(b"\r").unwrap_or(without_end);
        Ok(String::from_utf8_lossy(without_end).into_owned())
    };
    let version = next_line()?;
    if !matches!(version.trim_end(), "WARC/1.0" | "WARC/1.1") {
        return Err(Wrong::Format("it does not begin with WARC/1.1".to_owned()));
    }
    let mut fields: Vec<(String, String)> = Vec::new();
    loop {
        let line = next_line()?;
        if line.is_empty() {
            return Ok(fields);
        }
        match (fields.last_mut(), line.split_once(':')) {
            // A folded value: WARC/1.1 still allows it, chapter 4.
            (Some((_, value)), _) if line.starts_with([' ', '\t']) => {
                value.push(' ');
                value.push_str(line.trim());
            }
            (_, Some((name, value))) if !name.is_empty() => {
                fields.push((name.trim_end().to_owned(), value.trim().to_owned()));
            }
            _ => {
                return Err(Wrong::Format(
                    "a line of its header is no named field".to_owned(),
                ));
            }
        }
    }
}

fn content_length(fields: &[(String, String)]) -> std::result::Result<u64, Wrong> {
    let mut lengths = fields
        .iter()
        .filter(|(name, _)| name.eq_ignore_ascii_case("Content-Length"));
    let length = match (lengths.next(), lengths.next()) {
        (Some((_, value)), None) if value.bytes().all(|b| b.is_ascii_digit()) => value.parse().ok(),
        _ => None,
    };
    length.ok_or_else(|| Wrong::Format("it does not have one Content-Length".to_owned()))
}

/// A file that knows how far it was read. The decoder takes exactly its member, so between two
/// members this is the boundary.
struct Counted {
    file: BufReader<File>,
    position: u64,
}

impl Read for Counted {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.file.read(buffer)?;
        self.position += read as u64;
        Ok(read)
    }
}

impl io::BufRead for Counted {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        self.file.fill_buf()
    }

    fn consume(&mut self, amount: usize) {
        self.file.consume(amount);
        self.position += amount as u64;
    }
}
