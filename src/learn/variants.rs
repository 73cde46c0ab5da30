//! Learned rules: parameters and differences of the path that never change the page, learned from
//! the verdicts on a host's pages.
//!
//! A rule is learned when enough pages agree and none contradicts it. A contradiction revokes it
//! and doubles the evidence required the next time. A rule says which URLs are variants of one
//! another; it never changes the identity of a URL. See docs/architecture.md.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};
use struct_patch::Patch;
use xxhash_rust::xxh3::xxh3_64;

use super::traps::remember;
use crate::units::Checked;
use crate::url::{HostRules, Rule, RuleSet, Url};

/// How rules about a host are learned: `[learn]`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, Patch)]
#[serde(default, deny_unknown_fields)]
#[patch(
    name = "LearnOverrides",
    attribute(derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)),
    attribute(serde(default, deny_unknown_fields)),
    attribute(expect(missing_docs, reason = "each field is described at `LearnPolicy`"))
)]
pub struct LearnPolicy {
    /// Whether rules about parameters and paths are learned.
    pub parameters: bool,
    /// Which hosts may be taken for aliases of one another.
    pub aliases: AliasMode,
    /// Number of visits that must agree before a rule is learned.
    pub visits: u32,
}

impl Default for LearnPolicy {
    fn default() -> Self {
        Self {
            parameters: true,
            aliases: AliasMode::default(),
            visits: 12,
        }
    }
}

impl LearnPolicy {
    /// Refuses values out of their range.
    pub fn check(&self) -> Checked {
        match self.visits {
            0 => Err(("learn.visits", "at least 1")),
            _ => Ok(()),
        }
    }
}

/// Which hosts may be taken for aliases of one another.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum AliasMode {
    /// None.
    Off,
    /// Hosts that differ in the scheme or in a leading `www.` only.
    #[default]
    Names,
    /// Any hosts.
    Mirrors,
}

/// A part of a host's URLs that may not matter.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Subject {
    /// The parameters with these names, which change together.
    Parameters(Vec<String>),
    /// Whether the index file of a directory is named.
    IndexFile,
    /// A slash at the end of the path.
    TrailingSlash,
    /// The case of the path.
    PathCase,
}

/// Maximum number of parameters in one subject, and in a query that is examined.
const MAX_PARAMETERS: usize = 8;

impl Subject {
    /// The one thing in which two canonical URLs of one host differ; `None` if they differ in
    /// several.
    pub fn between(a: &Url, b: &Url) -> Option<Self> {
        if a.path() == b.path() {
            let (a, b) = (pieces(a), pieces(b));
            let names: BTreeSet<&str> = a
                .symmetric_difference(&b)
                .map(|piece| name(piece))
                .collect();
            let is_some = (1..=MAX_PARAMETERS).contains(&names.len());
            let names = names.into_iter().map(str::to_owned).collect();
            return is_some.then_some(Self::Parameters(names));
        }
        if a.query() != b.query() {
            return None;
        }
        let (a, b) = (a.path(), b.path());
        if a.trim_end_matches('/') == b.trim_end_matches('/') {
            Some(Self::TrailingSlash)
        } else if a.eq_ignore_ascii_case(b) {
            Some(Self::PathCase)
        } else {
            let (short, long) = if a.len() < b.len() { (a, b) } else { (b, a) };
            let rest = long
                .strip_prefix(short.trim_end_matches('/'))?
                .strip_prefix('/')?;
            (!rest.is_empty() && !rest.contains('/')).then_some(Self::IndexFile)
        }
    }

    /// Each parameter of a canonical URL as a subject by itself.
    pub fn of_parameters(url: &Url) -> Vec<Self> {
        let pieces = pieces(url);
        let names: BTreeSet<&str> = pieces.iter().map(|piece| name(piece)).collect();
        if names.len() > MAX_PARAMETERS {
            return Vec::new();
        }
        let names = names
            .into_iter()
            .map(|name| Self::Parameters(vec![name.to_owned()]));
        names.collect()
    }

