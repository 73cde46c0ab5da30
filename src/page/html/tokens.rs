//! From text to tokens, with a shortcut for simple markup.
//!
//! Simple markup (`lexer.rs`) becomes tokens here, without what is never read (`unread.rs`).
//! Everything else goes to html5ever's tokenizer, up to the end of the next tag or comment:
//! doctypes, declarations, CDATA, scripts in comments in scripts, tags with NULs, incomplete
//! markup, and tags that are too long. Apart from what is left out, both ways yield the same tree;
//! a test compares them.
//!
//! Invariant: whenever something is read here, the tokenizer is in its data state and holds
//! nothing.

#[cfg(test)]
mod tests;

use html5ever::tendril::StrTendril;
use html5ever::tokenizer::{
    BufferQueue, Tag, TagKind, Token, TokenSink, TokenSinkResult, Tokenizer, TokenizerOpts,
};
use html5ever::{Attribute, LocalName, QualName, TokenizerResult, local_name, ns};
use memchr::{memchr, memchr2};

use super::sink::{BoundedSink, MAX_ATTRIBUTES, end_tag};
use super::{lexer, unread};
use crate::page::cut::floor_char_boundary;
use crate::page::options::Note;

/// Maximum number of bytes passed to the tokenizer at once: the granularity of `max_tag_bytes`.
pub(super) const PIECE: usize = 16 * 1024;

/// Ends a tag, a comment or a doctype in any state of the tokenizer: the double and single quotes
/// end a quoted value, `-->` a comment, and its `>` everything else.
const TERMINATOR: &str = "\"'-->";

/// Feeds `page`, whose line ends are line feeds, to the sink, until its end or the end of the node
/// budget. Tags and comments longer than `max_tag_bytes` are cut.
pub(super) fn feed(page: &StrTendril, sink: BoundedSink, max_tag_bytes: usize) -> BoundedSink {
    let mut reader = TokenReader::new(page, sink, max_tag_bytes);
    reader.read();
    reader.finish()
}

/// Like [`feed`], but without the shortcut. Tests compare the two.
#[cfg(test)]
pub(super) fn feed_to_tokenizer(
    page: &StrTendril,
    sink: BoundedSink,
    max_tag_bytes: usize,
) -> BoundedSink {
    let mut reader = TokenReader::new(page, sink, max_tag_bytes);
    while reader.at < page.len() && !reader.sink().is_spent() {
        reader.read_by_tokenizer();
    }
    reader.finish()
}

struct TokenReader<'t> {
    page: &'t StrTendril,
    /// The position up to which the page was read.
    at: usize,
    max_tag_bytes: usize,
    tokenizer: Tokenizer<BoundedSink>,
    names: TagNames<'t>,
    /// For each kind of raw text, where its end was last searched for, and the result.
    ends: [Option<(usize, Option<usize>)>; KINDS],
    /// Whether an element that should have raw text did not get it, as in a frame set. Then no raw
    /// text is read ahead.
    is_without_raw_text: bool,
}

/// Number of elements that have raw text.
const KINDS: usize = 8;

/// Elements whose content is not markup, except in SVG and `MathML`.
pub(super) static RAW_TEXT: [LocalName; KINDS] = [
    local_name!("script"),
    local_name!("style"),
    local_name!("title"),
    local_name!("textarea"),
    local_name!("iframe"),
    local_name!("noframes"),
    local_name!("noembed"),
    local_name!("xmp"),
];

impl<'t> TokenReader<'t> {
    fn new(page: &'t StrTendril, sink: BoundedSink, max_tag_bytes: usize) -> Self {
        let options = TokenizerOpts {
            // The tokenizer would drop a U+FEFF from the beginning of every piece.
            discard_bom: false,
            ..TokenizerOpts::default()
        };
        Self {
            page,
            at: 0,
            max_tag_bytes,
            tokenizer: Tokenizer::new(sink, options),
            names: TagNames::default(),
            ends: [None; KINDS],
            is_without_raw_text: false,
        }
    }

    fn read(&mut self) {
        let bytes = self.page.as_bytes();
        while self.at < bytes.len() && !self.sink().is_spent() {
            let rest = &bytes[self.at..];
            if rest[0] != b'<' {
                let end = self.at + memchr(b'<', rest).unwrap_or(rest.len());
                self.read_characters(end);
            } else if let Some(end) = self.read_markup() {
                self.at = end;
            } else {
                self.read_by_tokenizer();
            }
        }
    }

    fn finish(self) -> BoundedSink {
        if self.at < self.page.len() {
            self.sink().note(Note::NodesCut);
        }
        self.tokenizer.end();
        self.tokenizer.sink
    }

    fn sink(&self) -> &BoundedSink {
        &self.tokenizer.sink
    }

    /// Passes a token to the tree builder. Returns whether that expects raw text next.
    #[inline]
    fn emit(&self, token: Token) -> bool {
        // Lines are counted for error messages only.
        let outcome = self.sink().process_token(token, 1);
        matches!(outcome, TokenSinkResult::RawData(_))
    }

