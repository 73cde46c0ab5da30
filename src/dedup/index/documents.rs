//! The documents of a crawl: one row per stored response in sled, by ascending id.
//!
//! Rows are written only at checkpoints, by a thread of their own. Until they are on disk,
//! documents are served from memory, and the committer's deltas keep them safe. Signatures of fixed
//! width are kept in the witness column instead of the row. Everything here can be rebuilt from the
//! store, so a database that does not open is renamed and replaced by an empty one.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::panic::resume_unwind;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread::{self, JoinHandle};

use super::database::{Database, THROUGH};
use super::witness::{WitnessColumn, WitnessRow};
use crate::dedup::{Document, DocumentId, Error, Fingerprints, Signature, Tier};
use crate::runs::is_bad_disk;

/// All documents of a crawl.
pub struct Documents {
    path: PathBuf,
    database: Arc<Database>,
    /// What changed since the last checkpoint. The limits of checkpoints bound its size.
    recent: Changes,
    /// The checkpoint that is being written.
    writing: Option<Writing>,
    /// The highest id written by a checkpoint.
    through: DocumentId,
    /// The signatures that candidates are verified by.
    witnesses: Arc<WitnessColumn>,
    /// Whether the data on disk is incomplete, so that the next start must not trust it.
    is_damaged: bool,
}

/// Documents that were added, and ids that were removed.
#[derive(Default)]
struct Changes {
    added: BTreeMap<DocumentId, Arc<Document>>,
    removed: BTreeSet<DocumentId>,
}

/// What memory says about a document.
enum Known<'a> {
    Document(&'a Arc<Document>),
    Removed,
    /// Nothing: the files know.
    Nothing,
}

/// A checkpoint that is being written.
struct Writing {
    changes: Arc<Changes>,
    thread: JoinHandle<Result<(), Error>>,
}

impl Changes {
    fn get(&self, id: DocumentId) -> Known<'_> {
        match self.added.get(&id) {
            Some(document) => Known::Document(document),
            None if self.removed.contains(&id) => Known::Removed,
            None => Known::Nothing,
        }
    }

    fn is_empty(&self) -> bool {
        self.added.is_empty() && self.removed.is_empty()
    }

    /// Puts these changes under later ones.
    fn under(&self, later: &mut Self) {
        for (id, document) in &self.added {
            if !later.removed.contains(id) {
                let kept = later.added.entry(*id);
                kept.or_insert_with(|| Arc::clone(document));
            }
        }
        later.removed.extend(&self.removed);
    }
}

/// The part of the documents on disk that cannot be used. Every opening reports it until the part
/// was written again and [`rebuilt`](Documents::rebuilt) was called.
#[derive(Debug, Clone)]
pub enum DocumentsDamage {
    /// All documents, for the given reason. The old database was renamed. The documents must be
    /// [inserted](Documents::insert) again.
    All(String),
    /// The witness column. Its rows must be [put](Documents::put_witness) again.
    Witnesses,
}