    /// The URL rules under which URLs that differ only in this subject are equal.
    pub fn rules(&self) -> HostRules {
        let mut rules = HostRules::default();
        match self {
            Self::Parameters(names) => rules.drop.extend(names.iter().cloned()),
            Self::IndexFile => rules.on = RuleSet::EMPTY.with(Rule::IndexFile),
            Self::TrailingSlash => rules.on = RuleSet::EMPTY.with(Rule::TrailingSlash),
            Self::PathCase => rules.on = RuleSet::EMPTY.with(Rule::PathCase),
        }
        rules
    }

    /// A hash of the value that the subject has in a canonical URL.
    fn value(&self, url: &Url) -> u32 {
        let text = match self {
            Self::Parameters(names) => {
                let is_named = |piece: &&str| names.iter().any(|it| it == name(piece));
                pieces(url)
                    .into_iter()
                    .filter(is_named)
                    .collect::<Vec<_>>()
                    .join("&")
            }
            _ => url.path().to_owned(),
        };
        xxh3_64(text.as_bytes()) as u32
    }

    /// A description for people, also used as the key of its row.
    pub fn describe(&self) -> String {
        match self {
            Self::Parameters(names) if names.len() == 1 => format!("parameter {}", names.concat()),
            Self::Parameters(names) => format!("parameters {}", names.join(", ")),
            Self::IndexFile => Rule::IndexFile.to_string(),
            Self::TrailingSlash => Rule::TrailingSlash.to_string(),
            Self::PathCase => Rule::PathCase.to_string(),
        }
    }
}

/// The URL rules of several subjects together.
pub fn rules_of<'a>(subjects: impl IntoIterator<Item = &'a Subject>) -> HostRules {
    let mut all = HostRules::default();
    for subject in subjects {
        let rules = subject.rules();
        all.drop.extend(rules.drop);
        all.on = rules.on.iter().fold(all.on, RuleSet::with);
    }
    all
}

fn pieces(url: &Url) -> BTreeSet<&str> {
    let pieces = url.query().unwrap_or_default().split('&');
    pieces.filter(|piece| !piece.is_empty()).collect()
}

fn name(piece: &str) -> &str {
    piece.split_once('=').map_or(piece, |(name, _)| name)
}

/// What a visit found, as a value that is equal for equal answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Class {
    /// The document with this number, or an exact duplicate of it.
    Document(u64),
    /// A near duplicate. Whether two of these are equal is not known.
    Other,
    /// Not a page: the status was not a success.
    NoPage,
}

/// Whether a subject matters on its host, as far as known.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Stage {
    /// Not known yet.
    #[default]
    Watched,
    /// It does not matter: URLs that differ only in it are variants of one another.
    Learned,
    /// It matters. No rule about it will be learned.
    Matters,
}

/// The evidence about one subject on one host: its row in `Learned`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Evidence {
    /// The host key.
    pub host: String,
    /// The subject.
    pub subject: Subject,
    /// The conclusion drawn so far.
    pub stage: Stage,
    /// Number of visits since the last contradiction that found the same page as a variant of their
    /// URL.
    pub agreed: u32,
    /// Number of visits that found another page.
    pub contradicted: u32,
    /// How many times a rule about the subject was revoked.
    pub taken_back: u32,
    /// Hashes of distinct values among the visits that agreed, up to the number required.
    values: Vec<u32>,
    /// Hashes of distinct pages among the visits that agreed, up to the number required.
    pages: Vec<u32>,
    /// Number of variants that were visited as a check and confirmed the rule.
    pub checked: u32,
    /// The answers of the last pages: the hash of the URL without the subject, and what its last
    /// variant answered.
    answers: Vec<(u32, Class)>,
}

