//! The index: finds the original that a page repeats, by the keys of the page's signatures.

mod database;
mod documents;
mod pending;
mod search;
mod witness;

pub use documents::{Documents, DocumentsDamage};
pub use pending::Pending;
pub use search::{Found, Originals, Others, Query};

use std::cmp::Reverse;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::methods::exact::key_of;
use super::methods::near::{BANDS, SKETCHES};
use super::{
    Document, DocumentId, Error, Features, Finder, Fingerprints, METHODS, Method, Rule, Signature,
};
use crate::runs::Runs;
use search::Search;

/// The run files that lead from the digest of a stored payload to its document.
const PAYLOAD: &str = "payload";

/// Maximum number of documents considered per key, oldest first. It bounds the cost of a notice
/// that a million pages begin with.
const SAME_KEY: usize = 256;

/// Maximum number of documents considered because their fingerprints are near the page's: the
/// nearest, of equally near ones the oldest. It bounds the cost of a page of a site whose pages
/// resemble one another by the thousand.
const MOST_NEAR: usize = 64;

/// Maximum number of documents considered because they share bands of the page's sketch: those that
/// share most. It bounds the cost of a page of a site whose template is half of each of its pages.
const MOST_BY_BANDS: usize = 32;

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

    /// Judges a page by all methods that its rule enables, cheapest first.
    pub fn judge<E: From<Error>>(
        &self,
        page: &Query<'_>,
        originals: impl Originals<E>,
    ) -> Result<Found, E> {
        Search::new(Some(self), page, originals).judge()
    }

    /// The documents that the keys of a signature lead to, without repeats, oldest first.
    fn candidates(
        &self,
        method: &dyn Method,
        signature: &Signature,
        rule: &Rule,
        (runs, pending): (&[Runs], &Pending),
    ) -> Vec<DocumentId> {
        let mut keys = Vec::new();
        method.keys(signature, &self.features, &mut keys);
        let mut candidates: Vec<DocumentId> = Vec::new();
        let mut by_bands: Vec<DocumentId> = Vec::new();
        let mut near = Nearest::default();
        // Ranges around one value are searched together.
        for keys in keys.chunk_by(|a, b| a.structure == b.structure && a.value == b.value) {
            let Some((key, at)) = keys
                .first()
                .and_then(|key| Some((key, position(runs, key.structure)?)))
            else {
                continue;
            };
            let runs = &runs[at];
            if key.structure == BANDS && rule.method == Finder::Simhash {
                continue;
            }
            if key.low == key.high {
                let stored = runs.pairs(key.low, key.high);
                let pending = pending.find(at, |it| it == key.low);
                let into = match key.structure {
                    SKETCHES => &mut by_bands,
                    _ => &mut candidates,
                };
                let found = stored.chain(pending).map(|(_, document)| document);
                into.extend(found.take(SAME_KEY));
                continue;
            }
            let ranges: Vec<_> = keys.iter().map(|key| (key.low, key.high)).collect();
            let reach = u32::from(method.reach());
            let distance = |it: u64| (it ^ key.value).count_ones();
            runs.near(&ranges, key.value, reach, |it, document| {
                near.push(distance(it), document);
            });
            let pending = pending.find(at, |it| {
                let mut ranges = ranges.iter();
                ranges.any(|(low, high)| (*low..=*high).contains(&it)) && distance(it) <= reach
            });
            for (it, document) in pending {
                near.push(distance(it), document);
            }
        }
        candidates.extend(near.into_documents());
        candidates.extend(most_frequent(by_bands, MOST_BY_BANDS));
        candidates.sort_unstable();
        candidates.dedup();
        candidates
    }

    /// The documents whose stored payload has this SHA-256, at most `most` of them.
    pub fn find_payload(
        &self,
        payload: &[u8; 32],
        most: usize,
        runs: &[Runs],
    ) -> Result<Vec<Arc<Document>>, Error> {
        let mut candidates = Vec::new();
        if let Some(at) = position(runs, PAYLOAD) {
            runs[at].find(key_of(payload), &mut candidates);
        }
        let mut found = Vec::new();
        for id in candidates {
            if found.len() >= most {
                break;
            }
            if let Some(document) = self.documents.get(id)?
                && document.payload == *payload
            {
                found.push(document);
            }
        }
        Ok(found)
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

/// The nearest [`MOST_NEAR`] of any number of documents.
#[derive(Default)]
struct Nearest(Vec<(u32, DocumentId)>);

impl Nearest {
    /// A document is found at most once by each of the four tables of fingerprints.
    const KEPT: usize = 4 * MOST_NEAR;

    fn push(&mut self, distance: u32, document: DocumentId) {
        if self.0.len() >= 16 * Self::KEPT {
            self.shrink();
        }
        self.0.push((distance, document));
    }

    fn shrink(&mut self) {
        if self.0.len() > Self::KEPT {
            self.0.select_nth_unstable(Self::KEPT);
            self.0.truncate(Self::KEPT);
        }
    }

    fn into_documents(mut self) -> impl Iterator<Item = DocumentId> {
        self.shrink();
        self.0.sort_unstable();
        self.0.dedup();
        let nearest = self.0.into_iter().take(MOST_NEAR);
        nearest.map(|(_, document)| document)
    }
}

/// The documents that occur most often, each once; of equally frequent ones the oldest.
fn most_frequent(mut found: Vec<DocumentId>, most: usize) -> impl Iterator<Item = DocumentId> {
    found.sort_unstable();
    let mut counted: Vec<(usize, DocumentId)> = (found.chunk_by(|a, b| a == b))
        .filter_map(|same| Some((same.len(), *same.first()?)))
        .collect();
    // Stable, so that the oldest stay first.
    counted.sort_by_key(|(count, _)| Reverse(*count));
    counted.into_iter().take(most).map(|(_, id)| id)
}

fn position(runs: &[Runs], name: &str) -> Option<usize> {
    runs.iter().position(|runs| runs.name() == name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dedup::{Fingerprinter, Repeat, Rules, Stored, Tier, Verdict};
    use crate::runs::{Catalog, Options};
    use crate::url::UrlId;
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
                others: None,
            };
            let verdict = self
                .index
                .judge::<Error>(&asked, |_: &Document| Ok(committed))
                .unwrap()
                .verdict;
            let (empty, runs) = &self.empty;
            let asked = Query {
                runs,
                pending: &self.pending,
                ..asked
            };
            let of_group = empty
                .judge::<Error>(&asked, |_: &Document| Ok(committed))
                .unwrap()
                .verdict;
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
    fn of_many_near_documents_the_nearest_are_considered() {
        let mut near = Nearest::default();
        for document in 0..100_000 {
            near.push(3 + (document % 7) as u32, document);
            near.push(3 + (document % 7) as u32, document);
        }
        near.push(1, 100_000);
        let documents: Vec<DocumentId> = near.into_documents().collect();
        assert_eq!(documents.len(), MOST_NEAR);
        assert_eq!(documents[..3], [100_000, 0, 7]);
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

    /// A page with a long passage of its own is far from its copy by SimHash.
    #[test]
    fn what_simhash_misses_is_found_by_bands_of_sketches() {
        let directory = tempfile::tempdir().unwrap();
        let rule = Rule {
            similarity: 0.8,
            ..Rule::default()
        };
        let mut world = World::of(directory.path(), Features::default(), Rules::new(rule, []));
        let mut far = 0;
        for turn in 0..20 {
            let passage = |name: &str, count: usize| {
                let words: Vec<_> = (0..count).map(|n| format!("{name}{turn}x{n}")).collect();
                words.join(" ")
            };
            let common = passage("common", 300);
            let id = world.next;
            let page = format!("{common} {}", passage("one", 20));
            check(&world.see(&page, &page, &page), None);
            if turn % 2 == 1 {
                world.catalog.checkpoint(id).unwrap();
                world.index.documents_mut().checkpoint().unwrap();
            }
            let copy = format!("{common} {}", passage("other", 20));
            let found = world.see(&copy, &copy, &copy);
            check(&found, Some((Tier::Near, id)));
            far += u32::from(matches!(found, Verdict::Duplicate(it) if it.distance > 10));
        }
        assert!(far > 0);
    }

    #[test]
    fn of_many_with_a_band_those_with_most_are_compared() {
        let found = vec![7, 3, 9, 3, 8, 9, 9];
        assert_eq!(most_frequent(found, 3).collect::<Vec<_>>(), [9, 3, 7]);
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
                .find_payload(&payload, 2, &world.catalog)
                .unwrap()
                .iter()
                .map(|document| document.id)
                .collect::<Vec<_>>()
        };
        assert_eq!(find([1; 32]), [1]);
        assert!(find([2; 32]).is_empty());
    }
}
