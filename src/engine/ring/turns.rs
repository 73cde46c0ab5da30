//! Whose pages are read and committed. Both are done for all domains in one queue, by a few threads
//! and by one, so pages that take long would keep all others waiting. While there are others, a
//! domain
//!
//! - has as many visits there as are expected to take [`PART`] to commit, and half of the analysts
//!   if its pages take long to read; one at least,
//! - rests after a visit that took [`LONG`], so that it has an even share of the time, or a quarter
//!   if they are more than four. A share that is due only when somebody else is there at the same
//!   moment would not do: who crawls politely is there for moments.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::Notify;
use tokio::time::timeout_at;

use crate::url::Site;

/// How long the visits of one domain may take to commit that are on their way to it.
const PART: Duration = Duration::from_millis(250);
/// What a visit of a domain of which nothing is known is expected to take to commit.
const EXPECTED: Duration = Duration::from_millis(50);
/// What takes long to read, and is read by half of the analysts at most, or to commit.
const LONG: Duration = Duration::from_millis(50);
/// How long a domain counts as one of the others when its last visit has left.
const LATELY: Duration = Duration::from_secs(10);
/// How many times as long as it was busy a domain rests at most.
const REST: usize = 3;
/// Number of domains at which those are forgotten that have no visits here.
const KEPT: usize = 4_096;

/// The visits between fetch and commit, by domain, and how many are on their way. Cheap to clone.
#[derive(Debug, Clone)]
pub(crate) struct Turns {
    analysts: usize,
    state: Arc<Mutex<State>>,
    /// Told when a visit is taken up that the scheduler waits for.
    taken_up: Arc<Notify>,
}

#[derive(Debug, Default)]
struct State {
    domains: HashMap<Site, Domain>,
    /// Number of visits that are being made.
    making: usize,
    /// Number of visits of all domains that were let in and have not arrived at the committer.
    reading: usize,
    /// Domains of the visits that analysts have taken up since the scheduler asked last.
    taken_up: Vec<Site>,
    /// Whether the scheduler waits for that.
    is_awaited: bool,
    /// The last domains that had a visit here, the last one first, and when it came or left: as
    /// many as matter.
    last: VecDeque<(Site, Instant)>,
}

#[derive(Debug)]
struct Domain {
    inside: usize,
    waiting: usize,
    /// What its visits take to read and to commit: the most of the last ones.
    reading: Duration,
    committing: Duration,
    /// End of its rest.
    rests_until: Option<Instant>,
    changed: Arc<Notify>,
}

/// A visit that may be read and committed; it is over when dropped.
#[derive(Debug, Default)]
pub struct Turn {
    taken: Option<(Turns, Site)>,
    has_arrived: bool,
}

/// A visit that is being made; that is over when it is dropped.
#[derive(Debug)]
pub(crate) struct Making(Turns);

/// Why a visit waits: until something changes, but no longer than this.
#[derive(Debug)]
struct Wait {
    changed: Arc<Notify>,
    until: Option<Instant>,
}

