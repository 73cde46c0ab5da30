//! How much of a crawl is enough: a row of the engine. Who sees by what all workers tell that it is
//! reached stops the crawl, so it ends with what comes within two seconds more.

use serde::{Deserialize, Serialize};

use crate::broker::{Broker, Result};
use crate::cluster::rows::{put, read};
use crate::units::Size;

/// The row.
const LIMITS: &str = "limits";

/// How much of a crawl is enough.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Limits {
    /// Pages of all shards together; `None` for any number.
    pub max_pages: Option<u64>,
    /// Bytes of bodies that all shards together receive; `None` for any number.
    pub max_bytes: Option<u64>,
}

impl Limits {
    /// Reads them; none if none were set.
    ///
    /// # Errors
    ///
    /// What the engine says.
    pub fn read(broker: &dyn Broker) -> Result<Self> {
        Ok(read(broker, LIMITS)?.1)
    }

    /// Sets them, in place of those before.
    ///
    /// # Errors
    ///
    /// What the engine says.
    pub fn set(self, broker: &dyn Broker) -> Result<()> {
        put(broker, LIMITS, &self)
    }

    /// Returns which of them is reached by these pages and bytes, in words, if one is.
    pub fn reached(self, (pages, bytes): (u64, u64)) -> Option<String> {
        if let Some(most) = self.max_pages.filter(|most| pages >= *most) {
            let s = if most == 1 { "" } else { "s" };
            return Some(format!("its maximum of {most} page{s}"));
        }
        let most = self.max_bytes.filter(|most| bytes >= *most)?;
        Some(format!("its maximum of {}", Size(most)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::broker::Memory;

    #[test]
    fn what_is_enough_is_reached_by_all_shards_together() {
        let none = Limits::default();
        assert_eq!(none.reached((u64::MAX, u64::MAX)), None);
        let limits = Limits {
            max_pages: Some(1_000),
            max_bytes: Some(5_000_000),
        };
        assert_eq!(limits.reached((999, 4_999_999)), None);
        let pages = limits.reached((1_000, 0));
        assert_eq!(pages.as_deref(), Some("its maximum of 1000 pages"));
        let bytes = limits.reached((0, 5_000_001));
        assert_eq!(bytes.as_deref(), Some("its maximum of 5MB"));
    }

    #[test]
    fn limits_are_read_as_they_were_set() {
        let engine = Memory::start(1_000);
        engine.create("00").unwrap();
        assert_eq!(Limits::read(&engine), Ok(Limits::default()));
        let limits = Limits {
            max_pages: Some(7),
            max_bytes: None,
        };
        limits.set(&engine).unwrap();
        assert_eq!(Limits::read(&engine), Ok(limits));
        Limits::default().set(&engine).unwrap();
        assert_eq!(Limits::read(&engine), Ok(Limits::default()));
    }
}
