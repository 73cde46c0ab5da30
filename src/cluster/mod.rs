//! A crawl whose commits are kept by an engine on other machines before they are made here.
//!
//! The crawl is cut into shards. A shard is a data directory whose commits go into a log of the
//! engine first (`log`), and other workers follow that log into directories of their own. Who owns
//! which shard is said by rows of the engine (`rows`); each worker says once a second that it is
//! there, and takes over what has no owner any more (`membership`), so that each owns as many as
//! any other (`assignment`). A `worker` is a process that does so. The log of a shard is kept as
//! far as a copy lacks it (`copies`); one that lacks more is made out of the owner's.
//! What is done about a worker that does not come back is in `forget`, and about an engine without
//! its data in `restore`.
//! Links from one shard to another go through logs of the engine too (`exchange`), and so does what
//! all tell of what they have stored (`bulletins`).
//!
//! What holds for all workers is fixed when a crawl is created (`terms`), and each keeps that and
//! what it is called in its directory (`kept`); seeds are added to a list that all shards read
//! (`list`), and so are `orders` to put back what failed, and to forget something. People say what
//! they want of the crawl (`wanted`), and see what workers tell (`tells`) as the `status` of all.
//! Whether an engine can be relied on is found out by a `check`.

mod assignment;
mod bulletins;
mod check;
mod copies;
mod exchange;
mod forget;
mod kept;
mod list;
mod log;
mod membership;
mod orders;
mod portion;
mod restore;
mod rows;
mod status;
mod tells;
mod terms;
mod view;
mod wanted;
mod worker;

use std::sync::Arc;

use crate::broker::{Address, Nats};
use crate::engine::Failpoint;
use crate::store::CommitLog;

pub use check::{EngineCheck, Finding, Race, check};
pub use copies::LOG_MAX;
pub use forget::forget_worker;
pub use kept::{Called, NotTaken, worker_of};
pub use list::add as add_seeds;
pub use log::ShardLog;
pub use membership::Times;
pub use orders::Pending;
pub use orders::retries::{RetriedSoFar, retried, retry};
pub use orders::takedown::{TakenDown, TakenDownSoFar, take_down, taken_down};
pub use restore::{Error as RestoreError, Restored, RestoredShard, enter, offer, restore};
pub use status::{ClusterStatus, CopyNow, FiguresNow, LinksNow, ShardNow, WorkerNow, status};
pub use terms::{MAX_SHARDS, NewCrawl, Terms, create, terms};
pub use view::WorkerView;
pub use wanted::{Going, Limits, drain, set_going, set_staying};
pub use worker::{Error as WorkerError, Worker, WorkerOptions};

/// Connects to the log of a crawl that is one shard, as its only worker.
///
/// # Errors
///
/// Says what is wrong with the engine, or how to reach it.
pub fn connect(
    address: &Address,
    failpoint: Option<Failpoint>,
) -> Result<Arc<dyn CommitLog>, crate::broker::Error> {
    let broker = Nats::connect(address)?;
    let log = ShardLog::new(Arc::new(broker), 0, "alone").failing(failpoint);
    Ok(Arc::new(log))
}
