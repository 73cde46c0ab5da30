//! SimHash fingerprints in memory, found by Hamming distance: the index of `gleaner dedup`.
//!
//! The 64 bits are split into four blocks of 16, and each of four tables files every fingerprint
//! under another of its blocks. If two fingerprints differ in at most 3 bits, one block is equal,
//! since 3 differences cannot touch 4 blocks. If they differ in at most 7, one block differs in at
//! most 1 bit. A search of the block itself therefore finds every pair within 3 bits, and a search
//! of the block and its 16 neighbours every pair within 7 (Norouzi, Punjani, Fleet, "Fast Search in
//! Hamming Space with Multi-Index Hashing", 2012). Four tables serve both; tables alone would take
//! 8 or more.
//!
//! Among millions of fingerprints, a lookup spends nearly all its time waiting for memory, so the
//! layout serves the memory. The fingerprints of a bucket lie side by side, grouped by bytes of
//! equal rank, in large pages. The two blocks after the bucket's own are kept apart from the last
//! block and from the numbers, because they alone nearly always show that a fingerprint is more
//! than 3 bits away. A lookup prefetches everything it will read before it compares anything, so
//! that the waits overlap. For the same reason fingerprints are filed many at a time; until then
//! they wait in a list that every lookup scans.
//!
//! Invariant: every fingerprint is either in each table once, or in the list once. Nothing is
//! deleted.

use pulp::Arch;

use super::shards::{
    BUCKETS, Bucket, FarBlock, GROUP, NONE, NearBlocks, Shard, gather, others, step_back,
};

/// The largest distance within which every pair is found.
pub const MAX_GUARANTEED: u8 = 7;

const TABLES: u32 = 4;
const BLOCK_BITS: u32 = 16;
/// Number of buckets whose block differs from a given one in at most one bit.
const NEIGHBOURS: usize = 1 + BLOCK_BITS as usize;

/// Number of shards per table.
const SHARDS: usize = (1 << BLOCK_BITS) / BUCKETS;

/// Bytes in a cache line.
const LINE: usize = 64;

/// Fingerprints and their numbers. Takes about 44 bytes per fingerprint when there are millions.
#[derive(Debug, Default)]
pub struct Tables {
    /// The shards of the first table, then those of the second, and so on. Empty until the first
    /// fingerprints are filed.
    shards: Vec<Shard>,
    /// A bit for each bucket, set unless it is empty. The bits stay in the cache, and save most
    /// accesses to buckets while there are fewer fingerprints than buckets.
    filled: Vec<u64>,
    /// Fingerprints that are not filed yet, with their numbers: fewer than [`WAITING`], or than
    /// [`FEW`] before the first are filed.
    waiting: Vec<(u64, u32)>,
}

/// Number of fingerprints that are filed together.
const WAITING: usize = 64;

/// Number of fingerprints that are searched one by one before the first are filed, since empty
/// tables take 4 MB.
const FEW: usize = 1_024;

/// A fingerprint found by a search.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Found {
    /// Its number.
    pub number: u32,
    /// Number of bits in which it differs.
    pub distance: u8,
}

impl Tables {
    /// Adds a fingerprint under a number.
    pub fn insert(&mut self, fingerprint: u64, number: u32) {
        self.waiting.push((fingerprint, number));
        let enough = if self.shards.is_empty() { FEW } else { WAITING };
        if self.waiting.len() >= enough {
            let mut waiting = std::mem::take(&mut self.waiting);
            for (fingerprint, number) in waiting.drain(..) {
                self.file(fingerprint, number);
            }
            self.waiting = waiting;
        }
    }

    fn file(&mut self, fingerprint: u64, number: u32) {
        if self.shards.is_empty() {
            self.shards
                .resize_with(TABLES as usize * SHARDS, Shard::default);
            self.filled = vec![0; TABLES as usize * (1 << BLOCK_BITS) / 64];
        }
        for turn in 0..TABLES {
            let rotated = rotated(fingerprint, turn);
            let (shard, bucket, bit) = place(turn, block(rotated));
            if let Some(shard) = self.shards.get_mut(shard) {
                shard.push(bucket, rotated, number);
            }
            if let Some(filled) = self.filled.get_mut(bit / 64) {
                *filled |= 1 << (bit % 64);
            }
        }
    }

