//! Reads segments, one gzip member after the other: to look up an original, for audits, to rebuild
//! what was derived from the archive, and in tests. Files may be torn or hostile: reading them
//! gives an error, never a panic, and never takes more memory than [`Limits`] allow. WARC/1.0 is
//! read too. Nothing is written here.

use std::fs::File;
use std::io::{self, BufRead as _, BufReader, ErrorKind, Read, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};

use flate2::Compression;
use flate2::bufread::{GzDecoder, GzEncoder};

use super::elsewhere::open_to_read;
use super::id::{Digest, DigestAlgorithm};
use super::{Error, Result};

/// Maximum sizes of a record held in memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Version line and named fields, in bytes. Default: 256 kB; `record.rs` writes at most two
    /// URIs of 64 kB and a few hundred bytes.
    pub header_bytes: u64,
    /// Block, in bytes. Default: 256 MB.
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

/// A record as found in a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReadRecord {
    /// The version line, such as `WARC/1.1`.
    pub version: &'static str,
    /// Named fields in order, without the white space around values.
    pub headers: Vec<(String, String)>,
    /// The block.
    pub block: Vec<u8>,
    /// Offset of the record's gzip member in the file.
    pub offset: u64,
    /// Length of the gzip member, in bytes.
    pub length: u64,
}

impl ReadRecord {
    /// Returns the first value of a field. Names are compared ignoring case.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers
            .iter()
            .find(|(field, _)| field.eq_ignore_ascii_case(name))
            .map(|(_, value)| value.as_str())
    }

    /// Splits a block that is an HTTP message into head (including the empty line that ends it) and
    /// payload.
    pub fn http_parts(&self) -> Option<(&[u8], &[u8])> {
        if !is_http(&self.headers) {
            return None;
        }
        let end = self.block.windows(4).position(|w| w == b"\r\n\r\n")? + 4;
        self.block.split_at_checked(end)
    }

    /// Returns `true` for a revisit record that refers to the same payload, byte for byte. Its
    /// block is then the head of a response with that payload.
    pub fn has_identical_payload(&self) -> bool {
        let profile = self.header("WARC-Profile").unwrap_or_default();
        profile.ends_with("/identical-payload-digest")
    }

    /// Returns the record as it stands in a file that is not compressed.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = format!("{}\r\n", self.version).into_bytes();
        for (name, value) in &self.headers {
            bytes.extend_from_slice(format!("{name}: {value}\r\n").as_bytes());
        }
        bytes.extend_from_slice(b"\r\n");
        bytes.extend_from_slice(&self.block);
        bytes.extend_from_slice(b"\r\n\r\n");
        bytes
    }

    /// Returns the record as a gzip member.
    pub fn to_member(&self) -> Vec<u8> {
        let mut member = Vec::new();
        let bytes = self.to_bytes();
        let mut encoder = GzEncoder::new(&bytes[..], Compression::new(4));
        // Both ends are memory.
        let _ = encoder.read_to_end(&mut member);
        member
    }

    /// Tells whether the block matches the digest in the header. Returns `None` if the header has
    /// none, or one that gleaner does not write.
    pub fn block_is_intact(&self) -> Option<bool> {
        let named = self.header("WARC-Block-Digest")?;
        if named.starts_with("sha1:") {
            return Some(DigestAlgorithm::Sha1.digest([&self.block[..]]) == named);
        }
        Some(Digest::parse(named)? == Digest::of(&self.block))
    }
}

/// Returns the head of the HTTP message in the record at `offset`, with the empty line that ends
/// it; `None` if the record is no HTTP message, or its head is longer than a header may be. Less
/// than the whole record is read, so its checksum says nothing.
pub fn http_head(path: &Path, offset: u64, limits: Limits) -> Result<Option<Vec<u8>>> {
    let mut reader = SegmentReader::open_at(path, offset, limits)?;
    let head = reader.head();
    head.map_err(|wrong| wrong.at(path, offset))
}

/// Reads the records of a segment, from the first one.
pub fn records(path: impl AsRef<Path>) -> Result<SegmentReader> {
    SegmentReader::open_at(path.as_ref(), 0, Limits::default())
}

/// An iterator over the records of one file. It ends after an error, because it is then unknown
/// where the next record begins.
pub struct SegmentReader {
    path: PathBuf,
    file: Counted,
    limits: Limits,
    done: bool,
}

