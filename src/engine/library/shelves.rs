//! What a library has on disk and in memory, and how it is filled.

use std::collections::BTreeMap;
use std::fs;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use super::bulletin::{Bulletin, MAX_NOTICES};
use super::error::LibraryError as Error;
use super::marks::{Mark, Marks};
use super::neighbours::Neighbours;
use super::options::{LibraryOptions, number_of};
use crate::dedup::{
    self, Document, DocumentId, Documents, Index, Stored, Tier, foreign, postings, structures,
};
use crate::engine::clock::Clock;
use crate::rows::{Notice, OwnPart, Published};
use crate::runs::{self, Catalog, Runs};
use crate::store::{self, Batch, Durability, Embedded, Store, Table, decode, encode, keys};

/// The run files that lead from the number by which a document is known everywhere to the one that
/// it has here.
const NUMBERS: &str = "numbers";

/// Documents in memory, from which a checkpoint is made.
const ENOUGH: usize = 15_000;

/// Time between two checkpoints, if there is anything to write.
const INTERVAL: Duration = Duration::from_mins(1);

/// Resident bytes of sled per byte of its cache, as measured.
const SLED: u64 = 6;

/// What others told that may concern what a shard has found before.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Told {
    /// The document is no original any more.
    Gone(DocumentId),
    /// The template of the site of this number is known from now on.
    Settled(u64),
}

/// How far a library is.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct State {
    /// Position of the last bulletin that was taken in.
    pub(super) position: u64,
    /// Number of bulletins that were taken in, with those that were read twice.
    pub(super) sequence: u64,
    /// Number of the last document.
    pub(super) last: DocumentId,
    /// Documents with all of their fingerprints.
    full: u64,
    /// Number of the last document that a checkpoint wrote.
    written: DocumentId,
    /// Number of the last notice of each shard.
    pub(super) through: BTreeMap<u16, u64>,
}

/// What is kept of a document beside itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Beside {
    is_full: bool,
    pub(super) form: Option<u64>,
    pub(super) own: Option<OwnPart>,
}

/// The documents, what leads to them, and what is beside them.
pub(super) struct Shelves {
    pub(super) index: Index,
    catalog: Catalog,
    pub(super) store: Embedded,
    pub(super) state: State,
    pub(super) marks: Marks,
    /// How often it went back, and how far at most.
    pub(super) went_back: (u64, u64),
    pub(super) features: u64,
    pub(super) neighbours: Neighbours,
    clock: Clock,
    max_documents: u64,
    /// Position up to which all is durable: read beside what is written here.
    pub(super) durable: Arc<AtomicU64>,
    /// Drawn anew whenever what is here is not what was here before, and more: a copy that was
    /// begun before cannot be gone on with.
    pub(super) identity: u64,
    /// How far it was when the checkpoint that is being written was begun.
    begun: Option<(State, Marks)>,
    checked: Instant,
}

/// Name of the row that says how far the library is.
const STATE: &[u8] = b"library";
/// Name of the row that says what fingerprints are made of.
const FEATURES: &[u8] = b"features";
/// Name of the row that says which bulletins were read.
const MARKS: &[u8] = b"marks";
/// Prefix of what was told, by position (8 bytes) and number in its bulletin (2 bytes).
const TOLD: &[u8] = b"told/";

/// Draws a number that tells libraries apart.
fn draw() -> u64 {
    RandomState::new().build_hasher().finish()
}

/// Returns the name of the row of a notice of a bulletin, which does not take the place of what was
/// told at its position before: a part of the hash stands above its number.
fn told_at(mark: Mark, number: u16) -> Vec<u8> {
    let other = (mark.hash % 64) as u16;
    let number = other << 10 | number;
    [
        &keys::by_document(TOLD, mark.position)[..],
        &number.to_be_bytes(),
    ]
    .concat()
}

