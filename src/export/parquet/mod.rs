//! Tables of pages as Parquet files.
//!
//! `pages.rs` says which columns there are and makes a row of a page, on any thread. `table.rs`
//! collects rows by columns, and `output.rs` hands them to a thread that encodes and compresses
//! them: `files.rs` writes files of a bounded size, in row groups of a bounded size, so that memory
//! does not grow with the number of rows.

mod files;
mod output;
mod pages;
mod table;

#[cfg(test)]
mod tests;

pub use output::ParquetOutput;
pub use pages::{Columns, PageTable, dump_name};
pub use table::{Column, Kind, Row, Value};
