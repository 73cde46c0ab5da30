//! Look-ups that every visit needs and the store does not answer fast enough: which URLs were seen,
//! and which documents are like a page.
//!
//! All of this can be derived from the store. It changes in one way only, by a [`Delta`]: after the
//! commit that wrote it, or at a start that replays it.

use std::sync::Arc;

use crate::dedup::Index;
use crate::frontier::SeenSet;
use crate::rows::Delta;
use crate::runs::{Catalog, Runs};
use crate::url::UrlId;

/// Index of the runs of URLs seen in the catalog; those of deduplication follow.
pub(in crate::engine) const SEEN_RUNS: usize = 0;
/// Index of the first of deduplication's runs.
pub(in crate::engine) const DEDUP_RUNS: usize = 1;

/// URLs seen, documents, and the keys that lead to them.
pub(in crate::engine) struct Lookups {
    pub(in crate::engine) catalog: Catalog,
    pub(in crate::engine) seen: SeenSet,
    pub(in crate::engine) index: Index,
}

impl Lookups {
    /// Returns `true` if a URL is committed as admitted.
    pub(in crate::engine) fn is_seen(&mut self, id: UrlId) -> bool {
        self.seen.contains(id, &self.catalog[SEEN_RUNS])
    }

    /// Returns the runs in which deduplication looks up documents.
    pub(in crate::engine) fn dedup_runs(&self) -> &[Runs] {
        &self.catalog[DEDUP_RUNS..]
    }

    /// Adds the URLs of a delta.
    pub(in crate::engine) fn see(&mut self, delta: &Delta) {
        for key in &delta.seen {
            self.seen.restore(*key, &mut self.catalog[SEEN_RUNS]);
        }
    }

    /// Applies what a commit changed. Applying it twice changes nothing.
    pub(in crate::engine) fn apply(&mut self, delta: Delta) {
        self.see(&delta);
        for posting in &delta.postings {
            self.index.post(posting, &mut self.catalog[DEDUP_RUNS..]);
        }
        for document in delta.documents {
            self.index.documents_mut().insert(Arc::new(document));
        }
        for id in delta.expired {
            self.index.documents_mut().remove(id);
        }
    }
}
