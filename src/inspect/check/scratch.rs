//! A copy of a data directory to look at: the engines write when they open, and cut or delete what
//! they cannot read, so they open this copy and never the directory itself.
//!
//! Files that never change are links to the originals; journals, documents and what is small are
//! copied.

use std::fs::{self, File};
use std::io::{self, Read as _, Seek as _};
use std::os::unix::fs::{DirBuilderExt as _, symlink};
use std::path::{Path, PathBuf};

use rustix::fs::{SeekFrom, seek};

use crate::store::journal::next_written;

/// The copy. Its files are removed when it is dropped.
#[derive(Debug)]
pub(super) struct Scratch(PathBuf);

/// A file that could not be copied.
#[derive(Debug)]
pub(super) struct NotCopied {
    pub(super) path: PathBuf,
    pub(super) source: io::Error,
}

impl Scratch {
    /// Creates an empty copy in a folder for temporary files.
    pub(super) fn new(folder: &Path) -> io::Result<Self> {
        let folder = std::path::absolute(folder)?;
        for number in 0..u32::MAX {
            let path = folder.join(format!("gleaner-check-{}-{number}", std::process::id()));
            match fs::DirBuilder::new().mode(0o700).create(&path) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                created => return created.map(|()| Self(path)),
            }
        }
        Err(io::ErrorKind::AlreadyExists.into())
    }

    pub(super) fn path(&self) -> &Path {
        &self.0
    }

    /// Copies what the engines open of a data directory, and returns what cannot be read.
    pub(super) fn fill(&self, data: &Path) -> io::Result<Vec<NotCopied>> {
        let data = std::path::absolute(data)?;
        let mut failed = Vec::new();
        for name in ["version", "documents.witness"] {
            Self::copy(&data.join(name), &self.0.join(name), &mut failed)?;
        }
        for name in ["store", "documents", "runs"] {
            Self::copy_folder(&data.join(name), &self.0.join(name), &mut failed)?;
        }
        Ok(failed)
    }

    fn copy_folder(from: &Path, to: &Path, failed: &mut Vec<NotCopied>) -> io::Result<()> {
        let entries = match fs::read_dir(from) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            Err(source) => {
                failed.push(NotCopied {
                    path: from.to_owned(),
                    source,
                });
                return Ok(());
            }
            Ok(entries) => entries,
        };
        fs::create_dir(to)?;
        // Sorted files of the store, and run files, are written once.
        let is_linked = |path: &Path| {
            from.file_name().is_some_and(|name| name == "tables")
                || path.extension().is_some_and(|it| it == "run")
        };
        for entry in entries {
            let entry = entry?;
            let (path, to) = (entry.path(), to.join(entry.file_name()));
            if entry.file_type()?.is_dir() {
                Self::copy_folder(&path, &to, failed)?;
            } else if is_linked(&path) {
                symlink(&path, &to)?;
            } else if path.extension().is_none_or(|it| it != "filter") {
                Self::copy(&path, &to, failed)?;
            }
        }
        Ok(())
    }

    /// Copies a file. That the copy cannot be written is an error of its own.
    fn copy(from: &Path, to: &Path, failed: &mut Vec<NotCopied>) -> io::Result<()> {
        let input = match File::open(from) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            input => match input {
                Ok(input) => input,
                Err(source) => {
                    failed.push(NotCopied {
                        path: from.to_owned(),
                        source,
                    });
                    return Ok(());
                }
            },
        };
        let output = File::create(to)?;
        match copy_data(&input, &output) {
            Err(source) if crate::runs::is_bad_disk(&source) => {
                failed.push(NotCopied {
                    path: from.to_owned(),
                    source,
                });
                Ok(())
            }
            copied => copied,
        }
    }
}

/// Copies a file without what it does not hold: a journal has its full length from the beginning,
/// and most of it may never have been written.
fn copy_data(mut input: &File, mut output: &File) -> io::Result<()> {
    let length = input.metadata()?.len();
    output.set_len(length)?;
    let mut from = 0;
    while from < length {
        let data = next_written(input, from)?;
        // Not all file systems say.
        let hole = seek(input, SeekFrom::Hole(data)).ok();
        from = hole.filter(|hole| *hole > data).unwrap_or(length);
        input.seek(io::SeekFrom::Start(data))?;
        output.seek(io::SeekFrom::Start(data))?;
        io::copy(&mut input.take(from.saturating_sub(data)), &mut output)?;
    }
    Ok(())
}

impl Drop for Scratch {
    fn drop(&mut self) {
        if let Err(error) = fs::remove_dir_all(&self.0) {
            tracing::warn!(%error, path = %self.0.display(), "cannot remove the copy");
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;
    use std::os::unix::fs::MetadataExt as _;

    use super::*;

    #[test]
    fn a_copy_has_the_holes_of_the_file() {
        let place = tempfile::tempdir().unwrap();
        let (from, to) = (place.path().join("from"), place.path().join("to"));
        let mut file = File::create(&from).unwrap();
        file.write_all(b"begins").unwrap();
        file.seek(io::SeekFrom::Start(5 << 20)).unwrap();
        file.write_all(&vec![7; 100_000]).unwrap();
        file.set_len(40 << 20).unwrap();
        Scratch::copy(&from, &to, &mut Vec::new()).unwrap();
        assert!(fs::read(&from).unwrap() == fs::read(&to).unwrap());
        let first_hole = seek(&file, SeekFrom::Hole(0));
        let used = |path: &Path| fs::metadata(path).unwrap().blocks() * 512;
        // Where the disk of this machine knows holes.
        if first_hole.is_ok_and(|at| at < 5 << 20) {
            assert!(used(&to) <= used(&from));
        }
        for contents in [&b""[..], b"short"] {
            fs::write(&from, contents).unwrap();
            Scratch::copy(&from, &to, &mut Vec::new()).unwrap();
            assert_eq!(fs::read(&to).unwrap(), contents);
        }
    }
}
