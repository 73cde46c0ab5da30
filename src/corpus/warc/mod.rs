//! Questions about WARC files that anyone may have written: what is in them, one record of them,
//! whether they are sound, and a sound copy of what is left of them.

mod get;
mod index;
mod list;
mod repair;
mod verify;

use std::path::{Path, PathBuf};

use super::Error;
use crate::archive::{self, Limits, ReadRecord, RecordStream};

pub use crate::archive::index_path;

pub use get::{Part, Wanted, get};
pub use index::{Indexed, index};
pub use list::{Listed, list};
pub use repair::{Repaired, repair};
pub use verify::{Fault, Verified, verify};

/// Passes each record of some files to `take`, and each place where one cannot be read to
/// `damaged`.
fn each_record(
    files: &[PathBuf],
    mut take: impl FnMut(&Path, &ReadRecord) -> Result<(), Error>,
    mut damaged: impl FnMut(&Path, &archive::Error) -> Result<(), Error>,
) -> Result<(), Error> {
    for file in files {
        let stream = RecordStream::open(file, Limits::default());
        for record in stream.map_err(unreadable)? {
            match record {
                Ok(record) => take(file, &record)?,
                Err(error) if is_of_disk(&error) => return Err(unreadable(error)),
                Err(error) => damaged(file, &error)?,
            }
        }
    }
    Ok(())
}

/// Returns the error of a file that cannot be read.
fn unreadable(error: archive::Error) -> Error {
    match error {
        archive::Error::Io {
            action,
            path,
            source,
        } => Error::io(format!("cannot {action} {}", path.display()))(source),
        other => Error::input(other.to_string()),
    }
}

/// Returns `true` if an error says nothing of the file's content.
fn is_of_disk(error: &archive::Error) -> bool {
    matches!(error, archive::Error::Io { .. })
}

/// Returns a field of a record, without the angle brackets that some writers put around URIs.
fn uri<'a>(record: &'a ReadRecord, name: &str) -> Option<&'a str> {
    let value = record.header(name)?;
    Some(value.trim_matches(['<', '>']))
}

#[cfg(test)]
mod tests;
