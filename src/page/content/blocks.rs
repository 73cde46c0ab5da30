//! The page as a list of blocks (runs of text between two line breaks) and sums of them for every
//! element, from which the main text is chosen.
//!
//! Takes one pass over the texts and one backwards over the elements.

use crate::page::html::{Break, Outline, Sight, Tag};

/// A run of text without a line break inside.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct TextBlock {
    /// Index of the nearest element that is laid out as a block.
    pub(crate) owner: usize,
    /// Index of the element that contains its first text.
    pub(super) inner: usize,
    /// The range of indices of its texts, not all of which are visible.
    pub(crate) texts: (usize, usize),
    pub(crate) sight: Option<Sight>,
    /// Whether it was chosen as main text (`main_text.rs`).
    pub(crate) is_main: bool,
    pub(super) tally: Tally,
    /// Number of characters within links, and number of links.
    pub(super) link_chars: u32,
    pub(super) links: u32,
}

/// Counts over a text.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Tally {
    /// Number of characters other than white space.
    pub(super) chars: u32,
    pub(super) words: u32,
    /// Number of sentence ends: `.`, `!`, `?` and their equivalents in other scripts.
    pub(super) stops: u32,
    pub(super) commas: u32,
    pub(super) digits: u32,
    /// Number of words that begin with a capital.
    pub(super) capitals: u32,
    /// The class of the last character.
    pub(super) last: CharClass,
}

/// The class of a character in a tally.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum CharClass {
    #[default]
    Space,
    Letter,
    Capital,
    Digit,
    Stop,
    Comma,
    Colon,
    Other,
}

/// Number of characters from which a block counts as prose.
const MIN_PROSE_CHARS: u32 = 40;

impl TextBlock {
    /// Whether all of it is the text of one link.
    pub(crate) fn is_link(&self) -> bool {
        self.links == 1 && self.link_chars == self.tally.chars
    }

    /// Whether nine tenths of it are the texts of links.
    pub(crate) fn is_mostly_links(&self) -> bool {
        self.links > 0 && u64::from(self.link_chars) * 10 >= u64::from(self.tally.chars) * 9
    }

    /// Number of characters that read like sentences.
    pub(super) fn prose(&self) -> u32 {
        if self.tally.chars >= MIN_PROSE_CHARS && self.link_chars * 3 < self.tally.chars {
            self.tally.chars - 2 * self.link_chars
        } else {
            0
        }
    }
}

/// Sums over the blocks of an element, including its descendants.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Sums {
    pub(super) chars: u32,
    pub(super) link_chars: u32,
    pub(super) prose: u32,
    pub(super) blocks: u32,
    pub(super) paragraphs: u32,
    pub(super) stops: u32,
}

impl Sums {
    fn add(&mut self, other: Self) {
        self.chars += other.chars;
        self.link_chars += other.link_chars;
        self.prose += other.prose;
        self.blocks += other.blocks;
        self.paragraphs += other.paragraphs;
        self.stops += other.stops;
    }
}

