//! Pages of crawls, in the forms in which others read them.
//!
//! Reads what is committed: the log says which pages there are and in which order, the archive what
//! they say. So it works beside a crawl that runs, and what it gives depends on nothing but the
//! data and the question. Nothing in a data directory is changed.
//!
//! `reading.rs` finds pages and their texts and `page_out.rs` gives them as JSON (`gleaner pages`
//! too), `filter.rs` says which are wanted, `walk.rs` goes through several crawls on all cores. The
//! other files write: `output.rs`
//! files of a bounded size, which have their names when they are whole (`staged.rs`), `manifest.rs`
//! what is in them, `wet.rs` texts as WARC records, `wacz/` packages for players of archives,
//! `parquet/` tables of pages, `cc_index/` tables of captures.

mod cc_index;
mod error;
mod filter;
mod language;
mod manifest;
mod output;
mod page_out;
mod parquet;
mod reading;
mod staged;
mod wacz;
mod walk;
mod wet;

pub use cc_index::index_columns;
pub use error::Error;
pub use filter::{Filter, StatusRange};
pub use language::Language;
pub use manifest::{CrawlRead, Manifest, PackedFile, Written};
pub use output::Output;
pub use page_out::{PageOut, PageRead};
pub use parquet::{Column, Columns, Kind, PageTable, ParquetOutput, Row, Value, dump_name};
pub use reading::{Found, Reader, Want};
pub use wacz::{Packed, Packing, pack};
pub use walk::{Source, Walked, walk};
pub use wet::{conversion, opening};
