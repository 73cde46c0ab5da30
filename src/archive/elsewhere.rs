//! Where a file of an archive is, by the name that it is to have: it may still be written, or have
//! left its directory.
//!
//! Whoever moves files away tells the crawl where to. The list stands beside the files that stay,
//! so that every reader, of whatever process, looks there too when it misses one.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::fmt::Write as _;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::directory::replace_file;
use super::earlier::earlier_archives;
use super::names::{FileNames, crawl_and_number, is_archive_file, marked};
use super::{Error, Result};

/// Name of the list in the directory of an archive.
const LIST: &str = "also_in.json";

/// The directories to which files of one archive are moved.
#[derive(Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct List {
    /// The part of names that tells the crawl's files from those of others; `None` if its files
    /// have plain names.
    crawl: Option<String>,
    directories: Vec<PathBuf>,
}

impl List {
    /// Reads the list in a directory; an empty one if there is none.
    fn read(directory: &Path) -> io::Result<Self> {
        match fs::read(directory.join(LIST)) {
            Ok(text) => Ok(serde_json::from_slice(&text)?),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Self::default()),
            Err(error) => Err(error),
        }
    }

    /// The list, or an empty one with a warning if it cannot be read.
    fn of(directory: &Path) -> Self {
        Self::read(directory).unwrap_or_else(|error| {
            let list = directory.join(LIST);
            tracing::warn!(%error, list = %list.display(), "cannot read where files were moved to");
            Self::default()
        })
    }
}

/// Lets readers of the archive in `directory` look for its files in other directories, too.
///
/// # Errors
///
/// [`Error::Io`] if the list cannot be written.
pub fn set_elsewhere(directory: &Path, names: &FileNames, others: &[PathBuf]) -> Result<()> {
    let path = directory.join(LIST);
    let list = List {
        crawl: names.crawl().map(str::to_owned),
        directories: others.to_vec(),
    };
    if others.is_empty() {
        return match fs::remove_file(&path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                Err(Error::io("remove", &path)(error))
            }
            _ => Ok(()),
        };
    }
    if List::read(directory).is_ok_and(|known| known == list) {
        return Ok(());
    }
    let write = || replace_file(&path, &serde_json::to_vec_pretty(&list)?);
    write().map_err(Error::io("write", &path))
}

/// Returns where a file is now that is not in its directory: moved, or the earlier crawl's that
/// wrote it, or moved from there.
fn find(path: &Path) -> Option<PathBuf> {
    let (directory, name) = (path.parent()?, path.file_name()?);
    moved(directory, name).or_else(|| {
        let mut earlier = earlier_archives(directory).into_iter();
        earlier.find_map(|directory| {
            let path = directory.join(name);
            let mut paths = [path.clone(), marked(&path), path].into_iter();
            let here = paths.find(|path| path.is_file());
            here.or_else(|| moved(&directory, name))
        })
    })
}

/// Returns where a file is that was moved from a directory.
fn moved(directory: &Path, name: &OsStr) -> Option<PathBuf> {
    let others = List::of(directory).directories.into_iter();
    let mut paths = others.map(|other| other.join(name));
    paths.find(|path| path.is_file())
}

/// Opens a file to read it, under the name that it has, or had a moment ago, while it is written;
/// or where it was moved to.
pub(super) fn open_to_read(path: &Path) -> io::Result<File> {
    let is_missing = |opened: &io::Result<File>| matches!(opened, Err(error) if error.kind() == io::ErrorKind::NotFound);
    let opened = File::open(path);
    if !is_missing(&opened) {
        return opened;
    }
    match File::open(marked(path)) {
        // It may have been closed in between.
        Err(_) => match File::open(path) {
            missing if is_missing(&missing) => {
                let missing = || missing.map_err(|error| nowhere(path, error));
                find(path).map_or_else(missing, File::open)
            }
            opened => opened,
        },
        open => open,
    }
}

/// Says where else a file was looked for that is nowhere.
fn nowhere(path: &Path, error: io::Error) -> io::Error {
    let Some(directory) = path.parent() else {
        return error;
    };
    let places = [
        (List::of(directory).directories, "where files were moved to"),
        (
            earlier_archives(directory),
            "of earlier crawls: if they have moved, `gleaner crawl --since DIR` says where to",
        ),
    ];
    let mut said = String::new();
    for (directories, what) in places.iter().filter(|(it, _)| !it.is_empty()) {
        for directory in directories {
            let _ = write!(said, ", nor in {}", directory.display());
        }
        let _ = write!(said, " ({what})");
    }
    match said.is_empty() {
        true => error,
        false => io::Error::new(io::ErrorKind::NotFound, format!("it is not there{said}")),
    }
}

