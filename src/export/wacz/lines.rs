//! Lines of indexes, read where they are.

use std::path::Path;

use super::super::error::Error;
use crate::corpus::{self, warc};
use crate::inspect::chain;

/// Passes on the lines of an index, or of a WARC file that has none; temporary files are in
/// `temporary`.
pub(super) fn for_each_line(
    path: &Path,
    temporary: &Path,
    mut take: impl FnMut(&str),
) -> Result<(), Error> {
    let read = warc::index(
        &[path.to_owned()],
        temporary,
        |line| {
            take(line);
            Ok(())
        },
        |error| {
            let error = chain(error);
            tracing::warn!(file = %path.display(), error, "a record is in no index");
            Ok(())
        },
    );
    match read {
        Ok(_) => Ok(()),
        Err(corpus::Error::Io { source, .. }) => Err(Error::io("index", path)(source)),
        Err(other) => Err(Error::Request(chain(&other))),
    }
}
