//! SimHash-64 (Charikar, "Similarity Estimation Techniques from Rounding Algorithms", 2002; Manku,
//! Jain, Das Sarma, "Detecting Near-Duplicates for Web Crawling", 2007).
//!
//! Each shingle votes on each of 64 bits. The majority decides each bit of the fingerprint; a tie
//! gives 0. In a crawl, a shingle votes once however often it occurs: a page that repeats a few of
//! them could otherwise have any fingerprint. Pure arithmetic: `near.rs` and
//! `corpus/lookup/tables.rs` search for fingerprints.

use std::hash::{BuildHasher as _, RandomState};
use std::sync::LazyLock;

/// The most bits by which a candidate's fingerprint may differ; the sketch then decides.
pub(crate) const REACH: u8 = 10;

/// Number of bits in which two fingerprints differ.
pub fn hamming(a: u64, b: u64) -> u8 {
    (a ^ b).count_ones() as u8
}

/// The fingerprint of a set of shingles, of which each may be given more than once.
pub(crate) fn of_set(mut shingles: Vec<u64>) -> u64 {
    make_distinct(&mut shingles);
    majority(&shingles)
}

/// Multiplying by a number that nobody knows spreads any shingles, even those that were chosen to
/// share a place (Dietzfelbinger et al., "A Reliable Randomized Algorithm for the Closest-Pair
/// Problem", 1997).
static FACTOR: LazyLock<u64> = LazyLock::new(|| RandomState::new().hash_one(0) | 1);

/// Removes what was given before. Order is of no importance here, so nothing is sorted, which would
/// take most of the time.
fn make_distinct(shingles: &mut Vec<u64>) {
    let places = (2 * shingles.len()).next_power_of_two().max(2);
    let shift = u64::BITS - places.trailing_zeros();
    let factor = *FACTOR;
    // Numbers of those that stay, from one up; zero is an empty place.
    let mut table = vec![0_u32; places];
    let mut kept = 0;
    for at in 0..shingles.len() {
        let shingle = shingles[at];
        let mut place = (shingle.wrapping_mul(factor) >> shift) as usize;
        loop {
            match table[place] as usize {
                0 => {
                    shingles[kept] = shingle;
                    kept += 1;
                    table[place] = kept as u32;
                    break;
                }
                number if shingles[number - 1] == shingle => break,
                _ => place = (place + 1) & (places - 1),
            }
        }
    }
    shingles.truncate(kept);
}

/// The majority of the hashes' votes on each bit; 0 for a tie or no votes.
///
/// The votes are counted in bit planes: plane k holds bit k of all 64 counts, so one 64-bit
/// operation updates 64 counters. Eight hashes at a time pass through a tree of carry-save adders
/// (Harley and Seal's population count, turned by 90 degrees), and only every eighth carry ripples
/// upwards.
pub(crate) fn majority(hashes: &[u64]) -> u64 {
    let (mut ones, mut twos, mut fours) = (0, 0, 0);
    // Counts from 8 up, for at most 2^35 hashes.
    let mut planes = [0_u64; 32];
    let mut ripple = |mut carry: u64| {
        for plane in &mut planes {
            if carry == 0 {
                break;
            }
            (*plane, carry) = (*plane ^ carry, *plane & carry);
        }
    };
    let mut eights = hashes.chunks_exact(8);
    for eight in &mut eights {
        let &[a, b, c, d, e, f, g, h] = eight else {
            continue;
        };
        let (sum, two_a) = add(ones, a, b);
        let (sum, two_b) = add(sum, c, d);
        let (sum, two_c) = add(sum, e, f);
        let (sum, two_d) = add(sum, g, h);
        ones = sum;
        let (sum, four_a) = add(twos, two_a, two_b);
        let (sum, four_b) = add(sum, two_c, two_d);
        twos = sum;
        let (sum, eight) = add(fours, four_a, four_b);
        fours = sum;
        ripple(eight);
    }
    for hash in eights.remainder() {
        let (sum, two) = (ones ^ hash, ones & hash);
        ones = sum;
        let (sum, four) = (twos ^ two, twos & two);
        twos = sum;
        let (sum, eight) = (fours ^ four, fours & four);
        fours = sum;
        ripple(eight);
    }
    // Compares all 64 counts with half of the votes at once, from the highest plane down.
    let half = hashes.len() as u64 / 2;
    let (mut greater, mut equal) = (0, u64::MAX);
    let mut compare = |bit: usize, plane: u64| {
        let threshold = if half >> bit & 1 == 1 { u64::MAX } else { 0 };
        greater |= equal & plane & !threshold;
        equal &= !(plane ^ threshold);
    };
    for (at, plane) in planes.iter().enumerate().rev() {
        compare(at + 3, *plane);
    }
    compare(2, fours);
    compare(1, twos);
    compare(0, ones);
    greater
}