impl Shelves {
    /// Opens them; `None` if they are to be begun anew.
    pub(super) fn open(path: &Path, options: &LibraryOptions) -> Result<Option<Self>, Error> {
        let io = |path: PathBuf| move |source| dedup::Error::Io { path, source };
        fs::create_dir_all(path).map_err(io(path.to_owned()))?;
        let memory = options.max_memory;
        let store = store::Options {
            cache_bytes: memory / 4,
            memtable_bytes: memory / 4,
        };
        let store = match Embedded::open(&path.join("store"), &store) {
            Ok(store) => store,
            Err(error) => {
                tracing::warn!(%error, "the library cannot be read");
                return Ok(None);
            }
        };
        let line = options.features.line();
        let state: State = match store.get(Table::Meta, STATE)? {
            Some(row) => decode(Table::Meta, &row)?,
            None => {
                let mut batch = Batch::new();
                batch.put(Table::Meta, FEATURES, &*line);
                store.commit(batch, Durability::Disk)?;
                State::default()
            }
        };
        let names = structures().into_iter().chain([NUMBERS]);
        let names: Vec<_> = names.map(|name| (name, runs::Options::default())).collect();
        let (catalog, damages) = Catalog::open(&path.join("runs"), &names)?;
        let cache = memory / 4 / SLED;
        let folder = path.join("documents");
        let (documents, damage) = Documents::open(&folder, cache, state.written)?;
        let neighbours = Neighbours::open(&store)?;
        let is_whole = damages.is_empty()
            && damage.is_none()
            && catalog.sequence() >= state.sequence
            && store.get(Table::Meta, FEATURES)?.as_deref() == Some(line.as_bytes());
        let marks = store.get(Table::Meta, MARKS)?;
        let marks = marks.map(|row| decode(Table::Meta, &row)).transpose()?;
        Ok(is_whole.then(|| Self {
            marks: marks.unwrap_or_default(),
            went_back: (0, u64::MAX),
            features: number_of(&options.features),
            neighbours,
            clock: Clock::start(),
            index: Index::new(documents, options.features.clone()),
            catalog,
            store,
            durable: Arc::new(AtomicU64::new(state.position)),
            identity: draw(),
            state,
            max_documents: options.max_documents,
            begun: None,
            checked: Instant::now(),
        }))
    }

    /// Goes back to a position in what all shards tell.
    pub(super) fn go_back(&mut self, position: u64) {
        self.state.position = self.state.position.min(position);
        self.marks.cut(position);
        let (times, lowest) = self.went_back;
        self.went_back = (times + 1, lowest.min(position));
        self.durable.fetch_min(position, Ordering::Relaxed);
        if let Some((state, marks)) = &mut self.begun {
            state.position = state.position.min(position);
            marks.cut(position);
        }
    }

    /// Returns what was told behind a position that may concern what a shard has found before, and
    /// the position up to which that is all.
    pub(super) fn told(&self, after: u64) -> Result<(Vec<Told>, u64), Error> {
        /// More than there is at one position.
        const MOST: usize = 4 * MAX_NOTICES;
        let from = keys::by_document(TOLD, after + 1);
        let rows = self.store.range(Table::Meta, TOLD, &from, MOST)?;
        let position = |key: &[u8]| {
            let position = key.get(TOLD.len()..)?.first_chunk()?;
            Some(u64::from_be_bytes(*position))
        };
        // The last bulletin may go on.
        let cut = rows.last().filter(|_| rows.len() == MOST);
        let cut = cut.and_then(|(key, _)| position(key));
        let end = self.state.position.max(after);
        let through = cut.map_or(end, |last| (last - 1).min(end));
        let mut told = Vec::new();
        for (key, row) in &rows {
            if position(key).is_some_and(|it| it <= through) {
                told.push(decode(Table::Meta, row)?);
            }
        }
        Ok((told, through))
    }

    pub(super) fn dedup_runs(&self) -> &[Runs] {
        self.catalog.split_last().map_or(&[], |(_, runs)| runs)
    }

    /// Finds a document by the number by which it is known everywhere.
    pub(super) fn find(
        &self,
        id: DocumentId,
    ) -> Result<Option<(DocumentId, Arc<Document>)>, Error> {
        let mut numbers = Vec::new();
        if let Some(runs) = self.catalog.last() {
            runs.find(id, &mut numbers);
        }
        // What a kill has left may lead to another one.
        for number in numbers.into_iter().filter(|it| *it <= self.state.last) {
            let document = self.index.documents().get(number)?;
            if let Some(document) = document.filter(|it| it.id == id) {
                return Ok(Some((number, document)));
            }
        }
        Ok(None)
    }

    pub(super) fn beside_of(&self, id: DocumentId) -> Result<Option<Beside>, Error> {
        match self.find(id)? {
            Some((number, _)) => self.beside(number),
            None => Ok(None),
        }
    }

    fn beside(&self, number: DocumentId) -> Result<Option<Beside>, Error> {
        let row = self.store.get(Table::Parts, &keys::parts(number))?;
        Ok(row.map(|row| decode(Table::Parts, &row)).transpose()?)
    }

