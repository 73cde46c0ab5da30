//! Pages after their first visit: their records, when they are revisited, which page succeeds a
//! lost original, what expires, and what a user requeues.

mod expiry;
mod membership;
mod page_records;
mod queue;
mod requeue;
mod revisit;
mod succession;

pub(in crate::engine) use expiry::{Expiry, is_mostly_dead, read_retired};
pub(in crate::engine) use page_records::{validators, write_page_record};
pub(in crate::engine) use requeue::find;
pub use requeue::{retry, retry_classes};
pub(in crate::engine) use revisit::Revisits;
