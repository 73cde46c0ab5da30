//! By whose rules the words and sentences of a language are told apart: those that datatrove 0.10.1
//! assigns to it (`assets/tokenizer_assignment.csv`), as far as they are rules.

use super::words::{self, Rules};

/// How words and sentences of a language are told apart.
#[derive(Clone, Copy)]
pub(super) struct Cutting {
    pub(super) rules: &'static Rules,
    pub(super) sentences: Sentences,
}

/// How sentences are told apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Sentences {
    /// By words that are a mark.
    Marks,
    /// By marks wherever they stand, but behind a capital letter.
    Ends,
}

/// Languages without spaces between words, and Korean and Vietnamese, whose words are told apart by
/// dictionaries.
const BY_DICTIONARY: [&str; 9] = ["bo", "ja", "km", "ko", "lo", "my", "th", "vi", "zh"];

/// Whose rules are used for languages that have none of their own.
const PROXIES: [(&str, &str); 6] = [
    ("ast", "es"),
    ("bs", "sr"),
    ("nn", "nb"),
    ("no", "nb"),
    ("oc", "es"),
    ("xh", "tn"),
];

/// Returns how words of this language are told apart; `None` if that takes a dictionary.
pub(super) fn cutting(language: Option<&str>) -> Option<Cutting> {
    let code = language.unwrap_or_default();
    let code = code.split(['-', '_']).next().unwrap_or_default();
    let code = code.to_ascii_lowercase();
    if BY_DICTIONARY.contains(&&*code) {
        return None;
    }
    let proxy = PROXIES.iter().find(|(from, _)| *from == code);
    Some(Cutting {
        rules: words::of(proxy.map_or(&code, |(_, to)| to)),
        sentences: match &*code {
            "ka" | "dv" => Sentences::Ends,
            _ => Sentences::Marks,
        },
    })
}

/// Whether a text in this language is to have the stop words of English.
pub(super) fn is_english(language: Option<&str>) -> bool {
    language.is_some_and(|it| it == "en" || it.starts_with("en-"))
}
