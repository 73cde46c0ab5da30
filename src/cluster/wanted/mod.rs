//! What people want of a crawl: that it goes on, waits or ends, whether it stays when nothing is
//! left, and which workers own nothing (`wishes`), and how much is enough (`limits`).
//!
//! The directory of a worker keeps what it has heard last, for an engine that has lost its data: a
//! crawl that was paused, or had enough, does not go on because it is restored.

mod limits;
mod wishes;

use std::io;
use std::path::Path;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::kept;
use super::rows::put;
use crate::broker::{Broker, Result};
pub use limits::Limits;
pub use wishes::{Going, drain, set_going, set_staying};
pub(super) use wishes::{Wishes, stop};

/// Name of the file in the directory of a worker.
const FILE: &str = "wanted.json";

/// What people want of a crawl.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Wanted {
    /// Whether it is to go on, and who is to own nothing.
    pub(super) wishes: Wishes,
    /// How much of it is enough.
    pub(super) limits: Limits,
    /// Whether it stays when nothing is left to fetch.
    #[serde(default)]
    pub(super) stays: bool,
}

impl Wanted {
    pub(super) fn read(broker: &dyn Broker) -> Result<Self> {
        Ok(Self {
            wishes: Wishes::read(broker)?,
            limits: Limits::read(broker)?,
            stays: wishes::stays(broker)?,
        })
    }

    /// Writes it to an engine that has lost its data.
    pub(super) fn restore(&self, broker: &dyn Broker) -> Result<()> {
        put(broker, wishes::WISHES, &self.wishes)?;
        set_staying(broker, self.stays)?;
        self.limits.set(broker)
    }
}

/// What a worker had heard by some moment.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Heard {
    /// When it heard of it first, in ms since 1970 by its clock.
    since: i64,
    pub(super) wanted: Wanted,
}

impl Heard {
    /// Returns what the worker of a directory has heard; `None` if it was never started.
    pub(super) fn of(directory: &Path) -> io::Result<Option<Self>> {
        kept::read(&directory.join(FILE))
    }

    /// Keeps in the directory of a worker what it hears, unless that is what it knows already.
    pub(super) fn keep(
        known: &mut Option<Self>,
        directory: &Path,
        wanted: &Wanted,
    ) -> io::Result<()> {
        if known.as_ref().is_some_and(|known| known.wanted == *wanted) {
            return Ok(());
        }
        let heard = Self {
            since: Timestamp::now().as_millisecond(),
            wanted: wanted.clone(),
        };
        kept::write(&directory.join(FILE), &heard)?;
        *known = Some(heard);
        Ok(())
    }

    /// Takes over what another worker has heard, if that is newer.
    pub(super) fn merge(&mut self, other: Self) {
        if other.since > self.since {
            *self = other;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::broker::Memory;
    use crate::cluster::{Going, set_going};

    fn paused() -> Wanted {
        let mut wanted = Wanted::default();
        wanted.wishes.going = Going::Paused;
        wanted.wishes.drained.insert("w2".to_owned());
        wanted.limits.max_pages = Some(7);
        wanted.stays = true;
        wanted
    }

    #[test]
    fn what_was_wanted_is_wanted_of_a_restored_engine() {
        let engine = Memory::start(1_000);
        engine.create("00").unwrap();
        assert_eq!(Wanted::read(&engine), Ok(Wanted::default()));
        paused().restore(&engine).unwrap();
        assert_eq!(Wanted::read(&engine), Ok(paused()));
        assert_eq!(set_going(&engine, Going::Running), Ok(Going::Paused));
    }

    #[test]
    fn a_directory_keeps_since_when_something_is_wanted() {
        let place = tempfile::tempdir().unwrap();
        assert_eq!(Heard::of(place.path()).unwrap(), None);
        // A file that cannot be read is written anew.
        std::fs::write(place.path().join(FILE), "{").unwrap();
        assert!(Heard::of(place.path()).is_err());
        let mut known = None;
        let mut keep = |wanted| Heard::keep(&mut known, place.path(), &wanted).unwrap();
        keep(paused());
        let first = Heard::of(place.path()).unwrap().unwrap();
        assert_eq!(first.wanted, paused());
        keep(paused());
        assert_eq!(Heard::of(place.path()).unwrap(), Some(first));
        keep(Wanted::default());
        let then = Heard::of(place.path()).unwrap().unwrap();
        assert_eq!(then.wanted, Wanted::default());
    }

    #[test]
    fn what_was_kept_before_crawls_could_stay_is_read() {
        let json = r#"{"wishes": {"going": "paused", "drained": []}, "limits": {}}"#;
        let wanted: Wanted = serde_json::from_str(json).unwrap();
        assert_eq!((wanted.wishes.going, wanted.stays), (Going::Paused, false));
    }

    #[test]
    fn what_was_heard_last_holds() {
        let heard = |since, wanted| Heard { since, wanted };
        for order in [[1, 2], [2, 1]] {
            let mut all = Heard::default();
            for since in order {
                let wanted = if since == 2 {
                    paused()
                } else {
                    Wanted::default()
                };
                all.merge(heard(since, wanted));
            }
            assert_eq!(all, heard(2, paused()));
        }
    }
}
