//! A host in the working set: its next URLs, what is in progress, and what is known of it.

use std::collections::{BTreeSet, VecDeque};
use std::net::IpAddr;

use super::lanes::Standing;
use crate::frontier::{AGAIN, CLASSES, FetchTask, Moment, Pace, REQUISITES, Waiting};

/// A host in the working set.
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is true or not whatever the others are"
)]
pub(super) struct ActiveHost {
    pub(super) pace: Pace,
    /// The earliest time of a visit by what no commit knows of, whatever is forgiven.
    pub(super) not_before: Moment,
    /// Whether its pace in memory is newer than the committed one.
    pub(super) visited: bool,
    /// Whether it is being visited.
    pub(super) busy: bool,
    /// Whether the queue on disk may hold more URLs.
    pub(super) more: bool,
    pub(super) reading: ReadState,
    pub(super) robots: Robots,
    pub(super) address: AddressState,
    /// When it was resolved.
    pub(super) resolved: Moment,
    /// Whether it can be expected to answer.
    pub(super) standing: Standing,
    /// URLs that were read: those of each class in order.
    pub(super) buffer: VecDeque<Waiting>,
    /// The line of the last URL that was handed out.
    pub(super) last: Line,
    pub(super) cursors: [u64; CLASSES as usize],
    /// Tasks that were handed out and are not yet committed: class and sequence.
    pub(super) in_progress: BTreeSet<(u8, u64)>,
    /// Whether its row was read, so that its pace is known.
    pub(super) known: bool,
    /// Visits that come first: for other hosts, whose robots.txt was redirected here, and those put
    /// back because an address accepted no connection.
    pub(super) robots_redirects: VecDeque<FetchTask>,
    /// Whether such a visit was made. No commit records its effect on the pace.
    pub(super) followed_redirects: bool,
    /// Number of URLs handed out since the host entered the working set.
    pub(super) served: usize,
    /// Its key in `Schedule::over_quantum`; 0 if it is not there.
    pub(super) over_quantum: u64,
    /// Whether it is to leave: it hands out nothing more, and leaves when it is at rest.
    pub(super) leaving: bool,
    /// Whether a person holds it.
    pub(super) held: bool,
}

/// The lines in which the URLs of a host wait. While several wait, they take turns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Line {
    /// Pages that were not visited.
    New,
    /// Pages that were.
    Again,
    /// Requisites.
    Requisites,
}

impl Line {
    fn of(waiting: &Waiting) -> Self {
        match waiting.class {
            AGAIN => Self::Again,
            REQUISITES => Self::Requisites,
            _ => Self::New,
        }
    }

    /// The line whose turn is next.
    fn next(self) -> Self {
        match self {
            Self::New => Self::Again,
            Self::Again => Self::Requisites,
            Self::Requisites => Self::New,
        }
    }
}

/// Whether the next URLs of a host are being read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ReadState {
    /// No read is wanted or in progress.
    No,
    /// A read is wanted: the host is in `needs_refill`.
    Wanted,
    /// A read is in progress.
    InProgress,
    /// A read is in progress, and URLs were queued since that it may have missed.
    Outdated,
    /// A read is in progress, and what it finds no longer holds.
    Void,
}

/// What is known of a host's robots.txt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Robots {
    /// It is known, or the next read will tell.
    Known,
    /// It must be fetched before anything else.
    Wanted,
    /// It is being fetched or committed.
    InProgress,
}

/// What is known of a host's address.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum AddressState {
    /// Nothing: it is resolved before the host is visited.
    Unknown,
    /// It is being resolved.
    Asked,
    /// It is known; `None` if it could not be resolved or does not matter.
    Known(Option<IpAddr>),
}

impl AddressState {
    /// The address at which the host is visited, if that matters.
    pub(super) fn ip(self) -> Option<IpAddr> {
        match self {
            Self::Known(ip) => ip,
            Self::Unknown | Self::Asked => None,
        }
    }
}

impl ActiveHost {
    pub(super) fn new(due: Moment) -> Self {
        Self {
            pace: Pace {
                due,
                ..Pace::default()
            },
            not_before: Moment::default(),
            visited: false,
            busy: false,
            more: true,
            reading: ReadState::No,
            robots: Robots::Known,
            address: AddressState::Unknown,
            resolved: Moment::default(),
            standing: Standing::New,
            buffer: VecDeque::new(),
            // A new one comes first.
            last: Line::Requisites,
            cursors: [0; CLASSES as usize],
            in_progress: BTreeSet::new(),
            known: false,
            robots_redirects: VecDeque::new(),
            followed_redirects: false,
            served: 0,
            over_quantum: 0,
            leaving: false,
            held: false,
        }
    }

    pub(super) fn has_something_to_fetch(&self) -> bool {
        if !self.robots_redirects.is_empty() {
            return self.known || self.held;
        }
        match self.robots {
            _ if self.leaving || self.held => false,
            Robots::Known => !self.buffer.is_empty(),
            Robots::Wanted => true,
            Robots::InProgress => false,
        }
    }

    /// Takes out the URL to visit next: of the next line in turn in which one waits.
    pub(super) fn next_waiting(&mut self) -> Option<Waiting> {
        let place = |line| self.buffer.iter().position(|it| Line::of(it) == line);
        let next = self.last.next();
        let place = place(next).or_else(|| place(next.next()));
        // The others are of the line of the last one.
        let waiting = self.buffer.remove(place.unwrap_or(0))?;
        self.last = Line::of(&waiting);
        Some(waiting)
    }

    /// Whether nothing is waiting, in progress or being read.
    pub(super) fn is_done(&self) -> bool {
        self.is_at_rest() && self.buffer.is_empty() && !self.more && self.robots == Robots::Known
    }

    /// Whether it is to leave the working set now: everything it has is on disk.
    pub(super) fn is_to_leave(&self, now: Moment) -> bool {
        self.is_at_rest() && (self.leaving || self.held || self.pace.parked && self.pace.due > now)
    }

    /// Takes over the pace after a visit, except for the crawl delay, which is read with its URLs.
    pub(super) fn set_pace(&mut self, pace: &Pace) {
        self.visited = true;
        self.pace = Pace {
            crawl_delay: self.pace.crawl_delay,
            ..*pace
        };
    }

    /// Whether no visit is to be made, is in progress or waits for its commit.
    pub(super) fn is_committed(&self) -> bool {
        self.in_progress.is_empty()
            && self.robots_redirects.is_empty()
            && self.robots != Robots::InProgress
            && !self.busy
    }

    /// Whether nothing is in progress or being read.
    pub(super) fn is_at_rest(&self) -> bool {
        self.is_committed()
            && matches!(self.reading, ReadState::No | ReadState::Wanted)
            && self.address != AddressState::Asked
    }

    /// The lowest sequence of a class that is waiting here or in progress. Everything on disk is
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
