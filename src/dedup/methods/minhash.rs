//! `MinHash` (Broder, "On the resemblance and containment of documents", 1997): the share of equal
//! minima of two sets of shingles, under many hash functions, estimates the sets' Jaccard
//! similarity.
//!
//! It is used in two forms: signatures of 128 values of 32 bits, found by their bands, and sketches
//! of 8 bits per value, small enough to keep beside every SimHash as a second witness. Pure
//! arithmetic.

use pulp::Arch;

use crate::dedup::text::shingle::{self, Shingle, mix};

/// Number of hash functions of a signature and of a sketch. The standard error of the estimate is
/// sqrt(J (1 - J) / 128): 3.5 % at J = 0.8.
pub const HASHES: usize = 128;

/// Number of values in the sketch of the text that a page is not judged by. It serves a veto, not a
/// measurement: its standard error is 8.8 % at J = 0.5.
pub(crate) const WHOLE_HASHES: usize = 32;

/// A signature: one minimum per hash function.
pub(crate) type MinHashSignature = [u32; HASHES];

/// A sketch: a signature cut to 8 bits per value.
pub(crate) type Sketch = [u8; HASHES];

/// The sketch of the text that a page is not judged by.
pub(crate) type WholeSketch = [u8; WHOLE_HASHES];

/// Number of values computed side by side. Their minima, factors and summands take four registers
/// of eight lanes each, and leave the rest of AVX2's sixteen registers free.
const TILE: usize = 32;

/// The functions `x * factor + summand` modulo 2^32. Their inputs are hashes, so each function
/// orders any set of them like a random permutation; it is one because its factor is odd.
#[derive(Debug)]
pub struct Permutations {
    /// The seed they were drawn from. Shingles are hashed with it too.
    seed: u64,
    factors: [u32; HASHES],
    summands: [u32; HASHES],
}

impl Permutations {
    /// Draws the functions from a seed.
    pub fn new(seed: u64) -> Self {
        let mut state = seed;
        let mut next = || {
            state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
            mix(state)
        };
        let mut permutations = Self {
            seed,
            factors: [0; HASHES],
            summands: [0; HASHES],
        };
        for (factor, summand) in permutations
            .factors
            .iter_mut()
            .zip(&mut permutations.summands)
        {
            let drawn = next();
            *factor = (drawn >> 32) as u32 | 1;
            *summand = drawn as u32;
        }
        permutations
    }

    /// One function's value of a shingle.
    #[cfg(test)]
    pub(super) fn value(&self, at: usize, shingle: u64) -> u32 {
        let low = (shingle >> 32) as u32;
        low.wrapping_mul(self.factors[at])
            .wrapping_add(self.summands[at])
    }

    /// The seed of the functions.
    pub(crate) fn seed(&self) -> u64 {
        self.seed
    }

    /// The minima of the first `N` functions over the shingles. `N` is a multiple of 32, at most
    /// 128. Without shingles, all bits of the result are set.
    pub(crate) fn minima<const N: usize>(&self, shingles: &[u64]) -> [u32; N] {
        let mut minima = [u32::MAX; N];
        Arch::new().dispatch(Minima {
            permutations: self,
            shingles,
            least: &mut minima,
        });
        minima
    }
}

/// The computation of minima, to be run with the widest vectors of the processor.
struct Minima<'a> {
    permutations: &'a Permutations,
    shingles: &'a [u64],
    least: &'a mut [u32],
}

impl pulp::NullaryFnOnce for Minima<'_> {
    type Output = ();

    #[inline(always)]
    #[expect(
        clippy::inline_always,
        reason = "it must be compiled into the dispatcher"
    )]
    fn call(self) {
        // This many shingles stay in the first-level cache while the tiles pass over them.
        let mut block = [0_u32; 1024];
        for shingles in self.shingles.chunks(block.len()) {
            for (low, shingle) in block.iter_mut().zip(shingles) {
                *low = (*shingle >> 32) as u32;
            }
            let block = &block[..shingles.len()];
            let tiles = self.least.chunks_exact_mut(TILE);
            let factors = self.permutations.factors.chunks_exact(TILE);
            let summands = self.permutations.summands.chunks_exact(TILE);
            for ((minima, factors), summands) in tiles.zip(factors).zip(summands) {
                tile(block, minima, factors, summands);
            }
        }
    }
}