    /// Appends the fingerprints at most `distance` bits away that the tables lead to, without
    /// repeats and in no particular order: all of them if `distance` is at most [`MAX_GUARANTEED`],
    /// otherwise those that share a block except for one bit.
    pub fn find(&self, fingerprint: u64, distance: u8, found: &mut Vec<Found>) {
        Arch::new().dispatch(Search {
            tables: self,
            fingerprint,
            distance: u32::from(distance),
            found,
        });
    }

    /// The bucket of a fingerprint's block with the bits of `flip` inverted, unless it is empty.
    #[inline]
    fn look(&self, fingerprint: u64, turn: u32, flip: u16) -> Option<Look<'_>> {
        let block = block(rotated(fingerprint, turn)) ^ flip;
        let (shard, bucket, bit) = place(turn, block);
        if self.filled.get(bit / 64)? >> (bit % 64) & 1 == 0 {
            return None;
        }
        let shard = self.shards.get(shard)?;
        Some(Look {
            turn,
            block,
            flipped: flip.count_ones(),
            shard,
            bucket: *shard.buckets.get(bucket)?,
        })
    }

    /// Memory used, in bytes.
    pub fn memory_bytes(&self) -> usize {
        let shards: usize = self.shards.iter().map(Shard::memory_bytes).sum();
        shards + size_of_val(&*self.filled) + self.waiting.capacity() * size_of::<(u64, u32)>()
    }
}

/// The shard and the bucket of a block in a table, and its bit in `filled`.
#[inline]
fn place(turn: u32, block: u16) -> (usize, usize, usize) {
    let bit = (turn as usize) << BLOCK_BITS | usize::from(block);
    (bit / BUCKETS, bit % BUCKETS, bit)
}

/// A fingerprint as a table holds it, rotated so that the block it is filed under comes first.
#[inline]
fn rotated(fingerprint: u64, turn: u32) -> u64 {
    fingerprint.rotate_left(BLOCK_BITS * turn)
}

#[inline]
fn block(rotated: u64) -> u16 {
    (rotated >> 48) as u16
}

/// A search, run with the widest vectors of the processor.
struct Search<'a> {
    tables: &'a Tables,
    fingerprint: u64,
    distance: u32,
    found: &'a mut Vec<Found>,
}

/// A bucket to be searched.
#[derive(Clone, Copy)]
struct Look<'a> {
    turn: u32,
    block: u16,
    /// Number of bits in which its block differs from the searched one.
    flipped: u32,
    shard: &'a Shard,
    bucket: Bucket,
}

impl pulp::NullaryFnOnce for Search<'_> {
    type Output = ();

    #[inline(always)]
    #[expect(
        clippy::inline_always,
        reason = "it must be compiled into the dispatcher"
    )]
    fn call(mut self) {
        self.scan_waiting();
        // The bits by which one block may differ: if all four differed in more, the distance would
        // be exceeded.
        match self.distance / TABLES {
            0 => self.search::<{ TABLES as usize }>(),
            _ => self.search::<{ TABLES as usize * NEIGHBOURS }>(),
        }
    }
}

impl Look<'_> {
    /// Prefetches the part of a column that will be read, without waiting for it.
    #[inline]
    fn touch<const N: usize>(&self, column: &[[u8; N]]) -> u8 {
        let groups = column.get(self.bucket.in_order()).unwrap_or_default();
        let lines = groups.as_flattened().chunks(LINE);
        let newest = column.get(self.bucket.newest as usize);
        let newest = newest.map_or(0, |group| group[0]);
        lines.fold(newest, |touched, line| touched ^ line[0])
    }
}

