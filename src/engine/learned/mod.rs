//! What visits teach about hosts, as rows: kinds of URLs that say nothing, budgets, hearsay,
//! repeated refusals, script shells, templates of sites, and the URLs that are deferred because of
//! their kinds.
//!
//! The rules are pure and in the room `learn`. They are applied at admission; what a visit teaches
//! changes rows and names the URLs that come back, which admission then queues.

pub(crate) mod budgets;
pub(crate) mod hearsay;
pub(crate) mod own;
pub(crate) mod refusals;
pub(crate) mod requisites;
pub(crate) mod restless;
pub(crate) mod shells;
pub(crate) mod template;

pub(crate) mod deferred;
pub(crate) mod novelty;
pub(crate) mod rows;

pub(crate) mod kinds;
