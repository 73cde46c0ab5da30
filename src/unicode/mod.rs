//! Which sequences of characters are one text, and what characters are. Most texts are in the usual
//! form already, and are given back as they are.

mod letters;

use std::borrow::Cow;

use icu_normalizer::ComposingNormalizerBorrowed;

pub(crate) use letters::{is_alphanumeric, is_lower_alphanumeric, push_lower};

/// The text with letters and their accents composed (NFC): `e` and an acute accent are `é`. Such
/// spellings look the same, and by Unicode they are.
///
/// Compatibility ideographs stay as they are, although NFC replaces them: in names they are told
/// from those that they would become.
pub(crate) fn composed(text: &str) -> Cow<'_, str> {
    if text.is_ascii() || is_surely_composed(text.as_bytes()) {
        return Cow::Borrowed(text);
    }
    let nfc = ComposingNormalizerBorrowed::new_nfc();
    let composed = nfc.normalize(text);
    if matches!(composed, Cow::Borrowed(_)) || !text.contains(is_compatibility_ideograph) {
        return composed;
    }
    let mut composed = String::with_capacity(text.len());
    for piece in text.split_inclusive(is_compatibility_ideograph) {
        let end = piece.char_indices().next_back();
        let (before, ideograph) = match end {
            Some((at, last)) if is_compatibility_ideograph(last) => piece.split_at(at),
            _ => (piece, ""),
        };
        composed.push_str(&nfc.normalize(before));
        composed.push_str(ideograph);
    }
    Cow::Owned(composed)
}

/// The text with letters in another shape as those letters: full and half width, ligatures such as
/// `ﬁ`, and the shapes of Arabic letters within words.
///
/// What NFKC replaces beyond that stays, because it may mean something else: `x²` is not `x2`, and
/// `①` is not `1`.
pub(crate) fn same_letters(text: &str) -> Cow<'_, str> {
    // The first bytes of all these characters.
    let may_have = memchr::memchr3(0xc4, 0xc7, 0xef, text.as_bytes()).is_some();
    if !may_have || !text.contains(is_shape) {
        return Cow::Borrowed(text);
    }
    let nfkc = ComposingNormalizerBorrowed::new_nfkc();
    let mut letters = String::with_capacity(text.len());
    let mut rest = text;
    while !rest.is_empty() {
        let end = rest.find(is_shape).unwrap_or(rest.len());
        let (before, from) = rest.split_at(end);
        let end = from.find(|c| !is_shape(c)).unwrap_or(from.len());
        let (shapes, after) = from.split_at(end);
        letters.push_str(before);
        letters.push_str(&nfkc.normalize(shapes));
        rest = after;
    }
    Cow::Owned(letters)
}

/// Whether a text in UTF-8 has only characters that are composed and that nothing before them is
/// composed with: Latin letters, Russian ones, ideographs, kana, and the usual punctuation. It
/// takes half of the time that normalizing does.
fn is_surely_composed(text: &[u8]) -> bool {
    let at = |at: usize| text.get(at).copied().unwrap_or(0);
    let is_surely = |place: usize| match at(place) {
        0..=0xcb | 0xd0 | 0xd1 | 0xe4..=0xe9 => true,
        // All of these but two wide spaces.
        0xe2 => at(place + 1) == 0x80 && at(place + 2) > 0x81,
        // But tone marks, and marks that make kana voiced.
        0xe3 => match at(place + 1) {
            0x80 => at(place + 2) < 0xaa,
            0x82 => !matches!(at(place + 2), 0x99 | 0x9a),
            next => matches!(next, 0x81 | 0x83),
        },
        0xef => matches!(at(place + 1), 0xbc | 0xbd),
        _ => false,
    };
    // Most of most texts is ASCII, which is passed over in large steps.
    let mut chunks = text.chunks(32).enumerate();
    chunks.all(|(n, chunk)| {
        let mut bytes = chunk.iter().enumerate();
        chunk.is_ascii() || bytes.all(|(at, byte)| *byte < 0xcc || is_surely(32 * n + at))
    })
}

fn is_compatibility_ideograph(c: char) -> bool {
    matches!(c, '\u{f900}'..='\u{faff}' | '\u{2f800}'..='\u{2fa1f}')
}

