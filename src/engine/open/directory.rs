//! The data directory: which process may open it, and whether it is gleaner's.
//!
//! `lock` is taken before any engine opens, `version` is read before anything else is trusted.

use std::fs::{self, DirBuilder, File, TryLockError};
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::lock::LockFile;

/// The oldest format that can be migrated.
pub(super) const OLDEST: u32 = 11;

/// The format that this version writes: it rises when a row or a file changes its form, and
/// `migrate` gets a step.
pub(super) const FORMAT: u32 = 16;

/// Name of the file that says which versions of gleaner may open the directory.
const VERSION_FILE: &str = "version";

/// Second line of `lock` if its process does not crawl; the first is the number of the process.
const FOR_A_WHILE: &str = "for a while";

/// How long a command waits for another one that has the directory for a moment.
const A_MOMENT: Duration = Duration::from_secs(1);

/// Text of that file before the number of the format.
const VERSION: &str = "gleaner data directory, format ";

/// Returns the text of the file `version` for this version's format.
fn version() -> String {
    format!("{VERSION}{FORMAT}")
}

/// Returns the format that the text of the file `version` names, if its rows can be read or
/// migrated.
fn format_of(text: &str) -> Option<u32> {
    let format = text.trim_end().strip_prefix(VERSION)?.parse().ok()?;
    (OLDEST..=FORMAT).contains(&format).then_some(format)
}

/// A data directory that belongs to this process until it is dropped.
#[derive(Debug)]
pub struct DataDirectory {
    path: PathBuf,
    _lock: LockFile,
}

impl DataDirectory {
    /// Creates a directory if there is none: its owner's, because a crawl may hold pages behind
    /// passwords; or one that a group may read, whose files belong to that group.
    pub(crate) fn create(path: &Path, group: Option<&str>) -> Result<(), DirectoryError> {
        let failed = |source| DirectoryError::Io {
            path: path.to_owned(),
            source,
        };
        if path.exists() {
            return Ok(());
        }
        let group = group.map(group_id).transpose().map_err(failed)?;
        let private = DirBuilder::new().recursive(true).mode(0o700).create(path);
        private.map_err(failed)?;
        if group.is_some() {
            std::os::unix::fs::chown(path, None, group).map_err(failed)?;
            fs::set_permissions(path, fs::Permissions::from_mode(0o2750)).map_err(failed)?;
        }
        Ok(())
    }

    /// Takes a directory, creating it if there is none.
    pub fn take(path: &Path) -> Result<Self, DirectoryError> {
        Self::lock(path, true)
    }

    /// Takes a directory that must contain a crawl.
    pub fn take_existing(path: &Path) -> Result<Self, DirectoryError> {
        match path.join(VERSION_FILE).try_exists() {
            Ok(true) => Self::lock(path, false),
            Ok(false) => Err(DirectoryError::NoCrawl(path.to_owned())),
            Err(source) => Err(DirectoryError::Io {
                path: path.to_owned(),
                source,
            }),
        }
    }

    /// Takes a directory to crawl in it. A process that only reads it, or changes a few rows, has
    /// it for a while: it is waited for, as long as `goes_on` says so. A process that crawls is
    /// not.
    pub fn take_in_turn(
        path: &Path,
        mut goes_on: impl FnMut() -> bool,
    ) -> Result<Self, DirectoryError> {
        let mut is_told = false;
        loop {
            match Self::take(path) {
                Err(DirectoryError::InUse {
                    holder,
                    for_a_while: true,
                    ..
                }) if goes_on() => {
                    if !is_told {
                        is_told = true;
                        tracing::warn!(
                            by = command(holder),
                            "the data directory is being read; the crawl starts when that has ended"
                        );
                    }
                }
                result => return result,
            }
        }
    }

