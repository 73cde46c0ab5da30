//! The lines of a site: a bounded table of cells in which new lines replace those that were on the
//! fewest pages.

use super::{CONTEXTS, FORGET_AFTER, SAMPLE, mix};

/// Maximum number of lines remembered per site.
pub const MAX_CELLS: usize = 16_384;
/// Size of a cell, in memory and as bytes.
pub(super) const CELL_BYTES: usize = 20;
/// Cells among which a new line finds its place.
const WAYS: usize = 32;
const MAX_SETS: usize = MAX_CELLS / WAYS;

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
        let unseen = pages.saturating_sub(self.seen);
        unseen <= FORGET_AFTER.max(pages / 10).saturating_add(SAMPLE)
    }

    pub(super) fn to_bytes(self) -> [u8; CELL_BYTES] {
        let mut bytes = [0; CELL_BYTES];
        let numbers = [
            self.line,
            self.headlines,
            self.remainders,
            self.pages,
            self.seen,
        ];
        for (into, number) in bytes.as_chunks_mut::<4>().0.iter_mut().zip(numbers) {
            *into = number.to_le_bytes();
        }
        bytes
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

/// The cells of a site, in sets by their hashes. An empty cell has no pages.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Cells {
    /// As many as a power of two, or none.
    sets: Vec<[Cell; WAYS]>,
    len: usize,
}

impl Cells {
    pub(super) fn get(&self, line: u32) -> Option<&Cell> {
        let set = self.sets.get(self.place(line))?;
        set.iter().find(|cell| cell.line == line && cell.pages > 0)
    }

    /// Writes a cell. If there is no room, the line that was on the fewest pages, and longest ago,
    /// leaves; what the site no longer has leaves first. `pages` is the number of pages counted.
    pub(super) fn put(&mut self, cell: Cell, pages: u32) {
        if self.sets.is_empty() {
            self.sets.push([Cell::default(); WAYS]);
        }
        loop {
            let place = self.place(cell.line);
            let has_room = self.sets.len() >= MAX_SETS;
            let Some(set) = self.sets.get_mut(place) else {
                return;
            };
            let known = set
                .iter_mut()
                .find(|it| it.pages > 0 && it.line == cell.line);
            if let Some(known) = known {
                *known = cell;
                return;
            }
            if let Some(empty) = set.iter_mut().find(|it| it.pages == 0) {
                *empty = cell;
                self.len += 1;
                return;
            }
            if has_room {
                let worth = |it: &Cell| {
                    let pages = if it.is_current(pages) { it.pages } else { 0 };
                    (pages, it.seen, it.line)
                };
                if let Some(least) = set.iter_mut().min_by_key(|it| worth(it)) {
                    *least = cell;
                }
                return;
            }
            self.grow();
        }
    }

    /// Doubles the number of sets. Each set parts into two, so every cell finds room.
    fn grow(&mut self) {
        let grown = vec![[Cell::default(); WAYS]; self.sets.len() * 2];
        let old = std::mem::replace(&mut self.sets, grown);
        for cell in old.iter().flatten().filter(|cell| cell.pages > 0) {
            let place = self.place(cell.line);
            let set = self.sets.get_mut(place);
            let empty = set.and_then(|set| set.iter_mut().find(|it| it.pages == 0));
            if let Some(empty) = empty {
                *empty = *cell;
            }
        }
    }

    fn place(&self, line: u32) -> usize {
        mix(line) as usize & self.sets.len().saturating_sub(1)
    }

    pub(super) fn len(&self) -> usize {
        self.len
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Cell> {
        self.sets.iter().flatten().filter(|cell| cell.pages > 0)
    }

    pub(super) fn memory_bytes(&self) -> usize {
        self.sets.len() * WAYS * CELL_BYTES
    }
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
        assert_eq!(cells.memory_bytes(), MAX_CELLS * CELL_BYTES);
        // The newest of each set are there.
        assert!(cells.get(99_999).is_some() && cells.get(0).is_none());
        assert_eq!(cells.iter().count(), cells.len());
        let bytes = cell(7, 8, 9).to_bytes();
        assert_eq!(Cell::from_bytes(&bytes), cell(7, 8, 9));
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
    fn few_lines_take_little_memory() {
        let mut cells = Cells::default();
        (0..100).for_each(|line| cells.put(cell(line, 1, 1), 1));
        assert_eq!(cells.len(), 100);
        assert!(cells.memory_bytes() <= 100 * 8 * CELL_BYTES);
    }
}
