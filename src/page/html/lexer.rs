//! The simple parts of HTML's syntax, read as html5ever's tokenizer reads them (HTML standard,
//! section 13.2.5), but by searching for their ends instead of character by character.
//!
//! Every function reads one thing that begins at a known position of a text whose line ends are
//! line feeds, and returns where it ends. `None` means that it is not simple or not complete before
//! `limit`; the tokenizer itself must then read it. This file knows nothing of what a page means.

use std::ops::Range;

use html5ever::data::{C1_REPLACEMENTS, NAMED_ENTITIES};
use html5ever::tendril::StrTendril;
use memchr::{memchr, memchr_iter, memchr2};

/// Where a tag ends, and whether it ends with `/>`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct TagEnd {
    pub(super) at: usize,
    pub(super) self_closing: bool,
}

/// The end of the name of a tag that begins at `at`, which must be a letter.
pub(super) fn tag_name(text: &str, at: usize, limit: usize) -> Option<usize> {
    let bytes = text.as_bytes().get(..limit)?;
    let mut end = at;
    while !ENDS_NAME[usize::from(*bytes.get(end)?)] {
        end += 1;
    }
    (bytes[end] != 0).then_some(end)
}

/// Reads attributes from the end of a tag's name to the end of the tag, and passes on each name as
/// it is written and the range of its value. `each` must take the first of several attributes with
/// one name, and may stop the reading with `None`.
pub(super) fn attributes<'t>(
    text: &'t str,
    mut at: usize,
    limit: usize,
    mut each: impl FnMut(&'t str, Range<usize>) -> Option<()>,
) -> Option<TagEnd> {
    let bytes = text.as_bytes().get(..limit)?;
    loop {
        match *bytes.get(at)? {
            byte if is_space(byte) => at += 1,
            b'>' => {
                return Some(TagEnd {
                    at: at + 1,
                    self_closing: false,
                });
            }
            b'/' if *bytes.get(at + 1)? == b'>' => {
                return Some(TagEnd {
                    at: at + 2,
                    self_closing: true,
                });
            }
            b'/' => at += 1,
            0 => return None,
            _ => {
                let start = at;
                // The first character may be anything, even `=`.
                at += 1;
                while !ENDS_ATTRIBUTE[usize::from(*bytes.get(at)?)] {
                    at += 1;
                }
                if bytes[at] == 0 {
                    return None;
                }
                let name = text.get(start..at)?;
                at = skip_space(bytes, at)?;
                let mut value = at..at;
                if bytes[at] == b'=' {
                    at = skip_space(bytes, at + 1)?;
                    match bytes[at] {
                        b'>' => {}
                        quote @ (b'"' | b'\'') => {
                            let length = find(quote, &bytes[at + 1..])?;
                            value = at + 1..at + 1 + length;
                            at = value.end + 1;
                        }
                        _ => {
                            let ends = |&byte: &u8| byte == b'>' || is_space(byte);
                            let length = bytes[at..].iter().position(ends)?;
                            value = at..at + length;
                            at = value.end;
                        }
                    }
                }
                each(name, value)?;
            }
        }
    }
}

/// The place of the first such byte. Most things end within a few bytes, where asking `memchr`
/// takes longer than looking.
#[inline]
pub(super) fn find(byte: u8, bytes: &[u8]) -> Option<usize> {
    const ONES: u64 = 0x0101_0101_0101_0101;
    const HIGH: u64 = 0x8080_8080_8080_8080;
    for (at, eight) in bytes.as_chunks::<8>().0.iter().take(2).enumerate() {
        // Sets the high bit of the first byte that is zero, and none before it.
        let differs = u64::from_le_bytes(*eight) ^ (ONES * u64::from(byte));
        let found = differs.wrapping_sub(ONES) & !differs & HIGH;
        if found != 0 {
            return Some(8 * at + found.trailing_zeros() as usize / 8);
        }
    }
    memchr(byte, bytes)
}

