//! Files in the directory of a worker, besides its shards.

use std::fs::{self, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::lock::LockFile;

/// What a worker is called. Its directory keeps that, because shards belong to names: a worker that
/// came back under another one would be a stranger to its own.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Called {
    /// Its name, which no other worker of the crawl has.
    pub name: String,
    /// The machine that it runs on.
    pub machine: String,
}

impl Called {
    /// Name of the file.
    const FILE: &str = "worker.json";

    /// Returns what the worker of a directory is called; `None` if none has used it.
    ///
    /// # Errors
    ///
    /// A file that cannot be read.
    pub fn of(directory: &Path) -> io::Result<Option<Self>> {
        read(&directory.join(Self::FILE))
    }

    /// Keeps it in the directory of the worker.
    pub(super) fn keep(&self, directory: &Path) -> io::Result<()> {
        write(&directory.join(Self::FILE), self)
    }
}

/// Returns the directory of the worker one of whose shards is in this directory, and what it is
/// called; `None` if the directory is no shard's.
pub fn worker_of(shard: &Path) -> Option<(&Path, Called)> {
    let worker = shard.parent()?.parent()?;
    let called = Called::of(worker).ok().flatten()?;
    Some((worker, called))
}

/// The directory of a worker, which no other process has until this is dropped.
#[derive(Debug)]
pub(super) struct Taken {
    _lock: LockFile,
}

/// Why a worker cannot have a directory.
#[derive(Debug, thiserror::Error)]
pub enum NotTaken {
    /// Another process has it.
    #[error(
        "the directory {} is in use by another worker{}; give each a directory of its own with \
         --data-dir",
        path.display(),
        holder.map(|it| format!(", process {it}")).unwrap_or_default()
    )]
    InUse {
        /// The directory.
        path: PathBuf,
        /// The process, if it is known.
        holder: Option<u32>,
    },
    /// It cannot be written.
    #[error("cannot use the directory {path}")]
    Io {
        /// The directory.
        path: PathBuf,
        /// What is wrong with it.
        source: io::Error,
    },
}

impl Taken {
    /// Takes a directory, which is made if it is not there.
    pub(super) fn take(directory: &Path) -> Result<Self, NotTaken> {
        let failed = |source| NotTaken::Io {
            path: directory.to_owned(),
            source,
        };
        fs::create_dir_all(directory).map_err(failed)?;
        let lock = LockFile::create(directory).map_err(failed)?;
        match lock.lock(Duration::ZERO) {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                return Err(NotTaken::InUse {
                    path: directory.to_owned(),
                    holder: lock.signature().0,
                });
            }
            Err(TryLockError::Error(error)) => return Err(failed(error)),
        }
        lock.sign(None).map_err(failed)?;
        Ok(Self { _lock: lock })
    }
}

/// Reads a file; `None` if it is not there.
pub(super) fn read<T: DeserializeOwned>(path: &Path) -> io::Result<Option<T>> {
    let json = match fs::read(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        json => json?,
    };
    Ok(Some(serde_json::from_slice(&json)?))
}

/// Writes a file, unless it says the same. It is whole, or as it was before.
pub(super) fn write<T>(path: &Path, value: &T) -> io::Result<()>
where
    T: Serialize + DeserializeOwned + PartialEq,
{
    if read::<T>(path).ok().flatten().as_ref() == Some(value) {
        return Ok(());
    }
    if let Some(directory) = path.parent() {
        fs::create_dir_all(directory)?;
    }
    let staged = path.with_extension("tmp");
    let file = fs::File::create(&staged)?;
    serde_json::to_writer(&file, value)?;
    file.sync_all()?;
    fs::rename(staged, path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_process_at_a_time_has_a_directory() {
        let place = tempfile::tempdir().unwrap();
        let directory = place.path().join("w1");
        let taken = Taken::take(&directory).unwrap();
        let own = Some(std::process::id());
        let second = Taken::take(&directory);
        assert!(matches!(second, Err(NotTaken::InUse { holder, .. }) if holder == own));
        drop(taken);
        Taken::take(&directory).unwrap();
        fs::write(place.path().join("file"), "").unwrap();
        let no_directory = Taken::take(&place.path().join("file"));
        assert!(matches!(no_directory, Err(NotTaken::Io { .. })));
    }

    #[test]
    fn a_directory_keeps_what_its_worker_is_called() {
        let place = tempfile::tempdir().unwrap();
        let directory = place.path().join("w1");
        assert_eq!(Called::of(&directory).unwrap(), None);
        for machine in ["m1", "m2"] {
            let called = Called {
                name: "w1".to_owned(),
                machine: machine.to_owned(),
            };
            called.keep(&directory).unwrap();
            assert_eq!(Called::of(&directory).unwrap().as_ref(), Some(&called));
            let shard = directory.join("shards").join("00");
            assert_eq!(worker_of(&shard), Some((&*directory, called)));
        }
        assert_eq!(worker_of(place.path()), None);
        fs::write(directory.join(Called::FILE), "{").unwrap();
        assert!(Called::of(&directory).is_err());
    }
}
