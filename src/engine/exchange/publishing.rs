//! What a shard tells all others of its documents, in the batches that commit these, and what it
//! hears of theirs.
//!
//! A notice stays in the outbox until it has come back: until it stands in what all tell, where
//! every worker reads it. Only then is it known which documents stand before it, so that is when a
//! document is compared with those: if one is the same, both are stored.

use std::sync::Arc;

use crate::engine::Error;
use crate::engine::library::{
    ForeignDocuments, Library, LibraryError, Mark, Marks, Stands, Told, sent_to_all,
};
use crate::frontier::Shards;
use crate::rows::Notice;
use crate::store::{Batch, Store, Table, decode, encode, keys};

/// What came back, and what others have told.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Heard {
    /// Number of the last notice of this shard that has come back.
    pub returned: u64,
    /// What others have told behind what was heard before.
    pub told: Vec<Told>,
    /// The position behind which that is.
    pub after: u64,
    /// The position up to which that is all.
    pub through: u64,
    /// What stands there, if that is known.
    pub mark: Option<Mark>,
}

/// What listens for a shard that runs to what all others tell. What it hears reaches the committer
/// in its order.
#[derive(Debug, Clone)]
pub struct Ear {
    /// Number of the shard.
    own: u16,
    /// The position up to which it has listened.
    position: u64,
    /// Which bulletins stood at some positions, as far as was committed.
    marks: Marks,
    /// How often the library had gone back when it listened last.
    went_back: u64,
}

impl Ear {
    /// Returns the position up to which it has listened.
    pub fn position(&self) -> u64 {
        self.position
    }

    /// Goes back to the last position at which there is still what was heard there. It is to be
    /// asked before it listens. `now` returns what stands at a position.
    ///
    /// # Errors
    ///
    /// What `now` says.
    pub fn stay_or_go_back<E>(
        &mut self,
        now: impl FnMut(u64) -> Result<Stands, E>,
    ) -> Result<(), E> {
        self.position = self.marks.still(self.position, now)?;
        Ok(())
    }

    /// Returns what has come back, and what others have told since it listened last. The shard is
    /// to be given that, unless there is nothing.
    ///
    /// # Errors
    ///
    /// What goes wrong on the disk.
    pub fn listen(&mut self, library: &Library) -> Result<Heard, LibraryError> {
        let (times, lowest) = library.went_back();
        if std::mem::replace(&mut self.went_back, times) != times {
            self.position = self.position.min(lowest);
        }
        let returned = library.through(self.own);
        let after = self.position;
        let (told, through, mark) = library.told(after)?;
        self.position = through;
        Ok(Heard {
            returned,
            told,
            after,
            through,
            mark,
        })
    }
}

/// How far it is, as committed.
#[derive(Debug)]
pub(crate) struct Publishing {
    /// Where the documents of others are; `None` if nothing is told and nothing heard.
    pub(crate) documents: Option<ForeignDocuments>,
    sent: u64,
    returned: u64,
    heard: u64,
    marks: Marks,
    /// How often the library had gone back as it was opened.
    went_back: u64,
}

/// What a commit tells, and what it has heard.
#[derive(Debug, Default)]
pub(crate) struct Telling {
    /// What all others are told.
    pub(crate) notices: Vec<Notice>,
    /// Number of the last notice that has come back.
    pub(crate) returned: Option<u64>,
    /// Positions from which and up to which was heard what others tell, and what stands at the
    /// second, if that is known.
    pub(crate) heard: Option<(u64, u64, Option<Mark>)>,
}

/// What a commit changes of how far it is.
#[derive(Debug, Clone)]
pub(crate) struct Moved {
    sent: u64,
    returned: u64,
    /// Up to which position was heard what others tell, with the marks of that, if it moves.
    heard: Option<(u64, Marks)>,
}

impl Publishing {
    /// Reads how far it is.
    pub(crate) fn open(
        store: &dyn Store,
        shards: Shards,
        library: Option<&Arc<Library>>,
    ) -> Result<Self, Error> {
        let mut publishing = Self {
            documents: None,
            sent: 0,
            returned: 0,
            heard: 0,
            marks: Marks::default(),
            went_back: 0,
        };
        if let Some(library) = library.filter(|_| !shards.is_one()) {
            publishing.documents = Some(ForeignDocuments {
                library: Arc::clone(library),
                own: shards.own(),
            });
            (publishing.sent, publishing.returned) = sent_to_all(store)?;
            // A library that is behind has what was heard to be gone, and pages may be found to
            // repeat that again: it is heard once more.
            (publishing.went_back, _) = library.went_back();
            let heard = store.get(Table::Meta, keys::meta::HEARD)?;
            let heard = heard.map(|row| decode(Table::Meta, &row)).transpose()?;
            publishing.heard = library.position().min(heard.unwrap_or(0));
            let marks = store.get(Table::Meta, keys::meta::HEARD_MARKS)?;
            let marks = marks.map(|row| decode(Table::Meta, &row)).transpose()?;
            publishing.marks = marks.unwrap_or_default();
        }
        Ok(publishing)
    }

    /// Returns the number of the last notice, and of the last one that has come back.
    pub(super) fn counts(&self) -> (u64, u64) {
        (self.sent, self.returned)
    }

    /// Returns the number of the last notice that has come back.
    pub(crate) fn returned(&self) -> u64 {
        self.returned
    }

    /// Returns what listens to others from where that was heard.
    pub(super) fn ear(&self, own: u16) -> Ear {
        Ear {
            own,
            position: self.heard,
            marks: self.marks.clone(),
            went_back: self.went_back,
        }
    }

    /// Adds to a batch what its commit tells. Returns what to apply once it is committed.
    pub(super) fn write(&self, telling: Telling, batch: &mut Batch) -> Option<Moved> {
        let Telling {
            notices,
            returned,
            heard,
        } = telling;
        if notices.is_empty() && returned.is_none() && heard.is_none() {
            return None;
        }
        let mut moved = Moved {
            sent: self.sent,
            returned: self.returned,
            heard: None,
        };
        for notice in notices {
            moved.sent += 1;
            let key = keys::outbox(keys::ALL, moved.sent);
            batch.put(Table::Outbox, key, encode(&notice));
        }
        if let Some(returned) = returned {
            for number in self.returned + 1..=returned {
                batch.delete(Table::Outbox, keys::outbox(keys::ALL, number));
            }
            moved.returned = moved.returned.max(returned);
        }
        let row = (moved.sent, moved.returned);
        batch.put(Table::Meta, keys::sent(keys::ALL), encode(&row));
        if let Some((after, through, mark)) = heard {
            let mut marks = self.marks.clone();
            // What it had heard behind that before stands there no more.
            marks.cut(after);
            if let Some(mark) = mark {
                marks.note(mark);
            }
            batch.put(Table::Meta, keys::meta::HEARD, encode(&through));
            batch.put(Table::Meta, keys::meta::HEARD_MARKS, encode(&marks));
            moved.heard = Some((through, marks));
        }
        Some(moved)
    }

    /// Takes over what was committed.
    pub(super) fn committed(&mut self, moved: Option<Moved>) {
        if let Some(moved) = moved {
            (self.sent, self.returned) = (moved.sent, moved.returned);
            if let Some(heard) = moved.heard {
                (self.heard, self.marks) = heard;
            }
        }
    }
}
