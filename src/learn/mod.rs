//! What the visits to a host teach about its URLs: which kinds of them lead to nothing new (traps,
//! variants of one page, hosts under several names), texts sent instead of pages, and the template
//! that the pages of a site share.
//!
//! Everything here counts what the crawl saw. It does no I/O, reads no clock and knows nothing of
//! the frontier. The engine stores the rows and acts on the results.

mod pattern;
mod policy;
mod traps;

mod host_aliases;

mod kinds;
mod ledger;

mod expectation;
mod suspicion;

mod repeats;
mod template;

#[cfg(test)]
mod simulator;

pub use expectation::Expectation;
pub use host_aliases::{counterpart, may_be_one};
pub use kinds::{Found, Kind, KindId, Slot, is_from_elsewhere};
pub use ledger::{Deferral, Ledger, Stratum};
pub use pattern::Pattern;
pub use policy::{AliasMode, LearnOverrides, LearnPolicy};
pub use repeats::Repeats;
pub use suspicion::{
    Draw, Return, Rows, Suspect, Suspecting, Suspicions, Sweep, Visit, next_draw, open_all,
};
pub use template::{
    Change, Class, Doubt, KnownLines, MAX_CELLS, Seen, Sighting, Standing, Template, Unit, YOUNG,
    slots,
};
pub use traps::{Spent, Trail, Trap, TrapMode, TrapOverrides, TrapPolicy, by_form};
