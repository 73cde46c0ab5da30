//! The engine: the only place where the output of one stage becomes the input of the next.
//!
//! Read [`visit`] first, which has the steps of a URL's way as types. The scheduler, the fetchers
//! and the analysts of `ring` each make one step. `commit` makes the last: it judges a visit (with
//! `admission`, `learned` and `again`) and writes what it changes. `open` opens a data directory
//! and repairs what a crash left.

pub mod visit;
pub(crate) mod work;

mod admission;
mod again;
mod clock;
mod commit;
mod crawl;
mod error;
mod event;
mod events;
#[doc(hidden)]
pub mod exchange;
mod failpoint;
mod forget;
mod history;
mod hold;
mod learned;
mod lease;
mod left_out;
#[doc(hidden)]
pub mod library;
mod lines;
mod messages;
mod open;
mod options;
mod requeue;
mod ring;
mod status;
mod summary;
mod view;

#[cfg(test)]
pub(crate) mod testing;

#[doc(hidden)]
pub mod rehearsal;
#[doc(hidden)]
pub mod study;

pub use crate::archive::{DigestAlgorithm, DuplicateBodies, RecordKind, StorePolicy};
pub use crate::frontier::{HeldHosts, NoHost, hosts_named};
pub use crate::handover::{Credentials, HandoverOptions, HandoverState, UploadOptions};
pub(crate) use again::document_place;
pub use again::{
    Dropped, LostDisks, LostWorker, RestoreFilter, Restored, body_place, hold, restore, retry,
    retry_classes,
};
pub use crawl::Crawl;
pub use error::Error;
pub use events::{CrawlEvent, EventKind, Events, Follower, KEPT as EVENTS_KEPT, Missed, Told};
#[doc(hidden)]
pub use failpoint::{Failpoint, Step};
pub use forget::{
    FileSearch, ForgetCursor, ForgetDone, ForgetOrder, forget, is_begun as is_forgetting,
};
pub use history::{History, NoResolution, Resolution, Series, SeriesRow, whole as whole_history};
pub use hold::{HeldHost, TooManyHeld};
pub(crate) use learned::budgets::{pages_now, used_up_now};
pub(crate) use learned::deferred::{id_of as deferred_id, url_of as deferred_url};
pub(crate) use learned::kinds::{deferred_by, for_each as for_each_kind};
pub use learned::shells::{ShellHosts, hosts_with_shells};
pub use lease::Lease;
pub use left_out::{
    LostSeeds, Omission, OmissionGroup, OmissionUnit, Omissions, ScriptShells, ShellHost, parked_by,
};
pub use messages::{Opening, Over, SeedsAdded, StopHandle, Stopped};
pub use open::{
    CopyChunk, CopyCursor, CopyId, CopySource, CopyStep, Copying, DataDirectory, DirectoryError,
    FollowStep, Following, MemoryPlan, Widened, WouldAdmit, known_files,
};
pub(crate) use open::{features, is_begun, lost, open_copy, open_store};
pub use options::{ArchiveOptions, LiveOptions, Options, RunLimits, ShardOptions};
pub use requeue::{PutBack, Retried, RetryCursor, RetryFilter, RetryHosts};
pub use ring::control::Control;
pub use ring::converter::{ConvertOptions, Converter};
pub(crate) use ring::disk::free_bytes;
pub use ring::meters::{Durations, Histogram, Meters};
pub use ring::observe::{Gauges, Limit, MemoryShare, MemoryUse, Pulse, Status, Watch};
pub use ring::scheduler::Ending;
pub use summary::{HostFigures, Summary};
pub use view::{StoppedCrawl, View};

pub use crate::journal::{
    Bodies, BodyError, BodyPlace, Content, Digests, LogError, LogLine, PageGroup, PageLine,
    Position, ReadText, RecordPlace, Texts,
};
pub(crate) use crate::rows::listed_seen;
pub use crate::rows::{
    Compared, Counters, Duplicate, Fate, Judgement, LostSeed, PageRecord, Rank, Tally, VisitVerdict,
};
