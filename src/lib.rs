//! gleaner: a polite, standalone web crawler whose heart is deduplication.
//!
//! The rooms, in the order in which a newcomer should read them. `engine::visit` shows a URL's way
//! through them as types; docs/architecture.md tells who may import whom, and why.

pub mod units;

pub mod seeds;
pub mod url;

pub mod frontier;
pub mod learn;
pub mod robots;

pub mod fetch;

pub mod page;

pub mod dedup;

pub mod archive;

pub mod runs;
pub mod store;

pub mod journal;
pub mod rows;

pub mod engine;

pub mod inspect;

pub mod corpus;

pub mod config;
pub mod control;

pub mod demo;

pub mod cli;
