//! Suspicion: what visits teach about the kinds of a host's URLs, which URLs are deferred for it,
//! and which of them are sampled.
//!
//! Suspicion orders, proof refuses. A kind is closed when its visits say nothing; its further URLs
//! are deferred, some of them visited nevertheless, and all brought back once samples say
//! something. The rows are behind [`Rows`], so that the engine keeps them in its store and tests in
//! memory.

mod state;
mod variants;

mod changes;
mod draws;

use super::expectation::Expectation;
use super::kinds::{
    Found, Grammar, Kind, KindId, Rule, Slot, is_from_elsewhere, narrowest, subtree,
};
use super::ledger::{Burden, Change, Deferral, Ledger, Seen, Stratum};
use super::policy::LearnPolicy;
use super::traps::{TrapMode, TrapPolicy, by_form};
use crate::url::Url;
pub use changes::open_all;
use changes::{apply, close};
pub use draws::{Draw, next_draw};
pub use state::{Return, Rows, Suspicions, Sweep};
use variants::{Compared, HOLDER, hold, is_variant, salt_of_visited};

/// Maximum number of kinds with a row per host.
const MAX_KINDS: u32 = 2_000;
/// The same for kinds that always said something.
const MAX_GOOD_KINDS: u32 = MAX_KINDS / 4;
/// Maximum number of kinds that are closed at a time per host.
const MAX_CLOSED: usize = 256;
/// Maximum number of sets of parameters that are examined together, per host.
const MAX_JOINT: usize = 8;

/// The settings by which the URLs of a host are suspected.
#[derive(Debug, Clone, Copy)]
pub struct Suspecting<'a> {
    /// `[traps]`.
    pub traps: &'a TrapPolicy,
    /// `[learn]`.
    pub learn: LearnPolicy,
}

/// A visit, as far as the kinds of its URL are concerned.
#[derive(Debug, Clone, Copy)]
pub struct Visit<'a> {
    /// The URL.
    pub url: &'a Url,
    /// How it was found.
    pub found: Found,
    /// Whether its page said something of its own; `None` if that is not known.
    pub said: Option<bool>,
    /// Whether it was no copy of a page and nothing in place of one: what it said may have been in
    /// how it put together what others say.
    pub is_page: bool,
    /// A URL of the same host whose page is the same.
    pub same: Option<&'a Url>,
    /// The page that led to it and not to `same`, if both are the same byte for byte.
    pub carried_from: Option<&'a Url>,
}

impl Visit<'_> {
    /// Returns `true` if the slot of the URL is only carried along: the page that led to it did so
    /// neither beside nor on another URL of the same reduced form, so that the two are no choice
    /// that is offered.
    fn is_carried(&self, slot: &Slot) -> bool {
        matches!(slot, Slot::Parameters(_) | Slot::Segment(_))
            && self
                .carried_from
                .is_some_and(|from| slot.reduced(from) != slot.reduced(self.url))
    }
}

