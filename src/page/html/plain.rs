//! From text to a tree in one pass, where both the markup and its nesting are plain (`lexer.rs`,
//! `nesting.rs`), as on most pages. Otherwise html5ever reads the page (`tokens.rs`).

use memchr::{memchr, memchr2};

use super::lexer;
use super::names::Kind;
use super::nesting::{Nesting, Tag};
use super::nodes::{Attribute, Span, TreeParts};
use super::tokens::{PIECE, RAW_TEXT};
use super::{sink, unread};
use crate::page::options::PageOptions;

/// Reads a page whose line ends are line feeds; `None` if it is not plain.
pub(super) fn read(page: &str, options: &PageOptions) -> Option<TreeParts> {
    // They mean something else wherever they stand.
    if memchr(0, page.as_bytes()).is_some() {
        return None;
    }
    let room = (page.len() / 16).min(options.max_nodes);
    let mut reader = Reader {
        page,
        at: 0,
        max_tag_bytes: options.max_tag_bytes,
        recent: [None; RECENT],
        nesting: Nesting::new(page, room, options.max_depth, options.max_nodes),
    };
    reader.read()?;
    reader.nesting.finish()
}

/// Number of names that are remembered.
const RECENT: usize = 256;

/// Number of different names from which a page is not plain.
const MAX_NAMES: usize = 512;

