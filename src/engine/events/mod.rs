//! Events: what happens during a run that an operator wants to be told, as the log tells it, for
//! any number of readers that follow along. (What the scheduler is told is in `event.rs`.)
//!
//! The last [`KEPT`] are in memory, at most some 9 MB of them, and in a file (`journal.rs`), so
//! that whoever was away while the process ended goes on behind the last that it knew. An event is
//! in the file before anyone can read it. That is one short write into the system's memory (2.5 µs
//! of a processor with all the rest): whoever tells something waits neither for a disk nor for a
//! reader, but for the one line in ten thousand that is synced.

mod happening;
mod journal;
mod kind;
mod told;

#[cfg(test)]
mod tests;

use std::collections::VecDeque;
use std::fmt;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use jiff::Timestamp;
use tokio::sync::watch;

use crate::frontier::Moment;
pub(crate) use happening::Happening;
use journal::{Journal, Opened, Slot};
pub use kind::EventKind;
pub(crate) use told::MAX_TEXT;
pub use told::{CrawlEvent, KEPT};

/// Number of events that a process can number each millisecond without reaching the numbers of one
/// that starts later.
const IDS_PER_MILLISECOND: u64 = 1_000;

/// The events of a crawl. Cheap to clone.
#[derive(Clone)]
pub struct Events(Arc<Ring>);

struct Ring {
    /// Held while an event is told, so that they are in the file in the order of their numbers.
    journal: Mutex<Option<Journal>>,
    /// Held for moments only, and never while something is written.
    kept: Mutex<Kept>,
    /// Number of the last event, for those who wait for more.
    news: watch::Sender<u64>,
}

struct Kept {
    slots: VecDeque<Slot>,
    /// How many are kept.
    most: usize,
    /// Number of the next event.
    next: u64,
    /// The least number with which nothing before that is missed.
    behind: u64,
}

/// What a reader is told at once.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Told {
    /// Set if events behind the one that the reader knew are gone.
    pub missed: Option<Missed>,
    /// The next events, in order.
    pub events: Vec<Arc<CrawlEvent>>,
}

/// Events that a reader asked for and that are no longer there, if there were any.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Missed {
    /// The last event that the reader knew.
    pub after: u64,
    /// The event with which it goes on.
    pub next: u64,
}

impl Events {
    /// Opens the events of the crawl in a data directory, for a run that starts now. A file that
    /// cannot be read is no reason not to crawl.
    pub(crate) fn open(data: &Path, now: Moment) -> Self {
        let Opened {
            journal,
            slots,
            next,
            behind,
        } = Journal::open(data, first_number(now));
        Self::with(
            Some(journal),
            Kept {
                slots,
                most: KEPT,
                next,
                behind,
            },
        )
    }

    /// Creates events that end with the process, for tests.
    #[cfg(test)]
    pub(crate) fn new(now: Moment) -> Self {
        Self::with_slots(KEPT, now)
    }

    #[cfg(test)]
    fn with_slots(most: usize, now: Moment) -> Self {
        let next = first_number(now);
        let kept = Kept {
            slots: VecDeque::new(),
            most,
            next,
            behind: next - 1,
        };
        Self::with(None, kept)
    }

    fn with(journal: Option<Journal>, kept: Kept) -> Self {
        Self(Arc::new(Ring {
            journal: Mutex::new(journal),
            news: watch::Sender::new(kept.next - 1),
            kept: Mutex::new(kept),
        }))
    }

    /// Tells what happened: to the log, and to those who follow.
    pub(crate) fn tell(&self, happening: &Happening) {
        happening.log();
        self.push(
            happening.kind(),
            happening.host().map(|host| host.as_str().to_owned()),
            happening.text(),
        );
    }

    fn push(&self, kind: EventKind, host: Option<String>, mut text: String) {
        text.truncate(text.floor_char_boundary(MAX_TEXT));
        let mut journal = self.journal();
        let id = self.kept().next;
        let event = Arc::new(CrawlEvent {
            id,
            time: format!("{:.3}", Timestamp::now()),
            kind,
            host,
            text,
        });
        if let Some(journal) = &mut *journal {
            journal.write(&event);
        }
        self.kept().add(event);
        self.0.news.send_replace(id);
    }

