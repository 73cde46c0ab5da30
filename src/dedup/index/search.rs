//! The search for what one page repeats: which documents match, whether the rules of both pages and
//! the vetoes allow it, and whether their own parts bear it out.

use std::cmp::Ordering;
use std::sync::Arc;

use super::{Index, Pending};
use crate::dedup::methods::minhash::SKETCH_SHORTFALL;
use crate::dedup::own::OwnComparison;
use crate::dedup::{
    Document, DocumentId, Error, Fingerprints, METHODS, Match, Method, Repeat, Rule, Rules,
    Similarity, Tier, Verdict, burden, shard_of,
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
    /// The documents of other shards, which are asked after those of this one, tier by tier.
    pub others: Option<Others<'a>>,
}

/// The documents of all shards of a crawl, as one of them asks for those of the others.
#[derive(Debug, Clone, Copy)]
pub struct Others<'a> {
    /// The documents, under numbers of this index, each with the number that tells its shard.
    pub index: &'a Index,
    /// The keys of these documents.
    pub runs: &'a [Runs],
    /// The shard that asks: its own documents are passed over.
    pub own: u16,
    /// Documents with this number in the index or a higher one are passed over too.
    pub below: DocumentId,
}

impl Others<'_> {
    /// Judges a page by these documents alone.
    pub fn judge<E: From<Error>>(
        &self,
        page: &Query<'_>,
        originals: impl Originals<E>,
    ) -> Result<Found, E> {
        let page = Query {
            others: Some(*self),
            ..*page
        };
        Search::new(None, &page, originals).judge()
    }

    /// Whether the document `number` of the index is one that is asked for.
    fn has(&self, number: DocumentId, document: &Document) -> bool {
        number < self.below && shard_of(document.id) != Some(self.own)
    }
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
    /// The own documents of the crawl, if these are searched.
    index: Option<&'a Index>,
    page: &'a Query<'a>,
    rule: Rule,
    originals: O,
    /// Documents whose own parts differ from the page's.
    refused: Vec<DocumentId>,
    like: Option<Repeat>,
    doubt: Option<Arc<Document>>,
}

impl<'a, O> Search<'a, O> {
    pub(super) fn new(index: Option<&'a Index>, page: &'a Query<'a>, originals: O) -> Self {
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

    /// Searches by all methods that the page's rule enables, cheapest first.
    pub(super) fn judge<E: From<Error>>(mut self) -> Result<Found, E>
    where
        O: Originals<E>,
    {
        for (at, method) in METHODS.into_iter().enumerate() {
            if !self.rule.tiers.has(method.tier()) {
                continue;
            }
            if let Some(repeat) = self.by(at, method)? {
                return Ok(Found {
                    verdict: Verdict::Duplicate(repeat),
                    like: None,
                    doubt: None,
                });
            }
        }
        Ok(Found {
            verdict: Verdict::Unique,
            like: self.like,
            doubt: self.doubt,
        })
    }

    /// The closest original by one method; of equally close ones an own one before those of other
    /// shards, and the oldest.
    fn by<E: From<Error>>(&mut self, at: usize, method: &dyn Method) -> Result<Option<Repeat>, E>
    where
        O: Originals<E>,
    {
        let page = self.page;
        let Some(signature) = page.fingerprints.at(at) else {
            return Ok(None);
        };
        let tier = method.tier();
        let mut matches: Vec<(Match, Arc<Document>)> = Vec::new();
        let own = self.index.map(|index| (index, page.runs, page.pending));
        let others = page.others.map(|it| (it.index, it.runs, Pending::NONE));
        let sources = [(own, None), (others, page.others)];
        for (source, among) in sources {
            let Some((index, runs, pending)) = source else {
                continue;
            };
            for id in index.candidates(method, signature, &self.rule, (runs, pending)) {
                if self.refused.len() >= MAX_REFUSED {
                    break;
                }
                let documents = &index.documents;
                // Most candidates of the near tier are refused by their sketches, without reading
                // the whole document.
                if let Some(witness) = documents.witness(id, tier)?
                    && method.measure(signature, &witness).is_none_or(|found| {
                        found.similarity + found.error + SKETCH_SHORTFALL
                            < self.rule.least_similarity()
                    })
                {
                    continue;
                }
                let document = match pending.get(id) {
                    Some(document) => Some(Arc::clone(document)),
                    None => documents.get(id)?,
                };
                let is_meant = |it: &Arc<Document>| among.is_none_or(|among| among.has(id, it));
                let Some(document) = document.filter(is_meant) else {
                    continue;
                };
                let found = (document.fingerprints.at(at))
                    .and_then(|other| method.measure(signature, other));
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
