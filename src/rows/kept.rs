//! `Kept`: where the body of a duplicate is kept beside its original's.

use serde::{Deserialize, Serialize};

use crate::archive::Location;

/// Where the body of a duplicate is: the row in `Kept`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Kept {
    /// Place of a pack in the archive of texts, and the number of the body in it. `None` while a
    /// row of `Meta` has the body, as a pack of one.
    pub pack: Option<(Location, u8)>,
    /// Place of the response that the body is a delta against, if it is one.
    pub base: Option<Location>,
}