/// The end of the comment that begins with the `<!--` at `at`.
pub(super) fn comment(text: &str, at: usize, limit: usize) -> Option<usize> {
    let content = text.as_bytes().get(at..limit)?.strip_prefix(b"<!--")?;
    let begin = at + 4;
    if content.starts_with(b">") {
        return Some(begin + 1);
    }
    if content.starts_with(b"->") {
        return Some(begin + 2);
    }
    let mut closings = memchr_iter(b'>', content);
    let end = closings.find(|&end| {
        let before = &content[..end];
        before.ends_with(b"--") || before.ends_with(b"--!")
    })?;
    Some(begin + end + 1)
}

/// The position of the next `</name` from `at` on that ends an element of raw text.
pub(super) fn raw_text_end(text: &str, at: usize, name: &str) -> Option<usize> {
    let bytes = text.as_bytes();
    let rest = bytes.get(at..)?;
    let mut markers = memchr_iter(b'<', rest);
    let end = markers.find(|&place| {
        let tag = rest[place + 1..].strip_prefix(b"/").unwrap_or_default();
        begins_with_name(tag, name)
    })?;
    Some(at + end)
}

/// Whether a script does not end at the first `</script`, because it opens a comment and another
/// script in it (the standard's double escaped states).
pub(super) fn escapes_its_end(script: &str) -> bool {
    let Some(comment) = memchr::memmem::find(script.as_bytes(), b"<!--") else {
        return false;
    };
    let rest = &script.as_bytes()[comment..];
    memchr_iter(b'<', rest).any(|place| begins_with_name(&rest[place + 1..], "script"))
}

/// Whether the text after a `<` or `</` begins with this tag name.
pub(super) fn begins_with_name(tag: &[u8], name: &str) -> bool {
    let Some((begin, rest)) = tag.split_at_checked(name.len()) else {
        return false;
    };
    begin.eq_ignore_ascii_case(name.as_bytes())
        && matches!(rest.first(), Some(&byte) if is_space(byte) || byte == b'/' || byte == b'>')
}

/// The value of an attribute with its character references resolved.
pub(super) fn value(page: &StrTendril, place: Range<usize>) -> Option<StrTendril> {
    let written = page.get(place.clone())?;
    if memchr2(b'&', 0, written.as_bytes()).is_none() {
        let value = page.try_subtendril(place.start as u32, place.len() as u32);
        return value.ok();
    }
    if written.contains('\0') {
        return None;
    }
    resolved(written, 0..written.len(), true)
}

/// Text with its character references resolved; it must not end within one.
pub(super) fn resolved(text: &str, place: Range<usize>, in_attribute: bool) -> Option<StrTendril> {
    let mut resolved = String::with_capacity(place.len());
    resolve_into(&mut resolved, text, place, in_attribute)?;
    Some(StrTendril::from(resolved))
}

/// Adds a text with its character references resolved; it must not end within one.
pub(super) fn resolve_into(
    resolved: &mut String,
    text: &str,
    place: Range<usize>,
    in_attribute: bool,
) -> Option<()> {
    let (mut at, end) = (place.start, place.end);
    while let Some(length) = memchr(b'&', text.as_bytes().get(at..end)?) {
        resolved.push_str(text.get(at..at + length)?);
        at += length + 1;
        match reference(text, at, in_attribute) {
            Some(reference) => {
                reference.push_to(resolved);
                at = reference.end;
            }
            None => resolved.push('&'),
        }
    }
    resolved.push_str(text.get(at..end)?);
    Some(())
}

/// A character reference.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Reference {
    /// The characters it stands for; there is seldom a second one.
    characters: (char, Option<char>),
    /// The position after it.
    pub(super) end: usize,
}

impl Reference {
    /// Appends the characters it stands for.
    pub(super) fn push_to(&self, text: &mut String) {
        text.push(self.characters.0);
        if let Some(second) = self.characters.1 {
            text.push(second);
        }
    }
}

/// Reads the reference after the `&` before `at`; `None` if it is only an `&`. The text must not be
/// cut within a reference.
pub(super) fn reference(text: &str, at: usize, in_attribute: bool) -> Option<Reference> {
    let rest = text.get(at..)?;
    match rest.as_bytes().first()? {
        b'#' => numeric_reference(rest, at),
        byte if byte.is_ascii_alphanumeric() => named_reference(rest, at, in_attribute),
        _ => None,
    }
}

