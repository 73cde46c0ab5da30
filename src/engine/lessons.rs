//! What is learned of a host's URLs, and what follows: from verdicts to evidence, from evidence to lessons,
//! from lessons to URLs that are not admitted. The rules are the frontier's (`lessons.rs`); here are
//! their rows, read and written with the group.
//!
//! A lesson changes no identity. Under lessons a URL has a second key beside its id: the id of its form
//! under the lessons, salted with their generation. A URL whose second key is in the set of URLs seen is a
//! variant of one that was admitted; it is left aside, and asks again if the lesson is taken back.

use super::Error;
use super::aliases;
use super::committer::{Committer, SEEN_RUNS};
use super::effects::Group;
use super::follow::Origin;
use super::visit::{Entry, Judged, Receipt};
use crate::dedup::{Repeat, Tier, Verdict};
use crate::fetch::Outcome;
use crate::frontier::{Block, CLASSES, Expectation, FetchTask, Purpose, QueuedUrl};
use crate::learn::{
    Class, Evidence, LearnPolicy, LearnedRules, MAX_SUBJECTS, Stage, Subject, rules_of,
};
use crate::rows::{Fate, Judgement, PageRecord};
use crate::store::{Store, Table, decode, encode, keys};
use crate::url::{self, HostKey, Identity, Url, UrlId};

/// Visited URLs of one host that are kept in order to know their variants.
const MAX_VISITED: u32 = 10_000;
/// URLs of a queue that are looked through in one commit, about.
const SWEEP: usize = 1_000;
/// Blocks that are read at once for that.
const SWEEP_BLOCKS: usize = 32;

/// Under which name variants of this host are left aside.
pub(super) fn tag(generation: u32) -> [u8; 8] {
    let [a, b, c, d] = generation.to_be_bytes();
    [b'l', b'e', b's', b's', a, b, c, d]
}

fn evidence_key(host: &HostKey, subject: &Subject) -> Vec<u8> {
    [
        keys::learned::RULES,
        host.as_str().as_bytes(),
        &[0],
        subject.describe().as_bytes(),
    ]
    .concat()
}

fn evidence(
    host: &HostKey,
    subject: &Subject,
    store: &dyn Store,
    group: &mut Group,
) -> Result<Evidence, Error> {
    Ok(match group.learned(store, &evidence_key(host, subject))? {
        Some(row) => decode(Table::Learned, &row)?,
        None => Evidence::new(host.as_str(), subject.clone()),
    })
}

/// The identity of URLs under what was learned of their host, and the generation of that.
pub(super) fn under_lessons(
    identity: &Identity,
    host: &HostKey,
    lessons: &LearnedRules,
) -> Option<(Identity, u32)> {
    let generation = lessons.generation;
    let learned = || identity.with_learned(host, rules_of(lessons.learned()));
    lessons.any().then(|| (learned(), generation))
}

/// What a page is known to have answered.
fn class_of_record(record: &PageRecord) -> Option<Class> {
    match (&record.fate, &record.document) {
        (Fate::Failed { .. } | Fate::Sitemap { .. } | Fate::Known { .. }, _) => None,
        (
            Fate::Answered {
                judgement, status, ..
            },
            document,
        ) => match judgement {
            Judgement::Unique => document.as_ref().map(|it| Class::Document(it.id)),
            Judgement::Duplicate(duplicate) if duplicate.tier == Tier::Near => Some(Class::Other),
            Judgement::Duplicate(duplicate) => Some(Class::Document(duplicate.of)),
            Judgement::Ineligible(_) => no_page(*status),
        },
    }
}

/// What a visit answered.
fn class_of_visit(judged: &Judged, document: Option<usize>, group: &Group) -> Option<Class> {
    match &judged.verdict {
        Verdict::Unique => {
            let document = group.documents.get(document?)?;
            Some(Class::Document(document.document.id))
        }
        Verdict::Duplicate(Repeat {
            tier: Tier::Near, ..
        }) => Some(Class::Other),
        Verdict::Duplicate(Repeat { original, .. }) => Some(Class::Document(original.id)),
        Verdict::Unchanged(_) => None,
        Verdict::Ineligible(_) => match &judged.analysed.fetched.outcome {
            Outcome::Exchange(exchange) => no_page(exchange.status),
            Outcome::Failed(_) => None,
        },
    }
}

