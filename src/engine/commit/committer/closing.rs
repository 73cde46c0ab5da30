//! Closing of archive files: at the end of a run, and at an age that is set, so that a slow crawl
//! hands over what it has. (A file that is full is closed as the next record is appended.)
//!
//! A file is whole, synced and renamed before the commit that says that what follows goes to the
//! next. A crash in between leaves a closed file, which the next start leaves closed.

use std::time::Duration;

use jiff::Timestamp;

use super::Committer;
use crate::engine::error::Error;
use crate::engine::events::Happening;
use crate::engine::failpoint::{Failpoint, Step};
use crate::frontier::Moment;
use crate::handover::Closed;
use crate::store::{Batch, Durability, Table, encode, keys};

impl Committer {
    /// Writes the bodies that wait for a pack into one, though it is not full.
    pub(crate) fn pack(&mut self, now: Moment) -> Result<(), Error> {
        if self.texts.has_waiting() {
            let set = self.write_set(now);
            self.write_with(set, true)?;
        }
        Ok(())
    }

    /// Returns the time until a file is old enough to be closed.
    pub(super) fn until_closing(&self, now: Moment) -> Duration {
        let begun = [self.archive.begun(), self.texts.begun()];
        let left = begun.into_iter().map(|begun| self.left(begun, now));
        left.min().unwrap_or(Duration::MAX)
    }

    /// Closes the files that are old enough.
    pub(super) fn close_old_files(&mut self, now: Moment) -> Result<(), Error> {
        let is_old = |begun| self.left(begun, now).is_zero();
        let (pages, texts) = (is_old(self.archive.begun()), is_old(self.texts.begun()));
        self.close(pages, texts)
    }

    /// Closes the files of both archives.
    pub(crate) fn close_files(&mut self) -> Result<(), Error> {
        let (pages, texts) = (self.archive.begun(), self.texts.begun());
        self.close(pages.is_some(), texts.is_some())
    }

    fn close(&mut self, pages: bool, texts: bool) -> Result<(), Error> {
        if !pages && !texts {
            return Ok(());
        }
        let mut disk = self.disk.clone();
        let mut batch = Batch::new();
        if pages {
            self.archive.close()?;
            disk.archive = self.archive.sync()?;
            batch.put(Table::Meta, keys::meta::DISK, encode(&disk));
        }
        if texts {
            let tail = self.texts.close()?;
            batch.put(Table::Meta, keys::meta::TEXTS, encode(&tail));
        }
        Failpoint::reach(&mut self.failpoint, Step::FileClosed);
        self.store.commit(batch, Durability::Disk)?;
        self.disk = disk;
        self.tell_closed();
        Ok(())
    }

    /// Tells how many files are closed, and known to be by the store: they may leave.
    pub(crate) fn tell_closed(&mut self) {
        if self.is_forgetting {
            return;
        }
        let now = Closed {
            pages: self.disk.archive.segment,
            texts: self.texts.end().segment,
        };
        self.closed
            .send_if_modified(|closed| std::mem::replace(closed, now) != now);
        let before = std::mem::replace(&mut self.told_closed, now);
        let pages = (before.pages..now.pages).map(|number| self.names.pages.name(number));
        let texts = (before.texts..now.texts).map(|number| self.names.texts.name(number));
        for file in pages.chain(texts) {
            self.events.tell(&Happening::FileClosed { file });
        }
    }

    /// Returns the time until a file that was begun at some time is old enough; for ever if there
    /// is none.
    fn left(&self, begun: Option<Timestamp>, now: Moment) -> Duration {
        let (Some(begun), Some(max)) = (begun, self.max_file_age) else {
            return Duration::MAX;
        };
        let begun = u64::try_from(begun.as_millisecond()).unwrap_or_default();
        max.saturating_sub(Duration::from_millis(now.0.saturating_sub(begun)))
    }
}
