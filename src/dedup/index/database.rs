//! The rows of documents in sled: one database that is reopened from time to time.

use std::fs::File;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use crate::dedup::{DocumentId, Error};

/// The key of the row that holds the last checkpointed id. It is shorter than any id.
pub(super) const THROUGH: &[u8] = b"t";

/// A sled database. Sled records its page locations only when it opens, and rereads everything
/// written since at the next opening, at 18 microseconds per row; so it is reopened from time to
/// time.
pub(super) struct Database {
    path: PathBuf,
    cache_bytes: u64,
    /// `None` only while the database is being reopened.
    sled: Option<sled::Db>,
    /// Rows written since the last opening.
    written: usize,
}

impl Database {
    /// Number of written rows after which the database is reopened.
    const REOPEN: usize = 200_000;

    /// Opens the database and reads the id of its last checkpoint. Sled panics on some damage,
    /// which is reported as an error.
    pub(super) fn open(path: &Path, cache_bytes: u64) -> Result<(Self, DocumentId), Error> {
        let mut database = Self {
            path: path.to_owned(),
            cache_bytes,
            sled: None,
            written: 0,
        };
        let open = || {
            database.reopen()?;
            let through = database.get(THROUGH)?;
            let through =
                through.and_then(|row| Some(u64::from_be_bytes(row.as_ref().try_into().ok()?)));
            Ok((database, through.unwrap_or(0)))
        };
        match catch_unwind(AssertUnwindSafe(open)) {
            Ok(opened) => opened,
            Err(_) => Err(Error::Engine {
                path: path.to_owned(),
                why: "it is damaged in a way that its engine does not survive".to_owned(),
            }),
        }
    }

    fn reopen(&mut self) -> Result<(), Error> {
        self.sled = None;
        let open = || {
            sled::Config::new()
                .path(&self.path)
                .cache_capacity(self.cache_bytes)
                .flush_every_ms(None)
                .open()
        };
        let opened = patiently(open).map_err(|error| self.failed(error))?;
        self.sled = Some(opened);
        self.written = 0;
        Ok(())
    }

    fn sled(&self) -> Result<&sled::Db, Error> {
        self.sled.as_ref().ok_or_else(|| Error::Engine {
            path: self.path.clone(),
            why: "it could not be opened again".to_owned(),
        })
    }

    pub(super) fn get(&self, key: &[u8]) -> Result<Option<sled::IVec>, Error> {
        let row = self.sled()?.get(key);
        row.map_err(|error| self.failed(error))
    }

    pub(super) fn put(&self, key: &[u8], row: Vec<u8>) -> Result<(), Error> {
        let put = self.sled()?.insert(key, row);
        put.map_err(|error| self.failed(error))?;
        Ok(())
    }

    pub(super) fn remove(&self, key: &[u8]) -> Result<(), Error> {
        let removed = self.sled()?.remove(key);
        removed.map_err(|error| self.failed(error))?;
        Ok(())
    }

    /// All keys at or after `from`.
    pub(super) fn keys(
        &self,
        from: &[u8],
    ) -> Result<impl Iterator<Item = Result<sled::IVec, sled::Error>>, Error> {
        Ok(self.sled()?.range(from..).keys())
    }

    /// Waits until the `rows` that were put or removed are on disk. Sled's `flush` passes its log
    /// to the operating system but does not sync it, so sled's file is synced here.
    pub(super) fn sync(&mut self, rows: usize) -> Result<(), Error> {
        let flushed = self.sled()?.flush();
        flushed.map_err(|error| self.failed(error))?;
        let file = self.path.join("db");
        File::open(&file)
            .and_then(|file| file.sync_data())
            .map_err(|source| Error::Io { path: file, source })?;
        self.written += rows;
        if self.written < Self::REOPEN {
            Ok(())
        } else {
            self.reopen()
        }
    }

    pub(super) fn failed(&self, error: sled::Error) -> Error {
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
