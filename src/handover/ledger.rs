//! How far a way out is: which files have left by it. A file for each, replaced in one step.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::archive::replace_file;

/// The files that have left: those with lower numbers.
pub(super) type Handed = super::Closed;

/// The file that says how far a way out is.
#[derive(Debug)]
pub(super) struct Ledger {
    path: PathBuf,
    pub(super) handed: Handed,
}

impl Ledger {
    /// Reads how far a way out is. Nothing has left by a new one.
    pub(super) fn open(directory: &Path, name: &str) -> io::Result<Self> {
        fs::create_dir_all(directory)?;
        let path = directory.join(format!("{name}.json"));
        let handed = match fs::read(&path) {
            Ok(text) => serde_json::from_slice(&text).map_err(|error| {
                let path = path.display();
                io::Error::other(format!(
                    "{path} does not say which files have left ({error}): remove it, and all \
                     closed files leave once more"
                ))
            })?,
            Err(error) if error.kind() == io::ErrorKind::NotFound => Handed::default(),
            Err(error) => return Err(error),
        };
        Ok(Self { path, handed })
    }

    /// Writes that further files have left.
    pub(super) fn write(&mut self, handed: Handed) -> io::Result<()> {
        replace_file(&self.path, &serde_json::to_vec(&handed)?)?;
        self.handed = handed;
        Ok(())
    }
}
