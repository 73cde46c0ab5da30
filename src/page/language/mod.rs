//! The language of a text, told by its script and, where several languages share that, by the
//! letters that follow one another and by its words.
//!
//! Steps: (1) the script of most letters (`script.rs`); many scripts have one language only. (2)
//! For the others, the scores of their languages in a table of weights (`table.rs`). (3) The
//! answer, with a score: how likely the best language is beside the second. Short and mixed texts
//! have none.

mod script;
mod table;

use script::Script;

/// A language that was recognized.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Detected {
    /// Its code of ISO 639-1, else of ISO 639-3.
    pub language: &'static str,
    /// How clear it is, in thousandths: 550 at least.
    pub permille: u16,
}

impl Detected {
    /// Whether it is so clear that texts in two languages are not the same. Between Norwegian and
    /// Danish, or Spanish and Asturian, a few words may decide for the one or the other.
    pub(super) fn is_sure(self) -> bool {
        self.permille >= SURE_PERMILLE
    }

    /// The score, from 0 to 1.
    pub fn score(self) -> f32 {
        f32::from(self.permille) / 1000.0
    }
}

/// Minimum score of what is sure.
const SURE_PERMILLE: u16 = 900;

/// Number of characters that are looked at: more of them decide hardly anything else.
const MAX_CHARS: usize = 1_000;

/// Minimum score. Of 1,596 pages of a manual in 19 languages, five have less, of which three would
/// be told rightly; of 3,302 pages of another one in 25, 23 and sixteen.
const MIN_PERMILLE: u16 = 550;

/// Number of letters below which a text has no language: menus, names, a price. A letter of a
/// script whose letters are syllables or words counts several times.
const MIN_LETTERS: u32 = 18;

/// Whether a language is one of these, or a variety of one: `pt-br` is `pt`.
pub fn is_among(language: &str, wanted: &[String]) -> bool {
    let language = primary(language);
    wanted.iter().any(|it| primary(it) == language)
}

/// The language of which this is a variety, in lower case.
fn primary(tag: &str) -> String {
    let primary = tag.split('-').next().unwrap_or_default();
    primary.to_ascii_lowercase()
}

/// Whether texts in this language, or the one of which it is a variety, can be recognized.
pub fn is_recognized(language: &str) -> bool {
    let language = primary(language);
    let mut all = script::languages().chain(table::languages());
    all.any(|it| it == language)
}

/// The language of `text`, if that is clear.
pub fn detect(text: &str) -> Option<Detected> {
    let text = match text.char_indices().nth(MAX_CHARS) {
        Some((end, _)) => text.get(..end)?,
        None => text,
    };
    let (script, letters) = script::of(text)?;
    if letters < MIN_LETTERS {
        return None;
    }
    let detected = match script {
        Script::One(language) => Detected {
            language,
            permille: 1_000,
        },
        Script::Several(script) => table::detect(text, script)?,
    };
    (detected.permille >= MIN_PERMILLE).then_some(detected)
}

#[cfg(test)]
mod tests;
