//! Filters: named thresholds over the measures, as datatrove has them by default.

use std::fmt;

use super::measure::{Quality, WordMeasures};

/// A filter of pages for corpora.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Filter {
    /// Rae et al. 2021: words, symbols, and what is repeated.
    Gopher,
    /// Raffel et al. 2020: lines that are sentences.
    C4,
    /// Penedo et al. 2024: ends of lines, short lines, lists.
    FineWeb,
}

/// Why a page does not pass a filter; the names are those of datatrove.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Reason(&'static str);

impl Reason {
    /// Its name.
    pub fn name(self) -> &'static str {
        self.0
    }
}

/// What a filter says to a page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Judgement {
    /// It is kept.
    Kept,
    /// It is left out.
    Out(Reason),
    /// It cannot be judged: only a dictionary tells the words of its language apart.
    Open,
}

impl Filter {
    /// All, in the order in which they are asked.
    pub const ALL: [Self; 3] = [Self::Gopher, Self::C4, Self::FineWeb];

    /// The filter of this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|it| it.name() == name)
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Gopher => "gopher",
            Self::C4 => "c4",
            Self::FineWeb => "fineweb",
        }
    }

    /// Whether a page passes.
    pub fn judge(self, quality: &Quality) -> Judgement {
        let limits = match self {
            Self::Gopher => gopher(quality),
            Self::C4 => c4(quality),
            Self::FineWeb => fineweb(quality),
        };
        for (reason, is_met) in limits {
            match is_met {
                Some(true) => {}
                Some(false) => return Judgement::Out(Reason(reason)),
                None => return Judgement::Open,
            }
        }
        Judgement::Kept
    }
}

impl fmt::Display for Filter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A limit by the reason that it gives, and whether a page is within it, if that can be told.
type Limit = (&'static str, Option<bool>);

fn gopher(quality: &Quality) -> Vec<Limit> {
    let of = |is_met: fn(&WordMeasures) -> bool| quality.words.as_ref().map(is_met);
    let has_stop_words = match quality.is_english {
        true => of(|it| it.stop_words >= 2),
        // They are words of English.
        false => Some(true),
    };
    let mut limits = vec![
        ("gopher_short_doc", of(|it| it.words >= 50)),
        ("gopher_long_doc", of(|it| it.words <= 100_000)),
        (
            "gopher_below_avg_threshold",
            of(|it| it.mean_word_length >= 3.0),
        ),
        (
            "gopher_above_avg_threshold",
            of(|it| it.mean_word_length <= 10.0),
        ),
        ("gopher_too_many_hashes", of(|it| it.hashes <= 0.1)),
        ("gopher_too_many_ellipsis", of(|it| it.ellipses <= 0.1)),
        ("gopher_too_many_bullets", Some(quality.bullet_lines <= 0.9)),
        (
            "gopher_too_many_end_ellipsis",
            Some(quality.ellipsis_lines <= 0.3),
        ),
        (
            "gopher_below_alpha_threshold",
            of(|it| it.alphabetic_words >= 0.8),
        ),
        ("gopher_enough_stop_words", has_stop_words),
        ("empty", Some(!quality.is_empty)),
        ("dup_para_frac", Some(quality.duplicate_paragraphs <= 0.3)),
        (
            "dup_para_char_frac",
            Some(quality.duplicate_paragraph_chars <= 0.2),
        ),
        ("dup_line_frac", Some(quality.duplicate_lines <= 0.3)),
        (
            "dup_line_char_frac",
            Some(quality.duplicate_line_chars <= 0.2),
        ),
    ];
    let top = [
        ("top_2_gram", 0.2),
        ("top_3_gram", 0.18),
        ("top_4_gram", 0.16),
    ];
    let again = [
        ("duplicated_5_n_grams", 0.15),
        ("duplicated_6_n_grams", 0.14),
        ("duplicated_7_n_grams", 0.13),
        ("duplicated_8_n_grams", 0.12),
        ("duplicated_9_n_grams", 0.11),
        ("duplicated_10_n_grams", 0.10),
    ];
    let shares = quality.words.as_ref().map(|it| {
        let top = it.top_ngrams.into_iter();
        top.chain(it.duplicate_ngrams).collect::<Vec<f64>>()
    });
    let named = top.into_iter().chain(again).enumerate();
    limits.extend(named.map(|(at, (reason, most))| {
        let share = shares.as_ref().and_then(|it| it.get(at));
        (reason, share.map(|it| *it <= most))
    }));
    limits
}

fn c4(quality: &Quality) -> Vec<Limit> {
    let sentences = quality.words.as_ref().map(|it| it.sentences >= 5);
    vec![
        ("lorem_ipsum", Some(!quality.lorem_ipsum)),
        ("curly_bracket", Some(!quality.curly_bracket)),
        ("too_few_sentences", sentences),
    ]
}

fn fineweb(quality: &Quality) -> Vec<Limit> {
    let newlines = quality.words.as_ref().map(|it| it.newlines <= 0.3);
    vec![
        ("empty", Some(!quality.is_empty)),
        ("line_punct_ratio", Some(quality.punctuated_lines >= 0.12)),
        ("short_line_ratio", Some(quality.short_lines <= 0.67)),
        ("char_dup_ratio", Some(quality.repeated_chars <= 0.01)),
        ("list_ratio", newlines),
    ]
}
