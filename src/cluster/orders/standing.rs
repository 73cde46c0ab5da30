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
