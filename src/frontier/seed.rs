//! A seed as it was given, and what its line says about all that is found from it.

use serde::{Deserialize, Serialize};

use super::scope::ScopeKind;
use crate::store::{Result, Store, Table, decode, encode, keys};
use crate::url::{Url, UrlId};

/// A seed as it was given.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Seed {
    /// The URL.
    pub url: Url,
    /// Set if it was given without a scheme: then it is asked for over http where https is not
    /// there.
    pub is_bare: bool,
    /// What holds for all that is found from it.
    pub settings: SeedSettings,
}

/// What holds for a seed and for what is found from it. Where several seeds lead to a page, that is
/// the one that led there first.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SeedSettings {
    /// Maximum number of links followed from the seed, in place of `crawl.max_depth`.
    pub depth: Option<u16>,
    /// What a URL must share with the seed, in place of `crawl.scope`.
    pub scope: Option<ScopeKind>,
    /// A word by which its pages are told from those of other seeds.
    pub tag: Option<String>,
}

impl From<Url> for Seed {
    fn from(url: Url) -> Self {
        Self {
            url,
            is_bare: false,
            settings: SeedSettings::default(),
        }
    }
}

impl Seed {
    /// The URL that a bare name stands for where https is not there.
    pub fn over_http(&self) -> Option<Url> {
        let mut url = self.is_bare.then(|| self.url.clone())?;
        url.set_scheme("http").ok()?;
        Some(url)
    }
}

impl SeedSettings {
    /// Returns `true` if the seed has no settings of its own.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// What a seed says that is given again: what its line does not name stays as it was.
    #[must_use]
    pub fn or(self, known: Self) -> Self {
        Self {
            depth: self.depth.or(known.depth),
            scope: self.scope.or(known.scope),
            tag: self.tag.or(known.tag),
        }
    }

    /// Returns `true` if others may lead further.
    pub fn is_narrower_than(&self, others: &Self) -> bool {
        let is_deeper = match (self.depth, others.depth) {
            (Some(then), Some(now)) => now > then,
            (then, now) => then != now,
        };
        is_deeper || self.scope != others.scope
    }

    /// Returns the settings of a seed, if it has some.
    pub fn read(store: &dyn Store, seed: UrlId) -> Result<Option<Self>> {
        let row = store.get(Table::Meta, &keys::seed_settings(seed.as_bytes()))?;
        row.map(|row| decode(Table::Meta, &row)).transpose()
    }

    /// Returns the row of the settings.
    pub fn row(&self) -> Vec<u8> {
        encode(self)
    }

    /// Returns the settings of the seed from which a URL was found, if it has some.
    pub fn of(store: &dyn Store, url: UrlId) -> Result<Option<Self>> {
        match store.get(Table::Meta, &keys::seed_of(url.as_bytes()))? {
            Some(row) => match seed_in(&row) {
                Some(seed) => Self::read(store, seed),
                None => Ok(None),
            },
            None => Ok(None),
        }
    }
}

/// Returns the seed that a row names.
pub fn seed_in(row: &[u8]) -> Option<UrlId> {
    row.try_into().ok().map(UrlId::from_bytes)
}
