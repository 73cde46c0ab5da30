//! `MinHash` signatures in memory, to be found by the bands that they share: what `gleaner dedup
//! --method minhash` looks in (Leskovec, Rajaraman, Ullman, "Mining of Massive Datasets", 3.4).
//!
//! Documents with the same values in one band form a chain, newest first. A chain is walked a bounded
//! way, so that a million pages of one template cost each page a bounded time.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

use super::minhash::Signature;
use super::shingle::mix;

/// Documents that are looked at in one band's chain, the newest ones.
const CHAIN: usize = 256;

/// No document.
const NONE: u32 = u32::MAX;

/// The chains of all bands.
#[derive(Debug)]
pub(super) struct Bands {
    rows: usize,
    all: Vec<Band>,
    /// For each document the search that saw it last, so that it is given once.
    seen: Vec<u32>,
    search: u32,
}

/// The chains of one band.
#[derive(Debug, Default)]
struct Band {
    /// Newest document by key. 32 bits of a key will do: what chance brings together is verified.
    newest: HashMap<u32, u32, BuildHasherDefault<Spread>>,
    /// For each document the one before it in its chain.
    before: Vec<u32>,
}

impl Bands {
    /// No documents yet; `bands` times `rows` values of a signature count.
    pub(super) fn new(bands: usize, rows: usize) -> Self {
        Self {
            rows: rows.max(1),
            all: (0..bands).map(|_| Band::default()).collect(),
            seen: Vec::new(),
            search: 0,
        }
    }

    /// Adds a document. Numbers must rise; those left out have no signature.
    pub(super) fn insert(&mut self, signature: &Signature, number: u32) {
        for ((at, band), values) in self
            .all
            .iter_mut()
            .enumerate()
            .zip(signature.chunks_exact(self.rows))
        {
            band.before.resize(number as usize, NONE);
            let before = band.newest.insert(key(at, values), number);
            band.before.push(before.unwrap_or(NONE));
        }
        self.seen.resize(number as usize + 1, 0);
    }

    /// Visits documents that share a band, each once.
    pub(super) fn find(&mut self, signature: &Signature, mut visit: impl FnMut(u32)) {
        self.search = self.search.wrapping_add(1);
        if self.search == 0 {
            self.seen.fill(0);
            self.search = 1;
        }
        for ((at, band), values) in self
            .all
            .iter()
            .enumerate()
            .zip(signature.chunks_exact(self.rows))
        {
            let mut next = band.newest.get(&key(at, values)).copied();
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

fn key(band: usize, values: &[u32]) -> u32 {
    let sum = values
        .iter()
        .fold(band as u64, |sum, value| mix(sum ^ u64::from(*value)));
    (sum >> 32) as u32
}

/// Keys are hashes already; they are only spread to where the map looks.
#[derive(Debug, Default)]
pub(super) struct Spread(u64);

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

    fn find(bands: &mut Bands, signature: &Signature) -> Vec<u32> {
        let mut found = Vec::new();
        bands.find(signature, |number| found.push(number));
        found.sort_unstable();
        found
    }

    #[test]
    fn one_equal_band_is_enough_and_gives_a_document_once() {
        let mut bands = Bands::new(16, 8);
        let first: Signature = std::array::from_fn(|at| at as u32);
        let mut second: Signature = [u32::MAX; HASHES];
        second[8..16].copy_from_slice(&first[8..16]);
        let mut shifted: Signature = [7; HASHES];
        shifted[1..9].copy_from_slice(&first[8..16]);
        bands.insert(&first, 3);
        assert_eq!(find(&mut bands, &second), [3]);
        assert_eq!(find(&mut bands, &shifted), Vec::<u32>::new());
        bands.insert(&second, 5);
        assert_eq!(find(&mut bands, &first), [3, 5]);
    }

    #[test]
    fn a_long_chain_is_walked_a_bounded_way() {
        let mut bands = Bands::new(4, 32);
        for number in 0..10_000 {
            bands.insert(&[1; HASHES], number);
        }
        assert_eq!(find(&mut bands, &[1; HASHES]).len(), CHAIN);
    }
}
