//! What a visit's page is compared with: what it was at the visit before, and the originals that are
//! stored; whether it can be compared at all, and whether what it repeats still stands.

use std::sync::Arc;

use super::Error;
use super::committer::{Committer, DEDUP_RUNS};
use super::effects::Group;
use super::revisit::mark;
use super::visit::{Analysed, Findings};
use crate::dedup::{Asked, Document, Fingerprints, Ineligible, Repeat, Similarity, Tier, Verdict};
use crate::frontier::QueuedUrl;
use crate::page::Refusal;
use crate::rows::{Duplicate, Fate, Judgement, PageRecord};
use crate::store::{Table, decode};
use crate::url::UrlId;

impl Committer {
    /// Whether a duplicate's body is stored because its original has fewer stored members than the
    /// rules of both allow; `None` if no rule says how many. One that is stored counts.
    pub(super) fn has_room(
        &self,
        verdict: &Verdict,
        analysed: &Analysed,
        is_new: bool,
        group: &mut Group,
    ) -> Result<Option<bool>, Error> {
        let Verdict::Duplicate(Repeat { original, .. }) = verdict else {
            return Ok(None);
        };
        let own = self.rules.of(&analysed.fetched.task.queued.url);
        let Some(most) = own.and(&self.rules.of(&original.url)).stored_members else {
            return Ok(None);
        };
        // The bytes of one that is stored take no room.
        if !is_new {
            return Ok(Some(false));
        }
        let Some(page) = group.page(&*self.store, original.url_id)? else {
            return Ok(Some(false));
        };
        let has_room = page.stored_members < most;
        page.stored_members += u32::from(has_room);
        Ok(Some(has_room))
    }

    /// The verdict on a page that can be an original or a duplicate.
    pub(super) fn compare(
        &self,
        analysed: &Analysed,
        fingerprints: &Fingerprints,
        previous: Option<&PageRecord>,
        group: &Group,
    ) -> Result<Verdict, Error> {
        if let Some(unchanged) = self.unchanged(analysed, previous, group)? {
            return Ok(unchanged);
        }
        let queued = &analysed.fetched.task.queued;
        let asked = self.asked(queued.id, &queued.url, fingerprints);
        let verdict = self.answered(&asked, group)?;
        self.unless_it_stays(verdict, &asked, previous, group)
    }

