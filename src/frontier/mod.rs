//! Which URL is visited next, and when.
//!
//! Links and seeds are admitted ([`Scope`], depth, [`SeenSet`]), wait on disk in one queue per host
//! ([`QueuedUrl`]), are read a few at a time into a working window of hosts ([`refill()`], [`load()`])
//! and are handed out by the [`Schedule`], which is told the time and never asks for it. A host
//! that is being visited is not in the schedule, so it cannot be visited twice at once; its delay
//! is the due time with which it comes back ([`Politeness`]), and so is that of its address. Hosts may be treated each in its own
//! way ([`Policies`]).

mod admission;
mod aliases;
mod block;
mod filling;
mod filters;
mod host;
mod lanes;
mod lessons;
mod pattern;
mod policy;
mod politeness;
mod refill;
mod repeats;
mod revisit;
mod schedule;
mod scope;
mod seen;
mod slot;
mod task;
mod traps;

pub use admission::{Admission, Candidate, Limits, Standing, admit};
pub use aliases::{Twins, counterpart, is_preferred, is_sampled, may_be_one};
pub use block::{BLOCK, Block, GoOn, InBlock, Opened, VisitWaiting, for_each_waiting};
pub use host::{HostState, Leave, RobotsRow, RobotsState, RobotsVerdict};
pub use lessons::{
    AliasMode, Class, Evidence, LearnPolicy, Lessons, MAX_SUBJECTS, Stage, Subject, Sweep, rules_of,
};
pub use pattern::{Pattern, skeleton};
pub use policy::{
    LearnOverrides, Overrides, Policies, Policy, RobotsMode, SharedPolicies, SitemapMode,
    TrapOverrides,
};
pub use politeness::{Answer, Pace, Politeness, Trouble, Troubles};
pub use refill::{
    LoadRequest, Loaded, PARKED, RefillRequest, Refilled, Refusal, RobotsPolicy, Waiting,
    domain_spent, load, path_and_query, refill,
};
pub use repeats::Repeats;
pub use revisit::{Finding, RevisitMode, RevisitPolicy};
pub use schedule::{Action, Schedule, ScheduleOptions};
pub use scope::{Scope, ScopeKind, admits_by_entries};
pub use seen::{SEEN, SeenOptions, SeenSet};
pub use task::{
    CLASSES, Errand, Expectation, FetchTask, Place, Purpose, QueuedUrl, Validators, Visited,
    class_of,
};
pub use traps::{PatternState, Record, Sighting, Spent, Trail, Trap, TrapPolicy, by_form};

use serde::{Deserialize, Serialize};
use std::time::Duration;

/// A point in time: milliseconds since 1970, never running backwards within a run.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
pub struct Moment(pub u64);

impl Moment {
    /// The moment `wait` later.
    #[must_use]
    pub fn plus(self, wait: Duration) -> Self {
        Self(
            self.0
                .saturating_add(u64::try_from(wait.as_millis()).unwrap_or(u64::MAX)),
        )
    }

    /// How long until `later`; zero if it has passed.
    pub fn until(self, later: Self) -> Duration {
        Duration::from_millis(later.0.saturating_sub(self.0))
    }

    /// The moment as rows have it: microseconds since 1970.
    pub fn micros(self) -> i64 {
        i64::try_from(self.0)
            .unwrap_or(i64::MAX)
            .saturating_mul(1_000)
    }
}
