//! What a crawl calls duplicates: `dups` lists them, `show` gives them back, `restore` makes them
//! pages of their own.

pub(super) mod dups;
pub(super) mod restore;
pub(super) mod show;

mod diff;
mod sample;
