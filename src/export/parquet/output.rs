//! Rows on their way to Parquet files: collected by columns here, written by a thread, so that who
//! makes rows does not wait while others are encoded and compressed.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{self, Receiver, SyncSender};
use std::thread::{self, JoinHandle};

use super::super::error::Error;
use super::super::manifest::Written;
use super::files::{Batch, Files};
use super::table::{Column, Row, Rows};

/// Bounds of what is handed to the writer at once.
const BATCH_BYTES: usize = 4 << 20;
const BATCH_ROWS: usize = 1_000;

/// Number of batches that wait for the writer.
const WAITING: usize = 1;

/// Writes rows to files.
pub struct ParquetOutput {
    path: PathBuf,
    max_size: Option<u64>,
    rows: Rows,
    writer: Option<Writer>,
}

/// The thread that writes.
struct Writer {
    to: SyncSender<Message>,
    thread: JoinHandle<Result<Vec<Written>, Error>>,
}

enum Message {
    Write(Batch),
    /// There is no more, and all that was written is to be kept.
    End,
}

impl ParquetOutput {
    /// Writes to a file; with a maximum size, to several, with a number in front of the ending.
    /// Nothing is overwritten.
    pub fn new(path: &Path, max_size: Option<u64>, columns: &[Column]) -> Self {
        Self {
            path: path.to_owned(),
            max_size,
            rows: Rows::new(columns),
            writer: None,
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
        if self.rows.count > 0 || self.writer.is_none() {
            self.write_batch()?;
        }
        self.send(Message::End)?;
        match self.writer.take() {
            Some(writer) => writer.end(),
            None => Ok(Vec::new()),
        }
    }

    fn write_batch(&mut self) -> Result<(), Error> {
        let (rows, bytes) = (self.rows.count as u64, self.rows.bytes);
        let columns = self.rows.take();
        let columns =
            columns.map_err(|error| Error::io("write to", &self.path)(io::Error::other(error)))?;
        self.send(Message::Write(Batch {
            columns,
            rows,
            bytes,
        }))
    }

    fn send(&mut self, message: Message) -> Result<(), Error> {
        let writer = match &mut self.writer {
            Some(writer) => writer,
            none => {
                let files = Files::new(&self.path, self.max_size, &self.rows);
                none.insert(Writer::start(files).map_err(Error::io("write", &self.path))?)
            }
        };
        if writer.to.send(message).is_ok() {
            return Ok(());
        }
        // It ends before it is told to only if it failed.
        match self.writer.take() {
            Some(writer) => writer.end().map(drop),
            None => Ok(()),
        }
    }
}

impl Drop for ParquetOutput {
    fn drop(&mut self) {
        // What was not ended is removed by the thread, and is to be gone when this returns.
        if let Some(Writer { to, thread }) = self.writer.take() {
            drop(to);
            let _ = thread.join();
        }
    }
}

impl Writer {
    fn start(files: Files) -> io::Result<Self> {
        let (to, from) = mpsc::sync_channel(WAITING);
        let thread = thread::Builder::new()
            .name("table".to_owned())
            .spawn(move || write(files, &from))?;
        Ok(Self { to, thread })
    }

    fn end(self) -> Result<Vec<Written>, Error> {
        drop(self.to);
        let ended = self.thread.join();
        ended.unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    }
}

/// Writes what comes. If it is not told that this is all, whoever sent it gave up, and the last
/// file is removed.
fn write(mut files: Files, from: &Receiver<Message>) -> Result<Vec<Written>, Error> {
    while let Ok(message) = from.recv() {
        match message {
            Message::Write(batch) => files.write(&batch)?,
            Message::End => return files.finish(),
        }
    }
    Ok(Vec::new())
}