    /// Whether the current element is SVG or `MathML`.
    fn is_foreign(&self) -> bool {
        self.sink()
            .adjusted_current_node_present_but_not_in_html_namespace()
    }

    /// The end of the range in which one tag or comment that begins at `at` may end; longer ones
    /// are cut.
    fn limit(&self, at: usize) -> usize {
        at.saturating_add(self.max_tag_bytes)
            .saturating_add(PIECE)
            .min(self.page.len())
    }

    /// Reads characters, and the references among them, up to `end`.
    fn read_characters(&mut self, end: usize) {
        let bytes = self.page.as_bytes();
        let written = &bytes[self.at..end];
        if memchr2(b'&', 0, written).is_none() {
            return self.pass(end);
        }
        // Near the end of the budget, the first of several tokens may be the last that is read.
        if !written.contains(&0) && self.sink().has_plenty_left() {
            let range = self.at..end;
            if let Some(characters) = lexer::resolved(self.page, range, false)
                && !characters.is_empty()
            {
                self.emit(Token::CharacterTokens(characters));
            }
            self.at = end;
            return;
        }
        let mut from = self.at;
        while let Some(length) = memchr2(b'&', 0, &bytes[from..end]) {
            let place = from + length;
            let (token, after) = if bytes[place] == 0 {
                // The first of several NULs has the effect of all, except in SVG and MathML.
                let is_foreign = self.is_foreign();
                let more = bytes[place..end].iter().take_while(|byte| **byte == 0);
                let length = if is_foreign { 1 } else { more.count() };
                (Token::NullCharacterToken, place + length)
            } else if let Some(reference) = lexer::reference(self.page, place + 1, false) {
                let mut characters = String::new();
                reference.push_to(&mut characters);
                (Token::CharacterTokens(characters.into()), reference.end)
            } else {
                from = place + 1;
                continue;
            };
            self.pass(place);
            self.emit(token);
            (self.at, from) = (after, after);
        }
        self.pass(end);
    }

    /// Passes on characters up to `end` as they are.
    fn pass(&mut self, end: usize) {
        let length = end - self.at;
        let characters = self.page.try_subtendril(self.at as u32, length as u32);
        if let Ok(characters) = characters
            && length > 0
        {
            self.emit(Token::CharacterTokens(characters));
        }
        self.at = end;
    }

    /// Reads the tag or comment that begins here. Returns its end, or `None` if the tokenizer must
    /// read it.
    fn read_markup(&mut self) -> Option<usize> {
        let bytes = self.page.as_bytes();
        let limit = self.limit(self.at);
        match *bytes.get(self.at + 1)? {
            b'!' => lexer::comment(self.page, self.at, limit),
            b'/' if bytes.get(self.at + 2)?.is_ascii_alphabetic() => {
                let begin = self.at + 2;
                let end = lexer::tag_name(self.page, begin, limit)?;
                let name = self.names.get(self.page.get(begin..end)?);
                let end = lexer::attributes(self.page, end, limit, |_, _| Some(()))?;
                self.emit(end_tag(name));
                Some(end.at)
            }
            byte if byte.is_ascii_alphabetic() => self.read_start_tag(limit),
            _ => None,
        }
    }

    fn read_start_tag(&mut self, limit: usize) -> Option<usize> {
        let page = self.page;
        let begin = self.at + 1;
        let end = lexer::tag_name(page, begin, limit)?;
        let name = self.names.get(page.get(begin..end)?);
        let raw_text = RAW_TEXT.iter().position(|raw_text| *raw_text == name);
        let is_left = name == local_name!("plaintext")
            || (raw_text.is_some() && (self.is_without_raw_text || self.is_foreign()));
        if is_left {
            return None;
        }
        let keeps_all = unread::keeps_all_attributes(&name);
        let mut attrs: Vec<Attribute> = Vec::new();
        let mut count = 0;
        let end = lexer::attributes(page, end, limit, |name, value| {
            count += 1;
            let name = match unread::read_attribute(name) {
                Some(name) => name,
                None if keeps_all => LocalName::from(name.to_ascii_lowercase()),
                None => return Some(()),
            };
            if !attrs.iter().any(|attribute| attribute.name.local == name) {
                attrs.push(Attribute {
                    name: QualName::new(None, ns!(), name),
                    value: lexer::value(page, value)?,
                });
            }
            Some(())
        })?;
        // The sink cuts tags that have more.
        if count > MAX_ATTRIBUTES {
            return None;
        }
        let is_drawing = name == local_name!("svg") && !end.self_closing && !self.is_foreign();
        let tag = Tag {
            kind: TagKind::StartTag,
            name,
            self_closing: end.self_closing,
            attrs,
            had_duplicate_attributes: false,
        };
        if let Some(kind) = raw_text {
            return self.read_raw_text(kind, tag, end.at);
        }
        self.emit(Token::TagToken(tag));
        if is_drawing
            && self.is_foreign()
            && let Some(drawing) = unread::drawing(page, end.at, self.max_tag_bytes)
        {
            if drawing.has_text {
                self.emit(Token::CharacterTokens(StrTendril::from_char('x')));
            }
            return Some(drawing.end);
        }
        Some(end.at)
    }

