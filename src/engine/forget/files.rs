//! Forgets in files alone: in a directory whose crawl goes on elsewhere. Its rows are another
//! worker's to change, but what this one has written while it had the crawl is nobody else's.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::find::Finder;
use super::part::{ForgetCursor, ForgetDone, ForgetOrder, What};
use super::selected::{Forgetting, Selected};
use crate::engine::Options;
use crate::engine::clock::Clock;
use crate::engine::error::Error;
use crate::engine::events::Events;
use crate::frontier::Selection;
use crate::journal::{LogError, Position, end_of_files};
use crate::store::{self, Batch, Durability, Embedded, Store, Table, encode, keys};
use crate::url::{Identity, Secret};

/// A search of the files in a directory, some at a time. What it finds is in a store of its own
/// until it is overwritten, so that a search that was interrupted forgets nothing of that.
pub struct FileSearch {
    finder: Finder,
    selected: Selected,
    store: Arc<dyn Store>,
    events: Events,
    scratch: PathBuf,
    next: Option<ForgetCursor>,
    done: ForgetDone,
}

impl FileSearch {
    /// Begins to search the directory `data` of a crawl with this secret, whose files nobody
    /// writes. The directory `scratch` is for what is found; what an interrupted search had found
    /// there is overwritten too. `events` are those of the directory, if they are open.
    ///
    /// # Errors
    ///
    /// What goes wrong on the disk.
    pub fn begin(
        (data, events): (&Path, Option<Events>),
        scratch: &Path,
        (secret, options): (&Secret, &Options),
        selection: &Selection,
    ) -> Result<Self, Error> {
        let store = open_scratch(scratch)?;
        let identity = Identity::new(options.canonicalizer.clone(), secret.clone());
        let all = Forgetting::of(selection, &identity);
        let mut batch = Batch::new();
        batch.put(Table::Meta, keys::meta::SECRET, secret.as_bytes());
        batch.put(Table::Meta, keys::meta::FORGETTING, encode(&all));
        store.commit(batch, Durability::Disk)?;
        let log = data.join("log");
        let end = end_of_files(&log).map_err(|source| LogError { path: log, source })?;
        Ok(Self {
            finder: Finder::new(Arc::clone(&store), data, options)?.up_to(end),
            selected: Selected::new(all, identity),
            store,
            events: events.unwrap_or_else(|| Events::open(data, Clock::start().now())),
            scratch: scratch.to_owned(),
            next: Some(ForgetCursor::Log(Position::default())),
            done: ForgetDone::default(),
        })
    }

    /// Searches on, or overwrites some of what was found. Returns what was done in all once there
    /// is nothing left to do.
    ///
    /// # Errors
    ///
    /// What goes wrong on the disk. Another search begins with all of it again.
    pub fn step(&mut self) -> Result<Option<ForgetDone>, Error> {
        let Some(cursor) = self.next.take() else {
            return Ok(Some(std::mem::take(&mut self.done)));
        };
        let order = ForgetOrder::default();
        let Some((part, _)) = self.finder.part(&order, Some(cursor))? else {
            return Ok(Some(std::mem::take(&mut self.done)));
        };
        let mut batch = Batch::new();
        match part.what {
            What::End => (self.events).forget(&|event| self.selected.is_told_by(event)),
            What::Note(found) => found.put(&mut batch),
            What::Erased(keys) => {
                for key in keys {
                    batch.delete(Table::Meta, key);
                }
            }
            // There are no rows of pages and documents here.
            _ => {}
        }
        if !batch.is_empty() {
            self.store.commit(batch, Durability::Disk)?;
        }
        self.done.add(part.done);
        self.next = self.done.next.take();
        Ok(None)
    }

    /// Removes what was kept of a search that is over.
    ///
    /// # Errors
    ///
    /// What goes wrong on the disk.
    pub fn end(self) -> Result<(), Error> {
        let Self {
            finder,
            store,
            scratch,
            ..
        } = self;
        drop((finder, store));
        remove(&scratch)
    }
}

fn remove(scratch: &Path) -> Result<(), Error> {
    match fs::remove_dir_all(scratch) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(store::Error::Engine {
            path: scratch.to_owned(),
            action: "be removed",
            reason: error.to_string(),
            source: Some(error),
        }
        .into()),
        _ => Ok(()),
    }
}

/// Opens the store of a search. One that cannot be used is begun anew: what it had is found again,
/// unless it was overwritten.
fn open_scratch(path: &Path) -> Result<Arc<dyn Store>, Error> {
    let options = store::Options {
        cache_bytes: 4 << 20,
        memtable_bytes: 8 << 20,
    };
    let store = match Embedded::open(path, &options) {
        Ok(store) => store,
        Err(error) => {
            tracing::warn!(%error, "what an earlier search of files had found cannot be read");
            remove(path)?;
            Embedded::open(path, &options)?
        }
    };
    Ok(Arc::new(store))
}