/// The blocks of a page in document order, except those that are never visible, and for every
/// element the sums of the visible ones.
pub(super) fn of(outline: &Outline<'_>) -> (Vec<TextBlock>, Vec<Sums>) {
    let elements = &outline.elements;
    // The nearest block and the nearest link of every element.
    let mut owners = vec![0; elements.len()];
    let mut links = vec![0; elements.len()];
    for (index, item) in elements.iter().enumerate() {
        owners[index] = if item.tag.is_block() {
            index
        } else {
            owners[item.parent]
        };
        links[index] = match item.tag {
            Tag::A => index,
            _ => links[item.parent],
        };
    }
    let mut blocks: Vec<TextBlock> = Vec::new();
    let mut block = TextBlock::default();
    let mut link = 0;
    for (index, text) in outline.texts.iter().enumerate() {
        let owner = owners.get(text.parent).copied().unwrap_or(0);
        let is_apart = owner != block.owner && text.before > Break::None;
        if text.before == Break::Line || is_apart {
            finish(&mut blocks, &block);
            block = TextBlock {
                owner,
                inner: owner,
                texts: (index, index),
                ..TextBlock::default()
            };
        }
        block.texts.1 = index + 1;
        let is_blank = || text.characters.bytes().all(|byte| byte <= b' ');
        if text.sight == Sight::Never || is_blank() {
            continue;
        }
        let tally = tally(text.characters);
        if tally.chars == 0 {
            continue;
        }
        if block.tally.chars == 0 {
            block.inner = text.parent;
        }
        block.sight = Some(
            block
                .sight
                .map_or(text.sight, |sight| sight.min(text.sight)),
        );
        block.tally.add(tally);
        let inside = links.get(text.parent).copied().unwrap_or(0);
        if inside > 0 {
            block.link_chars += tally.chars;
            block.links += u32::from(inside != link);
            link = inside;
        }
    }
    finish(&mut blocks, &block);
    let mut sums = vec![Sums::default(); elements.len()];
    for block in blocks
        .iter()
        .filter(|block| block.sight == Some(Sight::Shown))
    {
        if let Some(sums) = sums.get_mut(block.owner) {
            sums.add(Sums {
                chars: block.tally.chars,
                link_chars: block.link_chars,
                prose: block.prose(),
                blocks: 1,
                paragraphs: u32::from(
                    elements.get(block.owner).map(|item| item.tag) == Some(Tag::P),
                ),
                stops: block.tally.stops,
            });
        }
    }
    // Children follow their parents, so one pass backwards adds up every subtree.
    for index in (1..elements.len()).rev() {
        let below = sums[index];
        let parent = elements[index].parent;
        if parent < index {
            sums[parent].add(below);
        }
    }
    (blocks, sums)
}

fn finish(blocks: &mut Vec<TextBlock>, block: &TextBlock) {
    if block.tally.chars > 0 {
        blocks.push(*block);
    }
}

impl Tally {
    fn add(&mut self, other: Self) {
        self.chars += other.chars;
        self.words += other.words;
        self.stops += other.stops;
        self.commas += other.commas;
        self.digits += other.digits;
        self.capitals += other.capitals;
        self.last = other.last;
    }
}

/// Counts over one text node. Words that continue in the next node count twice.
fn tally(text: &str) -> Tally {
    let mut tally = Tally::default();
    let mut rest = text.as_bytes();
    let mut is_in_word = false;
    while !rest.is_empty() {
        let ascii = match rest.is_ascii() {
            true => rest.len(),
            false => rest.iter().take_while(|byte| byte.is_ascii()).count(),
        };
        let (run, beyond) = rest.split_at(ascii);
        is_in_word = tally.add_ascii(run, is_in_word);
        let after = beyond.iter().skip(1);
        let length = after.take_while(|byte| **byte & 0xC0 == 0x80).count() + 1;
        let (character, after) = beyond.split_at(length.min(beyond.len()));
        if !character.is_empty() {
            is_in_word = tally.add_beyond(character, is_in_word);
        }
        rest = after;
    }
    tally
}

/// Number of bytes of which each count fits into 16 bits, and that of their words into eight.
const COUNTED: usize = 248;

impl Tally {
    /// Counts ASCII, without a branch for each character, and words eight bytes at a time.
    /// `is_in_word` says whether a visible character stands before it; returns whether one does
    /// after it.
    fn add_ascii(&mut self, bytes: &[u8], is_in_word: bool) -> bool {
        const HIGH: u64 = 0x8080_8080_8080_8080;
        const ONES: u64 = 0x0101_0101_0101_0101;
        let mut before = u64::from(is_in_word) << 7;
        for bytes in bytes.chunks(COUNTED) {
            let counts = bytes.iter().map(|byte| COUNTS[usize::from(byte & 0x7f)]);
            let counts: u64 = counts.sum();
            let (eights, rest) = bytes.as_chunks::<8>();
            let mut last = [b' '; 8];
            last[..rest.len()].copy_from_slice(rest);
            let last = (!rest.is_empty()).then_some(&last);
            let (mut words, mut capitals) = (0_u64, 0_u64);
            for eight in eights.iter().chain(last) {
                let eight = u64::from_le_bytes(*eight);
                // Sets the high bit of each byte that is at least `low`.
                let at_least = |low: u8| eight.wrapping_add(ONES * u64::from(0x80 - low)) & HIGH;
                let visible = at_least(b' ' + 1);
                let begins = visible & !(visible << 8 | before);
                words += begins >> 7;
                capitals += (begins & at_least(b'A') & !at_least(b'Z' + 1)) >> 7;
                before = visible >> 56;
            }
            let sum = |each: u64| (each.wrapping_mul(ONES) >> 56) as u32;
            self.words += sum(words);
            self.capitals += sum(capitals);
            let count = |kind: u32| u32::from((counts >> (16 * kind)) as u16);
            self.chars += count(0);
            self.stops += count(1);
            self.commas += count(2);
            self.digits += count(3);
        }
        if let Some(byte) = bytes.iter().rfind(|byte| **byte > b' ') {
            self.last = CLASSES[usize::from(byte & 0x7f)];
        }
        bytes.last().map_or(is_in_word, |byte| *byte > b' ')
    }