/// Returns the path of a file as it is now named, if it is there, or where it was moved to.
pub fn present(path: &Path) -> Option<PathBuf> {
    let marked = marked(path);
    let mut paths = [path.to_owned(), marked, path.to_owned()].into_iter();
    paths.find(|path| path.exists()).or_else(|| find(path))
}

/// The files of an archive.
#[derive(Debug, Default)]
pub struct ArchiveFiles {
    /// Their paths, in the order of their names; what has left the directory is where it is now.
    pub paths: Vec<PathBuf>,
    /// Number of files that are nowhere, as the numbers of the others tell.
    pub missing: usize,
}

/// Lists the WARC files in a directory, and those of the same crawl that were moved elsewhere.
///
/// # Errors
///
/// The operating system's, if the directory cannot be listed. One of the others that cannot is
/// left out, with a warning: its disk may not be there today.
pub fn files_of(directory: &Path) -> io::Result<ArchiveFiles> {
    let mut files = BTreeMap::new();
    let mut add = |path: PathBuf| {
        if let Some(name) = path.file_name().filter(|_| is_archive_file(&path)) {
            files.entry(name.to_owned()).or_insert(path);
        }
    };
    for entry in fs::read_dir(directory)? {
        add(entry?.path());
    }
    let list = List::of(directory);
    for other in &list.directories {
        let entries = match fs::read_dir(other) {
            Ok(entries) => entries,
            Err(error) => {
                let other = other.display();
                tracing::warn!(%error, directory = %other, "cannot list files that were moved there");
                continue;
            }
        };
        for path in entries.flatten().map(|entry| entry.path()) {
            let crawl = crawl_and_number(&path).map(|(crawl, _)| crawl);
            if crawl.is_some() && crawl == list.crawl {
                add(path);
            }
        }
    }
    let paths: Vec<PathBuf> = files.into_values().collect();
    Ok(ArchiveFiles {
        missing: missing(&paths),
        paths,
    })
}

/// How many numbers of files each worker has of its own which takes a crawl over, from a multiple
/// of that on: those that it does not use are nobody's.
pub const NUMBERS_OF_ONE: u32 = 1 << 16;

/// Returns how many numbers are missing among those of each crawl's files, of each worker's where
/// several have had it. A crawl whose first files have plain names may have them anywhere.
fn missing(paths: &[PathBuf]) -> usize {
    let mut numbers: BTreeMap<(String, u32), BTreeSet<u32>> = BTreeMap::new();
    for (crawl, number) in paths.iter().filter_map(|path| crawl_and_number(path)) {
        let of = number / NUMBERS_OF_ONE;
        numbers.entry((crawl, of)).or_default().insert(number);
    }
    let has_plain = paths.iter().any(|path| crawl_and_number(path).is_none());
    let missing = |((_, of), numbers): (&(String, u32), &BTreeSet<u32>)| {
        let first = numbers.first().filter(|_| has_plain && *of == 0).copied();
        let first = first.unwrap_or(of * NUMBERS_OF_ONE);
        let last = numbers.last().copied().unwrap_or(first);
        (last - first) as usize + 1 - numbers.len()
    };
    numbers.iter().map(missing).sum()
}

#[cfg(test)]
mod tests {
    use super::super::{add_earlier_archives, whole_name};
    use super::*;

    fn name(crawl: &str, number: u32) -> String {
        format!("gleaner-20260102030405-{crawl}-{number:05}.warc.gz")
    }

    fn names_of(crawl: &str) -> FileNames {
        FileNames::plain("gleaner").followed_by(0, format!("gleaner-20260102030405-{crawl}"))
    }

