//! Short pages: their sets of word shingles, whole, compared exactly.
//!
//! Under 50 words a SimHash is coarse and a `MinHash` estimate rough, but the set itself is small
//! enough to keep. Every set is sorted by hash, which is the same as at random; two sets with Jaccard
//! similarity at least T share one of their first n - ceil(T n) + 1 elements (prefix filter:
//! Chaudhuri, Ganti, Kaushik, "A Primitive Operator for Similarity Joins", 2006), so only these are
//! indexed.

use std::collections::HashMap;
use std::hash::BuildHasherDefault;

use super::bands::Spread;

/// Pages with fewer words are judged by their whole set of shingles.
pub(super) const SHORT_WORDS: u32 = 50;

/// Pages with fewer words are to be found by such sets: at Jaccard 0.8 a page of 49 words has at most
/// 45 / 0.8 shingles in common with a longer one.
pub(super) const KEPT_WORDS: u32 = 64;

/// Sets that are looked at for one shingle, the newest ones: a notice that a million pages begin with
/// costs each of them a bounded time.
const CHAIN: usize = 256;

/// No entry.
const NONE: u32 = u32::MAX;

/// Distinct shingles, ascending.
pub(super) type Set = Box<[u32]>;

/// The set of these shingles.
pub(super) fn set(shingles: &[u64]) -> Set {
    let mut set: Vec<u32> = shingles.iter().map(|hash| (hash >> 32) as u32).collect();
    set.sort_unstable();
    set.dedup();
    set.into()
}

/// The Jaccard similarity of two sets: shared elements divided by all.
pub(super) fn jaccard(a: &[u32], b: &[u32]) -> f64 {
    let (mut at_a, mut at_b, mut shared) = (0, 0, 0_usize);
    while let (Some(one), Some(other)) = (a.get(at_a), b.get(at_b)) {
        shared += usize::from(one == other);
        at_a += usize::from(one <= other);
        at_b += usize::from(other <= one);
    }
    match a.len() + b.len() - shared {
        0 => 1.0,
        all => shared as f64 / all as f64,
    }
}

/// Sets to be found by similarity.
#[derive(Debug)]
pub(super) struct Sets {
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
    pub(super) fn new(threshold: f64) -> Self {
        Self {
            threshold,
            newest: HashMap::default(),
            entries: Vec::new(),
            kept: Vec::new(),
        }
    }

    /// Adds the set of a document.
    pub(super) fn insert(&mut self, set: Set, number: u32) {
        let at = self.kept.len() as u32;
        for shingle in prefix(set.as_ref(), self.threshold) {
            let entry = self.entries.len() as u32;
            let before = self.newest.insert(*shingle, entry).unwrap_or(NONE);
            self.entries.push((at, before));
        }
        self.kept.push((number, set));
    }

    /// Appends the documents whose sets reach the threshold, with their similarity, each once.
    pub(super) fn find(&self, set: &[u32], found: &mut Vec<(u32, f64)>) {
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

/// The first elements of a set, of which any set that reaches the threshold has at least one among its
/// own first.
pub(super) fn prefix(set: &[u32], threshold: f64) -> &[u32] {
    // A little less than the product, lest rounding up hide a set that just reaches it.
    let shared = (threshold * set.len() as f64 - 1e-9).ceil().max(1.0) as usize;
    let length = set.len() + 1 - shared.min(set.len());
    set.get(..length).unwrap_or(set)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn jaccard_is_what_is_shared_of_all() {
        let check = |a: &[u32], b: &[u32], expected: f64| {
            assert!((jaccard(a, b) - expected).abs() < 1e-12);
        };
        check(&[1, 2, 3, 4], &[2, 3, 4, 5], 0.6);
        check(&[1], &[2], 0.0);
        check(&[], &[], 1.0);
        check(&[1, 9], &[1, 9], 1.0);
    }

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