impl Default for Domain {
    fn default() -> Self {
        Self {
            inside: 0,
            waiting: 0,
            reading: Duration::ZERO,
            committing: EXPECTED,
            rests_until: None,
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

impl State {
    /// Number of other domains that have visits here or had some lately, as far as it matters, and
    /// until when there are some if none comes.
    fn others(&self, site: &Site, now: Instant) -> (usize, Instant) {
        let others = self.last.iter().filter(|(other, _)| other != site);
        // Who waits for pages that take long is still there, however long that is.
        let ends = others.map(|(other, at)| match self.has_visits(other) {
            true => now + LATELY,
            false => *at + LATELY,
        });
        let ends = ends.filter(|end| *end > now);
        let (number, last) = ends.fold((0, now), |(n, last), end| (n + 1, last.max(end)));
        (number.min(REST), last)
    }

    fn has_visits(&self, site: &Site) -> bool {
        let domain = self.domains.get(site);
        domain.is_some_and(|it| it.inside + it.waiting > 0)
    }

    /// Notes that a domain is here.
    fn see(&mut self, site: &Site, now: Instant) {
        self.last.retain(|(known, _)| known != site);
        self.last.truncate(REST);
        self.last.push_front((site.clone(), now));
    }

    /// A visit of a domain arrives.
    fn arrive(&mut self, site: &Site, now: Instant) {
        self.see(site, now);
        self.domains.entry(site.clone()).or_default().waiting += 1;
    }

    /// A visit leaves that was not let in.
    fn give_up(&mut self, site: &Site) {
        if let Some(domain) = self.domains.get_mut(site) {
            domain.waiting -= 1;
            // What woke it may be meant for the next one.
            domain.changed.notify_one();
        }
    }

    /// Lets a visit in that waits, if it may.
    fn enter(&mut self, site: &Site, analysts: usize, now: Instant) -> Result<(), Wait> {
        let (others, none_from) = self.others(site, now);
        let domain = self.domains.entry(site.clone()).or_default();
        if others > 0 {
            let changed = Arc::clone(&domain.changed);
            if domain.inside >= domain.most(analysts) {
                let until = None;
                return Err(Wait { changed, until });
            }
            if let Some(end) = domain.rests_until.filter(|end| *end > now) {
                // Without others there is nobody to rest for.
                let until = Some(end.min(none_from));
                return Err(Wait { changed, until });
            }
        }
        domain.waiting -= 1;
        domain.inside += 1;
        self.reading += 1;
        // There may be room for the next one, too.
        domain.changed.notify_one();
        Ok(())
    }

    /// A visit leaves that was let in.
    fn leave(&mut self, site: &Site, now: Instant) {
        if let Some(domain) = self.domains.get_mut(site) {
            domain.inside -= 1;
            domain.changed.notify_one();
            self.see(site, now);
        }
    }

    /// Learns what a visit took to read and to commit: the part of each of those who do it.
    fn learn(&mut self, site: &Site, took: (Duration, Duration), analysts: usize, now: Instant) {
        if self.domains.len() > KEPT {
            self.domains.retain(|_, it| {
                it.inside + it.waiting > 0 || it.rests_until.is_some_and(|end| end > now)
            });
        }
        let (others, _) = self.others(site, now);
        let domain = self.domains.entry(site.clone()).or_default();
        let (reading, committing) = took;
        let update = |most: Duration, last: Duration| last.max(most * 7 / 8);
        domain.reading = update(domain.reading, reading);
        domain.committing = update(domain.committing, committing);
        let busy = committing.max(reading.div_f64(analysts.max(1) as f64));
        if busy >= LONG {
            let from = domain.rests_until.map_or(now, |end| end.max(now));
            domain.rests_until = Some(from + busy.mul_f64(others as f64));
        }
    }
}

impl Turns {
    pub(crate) fn new(analysts: usize) -> Self {
        Self {
            analysts,
            state: Arc::default(),
            taken_up: Arc::default(),
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Number of visits that are being read, and have not arrived at the committer.
    pub(crate) fn reading(&self) -> usize {
        self.state().reading
    }

    /// Whether visits are being made or read that will arrive at the committer.
    pub(crate) fn are_coming(&self) -> bool {
        let state = self.state();
        state.making > 0 || state.reading > 0
    }

    /// Notes that a visit is being made.
    pub(crate) fn make(&self) -> Making {
        self.state().making += 1;
        Making(self.clone())
    }

    /// Returns the domain of each visit that was taken up since this was asked last.
    pub(crate) fn taken_up(&self) -> Vec<Site> {
        std::mem::take(&mut self.state().taken_up)
    }

    /// Says whether the scheduler waits for visits to be taken up. Returns `true` if some were
    /// since it asked last.
    pub(crate) fn await_taking_up(&self, is_awaited: bool) -> bool {
        let mut state = self.state();
        state.is_awaited = is_awaited;
        is_awaited && !state.taken_up.is_empty()
    }

    /// Waits until a visit is taken up, if that is awaited.
    pub(crate) async fn next_taken_up(&self) {
        self.taken_up.notified().await;
    }

    /// Waits until a visit of a domain may be read and committed.
    pub(crate) async fn take(&self, site: &Site) -> Turn {
        self.state().arrive(site, Instant::now());
        let mut queue = Queue {
            turns: self,
            site,
            is_waiting: true,
        };
        loop {
            let entered = self.state().enter(site, self.analysts, Instant::now());
            let Err(Wait { changed, until }) = entered else {
                queue.is_waiting = false;
                return Turn {
                    taken: Some((self.clone(), site.clone())),
                    has_arrived: false,
                };
            };
            match until {
                None => changed.notified().await,
                // Either way it is seen whether the visit may enter.
                Some(until) => _ = timeout_at(until.into(), changed.notified()).await,
            }
        }
    }
}

impl Turn {
    /// An analyst has taken up the visit, which has given its slot back.
    pub(crate) fn take_up(&self) {
        if let Some((turns, site)) = &self.taken {
            let mut state = turns.state();
            state.taken_up.push(site.clone());
            if state.is_awaited {
                turns.taken_up.notify_one();
            }
        }
    }

    /// The visit was read, and is at the committer.
    pub(crate) fn arrive(&mut self) {
        if let (Some((turns, _)), false) = (&self.taken, self.has_arrived) {
            turns.state().reading -= 1;
            self.has_arrived = true;
        }
    }

    /// Ends a visit that took so long to read and to commit.
    pub(crate) fn end(self, reading: Duration, committing: Duration) {
        if let Some((turns, site)) = &self.taken {
            let took = (reading, committing);
            (turns.state()).learn(site, took, turns.analysts, Instant::now());
        }
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
            self.turns.state().give_up(self.site);
        }
    }
}

impl Drop for Making {
    fn drop(&mut self) {
        self.0.state().making -= 1;
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        self.arrive();
        if let Some((turns, site)) = self.taken.take() {
            turns.state().leave(&site, Instant::now());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    fn sites() -> [Site; 2] {
        ["slow.example", "fast.example"].map(Site::of_name)
    }

    /// Number of visits that are let in at a time, of a hundred.
    fn entering(state: &mut State, site: &Site, now: Instant) -> usize {
        let entered = (0..100).filter(|_| {
            state.arrive(site, now);
            let entered = state.enter(site, 8, now);
            entered.inspect_err(|_| state.give_up(site)).is_ok()
        });
        entered.count()
    }

    fn leave(state: &mut State, site: &Site, number: usize, now: Instant) {
        (0..number).for_each(|_| state.leave(site, now));
    }

    #[test]
    fn pages_that_take_long_leave_room_for_others() {
        let mut state = State::default();
        let [slow, fast] = sites();
        let mut now = Instant::now();
        assert_eq!(
            entering(&mut state, &slow, now),
            100,
            "alone, it may have all"
        );
        leave(&mut state, &slow, 100, now);
        assert_eq!(entering(&mut state, &fast, now), 5, "nothing is known");
        leave(&mut state, &fast, 5, now);
        // The other is not there at this moment, but will be again.
        now += SECOND;
        assert_eq!(entering(&mut state, &slow, now), 5);
        leave(&mut state, &slow, 5, now);
        state.learn(&slow, (Duration::ZERO, SECOND), 8, now);
        assert_eq!(entering(&mut state, &slow, now), 0, "it rests");
        now += SECOND;
        assert_eq!(entering(&mut state, &slow, now), 1);
        leave(&mut state, &slow, 1, now);
        let moment = Duration::from_millis(1);
        for _ in 0..30 {
            state.learn(&slow, (moment * 60, moment), 8, now);
        }
        now += SECOND;
        assert_eq!(entering(&mut state, &slow, now), 4, "half of the analysts");
        leave(&mut state, &slow, 4, now);
        for _ in 0..60 {
            state.learn(&slow, (Duration::ZERO, moment), 8, now);
        }
        now += SECOND;
        assert_eq!(entering(&mut state, &slow, now), 100, "its pages are cheap");
        leave(&mut state, &slow, 100, now);
        let left = state.domains.values().map(|it| it.inside + it.waiting);
        assert_eq!(left.sum::<usize>(), 0);
    }

    /// Two that take long share the time evenly, and one beside many has a quarter.
    #[test]
    fn a_rest_is_as_long_as_there_are_others() {
        let [slow, _] = sites();
        for (others, rest) in [(0, 0), (1, 1), (2, 2), (3, 3), (20, 3)] {
            let mut state = State::default();
            let now = Instant::now();
            for n in 0..others {
                state.arrive(&Site::of_name(&format!("good{n}.example")), now);
            }
            state.learn(&slow, (SECOND, SECOND), 1, now);
            let mut enters = |at: Instant| entering(&mut state, &slow, at) > 0;
            let moment = Duration::from_millis(1);
            let (before, end) = ((SECOND * rest).saturating_sub(moment), SECOND * rest);
            assert!(rest == 0 || !enters(now + before), "{others}");
            assert!(enters(now + end), "{others}");
        }
    }

    #[test]
    fn nobody_rests_for_those_who_are_gone() {
        let [slow, fast] = sites();
        let mut state = State::default();
        let now = Instant::now();
        assert_eq!(entering(&mut state, &fast, now), 100);
        leave(&mut state, &fast, 100, now);
        state.learn(&slow, (SECOND * 100, SECOND * 100), 1, now);
        state.arrive(&slow, now);
        let wait = state.enter(&slow, 1, now).unwrap_err();
        assert_eq!(wait.until, Some(now + LATELY));
        assert!(state.enter(&slow, 1, now + LATELY).is_ok());
    }

    /// Its one visit waits behind pages that take long. It was not seen lately, but those that come
    /// in place of these would keep the next one waiting too.
    #[test]
    fn who_waits_for_long_is_not_gone() {
        let [slow, fast] = sites();
        let mut state = State::default();
        let mut now = Instant::now();
        state.arrive(&fast, now);
        assert!(state.enter(&fast, 1, now).is_ok());
        assert_eq!(entering(&mut state, &slow, now), 5, "nothing is known");
        now += LATELY * 3;
        leave(&mut state, &slow, 1, now);
        assert_eq!(entering(&mut state, &slow, now), 1);
        leave(&mut state, &slow, 5, now);
        state.learn(&slow, (LATELY * 3, SECOND), 1, now);
        state.arrive(&slow, now);
        let wait = state.enter(&slow, 1, now).unwrap_err();
        assert_eq!(wait.until, Some(now + LATELY), "it rests, and looks again");
        assert!(state.enter(&slow, 1, now + LATELY * 2).is_err());
        leave(&mut state, &fast, 1, now);
        assert!(state.enter(&slow, 1, now + LATELY / 2).is_err());
        assert!(state.enter(&slow, 1, now + LATELY).is_ok());
    }

    #[tokio::test]
    async fn the_scheduler_is_told_what_analysts_take_up() {
        let turns = Turns::new(2);
        let [slow, fast] = sites();
        let made = turns.make();
        assert!(turns.are_coming());
        let mut turn = turns.take(&slow).await;
        drop(made);
        assert!(turns.are_coming(), "it is being read");
        turn.take_up();
        // It was taken up before anybody asked for that.
        assert!(turns.await_taking_up(true));
        assert_eq!(turns.taken_up(), std::slice::from_ref(&slow));
        assert!(!turns.await_taking_up(true));
        turns.take(&fast).await.take_up();
        turns.next_taken_up().await;
        assert_eq!(turns.taken_up(), std::slice::from_ref(&fast));
        turn.arrive();
        assert!(!turns.are_coming());
    }

    #[tokio::test]
    async fn who_waits_is_told() {
        let turns = Turns::new(2);
        let [slow, fast] = sites();
        let _other = turns.take(&fast).await;
        let rest = Duration::from_millis(1);
        let mut turn = turns.take(&slow).await;
        assert_eq!(turns.reading(), 2);
        turn.arrive();
        assert_eq!(turns.reading(), 1);
        turn.end(Duration::ZERO, rest);
        assert_eq!(turns.reading(), 1);
        turns.state().learn(
            &slow,
            (SECOND, rest),
            1,
            Instant::now().checked_sub(SECOND).unwrap(),
        );
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
