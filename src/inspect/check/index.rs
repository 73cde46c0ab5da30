//! The index beside a file of the archive: it has the lines of the file's records, sorted.

use std::fs::File;
use std::io::{self, BufRead as _, BufReader};
use std::path::Path;

use xxhash_rust::xxh3::xxh3_64;

use crate::archive::{ReadRecord, index_line, index_path};

/// The lines that a file's index should have, as a sum that their order does not change.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Lines {
    count: u64,
    sum: u64,
}

impl Lines {
    fn add(&mut self, line: &[u8]) {
        self.count += 1;
        self.sum = self.sum.wrapping_add(xxh3_64(line));
    }

    /// Adds the line of a record of the file `name`.
    pub(super) fn of_record(&mut self, record: &ReadRecord, name: &str) {
        if let Some(line) = index_line(record, name, record.length) {
            self.add(line.as_bytes());
        }
    }

    /// Compares these lines with those beside a file. Returns what is wrong; without an index,
    /// nothing: crawls of earlier versions have none.
    pub(super) fn compare(&self, warc: &Path) -> Option<&'static str> {
        match Self::beside(warc) {
            Ok(Some(found)) if found == *self => None,
            Ok(Some(_)) => Some("does not say what is in its file"),
            Ok(None) => Some("is not sorted"),
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(_) => Some("cannot be read"),
        }
    }

    /// Reads the lines beside a file; `None` if they are not sorted.
    fn beside(warc: &Path) -> io::Result<Option<Self>> {
        let mut found = Self::default();
        let mut last = Vec::new();
        for line in BufReader::new(File::open(index_path(warc))?).split(b'\n') {
            let line = line?;
            if line <= last {
                return Ok(None);
            }
            found.add(&line);
            last = line;
        }
        Ok(Some(found))
    }
}
