//! Documents that are judged and not committed yet: pages of one group are compared through these.
//!
//! The index changes only after a commit. Until then the documents of a group, and the keys that
//! lead to them, are here, and the index asks them beside its runs.

use std::sync::Arc;

use super::{Document, DocumentId, Features, Fingerprints, Posting, postings};

/// Documents of one group, in the order of their numbers, and their postings.
#[derive(Debug, Default)]
pub struct Pending {
    documents: Vec<Arc<Document>>,
    postings: Vec<Posting>,
}

impl Pending {
    /// Adds a document; its number is higher than those before.
    pub fn add(&mut self, document: Document, features: &Features) {
        self.postings.extend(postings(&document, features));
        self.documents.push(Arc::new(document));
    }

    /// A document of the group by its number.
    pub fn get(&self, id: DocumentId) -> Option<&Arc<Document>> {
        let at = self.documents.binary_search_by_key(&id, |it| it.id).ok()?;
        self.documents.get(at)
    }

    /// All documents, to be completed once their records are stored.
    pub fn documents_mut(&mut self) -> impl Iterator<Item = &mut Document> {
        self.documents.iter_mut().map(Arc::make_mut)
    }

    /// The document whose stored payload has this digest.
    pub fn find_payload(&self, payload: &[u8; 32]) -> Option<&Arc<Document>> {
        self.documents.iter().find(|it| it.payload == *payload)
    }

    /// Takes a document's fingerprints, so that nothing repeats it; false if it is not of the
    /// group.
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

    /// Documents with a key of one structure for which `is_wanted` holds, the oldest first.
    pub(super) fn find(
        &self,
        structure: usize,
        is_wanted: impl Fn(u64) -> bool,
    ) -> impl Iterator<Item = DocumentId> {
        self.postings
            .iter()
            .filter(move |it| usize::from(it.structure) == structure && is_wanted(it.key))
            .map(|it| it.document)
    }
}
