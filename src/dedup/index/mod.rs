//! The index: finds the original that a page repeats, by the keys of the page's signatures.

mod database;
mod documents;
mod pending;
mod witness;

pub use documents::{Documents, DocumentsDamage};
pub use pending::Pending;

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::methods::exact::key_of;
use super::methods::minhash::SKETCH_SHORTFALL;
use super::methods::near::BANDS;
use super::{
    Document, DocumentId, Error, Features, Finder, Fingerprints, METHODS, Match, Method, Repeat,
    Rule, Rules, Signature, Similarity, Tier, Verdict,
};
use crate::runs::Runs;
use crate::url::UrlId;

/// The run files that lead from the digest of a stored payload to its document.
const PAYLOAD: &str = "payload";

/// Maximum number of documents considered per key, oldest first. It bounds the cost of a notice
/// that a million pages begin with.
const SAME_KEY: usize = 256;

/// The names of all structures that deduplication keeps in `runs`, in the order in which they are
/// passed to the index.
pub fn structures() -> Vec<&'static str> {
    let mut names = vec![PAYLOAD];
    for method in METHODS {
        names.extend(method.structures());
    }
    names
}

/// A key that was added to a structure. A delta keeps it, to be added again after a crash.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Posting {
    /// Position in [`structures`].
    pub structure: u8,
    /// The key.
    pub key: u64,
    /// The document.
    pub document: DocumentId,
}

/// The documents, and the logic that leads to them. The runs are passed in, because they belong to
/// the committer's catalog, which makes them all durable at once.
#[derive(Debug)]
pub struct Index {
    documents: Documents,
    features: Features,
}

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

impl Query<'_> {
    /// Whether the page is a duplicate of a document that matches as `found`: the rules of both
    /// accept the match, and no veto forbids it. `rule` is the page's own rule.
    fn may_be(&self, document: &Document, tier: Tier, rule: &Rule, found: &Match) -> bool {
        let other = &document.fingerprints;
        // The page's own rule is checked first: combined with the original's it is only stricter.
        let holds = |rule: &Rule| {
            let is_near = tier == Tier::Near;
            rule.tiers.has(tier)
                && (!is_near || rule.accepts(found, self.fingerprints.is_one_host(other)))
        };
        document.url_id != self.page
            && holds(rule)
            && self.fingerprints.may_be_same(other, tier)
            && !(matches!(tier, Tier::Content | Tier::Near) && self.are_one_series(document))
            && holds(&rule.and(&self.rules.of(&document.url)))
    }

    fn are_one_series(&self, document: &Document) -> bool {
        let (own, other) = (self.fingerprints, &document.fingerprints);
        own.are_one_series(self.page, other, document.url_id)
    }
}

impl Index {
    /// An index over `documents` with fingerprints of these `features`.
    pub fn new(documents: Documents, features: Features) -> Self {
        Self {
            documents,
            features,
        }
    }

    /// The documents.
    pub fn documents(&self) -> &Documents {
        &self.documents
    }

    /// The documents, for writing them at a checkpoint.
    pub fn documents_mut(&mut self) -> &mut Documents {
        &mut self.documents
    }

    /// Judges a page by all methods that its rule enables, cheapest first. An original counts only
    /// if `exists` confirms that its page is committed: a posting is a hint, and must never discard
    /// content by itself.
    pub fn judge<E: From<Error>>(
        &self,
        page: &Query<'_>,
        mut exists: impl FnMut(&Document) -> Result<bool, E>,
    ) -> Result<Verdict, E> {
        let rule = page.rules.of(page.url);
        for (at, method) in METHODS.into_iter().enumerate() {
            if !rule.tiers.has(method.tier()) {
                continue;
            }
            let best = self.best(at, method, page, &rule, &mut exists)?;
            if let Some((found, original)) = best {
                return Ok(Verdict::Duplicate(Repeat {
                    original,
                    tier: method.tier(),
                    distance: found.distance,
                    similarity: Similarity::of(found.similarity),
                }));
            }
        }
        Ok(Verdict::Unique)
    }