    /// Reads an element of raw text whose start tag ends before `begin`.
    fn read_raw_text(&mut self, kind: usize, tag: Tag, begin: usize) -> Option<usize> {
        let name = tag.name.clone();
        let end = self.raw_text_end(kind, begin)?;
        let content = self.page.get(begin..end)?;
        let is_script = name == local_name!("script");
        let is_read = if is_script {
            unread::script_of(&tag.attrs, content) != unread::Script::Program
        } else {
            name != local_name!("style")
        };
        if (is_script && lexer::escapes_its_end(content)) || (is_read && content.contains('\0')) {
            return None;
        }
        let after = lexer::attributes(self.page, end + 2 + name.len(), self.limit(end), |_, _| {
            Some(())
        })?;
        if !self.emit(Token::TagToken(tag)) {
            self.is_without_raw_text = true;
            return Some(begin);
        }
        if is_read {
            self.at = begin;
            match name {
                local_name!("title") | local_name!("textarea") => self.read_characters(end),
                _ => self.pass(end),
            }
        }
        self.emit(end_tag(name));
        Some(after.at)
    }

    /// The end of raw text, which is searched for only once.
    fn raw_text_end(&mut self, kind: usize, at: usize) -> Option<usize> {
        if let Some((from, end)) = self.ends[kind]
            && from <= at
            && end.is_none_or(|end| at <= end)
        {
            return end;
        }
        let end = lexer::raw_text_end(self.page, at, &RAW_TEXT[kind]);
        self.ends[kind] = Some((at, end));
        end
    }

    /// Lets the tokenizer read up to the end of a tag or comment after which it is in its data
    /// state, or up to the end.
    fn read_by_tokenizer(&mut self) {
        let mut silent_bytes = 0;
        while self.at < self.page.len() && !self.sink().is_spent() {
            let begin = self.at;
            let end = floor_char_boundary(self.page, begin + PIECE);
            let piece = &self.page.as_bytes()[begin..end];
            // Tags and comments only end with this character.
            self.at = memchr(b'>', piece).map_or(end, |length| begin + length + 1);
            let length = self.at - begin;
            let tokens_before = self.sink().tokens();
            self.feed_tokenizer(self.page.subtendril(begin as u32, length as u32));
            if self.sink().has_ended_markup() {
                return;
            }
            if self.sink().tokens() > tokens_before {
                silent_bytes = 0;
                continue;
            }
            // No token: the tokenizer is inside one tag or comment.
            silent_bytes += length;
            if silent_bytes >= self.max_tag_bytes {
                self.cut();
                silent_bytes = 0;
                if self.sink().has_ended_markup() {
                    return;
                }
            }
        }
    }

    /// Ends the tag or comment that the tokenizer is in, and skips the rest of it.
    fn cut(&mut self) {
        self.sink().note(Note::TagCut);
        self.feed_tokenizer(StrTendril::from_slice(TERMINATOR));
        // The rest of a tag seldom contains a `>` before its end; that of a data URL never does.
        let end = if self.sink().is_after_comment() {
            "-->"
        } else {
            ">"
        };
        let rest = &self.page[self.at..];
        self.at += rest.find(end).map_or(rest.len(), |at| at + end.len());
    }

    fn feed_tokenizer(&self, piece: StrTendril) {
        self.sink().begin_piece();
        let queue = BufferQueue::default();
        queue.push_back(piece);
        // A script or an encoding hint only interrupts: there is nothing to run or to decode again.
        while !matches!(self.tokenizer.feed(&queue), TokenizerResult::Done) {}
    }
}

/// Recently seen tag names: interning a name takes longer than comparing it. With each name its
/// last eight bytes as a number, which is all of most names.
struct TagNames<'t>([Option<(u64, &'t str, LocalName)>; 64]);

impl Default for TagNames<'_> {
    fn default() -> Self {
        Self(std::array::from_fn(|_| None))
    }
}

impl<'t> TagNames<'t> {
    /// The interned form of `name`.
    fn get(&mut self, name: &'t str) -> LocalName {
        let bytes = name.as_bytes();
        let number = bytes
            .iter()
            .fold(0, |number: u64, byte| number << 8 | u64::from(*byte));
        // The product's upper bits depend on all bytes.
        let place = (number.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 58) as usize;
        let slot = &mut self.0[place % 64];
        match slot {
            Some((known, all, local))
                if *known == number
                    && all.len() == name.len()
                    && (name.len() <= 8 || *all == name) =>
            {
                local.clone()
            }
            _ => {
                let local = if bytes.iter().any(u8::is_ascii_uppercase) {
                    LocalName::from(name.to_ascii_lowercase())
                } else {
                    LocalName::from(name)
                };
                slot.insert((number, name, local)).2.clone()
            }
        }
    }
}