    fn lock(path: &Path, create: bool) -> Result<Self, DirectoryError> {
        let failed = |source| DirectoryError::Io {
            path: path.to_owned(),
            source,
        };
        let version = path.join(VERSION_FILE);
        if create {
            Self::create(path, None)?;
            if !version.exists() && has_foreign_entries(path).map_err(failed)? {
                return Err(DirectoryError::Foreign(path.to_owned()));
            }
        }
        let (lock, denied) = match LockFile::create(path) {
            Ok(lock) => (lock, None),
            // Who may only read can still learn that the crawl runs, and ask for its status.
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied && !create => {
                (LockFile::open(path).map_err(failed)?, Some(error))
            }
            Err(error) => return Err(failed(error)),
        };
        // `gleaner status` holds the lock for the moment of reading, so it is worth waiting.
        let patience = if create {
            A_MOMENT
        } else {
            // A follower only checks whether another process has it.
            Duration::from_millis(20)
        };
        match lock.lock(patience) {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Err(DirectoryError::in_use(path, &lock)),
            Err(TryLockError::Error(error)) => return Err(failed(error)),
        }
        if let Some(error) = denied {
            return Err(failed(error));
        }
        lock.sign((!create).then_some(FOR_A_WHILE))
            .map_err(failed)?;
        match Self::check_version(path) {
            Err(DirectoryError::NoCrawl(_)) => {
                write_version(&version).map_err(failed)?;
            }
            checked => checked?,
        }
        Ok(Self {
            path: path.to_owned(),
            _lock: lock,
        })
    }

    /// Keeps others from taking a directory, without writing anything there, so it need not be
    /// writable. Any number of processes may do so at once. `None` if nobody ever took it.
    pub(crate) fn share(path: &Path) -> Result<Option<LockFile>, DirectoryError> {
        let failed = |source| DirectoryError::Io {
            path: path.to_owned(),
            source,
        };
        let lock = match LockFile::open(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            lock => lock.map_err(failed)?,
        };
        match lock.share(A_MOMENT) {
            Ok(()) => Ok(Some(lock)),
            Err(TryLockError::Error(error)) => Err(failed(error)),
            Err(TryLockError::WouldBlock) => Err(DirectoryError::in_use(path, &lock)),
        }
    }

    /// Checks that there is a crawl whose files this version reads; does not take the directory.
    pub(crate) fn check_version(path: &Path) -> Result<(), DirectoryError> {
        read_version(path).map(drop)
    }

    /// Prevents older versions of gleaner from opening the directory. Returns `false` if that was
    /// done before.
    pub(super) fn raise_version(&self) -> Result<bool, DirectoryError> {
        if read_version(&self.path)? == FORMAT {
            return Ok(false);
        }
        let written = write_version(&self.path.join(VERSION_FILE));
        written.map_err(|source| DirectoryError::Io {
            path: self.path.clone(),
            source,
        })?;
        Ok(true)
    }

    /// Returns `true` if a process has the directory at this moment. Asking prevents nobody from
    /// taking it.
    pub(crate) fn is_taken(path: &Path) -> bool {
        // The lock is shared and released at once; processes that take the directory wait for it.
        LockFile::open(path)
            .is_ok_and(|lock| matches!(lock.share(Duration::ZERO), Err(TryLockError::WouldBlock)))
    }

    /// Returns the path of the directory.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

/// Returns the number of a group, which is given by its number or by a name of `/etc/group`.
fn group_id(group: &str) -> io::Result<u32> {
    if let Ok(number) = group.parse() {
        return Ok(number);
    }
    let groups = fs::read_to_string("/etc/group")?;
    let number = groups.lines().find_map(|line| {
        let mut fields = line.split(':');
        let is_it = fields.next() == Some(group);
        fields.nth(1).filter(|_| is_it)?.parse().ok()
    });
    number.ok_or_else(|| {
        let message = format!("/etc/group has no group {group:?} (state.group); give its number");
        io::Error::new(io::ErrorKind::NotFound, message)
    })
}

/// Reads the format from the file `version` of a directory.
fn read_version(path: &Path) -> Result<u32, DirectoryError> {
    let text = match fs::read_to_string(path.join(VERSION_FILE)) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return Err(DirectoryError::NoCrawl(path.to_owned()));
        }
        Err(source) => {
            return Err(DirectoryError::Io {
                path: path.to_owned(),
                source,
            });
        }
    };
    format_of(&text).ok_or_else(|| DirectoryError::Version {
        path: path.to_owned(),
        found: text.trim().chars().take(80).collect(),
    })
}

