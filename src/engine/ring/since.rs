//! What earlier crawls hold of a URL (`archive.since`): by what it is asked for again, and the body
//! that a server says is unmodified. Reads the store and files of other archives, and writes
//! nothing.

use std::path::PathBuf;
use std::sync::Arc;

use jiff::Timestamp;
use sha2::{Digest as _, Sha256};

use crate::archive::{self, Limits, RecordId, SegmentReader};
use crate::engine::visit::Since;
use crate::fetch::Exchange;
use crate::rows::{EARLIER, EarlierFile, EarlierPage};
use crate::store::{self, Store};
use crate::url::{Identity, Url};

/// Bytes of a record's block beside the body.
const HEAD_BYTES: u64 = 256 << 10;

/// Looks into earlier crawls.
pub(crate) struct LookBack {
    store: Arc<dyn Store>,
    identity: Identity,
    limits: Limits,
}

/// Why the body that an earlier crawl has cannot be read.
#[derive(Debug, thiserror::Error)]
enum BodyLost {
    #[error(transparent)]
    Archive(#[from] archive::Error),
    #[error(transparent)]
    Store(#[from] store::Error),
    #[error("the record at byte {offset} of {} is not the response that was there", path.display())]
    Other { path: PathBuf, offset: u64 },
    #[error("the name of its file is not known")]
    NoFile,
}

impl LookBack {
    /// Looks for bodies of this length at most, in bytes.
    pub(crate) fn new(store: Arc<dyn Store>, identity: Identity, max_body: u64) -> Self {
        Self {
            store,
            identity,
            limits: Limits {
                block_bytes: max_body.saturating_add(HEAD_BYTES),
                ..Limits::default()
            },
        }
    }

    /// Returns what earlier crawls hold of a URL.
    pub(crate) fn of(&self, url: &Url) -> Option<EarlierPage> {
        let id = self.identity.as_written(url);
        EARLIER.get(&*self.store, id.as_bytes()).unwrap_or_else(|error| {
            tracing::warn!(%url, %error, "cannot read what an earlier crawl holds of a page: it is fetched whole");
            None
        })
    }

    /// Compares an answer that has no body, because the page is unmodified, with what an earlier
    /// crawl holds. If that can be read, the answer becomes what it was short for.
    pub(crate) fn unmodified(&self, page: Box<EarlierPage>, answer: &mut Exchange) -> Since {
        match self.body(&page) {
            Ok(earlier) => {
                let whole = answer.with_unmodified(earlier);
                let answer = std::mem::replace(answer, whole);
                Since::Unchanged {
                    page,
                    not_modified: Some(Box::new(answer)),
                }
            }
            Err(error) => {
                tracing::debug!(%error, "a page is unmodified, and the body that an earlier crawl had of it cannot be read: it is fetched whole");
                Since::Lost
            }
        }
    }

    /// Compares an answer whose payload has this SHA-256 with what an earlier crawl holds.
    pub(crate) fn compare(
        &self,
        page: Box<EarlierPage>,
        exchange: &Exchange,
        payload: [u8; 32],
    ) -> Since {
        let is_same = exchange.cut.is_none()
            && payload == page.payload
            && exchange.replay_form() == page.form;
        let is_there = || {
            let path = EarlierFile::path_of(&*self.store, page.file);
            let path = path.ok().flatten();
            path.is_some_and(|path| archive::present(&path).is_some())
        };
        // What is there no more is stored again: it was sent anyway.
        if !is_same || !is_there() {
            return Since::Changed;
        }
        Since::Unchanged {
            page,
            not_modified: None,
        }
    }

    /// Reads the response that an earlier crawl has.
    fn body(&self, page: &EarlierPage) -> Result<Exchange, BodyLost> {
        let path = EarlierFile::path_of(&*self.store, page.file)?.ok_or(BodyLost::NoFile)?;
        let offset = page.offset;
        let mut records = SegmentReader::open_at(&path, offset, self.limits)?;
        let record = records.next().ok_or(BodyLost::NoFile)??;
        let id = record.header("WARC-Record-ID").and_then(RecordId::parse);
        let is_it = page.record == id.map_or([0; 16], |id| *id.as_bytes());
        let date = Timestamp::from_microsecond(page.date).unwrap_or_default();
        let exchange = record
            .http_parts()
            .and_then(|(head, payload)| Exchange::from_archive(head, payload, date, None));
        let exchange = exchange.filter(|it| is_it && page.payload == *Sha256::digest(&it.body));
        exchange.ok_or(BodyLost::Other { path, offset })
    }
}
