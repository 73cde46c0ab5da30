//! What is stored about a host between visits.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::place::{CLASSES, InBlock, Opened, Place, bit};
use crate::frontier::{Moment, Pace, Politeness, Trouble};
use crate::learn::{Repeats, Spent, Suspicions};
use crate::robots::Rules;

/// The row of a host in `Hosts`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct HostState {
    /// Number of URLs waiting.
    pub queued: u64,
    /// For each class, the sequence below which no URL waits. Reading begins there, so that it does
    /// not walk over the tombstones of deleted blocks.
    pub heads: Vec<u64>,
    /// Blocks of the queue that some URLs have left; about as many as visits are in progress.
    pub opened: Vec<Opened>,
    /// The earliest time of the next visit.
    pub due: Moment,
    /// The time under which the host's row in `Due` is stored; `None` if no URLs wait.
    pub due_row: Option<Moment>,
    /// Whether that row says that the host is parked.
    pub due_row_parked: bool,
    /// Number of failures, less the number of successes since.
    pub failures: u32,
    /// The class of the last failure; `None` if `failures` is zero.
    pub trouble: Option<Trouble>,
    /// Whether the host keeps failing and is left alone until `due`.
    pub parked: bool,
    /// When the last visit that counted towards `due` and `failures` ended.
    pub last_visit: Moment,
    /// Whether its robots.txt is known.
    pub robots: RobotsState,
    /// The crawl delay of its robots.txt in milliseconds.
    pub crawl_delay: Option<u64>,
    /// The lowest depth of any of its pages that was queued; `None` if none was.
    pub depth: Option<u16>,
    /// Number of sitemaps that it named and that were queued, wherever they are.
    pub sitemaps: u32,
    /// Number of answers received.
    pub visits: u64,
    /// Bytes of bodies received.
    pub bytes: u64,
    /// Time that its answers took, in milliseconds.
    pub millis: u64,
    /// Short texts that it sends for many URLs.
    pub repeats: Repeats,
    /// Number of pages that were judged original or duplicate.
    pub judged: u64,
    /// Number of these that are duplicates.
    pub duplicates: u64,
    /// Number of URLs admitted, without those to which only other sites lead.
    pub admitted: u64,
    /// What is known of the kinds of its URLs.
    pub suspicions: Suspicions,
    /// Low bits of the numbers of the last originals at other domains that its pages repeated.
    pub repeated_elsewhere: Vec<u32>,
}

/// What happens to a block when a URL leaves it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Leave {
    /// Nothing: the URL had left before.
    Gone,
    /// Other URLs wait in it.
    Open,
    /// The URL was the last one: the block is deleted.
    Last,
}

/// How long a robots.txt is valid (RFC 9309, section 2.4: at most a day).
pub const ROBOTS_TTL: Duration = Duration::from_hours(24);

/// Whether a host's robots.txt is known.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum RobotsState {
    /// It is not known and is fetched before anything else.
    #[default]
    Unknown,
    /// The row in `Robots` is valid until then.
    Until(Moment),
}

impl HostState {
    /// The lowest sequence that can be waiting in `class`.
    pub fn head(&self, class: u8) -> u64 {
        self.heads.get(usize::from(class)).copied().unwrap_or(0)
    }

    /// Records that nothing waits below the floor of `place` in its class.
    pub fn raise_head(&mut self, place: Place) {
        self.heads.resize(usize::from(CLASSES), 0);
        if let Some(head) = self.heads.get_mut(usize::from(place.class)) {
            *head = (*head).max(place.floor);
        }
    }

    /// The URLs of a block that have left, one bit per position.
    pub fn gone(&self, class: u8, last: u64) -> u64 {
        let opened = self.opened.iter();
        let mut of_block = opened.filter(|it| it.class == class && it.last == last);
        of_block.next().map_or(0, |it| it.gone)
    }

    /// Records that a URL has left its block. `removed` are the URLs of the block that were removed
    /// unvisited.
    pub fn leave(&mut self, class: u8, place: InBlock, removed: u64) -> Leave {
        let found = self
            .opened
            .iter()
            .position(|it| it.class == class && it.last == place.last);
        let gone = found.and_then(|at| self.opened.get(at));
        let gone = gone.map_or(0, |it| it.gone);
        let all = bit(place.count).wrapping_sub(1);
        let now = gone | bit(place.index);
        if now == gone || removed & bit(place.index) != 0 {
            return Leave::Gone;
        }
        if (now | removed) & all == all {
            found.map(|at| self.opened.swap_remove(at));
            return Leave::Last;
        }
        match found.and_then(|at| self.opened.get_mut(at)) {
            Some(opened) => opened.gone = now,
            None => self.opened.push(Opened {
                class,
                last: place.last,
                gone: now,
            }),
        }
        Leave::Open
    }

    /// Forgets a block that was deleted.
    pub fn forget(&mut self, class: u8, last: u64) {
        self.opened
            .retain(|it| it.class != class || it.last != last);
    }

    /// Makes the times of the row such as a clock that says `now` can have written; a clock that
    /// was ahead once may have written others, and nobody would visit the host until then. Returns
    /// `false` if they are.
    pub fn mend_times(&mut self, politeness: &Politeness, now: Moment) -> bool {
        let longest = politeness.longest_wait();
        let was_ahead = self.last_visit > now;
        if !was_ahead && self.due <= now.plus(longest) && self.last_visit != Moment(0) {
            return false;
        }
        let due = if was_ahead {
            // How long it was to wait then still holds.
            now.plus(self.last_visit.until(self.due).min(longest))
        } else if self.last_visit == Moment(0) {
            // It was never visited, so it waits for nothing.
            now
        } else {
            now.plus(politeness.delay(self.pace().crawl_delay))
        };
        self.last_visit = self.last_visit.min(now);
        let is_other = was_ahead || due < self.due;
        self.due = self.due.min(due);
        is_other
    }

