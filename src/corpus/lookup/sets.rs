//! Short documents in memory, found by the shingles they share. The keys of a document are the
//! first elements of its set (see `dedup/methods/short.rs`).

use std::collections::HashMap;
use std::hash::BuildHasherDefault;

use super::bands::Spread;
use crate::dedup::short::{Set, jaccard, prefix};

/// Documents with fewer words are found by their sets. At Jaccard 0.8, a document of 49 words
/// shares at most 45 / 0.8 shingles with a longer one.
pub(in crate::corpus) const KEPT_WORDS: u32 = 64;

/// Maximum number of sets considered per shingle, newest first. It bounds the cost of a notice that
/// a million pages begin with.
const CHAIN: usize = 256;

/// Marks the end of a chain.
const NONE: u32 = u32::MAX;

/// Sets, searchable by similarity.
#[derive(Debug)]
pub(in crate::corpus) struct Sets {
    threshold: f64,
    /// The newest entry of each shingle.
    newest: HashMap<u32, u32, BuildHasherDefault<Spread>>,
    /// The position of a set in `kept`, and the previous entry of the same shingle.
    entries: Vec<(u32, u32)>,
    /// The documents' numbers and sets.
    kept: Vec<(u32, Set)>,
}

impl Sets {
    /// An empty collection for searches at this threshold.
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

    /// The set of a document, if it has one.
    pub(in crate::corpus) fn of(&self, number: u32) -> Option<&Set> {
        let at = self
            .kept
            .binary_search_by_key(&number, |(it, _)| *it)
            .ok()?;
        self.kept.get(at).map(|(_, set)| set)
    }

    /// Appends the documents whose sets reach the threshold and their similarity, without repeats.
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
        /// The prefixes lead to exactly the sets that comparing with every set finds.
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
