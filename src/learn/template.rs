//! The template of a site: which lines its pages share because they are pages of that site, and not
//! because they say the same.
//!
//! A page with a thousand copies shares its text under one headline; product pages share theirs
//! under a thousand. So a line is template when it occurs with many distinct *contexts*, never
//! because it is on many pages: with [`CONTEXTS`] headlines or, where headlines do not distinguish
//! the pages of a layout, with as many remainders (what else of its own a page says). Each set of
//! contexts is a bitmap of 32 hashes, so counts are lower bounds and nothing becomes template too
//! early.
//!
//! A [`Template`] changes by a [`Change`] only, which a commit collects on top of it, and which is
//! written as what was done (`template/written.rs`); the cells themselves are in
//! `template/cells.rs`.

mod bits;
mod cells;
mod headlines;
mod known;
mod slots;
mod written;

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

use serde::{Deserialize, Serialize};

pub use cells::MAX_CELLS;
use cells::{Cell, Cells};
use headlines::{Headlines, Layouts};
pub use known::KnownLines;
use known::OfLayout;
use slots::Suspects;
pub use slots::slots;
use written::Steps;

/// Number of distinct contexts with which a line is template.
const CONTEXTS: u32 = 6;
/// Number of pages of a site, and of a layout, before which nothing is said about its template.
pub const YOUNG: u32 = 16;
/// A template line that was seen on as many pages is settled: of its further pages only every
/// [`SAMPLE`]th is counted, as so many.
const SETTLED: u32 = 64;
const SAMPLE: u32 = 16;
/// A line that none of so many pages had, nor of the last tenth of all, is template no more.
const FORGET_AFTER: u32 = 500;
/// Maximum number of classes of lines, of each kind, of which it is asked whether they change
/// between two fetches of one URL, and of how many pages of a class.
const MAX_CLASSES: usize = 64;
const MAX_ASKED: u8 = 3;
/// Maximum number of pages that wait for what others say of a class.
const MAX_WAITING: u16 = 256;
/// Number of pages on which the line of a class must have changed. What changed on one may be a
/// price that was raised meanwhile.
const CHANGES: u8 = 2;

/// Number of pages of any site that are asked for again because of slots; of a large site, one page
/// in a hundred more.
const MIN_AGAIN: u32 = 24;
/// What is on one page in so many, and on so many pages, is a line that many pages have.
const FREQUENT: u32 = 8;
const MIN_FREQUENT: u32 = 6;

/// One line of a page, as a template counts it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Unit {
    /// Hash of the line, without what only repeats the page's URL.
    pub line: u32,
    /// Set if it is part of what a page says, and not of its frame or its forms.
    pub is_said: bool,
}

/// A page, as a template counts it.
#[derive(Debug, Clone, Copy)]
pub struct Sighting<'a> {
    /// Hash of its headline.
    pub headline: Option<u32>,
    /// Its layout.
    pub layout: u32,
    /// Its lines.
    pub units: &'a [Unit],
}

/// A page, as it is counted besides its lines.
#[derive(Debug, Clone, Copy)]
struct Counted {
    headline: Option<u32>,
    layout: u32,
    /// Sum of the mixed hashes of the lines that it says.
    said: u32,
}

/// What a line is on its site.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Standing {
    /// No other page has it.
    Rare,
    /// Other pages have it too.
    Common,
    /// It is template.
    Template,
    /// It is the frame of its layout: template, outside of what its pages say, and on at least half
    /// of them.
    Frame,
}

/// What is known of a site besides its lines. Some hundred bytes, rewritten with each change.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Head {
    /// Number of pages counted.
    pages: u32,
    all: Headlines,
    layouts: Layouts,
    /// What is known of lines that may change between two fetches of one URL.
    examined: Vec<Examined>,
    /// Slots whose lines may change between two fetches, because they alone made pages new, and the
    /// number of pages that were asked for again because of them.
    suspects: Suspects,
    again: u32,
}

/// What is known of a class of lines: how many pages were asked for again because of it, how many
/// of them came, on how many pages it changed, and how many pages wait for the answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
struct Examined {
    class: Class,
    asked: u8,
    came: u8,
    changed: u8,
    waiting: u16,
}

/// What to do with a page that would be a duplicate but for lines of a class.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Doubt {
    /// Fetch it again, to see whether they change.
    Ask,
    /// Wait for what other pages say.
    Wait,
    /// Leave it: that is known.
    None,
}

