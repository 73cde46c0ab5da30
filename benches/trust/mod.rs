//! Made-up sites, the server that shows them, and the crawls that are judged by what was asked of
//! it: shared by the bench and by the small versions of its suites among the tests.

// Each of the two uses its part of it.
#![allow(dead_code, unreachable_pub, unused_imports)]
#![allow(
    clippy::too_many_lines,
    clippy::format_push_string,
    clippy::format_collect
)]

pub(crate) mod text;
pub(crate) mod tongue;

pub(crate) mod site;
pub(crate) mod skin;

pub(crate) mod server;

pub(crate) mod run;

pub(crate) mod honest;
pub(crate) mod hostile;
pub(crate) mod siblings;
pub(crate) mod traps;