impl SegmentReader {
    /// Starts reading at the record at `offset`.
    pub fn open_at(path: &Path, offset: u64, limits: Limits) -> Result<Self> {
        let mut file = open_to_read(path).map_err(Error::io("open", path))?;
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

    #[expect(
        clippy::disallowed_methods,
        reason = "header and head are read within `Limits`"
    )]
    fn head(&mut self) -> std::result::Result<Option<Vec<u8>>, Wrong> {
        let mut text = BufReader::new(GzDecoder::new(&mut self.file));
        let (_, headers) = named_fields(&mut text, self.limits.header_bytes)?;
        let block_length = content_length(&headers)?;
        if !is_http(&headers) {
            return Ok(None);
        }
        let mut block = text.take(block_length.min(self.limits.header_bytes));
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            if block.read_until(b'\n', &mut head)? == 0 {
                return Ok(None);
            }
        }
        Ok(Some(head))
    }

    /// Reads one gzip member, which must contain one record and nothing else.
    #[expect(
        clippy::disallowed_methods,
        reason = "header and block are read within `Limits`"
    )]
    fn member(&mut self, offset: u64) -> std::result::Result<ReadRecord, Wrong> {
        let mut text = BufReader::new(GzDecoder::new(&mut self.file));
        let (version, headers) = named_fields(&mut text, self.limits.header_bytes)?;
        let block_length = content_length(&headers)?;
        if block_length > self.limits.block_bytes {
            let limit = self.limits.block_bytes;
            return Err(Wrong::TooLarge {
                length: block_length,
                limit,
            });
        }
        // Memory grows with what is there, not with what the header promises.
        let mut block = Vec::new();
        (&mut text).take(block_length).read_to_end(&mut block)?;
        if (block.len() as u64) < block_length {
            return Err(Wrong::Format(format!(
                "its block should have {block_length} bytes and has {}",
                block.len()
            )));
        }
        // Reading to the end of the member also verifies its checksum.
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
            version,
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

/// Why a record could not be read, before its offset is added.
pub(super) enum Wrong {
    Io(io::Error),
    Format(String),
    TooLarge { length: u64, limit: u64 },
}

impl Wrong {
    pub(super) fn at(self, path: &Path, offset: u64) -> Error {
        let path = path.to_owned();
        match self {
            Wrong::Io(source) => match source.kind() {
                ErrorKind::UnexpectedEof => Error::Torn { path, offset },
                // The kinds of error with which the decoder reports bytes that are not gzip.
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
            Wrong::TooLarge { length, limit } => Error::TooLarge {
                path,
                offset,
                length,
                limit,
            },
        }
    }
}

impl From<io::Error> for Wrong {
    fn from(source: io::Error) -> Self {
        Wrong::Io(source)
    }
}

/// The version and the named fields of a record.
pub(super) type Head = (&'static str, Vec<(String, String)>);

/// Reads the version line and the named fields up to the empty line, at most `limit` bytes.
pub(super) fn named_fields(
    text: &mut impl io::BufRead,
    limit: u64,
) -> std::result::Result<Head, Wrong> {
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
    let version = match version.trim_end() {
        "WARC/1.0" => "WARC/1.0",
        "WARC/1.1" => "WARC/1.1",
        _ => return Err(Wrong::Format("it does not begin with WARC/1.1".to_owned())),
    };
    let mut fields: Vec<(String, String)> = Vec::new();
    loop {
        let line = next_line()?;
        if line.is_empty() {
            return Ok((version, fields));
        }
        match (fields.last_mut(), line.split_once(':')) {
            // A folded value, which WARC/1.1 still allows (chapter 4).
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

/// Returns `true` if named fields are those of a record with an HTTP message.
fn is_http(fields: &[(String, String)]) -> bool {
    fields
        .iter()
        .find(|(name, _)| name.eq_ignore_ascii_case("Content-Type"))
        .is_some_and(|(_, value)| value.trim_start().starts_with("application/http"))
}

pub(super) fn content_length(fields: &[(String, String)]) -> std::result::Result<u64, Wrong> {
    let mut lengths = fields
        .iter()
        .filter(|(name, _)| name.eq_ignore_ascii_case("Content-Length"));
    let length = match (lengths.next(), lengths.next()) {
        (Some((_, value)), None) if value.bytes().all(|b| b.is_ascii_digit()) => value.parse().ok(),
        _ => None,
    };
    length.ok_or_else(|| Wrong::Format("it does not have one Content-Length".to_owned()))
}

/// A file that counts how far it was read. The decoder consumes exactly one member, so after each
/// member the count is its end.
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