impl Search<'_> {
    /// Searches the list of fingerprints that are not filed yet, and finds those that the tables
    /// would.
    #[inline(always)]
    #[expect(
        clippy::inline_always,
        reason = "it must be compiled into the dispatcher"
    )]
    fn scan_waiting(&mut self) {
        for (other, number) in &self.tables.waiting {
            let differing = other ^ self.fingerprint;
            let distance = differing.count_ones();
            if distance <= self.distance && found_before(differing, TABLES, self.distance) {
                self.found.push(Found {
                    number: *number,
                    distance: distance as u8,
                });
            }
        }
    }

    /// Searches `LOOKS` buckets, the same number in each table.
    #[inline(always)]
    #[expect(
        clippy::inline_always,
        reason = "it must be compiled into the dispatcher"
    )]
    fn search<const LOOKS: usize>(&mut self) {
        let each = LOOKS / TABLES as usize;
        let tables = self.tables;
        let is_wide = each > 1;
        let mut looks = [None; LOOKS];
        for (turn, looks) in (0..TABLES).zip(looks.chunks_exact_mut(each)) {
            for (n, look) in looks.iter_mut().enumerate() {
                // 0, 1, 2, 4 and so on.
                let flip = (1_u32 << n >> 1) as u16;
                *look = tables.look(self.fingerprint, turn, flip);
            }
        }
        let mut touched = 0;
        for look in looks.iter().flatten() {
            touched ^= look.touch(look.shard.near());
            if is_wide {
                touched ^= look.touch(look.shard.far());
            }
        }
        std::hint::black_box(touched);
        for (turn, looks) in (0..TABLES).zip(looks.chunks_exact(each)) {
            let query = Needle::of(self.fingerprint, turn);
            for look in looks.iter().flatten() {
                self.scan(look, &query, is_wide);
            }
        }
    }

    /// Searches one bucket by two blocks, and also by the third if two would leave most groups as
    /// candidates.
    #[inline(always)]
    #[expect(
        clippy::inline_always,
        reason = "it must be compiled into the dispatcher"
    )]
    fn scan(&mut self, look: &Look, query: &Needle, is_wide: bool) {
        let Look { shard, bucket, .. } = *look;
        let (near, far) = (shard.near(), shard.far());
        let mut least = [u8::MAX; GROUP];
        let groups = near.get(bucket.in_order()).unwrap_or_default();
        if is_wide {
            let others = far.get(bucket.in_order()).unwrap_or_default();
            for (near, far) in groups.iter().zip(others) {
                lower(&mut least, both(near, far, query));
            }
        } else {
            for near in groups {
                lower(&mut least, one(near, query));
            }
        }
        let mut later = bucket.newest;
        while let (Some(near), Some(far)) = (near.get(later as usize), far.get(later as usize)) {
            let sums = if is_wide {
                both(near, far, query)
            } else {
                one(near, query)
            };
            lower(&mut least, sums);
            later = step_back(&shard.before, shard.in_order, later);
        }
        let least = least.into_iter().fold(u8::MAX, u8::min);
        if u32::from(least) + look.flipped > self.distance {
            return;
        }
        for group in bucket.in_order() {
            self.take(look, group as u32);
        }
        let mut later = bucket.newest;
        while later != NONE {
            self.take(look, later);
            later = step_back(&shard.before, shard.in_order, later);
        }
    }

    /// Takes the fingerprints of a group that are close enough.
    fn take(&mut self, look: &Look, group: u32) {
        let Look { turn, shard, .. } = *look;
        let filled = look.bucket.filled(group);
        let group = group as usize;
        for lane in 0..filled {
            let near = u32::from_le_bytes(gather(&shard.near()[group], lane));
            let far = u16::from_le_bytes(gather(&shard.far()[group], lane));
            let other = u64::from(look.block) << 48 | u64::from(near) << 16 | u64::from(far);
            let other = other.rotate_right(BLOCK_BITS * turn);
            let differing = other ^ self.fingerprint;
            let distance = differing.count_ones();
            if distance <= self.distance && !found_before(differing, turn, self.distance) {
                let number = &shard.numbers()[group][4 * lane..];
                let number = number.first_chunk().copied().unwrap_or_default();
                self.found.push(Found {
                    number: u32::from_le_bytes(number),
                    distance: distance as u8,
                });
            }
        }
    }
}

/// The other blocks of the searched fingerprint, each byte repeated for every lane of a group.
struct Needle {
    near: NearBlocks,
    far: FarBlock,
}

impl Needle {
    fn of(fingerprint: u64, turn: u32) -> Self {
        let (near, far) = others(rotated(fingerprint, turn));
        Self {
            near: std::array::from_fn(|at| near[at / GROUP]),
            far: std::array::from_fn(|at| far[at / GROUP]),
        }
    }
}

/// Two planes side by side: a vector of 32 bytes.
type Pair = [u8; 2 * GROUP];