impl Suspecting<'_> {
    fn burden(&self) -> Burden {
        Burden {
            visits: self.learn.visits,
            max_duplicates: self.traps.max_duplicates,
        }
    }

    /// Returns the kinds of a URL; none if nothing is suspected.
    fn kinds(&self, url: &Url, found: Found, known: &Suspicions) -> Vec<Kind> {
        if self.traps.mode == TrapMode::Off {
            return Vec::new();
        }
        let grammar = Grammar {
            joint: &known.joint,
            twin: known.twin.as_deref(),
            has_slots: self.learn.parameters,
            traps: self.traps,
        };
        grammar.kinds(url, found)
    }

    /// Learns from a visit that was no sample.
    pub fn observe<R: Rows>(&self, visit: Visit<'_>, rows: &mut R) -> Result<(), R::Error> {
        if let Some(same) = visit.same
            && self.learn.parameters
            && let Some(joint) = Slot::between(visit.url, same)
        {
            let known = &mut rows.suspicions()?.joint;
            if known.len() < MAX_JOINT && !known.contains(&joint) {
                known.push(joint);
            }
        }
        let known = rows.suspicions()?.clone();
        let kinds = self.kinds(visit.url, visit.found, &known);
        let is_bare = self.observe_bare(visit, &known, rows)?;
        let mut compared = Compared::default();
        for (at, kind) in kinds.iter().enumerate() {
            let id = kind.id();
            let is_evidence = compared.of(visit.url, kind, rows)?;
            let Some(said) = visit.said.filter(|_| is_evidence) else {
                continue;
            };
            // Where everything says something, there are no rows.
            if said && known.kinds == 0 {
                continue;
            }
            if said && narrowest(&kinds) == Some(kind) {
                begin(kind, rows)?;
            }
            let others = kinds[at + 1..].iter().chain(&kinds[..at]);
            let is_explained = kind.slot.is_none() && (is_bare || compared.is_variant());
            self.note(visit, (id, kind), (said, is_explained), others, rows)?;
        }
        Ok(())
    }

    /// Learns from a visit of a reduced form that says the same as a longer one, which was visited
    /// before: it speaks about the kinds of that one. Returns whether it was such a visit.
    fn observe_bare<R: Rows>(
        &self,
        visit: Visit<'_>,
        known: &Suspicions,
        rows: &mut R,
    ) -> Result<bool, R::Error> {
        let (Some(same), Some(false)) = (visit.same, visit.said) else {
            return Ok(false);
        };
        let is_reduced = |kind: &Kind| {
            let slot = kind.slot.as_ref().filter(|it| !it.is_compared_with_urls());
            slot.and_then(|slot| slot.reduced(same)).as_ref() == Some(visit.url)
        };
        let mut kinds = self.kinds(same, visit.found, known);
        kinds.retain(|kind| same != visit.url && is_reduced(kind));
        let longer = Visit { url: same, ..visit };
        for (at, kind) in kinds.iter().enumerate() {
            let others = kinds[at + 1..].iter().chain(&kinds[..at]);
            self.note(longer, (kind.id(), kind), (false, false), others, rows)?;
        }
        Ok(!kinds.is_empty())
    }

    fn note<'k, R: Rows>(
        &self,
        visit: Visit<'_>,
        (id, kind): (KindId, &Kind),
        (said, is_explained): (bool, bool),
        others: impl Iterator<Item = &'k Kind>,
        rows: &mut R,
    ) -> Result<(), R::Error> {
        let ledger = rows.ledger(id)?;
        let max_kinds = match is_from_elsewhere(&kind.name) {
            true => MAX_KINDS / 2,
            false => MAX_KINDS,
        };
        if ledger.is_none() && (said || rows.suspicions()?.kinds >= max_kinds) {
            return Ok(());
        }
        let mut ledger = match ledger {
            Some(ledger) => ledger,
            None => {
                rows.suspicions()?.kinds += 1;
                let mut ledger = Ledger::new(&kind.name);
                ledger.slot.clone_from(&kind.slot);
                ledger
            }
        };
        let url = visit.url;
        let slot = kind.slot.as_ref();
        let value = slot.map_or(0, |slot| slot.value(url));
        if let (Some(slot), false) = (slot, said) {
            ledger.compare(visit.is_carried(slot));
        }
        let max_closed = match is_from_elsewhere(&kind.name) {
            true => MAX_CLOSED / 2,
            false => MAX_CLOSED,
        };
        let is_full = rows.suspicions()?.closed.len() >= max_closed;
        if is_full && !said {
            return Ok(());
        }
        let seen = Seen {
            value,
            part: subtree(url, slot),
            is_explained,
        };
        let was_closed = ledger.is_closed;
        let change = ledger.observe(said, seen, kind.rule, self.burden());
        if change == Change::Closed && !was_closed {
            ledger.wider = wider(kind, others);
        }
        rows.write(id, &ledger);
        apply(id, (change, true), &ledger, rows)
    }

    /// Learns from a visit that was a sample of a kind.
    pub fn observe_sample<R: Rows>(
        &self,
        visit: Visit<'_>,
        sampled: KindId,
        stratum: Stratum,
        rows: &mut R,
    ) -> Result<(), R::Error> {
        let known = rows.suspicions()?.clone();
        let kinds = self.kinds(visit.url, visit.found, &known);
        let mut is_evidence = true;
        let mut is_of_kind = false;
        let mut others = Vec::new();
        let mut compared = Compared::default();
        for kind in &kinds {
            let is_compared = compared.of(visit.url, kind, rows)?;
            let id = kind.id();
            if id == sampled {
                (is_of_kind, is_evidence) = (true, is_compared);
            } else if is_compared && known.closed.binary_search(&id).is_ok() {
                others.push(id);
            }
        }
        let Some(mut ledger) = rows.ledger(sampled)? else {
            return Ok(());
        };
        if !is_of_kind && let Some(slot) = &ledger.slot {
            // A URL without the parameters, of which a longer form was admitted.
            is_evidence = rows.is_marked(visit.url, salt_of_visited(slot));
        }
        let Some(said) = visit.said.filter(|_| is_evidence) else {
            return Ok(());
        };
        if !said {
            if let Some(slot) = &ledger.slot {
                let is_carried = visit.is_carried(slot);
                ledger.compare(is_carried);
            }
            ledger.sample_said_nothing(stratum, visit.is_page);
            rows.write(sampled, &ledger);
            // It was drawn from among the URLs of narrower kinds too.
            for id in others {
                if let Some(mut narrower) = rows.ledger(id)?
                    && narrower.wider.contains(&sampled)
                {
                    narrower.stay_quiet(stratum);
                    rows.write(id, &narrower);
                }
            }
            return Ok(());
        }
        ledger.sampled += 1;
        let part = subtree(visit.url, ledger.slot.as_ref());
        let change = ledger.said_something(part);
        rows.write(sampled, &ledger);
        apply(sampled, (change, false), &ledger, rows)
    }

    /// Learns that a page, which said nothing itself, led to another one, and that or what it led
    /// to said something. `sampled` is the kind of which the page was a sample.
    pub fn credit<R: Rows>(
        &self,
        (url, led_to): (&Url, &Url),
        found: Found,
        sampled: Option<KindId>,
        rows: &mut R,
    ) -> Result<(), R::Error> {
        let known = rows.suspicions()?.clone();
        if known.kinds == 0 {
            return Ok(());
        }
        let kinds = self.kinds(url, found, &known);
        let plain = kinds.iter().filter(|kind| kind.slot.is_none());
        let meant: Vec<KindId> = match sampled {
            Some(sampled) => vec![sampled],
            None => plain.map(Kind::id).collect(),
        };
        for id in meant {
            let Some(mut ledger) = rows.ledger(id)? else {
                continue;
            };
            let kind = kinds.iter().find(|kind| kind.id() == id);
            let slot = kind.and_then(|kind| kind.slot.as_ref());
            let change = ledger.said_something(subtree(url, slot));
            rows.write(id, &ledger);
            apply(id, (change, sampled.is_none()), &ledger, rows)?;
        }
        if sampled.is_some() {
            return Ok(());
        }
        for kind in &kinds {
            let (Some(slot), Some(mut ledger)) = (&kind.slot, rows.ledger(kind.id())?) else {
                continue;
            };
            // Records are read for the few kinds only that this can change.
            if ledger.is_closed || !led_further(slot, (url, led_to), rows)? {
                continue;
            }
            ledger.led_further();
            rows.write(kind.id(), &ledger);
        }
        Ok(())
    }

    /// Returns the priority class of a URL, of which the last is `last`, that would be in `class`
    /// otherwise. It waits behind others for the pages that led to it and said nothing, unless URLs
    /// of its pattern say something as a rule.
    pub fn class<R: Rows>(
        &self,
        (url, found): (&Url, Found),
        expectation: Expectation,
        (class, last): (u8, u8),
        rows: &mut R,
    ) -> Result<u8, R::Error> {
        let later = expectation.class(class, last);
        if expectation.silent() == 0 || found.is_hearsay {
            return Ok(later);
        }
        let known = rows.suspicions()?.clone();
        let kinds = self.kinds(url, found, &known);
        let ledger = narrowest(&kinds).map(|kind| rows.ledger(kind.id()));
        let ledger = ledger.transpose()?.flatten();
        Ok(match ledger.is_some_and(|ledger| ledger.says_something()) {
            true => class,
            false => later,
        })
    }

    /// Returns the part of a kind in which a URL lies.
    pub fn part_of(&self, url: &Url, found: Found, kind: KindId, known: &Suspicions) -> u32 {
        let kinds = self.kinds(url, found, known);
        let kind = kinds.iter().find(|it| it.id() == kind);
        subtree(url, kind.and_then(|kind| kind.slot.as_ref()))
    }

    /// Returns the kind for which a URL that could be admitted is deferred.
    pub fn suspect<R: Rows>(
        &self,
        url: &Url,
        found: Found,
        rows: &mut R,
    ) -> Result<Option<Suspect>, R::Error> {
        let is_calm = rows.suspicions()?.closed.is_empty();
        let is_off = self.traps.mode == TrapMode::Off;
        if is_off || is_calm && by_form(url, found.trail, self.traps).is_none() {
            return Ok(None);
        }
        let known = rows.suspicions()?.clone();
        let mut held: Vec<(Slot, bool)> = Vec::new();
        let is_holder = rows.is_marked(url, HOLDER);
        for kind in self.kinds(url, found, &known) {
            let id = kind.id();
            let is_closed = known.closed.binary_search(&id).is_ok();
            let ledger = match is_closed || kind.rule == Rule::Form {
                true => rows.ledger(id)?,
                false => continue,
            };
            let is_unknown_form = ledger.is_none() && kind.rule == Rule::Form;
            let ledger = match ledger {
                Some(ledger) => ledger,
                None if is_unknown_form => Ledger::closed(&kind.name),
                None => continue,
            };
            let part = subtree(url, kind.slot.as_ref());
            if !ledger.defers(part) {
                continue;
            }
            if let Some(slot) = &kind.slot {
                let asked = held.iter().find(|(asked, _)| asked == slot);
                let is_variant = match asked {
                    Some((_, is_variant)) => *is_variant,
                    None => !is_holder && is_variant(url, slot, rows)?,
                };
                held.push((slot.clone(), is_variant));
                if !is_variant {
                    continue;
                }
            }
            if is_unknown_form {
                let known = rows.suspicions()?;
                known.kinds += 1;
                close(id, &mut known.closed);
            }
            return Ok(Some(Suspect {
                kind: id,
                ledger,
                part,
            }));
        }
        if !is_holder {
            let bare = self.suspect_bare(url, found, &known, rows)?;
            if bare.is_some() {
                return Ok(bare);
            }
            // It stays, so it is what others are variants of.
            for (slot, _) in &held {
                if hold(url, slot, rows) {
                    rows.mark(url, HOLDER);
                }
            }
        }
        Ok(None)
    }

    /// Returns the kind for which a URL is deferred that lacks parameters which do not matter: a
    /// longer form of it was admitted before.
    fn suspect_bare<R: Rows>(
        &self,
        url: &Url,
        found: Found,
        known: &Suspicions,
        rows: &mut R,
    ) -> Result<Option<Suspect>, R::Error> {
        if !self.learn.parameters {
            return Ok(None);
        }
        for (slot, kind) in &known.slots {
            let is_bare = slot.reduced(url).is_some_and(|reduced| reduced == *url);
            if !is_bare || !is_variant(url, slot, rows)? {
                continue;
            }
            let Some(ledger) = rows.ledger(*kind)? else {
                continue;
            };
            if is_from_elsewhere(&ledger.name) != found.is_hearsay {
                continue;
            }
            let part = subtree(url, Some(slot));
            if ledger.defers(part) {
                return Ok(Some(Suspect {
                    kind: *kind,
                    ledger,
                    part,
                }));
            }
        }
        Ok(None)
    }
}

