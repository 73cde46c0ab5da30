//! What failed in any shard is put back into its queue: an order in the list of the crawl, which
//! each shard carries out when it comes to it, and a row of the engine for each shard that says
//! what came of that.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::list;
use super::rows::{change, read};
use super::status::listed_through;
use crate::broker::{Broker, Error, Result};
use crate::engine::{Retried, RetryFilter};

/// Number of orders of which a row says what came of them.
const KEPT: usize = 16;

/// What came of orders in a shard, by their positions in the list.
#[derive(Debug, Default, Serialize, Deserialize)]
struct Results(BTreeMap<u64, Retried>);

/// What has come of an order so far.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RetriedSoFar {
    /// What was put back, in all shards that are done.
    pub sum: Retried,
    /// The shards that have an owner and are not done.
    pub busy: Vec<u16>,
    /// Those that have no owner, or whose crawl is stopped: they will do it when they are crawled.
    pub unowned: Vec<u16>,
    /// Those that have passed the order by, and do not say what came of it: it was too long ago, or
    /// the engine has lost it, or their owners are of a version that knows no such orders.
    pub silent: Vec<u16>,
}

fn row_of(shard: u16) -> String {
    format!("retried.{shard:02}")
}

/// Orders all shards to put back what failed like this. Returns the position of the order, by which
/// [`retried`] knows it.
///
/// # Errors
///
/// What the engine says. Then it may have been ordered; to order it again does no harm.
pub fn retry(broker: &dyn Broker, filter: &RetryFilter) -> Result<u64> {
    list::order(broker, filter)
}

/// Returns what has come of an order. A worker that says nothing new for as long as `patience` is
/// taken for gone.
///
/// # Errors
///
/// What the engine says.
pub fn retried(
    broker: &Arc<dyn Broker>,
    name: &str,
    order: u64,
    patience: Duration,
) -> Result<RetriedSoFar> {
    let mut found = RetriedSoFar::default();
    for shard in listed_through(broker, name, patience)? {
        let (_, results) = read::<Results>(&**broker, &row_of(shard.shard))?;
        match results.0.get(&order) {
            Some(done) => found.sum.add(done.clone()),
            None if shard.through >= order => found.silent.push(shard.shard),
            None if shard.is_owned => found.busy.push(shard.shard),
            None => found.unowned.push(shard.shard),
        }
    }
    Ok(found)
}

/// Says what came of an order in a shard, if the engine takes it.
///
/// # Errors
///
/// [`Error::Away`] if it does not answer. A row that it refuses or that cannot be read keeps nobody
/// from anything else.
pub(super) fn tell(broker: &dyn Broker, shard: u16, order: u64, done: &Retried) -> Result<()> {
    let told = change(broker, &row_of(shard), |results: &mut Results| {
        results.0.insert(order, done.clone());
        while results.0.len() > KEPT {
            results.0.pop_first();
        }
        true
    });
    match told {
        Err(error @ Error::Away(_)) => Err(error),
        Err(error) => {
            tracing::warn!(shard, %error, "nobody is told what was put back");
            Ok(())
        }
        Ok(_) => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::broker::Memory;

    #[test]
    fn a_row_says_what_came_of_the_last_orders() {
        let engine = Memory::start(1_000);
        let done = |count| Retried {
            urls: BTreeMap::from([("dns".to_owned(), count)]),
            hosts: 1,
            next: None,
        };
        for order in 1..=20 {
            tell(&engine, 3, order, &done(order)).unwrap();
        }
        // Who was interrupted says it once more.
        tell(&engine, 3, 20, &done(7)).unwrap();
        let (_, results) = read::<Results>(&engine, &row_of(3)).unwrap();
        assert!(results.0.keys().copied().eq(5..=20));
        assert_eq!(results.0[&20].urls["dns"], 7);
        let (_, none) = read::<Results>(&engine, &row_of(4)).unwrap();
        assert!(none.0.is_empty());
    }
}
