//! An index of captures as a table: the columns of Common Crawl's, its partitions, sorted by the
//! key of the URL. What is asked of that index can be asked of this one.
//!
//! `row.rs` makes a row of a page, on any thread. Rows are sorted as lines, with the help of files,
//! and written to one partition after the other.

mod row;

use std::fs;
use std::path::{Path, PathBuf};

use super::error::Error;
use super::filter::Filter;
use super::manifest::Written;
use super::parquet::ParquetOutput;
use super::reading::Want;
use super::staged::refuse_existing;
use super::walk::{Source, Walked, walk};
use crate::archive::LineSorter;

/// Size at which another file is begun if none is given.
const MAX_SIZE: u64 = 1 << 30;

/// Writes the index of some crawls below a directory that is not there yet, and returns how far
/// they were read and which files there are. `count` is told of each page.
pub fn index_columns(
    sources: &[Source],
    filter: &Filter,
    directory: &Path,
    crawl: Option<&str>,
    max_size: Option<u64>,
    mut count: impl FnMut(),
) -> Result<(Vec<Walked>, Vec<Written>), Error> {
    refuse_existing(directory)?;
    let staged = Staged::create(directory)?;
    let wrong = || Error::io("sort rows in", &staged.0);
    let mut sorter = LineSorter::new(&staged.0);
    // The language may have to be read from the text.
    let want = Want {
        text: true,
        ..Want::default()
    };
    let walked = walk(
        sources,
        filter,
        want,
        |found, source, _| row::line(&found, source, crawl),
        |line: String| {
            count();
            sorter.add(line).map_err(wrong())
        },
    )?;
    let mut files = Vec::new();
    let mut open: Option<(String, ParquetOutput)> = None;
    for line in sorter.sorted().map_err(wrong())? {
        let (partition, row) = row::read(&line.map_err(wrong())?)?;
        if open.as_ref().is_none_or(|(known, _)| *known != partition) {
            if let Some((known, output)) = open.take() {
                files.extend(ended(&known, output)?);
            }
            let below = staged.0.join(&partition);
            fs::create_dir_all(&below).map_err(Error::io("create", &below))?;
            let path = below.join("part.parquet");
            let max_size = Some(max_size.unwrap_or(MAX_SIZE));
            open = Some((
                partition,
                ParquetOutput::new(&path, max_size, &row::COLUMNS),
            ));
        }
        if let Some((_, output)) = &mut open {
            output.write(row)?;
        }
    }
    if let Some((known, output)) = open {
        files.extend(ended(&known, output)?);
    }
    staged.finish(directory)?;
    Ok((walked, files))
}

/// Ends a partition. Its files are named from the directory of the index.
fn ended(partition: &str, output: ParquetOutput) -> Result<Vec<Written>, Error> {
    let mut files = output.finish()?;
    for file in &mut files {
        file.name = format!("{partition}/{}", file.name);
    }
    Ok(files)
}

/// A directory that has its name when it is whole. Dropped before, it is removed.
struct Staged(PathBuf);

impl Staged {
    fn create(directory: &Path) -> Result<Self, Error> {
        let mut part = directory.as_os_str().to_owned();
        part.push(".part");
        let part = PathBuf::from(part);
        // Left by an export that was killed.
        if part.is_dir() {
            fs::remove_dir_all(&part).map_err(Error::io("remove", &part))?;
        }
        fs::create_dir(&part).map_err(Error::io("create", &part))?;
        Ok(Self(part))
    }

    fn finish(self, directory: &Path) -> Result<(), Error> {
        fs::rename(&self.0, directory).map_err(Error::io("write", directory))
    }
}

impl Drop for Staged {
    fn drop(&mut self) {
        // It is not there any more if it has its name.
        let _ = fs::remove_dir_all(&self.0);
    }
}

#[cfg(test)]
mod tests;