struct Reader<'t> {
    page: &'t str,
    /// The position up to which the page was read.
    at: usize,
    max_tag_bytes: usize,
    /// Recently seen names: their first eight bytes as a number, all of them, and their number in
    /// the tree.
    recent: [Option<(u64, &'t str, u32)>; RECENT],
    nesting: Nesting<'t>,
}

impl Reader<'_> {
    fn read(&mut self) -> Option<()> {
        let bytes = self.page.as_bytes();
        while let Some(rest) = bytes.get(self.at..).filter(|rest| !rest.is_empty()) {
            if rest[0] == b'<' {
                self.at = self.markup()?;
                continue;
            }
            // Most texts have no references.
            let mut end = memchr2(b'<', b'&', rest).unwrap_or(rest.len());
            let text = match rest.get(end) {
                Some(b'&') => {
                    end += memchr(b'<', &rest[end..]).unwrap_or(rest.len() - end);
                    self.characters(self.at + end)?
                }
                _ => Span::of_page(self.at..self.at + end),
            };
            self.nesting.characters(text)?;
            self.at += end;
        }
        Some(())
    }

    /// The characters from here to `end`, with their references resolved.
    fn characters(&mut self, end: usize) -> Option<Span> {
        let page = self.page;
        if memchr(b'&', page.as_bytes().get(self.at..end)?).is_none() {
            return Some(Span::of_page(self.at..end));
        }
        let parts = &mut self.nesting.stack.parts;
        let start = parts.resolved.len();
        lexer::resolve_into(&mut parts.resolved, page, self.at..end, false)?;
        parts.resolved_from(start)
    }

    /// The end of the range in which one tag or comment that begins at `at` may end.
    fn limit(&self, at: usize) -> usize {
        at.saturating_add(self.max_tag_bytes)
            .saturating_add(PIECE)
            .min(self.page.len())
    }

    /// Reads the markup that begins here. Returns its end.
    fn markup(&mut self) -> Option<usize> {
        let bytes = self.page.as_bytes();
        let limit = self.limit(self.at);
        let rest = bytes.get(self.at..limit)?;
        match *rest.get(1)? {
            byte if byte.is_ascii_alphabetic() => self.start_tag(limit),
            b'/' => match *rest.get(2)? {
                byte if byte.is_ascii_alphabetic() => {
                    let begin = self.at + 2;
                    let end = lexer::tag_name(self.page, begin, limit)?;
                    let name = self.name(begin, end)?;
                    let end = lexer::attributes(self.page, end, limit, |_, _| Some(()))?;
                    self.nesting.end(name)?;
                    Some(end.at)
                }
                b'>' => Some(self.at + 3),
                _ => Some(self.at + memchr(b'>', rest)? + 1),
            },
            b'!' if rest.starts_with(b"<!--") => lexer::comment(self.page, self.at, limit),
            b'!' => {
                let end = memchr(b'>', rest)?;
                let inner = rest.get(2..end)?;
                if let Some((begin, name)) = inner.split_at_checked("doctype".len())
                    && begin.eq_ignore_ascii_case(b"doctype")
                {
                    let name = name.trim_ascii();
                    self.nesting.doctype(name.eq_ignore_ascii_case(b"html"));
                }
                Some(self.at + end + 1)
            }
            // It is skipped like a comment.
            b'?' => Some(self.at + memchr(b'>', rest)? + 1),
            _ => {
                self.nesting
                    .characters(Span::of_page(self.at..self.at + 1))?;
                Some(self.at + 1)
            }
        }
    }

    fn start_tag(&mut self, limit: usize) -> Option<usize> {
        let page = self.page;
        let begin = self.at + 1;
        let end = lexer::tag_name(page, begin, limit)?;
        let mut name = self.name(begin, end)?;
        let kind = self.nesting.stack.kind(name);
        if kind == Kind::Image {
            name = self.nesting.stack.name("img");
        }
        let parts = &mut self.nesting.stack.parts;
        let from = parts.attributes.len();
        let mut all = 0;
        let end = lexer::attributes(page, end, limit, |name, value| {
            all += 1;
            let Some(name) = unread::read_attribute(name) else {
                return Some(());
            };
            let mut others = parts.attributes.get(from..).unwrap_or_default().iter();
            if others.any(|it| it.name == name) {
                return Some(());
            }
            let written = page.get(value.clone())?;
            let value = match lexer::find(b'&', written.as_bytes()) {
                None => Span::of_page(value),
                Some(_) => {
                    let start = parts.resolved.len();
                    let all = 0..written.len();
                    lexer::resolve_into(&mut parts.resolved, written, all, true)?;
                    parts.resolved_from(start)?
                }
            };
            parts.attributes.push(Attribute { name, value });
            Some(())
        })?;
        // The sink cuts tags that have more.
        if all > sink::MAX_ATTRIBUTES {
            return None;
        }
        let tag = Tag {
            name,
            count: (parts.attributes.len() - from) as u16,
            from: from as u32,
            is_self_closing: end.self_closing,
        };
        let raw = match kind {
            Kind::Script => 0,
            Kind::Style => 1,
            Kind::Title => 2,
            Kind::Textarea => 3,
            Kind::Noframes => 5,
            Kind::Xmp => 7,
            Kind::Unread => match self.nesting.stack.local(name) {
                "iframe" => 4,
                _ => 6,
            },
            _ => {
                self.nesting.start(tag)?;
                return match kind {
                    Kind::Svg if !end.self_closing => self.drawing(end.at),
                    Kind::Template => self.template(tag, end.at),
                    _ => Some(end.at),
                };
            }
        };
        self.raw_text(kind, &RAW_TEXT[raw], tag, end.at)
    }

    /// Skips the contents of a drawing, which begin here. Returns the end of its end tag.
    fn drawing(&mut self, begin: usize) -> Option<usize> {
        let drawing = unread::drawing(self.page, begin, self.max_tag_bytes)?;
        self.nesting.stack.pop();
        self.end_of_end_tag(drawing.end)
    }

    /// Skips the contents of a template, which begin here. Returns the end of its end tag.
    fn template(&mut self, tag: Tag, begin: usize) -> Option<usize> {
        let template = unread::template(self.page, begin, self.max_tag_bytes)?;
        if !self.nesting.stack.is_current(tag.name) {
            return None;
        }
        self.nesting.end_template(template.start_tags)?;
        self.end_of_end_tag(template.end)
    }

    fn end_of_end_tag(&self, at: usize) -> Option<usize> {
        let limit = self.limit(at);
        let end = lexer::tag_name(self.page, at + 2, limit)?;
        let end = lexer::attributes(self.page, end, limit, |_, _| Some(()))?;
        Some(end.at)
    }

    /// Reads an element of raw text whose start tag ends before `begin`.
    fn raw_text(&mut self, kind: Kind, name: &str, tag: Tag, begin: usize) -> Option<usize> {
        let end = lexer::raw_text_end(self.page, begin, name)?;
        let content = self.page.get(begin..end)?;
        let is_read = match kind {
            Kind::Script if lexer::escapes_its_end(content) => return None,
            Kind::Script => {
                let media_type = self.nesting.stack.attribute(tag, "type");
                unread::script(media_type, content) != unread::Script::Program
            }
            kind => kind != Kind::Style,
        };
        let limit = self.limit(end);
        let after = lexer::attributes(self.page, end + 2 + name.len(), limit, |_, _| Some(()))?;
        self.nesting.start(tag)?;
        if !self.nesting.stack.is_current(tag.name) {
            return None;
        }
        self.at = begin;
        let text = match kind {
            _ if !is_read => None,
            Kind::Title | Kind::Textarea => Some(self.characters(end)?),
            _ => Some(Span::of_page(begin..end)),
        };
        self.nesting.raw_text(text)?;
        Some(after.at)
    }

    /// The number of a name.
    fn name(&mut self, begin: usize, end: usize) -> Option<u32> {
        let name = self.page.get(begin..end)?;
        let bytes = name.as_bytes();
        // The first eight bytes, which is all of most names; those behind the name do not count.
        let eight = self.page.as_bytes().get(begin..)?.first_chunk::<8>();
        let mut padded = [0; 8];
        let number = match eight {
            Some(eight) => u64::from_le_bytes(*eight),
            None => {
                padded[..bytes.len().min(8)].copy_from_slice(bytes);
                u64::from_le_bytes(padded)
            }
        };
        let number = match bytes.len() {
            length @ 0..8 => number & ((1 << (8 * length)) - 1),
            _ => number,
        };
        // The product's upper bits depend on all bytes.
        let place = (number.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 56) as usize;
        let slot = self.recent.get_mut(place % RECENT)?;
        if let Some((known, all, found)) = *slot
            && known == number
            && all.len() == name.len()
            && (name.len() <= 8 || all == name)
        {
            return Some(found);
        }
        let found = match bytes.iter().any(u8::is_ascii_uppercase) {
            true => self.nesting.stack.name(&name.to_ascii_lowercase()),
            false => self.nesting.stack.name(name),
        };
        *slot = Some((number, name, found));
        ((found as usize) < MAX_NAMES).then_some(found)
    }
}
