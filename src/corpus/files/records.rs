//! The records of WARC files, whoever wrote them. What is damaged is left out, named and counted.

use std::path::{Path, PathBuf};

use crate::archive::{self, Limits, ReadRecord, RecordStream};
use crate::corpus::Error;

/// Number of damaged places that are named.
const TOLD: u64 = 10;

/// Passes each record of the files to `take`, until it returns false.
///
/// # Errors
///
/// [`Error::Input`] for a file that cannot be read, or is none of WARC records.
pub(in crate::corpus) fn each_sound_record(
    files: &[PathBuf],
    mut take: impl FnMut(&Path, ReadRecord) -> Result<bool, Error>,
) -> Result<(), Error> {
    let wrong = |error: archive::Error| {
        let why = std::error::Error::source(&error);
        let why = why.map_or(String::new(), |why| format!(": {why}"));
        Error::input(format!("{error}{why}"))
    };
    let mut damages = 0_u64;
    for path in files {
        let mut is_archive = false;
        for record in RecordStream::open(path, Limits::default()).map_err(wrong)? {
            match record {
                Ok(record) => {
                    is_archive = true;
                    if !take(path, record)? {
                        return Ok(());
                    }
                }
                Err(error @ archive::Error::Io { .. }) => return Err(wrong(error)),
                // A file of something else is a mistake of whoever named it.
                Err(error) if !is_archive && error.offset() == Some(0) && is_other(&error) => {
                    return Err(wrong(error));
                }
                Err(error) => {
                    damages += 1;
                    if damages <= TOLD {
                        tracing::warn!("left out: {error}");
                    }
                }
            }
        }
    }
    if damages > TOLD {
        tracing::warn!(places = damages, "records that cannot be read are left out");
    }
    Ok(())
}

/// Returns `true` if a file does not begin as an archive does.
fn is_other(error: &archive::Error) -> bool {
    matches!(error, archive::Error::Format { reason, .. } if reason.contains("begin with"))
}
