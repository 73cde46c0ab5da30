//! A segment file that is being written, and the directory that contains it. Writes are complete or
//! have no effect, and nothing before the offset given by the caller is touched. `warc.rs` decides
//! what is written where and when it is synced.

use std::fs::{File, OpenOptions};
use std::io::{self, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};

use jiff::Timestamp;

use super::id::RecordId;
use super::reader::{Limits, SegmentReader};
use super::{Error, Result};

/// The segment that is being written.
pub(super) struct Segment {
    pub(super) file: File,
    pub(super) path: PathBuf,
    /// Id of the segment's first record; `None` until that is written.
    pub(super) warcinfo: Option<RecordId>,
    /// When it was begun.
    pub(super) begun: Timestamp,
    /// Set if bytes were written since the last sync.
    pub(super) unsynced: bool,
    /// Set if a write failed, so that there may be bytes after the tail.
    pub(super) torn: bool,
}

impl Segment {
    /// Creates a file. Opening the archive made sure that there was none; a file that has appeared
    /// since then is not ours to write to.
    pub(super) fn create(path: PathBuf) -> Result<Segment> {
        let file = OpenOptions::new()
            .write(true)
            .create_new(true)
            .open(&path)
            .map_err(Error::io("create", &path))?;
        Ok(Segment {
            file,
            path,
            warcinfo: None,
            begun: Timestamp::now(),
            unsynced: false,
            torn: false,
        })
    }

    /// Opens a file that has acknowledged records, the first of which must be its warcinfo record.
    pub(super) fn reopen(path: &Path) -> Result<Segment> {
        let first = SegmentReader::open_at(path, 0, Limits::default())?
            .next()
            .unwrap_or(Err(Error::Torn {
                path: path.to_owned(),
                offset: 0,
            }))?;
        let id = first.header("WARC-Record-ID").and_then(RecordId::parse);
        let (Some("warcinfo"), Some(id)) = (first.header("WARC-Type"), id) else {
            return Err(Error::Format {
                path: path.to_owned(),
                offset: 0,
                reason: "a segment must begin with a warcinfo record".to_owned(),
            });
        };
        let begun = first.header("WARC-Date").and_then(|date| date.parse().ok());
        let begun = begun.unwrap_or_else(Timestamp::now);
        let file = OpenOptions::new()
            .write(true)
            .open(path)
            .map_err(Error::io("open", path))?;
        Ok(Segment {
            file,
            path: path.to_owned(),
            warcinfo: Some(id),
            begun,
            unsynced: false,
            torn: false,
        })
    }

    /// Writes all of `bytes` at `offset`, or leaves the file as it was.
    pub(super) fn write(&mut self, offset: u64, bytes: &[u8]) -> Result<()> {
        self.mend(offset)?;
        self.unsynced = true;
        self.torn = true;
        let written = self
            .file
            .seek(SeekFrom::Start(offset))
            .and_then(|_| self.file.write_all(bytes));
        if let Err(source) = written {
            // If cutting fails too, the next use of the segment tries again and reports it.
            let _ = self.mend(offset);
            return Err(Error::io("write to", &self.path)(source));
        }
        self.torn = false;
        Ok(())
    }

    /// Cuts off what a failed write may have left after `offset`.
    fn mend(&mut self, offset: u64) -> Result<()> {
        if self.torn {
            self.cut(offset)?;
            self.torn = false;
        }
        Ok(())
    }

    /// Syncs what was written; the file ends at `offset`.
    pub(super) fn sync(&mut self, offset: u64) -> Result<()> {
        self.mend(offset)?;
        if self.unsynced {
            self.file
                .sync_data()
                .map_err(Error::io("sync", &self.path))?;
            self.unsynced = false;
        }
        Ok(())
    }

    /// Truncates the file to `length` bytes.
    pub(super) fn cut(&self, length: u64) -> Result<()> {
        self.file
            .set_len(length)
            .map_err(Error::io("truncate", &self.path))
    }
}

/// Copies what follows `offset` of a file to another, durably.
pub(super) fn copy_end(from: &Path, offset: u64, to: &Path) -> Result<()> {
    let copied: io::Result<()> = (|| {
        let mut source = File::open(from)?;
        source.seek(SeekFrom::Start(offset))?;
        let mut target = File::create_new(to)?;
        io::copy(&mut source, &mut target)?;
        target.sync_all()
    })();
    copied.map_err(Error::io("copy the end of", from))
}

/// Returns a path that is free for what of a file was not acknowledged, beside it: its name with
/// `.unacknowledged`, and a number if there are several.
pub fn unacknowledged(file: &Path) -> io::Result<PathBuf> {
    let mut ending = ".unacknowledged".to_owned();
    for nth in 1_u64.. {
        let mut name = file.as_os_str().to_owned();
        name.push(&ending);
        let path = PathBuf::from(name);
        if !path.try_exists()? {
            return Ok(path);
        }
        ending = format!(".unacknowledged-{nth}");
    }
    Err(io::ErrorKind::AlreadyExists.into())
}
