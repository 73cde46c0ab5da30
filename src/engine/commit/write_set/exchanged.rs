//! What a group exchanges with the other shards of the crawl.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};

use super::WriteSet;
use crate::dedup::{Document, DocumentId, Fingerprints};
use crate::engine::Error;
use crate::engine::exchange::{Exchanging, Telling};
use crate::engine::library::ForeignDocuments;
use crate::frontier::{Remembrance, SharedForgotten};
use crate::rows::{ForeignOriginal, Notice, OwnPart, PageRecord, Published, Sent, foreign_page};
use crate::store::{self, Batch, Store, Table, encode, keys};
use crate::url::{self, UrlId};

/// What a group sends, tells, and took in. Empty in a crawl of one shard.
#[derive(Debug, Default)]
pub(crate) struct Exchanged {
    /// Set in a crawl of several shards: only there is any row of other shards looked for.
    pub(crate) has_others: bool,
    /// What is sent, with the number of the receiving shard, in order.
    pub(crate) sent: Vec<(u16, Vec<u8>)>,
    /// The shards from which something is in the group, and the number of the last message of each.
    pub(crate) received: BTreeMap<u16, u64>,
    /// Where the documents of other shards are, if these tell of them.
    pub(crate) documents: Option<ForeignDocuments>,
    /// What is forgotten here.
    pub(crate) forgotten: SharedForgotten,
    /// What of the group's documents others are told besides.
    pub(crate) offered: BTreeMap<DocumentId, Offered>,
    /// What others are told behind what they were told before.
    pub(crate) telling: Telling,
    /// URLs of pages of other shards, by their ids.
    pages: BTreeMap<UrlId, String>,
    /// Originals of other shards, as the group leaves them.
    originals: BTreeMap<DocumentId, ForeignOriginal>,
}

/// What others are told of a document besides the document.
#[derive(Debug)]
pub(crate) struct Offered {
    /// What players of archives take from the head of its response.
    pub(crate) form: Option<u64>,
    /// What of it is its own.
    pub(crate) own: Option<OwnPart>,
}

impl Exchanged {
    /// Sends something to other shards.
    pub(crate) fn send(&mut self, to: impl IntoIterator<Item = u16>, sent: &Sent) {
        let row = encode(sent);
        let sent = to.into_iter().map(|to| (to, row.clone()));
        self.sent.extend(sent);
    }

    /// Returns `true` if the page of a document of another shard is forgotten.
    pub(crate) fn forgets(&self, document: &Document, store: &dyn Store) -> store::Result<bool> {
        let forgotten = self.forgotten.load();
        // It is asked for each original that a page may repeat.
        if forgotten.is_empty() {
            return Ok(false);
        }
        let Ok(url) = url::parse(&document.url) else {
            return Ok(false);
        };
        let known = forgotten.of(&url, &[document.url_id], store)?;
        Ok(known == Remembrance::Forgotten)
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

/// Returns what is kept of an original of another shard, to be changed; it is written anew.
pub(crate) fn foreign_original<'s>(
    set: &'s mut WriteSet,
    document: &Document,
) -> Result<&'s mut ForeignOriginal, Error> {
    let originals = &mut set.exchanged.originals;
    Ok(match originals.entry(document.id) {
        Entry::Occupied(known) => known.into_mut(),
        Entry::Vacant(new) => {
            let known = ForeignOriginal::read(&*set.store, document.id)?;
            new.insert(known.unwrap_or_else(|| ForeignOriginal {
                document: document.clone(),
                is_gone: false,
                stored_members: 0,
            }))
        }
    })
}

/// Takes what the group exchanges. Of its documents others are told, as far as they can be
/// originals; and which of those that they were told of before are none any more.
pub(crate) fn take_exchanging(set: &mut WriteSet) -> Result<Exchanging, Error> {
    let exchanged = &mut set.exchanged;
    for original in std::mem::take(&mut exchanged.originals).values() {
        original.put(&mut set.batch);
    }
    let mut telling = std::mem::take(&mut exchanged.telling);
    if exchanged.documents.is_some() {
        let mut offered = std::mem::take(&mut exchanged.offered);
        for document in set.documents.documents() {
            let is_original = document.fingerprints != Fingerprints::default();
            if let Some(Offered { form, own }) = offered.remove(&document.id)
                && is_original
            {
                let document = document.clone();
                let published = Published {
                    document,
                    form,
                    own,
                };
                let notice = Notice::Document(Box::new(published));
                telling.notices.push(notice);
            }
        }
        telling
            .notices
            .extend(gone(set)?.into_iter().map(Notice::Gone));
    }
    let exchanged = &mut set.exchanged;
    Ok(Exchanging {
        sent: std::mem::take(&mut exchanged.sent),
        received: std::mem::take(&mut exchanged.received),
        telling,
    })
}

/// Returns the committed documents that are no originals any more once the group is committed.
fn gone(set: &WriteSet) -> Result<BTreeSet<DocumentId>, Error> {
    let mut gone: BTreeSet<DocumentId> = set.expired.iter().copied().collect();
    gone.extend(set.withdrawn.iter().map(|document| document.id));
    let original = |page: &PageRecord| {
        let document = page.original();
        let is_told = |it: &&Document| it.fingerprints != Fingerprints::default();
        document.filter(is_told).map(|document| document.id)
    };
    for (id, row) in &set.pages {
        let Some(before) = set.committed_page(*id)?.as_ref().and_then(original) else {
            continue;
        };
        let now = row.document.or_else(|| original(&row.record));
        if now != Some(before) {
            gone.insert(before);
        }
    }
    for key in set.batch.deletes(Table::Pages) {
        if let Ok(id) = key.try_into().map(UrlId::from_bytes) {
            gone.extend(set.committed_page(id)?.as_ref().and_then(original));
        }
    }
    Ok(gone)
}
