//! What is kept of the body of a duplicate in other bytes: a delta against the stored response of
//! its original, from which the body can be rebuilt.
//!
//! A delta is always made against a response that is stored in full: in the archive below its
//! acknowledged end, or in the same group. Where there is none, or it would take too much reading,
//! the body is compressed by itself. While a group is judged, bodies are only ordered; they are
//! made when all of it is judged (`making.rs`), and what they tell may withdraw a verdict: then the
//! group is judged once more. Originals that were read last stay in memory.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, OnceLock};

use super::compare::forms::Forms;
use super::group::Group;
use super::making::{Base, Made, Makers, Order};
use super::records::{Keeping, is_stored};
use crate::archive::{DuplicateBodies, RecordId, RecordKind, StorePolicy, WarcOptions};
use crate::dedup::{Document, Tier, Verdict};
use crate::engine::error::Error;
use crate::engine::visit::{Findings, Judged, KeptBody};
use crate::fetch::Outcome;
use crate::journal::Content;
use crate::url::UrlId;

/// What is kept of bodies, and what it is made with.
pub(crate) struct Bodies {
    mode: DuplicateBodies,
    warc: WarcOptions,
    forms: Forms,
    bases: Bases,
    makers: Makers,
    /// Digests of the payloads of the group whose verdicts are withdrawn.
    doubtful: HashSet<[u8; 32]>,
}

/// What came of the orders of a group.
pub(super) enum Bound {
    /// The bodies, by page.
    Bodies(Vec<(UrlId, KeptBody)>),
    /// A verdict is withdrawn, so the group is to be judged again.
    Withdrawn,
    Panicked,
}

/// The contents of originals that were read last, by the digest of their payloads.
struct Bases {
    contents: HashMap<[u8; 32], (Arc<Content>, u64)>,
    bytes: usize,
    max_bytes: usize,
    /// Rises with every use.
    clock: u64,
}

impl Bodies {
    /// Creates the state for the crawl with this archive, with at most `max_bytes` of
    /// originals in memory between groups.
    pub(crate) fn new(mode: DuplicateBodies, warc: WarcOptions, max_bytes: usize) -> Self {
        Self {
            mode,
            forms: Forms::new(warc.clone()),
            warc,
            bases: Bases {
                contents: HashMap::new(),
                bytes: 0,
                max_bytes,
                clock: 0,
            },
            makers: Makers::default(),
            doubtful: HashSet::new(),
        }
    }

    /// Returns what is known of the heads of stored responses.
    pub(super) fn forms(&self) -> &Forms {
        &self.forms
    }

    /// Returns what records are made of visits.
    pub(super) fn keeping(&self, policy: StorePolicy) -> Keeping {
        Keeping {
            policy,
            texts: self.mode != DuplicateBodies::None,
            digest: self.warc.digest,
        }
    }

    /// Begins a group of visits.
    pub(super) fn begin(&mut self) {
        self.doubtful.clear();
    }

    /// Decides whether the body of a duplicate is kept beside its original's. A verdict that its
    /// body has made doubtful is withdrawn: then the page is unique.
    pub(super) fn settle(&self, judged: &mut Judged<'_>, policy: StorePolicy) {
        let Verdict::Duplicate(repeat) = &judged.verdict else {
            return;
        };
        let is_kept = judged.same_payload.is_some() || is_stored(judged, policy);
        if self.mode != DuplicateBodies::Delta || is_kept {
            return;
        }
        if repeat.tier != Tier::Raw && self.doubtful.contains(&judged.analysed.payload) {
            judged.verdict = Verdict::Unique;
            judged.keep = None;
        } else {
            judged.keeps_body = matches!(judged.analysed.fetched.outcome, Outcome::Exchange(_));
        }
    }

    /// Orders the body of a duplicate, whose visit's record is `visit`.
    pub(super) fn order(
        &self,
        judged: &Judged<'_>,
        visit: RecordId,
        group: &Group<'_>,
    ) -> Option<Order> {
        let (Verdict::Duplicate(repeat), Outcome::Exchange(exchange)) =
            (&judged.verdict, &judged.analysed.fetched.outcome)
        else {
            return None;
        };
        let text = match &judged.analysed.findings {
            _ if repeat.tier == Tier::Raw => None,
            Findings::Page(page) => Some(page.full_text.clone()),
            _ => Some(String::new()),
        };
        Some(Order {
            page: judged.analysed.fetched.task.queued.id,
            visit,
            payload: judged.analysed.payload,
            head: exchange.response_head(),
            body: exchange.body.clone(),
            text,
            base: self.base(&repeat.original, group),
        })
    }

    /// Makes what a group orders.
    pub(super) fn make(&mut self, orders: Vec<Order>) -> Result<Bound, Error> {
        if orders.is_empty() {
            return Ok(Bound::Bodies(Vec::new()));
        }
        let orders: Vec<Arc<Order>> = orders.into_iter().map(Arc::new).collect();
        let Some(made) = self.makers.make(&orders, &self.warc)? else {
            return Ok(Bound::Panicked);
        };
        let mut bodies = Vec::with_capacity(orders.len());
        for (order, made) in orders.iter().zip(made) {
            if let Some(base) = &order.base
                && let Some(Some(content)) = base.content.get()
            {
                self.bases.keep(base.payload, content);
            }
            match made {
                Made::Kept(body) => bodies.push((order.page, *body)),
                Made::Doubtful => {
                    self.doubtful.insert(order.payload);
                }
            }
        }
        Ok(match bodies.len() == orders.len() {
            true => Bound::Bodies(bodies),
            false => Bound::Withdrawn,
        })
    }

    /// Returns where a document's stored response is, if it may be at hand.
    fn base(&self, document: &Document, group: &Group<'_>) -> Option<Arc<Base>> {
        if document.stored.is_elsewhere() || !group.is_archived(document) {
            return None;
        }
        // Duplicates of one original share it.
        let mut ordered = group.set.orders.iter().filter_map(|it| it.base.as_ref());
        if let Some(base) = ordered.find(|base| base.payload == document.payload) {
            return Some(Arc::clone(base));
        }
        let id = RecordId::from_bytes(document.stored.record);
        let mut records = group.set.records.iter();
        let own = records.find(|it| it.kind() == RecordKind::Response && it.id() == id);
        let cached = self.bases.contents.get(&document.payload);
        Some(Arc::new(Base {
            stored: document.stored,
            payload: document.payload,
            own: own.map(|record| (record.head().to_vec(), record.payload().clone())),
            content: match cached {
                Some((content, _)) => OnceLock::from(Some(Arc::clone(content))),
                None => OnceLock::new(),
            },
        }))
    }
}

impl Bases {
    /// Keeps a content that was used, in place of those that were not used for longest.
    fn keep(&mut self, payload: [u8; 32], content: &Arc<Content>) {
        self.clock += 1;
        if let Some((_, used)) = self.contents.get_mut(&payload) {
            *used = self.clock;
            return;
        }
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
