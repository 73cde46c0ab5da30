//! The duplicates of a crawl: its clusters, a sample of them, what two pages differ in, and what
//! people say of verdicts.

mod clusters;
mod compare;
mod marks;
mod sample;

pub use clusters::{Cluster, ClusterFilter, Cursor, Dups, Member, join};
pub(crate) use clusters::{cluster, clusters};
pub use compare::{Comparison, Part, Side, compare, text_of};
pub(crate) use marks::marks_by_url;
pub use marks::{Mark, Marked, MarksNow, Precision, Undo, mark, marks};
pub use sample::{Sample, SampleFilter};

pub(super) use clusters::dups;
pub(super) use sample::sample;
