//! The commands for corpora that others crawled.

pub(super) mod dedup;
pub(super) mod fingerprint;

mod features;
