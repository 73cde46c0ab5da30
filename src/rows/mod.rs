//! The rows of the store: the types that a commit writes and every reader decodes.
//!
//! [`PageRecord`] says what happened to a URL, [`CrawlState`] how far the crawl is, [`DiskState`]
//! how far the files of this disk are, and [`Delta`] what a commit added to runs and documents.
//! [`cluster`] reads the members of a cluster. Rows of hosts and queues belong to the frontier.

mod archive_names;
pub mod cluster;
mod converted;
mod counters;
mod crawl_state;
mod delta;
mod earlier;
mod kept;
mod left_out;
mod likeness;
mod notice;
mod others;
mod page_record;
mod rank;
mod saved;
mod sent;
mod shards;
mod tally;
mod visit_verdict;

pub use archive_names::ArchiveNames;
pub use cluster::cluster_rows;
pub use converted::Converted;
pub use counters::{Compared, Counters, RequisiteCounters};
pub use crawl_state::{CrawlState, DiskState, LogTail, deferred_urls};
pub use delta::Delta;
pub use earlier::{EARLIER, EarlierFile, EarlierPage};
pub use kept::Kept;
pub use left_out::{LeftOut, LostSeed, Reason, ReasonKind, RefusedUrl};
pub use likeness::Likeness;
pub use notice::{Notice, OwnPart, Published};
pub use others::OtherFiles;
pub use page_record::{Duplicate, Fate, Judgement, PageRecord, Revisit};
pub use rank::{Claim, Merits, Rank};
pub use saved::{SavedBytes, add_saved, count_saved, saved_by, saved_bytes};
pub use sent::{Sent, SentLink, SentOrigin, SentSeed, foreign_page};
pub use shards::{BroughtBack, ForeignOriginal, Keeper, Raced, listed_seen, listed_through};
pub use tally::{Named, Tally};
pub use visit_verdict::VisitVerdict;

use crate::store::{Table, Typed};

/// Page records by URL id.
pub const PAGES: Typed<PageRecord> = Typed::of(Table::Pages);

/// Where the bodies of duplicates are, by URL id.
pub const KEPT: Typed<Kept> = Typed::of(Table::Kept);

/// Deltas by the sequence of their commit.
pub const DELTAS: Typed<Delta> = Typed::of(Table::Deltas);

/// Groups of pages of their own, by `keys::group`.
pub const GROUPS: Typed<Likeness> = Typed::of(Table::Groups);
