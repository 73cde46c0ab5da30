//! `Kept`: where the body of a duplicate is kept beside its original's.

use serde::{Deserialize, Serialize};

use crate::archive::Location;
use crate::dedup::Stored;

/// Where the body of a duplicate is: the row in `Kept`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Kept {
    /// Place of a pack in the archive of texts, and the number of the body in it. `None` while a
    /// row of `Meta` has the body, as a pack of one.
    pub pack: Option<(Location, u8)>,
    /// Place of the response that the body is a delta against, if it is one.
    pub base: Option<Location>,
}

/// The place of a response in the archive of the crawl. Says nothing of one that is
/// [elsewhere](Stored::is_elsewhere).
impl From<&Stored> for Location {
    fn from(stored: &Stored) -> Self {
        Self {
            segment: stored.segment,
            offset: stored.offset,
            length: stored.length,
        }
    }
}
