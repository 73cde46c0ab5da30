//! Whose pages are read and committed. Both are done for all domains in one queue, by a few threads
//! and by one, so pages that take long would keep all others waiting. While there are others, a
//! domain has as many visits there as are expected to take [`PART`] to commit, and half of the
//! analysts if its pages take long to read; one at least.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;

use crate::url::Site;

/// How long the visits of one domain may take to commit that are on their way to it.
const PART: Duration = Duration::from_millis(250);
/// What a visit of a domain of which nothing is known is expected to take to commit.
const EXPECTED: Duration = Duration::from_millis(50);
/// Pages that take longer to read are read by half of the analysts at most.
const LONG: Duration = Duration::from_millis(50);
/// Number of domains at which those are forgotten that have no visits here.
const KEPT: usize = 4_096;

/// The visits between fetch and commit, by domain. Cheap to clone.
#[derive(Debug, Clone)]
pub(crate) struct Turns {
    analysts: usize,
    state: Arc<Mutex<State>>,
}

#[derive(Debug, Default)]
struct State {
    domains: HashMap<Site, Domain>,
    /// Number of visits of all domains.
    inside: usize,
    /// Number of visits of all domains that wait.
    waiting: usize,
}

#[derive(Debug)]
struct Domain {
    inside: usize,
    waiting: usize,
    /// What its visits take to read and to commit: the most of the last ones.
    reading: Duration,
    committing: Duration,
    changed: Arc<Notify>,
}

/// A visit that may be read and committed; it is over when dropped.
#[derive(Debug, Default)]
pub struct Turn(Option<(Turns, Site)>);

impl Default for Domain {
    fn default() -> Self {
        Self {
            inside: 0,
            waiting: 0,
            reading: Duration::ZERO,
            committing: EXPECTED,
            changed: Arc::default(),
        }
    }
}

impl Domain {
    /// Number of visits that it may have inside while there are others.
    fn most(&self, analysts: usize) -> usize {
        let by_commit = PART.as_micros() / self.committing.as_micros().max(1);
        let most = usize::try_from(by_commit).unwrap_or(usize::MAX);
        match self.reading > LONG {
            true => most.min(analysts / 2).max(1),
            false => most.max(1),
        }
    }
}

impl Turns {
    pub(crate) fn new(analysts: usize) -> Self {
        Self {
            analysts,
            state: Arc::default(),
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until a visit of a domain may be read and committed.
    pub(crate) async fn take(&self, site: &Site) -> Turn {
        let mut queue = Queue {
            turns: self,
            site,
            is_waiting: false,
        };
        loop {
            let Some(changed) = self.enter(site, &mut queue.is_waiting) else {
                return Turn(Some((self.clone(), site.clone())));
            };
            changed.notified().await;
        }
    }

    /// Lets a visit in if it may; otherwise returns what tells that this may have changed.
    fn enter(&self, site: &Site, is_waiting: &mut bool) -> Option<Arc<Notify>> {
        let mut state = self.state();
        let all = state.inside + state.waiting;
        let domain = state.domains.entry(site.clone()).or_default();
        let own = domain.inside + domain.waiting;
        let has_others = all > own;
        if has_others && domain.inside >= domain.most(self.analysts) {
            let first = !std::mem::replace(is_waiting, true);
            domain.waiting += usize::from(first);
            let changed = Arc::clone(&domain.changed);
            state.waiting += usize::from(first);
            return Some(changed);
        }
        domain.inside += 1;
        // There may be room for the next one, too.
        domain.changed.notify_one();
        state.inside += 1;
        None
    }

    /// Learns what a visit took to read and to commit.
    pub(crate) fn learn(&self, site: &Site, reading: Duration, committing: Duration) {
        let mut state = self.state();
        if state.domains.len() > KEPT {
            state.domains.retain(|_, it| it.inside + it.waiting > 0);
        }
        let domain = state.domains.entry(site.clone()).or_default();
        let update = |most: Duration, last: Duration| last.max(most * 7 / 8);
        domain.reading = update(domain.reading, reading);
        domain.committing = update(domain.committing, committing);
    }
}

/// A visit that may be waiting; it does so no longer when dropped.
struct Queue<'a> {
    turns: &'a Turns,
    site: &'a Site,
    is_waiting: bool,
}

impl Drop for Queue<'_> {
    fn drop(&mut self) {
        if self.is_waiting {
            let mut state = self.turns.state();
            state.waiting -= 1;
            if let Some(domain) = state.domains.get_mut(self.site) {
                domain.waiting -= 1;
            }
        }
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        if let Some((turns, site)) = self.0.take() {
            let mut state = turns.state();
            state.inside -= 1;
            if let Some(domain) = state.domains.get_mut(&site) {
                domain.inside -= 1;
                domain.changed.notify_one();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::future::Future;
    use std::pin::pin;
    use std::task::{Context, Poll, Waker};

    use super::*;

    /// The turn, if it is given at once.
    fn now(turns: &Turns, site: &Site) -> Option<Turn> {
        let mut context = Context::from_waker(Waker::noop());
        match pin!(turns.take(site)).poll(&mut context) {
            Poll::Ready(turn) => Some(turn),
            Poll::Pending => None,
        }
    }

    fn all(turns: &Turns, site: &Site) -> Vec<Turn> {
        let given = std::iter::from_fn(|| now(turns, site));
        given.take(100).collect()
    }

    #[test]
    fn pages_that_take_long_leave_room_for_others() {
        let turns = Turns::new(8);
        let (slow, fast) = (Site::of_name("slow.example"), Site::of_name("fast.example"));
        let alone = all(&turns, &slow);
        assert_eq!(alone.len(), 100, "alone, it may have all");
        drop(alone);
        let other = now(&turns, &fast);
        assert!(other.is_some());
        assert_eq!(all(&turns, &slow).len(), 5, "nothing is known");
        let second = Duration::from_secs(1);
        turns.learn(&slow, Duration::ZERO, second);
        assert_eq!(all(&turns, &slow).len(), 1);
        for _ in 0..30 {
            turns.learn(&slow, second, Duration::from_millis(1));
        }
        assert_eq!(all(&turns, &slow).len(), 4, "half of the analysts");
        for _ in 0..60 {
            turns.learn(&slow, Duration::ZERO, Duration::from_millis(1));
        }
        assert_eq!(all(&turns, &slow).len(), 100, "its pages are cheap");
        let state = turns.state();
        assert_eq!((state.inside, state.waiting), (1, 0));
    }

    #[tokio::test]
    async fn who_waits_is_told() {
        let turns = Turns::new(2);
        let (slow, fast) = (Site::of_name("slow.example"), Site::of_name("fast.example"));
        turns.learn(&slow, Duration::ZERO, Duration::from_secs(1));
        let _other = turns.take(&fast).await;
        let first = turns.take(&slow).await;
        let waiting = tokio::spawn({
            let (turns, slow) = (turns.clone(), slow.clone());
            async move { drop(turns.take(&slow).await) }
        });
        tokio::task::yield_now().await;
        assert!(!waiting.is_finished());
        drop(first);
        waiting.await.unwrap();
    }
}
