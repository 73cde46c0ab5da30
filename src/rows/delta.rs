//! `Deltas`: what one commit added to runs and documents, until a checkpoint holds it.

use serde::{Deserialize, Serialize};

use crate::dedup::{Document, DocumentId, Posting};

/// What one commit added to runs and documents: the row in `Deltas`, replayed after a crash.
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
    /// Keys in this delta.
    pub fn keys(&self) -> usize {
        self.seen.len() + self.postings.len() + self.expired.len()
    }
}
