//! The measures of a text.

use std::collections::HashSet;

use serde::{Serialize, Serializer};

use super::language::{Cutting, cutting, is_english};
use super::lines::{self, stripped};
use super::punctuation::{is_symbol, is_terminal};
use super::repeats::{Runs, repeated};
use super::sentences;
use super::words::{Piece, is_space};

/// Words of which a text in English has some.
const STOP_WORDS: [&str; 8] = ["the", "be", "to", "of", "and", "that", "have", "with"];

/// Length in characters up to which a line is short for `FineWeb`.
const SHORT_LINE: usize = 30;

/// Length in characters beyond which C4 drops the line of a word, and the number of words that a
/// line has at least.
const LONG_WORD: usize = 1_000;
const MIN_WORDS: usize = 3;

/// Phrases of notices, whose lines C4 drops, and where the rarest letter of each is.
const NOTICES: [(&str, usize); 6] = [
    ("terms of use", 7),
    ("privacy policy", 3),
    ("cookie policy", 3),
    ("uses cookies", 8),
    ("use of cookies", 10),
    ("use cookies", 7),
];

/// The measures of a text. Shares are from 0 to 1.
#[derive(Debug, Clone, PartialEq, Serialize)]
// Each is a column, or what a filter asks.
#[expect(clippy::struct_excessive_bools)]
pub struct Quality {
    /// Measures of the words; `None` for languages whose words only a dictionary tells apart.
    #[serde(flatten)]
    pub words: Option<WordMeasures>,
    /// Share of the lines that begin with a bullet.
    #[serde(serialize_with = "rounded")]
    pub bullet_lines: f64,
    /// Share of the lines that end with an ellipsis.
    #[serde(serialize_with = "rounded")]
    pub ellipsis_lines: f64,
    /// Share of the paragraphs that were there before.
    #[serde(serialize_with = "rounded")]
    pub duplicate_paragraphs: f64,
    /// Share of their characters.
    #[serde(serialize_with = "rounded")]
    pub duplicate_paragraph_chars: f64,
    /// Share of the lines that were there before.
    #[serde(serialize_with = "rounded")]
    pub duplicate_lines: f64,
    /// Share of their characters.
    #[serde(serialize_with = "rounded")]
    pub duplicate_line_chars: f64,
    /// Share of the lines that end with a mark that ends sentences.
    #[serde(serialize_with = "rounded")]
    pub punctuated_lines: f64,
    /// Share of the lines with at most thirty characters.
    #[serde(serialize_with = "rounded")]
    pub short_lines: f64,
    /// Share of the characters in lines that were there before, empty lines and newlines aside.
    #[serde(serialize_with = "rounded")]
    pub repeated_chars: f64,
    /// Share of the lines that C4 keeps.
    #[serde(serialize_with = "rounded")]
    pub c4_lines: f64,
    /// Whether a line that C4 looks at says `lorem ipsum`.
    pub lorem_ipsum: bool,
    /// Whether a line that C4 looks at has a curly bracket.
    pub curly_bracket: bool,
    /// Whether there is no text but white space.
    #[serde(skip)]
    pub is_empty: bool,
    /// Whether the words are to have stop words of English.
    #[serde(skip)]
    pub is_english: bool,
}

/// The measures of the words of a text.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct WordMeasures {
    /// Number of words; marks of punctuation are words too.
    pub tokens: usize,
    /// Number of words that are not punctuation alone.
    pub words: usize,
    /// Their mean length in characters.
    #[serde(serialize_with = "rounded")]
    pub mean_word_length: f64,
    /// `#` for each token.
    #[serde(serialize_with = "rounded")]
    pub hashes: f64,
    /// `...` and `…` for each token.
    #[serde(serialize_with = "rounded")]
    pub ellipses: f64,
    /// Share of the tokens that have a letter.
    #[serde(serialize_with = "rounded")]
    pub alphabetic_words: f64,
    /// Number of different stop words of English, of eight.
    pub stop_words: usize,
    /// Share of the characters in the most frequent run of two, three and four tokens.
    #[serde(serialize_with = "all_rounded")]
    pub top_ngrams: [f64; 3],
    /// Share of the characters in runs of five to ten tokens that were there before.
    #[serde(serialize_with = "all_rounded")]
    pub duplicate_ngrams: [f64; 6],
    /// Newlines for each token.
    #[serde(serialize_with = "rounded")]
    pub newlines: f64,
    /// Number of sentences in the lines that C4 keeps, until one makes it drop the page.
    pub sentences: usize,
}

