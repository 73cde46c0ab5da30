//! What is named on the command line: input files, with `-` for standard input, and URLs.

use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::path::Path;

use super::Failure;
use crate::seeds;
use crate::url::Url;

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

/// Returns the URLs that a text may mean. A name without a scheme, as seeds may be, means its form
/// over https and, if that is nothing to the crawl, its form over http.
///
/// # Errors
///
/// What is wrong with it, and an example.
pub(super) fn urls(given: &str) -> Result<Vec<Url>, Failure> {
    let seed = match seeds::parse(given) {
        Ok(seed) if seed.settings.is_empty() => seed,
        Ok(_) => {
            return Err(Failure::no_url(
                "invalid URL ",
                given,
                "write white space as %20",
            ));
        }
        Err(error) => return Err(Failure::no_url("invalid URL ", given, error)),
    };
    let over_http = seed.over_http();
    Ok([Some(seed.url), over_http].into_iter().flatten().collect())
}

/// The failure to report when reading fails.
pub(super) fn unreadable(path: &Path, error: io::Error) -> Failure {
    Failure::Io(anyhow::Error::new(error).context(format!("cannot read {}", path.display())))
}
