//! Holds hosts, or lets them go on, where no process crawls.

use std::path::Path;
use std::sync::Arc;

use crate::engine::clock::Clock;
use crate::engine::commit::WriteSet;
use crate::engine::error::Error;
use crate::engine::hold::TooManyHeld;
use crate::engine::open::{DataDirectory, open_store};
use crate::frontier::{HeldHosts, MAX_HELD_HOSTS};
use crate::rows::{CrawlState, DiskState};
use crate::store::Durability;
use crate::url::HostKey;

/// Holds hosts, or lets them go on, and returns those for which that is new. No crawl may be
/// running.
pub fn hold(path: &Path, hosts: &[HostKey], is_held: bool) -> Result<Vec<HostKey>, Error> {
    let directory = DataDirectory::take_existing(path)?;
    let store = open_store(&directory)?;
    let state = CrawlState::read(&*store)?.unwrap_or_default();
    let disk = DiskState::read(&*store)?.unwrap_or_default();
    let now = Clock::start().now();
    let held = Arc::new(HeldHosts::read(&*store)?);
    let mut set = WriteSet::new(Arc::clone(&store), (state, disk), held, now);
    let mut changed = Vec::new();
    for host in hosts {
        if set.hold(host, is_held)? {
            changed.push(host.clone());
        }
    }
    if set.held.len() > MAX_HELD_HOSTS {
        return Err(TooManyHeld.into());
    }
    if !changed.is_empty() {
        set.state.sequence += 1;
        let prepared = set.prepare()?;
        store.commit(prepared.batch, Durability::Disk)?;
    }
    Ok(changed)
}
