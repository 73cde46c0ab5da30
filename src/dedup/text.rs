//! Normal forms of text: what the tiers above raw bytes compare.

use sha2::{Digest, Sha256};
use xxhash_rust::xxh3::xxh3_64;

/// Under this share of the visible words, the main text is no longer trusted to stand for the
/// page, which is then judged by all of its text: two pages that share a notice and differ in a
/// table that extraction dropped are not the same.
const TRUSTED_SHARE: f64 = 0.25;

/// A page's text, ready to be signed.
#[derive(Debug, Clone, Default)]
pub struct Text {
    /// SHA-256 of the visible text, case and white space folded.
    normalized: Option<[u8; 32]>,
    /// SHA-256 of the word sequence that the page is judged by.
    content: Option<[u8; 32]>,
    /// xxh3 of each word that the page is judged by.
    word_hashes: Vec<u64>,
    /// Visible words.
    visible_words: u32,
}

impl Text {
    /// Prepares the main text of a page and its whole visible text.
    pub fn new(main: &str, visible: &str) -> Self {
        let mut visible_hashes = Vec::new();
        let mut whole = Sha256::new();
        words(visible, |word| {
            visible_hashes.push(xxh3_64(word.as_bytes()));
            feed(&mut whole, word);
        });
        let mut main_hashes = Vec::new();
        let mut content = Sha256::new();
        words(main, |word| {
            main_hashes.push(xxh3_64(word.as_bytes()));
            feed(&mut content, word);
        });
        let visible_words = u32::try_from(visible_hashes.len()).unwrap_or(u32::MAX);
        let trusted = main_hashes.len() as f64 >= TRUSTED_SHARE * visible_hashes.len() as f64;
        let (content, word_hashes) = if trusted {
            (content, main_hashes)
        } else {
            (whole, visible_hashes)
        };
        Self {
            normalized: (visible_words > 0).then(|| fold(visible)),
            content: (!word_hashes.is_empty()).then(|| content.finalize().into()),
            word_hashes,
            visible_words,
        }
    }

    /// SHA-256 of the visible text, case and white space folded; `None` if there is none.
    pub fn normalized(&self) -> Option<[u8; 32]> {
        self.normalized
    }

    /// SHA-256 of the word sequence that the page is judged by; `None` if there is none.
    pub fn content(&self) -> Option<[u8; 32]> {
        self.content
    }

    /// xxh3 of each word that the page is judged by, in order.
    pub fn word_hashes(&self) -> &[u64] {
        &self.word_hashes
    }

    /// Number of words that the page is judged by.
    pub fn word_count(&self) -> u32 {
        u32::try_from(self.word_hashes.len()).unwrap_or(u32::MAX)
    }

    /// Number of visible words.
    pub fn visible_words(&self) -> u32 {
        self.visible_words
    }
}

/// Adds a word to a digest of a word sequence; the NUL keeps `ab c` from being `a bc`.
fn feed(digest: &mut Sha256, word: &str) {
    digest.update(word.as_bytes());
    digest.update([0]);
}

/// SHA-256 of text with case folded and runs of white space as one space.
fn fold(text: &str) -> [u8; 32] {
    let mut digest = Sha256::new();
    let mut lower = String::new();
    for piece in text.split_whitespace() {
        lower.clear();
        push_lower(&mut lower, piece);
        lower.push(' ');
        digest.update(lower.as_bytes());
    }
    digest.finalize().into()
}

/// Visits the words of a text: lower-cased runs of letters and digits; where words are not parted
/// by spaces (Chinese, Japanese, Thai and the like), every two neighbouring characters.
pub fn words(text: &str, mut visit: impl FnMut(&str)) {
    let mut lower = String::new();
    for run in text.split(|c: char| !c.is_alphanumeric() && !is_mark(c)) {
        if run.is_empty() {
            continue;
        }
        lower.clear();
        push_lower(&mut lower, run);
        if lower.is_ascii() {
            visit(&lower);
        } else {
            visit_mixed(&lower, &mut visit);
        }
    }
}

/// Splits a run where its script changes, and the parts without word spaces into bigrams.
fn visit_mixed(run: &str, visit: &mut impl FnMut(&str)) {
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

fn push_lower(lower: &mut String, text: &str) {
    if text.is_ascii() {
        lower.push_str(text);
        lower.make_ascii_lowercase();
    } else {
        lower.extend(text.chars().flat_map(char::to_lowercase));
    }
}

/// Combining marks belong to the letter before them (Thai vowels, Indic signs, accents apart).
fn is_mark(c: char) -> bool {
    matches!(c, '\u{300}'..='\u{36f}' | '\u{e31}' | '\u{e34}'..='\u{e3a}' | '\u{e47}'..='\u{e4e}'
        | '\u{900}'..='\u{903}' | '\u{93a}'..='\u{94f}')
}

/// Scripts written without spaces between words.
fn is_spaceless(c: char) -> bool {
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

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: &[&str]) {
        let mut found = Vec::new();
        words(text, |word| found.push(word.to_owned()));
        assert_eq!(found, expected, "{text}");
    }

    #[test]
    fn words_are_runs_of_letters_and_digits() {
        check("Hello, World! x86-64", &["hello", "world", "x86", "64"]);
        check("  ", &[]);
        check("ÄRGER über_alles", &["ärger", "über", "alles"]);
    }

    #[test]
    fn scripts_without_spaces_give_bigrams() {
        check("日本語", &["日本", "本語"]);
        check("東", &["東"]);
        check("Rust言語です", &["rust", "言語", "語で", "です"]);
    }

    #[test]
    fn folding_ignores_case_and_space_only() {
        let of = |text: &str| Text::new(text, text).normalized();
        assert_eq!(of("A  b\n c."), of("a B c. "));
        assert_ne!(of("a b c."), of("a b c"));
        assert_eq!(Text::new("", " \n").normalized(), None);
    }

    #[test]
    fn content_is_the_word_sequence() {
        let of = |text: &str| Text::new(text, text).content();
        assert_eq!(of("One, two; three"), of("one two three"));
        assert_ne!(of("one two three"), of("one three two"));
        assert_ne!(of("ab c"), of("a bc"));
    }

    #[test]
    fn an_over_trimmed_main_text_does_not_stand_for_the_page() {
        let notice = "please note that this page is old";
        let one = format!("{notice} {}", "alpha beta gamma ".repeat(20));
        let two = format!("{notice} {}", "delta epsilon zeta ".repeat(20));
        assert_ne!(
            Text::new(notice, &one).content(),
            Text::new(notice, &two).content()
        );
    }
}
