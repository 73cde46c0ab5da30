//! What a group exchanges with the other shards of the crawl.

use std::collections::BTreeMap;

use super::WriteSet;
use crate::engine::Error;
use crate::rows::{Sent, foreign_page};
use crate::store::{Batch, Store, Table, encode, keys};
use crate::url::UrlId;

/// What a group sends, and what it took in. Empty in a crawl of one shard.
#[derive(Debug, Default)]
pub(crate) struct Exchanged {
    /// Set in a crawl of several shards: only there is any row of other shards looked for.
    pub(crate) has_others: bool,
    /// What is sent, with the number of the receiving shard, in order.
    pub(crate) sent: Vec<(u16, Vec<u8>)>,
    /// The shard from which the group is, and the number of its last message.
    pub(crate) received: Option<(u16, u64)>,
    /// URLs of pages of other shards, by their ids.
    pages: BTreeMap<UrlId, String>,
}

impl Exchanged {
    /// Sends something to other shards.
    pub(crate) fn send(&mut self, to: impl IntoIterator<Item = u16>, sent: &Sent) {
        let row = encode(sent);
        let sent = to.into_iter().map(|to| (to, row.clone()));
        self.sent.extend(sent);
    }

    /// Keeps the URL of a page of another shard, which a row refers to by its id.
    pub(crate) fn note_page(
        &mut self,
        (page, url): (UrlId, &str),
        store: &dyn Store,
        batch: &mut Batch,
    ) -> Result<(), Error> {
        if self.page(page, store)?.is_none() {
            let key = keys::foreign_page(page.as_bytes());
            batch.put(Table::Meta, key, url.as_bytes().to_vec());
            self.pages.insert(page, url.to_owned());
        }
        Ok(())
    }

    /// Returns the URL of a page of another shard that led to something here.
    pub(crate) fn page(&self, page: UrlId, store: &dyn Store) -> Result<Option<String>, Error> {
        if !self.has_others {
            return Ok(None);
        }
        match self.pages.get(&page) {
            Some(url) => Ok(Some(url.clone())),
            None => Ok(foreign_page(store, page)?),
        }
    }
}

impl WriteSet {
    /// Returns the URL of a visited page, and the page on which that was found, unless it is a page
    /// of another shard.
    pub(crate) fn found_on(&self, page: UrlId) -> Result<Option<(String, Option<UrlId>)>, Error> {
        Ok(match self.pages.get(&page) {
            Some(row) => Some((row.record.url.clone(), row.record.via)),
            None => match self.committed_page(page)? {
                Some(record) => Some((record.url, record.via)),
                None => (self.exchanged.page(page, &*self.store)?).map(|url| (url, None)),
            },
        })
    }
}
