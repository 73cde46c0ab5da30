//! `MinHash` signatures in memory, found by the bands they share: the index of `gleaner dedup
//! --method minhash` (Leskovec, Rajaraman, Ullman, "Mining of Massive Datasets", 3.4).
//!
//! Documents with equal values in a band form a chain, newest first. Only a bounded part of a chain
//! is searched, so that a million pages of one template cost each page a bounded time.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

use crate::dedup::minhash::MinHashSignature;
use crate::dedup::shingle::mix;

/// Maximum number of documents considered in the chain of one band, newest first.
const CHAIN: usize = 256;

/// Marks the end of a chain.
const NONE: u32 = u32::MAX;

/// The chains of all bands.
#[derive(Debug)]
pub(in crate::corpus) struct Bands {
    all: Vec<Band>,
    /// For each document, the last search that found it, so that a search reports it once.
    seen: Vec<u32>,
    search: u32,
}

/// The chains of one band.
#[derive(Debug, Default)]
struct Band {
    /// The newest document of each key. Keys of 32 bits suffice, since every candidate is verified.
    newest: HashMap<u32, u32, BuildHasherDefault<Spread>>,
    /// For each document, the previous one in its chain.
    before: Vec<u32>,
}

impl Bands {
    /// An empty index of this many bands.
    pub(in crate::corpus) fn new(bands: usize) -> Self {
        Self {
            all: (0..bands).map(|_| Band::default()).collect(),
            seen: Vec::new(),
            search: 0,
        }
    }

    /// Adds a document by the keys of its bands. Numbers must rise; skipped ones have no keys.
    pub(in crate::corpus) fn insert(&mut self, keys: &[u32], number: u32) {
        for (band, key) in self.all.iter_mut().zip(keys) {
            band.before.resize(number as usize, NONE);
            let before = band.newest.insert(*key, number);
            band.before.push(before.unwrap_or(NONE));
        }
        self.seen.resize(number as usize + 1, 0);
    }

    /// Visits the documents that share a band, without repeats.
    pub(in crate::corpus) fn find(&mut self, keys: &[u32], mut visit: impl FnMut(u32)) {
        self.search = self.search.wrapping_add(1);
        if self.search == 0 {
            self.seen.fill(0);
            self.search = 1;
        }
        for (band, key) in self.all.iter().zip(keys) {
            let mut next = band.newest.get(key).copied();
            for _ in 0..CHAIN {
                let Some(number) = next.filter(|number| *number != NONE) else {
                    break;
                };
                next = band.before.get(number as usize).copied();
                let Some(seen) = self.seen.get_mut(number as usize) else {
                    break;
                };
                if std::mem::replace(seen, self.search) != self.search {
                    visit(number);
                }
            }
        }
    }
}

/// The keys of a signature's bands, made of its first `bands` times `rows` values.
pub(in crate::corpus) fn keys(signature: &MinHashSignature, bands: u32, rows: u32) -> Box<[u32]> {
    let values = signature.chunks_exact(rows.max(1) as usize);
    let key = |(at, values): (usize, &[u32])| {
        let sum = values
            .iter()
            .fold(at as u64, |sum, value| mix(sum ^ u64::from(*value)));
        (sum >> 32) as u32
    };
    values.take(bands as usize).enumerate().map(key).collect()
}

/// A hasher for keys that are hashes already: it only spreads them over the map's buckets.
#[derive(Debug, Default)]
pub(in crate::corpus) struct Spread(u64);

impl Hasher for Spread {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = mix(self.0 ^ u64::from(*byte));
        }
    }

    fn write_u32(&mut self, key: u32) {
        self.0 = u64::from(key).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    }

    fn write_u128(&mut self, key: u128) {
        self.0 = key as u64;
    }

    fn write_u64(&mut self, key: u64) {
        self.0 = key;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dedup::minhash::HASHES;

    fn find(bands: &mut Bands, keys: &[u32]) -> Vec<u32> {
        let mut found = Vec::new();
        bands.find(keys, |number| found.push(number));
        found.sort_unstable();
        found
    }

    #[test]
    fn one_equal_band_is_enough_and_gives_a_document_once() {
        let keys = |signature: &MinHashSignature| keys(signature, 16, 8);
        let mut bands = Bands::new(16);
        let first: MinHashSignature = std::array::from_fn(|at| at as u32);
        let mut second: MinHashSignature = [u32::MAX; HASHES];
        second[8..16].copy_from_slice(&first[8..16]);
        let mut shifted: MinHashSignature = [7; HASHES];
        shifted[1..9].copy_from_slice(&first[8..16]);
        bands.insert(&keys(&first), 3);
        assert_eq!(find(&mut bands, &keys(&second)), [3]);
        assert_eq!(find(&mut bands, &keys(&shifted)), Vec::<u32>::new());
        bands.insert(&keys(&second), 5);
        assert_eq!(find(&mut bands, &keys(&first)), [3, 5]);
    }

    #[test]
    fn a_long_chain_is_walked_a_bounded_way() {
        let mut bands = Bands::new(4);
        let keys = keys(&[1; HASHES], 4, 32);
        for number in 0..10_000 {
            bands.insert(&keys, number);
        }
        assert_eq!(find(&mut bands, &keys).len(), CHAIN);
    }
}
