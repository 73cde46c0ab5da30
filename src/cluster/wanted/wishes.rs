//! What people want of a crawl: that it goes on, waits or ends, whether it stays when nothing is
//! left, and that workers own nothing. Rows of the engine, which each worker reads with its beat.

use std::collections::BTreeSet;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use strum::IntoStaticStr;

use crate::broker::{Broker, Result};
use crate::cluster::rows::{Rows, change, read};

/// The row of what is wished.
pub(super) const WISHES: &str = "wishes";
/// The row of whether the crawl stays.
const STAYS: &str = "stays";

/// Whether a crawl is to go on.
#[derive(
    Debug,
    Clone,
    Copy,
    Default,
    PartialEq,
    Eq,
    Serialize,
    Deserialize,
    schemars::JsonSchema,
    IntoStaticStr,
)]
#[serde(rename_all = "lowercase")]
#[strum(serialize_all = "lowercase")]
pub enum Going {
    /// It goes on.
    #[default]
    Running,
    /// No worker makes visits.
    Paused,
    /// Its workers end, and those that are started wait.
    Stopped,
}

/// What people want of a crawl.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(in crate::cluster) struct Wishes {
    /// Whether it is to go on.
    pub(in crate::cluster) going: Going,
    /// The workers that are to own nothing.
    pub(in crate::cluster) drained: BTreeSet<String>,
}

impl Wishes {
    pub(in crate::cluster) fn read(broker: &dyn Broker) -> Result<Self> {
        Ok(read(broker, WISHES)?.1)
    }
}

/// Returns whether a crawl stays when nothing is left to fetch: its pages are visited again, and it
/// waits for seeds.
///
/// # Errors
///
/// What the engine says.
pub(super) fn stays(broker: &dyn Broker) -> Result<bool> {
    Ok(read(broker, STAYS)?.1)
}

/// Lets a crawl stay when nothing is left to fetch, or end then. Returns whether that is new.
///
/// # Errors
///
/// What the engine says.
pub fn set_staying(broker: &dyn Broker, is_to_stay: bool) -> Result<bool> {
    let mut is_new = false;
    change(broker, STAYS, |stays: &mut bool| {
        is_new = std::mem::replace(stays, is_to_stay) != is_to_stay;
        is_new
    })?;
    Ok(is_new)
}

/// Lets a crawl go on, wait or end. Returns what was wanted before.
///
/// # Errors
///
/// What the engine says.
pub fn set_going(broker: &dyn Broker, going: Going) -> Result<Going> {
    let mut before = going;
    change(broker, WISHES, |wishes: &mut Wishes| {
        before = std::mem::replace(&mut wishes.going, going);
        before != going
    })?;
    Ok(before)
}

/// Stops a crawl that goes on, because it has what it was to have.
pub(in crate::cluster) fn stop(broker: &dyn Broker) -> Result<()> {
    let stopped = change(broker, WISHES, |wishes: &mut Wishes| {
        let is_running = wishes.going == Going::Running;
        if is_running {
            wishes.going = Going::Stopped;
        }
        is_running
    });
    stopped.map(drop)
}

/// Lets a worker give away what it owns and stay without, or (`is_drained` false) own shards again.
/// Returns whether that is new; `None` if the crawl has no worker of the name.
///
/// # Errors
///
/// What the engine says.
pub fn drain(broker: &Arc<dyn Broker>, worker: &str, is_drained: bool) -> Result<Option<bool>> {
    let workers = Rows::new(Arc::clone(broker)).workers()?;
    if is_drained && !workers.iter().any(|name| name == worker) {
        return Ok(None);
    }
    let mut is_new = false;
    change(&**broker, WISHES, |wishes: &mut Wishes| {
        is_new = match is_drained {
            true => wishes.drained.insert(worker.to_owned()),
            false => wishes.drained.remove(worker),
        };
        is_new
    })?;
    Ok(Some(is_new))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::broker::Memory;

    #[test]
    fn a_crawl_ends_unless_it_is_to_stay() {
        let engine = Memory::start(1_000);
        engine.create("00").unwrap();
        assert_eq!(stays(&engine), Ok(false));
        assert_eq!(set_staying(&engine, false), Ok(false));
        for stay in [true, false] {
            assert_eq!(set_staying(&engine, stay), Ok(true));
            assert_eq!(set_staying(&engine, stay), Ok(false));
            assert_eq!(stays(&engine), Ok(stay));
        }
    }

    #[test]
    fn wishes_hold_until_there_are_others() {
        let engine = Memory::start(1_000);
        engine.create("00").unwrap();
        let broker: Arc<dyn Broker> = Arc::new(engine);
        assert_eq!(Wishes::read(&*broker), Ok(Wishes::default()));
        assert_eq!(set_going(&*broker, Going::Paused), Ok(Going::Running));
        assert_eq!(set_going(&*broker, Going::Paused), Ok(Going::Paused));
        stop(&*broker).unwrap();
        assert_eq!(set_going(&*broker, Going::Running), Ok(Going::Paused));
        stop(&*broker).unwrap();
        assert_eq!(set_going(&*broker, Going::Paused), Ok(Going::Stopped));
        assert_eq!(drain(&broker, "a", true), Ok(None));
        Rows::new(Arc::clone(&broker)).join("a").unwrap();
        assert_eq!(drain(&broker, "a", true), Ok(Some(true)));
        assert_eq!(drain(&broker, "a", true), Ok(Some(false)));
        let wishes = Wishes::read(&*broker).unwrap();
        assert_eq!(wishes.going, Going::Paused);
        assert_eq!(wishes.drained, BTreeSet::from(["a".to_owned()]));
        assert_eq!(drain(&broker, "a", false), Ok(Some(true)));
        assert_eq!(Wishes::read(&*broker).unwrap().drained, BTreeSet::new());
    }
}