/// Maximum number of pages whose answer is remembered.
const ANSWERS: usize = 32;
/// A rule requires this many distinct pages and values that agree, or [`PAGES_ALONE`] pages
/// whatever their values.
const PAGES: usize = 3;
const VALUES: usize = 4;
const PAGES_ALONE: usize = 12;
/// Number of contradictions after which a subject is taken to matter for good.
const MAX_CONTRADICTED: u32 = 5;

impl Evidence {
    /// Empty evidence about a subject.
    pub fn new(host: &str, subject: Subject) -> Self {
        Self {
            host: host.to_owned(),
            subject,
            stage: Stage::Watched,
            agreed: 0,
            contradicted: 0,
            taken_back: 0,
            values: Vec::new(),
            pages: Vec::new(),
            checked: 0,
            answers: Vec::new(),
        }
    }

    /// Counts a visit. `url` is the canonical URL, `page` the hash of the URL without the subject,
    /// `class` the answer, and `variant` the known answer of a variant, if there is one. Returns
    /// true if the stage changed.
    pub fn note(
        &mut self,
        url: &Url,
        page: u32,
        class: Class,
        variant: Option<Class>,
        policy: LearnPolicy,
    ) -> bool {
        let before = self.stage;
        let known = self.answers.iter().position(|(other, _)| *other == page);
        let other = variant.or(known.map(|at| self.answers[at].1));
        match known {
            Some(at) => self.answers[at].1 = class,
            None => remember(&mut self.answers, (page, class), ANSWERS),
        }
        match (class, other) {
            (Class::Document(own), Some(Class::Document(other))) if own == other => {
                self.agree(self.subject.value(url), page, policy);
            }
            (_, None)
            | (Class::NoPage, Some(Class::NoPage))
            | (Class::Other, Some(Class::Other)) => {}
            _ => self.contradict(),
        }
        self.stage != before
    }

    fn agree(&mut self, value: u32, page: u32, policy: LearnPolicy) {
        self.agreed += 1;
        for (list, item, most) in [
            (&mut self.values, value, VALUES),
            (&mut self.pages, page, PAGES_ALONE),
        ] {
            if list.len() < most && !list.contains(&item) {
                list.push(item);
            }
        }
        let needed = u64::from(policy.visits.max(1)) << self.contradicted;
        let is_enough = u64::from(self.agreed) >= needed
            && (self.pages.len() >= PAGES && self.values.len() >= VALUES
                || self.pages.len() >= PAGES_ALONE);
        if self.stage == Stage::Watched && is_enough {
            self.stage = Stage::Learned;
        }
    }

    /// Counts a contradiction: the subject was found to matter.
    pub fn contradict(&mut self) {
        self.taken_back += u32::from(self.stage == Stage::Learned);
        self.agreed = 0;
        self.checked = 0;
        self.values.clear();
        self.pages.clear();
        self.contradicted = self.contradicted.saturating_add(1);
        self.stage = match self.contradicted {
            MAX_CONTRADICTED.. => Stage::Matters,
            _ => Stage::Watched,
        };
    }
}

/// What the host's row keeps about its learned rules.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LearnedRules {
    /// The subjects that are examined, each with the conclusion drawn so far.
    pub subjects: Vec<(Subject, Stage)>,
    /// Increases with every rule learned or revoked.
    pub generation: u32,
    /// Number of URLs not admitted since the last of these changes.
    pub suppressed: u64,
    /// The value of `suppressed` at which the next URL is visited as a check.
    pub next_check: u64,
    /// Where the sweep of the queue for variants stands; `None` if none is under way.
    pub sweep: Option<Sweep>,
    /// Whether the sweep removed rows from the queue whose URLs may already be in flight.
    pub swept: bool,
    /// Number of rows of visited URLs that may have variants.
    pub visited: u32,
}

/// How far a sweep of a queue has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sweep {
    /// The class to continue with.
    pub class: u8,
    /// The sequence in that class to continue with.
    pub sequence: u64,
    /// The last sequence to examine. URLs with higher sequences were admitted under the current
    /// rules.
    pub until: u64,
}

