//! The near tier of a crawl: SimHash and bands of the `MinHash` sketch find candidates, and the
//! sketch decides. Pages too short for either are compared by their sets of shingles.
//!
//! All fingerprints at most 7 bits apart are found, and of those up to 10 bits apart the ones that
//! agree in a block of 16 bits except for at most one bit. Four structures hold each fingerprint,
//! each rotated so that another block leads, and a search covers the ranges of that block and of
//! its 16 neighbours (as `corpus/lookup/tables.rs` does in memory).
//!
//! SimHash misses pairs in which whole passages differ. Those are found by [`SKETCH_BANDS`] bands
//! of four values of their sketches: 96 % of the pairs at J = 0.8 and 98 % at 0.84.

use super::minhash::{self, HASHES};
use super::short::{self, SHORT_WORDS};
use super::simhash::{self, REACH, hamming};
use super::{Key, Method, Raw, Signature};
use crate::dedup::features::{Features, Hashing};
use crate::dedup::similarity::MIN_SIMILARITY;
use crate::dedup::text::shingle::{self, Shingle, Unit, mix};
use crate::dedup::{Finder, Match, Text, Tier};

/// The names of the structures. The first four hold the fingerprint rotated left by 0, 16, 32 and
/// 48 bits; the others hold the shingles of short pages and bands. A directory that lacks one of
/// them gets it at the start, from the fingerprints in its store, so a new one is added at the end.
const STRUCTURES: [&str; 7] = [
    "simhash-0",
    "simhash-1",
    "simhash-2",
    "simhash-3",
    SHINGLES,
    BANDS,
    SKETCHES,
];

/// The structure of the shingles of short pages.
const SHINGLES: &str = "shingles";
/// The structure of the bands of `MinHash` signatures.
pub(crate) const BANDS: &str = "bands";
/// The structure of the bands of sketches.
pub(crate) const SKETCHES: &str = "sketches";

/// Number of bands of a sketch that are kept, 12 bytes each.
const SKETCH_BANDS: usize = 6;
/// Number of values in each of them. Their 32 bits are equal by chance once in four thousand
/// million times.
const SKETCH_ROWS: usize = 4;

/// The bits of a key after its leading block.
const BEHIND_BLOCK: u64 = u64::MAX >> 16;

/// The method of the near tier.
pub(crate) struct Near;

impl Method for Near {
    fn tier(&self) -> Tier {
        Tier::Near
    }