    #[test]
    fn what_was_moved_is_found_and_what_is_another_crawls_is_not() {
        let place = tempfile::tempdir().unwrap();
        let [own, cold, gone] = ["warc", "cold", "gone"].map(|it| place.path().join(it));
        fs::create_dir(&own).unwrap();
        fs::create_dir(&cold).unwrap();
        let put = |directory: &Path, name: String| fs::write(directory.join(name), "x").unwrap();
        put(&own, name("0123abcd", 3));
        put(&cold, name("0123abcd", 0));
        put(&cold, name("0123abcd", 2));
        put(&cold, name("fedc3210", 1));
        put(&cold, "gleaner-00000001.warc.gz".to_owned());
        let names = names_of("0123abcd");
        let moved = own.join(name("0123abcd", 2));
        assert!(open_to_read(&moved).is_err());
        set_elsewhere(&own, &names, &[gone.clone(), cold.clone()]).unwrap();
        open_to_read(&moved).unwrap();
        assert_eq!(present(&moved), Some(cold.join(name("0123abcd", 2))));
        assert_eq!(present(&own.join(name("0123abcd", 1))), None);
        let files = files_of(&own).unwrap();
        let expected = [
            cold.join(name("0123abcd", 0)),
            cold.join(name("0123abcd", 2)),
            own.join(name("0123abcd", 3)),
        ];
        assert_eq!((files.paths.as_slice(), files.missing), (&expected[..], 1));
        set_elsewhere(&own, &names, &[]).unwrap();
        assert_eq!(files_of(&own).unwrap().paths.len(), 1);
        set_elsewhere(&own, &names, &[]).unwrap();
    }

    #[test]
    fn what_an_earlier_crawl_has_is_found_wherever_that_put_it() {
        let place = tempfile::tempdir().unwrap();
        let [own, first, cold, gone] =
            ["own", "first", "cold", "gone"].map(|it| place.path().join(it));
        for directory in [&own, &first, &cold] {
            fs::create_dir(directory).unwrap();
        }
        fs::write(first.join(name("0123abcd", 0)), "x").unwrap();
        fs::write(first.join(format!("{}.open", name("0123abcd", 1))), "x").unwrap();
        fs::write(cold.join(name("0123abcd", 2)), "x").unwrap();
        set_elsewhere(&first, &names_of("0123abcd"), std::slice::from_ref(&cold)).unwrap();
        let there = |number| present(&own.join(name("0123abcd", number)));
        assert_eq!(there(0), None);
        add_earlier_archives(&own, std::slice::from_ref(&gone)).unwrap();
        // Where it was once stays listed.
        add_earlier_archives(&own, std::slice::from_ref(&first)).unwrap();
        assert_eq!(earlier_archives(&own), [first.clone(), gone.clone()]);
        assert_eq!(there(0), Some(first.join(name("0123abcd", 0))));
        assert_eq!(there(2), Some(cold.join(name("0123abcd", 2))));
        assert_eq!(there(3), None);
        open_to_read(&own.join(name("0123abcd", 1))).unwrap();
        let missing = open_to_read(&own.join(name("0123abcd", 3))).unwrap_err();
        assert_eq!(missing.kind(), io::ErrorKind::NotFound);
        let said = missing.to_string();
        let looked = [&first, &gone].map(|it| format!("nor in {}", it.display()));
        assert!(looked.iter().all(|it| said.contains(it)), "{said}");
        assert!(said.contains("--since DIR"), "{said}");
        assert_eq!(
            whole_name(&there(1).unwrap()),
            first.join(name("0123abcd", 1))
        );
        // They are another crawl's.
        assert_eq!(files_of(&own).unwrap().paths, Vec::<PathBuf>::new());
    }

    #[test]
    fn plain_names_tell_no_gap_before_those_of_the_crawl() {
        let path = |name: &str| PathBuf::from(name);
        let crawl = |number| path(&name("0123abcd", number));
        let plain = path("gleaner-00000000.warc.gz");
        assert_eq!(missing(&[plain.clone(), crawl(3), crawl(4)]), 0);
        assert_eq!(missing(&[plain, crawl(3), crawl(6)]), 2);
        assert_eq!(missing(&[crawl(3), crawl(6)]), 5);
        // Of the workers that were the first, the second and the fourth to have it.
        let workers = [0, 1, 65_536, 65_538, 3 << 16].map(crawl);
        assert_eq!(missing(&workers), 1);
        assert_eq!(missing(&[]), 0);
    }

    #[test]
    fn a_list_that_cannot_be_read_hides_nothing_that_is_there() {
        let place = tempfile::tempdir().unwrap();
        fs::write(place.path().join(LIST), "no list").unwrap();
        fs::write(place.path().join(name("0123abcd", 0)), "x").unwrap();
        assert_eq!(files_of(place.path()).unwrap().paths.len(), 1);
        assert!(present(&place.path().join(name("0123abcd", 1))).is_none());
    }
}
