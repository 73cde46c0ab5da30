//! The likelihood that a block is content: the sum of the decision trees of `model_trees.rs`.
//!
//! Every tree asks the same five questions of all blocks, so that it is a loop over columns without
//! a branch. Sums are integers: the same block gets the same answer everywhere.

use super::features::{Columns, LANES, NAMES, Table};
use super::model_trees::{LIKELIHOODS, START, TREES};

/// The factor of log odds.
const SCALE: i32 = 1024;

/// The likelihood that means certainty.
pub(super) const CERTAIN: u32 = 10_000;

/// The likelihood that each block is content, in units of 1/[`CERTAIN`].
pub(super) fn likelihoods(table: &Table) -> Vec<u32> {
    let mut odds = vec![[START; LANES]; table.parts.len()];
    if !shuffled::add_odds(&table.parts, &mut odds) {
        add_odds(&table.parts, &mut odds);
    }
    let odds = odds.into_iter().flatten().take(table.rows);
    odds.map(likelihood).collect()
}

/// Adds what all trees answer.
fn add_odds(parts: &[Columns], odds: &mut [[i32; LANES]]) {
    for (columns, odds) in parts.iter().zip(odds) {
        for tree in &TREES {
            let mut answers = [0_i16; LANES];
            for (bit, (feature, border)) in tree.questions.iter().enumerate() {
                for (answer, value) in answers.iter_mut().zip(&columns[usize::from(*feature)]) {
                    *answer |= i16::from(value > border) << bit;
                }
            }
            for (odds, answer) in odds.iter_mut().zip(answers) {
                *odds += i32::from(tree.leaves[answer as usize % tree.leaves.len()]);
            }
        }
    }
}

/// The same by instructions that look up sixteen leaves at once.
#[cfg(target_arch = "x86_64")]
mod shuffled {
    use std::arch::x86_64::{__m128i, __m256i, __m512i};

    use pulp::cast;
    use pulp::x86::{V3, V4};

    use super::{Columns, LANES, TREES};
    use crate::page::content::model_trees::Tree;

    /// Adds what all trees answer to the odds of each block. Returns `false` if the processor has
    /// no such instructions.
    pub(super) fn add_odds(parts: &[Columns], odds: &mut [[i32; LANES]]) -> bool {
        if let Some(simd) = V4::try_new() {
            simd.vectorize(Adding { simd, parts, odds });
        } else if let Some(simd) = V3::try_new() {
            simd.vectorize(Adding { simd, parts, odds });
        } else {
            return false;
        }
        true
    }

    /// The addition with some instructions.
    pub(super) struct Adding<'a, S> {
        pub(super) simd: S,
        pub(super) parts: &'a [Columns],
        pub(super) odds: &'a mut [[i32; LANES]],
    }

    /// What a tree's questions are answered of each block: the index of a leaf.
    #[inline(always)]
    #[expect(
        clippy::inline_always,
        reason = "it must be compiled into the dispatcher"
    )]
    fn answers(simd: V3, tree: &Tree, columns: &Columns) -> __m256i {
        let V3 { avx, avx2, .. } = simd;
        let mut answers = avx._mm256_setzero_si256();
        for (bit, (feature, border)) in tree.questions.iter().enumerate() {
            let column: __m256i = cast(columns[usize::from(*feature)]);
            let is_above = avx2._mm256_cmpgt_epi16(column, avx._mm256_set1_epi16(*border));
            let answer = avx2._mm256_and_si256(is_above, avx._mm256_set1_epi16(1 << bit));
            answers = avx2._mm256_or_si256(answers, answer);
        }
        answers
    }

    /// With AVX-512, one instruction takes sixteen of 32 leaves.
    impl pulp::NullaryFnOnce for Adding<'_, V4> {
        type Output = ();

        #[inline(always)]
        #[expect(
            clippy::inline_always,
            reason = "it must be compiled into the dispatcher"
        )]
        fn call(self) {
            let V4 {
                avx512f, avx512bw, ..
            } = self.simd;
            for (columns, odds) in self.parts.iter().zip(self.odds) {
                let mut sums: __m512i = cast(*odds);
                for tree in &TREES {
                    let answers = answers(*self.simd, tree, columns);
                    let [first, last]: [__m256i; 2] = cast(tree.leaves);
                    let found = avx512bw._mm256_permutex2var_epi16(first, answers, last);
                    sums = avx512f._mm512_add_epi32(sums, avx512f._mm512_cvtepi16_epi32(found));
                }
                *odds = cast(sums);
            }
        }
    }

    /// For each tree the lower bytes of its first and last 16 leaves, and the upper bytes of both.
    static LEAVES: [[[u8; 16]; 4]; TREES.len()] = {
        let mut all = [[[0; 16]; 4]; TREES.len()];
        let mut tree = 0;
        while tree < TREES.len() {
            let mut at = 0;
            while at < TREES[tree].leaves.len() {
                let [lower, upper] = TREES[tree].leaves[at].to_le_bytes();
                all[tree][at / 16][at % 16] = lower;
                all[tree][2 + at / 16][at % 16] = upper;
                at += 1;
            }
            tree += 1;
        }
        all
    };

    /// With AVX2, one instruction takes a byte of sixteen of 16 leaves.
    impl pulp::NullaryFnOnce for Adding<'_, V3> {
        type Output = ();

        #[inline(always)]
        #[expect(
            clippy::inline_always,
            reason = "it must be compiled into the dispatcher"
        )]
        fn call(self) {
            let V3 {
                sse2,
                ssse3,
                sse4_1,
                avx2,
                ..
            } = self.simd;
            for (columns, odds) in self.parts.iter().zip(self.odds) {
                let mut sums: [__m256i; 2] = cast(*odds);
                for (tree, leaves) in TREES.iter().zip(&LEAVES) {
                    let answers = answers(self.simd, tree, columns);
                    // One byte for each block, whose fifth bit says which half of the leaves.
                    let [first, last]: [__m128i; 2] = cast(answers);
                    let answers = sse2._mm_packs_epi16(first, last);
                    let half = sse2._mm_slli_epi16::<3>(answers);
                    let look_up = |first: [u8; 16], last: [u8; 16]| {
                        let first = ssse3._mm_shuffle_epi8(cast(first), answers);
                        let last = ssse3._mm_shuffle_epi8(cast(last), answers);
                        sse4_1._mm_blendv_epi8(first, last, half)
                    };
                    let lower = look_up(leaves[0], leaves[1]);
                    let upper = look_up(leaves[2], leaves[3]);
                    let found = [
                        sse2._mm_unpacklo_epi8(lower, upper),
                        sse2._mm_unpackhi_epi8(lower, upper),
                    ];
                    for (sum, found) in sums.iter_mut().zip(found) {
                        *sum = avx2._mm256_add_epi32(*sum, avx2._mm256_cvtepi16_epi32(found));
                    }
                }
                *odds = cast(sums);
            }
        }
    }
}

