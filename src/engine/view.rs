//! A read-only view of a crawl: its store, and the options by which its rows are interpreted.

use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;
use std::sync::Arc;

use super::open::{open_store, read_secret};
use super::{DataDirectory, Error, Options};
use crate::rows::{Counters, CrawlState};
use crate::store::{Store, Table, decode, keys};
use crate::url::Identity;

/// The store of a crawl and its options: everything from which a question about the crawl is
/// answered.
pub struct View {
    store: Arc<dyn Store>,
    options: Arc<Options>,
}

impl View {
    pub(crate) fn new(store: Arc<dyn Store>, options: Arc<Options>) -> Self {
        Self { store, options }
    }

    /// Returns the store, with the rows as of the last commit.
    pub fn store(&self) -> &dyn Store {
        &*self.store
    }

    /// Returns the options of the running crawl, or those of its last run.
    pub fn options(&self) -> &Options {
        &self.options
    }

    /// Returns how this crawl makes canonical forms and ids of URLs.
    pub fn identity(&self) -> Result<Identity, Error> {
        let secret = read_secret(&*self.store)?;
        Ok(Identity::new(self.options.canonicalizer.clone(), secret))
    }
}

impl fmt::Debug for View {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("View").finish_non_exhaustive()
    }
}

/// A crawl that no process runs. No process can start to run it until this is dropped.
pub struct StoppedCrawl {
    store: Arc<dyn Store>,
    _directory: DataDirectory,
}

impl StoppedCrawl {
    /// Opens the data directory of a crawl. Fails with [`DirectoryError::InUse`] while a process
    /// runs the crawl.
    ///
    /// [`DirectoryError::InUse`]: super::DirectoryError::InUse
    pub fn open(path: &Path) -> Result<Self, Error> {
        let directory = DataDirectory::take_existing(path)?;
        Ok(Self {
            store: open_store(&directory)?,
            _directory: directory,
        })
    }

    /// Returns the settings of the last run, by key; empty before the first.
    pub fn settings(&self) -> Result<BTreeMap<String, String>, Error> {
        Ok(match self.store.get(Table::Meta, keys::meta::SETTINGS)? {
            Some(row) => decode(Table::Meta, &row)?,
            None => BTreeMap::new(),
        })
    }

    /// Returns the counters as of the last commit.
    pub fn counters(&self) -> Result<Counters, Error> {
        let state = CrawlState::read(&*self.store)?;
        Ok(state.unwrap_or_default().counters)
    }

    /// Returns the store, with the rows as of the last commit.
    pub fn store(&self) -> &dyn Store {
        &*self.store
    }

    /// Returns a view of the crawl as its last run saw it. Valid while `self` is held.
    pub fn view(&self, options: Options) -> View {
        View::new(Arc::clone(&self.store), Arc::new(options))
    }
}

impl fmt::Debug for StoppedCrawl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StoppedCrawl").finish_non_exhaustive()
    }
}
