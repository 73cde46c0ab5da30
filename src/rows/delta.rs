//! `Deltas`: what a commit added to runs and documents, until a checkpoint covers it.

use serde::{Deserialize, Serialize};

use crate::dedup::{Document, DocumentId, Posting};

/// What one commit added to runs and documents: a row in `Deltas`, replayed after a crash.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Delta {
    /// Keys of URLs seen.
    pub seen: Vec<u64>,
    /// Keys of documents.
    pub postings: Vec<Posting>,
    /// Documents.
    pub documents: Vec<Document>,
    /// Documents that expired.
    pub expired: Vec<DocumentId>,
}

impl Delta {
    /// Returns the number of keys in the delta.
    pub fn keys(&self) -> usize {
        self.seen.len() + self.postings.len() + self.expired.len()
    }
}