/// Maximum number of subjects examined per host.
pub const MAX_SUBJECTS: usize = 32;

impl LearnedRules {
    /// Whether any rule was learned.
    pub fn any(&self) -> bool {
        self.learned().next().is_some()
    }

    /// The subjects whose rules were learned.
    pub fn learned(&self) -> impl Iterator<Item = &Subject> {
        let learned = |(_, stage): &&(Subject, Stage)| *stage == Stage::Learned;
        self.subjects
            .iter()
            .filter(learned)
            .map(|(subject, _)| subject)
    }

    /// The stage of a subject; `None` if it is not examined.
    pub fn stage(&self, subject: &Subject) -> Option<Stage> {
        let found = self.subjects.iter().find(|(it, _)| it == subject);
        found.map(|(_, stage)| *stage)
    }

    /// Counts a URL that is not admitted. Returns true if it is to be visited all the same, as a
    /// check. Checks become half as frequent each time, so that an endless host is not checked
    /// endlessly.
    pub fn suppress(&mut self) -> bool {
        const FIRST: u64 = 8;
        self.suppressed += 1;
        self.next_check = self.next_check.max(FIRST);
        if self.suppressed < self.next_check {
            return false;
        }
        self.next_check = self.next_check.saturating_mul(2);
        true
    }