    /// The closest original by one method; of equally close ones, the oldest.
    fn best<E: From<Error>>(
        &self,
        at: usize,
        method: &dyn Method,
        page: &Query<'_>,
        rule: &Rule,
        exists: &mut impl FnMut(&Document) -> Result<bool, E>,
    ) -> Result<Option<(Match, Arc<Document>)>, E> {
        let fingerprints = page.fingerprints;
        let Some(signature) = fingerprints.at(at) else {
            return Ok(None);
        };
        let tier = method.tier();
        let mut best: Option<(Match, Arc<Document>)> = None;
        for id in self.candidates(method, signature, rule, page) {
            // Most candidates of the near tier are refused by their sketches, without reading the
            // whole document.
            if let Some(witness) = self.documents.witness(id, tier)
                && method.measure(signature, &witness).is_none_or(|found| {
                    found.similarity + SKETCH_SHORTFALL < rule.least_similarity()
                })
            {
                continue;
            }
            let document = match page.pending.get(id) {
                Some(document) => Some(Arc::clone(document)),
                None => self.documents.get(id)?,
            };
            let Some(document) = document else {
                continue;
            };
            let Some(other) = document.fingerprints.at(at) else {
                continue;
            };
            let Some(found) = method.measure(signature, other) else {
                continue;
            };
            let closer = best
                .as_ref()
                .is_none_or(|(best, _)| found.is_closer_than(best));
            if closer && page.may_be(&document, tier, rule, &found) && exists(&document)? {
                best = Some((found, document));
                if found == Match::EXACT {
                    break;
                }
            }
        }
        Ok(best)
    }

    /// The documents that the keys of a signature lead to, without repeats, oldest first.
    fn candidates(
        &self,
        method: &dyn Method,
        signature: &Signature,
        rule: &Rule,
        page: &Query<'_>,
    ) -> Vec<DocumentId> {
        let mut keys = Vec::new();
        method.keys(signature, &self.features, &mut keys);
        let mut candidates: Vec<DocumentId> = Vec::new();
        // Ranges around one value are searched together.
        for keys in keys.chunk_by(|a, b| a.structure == b.structure && a.value == b.value) {
            let Some((key, at)) = keys
                .first()
                .and_then(|key| Some((key, position(page.runs, key.structure)?)))
            else {
                continue;
            };
            let runs = &page.runs[at];
            if key.structure == BANDS && rule.method == Finder::Simhash {
                continue;
            }
            if key.low == key.high {
                let stored = runs.pairs(key.low, key.high).map(|(_, document)| document);
                let pending = page.pending.find(at, |it| it == key.low);
                candidates.extend(stored.chain(pending).take(SAME_KEY));
                continue;
            }
            let ranges: Vec<_> = keys.iter().map(|key| (key.low, key.high)).collect();
            let reach = u32::from(method.reach());
            runs.near(&ranges, key.value, reach, |_, document| {
                candidates.push(document);
            });
            candidates.extend(page.pending.find(at, |it| {
                let is_in_range = ranges
                    .iter()
                    .any(|(low, high)| (*low..=*high).contains(&it));
                is_in_range && (it ^ key.value).count_ones() <= reach
            }));
        }
        candidates.sort_unstable();
        candidates.dedup();
        candidates
    }

    /// The document whose stored payload has this SHA-256, if any.
    pub fn find_payload(
        &self,
        payload: &[u8; 32],
        runs: &[Runs],
    ) -> Result<Option<Arc<Document>>, Error> {
        let mut candidates = Vec::new();
        if let Some(at) = position(runs, PAYLOAD) {
            runs[at].find(key_of(payload), &mut candidates);
        }
        for id in candidates {
            if let Some(document) = self.documents.get(id)?
                && document.payload == *payload
            {
                return Ok(Some(document));
            }
        }
        Ok(None)
    }

    /// What the fingerprints of the documents are made of.
    pub fn features(&self) -> &Features {
        &self.features
    }

    /// Replays a posting from a delta.
    pub fn post(&self, posting: &Posting, runs: &mut [Runs]) {
        if let Some(runs) = runs.get_mut(usize::from(posting.structure)) {
            runs.insert(posting.key, posting.document);
        }
    }
}

/// The keys under which a document is found.
pub fn postings(document: &Document, features: &Features) -> Vec<Posting> {
    let structures = structures();
    let mut postings = Vec::new();
    let mut post = |structure: &str, key| {
        if let Some(at) = structures.iter().position(|name| *name == structure) {
            postings.push(Posting {
                structure: at as u8,
                key,
                document: document.id,
            });
        }
    };
    post(PAYLOAD, key_of(&document.payload));
    let mut keys = Vec::new();
    for (method, signature) in document.fingerprints.signed() {
        keys.clear();
        method.keys(signature, features, &mut keys);
        for key in keys.iter().filter(|key| key.is_posted) {
            post(key.structure, key.value);
        }
    }
    postings
}

