//! Where a URL waits: its priority class, its sequence and its position in a block.

use serde::{Deserialize, Serialize};

/// Number of priority classes.
pub const CLASSES: u8 = 18;

/// The last class of URLs that were not visited. Class 0 is served first.
pub const LAST: u8 = 15;

/// The class of pages that are visited again. It has no rank among the others: while both wait, a
/// host is asked for one of these and one of the others in turn, so that neither keeps the other
/// waiting for ever.
pub const AGAIN: u8 = 16;

/// The class of requisites, which has no rank either: what waits of new pages, of pages to be
/// visited again and of requisites takes turns.
pub const REQUISITES: u8 = CLASSES - 1;

/// The priority class of a URL at this depth: seeds come first.
pub fn class_of(depth: u16) -> u8 {
    depth.min(u16::from(LAST)) as u8
}

/// Where a task waits in its host's queue; its commit removes it from there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    /// The priority class.
    pub class: u8,
    /// The number assigned at admission, ascending within the crawl.
    pub sequence: u64,
    /// The block that contains it.
    pub block: InBlock,
    /// No URL of this host and class with a lower sequence is waiting or in progress; becomes the
    /// new head.
    pub floor: u64,
}

/// The position of a URL in its block.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct InBlock {
    /// The sequence under which the block is stored: the highest of its URLs.
    pub last: u64,
    /// Position in the block, from 0.
    pub index: u8,
    /// Number of URLs in the block.
    pub count: u8,
}

/// A block that some of its URLs have left.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Opened {
    /// The priority class.
    pub class: u8,
    /// The sequence under which the block is stored.
    pub last: u64,
    /// The URLs that have left, one bit per position.
    pub gone: u64,
}

/// The bit of a position in a block.
pub(super) fn bit(index: u8) -> u64 {
    1_u64.checked_shl(u32::from(index)).unwrap_or(0)
}