    pub(super) fn take_in(&mut self, mark: Mark, bulletin: &Bulletin) -> Result<(), Error> {
        let from = bulletin.from;
        let through = self.state.through.entry(from).or_default();
        // Nobody has the ones between any more: the engine has lost them, or somebody was late.
        *through = bulletin.gone.max(*through);
        let Some(known) = (*through + 1).checked_sub(bulletin.first) else {
            return Ok(());
        };
        let known = usize::try_from(known).unwrap_or(usize::MAX);
        *through = bulletin.through().max(*through);
        let mut batch = Batch::new();
        for (at, row) in (0_u16..).zip(&bulletin.rows) {
            let is_known = usize::from(at) < known;
            let told = match decode(Table::Outbox, row) {
                // It stands here too, and shards may have heard only what stood before this.
                Ok(Notice::Settled(site)) if is_known => Some(Told::Settled(site)),
                Ok(Notice::Gone(number)) if is_known => Some(Told::Gone(foreign(from, number))),
                _ if is_known => None,
                Ok(Notice::Document(published)) => {
                    if bulletin.features == self.features {
                        let id = foreign(from, published.document.id);
                        self.add(id, (*published, true), &mut batch)?;
                    }
                    None
                }
                Ok(Notice::Own(number, own)) => {
                    if let Some((number, _)) = self.find(foreign(from, number))? {
                        self.change(number, own, &mut batch)?;
                    }
                    None
                }
                Ok(Notice::Settled(site)) => Some(Told::Settled(site)),
                Ok(Notice::Gone(number)) => {
                    let id = foreign(from, number);
                    if let Some((number, _)) = self.find(id)? {
                        self.remove(number, &mut batch)?;
                    }
                    Some(Told::Gone(id))
                }
                Ok(Notice::Visits { server, until }) => {
                    let now = self.clock.now();
                    let at = (server, from);
                    self.neighbours.note(at, until, now, &mut batch);
                    None
                }
                Err(error) => {
                    tracing::warn!(%error, from, "a notice of a shard cannot be read");
                    None
                }
            };
            if let Some(told) = told {
                let key = told_at(mark, at);
                batch.put(Table::Meta, key, encode(&told));
            }
        }
        if !batch.is_empty() {
            self.store.commit(batch, Durability::Process)?;
        }
        Ok(())
    }

    /// Whether this is the key of something that was told.
    pub(super) fn is_told(key: &[u8]) -> bool {
        key.starts_with(TOLD)
    }

    /// Returns a document by its number here, under the one by which it is known everywhere, and
    /// whether it has all of its fingerprints; `None` if it is gone.
    pub(super) fn published(&self, number: DocumentId) -> Result<Option<(Published, bool)>, Error> {
        let Some(document) = self.index.documents().get(number)? else {
            return Ok(None);
        };
        let beside = self.beside(number)?;
        let is_full = beside.as_ref().is_some_and(|it| it.is_full);
        let (form, own) = beside.map_or((None, None), |it| (it.form, it.own));
        let published = Published {
            document: (*document).clone(),
            form,
            own,
        };
        Ok(Some((published, is_full)))
    }

    /// Returns the numbers from `first` to `last` under which there is a document.
    pub(super) fn numbers(
        &self,
        first: DocumentId,
        last: DocumentId,
    ) -> Result<Vec<DocumentId>, Error> {
        let mut numbers = Vec::new();
        for number in first..=last {
            if self.index.documents().get(number)?.is_some() {
                numbers.push(number);
            }
        }
        Ok(numbers)
    }

    /// Goes on where another library was, of which this is a copy: what was here beyond that is
    /// read again.
    pub(super) fn go_on_from(&mut self, position: u64, through: BTreeMap<u16, u64>, marks: Marks) {
        if position < self.state.position {
            self.go_back(position);
        }
        self.state.position = position;
        self.state.through = through;
        self.marks = marks;
        self.identity = draw();
    }

    /// Notes who visits a server, as the row of another library says.
    pub(super) fn note_server(
        &self,
        key: &[u8],
        row: &[u8],
        batch: &mut Batch,
    ) -> Result<(), Error> {
        Ok(self
            .neighbours
            .note_row((key, row), self.clock.now(), batch)?)
    }

