//! The lines of a site: a bounded table of cells in which new lines replace those that were on the
//! fewest pages.

use super::bits::{BitReader, BitWriter};
use super::{CONTEXTS, FORGET_AFTER, SAMPLE, mix};

/// Maximum number of lines remembered per site.
pub const MAX_CELLS: usize = 16_384;
/// Size of a cell as bytes before format 16.
pub(super) const CELL_BYTES: usize = 20;
/// Cells among which a new line finds its place.
const WAYS: usize = 32;
const MAX_SETS: usize = MAX_CELLS / WAYS;

/// Bits of the number of one in a bitmap of 32.
const BIT: u32 = 5;

/// What is known of one line.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Cell {
    /// Hash of the line.
    pub(super) line: u32,
    /// Bitmaps of the headlines and of the remainders that it was seen with, by their hashes.
    pub(super) headlines: u32,
    pub(super) remainders: u32,
    /// Number of pages that had it.
    pub(super) pages: u32,
    /// The last page that had it, as the number of pages counted then.
    pub(super) seen: u32,
}

impl Cell {
    pub(super) fn new(line: u32) -> Self {
        Self {
            line,
            ..Self::default()
        }
    }

    /// Counts a page, or as many as `weight`, of which the last is page `at` of the site.
    pub(super) fn see(&mut self, headline: Option<u32>, remainder: u32, (weight, at): (u32, u32)) {
        let bit = |hash: u32| 1_u32 << (mix(hash) >> 27);
        self.headlines |= headline.map_or(0, bit);
        self.remainders |= bit(remainder);
        self.pages = self.pages.saturating_add(weight);
        self.seen = at;
    }

    /// Whether it occurs with enough distinct contexts.
    pub(super) fn is_template(&self, headlines_distinguish: bool) -> bool {
        let many = |contexts: u32| contexts.count_ones() >= CONTEXTS;
        many(self.headlines) || !headlines_distinguish && many(self.remainders)
    }

    /// Whether the site still has it, after `pages` pages.
    pub(super) fn is_current(&self, pages: u32) -> bool {
        self.seen >= oldest_current(pages)
    }

    fn of((line, counts): (&u32, &Counts)) -> Self {
        Self {
            line: *line,
            headlines: counts.headlines,
            remainders: counts.remainders,
            pages: counts.pages,
            seen: counts.seen,
        }
    }

    /// Writes what is known of a line of a template of so many pages. Most were on one page.
    pub(super) fn write(&self, pages: u32, bits: &mut BitWriter) {
        let is_rare = self.pages == 1
            && self.remainders.is_power_of_two()
            && self.headlines.count_ones() <= 1;
        bits.bits(u64::from(is_rare), 1);
        if is_rare {
            let headline = self.headlines.checked_ilog2();
            bits.bits(u64::from(headline.is_some()), 1);
            if let Some(bit) = headline {
                bits.bits(u64::from(bit), BIT);
            }
            bits.bits(u64::from(self.remainders.trailing_zeros()), BIT);
        } else {
            bits.bits(u64::from(self.headlines), u32::BITS);
            bits.bits(u64::from(self.remainders), u32::BITS);
            bits.small(self.pages);
        }
        let age = pages.saturating_sub(self.seen);
        bits.bits(u64::from(age), width(pages));
    }

    /// Reads what [`write`](Self::write) wrote.
    pub(super) fn read(line: u32, pages: u32, bits: &mut BitReader<'_>) -> Option<Self> {
        let mut cell = Self::new(line);
        if bits.bits(1)? == 1 {
            if bits.bits(1)? == 1 {
                cell.headlines = 1 << bits.bits(BIT)?;
            }
            cell.remainders = 1 << bits.bits(BIT)?;
            cell.pages = 1;
        } else {
            cell.headlines = bits.bits(u32::BITS)? as u32;
            cell.remainders = bits.bits(u32::BITS)? as u32;
            cell.pages = bits.small()?;
        }
        cell.seen = pages.checked_sub(bits.bits(width(pages))? as u32)?;
        Some(cell)
    }

    pub(super) fn from_bytes(bytes: &[u8; CELL_BYTES]) -> Self {
        let number = |at: usize| {
            let four = bytes.as_chunks::<4>().0.get(at);
            u32::from_le_bytes(four.copied().unwrap_or_default())
        };
        Self {
            line: number(0),
            headlines: number(1),
            remainders: number(2),
            pages: number(3),
            seen: number(4),
        }
    }
}

