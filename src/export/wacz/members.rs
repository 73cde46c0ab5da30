//! Which files of archives are packed, under which names, and which of them together.

use std::collections::{BTreeSet, HashSet};
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use super::super::error::Error;
use super::super::manifest::Manifest;
use super::super::walk::Source;
use crate::archive::{self, index_path};
use crate::engine::DataDirectory;

/// What a file has behind its name while it is written.
const OPEN: &str = ".open";

/// A file that is packed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Member {
    /// Number of its crawl among the sources.
    pub(super) source: usize,
    /// Where it is.
    pub(super) path: PathBuf,
    /// Where it would be if it had not left.
    pub(super) home: PathBuf,
    /// Its name in its crawl.
    pub(super) name: String,
    /// Its name in the package.
    pub(super) packed: String,
    /// Its length.
    pub(super) bytes: u64,
}

impl Member {
    /// Returns what is read for its lines of the index: the index beside it, or itself.
    pub(super) fn indexed(&self) -> PathBuf {
        let beside = [index_path(&self.path), index_path(&self.home)];
        let beside = beside.into_iter().find(|path| path.is_file());
        beside.unwrap_or_else(|| self.path.clone())
    }
}

/// The files of some crawls.
#[derive(Debug, Default)]
pub(super) struct Found {
    pub(super) members: Vec<Member>,
    /// Number of files that are being written.
    pub(super) open: usize,
    /// Number of files that are nowhere.
    pub(super) missing: usize,
}

/// Finds the closed files of some crawls that an earlier export does not have.
pub(super) fn find(sources: &[Source], after: Option<&Manifest>) -> Result<Found, Error> {
    let mut found = Found::default();
    let mut names = Names::default();
    let mut directories = HashSet::new();
    for (number, source) in sources.iter().enumerate() {
        let known = source.data.canonicalize();
        let known = known.map_err(Error::io("find", &source.data))?;
        if !directories.insert(known) {
            return Err(Error::Request(format!(
                "--data-dir names {} twice",
                source.data.display()
            )));
        }
        let directory = source.data.join("warc");
        // Before the files are listed: what is closed meanwhile is left to the next package.
        let is_running = DataDirectory::is_taken(&source.data);
        let listed = match archive::files_of(&directory) {
            Err(error) if error.kind() == ErrorKind::NotFound => continue,
            listed => listed.map_err(Error::io("list", &directory))?,
        };
        found.missing += listed.missing;
        let packed = after.map_or(&[][..], |it| it.packed_of(&source.data));
        let open = listed.paths.iter().filter(|it| is_open(it)).count();
        let last_plain = last_plain(&listed.paths).filter(|_| is_running && open == 0);
        found.open += open + usize::from(last_plain.is_some());
        for path in &listed.paths {
            if is_open(path) || Some(path) == last_plain {
                continue;
            }
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            let bytes = match fs::metadata(path) {
                Ok(about) => about.len(),
                Err(error) if error.kind() == ErrorKind::NotFound => {
                    tracing::warn!(file = %path.display(), "this file has just left and is not packed");
                    found.missing += 1;
                    continue;
                }
                Err(error) => return Err(Error::io("examine", path)(error)),
            };
            let is_packed = packed
                .iter()
                .any(|it| it.name == *name && it.bytes == bytes);
            if is_packed {
                continue;
            }
            found.members.push(Member {
                source: number,
                path: path.clone(),
                home: directory.join(&*name),
                packed: names.give(&name, number),
                name: name.into_owned(),
                bytes,
            });
        }
    }
    Ok(found)
}

pub(super) fn is_open(path: &Path) -> bool {
    path.to_string_lossy().ends_with(OPEN)
}

/// The last file, if all have the plain names of earlier versions, which do not tell whether a file
/// is being written.
fn last_plain(paths: &[PathBuf]) -> Option<&PathBuf> {
    let is_plain = |path: &&PathBuf| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let start = name.rsplit('-').nth(2).unwrap_or_default();
        start.len() != 14 || !start.bytes().all(|it| it.is_ascii_digit())
    };
    paths.last().filter(is_plain)
}

/// Names in a package, of which no two may be the same, also where case does not tell names apart.
#[derive(Default)]
struct Names(BTreeSet<String>);

impl Names {
    fn give(&mut self, name: &str, source: usize) -> String {
        let others = (source + 1..).map(|number| format!("{number}-{name}"));
        let mut names = [name.to_owned()].into_iter().chain(others);
        let free = names.find(|it| self.0.insert(it.to_ascii_lowercase()));
        free.unwrap_or_default()
    }
}

/// Parts files into packages of a size, which is surpassed by what is not parted: a file, and the
/// lists of pages.
pub(super) fn grouped(members: Vec<Member>, max_size: Option<u64>) -> Vec<Vec<Member>> {
    let mut groups: Vec<Vec<Member>> = Vec::new();
    let mut bytes = 0;
    for member in members {
        let is_full = max_size.is_some_and(|max| bytes + member.bytes > max);
        match groups.last_mut() {
            Some(group) if !is_full => {
                bytes += member.bytes;
                group.push(member);
            }
            _ => {
                bytes = member.bytes;
                groups.push(vec![member]);
            }
        }
    }
    groups
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_two_files_have_one_name() {
        let mut names = Names::default();
        let check = |names: &mut Names, name, source, expected| {
            assert_eq!(names.give(name, source), expected);
        };
        check(&mut names, "a-00000000.warc.gz", 0, "a-00000000.warc.gz");
        check(
            &mut names,
            "2-a-00000000.warc.gz",
            0,
            "2-a-00000000.warc.gz",
        );
        check(&mut names, "a-00000000.warc.gz", 1, "3-a-00000000.warc.gz");
        check(&mut names, "A-00000000.warc.gz", 3, "4-A-00000000.warc.gz");
    }

    #[test]
    fn the_last_plain_name_may_be_of_a_file_that_is_written() {
        let check = |names: &[&str], expected: Option<&str>| {
            let paths: Vec<PathBuf> = names.iter().map(PathBuf::from).collect();
            assert_eq!(last_plain(&paths), expected.map(PathBuf::from).as_ref());
        };
        let plain = "x/gleaner-00000001.warc.gz";
        check(&["x/gleaner-00000000.warc.gz", plain], Some(plain));
        check(
            &[plain, "x/gleaner-20260102030405-0123abcd-00002.warc.gz"],
            None,
        );
        check(&[], None);
    }

    #[test]
    fn packages_are_full_when_the_next_file_does_not_fit() {
        let member = |bytes| Member {
            source: 0,
            path: PathBuf::new(),
            home: PathBuf::new(),
            name: String::new(),
            packed: String::new(),
            bytes,
        };
        let check = |max, expected: &[usize]| {
            let members = [5, 5, 1, 20, 1].map(member).to_vec();
            let sizes: Vec<usize> = grouped(members, max).iter().map(Vec::len).collect();
            assert_eq!(sizes, expected, "{max:?}");
        };
        check(None, &[5]);
        check(Some(1), &[1; 5]);
        check(Some(11), &[3, 1, 1]);
        check(Some(100), &[5]);
    }
}
