//! To which records that are not in a package its revisits refer, and which crawls have these: a
//! player shows such a page only if packages of those are opened with it.

use std::borrow::Cow;
use std::collections::{BTreeSet, HashSet};
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use xxhash_rust::xxh3::xxh3_64;

use super::super::error::Error;
use super::super::walk::Source;
use super::lines::for_each_line;
use super::members::{Member, is_open};
use crate::archive::{self, crawl_of, earlier_archives, index_path};

/// What an index has as the type of a revisit.
const REVISIT: &str = "warc/revisit";

/// The payloads of the captures of a package, as hashes of their digests.
#[derive(Debug, Default)]
pub(super) struct Payloads {
    /// Those that are in it.
    held: Vec<u64>,
    /// Those to which its revisits refer, one for each.
    referred: Vec<u64>,
}

/// What of a line tells its payload.
#[derive(Deserialize)]
struct Line<'a> {
    #[serde(borrow, default)]
    mime: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    digest: Option<Cow<'a, str>>,
}

/// The payload of a line of an index, and whether it is that of a revisit.
fn payload(line: &str) -> Option<(u64, bool)> {
    let fields = line.splitn(3, ' ').nth(2)?;
    let line: Line<'_> = serde_json::from_str(fields).ok()?;
    let is_revisit = line.mime.is_some_and(|mime| mime == REVISIT);
    Some((xxh3_64(line.digest?.as_bytes()), is_revisit))
}

impl Payloads {
    pub(super) fn add(&mut self, line: &str) {
        match payload(line) {
            Some((payload, true)) => self.referred.push(payload),
            Some((payload, false)) => self.held.push(payload),
            None => {}
        }
    }

    /// The payloads to which revisits refer and that are not in the package.
    fn missing(mut self) -> Missing {
        self.held.sort_unstable();
        let is_missing = |payload: &u64| self.held.binary_search(payload).is_err();
        self.referred.retain(is_missing);
        self.referred.sort_unstable();
        let mut payloads: Vec<(u64, u32)> = Vec::new();
        for payload in &self.referred {
            match payloads.last_mut() {
                Some((last, revisits)) if last == payload => *revisits += 1,
                _ => payloads.push((*payload, 1)),
            }
        }
        Missing {
            left: self.referred.len() as u64,
            payloads,
        }
    }
}

/// Payloads that are looked for.
struct Missing {
    /// Each with the number of revisits that refer to it, none once it was found; ascending.
    payloads: Vec<(u64, u32)>,
    /// Number of revisits whose payload was not found yet.
    left: u64,
}

impl Missing {
    /// Notes that a payload was found, and returns how many revisits refer to it.
    fn take(&mut self, payload: u64) -> u64 {
        let found = self.payloads.binary_search_by_key(&payload, |it| it.0);
        let found = found.ok().and_then(|at| self.payloads.get_mut(at));
        let revisits = found.map_or(0, |it| u64::from(std::mem::take(&mut it.1)));
        self.left -= revisits;
        revisits
    }
}

/// What a package needs besides itself.
#[derive(Debug, Default)]
pub(super) struct Needed {
    /// The packages of this export, and the crawls, that have what its revisits refer to.
    pub(super) names: BTreeSet<String>,
    /// Number of revisits that refer to what is there.
    pub(super) revisits: u64,
    /// Number of revisits that refer to what is in no archive that is known.
    pub(super) nowhere: u64,
}

/// Finds what a package of these files needs, in packages that were made before it, in the other
/// files of its crawls, and in the archives of the crawls before them.
pub(super) fn find(
    payloads: Payloads,
    sources: &[Source],
    members: &[Member],
    before: &[(String, Vec<Member>)],
    temporary: &Path,
) -> Result<Needed, Error> {
    let mut search = Search {
        missing: payloads.missing(),
        needed: Needed::default(),
        temporary,
    };
    let mut read: HashSet<PathBuf> = members.iter().map(|it| it.home.clone()).collect();
    for (package, members) in before {
        for member in members {
            read.insert(member.home.clone());
            search.look_into(&member.indexed(), package)?;
        }
    }
    let mut directories: Vec<PathBuf> = (sources.iter())
        .map(|source| source.data.join("warc"))
        .collect();
    let mut known = HashSet::new();
    // The list grows by the archives to which these refer.
    for nth in 0.. {
        let Some(directory) = directories.get(nth).filter(|_| search.missing.left > 0) else {
            break;
        };
        let directory = directory.clone();
        if !known.insert(fs::canonicalize(&directory).unwrap_or_else(|_| directory.clone())) {
            continue;
        }
        directories.extend(earlier_archives(&directory));
        let files = match archive::files_of(&directory) {
            Err(error) if error.kind() == ErrorKind::NotFound => continue,
            files => files.map_err(Error::io("list", &directory))?,
        };
        for path in files.paths {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            let home = directory.join(&*name);
            // What is being written has no index that is whole.
            if is_open(&path) || !read.insert(home.clone()) {
                continue;
            }
            let beside = [index_path(&path), index_path(&home)];
            let beside = beside.into_iter().find(|path| path.is_file());
            let indexed = beside.unwrap_or_else(|| path.clone());
            search.look_into(&indexed, &crawl_of(&name))?;
        }
    }
    search.needed.nowhere = search.missing.left;
    Ok(search.needed)
}

/// A search for what is missing.
struct Search<'a> {
    missing: Missing,
    needed: Needed,
    /// Where temporary files are.
    temporary: &'a Path,
}

impl Search<'_> {
    /// Takes what a file has of what is missing. The file is known by the name.
    fn look_into(&mut self, indexed: &Path, name: &str) -> Result<(), Error> {
        if self.missing.left == 0 {
            return Ok(());
        }
        let (missing, needed) = (&mut self.missing, &mut self.needed);
        for_each_line(indexed, self.temporary, |line| {
            let Some((payload, false)) = payload(line) else {
                return;
            };
            let revisits = missing.take(payload);
            if revisits > 0 {
                needed.revisits += revisits;
                needed.names.insert(name.to_owned());
            }
        })
    }
}
