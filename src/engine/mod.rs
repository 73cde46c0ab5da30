//! The engine: the only place where one stage's output becomes the next one's input.
//!
//! Read [`visit`] first: the steps of a URL's way as types. `scheduler`, `fetchers`, `analysts` and
//! `committer` each make one step; `open` opens what a crash left; `observe` shows what goes on.

pub mod rehearsal;
pub mod study;
pub mod visit;

mod aliases;
mod analysts;
mod clock;
mod committer;
mod comparison;
mod control;
mod crawl;
mod disk;
mod effects;
mod error;
mod event;
mod expiry;
mod failpoint;
mod feed;
mod fetchers;
mod follow;
mod judge;
mod lessons;
mod membership;
mod messages;
mod observe;
mod open;
mod options;
mod pending_line;
mod reading;
mod records;
mod refusals;
mod reputation;
mod retry;
mod revisit;
mod ring;
mod run_hosts;
mod scheduler;
mod sitemaps;
mod status;
mod succession;
mod view;

pub use control::Control;
pub use crawl::{Crawl, Summary};
pub use error::Error;
pub use failpoint::{Failpoint, Step};
pub use feed::{Feed, Outlook, Position};
pub use messages::{Over, SeedsAdded, StopHandle};
pub use observe::{Gauges, Limit, MemoryUse, Status, Watch};
pub use open::{DataDirectory, DirectoryError, MemoryPlan, known_files};
pub use options::{ArchiveOptions, LiveOptions, Options, RunLimits};
pub use records::StorePolicy;
pub use retry::{PutBack, Retried, RetryCursor, RetryFilter, retry, retry_classes};
pub use run_hosts::HostFigures;
pub use scheduler::Ending;
pub use view::{StoppedCrawl, View};

#[cfg(test)]
pub(crate) use succession::tests as world;

pub(crate) use aliases::AliasRow;
pub(crate) use reputation::{demotion, trap_of};

pub use crate::journal::{Digests, LogError, LogLine, PageLine, RecordPlace, Texts};
pub use crate::rows::{Counters, Duplicate, Fate, Judgement, PageRecord, Rank};
