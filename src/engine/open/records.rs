//! Records of WARC files that others wrote, as both their readers here take them: what is known,
//! and what is asked for again.

use std::fs::File;
use std::io::{self, Read as _};
use std::path::Path;

use jiff::Timestamp;

use super::parts::in_parts;
use crate::archive::{self, ReadRecord, RecordStream};
use crate::engine::error::Error;
use crate::url::{self, Url};

/// Number of bytes of blocks that are read at once.
const CHUNK_BYTES: usize = 32 << 20;

/// Number of bytes at the beginning of a file by which it is recognized under any name: they
/// contain the id of its first record, which no other file has.
const MARK_BYTES: u64 = 64 << 10;

/// Reads the next records, so many at most; none at the end. What cannot be read goes to `damaged`.
///
/// # Errors
///
/// [`archive::Error::Io`].
pub(super) fn next_chunk(
    records: &mut RecordStream,
    most: usize,
    mut damaged: impl FnMut(archive::Error),
) -> Result<Vec<ReadRecord>, archive::Error> {
    let mut chunk: Vec<ReadRecord> = Vec::new();
    let mut bytes = 0;
    while chunk.len() < most && bytes < CHUNK_BYTES {
        match records.next() {
            Some(Ok(record)) => {
                bytes += record.block.len();
                chunk.push(record);
            }
            Some(Err(error @ archive::Error::Io { .. })) => return Err(error),
            Some(Err(error)) => damaged(error),
            None => break,
        }
    }
    Ok(chunk)
}

/// Reads records on all cores, and returns what they say in their order.
pub(super) fn read_all<R: Send>(
    records: &[ReadRecord],
    read: impl Fn(&ReadRecord) -> Option<R> + Sync,
) -> Result<Vec<R>, Error> {
    let parts = in_parts(records, |part: &[ReadRecord]| -> Vec<R> {
        part.iter().filter_map(&read).collect()
    });
    let parts = parts.map_err(|_| Error::Internal("reading a WARC file failed".to_owned()))?;
    Ok(parts.into_iter().flatten().collect())
}

/// Returns the beginning of a file.
pub(super) fn mark(path: &Path) -> io::Result<Vec<u8>> {
    let mut mark = Vec::new();
    File::open(path)?.take(MARK_BYTES).read_to_end(&mut mark)?;
    Ok(mark)
}

/// Returns a URL that a record names, if it is one that can be crawled.
pub(super) fn target(record: &ReadRecord, field: &str) -> Option<Url> {
    let uri = record.header(field)?;
    let url = url::parse(uri.trim_matches(['<', '>'])).ok()?;
    matches!(url.scheme(), "http" | "https").then_some(url)
}

/// Returns a date that a record names.
pub(super) fn date(record: &ReadRecord, field: &str) -> Option<Timestamp> {
    record.header(field)?.parse().ok()
}

/// Returns `true` for the record of a verdict: metadata that an earlier crawl of ours wrote.
pub(super) fn is_verdict(record: &ReadRecord) -> bool {
    let mut lines = record.block.split(|byte| *byte == b'\n');
    record.header("WARC-Type") == Some("metadata")
        && lines.any(|line| line.starts_with(b"verdict:"))
}