    fn structures(&self) -> &'static [&'static str] {
        &STRUCTURES
    }

    fn sign(&self, _: Raw<'_>, text: &Text, by: &Hashing) -> Option<Signature> {
        let features = &by.features;
        let shingles = |of: Shingle| shingles(text, of, features.seed);
        if !text.is_comparable() {
            return None;
        }
        let measured = shingles(features.minhash_shingle);
        if text.word_count() < SHORT_WORDS {
            return Some(Signature::Shingles(short::set(&measured).into()));
        }
        let minima = by.permutations.minima::<HASHES>(&measured);
        let simhash = simhash::of_set(shingles(features.simhash_shingle));
        Some(match features.method {
            Finder::Simhash => Signature::Witnessed {
                simhash,
                sketch: Box::new(minhash::sketch(&minima)),
            },
            Finder::Minhash => Signature::MinHashed {
                simhash,
                minima: Box::new(minima),
            },
        })
    }

    fn keys(&self, signature: &Signature, features: &Features, out: &mut Vec<Key>) {
        if let Some(simhash) = signature.simhash() {
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
        match signature {
            Signature::MinHashed { minima, .. } => {
                let bands = minima.chunks_exact((features.rows as usize).max(1));
                let bands = bands.take(features.bands as usize).zip(0_u64..);
                out.extend(bands.map(|(values, band)| Key::exact(BANDS, band_key(band, values))));
            }
            Signature::Shingles(set) => {
                // The lowest threshold, even if a rule asks for more: every rule must find what is
                // posted.
                let prefix = short::prefix(set, MIN_SIMILARITY).iter();
                out.extend(prefix.map(|shingle| Key::exact(SHINGLES, u64::from(*shingle) << 32)));
            }
            Signature::Witnessed { sketch, .. } => {
                let bands = sketch.as_chunks::<SKETCH_ROWS>().0.iter();
                let values = bands.map(|band| u32::from_le_bytes(*band));
                let values = values.take(SKETCH_BANDS).zip(0_u64..);
                out.extend(values.map(|(value, at)| Key::exact(SKETCHES, band_key(at, &[value]))));
            }
            Signature::Digest(_) => {}
        }
    }

    fn reach(&self) -> u8 {
        REACH
    }

    fn measure(&self, a: &Signature, b: &Signature) -> Option<Match> {
        match (a, b) {
            (Signature::Shingles(a), Signature::Shingles(b)) => Some(Match {
                distance: 0,
                similarity: short::jaccard(a, b),
                error: 0.0,
                by_signature: false,
            }),
            (
                Signature::MinHashed { simhash, minima },
                Signature::MinHashed {
                    simhash: other,
                    minima: other_minima,
                },
            ) => {
                let similarity = minhash::similarity(minima, other_minima);
                Some(Match {
                    distance: hamming(*simhash, *other),
                    similarity,
                    error: minhash::standard_error(similarity),
                    by_signature: true,
                })
            }
            _ => {
                let similarity = minhash::sketch_similarity(&*a.sketch()?, &*b.sketch()?);
                Some(Match {
                    distance: hamming(a.simhash()?, b.simhash()?),
                    similarity,
                    error: minhash::standard_error(similarity),
                    by_signature: false,
                })
            }
        }
    }
}

fn shingles(text: &Text, of: Shingle, seed: u64) -> Vec<u64> {
    let units = match of.unit {
        Unit::Words => text.word_hashes(),
        Unit::Characters => text.characters(),
    };
    shingle::hashes(units, of.length, seed)
}

/// The SimHash of a text that is long enough to have one.
pub(in crate::dedup) fn simhash(text: &Text, by: &Hashing) -> u64 {
    let features = &by.features;
    simhash::of_set(shingles(text, features.simhash_shingle, features.seed))
}

