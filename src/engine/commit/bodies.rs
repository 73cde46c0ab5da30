//! What is kept of the body of a duplicate in other bytes: a delta against the stored response of
//! its original, from which the body can be rebuilt.
//!
//! Reads originals from the archive, and keeps those that were read last in memory. A delta is
//! always made against a response that is stored in full: in the archive below its acknowledged
//! end, or in the same group. Where there is none, or it would take too much reading, the body is
//! compressed by itself.

use std::cell::RefCell;
use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

use bytes::Bytes;

use super::group::Group;
use super::records::is_stored;
use crate::archive::{
    Digest, DuplicateBodies, Limits, MAX_DELTA_CONTENT, PackBase, PackedBody, RecordId, RecordKind,
    StorePolicy, WarcOptions, compress,
};
use crate::dedup::{Document, Stored, Tier, Verdict};
use crate::engine::error::Error;
use crate::engine::visit::{Findings, Judged, KeptBody};
use crate::fetch::{Exchange, Outcome};
use crate::journal::Content;
use crate::page::charset;

/// Bytes of originals that may be read for one group of visits.
const MAX_READ: usize = 16 << 20;

/// A delta that takes more than this part, in hundredths, of what the body takes by itself says
/// that the two pages have little in common.
const MAX_SHARE: usize = 60;

/// A delta below this part of the body, in hundredths, is not compared with the body compressed by
/// itself: hardly any page shrinks that much.
const SMALL: usize = 4;

/// Makes deltas.
pub(crate) struct Bodies {
    mode: DuplicateBodies,
    warc: WarcOptions,
    bases: RefCell<Bases>,
}

/// The contents of originals that were read last, by the digest of their payloads.
struct Bases {
    contents: HashMap<[u8; 32], (Arc<Content>, u64)>,
    bytes: usize,
    max_bytes: usize,
    /// Rises with every use.
    clock: u64,
    /// Bytes that may still be read for this group.
    left: usize,
}

impl Bodies {
    /// Creates the state for the crawl in the directory `data`, with at most `max_bytes` of
    /// originals in memory.
    pub(crate) fn new(mode: DuplicateBodies, data: &Path, max_bytes: usize) -> Self {
        Self {
            mode,
            warc: WarcOptions::pages_of(data),
            bases: RefCell::new(Bases {
                contents: HashMap::new(),
                bytes: 0,
                max_bytes,
                clock: 0,
                left: MAX_READ,
            }),
        }
    }

    /// Returns `true` if the main texts of duplicates are kept.
    pub(super) fn keeps_texts(&self) -> bool {
        self.mode != DuplicateBodies::None
    }

    /// Begins a group of visits.
    pub(super) fn begin(&self) {
        self.bases.borrow_mut().left = MAX_READ;
    }

    /// Decides what is kept of the body of a duplicate. If the page has little in common with its
    /// original after all, the verdict is withdrawn: then the page is unique.
    pub(super) fn settle(
        &self,
        judged: &mut Judged<'_>,
        policy: StorePolicy,
        group: &Group<'_>,
    ) -> Result<(), Error> {
        let Verdict::Duplicate(repeat) = &judged.verdict else {
            return Ok(());
        };
        let Outcome::Exchange(exchange) = &judged.analysed.fetched.outcome else {
            return Ok(());
        };
        let is_kept = judged.same_payload.is_some() || is_stored(judged, policy);
        if self.mode != DuplicateBodies::Delta || is_kept {
            return Ok(());
        }
        let own = Content::of(&exchange.response_head(), &exchange.body);
        let base = match is_usable(&own) {
            true => self.base(&repeat.original, group),
            false => None,
        };
        let Some(base) = base else {
            judged.body = Some(Box::new(by_itself(&own, exchange, compressed(None, &own)?)));
            return Ok(());
        };
        let delta = compressed(Some(&base), &own)?;
        if delta.len() * 100 > own.bytes().len() * SMALL {
            let alone = compressed(None, &own)?;
            if delta.len() * 100 > alone.len() * MAX_SHARE {
                if repeat.tier != Tier::Raw && has_little_in_common(judged, &own, &base)? {
                    judged.verdict = Verdict::Unique;
                    judged.keep = None;
                } else {
                    judged.body = Some(Box::new(by_itself(&own, exchange, alone)));
                }
                return Ok(());
            }
        }
        let mut kept = by_itself(&own, exchange, delta);
        kept.packed.base = Some(PackBase {
            payload: Digest::from_bytes(repeat.original.payload),
            length: base.bytes().len() as u64,
        });
        kept.base = Some(repeat.original.stored);
        judged.body = Some(Box::new(kept));
        Ok(())
    }