/// A status that says that there is no page at this URL, and not that there is none now or that it
/// is elsewhere.
fn no_page(status: u16) -> Option<Class> {
    (matches!(status, 400..=499) && status != 429).then_some(Class::NoPage)
}

/// Whether a URL has something that may turn out not to matter.
fn may_have_variants(url: &Url) -> bool {
    let path = url.path();
    let file = path.rsplit('/').next().unwrap_or_default();
    url.query().is_some()
        || path.bytes().any(|byte| byte.is_ascii_uppercase())
        || file.starts_with("index.")
        || file.starts_with("default.")
}

impl Committer {
    /// Whether a URL that is not known is a variant of one that is, by what was learned of its host. If
    /// it is none, it is remembered as one of which others are variants.
    pub(super) fn is_variant(
        &mut self,
        url: &Url,
        id: UrlId,
        host: &HostKey,
        group: &mut Group,
    ) -> Result<bool, Error> {
        let state = group.known_host(&*self.store, host)?;
        let learned = state.and_then(|it| under_lessons(&self.identity, host, &it.learned_rules));
        let Some((identity, generation)) = learned else {
            return Ok(false);
        };
        Ok(self.is_known_form(identity.id(url), generation, id, group))
    }

    /// Whether a URL of this form was admitted; if not, one is from now on.
    fn is_known_form(
        &mut self,
        form: UrlId,
        generation: u32,
        id: UrlId,
        group: &mut Group,
    ) -> bool {
        if form != id && self.seen.contains(form, &self.catalog[SEEN_RUNS]) {
            return true;
        }
        !self.remember_form(form, generation, group)
    }

    /// Remembers that a URL of this form was admitted; true if that is new.
    fn remember_form(&mut self, form: UrlId, generation: u32, group: &mut Group) -> bool {
        let second = form.salted(generation);
        let is_new = self.seen.insert(second, &mut self.catalog[SEEN_RUNS]);
        if is_new {
            group.delta.seen.push(second.key());
        }
        is_new
    }

    /// Leaves a variant aside; or says that it is to be visited in order to check the lesson.
    pub(super) fn suppress(
        &mut self,
        queued: &QueuedUrl,
        host: &HostKey,
        group: &mut Group,
    ) -> Result<bool, Error> {
        let state = group.host(&*self.store, host)?;
        if state.learned_rules.suppress() {
            return Ok(true);
        }
        let tag = tag(state.learned_rules.generation);
        self.shelve(queued, host, tag, false, group)?;
        Ok(false)
    }

    /// Takes a page's first answer into account.
    pub(super) fn learn(
        &mut self,
        judged: &Judged,
        document: Option<usize>,
        receipt: &mut Receipt,
        group: &mut Group,
    ) -> Result<(), Error> {
        let task = &judged.analysed.fetched.task;
        let policy = self.policies.load().of(&task.host).learn;
        if !policy.parameters {
            return Ok(());
        }
        if task.queued.expectation == Expectation::Check {
            return self.check(judged, receipt, group);
        }
        let Some(class) = class_of_visit(judged, document, group) else {
            return Ok(());
        };
        self.note_visited(&task.url, task.queued.id, &task.host, group)?;
        let lessons = group.host(&*self.store, &task.host)?.learned_rules.clone();
        let is_duplicate = matches!(judged.verdict, Verdict::Duplicate(_));
        if task.url.query().is_none() && lessons.subjects.is_empty() && !is_duplicate {
            return Ok(());
        }
        let identity = match under_lessons(&self.identity, &task.host, &lessons) {
            Some((identity, _)) => identity,
            None => self.identity.clone(),
        };
        let Ok(canonical) = url::parse(identity.canonical(&task.url).as_str()) else {
            return Ok(());
        };
        for subject in lessons.learned() {
            // A variant that was on its way when this was learned may contradict it yet.
            let others = lessons.learned().filter(|other| *other != subject);
            let identity = self.identity.with_learned(&task.host, rules_of(others));
            if let Ok(canonical) = url::parse(identity.canonical(&task.url).as_str()) {
                let visit = (&identity, &canonical, class, None);
                self.note(&task.host, subject, visit, policy, receipt, group)?;
            }
        }
        let mut subjects: Vec<(Subject, Option<Class>)> = Subject::of_parameters(&canonical)
            .into_iter()
            .map(|subject| (subject, None))
            .collect();
        if let Verdict::Duplicate(Repeat { original, tier, .. }) = &judged.verdict
            && *tier != Tier::Near
            && let Ok(original_url) = url::parse(&original.url)
            && HostKey::of(&original_url) == task.host
            && let Ok(other) = url::parse(identity.canonical(&original_url).as_str())
            && let Some(subject) = Subject::between(&canonical, &other)
            && !has_part_that_matters(&subject, &lessons)
        {
            subjects.retain(|(it, _)| *it != subject);
            subjects.push((subject, Some(Class::Document(original.id))));
        }
        let others = lessons
            .subjects
            .iter()
            .map(|(subject, _)| (subject.clone(), None));
        let others: Vec<_> = others
            .filter(|(it, _)| subjects.iter().all(|(own, _)| own != it))
            .collect();
        subjects.extend(others);
        for (subject, variant) in subjects {
            let watched = matches!(lessons.stage(&subject), None | Some(Stage::Watched));
            if watched {
                let visit = (&identity, &canonical, class, variant);
                self.note(&task.host, &subject, visit, policy, receipt, group)?;
            }
        }
        Ok(())
    }