/// Lines that may change between two fetches of one URL.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Class {
    /// Those that say the same but for their numbers.
    Numbers(u32),
    /// Those that stand in the same place.
    Place(u32),
    /// Those that stand in the same slot.
    Slot(u32),
}

/// The template of one site.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Template {
    head: Head,
    cells: Cells,
}

/// What pages change in a [`Template`], on top of it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Change {
    head: Head,
    cells: HashMap<u32, Cell, ByHash>,
    steps: Steps,
}

/// Takes the hash of a line as its own hash.
#[derive(Debug, Clone, Copy, Default)]
struct Hashed(u64);

type ByHash = BuildHasherDefault<Hashed>;

impl Hasher for Hashed {
    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = self.0.rotate_left(8) ^ u64::from(*byte);
        }
    }

    fn write_u32(&mut self, line: u32) {
        // The table takes its tags from the upper bits.
        self.0 = u64::from(line) << 32 | u64::from(mix(line));
    }

    fn finish(&self) -> u64 {
        self.0
    }
}

/// A template with what was changed since.
#[derive(Debug, Clone, Copy)]
pub struct Seen<'a> {
    base: &'a Template,
    change: Option<&'a Change>,
}

impl Template {
    /// Returns a whole template from its bytes; `None` if they are damaged.
    pub fn decode(bytes: &[u8]) -> Option<Self> {
        let (head, cells) = written::whole(bytes)?;
        Some(Self {
            head,
            cells: Cells::of_whole(&cells),
        })
    }

    /// Takes over a change that was collected on top of it, from its bytes. Returns how many lines
    /// were counted, or changes nothing and returns `None` if the bytes are damaged.
    pub fn apply(&mut self, bytes: &[u8]) -> Option<usize> {
        let change = written::change(self, bytes)?;
        let lines = change.counted();
        self.take_over(change);
        Some(lines)
    }

    /// Takes over a change that was collected on top of it.
    pub fn take_over(&mut self, change: Change) {
        let mut cells: Vec<Cell> = change.cells.into_values().collect();
        // What leaves where there is no room depends on the order.
        cells.sort_unstable_by_key(|cell| cell.line);
        for cell in cells {
            self.cells.put(cell, change.head.pages);
        }
        self.head = change.head;
    }

    /// Returns the template as bytes.
    pub fn encode(&self) -> Vec<u8> {
        written::encode_whole(&self.head, self.cells.iter())
    }

    /// Returns its size in memory, in bytes.
    pub fn memory_bytes(&self) -> usize {
        self.cells.memory_bytes() + self.head.layouts.memory_bytes() + size_of::<Self>()
    }

    /// Returns the number of lines that it remembers.
    pub fn len(&self) -> usize {
        self.cells.len()
    }

    /// Returns `true` if it remembers no line.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl Change {
    /// Begins a change of a template.
    pub fn of(base: &Template) -> Self {
        Self {
            head: base.head.clone(),
            ..Self::default()
        }
    }

    /// Counts a page. Exact duplicates of pages that were counted must be left out.
    pub fn take_in(&mut self, base: &Template, page: &Sighting<'_>) {
        let said = page.units.iter().filter(|unit| unit.is_said);
        let counted = Counted {
            headline: page.headline,
            layout: page.layout,
            said: said.fold(0, |sum: u32, unit| sum.wrapping_add(mix(unit.line))),
        };
        let mut lines: Vec<Unit> = page.units.to_vec();
        lines.sort_unstable_by_key(|unit| unit.line);
        lines.dedup_by_key(|unit| unit.line);
        let layout = self.head.layouts.place(page.layout);
        self.count(base, &counted, &mut lines);
        self.steps.page(&counted, layout, &lines);
    }

