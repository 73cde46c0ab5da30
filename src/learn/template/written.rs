//! Templates, and what changes them, as bytes.
//!
//! A whole template is its lines in the order of their hashes. A change is what was done, not what
//! came of it: the pages that were counted, with the lines that this changed, and what was asked
//! and found of lines that may change. Done again on the same template, in the same order, it comes
//! to the same; so whoever changes what counting does, changes what is written too.
//!
//! Before format 16, a change was everything that the pages changed, as it was afterwards, and
//! lines had 20 bytes each. Such rows are read too, and no new one begins as they do.

use super::bits::{BitReader, BitWriter};
use super::cells::{CELL_BYTES, Cell};
use super::{Change, Class, Counted, Head, Template, Unit};

/// What rows begin with. Those of earlier formats began with a number in its shortest form, which
/// this is not.
const MARK: [u8; 2] = [0x80, 0];
/// Bits of what is done.
const STEP_BITS: u32 = 2;
const PAGE: u64 = 0;
const DOUBT: u64 = 1;
const SUSPECT: u64 = 2;
const NOTE: u64 = 3;
/// Bits of the place of a layout among those of the site.
const LAYOUT_BITS: u32 = 4;
/// Bits of a line's hash, and of a line with what it is.
const HASH_BITS: u32 = 32;
const UNIT_BITS: u32 = HASH_BITS + 1;

/// What was done to a template, in order.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Steps {
    bits: BitWriter,
    count: u32,
    /// Number of lines that were counted.
    pub(super) lines: usize,
}

impl Steps {
    /// Adds a page that was counted, with the lines that changed, in the order of their hashes.
    /// `layout` is the place of its layout among those that were known before.
    pub(super) fn page(&mut self, page: &Counted, layout: Option<usize>, lines: &[Unit]) {
        self.step(PAGE);
        self.maybe(page.headline);
        self.bits.bits(u64::from(layout.is_none()), 1);
        match layout {
            Some(place) => self.bits.bits(place as u64, LAYOUT_BITS),
            None => self.hash(page.layout),
        }
        self.hash(page.said);
        self.bits
            .small(u32::try_from(lines.len()).unwrap_or(u32::MAX));
        let lines = lines.iter();
        let lines = lines.map(|unit| u64::from(unit.line) << 1 | u64::from(unit.is_said));
        self.lines += lines.len();
        self.bits.ascending(lines, UNIT_BITS);
    }

    pub(super) fn doubt(&mut self, class: Class) {
        self.step(DOUBT);
        self.class(class);
    }

    pub(super) fn suspect(&mut self, slots: &[u32]) {
        self.step(SUSPECT);
        self.bits
            .small(u32::try_from(slots.len()).unwrap_or(u32::MAX));
        for slot in slots {
            self.hash(*slot);
        }
    }

    pub(super) fn note(&mut self, class: Class, changed: bool) {
        self.step(NOTE);
        self.class(class);
        self.bits.bits(u64::from(changed), 1);
    }

    fn step(&mut self, step: u64) {
        self.count += 1;
        self.bits.bits(step, STEP_BITS);
    }

    fn class(&mut self, class: Class) {
        let (kind, hash) = class.parts();
        self.bits.bits(u64::from(kind), 2);
        self.hash(hash);
    }

    fn maybe(&mut self, hash: Option<u32>) {
        self.bits.bits(u64::from(hash.is_some()), 1);
        if let Some(hash) = hash {
            self.hash(hash);
        }
    }

    fn hash(&mut self, hash: u32) {
        self.bits.bits(u64::from(hash), HASH_BITS);
    }

    /// Returns what was done as bytes.
    pub(super) fn encode(&self) -> Vec<u8> {
        let mut bytes = postcard::to_extend(&self.count, MARK.to_vec()).unwrap_or_default();
        self.bits.add_to(&mut bytes);
        bytes
    }
}

