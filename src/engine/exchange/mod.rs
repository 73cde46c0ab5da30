//! What the shards of a crawl exchange: links, seeds, where seeds have moved to, and what they have
//! stored (`publishing`).
//!
//! What leaves is a row of `Outbox` in the batch of the commit that found it, numbered by receiver
//! without gaps. What arrives enters the committer, and the batch that admits it says up to which
//! number that was. So whatever is between two shards may lose, double and delay, as long as it
//! delivers in the end: each message counts once. [`Post`] is where a process takes hold of it,
//! [`Courier`] says what is to be sent when, [`Census`] when a crawl of several shards is over.

mod carrier;
mod census;
mod courier;
mod parcel;
mod post;
mod publishing;

#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use tokio::sync::oneshot;

pub use carrier::{Carried, Carrier, Faults};
pub use census::{Census, Counts, Look};
pub use courier::{Courier, Crier, Pace};
pub(crate) use parcel::waiting;
pub use parcel::{Parcel, ParcelError};
pub use post::{HandInError, Post};
pub(crate) use publishing::Telling;
pub use publishing::{Ear, Heard};
use publishing::{Moved, Publishing};

use super::Error;
use super::library::Library;
use crate::frontier::Shards;
use crate::rows::Sent;
use crate::store::{Batch, Store, Table, decode, encode, keys};

/// Maximum number of messages to one shard that leave the outbox with one commit.
const MAX_DELETED: u64 = 4_096;
/// Number of messages that others have and the outbox still holds, from which a commit is made for
/// them.
const ENOUGH_DELETED: u64 = 1_024;

/// What arrived from another shard.
#[derive(Debug)]
pub struct Arrived {
    /// Number of that shard.
    pub from: u16,
    /// Number of the first message.
    pub first: u64,
    /// Up to which number that shard keeps messages no more.
    pub gone: u64,
    /// The messages, in order.
    pub messages: Vec<Sent>,
    /// Where to reply up to which number all messages of that shard are committed.
    pub reply: Option<oneshot::Sender<u64>>,
}

/// How far the exchange with each of the other shards is, as committed.
#[derive(Debug)]
pub(crate) struct Exchange {
    pub(crate) shards: Shards,
    counts: Arc<Counts>,
    /// Numbers up to which messages left the outbox, by receiver.
    deleted: Vec<u64>,
    /// Numbers up to which the receivers have them.
    acknowledged: Vec<u64>,
    is_told: bool,
    /// What is told to all others, and heard of them.
    pub(crate) publishing: Publishing,
}

/// What a commit changes of it.
pub(crate) struct Changed {
    counts: Counts,
    deleted: Vec<u64>,
    told: Option<Moved>,
}

/// What a commit exchanges.
#[derive(Debug, Default)]
pub(crate) struct Exchanging {
    /// What is sent, with the number of the receiving shard, in order.
    pub(crate) sent: Vec<(u16, Vec<u8>)>,
    /// The shards from which it takes something in, with the number of the last message of each.
    pub(crate) received: BTreeMap<u16, u64>,
    /// What is told to all others.
    pub(crate) telling: Telling,
}

impl Exchange {
    /// Returns what listens to what all others tell.
    pub(crate) fn ear(&self) -> Ear {
        self.publishing.ear(self.shards.own())
    }

    /// Reads how far it is. `library` is where the documents of others are.
    pub(crate) fn open(store: &dyn Store, library: Option<&Arc<Library>>) -> Result<Self, Error> {
        let shards = Shards::read(store)?;
        let mut counts = Counts::default();
        let mut deleted = Vec::new();
        if !shards.is_one() {
            for shard in 0..shards.count() {
                let row = store.get(Table::Meta, &keys::sent(shard))?;
                let row = row.map(|row| decode(Table::Meta, &row)).transpose()?;
                let (sent, gone): (u64, u64) = row.unwrap_or_default();
                counts.sent.push(sent);
                deleted.push(gone);
                let row = store.get(Table::Meta, &keys::received(shard))?;
                let row = row.map(|row| decode(Table::Meta, &row)).transpose()?;
                counts.received.push(row.unwrap_or_default());
            }
        }
        let publishing = Publishing::open(store, shards, library)?;
        counts.told = publishing.counts();
        Ok(Self {
            shards,
            publishing,
            counts: Arc::new(counts),
            acknowledged: deleted.clone(),
            deleted,
            is_told: false,
        })
    }

