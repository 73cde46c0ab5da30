//! The lines of a page as they are stored: hashes of 32 bits, word counts and kinds, packed.

use serde::{Deserialize, Serialize};

/// Maximum number of stored lines. Of further ones only a sum is kept.
pub const MAX_LINES: usize = 1_024;
/// Bit of a packed line whose text repeats the page's URL.
const ECHO: u8 = 0x80;
/// Bit of a packed line that has numbers.
const NUMBERS: u8 = 0x40;

/// What a line is of its page.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[repr(u8)]
pub enum Kind {
    /// The headline.
    Headline,
    /// What the page says.
    Main,
    /// What surrounds that.
    Frame,
    /// An image, by its address and alternative text.
    Image,
    /// Data of a script that carries content.
    Data,
    /// A value of a form.
    Form,
    /// What leads to another page, and is nothing else.
    Link,
    /// The same outside of what the page says.
    Menu,
    /// A part of the title.
    Title,
}

impl Kind {
    const ALL: [Self; 9] = [
        Self::Headline,
        Self::Main,
        Self::Frame,
        Self::Image,
        Self::Data,
        Self::Form,
        Self::Link,
        Self::Menu,
        Self::Title,
    ];

    /// Whether it is outside of what a page says.
    pub fn is_frame(self) -> bool {
        matches!(self, Self::Frame | Self::Menu)
    }

    /// Whether it only leads to another page.
    pub fn is_navigation(self) -> bool {
        matches!(self, Self::Link | Self::Menu)
    }

    /// Whether it may surround what a page says.
    pub fn is_around(self) -> bool {
        self.is_frame() || self.is_navigation()
    }

    /// Whether it is part of what a page says in words.
    pub fn is_text(self) -> bool {
        matches!(self, Self::Title | Self::Headline | Self::Main | Self::Link)
    }
}

/// A line of a page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Line {
    /// Hash of its text.
    pub hash: u32,
    /// Hash of its text without what repeats the page's URL; the same if nothing does.
    pub masked: u32,
    /// Hash of its text in which all numbers are the same; that of its text if it has none.
    pub letters: u32,
    /// Number of its words, at most 255.
    pub words: u8,
    /// What it is.
    pub kind: Kind,
}

impl Line {
    /// Whether part of it repeats the page's URL.
    pub fn is_echo(&self) -> bool {
        self.hash != self.masked
    }
}

/// The lines of a page, in document order.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Lines {
    /// The first lines.
    pub lines: Vec<Line>,
    /// Hash of the headline.
    pub headline: Option<u32>,
    /// The layout of the page.
    pub layout: u32,
    /// Sum of the hashes of further lines, and of their words.
    pub rest: u64,
    /// Number of words of further lines.
    pub rest_words: u32,
    /// Number of words of the site's frame that were left out.
    pub frame: u32,
    /// Set if the page has more than was read.
    pub is_cut: bool,
}

/// What a page is called, as hashes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Names {
    /// By what it is told from others of its site.
    pub headline: Option<u32>,
    /// What of its title is its own.
    pub title: Option<u32>,
}

/// What a row has besides the lines.
#[derive(Serialize, Deserialize)]
struct Head {
    headline: Option<u32>,
    layout: u32,
    rest: u64,
    rest_words: u32,
    frame: u32,
    is_cut: bool,
}

impl Lines {
    /// Returns by what the page is told from others of its site: its headline if that is its own,
    /// else what of its title is, else the headline or the whole title; and its own title. `is_own`
    /// says whether a line with this hash is no template.
    pub fn names(&self, is_own: impl Fn(u32) -> bool) -> Names {
        let title = self.title(&is_own);
        let headline = self.headline.filter(|hash| is_own(*hash)).or(title);
        let any = || self.headline.or_else(|| self.title(|_| true));
        Names {
            headline: headline.or_else(any),
            title,
        }
    }

    /// Returns a hash of the parts of the title that `is_meant` holds for; `None` if there is none.
    fn title(&self, is_meant: impl Fn(u32) -> bool) -> Option<u32> {
        let parts = self.lines.iter().filter(|it| it.kind == Kind::Title);
        let parts = parts.map(|it| it.hash).filter(|hash| is_meant(*hash));
        parts.reduce(|all, part| all.rotate_left(7) ^ part)
    }

    /// Adds a line. `full` is its whole hash.
    pub fn push(&mut self, line: Line, full: u64) {
        if self.lines.len() < MAX_LINES {
            self.lines.push(line);
            return;
        }
        self.rest = self.rest.wrapping_add(full.rotate_left(17) ^ full);
        self.rest_words = self.rest_words.saturating_add(u32::from(line.words));
    }

    /// Returns the lines as bytes: 6 to 14 a line.
    pub fn encode(&self) -> Vec<u8> {
        let head = Head {
            headline: self.headline,
            layout: self.layout,
            rest: self.rest,
            rest_words: self.rest_words,
            frame: self.frame,
            is_cut: self.is_cut,
        };
        let bytes = Vec::with_capacity(32 + self.lines.len() * 8);
        let mut bytes = postcard::to_extend(&head, bytes).unwrap_or_default();
        for line in &self.lines {
            let others = [(ECHO, line.masked), (NUMBERS, line.letters)];
            let others = others.map(|(bit, other)| (bit, (other != line.hash).then_some(other)));
            let bits = others.iter().filter(|(_, other)| other.is_some());
            let bits = bits.fold(0, |bits, (bit, _)| bits | bit);
            bytes.extend_from_slice(&line.hash.to_le_bytes());
            bytes.extend_from_slice(&[line.words, line.kind as u8 | bits]);
            for other in others.into_iter().filter_map(|(_, other)| other) {
                bytes.extend_from_slice(&other.to_le_bytes());
            }
        }
        bytes
    }

    /// Reads lines from their bytes; `None` if these are damaged.
    pub fn decode(bytes: &[u8]) -> Option<Self> {
        let (head, mut rest) = postcard::take_from_bytes::<Head>(bytes).ok()?;
        let mut lines = Vec::with_capacity(rest.len() / 6);
        while let Some((line, after)) = rest.split_first_chunk::<6>() {
            let [a, b, c, d, words, kind] = *line;
            let hash = u32::from_le_bytes([a, b, c, d]);
            rest = after;
            let mut others = [hash; 2];
            for (bit, other) in [ECHO, NUMBERS].into_iter().zip(&mut others) {
                if kind & bit != 0 {
                    let (bytes, after) = rest.split_first_chunk::<4>()?;
                    *other = u32::from_le_bytes(*bytes);
                    rest = after;
                }
            }
            let [masked, letters] = others;
            lines.push(Line {
                hash,
                masked,
                letters,
                words,
                kind: *Kind::ALL.get(usize::from(kind & !(ECHO | NUMBERS)))?,
            });
        }
        rest.is_empty().then_some(Self {
            lines,
            headline: head.headline,
            layout: head.layout,
            rest: head.rest,
            rest_words: head.rest_words,
            frame: head.frame,
            is_cut: head.is_cut,
        })
    }
}
