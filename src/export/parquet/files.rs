//! Parquet files of a bounded size, in row groups of a bounded size.

use std::io;
use std::path::{Path, PathBuf};

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression, ZstdLevel};
use parquet::errors::ParquetError;
use parquet::file::properties::{CdcOptions, WriterProperties};

use super::super::error::Error;
use super::super::manifest::Written;
use super::super::staged::{Hashed, Staged, numbered};
use super::table::Rows;

/// Level of zstd.
const LEVEL: i32 = 3;

/// Bounds of a row group: bytes as they are in the file, and rows. A reader decompresses one at a
/// time, and so does whoever shows a table in a browser.
const GROUP_BYTES: usize = 64 << 20;
const GROUP_ROWS: usize = 10_000;

/// Rows by their columns.
pub(super) struct Batch {
    pub(super) columns: RecordBatch,
    /// Number of rows.
    pub(super) rows: u64,
    /// Bytes of their values.
    pub(super) bytes: usize,
}

/// Files to which rows are written, one after the other.
pub(super) struct Files {
    path: PathBuf,
    max_size: Option<u64>,
    schema: SchemaRef,
    distinct: Vec<&'static str>,
    open: Option<Open>,
    written: Vec<Written>,
}

struct Open {
    staged: Staged,
    writer: ArrowWriter<Hashed>,
    pages: u64,
}

impl Files {
    pub(super) fn new(path: &Path, max_size: Option<u64>, rows: &Rows) -> Self {
        Self {
            path: path.to_owned(),
            max_size,
            schema: rows.schema(),
            distinct: rows.distinct.clone(),
            open: None,
            written: Vec::new(),
        }
    }

    pub(super) fn write(&mut self, batch: &Batch) -> Result<(), Error> {
        // What comes is at most as large in the file, in front of which the last one ends.
        let is_full = |open: &Open| {
            let writer = &open.writer;
            let size = writer.bytes_written() + writer.in_progress_size() + batch.bytes;
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
                none.insert(Open::create(&path, &self.schema, &self.distinct)?)
            }
        };
        let written = open.writer.write(&batch.columns);
        written.map_err(|error| open.wrong()(error))?;
        open.pages += batch.rows;
        Ok(())
    }

    /// Ends the last file, and returns what was written.
    pub(super) fn finish(mut self) -> Result<Vec<Written>, Error> {
        self.end_file()?;
        Ok(self.written)
    }

    fn end_file(&mut self) -> Result<(), Error> {
        if let Some(open) = self.open.take() {
            self.written.push(open.finish()?);
        }
        Ok(())
    }
}

impl Open {
    fn create(path: &Path, schema: &SchemaRef, distinct: &[&'static str]) -> Result<Self, Error> {
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
        for name in distinct {
            properties = properties.set_column_dictionary_enabled((*name).into(), false);
        }
        let properties = Some(properties.build());
        let writer = ArrowWriter::try_new(Hashed::new(file), SchemaRef::clone(schema), properties);
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