impl Documents {
    /// Opens the documents in `path`, which must reach at least the id `expected`. A database that
    /// cannot be used is renamed, and an empty one is opened instead.
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
        // What the disk does not give back is damaged like what it gives back in another form.
        let witnesses = match WitnessColumn::open(&column_path) {
            Err(error) if is_bad_disk(&error) => WitnessColumn::begin(&column_path),
            opened => opened,
        };
        let witnesses = witnesses.map_err(column_error)?;
        // Each of the two takes seconds for ten million documents.
        let (database, whole_through) = thread::scope(|scope| {
            let whole_through = scope.spawn(|| witnesses.whole_through());
            let database = Database::open(path, cache_bytes);
            (database, whole_through.join())
        });
        let whole_through = match whole_through.unwrap_or_else(|panic| resume_unwind(panic)) {
            Err(error) if is_bad_disk(&error) => 0,
            read => read.map_err(column_error)?,
        };
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
            Err(Error::Io { source, .. }) if is_bad_disk(&source) => source.to_string(),
            // The documents are not damaged; the file system reports an error.
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
            database: Arc::new(database),
            recent: Changes::default(),
            writing: None,
            through,
            witnesses: Arc::new(witnesses),
            is_damaged: false,
        }
    }

    /// Starts an empty witness column, and keeps the next start from trusting the data on disk
    /// before it is rebuilt.
    fn distrust(&mut self) -> Result<(), Error> {
        self.is_damaged = true;
        let begun = WitnessColumn::begin(&column_of(&self.path));
        self.witnesses = Arc::new(begun.map_err(|source| self.witness_error(source))?);
        Ok(())
    }

    /// Declares the damaged part rebuilt, up to a document, and waits until it is on disk.
    pub fn rebuilt(&mut self, through: DocumentId) -> Result<(), Error> {
        self.finish()?;
        let through = self.through.max(through);
        if self.witnesses.through() < through {
            let put = self.witnesses.put(through, &Fingerprints::default());
            put.map_err(|source| self.witness_error(source))?;
        }
        let path = column_of(&self.path);
        // No thread has it any more.
        let placed = match Arc::get_mut(&mut self.witnesses) {
            Some(witnesses) => witnesses.take_place(&path),
            None => Err(io::ErrorKind::ResourceBusy.into()),
        };
        placed.map_err(|source| self.witness_error(source))?;
        self.is_damaged = false;
        self.through = through;
        self.start()?;
        self.finish()
    }

    /// Writes the witness row of a document again.
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

    /// The signature of a document at a tier, if it can be read without the whole document.
    pub(super) fn witness(&self, id: DocumentId, tier: Tier) -> Result<Option<Signature>, Error> {
        match self.in_memory(id) {
            Known::Nothing => Ok(self.witness_row(id)?.and_then(|row| row.signature(tier))),
            Known::Document(_) | Known::Removed => Ok(None),
        }
    }

    fn witness_row(&self, id: DocumentId) -> Result<Option<WitnessRow>, Error> {
        let row = self.witnesses.get(id);
        row.map_err(|source| self.witness_error(source))
    }

    /// What memory says about a document: what is being written is read from there too.
    fn in_memory(&self, id: DocumentId) -> Known<'_> {
        match (self.recent.get(id), &self.writing) {
            (Known::Nothing, Some(writing)) => writing.changes.get(id),
            (known, _) => known,
        }
    }

    /// The document with a number, if there is one.
    pub fn get(&self, id: DocumentId) -> Result<Option<Arc<Document>>, Error> {
        match self.in_memory(id) {
            Known::Document(document) => return Ok(Some(Arc::clone(document))),
            Known::Removed => return Ok(None),
            Known::Nothing => {}
        }
        let Some(row) = self.database.get(&id.to_be_bytes())? else {
            return Ok(None);
        };
        let mut document: Document = postcard::from_bytes(&row).map_err(|error| Error::Engine {
            path: self.path.clone(),
            why: format!("the row of document {id} cannot be read: {error}"),
        })?;
        if let Some(kept) = self.witness_row(id)? {
            for tier in Tier::ALL {
                if document.fingerprints.get(tier).is_none()
                    && let Some(signature) = kept.signature(tier)
                {
                    document.fingerprints.set(tier, Some(signature));
                }
            }
        }
        Ok(Some(Arc::new(document)))
    }

    /// Adds a document, or replaces one that no checkpoint has written.
    pub fn insert(&mut self, document: Arc<Document>) {
        self.insert_at(document.id, document);
    }

    /// The same under another number than its own: that of a document of another shard has gaps,
    /// and here a number is a place in a file.
    pub fn insert_at(&mut self, number: DocumentId, document: Arc<Document>) {
        self.recent.added.insert(number, document);
    }

    /// The highest id written by a checkpoint, or passed to [`rebuilt`](Self::rebuilt).
    pub fn through(&self) -> DocumentId {
        self.through
    }

    /// Removes a document for good. Its number must not be used again.
    pub fn remove(&mut self, id: DocumentId) {
        self.recent.added.remove(&id);
        self.recent.removed.insert(id);
    }

    /// The ids of at most `limit` written documents, ascending, starting at `from`.
    pub fn ids(&self, from: DocumentId, limit: usize) -> Result<Vec<DocumentId>, Error> {
        let mut ids = Vec::new();
        self.database.keys(&from.to_be_bytes(), |key| {
            // The one other key is that of the last checkpoint.
            let id = key.try_into().map(u64::from_be_bytes);
            let is_removed = |id: &DocumentId| matches!(self.in_memory(*id), Known::Removed);
            ids.extend(id.ok().filter(|id| !is_removed(id)));
            ids.len() < limit
        })?;
        Ok(ids)
    }

    /// Number of documents that no checkpoint has written.
    pub fn recent(&self) -> usize {
        let writing = self.writing.as_ref();
        let writing = writing.map_or(0, |it| it.changes.added.len());
        self.recent.added.len() + writing
    }

    /// Writes all changes and waits until they are on disk.
    pub fn checkpoint(&mut self) -> Result<(), Error> {
        self.begin()?;
        self.finish()
    }

    /// Begins a checkpoint: a thread writes all changes so far. Those from now on belong to the
    /// next one. If one was begun, it is waited for.
    pub fn begin(&mut self) -> Result<(), Error> {
        self.finish()?;
        if self.recent.is_empty() {
            return Ok(());
        }
        self.start()
    }

    fn start(&mut self) -> Result<(), Error> {
        let changes = Arc::new(std::mem::take(&mut self.recent));
        let last = changes.added.last_key_value().map_or(0, |(id, _)| *id);
        let through = self.through.max(last);
        let writer = Writer {
            database: Arc::clone(&self.database),
            witnesses: Arc::clone(&self.witnesses),
            through: (!self.is_damaged).then_some(through),
        };
        let own = Arc::clone(&changes);
        let thread = thread::Builder::new().name("documents".to_owned());
        match thread.spawn(move || writer.write(&own)) {
            Ok(thread) => {
                self.writing = Some(Writing { changes, thread });
                Ok(())
            }
            Err(source) => {
                changes.under(&mut self.recent);
                Err(Error::Io {
                    path: self.path.clone(),
                    source,
                })
            }
        }
    }

    /// Returns `true` if [`finish`](Self::finish) does not have to wait.
    pub fn is_written(&self) -> bool {
        let writing = self.writing.as_ref();
        writing.is_none_or(|writing| writing.thread.is_finished())
    }

    /// Waits until the checkpoint that was begun is on disk, if one was.
    ///
    /// # Errors
    ///
    /// What kept it from being written. All documents stay readable, and the next checkpoint writes
    /// them.
    pub fn finish(&mut self) -> Result<(), Error> {
        let Some(Writing { changes, thread }) = self.writing.take() else {
            return Ok(());
        };
        let written = thread.join().unwrap_or_else(|panic| resume_unwind(panic));
        match written {
            Ok(()) => {
                let last = changes.added.last_key_value();
                self.through = self.through.max(last.map_or(0, |(id, _)| *id));
            }
            Err(_) => changes.under(&mut self.recent),
        }
        written
    }
}

