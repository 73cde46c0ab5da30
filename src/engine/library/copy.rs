//! Copies of a library, made from that of another worker while both go on, where the log does not
//! have any more what is lacking here.
//!
//! What the other one has is given a part at a time, so it is of many moments. But each of them is
//! behind the position that the other one had before the first part, and the log has what was told
//! since. Whoever takes the parts goes on there: what it reads of a document that it has been given
//! changes nothing, and of one that is gone it reads that.
//!
//! What two libraries have is not put together, for their numbers and moments are their own: if
//! another one gives the rest, it begins again with that.
//!
//! A copy adds to what is here, and lets go what the other one does not have: that is gone, or was
//! not read there yet and is read again. So it needs nothing to be removed before, and is begun
//! again after a kill.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::error::LibraryError as Error;
use super::marks::Marks;
use super::shelves::Shelves;
use super::{Library, neighbours};
use crate::dedup::DocumentId;
use crate::engine::CopyId;
use crate::rows::Published;
use crate::store::{Batch, Durability, Store, Table, encode, pack, unpack};

/// Version of the form in which chunks are carried.
const VERSION: u8 = 1;

/// Bytes of a chunk, about, before it is packed.
const BYTES: usize = 512 << 10;

/// Numbers of documents, or rows, that are looked at for a chunk: many of them may be gone.
const LOOKS: usize = 4_096;

/// How far a copy is: what it is given next, of the library with this identity. What two libraries
/// have is not put together.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum LibraryCursor {
    /// How far the other one is, whichever it is.
    Start,
    /// Documents, from this number of the other one on.
    Document(u64, DocumentId),
    /// Rows of what was told, and of who visits which server, from this key on.
    Row(u64, Vec<u8>),
    /// Nothing: the log has the rest.
    End(u64),
}

/// A part of a copy.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LibraryChunk {
    id: CopyId,
    from: LibraryCursor,
    /// What follows.
    pub to: LibraryCursor,
    part: Part,
}

/// What is in a chunk.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
enum Part {
    Start(Start),
    /// Documents under the numbers by which they are known everywhere, and whether each has all of
    /// its fingerprints.
    Documents(Vec<(Published, bool)>),
    Rows(Vec<(Vec<u8>, Vec<u8>)>),
    End,
}

/// How far a library is before the first of its documents is read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Start {
    /// A number for what its fingerprints are made of.
    features: u64,
    position: u64,
    through: BTreeMap<u16, u64>,
    marks: Marks,
}

impl LibraryChunk {
    /// Returns the chunk as bytes, packed and with a checksum.
    pub fn encode(&self) -> Vec<u8> {
        pack(VERSION, self)
    }

    /// Reads what [`encode`](Self::encode) wrote.
    ///
    /// # Errors
    ///
    /// Says what is wrong with what is damaged, or of another version.
    pub fn decode(bytes: &[u8]) -> Result<Self, String> {
        unpack(VERSION, bytes)
    }
}

/// A library, of which copies are made.
#[derive(Clone)]
pub struct LibrarySource(Arc<Library>);

impl fmt::Debug for LibrarySource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LibrarySource").finish_non_exhaustive()
    }
}

impl LibrarySource {
    /// This one.
    pub fn new(library: Arc<Library>) -> Self {
        Self(library)
    }

    /// Returns what a copy is given behind a cursor: the start, where that is of another library.
    /// Reads the disk, so it blocks.
    ///
    /// # Errors
    ///
    /// What goes wrong on the disk.
    pub fn chunk(&self, id: CopyId, from: &LibraryCursor) -> Result<LibraryChunk, Error> {
        let reading = self.0.read();
        let shelves = &reading.0;
        let (to, part) = match from {
            LibraryCursor::Document(of, first) if *of == shelves.identity => {
                documents(shelves, *first)?
            }
            LibraryCursor::Row(of, key) if *of == shelves.identity => rows(shelves, key)?,
            LibraryCursor::End(of) if *of == shelves.identity => (from.clone(), Part::End),
            _ => {
                let start = Start {
                    features: shelves.features,
                    position: shelves.state.position,
                    through: shelves.state.through.clone(),
                    marks: shelves.marks.clone(),
                };
                let first = LibraryCursor::Document(shelves.identity, 1);
                (first, Part::Start(start))
            }
        };
        Ok(LibraryChunk {
            id,
            from: from.clone(),
            to,
            part,
        })
    }
}

fn documents(shelves: &Shelves, first: DocumentId) -> Result<(LibraryCursor, Part), Error> {
    let (mut found, mut bytes, mut next) = (Vec::new(), 0, first);
    let until = shelves.state.last.min(first.saturating_add(LOOKS as u64));
    while next <= until && bytes < BYTES {
        if let Some(document) = shelves.published(next)? {
            bytes += encode(&document.0).len();
            found.push(document);
        }
        next += 1;
    }
    let to = match next <= shelves.state.last {
        true => LibraryCursor::Document(shelves.identity, next),
        false => LibraryCursor::Row(shelves.identity, Vec::new()),
    };
    Ok((to, Part::Documents(found)))
}

fn rows(shelves: &Shelves, from: &[u8]) -> Result<(LibraryCursor, Part), Error> {
    let mut found = shelves.store.range(Table::Meta, &[], from, LOOKS)?;
    let to = match found.last() {
        Some((last, _)) if found.len() == LOOKS => {
            LibraryCursor::Row(shelves.identity, [last, &[0][..]].concat())
        }
        _ => LibraryCursor::End(shelves.identity),
    };
    found.retain(|(key, _)| Shelves::is_told(key) || neighbours::is_row(key));
    Ok((to, Part::Rows(found)))
}

