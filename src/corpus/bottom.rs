//! Bottom sketches: the 128 lowest shingle hashes of a text, a sample of its set without
//! replacement (Broder 1997, section 4; Beyer et al., "On Synopses for Distinct-Value Estimation
//! Under Multiset Operations", 2007).
//!
//! They cannot be found by bands like `MinHash` signatures, but they measure better. Where both
//! samples cover their sets, they are exact, so texts of up to 128 distinct shingles are compared
//! exactly. With f distinct shingles in the union, the variance is smaller by the factor of about 1
//! - 128 / f.

use serde::{Deserialize, Serialize};

use crate::dedup::minhash::{self, HASHES, Sketch};

/// Number of hashes in a sketch.
const SIZE: usize = 128;

/// The lowest distinct hashes of a set, ascending: 128, or all of them if there are fewer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Bottom(Box<[u32]>);

impl Bottom {
    /// The sketch of a text with these shingles.
    pub(super) fn of(shingles: &[u64]) -> Self {
        let hashes = shingles.iter().map(|hash| (hash >> 32) as u32);
        // If hashes are uniform, so many are below this bound that few texts repeat themselves
        // enough to have fewer than 128 distinct ones among them.
        let bound = (4 * SIZE as u64) << 32;
        let bound = u32::try_from(bound / (shingles.len() as u64).max(1)).unwrap_or(u32::MAX);
        let mut least: Vec<u32> = hashes.clone().filter(|hash| *hash <= bound).collect();
        least.sort_unstable();
        least.dedup();
        if least.len() < SIZE && bound < u32::MAX {
            least = hashes.collect();
            least.sort_unstable();
            least.dedup();
        }
        least.truncate(SIZE);
        Self(least.into())
    }

    /// The highest hash up to which the sketch has the whole set.
    fn covers(&self) -> u32 {
        match self.0.last() {
            Some(last) if self.0.len() == SIZE => *last,
            _ => u32::MAX,
        }
    }
}

/// The similarity that the sketches of two texts show together, 0 to 1.
///
/// It combines the share of common hashes among those that both bottom sketches cover with the
/// share of equal `MinHash` bytes, each weighted by the inverse of its variance. The two errors are
/// independent, so the standard error at J = 0.8 is 2.5 % for long texts, less for shorter ones,
/// and 0 if both sets are covered completely.
pub(super) fn similarity(a: (&Bottom, &Sketch), b: (&Bottom, &Sketch)) -> f64 {
    let bound = a.0.covers().min(b.0.covers());
    let within = |bottom: &Bottom| bottom.0.partition_point(|hash| *hash <= bound);
    let (own, other) = (&a.0.0[..within(a.0)], &b.0.0[..within(b.0)]);
    let (mut at_own, mut at_other, mut shared) = (0, 0, 0_usize);
    while let (Some(one), Some(two)) = (own.get(at_own), other.get(at_other)) {
        shared += usize::from(one == two);
        at_own += usize::from(one <= two);
        at_other += usize::from(two <= one);
    }
    let all = own.len() + other.len() - shared;
    if all == 0 {
        return minhash::sketch_similarity(a.1, b.1);
    }
    let sampled = shared as f64 / all as f64;
    if bound == u32::MAX {
        return sampled;
    }
    // The uncovered part of the sets, which makes this a sample.
    let unseen = 1.0 - f64::from(bound) / f64::from(u32::MAX);
    let (precision, sketch_precision) = (all as f64 / unseen.max(1e-9), HASHES as f64);
    let sketched = minhash::sketch_similarity(a.1, b.1);
    (sampled * precision + sketched * sketch_precision) / (precision + sketch_precision)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dedup::minhash::Permutations;
    use crate::dedup::shingle::mix;
    use std::collections::BTreeSet;

    /// Both sketches of two texts with `own` shingles each and `shared` common ones.
    fn pair(shared: u64, own: u64, salt: u64) -> [(Bottom, Sketch); 2] {
        let permutations = Permutations::new(0);
        [1, 2].map(|side| {
            let common = (0..shared).map(|n| mix(n ^ salt << 40));
            let own = (0..own).map(|n| mix(n ^ salt << 40 ^ side << 32));
            let shingles: Vec<u64> = common.chain(own).collect();
            let sketch = minhash::sketch(&permutations.minima::<HASHES>(&shingles));
            (Bottom::of(&shingles), sketch)
        })
    }

    fn check(shared: u64, own: u64, most_error: f64) {
        let exact = shared as f64 / (shared + 2 * own) as f64;
        let errors: Vec<f64> = (1..=200)
            .map(|salt| {
                let [a, b] = pair(shared, own, salt);
                similarity((&a.0, &a.1), (&b.0, &b.1)) - exact
            })
            .collect();
        let count = errors.len() as f64;
        let mean = errors.iter().sum::<f64>() / count;
        let scatter = (errors.iter().map(|error| error * error).sum::<f64>() / count).sqrt();
        assert!(mean.abs() < 0.01, "{mean}");
        assert!(scatter <= most_error, "{scatter}");
    }

    #[test]
    fn the_error_is_that_of_two_samples_and_none_for_short_texts() {
        check(80, 10, 1e-12);
        check(200, 25, 0.022);
        check(8_000, 1_000, 0.03);
    }

    #[test]
    fn a_text_that_repeats_itself_is_sampled_all_the_same() {
        let shingles: Vec<u64> = (0..100_000_u64).map(|n| mix(n % 300)).collect();
        let expected: BTreeSet<u32> = shingles.iter().map(|hash| (hash >> 32) as u32).collect();
        let expected: Vec<u32> = expected.into_iter().take(SIZE).collect();
        assert_eq!(Bottom::of(&shingles).0[..], expected[..]);
    }

    #[test]
    fn no_shingles_are_like_no_shingles() {
        let [a, b] = pair(0, 0, 1);
        assert_eq!(a.0, b.0);
        let found = similarity((&a.0, &a.1), (&b.0, &b.1));
        assert!((found - 1.0).abs() < 1e-12);
    }
}
