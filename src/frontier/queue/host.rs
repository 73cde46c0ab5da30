//! What is kept of a host between visits.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::place::{CLASSES, InBlock, Opened, Place, bit};
use crate::frontier::{Moment, Pace, Trouble};
use crate::learn::{LearnedRules, OutcomeWindow, Repeats, Spent, Twins};
use crate::robots::Rules;

/// The row of a host in `Hosts`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct HostState {
    /// URLs waiting.
    pub queued: u64,
    /// By class, no URL waits below this sequence: where reading begins, so that it never walks
    /// over the tombstones of blocks done.
    pub heads: Vec<u64>,
    /// Blocks of the queue that some URLs have left; as many as visits are on their way, about.
    pub opened: Vec<Opened>,
    /// Not to be visited before.
    pub due: Moment,
    /// Where the host's row in `Due` stands, while URLs wait.
    pub due_row: Option<Moment>,
    /// That row says that the host is parked.
    pub due_row_parked: bool,
    /// Failures, less the successes since.
    pub failures: u32,
    /// What the last failure was, while there are any.
    pub trouble: Option<Trouble>,
    /// It keeps failing, and is left alone until `due`.
    pub parked: bool,
    /// When the last visit that counted towards `due` and `failures` ended.
    pub last_visit: Moment,
    /// What is known of its robots.txt.
    pub robots: RobotsState,
    /// Crawl-delay of its robots.txt in milliseconds.
    pub crawl_delay: Option<u64>,
    /// The fewest links from a seed to a page of it that was queued; `None` if none was.
    pub depth: Option<u16>,
    /// Sitemaps of it that were queued.
    pub sitemaps: u32,
    /// Answers received.
    pub visits: u64,
    /// Body bytes received.
    pub bytes: u64,
    /// Milliseconds that its answers took.
    pub millis: u64,
    /// Short texts that it gives under many URLs.
    pub repeats: Repeats,
    /// Pages that are originals or duplicates.
    pub judged: u64,
    /// Those of them that are duplicates.
    pub duplicates: u64,
    /// URLs admitted.
    pub admitted: u64,
    /// How they turned out.
    pub outcomes: OutcomeWindow,
    /// Patterns of its URLs that have a row in `Learned`.
    pub patterns: u32,
    /// Those of them that lost their budget.
    pub demoted_patterns: u32,
    /// URLs that were left aside, in `Learned`.
    pub shelved: u32,
    /// What was learned of its URLs.
    pub learned_rules: LearnedRules,
    /// Hosts like it.
    pub twins: Twins,
}

/// What becomes of a block that a URL leaves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Leave {
    /// It had left before.
    Gone,
    /// Others are in it.
    Open,
    /// It was the last: the block goes.
    Last,
}

/// What is known of a host's robots.txt.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum RobotsState {
    /// Nothing: it is fetched before anything else.
    #[default]
    Unknown,
    /// The row in `Robots` holds until then.
    Until(Moment),
}

impl HostState {
    /// The lowest sequence that can be waiting in `class`.
    pub fn head(&self, class: u8) -> u64 {
        self.heads.get(usize::from(class)).copied().unwrap_or(0)
    }

    /// Records that nothing of the place's class stands below its floor.
    pub fn raise_head(&mut self, place: Place) {
        self.heads.resize(usize::from(CLASSES), 0);
        if let Some(head) = self.heads.get_mut(usize::from(place.class)) {
            *head = (*head).max(place.floor);
        }
    }

    /// Which URLs of a block have left, a bit for each.
    pub fn gone(&self, class: u8, last: u64) -> u64 {
        let opened = self.opened.iter();
        let mut of_block = opened.filter(|it| it.class == class && it.last == last);
        of_block.next().map_or(0, |it| it.gone)
    }

    /// Records that a URL has left its block, from which these were removed.
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

    /// Forgets a block that is gone.
    pub fn forget(&mut self, class: u8, last: u64) {
        self.opened
            .retain(|it| it.class != class || it.last != last);
    }

    /// What was spent on it.
    pub fn spent(&self) -> Spent {
        Spent {
            admitted: self.admitted,
            bytes: self.bytes,
            millis: self.millis,
        }
    }

    /// Its pace.
    pub fn pace(&self) -> Pace {
        Pace {
            due: self.due,
            failures: self.failures,
            trouble: self.trouble,
            parked: self.parked,
            crawl_delay: self.crawl_delay.map(Duration::from_millis),
        }
    }

    /// Takes over when it may be visited again; what its robots.txt asks for stays.
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

/// The row of a host in `Robots`: enough to judge again without asking again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RobotsRow {
    /// What the answer means.
    pub verdict: RobotsVerdict,
    /// The document of the stored response, as the committer wrote it: documents are rebuilt from
    /// it.
    pub document: Option<Vec<u8>>,
}

/// What an answer to /robots.txt means (RFC 9309, section 2.3.1).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum RobotsVerdict {
    /// There is none: everything is allowed.
    AllowAll,
    /// It could not be had, for this reason: nothing is allowed for now.
    DisallowAll(String),
    /// Its text, as received, at most 500 KiB.
    Text(Vec<u8>),
}

impl RobotsVerdict {
    /// The rules for one product token.
    pub fn rules(&self, product_token: &str) -> Rules {
        match self {
            RobotsVerdict::AllowAll => Rules::allow_all(),
            RobotsVerdict::DisallowAll(_) => Rules::disallow_all(),
            RobotsVerdict::Text(body) => Rules::parse(body, product_token),
        }
    }

    /// Why a URL that the rules forbid is not fetched.
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
        // Of another class is another block.
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
