//! Which stored response a revisit record may refer to.
//!
//! A player of archives may take the head of the stored response in place of the revisit's own:
//! ReplayWeb.page does, so that of two redirects with the same (empty) body the second led where
//! the first does. A revisit therefore refers only to a response with the same status,
//! `Content-Type` and `Content-Encoding`; a redirect and an answer without a body are always stored
//! in full, because all that they say is in their heads.
//!
//! A row does not have all of a head, so it is read from the archive, and remembered. Where the
//! file is gone, or the response is another crawl's, what the page's row says of it has to do.

use std::cell::RefCell;
use std::collections::HashMap;

use jiff::Timestamp;

use super::super::group::Group;
use crate::archive::{Limits, Location, RecordId, RecordKind, WarcOptions, http_head};
use crate::dedup::{Document, Stored};
use crate::engine::error::Error;
use crate::engine::visit::Judged;
use crate::fetch::{Exchange, Outcome};
use crate::rows::Fate;

/// Maximum number of responses with one payload that are compared. One that has none of their
/// heads is stored, and cannot be found again, so that a site with a head for each answer costs no
/// more than that.
const MOST: usize = 16;

/// Maximum number of heads remembered, with some 50 bytes each.
const MOST_REMEMBERED: usize = 50_000;

/// What players take from the head of a response, as a hash.
type Form = u64;

/// The heads of stored responses.
pub(crate) struct Forms {
    warc: WarcOptions,
    remembered: RefCell<HashMap<Stored, Form>>,
}

impl Forms {
    /// Reads heads from an archive.
    pub(crate) fn new(warc: WarcOptions) -> Self {
        Self {
            warc,
            remembered: RefCell::default(),
        }
    }

    /// Looks for the stored response that a revisit record for this one may refer to.
    pub(in crate::engine::commit) fn find_same(
        &self,
        judged: &mut Judged<'_>,
        group: &Group<'_>,
    ) -> Result<(), Error> {
        let Outcome::Exchange(exchange) = &judged.analysed.fetched.outcome else {
            return Ok(());
        };
        if exchange.body.is_empty() || matches!(exchange.status, 300..400) {
            return Ok(());
        }
        let found = group.find_payload(&judged.analysed.payload, MOST)?;
        judged.is_found_again = found.len() < MOST;
        let form = exchange.replay_form();
        for document in found {
            if group.is_archived(&document) && self.has_form(&document, form, exchange, group)? {
                judged.same_payload = Some(document);
                return Ok(());
            }
        }
        let payload = &judged.analysed.payload;
        judged.same_payload = group.foreign_same(&judged.verdict, payload, form)?;
        Ok(())
    }

    /// Tells whether the stored response of a document has this form.
    fn has_form(
        &self,
        document: &Document,
        form: Form,
        exchange: &Exchange,
        group: &Group<'_>,
    ) -> Result<bool, Error> {
        let stored = document.stored;
        let id = RecordId::from_bytes(stored.record);
        let mut pending = group.set.records.iter();
        let is_it = |kind, of| kind == RecordKind::Response && of == id;
        if let Some(record) = pending.find(|it| is_it(it.kind(), it.id())) {
            return Ok(form_of_head(record.head()) == Some(form));
        }
        let known = self.remembered.borrow().get(&stored).copied();
        if let Some(known) = known.or_else(|| self.read(&stored)) {
            return Ok(known == form);
        }
        let page = group.set.committed_page(document.url_id)?;
        Ok(page.is_some_and(|page| match page.fate {
            Fate::Answered { status, mime, .. } | Fate::Known { status, mime, .. } => {
                status == exchange.status && mime == exchange.mime()
            }
            _ => false,
        }))
    }

    /// Reads the form of a stored response; `None` if it cannot be read.
    fn read(&self, stored: &Stored) -> Option<Form> {
        if stored.is_elsewhere() {
            return None;
        }
        let location = Location::from(stored);
        let path = self.warc.segment_path(location.segment);
        let head = http_head(&path, location.offset, Limits::default());
        let form = form_of_head(&head.ok()??)?;
        let mut remembered = self.remembered.borrow_mut();
        if remembered.len() >= MOST_REMEMBERED {
            remembered.clear();
        }
        remembered.insert(*stored, form);
        Some(form)
    }
}

fn form_of_head(head: &[u8]) -> Option<Form> {
    let exchange = Exchange::from_archive(head, &[], Timestamp::UNIX_EPOCH, None)?;
    Some(exchange.replay_form())
}
