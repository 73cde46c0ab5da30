//! What the visits to a host teach about its URLs: traps, variants of one page, hosts under several
//! names, texts sent instead of pages, and the template that the pages of a site share.
//!
//! Everything here counts what the crawl saw. It does no I/O, reads no clock and knows nothing of
//! the frontier. The engine stores the rows and acts on the results.

mod pattern;
mod traps;

mod host_aliases;
mod variants;

mod repeats;
mod template;

pub use host_aliases::{Twins, counterpart, is_preferred, is_sampled, may_be_one};
pub use pattern::{Pattern, skeleton};
pub use repeats::Repeats;
pub use template::{Change, MAX_CELLS, Seen, Sighting, Standing, Template, Unit, YOUNG, slot};
pub use traps::{
    OutcomeWindow, PageOutcome, PatternState, Spent, Trail, Trap, TrapOverrides, TrapPolicy,
    by_form,
};
pub use variants::{
    AliasMode, Class, Evidence, LearnOverrides, LearnPolicy, LearnedRules, MAX_SUBJECTS, Stage,
    Subject, Sweep, rules_of,
};
