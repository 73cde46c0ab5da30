//! The likelihood that a block is content: the sum of the decision trees of `model_trees.rs`.
//!
//! Every tree asks the same five questions of all blocks, so that it is a loop over columns without
//! a branch. Sums are integers: the same block gets the same answer everywhere.

use super::features::{Columns, NAMES};
use super::model_trees::{LIKELIHOODS, START, TREES};

/// The factor of log odds.
const SCALE: i32 = 1024;

/// The likelihood that means certainty.
pub(super) const CERTAIN: u32 = 10_000;

/// The likelihood that each block is content, in units of 1/[`CERTAIN`].
pub(super) fn likelihoods(columns: &Columns) -> Vec<u32> {
    let rows = columns.rows;
    let mut odds = vec![START; rows];
    let mut answers = vec![0_u8; rows];
    for tree in &TREES {
        answers.fill(0);
        for (bit, (feature, border)) in tree.questions.iter().enumerate() {
            let column = columns.column(usize::from(*feature));
            for (answer, value) in answers.iter_mut().zip(column) {
                *answer |= u8::from(value > border) << bit;
            }
        }
        for (odds, answer) in odds.iter_mut().zip(&answers) {
            let leaf = usize::from(*answer) % tree.leaves.len();
            *odds += i32::from(tree.leaves[leaf]);
        }
    }
    odds.into_iter().map(likelihood).collect()
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
