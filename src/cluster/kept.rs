//! Files in the directory of a worker, besides its shards.

use std::fs;
use std::io;
use std::path::Path;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

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
            assert_eq!(Called::of(&directory).unwrap(), Some(called));
        }
        fs::write(directory.join(Called::FILE), "{").unwrap();
        assert!(Called::of(&directory).is_err());
    }
}
