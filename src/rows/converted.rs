//! What a converter made of a document: a row of `Meta`.

use serde::{Deserialize, Serialize};

use crate::archive::Location;
use crate::store::{Batch, Result, Store, Table, decode, encode, keys};
use crate::url::UrlId;

/// What a converter made of a document when it was last visited and new.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Converted {
    /// A text, which is at this place in the archive of texts.
    Text(Location),
    /// Nothing, for this reason.
    Failed(String),
}

impl Converted {
    /// Reads the row about a page; `None` if no converter was run on it.
    pub fn of(store: &dyn Store, page: UrlId) -> Result<Option<Self>> {
        let row = store.get(Table::Meta, &keys::converted(page.as_bytes()))?;
        row.map(|row| decode(Table::Meta, &row)).transpose()
    }

    /// Adds the row about a page to a batch.
    pub fn put(&self, page: UrlId, batch: &mut Batch) {
        batch.put(Table::Meta, keys::converted(page.as_bytes()), encode(self));
    }
}
