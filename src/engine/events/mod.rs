//! Events: what happens during a run that an operator wants to be told, as the log tells it, for
//! any number of readers that follow along. (What the scheduler is told is in `event.rs`.)
//!
//! The last [`KEPT`] are in a ring in memory, at most some 9 MB of them; they end with the process,
//! and the log has the same lines. Whoever tells one never waits for a reader: a slot of the ring
//! is replaced whole, and readers share what is in it.

mod happening;
mod kind;

#[cfg(test)]
mod tests;

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use arc_swap::ArcSwapOption;
use jiff::Timestamp;
use serde::{Serialize, Serializer};
use tokio::sync::watch;

use crate::frontier::Moment;
pub(crate) use happening::Happening;
pub use kind::EventKind;

/// Number of events that are kept.
pub const KEPT: usize = 10_000;

/// Maximum length of what an event says, in bytes.
const MAX_TEXT: usize = 500;

/// Number of events that a process can number each millisecond without reaching the numbers of one
/// that starts later.
const IDS_PER_MILLISECOND: u64 = 1_000;

/// An event.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, schemars::JsonSchema)]
pub struct CrawlEvent {
    /// Its number, higher than that of any before, those of earlier runs included (unless the clock
    /// was set back since). In JSON it is a string, because it has more digits than a number there.
    #[serde(serialize_with = "as_text")]
    #[schemars(with = "String")]
    pub id: u64,
    /// When it happened (RFC 3339).
    pub time: String,
    /// What kind of event it is.
    pub kind: EventKind,
    /// The host that it is about: scheme, name and port.
    pub host: Option<String>,
    /// What happened, in a sentence.
    pub text: String,
}

/// The events of a run. Cheap to clone.
#[derive(Clone)]
pub struct Events(Arc<Ring>);

struct Ring {
    slots: Box<[ArcSwapOption<CrawlEvent>]>,
    /// Number of the first event of this run.
    first: u64,
    /// Number of the next event. Its slot, and those of some before it, may still be being filled.
    next: AtomicU64,
    /// Number of the last event, for those who wait for more.
    news: watch::Sender<u64>,
}

/// What a reader is told at once.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Told {
    /// Set if events behind the one that the reader knew are gone, or are those of an earlier run.
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
    /// Creates the ring of a run that starts now.
    pub(crate) fn new(now: Moment) -> Self {
        Self::with_slots(KEPT, now)
    }

    fn with_slots(slots: usize, now: Moment) -> Self {
        let first = now.0.saturating_mul(IDS_PER_MILLISECOND).max(1);
        Self(Arc::new(Ring {
            slots: (0..slots).map(|_| ArcSwapOption::empty()).collect(),
            first,
            next: AtomicU64::new(first),
            news: watch::Sender::new(first - 1),
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
        let id = self.0.next.fetch_add(1, Ordering::AcqRel);
        let event = CrawlEvent {
            id,
            time: format!("{:.3}", Timestamp::now()),
            kind,
            host,
            text,
        };
        self.slot(id).store(Some(Arc::new(event)));
        self.0.news.send_modify(|latest| *latest = id.max(*latest));
    }

    fn slot(&self, id: u64) -> &ArcSwapOption<CrawlEvent> {
        // The remainder is less than a length, so it is an index.
        &self.0.slots[(id % self.0.slots.len() as u64) as usize]
    }

    /// Returns the events behind one, at most so many: from the oldest on if none is named.
    pub fn after(&self, known: Option<u64>, most: usize) -> Told {
        let next = self.0.next.load(Ordering::Acquire);
        let kept = next.saturating_sub(self.0.slots.len() as u64);
        let oldest = kept.max(self.0.first);
        let mut told = Told::default();
        let mut wanted = match known {
            None => oldest,
            Some(known) if (oldest - 1..next).contains(&known) => known + 1,
            Some(after) => {
                told.missed = Some(Missed {
                    after,
                    next: oldest,
                });
                oldest
            }
        };
        while told.events.len() < most && wanted < next {
            let slot = self.slot(wanted).load_full();
            match slot {
                Some(event) if event.id == wanted => told.events.push(event),
                // It was overtaken while this was read: what is left is still a whole sequence.
                Some(event) if event.id > wanted && told.events.is_empty() => {
                    let after = known.unwrap_or(wanted - 1);
                    wanted = event.id - self.0.slots.len() as u64 + 1;
                    told.missed = Some(Missed {
                        after,
                        next: wanted,
                    });
                    continue;
                }
                // It is being written, or the next call says what was missed.
                _ => break,
            }
            wanted += 1;
        }
        told
    }

    /// Returns the number of the last event, or of the one before the first if there is none yet.
    pub fn last(&self) -> u64 {
        self.0.next.load(Ordering::Acquire) - 1
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

impl fmt::Debug for Events {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let next = &self.0.next;
        f.debug_struct("Events").field("next", next).finish()
    }
}

/// A reader that follows the events of a run.
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

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes references")]
fn as_text<S: Serializer>(id: &u64, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(id)
}
