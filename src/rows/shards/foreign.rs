//! What a shard of a crawl keeps of documents of other shards: the originals that its pages repeat,
//! and those that pages of its own turned out to be the same as. A crawl of one shard has neither.

use serde::{Deserialize, Serialize};

use crate::dedup::{Document, DocumentId, Similarity, Tier};
use crate::rows::page_record::{Fate, Judgement, PageRecord};
use crate::store::{Batch, Result, Store, Table, decode, encode, for_each, keys};
use crate::url::UrlId;

/// An original of another shard that pages of this one repeat: a row of `Meta`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ForeignOriginal {
    /// The document as it was when a page was found to repeat it, under the number by which it is
    /// known here.
    pub document: Document,
    /// Set if its shard has said since that it is no original any more.
    pub is_gone: bool,
    /// Number of duplicates here whose bodies were stored because of a rule.
    pub stored_members: u32,
}

impl ForeignOriginal {
    /// Reads the original with this number.
    pub fn read(store: &dyn Store, id: DocumentId) -> Result<Option<Self>> {
        let key = keys::by_document(keys::meta::FOREIGN_ORIGINAL, id);
        let row = store.get(Table::Meta, &key)?;
        row.map(|row| decode(Table::Meta, &row)).transpose()
    }

    /// Writes the row.
    pub fn put(&self, batch: &mut Batch) {
        let key = keys::by_document(keys::meta::FOREIGN_ORIGINAL, self.document.id);
        batch.put(Table::Meta, key, encode(self));
    }

    /// Returns what is known of its page, as a record: there is none here.
    pub(in crate::rows) fn into_page(self) -> PageRecord {
        PageRecord {
            url: self.document.url.clone(),
            via: None,
            depth: 0,
            time: self.document.fetched,
            last_seen: self.document.fetched,
            attempts: 1,
            fate: Fate::Answered {
                status: 0,
                mime: None,
                size: 0,
                title: None,
                language: None,
                canonical: None,
                judgement: Judgement::Unique,
            },
            revisit: None,
            validators: None,
            document: (!self.is_gone).then_some(self.document),
            record: None,
            stored_members: self.stored_members,
        }
    }
}

/// A page of its own that another shard had committed the same of, before either shard could know:
/// a row of `Meta`, by the id of the page. Both are stored. Only the later of the two has the row.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Raced {
    /// The document by which the page is an original: the row is about no other.
    pub document: DocumentId,
    /// Document of the earlier one.
    pub of: DocumentId,
    /// URL of the earlier one.
    pub original: String,
    /// The tier at which they match.
    pub tier: Tier,
    /// Number of bits in which the `SimHash`es differ.
    pub distance: u8,
    /// Similarity of the two pages.
    pub similarity: Similarity,
}

impl Raced {
    /// Reads what the page was the same as, if it is still the page that it was.
    pub fn of(store: &dyn Store, id: UrlId, page: &PageRecord) -> Result<Option<Self>> {
        let Some(document) = page.original() else {
            return Ok(None);
        };
        let row = store.get(Table::Meta, &keys::raced(id.as_bytes()))?;
        let raced: Option<Self> = row.map(|row| decode(Table::Meta, &row)).transpose()?;
        Ok(raced.filter(|raced| raced.document == document.id))
    }

    /// Writes the row of a page, and the one that leads to it.
    pub fn put(&self, id: UrlId, batch: &mut Batch) {
        batch.put(Table::Meta, keys::raced(id.as_bytes()), encode(self));
        batch.put(Table::Meta, keys::raced_with(self.of, id.as_bytes()), []);
    }

    /// Deletes the rows of the pages that were the same as a document of another shard, which is
    /// gone.
    pub fn delete_with(of: DocumentId, store: &dyn Store, batch: &mut Batch) -> Result<()> {
        let prefix = keys::by_document(keys::meta::RACED_WITH, of);
        for_each(store, Table::Meta, &prefix, &mut |key, _| {
            batch.delete(Table::Meta, key);
            let Some(page) = keys::parse_raced_with(key) else {
                return Ok(());
            };
            // By now the page may be the same as another.
            let row = keys::raced(&page);
            if let Some(raced) = store.get(Table::Meta, &row)?
                && decode::<Self>(Table::Meta, &raced)?.of == of
            {
                batch.delete(Table::Meta, row);
            }
            Ok(())
        })
    }

    /// Returns the number of such pages.
    pub fn count(store: &dyn Store) -> Result<u64> {
        let mut count = 0;
        for_each(store, Table::Meta, keys::meta::RACED, &mut |_, _| {
            count += 1;
            Ok(())
        })?;
        Ok(count)
    }
}