/// Returns `true` if there is something that gleaner did not put there before it wrote `version`.
fn has_foreign_entries(path: &Path) -> io::Result<bool> {
    for entry in fs::read_dir(path)? {
        let name = entry?.file_name();
        if name != LockFile::NAME && name != "version.new" && name != "lost+found" {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Writes the file `version` so that it is either complete or absent, whatever happens, and before
/// anything else is there: without it, nobody could tell that the rest is a crawl.
fn write_version(path: &Path) -> io::Result<()> {
    let temporary = path.with_extension("new");
    let mut file = File::create(&temporary)?;
    writeln!(file, "{}", version())?;
    file.sync_all()?;
    fs::rename(&temporary, path)?;
    File::open(path.parent().unwrap_or(Path::new(".")))?.sync_all()
}

/// Why a data directory cannot be used. Nothing in it was changed.
#[derive(Debug, thiserror::Error)]
pub enum DirectoryError {
    /// An I/O operation failed.
    #[error(
        "cannot use the data directory {path}: {source}; give one that can be written to with --data-dir, or be the user that runs the crawl"
    )]
    Io {
        /// The directory.
        path: PathBuf,
        /// The error of the operating system.
        source: io::Error,
    },
    /// Another process uses it.
    #[error("the data directory {} is in use by {}", path.display(), in_words(*holder, *for_a_while))]
    InUse {
        /// The directory.
        path: PathBuf,
        /// The process, if it is known.
        holder: Option<u32>,
        /// Whether it does not crawl, and ends by itself.
        for_a_while: bool,
    },
    /// Another version wrote it.
    #[error(
        "the data directory {path} has another format ({found}) than this version of gleaner reads ({}); use the gleaner that wrote it, or give another directory with --data-dir",
        version()
    )]
    Version {
        /// The directory.
        path: PathBuf,
        /// Text of its version file.
        found: String,
    },
    /// It contains something else.
    #[error(
        "{0} is not empty and does not contain a crawl; give a new or empty directory with --data-dir"
    )]
    Foreign(PathBuf),
    /// It contains no crawl.
    #[error("there is no crawl in {0}; start one with `gleaner crawl --data-dir`")]
    NoCrawl(PathBuf),
}

impl DirectoryError {
    /// The directory is in use: by those that share its lock or, as the file says, by one process.
    fn in_use(path: &Path, lock: &LockFile) -> Self {
        let (holder, for_a_while) = if lock.is_shared() {
            (lock.sharer(), true)
        } else {
            let (holder, remark) = lock.signature();
            (holder, remark.as_deref() == Some(FOR_A_WHILE))
        };
        Self::InUse {
            path: path.to_owned(),
            holder,
            for_a_while,
        }
    }
}

/// Names a command by its process.
fn command(process: Option<u32>) -> String {
    process.map_or("another command".to_owned(), |process| {
        format!("process {process}")
    })
}

