//! Goes through the pages of several crawls: one after the other, each in the order of its commits,
//! with all cores at work and a bounded number of pages in memory.

use std::path::PathBuf;

use super::error::Error;
use super::filter::Filter;
use super::reading::{Found, Reader, Want};
use crate::corpus::{Worked, in_order};
use crate::engine::{LogLine, Position};
use crate::inspect::Feed;

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
                while let Some((line, position)) = feed.read_line()? {
                    done.position = position;
                    done.lines += 1;
                    if !hand_over((line, position)) {
                        break;
                    }
                }
                Ok(())
            },
            |(line, position): (LogLine, Position)| {
                let found = source.reader.find(&line, filter, want);
                let made = found.map(|found| make(found, source, position));
                match made.transpose() {
                    Ok(made) => Worked {
                        values: made.flatten().into_iter().collect(),
                        failure: None,
                    },
                    Err(failure) => Worked {
                        values: Vec::new(),
                        failure: Some(failure),
                    },
                }
            },
            &mut take,
        )?;
        walked.push(done);
    }
    Ok(walked)
}
