//! A crawl as those who only read it see it: its store, and the options by which its rows are judged.

use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;
use std::sync::Arc;

use super::open::{open_store, read_secret};
use super::{DataDirectory, Error, Options};
use crate::rows::{Counters, CrawlState};
use crate::store::{Store, Table, decode, keys};
use crate::url::Identity;

/// The store of a crawl and its options: all that a question about the crawl is answered from.
pub struct View {
    store: Arc<dyn Store>,
    options: Arc<Options>,
}

impl View {
    pub(super) fn new(store: Arc<dyn Store>, options: Arc<Options>) -> Self {
        Self { store, options }
    }

    /// The rows as of the last commit.
    pub fn store(&self) -> &dyn Store {
        &*self.store
    }

    /// The options of the running crawl, or those that its last run left.
    pub fn options(&self) -> &Options {
        &self.options
    }

    /// How this crawl makes canonical forms and ids of URLs.
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

/// A crawl that no process runs. None can begin to until this is dropped.
pub struct StoppedCrawl {
    store: Arc<dyn Store>,
    _directory: DataDirectory,
}

impl StoppedCrawl {
    /// Takes the data directory of a crawl. Fails with [`DirectoryError::InUse`] while a process
    /// runs it.
    ///
    /// [`DirectoryError::InUse`]: super::DirectoryError::InUse
    pub fn open(path: &Path) -> Result<Self, Error> {
        let directory = DataDirectory::take_existing(path)?;
        Ok(Self {
            store: open_store(&directory)?,
            _directory: directory,
        })
    }

    /// The settings of the last run, by key; empty before the first.
    pub fn settings(&self) -> Result<BTreeMap<String, String>, Error> {
        Ok(match self.store.get(Table::Meta, keys::meta::SETTINGS)? {
            Some(row) => decode(Table::Meta, &row)?,
            None => BTreeMap::new(),
        })
    }

    /// The counters as of the last commit.
    pub fn counters(&self) -> Result<Counters, Error> {
        let state = CrawlState::read(&*self.store)?;
        Ok(state.unwrap_or_default().counters)
    }

    /// The rows as of the last commit.
    pub fn store(&self) -> &dyn Store {
        &*self.store
    }

    /// The crawl as its last run saw it. Valid while `self` is held.
    pub fn view(&self, options: Options) -> View {
        View::new(Arc::clone(&self.store), Arc::new(options))
    }
}

impl fmt::Debug for StoppedCrawl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StoppedCrawl").finish_non_exhaustive()
    }
}
