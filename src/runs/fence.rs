//! Locates a key in a sorted column of keys: a coarse table leads to a few dozen neighbours, and
//! interpolation to one or two cache lines among them.

/// What is known about the pairs before they are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Bounds {
    /// Smallest key.
    pub(super) min: u64,
    /// Largest key.
    pub(super) max: u64,
    /// Upper bound of the number of pairs.
    pub(super) count: u64,
}

/// Positions at which the keys of each cell of the key range begin. The cells divide the range from
/// the smallest to the largest key rather than all of 64 bits, so that keys with a common prefix
/// are divided too.
#[derive(Debug)]
pub(super) struct Fence {
    min: u64,
    /// Number of low bits of a key, relative to `min`, that do not select its cell.
    shift: u32,
    /// Start position of each cell, followed by the number of keys.
    starts: Vec<usize>,
    cells: usize,
}

impl Fence {
    /// Keys per cell. The error of an interpolated guess is about the square root, 8 keys, which is
    /// one cache line.
    const KEYS_PER_CELL: u64 = 64;
    /// Maximum number of cells: 512 KiB of memory, reached at 4 M keys.
    const MAX_CELLS: u64 = 1 << 16;

    pub(super) fn new(Bounds { min, max, count }: Bounds) -> Self {
        let wanted = (count / Self::KEYS_PER_CELL)
            .clamp(2, Self::MAX_CELLS)
            .next_power_of_two();
        let range = max.saturating_sub(min);
        // At most 63, because `wanted` is at least 2: shifting by 64 would overflow.
        let shift = (u64::BITS - range.leading_zeros()).saturating_sub(wanted.ilog2());
        let cells = (range >> shift) as usize + 1;
        Self {
            min,
            shift,
            starts: Vec::with_capacity(cells + 1),
            cells,
        }
    }

    /// Registers a key. Keys must be pushed in order and lie within the bounds.
    pub(super) fn push(&mut self, position: usize, key: u64) {
        let cell = ((key - self.min) >> self.shift) as usize;
        while self.starts.len() <= cell {
            self.starts.push(position);
        }
    }

    pub(super) fn finish(&mut self, count: usize) {
        self.starts.resize(self.cells + 1, count);
    }

    /// Returns the first position of the cell of `key`, the position after its last, and the offset
    /// from the first at which the key would be if keys were uniform. The key must lie within the
    /// bounds.
    pub(super) fn cell(&self, key: u64) -> (usize, usize, usize) {
        let distance = key - self.min;
        let cell = (distance >> self.shift) as usize;
        let (start, end) = (self.starts[cell], self.starts[cell + 1]);
        let within = distance & ((1 << self.shift) - 1);
        let guess = (u128::from(within) * (end - start) as u128) >> self.shift;
        (start, end, guess as usize)
    }

    pub(super) fn memory_bytes(&self) -> usize {
        self.starts.capacity() * size_of::<usize>()
    }
}

/// Returns the position in `keys` of the first key that is not less than `key`: gallops from the
/// guess until the key is enclosed, then searches binarily. For uniform keys the guess is off by
/// about the square root of their number, one cache line; for the worst keys this takes twice as
/// long as a binary search.
pub(super) fn search(keys: &[[u8; 8]], guess: usize, key: u64) -> usize {
    let is_less = |position: usize| {
        keys.get(position)
            .is_some_and(|found| u64::from_le_bytes(*found) < key)
    };
    // Keys before `low` are less than the key, keys from `high` on are not.
    let (mut low, mut high) = (0, keys.len());
    let mut stride = 4;
    if is_less(guess) {
        low = guess + 1;
        while low + stride < high {
            if !is_less(low + stride) {
                high = low + stride;
                break;
            }
            low += stride + 1;
            stride *= 2;
        }
    } else {
        high = guess.min(high);
        while stride < high {
            if is_less(high - stride) {
                low = high - stride + 1;
                break;
            }
            high -= stride;
            stride *= 2;
        }
    }
    low + keys[low..high].partition_point(|found| u64::from_le_bytes(*found) < key)
}