    /// Adds a document by the number by which it is known everywhere, unless it is here; with all
    /// of its fingerprints if it has them and there is room.
    pub(super) fn add(
        &mut self,
        id: DocumentId,
        (new, has_all): (Published, bool),
        batch: &mut Batch,
    ) -> Result<(), Error> {
        if self.find(id)?.is_some() {
            return Ok(());
        }
        let mut document = new.document;
        document.id = id;
        // Its response is in files that are not here.
        document.stored = Stored {
            record: document.stored.record,
            segment: Stored::ELSEWHERE,
            ..Stored::default()
        };
        let is_full = has_all && self.state.full < self.max_documents;
        if !is_full {
            for tier in Tier::ALL.into_iter().filter(|tier| *tier != Tier::Raw) {
                document.fingerprints.set(tier, None);
            }
        }
        self.state.full += u64::from(is_full);
        self.state.last += 1;
        let number = self.state.last;
        let beside = Beside {
            is_full,
            form: new.form,
            own: new.own.filter(|_| is_full),
        };
        batch.put(Table::Parts, keys::parts(number), encode(&beside));
        for mut posting in postings(&document, self.index.features()) {
            posting.document = number;
            self.index.post(&posting, &mut self.catalog);
        }
        if let Some(numbers) = self.catalog.last_mut() {
            numbers.insert(id, number);
        }
        let documents = self.index.documents_mut();
        documents.insert_at(number, Arc::new(document));
        Ok(())
    }

    /// The same with what the batch changes.
    fn beside_now(&self, number: DocumentId, batch: &Batch) -> Result<Option<Beside>, Error> {
        match batch.put_value(Table::Parts, &keys::parts(number)) {
            Some(row) => Ok(Some(decode(Table::Parts, row)?)),
            None => self.beside(number),
        }
    }

    /// Changes what of a document is its own, by its number here.
    pub(super) fn change(
        &mut self,
        number: DocumentId,
        own: Option<OwnPart>,
        batch: &mut Batch,
    ) -> Result<(), Error> {
        let beside = self.beside_now(number, batch)?;
        if let Some(beside) = beside.filter(|it| it.is_full) {
            let beside = Beside { own, ..beside };
            batch.put(Table::Parts, keys::parts(number), encode(&beside));
        }
        Ok(())
    }

    /// Removes a document, by its number here.
    pub(super) fn remove(&mut self, number: DocumentId, batch: &mut Batch) -> Result<(), Error> {
        let beside = self.beside_now(number, batch)?;
        let was_full = beside.is_some_and(|it| it.is_full);
        self.state.full -= u64::from(was_full).min(self.state.full);
        batch.delete(Table::Parts, keys::parts(number));
        self.index.documents_mut().remove(number);
        self.catalog.retire(0, [number]);
        Ok(())
    }

    /// Makes a checkpoint, if it is time or there is much in memory.
    pub(super) fn checkpoint_if_due(&mut self) -> Result<(), Error> {
        let is_much = self.index.documents().recent() >= ENOUGH;
        let is_written = self.catalog.is_written() && self.index.documents().is_written();
        if self.begun.is_some() && (is_written || is_much) {
            self.end()?;
        }
        let is_new = self.catalog.sequence() < self.state.sequence;
        let is_due = is_much || is_new && self.checked.elapsed() >= INTERVAL;
        if self.begun.is_none() && is_due {
            self.begin()?;
        }
        Ok(())
    }

    pub(super) fn begin(&mut self) -> Result<(), Error> {
        self.checked = Instant::now();
        let mut batch = Batch::new();
        self.neighbours.forget(self.clock.now(), &mut batch);
        if !batch.is_empty() {
            self.store.commit(batch, Durability::Process)?;
        }
        self.index.documents_mut().begin()?;
        self.catalog.begin(self.state.sequence)?;
        self.begun = Some((self.state.clone(), self.marks.clone()));
        Ok(())
    }

    pub(super) fn end(&mut self) -> Result<(), Error> {
        let Some((mut state, marks)) = self.begun.take() else {
            return Ok(());
        };
        self.index.documents_mut().finish()?;
        self.catalog.finish()?;
        state.written = self.index.documents().through();
        self.state.written = state.written;
        let mut batch = Batch::new();
        batch.put(Table::Meta, STATE, encode(&state));
        batch.put(Table::Meta, MARKS, encode(&marks));
        self.store.commit(batch, Durability::Disk)?;
        self.durable.store(state.position, Ordering::Relaxed);
        Ok(())
    }
}
