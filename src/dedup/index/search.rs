//! The search for what one page repeats: which documents match, whether the rules of both pages and
//! the vetoes allow it, and whether their own parts bear it out.

use std::cmp::Ordering;
use std::sync::Arc;

use super::{Index, Pending};
use crate::dedup::methods::minhash::SKETCH_SHORTFALL;
use crate::dedup::own::OwnComparison;
use crate::dedup::{
    Document, DocumentId, Error, Fingerprints, Match, Method, Repeat, Rule, Rules, Similarity,
    Tier, Verdict, burden,
};
use crate::runs::Runs;
use crate::url::UrlId;

/// Maximum number of documents whose own parts a page is compared with in vain. It bounds the cost
/// of a page among thousands that differ from it in a word.
const MAX_REFUSED: usize = 24;

/// A page to be judged, and the data to judge it by.
#[derive(Debug, Clone, Copy)]
pub struct Query<'a> {
    /// The page.
    pub page: UrlId,
    /// The page's URL, which determines its rule.
    pub url: &'a str,
    /// The page's fingerprints.
    pub fingerprints: &'a Fingerprints,
    /// The keys of all documents.
    pub runs: &'a [Runs],
    /// The documents of the group being judged, which have no keys in `runs` yet.
    pub pending: &'a Pending,
    /// The rules of all pages.
    pub rules: &'a Rules,
}

/// What the index asks of the crawl about a document that a page matches.
pub trait Originals<E> {
    /// Whether the document is a live original: its page is committed. A posting is a hint, and
    /// must never discard content by itself.
    fn is_live(&mut self, document: &Document) -> Result<bool, E>;

    /// How the own parts of the page and of the document's page compare; their whole texts have
    /// this similarity, 0 to 1.
    fn compare_own(&mut self, document: &Document, similarity: f64) -> Result<OwnComparison, E>;
}

/// A function says which documents are live; of own parts nothing is known.
impl<E, F: FnMut(&Document) -> Result<bool, E>> Originals<E> for F {
    fn is_live(&mut self, document: &Document) -> Result<bool, E> {
        self(document)
    }

    fn compare_own(&mut self, _: &Document, _: f64) -> Result<OwnComparison, E> {
        Ok(OwnComparison::Unknown)
    }
}

/// What the index finds about a page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found {
    /// The verdict.
    pub verdict: Verdict,
    /// The closest original that the page resembles without repeating it, if the page is unique.
    pub like: Option<Repeat>,
    /// An original that a unique page repeats, unless the short lines in which they differ stay the
    /// same with each fetch.
    pub doubt: Option<Arc<Document>>,
}

impl Query<'_> {
    /// Whether the rules of both pages accept a match if own parts bear it out. `rule` is the
    /// page's own rule.
    fn is_accepted(&self, document: &Document, tier: Tier, rule: &Rule, found: &Match) -> bool {
        let is_one_host = self.fingerprints.is_one_host(&document.fingerprints);
        // The page's own rule is checked first: combined with the original's it is only stricter.
        let holds = |rule: &Rule| {
            let is_near = tier == Tier::Near;
            rule.tiers.has(tier) && (!is_near || rule.accepts_if_proved(found, is_one_host))
        };
        document.url_id != self.page
            && holds(rule)
            && holds(&rule.and(&self.rules.of(&document.url)))
    }

    /// Whether no veto keeps the page apart from a document that matches, if own parts bear it out.
    fn may_be(&self, document: &Document, tier: Tier) -> bool {
        let (own, other) = (self.fingerprints, &document.fingerprints);
        let is_part = || own.are_one_series(self.page, other, document.url_id);
        own.may_be_same_if_proved(other, tier)
            && !(matches!(tier, Tier::Content | Tier::Near) && is_part())
    }

    /// Whether the whole texts alone show that the page is the same as a document that
    /// [may be](Self::may_be). Nothing is known of the own part of one of them.
    fn is_shown(&self, document: &Document, tier: Tier, rule: &Rule, found: &Match) -> bool {
        let (own, other) = (self.fingerprints, &document.fingerprints);
        let both = rule.and(&self.rules.of(&document.url));
        own.may_be_same(other, tier)
            && (tier != Tier::Near || both.accepts(found, own.is_one_host(other)))
    }
}

/// The search for what one page repeats.
pub(super) struct Search<'a, O> {
    index: &'a Index,
    page: &'a Query<'a>,
    rule: Rule,
    originals: O,
    /// Documents whose own parts differ from the page's.
    refused: Vec<DocumentId>,
    like: Option<Repeat>,
    doubt: Option<Arc<Document>>,
}

impl<'a, O> Search<'a, O> {
    pub(super) fn new(index: &'a Index, page: &'a Query<'a>, originals: O) -> Self {
        Self {
            index,
            page,
            rule: page.rules.of(page.url),
            originals,
            refused: Vec::new(),
            like: None,
            doubt: None,
        }
    }

