//! Which URL is visited next, and when.
//!
//! Links and seeds are admitted ([`Scope`], depth, [`SeenSet`]), wait on disk in one queue per host
//! ([`QueuedUrl`]), are read a few at a time into a working set of hosts ([`refill()`], [`load()`])
//! and are handed out by the [`Schedule`], which is told the time and reads no clock. A host that
//! is being visited is not in the schedule, so it cannot be visited twice at once. It comes back
//! with a due time that respects its delay and that of its address ([`Politeness`]). Each host can
//! have its own policy ([`Policies`]).

mod admission;
mod forgotten;
mod held_hosts;
mod scope;
mod seed;
mod shards;

mod seen;

mod policy;
mod politeness;
mod revisit_interval;

mod queue;

mod schedule;

mod moment;

pub use admission::{Admission, Candidate, Limits, Provenance, admit, is_by_page};
pub use forgotten::{
    ForgetRules, Forgotten, MAX_RULES, Remembrance, Selection, SharedForgotten, ids_of,
};
pub use held_hosts::{HeldHosts, MAX_HELD_HOSTS, NoHost, hosts_named};
pub use moment::Moment;
pub use policy::{
    CrawlOverrides, CrawlPolicy, MAX_REQUISITES, Overrides, Policies, Policy, RequisiteMode,
    RobotsMode, SharedPolicies, SitemapMode,
};
pub use politeness::{Answer, Pace, Politeness, PolitenessOverrides, Trouble, Troubles};
pub use queue::block::{BLOCK, Block};
pub use queue::host::{HostState, Leave, ROBOTS_TTL, RobotsRow, RobotsState, RobotsVerdict};
pub use queue::place::{AGAIN, CLASSES, InBlock, LAST, Opened, Place, REQUISITES, class_of};
pub use queue::refill::{
    LoadRequest, Loaded, PARKED, RefillRequest, Refilled, RobotsPolicy, SkipReason, Waiting,
    domain_spent, load, path_and_query, refill, was_never_asked,
};
pub use queue::task::{
    FetchTask, HeldAddress, Purpose, QueuedUrl, Reading, RequisiteOf, RobotsRedirect, Validators,
    Visited,
};
pub use queue::walk::{GoOn, VisitWaiting, for_each_waiting};
pub use queue::write::{QueuedRow, file_by_due_time, put_queued};
pub use revisit_interval::{Finding, RevisitMode, RevisitPolicy};
pub use schedule::{Action, Schedule, ScheduleOptions, Spender, server_of};
pub use scope::{MovedSeeds, Scope, ScopeKind, admits_by_entries};
pub use seed::{Seed, SeedSettings, seed_in};
pub use seen::{SEEN, SeenOptions, SeenSet, verify_filters};
pub use shards::{MAX_SHARDS, NoShard, Shards};
