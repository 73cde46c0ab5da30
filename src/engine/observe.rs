//! What an operator can see: counters of what was committed, gauges of what goes on, and
//! `status.json`, renamed into place at most once a second.

use std::fs;
use std::io;
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::rows::Counters;

/// What goes on at this moment.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Gauges {
    /// Hosts in the working window.
    pub hosts_in_window: usize,
    /// Visits between hand-out and analysis.
    pub fetching: usize,
}

/// The state of a crawl, as `gleaner status` shows it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Status {
    /// Whether a process is crawling.
    pub running: bool,
    /// When this was written (RFC 3339).
    pub time: String,
    /// Seconds since this run began; 0 when none is.
    pub seconds: u64,
    /// What was done since the crawl began.
    pub counters: Counters,
    /// What goes on.
    pub gauges: Gauges,
}

/// The name of the file in the data directory.
const STATUS_FILE: &str = "status.json";

impl Status {
    /// Puts the status where other processes read it; a reader sees the old or the new one whole.
    pub fn write(&self, data_directory: &Path) -> io::Result<()> {
        let temporary = data_directory.join("status.json.new");
        fs::write(&temporary, serde_json::to_vec_pretty(self)?)?;
        fs::rename(&temporary, data_directory.join(STATUS_FILE))
    }

    /// Reads the status that another process wrote; `None` if there is none.
    pub fn read(data_directory: &Path) -> io::Result<Option<Self>> {
        match fs::read(data_directory.join(STATUS_FILE)) {
            Ok(text) => Ok(serde_json::from_slice(&text).ok()),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }
}