    /// Whether the page's rule has a tier.
    pub(super) fn asks_for(&self, tier: Tier) -> bool {
        self.rule.tiers.has(tier)
    }

    /// What is found of a page that repeats nothing.
    pub(super) fn into_unique(self) -> Found {
        Found {
            verdict: Verdict::Unique,
            like: self.like,
            doubt: self.doubt,
        }
    }

    /// The closest original by one method; of equally close ones, the oldest.
    pub(super) fn by<E: From<Error>>(
        &mut self,
        at: usize,
        method: &dyn Method,
    ) -> Result<Option<Repeat>, E>
    where
        O: Originals<E>,
    {
        let page = self.page;
        let Some(signature) = page.fingerprints.at(at) else {
            return Ok(None);
        };
        let tier = method.tier();
        let mut matches: Vec<(Match, Arc<Document>)> = Vec::new();
        for id in self.index.candidates(method, signature, &self.rule, page) {
            if self.refused.len() >= MAX_REFUSED {
                break;
            }
            let documents = &self.index.documents;
            // Most candidates of the near tier are refused by their sketches, without reading the
            // whole document.
            if let Some(witness) = documents.witness(id, tier)?
                && method.measure(signature, &witness).is_none_or(|found| {
                    found.similarity + found.error + SKETCH_SHORTFALL < self.rule.least_similarity()
                })
            {
                continue;
            }
            let document = match page.pending.get(id) {
                Some(document) => Some(Arc::clone(document)),
                None => documents.get(id)?,
            };
            let Some(document) = document else {
                continue;
            };
            let found =
                (document.fingerprints.at(at)).and_then(|other| method.measure(signature, other));
            let Some(found) = found else {
                continue;
            };
            if !page.is_accepted(&document, tier, &self.rule, &found) {
                continue;
            }
            if found == Match::EXACT {
                // Nothing is closer, and what follows is younger.
                if let Some(repeat) = self.examine(tier, found, document)? {
                    return Ok(Some(repeat));
                }
            } else {
                matches.push((found, document));
            }
        }
        // Stable, so that of equally close ones the oldest stays first.
        matches.sort_by(
            |(a, _), (b, _)| match (a.is_closer_than(b), b.is_closer_than(a)) {
                (true, _) => Ordering::Less,
                (_, true) => Ordering::Greater,
                _ => Ordering::Equal,
            },
        );
        for (found, document) in matches {
            if let Some(repeat) = self.examine(tier, found, document)? {
                return Ok(Some(repeat));
            }
        }
        Ok(None)
    }

    /// Returns what the page repeats, if it repeats this document, which matches; else notes what
    /// it resembles.
    fn examine<E: From<Error>>(
        &mut self,
        tier: Tier,
        found: Match,
        original: Arc<Document>,
    ) -> Result<Option<Repeat>, E>
    where
        O: Originals<E>,
    {
        let (own, other) = (self.page.fingerprints, &original.fingerprints);
        let may_be = self.page.may_be(&original, tier) && !self.refused.contains(&original.id);
        // A page resembles the first that it is compared with: the closest.
        if !may_be && (self.like.is_some() || !own.may_be_alike(other)) {
            return Ok(None);
        }
        if self.refused.len() >= MAX_REFUSED {
            return Ok(None);
        }
        let compared = match tier {
            _ if !may_be => None,
            Tier::Raw => Some(OwnComparison::Unknown),
            _ => Some(self.originals.compare_own(&original, found.similarity)?),
        };
        let is_shown = match compared {
            Some(OwnComparison::Unknown) => self.page.is_shown(&original, tier, &self.rule, &found),
            _ => true,
        };
        let is_one_site = own.is_one_site(other);
        let is_doubtful = self.doubt.is_none()
            && compared.is_some_and(|it| burden::may_be_borne_out(tier, it, is_one_site));
        let is_proved =
            is_shown && compared.is_some_and(|it| burden::is_borne_out(tier, it, is_one_site));
        // Most of many candidates are refused by what they say; only what follows asks for their
        // pages.
        if (is_proved || is_doubtful || self.like.is_none())
            && !self.originals.is_live(&original)?
        {
            return Ok(None);
        }
        if is_doubtful {
            self.doubt = Some(Arc::clone(&original));
        }
        let (id, repeat) = (original.id, |tier| Repeat {
            original,
            tier,
            distance: found.distance,
            similarity: Similarity::of(found.similarity),
        });
        if is_proved {
            return Ok(Some(repeat(tier)));
        }
        if may_be {
            self.refused.push(id);
        }
        if self.like.is_none() {
            self.like = Some(repeat(Tier::Near));
        }
        Ok(None)
    }
}