    /// Adds a visit to the evidence on one subject.
    fn note(
        &mut self,
        host: &HostKey,
        subject: &Subject,
        (identity, canonical, class, variant): (&Identity, &Url, Class, Option<Class>),
        policy: LearnPolicy,
        receipt: &mut Receipt,
        group: &mut Group,
    ) -> Result<(), Error> {
        let known = &group.host(&*self.store, host)?.learned_rules;
        let all = rules_of(known.learned().chain([subject]));
        let form = self.identity.with_learned(host, all).id(canonical);
        let has_effect = form != identity.id(canonical);
        if !has_effect && variant.is_none() {
            return Ok(());
        }
        let known_stage = known.stage(subject);
        if known_stage.is_none() {
            if known.subjects.len() >= MAX_SUBJECTS {
                return Ok(());
            }
            let lessons = &mut group.host(&*self.store, host)?.learned_rules;
            lessons.subjects.push((subject.clone(), Stage::Watched));
        }
        let variant = match variant {
            Some(class) => Some(class),
            None => match self.store.get(Table::Pages, form.as_bytes())? {
                Some(row) => class_of_record(&decode(Table::Pages, &row)?),
                None => None,
            },
        };
        let mut evidence = evidence(host, subject, &*self.store, group)?;
        let page = form.key() as u32;
        let changed = evidence.note(canonical, page, class, variant, policy);
        group.learn(evidence_key(host, subject), encode(&evidence));
        if changed {
            let (agreed, what) = (evidence.agreed, subject.describe());
            match evidence.stage {
                Stage::Learned => {
                    tracing::info!("host {host}: {what} changes nothing, by {agreed} visits");
                }
                _ if known_stage == Some(Stage::Learned) => {
                    tracing::warn!("host {host}: {what} matters after all, by {canonical}");
                }
                _ => {}
            }
            self.turn(host, subject, evidence.stage, receipt, group)?;
        }
        Ok(())
    }

    /// Keeps a visited URL: others may turn out to be its variants.
    fn note_visited(
        &self,
        url: &Url,
        id: UrlId,
        host: &HostKey,
        group: &mut Group,
    ) -> Result<(), Error> {
        let lessons = &mut group.host(&*self.store, host)?.learned_rules;
        if may_have_variants(url) && lessons.visited < MAX_VISITED {
            lessons.visited += 1;
            let key = keys::learned(host.as_str(), keys::learned::VISITED, id.as_bytes());
            group.learn(key, url.as_str().as_bytes().to_vec());
        }
        Ok(())
    }

