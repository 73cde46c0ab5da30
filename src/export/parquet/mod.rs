//! Tables of pages as Parquet files.
//!
//! `pages.rs` says which columns there are and makes a row of a page, on any thread. `table.rs`
//! collects rows by columns, `output.rs` writes them to files of a bounded size, in row groups of a
//! bounded size, so that memory does not grow with the number of rows.

mod output;
mod pages;
mod table;

#[cfg(test)]
mod tests;

pub use output::ParquetOutput;
pub use pages::{PageTable, dump_name};
pub use table::{Column, Kind, Row, Value};
