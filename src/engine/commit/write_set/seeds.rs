//! Seeds during a group: from which ones with settings of their own URLs were found, and where
//! seeds have moved to.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::WriteSet;
use crate::engine::Error;
use crate::frontier::{Scope, ScopeKind, SeedSettings, seed_in};
use crate::store::{Table, keys};
use crate::url::{HostKey, Url, UrlId};

/// What was read, and what the group adds.
#[derive(Debug, Default)]
pub(super) struct SeedRows {
    of: BTreeMap<UrlId, Option<UrlId>>,
    settings: BTreeMap<UrlId, Option<Arc<SeedSettings>>>,
    /// Hosts whose sitemaps the group gives to a seed.
    hosts: BTreeSet<HostKey>,
}

/// Where a seed has moved to.
#[derive(Debug)]
pub(crate) struct Moved {
    /// The URL that redirects.
    pub(crate) from: Url,
    /// Its target.
    pub(crate) to: Url,
    /// The scope of the seed, if it has one of its own.
    pub(crate) own: Option<ScopeKind>,
}

impl WriteSet {
    /// Adds to the scope what a seed has moved to.
    pub(crate) fn widen_scope(&mut self, scope: &Scope, moved: Moved) {
        for (entry, row) in scope.moved_entries((&moved.from, &moved.to), moved.own) {
            self.batch.put(Table::Scope, entry, row);
        }
        self.moved.push(moved);
    }

    /// Returns the seed with settings from which a URL was found, if there is one.
    pub(crate) fn seed_of(&mut self, url: UrlId) -> Result<Option<UrlId>, Error> {
        if let Some(seed) = self.seeds.of.get(&url) {
            return Ok(*seed);
        }
        let row = self
            .store
            .get(Table::Meta, &keys::seed_of(url.as_bytes()))?;
        let seed = row.and_then(|row| seed_in(&row));
        self.seeds.of.insert(url, seed);
        Ok(seed)
    }

    /// Returns what the seed says from which a URL was found, if it has settings.
    pub(crate) fn settings_of(&mut self, url: UrlId) -> Result<Option<Arc<SeedSettings>>, Error> {
        match self.seed_of(url)? {
            Some(seed) => self.seed_settings(seed),
            None => Ok(None),
        }
    }

    /// Returns the settings of a seed.
    pub(crate) fn seed_settings(
        &mut self,
        seed: UrlId,
    ) -> Result<Option<Arc<SeedSettings>>, Error> {
        if let Some(settings) = self.seeds.settings.get(&seed) {
            return Ok(settings.clone());
        }
        let settings = SeedSettings::read(&*self.store, seed)?.map(Arc::new);
        self.seeds.settings.insert(seed, settings.clone());
        Ok(settings)
    }

    /// Returns the seed to which the sitemaps of a host belong, if it has settings.
    pub(crate) fn seed_of_host(&self, host: &HostKey) -> Result<Option<UrlId>, Error> {
        let row = self
            .store
            .get(Table::Meta, &keys::seed_of_host(host.as_str()))?;
        Ok(row.and_then(|row| seed_in(&row)))
    }

    /// Notes from which seed a URL was found, unless another one was first.
    pub(crate) fn note_seed_of(&mut self, url: UrlId, seed: UrlId) -> Result<(), Error> {
        if self.seed_of(url)?.is_none() {
            self.seeds.of.insert(url, Some(seed));
            let key = keys::seed_of(url.as_bytes());
            self.batch.put(Table::Meta, key, *seed.as_bytes());
        }
        Ok(())
    }

    /// Writes the settings of a seed, which is its own seed, and that of its host's sitemaps unless
    /// another one is.
    pub(crate) fn put_seed(
        &mut self,
        (seed, host): (UrlId, &HostKey),
        settings: &SeedSettings,
    ) -> Result<(), Error> {
        let key = keys::seed_settings(seed.as_bytes());
        let before = self.seed_settings(seed)?;
        if before.is_some_and(|before| before.is_narrower_than(settings)) {
            // What its pages link to is to be judged again.
            self.batch.put(Table::Meta, keys::meta::WIDEN, Vec::new());
        }
        self.batch.put(Table::Meta, key, settings.row());
        let settings = Some(Arc::new(settings.clone()));
        self.seeds.settings.insert(seed, settings);
        self.seeds.of.insert(seed, Some(seed));
        let key = keys::seed_of(seed.as_bytes());
        self.batch.put(Table::Meta, key, *seed.as_bytes());
        self.note_seed_of_host(host, seed)
    }

    /// Notes to which seed the sitemaps of a host belong, unless they belong to another one.
    pub(crate) fn note_seed_of_host(&mut self, host: &HostKey, seed: UrlId) -> Result<(), Error> {
        if self.seed_of_host(host)?.is_none() && self.seeds.hosts.insert(host.clone()) {
            let key = keys::seed_of_host(host.as_str());
            self.batch.put(Table::Meta, key, *seed.as_bytes());
        }
        Ok(())
    }
}

/// Keeps the settings of a seed of another shard, from which a URL of this one was found.
pub(crate) fn know_seed(
    (seed, settings): (UrlId, &SeedSettings),
    set: &mut WriteSet,
) -> Result<(), Error> {
    if set.seed_settings(seed)?.is_none() {
        let key = keys::seed_settings(seed.as_bytes());
        set.batch.put(Table::Meta, key, settings.row());
        let settings = Some(Arc::new(settings.clone()));
        set.seeds.settings.insert(seed, settings);
    }
    Ok(())
}