    /// A visit that was made to check what was learned: something new contradicts it.
    fn check(
        &mut self,
        judged: &Judged,
        receipt: &mut Receipt,
        group: &mut Group,
    ) -> Result<(), Error> {
        let task = &judged.analysed.fetched.task;
        let host = &task.host;
        let is_new = match &judged.verdict {
            // As long as the plain form waits nobody knows what it will answer.
            Verdict::Unique if self.plain_form_waits(task, group)? => return Ok(()),
            Verdict::Unique => true,
            Verdict::Duplicate(_) => false,
            Verdict::Unchanged(_) | Verdict::Ineligible(_) => return Ok(()),
        };
        let lessons = &group.host(&*self.store, host)?.learned_rules;
        let concerned = |subject: &&Subject| {
            let form = self
                .identity
                .with_learned(host, subject.rules())
                .id(&task.url);
            form != task.queued.id
        };
        let concerned: Vec<Subject> = lessons.learned().filter(concerned).cloned().collect();
        for subject in concerned {
            let mut evidence = evidence(host, &subject, &*self.store, group)?;
            if is_new {
                evidence.contradict();
                let (url, subject) = (&task.url, subject.describe());
                tracing::warn!("host {host}: {subject} matters after all, by {url}");
            } else {
                evidence.checked = evidence.checked.saturating_add(1);
            }
            group.learn(evidence_key(host, &subject), encode(&evidence));
            if is_new {
                self.turn(host, &subject, evidence.stage, receipt, group)?;
            }
        }
        Ok(())
    }

    /// Whether the form of a URL without all that was learned not to matter was admitted and not
    /// visited yet.
    fn plain_form_waits(&mut self, task: &FetchTask, group: &mut Group) -> Result<bool, Error> {
        let lessons = &group.host(&*self.store, &task.host)?.learned_rules;
        let Some((identity, _)) = under_lessons(&self.identity, &task.host, lessons) else {
            return Ok(false);
        };
        let form = identity.id(&task.url);
        Ok(form != task.queued.id
            && self.seen.contains(form, &self.catalog[SEEN_RUNS])
            && self.store.get(Table::Pages, form.as_bytes())?.is_none())
    }

    /// A lesson was learned or taken back: what was left aside asks again, and what is known is found
    /// under its new form.
    fn turn(
        &mut self,
        host: &HostKey,
        subject: &Subject,
        stage: Stage,
        receipt: &mut Receipt,
        group: &mut Group,
    ) -> Result<(), Error> {
        let queued = self.state.queue_sequence;
        let lessons = &mut group.host(&*self.store, host)?.learned_rules;
        let (before, had_any) = (lessons.generation, lessons.any());
        lessons.change(subject, stage, queued);
        if !lessons.any() && !had_any {
            return Ok(());
        }
        let lessons = lessons.clone();
        if let Some((identity, generation)) = under_lessons(&self.identity, host, &lessons) {
            let prefix = keys::learned(host.as_str(), keys::learned::VISITED, &[]);
            for (_, row) in group.learned_rows(&*self.store, &prefix)? {
                let url = String::from_utf8(row).ok();
                if let Some(url) = url.and_then(|url| url::parse(&url).ok()) {
                    // Also where its plain form waits: that is a variant of what was visited.
                    self.remember_form(identity.id(&url), generation, group);
                }
            }
        }
        if had_any {
            self.unshelve(host, tag(before), receipt, group)?;
        }
        Ok(())
    }

    /// Takes variants of what is known out of the queues of hosts that are visited, where something was
    /// learned since they were queued.
    pub(super) fn sweep(&mut self, entries: &[Entry], group: &mut Group) -> Result<(), Error> {
        for entry in entries {
            if let Entry::Visit(visit) = entry {
                let host = &visit.fetched.task.host;
                let state = group.known_host(&*self.store, host)?;
                if state.is_some_and(|state| state.learned_rules.sweep.is_some()) {
                    self.sweep_host(host, entries, group)?;
                }
            }
        }
        Ok(())
    }

