//! A file that has its name when it is whole.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use sha2::{Digest as _, Sha256};

use super::error::Error;

/// The names of a file that is being written: until its end it has `.part` behind its name.
/// Dropped before its end, it is removed.
pub(super) struct Staged {
    /// The path that it is to have.
    whole: PathBuf,
    /// The path that it has.
    part: PathBuf,
    is_finished: bool,
}

impl Staged {
    /// Creates a file, also to be read. Nothing is overwritten.
    pub(super) fn create(path: &Path) -> Result<(Self, File), Error> {
        refuse_existing(path)?;
        let part = path.with_added_extension("part");
        let mut options = File::options();
        let options = options.read(true).write(true).create(true).truncate(true);
        let file = options.open(&part).map_err(Error::io("create", path))?;
        let staged = Self {
            whole: path.to_owned(),
            part,
            is_finished: false,
        };
        Ok((staged, file))
    }

    /// Returns the name that the file has while it is written.
    pub(super) fn path(&self) -> &Path {
        &self.part
    }

    /// Returns the name that the file is to have, without its directory.
    pub(super) fn name(&self) -> String {
        let name = self.whole.file_name().unwrap_or_default();
        name.to_string_lossy().into_owned()
    }

    /// Gives the file its name, now that all is written to it.
    pub(super) fn finish(mut self, file: &File) -> Result<(), Error> {
        let done = file
            .sync_all()
            .and_then(|()| fs::rename(&self.part, &self.whole));
        done.map_err(Error::io("write", &self.whole))?;
        self.is_finished = true;
        Ok(())
    }
}

impl Staged {
    /// Gives a file its name, and returns its length and its SHA-256 in hexadecimal.
    pub(super) fn finish_hashed(self, mut file: Hashed) -> Result<(u64, String), Error> {
        let flushed = file.flush();
        flushed.map_err(Error::io("write to", self.path()))?;
        self.finish(file.file.get_ref())?;
        Ok((file.length, hex::encode(file.hash.finalize())))
    }
}

impl Drop for Staged {
    fn drop(&mut self) {
        if !self.is_finished {
            // What is there is no export.
            let _ = fs::remove_file(&self.part);
        }
    }
}

/// A file whose bytes are counted and hashed as they are written.
pub(super) struct Hashed {
    file: BufWriter<File>,
    hash: Sha256,
    length: u64,
}

impl Hashed {
    pub(super) fn new(file: File) -> Self {
        Self {
            file: BufWriter::with_capacity(256 << 10, file),
            hash: Sha256::new(),
            length: 0,
        }
    }

    /// Number of bytes so far.
    pub(super) fn length(&self) -> u64 {
        self.length
    }
}

impl Write for Hashed {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.file.write(bytes)?;
        self.hash.update(bytes.get(..written).unwrap_or_default());
        self.length += written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

/// Refuses to write where there is something.
pub(super) fn refuse_existing(path: &Path) -> Result<(), Error> {
    if path.try_exists().map_err(Error::io("examine", path))? {
        return Err(Error::Request(format!(
            "{} is there already: remove it, or give another path with -o",
            path.display()
        )));
    }
    Ok(())
}

/// Returns a path with a number in front of the endings of its name.
pub(super) fn numbered(path: &Path, number: usize) -> PathBuf {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let (stem, endings) = name.split_at(name.find('.').unwrap_or(name.len()));
    path.with_file_name(format!("{stem}-{number:05}{endings}"))
}