    /// Records that a stage changed, and starts a new generation. URLs deferred under the rules so
    /// far carry the old one. `queued` is the sequence of the last URL queued.
    pub fn change(&mut self, subject: &Subject, stage: Stage, queued: u64) {
        if let Some(found) = self.subjects.iter_mut().find(|(it, _)| it == subject) {
            found.1 = stage;
        }
        self.generation += 1;
        (self.suppressed, self.next_check) = (0, 0);
        self.sweep = self.any().then_some(Sweep {
            class: 0,
            sequence: 0,
            until: queued,
        });
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::url::parse;

    fn url(path: &str) -> Url {
        parse(&format!("http://a.example{path}")).unwrap()
    }

    fn parameters(names: &[&str]) -> Subject {
        Subject::Parameters(names.iter().map(|name| (*name).to_owned()).collect())
    }

    #[test]
    fn what_differs_is_named() {
        let check = |a: &str, b: &str, expected: Option<Subject>| {
            assert_eq!(Subject::between(&url(a), &url(b)), expected, "{a} {b}");
            assert_eq!(Subject::between(&url(b), &url(a)), expected, "{b} {a}");
        };
        check("/x?a=1&b=2", "/x?a=1&b=3", Some(parameters(&["b"])));
        check("/x?a=1", "/x?a=1&b=3", Some(parameters(&["b"])));
        check("/x", "/x?b", Some(parameters(&["b"])));
        check("/x?a=1&b=2", "/x?a=2&b=3", Some(parameters(&["a", "b"])));
        check("/x?a=1&a=2", "/x?a=1", Some(parameters(&["a"])));
        check("/x?a=1", "/x?a=1", None);
        check("/x?a=1", "/y?a=1", None);
        check("/d/", "/d/index.html", Some(Subject::IndexFile));
        check("/d", "/d/index.html", Some(Subject::IndexFile));
        check("/d/", "/d", Some(Subject::TrailingSlash));
        check("/D/x", "/d/X", Some(Subject::PathCase));
        check("/d/", "/d/e/f", None);
        check("/D/x?a", "/d/X", None);
    }

    const POLICY: LearnPolicy = LearnPolicy {
        parameters: true,
        aliases: AliasMode::Off,
        visits: 6,
    };

    fn evidence() -> Evidence {
        Evidence::new("http://a.example", parameters(&["s"]))
    }

    #[test]
    fn a_rule_needs_visits_pages_and_values_that_agree() {
        let learn = |pages: u32, values: u32| {
            let mut evidence = evidence();
            for visit in 0..40 {
                let url = url(&format!("/{}?s={}", visit % pages, visit % values));
                let class = Class::Document(u64::from(visit % pages));
                evidence.note(&url, visit % pages, class, None, POLICY);
            }
            evidence.stage
        };
        assert_eq!(learn(3, 5), Stage::Learned);
        assert_eq!(learn(1, 40), Stage::Watched);
        assert_eq!(learn(5, 2), Stage::Watched);
        assert_eq!(learn(13, 2), Stage::Learned);
    }

    #[test]
    fn a_contradiction_revokes_a_rule_and_makes_the_next_one_harder() {
        let mut evidence = evidence();
        let mut visit = 0_u32;
        let mut agree_until_learned = |evidence: &mut Evidence| {
            let before = visit;
            while evidence.stage != Stage::Learned {
                visit += 1;
                let (page, url) = (visit % 4, url(&format!("/{}?s={visit}", visit % 4)));
                let same = Some(Class::Document(1));
                evidence.note(&url, page, Class::Document(1), same, POLICY);
            }
            visit - before
        };
        for time in 0..5 {
            assert_eq!(agree_until_learned(&mut evidence), 6 << time);
            evidence.contradict();
        }
        assert_eq!(evidence.stage, Stage::Matters);
    }

    #[test]
    fn errors_are_no_pages_and_speak_for_nothing() {
        let mut evidence = evidence();
        for visit in 0..40 {
            evidence.note(&url("/x?s=1"), visit % 4, Class::NoPage, None, POLICY);
        }
        assert_eq!((evidence.agreed, evidence.contradicted), (0, 0));
        evidence.note(&url("/x?s=2"), 7, Class::Other, None, POLICY);
        evidence.note(&url("/x?s=3"), 7, Class::Other, None, POLICY);
        assert_eq!((evidence.agreed, evidence.contradicted), (0, 0));
        evidence.note(&url("/x?s=2"), 1, Class::Document(1), None, POLICY);
        assert_eq!(evidence.contradicted, 1);
    }

    #[test]
    fn checks_come_half_as_often_each_time() {
        let mut learned_rules = LearnedRules::default();
        let checks: Vec<u64> = (1..=100).filter(|_| learned_rules.suppress()).collect();
        assert_eq!(checks, [8, 16, 32, 64]);
    }

    #[test]
    fn what_was_learned_is_looked_for_in_the_queue_from_its_beginning() {
        let subject = parameters(&["s"]);
        let mut learned_rules = LearnedRules {
            subjects: vec![
                (subject.clone(), Stage::Watched),
                (Subject::IndexFile, Stage::Learned),
            ],
            ..LearnedRules::default()
        };
        learned_rules.change(&subject, Stage::Learned, 7);
        assert_eq!(
            (learned_rules.generation, learned_rules.sweep.unwrap().until),
            (1, 7)
        );
        let rules = rules_of(learned_rules.learned());
        assert!(rules.drop.contains("s") && rules.on.has(Rule::IndexFile));
        learned_rules.change(&subject, Stage::Watched, 8);
        learned_rules.change(&Subject::IndexFile, Stage::Watched, 8);
        assert_eq!((learned_rules.any(), learned_rules.sweep), (false, None));
    }

    proptest! {
        /// A parameter that changes the answer is never learned.
        #[test]
        fn what_matters_is_not_learned(visits in prop::collection::vec((0..4_u32, 0..6_u32), 0..200)) {
            let mut evidence = evidence();
            let mut values: Vec<Vec<u32>> = vec![Vec::new(); 4];
            for (page, value) in visits {
                let class = Class::Document(u64::from(page * 10 + value));
                // Every URL is visited once.
                if values[page as usize].contains(&value) {
                    continue;
                }
                values[page as usize].push(value);
                evidence.note(&url(&format!("/{page}?s={value}")), page, class, None, POLICY);
                prop_assert!(evidence.stage != Stage::Learned);
            }
        }
    }
}
