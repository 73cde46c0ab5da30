//! The memory of [`Tables`](super::Tables): the buckets of a part of a table, and the fingerprints
//! in them in groups of 16, by columns.
//!
//! Invariant: only a bucket's last group has room for more.

use std::ops::{Deref, DerefMut, Range};

use memmap2::MmapMut;

/// Buckets of a shard. It is laid out anew by itself, so that little is in memory twice.
pub(super) const BUCKETS: usize = 1 << 14;

/// Fingerprints of a group, which are compared side by side.
pub(super) const GROUP: usize = 16;
/// The two blocks behind that by which a group is filed: the first bytes of all, then the second
/// ones, and so on. A cache line.
pub(super) type Near = [u8; 4 * GROUP];
/// The last block, likewise.
pub(super) type Far = [u8; 2 * GROUP];
/// A group's numbers.
pub(super) type Numbers = [u8; 4 * GROUP];

/// Bytes of a group.
const BYTES: usize = size_of::<Near>() + size_of::<Numbers>() + size_of::<Far>();

/// No group.
pub(super) const NONE: u32 = u32::MAX;

/// The other blocks: the two behind it, and the last.
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
    /// [`Near`] of all groups, then [`Numbers`] and [`Far`] of all groups.
    memory: Memory,
    /// Groups that there is memory for.
    capacity: usize,
    /// Groups that lie in order of their buckets.
    pub(super) in_order: usize,
    /// For each group behind these the one that its bucket got before, or [`NONE`].
    pub(super) before: Vec<u32>,
}

/// The fingerprints with one block in common.
#[derive(Debug, Clone, Copy)]
pub(super) struct Bucket {
    /// Its groups that lie in order, and how many they are.
    start: u32,
    groups: u32,
    /// The newest group of those that it got later, or [`NONE`].
    pub(super) newest: u32,
    /// Fingerprints. Only the last group may have room for more.
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

    /// The group that alone may have room for more.
    pub(super) fn last(self) -> u32 {
        match self.newest {
            NONE => (self.start + self.groups).wrapping_sub(1),
            newest => newest,
        }
    }

    /// Fingerprints in one of its groups.
    pub(super) fn filled(self, group: u32) -> usize {
        match group == self.last() {
            true => (self.len as usize + GROUP - 1) % GROUP + 1,
            false => GROUP,
        }
    }
}

/// The group before one of those that came later.
#[inline]
pub(super) fn step_back(before: &[u32], in_order: usize, group: u32) -> u32 {
    let at = (group as usize).wrapping_sub(in_order);
    before.get(at).copied().unwrap_or(NONE)
}

impl Shard {
    pub(super) fn memory_bytes(&self) -> usize {
        self.memory.len() + self.before.capacity() * 4 + size_of_val(&*self.buckets)
    }

    /// The columns.
    #[inline]
    pub(super) fn near(&self) -> &[Near] {
        let end = self.capacity * size_of::<Near>();
        self.memory[..end].as_chunks().0
    }

    #[inline]
    pub(super) fn numbers(&self) -> &[Numbers] {
        let start = self.capacity * size_of::<Near>();
        let end = start + self.capacity * size_of::<Numbers>();
        self.memory[start..end].as_chunks().0
    }

    #[inline]
    pub(super) fn far(&self) -> &[Far] {
        let start = self.capacity * (size_of::<Near>() + size_of::<Numbers>());
        self.memory[start..].as_chunks().0
    }

    fn columns_mut(&mut self) -> (&mut [Near], &mut [Numbers], &mut [Far]) {
        let end = self.capacity * size_of::<Near>();
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

    /// Takes larger memory, by a ninth, and puts all groups in order. That happens so seldom that
    /// each fingerprint is copied a dozen times while its table doubles, by whole groups.
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
            // The newest, which alone may have room, has to be last.
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

/// The bytes of a lane.
#[inline]
pub(super) fn gather<const N: usize>(group: &[u8], lane: usize) -> [u8; N] {
    std::array::from_fn(|rank| group[rank * GROUP + lane])
}

/// Zeros to begin with; in large pages where there are many, as far as the system has such.
#[derive(Debug)]
enum Memory {
    Heap(Vec<u8>),
    Pages(MmapMut),
}

impl Memory {
    fn of(bytes: usize) -> Self {
        /// Of a large page on most machines.
        const LARGE: usize = 2 << 20;
        if bytes >= LARGE
            && let Ok(pages) = MmapMut::map_anon(bytes)
        {
            // A system that refuses this serves small pages.
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
