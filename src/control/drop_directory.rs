//! The drop directory, `drop/`: seed lists that are copied there are crawled. A list is accepted
//! whole or not at all, then moved to `drop/done/`, or to `drop/rejected/` together with a file
//! that gives the reason.
//!
//! The directory is polled once a second rather than watched: polling costs next to nothing, works
//! on every file system, and shows by size and time that a file is no longer being written.

use std::collections::HashMap;
use std::ffi::{OsStr, OsString};
use std::fs::{self, DirEntry, File};
use std::io::{self, BufReader, Seek as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use crate::engine::{Control, Over, SeedsAdded};
use crate::fetch::Refused;
use crate::seeds;

/// Name of the drop directory in the data directory.
const NAME: &str = "drop";
/// Poll interval. A file that did not change for one interval is complete.
const POLL_INTERVAL: Duration = Duration::from_secs(1);
/// Number of seeds in one commit.
const SEEDS_PER_COMMIT: usize = 1_000;

/// The drop directory and its subdirectories.
#[derive(Debug)]
pub(super) struct DropDirectory {
    path: PathBuf,
    done: PathBuf,
    rejected: PathBuf,
    /// Size and modification time of each list at the last poll.
    seen: HashMap<OsString, (u64, SystemTime)>,
    /// Lists that were accepted and could not be moved away, as they were then.
    stuck: HashMap<OsString, (u64, SystemTime)>,
    /// Whether an error of the directory itself has been logged.
    has_warned: bool,
}

/// What happened to a list.
enum Outcome {
    Accepted(SeedsAdded),
    Rejected(String),
}

/// Opens or creates the drop directory of a data directory.
pub(super) fn open(directory: &Path) -> io::Result<DropDirectory> {
    let path = directory.join(NAME);
    let (done, rejected) = (path.join("done"), path.join("rejected"));
    fs::create_dir_all(&done)?;
    fs::create_dir_all(&rejected)?;
    Ok(DropDirectory {
        path,
        done,
        rejected,
        seen: HashMap::new(),
        stuck: HashMap::new(),
        has_warned: false,
    })
}

impl DropDirectory {
    /// Processes lists until the crawl is over.
    pub(super) async fn watch(mut self, control: &Control) {
        loop {
            for list in self.settled() {
                match self.take(&list, control).await {
                    Ok(()) => {}
                    // The list remains for the next start.
                    Err(Over) => return std::future::pending().await,
                }
            }
            tokio::time::sleep(POLL_INTERVAL).await;
        }
    }

    /// Lists that are complete, ordered by name.
    fn settled(&mut self) -> Vec<PathBuf> {
        let entries: Vec<DirEntry> = match fs::read_dir(&self.path) {
            Ok(entries) => {
                self.has_warned = false;
                entries.flatten().collect()
            }
            Err(error) => {
                if !self.has_warned {
                    tracing::warn!(directory = %self.path.display(), %error, "cannot look for seed lists");
                }
                self.has_warned = true;
                return Vec::new();
            }
        };
        let mut now = HashMap::new();
        let mut settled = Vec::new();
        for entry in entries {
            let name = entry.file_name();
            let Ok(about) = fs::symlink_metadata(entry.path()) else {
                continue;
            };
            // A link is no list, and is said to be none.
            if !(about.is_file() || about.is_symlink()) || is_unfinished(&name) {
                continue;
            }
            let state = (
                about.len(),
                about.modified().unwrap_or(SystemTime::UNIX_EPOCH),
            );
            let stays = self.seen.get(&name) == Some(&state);
            if stays && self.stuck.get(&name) != Some(&state) {
                settled.push(entry.path());
            }
            now.insert(name, state);
        }
        self.stuck.retain(|name, _| now.contains_key(name));
        self.seen = now;
        settled.sort();
        settled
    }

    /// Adds the seeds of a list, and moves the list to `done/` or `rejected/`.
    async fn take(&mut self, list: &Path, control: &Control) -> Result<(), Over> {
        let (folder, outcome) = match read(list, control).await? {
            Outcome::Accepted(added) => (&self.done, Ok(added)),
            Outcome::Rejected(reason) => (&self.rejected, Err(reason)),
        };
        let name = list.file_name().unwrap_or(OsStr::new("list"));
        // The directory may have been deleted since the start.
        let _ = fs::create_dir_all(folder);
        let target = free_name(folder, name);
        let (from, to) = (list.display(), target.display());
        if let Err(reason) = &outcome {
            let about = reason_path(&target);
            if let Err(error) = fs::write(&about, format!("{reason}\n")) {
                tracing::warn!(%error, file = %about.display(), "cannot write why a seed list was rejected");
            }
        }
        match &outcome {
            Ok(added) => control.tell_seeds(Some(from.to_string()), added),
            Err(reason) => tracing::warn!(list = %from, reason, "seed list rejected"),
        }
        if let Err(error) = fs::rename(list, &target) {
            tracing::warn!(%error, "cannot move {from} to {to}; move it away by hand");
            if let Some(state) = self.seen.get(name) {
                self.stuck.insert(name.to_owned(), *state);
            }
        }
        Ok(())
    }
}

/// Reads a list twice: to check every seed, then to add them.
async fn read(list: &Path, control: &Control) -> Result<Outcome, Over> {
    let unreadable = |error: &io::Error| {
        Outcome::Rejected(format!(
            "cannot read {}: {error}; give a file, not a link, that the daemon's user can read",
            list.display()
        ))
    };
    let mut file = match open_list(list) {
        Ok(file) => file,
        Err(error) => return Ok(unreadable(&error)),
    };
    let mut given = 0_u64;
    for seed in seeds::read(BufReader::new(&file), list) {
        if given.is_multiple_of(SEEDS_PER_COMMIT as u64) {
            // Lets the control socket be served while a long list is read.
            tokio::task::yield_now().await;
        }
        let refused = match seed {
            Ok(seed) => control.check_seed(&seed.url, false).err().map(|error| {
                let url = &seed.url;
                format!("{}: {url}: {error}; {}", list.display(), advice(&error))
            }),
            // The list may be somebody else's secret file: what stands in it is not repeated.
            Err(seeds::Error::Line { line, .. }) => Some(format!(
                "{}:{line}: not a seed that can be crawled; correct the line, or put # before it",
                list.display()
            )),
            Err(error) => Some(error.to_string()),
        };
        if let Some(reason) = refused {
            return Ok(Outcome::Rejected(reason));
        }
        given += 1;
    }
    if given == 0 {
        let reason = format!(
            "{} contains no seeds: write one URL per line",
            list.display()
        );
        return Ok(Outcome::Rejected(reason));
    }
    let mut sum = SeedsAdded::default();
    if let Err(error) = file.rewind() {
        return Ok(unreadable(&error));
    }
    let mut seeds = seeds::read(BufReader::new(file), list);
    loop {
        // Every line was valid a moment ago: errors mean that the file is being changed.
        let chunk = seeds.by_ref().flatten().take(SEEDS_PER_COMMIT);
        let chunk: Vec<_> = chunk.collect();
        if chunk.is_empty() {
            return Ok(Outcome::Accepted(sum));
        }
        let added = control.add_seeds(chunk, false).await?;
        sum.new += added.new;
        sum.known += added.known;
    }
}

/// Opens a list, if it is a file of its own: whoever may write to the drop directory must not make
/// the daemon read what only the daemon may read.
fn open_list(list: &Path) -> io::Result<File> {
    let no_links = rustix::fs::OFlags::NOFOLLOW | rustix::fs::OFlags::NONBLOCK;
    let file = File::options()
        .read(true)
        .custom_flags(no_links.bits().cast_signed())
        .open(list)?;
    match file.metadata()?.is_file() {
        true => Ok(file),
        false => Err(io::Error::other("it is not a file")),
    }
}

/// How to make the seed acceptable.
fn advice(refused: &Refused) -> &'static str {
    match refused {
        Refused::NoContact => {
            "add a contact, a URL or an e-mail address, to fetch.user_agent and restart the daemon"
        }
        Refused::Port(_) => {
            "seed lists cannot allow such ports: add this seed with `gleaner seeds add`"
        }
        Refused::Address(_) | Refused::Name(_) | Refused::Resolved(..) => {
            "seed lists cannot allow private addresses: add this seed with `gleaner seeds add`, or \
             start the daemon with --allow-private"
        }
    }
}

