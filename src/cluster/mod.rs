//! A crawl whose commits are kept by an engine on other machines before they are made here.
//!
//! The crawl is cut into shards. A shard is a data directory whose commits go into a log of the
//! engine first (`log`), and other workers follow that log into directories of their own. Who owns
//! which shard is said by rows of the engine (`rows`); each worker says once a second that it is
//! there, and takes over what has no owner any more (`membership`), so that each owns as many as
//! any other (`assignment`). A `worker` is a process that does so.
//! Links from one shard to another go through logs of the engine too (`exchange`), and so does what
//! all tell of what they have stored (`bulletins`).

mod assignment;
mod bulletins;
mod exchange;
mod log;
mod membership;
mod rows;
mod worker;

use std::sync::Arc;

use crate::broker::{Address, Nats};
use crate::engine::Failpoint;
use crate::store::CommitLog;

pub use log::ShardLog;
pub use membership::Times;
pub use rows::create;
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