/// Whether a character is a letter or a digit in another shape, or several letters in one.
fn is_shape(c: char) -> bool {
    matches!(c,
        '\u{132}' | '\u{133}'           // Dutch ij
        | '\u{1c4}'..='\u{1cc}'         // Croatian digraphs
        | '\u{1f1}'..='\u{1f3}'
        | '\u{fb00}'..='\u{fb17}'       // Latin and Armenian ligatures
        | '\u{fb50}'..='\u{fdf9}'       // Arabic
        | '\u{fe70}'..='\u{fefc}'
        | '\u{ff10}'..='\u{ff19}'       // full width
        | '\u{ff21}'..='\u{ff3a}'
        | '\u{ff41}'..='\u{ff5a}'
        | '\u{ff66}'..='\u{ffdc}') // half width
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn accents_are_composed_and_nothing_else_changes() {
        let check = |text: &str, expected: &str| assert_eq!(composed(text), expected, "{text}");
        check("cafe\u{301}", "caf\u{e9}");
        check(
            "a\u{323}\u{302} and a\u{302}\u{323}",
            "\u{1ead} and \u{1ead}",
        );
        check("\u{1112}\u{1161}\u{11ab}", "\u{d55c}");
        // Marks that are not composed have one order.
        check("\u{5e9}\u{5bc}\u{5c1}", "\u{5e9}\u{5bc}\u{5c1}");
        for text in [
            "x\u{b2}",
            "\u{2460}",
            "\u{fb01}",
            "\u{ff21}",
            "\u{bd}",
            "plain",
            "na\u{ef}ve",
        ] {
            check(text, text);
            assert!(matches!(composed(text), Cow::Borrowed(_)), "{text}");
        }
        // A name in a compatibility ideograph, beside an accent that is composed.
        check("\u{fa19}e\u{301}\u{fa19}", "\u{fa19}\u{e9}\u{fa19}");
        check("\u{fa19}", "\u{fa19}");
    }

    #[test]
    fn what_is_surely_composed_is_composed_behind_any_letter() {
        let nfc = ComposingNormalizerBorrowed::new_nfc();
        let mut sure = 0;
        for c in ('\u{80}'..='\u{10ffff}').filter(|c| is_surely_composed(c.to_string().as_bytes()))
        {
            sure += 1;
            assert!(nfc.is_normalized(&c.to_string()), "{c}");
            for before in ["e", "\u{438}", "\u{304b}", "\u{1112}", "\u{915}", "\u{5e9}"] {
                assert!(nfc.is_normalized(&format!("{before}{c}")), "{before}{c}");
            }
        }
        assert!(sure > 24_000, "{sure}");
        for text in [
            "e\u{301}",
            "\u{2000}",
            "\u{212b}",
            "\u{304b}\u{3099}",
            "\u{fa19}",
            "\u{302a}",
        ] {
            assert!(!is_surely_composed(text.as_bytes()), "{text}");
        }
        for text in [
            "\u{201c}Gr\u{fc}\u{df}e\u{201d} \u{2013} \u{43f}\u{440}\u{438}\u{432}\u{435}\u{442}",
            "\u{300c}\u{6771}\u{4eac}\u{300d}\u{3078}\u{ff01}",
        ] {
            assert!(is_surely_composed(text.as_bytes()), "{text}");
        }
    }

    #[test]
    fn shapes_of_letters_are_the_letters_and_other_signs_are_not() {
        let check = |text: &str, expected: &str| assert_eq!(same_letters(text), expected, "{text}");
        check("\u{ff27}leaner \u{ff11}\u{ff12}", "Gleaner 12");
        check("o\u{fb03}ce, \u{fb01}t", "office, fit");
        check("\u{ff76}\u{ff9e}\u{ff77}", "\u{30ac}\u{30ad}");
        check("\u{fedf}\u{fe8e}", "\u{644}\u{627}");
        // Powers, fractions, numbers in circles, Roman numerals, mathematical letters, squared
        // words, compatibility ideographs.
        for text in [
            "x\u{b2}",
            "h\u{2082}o",
            "\u{bd}",
            "\u{2460}",
            "\u{2163}",
            "\u{1d431}",
            "\u{33a1}",
            "\u{fa19}",
            "plain",
            "\u{e9}",
        ] {
            assert!(matches!(same_letters(text), Cow::Borrowed(_)), "{text}");
        }
    }
}
