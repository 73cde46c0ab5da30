//! Documents: one row a stored response, by rising id, in sled.
//!
//! Rows are written at checkpoints only; until then the new ones are served from memory, and the
//! committer's deltas keep them safe. Beside sled stands the witness column, written with it. sled's `flush` hands its log to the operating system but does
//! not sync it, so a checkpoint syncs sled's file itself. What is here can be rebuilt from the
//! store, so a database that does not open is set aside rather than mourned.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::witness::WitnessColumn;
use super::{Fingerprints, Kind, Signature};
use crate::url::UrlId;

/// The number of a document, rising from 1 in the order of discovery.
pub type DocumentId = u64;

/// A stored response, to which duplicates refer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Document {
    /// Its number.
    pub id: DocumentId,
    /// The page's identity.
    pub url_id: UrlId,
    /// The page's URL as it was requested.
    pub url: String,
    /// When it was fetched: microseconds since 1970.
    pub fetched: i64,
    /// Where its record stands.
    pub stored: Stored,
    /// Whose response that is, if not its own page's: the bytes were there already.
    pub stored_for: Option<Box<StoredFor>>,
    /// SHA-256 of the payload as stored.
    pub payload: [u8; 32],
    /// Its signatures. Empty for what cannot be an original: an error page, a robots.txt.
    pub fingerprints: Fingerprints,
}

/// The capture that a response was stored for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StoredFor {
    /// The URL as it was requested.
    pub url: String,
    /// When it was fetched: microseconds since 1970.
    pub fetched: i64,
}

/// Where the archive keeps a response.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stored {
    /// The record's id; zeros where an earlier crawl gave it one that is no UUID.
    pub record: [u8; 16],
    /// Number of the segment file.
    pub segment: u32,
    /// Byte offset of the record in it.
    pub offset: u64,
    /// Bytes of the record.
    pub length: u64,
}

impl Stored {
    /// The segment of what is in no archive of this crawl, but in that of an earlier one.
    pub const ELSEWHERE: u32 = u32::MAX;

    /// Whether it is in the archive of an earlier crawl.
    pub fn is_elsewhere(&self) -> bool {
        self.segment == Self::ELSEWHERE
    }
}

/// All documents of a crawl.
pub struct Documents {
    path: PathBuf,
    database: sled::Db,
    /// New since the last checkpoint: bounded by the checkpoint's limits.
    recent: BTreeMap<DocumentId, Arc<Document>>,
    /// Removed since the last checkpoint.
    removed: BTreeSet<DocumentId>,
    /// The highest id that a checkpoint wrote.
    through: DocumentId,
    /// What candidates of the near tier are verified by.
    witnesses: WitnessColumn,
}

/// Why the documents on disk cannot be used; they are set aside and must be rebuilt.
#[derive(Debug, Clone)]
pub struct DocumentsDamage {
    /// What is wrong.
    pub why: String,
}

/// The row that says how far checkpoints came; shorter than any id.
const THROUGH: &[u8] = b"t";

impl Documents {
    /// Opens the documents in `path`, which must reach at least to `expected`. What cannot be used
    /// is set aside under another name, and an empty database is opened in its place.
    pub fn open(
        path: &Path,
        cache_bytes: u64,
        expected: DocumentId,
    ) -> Result<(Self, Option<DocumentsDamage>), Error> {
        let why = match open_database(path, cache_bytes) {
            Ok((database, through)) if through >= expected => {
                return Ok((Self::new(path, database, through)?, None));
            }
            Ok((_, through)) => {
                format!("it ends at document {through}, and {expected} are acknowledged")
            }
            Err(Error::Engine { why, .. }) => why,
            // Nothing is wrong with the documents: the file system refuses.
            Err(error) => return Err(error),
        };
        let aside = path.with_extension("damaged");
        let io = |source| Error::Io {
            path: path.to_owned(),
            source,
        };
        if path.exists() {
            if aside.exists() {
                fs::remove_dir_all(&aside).map_err(io)?;
            }
            fs::rename(path, &aside).map_err(io)?;
        }
        let (database, through) = open_database(path, cache_bytes)?;
        Ok((
            Self::new(path, database, through)?,
            Some(DocumentsDamage { why }),
        ))
    }

