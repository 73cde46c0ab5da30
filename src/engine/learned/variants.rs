//! Learned rules of a host's URLs: from verdicts to evidence, from evidence to learned rules, from
//! these to URLs that are not admitted. The rules are pure (`learn/variants.rs`). Their rows are
//! read and written here with the group.
//!
//! A learned rule changes no identity. Under it a URL has a second key beside its id: the id of its
//! form under the rule, salted with the rules' generation. A URL whose second key is in the set of
//! URLs seen is a variant of one that was admitted; it is deferred, and re-admitted if the rule is
//! revoked.

use super::Learning;
use super::deferred::{Deferred, defer};
use crate::dedup::{DocumentId, Repeat, Tier, Verdict};
use crate::engine::Error;
use crate::engine::commit::Group;
use crate::engine::visit::Judged;
use crate::fetch::Outcome;
use crate::frontier::{Expectation, FetchTask, QueuedUrl};
use crate::learn::{Class, Evidence, LearnedRules, MAX_SUBJECTS, Stage, Subject, rules_of};
use crate::rows::{Fate, Judgement, PAGES, PageRecord};
use crate::store::{Table, decode, encode, keys};
use crate::url::{self, HostKey, Identity, Url, UrlId};

/// Maximum number of visited URLs kept per host to recognize their variants.
const MAX_VISITED: u32 = 10_000;