/// Six digits tell shares apart that a reader compares.
fn round(value: f64) -> f64 {
    (value * 1e6).round() / 1e6
}

// The signature is serde's.
#[expect(clippy::trivially_copy_pass_by_ref)]
fn rounded<S: Serializer>(value: &f64, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_f64(round(*value))
}

fn all_rounded<S: Serializer>(values: &[f64], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(values.iter().map(|it| round(*it)))
}

/// Measures a text.
pub(super) fn of(text: &str, language: Option<&str>) -> Quality {
    let cutting = cutting(language);
    let pieces = cutting.map(|it| it.rules.split(text)).unwrap_or_default();
    let all = lines::all(text);
    let chars = text.chars().count();
    let paragraphs = lines::between_newlines(stripped(text), 2);
    let again = repeated(&paragraphs);
    let parts = lines::between_newlines(text, 1);
    let line_again = repeated(&parts);
    let lines = Lines::of(text);
    let c4 = Kept::of(text, &all, &pieces, cutting);
    let starts_with =
        |line: &&&str, of: [char; 2]| line.trim_start_matches(is_space).starts_with(of);
    let ends_with = |line: &&&str| {
        let line = line.trim_end_matches(is_space);
        line.ends_with("...") || line.ends_with('…')
    };
    let count = |wanted: &dyn Fn(&&&str) -> bool| all.iter().filter(wanted).count();
    Quality {
        bullet_lines: share(count(&|line| starts_with(line, ['•', '-'])), all.len()),
        ellipsis_lines: share(count(&ends_with), all.len()),
        duplicate_paragraphs: share(again.elements, paragraphs.len()),
        duplicate_paragraph_chars: share(again.chars, chars),
        duplicate_lines: share(line_again.elements, parts.len()),
        duplicate_line_chars: share(line_again.chars, chars),
        punctuated_lines: share(lines.punctuated, lines.all),
        short_lines: share(lines.short, lines.all),
        repeated_chars: share(lines.repeated, chars - lines.newlines),
        c4_lines: share(c4.lines, all.len()),
        lorem_ipsum: c4.lorem_ipsum,
        curly_bracket: c4.curly_bracket,
        is_empty: lines.all == 0,
        is_english: is_english(language),
        words: cutting.map(|cutting| {
            let words = pieces.iter().map(|it| it.of(text));
            let words: Vec<&str> = words.filter(|it| !it.starts_with(is_space)).collect();
            word_measures(text, &words, chars, lines.newlines, c4.sentences, cutting)
        }),
    }
}

fn share(part: usize, whole: usize) -> f64 {
    match whole {
        0 => 0.0,
        whole => part as f64 / whole as f64,
    }
}

fn word_measures(
    text: &str,
    words: &[&str],
    chars: usize,
    newlines: usize,
    sentences: usize,
    cutting: Cutting,
) -> WordMeasures {
    let tokens = words.len();
    let (mut plain, mut plain_chars, mut alphabetic) = (0, 0, 0);
    let mut lengths = Vec::with_capacity(tokens);
    for word in words {
        let length = match word.is_ascii() {
            true => word.len(),
            false => word.chars().count(),
        };
        lengths.push(length);
        let begins_with_letter = word.as_bytes().first().is_some_and(u8::is_ascii_alphabetic);
        if begins_with_letter || word.chars().any(|it| !is_symbol(it)) {
            plain += 1;
            plain_chars += length;
        }
        let has_letter = begins_with_letter || word.chars().any(|it| cutting.rules.is_letter(it));
        alphabetic += usize::from(has_letter);
    }
    let stop_words: HashSet<&str> = (words.iter().copied())
        .filter(|it| it.len() <= 4 && STOP_WORDS.contains(it))
        .collect();
    let runs = Runs::of(words, &lengths);
    let count = |what: &str| memchr::memmem::find_iter(text.as_bytes(), what).count();
    WordMeasures {
        tokens,
        words: plain,
        mean_word_length: share(plain_chars, plain),
        hashes: share(count("#"), tokens),
        ellipses: share(
            text.matches("...").count() + text.matches('…').count(),
            tokens,
        ),
        alphabetic_words: share(alphabetic, tokens),
        stop_words: stop_words.len(),
        top_ngrams: runs.most_frequent.map(|it| share(it, chars)),
        duplicate_ngrams: runs.repeated.map(|it| share(it, chars)),
        newlines: share(newlines, tokens),
        sentences,
    }
}

