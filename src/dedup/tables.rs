//! SimHash fingerprints in memory, to be found by Hamming distance: what `gleaner dedup` looks in.
//!
//! The 64 bits are four blocks of 16; each of four tables files every fingerprint under another of its
//! blocks. If two fingerprints differ in at most 3 bits, one block is equal, since 3 differences
//! cannot lie in 4 blocks; if they differ in at most 7, one block differs in at most 1 bit. So looking
//! under the block itself finds every pair within 3 bits, and looking under the block and its 16
//! neighbours every pair within 7 (Norouzi, Punjani, Fleet, "Fast Search in Hamming Space with
//! Multi-Index Hashing", 2012): four tables serve both, where tables alone would take 8 or more.
//!
//! Invariant: every fingerprint stands once in each table. Nothing is deleted.

use pulp::Arch;

/// The most bits within which every pair is found.
pub const MAX_GUARANTEED: u8 = 7;

const TABLES: u32 = 4;
const BLOCK_BITS: u32 = 16;

/// Fingerprints and their numbers. About 48 bytes a fingerprint when there are millions.
#[derive(Debug, Default)]
pub struct Tables {
    /// Empty until the first fingerprint comes.
    tables: Vec<Table>,
}

/// All fingerprints, filed by one of their blocks.
#[derive(Debug, Clone)]
struct Table {
    buckets: Vec<Bucket>,
    /// A bit for each bucket that is not empty. It stays in the cache, and spares most looks at the
    /// buckets as long as there are fewer fingerprints than these.
    filled: Vec<u64>,
}

/// The fingerprints with one block in common.
#[derive(Debug, Clone, Default)]
struct Bucket {
    groups: Vec<Group>,
    /// Fingerprints; the last group may have room for more.
    len: u32,
}

/// Fingerprints of a group: two cache lines and a half, compared side by side.
const GROUP: usize = 16;

/// The 48 bits behind the block, rotated as their table rotates, and the numbers.
#[derive(Debug, Clone)]
struct Group {
    low: [u32; GROUP],
    high: [u16; GROUP],
    numbers: [u32; GROUP],
}

/// A fingerprint that was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Found {
    /// Its number.
    pub number: u32,
    /// Bits that differ.
    pub distance: u8,
}

impl Tables {
    /// Files a fingerprint under a number.
    pub fn insert(&mut self, fingerprint: u64, number: u32) {
        if self.tables.is_empty() {
            let table = Table {
                buckets: vec![Bucket::default(); 1 << BLOCK_BITS],
                filled: vec![0; 1 << BLOCK_BITS >> 6],
            };
            self.tables = vec![table; TABLES as usize];
        }
        for (turn, table) in self.tables.iter_mut().enumerate() {
            let rotated = fingerprint.rotate_left(BLOCK_BITS * turn as u32);
            let block = (rotated >> 48) as usize;
            if let Some(bucket) = table.buckets.get_mut(block) {
                bucket.push(rotated, number);
            }
            if let Some(filled) = table.filled.get_mut(block / 64) {
                *filled |= 1 << (block % 64);
            }
        }
    }

    /// Appends all fingerprints at most `distance` bits away that the tables lead to, each once, in no
    /// order: every one of them if `distance` is at most [`MAX_GUARANTEED`], of more distant ones those
    /// that share a block but for a bit.
    pub fn find(&self, fingerprint: u64, distance: u8, found: &mut Vec<Found>) {
        Arch::new().dispatch(Search {
            tables: self,
            fingerprint,
            distance: u32::from(distance),
            found,
        });
    }

    /// Bytes of the heap.
    pub fn memory_bytes(&self) -> usize {
        let buckets = self.tables.iter().flat_map(|table| &table.buckets);
        buckets
            .map(|bucket| size_of::<Bucket>() + bucket.groups.capacity() * size_of::<Group>())
            .sum()
    }
}

impl Table {
    /// The bucket of a block, if it is not empty.
    #[inline]
    fn bucket(&self, block: usize) -> Option<&Bucket> {
        let filled = self.filled.get(block / 64)?;
        (filled >> (block % 64) & 1 == 1)
            .then(|| self.buckets.get(block))
            .flatten()
    }
}

impl Bucket {
    fn push(&mut self, rotated: u64, number: u32) {
        let at = self.len as usize % GROUP;
        if at == 0 {
            if self.groups.len() == self.groups.capacity() {
                // A quarter more, not twice as much: memory is what limits an index.
                self.groups.reserve_exact(self.groups.len() / 4 + 1);
            }
            self.groups.push(Group {
                low: [0; GROUP],
                high: [0; GROUP],
                numbers: [0; GROUP],
            });
        }
        if let Some(group) = self.groups.last_mut() {
            group.low[at] = rotated as u32;
            group.high[at] = (rotated >> 32) as u16;
            group.numbers[at] = number;
            self.len += 1;
        }
    }
}

