//! The crawl's near tier: SimHash finds candidates among the originals, a `MinHash` sketch decides; pages
//! too short for either are compared by their sets of shingles.
//!
//! Fingerprints at most 7 bits apart are all found, and those up to 10 apart that have a block of 16 bits
//! in common but for one: four structures hold each fingerprint, rotated so that another block leads,
//! and the ranges of that block and of its 16 neighbours are searched (as `tables.rs` does in memory).

use super::minhash::{self, HASHES, Permutations};
use super::short::{self, SHORT_WORDS};
use super::simhash::{self, REACH, hamming};
use super::{Key, Kind, Match, Method, Signature, Text, shingle};

/// How alike two pages must be. A crawl leaves out the bodies of duplicates, so it wants more than
/// `gleaner dedup` does, whose user has the corpus still.
const THRESHOLD: f64 = 0.9;

/// How much less alike a page may become to its original, before it is a duplicate no more. Two
/// standard errors of the sketch: an edit that moves the estimate by less says nothing.
const HYSTERESIS: f64 = 0.05;

/// Fewer words say too little about a page.
const MIN_WORDS: u32 = 5;

/// The structures: number n of the first four is keyed by the fingerprint rotated left by 16 n bits, the
/// last by shingles.
const STRUCTURES: [&str; 5] = [
    "simhash-0",
    "simhash-1",
    "simhash-2",
    "simhash-3",
    "shingles",
];

/// The bits of a key behind its leading block.
const BEHIND_BLOCK: u64 = u64::MAX >> 16;

/// Almost the same main content.
pub(super) struct Near;

impl Method for Near {
    fn kind(&self) -> Kind {
        Kind::Near
    }

    fn structures(&self) -> &'static [&'static str] {
        &STRUCTURES
    }

    fn sign(&self, _: &[u8], text: &Text) -> Option<Signature> {
        let words = text.word_hashes();
        let five = || shingle::hashes(words, 5, 0);
        if text.word_count() < MIN_WORDS {
            None
        } else if text.word_count() < SHORT_WORDS {
            Some(Signature::Shingles(short::set(&five()).into()))
        } else {
            let minima = Permutations::standard().minima::<HASHES>(&five());
            Some(Signature::Witnessed {
                simhash: simhash::majority(&shingle::hashes(words, 2, 0)),
                sketch: Box::new(minhash::sketch(&minima)),
            })
        }
    }

    fn keys(&self, signature: &Signature, out: &mut Vec<Key>) {
        match signature {
            Signature::Witnessed { simhash, .. } => {
                for (structure, turn) in STRUCTURES.into_iter().zip([0, 16, 32, 48]) {
                    let value = simhash.rotate_left(turn);
                    let flips = (48..64).map(|bit| 1 << bit);
                    out.extend([0].into_iter().chain(flips).map(|flip: u64| Key {
                        structure,
                        value,
                        is_posted: flip == 0,
                        low: (value ^ flip) & !BEHIND_BLOCK,
                        high: value ^ flip | BEHIND_BLOCK,
                    }));
                }
            }
            Signature::Shingles(set) => {
                let [.., structure] = STRUCTURES;
                let prefix = short::prefix(set, THRESHOLD).iter();
                out.extend(prefix.map(|shingle| Key::exact(structure, u64::from(*shingle) << 32)));
            }
            Signature::Digest(_) => {}
        }
    }

    fn may_match(&self, key: &Key, found: u64) -> bool {
        key.low == key.high || hamming(key.value, found) <= REACH
    }

    fn verify(&self, a: &Signature, b: &Signature) -> Option<Match> {
        let found = measure(a, b)?;
        (found.distance <= REACH && found.similarity >= THRESHOLD).then_some(found)
    }
}

/// How alike two pages are, whether or not that is enough; `None` if one is short and the other is not.
pub(super) fn measure(a: &Signature, b: &Signature) -> Option<Match> {
    Some(match (a, b) {
        (
            Signature::Witnessed { simhash, sketch },
            Signature::Witnessed {
                simhash: other,
                sketch: other_sketch,
            },
        ) => Match {
            distance: hamming(*simhash, *other),
            similarity: minhash::sketch_similarity(sketch, other_sketch),
        },
        (Signature::Shingles(a), Signature::Shingles(b)) => Match {
            distance: 0,
            similarity: short::jaccard(a, b),
        },
        _ => return None,
    })
}

/// Whether a duplicate that has become so much like its original still is one. Its `SimHash` has no
/// say: that finds candidates, and here there is one.
pub(super) fn stays(found: &Match) -> bool {
    found.similarity >= THRESHOLD - HYSTERESIS
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn sign(text: &str) -> Option<Signature> {
        Near.sign(b"", &Text::whole(text))
    }

    fn words(count: u32) -> String {
        let words: Vec<_> = (0..count).map(|n| format!("w{n}")).collect();
        words.join(" ")
    }

    fn keys(signature: &Signature) -> Vec<Key> {
        let mut keys = Vec::new();
        Near.keys(signature, &mut keys);
        keys
    }

    /// Whether what looks by these keys comes to what is posted under those.
    fn meet(look: &[Key], posted: &[Key]) -> bool {
        posted.iter().filter(|it| it.is_posted).any(|posted| {
            look.iter().any(|look| {
                look.structure == posted.structure
                    && (look.low..=look.high).contains(&posted.value)
                    && Near.may_match(look, posted.value)
            })
        })
    }

    #[test]
    fn a_page_is_signed_by_what_its_length_allows() {
        assert_eq!(sign(&words(4)), None);
        assert!(matches!(sign(&words(5)), Some(Signature::Shingles(_))));
        assert!(matches!(sign(&words(49)), Some(Signature::Shingles(_))));
        assert!(matches!(
            sign(&words(50)),
            Some(Signature::Witnessed { .. })
        ));
    }

    #[test]
    fn short_pages_meet_by_their_sets() {
        let text = words(45);
        let a = sign(&text).unwrap();
        let b = sign(&format!("{text} end")).unwrap();
        assert!(meet(&keys(&a), &keys(&b)));
        let found = Near.verify(&a, &b).unwrap();
        assert!((found.similarity - 41.0 / 42.0).abs() < 1e-9);
        let other = sign(&format!("{text} {text}").replace('w', "v")[..150]).unwrap();
        assert!(!meet(&keys(&a), &keys(&other)));
    }

    fn witnessed(simhash: u64) -> Signature {
        Signature::Witnessed {
            simhash,
            sketch: Box::new([0; HASHES]),
        }
    }

    proptest! {
        /// Whatever seven bits differ, one of the ranges leads to the other.
        #[test]
        fn every_pair_within_seven_bits_meets(simhash: u64, flips in prop::collection::vec(0..64_u32, 0..=7)) {
            let other = flips.iter().fold(simhash, |bits, flip| bits ^ (1 << flip));
            prop_assert!(meet(&keys(&witnessed(simhash)), &keys(&witnessed(other))));
        }
    }
}
