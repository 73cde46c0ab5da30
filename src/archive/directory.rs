//! Directories and small files, made to last.

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::Path;

use super::{Error, Result};

/// Creates the directory so that it survives a power cut.
pub(super) fn create_directory(directory: &Path) -> Result<()> {
    if directory.is_dir() {
        return Ok(());
    }
    fs::create_dir_all(directory).map_err(Error::io("create", directory))?;
    match directory.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => sync_directory(parent),
        _ => sync_directory(Path::new(".")),
    }
}

/// Makes creations, renames and removals in `directory` durable.
pub(super) fn sync_directory(directory: &Path) -> Result<()> {
    let synced: io::Result<()> = File::open(directory).and_then(|open| open.sync_all());
    synced.map_err(Error::io("sync", directory))
}

/// Replaces a small file, durably and in one step: a reader sees the old one or the new one.
///
/// # Errors
///
/// Those of the operating system; then the old file stands, or the new one.
pub fn replace_file(path: &Path, content: &[u8]) -> io::Result<()> {
    let mut beside = path.as_os_str().to_owned();
    beside.push(".new");
    let mut file = File::create(&beside)?;
    file.write_all(content)?;
    file.sync_all()?;
    fs::rename(&beside, path)?;
    match path.parent() {
        Some(directory) => File::open(directory)?.sync_all(),
        None => Ok(()),
    }
}
