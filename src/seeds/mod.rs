//! Seed lists: the URLs that a crawl begins with, from files, standard input and arguments.
//!
//! A list has one URL per line, or a bare name such as `example.org`, which stands for its page
//! over https. Behind it may stand what holds for all that is found from it, as in
//! `https://example.org/ depth=2 scope=prefix tag=news`; `line.rs` reads that, and the same as a
//! JSON object. `#` begins a comment at the start of a line or after white space; empty lines are
//! ignored, and a byte order mark is skipped. A list that cannot be read completely is refused as a
//! whole, with the line at fault, so that a crawl never begins with half a list. Lists are read in
//! one pass and never held in memory.

mod line;

use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::path::{Path, PathBuf};

pub use crate::frontier::{Seed, SeedSettings};
use crate::url;
pub use line::{parse, to_line};

/// Maximum length of a line, in bytes: longer than any URL that servers accept.
const MAX_LINE: usize = 64 << 10;

/// Where seeds come from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Source {
    /// A URL on the command line.
    Argument(String),
    /// A file.
    File(PathBuf),
}

impl Source {
    /// Returns the seeds of this source, in order.
    pub fn seeds(&self) -> Box<dyn Iterator<Item = Result<Seed, Error>> + Send> {
        match self {
            Source::Argument(text) => Box::new(std::iter::once(parse(text).map_err(|reason| {
                Error::Argument {
                    text: text.clone(),
                    reason,
                }
            }))),
            Source::File(path) => match File::open(path) {
                Ok(file) => Box::new(read(BufReader::new(file), path)),
                Err(source) => Box::new(std::iter::once(Err(Error::Open {
                    path: path.clone(),
                    source,
                }))),
            },
        }
    }
}

/// Reads the seeds of a list; `name` is used in errors.
pub fn read<R: BufRead>(
    mut list: R,
    name: &Path,
) -> impl Iterator<Item = Result<Seed, Error>> + use<R> {
    let name = name.to_owned();
    let mut number = 0_u64;
    let mut line = Vec::new();
    let mut failed = false;
    std::iter::from_fn(move || {
        while !failed {
            number += 1;
            line.clear();
            let seed = match read_line(&mut list, &mut line) {
                Ok(false) => return None,
                Ok(true) => parse_line(&line, number, &name).transpose(),
                Err(source) => Some(Err(Error::Read {
                    path: name.clone(),
                    line: number,
                    source,
                })),
            };
            if let Some(seed) = seed {
                // Nothing is read after a line that could not be read.
                failed = matches!(seed, Err(Error::Read { .. }));
                return Some(seed);
            }
        }
        None
    })
}

/// Reads a line without its end, of at most `MAX_LINE` bytes. Returns `false` at the end of the
/// list.
fn read_line(list: &mut impl BufRead, line: &mut Vec<u8>) -> io::Result<bool> {
    let mut bounded = io::Read::take(list, MAX_LINE as u64);
    let read = bounded.read_until(b'\n', line)?;
    if read == MAX_LINE && line.last() != Some(&b'\n') {
        let message = format!("the line is longer than {MAX_LINE} bytes");
        return Err(io::Error::new(io::ErrorKind::InvalidData, message));
    }
    Ok(read > 0)
}

/// Parses a line. Returns `None` for a comment or an empty line.
fn parse_line(line: &[u8], number: u64, name: &Path) -> Result<Option<Seed>, Error> {
    let malformed = |text: String, reason: Reason| Error::Line {
        path: name.to_owned(),
        line: number,
        text,
        reason,
    };
    let line = match number {
        1 => line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(line),
        _ => line,
    };
    let text = std::str::from_utf8(line).map_err(|_| {
        malformed(
            String::from_utf8_lossy(line).trim().to_owned(),
            Reason::Utf8,
        )
    })?;
    let text = without_comment(text).trim();
    if text.is_empty() {
        return Ok(None);
    }
    parse(text)
        .map(Some)
        .map_err(|reason| malformed(text.to_owned(), reason))
}

