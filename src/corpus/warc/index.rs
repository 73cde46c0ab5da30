//! Indexes of WARC files: a line for each capture, sorted and merged.

use std::fs::File;
use std::io::{BufRead as _, BufReader, Read as _};
use std::path::{Path, PathBuf};

use super::{is_of_disk, unreadable};
use crate::archive::{self, Limits, LineSorter, ReadRecord, RecordStream, index_line};
use crate::corpus::Error;

/// Maximum length of a line of an index that is read, in bytes.
const MAX_LINE: u64 = 4 << 20;

/// What was written.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Indexed {
    /// Number of lines.
    pub lines: u64,
    /// Number of captures that have none, because they share a gzip member with other records.
    pub shared: u64,
}

/// Passes the lines of some files to `take`, in order and each once, and each place where a record
/// cannot be read to `damaged`. A file whose name ends in `.cdxj` is an index itself. Temporary
/// files are in `directory`.
pub fn index(
    files: &[PathBuf],
    directory: &Path,
    mut take: impl FnMut(&str) -> Result<(), Error>,
    mut damaged: impl FnMut(&archive::Error) -> Result<(), Error>,
) -> Result<Indexed, Error> {
    let mut indexed = Indexed::default();
    let mut sorter = LineSorter::new(directory);
    let wrong = || Error::io(format!("cannot sort lines in {}", directory.display()));
    for file in files {
        if file.extension().is_some_and(|ending| ending == "cdxj") {
            read_index(file, &mut |line| sorter.add(line).map_err(wrong()))?;
            continue;
        }
        let name = file.file_name().unwrap_or_default().to_string_lossy();
        let name = name.strip_suffix(".open").unwrap_or(&name);
        let mut stream = RecordStream::open(file, Limits::default()).map_err(unreadable)?;
        while let Some(record) = stream.next() {
            let record = match record {
                Ok(record) => record,
                Err(error) if is_of_disk(&error) => return Err(unreadable(error)),
                Err(error) => {
                    damaged(&error)?;
                    continue;
                }
            };
            let length = length_of(&record, stream.is_compressed());
            match index_line(&record, name, length) {
                Some(_) if record.length == 0 => indexed.shared += 1,
                Some(line) => sorter.add(line).map_err(wrong())?,
                None => {}
            }
        }
    }
    for line in sorter.sorted().map_err(wrong())? {
        indexed.lines += 1;
        take(&line.map_err(wrong())?)?;
    }
    Ok(indexed)
}

/// Returns the length of a record as indexes have it: in a file that is not compressed, without the
/// two line ends that follow.
fn length_of(record: &ReadRecord, is_compressed: bool) -> u64 {
    match is_compressed {
        true => record.length,
        false => record.length.saturating_sub(4),
    }
}

/// Passes on the lines of an index.
fn read_index(file: &Path, take: &mut dyn FnMut(String) -> Result<(), Error>) -> Result<(), Error> {
    let wrong = |action: &str| Error::io(format!("cannot {action} {}", file.display()));
    let mut lines = BufReader::new(File::open(file).map_err(wrong("open"))?);
    for number in 1_u64.. {
        let mut line = Vec::new();
        let mut limited = lines.by_ref().take(MAX_LINE);
        if limited
            .read_until(b'\n', &mut line)
            .map_err(wrong("read"))?
            == 0
        {
            break;
        }
        let line = line.trim_ascii_end();
        // What some tools write above the lines.
        if line.is_empty() || line.starts_with(b" ") || line.starts_with(b"!") {
            continue;
        }
        match str::from_utf8(line) {
            Ok(text) if text.contains(" {") && text.ends_with('}') => take(text.to_owned())?,
            _ => {
                return Err(Error::input(format!(
                    "{}, line {number} is no line of a CDXJ index (key, time, JSON): make the \
                     index again, of the WARC file",
                    file.display()
                )));
            }
        }
    }
    Ok(())
}