    fn new(path: &Path, database: sled::Db, through: DocumentId) -> Result<Self, Error> {
        let column = path.with_extension("witness");
        let io = |source| Error::Io {
            path: column.clone(),
            source,
        };
        let mut documents = Self {
            path: path.to_owned(),
            database,
            recent: BTreeMap::new(),
            removed: BTreeSet::new(),
            through,
            witnesses: WitnessColumn::open(&column).map_err(io)?,
        };
        if documents.witnesses.through() < through {
            documents.rebuild_witnesses()?;
        }
        Ok(documents)
    }

    /// Writes the rows that the witness column lacks.
    fn rebuild_witnesses(&mut self) -> Result<(), Error> {
        let first = self.witnesses.through() + 1;
        for row in self.database.range(first.to_be_bytes()..) {
            let (key, row) = row.map_err(|error| failed(&self.path, error))?;
            let id = key.as_ref().try_into().map(u64::from_be_bytes);
            if let (Ok(id), Ok(document)) = (id, postcard::from_bytes::<Document>(&row)) {
                let near = document.fingerprints.get(Kind::Near);
                let put = self.witnesses.put(id, near);
                put.map_err(|source| self.witness_error(source))?;
            }
        }
        self.witnesses
            .sync()
            .map_err(|source| self.witness_error(source))
    }

    fn witness_error(&self, source: io::Error) -> Error {
        Error::Io {
            path: self.witnesses.path().to_owned(),
            source,
        }
    }

    /// What a document is verified by in a tier, if that can be had without reading all of it.
    pub(super) fn witness(&self, id: DocumentId, kind: Kind) -> Option<Signature> {
        match kind {
            Kind::Near if !self.recent.contains_key(&id) && !self.removed.contains(&id) => {
                self.witnesses.get(id)
            }
            _ => None,
        }
    }

    /// A document by its number.
    pub fn get(&self, id: DocumentId) -> Result<Option<Arc<Document>>, Error> {
        if let Some(document) = self.recent.get(&id) {
            return Ok(Some(Arc::clone(document)));
        }
        if self.removed.contains(&id) {
            return Ok(None);
        }
        let row = self
            .database
            .get(id.to_be_bytes())
            .map_err(|error| failed(&self.path, error))?;
        // A row that cannot be read is a posting without a document: it convicts nobody.
        Ok(row
            .and_then(|row| postcard::from_bytes(&row).ok())
            .map(Arc::new))
    }

    /// Adds a document, or replaces one that is not yet written.
    pub fn insert(&mut self, document: Arc<Document>) {
        self.recent.insert(document.id, document);
    }

    /// The highest id that a checkpoint wrote, or was said to have.
    pub fn through(&self) -> DocumentId {
        self.through
    }

    /// Says that everything up to `through` is written, although the last ones are there no more.
    pub fn reach(&mut self, through: DocumentId) -> Result<(), Error> {
        self.through = self.through.max(through);
        let row = self.through.to_be_bytes();
        let written = self.database.insert(THROUGH, &row);
        written.map_err(|error| failed(&self.path, error))?;
        self.sync()
    }

    /// Removes a document for good: its number must not be used again.
    pub fn remove(&mut self, id: DocumentId) {
        self.recent.remove(&id);
        self.removed.insert(id);
    }

    /// Numbers of documents from `from` on that are written, at most `limit`, ascending.
    pub fn ids(&self, from: DocumentId, limit: usize) -> Result<Vec<DocumentId>, Error> {
        let keys = self.database.range(from.to_be_bytes()..).keys();
        let ids = keys.map(|key| {
            let key = key.map_err(|error| failed(&self.path, error))?;
            Ok(key.as_ref().try_into().ok().map(u64::from_be_bytes))
        });
        let ids = ids.filter_map(Result::transpose);
        let is_there = |id: &Result<DocumentId, Error>| {
            id.as_ref().map_or(true, |id| !self.removed.contains(id))
        };
        ids.filter(is_there).take(limit).collect()
    }