#[cfg(not(target_arch = "x86_64"))]
mod shuffled {
    use super::{Columns, LANES};

    pub(super) fn add_odds(_: &[Columns], _: &mut [[i32; LANES]]) -> bool {
        false
    }
}

/// The logistic function, interpolated linearly between tabulated values.
fn likelihood(odds: i32) -> u32 {
    const STEP: u32 = SCALE as u32 / 4;
    let size = odds.unsigned_abs();
    let place = (size / STEP) as usize;
    let certain = match (LIKELIHOODS.get(place), LIKELIHOODS.get(place + 1)) {
        (Some(&low), Some(&high)) => low + (high - low) * (size % STEP) / STEP,
        _ => CERTAIN,
    };
    if odds < 0 { CERTAIN - certain } else { certain }
}

// Features are numbered by a byte.
const _: () = assert!(NAMES.len() <= 256);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn likelihoods_rise_with_the_odds_and_are_half_at_none() {
        assert_eq!(likelihood(0), CERTAIN / 2);
        let rising: Vec<_> = (-12_000..12_000).step_by(50).map(likelihood).collect();
        assert!(rising.is_sorted());
        assert_eq!((rising[0], rising[rising.len() - 1]), (0, CERTAIN));
    }

    #[test]
    fn however_odds_are_added_they_are_the_same() {
        let mut state = 1_u32;
        let mut value = |range: u32| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (state >> 8) % range
        };
        for rows in [1, 16, 17, 40] {
            let mut parts: Vec<Columns> = vec![[[0; LANES]; NAMES.len()]; 3];
            for place in parts.iter_mut().flatten().flatten() {
                *place = (value(2_400) as i16 - 1_200) / (1 + value(40) as i16);
            }
            let start = vec![[START; LANES]; parts.len()];
            let mut expected = start.clone();
            add_odds(&parts, &mut expected);
            #[cfg(target_arch = "x86_64")]
            {
                use pulp::x86::{V3, V4};

                let (mut by_v3, mut by_v4) = (start.clone(), start);
                if let Some(simd) = V3::try_new() {
                    let (parts, odds) = (&parts[..], &mut by_v3[..]);
                    simd.vectorize(shuffled::Adding { simd, parts, odds });
                    assert_eq!(by_v3, expected);
                }
                if let Some(simd) = V4::try_new() {
                    let (parts, odds) = (&parts[..], &mut by_v4[..]);
                    simd.vectorize(shuffled::Adding { simd, parts, odds });
                    assert_eq!(by_v4, expected);
                }
            }
            let expected: Vec<u32> = expected.into_iter().flatten().map(likelihood).collect();
            let found = likelihoods(&Table { rows, parts });
            assert_eq!(found, expected[..rows], "{rows}");
        }
    }

    #[test]
    fn the_trees_ask_of_features_that_there_are() {
        let mut features = TREES.iter().flat_map(|tree| tree.questions);
        assert!(features.all(|(feature, _)| usize::from(feature) < NAMES.len()));
    }
}