    /// Counts a page with some lines, each once; leaves those of which it changes what is known.
    fn count(&mut self, base: &Template, page: &Counted, lines: &mut Vec<Unit>) {
        let head = &mut self.head;
        head.pages = head.pages.saturating_add(1);
        head.all.see(page.headline);
        head.layouts.see(page.layout, page.headline);
        let distinguishes = self.head.distinguishes(page.layout);
        let at = self.head.pages;
        lines.retain(|unit| {
            let known = self.cells.get(&unit.line).copied();
            let known = known.or_else(|| base.cells.get(unit.line));
            let mut cell = known.unwrap_or(Cell::new(unit.line));
            let mut weight = 1;
            if cell.pages >= SETTLED && cell.is_template(distinguishes) && cell.is_current(at) {
                if !at.wrapping_add(unit.line).is_multiple_of(SAMPLE) {
                    return false;
                }
                weight = SAMPLE;
            }
            let own = if unit.is_said { mix(unit.line) } else { 0 };
            cell.see(page.headline, page.said.wrapping_sub(own), (weight, at));
            self.cells.insert(unit.line, cell);
            true
        });
    }

    /// Returns what to do with a page that would be a duplicate but for lines of this class, and
    /// counts it.
    pub fn doubt(&mut self, class: Class) -> Doubt {
        let doubt = self.examine(class);
        // Otherwise nothing has changed.
        if doubt != Doubt::None {
            self.steps.doubt(class);
        }
        doubt
    }

    fn examine(&mut self, class: Class) -> Doubt {
        let Some(known) = self.examined(class) else {
            return Doubt::None;
        };
        if known.changed >= CHANGES {
            Doubt::None
        } else if known.asked < MAX_ASKED {
            known.asked += 1;
            Doubt::Ask
        } else if known.came < known.asked && known.waiting < MAX_WAITING {
            known.waiting += 1;
            Doubt::Wait
        } else {
            Doubt::None
        }
    }

    /// Counts a page that is new by the lines of these slots only. Returns the slot for which the
    /// page is to be visited again, if it is.
    pub fn suspect(&mut self, slots: &[u32]) -> Option<u32> {
        self.steps.suspect(slots);
        self.count_suspects(slots)
    }

    fn count_suspects(&mut self, slots: &[u32]) -> Option<u32> {
        let suspected = self.head.suspects.count(slots);
        if self.head.again >= MIN_AGAIN + self.head.pages / 100 {
            return None;
        }
        let mut suspected = suspected.into_iter();
        let asked = suspected.find(|slot| self.examine(Class::Slot(*slot)) == Doubt::Ask)?;
        self.head.again += 1;
        Some(asked)
    }

    /// Records whether the line of a class differed between two fetches of one URL. Returns `true`
    /// if with that the class is known to change.
    pub fn note_change(&mut self, class: Class, changed: bool) -> bool {
        self.steps.note(class, changed);
        self.count_change(class, changed)
    }

    fn count_change(&mut self, class: Class, changed: bool) -> bool {
        let Some(known) = self.examined(class) else {
            return false;
        };
        known.came = known.came.saturating_add(1);
        known.changed = known.changed.saturating_add(u8::from(changed));
        changed && known.changed == CHANGES
    }

    fn examined(&mut self, class: Class) -> Option<&mut Examined> {
        let all = &mut self.head.examined;
        let kind = std::mem::discriminant(&class);
        let of_kind = all.iter().map(|it| std::mem::discriminant(&it.class));
        let of_kind = of_kind.filter(|it| *it == kind);
        let at = match all.iter().position(|known| known.class == class) {
            Some(at) => at,
            None if of_kind.count() < MAX_CLASSES => {
                all.push(Examined {
                    class,
                    asked: 0,
                    came: 0,
                    changed: 0,
                    waiting: 0,
                });
                all.len() - 1
            }
            None => return None,
        };
        all.get_mut(at)
    }

    /// Returns the change as bytes, which mean what they do on top of the same template only.
    pub fn encode(&self) -> Vec<u8> {
        self.steps.encode()
    }

    /// Returns the number of lines that were counted, page by page: what it takes to read the
    /// change again.
    pub fn counted(&self) -> usize {
        self.steps.lines
    }

    /// Returns the number of pages, if the template came of age with them: 16, 64, 256 and so on.
    /// What was judged before should be judged again then.
    pub fn came_of_age(&self, base: &Template) -> Option<u32> {
        (age(base.head.pages) < age(self.head.pages)).then_some(self.head.pages)
    }

    /// Returns the number of lines that change.
    pub fn len(&self) -> usize {
        self.cells.len()
    }

    /// Returns `true` if no line changes.
    pub fn is_empty(&self) -> bool {
        self.cells.is_empty()
    }
}

impl<'a> Seen<'a> {
    /// A template, with a change on top of it if there is one.
    pub fn new(base: &'a Template, change: Option<&'a Change>) -> Self {
        Self { base, change }
    }