#[inline(always)]
#[expect(
    clippy::inline_always,
    reason = "it must be compiled into the dispatcher"
)]
fn tile(shingles: &[u32], minima: &mut [u32], factors: &[u32], summands: &[u32]) {
    let (Ok(factors), Ok(summands)) = (
        <[u32; TILE]>::try_from(factors),
        <[u32; TILE]>::try_from(summands),
    ) else {
        return;
    };
    let mut least = [u32::MAX; TILE];
    for shingle in shingles {
        for lane in 0..TILE {
            let value = shingle
                .wrapping_mul(factors[lane])
                .wrapping_add(summands[lane]);
            least[lane] = least[lane].min(value);
        }
    }
    for (minimum, least) in minima.iter_mut().zip(least) {
        *minimum = (*minimum).min(least);
    }
}

/// The chance that unequal minima have equal bytes.
const CHANCE: f64 = 1.0 / 256.0;

/// The most by which the similarity of sketches falls short of the similarity of the signatures:
/// equal minima have equal bytes, but the expected share of chance matches is subtracted.
pub(crate) const SKETCH_SHORTFALL: f64 = CHANCE / (1.0 - CHANCE);

/// Cuts minima to bytes. Equal minima give equal bytes; unequal ones do so in one of 256 cases.
pub(crate) fn sketch<const N: usize>(minima: &[u32; N]) -> [u8; N] {
    minima.map(|minimum| (minimum.wrapping_mul(0x9e37_79b1) >> 24) as u8)
}

/// The similarity of two signatures, 0 to 1: the share of equal minima.
pub(crate) fn similarity(a: &MinHashSignature, b: &MinHashSignature) -> f64 {
    let equal: u8 = a.iter().zip(b).map(|(a, b)| u8::from(a == b)).sum();
    f64::from(equal) / HASHES as f64
}

/// The similarity of two sketches, 0 to 1: the share of equal bytes, corrected for chance.
pub(crate) fn sketch_similarity<const N: usize>(a: &[u8; N], b: &[u8; N]) -> f64 {
    const { assert!(N <= u8::MAX as usize) };
    // Summed in bytes, so that the compiler adds sixteen or more at a time.
    let equal: u8 = a.iter().zip(b).map(|(a, b)| u8::from(a == b)).sum();
    let share = f64::from(equal) / N as f64;
    ((share - CHANCE) / (1.0 - CHANCE)).max(0.0)
}

/// The standard error of an estimate by [`HASHES`] values.
pub(crate) fn standard_error(similarity: f64) -> f64 {
    (similarity * (1.0 - similarity) / HASHES as f64)
        .max(0.0)
        .sqrt()
}

/// The shingles of short sketches.
pub(crate) const WHOLE_SHINGLE: Shingle = Shingle::words(5);

/// The short sketch of a text with these words: the beginning of its sketch, if that is of the same
/// shingles.
pub(crate) fn whole_sketch(words: &[u64], permutations: &Permutations) -> WholeSketch {
    let shingles = shingle::hashes(words, WHOLE_SHINGLE.length, permutations.seed);
    sketch(&permutations.minima(&shingles))
}

/// The chance that bands find a pair. At similarity s, one band of `rows` values is equal with
/// probability s^r, and at least one of `bands` bands with 1 - (1 - s^r)^b.
pub fn found(similarity: f64, bands: u32, rows: u32) -> f64 {
    let all_miss = |one: f64| (1.0 - one).powf(f64::from(bands));
    1.0 - all_miss(similarity.powf(f64::from(rows)))
}

