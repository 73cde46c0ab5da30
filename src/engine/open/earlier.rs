//! Which archives the earlier crawls of `archive.since` have, and those to which they refer.

use std::path::{Path, PathBuf};

use crate::archive::{self, earlier_archives};
use crate::engine::error::Error;

/// Returns the directories of the archives of earlier crawls, each after those to which its records
/// refer in their turn.
pub(crate) fn archives_of(crawls: &[PathBuf], own: &Path) -> Result<Vec<PathBuf>, Error> {
    let mut found = Vec::new();
    for crawl in crawls {
        let refuse = |reason: String| Error::Since {
            directory: crawl.clone(),
            reason,
        };
        let canonical = crawl.canonicalize().map_err(|it| refuse(it.to_string()))?;
        if own.canonicalize().is_ok_and(|own| own == canonical) {
            return Err(refuse("it is the data directory of this crawl".to_owned()));
        }
        let archive = canonical.join("warc");
        let archive = if archive.is_dir() { archive } else { canonical };
        let files = archive::files_of(&archive).map_err(|it| refuse(it.to_string()))?;
        if files.paths.is_empty() {
            return Err(refuse("there is no WARC file in it".to_owned()));
        }
        if files.missing > 0 {
            let (missing, archive) = (files.missing, archive.display());
            tracing::warn!(
                missing,
                "files of {archive} are nowhere: pages that only they hold are fetched whole"
            );
        }
        for before in earlier_archives(&archive).iter().rev() {
            if before.is_dir() {
                add(before.clone(), &mut found);
            } else {
                tracing::warn!(
                    missing = %before.display(),
                    "{} refers to an earlier crawl that is not there any more: pages that only that one holds are fetched whole. If it was moved, name it with --since, too",
                    crawl.display()
                );
            }
        }
        add(archive, &mut found);
    }
    Ok(found)
}

fn add(archive: PathBuf, found: &mut Vec<PathBuf>) {
    if !found.contains(&archive) {
        found.push(archive);
    }
}
