//! Where the archives of earlier crawls are, to whose records this one refers instead of storing a
//! page again. The list stands beside the files, so that every reader finds what a record refers
//! to.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::directory::replace_file;
use super::{Error, Result};

/// Name of the list in the directory of an archive.
const LIST: &str = "since.json";

/// Returns the directories of the archives to which the archive in `directory` refers; none, with a
/// warning, if the list cannot be read.
pub fn earlier_archives(directory: &Path) -> Vec<PathBuf> {
    let path = directory.join(LIST);
    let read = || -> io::Result<Vec<PathBuf>> { Ok(serde_json::from_slice(&fs::read(&path)?)?) };
    match read() {
        Ok(list) => list,
        Err(error) if error.kind() == io::ErrorKind::NotFound => Vec::new(),
        Err(error) => {
            tracing::warn!(%error, list = %path.display(), "cannot read where the archives of earlier crawls are");
            Vec::new()
        }
    }
}

/// Lets readers of the archive in `directory` look into those of earlier crawls, too. What was
/// listed before stays, behind these: records may refer to it, wherever it is now.
///
/// # Errors
///
/// [`Error::Io`] if the list cannot be written.
pub fn add_earlier_archives(directory: &Path, archives: &[PathBuf]) -> Result<()> {
    let before = earlier_archives(directory);
    let mut list = archives.to_vec();
    list.extend(before.iter().filter(|it| !archives.contains(it)).cloned());
    if list == before {
        return Ok(());
    }
    let path = directory.join(LIST);
    let write = || replace_file(&path, &serde_json::to_vec_pretty(&list)?);
    write().map_err(Error::io("write", &path))
}