    fn head(&self) -> &'a Head {
        self.change.map_or(&self.base.head, |change| &change.head)
    }

    fn cell(&self, line: u32) -> Option<Cell> {
        let changed = self.change.and_then(|change| change.cells.get(&line));
        changed.copied().or_else(|| self.base.cells.get(line))
    }

    /// Returns the number of pages of the site that were counted.
    pub fn pages(&self) -> u32 {
        self.head().pages
    }

    /// Returns `true` if a page of the site had the line, as far as is remembered.
    pub fn knows(&self, line: u32) -> bool {
        self.cell(line).is_some()
    }

    /// Returns `true` if enough pages of the site and of the layout were seen to say what their
    /// template is.
    pub fn is_settled(&self, layout: u32) -> bool {
        self.pages() >= YOUNG && self.head().layouts.pages(layout) >= YOUNG
    }

    /// Returns what a line is on the site, for a page of this layout. `is_counted` says whether the
    /// page itself was counted, and `is_frame` whether the page has the line in its frame.
    pub fn standing(&self, line: u32, layout: u32, is_counted: bool, is_frame: bool) -> Standing {
        OfLayout::of(layout, *self).standing(self.cell(line).as_ref(), is_counted, is_frame)
    }

    /// Returns `true` if the lines of a class did not change between two fetches of one URL.
    pub fn is_steady(&self, class: Class) -> bool {
        let known = self.examined(class);
        known.is_some_and(|known| known.came > 0 && known.changed == 0)
    }

    /// Returns `true` if the lines of a class are known to change between two fetches of one URL.
    pub fn is_volatile(&self, class: Class) -> bool {
        let known = self.examined(class);
        known.is_some_and(|known| known.changed >= CHANGES)
    }

    fn has_volatile(&self) -> bool {
        let mut examined = self.head().examined.iter();
        examined.any(|known| known.changed >= CHANGES)
    }

    fn examined(&self, class: Class) -> Option<&Examined> {
        let mut examined = self.head().examined.iter();
        examined.find(|known| known.class == class)
    }
}

impl Head {
    /// Whether headlines tell the pages of a layout apart.
    fn distinguishes(&self, layout: u32) -> bool {
        match self.layouts.of(layout) {
            Some(known) if known.pages >= YOUNG / 2 => known.distinguish(),
            _ => self.all.distinguish(),
        }
    }
}

impl Class {
    /// Returns the class as the part of a key.
    pub fn to_bytes(self) -> [u8; 5] {
        let (kind, hash) = self.parts();
        let [a, b, c, d] = hash.to_be_bytes();
        [kind, a, b, c, d]
    }

    fn parts(self) -> (u8, u32) {
        match self {
            Self::Numbers(hash) => (0, hash),
            Self::Place(hash) => (1, hash),
            Self::Slot(hash) => (2, hash),
        }
    }

    fn of_parts(kind: u8, hash: u32) -> Option<Self> {
        match kind {
            0 => Some(Self::Numbers(hash)),
            1 => Some(Self::Place(hash)),
            2 => Some(Self::Slot(hash)),
            _ => None,
        }
    }

    /// Returns the class of the lines between two others.
    pub fn of_place(before: u32, after: u32) -> Self {
        Self::Place(mix(before.rotate_left(16) ^ mix(after)))
    }

    /// Returns the class of the lines with this text without numbers. If it says little, only those
    /// between the same two others are meant.
    pub fn of_numbers(letters: u32, around: Option<(u32, u32)>) -> Self {
        let place = around.map_or(0, |(before, after)| before.rotate_left(16) ^ mix(after));
        Self::Numbers(mix(letters ^ mix(place)))
    }
}

/// How often a template has come of age.
fn age(pages: u32) -> u32 {
    (pages / YOUNG).checked_ilog(4).map_or(0, |times| times + 1)
}

/// Spreads the bits of a number (the finalizer of `MurmurHash3`, 32 bits).
fn mix(number: u32) -> u32 {
    let mut mixed = number ^ (number >> 16);
    mixed = mixed.wrapping_mul(0x85eb_ca6b);
    mixed ^= mixed >> 13;
    mixed = mixed.wrapping_mul(0xc2b2_ae35);
    mixed ^ (mixed >> 16)
}

#[cfg(test)]
mod tests;