/// The bands and rows for a threshold: the most rows, and so the fewest candidates, with which
/// [`HASHES`] values still find 99.9 % of the pairs at the threshold.
pub fn bands_for(threshold: f64) -> (u32, u32) {
    let most = HASHES as u32;
    (1..=most)
        .rev()
        .map(|rows| (most / rows, rows))
        .find(|(bands, rows)| found(threshold, *bands, *rows) >= 0.999)
        .unwrap_or((most, 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two sets of `count` shingles each, `shared` of them common.
    fn sets(count: u64, shared: u64, salt: u64) -> (Vec<u64>, Vec<u64>) {
        let common = (0..shared).map(|n| mix(n ^ salt << 40));
        let own = |side: u64| (shared..count).map(move |n| mix(n ^ salt << 40 ^ side << 32));
        (
            common.clone().chain(own(1)).collect(),
            common.chain(own(2)).collect(),
        )
    }

    /// Mean and root mean square error of an estimate over many pairs of sets.
    fn errors(exact: f64, estimate: impl Fn(u64) -> f64) -> (f64, f64) {
        let estimates: Vec<f64> = (1..=300).map(estimate).collect();
        let count = estimates.len() as f64;
        let mean = estimates.iter().sum::<f64>() / count;
        let squares: f64 = estimates.iter().map(|it| (it - exact).powi(2)).sum();
        (mean, (squares / count).sqrt())
    }

    #[test]
    fn the_estimates_scatter_as_the_theory_says() {
        // 400 shingles each, 8/9 of them common: Jaccard 0.8.
        let exact: f64 = 0.8;
        let error = (exact * (1.0 - exact) / HASHES as f64).sqrt();
        let permutations = &Permutations::new(0);
        let minima = |salt| {
            let (a, b) = sets(450, 400, salt);
            (
                permutations.minima::<HASHES>(&a),
                permutations.minima::<HASHES>(&b),
            )
        };
        let (mean, scatter) = errors(exact, |salt| {
            let (a, b): (MinHashSignature, MinHashSignature) = minima(salt);
            let equal = a.iter().zip(&b).filter(|(a, b)| a == b).count();
            equal as f64 / HASHES as f64
        });
        assert!((mean - exact).abs() < 0.01, "{mean}");
        assert!((scatter / error - 1.0).abs() < 0.2, "{scatter} {error}");
        let (mean, scatter) = errors(exact, |salt| {
            let (a, b) = minima(salt);
            sketch_similarity(&sketch(&a), &sketch(&b))
        });
        assert!((mean - exact).abs() < 0.01, "{mean}");
        assert!((scatter / error - 1.0).abs() < 0.2, "{scatter} {error}");
    }

    #[test]
    fn a_minimum_is_a_minimum_however_many_shingles_there_are() {
        let permutations = Permutations::new(7);
        let (shingles, _) = sets(3_000, 3_000, 1);
        let found = permutations.minima::<HASHES>(&shingles);
        for (at, minimum) in found.iter().enumerate() {
            let expected = shingles
                .iter()
                .map(|shingle| {
                    ((shingle >> 32) as u32)
                        .wrapping_mul(permutations.factors[at])
                        .wrapping_add(permutations.summands[at])
                })
                .min();
            assert_eq!(Some(*minimum), expected);
        }
        let whole = permutations.minima::<WHOLE_HASHES>(&shingles);
        assert_eq!(whole, found[..WHOLE_HASHES]);
    }

    #[test]
    fn unlike_sets_show_no_similarity() {
        let permutations = &Permutations::new(0);
        let (a, b) = sets(500, 0, 1);
        let (a, b) = (
            permutations.minima::<HASHES>(&a),
            permutations.minima::<HASHES>(&b),
        );
        assert!(sketch_similarity(&sketch(&a), &sketch(&b)) < 0.05);
    }

    #[test]
    fn the_curve_has_the_values_that_the_formula_gives() {
        let check = |bands, rows, expected: f64| {
            let found = found(0.8, bands, rows);
            assert!((found - expected).abs() < 5e-4, "{bands} x {rows}: {found}");
        };
        check(16, 8, 0.947);
        check(8, 16, 0.204);
        check(32, 4, 1.0);
    }

    #[test]
    fn a_threshold_gets_bands_that_find_it() {
        assert_eq!(bands_for(0.8), (25, 5));
        assert_eq!(bands_for(0.9), (16, 8));
        assert_eq!(bands_for(0.01), (128, 1));
        assert_eq!(bands_for(1.0), (1, 128));
    }
}
