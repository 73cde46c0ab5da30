//! Pending documents: judged, but not committed yet.
//!
//! The index changes only after a commit. Until then, the documents of a group and their postings
//! are here, and the index searches them besides its runs, so that pages of one group are compared
//! too.

use std::sync::Arc;

use super::{Document, DocumentId, Features, Fingerprints, Posting, postings};

/// The documents of a group, by ascending number, and their postings.
#[derive(Debug, Default)]
pub struct Pending {
    documents: Vec<Arc<Document>>,
    postings: Vec<Posting>,
}

impl Pending {
    /// No documents.
    pub(super) const NONE: &Self = &Self {
        documents: Vec::new(),
        postings: Vec::new(),
    };

    /// Adds a document. Its number must be higher than all before.
    pub fn add(&mut self, document: Document, features: &Features) {
        self.postings.extend(postings(&document, features));
        self.documents.push(Arc::new(document));
    }

    /// The document with a number, if it belongs to the group.
    pub fn get(&self, id: DocumentId) -> Option<&Arc<Document>> {
        let at = self.documents.binary_search_by_key(&id, |it| it.id).ok()?;
        self.documents.get(at)
    }

    /// All documents, to be completed when their records are stored.
    pub fn documents_mut(&mut self) -> impl Iterator<Item = &mut Document> {
        self.documents.iter_mut().map(Arc::make_mut)
    }

    /// All documents.
    pub fn documents(&self) -> impl Iterator<Item = &Document> {
        self.documents.iter().map(|it| &**it)
    }

    /// The documents whose stored payload has this SHA-256.
    pub fn find_payload(&self, payload: &[u8; 32]) -> impl Iterator<Item = &Arc<Document>> {
        self.documents.iter().filter(|it| it.payload == *payload)
    }

    /// Clears a document's fingerprints, so that nothing repeats it. Returns false if it does not
    /// belong to the group.
    pub fn withdraw(&mut self, id: DocumentId) -> bool {
        let Ok(at) = self.documents.binary_search_by_key(&id, |it| it.id) else {
            return false;
        };
        Arc::make_mut(&mut self.documents[at]).fingerprints = Fingerprints::default();
        true
    }

    /// The documents and their postings, to be written with the commit.
    pub fn into_parts(self) -> (Vec<Document>, Vec<Posting>) {
        let documents = self.documents.into_iter().map(Arc::unwrap_or_clone);
        (documents.collect(), self.postings)
    }

    /// The keys of one structure that `is_wanted` accepts, each with its document, oldest first.
    pub(super) fn find(
        &self,
        structure: usize,
        is_wanted: impl Fn(u64) -> bool,
    ) -> impl Iterator<Item = (u64, DocumentId)> {
        self.postings
            .iter()
            .filter(move |it| usize::from(it.structure) == structure && is_wanted(it.key))
            .map(|it| (it.key, it.document))
    }
}