/// A library that is completed out of another one.
pub struct LibraryCopy<'a> {
    library: &'a Library,
    id: CopyId,
    /// What is taken next.
    next: LibraryCursor,
    start: Option<Start>,
    /// Number of the last document that was here before, and a bit for each: whether the other one
    /// has it.
    last: DocumentId,
    found: Vec<u64>,
}

impl fmt::Debug for LibraryCopy<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LibraryCopy").finish_non_exhaustive()
    }
}

impl<'a> LibraryCopy<'a> {
    /// Begins to complete a library, under an id that nobody else has. Nothing else is to be added
    /// to it until then. Takes a bit of memory for each document that is there.
    pub fn begin(library: &'a Library, id: CopyId) -> Self {
        Self {
            library,
            id,
            next: LibraryCursor::Start,
            start: None,
            last: 0,
            found: Vec::new(),
        }
    }

    /// Returns which copy it is, and what it is given next.
    pub fn wish(&self) -> (CopyId, LibraryCursor) {
        (self.id, self.next.clone())
    }

    /// Takes a chunk. Returns whether that was the last one.
    ///
    /// # Errors
    ///
    /// What goes wrong on the disk.
    pub fn take(&mut self, chunk: LibraryChunk) -> Result<bool, Error> {
        if chunk.id != self.id || chunk.from != self.next {
            return Ok(false);
        }
        match chunk.part {
            Part::Start(start) => {
                // Perhaps again, of another library: what was taken of the one before is kept only
                // where that has it too.
                self.last = self.library.documents();
                let words = usize::try_from(self.last / 64 + 1).unwrap_or(usize::MAX);
                self.found = vec![0; words];
                self.start = Some(start);
            }
            _ if self.start.is_none() => return Ok(false),
            Part::Documents(documents) => self.take_documents(documents)?,
            Part::Rows(rows) => self.take_rows(rows)?,
            Part::End => {
                self.complete()?;
                return Ok(true);
            }
        }
        self.next = chunk.to;
        let mut shelves = self.library.write();
        shelves.state.sequence += 1;
        shelves.checkpoint_if_due()?;
        Ok(false)
    }

    /// Goes on behind a position without a copy: what is here may be gone, and what was told up to
    /// there is not known.
    ///
    /// # Errors
    ///
    /// What goes wrong on the disk.
    pub fn give_up(mut self, position: u64) -> Result<(), Error> {
        self.last = self.library.documents();
        self.found.clear();
        let through = self.library.read().0.state.through.clone();
        self.start = Some(Start {
            features: 0,
            position,
            through,
            marks: Marks::default(),
        });
        self.complete()
    }

    fn take_documents(&mut self, documents: Vec<(Published, bool)>) -> Result<(), Error> {
        let library = self.library;
        let mut shelves = library.write();
        // They could not be compared with what is here.
        if self.start.as_ref().map(|it| it.features) != Some(shelves.features) {
            return Ok(());
        }
        let mut batch = Batch::new();
        for (document, has_all) in documents {
            let id = document.document.id;
            match shelves.find(id)? {
                Some((number, _)) => {
                    self.mark(number);
                    if has_all {
                        shelves.change(number, document.own, &mut batch)?;
                    }
                }
                None => shelves.add(id, (document, has_all), &mut batch)?,
            }
        }
        Ok(shelves.store.commit(batch, Durability::Process)?)
    }

    fn take_rows(&self, rows: Vec<(Vec<u8>, Vec<u8>)>) -> Result<(), Error> {
        let shelves = self.library.write();
        let mut batch = Batch::new();
        for (key, row) in rows {
            if Shelves::is_told(&key) {
                batch.put(Table::Meta, key, row);
            } else if neighbours::is_row(&key) {
                shelves.note_server(&key, &row, &mut batch)?;
            }
        }
        Ok(shelves.store.commit(batch, Durability::Process)?)
    }

    /// Lets go what the other one does not have, and goes on where that was. Shards that look
    /// something up meanwhile wait for a part of it only.
    fn complete(&mut self) -> Result<(), Error> {
        for first in (1..=self.last).step_by(LOOKS) {
            let last = self.last.min(first + LOOKS as u64 - 1);
            let numbers = self.library.read().0.numbers(first, last)?;
            let gone: Vec<DocumentId> = numbers.into_iter().filter(|it| !self.has(*it)).collect();
            if gone.is_empty() {
                continue;
            }
            let mut shelves = self.library.write();
            let mut batch = Batch::new();
            for number in gone {
                shelves.remove(number, &mut batch)?;
            }
            shelves.store.commit(batch, Durability::Process)?;
        }
        if let Some(start) = self.start.take() {
            let mut shelves = self.library.write();
            shelves.go_on_from(start.position, start.through, start.marks);
            shelves.state.sequence += 1;
        }
        self.library.checkpoint()
    }

    fn mark(&mut self, number: DocumentId) {
        if number > self.last {
            return;
        }
        let word = usize::try_from(number / 64).ok();
        if let Some(word) = word.and_then(|it| self.found.get_mut(it)) {
            *word |= 1 << (number % 64);
        }
    }

    fn has(&self, number: DocumentId) -> bool {
        let word = usize::try_from(number / 64).ok();
        let word = word.and_then(|it| self.found.get(it));
        word.is_some_and(|it| it >> (number % 64) & 1 == 1)
    }
}
