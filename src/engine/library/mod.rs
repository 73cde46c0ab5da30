//! The library: the documents of all shards of a crawl, one for each worker, whose shards look up
//! there what others have stored, and which servers others visit.
//!
//! It is filled from what all shards tell ([`Bulletin`]), in the one order in which all workers
//! read that, by one thread. It can be lost: it is read anew then, and what is gone from there by
//! then is copied out of another worker's (`copy`). What it says is never more than what was
//! committed, because a shard tells of a document in the batch that commits it.
//!
//! Under `library/` of the worker's directory are documents and runs as in a crawl's directory,
//! with numbers in the order of arrival, and a store with what of each document is its own. How far
//! it is becomes durable with a checkpoint; what came behind is read again, under the same numbers.

mod bulletin;
mod copy;
mod error;
mod marks;
mod neighbours;
mod options;
mod shelves;

use std::fmt;
use std::fs;
use std::io;
use std::net::IpAddr;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};
use std::time::Duration;

pub use crate::dedup::Features;
pub use bulletin::{Bulletin, BulletinError};
pub(crate) use bulletin::{sent_to_all, told_documents, waiting_notices};
pub use copy::{LibraryChunk, LibraryCopy, LibraryCursor, LibrarySource};
use error::LibraryError as Error;
pub use error::LibraryError;
pub use marks::{Mark, Marks, Stands};
use neighbours::Neighbours;
pub use options::LibraryOptions;
use options::number_of;
pub(crate) use options::seed_of;
use shelves::Shelves;
pub use shelves::Told;

use crate::dedup::own::OwnLines;
use crate::dedup::{self, Document, DocumentId, Others};
use crate::frontier::{Moment, server_of};

/// The documents of all shards.
pub struct Library {
    shelves: RwLock<Shelves>,
    /// The same as on the shelves: fetches look there, and wait for nothing that is written.
    neighbours: Neighbours,
    /// The same as on the shelves.
    durable: Arc<AtomicU64>,
}

/// A library while it is read: nothing changes in it.
pub(crate) struct Reading<'a>(RwLockReadGuard<'a, Shelves>);

/// The library as one of the shards of its worker has it.
#[derive(Debug, Clone)]
pub(crate) struct ForeignDocuments {
    pub(crate) library: Arc<Library>,
    /// Number of the shard.
    pub(crate) own: u16,
}

impl Library {
    /// Opens the library in the directory `path`. One that cannot be used is begun anew: all of it
    /// can be read again.
    ///
    /// # Errors
    ///
    /// What goes wrong on the disk.
    pub fn open(path: &Path, options: &LibraryOptions) -> Result<Self, Error> {
        if let Some(shelves) = Shelves::open(path, options)? {
            return Ok(Self::of(shelves));
        }
        tracing::warn!("the library of documents of all shards is begun anew");
        let failed = |source: io::Error| dedup::Error::Io {
            path: path.to_owned(),
            source,
        };
        match fs::remove_dir_all(path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(failed(error))?,
            _ => {}
        }
        let shelves = Shelves::open(path, options)?;
        let none = || dedup::Error::Engine {
            path: path.to_owned(),
            why: "a new library is damaged".to_owned(),
        };
        Ok(Self::of(shelves.ok_or_else(none)?))
    }

    fn of(shelves: Shelves) -> Self {
        Self {
            neighbours: shelves.neighbours.clone(),
            durable: Arc::clone(&shelves.durable),
            shelves: RwLock::new(shelves),
        }
    }

    /// Returns the position of the last bulletin that was taken in.
    pub fn position(&self) -> u64 {
        self.read().0.state.position
    }

    /// Returns the position up to which all is durable. Waits for nothing that is written.
    pub fn durable(&self) -> u64 {
        self.durable.load(Ordering::Relaxed)
    }

    /// Returns the number of the last notice of a shard that is here.
    pub fn through(&self, shard: u16) -> u64 {
        let reading = self.read();
        let through = reading.0.state.through.get(&shard);
        through.copied().unwrap_or_default()
    }

    /// Returns the number of documents that were taken in.
    pub fn documents(&self) -> u64 {
        self.read().0.state.last
    }

    /// Returns a number for what the fingerprints here are made of.
    pub fn features(&self) -> u64 {
        self.read().0.features
    }

    /// Whether the fingerprints here are made of these features.
    pub(crate) fn is_of(&self, features: &Features) -> bool {
        self.features() == number_of(features)
    }

    /// Takes in the bulletin at a position, unless that was taken in before. Of its notices those
    /// are passed over that are known; if one before them is missing and will come again, all are
    /// left alone.
    ///
    /// # Errors
    ///
    /// What goes wrong on the disk. A bulletin that cannot be read is only told.
    pub fn take_in(&self, position: u64, bytes: &[u8]) -> Result<(), Error> {
        let bulletin = Bulletin::decode(bytes);
        let mark = Mark::of(position, bytes);
        let mut shelves = self.write();
        if position <= shelves.state.position {
            return Ok(());
        }
        match bulletin {
            Ok(bulletin) => shelves.take_in(mark, &bulletin)?,
            Err(error) => tracing::warn!(%error, position, "a bulletin is passed over"),
        }
        shelves.state.position = position;
        shelves.marks.note(mark);
        shelves.state.sequence += 1;
        shelves.checkpoint_if_due()
    }

