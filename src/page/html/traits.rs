//! What the attributes of an element say about its role in a page: whether it is hidden, and what
//! the words of its class, id, role and item property suggest.
//!
//! They are read once per element, in the walk that builds the outline. Words are matched whole:
//! `ad` does not match `header`. They are English because class names are, in every country.

use html5ever::local_name;

use super::class_words;
use super::nodes::Element;
use super::tag::Tag;

/// What one element says about itself.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Traits {
    /// A set of the bits in [`bit`].
    pub(crate) bits: u32,
    /// Sum of the weights of its words; positive for content.
    pub(crate) weight: i16,
    /// Hash of the first word of its class. Similar elements have the same one.
    pub(crate) likeness: u32,
}

/// The bits of [`Traits::bits`]. `class_words.rs` lists which words set them.
pub(crate) mod bit {
    /// What stands below a page: footers, legal notices.
    pub(crate) const BELOW: u32 = 1;
    /// Readers' comments.
    pub(crate) const COMMENTS: u32 = 1 << 1;
    /// Captions and what they describe.
    pub(crate) const CAPTION: u32 = 1 << 2;
    /// Repeated things: rows, cards, cells.
    pub(crate) const ITEMS: u32 = 1 << 3;
    /// Hidden by an attribute or an inline style.
    pub(crate) const HIDDEN: u32 = 1 << 4;
}

impl Traits {
    pub(crate) fn is_hidden(self) -> bool {
        self.bits & bit::HIDDEN != 0
    }
}

/// Reads the attributes of an element, each once. What their words say is kept in `said`.
pub(super) fn of<'a>(element: Element<'a>, tag: Tag, said: &mut Said<'a>) -> Traits {
    let mut traits = Traits {
        likeness: tag as u32,
        ..Traits::default()
    };
    if !element.has_attributes() {
        return traits;
    }
    let mut streamed = false;
    // Class, id, item property and role, in this order whatever the page has.
    let mut values = [""; 4];
    for (name, value) in element.attributes() {
        match *name {
            local_name!("class") => values[0] = value,
            local_name!("id") => {
                // Streaming servers put the late parts of a page into such elements, and a script
                // moves them into place at once.
                streamed = value.starts_with("S:");
                values[1] = value;
            }
            local_name!("itemprop") => values[2] = value,
            local_name!("role") => values[3] = value,
            local_name!("hidden") => traits.bits |= bit::HIDDEN,
            local_name!("aria-hidden") if value.trim().eq_ignore_ascii_case("true") => {
                traits.bits |= bit::HIDDEN;
            }
            local_name!("style") if hides(value) => traits.bits |= bit::HIDDEN,
            _ => {}
        }
    }
    let [class, others @ ..] = values;
    if !class.is_empty() {
        let first = said.add(&mut traits, class);
        if first != FIRST {
            traits.likeness = (first ^ tag as u32).wrapping_mul(0x9E37_79B9);
        }
    }
    for value in others.into_iter().filter(|it| !it.is_empty()) {
        said.add(&mut traits, value);
    }
    if streamed {
        traits.bits &= !bit::HIDDEN;
    }
    traits
}

/// What the words of recently read attributes say: pages repeat their classes all the time. With
/// each the hash of its first word.
pub(super) struct Said<'a>([(&'a str, u32, i16, u32); SAID]);

/// Number of attributes that are remembered.
const SAID: usize = 256;

impl Default for Said<'_> {
    fn default() -> Self {
        Self([("", 0, 0, FIRST); SAID])
    }
}

impl<'a> Said<'a> {
    /// Adds what the words of one attribute say. Returns the hash of the first.
    fn add(&mut self, traits: &mut Traits, value: &'a str) -> u32 {
        const LONGEST: usize = 256;
        // Far from the ends of the range, the sum of sums is that of all words in a row.
        if value.len() > LONGEST || traits.weight.unsigned_abs() > 1 << 14 {
            add_words(traits, value);
            return first_word(value);
        }
        let bytes = value.as_bytes();
        let byte = |at: usize| usize::from(bytes.get(at).copied().unwrap_or_default());
        let (last, middle) = (bytes.len().saturating_sub(1), bytes.len() / 2);
        let place = byte(0) + 5 * byte(middle) + 11 * byte(last) + 23 * bytes.len();
        let slot = &mut self.0[place % SAID];
        if slot.0 != value {
            let mut alone = Traits::default();
            add_words(&mut alone, value);
            *slot = (value, alone.bits, alone.weight, first_word(value));
        }
        traits.bits |= slot.1;
        traits.weight += slot.2;
        slot.3
    }
}

/// The hash of no word.
const FIRST: u32 = 0;

/// The hash of the first word of a class.
fn first_word(class: &str) -> u32 {
    let first = class.split_ascii_whitespace().next().unwrap_or_default();
    first.bytes().fold(FIRST, |hash, byte| {
        (hash.rotate_left(5) ^ u32::from(byte)).wrapping_mul(0x9E37_79B9)
    })
}

/// Adds what the words of one attribute say.
fn add_words(traits: &mut Traits, value: &str) {
    each_word(value, |word| {
        if let Some((bits, weight)) = class_words::look_up(word) {
            traits.bits |= bits;
            traits.weight = traits.weight.saturating_add(weight);
        }
    });
}

/// Calls `each` with every word that counts for [`of`].
pub(crate) fn each_word_of(element: Element<'_>, mut each: impl FnMut(&str)) {
    for (name, value) in element.attributes() {
        let is_read = matches!(
            *name,
            local_name!("class")
                | local_name!("id")
                | local_name!("role")
                | local_name!("itemprop")
        );
        if is_read {
            each_word(value, &mut each);
        }
    }
}

/// Maximum length of a word; longer ones are hashes.
const MAX_WORD: usize = 16;

/// Calls `each` with every word of a class or id in lower case. Words are separated by anything
/// that is not a letter, and by a capital after a small letter.
pub(crate) fn each_word(value: &str, mut each: impl FnMut(&str)) {
    let bytes = value.as_bytes();
    let mut word = [0_u8; MAX_WORD];
    let mut length = 0;
    let mut was_small = false;
    let mut finish = |word: &[u8; MAX_WORD], length: usize| {
        if (2..=MAX_WORD).contains(&length)
            && let Some(Ok(word)) = word.get(..length).map(std::str::from_utf8)
        {
            each(word);
        }
    };
    for &byte in bytes {
        if !byte.is_ascii_alphabetic() || (was_small && byte.is_ascii_uppercase()) {
            finish(&word, length);
            length = 0;
        }
        if byte.is_ascii_alphabetic() {
            if let Some(slot) = word.get_mut(length) {
                *slot = byte.to_ascii_lowercase();
            }
            length += 1;
        }
        was_small = byte.is_ascii_lowercase();
    }
    finish(&word, length);
}

/// Whether an inline style hides the element.
fn hides(style: &str) -> bool {
    style.split(';').any(|declaration| {
        let Some((property, value)) = declaration.split_once(':') else {
            return false;
        };
        let (property, value) = (property.trim(), value.trim());
        let value = value.split(['!', ' ']).next().unwrap_or_default();
        (property.eq_ignore_ascii_case("display") && value.eq_ignore_ascii_case("none"))
            || (property.eq_ignore_ascii_case("visibility") && value.eq_ignore_ascii_case("hidden"))
    })
}
