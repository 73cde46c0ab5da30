//! SimHash-64 of word 3-shingles (Charikar, "Similarity Estimation Techniques from Rounding
//! Algorithms", 2002; Manku, Jain, Das Sarma, "Detecting Near-Duplicates for Web Crawling", 2007).
//!
//! Each shingle votes on each of 64 bits, as often as it occurs; the majority makes the
//! fingerprint, a tie makes a 0. Fingerprints at Hamming distance 3 or less agree in at least one
//! of their four 16-bit blocks: four tables, each keyed by the fingerprint rotated so that another
//! block leads, find every such pair by scanning one block's range in each.

use super::{Key, Kind, Match, Method, Signature, Text, shingle};

/// Bits that may differ.
const MAX_DISTANCE: u8 = 3;
/// Words in a shingle.
const SHINGLE: u8 = 3;
/// Texts under this many words are left to the exact tiers: one changed word is a large part of
/// them, and their few votes make the fingerprint coarse.
const MIN_WORDS: usize = 50;
/// The tables: table n is keyed by the fingerprint rotated left by 16 n bits.
const TABLES: [&str; 4] = ["simhash-0", "simhash-1", "simhash-2", "simhash-3"];
/// The bits of a key behind its leading block.
const BEHIND_BLOCK: u64 = u64::MAX >> 16;

/// Almost the same main content.
pub(super) struct SimHash;

/// Bits in which two fingerprints differ.
pub fn hamming(a: u64, b: u64) -> u8 {
    (a ^ b).count_ones() as u8
}

/// The majority of the hashes' votes on each bit; a tie, and no vote at all, make a 0.
///
/// The votes are counted in bit planes: plane k holds bit k of all 64 counts, so one operation on 64
/// bits serves 64 counters. Eight hashes at a time pass through a tree of carry-save adders (Harley
/// and Seal's population count, turned by 90 degrees); only every eighth ripples upwards.
pub(super) fn majority(hashes: &[u64]) -> u64 {
    let (mut ones, mut twos, mut fours) = (0, 0, 0);
    // Counts from 8 on, for up to 2^35 hashes.
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

/// Sum and carry of three bits, 64 times.
fn add(a: u64, b: u64, c: u64) -> (u64, u64) {
    let either = a ^ b;
    (either ^ c, a & b | either & c)
}

impl Method for SimHash {
    fn kind(&self) -> Kind {
        Kind::Near
    }

    fn structures(&self) -> &'static [&'static str] {
        &TABLES
    }

    fn sign(&self, _: &[u8], text: &Text) -> Option<Signature> {
        let words = text.word_hashes();
        (words.len() >= MIN_WORDS)
            .then(|| Signature::SimHash(majority(&shingle::hashes(words, SHINGLE, 0))))
    }

    fn keys(&self, signature: &Signature, out: &mut Vec<Key>) {
        if let Signature::SimHash(bits) = signature {
            for (structure, turn) in TABLES.into_iter().zip([0, 16, 32, 48]) {
                let post = bits.rotate_left(turn);
                out.push(Key {
                    structure,
                    post,
                    low: post & !BEHIND_BLOCK,
                    high: post | BEHIND_BLOCK,
                });
            }
        }
    }

    fn may_match(&self, key: &Key, found: u64) -> bool {
        hamming(key.post, found) <= MAX_DISTANCE
    }

    fn verify(&self, a: &Signature, b: &Signature) -> Option<Match> {
        match (a, b) {
            (Signature::SimHash(a), Signature::SimHash(b)) => {
                let distance = hamming(*a, *b);
                (distance <= MAX_DISTANCE).then_some(Match { distance })
            }
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn bits(text: &str) -> u64 {
        match SimHash.sign(b"", &Text::new(text, text)) {
            Some(Signature::SimHash(bits)) => bits,
            other => panic!("{other:?}"),
        }
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

    #[test]
    fn a_changed_word_moves_few_bits_and_another_text_moves_half() {
        let words = article(1, 600);
        let mut edited = words.clone();
        edited[300] = "changed".to_owned();
        let near = hamming(bits(&words.join(" ")), bits(&edited.join(" ")));
        let far = hamming(bits(&words.join(" ")), bits(&article(2, 600).join(" ")));
        assert!(near <= 6, "{near} bits");
        assert!((16..=48).contains(&far), "{far} bits");
    }

    #[test]
    fn a_tie_makes_a_0() {
        assert_eq!(majority(&[]), 0);
        assert_eq!(majority(&[0b011, 0b101]), 0b001);
        assert_eq!(majority(&[0b011, 0b101, 0b110]), 0b111);
    }

    #[test]
    fn short_texts_have_no_simhash() {
        let text = article(1, 49).join(" ");
        assert_eq!(SimHash.sign(b"", &Text::new(&text, &text)), None);
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

        /// Whatever three bits differ, one of the four tables leads to the other.
        #[test]
        fn every_pair_within_the_distance_shares_a_block(a: u64, flips in prop::collection::vec(0..64_u32, 0..=3)) {
            let b = flips.iter().fold(a, |bits, flip| bits ^ (1 << flip));
            let (mut keys_a, mut keys_b) = (Vec::new(), Vec::new());
            SimHash.keys(&Signature::SimHash(a), &mut keys_a);
            SimHash.keys(&Signature::SimHash(b), &mut keys_b);
            let found = keys_a.iter().zip(&keys_b).any(|(look, posted)| {
                (look.low..=look.high).contains(&posted.post) && SimHash.may_match(look, posted.post)
            });
            prop_assert!(found);
        }
    }
}
