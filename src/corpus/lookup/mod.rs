//! Indexes in memory: fingerprints, signatures and sets, found by what they share.

mod bands;
mod sets;
mod shards;
mod tables;

pub(super) use bands::{Bands, Spread, keys};
pub(super) use sets::{KEPT_WORDS, Sets};
pub use tables::{Found, MAX_GUARANTEED, Tables};