    /// Goes back to the last position at which there is still what was read there, if the engine
    /// has lost what was read behind it, and perhaps given its positions to others. What is here
    /// stays: it was committed. `now` returns what stands at a position. Returns where it is then.
    ///
    /// # Errors
    ///
    /// What `now` says: then nothing is known, and it is to be asked again before anything is read.
    pub fn stay_or_go_back<E>(&self, now: impl FnMut(u64) -> Result<Stands, E>) -> Result<u64, E> {
        let (position, marks) = {
            let reading = self.read();
            (reading.0.state.position, reading.0.marks.clone())
        };
        // Nobody but who asks this takes anything in.
        let still = marks.still(position, now)?;
        if still < position {
            self.write().go_back(still);
        }
        Ok(still)
    }

    /// Whether what was read last still stands there, or was removed. `now` returns what stands at
    /// a position.
    ///
    /// # Errors
    ///
    /// What `now` says.
    pub fn has_last<E>(&self, mut now: impl FnMut(u64) -> Result<Stands, E>) -> Result<bool, E> {
        let Some(last) = self.read().0.marks.last() else {
            return Ok(true);
        };
        Ok(match now(last.position)? {
            Stands::Bulletin(it) => it == last,
            Stands::Removed { .. } => true,
            Stands::Nothing => false,
        })
    }

    /// Returns how often it went back since it was opened, and to which position at most.
    pub(crate) fn went_back(&self) -> (u64, u64) {
        self.read().0.went_back
    }

    /// Does what is due while nothing arrives.
    ///
    /// # Errors
    ///
    /// What goes wrong on the disk.
    pub fn rest(&self) -> Result<(), Error> {
        self.write().checkpoint_if_due()
    }

    /// Makes all durable.
    ///
    /// # Errors
    ///
    /// What goes wrong on the disk.
    pub fn checkpoint(&self) -> Result<(), Error> {
        let mut shelves = self.write();
        shelves.end()?;
        shelves.begin()?;
        shelves.end()
    }

    /// Returns what was told behind a position that may concern what a shard has found before, the
    /// position up to which that is all, and what stands there if that was read last.
    ///
    /// # Errors
    ///
    /// What goes wrong on the disk.
    pub fn told(&self, after: u64) -> Result<(Vec<Told>, u64, Option<Mark>), Error> {
        let reading = self.read();
        let (told, through) = reading.0.told(after)?;
        let last = reading.0.marks.last();
        Ok((told, through, last.filter(|it| it.position == through)))
    }

    /// Reads it.
    pub(crate) fn read(&self) -> Reading<'_> {
        Reading(self.shelves.read().unwrap_or_else(PoisonError::into_inner))
    }

    fn write(&self) -> RwLockWriteGuard<'_, Shelves> {
        self.shelves.write().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Library {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Library").finish_non_exhaustive()
    }
}

impl ForeignDocuments {
    /// Returns the time for which the shard leaves the server at an address alone after a visit, if
    /// a crawl of one shard does so for `delay`.
    pub(crate) fn server_delay(&self, at: IpAddr, delay: Duration, now: Moment) -> Duration {
        let neighbours = &self.library.neighbours;
        neighbours.delay((server_of(at), self.own), delay, now)
    }

    /// Returns the server at an address that was visited, and until when the shard counts there, if
    /// others are to be told of that.
    pub(crate) fn visits(&self, at: IpAddr, now: Moment) -> Option<(IpAddr, Moment)> {
        let server = server_of(at);
        let neighbours = &self.library.neighbours;
        let until = neighbours.is_to_be_told((server, self.own), now)?;
        Some((server, until))
    }
}

impl Reading<'_> {
    /// Returns the documents of all shards but `own`, up to the number `below`.
    pub(crate) fn others(&self, own: u16, below: DocumentId) -> Others<'_> {
        Others {
            index: &self.0.index,
            runs: self.0.dedup_runs(),
            own,
            below,
        }
    }

    /// Returns the number that a document has here.
    pub(crate) fn number(&self, id: DocumentId) -> Result<Option<DocumentId>, Error> {
        Ok(self.0.find(id)?.map(|(number, _)| number))
    }

    /// Returns a document that is an original still.
    pub(crate) fn document(&self, id: DocumentId) -> Result<Option<Arc<Document>>, Error> {
        Ok(self.0.find(id)?.map(|(_, document)| document))
    }

    /// Returns what of a document is its own; `None` if its page has no lines.
    pub(crate) fn own_lines(&self, id: DocumentId) -> Result<Option<OwnLines>, Error> {
        let beside = self.0.beside_of(id)?;
        Ok(beside.and_then(|it| it.own?.read()))
    }

    /// Returns what players of archives take from the head of the response of a document, if a
    /// revisit record may refer to that.
    pub(crate) fn form(&self, id: DocumentId) -> Result<Option<u64>, Error> {
        Ok(self.0.beside_of(id)?.and_then(|it| it.form))
    }
}

#[cfg(test)]
impl Library {
    /// The documents that are here, and their URLs.
    pub(crate) fn all(&self) -> Vec<(DocumentId, String)> {
        let reading = self.read();
        let documents = reading.0.index.documents();
        let numbers = 1..=reading.0.state.last;
        let documents = numbers.filter_map(|number| documents.get(number).unwrap());
        documents.map(|it| (it.id, it.url.clone())).collect()
    }
}

#[cfg(test)]
mod tests;