/// Sum and carry of three bits, in 64 positions.
fn add(a: u64, b: u64, c: u64) -> (u64, u64) {
    let either = a ^ b;
    (either ^ c, a & b | either & c)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dedup::Text;
    use crate::dedup::text::shingle;
    use proptest::prelude::*;

    fn bits(words: &[String]) -> u64 {
        let text = Text::whole(&words.join(" "));
        majority(&shingle::hashes(text.word_hashes(), 2, 0))
    }

    /// `count` words of a vocabulary, by a linear congruential generator.
    fn article(seed: u64, count: usize) -> Vec<String> {
        let mut state = seed;
        (0..count)
            .map(|_| {
                state = state
                    .wrapping_mul(6_364_136_223_846_793_005)
                    .wrapping_add(1_442_695_040_888_963_407);
                format!("word{}", state >> 52)
            })
            .collect()
    }

    proptest! {
        #[test]
        fn each_shingle_is_left_once(
            few in prop::collection::vec(0_u64..40, 0..100),
            many in prop::collection::vec(any::<u64>(), 0..100),
        ) {
            let mut distinct = [few, many].concat();
            let expected: std::collections::BTreeSet<u64> = distinct.iter().copied().collect();
            make_distinct(&mut distinct);
            prop_assert_eq!(distinct.len(), expected.len());
            prop_assert_eq!(distinct.into_iter().collect::<std::collections::BTreeSet<_>>(), expected);
        }
    }

    #[test]
    fn a_changed_word_moves_few_bits_and_another_text_moves_half() {
        let words = article(1, 600);
        let mut edited = words.clone();
        edited[300] = "changed".to_owned();
        let near = hamming(bits(&words), bits(&edited));
        let far = hamming(bits(&words), bits(&article(2, 600)));
        assert!(near <= 6, "{near} bits");
        assert!((16..=48).contains(&far), "{far} bits");
    }

    /// Words that are said a thousand times do not outvote what else a page says.
    #[test]
    fn what_is_repeated_votes_once() {
        let words = article(1, 600);
        let flood = [words.clone(), vec!["spam".to_owned(); 5_000]].concat();
        let of = |words: &[String]| {
            let text = Text::whole(&words.join(" "));
            shingle::hashes(text.word_hashes(), 2, 0)
        };
        let far = hamming(majority(&of(&words)), majority(&of(&flood)));
        let near = hamming(of_set(of(&words)), of_set(of(&flood)));
        assert!(far > 16, "{far} bits");
        assert!(near <= 4, "{near} bits");
    }

    #[test]
    fn a_tie_makes_a_0() {
        assert_eq!(majority(&[]), 0);
        assert_eq!(majority(&[0b011, 0b101]), 0b001);
        assert_eq!(majority(&[0b011, 0b101, 0b110]), 0b111);
    }

    proptest! {
        /// Counting in planes gives what counting bit by bit gives.
        #[test]
        fn the_majority_is_that_of_each_bit(hashes in prop::collection::vec(any::<u64>(), 0..300)) {
            let mut expected = 0;
            for bit in 0..64 {
                let votes: usize = hashes.iter().map(|hash| (hash >> bit & 1) as usize).sum();
                expected |= u64::from(votes * 2 > hashes.len()) << bit;
            }
            prop_assert_eq!(majority(&hashes), expected);
        }
    }
}