    /// Number of documents not yet written.
    pub fn recent(&self) -> usize {
        self.recent.len()
    }

    /// Writes what is new and waits until the disk has it.
    #[expect(clippy::missing_panics_doc, reason = "cannot: see the message")]
    pub fn checkpoint(&mut self) -> Result<(), Error> {
        if self.recent.is_empty() && self.removed.is_empty() {
            return Ok(());
        }
        let last = self.recent.last_key_value().map_or(0, |(id, _)| *id);
        let through = self.through.max(last);
        let mut batch = sled::Batch::default();
        for id in &self.removed {
            batch.remove(&id.to_be_bytes());
        }
        for (id, document) in &self.recent {
            let row = postcard::to_stdvec(&**document).expect("documents are plain data");
            batch.insert(&id.to_be_bytes(), row);
        }
        batch.insert(THROUGH, &through.to_be_bytes());
        let removed: Vec<DocumentId> = self.removed.iter().copied().collect();
        let remove = self.witnesses.remove(&removed);
        remove.map_err(|source| self.witness_error(source))?;
        // Before sled, so that the column is never behind it.
        for (id, document) in &self.recent {
            let near = document.fingerprints.get(Kind::Near);
            let put = self.witnesses.put(*id, near);
            put.map_err(|source| self.witness_error(source))?;
        }
        self.witnesses
            .sync()
            .map_err(|source| self.witness_error(source))?;
        self.database
            .apply_batch(batch)
            .map_err(|error| failed(&self.path, error))?;
        self.sync()?;
        self.through = through;
        self.removed.clear();
        self.recent.clear();
        Ok(())
    }

    /// Waits until the disk has what sled has.
    fn sync(&self) -> Result<(), Error> {
        self.database
            .flush()
            .map_err(|error| failed(&self.path, error))?;
        let file = self.path.join("db");
        File::open(&file)
            .and_then(|file| file.sync_data())
            .map_err(|source| Error::Io { path: file, source })
    }
}

/// Opens sled and reads how far it reaches. sled panics on some damage, hence the net.
fn open_database(path: &Path, cache_bytes: u64) -> Result<(sled::Db, DocumentId), Error> {
    let open = || {
        let database = sled::Config::new()
            .path(path)
            .cache_capacity(cache_bytes)
            .flush_every_ms(None)
            .open()?;
        let through = database.get(THROUGH)?;
        Ok::<_, sled::Error>((database, through))
    };
    match catch_unwind(AssertUnwindSafe(|| patiently(open))) {
        Ok(Ok((database, through))) => {
            let through =
                through.and_then(|row| Some(u64::from_be_bytes(row.as_ref().try_into().ok()?)));
            Ok((database, through.unwrap_or(0)))
        }
        Ok(Err(error)) => Err(failed(path, error)),
        Err(_) => Err(Error::Engine {
            path: path.to_owned(),
            why: "it is damaged in a way that its engine does not survive".to_owned(),
        }),
    }
}

