//! Text that looks like English to a program, and the same on every machine.

use std::sync::OnceLock;

pub(crate) use crate::random::{Random, capital};

/// Different words, beside the small ones.
const WORDS: usize = 12_000;

/// What sentences are held together by; a language is told by them.
const SMALL: [&str; 64] = [
    "the", "of", "and", "to", "in", "a", "is", "that", "for", "it", "as", "was", "with", "be",
    "by", "on", "not", "he", "this", "are", "or", "his", "from", "at", "which", "but", "have",
    "an", "had", "they", "you", "were", "their", "one", "all", "we", "can", "her", "has", "there",
    "been", "if", "more", "when", "will", "would", "who", "so", "no", "out", "up", "into", "than",
    "them", "only", "some", "could", "time", "these", "two", "may", "then", "do", "about",
];

fn word(index: usize) -> &'static str {
    static ALL: OnceLock<Vec<String>> = OnceLock::new();
    let all = ALL.get_or_init(|| (0..WORDS).map(crate::random::word).collect());
    all.get(index).map_or("word", String::as_str)
}

/// A word as often as in prose: two of five are small ones.
pub(crate) fn any_word(random: &mut Random) -> &'static str {
    match random.below(10) {
        0..4 => SMALL[random.below(SMALL.len())],
        4..7 => word(random.below(600)),
        _ => word(random.below(WORDS)),
    }
}

/// A noun, or whatever is no small word.
pub(crate) fn noun(random: &mut Random) -> &'static str {
    word(random.below(WORDS))
}

/// So many nouns, the first with a capital.
pub(crate) fn title(random: &mut Random, words: usize) -> String {
    let words: Vec<_> = (0..words).map(|_| noun(random)).collect();
    capital(&words.join(" "))
}

/// A name for an address.
pub(crate) fn slug(random: &mut Random, words: usize) -> String {
    let words: Vec<_> = (0..words).map(|_| noun(random)).collect();
    words.join("-")
}

/// Sentences of `words` words in all, with the marks and elements that writers use; links lead to
/// `paths`.
pub(crate) fn prose(html: &mut String, random: &mut Random, words: usize, paths: &[String]) {
    let mut left = words;
    while left > 0 {
        let length = random.between(6, 22).min(left);
        left -= length;
        html.push_str(&capital(any_word(random)));
        for at in 1..length {
            html.push_str(if at % 9 == 8 { ", " } else { " " });
            let word = any_word(random);
            match random.below(60) {
                0 => push(html, &["<em>", word, "</em>"]),
                1 => {
                    let path = &paths[random.below(paths.len())];
                    push(html, &["<a href=\"", path, "\">", word, "</a>"]);
                }
                2 => push(html, &[word, "&#8217;s"]),
                3 => push(html, &["caf\u{e9} ", word]),
                4 => push(html, &["&ldquo;", word, "&rdquo;"]),
                _ => html.push_str(word),
            }
        }
        html.push_str(". ");
    }
}

/// Adds several pieces.
pub(crate) fn push(html: &mut String, pieces: &[&str]) {
    for piece in pieces {
        html.push_str(piece);
    }
}
