//! What is known of the list and of the files that are searched.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Instant;

use serde::{Deserialize, Serialize};

use crate::cluster::orders::takedown::TakenDown;

/// What was searched, as the worker's directory keeps it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Marks {
    /// The position up to which the list was read, and a number for what stood there.
    pub(super) read: u64,
    pub(super) stood: Option<u64>,
    /// The positions of the orders in it to forget something, and to let it come back.
    pub(super) orders: Vec<u64>,
    /// By shard, the position up to which the files of its directory were searched.
    pub(super) shards: BTreeMap<u16, u64>,
}

impl Marks {
    /// Returns the orders up to a position for which the files of a shard were not searched.
    pub(super) fn lacking(&self, shard: u16, through: u64) -> Vec<u64> {
        let mark = self.shards.get(&shard).copied().unwrap_or(0);
        let orders = self.orders.iter().copied();
        orders
            .filter(|at| (mark + 1..=through).contains(at))
            .collect()
    }

    /// Returns the position up to which these shards have nothing of what was to be forgotten, in a
    /// list that begins behind a position.
    pub(super) fn through<'a>(&self, shards: impl Iterator<Item = &'a u16>, from: u64) -> u64 {
        let first = |shard: &u16| self.lacking(*shard, u64::MAX).first().map(|at| at - 1);
        let first = shards.filter_map(first).min();
        first.unwrap_or_else(|| self.read.max(from))
    }
}

/// What is known of the list that the engine has.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum Known {
    /// Nothing: it may have less than was read of it.
    #[default]
    Nothing,
    /// It is the one of which the marks tell.
    Same,
    /// It is another one, and nothing was heard of it yet.
    Another,
}

#[derive(Default)]
pub(super) struct State {
    pub(super) marks: Marks,
    /// Shards that are crawled here: their crawls carry orders out.
    pub(super) crawled: BTreeSet<u16>,
    /// The shard whose files are searched at the moment.
    pub(super) searched: Option<u16>,
    /// The end of the list.
    pub(super) end: u64,
    /// What is known of the list.
    pub(super) list: Known,
    /// By shard, the position up to which its owner has done what the list says.
    pub(super) passed: BTreeMap<u16, u64>,
    /// The shards that are followed here; `None` until that is known.
    pub(super) followed: Option<BTreeSet<u16>>,
    /// What came of searches and is not told yet, by order.
    pub(super) done: BTreeMap<u64, TakenDown>,
    /// Whether what was searched is told.
    pub(super) has_told: bool,
    /// Why the files of shards cannot be searched, and since when that is known.
    pub(super) troubles: BTreeMap<u16, (String, Instant)>,
    pub(super) has_ended: bool,
}

impl State {
    /// The files of a shard have nothing of what was to be forgotten, up to a position.
    pub(super) fn moves(&mut self, shard: u16, through: u64) {
        self.marks.shards.insert(shard, through);
        self.troubles.remove(&shard);
        self.has_told = false;
    }
}
