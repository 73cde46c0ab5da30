//! What failed in any shard is put back into its queue: an order in the list of the crawl, which
//! each shard carries out when it comes to it, and a row of the engine for each shard that says
//! what came of that.

use std::sync::Arc;
use std::time::Duration;

use super::answers::{self, answer};
use super::standing::{Pending, standing};
use crate::broker::{Broker, Result};
use crate::cluster::list::{self, Entry};
use crate::engine::{Retried, RetryFilter};

/// What has come of an order so far.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RetriedSoFar {
    /// What was put back, in all shards that are done.
    pub sum: Retried,
    /// The shards that do not say so.
    pub pending: Pending,
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
    list::order(broker, &Entry::Retry(filter.clone()))
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
    for shard in standing(broker, name, patience)?.shards {
        match answer(&**broker, &row_of(shard.shard), order)? {
            Some(done) => found.sum.add(done),
            None => found.pending.add(&shard, order),
        }
    }
    Ok(found)
}

/// Says what came of an order in a shard, if the engine takes it. Of one that is carried out once
/// more because the shard was interrupted between the deed and the word, it is what came of both.
///
/// # Errors
///
/// [`Error::Away`](crate::broker::Error::Away) if it does not answer.
pub(in crate::cluster) fn tell(
    broker: &dyn Broker,
    shard: u16,
    order: u64,
    done: &Retried,
) -> Result<()> {
    answers::tell(broker, &row_of(shard), order, |known: Option<Retried>| {
        let mut all = done.clone();
        if let Some(known) = known {
            all.add(known);
        }
        all
    })
}
