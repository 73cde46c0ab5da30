//! Look-ups that every visit needs and the store does not answer fast enough: which URLs were seen,
//! and which documents are like a page.
//!
//! All of this can be derived from the store. It changes in one way only, by a [`Delta`]: after the
//! commit that wrote it, or at a start that replays it.

use std::sync::Arc;

use crate::dedup::Index;
use crate::engine::learned::template::Templates;
use crate::frontier::SeenSet;
use crate::rows::Delta;
use crate::runs::{Catalog, Runs};
use crate::url::UrlId;

/// Index of the runs of URLs seen in the catalog; those of deduplication follow.
pub(crate) const SEEN_RUNS: usize = 0;
/// Index of the first of deduplication's runs.
pub(crate) const DEDUP_RUNS: usize = 1;

/// URLs seen, documents, and the keys that lead to them.
pub(crate) struct Lookups {
    pub(crate) catalog: Catalog,
    pub(crate) seen: SeenSet,
    pub(crate) index: Index,
    /// Templates of sites. They are read from their rows and written with each commit, so that no
    /// delta has them.
    pub(crate) templates: Templates,
}

impl Lookups {
    /// Returns `true` if a URL is committed as admitted.
    pub(crate) fn is_seen(&mut self, id: UrlId) -> bool {
        self.seen.contains(id, &self.catalog[SEEN_RUNS])
    }

    /// Returns the runs in which deduplication looks up documents.
    pub(crate) fn dedup_runs(&self) -> &[Runs] {
        &self.catalog[DEDUP_RUNS..]
    }

    /// Applies what a commit changed. Applying it twice changes nothing.
    pub(crate) fn apply(&mut self, delta: Delta) {
        for key in delta.seen {
            self.seen.restore(key, &mut self.catalog[SEEN_RUNS]);
        }
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
