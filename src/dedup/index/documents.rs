//! Documents: one row a stored response, by rising id, in sled.
//!
//! Rows are written at checkpoints only; until then the new ones are served from memory, and the
//! committer's deltas keep them safe. Signatures of one width are not in the row but in the witness
//! column, which is written with it. sled's `flush` hands its log to the operating system but does
//! not sync it, so a checkpoint syncs sled's file itself. What is here can be rebuilt from the
//! store, so a database that does not open is set aside rather than mourned.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use super::witness::{WitnessColumn, WitnessRow};
use crate::dedup::{Document, DocumentId, Fingerprints, Signature, Tier};

/// All documents of a crawl.
pub struct Documents {
    path: PathBuf,
    database: Database,
    /// New since the last checkpoint: bounded by the checkpoint's limits.
    recent: BTreeMap<DocumentId, Arc<Document>>,
    /// Removed since the last checkpoint.
    removed: BTreeSet<DocumentId>,
    /// The highest id that a checkpoint wrote.
    through: DocumentId,
    /// What candidates of the near tier are verified by.
    witnesses: WitnessColumn,
    /// What is on disk is not all that there was, and must not be taken for it by the next start.
    is_damaged: bool,
}

/// What of the documents on disk cannot be used: it is told at each opening until it was put again
/// and [`rebuilt`](Documents::rebuilt) was called.
#[derive(Debug, Clone)]
pub enum DocumentsDamage {
    /// All of them, which were set aside: why. They are to be [inserted](Documents::insert).
    All(String),
    /// What they are verified by, to be [put](Documents::put_witness).
    Witnesses,
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
        let column_path = column_of(path);
        let column_error = |source| Error::Io {
            path: column_path.clone(),
            source,
        };
        let witnesses = WitnessColumn::open(&column_path).map_err(column_error)?;
        // Of ten million documents each takes seconds.
        let (database, whole_through) = thread::scope(|scope| {
            let whole_through = scope.spawn(|| witnesses.whole_through());
            let database = Database::open(path, cache_bytes);
            (database, whole_through.join())
        });
        let whole_through = whole_through
            .unwrap_or_else(|panic| resume_unwind(panic))
            .map_err(column_error)?;
        let why = match database {
            Ok((database, through)) if through >= expected => {
                let mut documents = Self::new(path, database, through, witnesses);
                if whole_through >= through {
                    return Ok((documents, None));
                }
                documents.distrust()?;
                return Ok((documents, Some(DocumentsDamage::Witnesses)));
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
        let (database, through) = Database::open(path, cache_bytes)?;
        let mut documents = Self::new(path, database, through, witnesses);
        documents.distrust()?;
        Ok((documents, Some(DocumentsDamage::All(why))))
    }

    fn new(path: &Path, database: Database, through: DocumentId, witnesses: WitnessColumn) -> Self {
        Self {
            path: path.to_owned(),
            database,
            recent: BTreeMap::new(),
            removed: BTreeSet::new(),
            through,
            witnesses,
            is_damaged: false,
        }
    }

    /// Begins the witness column anew, and lets no start believe what is on disk before it is
    /// rebuilt.
    fn distrust(&mut self) -> Result<(), Error> {
        self.is_damaged = true;
        let begun = WitnessColumn::begin(&column_of(&self.path));
        self.witnesses = begun.map_err(|source| self.witness_error(source))?;
        Ok(())
    }

    /// Says that what was damaged holds again all that it should, up to a document, and waits until
    /// the disk has it.
    pub fn rebuilt(&mut self, through: DocumentId) -> Result<(), Error> {
        let through = self.through.max(through);
        if self.witnesses.through() < through {
            let put = self.witnesses.put(through, &Fingerprints::default());
            put.map_err(|source| self.witness_error(source))?;
        }
        let placed = self.witnesses.take_place(&column_of(&self.path));
        placed.map_err(|source| self.witness_error(source))?;
        self.is_damaged = false;
        self.through = through;
        self.write()
    }

    /// Writes again what a document is verified by.
    pub fn put_witness(&mut self, document: &Document) -> Result<(), Error> {
        let put = self.witnesses.put(document.id, &document.fingerprints);
        put.map_err(|source| self.witness_error(source))
    }

    fn witness_error(&self, source: io::Error) -> Error {
        Error::Io {
            path: self.witnesses.path().to_owned(),
            source,
        }
    }

    /// What a document is verified by in a tier, if that can be had without reading all of it.
    pub(super) fn witness(&self, id: DocumentId, tier: Tier) -> Option<Signature> {
        match self.recent.contains_key(&id) || self.removed.contains(&id) {
            true => None,
            false => self.witnesses.get(id)?.signature(tier),
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
        let row = self.database.get(&id.to_be_bytes())?;
        // A row that cannot be read is a posting without a document: it convicts nobody.
        let document = row.and_then(|row| postcard::from_bytes::<Document>(&row).ok());
        Ok(document.map(|mut document| {
            if let Some(kept) = self.witnesses.get(id) {
                for tier in Tier::ALL {
                    if document.fingerprints.get(tier).is_none()
                        && let Some(signature) = kept.signature(tier)
                    {
                        document.fingerprints.set(tier, Some(signature));
                    }
                }
            }
            Arc::new(document)
        }))
    }

    /// Adds a document, or replaces one that is not yet written.
    pub fn insert(&mut self, document: Arc<Document>) {
        self.recent.insert(document.id, document);
    }

    /// The highest id that a checkpoint wrote, or was said to have.
    pub fn through(&self) -> DocumentId {
        self.through
    }

    /// Removes a document for good: its number must not be used again.
    pub fn remove(&mut self, id: DocumentId) {
        self.recent.remove(&id);
        self.removed.insert(id);
    }

    /// Numbers of documents from `from` on that are written, at most `limit`, ascending.
    pub fn ids(&self, from: DocumentId, limit: usize) -> Result<Vec<DocumentId>, Error> {
        let from = from.to_be_bytes();
        let ids = self.database.keys(&from)?.map(|key| {
            let key = key.map_err(|error| self.database.failed(error))?;
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
    pub fn checkpoint(&mut self) -> Result<(), Error> {
        match self.recent.is_empty() && self.removed.is_empty() {
            true => Ok(()),
            false => self.write(),
        }
    }

    fn write(&mut self) -> Result<(), Error> {
        let recent = std::mem::take(&mut self.recent);
        let written = self.write_rows(&recent);
        if written.is_err() {
            // They are not lost, and can be read and written again.
            self.recent = recent;
        }
        written
    }

    fn write_rows(&mut self, recent: &BTreeMap<DocumentId, Arc<Document>>) -> Result<(), Error> {
        let last = recent.last_key_value().map_or(0, |(id, _)| *id);
        let through = self.through.max(last);
        let removed: Vec<DocumentId> = self.removed.iter().copied().collect();
        let remove = self.witnesses.remove(&removed);
        remove.map_err(|source| self.witness_error(source))?;
        for document in recent.values() {
            self.put_witness(document)?;
        }
        // Before sled, so that the column is never behind it.
        let synced = self.witnesses.sync();
        synced.map_err(|source| self.witness_error(source))?;
        // One by one and in order, not as a batch: a batch inserts in the order of a hash map,
        // which leaves leaves half full, and until its end nothing that it replaces is freed. Rows
        // that a kill leaves without the last one are written again.
        for id in &removed {
            self.database.remove(&id.to_be_bytes())?;
        }
        for document in recent.values() {
            let mut document = Document::clone(document);
            for tier in Tier::ALL {
                if document
                    .fingerprints
                    .get(tier)
                    .is_some_and(WitnessRow::holds)
                {
                    document.fingerprints.set(tier, None);
                }
            }
            let row = postcard::to_stdvec(&document).expect("documents are plain data");
            self.database.put(&document.id.to_be_bytes(), row)?;
        }
        if !self.is_damaged {
            self.database.put(THROUGH, through.to_be_bytes().to_vec())?;
        }
        self.database.sync(removed.len() + recent.len())?;
        self.through = through;
        self.removed.clear();
        Ok(())
    }
}

/// Where the witness column of the documents in `path` is.
fn column_of(path: &Path) -> PathBuf {
    path.with_extension("witness")
}

/// sled, opened anew from time to time. It notes where its pages are only when it opens, and reads
/// all that was written since at the next opening: 18 microseconds a row.
struct Database {
    path: PathBuf,
    cache_bytes: u64,
    /// There is none while it is opened anew.
    sled: Option<sled::Db>,
    /// Rows written since it was opened.
    written: usize,
}

impl Database {
    /// Rows after which it is opened anew.
    const REOPEN: usize = 200_000;

    /// Opens it; also tells how far it reaches. sled panics on some damage, hence the net.
    fn open(path: &Path, cache_bytes: u64) -> Result<(Self, DocumentId), Error> {
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

    fn get(&self, key: &[u8]) -> Result<Option<sled::IVec>, Error> {
        let row = self.sled()?.get(key);
        row.map_err(|error| self.failed(error))
    }

    fn put(&self, key: &[u8], row: Vec<u8>) -> Result<(), Error> {
        let put = self.sled()?.insert(key, row);
        put.map_err(|error| self.failed(error))?;
        Ok(())
    }

    fn remove(&self, key: &[u8]) -> Result<(), Error> {
        let removed = self.sled()?.remove(key);
        removed.map_err(|error| self.failed(error))?;
        Ok(())
    }

    /// The keys from `from` on.
    fn keys(
        &self,
        from: &[u8],
    ) -> Result<impl Iterator<Item = Result<sled::IVec, sled::Error>>, Error> {
        Ok(self.sled()?.range(from..).keys())
    }

    /// Waits until the disk has all `rows` that were put or removed.
    fn sync(&mut self, rows: usize) -> Result<(), Error> {
        let flushed = self.sled()?.flush();
        flushed.map_err(|error| self.failed(error))?;
        let file = self.path.join("db");
        File::open(&file)
            .and_then(|file| file.sync_data())
            .map_err(|source| Error::Io { path: file, source })?;
        self.written += rows;
        match self.written < Self::REOPEN {
            true => Ok(()),
            false => self.reopen(),
        }
    }

    fn failed(&self, error: sled::Error) -> Error {
        match error {
            // Damage too comes as an I/O error of this kind.
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
    use crate::dedup::Stored;
    use crate::url::UrlId;

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
    fn a_lost_witness_column_is_told_and_put_again() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("documents");
        let words: Vec<_> = (0..80).map(|word| format!("word{word}")).collect();
        let text = crate::dedup::Text::whole(&words.join(" "));
        let mut own = Document::clone(&document(1));
        own.fingerprints = Fingerprints::of(b"raw", &text);
        let own = Arc::new(own);
        let (mut documents, _) = Documents::open(&path, 1 << 20, 0).unwrap();
        documents.insert(Arc::clone(&own));
        documents.checkpoint().unwrap();
        assert_eq!(documents.get(1).unwrap(), Some(Arc::clone(&own)));
        drop(documents);
        fs::remove_file(path.with_extension("witness")).unwrap();
        let (mut documents, damage) = Documents::open(&path, 1 << 20, 1).unwrap();
        assert!(matches!(damage, Some(DocumentsDamage::Witnesses)));
        documents.put_witness(&own).unwrap();
        drop(documents);
        let (mut documents, damage) = Documents::open(&path, 1 << 20, 1).unwrap();
        assert!(damage.is_some(), "not all was put");
        documents.put_witness(&own).unwrap();
        documents.rebuilt(1).unwrap();
        drop(documents);
        let (documents, damage) = Documents::open(&path, 1 << 20, 1).unwrap();
        assert!(damage.is_none());
        assert_eq!(documents.get(1).unwrap(), Some(own));
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
        let (mut documents, damage) = Documents::open(&path, 1 << 20, 1).unwrap();
        assert!(damage.is_some());
        documents.insert(document(1));
        documents.checkpoint().unwrap();
        drop(documents);
        let (mut documents, damage) = Documents::open(&path, 1 << 20, 1).unwrap();
        assert!(damage.is_some(), "it was not said that this was all");
        documents.insert(document(1));
        documents.rebuilt(3).unwrap();
        drop(documents);
        let (documents, damage) = Documents::open(&path, 1 << 20, 3).unwrap();
        assert!(damage.is_none());
        assert_eq!(documents.get(1).unwrap(), Some(document(1)));
        drop(documents);
        fs::remove_dir_all(&path).unwrap();
        let (_, damage) = Documents::open(&path, 1 << 20, 1).unwrap();
        assert!(matches!(damage, Some(DocumentsDamage::All(why)) if why.contains("document 0")));
    }
}
