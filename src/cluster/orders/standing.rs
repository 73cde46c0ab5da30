//! Who carries out what the list of the crawl says, and how far they are.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use crate::broker::{Broker, Result};
use crate::cluster::status::{Facts, ShardNow, asked, seeds_through, shard, stands};
use crate::cluster::wanted::Going;

/// How far a shard has done what the list of the crawl says.
pub(in crate::cluster) struct ListedThrough {
    pub(in crate::cluster) shard: u16,
    /// Whether it has an owner that is alive, in a crawl that was not stopped.
    pub(in crate::cluster) is_owned: bool,
    /// The position of the last entry that is done, as its owner told last.
    pub(in crate::cluster) through: u64,
}

/// The shards that do not say what came of an order.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Pending {
    /// Those that have an owner and are not done.
    pub busy: Vec<u16>,
    /// Those that have no owner, or whose crawl is stopped: they will do it when they are crawled.
    pub unowned: Vec<u16>,
    /// Those that have passed the order by: it was too long ago, or the engine has lost what they
    /// said, or their owners are of a version that knows no such orders.
    pub silent: Vec<u16>,
}

impl Pending {
    /// Adds a shard that does not say what came of an order.
    pub(super) fn add(&mut self, shard: &ListedThrough, order: u64) {
        let which = match () {
            () if shard.through >= order => &mut self.silent,
            () if shard.is_owned => &mut self.busy,
            () => &mut self.unowned,
        };
        which.push(shard.shard);
    }

    /// Whether all say what came of it.
    pub fn is_empty(&self) -> bool {
        [&self.busy, &self.unowned, &self.silent]
            .iter()
            .all(|it| it.is_empty())
    }
}

/// Who carries out what the list of the crawl says.
pub(in crate::cluster) struct Standing {
    /// How far each shard is, by number.
    pub(in crate::cluster) shards: Vec<ListedThrough>,
    /// Whether each worker is alive, by name.
    pub(in crate::cluster) workers: BTreeMap<String, bool>,
}

/// Returns who carries out what the list of the crawl says, and how far they are.
pub(in crate::cluster) fn standing(
    broker: &Arc<dyn Broker>,
    name: &str,
    patience: Duration,
) -> Result<Standing> {
    asked(broker, name, patience, |facts| {
        let of = |shard: &ShardNow| ListedThrough {
            shard: shard.shard,
            is_owned: shard.is_owned && facts.wanted.wishes.going != Going::Stopped,
            through: seeds_through(facts, shard),
        };
        let workers = facts.workers.iter();
        Standing {
            shards: stands(facts).shards.iter().map(of).collect(),
            workers: workers
                .map(|(name, it)| (name.clone(), it.is_alive))
                .collect(),
        }
    })
}

/// Returns how far each shard has done what the list of the crawl says, as its owner told last.
pub(in crate::cluster) fn passed(facts: &Facts<'_>) -> BTreeMap<u16, u64> {
    let shards = (0..facts.terms.shards).map(|it| shard(facts, it));
    shards
        .map(|it| (it.shard, seeds_through(facts, &it)))
        .collect()
}
