//! The fetch log: one line per visit, how far the log is committed, and the texts in the archive
//! that its lines refer to.
//!
//! Written by the committer; read by whoever follows a crawl, also from another process.

mod acknowledged;
mod bodies;
mod content;
mod fetch_log;
mod page_line;
mod position;
mod reader;
mod texts;

pub use acknowledged::{Acknowledged, AcknowledgedFile};
pub use bodies::{Bodies, BodyError, BodyPlace};
pub use content::Content;
pub use fetch_log::{FetchLog, LogError, LogLine, current_path, end_of_files, full_path};
pub use page_line::{Digests, PageGroup, PageLine, RecordPlace};
pub use position::Position;
pub use reader::{FORGOTTEN_LINE, LogReader};
pub use texts::{ReadText, Texts};
