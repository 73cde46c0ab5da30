//! A copy of a data directory to look at: the engines write when they open, and cut or delete what
//! they cannot read, so they open this copy and never the directory itself.
//!
//! Files that never change are links to the originals; journals, documents and what is small are
//! copied.

use std::fs;
use std::io;
use std::os::unix::fs::{DirBuilderExt as _, symlink};
use std::path::{Path, PathBuf};

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
        let mut input = match fs::File::open(from) {
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
        let mut output = fs::File::create(to)?;
        match io::copy(&mut input, &mut output) {
            Err(source) if crate::runs::is_bad_disk(&source) => {
                failed.push(NotCopied {
                    path: from.to_owned(),
                    source,
                });
                Ok(())
            }
            copied => copied.map(drop),
        }
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        if let Err(error) = fs::remove_dir_all(&self.0) {
            tracing::warn!(%error, path = %self.0.display(), "cannot remove the copy");
        }
    }
}