    /// Returns the content of a document's stored response, if it is at hand.
    fn base(&self, document: &Document, group: &Group<'_>) -> Option<Arc<Content>> {
        if document.stored.is_elsewhere() || !group.is_archived(document) {
            return None;
        }
        let mut bases = self.bases.borrow_mut();
        bases.clock += 1;
        let clock = bases.clock;
        if let Some((content, used)) = bases.contents.get_mut(&document.payload) {
            *used = clock;
            return Some(Arc::clone(content));
        }
        let content = self.read(&document.stored, document, group, bases.left)?;
        bases.left = bases.left.saturating_sub(content.bytes().len());
        bases.keep(document.payload, &content);
        Some(content)
    }

    /// Reads a stored response, from the group or from the archive.
    fn read(
        &self,
        stored: &Stored,
        document: &Document,
        group: &Group<'_>,
        left: usize,
    ) -> Option<Arc<Content>> {
        let id = RecordId::from_bytes(stored.record);
        let own = group.set.records.iter();
        let mut own = own.filter(|record| record.kind() == RecordKind::Response);
        let content = match own.find(|record| record.id() == id) {
            Some(record) => {
                let [head, payload] = record.block();
                Content::of(head, &Bytes::copy_from_slice(payload))
            }
            None => {
                let limits = Limits {
                    block_bytes: left.min(MAX_DELTA_CONTENT) as u64,
                    ..Limits::default()
                };
                // The file may have been moved away, which is allowed.
                let record = self.warc.read(&stored.into(), limits).ok()?;
                let (head, payload) = record.http_parts()?;
                if Digest::of(payload) != Digest::from_bytes(document.payload) {
                    return None;
                }
                Content::of(head, &Bytes::copy_from_slice(payload))
            }
        };
        is_usable(&content).then(|| Arc::new(content))
    }
}

impl Bases {
    /// Keeps a content, in place of those that were not used for longest.
    fn keep(&mut self, payload: [u8; 32], content: &Arc<Content>) {
        let length = content.bytes().len();
        if length > self.max_bytes {
            return;
        }
        while self.bytes + length > self.max_bytes {
            let oldest = self.contents.iter().min_by_key(|(_, (_, used))| *used);
            let Some(oldest) = oldest.map(|(payload, _)| *payload) else {
                break;
            };
            if let Some((content, _)) = self.contents.remove(&oldest) {
                self.bytes -= content.bytes().len();
            }
        }
        self.bytes += length;
        self.contents
            .insert(payload, (Arc::clone(content), self.clock));
    }
}

/// Returns `true` if a content can be a delta, or the base of one.
fn is_usable(content: &Content) -> bool {
    !content.is_coded() && content.bytes().len() <= MAX_DELTA_CONTENT
}

/// Returns what is kept of a body whose frame is `data`, without a base.
fn by_itself(own: &Content, exchange: &Exchange, data: Vec<u8>) -> KeptBody {
    let is_as_received = own.body() == &exchange.body[..];
    KeptBody {
        packed: PackedBody {
            visit: RecordId::new(0),
            base: None,
            digest: Digest::of(own.body()),
            received: (!is_as_received).then(|| Digest::of(&exchange.body)),
            is_coded: own.is_coded(),
            head_length: own.head().len() as u64,
            length: own.body().len() as u64,
            data,
        },
        base: None,
    }
}

/// Compresses a content, as a delta if there is a base.
fn compressed(base: Option<&Content>, own: &Content) -> Result<Vec<u8>, Error> {
    frame(base.map(Content::bytes), own.bytes())
}

fn frame(prefix: Option<&[u8]>, bytes: &[u8]) -> Result<Vec<u8>, Error> {
    compress(prefix, bytes)
        .map_err(|error| Error::Internal(format!("zstd cannot compress a body: {error}")))
}

/// Returns `true` if neither the bodies nor the visible text of the page are to be found in the
/// original: the text that was compared is then not what the pages are about. Pages that differ in
/// markup and frame alone have their text in common.
fn has_little_in_common(judged: &Judged<'_>, own: &Content, base: &Content) -> Result<bool, Error> {
    let differ = |base: &[u8], own: &[u8]| -> Result<bool, Error> {
        let (delta, alone) = (frame(Some(base), own)?, frame(None, own)?);
        Ok(delta.len() * 100 > alone.len() * MAX_SHARE)
    };
    if !differ(base.body(), own.body())? {
        return Ok(false);
    }
    let Findings::Page(page) = &judged.analysed.findings else {
        return Ok(true);
    };
    let content_type = base.header("content-type");
    let text = charset::to_text(base.body(), content_type.as_deref());
    differ(text.text.as_bytes(), page.full_text.as_bytes())
}