/// Removes a comment. A `#` inside a URL begins its fragment; after white space it begins a
/// comment.
fn without_comment(line: &str) -> &str {
    let mut before = ' ';
    for (at, c) in line.char_indices() {
        if c == '#' && before.is_whitespace() {
            return &line[..at];
        }
        before = c;
    }
    line
}

/// What is wrong with a line.
#[derive(Debug, thiserror::Error)]
pub enum Reason {
    /// The line is not UTF-8.
    #[error("not UTF-8")]
    Utf8,
    /// It is not a URL that can be crawled.
    #[error(transparent)]
    Url(url::Error),
    /// What stands behind the URL is no setting of a seed, or has no such value.
    #[error("{0}")]
    Setting(String),
    /// It begins like a JSON object, and is not one of a seed.
    #[error("{0}; an object has \"url\" and, if wanted, \"depth\", \"scope\" and \"tag\"")]
    Object(serde_json::Error),
}

/// Why seeds cannot be used. No seed was admitted.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// An argument is not a URL.
    #[error("the seed {text:?} on the command line cannot be crawled: {reason}")]
    Argument {
        /// The argument.
        text: String,
        /// What is wrong with it.
        reason: Reason,
    },
    /// The list could not be opened.
    #[error(
        "cannot open the seed list {path}: {source}; give an existing file with --seeds, or - for standard input"
    )]
    Open {
        /// Path of the list.
        path: PathBuf,
        /// The underlying error.
        source: io::Error,
    },
    /// The list could not be read.
    #[error(
        "cannot read the seed list {path} at line {line}: {source}; give a file with one URL a line"
    )]
    Read {
        /// Path of the list.
        path: PathBuf,
        /// Line number, from 1.
        line: u64,
        /// The underlying error.
        source: io::Error,
    },
    /// A line is not a URL.
    #[error(
        "{path}:{line}: the seed {text:?} cannot be crawled: {reason}; correct the line, or put # before it to skip it"
    )]
    Line {
        /// Path of the list.
        path: PathBuf,
        /// Line number, from 1.
        line: u64,
        /// Text of the line.
        text: String,
        /// What is wrong with it.
        reason: Reason,
    },
}

impl Error {
    /// Whether a single seed is at fault, and those behind it can be read.
    pub fn is_of_one_seed(&self) -> bool {
        matches!(self, Self::Argument { .. } | Self::Line { .. })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(list: &[u8], expected: &[&str]) {
        let found: Vec<String> = read(list, Path::new("list.txt"))
            .map(|seed| seed.map_or_else(|error| error.to_string(), |seed| seed.url.into()))
            .collect();
        assert_eq!(found.len(), expected.len(), "{found:?}");
        for (found, expected) in found.iter().zip(expected) {
            assert!(
                found.starts_with(expected),
                "{found} does not begin with {expected}"
            );
        }
    }

    #[test]
    fn a_url_a_line() {
        check(
            b"\xef\xbb\xbfhttp://a.org/\n\n# comment\n  http://b.org/x#part  # why\r\nhttps://c.org",
            &["http://a.org/", "http://b.org/x", "https://c.org/"],
        );
        check(b"", &[]);
    }

    #[test]
    fn an_error_names_list_and_line() {
        check(
            b"http://a.org/\nnot a url\n",
            &["http://a.org/", "list.txt:2: the seed \"not a url\""],
        );
        check(
            b"ftp://a.org/\n",
            &["list.txt:1: the seed \"ftp://a.org/\" cannot be crawled: scheme `ftp`"],
        );
        check(b"\n\n\xff\xfe\n", &["list.txt:3:"]);
        let long = [
            &b"http://a.org/\nhttp://"[..],
            &vec![b'a'; MAX_LINE + 5],
            b"\nhttp://b.org/",
        ]
        .concat();
        check(
            &long,
            &[
                "http://a.org/",
                "cannot read the seed list list.txt at line 2",
            ],
        );
    }
}
