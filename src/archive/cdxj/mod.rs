//! Indexes of captures: CDXJ, a line for each record that a player can serve, sorted by the key of
//! its URL and by time. The lines are byte for byte those of `cdxj-indexer`, so that indexes of
//! several crawlers merge, and a test compares the two.
//!
//! `line.rs` makes a line of a record, `beside.rs` keeps the index of a file that is being written,
//! `sort.rs` sorts lines without holding all of them.

mod beside;
mod line;
mod sort;

pub use line::{IndexLine, index_line, index_path};
pub use sort::{LineSorter, SortedLines};

pub(super) use beside::{IndexBeside, forget};

#[cfg(test)]
mod tests;
