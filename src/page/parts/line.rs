//! The units of a page.

/// Maximum number of lines of a page; the rest is left out. Of the documentation pages that were
/// sampled, the median had 150.
pub const MAX_LINES: usize = 4_096;

/// What of a page can be its own, unit by unit.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Parts {
    /// The units in document order, first the title and last the data; at most [`MAX_LINES`].
    pub lines: Vec<Line>,
    /// Hash of the first `<h1>`, with its digits.
    pub headline: Option<u64>,
    /// Pages of one layout of a site have the same value (`layout.rs`).
    pub layout: u32,
    /// Whether lines were left out.
    pub is_cut: bool,
}

/// One unit of a page. Equal lines have equal hashes, on every page and site.
///
/// A line of text is the text of a block: a paragraph, a list item, the cells of one row of a table
/// as far as they contain no blocks, a row of preformatted text. So a price stands with its label
/// and a departure with its stop. Text is folded: letters are small, white space is one space, and
/// typographic quotes and dashes are plain. Digits, symbols and punctuation are kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Line {
    /// Hash of the folded text.
    pub hash: u64,
    /// Hash of the folded text in which every word that stands in the URL of the page too is
    /// replaced by a mark; equal to `hash` if there is none. Since pages have different URLs, a
    /// line is known if either of its hashes is. The relative address of an image counts as
    /// written here, since it repeats the place of its page.
    pub masked: u64,
    /// Hash of the folded text in which every run of ASCII digits is replaced by a mark: equal for
    /// lines that differ in numbers only. Of an image, that of its address and text.
    pub letters: u64,
    /// The sum of the numbers in the text, modulo 2^32; 0 for an image and data.
    pub sum: u32,
    /// Number of words; at least 1 for an image, data or a form value.
    pub words: u16,
    /// What the line is on its page.
    pub role: Role,
    /// Whether nearly all of its text is in links, in the main text or not.
    pub is_link: bool,
}

/// What a line is on its page.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(u8)]
pub enum Role {
    /// A part of the title: many sites write their name and that of a section beside that of the
    /// page, apart from it by a dash or the like.
    Title,
    /// Text of an `<h1>`.
    Headline,
    /// Text of the main text.
    Main,
    /// Other visible text: navigation, header, footer, and what extraction left out.
    Frame,
    /// The address of an image, a film, an embedded page or the like, with its alternative text.
    Image,
    /// An object of JSON-LD or of an application's state.
    Data,
    /// The value of a visible form field.
    Form,
    /// A line of the main text that is one link and nothing else.
    Link,
}