    /// What was spent on the host.
    pub fn spent(&self) -> Spent {
        Spent {
            admitted: self.admitted,
            bytes: self.bytes,
            millis: self.millis,
        }
    }

    /// The pace of the host.
    pub fn pace(&self) -> Pace {
        Pace {
            due: self.due,
            failures: self.failures,
            trouble: self.trouble,
            parked: self.parked,
            crawl_delay: self.crawl_delay.map(Duration::from_millis),
        }
    }

    /// Takes over a new pace, except for the crawl delay.
    pub fn keep_pace(&mut self, pace: &Pace) {
        let Pace {
            due,
            failures,
            trouble,
            parked,
            crawl_delay: _,
        } = *pace;
        self.due = due;
        self.failures = failures;
        self.trouble = trouble;
        self.parked = parked;
    }
}

/// The row of a host in `Robots`: enough to apply its rules without fetching them again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RobotsRow {
    /// The meaning of the answer.
    pub verdict: RobotsVerdict,
    /// The document of the stored response in its encoded form; documents are rebuilt from it.
    pub document: Option<Vec<u8>>,
}

/// The meaning of an answer to /robots.txt (RFC 9309, section 2.3.1).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum RobotsVerdict {
    /// There is no robots.txt: everything is allowed.
    AllowAll,
    /// It could not be fetched, for this reason: nothing is allowed for now.
    DisallowAll(String),
    /// Its text as received, at most 500 KiB.
    Text(Vec<u8>),
}

impl RobotsVerdict {
    /// The rules for a product token.
    pub fn rules(&self, product_token: &str) -> Rules {
        match self {
            RobotsVerdict::AllowAll => Rules::allow_all(),
            RobotsVerdict::DisallowAll(_) => Rules::disallow_all(),
            RobotsVerdict::Text(body) => Rules::parse(body, product_token),
        }
    }

    /// The reason why a URL that the rules forbid is not fetched.
    pub fn reason(&self) -> String {
        match self {
            RobotsVerdict::DisallowAll(reason) => format!("robots.txt could not be had: {reason}"),
            _ => "robots.txt forbids it".to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clock_that_was_ahead_keeps_no_host_waiting() {
        const HOUR: u64 = 3_600_000;
        const YEARS: u64 = 10 * 365 * 24 * HOUR;
        let now = Moment(1_000 * HOUR);
        let politeness = Politeness::default();
        let check = |last_visit: u64, due: u64, expected: (bool, u64)| {
            let mut state = HostState {
                last_visit: Moment(last_visit),
                due: Moment(due),
                ..HostState::default()
            };
            let mended = state.mend_times(&politeness, now);
            assert_eq!((mended, state.due.0), expected, "{last_visit} {due}");
            assert!(state.last_visit <= now);
        };
        // What can be right stays, a day of parking included.
        check(now.0 - 5, now.0 + 995, (false, now.0 + 995));
        check(
            now.0 - 5,
            now.0 + 24 * HOUR - 5,
            (false, now.0 + 24 * HOUR - 5),
        );
        check(now.0 - 9 * HOUR, now.0 - HOUR, (false, now.0 - HOUR));
        // The clock was ahead: it waits as long as it was to wait then.
        check(now.0 + YEARS, now.0 + YEARS + 700, (true, now.0 + 700));
        check(now.0 + HOUR, now.0 + 3 * HOUR, (true, now.0 + 2 * HOUR));
        check(now.0 + HOUR, now.0 + YEARS, (true, now.0 + 24 * HOUR));
        // Nothing says since when it waits.
        check(now.0 - HOUR, now.0 + YEARS, (true, now.0 + 1_000));
        // It was queued while the clock was ahead, and never visited.
        check(0, now.0 + HOUR, (true, now.0));
        check(0, now.0 - HOUR, (false, now.0 - HOUR));
    }

    #[test]
    fn the_last_url_takes_its_block_with_it() {
        let place = |index, count| InBlock {
            last: 9,
            index,
            count,
        };
        let mut host = HostState::default();
        assert_eq!(host.leave(0, place(0, 1), 0), Leave::Last);
        assert_eq!(host.leave(0, place(2, 3), 0), Leave::Open);
        assert_eq!(host.leave(0, place(2, 3), 0), Leave::Gone);
        // A different class is a different block.
        assert_eq!(host.leave(1, place(0, 3), 0), Leave::Open);
        assert_eq!(
            (host.gone(0, 9), host.gone(1, 9), host.gone(0, 8)),
            (4, 1, 0)
        );
        assert_eq!(host.leave(0, place(0, 3), 0), Leave::Open);
        assert_eq!(host.leave(0, place(1, 3), 0), Leave::Last);
        assert_eq!((host.gone(0, 9), host.opened.len()), (0, 1));
        let mut full = HostState::default();
        let left = (0..64).map(|index| full.leave(0, place(index, 64), 0));
        let left: Vec<_> = left.collect();
        assert!(left[..63].iter().all(|it| *it == Leave::Open));
        assert_eq!(left[63], Leave::Last);
    }

    #[test]
    fn what_was_removed_from_a_block_is_not_waited_for() {
        let place = |index| InBlock {
            last: 9,
            index,
            count: 3,
        };
        let mut host = HostState::default();
        assert_eq!(host.leave(0, place(1), 0b010), Leave::Gone);
        assert_eq!(host.leave(0, place(0), 0b010), Leave::Open);
        assert_eq!(host.leave(0, place(2), 0b010), Leave::Last);
        assert!(host.opened.is_empty());
    }
}
