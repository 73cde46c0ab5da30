//! What the rows of a crawl that is one shard of several say of other shards and other disks.

mod foreign;
mod keepers;
mod listed;

pub use foreign::{ForeignOriginal, Raced};
pub use keepers::Keeper;
pub use listed::{BroughtBack, listed_seen, listed_through};
