//! What a shard tells all others of its documents, in the batches that commit these, and what it
//! hears of theirs.
//!
//! A notice stays in the outbox until it has come back: until it stands in what all tell, where
//! every worker reads it. Only then is it known which documents stand before it, so that is when a
//! document is compared with those: if one is the same, both are stored.

use std::sync::Arc;

use crate::engine::Error;
use crate::engine::library::{ForeignDocuments, Library, Told, sent_to_all};
use crate::frontier::Shards;
use crate::rows::Notice;
use crate::store::{Batch, Store, Table, decode, encode, keys};

/// What came back, and what others have told.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Heard {
    /// Number of the last notice of this shard that has come back.
    pub returned: u64,
    /// What others have told, behind `after`.
    pub told: Vec<Told>,
    /// The position up to which it was heard before.
    pub after: u64,
    /// The position up to which that is all.
    pub through: u64,
}

/// How far it is, as committed.
#[derive(Debug)]
pub(crate) struct Publishing {
    /// Where the documents of others are; `None` if nothing is told and nothing heard.
    pub(crate) documents: Option<ForeignDocuments>,
    sent: u64,
    returned: u64,
    heard: u64,
}

/// What a commit tells, and what it has heard.
#[derive(Debug, Default)]
pub(crate) struct Telling {
    /// What all others are told.
    pub(crate) notices: Vec<Notice>,
    /// Number of the last notice that has come back.
    pub(crate) returned: Option<u64>,
    /// Position up to which was heard what others tell.
    pub(crate) heard: Option<u64>,
}

/// What a commit changes of how far it is.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Moved {
    sent: u64,
    returned: u64,
    heard: u64,
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
        };
        if let Some(library) = library.filter(|_| !shards.is_one()) {
            publishing.documents = Some(ForeignDocuments {
                library: Arc::clone(library),
                own: shards.own(),
            });
            (publishing.sent, publishing.returned) = sent_to_all(store)?;
            publishing.heard = heard(store)?;
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

    /// Returns the position up to which was heard what others tell.
    pub(crate) fn heard(&self) -> u64 {
        self.heard
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
            heard: self.heard,
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
        if let Some(heard) = heard {
            moved.heard = moved.heard.max(heard);
            batch.put(Table::Meta, keys::meta::HEARD, encode(&moved.heard));
        }
        Some(moved)
    }

    /// Takes over what was committed.
    pub(super) fn committed(&mut self, moved: Option<Moved>) {
        if let Some(moved) = moved {
            (self.sent, self.returned, self.heard) = (moved.sent, moved.returned, moved.heard);
        }
    }
}

/// Returns the position up to which a shard has heard what others tell.
pub(super) fn heard(store: &dyn Store) -> Result<u64, Error> {
    let row = store.get(Table::Meta, keys::meta::HEARD)?;
    Ok(row.map_or(Ok(0), |row| decode(Table::Meta, &row))?)
}
