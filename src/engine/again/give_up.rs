//! Gives up what waits in queues, as a person asks: the URLs of some hosts leave their queues as
//! visits that were not made, so that they are recorded, counted and explained as all others, and
//! `retry` can put them back.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::dedup::Ineligible;
use crate::engine::clock::Clock;
use crate::engine::messages::StopHandle;
use crate::engine::ring::convert::Conversion;
use crate::engine::ring::room::Share;
use crate::engine::ring::turns::Turn;
use crate::engine::visit::{Analysed, Entry, Fetched, Findings};
use crate::engine::{Crawl, Error};
use crate::fetch::{Failure, FailureClass, Outcome, Reservation};
use crate::frontier::{
    CLASSES, FetchTask, HeldAddress, HostState, Pace, Place, RefillRequest, RobotsPolicy, Waiting,
    refill,
};
use crate::learn::TrapPolicy;
use crate::page::{Requisites, Wishes};
use crate::store::{Table, decode, for_each};
use crate::url::{BlockList, HostKey, HostPattern};

/// Number of URLs per commit.
const PART: usize = 64;

/// Number of hosts that are named, those with the most URLs.
const NAMED: usize = 10;

/// What was dropped, or would be.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Dropped {
    /// Number of URLs.
    pub urls: u64,
    /// Number of hosts that had any.
    pub hosts: u64,
    /// The hosts with the most of them, and how many.
    pub named: Vec<(String, u64)>,
    /// URLs that wait at other hosts.
    pub left: u64,
}

impl Crawl {
    /// Gives up the URLs that wait at these hosts, until asked to stop. Writes to the store, so it
    /// blocks.
    pub fn drop_queued(
        &mut self,
        hosts: &HostPattern,
        stop: &StopHandle,
    ) -> Result<Dropped, Error> {
        let found = self.queued_at(hosts)?;
        let mut dropped = Dropped::default();
        for (host, _) in found {
            let mut count = 0;
            while !stop.is_stopped() {
                let part = self.take(&host)?;
                if part.is_empty() {
                    break;
                }
                count += part.len() as u64;
                self.committer.commit(part, Clock::start().now())?;
                self.committer.checkpoint_if_due()?;
            }
            dropped.add(&host, count);
        }
        // It is a run of its own, which leaves no file open.
        self.committer.close_files()?;
        dropped.left = self.counters().queued;
        Ok(dropped)
    }

    /// Returns what [`drop_queued`](Self::drop_queued) would give up.
    pub fn would_drop(&self, hosts: &HostPattern) -> Result<Dropped, Error> {
        let mut dropped = Dropped::default();
        for (host, count) in self.queued_at(hosts)? {
            dropped.add(&host, count);
        }
        dropped.left = self.counters().queued.saturating_sub(dropped.urls);
        Ok(dropped)
    }

    /// The hosts that match and have URLs waiting, and how many.
    fn queued_at(&self, hosts: &HostPattern) -> Result<Vec<(HostKey, u64)>, Error> {
        let mut found = Vec::new();
        for_each(
            &*self.committer.store,
            Table::Hosts,
            &[],
            &mut |key, row| {
                let host = std::str::from_utf8(key).ok().and_then(HostKey::parse);
                if let Some(host) = host.filter(|host| hosts.matches(host)) {
                    let state: HostState = decode(Table::Hosts, row)?;
                    if state.queued > 0 {
                        found.push((host, state.queued));
                    }
                }
                Ok(())
            },
        )?;
        Ok(found)
    }

    /// The next URLs of a host, as visits that were not made.
    fn take(&self, host: &HostKey) -> Result<Vec<Entry>, Error> {
        let request = RefillRequest {
            host: host.clone(),
            cursors: [0; CLASSES as usize],
            limit: PART,
            again: PART / 2,
            requisites: PART / 3,
        };
        let now = Clock::start().now();
        let (budget, blocked) = (TrapPolicy::default(), BlockList::default());
        let store = &*self.committer.store;
        let robots = RobotsPolicy::Ignore;
        let refilled = refill(store, &request, &robots, (&budget, &blocked), now)?;
        let pace = refilled.pace;
        // What a budget would give up is given up here.
        let over_budget = refilled.forbidden.into_iter().map(|(waiting, _)| waiting);
        let waiting = refilled.allowed.into_iter().chain(over_budget);
        let visits = waiting.map(|waiting| Entry::Visit(Box::new(not_made(host, waiting, pace))));
        Ok(visits.collect())
    }
}

/// A visit that a person does not want.
fn not_made(host: &HostKey, waiting: Waiting, pace: Pace) -> Analysed {
    let failure = Failure::new(FailureClass::Dropped, "gleaner queue drop");
    let fetched = Fetched {
        task: FetchTask {
            host: host.clone(),
            pace,
            robots_redirect: None,
            held: HeldAddress::default(),
            place: Some(Place {
                class: waiting.class,
                sequence: waiting.sequence,
                block: waiting.block,
                // They leave in their order, so nothing is below.
                floor: waiting.sequence + 1,
            }),
            queued: waiting.queued,
            url: waiting.url,
        },
        outcome: Outcome::Failed(failure),
        earlier: None,
        pace,
        finished: Clock::start().now(),
        was_handed_out: false,
        reservation: Reservation::default(),
        turn: Turn::default(),
    };
    Analysed {
        fetched,
        findings: Findings::Nothing,
        requisites: Requisites::default(),
        fingerprints: Err(Ineligible::Status),
        simhash: None,
        wishes: Wishes::default(),
        payload: [0; 32],
        is_rehomed: false,
        conversion: Conversion::None,
        since: None,
        notes: Vec::new(),
        share: Share::default(),
        took: Duration::ZERO,
    }
}

impl Dropped {
    fn add(&mut self, host: &HostKey, count: u64) {
        if count == 0 {
            return;
        }
        self.urls += count;
        self.hosts += 1;
        self.named.push((host.to_string(), count));
        self.named
            .sort_by(|(a, m), (b, n)| n.cmp(m).then_with(|| a.cmp(b)));
        self.named.truncate(NAMED);
    }
}