/// Who has a directory, and what to do.
fn in_words(holder: Option<u32>, for_a_while: bool) -> String {
    let holder = command(holder);
    match for_a_while {
        true => format!(
            "{holder}, which only reads it, or puts URLs back; wait until that has ended, or give another directory with --data-dir"
        ),
        false => format!(
            "{holder}, which crawls; stop that one, or give another directory with --data-dir"
        ),
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::MetadataExt as _;

    use super::*;

    #[test]
    fn a_directory_belongs_to_one_at_a_time() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("new/crawl");
        assert!(matches!(
            DataDirectory::take_existing(&path),
            Err(DirectoryError::NoCrawl(_))
        ));
        let first = DataDirectory::take(&path).unwrap();
        let second = DataDirectory::take(&path);
        assert!(
            matches!(second, Err(DirectoryError::InUse { holder, .. }) if holder == Some(std::process::id()))
        );
        drop(first);
        assert!(DataDirectory::take_existing(&path).is_ok());
    }

    #[test]
    fn a_start_waits_for_those_who_read_and_not_for_those_who_crawl() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("crawl");
        drop(DataDirectory::take(&path).unwrap());
        let mut reader = Some(DataDirectory::take_existing(&path).unwrap());
        let asked = DataDirectory::take_existing(&path);
        assert!(matches!(
            asked,
            Err(DirectoryError::InUse {
                for_a_while: true,
                ..
            })
        ));
        // It is stopped while it waits.
        let stopped = DataDirectory::take_in_turn(&path, || false);
        assert!(matches!(stopped, Err(DirectoryError::InUse { .. })));
        // The reader ends while it waits.
        let crawling = DataDirectory::take_in_turn(&path, || {
            reader = None;
            true
        });
        let crawling = crawling.unwrap();
        let refused = DataDirectory::take_in_turn(&path, || true);
        assert!(matches!(
            refused,
            Err(DirectoryError::InUse {
                for_a_while: false,
                ..
            })
        ));
        drop(crawling);
    }

    #[test]
    fn those_who_share_are_told_from_those_who_crawled_before() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("crawl");
        assert!(DataDirectory::share(directory.path()).unwrap().is_none());
        let crawling = DataDirectory::take(&path).unwrap();
        let refused = DataDirectory::share(&path).unwrap_err().to_string();
        assert!(refused.contains("which crawls"), "{refused}");
        drop(crawling);
        let share = || DataDirectory::share(&path).unwrap();
        let mut shared = vec![share().unwrap(), share().unwrap()];
        let written = fs::read_to_string(path.join("lock")).unwrap();
        let refused = DataDirectory::take_existing(&path).unwrap_err().to_string();
        assert!(refused.contains("which only reads it"), "{refused}");
        assert_eq!(fs::read_to_string(path.join("lock")).unwrap(), written);
        // A start waits for all of them.
        let taken = DataDirectory::take_in_turn(&path, || {
            shared.clear();
            true
        });
        assert!(taken.is_ok());
    }

    #[test]
    fn a_new_directory_is_its_owners() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("crawl");
        drop(DataDirectory::take(&path).unwrap());
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode(&path), 0o700);
        // A group may read what is made for it; the process's own is one that it may give.
        let shared = directory.path().join("shared");
        let own = fs::metadata(&path).unwrap().gid();
        DataDirectory::create(&shared, Some(&own.to_string())).unwrap();
        drop(DataDirectory::take(&shared).unwrap());
        assert_eq!(
            (mode(&shared), fs::metadata(&shared).unwrap().gid()),
            (0o750, own)
        );
        let nobody = directory.path().join("nobody");
        let refused = DataDirectory::create(&nobody, Some("no such group"));
        assert!(refused.unwrap_err().to_string().contains("state.group"));
        assert!(!nobody.exists());
        // One that was made for others to read stays so.
        fs::set_permissions(&path, fs::Permissions::from_mode(0o750)).unwrap();
        drop(DataDirectory::take(&path).unwrap());
        assert_eq!(mode(&path), 0o750);
    }

    #[test]
    fn foreign_directories_and_other_versions_are_refused() {
        let directory = tempfile::tempdir().unwrap();
        fs::write(directory.path().join("thesis.txt"), "years of work").unwrap();
        assert!(matches!(
            DataDirectory::take(directory.path()),
            Err(DirectoryError::Foreign(_))
        ));
        for other in ["format 999", "format 10", "form 12", "format 12 or so"] {
            let text = format!("gleaner data directory, {other}\n");
            fs::write(directory.path().join("version"), text).unwrap();
            assert!(matches!(
                DataDirectory::take(directory.path()),
                Err(DirectoryError::Version { .. })
            ));
        }
    }
}
