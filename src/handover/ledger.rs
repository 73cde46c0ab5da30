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

    /// Returns how far the way out is that went farthest, of all that there ever were. One whose
    /// file cannot be read is taken to have let everything go.
    pub(super) fn farthest(directory: &Path) -> io::Result<Handed> {
        let mut farthest = Handed::default();
        let entries = match fs::read_dir(directory) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(farthest),
            entries => entries?,
        };
        for entry in entries {
            let path = entry?.path();
            if path.extension().is_none_or(|it| it != "json") {
                continue;
            }
            let all = Handed {
                pages: u32::MAX,
                texts: u32::MAX,
            };
            let handed: Handed = serde_json::from_slice(&fs::read(&path)?).unwrap_or(all);
            farthest.pages = farthest.pages.max(handed.pages);
            farthest.texts = farthest.texts.max(handed.texts);
        }
        Ok(farthest)
    }

    /// Writes that further files have left.
    pub(super) fn write(&mut self, handed: Handed) -> io::Result<()> {
        replace_file(&self.path, &serde_json::to_vec(&handed)?)?;
        self.handed = handed;
        Ok(())
    }
}
