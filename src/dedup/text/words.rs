//! The tokeniser, which defines what a word is.

use std::borrow::Cow;

use encoding_rs::Encoding;

use crate::unicode;

/// A piece of a lower-cased text.
pub(super) enum Piece<'a> {
    /// A longest run of ASCII letters and digits: one word.
    Word(&'a str),
    /// A longest run of letters, digits and their combining marks that is not all ASCII.
    Run(&'a str),
    /// One white-space character.
    Space(&'a str),
    /// One other character.
    Other,
}

/// Splits a lower-cased text and visits each piece with its byte offset.
pub(super) fn pieces<'a>(lower: &'a str, mut visit: impl FnMut(Piece<'a>, usize)) {
    let bytes = lower.as_bytes();
    let mut at = 0;
    while let Some(&first) = bytes.get(at) {
        let start = at;
        let is_word_byte = |byte: &&u8| CLASS[usize::from(**byte)] == Class::Word;
        at += bytes[at..].iter().take_while(is_word_byte).count();
        let ascii = at;
        if bytes.get(at).is_some_and(|byte| *byte >= 0x80) {
            // Letters beyond ASCII can continue or begin the run.
            let rest = &lower[at..];
            at += rest.find(|c| !is_word(c)).unwrap_or(rest.len());
        }
        let piece = if at > ascii {
            Piece::Run(&lower[start..at])
        } else if at > start {
            Piece::Word(&lower[start..at])
        } else if first < 0x80 {
            at += 1;
            match CLASS[usize::from(first)] {
                Class::Space => Piece::Space(&lower[start..at]),
                _ => Piece::Other,
            }
        } else {
            let character = lower[start..].chars().next();
            at += character.map_or(1, char::len_utf8);
            if character.is_some_and(char::is_whitespace) {
                Piece::Space(&lower[start..at])
            } else {
                Piece::Other
            }
        };
        visit(piece, start);
    }
}

/// The class of an ASCII byte. Other bytes are classified as characters.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Class {
    Word,
    Space,
    Other,
}

const CLASS: [Class; 256] = {
    let mut table = [Class::Other; 256];
    let mut byte = 0_u8;
    while byte < 0x80 {
        if byte.is_ascii_alphanumeric() {
            table[byte as usize] = Class::Word;
        } else if matches!(byte, b'\t'..=b'\r' | b' ') {
            table[byte as usize] = Class::Space;
        }
        byte += 1;
    }
    table
};

pub(super) fn is_word(c: char) -> bool {
    // Dashes, quotation marks and the like are most of what is no letter.
    let is_punctuation = matches!(c, '\u{2010}'..='\u{2027}');
    !is_punctuation && (unicode::is_alphanumeric(c) || is_mark(c))
}

/// The text in lower case, character by character, so that no word depends on its neighbours, and
/// composed.
pub(super) fn lower(text: &str) -> String {
    let mut lower = String::with_capacity(text.len());
    lower_into(&mut lower, text);
    lower
}

/// Adds a text in lower case to others.
pub(super) fn lower_into(to: &mut String, text: &str) {
    let start = to.len();
    if text.is_ascii() {
        to.push_str(text);
        to[start..].make_ascii_lowercase();
        return;
    }
    let mut rest = text;
    while !rest.is_empty() {
        let (before, after) = rest.split_at(Encoding::ascii_valid_up_to(rest.as_bytes()));
        let begun = to.len();
        to.push_str(before);
        to[begun..].make_ascii_lowercase();
        let beyond = after.bytes().position(|byte| byte.is_ascii());
        let (beyond, after) = after.split_at(beyond.unwrap_or(after.len()));
        unicode::push_lower(to, beyond);
        rest = after;
    }
    // Now, because some letters with accents are composed in lower case only.
    if let Cow::Owned(composed) = unicode::composed(&to[start..]) {
        to.truncate(start);
        to.push_str(&composed);
    }
}

/// Splits a run where its script changes, and the parts without spaces into pairs of characters.
pub(super) fn visit_mixed(run: &str, visit: &mut impl FnMut(&str)) {
    let mut rest = run;
    while let Some(first) = rest.chars().next() {
        let spaceless = is_spaceless(first);
        let end = rest
            .find(|c| is_spaceless(c) != spaceless)
            .unwrap_or(rest.len());
        let (part, after) = rest.split_at(end);
        rest = after;
        if !spaceless {
            visit(part);
            continue;
        }
        let mut starts = part.char_indices().map(|(at, _)| at).chain([part.len()]);
        let mut before = starts.next().unwrap_or(0);
        let mut middle = starts.next().unwrap_or(part.len());
        if middle == part.len() {
            visit(part);
        }
        for end in starts {
            visit(&part[before..end]);
            before = middle;
            middle = end;
        }
    }
}

/// Whether a character is a combining mark, which belongs to the letter before it (Thai vowels,
/// Indic signs, separate accents).
fn is_mark(c: char) -> bool {
    matches!(c, '\u{300}'..='\u{36f}' | '\u{e31}' | '\u{e34}'..='\u{e3a}' | '\u{e47}'..='\u{e4e}'
        | '\u{900}'..='\u{903}' | '\u{93a}'..='\u{94f}')
}

/// Whether a character belongs to a script that is written without spaces between words.
pub(super) fn is_spaceless(c: char) -> bool {
    matches!(c,
        '\u{e00}'..='\u{eff}'           // Thai, Lao
        | '\u{1000}'..='\u{109f}'       // Myanmar
        | '\u{1780}'..='\u{17ff}'       // Khmer
        | '\u{3040}'..='\u{30ff}'       // Hiragana, Katakana
        | '\u{3400}'..='\u{4dbf}'       // CJK extension A
        | '\u{4e00}'..='\u{9fff}'       // CJK
        | '\u{f900}'..='\u{faff}'       // CJK compatibility
        | '\u{20000}'..='\u{3ffff}') // CJK extensions
}
