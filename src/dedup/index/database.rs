//! The rows of documents in sled: one database that is reopened from time to time.

use std::fs::File;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{PoisonError, RwLock};
use std::thread;
use std::time::Duration;

use crate::dedup::{DocumentId, Error};

/// The key of the row that holds the last checkpointed id. It is shorter than any id.
pub(super) const THROUGH: &[u8] = b"t";

/// A sled database. Sled records its page locations only when it opens, and rereads everything
/// written since at the next opening, at 18 microseconds per row; so it is reopened from time to
/// time. Threads share it; those that read wait while it is reopened.
pub(super) struct Database {
    path: PathBuf,
    cache_bytes: u64,
    /// `None` only if it could not be reopened.
    sled: RwLock<Option<sled::Db>>,
    /// Rows written since the last opening.
    written: AtomicUsize,
}

impl Database {
    /// Number of written rows after which the database is reopened.
    const REOPEN: usize = 200_000;

    /// Opens the database and reads the id of its last checkpoint. Sled panics on some damage,
    /// which is reported as an error.
    pub(super) fn open(path: &Path, cache_bytes: u64) -> Result<(Self, DocumentId), Error> {
        let database = Self {
            path: path.to_owned(),
            cache_bytes,
            sled: RwLock::new(None),
            written: AtomicUsize::new(0),
        };
        let open = || {
            database.reopen()?;
            let through = database.get(THROUGH)?;
            let through =
                through.and_then(|row| Some(u64::from_be_bytes(row.as_ref().try_into().ok()?)));
            Ok((database, through.unwrap_or(0)))
        };
        catch_unwind(AssertUnwindSafe(open)).unwrap_or_else(|_| Err(panicked(path)))
    }

    fn reopen(&self) -> Result<(), Error> {
        let mut sled = self.sled.write().unwrap_or_else(PoisonError::into_inner);
        self.close(sled.take());
        remove_unfinished(&self.path).map_err(|source| Error::Io {
            path: self.path.clone(),
            source,
        })?;
        let open = || {
            sled::Config::new()
                .path(&self.path)
                .cache_capacity(self.cache_bytes)
                .flush_every_ms(None)
                .open()
        };
        let opened = patiently(open).map_err(|error| self.failed(error))?;
        *sled = Some(opened);
        self.written.store(0, Ordering::Relaxed);
        Ok(())
    }

    /// Closes the database. Sled syncs its file when it is dropped, and panics if that fails; then
    /// it is not dropped, so that the error that ended the run is the one that is told.
    fn close(&self, sled: Option<sled::Db>) {
        let Some(sled) = sled else {
            return;
        };
        let synced = catch_unwind(AssertUnwindSafe(|| {
            // What it does not take is in the store, too.
            let _ = sled.flush();
            File::open(self.file()).and_then(|file| file.sync_data())
        }));
        match synced {
            Ok(Err(error)) if error.kind() != io::ErrorKind::NotFound => std::mem::forget(sled),
            // Whatever a panic leaves undone is done again at the next start.
            _ => drop(catch_unwind(AssertUnwindSafe(|| drop(sled)))),
        }
    }

    fn file(&self) -> PathBuf {
        self.path.join("db")
    }

    /// Runs an operation. Sled panics on some damage and on some errors of the file system.
    fn guarded<T>(
        &self,
        run: impl FnOnce(&sled::Db) -> Result<T, sled::Error>,
    ) -> Result<T, Error> {
        let sled = self.sled.read().unwrap_or_else(PoisonError::into_inner);
        let sled = sled.as_ref().ok_or_else(|| Error::Engine {
            path: self.path.clone(),
            why: "it could not be opened again".to_owned(),
        })?;
        match catch_unwind(AssertUnwindSafe(|| run(sled))) {
            Ok(done) => done.map_err(|error| self.failed(error)),
            Err(_) => Err(panicked(&self.path)),
        }
    }

    pub(super) fn get(&self, key: &[u8]) -> Result<Option<sled::IVec>, Error> {
        self.guarded(|sled| sled.get(key))
    }

    pub(super) fn put(&self, key: &[u8], row: Vec<u8>) -> Result<(), Error> {
        self.guarded(|sled| sled.insert(key, row).map(drop))
    }

    pub(super) fn remove(&self, key: &[u8]) -> Result<(), Error> {
        self.guarded(|sled| sled.remove(key).map(drop))
    }

    /// Visits keys at or after `from`, ascending, while `visit` returns `true`.
    pub(super) fn keys(
        &self,
        from: &[u8],
        mut visit: impl FnMut(&[u8]) -> bool,
    ) -> Result<(), Error> {
        self.guarded(|sled| {
            for key in sled.range(from..).keys() {
                if !visit(&key?) {
                    break;
                }
            }
            Ok(())
        })
    }

    /// Waits until the `rows` that were put or removed are on disk. Sled's `flush` passes its log
    /// to the operating system but does not sync it, so sled's file is synced here.
    pub(super) fn sync(&self, rows: usize) -> Result<(), Error> {
        self.guarded(|sled| sled.flush().map(drop))?;
        let file = self.file();
        File::open(&file)
            .and_then(|file| file.sync_data())
            .map_err(|source| Error::Io { path: file, source })?;
        if self.written.fetch_add(rows, Ordering::Relaxed) + rows < Self::REOPEN {
            Ok(())
        } else {
            self.reopen()
        }
    }

    fn failed(&self, error: sled::Error) -> Error {
        match error {
            // Sled also reports damage as an I/O error, of the kind `InvalidData`.
            sled::Error::Io(source) if source.kind() != io::ErrorKind::InvalidData => Error::Io {
                path: self.path.clone(),
                source,
            },
            other => Error::Engine {
                path: self.path.clone(),
                why: other.to_string(),
            },
        }
    }
}

impl Drop for Database {
    fn drop(&mut self) {
        let sled = self.sled.get_mut().unwrap_or_else(PoisonError::into_inner);
        let sled = sled.take();
        self.close(sled);
    }
}

fn panicked(path: &Path) -> Error {
    Error::Engine {
        path: path.to_owned(),
        why: "it is damaged in a way that its engine does not survive".to_owned(),
    }
}

/// Removes a snapshot that sled had not written to its end when it was killed. Sled would take it
/// for its newest and find it damaged; everything in it is in the log, too.
fn remove_unfinished(path: &Path) -> io::Result<()> {
    let entries = match std::fs::read_dir(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        entries => entries?,
    };
    for entry in entries {
        let path = entry?.path();
        if path.extension().is_some_and(|it| it == "generating") {
            std::fs::remove_file(path)?;
        }
    }
    Ok(())
}

/// Retries while the files are locked. The data directory is locked by this process, so the lock
/// can only belong to a database that it has just closed and whose threads are still ending.
fn patiently<T>(open: impl Fn() -> Result<T, sled::Error>) -> Result<T, sled::Error> {
    const TRIES: u32 = 50;
    const PAUSE: Duration = Duration::from_millis(20);
    for _ in 1..TRIES {
        match open() {
            // Sled reports a refused lock with the kind `Other`.
            Err(sled::Error::Io(error))
                if matches!(
                    error.kind(),
                    io::ErrorKind::WouldBlock | io::ErrorKind::Other
                ) =>
            {
                thread::sleep(PAUSE);
            }
            result => return result,
        }
    }
    open()
}
