//! The index of a file that is being written, in a file beside it.
//!
//! Lines are appended as records are, in the order of their offsets and without a sync: they say
//! nothing that the records do not. What a kill or a power cut left of them is used up to the first
//! line that is not whole, and the rest is read from the records. A file that is closed has its
//! index sorted and durable before it gets its whole name, so that no closed file lacks one.

use std::fs::{self, File, OpenOptions};
use std::io::{
    self, BufRead as _, BufReader, BufWriter, Read as _, Seek as _, SeekFrom, Write as _,
};
use std::path::{Path, PathBuf};

use super::line::{IndexLine, index_line, index_path, line_of};
use super::sort::LineSorter;
use crate::archive::directory::replace_file_with;
use crate::archive::elsewhere::open_to_read;
use crate::archive::foreign::RecordStream;
use crate::archive::id::DigestAlgorithm;
use crate::archive::names::marked;
use crate::archive::reader::Limits;
use crate::archive::record::Record;
use crate::archive::{Error, Location, Result};

/// Maximum length of a line, in bytes: a URL and its key, escaped.
const MAX_LINE: u64 = 4 << 20;

/// The index of one file.
pub(in crate::archive) struct IndexBeside {
    /// The file, by its whole name.
    warc: PathBuf,
    /// Its name.
    name: String,
    digest: DigestAlgorithm,
    /// The lines so far; `None` if they could not be written, and must be read from the records.
    lines: Option<File>,
}

impl IndexBeside {
    /// Continues the index of a file that has so many bytes of records, or begins it.
    pub(in crate::archive) fn resume(
        warc: &Path,
        length: u64,
        digest: DigestAlgorithm,
    ) -> Result<Self> {
        let path = marked(&index_path(warc));
        let mut options = OpenOptions::new();
        let lines = options
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .open(&path);
        let mut lines = lines.map_err(Error::io("open", &path))?;
        let mut index = Self {
            warc: warc.to_owned(),
            name: warc
                .file_name()
                .unwrap_or_default()
                .to_string_lossy()
                .into_owned(),
            digest,
            lines: None,
        };
        let (kept, records) = index
            .whole_lines(&lines, length)
            .map_err(Error::io("read", &path))?;
        let about = lines.metadata().map_err(Error::io("examine", &path))?;
        if about.len() > kept {
            // Synced, because a line that is cut off is about a record that is no more: a power cut
            // must not bring it back between those that follow.
            let cut = lines.set_len(kept).and_then(|()| lines.sync_all());
            cut.map_err(Error::io("truncate", &path))?;
        }
        lines
            .seek(SeekFrom::Start(kept))
            .map_err(Error::io("read", &path))?;
        if records < length {
            let mut written = BufWriter::new(&lines);
            index.read_records(records, length, &mut |line| writeln!(written, "{line}"))?;
            written.flush().map_err(Error::io("write to", &path))?;
        }
        index.lines = Some(lines);
        // Left by a kill before the file was renamed.
        remove(&index_path(warc))?;
        Ok(index)
    }

    /// Makes sure that a closed file has its index.
    pub(in crate::archive) fn complete(
        warc: &Path,
        length: u64,
        digest: DigestAlgorithm,
    ) -> Result<()> {
        let path = index_path(warc);
        if path.try_exists().map_err(Error::io("examine", &path))? {
            return remove(&marked(&path));
        }
        Self::resume(warc, length, digest)?.close()
    }

    /// Adds records that were appended at these places. A failure costs nothing but time: the index
    /// is then made of the records when the file is closed.
    pub(in crate::archive) fn add(&mut self, records: &[Record], places: &[Location]) {
        let Some(file) = &mut self.lines else {
            return;
        };
        let mut text = String::new();
        for (record, place) in records.iter().zip(places) {
            let place = (place.offset, place.length);
            if let Some(line) = line_of(record, self.digest, place, &self.name) {
                text.push_str(&line);
                text.push('\n');
            }
        }
        if let Err(error) = file.write_all(text.as_bytes()) {
            tracing::warn!(%error, file = self.name, "cannot write to the index of this file; it is made again when the file is closed");
            self.lines = None;
        }
    }

    /// Writes the sorted index, durably.
    pub(in crate::archive) fn close(&self) -> Result<()> {
        let path = index_path(&self.warc);
        let open = marked(&path);
        let wrong = |action| Error::io(action, &path);
        let directory = self.warc.parent().unwrap_or(Path::new("."));
        let mut sorter = LineSorter::new(directory);
        match &self.lines {
            Some(lines) => {
                let mut lines = lines;
                lines.rewind().map_err(Error::io("read", &open))?;
                for line in BufReader::new(lines).lines() {
                    sorter
                        .add(line.map_err(Error::io("read", &open))?)
                        .map_err(wrong("sort"))?;
                }
            }
            None => {
                let length = open_to_read(&self.warc)
                    .and_then(|file| file.metadata())
                    .map_err(Error::io("examine", &self.warc))?;
                self.read_records(0, length.len(), &mut |line| sorter.add(line))?;
            }
        }
        // Over what was begun before: its lines are in the sorter, or not used.
        let written = replace_file_with(&path, |file| {
            for line in sorter.sorted()? {
                writeln!(file, "{}", line?)?;
            }
            Ok(())
        });
        written.map_err(wrong("write"))?;
        remove(&open)
    }

    /// Returns the length of the lines that are whole and about records of the file, and where the
    /// last of these records ends.
    fn whole_lines(&self, lines: &File, length: u64) -> io::Result<(u64, u64)> {
        let mut reader = BufReader::new(lines);
        let (mut kept, mut records) = (0, 0);
        loop {
            let mut line = Vec::new();
            let read = reader
                .by_ref()
                .take(MAX_LINE)
                .read_until(b'\n', &mut line)?;
            let Some(line) = line.strip_suffix(b"\n") else {
                return Ok((kept, records));
            };
            let said = str::from_utf8(line).ok().and_then(IndexLine::parse);
            let end = |it: &IndexLine| it.offset.checked_add(it.length);
            let is_next = |it: &IndexLine| {
                it.offset >= records
                    && end(it).is_some_and(|end| end <= length)
                    && it.filename == self.name
            };
            let Some(said) = said.filter(is_next) else {
                return Ok((kept, records));
            };
            kept += read as u64;
            records = end(&said).unwrap_or(records);
        }
    }

    /// Makes lines of the records between two offsets. What is damaged has none.
    fn read_records(
        &self,
        from: u64,
        to: u64,
        take: &mut dyn FnMut(String) -> io::Result<()>,
    ) -> Result<()> {
        for record in RecordStream::open_at(&self.warc, from, Limits::default())? {
            let record = match record {
                Err(error) if error.io_kind().is_none() => {
                    tracing::warn!(%error, "a record cannot be indexed");
                    continue;
                }
                record => record?,
            };
            if record.offset >= to {
                break;
            }
            if let Some(line) = index_line(&record, &self.name, record.length) {
                take(line).map_err(Error::io("write the index of", &self.warc))?;
            }
        }
        Ok(())
    }
}

/// Removes the index of a file that is no more, or is none of the archive's.
pub(in crate::archive) fn forget(warc: &Path) -> Result<()> {
    let path = index_path(warc);
    remove(&path)?;
    remove(&marked(&path))
}

fn remove(path: &Path) -> Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        done => done.map_err(Error::io("remove", path)),
    }
}
