//! SimHash-64 of word 3-shingles (Charikar, "Similarity Estimation Techniques from Rounding
//! Algorithms", 2002; Manku, Jain, Das Sarma, "Detecting Near-Duplicates for Web Crawling", 2007).
//!
//! Each shingle votes on each of 64 bits, as often as it occurs; the majority makes the
//! fingerprint, a tie makes a 0. Fingerprints at Hamming distance 3 or less agree in at least one
//! of their four 16-bit blocks: four tables, each keyed by the fingerprint rotated so that another
//! block leads, find every such pair by scanning one block's range in each.

use super::{Key, Kind, Match, Method, Signature, Text};

/// Bits that may differ.
const MAX_DISTANCE: u8 = 3;
/// Words in a shingle.
const SHINGLE: usize = 3;
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

/// The fingerprint of a word sequence, given as hashes of the words.
fn fingerprint(words: &[u64]) -> u64 {
    let mut votes = [0_i32; 64];
    for shingle in words.windows(SHINGLE) {
        let hash = shingle_hash(shingle);
        for (bit, vote) in votes.iter_mut().enumerate() {
            *vote += ((hash >> bit & 1) as i32) * 2 - 1;
        }
    }
    votes
        .iter()
        .enumerate()
        .fold(0, |bits, (bit, vote)| bits | u64::from(*vote > 0) << bit)
}

/// Hash of a shingle from the hashes of its words: a polynomial in an odd multiplier (the order of
/// the words counts), then the finalizer of `SplitMix64`, so that every bit depends on every word.
fn shingle_hash(words: &[u64]) -> u64 {
    let sum = words.iter().fold(0_u64, |sum, word| {
        sum.wrapping_mul(0x9e37_79b9_7f4a_7c15).wrapping_add(*word)
    });
    let mixed = (sum ^ sum >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ mixed >> 31
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
        (words.len() >= MIN_WORDS).then(|| Signature::SimHash(fingerprint(words)))
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
    fn word_order_counts() {
        assert_ne!(shingle_hash(&[1, 2, 3]), shingle_hash(&[3, 2, 1]));
        assert_ne!(shingle_hash(&[0, 1, 0]), shingle_hash(&[0, 0, 1]));
    }

    #[test]
    fn short_texts_have_no_simhash() {
        let text = article(1, 49).join(" ");
        assert_eq!(SimHash.sign(b"", &Text::new(&text, &text)), None);
    }

    proptest! {
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