/// A URL that is suspected, as one of a closed kind.
#[derive(Debug)]
pub struct Suspect {
    /// The kind.
    pub kind: KindId,
    /// Its ledger.
    pub ledger: Ledger,
    /// The part of the kind in which the URL lies.
    part: u32,
}

impl Suspect {
    /// Decides what becomes of the URL, and counts it.
    pub fn defer<R: Rows>(
        &mut self,
        url: &Url,
        stratum: Stratum,
        rows: &mut R,
    ) -> Result<Deferral, R::Error> {
        let deferral = self.ledger.defer(stratum, self.part, url.as_str());
        rows.write(self.kind, &self.ledger);
        if deferral == Deferral::Row {
            rows.suspicions()?.deferred += 1;
        }
        Ok(deferral)
    }
}

/// Returns `true` if the parameters of a URL made a difference: the page without them was visited
/// before, and this one led to another page, which does not have them, nevertheless.
fn led_further<R: Rows>(
    slot: &Slot,
    (url, led_to): (&Url, &Url),
    rows: &mut R,
) -> Result<bool, R::Error> {
    let is_without = |url: &Url| slot.reduced(url).is_some_and(|reduced| reduced == *url);
    if !matches!(slot, Slot::Parameters(_)) || !is_without(led_to) || is_without(url) {
        return Ok(false);
    }
    match slot.reduced(url) {
        Some(reduced) => rows.was_visited_before(&reduced, url),
        None => Ok(false),
    }
}

/// Begins the row of a kind whose URLs say something, if there is none.
fn begin<R: Rows>(kind: &Kind, rows: &mut R) -> Result<(), R::Error> {
    let known = rows.ledger(kind.id())?.is_some();
    if !known && rows.suspicions()?.kinds < MAX_GOOD_KINDS {
        rows.suspicions()?.kinds += 1;
        rows.write(kind.id(), &Ledger::new(&kind.name));
    }
    Ok(())
}

/// The kinds with which a kind shares its samples while they are closed: wider ones about the same
/// slot, or about none if it is about none.
fn wider<'k>(kind: &Kind, others: impl Iterator<Item = &'k Kind>) -> Vec<KindId> {
    let halves = |rule| match rule {
        Rule::Visits(halves) | Rule::Values(halves) => halves,
        Rule::Form => u32::MAX,
    };
    let is_wider = |other: &&Kind| {
        other.rule != Rule::Form
            && kind.slot == other.slot
            && halves(other.rule) > halves(kind.rule)
    };
    others.filter(is_wider).map(Kind::id).collect()
}