    /// Returns what was exchanged so far.
    pub(crate) fn counts(&self) -> Arc<Counts> {
        Arc::clone(&self.counts)
    }

    /// Returns the same if it has changed since it was told.
    pub(crate) fn news(&mut self) -> Option<Arc<Counts>> {
        let is_told = std::mem::replace(&mut self.is_told, true);
        (!is_told && !self.shards.is_one()).then(|| self.counts())
    }

    /// Returns the number of the last message of another shard that is committed.
    pub(crate) fn received(&self, from: u16) -> u64 {
        let received = self.counts.received.get(usize::from(from));
        received.copied().unwrap_or_default()
    }

    /// Notes that another shard has committed what was sent to it. It leaves the outbox with the
    /// next commit. Returns `true` if a commit should be made for it.
    pub(crate) fn acknowledge(&mut self, to: u16, through: u64) -> bool {
        let at = usize::from(to);
        let sent = self.counts.sent.get(at).copied().unwrap_or_default();
        if let Some(acknowledged) = self.acknowledged.get_mut(at) {
            *acknowledged = through.min(sent).max(*acknowledged);
        }
        self.owed() >= ENOUGH_DELETED
    }

    /// Returns the number of messages that others have and the outbox still holds.
    pub(crate) fn owed(&self) -> u64 {
        let pairs = self.acknowledged.iter().zip(&self.deleted);
        pairs.map(|(through, gone)| through - gone).sum()
    }

    /// Adds to a batch what its commit sends, what it takes in, and what leaves the outbox. Returns
    /// what to apply once it is committed.
    pub(crate) fn write(&self, exchanging: Exchanging, batch: &mut Batch) -> Option<Changed> {
        let Exchanging {
            sent,
            received,
            telling,
        } = exchanging;
        let told = self.publishing.write(telling, batch);
        if sent.is_empty() && received.is_empty() && told.is_none() && self.owed() == 0 {
            return None;
        }
        let mut counts = Counts::clone(&self.counts);
        let mut deleted = self.deleted.clone();
        let mut changed = BTreeSet::new();
        for (to, row) in sent {
            let number = &mut counts.sent[usize::from(to)];
            *number += 1;
            batch.put(Table::Outbox, keys::outbox(to, *number), row);
            changed.insert(to);
        }
        for to in self.shards.others() {
            let gone = &mut deleted[usize::from(to)];
            let until = self.acknowledged[usize::from(to)].min(*gone + MAX_DELETED);
            for number in *gone + 1..=until {
                batch.delete(Table::Outbox, keys::outbox(to, number));
                changed.insert(to);
            }
            *gone = until;
        }
        for to in changed {
            let row = (counts.sent[usize::from(to)], deleted[usize::from(to)]);
            batch.put(Table::Meta, keys::sent(to), encode(&row));
        }
        for (from, through) in received {
            counts.received[usize::from(from)] = through;
            batch.put(Table::Meta, keys::received(from), encode(&through));
        }
        Some(Changed {
            counts,
            deleted,
            told,
        })
    }

    /// Takes over what was committed.
    pub(crate) fn committed(&mut self, changed: Option<Changed>) {
        if let Some(Changed {
            mut counts,
            deleted,
            told,
        }) = changed
        {
            self.publishing.committed(told);
            counts.told = self.publishing.counts();
            self.is_told &= *self.counts == counts;
            self.counts = Arc::new(counts);
            self.deleted = deleted;
        }
    }
}
