//! Whether headlines tell the pages of a site, or of one of its layouts, apart.

use serde::{Deserialize, Serialize};

/// Maximum number of layouts counted per site. The one with the fewest pages makes room.
const MAX_LAYOUTS: usize = 16;

/// The headlines of pages: how many have none, and how many the commonest one at least (Boyer,
/// Moore, "A fast majority vote algorithm", 1981).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Headlines {
    pub(super) pages: u32,
    none: u32,
    candidate: u32,
    votes: u32,
    /// Number of pages that had the candidate while it was one.
    same: u32,
}

impl Headlines {
    pub(super) fn see(&mut self, headline: Option<u32>) {
        self.pages = self.pages.saturating_add(1);
        let Some(headline) = headline else {
            self.none += 1;
            return;
        };
        if self.votes == 0 {
            (self.candidate, self.same) = (headline, 0);
        }
        if headline == self.candidate {
            self.votes += 1;
            self.same += 1;
        } else {
            self.votes -= 1;
        }
    }

    /// Whether at most half of the pages have one headline, or none.
    pub(super) fn distinguish(&self) -> bool {
        self.none.saturating_add(self.same) <= self.pages / 2
    }
}

/// The headlines of each of some layouts.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Layouts(Vec<(u32, Headlines)>);

impl Layouts {
    pub(super) fn of(&self, layout: u32) -> Option<&Headlines> {
        let known = self.0.iter().find(|(known, _)| *known == layout);
        known.map(|(_, headlines)| headlines)
    }

    /// Returns the place of a layout, and the layout of a place.
    pub(super) fn place(&self, layout: u32) -> Option<usize> {
        self.0.iter().position(|(known, _)| *known == layout)
    }

    pub(super) fn at(&self, place: usize) -> Option<u32> {
        self.0.get(place).map(|(layout, _)| *layout)
    }

    pub(super) fn pages(&self, layout: u32) -> u32 {
        self.of(layout).map_or(0, |headlines| headlines.pages)
    }

    pub(super) fn see(&mut self, layout: u32, headline: Option<u32>) {
        let known = self.0.iter_mut().find(|(known, _)| *known == layout);
        if let Some((_, known)) = known {
            known.see(headline);
            return;
        }
        if self.0.len() >= MAX_LAYOUTS {
            let fewest = self.0.iter().enumerate();
            let fewest = fewest.min_by_key(|(_, (_, headlines))| headlines.pages);
            if let Some((at, _)) = fewest {
                self.0.swap_remove(at);
            }
        }
        let mut first = Headlines::default();
        first.see(headline);
        self.0.push((layout, first));
    }

    pub(super) fn memory_bytes(&self) -> usize {
        self.0.capacity() * size_of::<(u32, Headlines)>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_headline_for_most_pages_distinguishes_none() {
        let mut all = Headlines::default();
        (0..100).for_each(|page| all.see(Some(page % 50)));
        assert!(all.distinguish());
        let mut one = Headlines::default();
        (0..100).for_each(|page| one.see(Some(if page % 3 == 0 { page } else { 7 })));
        assert!(!one.distinguish());
        let mut none = Headlines::default();
        (0..100).for_each(|page| none.see((page % 3 == 0).then_some(page)));
        assert!(!none.distinguish());
    }

    #[test]
    fn layouts_are_bounded_and_the_common_ones_stay() {
        let mut layouts = Layouts::default();
        for page in 0..1_000 {
            layouts.see(1, Some(page));
            layouts.see(1_000 + page, None);
        }
        assert_eq!(layouts.pages(1), 1_000);
        assert_eq!(layouts.0.len(), MAX_LAYOUTS);
    }
}
