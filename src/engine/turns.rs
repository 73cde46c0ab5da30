//! Whose turn it is at a host.
//!
//! The schedule hands out one visit of a host at a time, and none before it is due. A robots.txt
//! that redirects to another host is the one request that the schedule does not know of: it takes
//! its turn here, and so does every visit, so that the two never meet at a host. For a visit that
//! the schedule hands out the turn is free, unless such a request came between.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

use super::clock::Clock;
use crate::frontier::Moment;
use crate::url::HostKey;

/// Hosts remembered before those whose delay is over are forgotten.
const MAX_IDLE: usize = 4_096;

/// The turns of all hosts that are being visited or whose delay is not over. Cheap to clone.
#[derive(Debug, Clone)]
pub(super) struct Turns {
    clock: Clock,
    /// Held for a look or a change, never across an await.
    hosts: Arc<Mutex<HashMap<HostKey, Turn>>>,
    /// Told whenever a turn is given back.
    given_back: Arc<Notify>,
}

#[derive(Debug, Clone, Copy)]
enum Turn {
    /// Somebody has it.
    Taken,
    /// Nobody has it, and nobody may before.
    FreeFrom(Moment),
}

impl Turns {
    pub(super) fn new(clock: Clock) -> Self {
        Self {
            clock,
            hosts: Arc::default(),
            given_back: Arc::default(),
        }
    }

    /// Waits for the turn at a host. Whoever has one turn must not wait for another.
    pub(super) async fn take(&self, host: &HostKey) {
        loop {
            // Listens before it looks: a turn that is given back in between is not missed.
            let given_back = self.given_back.notified();
            tokio::pin!(given_back);
            given_back.as_mut().enable();
            let due = {
                let mut hosts = self.hosts();
                match hosts.get(host) {
                    Some(Turn::Taken) => None,
                    Some(Turn::FreeFrom(due)) if *due > self.clock.now() => Some(*due),
                    _ => {
                        hosts.insert(host.clone(), Turn::Taken);
                        return;
                    }
                }
            };
            match due {
                Some(due) => tokio::time::sleep_until(self.clock.instant(due).into()).await,
                None => given_back.await,
            }
        }
    }

    /// Gives the turn at a host back, which nobody may take before `due`.
    pub(super) fn give_back(&self, host: &HostKey, due: Moment) {
        let now = self.clock.now();
        let mut hosts = self.hosts();
        hosts.insert(host.clone(), Turn::FreeFrom(due));
        if hosts.len() > MAX_IDLE {
            hosts.retain(|_, turn| match turn {
                Turn::Taken => true,
                Turn::FreeFrom(due) => *due > now,
            });
        }
        drop(hosts);
        self.given_back.notify_waiters();
    }

    fn hosts(&self) -> MutexGuard<'_, HashMap<HostKey, Turn>> {
        self.hosts.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[tokio::test]
    async fn a_turn_is_had_by_one_at_a_time_and_not_before_it_is_due() {
        let clock = Clock::start();
        let turns = Turns::new(clock);
        let host = HostKey::parse("http://a.example").expect("a host");
        turns.take(&host).await;
        let other = tokio::spawn({
            let (turns, host) = (turns.clone(), host.clone());
            async move {
                turns.take(&host).await;
                clock.now()
            }
        });
        tokio::task::yield_now().await;
        assert!(!other.is_finished());
        let due = clock.now().plus(Duration::from_millis(30));
        turns.give_back(&host, due);
        assert!(other.await.expect("the turn comes") >= due);
    }

    #[tokio::test]
    async fn hosts_whose_delay_is_over_are_forgotten() {
        let turns = Turns::new(Clock::start());
        for number in 0..3 * MAX_IDLE {
            let host = HostKey::parse(&format!("http://h{number}.example")).expect("a host");
            turns.take(&host).await;
            turns.give_back(&host, Moment(0));
        }
        assert!(turns.hosts().len() <= MAX_IDLE + 1);
    }
}
