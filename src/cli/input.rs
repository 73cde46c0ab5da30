//! Input files named on the command line, with `-` for standard input.

use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::path::Path;

use super::Failure;

/// Opens a file, or standard input for `-`. Error messages call it `what`, such as `robots.txt`.
pub(super) fn open(path: &Path, what: &str) -> Result<Box<dyn BufRead>, Failure> {
    if path == Path::new("-") {
        return Ok(Box::new(io::stdin().lock()));
    }
    match File::open(path) {
        Ok(file) => Ok(Box::new(BufReader::new(file))),
        Err(error) => Err(Failure::Usage {
            message: format!("cannot open the {what} {}: {error}", path.display()),
            hint: Some("give an existing file, or - for standard input"),
        }),
    }
}

/// The failure to report when reading fails.
pub(super) fn unreadable(path: &Path, error: io::Error) -> Failure {
    Failure::Io(anyhow::Error::new(error).context(format!("cannot read {}", path.display())))
}
