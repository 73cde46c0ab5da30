//! `status`: the state of a crawl, as seen by other processes than the one that runs it.

use std::io::ErrorKind;
use std::path::Path;

use serde::Serialize;

use super::Error;
use super::glance::{DiskUse, LastError, last_error};
use super::hosts::{HostsNow, hosts};
use crate::engine::{self, DirectoryError, Omissions, Status, StoppedCrawl};
use crate::frontier::HeldHosts;
use crate::rows::deferred_urls;

/// The state of a crawl, as `gleaner status` shows it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, schemars::JsonSchema)]
pub struct StatusNow {
    /// Counters, and for a running crawl what is going on, as that process last wrote it.
    #[serde(flatten)]
    pub status: Status,
    /// The hosts with the most queued URLs and failures; `None` while a process runs the crawl,
    /// which is asked for them.
    pub hosts: Option<HostsNow>,
    /// What was left out and why, and the seeds that gave nothing; `None` while a process runs the
    /// crawl, which is asked for them.
    #[serde(flatten)]
    pub omissions: Option<Omissions>,
    /// The room that the crawl takes and has; `None` if the disk does not tell.
    pub disk: Option<DiskUse>,
    /// The last visit that failed, if one did lately.
    pub last_error: Option<LastError>,
}

/// The status that the last run wrote at its end; `None` if there is none, or it was killed.
fn last_written(path: &Path) -> Option<Status> {
    let status = Status::read(path).ok().flatten();
    status.filter(|status| !status.running)
}

/// Whether a crawl that does not run cannot be opened by this user, or at this moment.
fn cannot_open_now(error: &engine::Error) -> bool {
    match error {
        engine::Error::Directory(DirectoryError::InUse { for_a_while, .. }) => *for_a_while,
        engine::Error::Directory(DirectoryError::Io { source, .. }) => {
            source.kind() == ErrorKind::PermissionDenied
        }
        _ => false,
    }
}

/// Reads the state of the crawl in a data directory: from the store, or from `status.json` while
/// another process runs the crawl.
pub fn status(path: &Path) -> Result<StatusNow, Error> {
    let mut now = state(path)?;
    now.disk = DiskUse::of(path);
    now.last_error = last_error(path);
    Ok(now)
}

impl StatusNow {
    /// Adds to what a running crawl knows of itself what its data directory tells.
    pub fn beside(path: &Path, status: Status) -> Self {
        Self {
            status,
            disk: DiskUse::of(path),
            last_error: last_error(path),
            ..Self::default()
        }
    }
}

fn state(path: &Path) -> Result<StatusNow, Error> {
    let crawl = match StoppedCrawl::open(path) {
        Ok(crawl) => crawl,
        Err(engine::Error::Directory(DirectoryError::InUse {
            for_a_while: false, ..
        })) => {
            return Ok(StatusNow {
                status: Status::of_running(path)?,
                ..StatusNow::default()
            });
        }
        // A user who may only read, and one who asks while another command reads, see what the last
        // run wrote at its end.
        Err(error) => match last_written(path).filter(|_| cannot_open_now(&error)) {
            Some(status) => {
                return Ok(StatusNow {
                    status,
                    ..StatusNow::default()
                });
            }
            None => return Err(error.into()),
        },
    };
    let mut status = Status {
        counters: crawl.counters()?,
        deferred: deferred_urls(crawl.store())?,
        // Only who ran the crawl knows how they left.
        handover: Status::read(path)
            .ok()
            .flatten()
            .unwrap_or_default()
            .handover,
        time: format!("{:.0}", jiff::Timestamp::now()),
        ..Status::default()
    };
    status.note_held(&HeldHosts::read(crawl.store())?);
    Ok(StatusNow {
        status,
        hosts: Some(hosts(crawl.store())?),
        omissions: Some(Omissions::read(crawl.store(), true)?),
        ..StatusNow::default()
    })
}