/// Lines as `FineWeb` counts them: those between newlines that are not white space.
#[derive(Default)]
struct Lines {
    all: usize,
    newlines: usize,
    punctuated: usize,
    short: usize,
    /// Characters of those that were there before.
    repeated: usize,
}

impl Lines {
    fn of(text: &str) -> Self {
        let lines = text.split('\n').filter(|it| !it.chars().all(is_space));
        let lines: Vec<&str> = lines.collect();
        let short = |line: &&&str| line.chars().nth(SHORT_LINE).is_none();
        Self {
            all: lines.len(),
            newlines: text.matches('\n').count(),
            punctuated: lines.iter().filter(|it| it.ends_with(is_terminal)).count(),
            short: lines.iter().filter(short).count(),
            repeated: repeated(&lines).chars,
        }
    }
}

/// What C4 keeps of a text.
#[derive(Default)]
struct Kept {
    lines: usize,
    sentences: usize,
    lorem_ipsum: bool,
    curly_bracket: bool,
}

impl Kept {
    fn of(text: &str, all: &[&str], pieces: &[Piece], cutting: Option<Cutting>) -> Self {
        let mut kept = Self::default();
        let mut rest = pieces;
        for line in all {
            let line = stripped(line);
            let words = line.split(is_space).filter(|it| !it.is_empty());
            let is_long = |it: &str| it.chars().nth(LONG_WORD).is_some();
            if line.len() > LONG_WORD && words.clone().any(is_long) {
                continue;
            }
            let cited = without_citations(line);
            let shown = cited.as_deref().unwrap_or(line);
            let ends = shown.ends_with(['.', '?', '!', '"', '\'']) && !shown.ends_with("...");
            if !ends || words.take(MIN_WORDS).count() < MIN_WORDS {
                continue;
            }
            kept.lorem_ipsum = has_phrase(shown, ("lorem ipsum", 7));
            if kept.lorem_ipsum {
                break;
            }
            if has_phrase(shown, ("javascript", 0)) {
                continue;
            }
            kept.curly_bracket = shown.contains('{');
            if kept.curly_bracket {
                break;
            }
            if NOTICES.into_iter().any(|it| has_phrase(shown, it)) {
                continue;
            }
            kept.lines += 1;
            let Some(cutting) = cutting else { continue };
            kept.sentences += match &cited {
                Some(cited) => {
                    let own = cutting.rules.split(cited);
                    sentences::count(cited, &own, cited, cutting)
                }
                None => {
                    let start = line.as_ptr() as usize - text.as_ptr() as usize;
                    let end = start + line.len();
                    rest = rest
                        .get(rest.partition_point(|it| it.start < start)..)
                        .unwrap_or_default();
                    let count = rest.partition_point(|it| it.end <= end);
                    let own = rest.get(..count).unwrap_or_default();
                    sentences::count(line, own, text, cutting)
                }
            };
        }
        kept
    }
}

/// Whether a line has a phrase, which is in lower case, and whose letter at this place is rare.
fn has_phrase(line: &str, (phrase, place): (&str, usize)) -> bool {
    let (line, phrase) = (line.as_bytes(), phrase.as_bytes());
    let rare = phrase.get(place).copied().unwrap_or_default();
    memchr::memchr2_iter(rare, rare.to_ascii_uppercase(), line).any(|at| {
        let start = at.checked_sub(place);
        let here = start.and_then(|start| line.get(start..start + phrase.len()));
        here.is_some_and(|it| it.eq_ignore_ascii_case(phrase))
    })
}

/// The line without marks of citations as encyclopedias have them, if it has some.
fn without_citations(line: &str) -> Option<String> {
    let mut text = String::new();
    let mut rest = line;
    let mut has_some = false;
    while let Some(at) = rest.find('[') {
        let (before, mark) = rest.split_at(at);
        text.push_str(before);
        let digits = mark.get(1..).unwrap_or_default();
        let after = digits.trim_start_matches(|it: char| it.is_numeric() && !it.is_alphabetic());
        let after = after
            .strip_prefix(']')
            .or_else(|| mark.strip_prefix("[edit]"))
            .or_else(|| mark.strip_prefix("[citation needed]"));
        match after {
            Some(after) => {
                has_some = true;
                rest = after;
            }
            None => {
                text.push('[');
                rest = digits;
            }
        }
    }
    text.push_str(rest);
    has_some.then_some(text)
}