/// Reads a change of a template from its bytes; `None` if they are damaged.
pub(super) fn change(base: &Template, bytes: &[u8]) -> Option<Change> {
    let Some(written) = bytes.strip_prefix(&MARK) else {
        let (head, cells) = before_16(bytes)?;
        let mut change = Change {
            head,
            cells: cells.iter().map(|cell| (cell.line, *cell)).collect(),
            ..Change::default()
        };
        change.steps.lines = cells.len();
        return Some(change);
    };
    let (count, rest) = postcard::take_from_bytes::<u32>(written).ok()?;
    let mut reader = BitReader::new(rest);
    let mut change = Change::of(base);
    for _ in 0..count {
        match reader.bits(STEP_BITS)? {
            PAGE => page(base, &mut change, &mut reader)?,
            DOUBT => {
                change.examine(class(&mut reader)?);
            }
            SUSPECT => {
                let count = reader.small()?;
                let slots = (0..count).map(|_| hash(&mut reader));
                change.count_suspects(&slots.collect::<Option<Vec<_>>>()?);
            }
            _ => {
                let class = class(&mut reader)?;
                change.count_change(class, reader.bits(1)? == 1);
            }
        }
    }
    reader.is_at_end().then_some(change)
}

fn page(base: &Template, change: &mut Change, reader: &mut BitReader<'_>) -> Option<()> {
    let headline = match reader.bits(1)? {
        1 => Some(hash(reader)?),
        _ => None,
    };
    let layout = match reader.bits(1)? {
        1 => hash(reader)?,
        _ => {
            let place = reader.bits(LAYOUT_BITS)?;
            change.head.layouts.at(place as usize)?
        }
    };
    let said = hash(reader)?;
    let count = reader.small()? as usize;
    let units = reader.ascending(count, UNIT_BITS)?.into_iter();
    let mut units = units
        .map(|it| Unit {
            line: (it >> 1) as u32,
            is_said: it & 1 == 1,
        })
        .collect();
    let page = Counted {
        headline,
        layout,
        said,
    };
    change.count(base, &page, &mut units);
    change.steps.lines += count;
    Some(())
}

fn class(reader: &mut BitReader<'_>) -> Option<Class> {
    let kind = reader.bits(2)?;
    Class::of_parts(kind as u8, hash(reader)?)
}

fn hash(reader: &mut BitReader<'_>) -> Option<u32> {
    Some(reader.bits(HASH_BITS)? as u32)
}

/// Returns a whole template as bytes.
pub(super) fn encode_whole(head: &Head, cells: impl Iterator<Item = Cell>) -> Vec<u8> {
    let mut cells: Vec<Cell> = cells.collect();
    cells.sort_unstable_by_key(|cell| cell.line);
    let mut bytes = Vec::with_capacity(512 + cells.len() * 8);
    bytes.extend_from_slice(&MARK);
    let mut bytes = postcard::to_extend(head, bytes).unwrap_or_default();
    let mut bits = BitWriter::default();
    bits.small(u32::try_from(cells.len()).unwrap_or(u32::MAX));
    let lines = cells.iter().map(|cell| u64::from(cell.line));
    bits.ascending(lines, HASH_BITS);
    for cell in &cells {
        cell.write(head.pages, &mut bits);
    }
    bits.add_to(&mut bytes);
    bytes
}

/// Reads a whole template; `None` if its bytes are damaged.
pub(super) fn whole(bytes: &[u8]) -> Option<(Head, Vec<Cell>)> {
    let Some(written) = bytes.strip_prefix(&MARK) else {
        return before_16(bytes);
    };
    let (head, rest) = postcard::take_from_bytes::<Head>(written).ok()?;
    let mut reader = BitReader::new(rest);
    let count = reader.small()? as usize;
    let lines = reader.ascending(count, HASH_BITS)?.into_iter();
    let cells = lines.map(|line| Cell::read(line as u32, head.pages, &mut reader));
    let cells = cells.collect::<Option<Vec<_>>>()?;
    reader.is_at_end().then_some((head, cells))
}

/// Reads what was written before format 16: what is known of the site, and lines.
fn before_16(bytes: &[u8]) -> Option<(Head, Vec<Cell>)> {
    let (head, rest) = postcard::take_from_bytes::<Head>(bytes).ok()?;
    let (cells, rest) = rest.as_chunks::<CELL_BYTES>();
    let cells = cells.iter().map(Cell::from_bytes).collect();
    rest.is_empty().then_some((head, cells))
}