fn numeric_reference(rest: &str, at: usize) -> Option<Reference> {
    let (radix, prefix) = match rest.as_bytes().get(1) {
        Some(b'x' | b'X') => (16, 2),
        _ => (10, 1),
    };
    let digits = rest.get(prefix..)?;
    let length = digits
        .bytes()
        .take_while(|&byte| char::from(byte).is_digit(radix))
        .count();
    if length == 0 {
        return None;
    }
    let number = digits[..length].chars().fold(0_u32, |number, digit| {
        let digit = digit.to_digit(radix).unwrap_or_default();
        number.saturating_mul(radix).saturating_add(digit)
    });
    let character = match number {
        0 => None,
        0x80..=0x9F => C1_REPLACEMENTS[number as usize - 0x80].or(char::from_u32(number)),
        _ => char::from_u32(number),
    };
    let end = at + prefix + length;
    Some(Reference {
        characters: (character.unwrap_or(char::REPLACEMENT_CHARACTER), None),
        end: end + usize::from(digits[length..].starts_with(';')),
    })
}

/// Length of most names of references, with the semicolon.
const SHORT_NAME: usize = 8;

fn named_reference(rest: &str, at: usize, in_attribute: bool) -> Option<Reference> {
    // Most names are short and end with a semicolon, which no longer name goes on behind.
    let head = rest.as_bytes().get(..SHORT_NAME.min(rest.len()))?;
    if let Some(end) = memchr(b';', head)
        && let Some(&(first, second)) = rest.get(..=end).and_then(|it| NAMED_ENTITIES.get(it))
        && first != 0
    {
        return Some(Reference {
            characters: (char::from_u32(first)?, some(second)),
            end: at + end + 1,
        });
    }
    // The longest name counts. The table also contains every prefix of a name.
    let mut found = None;
    for length in 1..=rest.len() {
        let Some(&(first, second)) = rest.get(..length).and_then(|name| NAMED_ENTITIES.get(name))
        else {
            break;
        };
        if first != 0 {
            found = Some((length, first, second));
        }
    }
    let (length, first, second) = found?;
    let is_terminated = rest[..length].ends_with(';');
    let next = rest.as_bytes().get(length).copied().unwrap_or_default();
    if in_attribute && !is_terminated && (next == b'=' || next.is_ascii_alphanumeric()) {
        return None;
    }
    Some(Reference {
        characters: (char::from_u32(first)?, some(second)),
        end: at + length,
    })
}

/// The second character of a reference, if there is one.
fn some(second: u32) -> Option<char> {
    char::from_u32(second).filter(|&second| second != '\0')
}

/// Whether this is white space in markup, where line ends are line feeds.
#[inline]
fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\n' | b'\t' | 0xC)
}

/// Which bytes end the name of a tag or require the tokenizer, and those of an attribute.
const ENDS_NAME: [bool; 256] = ends(false);
const ENDS_ATTRIBUTE: [bool; 256] = ends(true);

const fn ends(is_attribute: bool) -> [bool; 256] {
    let mut ends = [false; 256];
    let mut byte = 0;
    while byte < 256 {
        let is_end = matches!(byte as u8, b' ' | b'\n' | b'\t' | 0xC | b'>' | b'/' | 0);
        ends[byte] = is_end || (is_attribute && byte as u8 == b'=');
        byte += 1;
    }
    ends
}

fn skip_space(bytes: &[u8], mut at: usize) -> Option<usize> {
    while is_space(*bytes.get(at)?) {
        at += 1;
    }
    Some(at)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn bytes_are_found_where_they_are(bytes in prop::collection::vec(0_u8..4, 0..40), byte in 0_u8..4) {
            let far = [vec![7; 20], bytes.clone()].concat();
            for bytes in [bytes, far] {
                let expected = bytes.iter().position(|it| *it == byte);
                prop_assert_eq!(find(byte, &bytes), expected);
            }
        }
    }
}
