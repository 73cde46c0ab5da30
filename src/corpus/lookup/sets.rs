//! Short documents in memory, to be found by the shingles that they share: the sets of `short.rs`
//! in `dedup`, and the first shingles of each as keys.

use std::collections::HashMap;
use std::hash::BuildHasherDefault;

use super::bands::Spread;
use crate::dedup::short::{Set, jaccard, prefix};

/// Pages with fewer words are to be found by such sets: at Jaccard 0.8 a page of 49 words has at
/// most 45 / 0.8 shingles in common with a longer one.
pub(in crate::corpus) const KEPT_WORDS: u32 = 64;

/// Sets that are looked at for one shingle, the newest ones: a notice that a million pages begin
/// with costs each of them a bounded time.
const CHAIN: usize = 256;

/// No entry.
const NONE: u32 = u32::MAX;

/// Sets to be found by similarity.
#[derive(Debug)]
pub(in crate::corpus) struct Sets {
    threshold: f64,
    /// Newest entry by shingle.
    newest: HashMap<u32, u32, BuildHasherDefault<Spread>>,
    /// A set's position, and the entry before it with the same shingle.
    entries: Vec<(u32, u32)>,
    /// Documents and their sets.
    kept: Vec<(u32, Set)>,
}

impl Sets {
    /// No sets yet.
    pub(in crate::corpus) fn new(threshold: f64) -> Self {
        Self {
            threshold,
            newest: HashMap::default(),
            entries: Vec::new(),
            kept: Vec::new(),
        }
    }

    /// Adds the set of a document.
    pub(in crate::corpus) fn insert(&mut self, set: Set, number: u32) {
        let at = self.kept.len() as u32;
        for shingle in prefix(set.as_ref(), self.threshold) {
            let entry = self.entries.len() as u32;
            let before = self.newest.insert(*shingle, entry).unwrap_or(NONE);
            self.entries.push((at, before));
        }
        self.kept.push((number, set));
    }

    /// Appends the documents whose sets reach the threshold, with their similarity, each once.
    pub(in crate::corpus) fn find(&self, set: &[u32], found: &mut Vec<(u32, f64)>) {
        let mut candidates = Vec::new();
        for shingle in prefix(set, self.threshold) {
            let mut next = self.newest.get(shingle).copied().unwrap_or(NONE);
            for _ in 0..CHAIN {
                let Some((at, before)) = self.entries.get(next as usize) else {
                    break;
                };
                candidates.push(*at);
                next = *before;
            }
        }
        candidates.sort_unstable();
        candidates.dedup();
        for at in candidates {
            if let Some((number, other)) = self.kept.get(at as usize) {
                let similarity = jaccard(set, other);
                if similarity >= self.threshold {
                    found.push((*number, similarity));
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// The prefixes lead to exactly what comparing with every set finds.
        #[test]
        fn every_similar_set_is_found(
            sets in prop::collection::vec(prop::collection::btree_set(0..14_u32, 1..12), 1..20),
            percent in 50..=100_u32,
        ) {
            let threshold = f64::from(percent) / 100.0;
            let sets: Vec<Set> = sets.into_iter().map(|set| set.into_iter().collect()).collect();
            let mut index = Sets::new(threshold);
            for (number, set) in sets.iter().enumerate() {
                let mut found = Vec::new();
                index.find(set, &mut found);
                found.sort_by_key(|(number, _)| *number);
                let expected: Vec<_> = sets[..number]
                    .iter()
                    .enumerate()
                    .map(|(at, other)| (at as u32, jaccard(set, other)))
                    .filter(|(_, similarity)| *similarity >= threshold)
                    .collect();
                prop_assert_eq!(found, expected);
                index.insert(set.clone(), number as u32);
            }
        }
    }
}
