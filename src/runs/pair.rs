//! What the runs hold.

/// A key and its value.
pub(super) type Pair = (u64, u64);
