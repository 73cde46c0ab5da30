//! What a crawl calls duplicates: `dups` lists them, `show` gives them back, `mark` says whether
//! they are, `restore` makes them pages of their own.

pub(super) mod dups;
pub(super) mod mark;
pub(super) mod restore;
pub(super) mod show;

mod sample;
