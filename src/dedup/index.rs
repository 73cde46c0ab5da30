//! The index: from a page's signatures to the original it repeats.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::exact::key_of;
use super::{
    Document, DocumentId, Documents, Error, Fingerprints, METHODS, Match, Method, Similarity,
    Verdict,
};
use crate::runs::Runs;
use crate::url::UrlId;

/// The name of the runs that lead from the digest of a stored payload to its document.
const PAYLOAD: &str = "payload";

/// Documents that are looked at for one key, the oldest ones: a notice that a million pages begin with
/// costs each of them a bounded time.
const SAME_KEY: usize = 256;

/// The names of all runs that deduplication keeps, in the order in which it is given them.
pub fn structures() -> Vec<&'static str> {
    let mut names = vec![PAYLOAD];
    for method in METHODS {
        names.extend(method.structures());
    }
    names
}

/// A key added to one of the runs: enough to add it again after a crash.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Posting {
    /// Position in [`structures`].
    pub structure: u8,
    /// The key.
    pub key: u64,
    /// The document.
    pub document: DocumentId,
}

/// Documents and the way to them. The runs are passed in: they belong to the committer's catalog,
/// which makes all of them durable at once.
#[derive(Debug)]
pub struct Index {
    documents: Documents,
}

impl Index {
    /// An index over `documents`.
    pub fn new(documents: Documents) -> Self {
        Self { documents }
    }

    /// The documents.
    pub fn documents(&self) -> &Documents {
        &self.documents
    }

    /// The documents, to be written at a checkpoint.
    pub fn documents_mut(&mut self) -> &mut Documents {
        &mut self.documents
    }

    /// Judges a page by all methods, cheapest first. An original counts only if `exists` says that
    /// its page is committed: a posting is a hint, and must never swallow content by itself.
    pub fn judge<E: From<Error>>(
        &self,
        page: UrlId,
        fingerprints: &Fingerprints,
        runs: &[Runs],
        mut exists: impl FnMut(&Document) -> Result<bool, E>,
    ) -> Result<Verdict, E> {
        for (at, method) in METHODS.into_iter().enumerate() {
            let best = self.best(at, method, page, fingerprints, runs, &mut exists)?;
            if let Some((found, original)) = best {
                return Ok(Verdict::Duplicate {
                    original,
                    kind: method.kind(),
                    distance: found.distance,
                    similarity: Similarity::of(found.similarity),
                });
            }
        }
        Ok(Verdict::Unique)
    }

    /// The closest original by one method; of equally close ones the oldest.
    fn best<E: From<Error>>(
        &self,
        at: usize,
        method: &dyn Method,
        page: UrlId,
        fingerprints: &Fingerprints,
        runs: &[Runs],
        exists: &mut impl FnMut(&Document) -> Result<bool, E>,
    ) -> Result<Option<(Match, Arc<Document>)>, E> {
        let Some(Some(signature)) = fingerprints.signatures.get(at) else {
            return Ok(None);
        };
        let mut keys = Vec::new();
        method.keys(signature, &mut keys);
        let mut candidates: Vec<DocumentId> = Vec::new();
        for key in &keys {
            if let Some(runs) = find_runs(runs, key.structure) {
                if key.low == key.high {
                    let pairs = runs.pairs(key.low, key.high).take(SAME_KEY);
                    candidates.extend(pairs.map(|(_, document)| document));
                    continue;
                }
                runs.range(key.low, key.high, &mut |found, document| {
                    if method.may_match(key, found) {
                        candidates.push(document);
                    }
                });
            }
        }
        candidates.sort_unstable();
        candidates.dedup();
        let mut best: Option<(Match, Arc<Document>)> = None;
        for id in candidates {
            // Most candidates of the near tier fail by their sketches: no need to read them whole.
            if let Some(witness) = self.documents.witness(id, method.kind())
                && method.verify(signature, &witness).is_none()
            {
                continue;
            }
            let Some(document) = self.documents.get(id)? else {
                continue;
            };
            let Some(Some(other)) = document.fingerprints.signatures.get(at) else {
                continue;
            };
            let Some(found) = method.verify(signature, other) else {
                continue;
            };
            let closer = best
                .as_ref()
                .is_none_or(|(best, _)| found.is_closer_than(best));
            let may_be_same = fingerprints.may_be_same(&document.fingerprints, method.kind());
            if closer && may_be_same && document.url_id != page && exists(&document)? {
                best = Some((found, document));
                if found == Match::EXACT {
                    break;
                }
            }
        }
        Ok(best)
    }