/// The key of a band. All bands of a kind share one structure.
fn band_key(band: u64, values: &[u32]) -> u64 {
    values
        .iter()
        .fold(mix(band), |sum, value| mix(sum ^ u64::from(*value)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dedup::methods::forged;
    use proptest::prelude::*;

    fn sign(text: &str) -> Option<Signature> {
        Near.sign(
            Raw::default(),
            &Text::whole(text),
            &Hashing::new(Features::default()),
        )
    }

    fn words(count: u32) -> String {
        let words: Vec<_> = (0..count).map(|n| format!("w{n}")).collect();
        words.join(" ")
    }

    fn keys(signature: &Signature) -> Vec<Key> {
        let mut keys = Vec::new();
        Near.keys(signature, &Features::default(), &mut keys);
        keys
    }

    /// Whether a search for some keys reaches a signature posted under others.
    fn meet(look: &[Key], posted: &[Key]) -> bool {
        posted.iter().filter(|it| it.is_posted).any(|posted| {
            look.iter().any(|look| {
                look.structure == posted.structure
                    && (look.low..=look.high).contains(&posted.value)
                    && (look.low == look.high || hamming(look.value, posted.value) <= REACH)
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
        let found = Near.measure(&a, &b).unwrap();
        assert!((found.similarity - 41.0 / 42.0).abs() < 1e-9);
        let other = sign(&format!("{text} {text}").replace('w', "v")[..150]).unwrap();
        assert!(!meet(&keys(&a), &keys(&other)));
    }

    #[test]
    fn a_signature_shows_what_its_sketch_does_and_may_be_found_by_either() {
        let features = Features {
            method: Finder::Minhash,
            ..Features::default()
        };
        let by = Hashing::new(features.clone());
        let signed = |text: &str| {
            Near.sign(Raw::default(), &Text::new(text, text), &by)
                .unwrap()
        };
        let text = words(400);
        let (one, other) = (signed(&text), signed(&format!("{text} end")));
        let small = sign(&text).unwrap();
        assert_eq!(small.sketch(), one.sketch());
        assert_eq!(small.simhash(), one.simhash());
        let exact = 396.0 / 397.0;
        for pair in [(&one, &other), (&small, &other)] {
            let found = Near.measure(pair.0, pair.1).unwrap();
            assert!((found.similarity - exact).abs() < 0.05, "{found:?}");
            assert_eq!(found.by_signature, pair.0 == &one);
        }
        let mut keys = Vec::new();
        Near.keys(&one, &features, &mut keys);
        let posted = keys.iter().filter(|key| key.is_posted);
        assert_eq!(posted.count(), 4 + 25);
        let row = postcard::to_stdvec(&one).unwrap();
        assert_eq!(postcard::from_bytes::<Signature>(&row).unwrap(), one);
        assert!(row.len() < 8 + 512 + 8, "{}", row.len());
    }

    /// Passages differ, so that the fingerprints are far apart.
    #[test]
    fn pages_meet_by_bands_of_their_sketches() {
        let (mut met, mut far) = (0, 0);
        for turn in 0..100 {
            let passage = |name: &str, count: u32| {
                let words: Vec<_> = (0..count).map(|n| format!("{name}{turn}x{n}")).collect();
                words.join(" ")
            };
            let common = passage("common", 300);
            let [a, b] = ["a", "b"].map(|own| sign(&format!("{common} {}", passage(own, 25))));
            let (a, b) = (a.unwrap(), b.unwrap());
            let (of_a, of_b) = (keys(&a), keys(&b));
            let [by_simhash, by_band] = [false, true].map(|is_band| {
                let some = |keys: &[Key]| -> Vec<Key> {
                    let some = keys.iter();
                    let some = some.filter(|key| (key.structure == SKETCHES) == is_band);
                    some.copied().collect()
                };
                meet(&some(&of_a), &some(&of_b))
            });
            met += u32::from(by_band);
            far += u32::from(!by_simhash);
            assert!(by_band || by_simhash || Near.measure(&a, &b).unwrap().similarity < 0.84);
        }
        // J is 0.85.
        assert!(met >= 94, "{met} of 100");
        assert!(far >= 10, "{far} of 100");
    }

    fn witnessed(simhash: u64) -> Signature {
        Signature::Witnessed {
            simhash,
            sketch: Box::new([0; HASHES]),
        }
    }

    /// Who knows the seed can make gibberish that looks like a text, and who does not cannot.
    #[test]
    fn without_the_seed_nobody_can_forge_a_text() {
        let (text, forged) = forged::pair();
        let similarity = |seed| {
            let by = Hashing::new(Features {
                seed,
                ..Features::default()
            });
            let sign = |text: &str| {
                let text = Text::seeded(text, text, seed, by.features.masks);
                Near.sign(Raw::default(), &text, &by).unwrap()
            };
            let found = Near.measure(&sign(text), &sign(forged)).unwrap();
            (found.similarity, found.distance)
        };
        let (by_public, far) = similarity(0);
        assert!(by_public > 0.84, "{by_public}");
        // What is said often does not outvote the rest: only bands of the sketch find the two.
        assert!(far > REACH, "{far}");
        let (by_secret, far) = similarity(77);
        assert!(by_secret < 0.1 && far > REACH, "{by_secret} {far}");
    }

    proptest! {
        /// Whichever seven bits differ, one of the ranges leads to the other fingerprint.
        #[test]
        fn every_pair_within_seven_bits_meets(simhash: u64, flips in prop::collection::vec(0..64_u32, 0..=7)) {
            let other = flips.iter().fold(simhash, |bits, flip| bits ^ (1 << flip));
            prop_assert!(meet(&keys(&witnessed(simhash)), &keys(&witnessed(other))));
        }
    }
}
