//! Where a URL waits: its priority class, its sequence, and its position in a block.

use serde::{Deserialize, Serialize};

/// Number of priority classes; 0 is served first.
pub const CLASSES: u8 = 16;

/// The priority class of a URL at this depth: seeds first.
pub fn class_of(depth: u16) -> u8 {
    depth.min(u16::from(CLASSES - 1)) as u8
}

/// Where a task waits: what its commit takes from the queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    /// The priority class.
    pub class: u8,
    /// The number given at admission, rising within the crawl.
    pub sequence: u64,
    /// The block in which it lies.
    pub block: InBlock,
    /// No URL of this host and class below this number is waiting or in progress: the new head.
    pub floor: u64,
}

/// Where a URL stands in its block.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct InBlock {
    /// The sequence under which the block is filed: none of its URLs has a higher one.
    pub last: u64,
    /// Position in the block.
    pub index: u8,
    /// URLs of the block.
    pub count: u8,
}

/// A block of which some URLs have left, and not all.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Opened {
    /// The class in which it waits.
    pub class: u8,
    /// The sequence under which it is filed.
    pub last: u64,
    /// A bit for each URL that has left, by its position.
    pub gone: u64,
}

/// The bit of a position in a block.
pub(super) fn bit(index: u8) -> u64 {
    1_u64.checked_shl(u32::from(index)).unwrap_or(0)
}