/// The bit of each place in a set.
const BITS: [u32; WAYS] = {
    let mut bits = [0; WAYS];
    let mut at = 0;
    while at < WAYS {
        bits[at] = 1 << at;
        at += 1;
    }
    bits
};

/// Some cells whose hashes lead to one place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Set {
    /// The lines of the cells, which are searched.
    lines: [u32; WAYS],
    /// Number of cells in use, which are the first ones.
    len: u32,
    counts: [Counts; WAYS],
}

/// What a [`Cell`] says of its line.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Counts {
    headlines: u32,
    remainders: u32,
    pages: u32,
    seen: u32,
}

impl Set {
    fn empty() -> Self {
        Self {
            lines: [0; WAYS],
            len: 0,
            counts: [Counts::default(); WAYS],
        }
    }

    /// Returns the place of a line. Without an early exit and without shifts, so that several are
    /// compared at once.
    fn find(&self, line: u32) -> Option<usize> {
        let mut found = 0_u32;
        for (known, bit) in self.lines.iter().zip(BITS) {
            found |= u32::from(*known == line).wrapping_neg() & bit;
        }
        // What is not in use has a line too.
        let used = u32::MAX.checked_shr(WAYS as u32 - self.len).unwrap_or(0);
        let found = found & used;
        (found != 0).then_some(found.trailing_zeros() as usize)
    }

    /// Writes a cell into a place.
    fn write(&mut self, at: usize, cell: Cell) {
        if let (Some(line), Some(counts)) = (self.lines.get_mut(at), self.counts.get_mut(at)) {
            *line = cell.line;
            *counts = Counts {
                headlines: cell.headlines,
                remainders: cell.remainders,
                pages: cell.pages,
                seen: cell.seen,
            };
            self.len = self.len.max(at as u32 + 1);
        }
    }

    fn used(&self) -> impl Iterator<Item = Cell> {
        let cells = self.lines.iter().zip(&self.counts);
        cells.take(self.len as usize).map(Cell::of)
    }

    /// Returns the place of the line that was on the fewest pages, and longest ago, of a full set;
    /// what was seen before page `since` is on none.
    fn least(&self, since: u32) -> usize {
        let worth = |(line, counts): (&u32, &Counts)| {
            let pages = if counts.seen >= since {
                counts.pages
            } else {
                0
            };
            (u64::from(pages) << 32 | u64::from(counts.seen), *line)
        };
        let cells = self.lines.iter().zip(&self.counts).map(worth).enumerate();
        let least = cells.min_by_key(|(_, worth)| *worth);
        least.map_or(0, |(at, _)| at)
    }
}

/// The cells of a site, in sets by their hashes.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Cells {
    /// As many as a power of two, or none.
    sets: Vec<Set>,
    len: usize,
}

impl Cells {
    pub(super) fn get(&self, line: u32) -> Option<Cell> {
        let set = self.sets.get(self.place(line))?;
        let counts = set.counts.get(set.find(line)?)?;
        Some(Cell::of((&line, counts)))
    }

    /// Writes a cell. If there is no room, the line that was on the fewest pages, and longest ago,
    /// leaves; what the site no longer has leaves first. `pages` is the number of pages counted.
    pub(super) fn put(&mut self, cell: Cell, pages: u32) {
        if self.sets.is_empty() {
            self.sets.push(Set::empty());
        }
        loop {
            let place = self.place(cell.line);
            let is_largest = self.sets.len() >= MAX_SETS;
            let Some(set) = self.sets.get_mut(place) else {
                return;
            };
            if let Some(known) = set.find(cell.line) {
                set.write(known, cell);
                return;
            }
            let len = set.len as usize;
            if len < WAYS {
                set.write(len, cell);
                self.len += 1;
                return;
            }
            if is_largest {
                let least = set.least(oldest_current(pages));
                set.write(least, cell);
                return;
            }
            self.grow();
        }
    }