/// Number of bits in which the near blocks differ, per lane, not yet summed over the two planes.
#[inline(always)]
#[expect(
    clippy::inline_always,
    reason = "it must be compiled into the dispatcher"
)]
fn one(near: &NearBlocks, query: &Needle) -> Pair {
    let mut sums = [0; _];
    add(&mut sums, near, &query.near);
    sums
}

/// Number of bits in which all other blocks differ, per lane, not yet summed over the two planes.
#[inline(always)]
#[expect(
    clippy::inline_always,
    reason = "it must be compiled into the dispatcher"
)]
fn both(near: &NearBlocks, far: &FarBlock, query: &Needle) -> Pair {
    let mut sums = one(near, query);
    add(&mut sums, far, &query.far);
    sums
}

#[inline(always)]
#[expect(
    clippy::inline_always,
    reason = "it must be compiled into the dispatcher"
)]
fn add(sums: &mut Pair, bytes: &[u8], own: &[u8]) {
    let pairs = bytes.chunks_exact(2 * GROUP);
    for (bytes, own) in pairs.zip(own.chunks_exact(2 * GROUP)) {
        for ((sum, byte), own) in sums.iter_mut().zip(bytes).zip(own) {
            *sum += (byte ^ own).count_ones() as u8;
        }
    }
}

/// Lowers each lane to its number of differing bits.
#[inline(always)]
#[expect(
    clippy::inline_always,
    reason = "it must be compiled into the dispatcher"
)]
fn lower(least: &mut [u8; GROUP], sums: Pair) {
    let (first, second) = sums.split_at(GROUP);
    for ((least, a), b) in least.iter_mut().zip(first).zip(second) {
        *least = (a + b).min(*least);
    }
}

/// Whether an earlier table leads to a pair with these differences.
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

        /// At any distance up to 7, the tables find exactly the pairs that comparing with
        /// everything finds.
        #[test]
        fn every_pair_within_the_distance_is_found_once(
            centre: u64,
            flips in prop::collection::vec(prop::collection::vec(0..64_u32, 0..=9), 1..200),
            distance in 0..=MAX_GUARANTEED,
            others in 0..2 * FEW,
        ) {
            let flip = |bits: &Vec<u32>| bits.iter().fold(centre, |word, bit| word ^ (1 << bit));
            let stored: Vec<u64> = flips.iter().map(flip).collect();
            let mut tables = Tables::default();
            // Some are filed, and some wait.
            for other in 0..others {
                tables.insert(!centre ^ other as u64, u32::MAX);
            }
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
    fn buckets_that_outgrow_their_place_lose_nothing() {
        // All in a few buckets, so that these are laid out again and again.
        let fingerprint = |number: u32| {
            let mixed = crate::dedup::shingle::mix(u64::from(number));
            let flips = [mixed, mixed >> 6, mixed >> 12, mixed >> 18, mixed >> 24];
            flips
                .iter()
                .fold(0, |bits, flip| bits | 1_u64 << (flip % 64))
        };
        let mut tables = Tables::default();
        for number in 0..20_000 {
            tables.insert(fingerprint(number), number);
            if number % 4_999 == 0 {
                for distance in [0, 3, 7] {
                    let own = fingerprint(number / 2);
                    let near = |other: &u32| (fingerprint(*other) ^ own).count_ones() <= distance;
                    let found = search(&tables, own, distance as u8);
                    let found = found.into_iter().map(|(number, _)| number);
                    assert!(found.eq((0..=number).filter(near)));
                }
            }
        }
        assert!(tables.memory_bytes() < 20_000 * 60 + (5 << 20));
    }

    #[test]
    fn more_distant_ones_are_found_where_a_block_is_equal_but_for_a_bit() {
        let mut tables = Tables::default();
        tables.insert(0x0003_0003_0003_0001, 1);
        tables.insert(0x0007_0007_0003_0003, 2);
        for number in 3..2 * FEW as u32 {
            // Before they are filed, and after.
            assert_eq!(search(&tables, 0, 10), [(1, 7)]);
            assert_eq!(search(&tables, 0, 6), Vec::new());
            tables.insert(u64::MAX, number);
        }
    }

    #[test]
    fn an_empty_place_of_a_group_is_no_fingerprint() {
        let mut tables = Tables::default();
        for number in 0..FEW as u32 + 100 {
            tables.insert(u64::from(u32::MAX), number);
            assert_eq!(search(&tables, 0, 3), Vec::new());
        }
    }
}