impl Drop for Documents {
    fn drop(&mut self) {
        // Whoever opens the files next must not meet this thread.
        if let Some(writing) = self.writing.take() {
            let _ = writing.thread.join();
        }
    }
}

/// Writes a checkpoint.
struct Writer {
    database: Arc<Database>,
    witnesses: Arc<WitnessColumn>,
    /// The highest id that is on disk then, unless the data there is incomplete.
    through: Option<DocumentId>,
}

impl Writer {
    fn write(&self, changes: &Changes) -> Result<(), Error> {
        let removed: Vec<DocumentId> = changes.removed.iter().copied().collect();
        let column = |source| Error::Io {
            path: self.witnesses.path().to_owned(),
            source,
        };
        self.witnesses.remove(&removed).map_err(column)?;
        for (id, document) in &changes.added {
            let put = self.witnesses.put(*id, &document.fingerprints);
            put.map_err(column)?;
        }
        // Synced before sled, so that the column is never behind it.
        self.witnesses.sync().map_err(column)?;
        // One by one and in order, not as a batch: a batch inserts in the order of a hash map,
        // which leaves sled's leaves half full, and it frees nothing that it replaces until it
        // ends. If the process is killed before the last row, the next checkpoint writes all of
        // them again.
        for id in &removed {
            self.database.remove(&id.to_be_bytes())?;
        }
        for (id, document) in &changes.added {
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
            self.database.put(&id.to_be_bytes(), row)?;
        }
        if let Some(through) = self.through {
            self.database.put(THROUGH, through.to_be_bytes().to_vec())?;
        }
        self.database.sync(removed.len() + changes.added.len())
    }
}

