//! The lines of one page, with what its site knows of each.

use super::cells::Cell;
use super::{Class, FREQUENT, MIN_FREQUENT, Seen, Standing, YOUNG};

/// Some lines of one page, each looked up once: that takes most of the time that a template is
/// asked for.
#[derive(Debug)]
pub struct KnownLines<'a> {
    seen: Seen<'a>,
    cells: Vec<Option<Cell>>,
    layout: OfLayout,
    has_volatile: bool,
}

impl<'a> KnownLines<'a> {
    /// Looks up the lines of a page of this layout.
    pub fn of(lines: impl Iterator<Item = u32>, layout: u32, seen: Seen<'a>) -> Self {
        Self {
            seen,
            cells: lines.map(|line| seen.cell(line)).collect(),
            layout: OfLayout::of(layout, seen),
            has_volatile: seen.has_volatile(),
        }
    }

    /// Returns what was looked up in.
    pub fn seen(&self) -> Seen<'a> {
        self.seen
    }

    fn cell(&self, at: usize) -> Option<&Cell> {
        self.cells.get(at)?.as_ref()
    }

    /// Returns `true` if a page of the site had the line at this place, as far as is remembered.
    pub fn knows(&self, at: usize) -> bool {
        self.cell(at).is_some()
    }

    /// Returns `true` if many of the site's pages have the line at this place.
    pub fn is_frequent(&self, at: usize) -> bool {
        let least = (self.layout.of_site / FREQUENT).max(MIN_FREQUENT);
        self.cell(at).is_some_and(|cell| cell.pages >= least)
    }

    /// Returns what the line at this place is on the site. `is_counted` says whether the page
    /// itself was counted, and `is_frame` whether the page has the line in its frame.
    pub fn standing(&self, at: usize, is_counted: bool, is_frame: bool) -> Standing {
        self.layout.standing(self.cell(at), is_counted, is_frame)
    }

    /// Returns `true` if the lines of one of these classes are known to change between two fetches
    /// of one URL.
    pub fn are_volatile(&self, classes: impl Iterator<Item = Class>) -> bool {
        self.has_volatile && { classes }.any(|class| self.seen.is_volatile(class))
    }
}

/// What decides about the lines of all pages of a layout.
#[derive(Debug, Clone, Copy)]
pub(super) struct OfLayout {
    /// Whether headlines tell its pages apart.
    distinguishes: bool,
    /// Number of its pages.
    pages: u32,
    /// Number of pages of the site.
    of_site: u32,
}

impl OfLayout {
    pub(super) fn of(layout: u32, seen: Seen<'_>) -> Self {
        let head = seen.head();
        Self {
            distinguishes: head.distinguishes(layout),
            pages: head.layouts.pages(layout),
            of_site: head.pages,
        }
    }

    /// What a line is of which this is known.
    pub(super) fn standing(
        self,
        cell: Option<&Cell>,
        is_counted: bool,
        is_frame: bool,
    ) -> Standing {
        let Some(cell) = cell else {
            return Standing::Rare;
        };
        if cell.is_template(self.distinguishes) && cell.is_current(self.of_site) {
            let is_common = self.pages >= YOUNG && cell.pages >= self.pages.div_ceil(2);
            return match is_frame && is_common {
                true => Standing::Frame,
                false => Standing::Template,
            };
        }
        match cell.pages > u32::from(is_counted) {
            true => Standing::Common,
            false => Standing::Rare,
        }
    }
}
