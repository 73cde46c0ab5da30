//! Orders that people give in the list of the crawl, and what comes of them.
//!
//! Each shard carries an order out when it comes to it: it puts back what failed (`retries`), or
//! forgets something (`takedown`). What is to be forgotten is in files of workers too that do not
//! own the shard any more, and each searches its own (`searches`). Who carries orders out says what
//! came of them (`answers`), and whoever gave one looks who is to (`standing`).

mod answers;
pub(super) mod retries;
pub(super) mod searches;
mod standing;
pub(super) mod takedown;

pub use standing::Pending;
pub(super) use standing::passed;
