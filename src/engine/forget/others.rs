//! The rows in which a shard names pages of others.

use crate::rows::{ForeignOriginal, Raced};
use crate::store::{self, Table, decode, keys};

/// The rows that name pages of other shards, which only a crawl of several shards has.
#[derive(Debug, Clone, Copy)]
pub(super) enum OtherRows {
    /// Of pages that led to URLs here.
    Pages,
    /// Of originals that pages here repeat.
    Originals,
    /// Of those that pages here are the same as.
    Raced,
}

impl OtherRows {
    pub(super) const ALL: [Self; 3] = [Self::Pages, Self::Originals, Self::Raced];

    pub(super) fn prefix(self) -> &'static [u8] {
        match self {
            Self::Pages => keys::meta::FOREIGN_PAGE,
            Self::Originals => keys::meta::FOREIGN_ORIGINAL,
            Self::Raced => keys::meta::RACED,
        }
    }

    /// Returns the URL that a row names.
    pub(super) fn url(self, row: &[u8]) -> store::Result<String> {
        Ok(match self {
            Self::Pages => String::from_utf8_lossy(row).into_owned(),
            Self::Originals => decode::<ForeignOriginal>(Table::Meta, row)?.document.url,
            Self::Raced => decode::<Raced>(Table::Meta, row)?.original,
        })
    }
}
