//! Which files of the archives are on the disks of other workers, which have owned the crawl
//! before or since: a row of `Meta` that is about this disk.

use serde::{Deserialize, Serialize};

use crate::archive::NUMBERS_OF_ONE;
use crate::store::{Result, Store, Table, decode, keys};

/// Numbers of files that are not on this disk, in ascending ranges: from, to (without).
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct OtherFiles {
    /// Those of the archive of pages.
    pub pages: Vec<(u32, u32)>,
    /// Those of the archive of texts.
    pub texts: Vec<(u32, u32)>,
}

impl OtherFiles {
    /// Reads the row; without one, all files are here.
    pub fn read(store: &dyn Store) -> Result<Self> {
        let row = store.get(Table::Meta, keys::meta::OTHERS)?;
        row.map_or(Ok(Self::default()), |row| decode(Table::Meta, &row))
    }

    /// Returns the first number of the files that a worker begins who takes a crawl over, as the
    /// n-th to do so; `None` if there are no more numbers.
    ///
    /// Each has [`NUMBERS_OF_ONE`] of its own, so that the number of a file tells who has it, and
    /// no two files of a crawl have the same name.
    pub fn first_of(keeper: u64) -> Option<u32> {
        let keeper = u16::try_from(keeper).ok().filter(|it| *it < u16::MAX)?;
        Some(u32::from(keeper) * NUMBERS_OF_ONE)
    }

    /// Returns which of these workers has begun the file of a number.
    pub fn keeper_of(segment: u32) -> u64 {
        u64::from(segment / NUMBERS_OF_ONE)
    }

    /// Returns which of these workers' files are on this disk, of the first to the one that began
    /// the file of a number.
    pub fn keepers_here(&self, through: u32) -> impl Iterator<Item = u64> {
        let is_here = |keeper: &u64| {
            let first = Self::first_of(*keeper);
            let is_in =
                |(from, to): &(u32, u32)| first.is_some_and(|it| (*from..*to).contains(&it));
            !self.pages.iter().any(is_in)
        };
        (0..=Self::keeper_of(through)).filter(is_here)
    }

    /// Returns the numbers up to `end` in `ranges`' gaps: those of the files that are here.
    pub fn here(ranges: &[(u32, u32)], end: u32) -> impl Iterator<Item = u32> {
        let ends = [(end.saturating_add(1), 0)];
        let mut from = 0;
        let gaps = ranges.iter().copied().chain(ends);
        gaps.flat_map(move |(until, next)| std::mem::replace(&mut from, next)..until)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_of_others_are_left_out() {
        let here = |ranges: &[(u32, u32)], end| OtherFiles::here(ranges, end).collect::<Vec<_>>();
        assert_eq!(here(&[], 2), [0, 1, 2]);
        assert_eq!(here(&[(0, 65_536)], 65_537), [65_536, 65_537]);
        assert_eq!(here(&[(2, 5), (6, 9)], 10), [0, 1, 5, 9, 10]);
    }

    #[test]
    fn each_keeper_has_numbers_of_its_own() {
        assert_eq!(OtherFiles::first_of(0), Some(0));
        assert_eq!(OtherFiles::first_of(3), Some(3 << 16));
        assert_eq!(OtherFiles::first_of(65_535), None);
        assert_eq!(OtherFiles::keeper_of((3 << 16) + 9), 3);
        let here = |pages: &[(u32, u32)], through| {
            let others = OtherFiles {
                pages: pages.to_vec(),
                ..OtherFiles::default()
            };
            others.keepers_here(through).collect::<Vec<_>>()
        };
        assert_eq!(here(&[], 9), [0]);
        assert_eq!(here(&[(0, 2 << 16)], (2 << 16) + 1), [2]);
        // One that has two files of its own as the first, and is the fourth now.
        assert_eq!(here(&[(2, 3 << 16)], 3 << 16), [0, 3]);
    }
}
