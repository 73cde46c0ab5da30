//! The state of a crawl as a file, for who is not the process that crawls.

use std::path::{Path, PathBuf};
use std::time::Duration;

use super::clock::Clock;
use super::{DataDirectory, DirectoryError, Error, Status, Watch, hosts_now, open};
use crate::rows::CrawlState;

/// The state of the crawl in a data directory: from the store, or, while another process crawls
/// there, as that process last wrote it.
pub fn status(path: &Path) -> Result<Status, Error> {
    let directory = match DataDirectory::take_existing(path) {
        Ok(directory) => directory,
        Err(DirectoryError::InUse { .. }) => {
            let status = Status::read(path).map_err(|source| Error::Status {
                path: path.to_owned(),
                source,
            })?;
            // The file of a run before this one does not speak for it.
            return Ok(status.filter(|status| status.running).unwrap_or(Status {
                running: true,
                ..Status::default()
            }));
        }
        Err(error) => return Err(error.into()),
    };
    let store = open::open_store(&directory)?;
    let state = CrawlState::read(&*store)?.unwrap_or_default();
    Ok(Status {
        counters: state.counters,
        time: format!("{:.0}", jiff::Timestamp::now()),
        hosts: Some(hosts_now::hosts_in(&*store)?),
        ..Status::default()
    })
}

/// Writes `status.json`.
#[derive(Clone)]
pub(super) struct Observer {
    directory: PathBuf,
    watch: Watch,
    clock: Clock,
}

impl Observer {
    /// For the crawl in `directory`.
    pub(super) fn new(directory: &Path, watch: Watch, clock: Clock) -> Self {
        Self {
            directory: directory.to_owned(),
            watch,
            clock,
        }
    }

    /// Writes it once a second, until dropped.
    pub(super) async fn run(self) {
        let mut ticks = tokio::time::interval(Duration::from_secs(1));
        loop {
            ticks.tick().await;
            if let Err(error) = self.write(true) {
                tracing::warn!(%error, "cannot write the status");
            }
        }
    }

    /// Writes it now.
    pub(super) fn write(&self, running: bool) -> Result<(), Error> {
        let status = Status {
            running,
            time: format!("{:.0}", jiff::Timestamp::now()),
            seconds: self.clock.elapsed().as_secs(),
            counters: self.watch.counters(),
            gauges: self.watch.gauges(),
            memory: self.watch.memory(),
            hosts: None,
        };
        status
            .write(&self.directory)
            .map_err(|source| Error::Status {
                path: self.directory.clone(),
                source,
            })
    }
}
