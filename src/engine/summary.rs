//! What a run did, for those who started it.

use std::time::Duration;

use super::ring::scheduler::Ending;
use super::run_hosts::HostFigures;
use crate::rows::Counters;

/// What a run did.
#[derive(Debug, Clone)]
pub struct Summary {
    /// Why the run ended.
    pub ending: Ending,
    /// Counters since the crawl began.
    pub counters: Counters,
    /// Duration of the run.
    pub took: Duration,
    /// URLs whose server responded in this run.
    pub pages: u64,
    /// The hosts of this run with the longest mean response time, slowest first.
    pub slowest: Vec<HostFigures>,
    /// The hosts of this run that sent most bytes, largest first.
    pub largest: Vec<HostFigures>,
}

impl Summary {
    /// Returns the pages per second of this run.
    pub fn pages_per_second(&self) -> f64 {
        // A run that fetched nothing may have taken no time.
        self.pages as f64 / self.took.as_secs_f64().max(0.001)
    }
}
