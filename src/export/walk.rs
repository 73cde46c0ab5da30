//! Goes through the pages of several crawls: one after the other, each in the order of its commits,
//! with all cores at work and a bounded number of pages in memory.

use std::path::PathBuf;

use super::error::Error;
use super::filter::Filter;
use super::reading::{Found, Reader, Want};
use crate::corpus::{Worked, in_order};
use crate::engine::{LogLine, Position};
use crate::inspect::Feed;

/// Bounds of what a thread gets at once, in lines and in bytes of the bodies that they are about:
/// enough to be worth a change of threads, and little enough for what waits in memory.
const PART_LINES: usize = 16;
const PART_BYTES: u64 = 1 << 20;

/// Lines that a thread gets at once.
#[derive(Default)]
struct Part {
    lines: Vec<(LogLine, Position)>,
    bytes: u64,
}

impl Part {
    fn add(&mut self, line: LogLine, position: Position) {
        self.bytes += line.size;
        self.lines.push((line, position));
    }

    fn is_full(&self) -> bool {
        self.lines.len() >= PART_LINES || self.bytes >= PART_BYTES
    }
}

/// A crawl whose pages are given out.
pub struct Source {
    /// Its data directory.
    pub data: PathBuf,
    /// Finds its pages.
    pub reader: Reader,
    /// Where to begin.
    pub after: Position,
}

/// How far a crawl was read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Walked {
    /// The position behind the last line.
    pub position: Position,
    /// Number of lines.
    pub lines: u64,
}

/// Passes the pages that are wanted to `make`, on several threads, and what it makes of them to
/// `take`, in order. Returns how far each crawl was read.
pub fn walk<T: Send>(
    sources: &[Source],
    filter: &Filter,
    want: Want,
    make: impl Fn(Found<'_>, &Source, Position) -> Result<Option<T>, Error> + Sync,
    mut take: impl FnMut(T) -> Result<(), Error>,
) -> Result<Vec<Walked>, Error> {
    let mut walked = Vec::with_capacity(sources.len());
    for source in sources {
        let mut feed = Feed::open(&source.data, source.after)?;
        let mut done = Walked {
            position: source.after,
            lines: 0,
        };
        in_order(
            None,
            |hand_over| {
                let mut part = Part::default();
                let ended = loop {
                    let (line, position) = match feed.read_line() {
                        Ok(Some(read)) => read,
                        Ok(None) => break Ok(()),
                        Err(error) => break Err(error.into()),
                    };
                    done.position = position;
                    done.lines += 1;
                    part.add(line, position);
                    if part.is_full() && !hand_over(std::mem::take(&mut part)) {
                        break Ok(());
                    }
                };
                hand_over(part);
                ended
            },
            |part: Part| {
                let mut worked = Worked {
                    values: Vec::with_capacity(part.lines.len()),
                    failure: None,
                };
                for (line, position) in part.lines {
                    let found = source.reader.find(&line, filter, want);
                    let made = found.map(|found| make(found, source, position));
                    match made.transpose() {
                        Ok(made) => worked.values.extend(made.flatten()),
                        Err(failure) => {
                            worked.failure = Some(failure);
                            break;
                        }
                    }
                }
                worked
            },
            &mut take,
        )?;
        walked.push(done);
    }
    Ok(walked)
}
