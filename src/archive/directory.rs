//! Directories and small files, made to last.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write as _};
use std::path::Path;

use super::{Error, Result};

/// Creates the directory so that it survives a power cut.
pub(super) fn create_directory(directory: &Path) -> Result<()> {
    if directory.is_dir() {
        return Ok(());
    }
    fs::create_dir_all(directory).map_err(Error::io("create", directory))?;
    sync_directory(directory_of(directory))
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
    replace_file_with(path, |file| file.write_all(content))
}

/// Replaces a file as [`replace_file`] does, by what `write` writes.
pub(super) fn replace_file_with(
    path: &Path,
    write: impl FnOnce(&mut BufWriter<File>) -> io::Result<()>,
) -> io::Result<()> {
    let beside = path.with_added_extension("new");
    let mut file = BufWriter::new(File::create(&beside)?);
    write(&mut file)?;
    let file = file.into_inner().map_err(io::IntoInnerError::into_error)?;
    file.sync_all()?;
    fs::rename(&beside, path)?;
    File::open(directory_of(path))?.sync_all()
}

/// Returns the directory in which a path is.
fn directory_of(path: &Path) -> &Path {
    let parent = path.parent().filter(|it| !it.as_os_str().is_empty());
    parent.unwrap_or(Path::new("."))
}
