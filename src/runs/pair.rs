//! What run files and tables contain.

/// A key and its value.
pub(super) type Pair = (u64, u64);