/// Whether a name marks a file that is still being written, by common convention.
fn is_unfinished(name: &OsStr) -> bool {
    let name = name.to_string_lossy();
    let endings = [".tmp", ".part", ".swp", "~"];
    name.starts_with('.') || endings.iter().any(|ending| name.ends_with(ending))
}

/// Path of the file that gives the reason for a rejection: beside the list, with a name that is not
/// too long for the file system.
fn reason_path(list: &Path) -> PathBuf {
    const ENDING: &str = ".reason";
    /// Most file systems limit names to 255 bytes.
    const MAX: usize = 255 - ENDING.len();
    let name = list.file_name().unwrap_or_default();
    let kept = name.as_encoded_bytes().get(..MAX);
    let mut name = kept.map_or(name.to_owned(), |kept| {
        String::from_utf8_lossy(kept)
            .trim_end_matches('\u{fffd}')
            .into()
    });
    name.push(ENDING);
    list.with_file_name(name)
}

/// An unused path in `folder`: the name, or the name followed by a number.
fn free_name(folder: &Path, name: &OsStr) -> PathBuf {
    let mut path = folder.join(name);
    let mut number = 1_u64;
    while path.symlink_metadata().is_ok() {
        number += 1;
        let mut numbered = name.to_owned();
        numbered.push(format!(".{number}"));
        path = folder.join(numbered);
    }
    path
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_is_whole_when_it_stays_as_it_was() {
        let directory = tempfile::tempdir().unwrap();
        let mut drop = open(directory.path()).unwrap();
        let list = drop.path.join("a.txt");
        fs::write(&list, "http://a.example/\n").unwrap();
        for unfinished in [".hidden", "b.txt.tmp", "c.part", "d~"] {
            fs::write(drop.path.join(unfinished), "http://a.example/\n").unwrap();
        }
        assert_eq!(drop.settled(), [] as [&Path; 0]);
        fs::write(&list, "http://a.example/\nhttp://b.example/\n").unwrap();
        assert_eq!(drop.settled(), [] as [&Path; 0]);
        assert_eq!(drop.settled(), [&*list]);
    }

    #[test]
    fn a_link_is_no_list() {
        let directory = tempfile::tempdir().unwrap();
        let secret = directory.path().join("secret");
        fs::write(&secret, "http://a.example/\n").unwrap();
        let mut drop = open(directory.path()).unwrap();
        let link = drop.path.join("link.txt");
        std::os::unix::fs::symlink(&secret, &link).unwrap();
        assert!(open_list(&link).is_err());
        assert!(open_list(&secret).is_ok());
        assert!(open_list(directory.path()).is_err());
        drop.settled();
        assert_eq!(drop.settled(), [&*link], "it is told to be none");
    }

    #[test]
    fn reasons_stand_beside_their_lists() {
        let check = |name: &str, expected: &str| {
            let list = Path::new("rejected").join(name);
            assert_eq!(reason_path(&list), Path::new("rejected").join(expected));
        };
        check("a.txt", "a.txt.reason");
        check(&"x".repeat(255), &format!("{}.reason", "x".repeat(248)));
    }

    #[test]
    fn no_list_takes_the_place_of_another() {
        let folder = tempfile::tempdir().unwrap();
        let name = OsStr::new("a.txt");
        for expected in ["a.txt", "a.txt.2", "a.txt.3"] {
            let path = free_name(folder.path(), name);
            assert_eq!(path, folder.path().join(expected));
            fs::write(path, "").unwrap();
        }
    }
}