    fn sweep_host(
        &mut self,
        host: &HostKey,
        entries: &[Entry],
        group: &mut Group,
    ) -> Result<(), Error> {
        let state = group.host(&*self.store, host)?;
        let Some(mut sweep) = state.learned_rules.sweep else {
            return Ok(());
        };
        let heads = state.clone();
        let learned = under_lessons(&self.identity, host, &heads.learned_rules);
        let mut receipt = Receipt::default();
        // They are over with this group.
        let visited: Vec<_> = entries
            .iter()
            .filter_map(|entry| match entry {
                Entry::Visit(visit) => visit.fetched.task.place,
                Entry::Seeds(_) | Entry::Known(_) | Entry::PutBack(_) | Entry::Settings(..) => None,
            })
            .map(|place| place.sequence)
            .collect();
        let mut left = SWEEP;
        while sweep.class < CLASSES && left > 0 {
            let name = host.as_str();
            let first = sweep.sequence.max(heads.head(sweep.class));
            let from = keys::queue(name, sweep.class, first);
            let prefix = keys::queue_class(name, sweep.class);
            let rows = self
                .store
                .range(Table::Queue, &prefix, &from, SWEEP_BLOCKS)?;
            let is_end = rows.len() < SWEEP_BLOCKS;
            for (key, row) in rows {
                let Some((class, last, block)) = Block::of_row(&key, &row)? else {
                    continue;
                };
                left = left.saturating_sub(block.urls.len());
                sweep.sequence = last + 1;
                let mut swept = block.clone();
                let gone = heads.gone(class, last);
                let waiting = block.waiting(last, gone);
                let waiting = waiting.filter(|(sequence, ..)| {
                    // What is behind was admitted by what was learned.
                    *sequence <= sweep.until && !visited.contains(sequence)
                });
                let mut is_changed = false;
                for (_, place, queued) in waiting {
                    match self.sweep_url(queued, host, learned.as_ref(), &mut receipt, group)? {
                        Swept::Stays => continue,
                        Swept::Leaves => swept.remove(place),
                        Swept::Waits(queued) => swept.replace(place, queued),
                    }
                    is_changed = true;
                }
                if is_changed && swept.is_empty(gone) {
                    group.host(&*self.store, host)?.forget(class, last);
                    group.batch.delete(Table::Queue, key.clone());
                } else if is_changed {
                    group
                        .batch
                        .put(Table::Queue, key.clone(), swept.encode(last));
                }
                group.swept.insert(key, swept.removed);
            }
            if is_end {
                sweep = crate::learn::Sweep {
                    class: sweep.class + 1,
                    sequence: 0,
                    ..sweep
                };
            }
        }
        let lessons = &mut group.host(&*self.store, host)?.learned_rules;
        lessons.sweep = (sweep.class < CLASSES).then_some(sweep);
        receipt.reread = Some(host.clone());
        group.receipts.push(receipt);
        Ok(())
    }

    /// What becomes of a URL that waits, by what was learned since it was queued.
    fn sweep_url(
        &mut self,
        queued: QueuedUrl,
        host: &HostKey,
        learned: Option<&(Identity, u32)>,
        receipt: &mut Receipt,
        group: &mut Group,
    ) -> Result<Swept, Error> {
        let is_given = queued.via.is_none() || queued.revisit || queued.purpose != Purpose::Page;
        let Some(url) = url::parse(&queued.url).ok().filter(|_| !is_given) else {
            return Ok(Swept::Stays);
        };
        if let Some(other) = self.elsewhere(&url, &queued, host, group)? {
            self.take_from_queue(&queued, host, aliases::TAG, group)?;
            self.count_link("host-alias");
            self.admit(other, Origin::Link, receipt, group)?;
            return Ok(Swept::Leaves);
        }
        let Some((identity, generation)) = learned else {
            return Ok(Swept::Stays);
        };
        if !self.is_known_form(identity.id(&url), *generation, queued.id, group) {
            return Ok(Swept::Stays);
        }
        if group.host(&*self.store, host)?.learned_rules.suppress() {
            // What it is a variant of stands before it, or was visited.
            let expectation = Expectation::Check;
            return Ok(Swept::Waits(QueuedUrl {
                expectation,
                ..queued
            }));
        }
        self.take_from_queue(&queued, host, tag(*generation), group)?;
        self.count_link("learned-rule");
        Ok(Swept::Leaves)
    }

    fn take_from_queue(
        &mut self,
        queued: &QueuedUrl,
        host: &HostKey,
        tag: [u8; 8],
        group: &mut Group,
    ) -> Result<(), Error> {
        let state = group.host(&*self.store, host)?;
        state.queued = state.queued.saturating_sub(1);
        state.learned_rules.swept = true;
        self.state.counters.queued = self.state.counters.queued.saturating_sub(1);
        self.shelve(queued, host, tag, true, group)
    }
}

/// What becomes of a URL that waits.
enum Swept {
    /// It waits as it did.
    Stays,
    /// It waits in this form.
    Waits(QueuedUrl),
    /// It is taken out.
    Leaves,
}

/// Whether one of several parameters is known to matter by itself.
fn has_part_that_matters(subject: &Subject, lessons: &LearnedRules) -> bool {
    let Subject::Parameters(names) = subject else {
        return false;
    };
    names.len() > 1
        && names.iter().any(|name| {
            let alone = Subject::Parameters(vec![name.clone()]);
            lessons.stage(&alone) == Some(Stage::Matters)
        })
}