    fn journal(&self) -> MutexGuard<'_, Option<Journal>> {
        // What a panic has left of a line is ended by the next.
        let journal = self.0.journal.lock();
        journal.unwrap_or_else(PoisonError::into_inner)
    }

    fn kept(&self) -> MutexGuard<'_, Kept> {
        // Events are added whole, so whoever panicked left nothing half done.
        self.0.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Says in the file that the run has ended: nothing is missing behind what it has.
    pub(crate) fn end(&self) {
        if let Some(journal) = &mut *self.journal() {
            journal.end();
        }
    }

    /// Takes from events that are meant what they say, also those that are kept in the file.
    pub(crate) fn forget(&self, is_meant: &dyn Fn(&CrawlEvent) -> bool) {
        let mut journal = self.journal();
        for slot in &mut self.kept().slots {
            if is_meant(&slot.event) {
                slot.event = Arc::new(slot.event.forgotten());
            }
        }
        if let Some(journal) = &mut *journal {
            journal.forget(is_meant);
        }
    }

    /// Returns the events behind one, at most so many: from the oldest on if none is named.
    pub fn after(&self, known: Option<u64>, most: usize) -> Told {
        self.kept().after(known, most)
    }

    /// Returns the number of the last event, or of the one before the first if there is none yet.
    pub fn last(&self) -> u64 {
        self.kept().next - 1
    }

    /// Follows the events behind one, from the oldest on if none is named.
    pub fn follow(&self, known: Option<u64>) -> Follower {
        Follower {
            events: self.clone(),
            known,
            news: self.0.news.subscribe(),
        }
    }
}

impl Kept {
    fn add(&mut self, event: Arc<CrawlEvent>) {
        if self.slots.len() == self.most {
            self.slots.pop_front();
        }
        let behind = self.behind;
        (self.next, self.behind) = (event.id + 1, event.id);
        self.slots.push_back(Slot { event, behind });
    }

    fn after(&self, known: Option<u64>, most: usize) -> Told {
        let mut told = Told::default();
        // One that was never told is another crawl's, or was before the clock was set back.
        let at = match known.filter(|known| *known < self.next) {
            Some(known) => self.slots.partition_point(|slot| slot.event.id <= known),
            None => 0,
        };
        let next = self.slots.get(at);
        let (next, behind) = next.map_or((self.next, self.behind), |it| (it.event.id, it.behind));
        if let Some(after) = known
            && (after < behind || after >= self.next)
        {
            told.missed = Some(Missed { after, next });
        }
        for slot in self.slots.range(at..).take(most) {
            // What is missing here is told to whoever goes on from there.
            if told.events.last().is_some_and(|last| last.id < slot.behind) {
                break;
            }
            told.events.push(Arc::clone(&slot.event));
        }
        told
    }
}

/// Returns the least number of the first event of a run that starts now. Those before it are in the
/// file, but it may not be there any more.
fn first_number(now: Moment) -> u64 {
    now.0.saturating_mul(IDS_PER_MILLISECOND).max(1)
}

impl fmt::Debug for Events {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let next = self.kept().next;
        f.debug_struct("Events").field("next", &next).finish()
    }
}

/// A reader that follows the events of a crawl.
#[derive(Debug)]
pub struct Follower {
    events: Events,
    known: Option<u64>,
    news: watch::Receiver<u64>,
}

impl Follower {
    /// Returns the next events, at most so many; waits until there are some. May be dropped and
    /// called again: nothing is lost.
    pub async fn next(&mut self, most: usize) -> Told {
        loop {
            self.news.borrow_and_update();
            let told = self.events.after(self.known, most.max(1));
            if let Some(last) = told.events.last() {
                self.known = Some(last.id);
                return told;
            }
            // That some are gone is told at once, and once: the next may be long in coming.
            if let Some(missed) = told.missed {
                self.known = Some(missed.next - 1);
                return told;
            }
            // The sender is part of what `self` holds, so waiting cannot fail.
            let _ = self.news.changed().await;
        }
    }
}