/// A search; it runs with the widest vectors that the processor has.
struct Search<'a> {
    tables: &'a Tables,
    fingerprint: u64,
    distance: u32,
    found: &'a mut Vec<Found>,
}

impl pulp::NullaryFnOnce for Search<'_> {
    type Output = ();

    #[inline(always)]
    #[expect(
        clippy::inline_always,
        reason = "it must be compiled into the dispatcher"
    )]
    fn call(mut self) {
        // Bits of a block that may differ: what is left over when all four differ in one more.
        let radius = self.distance / TABLES;
        for turn in 0..TABLES {
            self.look(turn, 0);
            if radius > 0 {
                for bit in 0..BLOCK_BITS {
                    self.look(turn, 1 << bit);
                }
            }
        }
    }
}

impl Search<'_> {
    /// Looks in one bucket of one table: that of the block with the bits of `flip` turned.
    #[inline(always)]
    #[expect(
        clippy::inline_always,
        reason = "it must be compiled into the dispatcher"
    )]
    fn look(&mut self, turn: u32, flip: u16) {
        let rotated = self.fingerprint.rotate_left(BLOCK_BITS * turn);
        let block = (rotated >> 48) as u16 ^ flip;
        let tables = &self.tables.tables;
        let Some(bucket) = tables
            .get(turn as usize)
            .and_then(|table| table.bucket(usize::from(block)))
        else {
            return;
        };
        let (low, high) = (rotated as u32, (rotated >> 32) as u16);
        let left = self.distance - flip.count_ones();
        let mut filled = bucket.len as usize;
        for group in &bucket.groups {
            let lanes = group.low.iter().zip(&group.high);
            let mut distances = [0_u8; GROUP];
            for (distance, (other_low, other_high)) in distances.iter_mut().zip(lanes) {
                let differing = (other_low ^ low).count_ones();
                *distance = (differing + u32::from(other_high ^ high).count_ones()) as u8;
            }
            let nearest = distances.iter().fold(u8::MAX, |least, it| least.min(*it));
            if u32::from(nearest) <= left {
                for lane in 0..GROUP.min(filled) {
                    let differing = u64::from(flip) << 48
                        | u64::from(group.high[lane] ^ high) << 32
                        | u64::from(group.low[lane] ^ low);
                    let differing = differing.rotate_right(BLOCK_BITS * turn);
                    let distance = differing.count_ones();
                    if distance <= self.distance && !found_before(differing, turn, self.distance) {
                        self.found.push(Found {
                            number: group.numbers[lane],
                            distance: distance as u8,
                        });
                    }
                }
            }
            filled = filled.saturating_sub(GROUP);
        }
    }
}

/// Whether an earlier table led to a pair with these differences.
fn found_before(differing: u64, turn: u32, distance: u32) -> bool {
    let radius = u32::from(distance / TABLES > 0);
    (0..turn).any(|turn| {
        let block = differing.rotate_left(BLOCK_BITS * turn) >> 48;
        block.count_ones() <= radius
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn search(tables: &Tables, fingerprint: u64, distance: u8) -> Vec<(u32, u8)> {
        let mut found = Vec::new();
        tables.find(fingerprint, distance, &mut found);
        let mut found: Vec<_> = found.iter().map(|it| (it.number, it.distance)).collect();
        found.sort_unstable();
        found
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(32))]

        /// Whatever the distance up to 7, the tables find exactly what comparing with everything finds.
        #[test]
        fn every_pair_within_the_distance_is_found_once(
            centre: u64,
            flips in prop::collection::vec(prop::collection::vec(0..64_u32, 0..=9), 1..120),
            distance in 0..=MAX_GUARANTEED,
        ) {
            let flip = |bits: &Vec<u32>| bits.iter().fold(centre, |word, bit| word ^ (1 << bit));
            let stored: Vec<u64> = flips.iter().map(flip).collect();
            let mut tables = Tables::default();
            for (number, fingerprint) in stored.iter().enumerate() {
                tables.insert(*fingerprint, number as u32);
            }
            let expected: Vec<_> = stored
                .iter()
                .enumerate()
                .map(|(number, fingerprint)| (number as u32, (centre ^ fingerprint).count_ones() as u8))
                .filter(|(_, found)| *found <= distance)
                .collect();
            prop_assert_eq!(search(&tables, centre, distance), expected);
        }
    }

    #[test]
    fn more_distant_ones_are_found_where_a_block_is_equal_but_for_a_bit() {
        let mut tables = Tables::default();
        tables.insert(0x0003_0003_0003_0001, 1);
        tables.insert(0x0007_0007_0003_0003, 2);
        assert_eq!(search(&tables, 0, 10), [(1, 7)]);
        assert_eq!(search(&tables, 0, 6), Vec::new());
    }

    #[test]
    fn an_empty_place_of_a_group_is_no_fingerprint() {
        let mut tables = Tables::default();
        tables.insert(u64::from(u32::MAX), 1);
        assert_eq!(search(&tables, 0, 3), Vec::new());
    }
}