    /// The document whose stored payload has this digest.
    pub fn find_payload(
        &self,
        payload: &[u8; 32],
        runs: &[Runs],
    ) -> Result<Option<Arc<Document>>, Error> {
        let mut candidates = Vec::new();
        if let Some(runs) = find_runs(runs, PAYLOAD) {
            runs.find(key_of(payload), &mut candidates);
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

    /// Adds a document and posts its keys; the postings are to be kept with the commit.
    pub fn insert(&mut self, document: Arc<Document>, runs: &mut [Runs]) -> Vec<Posting> {
        let postings = postings(&document);
        for posting in &postings {
            self.post(posting, runs);
        }
        self.documents.insert(document);
        postings
    }

    /// Adds a posting again that a delta kept.
    pub fn post(&self, posting: &Posting, runs: &mut [Runs]) {
        if let Some(runs) = runs.get_mut(usize::from(posting.structure)) {
            runs.insert(posting.key, posting.document);
        }
    }
}

/// Every key under which a document is to be found.
pub fn postings(document: &Document) -> Vec<Posting> {
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
    for (method, signature) in METHODS.into_iter().zip(&document.fingerprints.signatures) {
        if let Some(signature) = signature {
            keys.clear();
            method.keys(signature, &mut keys);
            for key in keys.iter().filter(|key| key.is_posted) {
                post(key.structure, key.value);
            }
        }
    }
    postings
}

fn find_runs<'a>(runs: &'a [Runs], name: &str) -> Option<&'a Runs> {
    runs.iter().find(|runs| runs.name() == name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dedup::{Kind, Stored, Text};
    use crate::runs::{Catalog, Options};
    use std::path::Path;

    /// An index, its runs, and the next document's number.
    struct World {
        index: Index,
        catalog: Catalog,
        next: DocumentId,
    }

    impl World {
        fn new(directory: &Path) -> Self {
            let names: Vec<_> = structures()
                .into_iter()
                .map(|name| (name, Options::default()))
                .collect();
            let (catalog, _) = Catalog::open(&directory.join("runs"), &names).unwrap();
            let (documents, _) = Documents::open(&directory.join("documents"), 1 << 20, 0).unwrap();
            Self {
                index: Index::new(documents),
                catalog,
                next: 1,
            }
        }

        /// Judges a page; one that is unique becomes a document.
        fn see(&mut self, raw: &str, main: &str, visible: &str) -> Verdict {
            self.see_if(raw, main, visible, true)
        }

        fn see_if(&mut self, raw: &str, main: &str, visible: &str, committed: bool) -> Verdict {
            let fingerprints = Fingerprints::of(raw.as_bytes(), &Text::new(main, visible));
            let id = self.next;
            let page = UrlId::from_bytes([id as u8; 16]);
            let verdict = self
                .index
                .judge::<Error>(page, &fingerprints, &self.catalog, |_| Ok(committed))
                .unwrap();
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
                self.index.insert(Arc::new(document), &mut self.catalog);
            }
            verdict
        }
    }

    fn check(verdict: &Verdict, expected: Option<(Kind, DocumentId)>) {
        let found = match verdict {
            Verdict::Duplicate { kind, original, .. } => Some((*kind, original.id)),
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
        check(&world.see("<a>", &text, &page), Some((Kind::Raw, 1)));
        check(
            &world.see("<b>", &text, &page.to_uppercase()),
            Some((Kind::Normalized, 1)),
        );
        check(
            &world.see("<c>", &text, &format!("Other {text} menu")),
            Some((Kind::Content, 1)),
        );
        let edited = edited(&text);
        check(&world.see("<d>", &edited, &edited), Some((Kind::Near, 1)));
        check(&world.see("<e>", &article(5), &article(5)), None);
        world.catalog.checkpoint(1).unwrap();
        world.index.documents_mut().checkpoint().unwrap();
        check(&world.see("<a>", &text, &page), Some((Kind::Raw, 1)));
        check(
            &world.see("<f>", &article(5), &article(5)),
            Some((Kind::Normalized, 2)),
        );
        // Now by the witness column.
        check(&world.see("<g>", &edited, &edited), Some((Kind::Near, 1)));
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
            Some((Kind::Content, 2)),
        );
    }

    #[test]
    fn a_posting_whose_page_is_not_committed_convicts_nobody() {
        let directory = tempfile::tempdir().unwrap();
        let mut world = World::new(directory.path());
        check(&world.see("<a>", "", ""), None);
        check(&world.see_if("<a>", "", "", false), None);
        check(&world.see("<a>", "", ""), Some((Kind::Raw, 1)));
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