/// Returns the tag of the deferred variants of a host.
pub(crate) fn tag(generation: u32) -> [u8; 8] {
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

fn evidence(host: &HostKey, subject: &Subject, group: &mut Group<'_>) -> Result<Evidence, Error> {
    Ok(match group.set.learned(&evidence_key(host, subject))? {
        Some(row) => decode(Table::Learned, &row)?,
        None => Evidence::new(host.as_str(), subject.clone()),
    })
}

/// Returns the identity of URLs under the learned rules of their host, and the generation of these.
pub(crate) fn under_learned_rules(
    identity: &Identity,
    host: &HostKey,
    learned_rules: &LearnedRules,
) -> Option<(Identity, u32)> {
    let generation = learned_rules.generation;
    let learned = || identity.with_learned(host, rules_of(learned_rules.learned()));
    learned_rules.any().then(|| (learned(), generation))
}

/// Returns what a page is known to have answered.
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

/// Returns what a visit answered.
fn class_of_visit(judged: &Judged<'_>, document: Option<DocumentId>) -> Option<Class> {
    match &judged.verdict {
        Verdict::Unique => document.map(Class::Document),
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

/// Returns the class of a status that says there is no page at this URL, rather than that there is
/// none now or that it is elsewhere.
fn no_page(status: u16) -> Option<Class> {
    (matches!(status, 400..=499) && status != 429).then_some(Class::NoPage)
}

/// Returns `true` if a URL has a part that may turn out not to matter.
fn may_have_variants(url: &Url) -> bool {
    let path = url.path();
    let file = path.rsplit('/').next().unwrap_or_default();
    url.query().is_some()
        || path.bytes().any(|byte| byte.is_ascii_uppercase())
        || file.starts_with("index.")
        || file.starts_with("default.")
}

impl Learning<'_> {
    /// Returns `true` if an unknown URL is a variant of a known one, by the learned rules of its
    /// host. If it is not, it is remembered as one of which others are variants.
    pub(crate) fn is_variant(
        &self,
        url: &Url,
        id: UrlId,
        host: &HostKey,
        group: &mut Group<'_>,
    ) -> Result<bool, Error> {
        let state = group.set.known_host(host)?;
        let learned =
            state.and_then(|it| under_learned_rules(self.identity, host, &it.learned_rules));
        let Some((identity, generation)) = learned else {
            return Ok(false);
        };
        Ok(Self::is_known_form(identity.id(url), generation, id, group))
    }

    /// Returns `true` if a URL of this form was admitted; if not, marks the form as admitted.
    pub(crate) fn is_known_form(
        form: UrlId,
        generation: u32,
        id: UrlId,
        group: &mut Group<'_>,
    ) -> bool {
        if form != id && group.is_seen(form) {
            return true;
        }
        !group.see(form.salted(generation))
    }

    /// Defers a variant. Returns `true` if it is to be visited instead, in order to check the rule.
    pub(crate) fn suppress(
        queued: &QueuedUrl,
        host: &HostKey,
        group: &mut Group<'_>,
    ) -> Result<bool, Error> {
        let state = group.set.host(host)?;
        if state.learned_rules.suppress() {
            return Ok(true);
        }
        let tag = tag(state.learned_rules.generation);
        let deferred = Deferred {
            queued: queued.clone(),
            was_queued: false,
        };
        defer(&deferred, host, tag, &mut group.set)?;
        Ok(false)
    }

    /// Learns from a page's first response.
    pub(crate) fn learn(
        &self,
        judged: &Judged<'_>,
        document: Option<DocumentId>,
        group: &mut Group<'_>,
    ) -> Result<(), Error> {
        let task = &judged.analysed.fetched.task;
        if !self.policies.of(&task.host).learn.parameters {
            return Ok(());
        }
        if task.queued.expectation == Expectation::Check {
            return self.check(judged, group);
        }
        let Some(class) = class_of_visit(judged, document) else {
            return Ok(());
        };
        Self::note_visited(&task.url, task.queued.id, &task.host, group)?;
        let learned_rules = group.set.host(&task.host)?.learned_rules.clone();
        let is_duplicate = matches!(judged.verdict, Verdict::Duplicate(_));
        if task.url.query().is_none() && learned_rules.subjects.is_empty() && !is_duplicate {
            return Ok(());
        }
        let identity = match under_learned_rules(self.identity, &task.host, &learned_rules) {
            Some((identity, _)) => identity,
            None => self.identity.clone(),
        };
        let Ok(canonical) = url::parse(identity.canonical(&task.url).as_str()) else {
            return Ok(());
        };
        for subject in learned_rules.learned() {
            // A variant that was in flight when this was learned may still contradict it.
            let others = learned_rules.learned().filter(|other| *other != subject);
            let identity = self.identity.with_learned(&task.host, rules_of(others));
            if let Ok(canonical) = url::parse(identity.canonical(&task.url).as_str()) {
                let visit = (&identity, &canonical, class, None);
                self.note(&task.host, subject, visit, group)?;
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
            && !has_part_that_matters(&subject, &learned_rules)
        {
            subjects.retain(|(it, _)| *it != subject);
            subjects.push((subject, Some(Class::Document(original.id))));
        }
        let others = learned_rules
            .subjects
            .iter()
            .map(|(subject, _)| (subject.clone(), None));
        let others: Vec<_> = others
            .filter(|(it, _)| subjects.iter().all(|(own, _)| own != it))
            .collect();
        subjects.extend(others);
        for (subject, variant) in subjects {
            let watched = matches!(learned_rules.stage(&subject), None | Some(Stage::Watched));
            if watched {
                let visit = (&identity, &canonical, class, variant);
                self.note(&task.host, &subject, visit, group)?;
            }
        }
        Ok(())
    }

    /// Adds a visit to the evidence on one subject.
    fn note(
        &self,
        host: &HostKey,
        subject: &Subject,
        (identity, canonical, class, variant): (&Identity, &Url, Class, Option<Class>),
        group: &mut Group<'_>,
    ) -> Result<(), Error> {
        let known = &group.set.host(host)?.learned_rules;
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
            let learned_rules = &mut group.set.host(host)?.learned_rules;
            learned_rules
                .subjects
                .push((subject.clone(), Stage::Watched));
        }
        let variant = match variant {
            Some(class) => Some(class),
            None => PAGES
                .get(&*group.set.store, form.as_bytes())?
                .and_then(|page| class_of_record(&page)),
        };
        let mut evidence = evidence(host, subject, group)?;
        let page = form.key() as u32;
        let changed = evidence.note(
            canonical,
            page,
            class,
            variant,
            self.policies.of(host).learn,
        );
        group
            .set
            .learn(evidence_key(host, subject), encode(&evidence));
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
            self.apply_rule_change(host, subject, evidence.stage, group)?;
        }
        Ok(())
    }

    /// Keeps a visited URL, because others may turn out to be its variants.
    fn note_visited(
        url: &Url,
        id: UrlId,
        host: &HostKey,
        group: &mut Group<'_>,
    ) -> Result<(), Error> {
        let learned_rules = &mut group.set.host(host)?.learned_rules;
        if may_have_variants(url) && learned_rules.visited < MAX_VISITED {
            learned_rules.visited += 1;
            let key = keys::learned(host.as_str(), keys::learned::VISITED, id.as_bytes());
            group.set.learn(key, url.as_str().as_bytes().to_vec());
        }
        Ok(())
    }

    /// Evaluates a visit that was made to check what was learned: something new contradicts it.
    fn check(&self, judged: &Judged<'_>, group: &mut Group<'_>) -> Result<(), Error> {
        let task = &judged.analysed.fetched.task;
        let host = &task.host;
        let is_new = match &judged.verdict {
            // While the plain form is queued, it is unknown what it will answer.
            Verdict::Unique if self.plain_form_waits(task, group)? => return Ok(()),
            Verdict::Unique => true,
            Verdict::Duplicate(_) => false,
            Verdict::Unchanged(_) | Verdict::Ineligible(_) => return Ok(()),
        };
        let learned_rules = &group.set.host(host)?.learned_rules;
        let concerned = |subject: &&Subject| {
            let form = self
                .identity
                .with_learned(host, subject.rules())
                .id(&task.url);
            form != task.queued.id
        };
        let concerned: Vec<Subject> = learned_rules.learned().filter(concerned).cloned().collect();
        for subject in concerned {
            let mut evidence = evidence(host, &subject, group)?;
            if is_new {
                evidence.contradict();
                let (url, subject) = (&task.url, subject.describe());
                tracing::warn!("host {host}: {subject} matters after all, by {url}");
            } else {
                evidence.checked = evidence.checked.saturating_add(1);
            }
            group
                .set
                .learn(evidence_key(host, &subject), encode(&evidence));
            if is_new {
                self.apply_rule_change(host, &subject, evidence.stage, group)?;
            }
        }
        Ok(())
    }

    /// Returns `true` if the form of a URL without everything learned not to matter was admitted
    /// and not visited yet.
    fn plain_form_waits(&self, task: &FetchTask, group: &mut Group<'_>) -> Result<bool, Error> {
        let learned_rules = &group.set.host(&task.host)?.learned_rules;
        let Some((identity, _)) = under_learned_rules(self.identity, &task.host, learned_rules)
        else {
            return Ok(false);
        };
        let form = identity.id(&task.url);
        Ok(form != task.queued.id
            && group.is_seen(form)
            && group
                .set
                .store
                .get(Table::Pages, form.as_bytes())?
                .is_none())
    }

    /// Applies a rule that was learned or revoked: re-admits deferred URLs, and indexes visited
    /// ones under their new form.
    fn apply_rule_change(
        &self,
        host: &HostKey,
        subject: &Subject,
        stage: Stage,
        group: &mut Group<'_>,
    ) -> Result<(), Error> {
        let queued = group.set.state.queue_sequence;
        let learned_rules = &mut group.set.host(host)?.learned_rules;
        let (before, had_any) = (learned_rules.generation, learned_rules.any());
        learned_rules.change(subject, stage, queued);
        if !learned_rules.any() && !had_any {
            return Ok(());
        }
        let learned_rules = learned_rules.clone();
        if let Some((identity, generation)) =
            under_learned_rules(self.identity, host, &learned_rules)
        {
            let prefix = keys::learned(host.as_str(), keys::learned::VISITED, &[]);
            for (_, row) in group.set.learned_rows(&prefix)? {
                let url = String::from_utf8(row).ok();
                if let Some(url) = url.and_then(|url| url::parse(&url).ok()) {
                    // Also if its plain form is queued, which is a variant of what was visited.
                    group.see(identity.id(&url).salted(generation));
                }
            }
        }
        if had_any {
            group.set.reopened.push((host.clone(), tag(before)));
        }
        Ok(())
    }
}

/// Returns `true` if one of several parameters is known to matter by itself.
fn has_part_that_matters(subject: &Subject, learned_rules: &LearnedRules) -> bool {
    let Subject::Parameters(names) = subject else {
        return false;
    };
    names.len() > 1
        && names.iter().any(|name| {
            let alone = Subject::Parameters(vec![name.clone()]);
            learned_rules.stage(&alone) == Some(Stage::Matters)
        })
}
