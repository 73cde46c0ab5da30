//! What the verdicts on a host's pages teach about its URLs: which parameters, and which
//! differences of the path, never change what is answered.
//!
//! A lesson is learned when enough pages agree and none contradicts; a contradiction takes it back
//! and doubles what the next time asks for. It says which URLs are variants of one another, and
//! changes the identity of none: see docs/architecture.md.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::xxh3_64;

use super::traps::remember;
use crate::url::{HostRules, Rule, RuleSet, Url};

/// How hosts are learned of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct LearnPolicy {
    /// Whether it is learned what of a URL does not matter.
    pub parameters: bool,
    /// Which hosts may be taken for another.
    pub aliases: AliasMode,
    /// Visits that must agree before something is learned.
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

/// Which hosts may be taken for another one.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum AliasMode {
    /// None.
    Off,
    /// Those of one name: http and https, with `www.` and without.
    #[default]
    Names,
    /// Any.
    Mirrors,
}

/// What may not matter in the URLs of a host.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Subject {
    /// Parameters of these names, which differ together.
    Parameters(Vec<String>),
    /// Whether a directory's file is named.
    IndexFile,
    /// A slash at the end of the path.
    TrailingSlash,
    /// The case of the path.
    PathCase,
}

/// Parameters of one subject, and of a query that is looked at.
const MAX_PARAMETERS: usize = 8;

impl Subject {
    /// What two URLs of one host differ in, if that is one thing; both are canonical.
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

    /// Each parameter of a canonical URL by itself.
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

    /// The rules under which URLs that differ in nothing else are one.
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

    /// The value that this has in a canonical URL, as a number.
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

    /// For people, and as its key.
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

/// The rules of several lessons together.
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

/// What a visit answered, as a number: equal answers have equal classes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Class {
    /// This document, or an exact duplicate of it.
    Document(u64),
    /// A page that is almost like another: whether two are equal is not known.
    Other,
    /// No page: another status than success.
    NoPage,
}

/// Whether a subject matters on its host, as far as is known.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Stage {
    /// It is not known.
    #[default]
    Watched,
    /// It does not: URLs that differ in it are variants of one another.
    Learned,
    /// It does, as often as it was looked at.
    Matters,
}

/// What is known of a subject on a host: its row in `Learned`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Evidence {
    /// The host.
    pub host: String,
    /// The subject.
    pub subject: Subject,
    /// Where that has led to.
    pub stage: Stage,
    /// Visits that found the page that a variant of their URL had found, since the last
    /// contradiction.
    pub agreed: u32,
    /// Visits that found another.
    pub contradicted: u32,
    /// How often a lesson was taken back.
    pub taken_back: u32,
    /// Values among the visits that agreed, as many as are needed.
    values: Vec<u32>,
    /// Pages among them.
    pages: Vec<u32>,
    /// URLs that were visited to check, and bore it out.
    pub checked: u32,
    /// What the last pages answered: the URL without the subject, and what its last variant
    /// answered.
    answers: Vec<(u32, Class)>,
}

/// Pages whose answer is remembered.
const ANSWERS: usize = 32;
/// Pages with variants that must agree, and values; or so many pages, whatever the values.
const PAGES: usize = 3;
const VALUES: usize = 4;
const PAGES_ALONE: usize = 12;
/// Contradictions after which a subject is taken to matter for good.
const MAX_CONTRADICTED: u32 = 5;

impl Evidence {
    /// Of a subject of which nothing is known.
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

    /// Takes a visit into account: the canonical URL, its page (the URL without the subject, as a
    /// number), what it answered, and what a variant is known to have answered, if one is. True if
    /// the stage changed.
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

    /// Something was found that does matter.
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

/// What a host's row keeps of its lessons.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LearnedRules {
    /// What is looked at, and where that led to.
    pub subjects: Vec<(Subject, Stage)>,
    /// Rises with every lesson learned or taken back.
    pub generation: u32,
    /// URLs not admitted since then.
    pub suppressed: u64,
    /// How many of these there must be for the next to be visited.
    pub next_check: u64,
    /// Where the queue is to be looked through for variants.
    pub sweep: Option<Sweep>,
    /// Rows were taken from the queue that may be on their way.
    pub swept: bool,
    /// Rows of visited URLs that may have variants.
    pub visited: u32,
}

/// How far a queue was looked through.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sweep {
    /// The class to go on with.
    pub class: u8,
    /// The sequence in it.
    pub sequence: u64,
    /// URLs with higher numbers were admitted by what was learned.
    pub until: u64,
}

/// Subjects of one host that are looked at.
pub const MAX_SUBJECTS: usize = 32;

impl LearnedRules {
    /// Whether anything was learned.
    pub fn any(&self) -> bool {
        self.learned().next().is_some()
    }

    /// What was learned.
    pub fn learned(&self) -> impl Iterator<Item = &Subject> {
        let learned = |(_, stage): &&(Subject, Stage)| *stage == Stage::Learned;
        self.subjects
            .iter()
            .filter(learned)
            .map(|(subject, _)| subject)
    }

    /// The stage of a subject, if it is looked at.
    pub fn stage(&self, subject: &Subject) -> Option<Stage> {
        let found = self.subjects.iter().find(|(it, _)| it == subject);
        found.map(|(_, stage)| *stage)
    }

    /// One more URL is not to be admitted. True if it is to be visited all the same, to check; that
    /// comes half as often each time, so that a host without end is not checked without end.
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

    /// A stage changed: begins anew. What is shelved for the lessons so far has their generation;
    /// `queued` is the number of the last URL queued.
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
    fn a_lesson_needs_visits_pages_and_values_that_agree() {
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
    fn contradictions_take_a_lesson_back_and_make_the_next_dearer() {
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
        let mut lessons = LearnedRules::default();
        let checks: Vec<u64> = (1..=100).filter(|_| lessons.suppress()).collect();
        assert_eq!(checks, [8, 16, 32, 64]);
    }

    #[test]
    fn what_was_learned_is_looked_for_in_the_queue_from_its_beginning() {
        let subject = parameters(&["s"]);
        let mut lessons = LearnedRules {
            subjects: vec![
                (subject.clone(), Stage::Watched),
                (Subject::IndexFile, Stage::Learned),
            ],
            ..LearnedRules::default()
        };
        lessons.change(&subject, Stage::Learned, 7);
        assert_eq!((lessons.generation, lessons.sweep.unwrap().until), (1, 7));
        let rules = rules_of(lessons.learned());
        assert!(rules.drop.contains("s") && rules.on.has(Rule::IndexFile));
        lessons.change(&subject, Stage::Watched, 8);
        lessons.change(&Subject::IndexFile, Stage::Watched, 8);
        assert_eq!((lessons.any(), lessons.sweep), (false, None));
    }

    proptest! {
        /// A parameter that decides what is answered is never learned.
        #[test]
        fn what_matters_is_not_learned(visits in prop::collection::vec((0..4_u32, 0..6_u32), 0..200)) {
            let mut evidence = evidence();
            let mut values: Vec<Vec<u32>> = vec![Vec::new(); 4];
            for (page, value) in visits {
                let class = Class::Document(u64::from(page * 10 + value));
                // A URL is visited once.
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
