//! The memory of [`Tables`](super::Tables): the buckets of a part of a table, and their
//! fingerprints in groups of 16, by columns.
//!
//! Invariant: only the last group of a bucket has room for more.

use std::ops::{Deref, DerefMut, Range};

use memmap2::MmapMut;

/// Number of buckets in a shard. Each shard is laid out separately, so that little of a table is in
/// memory twice.
pub(super) const BUCKETS: usize = 1 << 14;

/// Number of fingerprints in a group. They are compared side by side.
pub(super) const GROUP: usize = 16;
/// The two blocks after the one that a group is filed under: the first bytes of all fingerprints,
/// then their second bytes, and so on. One cache line.
pub(super) type NearBlocks = [u8; 4 * GROUP];
/// The last block of the fingerprints in a group, by bytes like [`NearBlocks`].
pub(super) type FarBlock = [u8; 2 * GROUP];
/// The numbers of the fingerprints in a group.
pub(super) type Numbers = [u8; 4 * GROUP];

/// Bytes in a group.
const BYTES: usize = size_of::<NearBlocks>() + size_of::<Numbers>() + size_of::<FarBlock>();

/// Stands for no group.
pub(super) const NONE: u32 = u32::MAX;

/// The other blocks of a rotated fingerprint: the two after the first, and the last.
#[inline]
pub(super) fn others(rotated: u64) -> ([u8; 4], [u8; 2]) {
    (
        ((rotated >> 16) as u32).to_le_bytes(),
        (rotated as u16).to_le_bytes(),
    )
}

/// A part of a table's buckets, and the groups of their fingerprints.
#[derive(Debug)]
pub(super) struct Shard {
    pub(super) buckets: Vec<Bucket>,
    /// [`NearBlocks`] of all groups, then [`Numbers`] and [`FarBlock`] of all groups.
    memory: Memory,
    /// Number of groups that fit in the memory.
    capacity: usize,
    /// Number of groups that lie in the order of their buckets.
    pub(super) in_order: usize,
    /// For each later group, the previous one of its bucket, or [`NONE`].
    pub(super) before: Vec<u32>,
}

/// The fingerprints that share one block.
#[derive(Debug, Clone, Copy)]
pub(super) struct Bucket {
    /// The first of its groups that lie in order, and their number.
    start: u32,
    groups: u32,
    /// The newest of its later groups, or [`NONE`].
    pub(super) newest: u32,
    /// Number of fingerprints. Only the last group can have room for more.
    len: u32,
}

impl Default for Shard {
    fn default() -> Self {
        let empty = Bucket {
            start: 0,
            groups: 0,
            newest: NONE,
            len: 0,
        };
        Self {
            buckets: vec![empty; BUCKETS],
            memory: Memory::of(0),
            capacity: 0,
            in_order: 0,
            before: Vec::new(),
        }
    }
}

impl Bucket {
    pub(super) fn in_order(self) -> Range<usize> {
        self.start as usize..(self.start + self.groups) as usize
    }

    /// The only group that can have room for more.
    pub(super) fn last(self) -> u32 {
        match self.newest {
            NONE => (self.start + self.groups).wrapping_sub(1),
            newest => newest,
        }
    }

    /// Number of fingerprints in one of its groups.
    pub(super) fn filled(self, group: u32) -> usize {
        if group == self.last() {
            (self.len as usize + GROUP - 1) % GROUP + 1
        } else {
            GROUP
        }
    }
}

/// The group before one of the later groups.
#[inline]
pub(super) fn step_back(before: &[u32], in_order: usize, group: u32) -> u32 {
    let at = (group as usize).wrapping_sub(in_order);
    before.get(at).copied().unwrap_or(NONE)
}

impl Shard {
    pub(super) fn memory_bytes(&self) -> usize {
        self.memory.len() + self.before.capacity() * 4 + size_of_val(&*self.buckets)
    }

    /// The first column.
    #[inline]
    pub(super) fn near(&self) -> &[NearBlocks] {
        let end = self.capacity * size_of::<NearBlocks>();
        self.memory[..end].as_chunks().0
    }

    #[inline]
    pub(super) fn numbers(&self) -> &[Numbers] {
        let start = self.capacity * size_of::<NearBlocks>();
        let end = start + self.capacity * size_of::<Numbers>();
        self.memory[start..end].as_chunks().0
    }

    #[inline]
    pub(super) fn far(&self) -> &[FarBlock] {
        let start = self.capacity * (size_of::<NearBlocks>() + size_of::<Numbers>());
        self.memory[start..].as_chunks().0
    }

