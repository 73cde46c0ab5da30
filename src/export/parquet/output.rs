//! Parquet files of a bounded size, in row groups of a bounded size.

use std::io;
use std::path::{Path, PathBuf};

use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression, ZstdLevel};
use parquet::errors::ParquetError;
use parquet::file::properties::{CdcOptions, WriterProperties};

use super::super::error::Error;
use super::super::manifest::Written;
use super::super::staged::{Hashed, Staged, numbered};
use super::table::{Column, Row, Rows};

/// Level of zstd.
const LEVEL: i32 = 3;

/// Bounds of a row group: bytes as they are in the file, and rows. A reader decompresses one at a
/// time, and so does whoever shows a table in a browser.
const GROUP_BYTES: usize = 64 << 20;
const GROUP_ROWS: usize = 10_000;

/// Bounds of what is handed to the writer at once.
const BATCH_BYTES: usize = 4 << 20;
const BATCH_ROWS: usize = 1_000;

/// Writes rows to files.
pub struct ParquetOutput {
    path: PathBuf,
    max_size: Option<u64>,
    rows: Rows,
    open: Option<Open>,
    written: Vec<Written>,
}

struct Open {
    staged: Staged,
    writer: ArrowWriter<Hashed>,
    pages: u64,
}

impl ParquetOutput {
    /// Writes to a file; with a maximum size, to several, with a number in front of the ending.
    /// Nothing is overwritten.
    pub fn new(path: &Path, max_size: Option<u64>, columns: &[Column]) -> Self {
        Self {
            path: path.to_owned(),
            max_size,
            rows: Rows::new(columns),
            open: None,
            written: Vec::new(),
        }
    }

    /// Writes a row.
    pub fn write(&mut self, row: Row) -> Result<(), Error> {
        self.rows.add(row);
        let is_full = self.rows.count >= BATCH_ROWS || self.rows.bytes >= BATCH_BYTES;
        match is_full
            || self
                .max_size
                .is_some_and(|max| self.rows.bytes as u64 >= max)
        {
            true => self.write_batch(),
            false => Ok(()),
        }
    }

    /// Ends the last file, and returns what was written. There is one file at least.
    pub fn finish(mut self) -> Result<Vec<Written>, Error> {
        if self.rows.count > 0 || self.written.is_empty() && self.open.is_none() {
            self.write_batch()?;
        }
        self.end_file()?;
        Ok(std::mem::take(&mut self.written))
    }

    fn write_batch(&mut self) -> Result<(), Error> {
        // What is collected is at most as large in the file, in front of which it ends.
        let is_full = |open: &Open| {
            let writer = &open.writer;
            let size = writer.bytes_written() + writer.in_progress_size() + self.rows.bytes;
            open.pages > 0 && self.max_size.is_some_and(|max| size as u64 > max)
        };
        if self.open.as_ref().is_some_and(is_full) {
            self.end_file()?;
        }
        let open = match &mut self.open {
            Some(open) => open,
            none => {
                let path = match self.max_size {
                    None => self.path.clone(),
                    Some(_) => numbered(&self.path, self.written.len()),
                };
                none.insert(Open::create(&path, &self.rows)?)
            }
        };
        let rows = self.rows.count as u64;
        let batch = self.rows.take();
        let batch = batch.map_err(|error| open.wrong()(ParquetError::from(error)))?;
        let written = open.writer.write(&batch);
        written.map_err(|error| open.wrong()(error))?;
        open.pages += rows;
        Ok(())
    }

    fn end_file(&mut self) -> Result<(), Error> {
        if let Some(open) = self.open.take() {
            self.written.push(open.finish()?);
        }
        Ok(())
    }
}

impl Open {
    fn create(path: &Path, rows: &Rows) -> Result<Self, Error> {
        let (staged, file) = Staged::create(path)?;
        let wrong = wrong(staged.path());
        let level = ZstdLevel::try_new(LEVEL).unwrap_or_default();
        let mut properties = WriterProperties::builder()
            .set_compression(Compression::ZSTD(level))
            .set_max_row_group_bytes(Some(GROUP_BYTES))
            .set_max_row_group_row_count(Some(GROUP_ROWS))
            // Pages end where the content says, so that stores that keep equal pieces once need
            // only what is new of a file that was written again.
            .set_content_defined_chunking(Some(CdcOptions::default()));
        for name in &rows.distinct {
            properties = properties.set_column_dictionary_enabled((*name).into(), false);
        }
        let properties = Some(properties.build());
        let writer = ArrowWriter::try_new(Hashed::new(file), rows.schema(), properties);
        Ok(Self {
            writer: writer.map_err(wrong)?,
            staged,
            pages: 0,
        })
    }

    fn wrong(&self) -> impl FnOnce(ParquetError) -> Error + use<> {
        wrong(self.staged.path())
    }

    fn finish(self) -> Result<Written, Error> {
        let wrong = self.wrong();
        let file = self.writer.into_inner().map_err(wrong)?;
        let name = self.staged.name();
        let (bytes, sha256) = self.staged.finish_hashed(file)?;
        Ok(Written {
            name,
            bytes,
            sha256,
            pages: self.pages,
        })
    }
}

/// Maps an error of the writer, whose cause is often the system's.
fn wrong(path: &Path) -> impl FnOnce(ParquetError) -> Error + use<> {
    let wrong = Error::io("write to", path.to_owned());
    |error| {
        wrong(match error {
            ParquetError::External(cause) => match cause.downcast::<io::Error>() {
                Ok(error) => *error,
                Err(cause) => io::Error::other(cause),
            },
            error => io::Error::other(error),
        })
    }
}
