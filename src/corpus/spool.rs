//! Temporary files of records, which are written one after another and read by their places.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process;

use super::Error;

/// Bytes that are written at once.
const BUFFER: usize = 1 << 18;

/// A temporary file. It has no name, so nothing remains of it whatever happens.
pub(super) struct Spool {
    file: File,
    directory: PathBuf,
    /// What is not written yet, and where it belongs.
    buffer: Vec<u8>,
    written: u64,
}

/// Where a record is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Place {
    offset: u64,
    length: u32,
}

impl Spool {
    /// Creates an empty file in a directory.
    pub(super) fn create(directory: &Path) -> Result<Self, Error> {
        let failed = |source| failed(directory)(source);
        let open = |number: u32| {
            let name = format!("gleaner-dedup-{}-{number}", process::id());
            let path = directory.join(name);
            let file = OpenOptions::new()
                .read(true)
                .write(true)
                .create_new(true)
                .open(&path)?;
            fs::remove_file(path)?;
            Ok::<_, io::Error>(file)
        };
        let mut number = 0;
        let file = loop {
            match open(number) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => number += 1,
                opened => break opened.map_err(failed)?,
            }
        };
        Ok(Self {
            file,
            directory: directory.to_owned(),
            buffer: Vec::with_capacity(BUFFER),
            written: 0,
        })
    }

    /// Adds a record.
    pub(super) fn push(&mut self, record: &[u8]) -> Result<Place, Error> {
        let place = Place {
            offset: self.written + self.buffer.len() as u64,
            length: u32::try_from(record.len())
                .map_err(|_| Error::input("a document of more than 4 GiB"))?,
        };
        self.buffer.extend_from_slice(record);
        if self.buffer.len() >= BUFFER {
            self.flush()?;
        }
        Ok(place)
    }

    /// Writes what was added. Only then it can be read.
    pub(super) fn flush(&mut self) -> Result<(), Error> {
        let written = (&self.file).write_all(&self.buffer);
        written.map_err(failed(&self.directory))?;
        self.written += self.buffer.len() as u64;
        self.buffer.clear();
        Ok(())
    }

    /// Reads a record.
    pub(super) fn read(&self, place: Place) -> Result<Vec<u8>, Error> {
        let mut record = vec![0; place.length as usize];
        let read = self.file.read_exact_at(&mut record, place.offset);
        read.map_err(failed(&self.directory))?;
        Ok(record)
    }

    /// Reads a record, whether it is written yet or not.
    pub(super) fn read_any(&mut self, place: Place) -> Result<Vec<u8>, Error> {
        if place.offset + u64::from(place.length) > self.written {
            self.flush()?;
        }
        self.read(place)
    }

    /// Replaces a record by one of the same length.
    pub(super) fn replace(&self, place: Place, record: &[u8]) -> Result<(), Error> {
        debug_assert_eq!(record.len(), place.length as usize);
        let written = self.file.write_all_at(record, place.offset);
        written.map_err(failed(&self.directory))
    }
}

fn failed(directory: &Path) -> impl FnOnce(io::Error) -> Error {
    Error::io(format!(
        "cannot use a temporary file in {}",
        directory.display()
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_are_read_where_they_were_put_and_nothing_remains() {
        let directory = tempfile::tempdir().unwrap();
        let mut spool = Spool::create(directory.path()).unwrap();
        let other = Spool::create(directory.path()).unwrap();
        let record = |number: usize| vec![number as u8; 1 + number * 37 % 5_000];
        let places: Vec<_> = (0..500)
            .map(|number| spool.push(&record(number)).unwrap())
            .collect();
        spool.flush().unwrap();
        spool.replace(places[7], &record(7)).unwrap();
        for (number, place) in places.iter().enumerate() {
            assert_eq!(spool.read(*place).unwrap(), record(number));
        }
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 0);
        drop(other);
    }
}
