//! A crawl whose commits are kept by an engine on other machines before they are made here.
//!
//! A crawl is one shard so far: its log is the log `00`, and the row `shard.00` says who owns it.
//! `log` is that log as the store sees it.

mod log;

use std::sync::Arc;

use crate::broker::{Address, Nats};
use crate::engine::Failpoint;
use crate::store::CommitLog;

pub use log::ShardLog;

/// Connects to the log of a crawl.
///
/// # Errors
///
/// Says what is wrong with the engine, or how to reach it.
pub fn connect(
    address: &Address,
    failpoint: Option<Failpoint>,
) -> Result<Arc<dyn CommitLog>, crate::broker::Error> {
    let broker = Nats::connect(address)?;
    Ok(Arc::new(ShardLog::new(Arc::new(broker), failpoint)))
}
