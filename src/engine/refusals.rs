//! What a server sends in place of pages, told by its repetition: a short text under many URLs of a
//! host whose other pages differ. Its pages are no originals, and the first of them, which became one
//! before anybody could know, is one no longer.

use std::sync::Arc;

use xxhash_rust::xxh3::xxh3_64;

use super::Error;
use super::committer::Committer;
use super::effects::Group;
use super::visit::{Analysed, Findings};
use crate::dedup::{Document, Fingerprints, Ineligible, Repeat, Signature, Tier, Verdict};
use crate::rows::{Fate, Judgement, PageRecord};
use crate::url::{self, HostKey};

/// Bytes of a visible text that is short enough to stand in place of pages.
const MAX_TEXT: usize = 1_000;

impl Committer {
    /// Whether a page's text is one that its host repeats. A page that is new is counted.
    pub(super) fn is_repeated(
        &self,
        analysed: &Analysed,
        is_new: bool,
        group: &mut Group,
    ) -> Result<bool, Error> {
        let task = &analysed.fetched.task;
        if !self.rules.of(&task.queued.url).refusals {
            return Ok(false);
        }
        let text = short_text(analysed);
        if text.is_none() && !is_new {
            return Ok(false);
        }
        let repeats = &mut group.host(&*self.store, &task.host)?.repeats;
        let Some(text) = text else {
            repeats.see_other();
            return Ok(false);
        };
        if is_new {
            repeats.see(text, xxh3_64(task.url.path().as_bytes()));
        }
        Ok(repeats.is_repeated(text))
    }

    /// Withdraws the original of a text that its host repeats, if that is from there too.
    pub(super) fn withdraw(
        &mut self,
        verdict: &Verdict,
        analysed: &Analysed,
        group: &mut Group,
    ) -> Result<(), Error> {
        let Verdict::Duplicate(Repeat { original, tier, .. }) = verdict else {
            return Ok(());
        };
        let is_from_there = url::parse(&original.url)
            .is_ok_and(|url| HostKey::of(&url) == analysed.fetched.task.host);
        if *tier == Tier::Near || !is_from_there {
            return Ok(());
        }
        let mut document = original.as_ref().clone();
        document.fingerprints = Fingerprints::default();
        let mut documents = group.documents.iter_mut();
        match documents.find(|pending| pending.document.id == document.id) {
            Some(pending) => pending.document.fingerprints = Fingerprints::default(),
            None => group.delta.documents.push(document.clone()),
        }
        if let Some(page) = group.page(&*self.store, document.url_id)? {
            make_repeated(page, &document);
        }
        self.index.documents_mut().insert(Arc::new(document));
        Ok(())
    }
}

/// The record of a page whose document is no original any more.
fn make_repeated(page: &mut PageRecord, document: &Document) {
    if let Fate::Answered { judgement, .. } = &mut page.fate {
        *judgement = Judgement::Ineligible(Ineligible::Repeated);
    }
    // That of a page of this group is filled in later, from the document.
    if let Some(own) = &mut page.document {
        own.clone_from(document);
    }
}

/// What tells a page's visible text from another, if that is short: the digest of its normal form.
fn short_text(analysed: &Analysed) -> Option<u64> {
    let Findings::Page(page) = &analysed.findings else {
        return None;
    };
    let fingerprints = analysed.fingerprints.as_ref().ok()?;
    match fingerprints.get(Tier::Normalized)? {
        Signature::Digest(digest) if page.full_text.len() <= MAX_TEXT => {
            Some(u64::from_be_bytes(*digest.first_chunk()?))
        }
        _ => None,
    }
}