/// The path of the witness column for the documents in `path`.
fn column_of(path: &Path) -> PathBuf {
    path.with_extension("witness")
}

impl std::fmt::Debug for Documents {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Documents")
            .field("path", &self.path)
            .finish_non_exhaustive()
    }
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
    fn what_is_being_written_is_read_and_changed_as_before() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("documents");
        let (mut documents, _) = Documents::open(&path, 1 << 20, 0).unwrap();
        for id in 1..=4 {
            documents.insert(document(id));
        }
        documents.checkpoint().unwrap();
        for id in 5..=8 {
            documents.insert(document(id));
        }
        documents.remove(1);
        documents.begin().unwrap();
        let check = |documents: &Documents, expected: &[DocumentId]| {
            let is_there = |id: &DocumentId| documents.get(*id).unwrap().is_some();
            assert_eq!((1..=9).filter(is_there).collect::<Vec<_>>(), expected);
        };
        check(&documents, &[2, 3, 4, 5, 6, 7, 8]);
        // These changes are the next checkpoint's.
        documents.insert(document(9));
        documents.remove(5);
        documents.remove(2);
        check(&documents, &[3, 4, 6, 7, 8, 9]);
        documents.finish().unwrap();
        assert_eq!((documents.through(), documents.recent()), (8, 1));
        check(&documents, &[3, 4, 6, 7, 8, 9]);
        documents.checkpoint().unwrap();
        check(&documents, &[3, 4, 6, 7, 8, 9]);
        assert_eq!(documents.ids(0, 99).unwrap(), [3, 4, 6, 7, 8, 9]);
        drop(documents);
        let (documents, damage) = Documents::open(&path, 1 << 20, 9).unwrap();
        assert!(damage.is_none());
        check(&documents, &[3, 4, 6, 7, 8, 9]);
    }

    /// What could not be written is in memory as if no checkpoint had been begun.
    #[test]
    fn what_was_not_written_lies_under_what_came_since() {
        let mut later = Changes::default();
        later.added.insert(3, document(3));
        later.removed.insert(2);
        let mut earlier = Changes::default();
        for id in 1..=3 {
            earlier.added.insert(id, document(id));
        }
        earlier.removed.insert(9);
        earlier.under(&mut later);
        assert_eq!(later.added.keys().copied().collect::<Vec<_>>(), [1, 3]);
        assert_eq!(later.removed.into_iter().collect::<Vec<_>>(), [2, 9]);
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

    /// Sled leaves such a file when it is killed while it opens.
    #[test]
    fn a_snapshot_that_was_not_finished_costs_nothing() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("documents");
        for round in 1..=3 {
            let (mut documents, damage) = Documents::open(&path, 1 << 20, round - 1).unwrap();
            assert!(damage.is_none(), "{damage:?}");
            for id in 1..round {
                assert_eq!(documents.get(id).unwrap(), Some(document(id)));
            }
            documents.insert(document(round));
            documents.checkpoint().unwrap();
            drop(documents);
            fs::write(path.join("snap.FFFFFFFFFFFFFFFF.generating"), b"half").unwrap();
        }
    }

    #[test]
    fn what_was_damaged_since_the_start_is_an_error() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("documents");
        let words: Vec<_> = (0..80).map(|word| format!("word{word}")).collect();
        let text = crate::dedup::Text::whole(&words.join(" "));
        let (mut documents, _) = Documents::open(&path, 1 << 20, 0).unwrap();
        for id in 1..=2 {
            let mut own = Document::clone(&document(id));
            own.fingerprints = Fingerprints::of(b"raw", &text);
            documents.insert(Arc::new(own));
        }
        documents.checkpoint().unwrap();
        let column = path.with_extension("witness");
        let mut bytes = fs::read(&column).unwrap();
        *bytes.last_mut().unwrap() ^= 1;
        fs::write(&column, bytes).unwrap();
        assert!(documents.witness(1, Tier::Near).unwrap().is_some());
        let is_bad = |error| matches!(error, Error::Io { source, .. } if is_bad_disk(&source));
        assert!(is_bad(documents.witness(2, Tier::Near).unwrap_err()));
        assert!(is_bad(documents.get(2).unwrap_err()));
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