    fn columns_mut(&mut self) -> (&mut [NearBlocks], &mut [Numbers], &mut [FarBlock]) {
        let end = self.capacity * size_of::<NearBlocks>();
        let (near, others) = self.memory.split_at_mut(end);
        let end = self.capacity * size_of::<Numbers>();
        let (numbers, far) = others.split_at_mut(end);
        (
            near.as_chunks_mut().0,
            numbers.as_chunks_mut().0,
            far.as_chunks_mut().0,
        )
    }

    pub(super) fn push(&mut self, bucket: usize, rotated: u64, number: u32) {
        let Some(found) = self.buckets.get(bucket).copied() else {
            return;
        };
        let mut group = found.last() as usize;
        let lane = found.len as usize % GROUP;
        if lane == 0 {
            group = self.in_order + self.before.len();
            if group == self.capacity {
                self.lay_out();
                return self.push(bucket, rotated, number);
            }
            self.before.push(found.newest);
            self.buckets[bucket].newest = group as u32;
        }
        self.buckets[bucket].len += 1;
        let bytes = others(rotated);
        let (near, numbers, far) = self.columns_mut();
        spread(&mut near[group], lane, bytes.0);
        spread(&mut far[group], lane, bytes.1);
        numbers[group][4 * lane..4 * lane + 4].copy_from_slice(&number.to_le_bytes());
    }

    /// Grows the memory by a ninth and puts all groups in order. This is rare enough that a
    /// fingerprint is copied about a dozen times, by whole groups, while its table doubles.
    #[cold]
    fn lay_out(&mut self) {
        let groups = |bucket: &Bucket| (bucket.len as usize).div_ceil(GROUP);
        let in_order: usize = self.buckets.iter().map(groups).sum();
        let mut next = Self {
            buckets: std::mem::take(&mut self.buckets),
            memory: Memory::of(0),
            capacity: in_order + in_order / 9 + 64,
            in_order,
            before: Vec::new(),
        };
        next.memory = Memory::of(next.capacity * BYTES);
        let mut buckets = std::mem::take(&mut next.buckets);
        let (near, numbers, far) = next.columns_mut();
        let mut start = 0;
        for bucket in &mut buckets {
            let groups = groups(bucket);
            let mut copy = |from: usize, to: usize| {
                near[to] = self.near()[from];
                numbers[to] = self.numbers()[from];
                far[to] = self.far()[from];
            };
            for (to, from) in (start..).zip(bucket.in_order()) {
                copy(from, to);
            }
            // The newest group must be last, since only it can have room.
            let (mut from, mut to) = (bucket.newest, start + groups);
            while from != NONE {
                to -= 1;
                copy(from as usize, to);
                from = step_back(&self.before, self.in_order, from);
            }
            *bucket = Bucket {
                start: start as u32,
                groups: groups as u32,
                newest: NONE,
                len: bucket.len,
            };
            start += groups;
        }
        next.buckets = buckets;
        *self = next;
    }
}

/// Writes the bytes of a lane.
#[inline]
fn spread<const N: usize>(group: &mut [u8], lane: usize, bytes: [u8; N]) {
    for (plane, byte) in group.chunks_exact_mut(GROUP).zip(bytes) {
        plane[lane] = byte;
    }
}

/// Reads the bytes of a lane.
#[inline]
pub(super) fn gather<const N: usize>(group: &[u8], lane: usize) -> [u8; N] {
    std::array::from_fn(|rank| group[rank * GROUP + lane])
}

/// Memory that starts as zeros; in large pages if it is large and the system has them.
#[derive(Debug)]
enum Memory {
    Heap(Vec<u8>),
    Pages(MmapMut),
}

impl Memory {
    fn of(bytes: usize) -> Self {
        /// Bytes of a large page on most machines.
        const LARGE: usize = 2 << 20;
        if bytes >= LARGE
            && let Ok(pages) = MmapMut::map_anon(bytes)
        {
            // If the system refuses, the pages stay small.
            #[cfg(target_os = "linux")]
            let _ = pages.advise(memmap2::Advice::HugePage);
            return Self::Pages(pages);
        }
        Self::Heap(vec![0; bytes])
    }
}

impl Deref for Memory {
    type Target = [u8];

    #[inline]
    fn deref(&self) -> &[u8] {
        match self {
            Self::Heap(bytes) => bytes,
            Self::Pages(pages) => pages,
        }
    }
}

impl DerefMut for Memory {
    #[inline]
    fn deref_mut(&mut self) -> &mut [u8] {
        match self {
            Self::Heap(bytes) => bytes,
            Self::Pages(pages) => pages,
        }
    }
}