    /// Takes the cells of a whole table, each of another line: one after the other, without looking
    /// for any.
    pub(super) fn of_whole(cells: &[Cell]) -> Self {
        let mut all = Self {
            sets: vec![Set::empty(); sets_for(cells.len())],
            len: 0,
        };
        for cell in cells.iter().copied() {
            let place = all.place(cell.line);
            match all.sets.get_mut(place) {
                Some(set) if (set.len as usize) < WAYS => {
                    set.write(set.len as usize, cell);
                    all.len += 1;
                }
                // It was written by a table with more sets.
                _ => all.put(cell, 0),
            }
        }
        all
    }

    /// Doubles the number of sets. Each set parts into two, so every cell finds room.
    fn grow(&mut self) {
        let grown = vec![Set::empty(); self.sets.len() * 2];
        let old = std::mem::replace(&mut self.sets, grown);
        for cell in old.iter().flat_map(Set::used) {
            let place = self.place(cell.line);
            if let Some(set) = self.sets.get_mut(place) {
                set.write(set.len as usize, cell);
            }
        }
    }

    fn place(&self, line: u32) -> usize {
        mix(line) as usize & self.sets.len().saturating_sub(1)
    }

    pub(super) fn len(&self) -> usize {
        self.len
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = Cell> {
        self.sets.iter().flat_map(Set::used)
    }

    pub(super) fn memory_bytes(&self) -> usize {
        self.sets.len() * size_of::<Set>()
    }
}

/// Returns the number of bits that the age of a line takes, in pages, if so many were counted.
fn width(pages: u32) -> u32 {
    u32::BITS - pages.leading_zeros()
}

/// Returns a number of sets in which so many cells most likely find room.
fn sets_for(cells: usize) -> usize {
    if cells <= WAYS {
        return cells.min(1);
    }
    // One of the sets is full when two thirds of all cells are in use.
    let sets = (cells * 3 / 2).div_ceil(WAYS).next_power_of_two();
    sets.min(MAX_SETS)
}

/// Returns the page before which a line must have been seen last to be of the past, when `pages`
/// were counted.
fn oldest_current(pages: u32) -> u32 {
    let unseen = FORGET_AFTER.max(pages / 10).saturating_add(SAMPLE);
    pages.saturating_sub(unseen)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cell(line: u32, pages: u32, seen: u32) -> Cell {
        Cell {
            pages,
            seen,
            ..Cell::new(line)
        }
    }

    #[test]
    fn cells_are_found_again_and_bounded() {
        let mut cells = Cells::default();
        for line in 0..100_000 {
            cells.put(cell(line, 1, line), line);
        }
        assert!(
            cells.len() <= MAX_CELLS && cells.len() > MAX_CELLS * 9 / 10,
            "{}",
            cells.len()
        );
        assert!(cells.memory_bytes() <= MAX_CELLS * (CELL_BYTES + 1));
        // The newest of each set are there.
        assert!(cells.get(99_999).is_some() && cells.get(0).is_none());
        assert_eq!(cells.iter().count(), cells.len());
    }

    #[test]
    fn what_many_pages_have_stays_until_the_site_has_it_no_more() {
        let mut cells = Cells::default();
        cells.put(cell(u32::MAX, 40, 10), 10);
        (0..400_000).for_each(|line| cells.put(cell(line, 1, 20), 20));
        assert!(cells.get(u32::MAX).is_some());
        (400_000..800_000).for_each(|line| cells.put(cell(line, 1, 9_000), 9_000));
        assert!(cells.get(u32::MAX).is_none(), "a frame of long ago");
    }

    #[test]
    fn what_is_read_at_once_is_what_was_written_in_as_much_memory() {
        for number in [0, 1, 30, 40, 500, 3_000, 9_000, 16_000, 90_000] {
            let mut grown = Cells::default();
            (0..number).for_each(|line| grown.put(cell(line, 1, line), line));
            let mut written: Vec<_> = grown.iter().collect();
            written.sort_unstable_by_key(|cell| cell.line);
            let read = Cells::of_whole(&written);
            assert!(read.memory_bytes() <= grown.memory_bytes(), "{number}");
            assert_eq!(read.len(), grown.len());
            assert!((0..number).all(|line| read.get(line) == grown.get(line)));
        }
    }

    #[test]
    fn few_lines_take_little_memory() {
        let mut cells = Cells::default();
        (0..100).for_each(|line| cells.put(cell(line, 1, 1), 1));
        assert_eq!(cells.len(), 100);
        assert!(cells.memory_bytes() <= 100 * 8 * CELL_BYTES);
    }
}
