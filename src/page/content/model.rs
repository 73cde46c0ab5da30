//! The likelihood that a block is content: the sum of the decision trees of `model_trees.rs`.
//!
//! Every tree asks the same five questions of all blocks, so that it is a loop over columns without
//! a branch. Sums are integers: the same block gets the same answer everywhere.

use pulp::Arch;

use super::features::{Columns, LANES, NAMES, Table};
use super::model_trees::{LIKELIHOODS, START, TREES};

/// The factor of log odds.
const SCALE: i32 = 1024;

/// The likelihood that means certainty.
pub(super) const CERTAIN: u32 = 10_000;

/// The likelihood that each block is content, in units of 1/[`CERTAIN`].
pub(super) fn likelihoods(table: &Table) -> Vec<u32> {
    let mut odds = vec![[START; LANES]; table.parts.len()];
    Arch::new().dispatch(Odds {
        parts: &table.parts,
        odds: &mut odds,
    });
    let odds = odds.into_iter().flatten().take(table.rows);
    odds.map(likelihood).collect()
}

/// Adds up what all trees answer, with the widest vectors of the processor.
struct Odds<'a> {
    parts: &'a [Columns],
    odds: &'a mut [[i32; LANES]],
}

impl pulp::NullaryFnOnce for Odds<'_> {
    type Output = ();

    #[inline(always)]
    #[expect(
        clippy::inline_always,
        reason = "it must be compiled into the dispatcher"
    )]
    fn call(self) {
        for (columns, odds) in self.parts.iter().zip(self.odds) {
            for tree in &TREES {
                let mut answers = [0_i16; LANES];
                for (bit, (feature, border)) in tree.questions.iter().enumerate() {
                    let Some(column) = columns.get(usize::from(*feature)) else {
                        continue;
                    };
                    for (answer, value) in answers.iter_mut().zip(column) {
                        *answer |= i16::from(value > border) << bit;
                    }
                }
                for (odds, answer) in odds.iter_mut().zip(answers) {
                    *odds += i32::from(tree.leaves[answer as usize % tree.leaves.len()]);
                }
            }
        }
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
    fn the_trees_ask_of_features_that_there_are() {
        let mut features = TREES.iter().flat_map(|tree| tree.questions);
        assert!(features.all(|(feature, _)| usize::from(feature) < NAMES.len()));
    }
}
