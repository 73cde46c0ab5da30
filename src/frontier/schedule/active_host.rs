//! A host in the working window: its next URLs, what of it is on its way, what is known of it.

use std::collections::{BTreeSet, VecDeque};
use std::net::IpAddr;

use crate::frontier::{CLASSES, FetchTask, Moment, Pace, Waiting};

/// A host in the window.
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is true or not whatever the others are"
)]
pub(super) struct ActiveHost {
    pub(super) pace: Pace,
    /// Its pace in memory is newer than the committed one.
    pub(super) visited: bool,
    /// A visit is being made.
    pub(super) busy: bool,
    /// The queue on disk may hold more.
    pub(super) more: bool,
    pub(super) reading: Reading,
    pub(super) robots: Robots,
    pub(super) address: AddressState,
    pub(super) buffer: VecDeque<Waiting>,
    pub(super) cursors: [u64; CLASSES as usize],
    /// Handed out and not committed.
    pub(super) in_progress: BTreeSet<(u8, u64)>,
    /// Its row was read, so its pace is known.
    pub(super) known: bool,
    /// Visits of it for other hosts, whose robots.txt is here.
    pub(super) robots_redirects: VecDeque<FetchTask>,
    /// Such a visit was made: no commit tells of it.
    pub(super) followed_redirects: bool,
    /// URLs handed out since it came into the window.
    pub(super) served: usize,
    /// Its number among those that had their share; 0 if it has not.
    pub(super) over_quantum: u64,
    /// It had its share, and others wait: it hands out nothing more, and goes when it is at rest.
    pub(super) leaving: bool,
}

/// Whether the next URLs of a host are being read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reading {
    /// They are not.
    No,
    /// They are to be: the host is in `needs_refill`.
    Wanted,
    /// They are.
    InProgress,
    /// They are, and others arrived since, which the answer may not know.
    Outdated,
}

/// What is known of a host's robots.txt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Robots {
    /// Enough, or the next read tells.
    Known,
    /// It must be fetched before anything else.
    Wanted,
    /// It is being fetched or committed.
    InProgress,
}

/// What is known of a host's address.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum AddressState {
    /// Nothing: it is asked for before the host is visited.
    Unknown,
    /// It is being asked for.
    Asked,
    /// This one; or that there is none to be had, or that it does not matter.
    Known(Option<IpAddr>),
}

impl ActiveHost {
    pub(super) fn new(due: Moment) -> Self {
        Self {
            pace: Pace {
                due,
                ..Pace::default()
            },
            visited: false,
            busy: false,
            more: true,
            reading: Reading::No,
            robots: Robots::Known,
            address: AddressState::Unknown,
            buffer: VecDeque::new(),
            cursors: [0; CLASSES as usize],
            in_progress: BTreeSet::new(),
            known: false,
            robots_redirects: VecDeque::new(),
            followed_redirects: false,
            served: 0,
            over_quantum: 0,
            leaving: false,
        }
    }

    pub(super) fn has_something_to_fetch(&self) -> bool {
        if !self.robots_redirects.is_empty() {
            return self.known;
        }
        match self.robots {
            _ if self.leaving => false,
            Robots::Known => !self.buffer.is_empty(),
            Robots::Wanted => true,
            Robots::InProgress => false,
        }
    }

    /// Nothing is waiting, in progress or being read.
    pub(super) fn is_done(&self) -> bool {
        self.is_at_rest() && self.buffer.is_empty() && !self.more && self.robots == Robots::Known
    }

    /// It is to give its place up: all that it has is on disk.
    pub(super) fn is_to_leave(&self, now: Moment) -> bool {
        self.is_at_rest() && (self.leaving || self.pace.parked && self.pace.due > now)
    }

    /// A visit set the host's pace; what its robots.txt asks for is read with its URLs.
    pub(super) fn set_pace(&mut self, pace: &Pace) {
        self.visited = true;
        self.pace = Pace {
            crawl_delay: self.pace.crawl_delay,
            ..*pace
        };
    }

    /// Nothing of it is in progress or being read.
    pub(super) fn is_at_rest(&self) -> bool {
        self.in_progress.is_empty()
            && self.robots_redirects.is_empty()
            && self.robots != Robots::InProgress
            && matches!(self.reading, Reading::No | Reading::Wanted)
            && self.address != AddressState::Asked
            && !self.busy
    }

    /// The lowest number of a class that is waiting here or in progress; what is still on disk is
    /// higher.
    pub(super) fn floor(&self, class: u8) -> u64 {
        let in_progress = self
            .in_progress
            .range((class, 0)..=(class, u64::MAX))
            .map(|(_, sequence)| *sequence)
            .next();
        let waiting = self
            .buffer
            .iter()
            .find(|waiting| waiting.class == class)
            .map(|waiting| waiting.sequence);
        let cursor = self.cursors[usize::from(class)];
        in_progress.unwrap_or(cursor).min(waiting.unwrap_or(cursor))
    }
}