/// Tries again while the files are locked: the data directory is ours alone, so it is a database
/// that this process closed a moment ago and whose threads are still ending.
fn patiently<T>(open: impl Fn() -> Result<T, sled::Error>) -> Result<T, sled::Error> {
    const TRIES: u32 = 50;
    const PAUSE: Duration = Duration::from_millis(20);
    for _ in 1..TRIES {
        match open() {
            // sled gives the lock's refusal the kind `Other`.
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

fn failed(path: &Path, error: sled::Error) -> Error {
    match error {
        // Damage too comes as an I/O error of this kind.
        sled::Error::Io(source) if source.kind() != io::ErrorKind::InvalidData => Error::Io {
            path: path.to_owned(),
            source,
        },
        other => Error::Engine {
            path: path.to_owned(),
            why: other.to_string(),
        },
    }
}

impl std::fmt::Debug for Documents {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Documents")
            .field("path", &self.path)
            .finish_non_exhaustive()
    }
}

/// Why documents could not be read or written. Ends the run; what was committed stays.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The file system refused.
    #[error("cannot read or write the documents in {path}: {source}")]
    Io {
        /// Where.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The engine refused.
    #[error(
        "the documents in {path} cannot be used: {why}; remove the folder, it is rebuilt at the next start"
    )]
    Engine {
        /// Where.
        path: PathBuf,
        /// Why.
        why: String,
    },
}

#[cfg(test)]
mod tests {
    use super::*;

    fn document(id: DocumentId) -> Arc<Document> {
        Arc::new(Document {
            id,
            url_id: UrlId::from_bytes([id as u8; 16]),
            url: format!("http://example.org/{id}"),
            fetched: 1,
            stored: Stored::default(),
            stored_for: None,
            payload: [id as u8; 32],
            fingerprints: Fingerprints::default(),
        })
    }

    #[test]
    fn documents_are_found_before_and_after_a_checkpoint_and_a_restart() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("documents");
        let (mut documents, damage) = Documents::open(&path, 1 << 20, 0).unwrap();
        assert!(damage.is_none());
        documents.insert(document(1));
        documents.insert(document(2));
        assert_eq!(documents.get(1).unwrap(), Some(document(1)));
        documents.checkpoint().unwrap();
        documents.insert(document(3));
        assert_eq!(documents.get(2).unwrap(), Some(document(2)));
        drop(documents);
        let (documents, damage) = Documents::open(&path, 1 << 20, 2).unwrap();
        assert!(damage.is_none());
        assert_eq!(documents.get(2).unwrap(), Some(document(2)));
        assert_eq!(documents.get(3).unwrap(), None, "never checkpointed");
    }

    #[test]
    fn what_is_removed_is_gone_before_and_after_a_checkpoint() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("documents");
        let (mut documents, _) = Documents::open(&path, 1 << 20, 0).unwrap();
        for id in 1..=4 {
            documents.insert(document(id));
        }
        documents.remove(4);
        documents.checkpoint().unwrap();
        assert_eq!(documents.ids(0, 9).unwrap(), [1, 2, 3]);
        documents.remove(2);
        let check = |documents: &Documents| {
            let there = [1, 2, 3, 4].map(|id| documents.get(id).unwrap().is_some());
            assert_eq!(there, [true, false, true, false]);
            assert_eq!(documents.ids(0, 9).unwrap(), [1, 3]);
            assert_eq!(documents.ids(2, 9).unwrap(), [3]);
            assert_eq!(documents.ids(0, 1).unwrap(), [1]);
        };
        check(&documents);
        documents.checkpoint().unwrap();
        check(&documents);
        drop(documents);
        let (documents, damage) = Documents::open(&path, 1 << 20, 3).unwrap();
        assert!(damage.is_none());
        check(&documents);
    }

    #[test]
    fn a_lost_or_damaged_folder_is_set_aside() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("documents");
        let (mut documents, _) = Documents::open(&path, 1 << 20, 0).unwrap();
        documents.insert(document(1));
        documents.checkpoint().unwrap();
        drop(documents);
        fs::write(path.join("db"), [0xff; 4_096]).unwrap();
        fs::write(path.join("conf"), "nonsense").unwrap();
        let (documents, damage) = Documents::open(&path, 1 << 20, 1).unwrap();
        assert!(damage.is_some());
        assert_eq!(documents.get(1).unwrap(), None);
        drop(documents);
        fs::remove_dir_all(&path).unwrap();
        let (_, damage) = Documents::open(&path, 1 << 20, 1).unwrap();
        assert!(damage.is_some_and(|damage| damage.why.contains("document 0")));
    }
}