    /// The same of a character beyond ASCII.
    fn add_beyond(&mut self, character: &[u8], is_in_word: bool) -> bool {
        let class = class_beyond(character);
        if class == CharClass::Space {
            return false;
        }
        self.chars += 1;
        self.words += u32::from(!is_in_word);
        self.stops += u32::from(class == CharClass::Stop);
        self.commas += u32::from(class == CharClass::Comma);
        self.last = class;
        true
    }
}

/// The class of a character beyond ASCII.
fn class_beyond(character: &[u8]) -> CharClass {
    match character {
        // No-break space; ideographic space.
        [0xC2, 0xA0] | [0xE3, 0x80, 0x80] => CharClass::Space,
        // Ideographic full stop and comma, and their full-width equivalents.
        [0xE3, 0x80, 0x82] | [0xEF, 0xBC, 0x81 | 0x9F] => CharClass::Stop,
        [0xE3, 0x80, 0x81] | [0xEF, 0xBC, 0x8C] => CharClass::Comma,
        _ => CharClass::Letter,
    }
}

/// What each ASCII character adds to the numbers of visible characters, stops, commas and digits,
/// of 16 bits each.
const COUNTS: [u64; 128] = {
    let mut counts = [0; 128];
    let mut byte = 0;
    while byte < 128 {
        counts[byte] = match CLASSES[byte] {
            CharClass::Space => 0,
            CharClass::Stop => 1 | 1 << 16,
            CharClass::Comma => 1 | 1 << 32,
            CharClass::Digit => 1 | 1 << 48,
            _ => 1,
        };
        byte += 1;
    }
    counts
};

/// The class of every ASCII character.
const CLASSES: [CharClass; 128] = {
    let mut classes = [CharClass::Other; 128];
    let mut byte = 0;
    while byte < 128 {
        classes[byte] = match byte as u8 {
            0..=b' ' => CharClass::Space,
            b'a'..=b'z' => CharClass::Letter,
            b'A'..=b'Z' => CharClass::Capital,
            b'0'..=b'9' => CharClass::Digit,
            b'.' | b'!' | b'?' => CharClass::Stop,
            b',' | b';' => CharClass::Comma,
            b':' => CharClass::Colon,
            _ => CharClass::Other,
        };
        byte += 1;
    }
    classes
};

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Counts character by character.
    fn plainly(text: &str) -> Tally {
        let mut tally = Tally::default();
        let mut before = CharClass::Space;
        for c in text.chars() {
            let mut room = [0; 4];
            let class = match c.is_ascii() {
                true => CLASSES[c as usize],
                false => class_beyond(c.encode_utf8(&mut room).as_bytes()),
            };
            if class != CharClass::Space {
                tally.chars += 1;
                tally.last = class;
            }
            if class != CharClass::Space && before == CharClass::Space {
                tally.words += 1;
                tally.capitals += u32::from(class == CharClass::Capital);
            }
            tally.stops += u32::from(class == CharClass::Stop);
            tally.commas += u32::from(class == CharClass::Comma);
            tally.digits += u32::from(class == CharClass::Digit);
            before = class;
        }
        tally
    }

    proptest! {
        #[test]
        fn many_bytes_are_counted_like_one_after_another(
            text in "([ -~\\n\\t\\x00\\x7f]{0,60}|[a-cA-C ,.é\u{a0}\u{3000}-\u{3002}\u{ff01}-\u{ff20}語]{0,20}){0,3}", times in 1..200_usize,
        ) {
            let text = text.repeat(times);
            let [fast, plain] = [tally(&text), plainly(&text)].map(|it| {
                let counts = [it.chars, it.words, it.stops, it.commas, it.digits, it.capitals];
                (counts, it.last)
            });
            prop_assert_eq!(fast, plain);
        }
    }
}
