//! Short pages: their complete sets of word shingles, compared exactly.
//!
//! Under 50 words, a SimHash is coarse and a `MinHash` estimate rough, but the set is small enough
//! to keep. Sets are sorted by hash, which is a random order. Two sets with Jaccard similarity of
//! at least T share one of their first n - ceil(T n) + 1 elements (prefix filter: Chaudhuri, Ganti,
//! Kaushik, "A Primitive Operator for Similarity Joins", 2006), so only these are indexed.

/// Pages with fewer words are compared by their complete set of shingles.
pub(crate) const SHORT_WORDS: u32 = 50;

/// A set of shingles: the upper 32 bits of each, ascending, without repeats.
pub(crate) type Set = Box<[u32]>;

/// The set of some shingles.
pub(crate) fn set(shingles: &[u64]) -> Set {
    let mut set: Vec<u32> = shingles.iter().map(|hash| (hash >> 32) as u32).collect();
    set.sort_unstable();
    set.dedup();
    set.into()
}

/// The Jaccard similarity of two sets: the number of shared elements divided by that of all.
pub(crate) fn jaccard(a: &[u32], b: &[u32]) -> f64 {
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

/// The first elements of a set. Any set that reaches the threshold with it has one of them among
/// its own first elements.
pub(crate) fn prefix(set: &[u32], threshold: f64) -> &[u32] {
    // Slightly less than the product, so that rounding up cannot hide a set that just reaches the
    // threshold.
    let shared = (threshold * set.len() as f64 - 1e-9).ceil().max(1.0) as usize;
    let length = set.len() + 1 - shared.min(set.len());
    set.get(..length).unwrap_or(set)
}

#[cfg(test)]
mod tests {
    use super::*;

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
}
