//! The status file, for processes other than the one that crawls.

use std::path::{Path, PathBuf};
use std::time::Duration;

use super::clock::Clock;
use super::{Error, Status, Watch};

impl Status {
    /// Reads the state of a crawl that another process runs, as that process last wrote it.
    pub fn of_running(path: &Path) -> Result<Self, Error> {
        let status = Self::read(path).map_err(|source| Error::Status {
            path: path.to_owned(),
            source,
        })?;
        // The file of an earlier run does not describe this one.
        Ok(status.filter(|status| status.running).unwrap_or(Self {
            running: true,
            ..Self::default()
        }))
    }
}

/// Writes `status.json`.
#[derive(Clone)]
pub(crate) struct Observer {
    directory: PathBuf,
    watch: Watch,
    clock: Clock,
}

impl Observer {
    /// Creates the observer of the crawl in `directory`.
    pub(crate) fn new(directory: &Path, watch: Watch, clock: Clock) -> Self {
        Self {
            directory: directory.to_owned(),
            watch,
            clock,
        }
    }

    /// Writes the file once a second, until dropped.
    pub(crate) async fn run(self) {
        let mut ticks = tokio::time::interval(Duration::from_secs(1));
        loop {
            ticks.tick().await;
            if let Err(error) = self.write(true) {
                tracing::warn!(%error, "cannot write the status");
            }
        }
    }

    /// Writes the file now.
    pub(crate) fn write(&self, running: bool) -> Result<(), Error> {
        let status = Status {
            running,
            time: format!("{:.0}", jiff::Timestamp::now()),
            seconds: self.clock.elapsed().as_secs(),
            counters: self.watch.counters(),
            deferred: self.watch.deferred(),
            gauges: self.watch.gauges(),
            memory: self.watch.memory(),
            shares: match running {
                true => self.watch.shares.to_vec(),
                false => Vec::new(),
            },
        };
        status
            .write(&self.directory)
            .map_err(|source| Error::Status {
                path: self.directory.clone(),
                source,
            })
    }
}
