//! What a run did, for those who started it.

use std::cmp::Reverse;
use std::time::Duration;

use serde::Serialize;

use super::error::Error;
use super::left_out::Omissions;
use super::ring::scheduler::Ending;
use crate::frontier::HostState;
use crate::rows::Counters;
use crate::store::{Store, Table, decode, for_each};

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
    /// The hosts with the longest mean response time since the crawl began, slowest first.
    pub slowest: Vec<HostFigures>,
    /// The hosts that sent most bytes since the crawl began, largest first.
    pub largest: Vec<HostFigures>,
    /// What was left out since the crawl began, and why.
    pub omissions: Omissions,
}

impl Summary {
    /// Returns the pages per second of this run.
    pub fn pages_per_second(&self) -> f64 {
        // A run that fetched nothing may have taken no time.
        self.pages as f64 / self.took.as_secs_f64().max(0.001)
    }
}

/// Number of hosts in a list of the summary.
const SHOWN: usize = 5;

/// What one host sent since the crawl began.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct HostFigures {
    /// Scheme, name and port, if it is not the default port.
    pub host: String,
    /// Number of responses, including robots.txt.
    pub answers: u64,
    /// Bytes of the bodies received.
    pub bytes: u64,
    /// Mean time from the request to the last byte, in milliseconds.
    pub mean_ms: u64,
}

/// Reads all hosts and returns the slowest and the largest.
pub(crate) fn slowest_and_largest(store: &dyn Store) -> Result<[Vec<HostFigures>; 2], Error> {
    let mut lists = [Vec::new(), Vec::new()];
    for_each(store, Table::Hosts, &[], &mut |key, row| {
        let state: HostState = decode(Table::Hosts, row)?;
        let figures = HostFigures {
            host: String::from_utf8_lossy(key).into_owned(),
            answers: state.visits,
            bytes: state.bytes,
            mean_ms: state.millis.checked_div(state.visits).unwrap_or_default(),
        };
        if figures.answers > 0 {
            let [slowest, largest] = &mut lists;
            offer(slowest, figures.clone(), |it| it.mean_ms);
            offer(largest, figures, |it| it.bytes);
        }
        Ok(())
    })?;
    Ok(lists)
}

/// Adds a host to a short list in falling order, whose last one leaves.
fn offer(list: &mut Vec<HostFigures>, host: HostFigures, weight: fn(&HostFigures) -> u64) {
    let at = list.partition_point(|it| Reverse(weight(it)) <= Reverse(weight(&host)));
    list.insert(at, host);
    list.truncate(SHOWN);
}