fn position(runs: &[Runs], name: &str) -> Option<usize> {
    runs.iter().position(|runs| runs.name() == name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dedup::{Fingerprinter, Stored, Tier};
    use crate::runs::{Catalog, Options};
    use std::path::Path;

    /// An index, its runs, and the next document's number.
    struct World {
        index: Index,
        catalog: Catalog,
        /// The same documents as part of an uncommitted group, and an empty index.
        pending: Pending,
        empty: (Index, Catalog),
        rules: Rules,
        by: Fingerprinter,
        next: DocumentId,
    }

    impl World {
        fn new(directory: &Path) -> Self {
            Self::of(directory, Features::default(), Rules::default())
        }

        fn of(directory: &Path, features: Features, rules: Rules) -> Self {
            let names: Vec<_> = structures()
                .into_iter()
                .map(|name| (name, Options::default()))
                .collect();
            let open = |name: &str| {
                let directory = directory.join(name);
                let (catalog, _) = Catalog::open(&directory.join("runs"), &names).unwrap();
                let (documents, _) =
                    Documents::open(&directory.join("documents"), 1 << 20, 0).unwrap();
                (Index::new(documents, features.clone()), catalog)
            };
            let (index, catalog) = open("committed");
            Self {
                index,
                catalog,
                pending: Pending::default(),
                empty: open("empty"),
                rules,
                by: Fingerprinter::new(features),
                next: 1,
            }
        }

        /// Judges a page; one that is unique becomes a document.
        fn see(&mut self, raw: &str, main: &str, visible: &str) -> Verdict {
            self.see_if(raw, main, visible, true)
        }

        fn see_if(&mut self, raw: &str, main: &str, visible: &str, committed: bool) -> Verdict {
            let text = self.by.text(main, visible);
            let fingerprints = self.by.sign(raw.as_bytes(), &text);
            let id = self.next;
            let page = UrlId::from_bytes([id as u8; 16]);
            let asked = Query {
                page,
                url: "http://example.org/",
                fingerprints: &fingerprints,
                runs: &self.catalog,
                pending: &Pending::default(),
                rules: &self.rules,
            };
            let verdict = self
                .index
                .judge::<Error>(&asked, |_| Ok(committed))
                .unwrap();
            let (empty, runs) = &self.empty;
            let asked = Query {
                runs,
                pending: &self.pending,
                ..asked
            };
            let of_group = empty.judge::<Error>(&asked, |_| Ok(committed)).unwrap();
            assert_eq!(
                of_group, verdict,
                "a group is compared as what is committed"
            );
            if matches!(verdict, Verdict::Unique) {
                self.next += 1;
                let document = Document {
                    id,
                    url_id: page,
                    url: format!("http://example.org/{id}"),
                    fetched: 0,
                    stored: Stored::default(),
                    stored_for: None,
                    payload: [id as u8; 32],
                    fingerprints,
                };
                for posting in postings(&document, self.index.features()) {
                    self.index.post(&posting, &mut self.catalog);
                }
                self.pending.add(document.clone(), self.index.features());
                self.index.documents_mut().insert(Arc::new(document));
            }
            verdict
        }
    }

    fn check(verdict: &Verdict, expected: Option<(Tier, DocumentId)>) {
        let found = match verdict {
            Verdict::Duplicate(Repeat { tier, original, .. }) => Some((*tier, original.id)),
            _ => None,
        };
        assert_eq!(found, expected);
    }

    fn article(seed: usize) -> String {
        let word = |n: usize| format!("word{} ", (n * 7 + seed) * (n + seed * 3) % 977);
        (0..400).map(word).collect()
    }

    /// `text` with one word changed.
    fn edited(text: &str) -> String {
        let mut words: Vec<_> = text.split_whitespace().collect();
        let middle = words.len() / 2;
        words[middle] = "edit";
        words.join(" ")
    }

    #[test]
    fn the_cheapest_tier_that_finds_an_original_names_it() {
        let directory = tempfile::tempdir().unwrap();
        let mut world = World::new(directory.path());
        let text = article(1);
        let page = format!("Menu {text}");
        check(&world.see("<a>", &text, &page), None);
        check(&world.see("<a>", &text, &page), Some((Tier::Raw, 1)));
        check(
            &world.see("<b>", &text, &page.to_uppercase()),
            Some((Tier::Normalized, 1)),
        );
        check(
            &world.see("<c>", &text, &format!("Other {text} menu")),
            Some((Tier::Content, 1)),
        );
        let edited = edited(&text);
        check(&world.see("<d>", &edited, &edited), Some((Tier::Near, 1)));
        check(&world.see("<e>", &article(5), &article(5)), None);
        world.catalog.checkpoint(1).unwrap();
        world.index.documents_mut().checkpoint().unwrap();
        check(&world.see("<a>", &text, &page), Some((Tier::Raw, 1)));
        check(
            &world.see("<f>", &article(5), &article(5)),
            Some((Tier::Normalized, 2)),
        );
        // Now read from the witness column.
        check(&world.see("<g>", &edited, &edited), Some((Tier::Near, 1)));
    }

    #[test]
    fn the_same_main_text_in_other_company_is_another_page() {
        let directory = tempfile::tempdir().unwrap();
        let mut world = World::new(directory.path());
        let (main, one, two) = (article(1), article(2), article(3));
        check(
            &world.see("<a>", &main, &format!("{main} {one} {one}")),
            None,
        );
        check(
            &world.see("<b>", &main, &format!("{main} {two} {two}")),
            None,
        );
        check(
            &world.see("<c>", &main, &format!("{main} menu {two} {two}")),
            Some((Tier::Content, 2)),
        );
    }

    /// At any distance of the fingerprints, and whether the document or the witness column is read
    /// first.
    #[test]
    fn signatures_are_found_by_their_bands() {
        let directory = tempfile::tempdir().unwrap();
        let features = Features {
            method: Finder::Minhash,
            ..Features::default()
        };
        let rule = |method| {
            let rule = Rule {
                method,
                hamming: 0,
                ..Rule::default()
            };
            Rules::new(rule, [])
        };
        let mut world = World::of(directory.path(), features, rule(Finder::Minhash));
        let text = article(1);
        check(&world.see("<a>", &text, &text), None);
        let edited = edited(&text);
        check(&world.see("<b>", &edited, &edited), Some((Tier::Near, 1)));
        world.catalog.checkpoint(1).unwrap();
        world.index.documents_mut().checkpoint().unwrap();
        check(&world.see("<c>", &edited, &edited), Some((Tier::Near, 1)));
        check(&world.see("<d>", &article(5), &article(5)), None);
        world.rules = rule(Finder::Simhash);
        let found = world.see("<e>", &edited, &edited);
        let is_equal = matches!(found, Verdict::Duplicate(Repeat { distance: 0, .. }));
        assert!(is_equal || matches!(found, Verdict::Unique), "{found:?}");
    }

    #[test]
    fn tiers_that_do_not_count_find_nothing() {
        let directory = tempfile::tempdir().unwrap();
        let rule = Rule {
            tiers: [Tier::Content].into_iter().collect(),
            ..Rule::default()
        };
        let mut world = World::of(directory.path(), Features::default(), Rules::new(rule, []));
        let text = article(1);
        check(&world.see("<a>", &text, &text), None);
        check(&world.see("<a>", &text, &text), Some((Tier::Content, 1)));
        let edited = edited(&text);
        check(&world.see("<b>", &edited, &edited), None);
    }

    #[test]
    fn a_posting_whose_page_is_not_committed_convicts_nobody() {
        let directory = tempfile::tempdir().unwrap();
        let mut world = World::new(directory.path());
        check(&world.see("<a>", "", ""), None);
        check(&world.see_if("<a>", "", "", false), None);
        check(&world.see("<a>", "", ""), Some((Tier::Raw, 1)));
    }

    #[test]
    fn a_stored_payload_is_found_by_its_digest() {
        let directory = tempfile::tempdir().unwrap();
        let mut world = World::new(directory.path());
        world.see("<a>", "", "");
        let find = |payload| {
            world
                .index
                .find_payload(&payload, &world.catalog)
                .unwrap()
                .map(|document| document.id)
        };
        assert_eq!(find([1; 32]), Some(1));
        assert_eq!(find([2; 32]), None);
    }
}