    /// A page as the index is asked about it.
    pub(super) fn asked<'a>(
        &'a self,
        page: UrlId,
        url: &'a str,
        fingerprints: &'a Fingerprints,
    ) -> Asked<'a> {
        Asked {
            page,
            url,
            fingerprints,
            runs: &self.catalog[DEDUP_RUNS..],
            rules: &self.rules,
        }
    }

    /// What the index says of a page: the original that it repeats must still stand.
    pub(super) fn answered(&self, asked: &Asked<'_>, group: &Group) -> Result<Verdict, Error> {
        (self.index).judge(asked, |original| self.stands(original, group))
    }

    /// The signatures of a page that can be an original or a duplicate, or why it cannot.
    pub(super) fn eligible<'a>(
        &self,
        analysed: &'a Analysed,
    ) -> Result<&'a Fingerprints, Ineligible> {
        let fingerprints = analysed.fingerprints.as_ref().map_err(|reason| *reason)?;
        if let Findings::Page(page) = &analysed.findings
            && let Some(refusal) = page.refusal
            && self.rules.of(&analysed.fetched.task.queued.url).refusals
        {
            return Err(match refusal {
                Refusal::Challenge => Ineligible::Challenge,
                Refusal::Denied => Ineligible::Denied,
                Refusal::Consent => Ineligible::Consent,
            });
        }
        Ok(fingerprints)
    }

    /// The verdict on a page that is what it was when it was visited last: the original that it is,
    /// or a duplicate of an original that still stands.
    fn unchanged(
        &self,
        analysed: &Analysed,
        previous: Option<&PageRecord>,
        group: &Group,
    ) -> Result<Option<Verdict>, Error> {
        let (Some(previous), Ok(own)) = (previous, &analysed.fingerprints) else {
            return Ok(None);
        };
        let Fate::Answered { judgement, .. } = &previous.fate else {
            return Ok(None);
        };
        let repeat = match (judgement, &previous.document) {
            (Judgement::Unique, Some(stored)) => match own.same_as(&stored.fingerprints) {
                Some(tier) => Repeat::exact(Arc::new(stored.clone()), tier),
                None => return Ok(None),
            },
            (Judgement::Duplicate(duplicate), _) => {
                let same = previous.revisit.is_some_and(|it| it.mark == mark(analysed));
                match self.index.documents().get(duplicate.of)? {
                    Some(original) if same && self.stands(&original, group)? => {
                        repeat_of(original, duplicate)
                    }
                    _ => return Ok(None),
                }
            }
            _ => return Ok(None),
        };
        Ok(Some(Verdict::Unchanged(repeat)))
    }

    /// The verdict on a page that is, by its server's word, what it was; `None` if what it was does
    /// not stand any more, so that its body is needed.
    pub(super) fn not_modified(
        &self,
        previous: Option<&PageRecord>,
        group: &Group,
    ) -> Result<Option<Verdict>, Error> {
        let Some(previous) = previous else {
            return Ok(None);
        };
        let judgement = match &previous.fate {
            Fate::Answered { judgement, .. } => judgement,
            // What it lists was queued then.
            Fate::Sitemap { .. } => return Ok(Some(Verdict::Ineligible(Ineligible::Status))),
            Fate::Failed { .. } | Fate::Known { .. } => return Ok(None),
        };
        let repeat = match judgement {
            Judgement::Ineligible(reason) => return Ok(Some(Verdict::Ineligible(*reason))),
            Judgement::Unique => match &previous.document {
                Some(stored) => Repeat::exact(Arc::new(stored.clone()), Tier::Raw),
                None => return Ok(None),
            },
            Judgement::Duplicate(duplicate) => match self.index.documents().get(duplicate.of)? {
                Some(original) if self.stands(&original, group)? => repeat_of(original, duplicate),
                _ => return Ok(None),
            },
        };
        Ok(Some(Verdict::Unchanged(repeat)))
    }

    /// The verdict on a page that was a duplicate and has changed: it leaves its cluster only if it is
    /// clearly another page by now, or exactly one that is stored.
    fn unless_it_stays(
        &self,
        verdict: Verdict,
        page: &Asked<'_>,
        previous: Option<&PageRecord>,
        group: &Group,
    ) -> Result<Verdict, Error> {
        let Some(before) = previous.and_then(PageRecord::duplicate) else {
            return Ok(verdict);
        };
        let is_better = verdict
            .repeats()
            .is_some_and(|repeats| repeats.tier != Tier::Near || repeats.original.id == before.of);
        if is_better {
            return Ok(verdict);
        }
        let original = self.index.documents().get(before.of)?;
        let Some(original) = original else {
            return Ok(verdict);
        };
        let rule = page.rules.of(page.url).and(&page.rules.of(&original.url));
        match page.fingerprints.stays_near(&original.fingerprints, &rule) {
            Some(found) if self.stands(&original, group)? => Ok(Verdict::Duplicate(Repeat {
                original,
                tier: Tier::Near,
                distance: found.distance,
                similarity: Similarity::of(found.similarity),
            })),
            _ => Ok(verdict),
        }
    }

    /// Whether a document is an original: its page is committed as that document, or will be with
    /// this group.
    fn stands(&self, document: &Document, group: &Group) -> Result<bool, Error> {
        Ok(group.has_original(document) || self.is_committed(document)?)
    }

    /// What is known of a page that is visited again.
    pub(super) fn previous(&self, queued: &QueuedUrl) -> Result<Option<Box<PageRecord>>, Error> {
        if !queued.revisit {
            return Ok(None);
        }
        let row = self.store.get(Table::Pages, queued.id.as_bytes())?;
        row.map(|row| Ok(decode(Table::Pages, &row)?)).transpose()
    }

    /// Whether the record of a document is in the acknowledged archive.
    pub(super) fn is_archived(&self, document: &Document) -> bool {
        let (stored, tail) = (&document.stored, &self.disk.archive);
        stored.is_elsewhere()
            || (stored.segment, stored.offset + stored.length) <= (tail.segment, tail.offset)
    }

    /// Whether the page of a document is committed, as that document.
    fn is_committed(&self, document: &Document) -> Result<bool, Error> {
        let Some(row) = self.store.get(Table::Pages, document.url_id.as_bytes())? else {
            return Ok(false);
        };
        let record: PageRecord = decode(Table::Pages, &row)?;
        Ok(record.document.is_some_and(|own| own.id == document.id))
    }
}

/// What a page with this row repeats, if it still does.
fn repeat_of(original: Arc<Document>, row: &Duplicate) -> Repeat {
    Repeat {
        original,
        tier: row.tier,
        distance: row.distance,
        similarity: row.similarity,
    }
}
