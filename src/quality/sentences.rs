//! How many sentences a line has.

use super::language::{Cutting, Sentences};
use super::punctuation::{ends_sentence, is_terminal};
use super::words::{Piece, Rules};

/// The number of sentences of a line, whose words these are.
pub(super) fn count(line: &str, words: &[Piece], text: &str, cutting: Cutting) -> usize {
    match cutting.sentences {
        Sentences::Marks => by_marks(words.iter().map(|it| it.of(text)), cutting.rules),
        Sentences::Ends => by_ends(line),
    }
}

/// A sentence ends with a word that is a mark and the punctuation behind it.
fn by_marks<'a>(words: impl Iterator<Item = &'a str>, rules: &Rules) -> usize {
    let mut count = 1;
    let mut has_ended = false;
    for word in words {
        let mut letters = word.chars();
        let is_mark = match (letters.next(), letters.next()) {
            (Some(only), None) => ends_sentence(only),
            _ => false,
        };
        if is_mark {
            has_ended = true;
        } else if has_ended && !word.chars().all(|it| rules.is_punctuation(it)) {
            count += 1;
            has_ended = false;
        }
    }
    count
}

/// A sentence ends with marks, and a quotation mark behind them.
fn by_ends(line: &str) -> usize {
    let letters: Vec<char> = line.chars().collect();
    let letter = |at: usize| letters.get(at).copied();
    let ends = |at: usize| letter(at).is_some_and(is_terminal);
    let mut count = 0;
    let mut at = 0;
    while at < letters.len() {
        // At least one character, or a capital letter with its point, stands before the mark.
        loop {
            let is_initial = letter(at).is_some_and(char::is_uppercase);
            at += 1 + usize::from(is_initial && letter(at + 1) == Some('.'));
            if at >= letters.len() || ends(at) {
                break;
            }
        }
        if at >= letters.len() {
            break;
        }
        while ends(at) {
            at += 1;
        }
        at += usize::from(matches!(letter(at), Some('"' | '\'' | '”')));
        count += 1;
    }
    count.max(1)
}

#[cfg(test)]
mod tests {
    use super::super::language::cutting;
    use super::*;

    fn check(language: &str, line: &str, expected: usize) {
        let cutting = cutting(Some(language)).unwrap();
        let words = cutting.rules.split(line);
        assert_eq!(count(line, &words, line, cutting), expected, "{line}");
    }

    #[test]
    fn sentences_are_counted() {
        check("en", "One. Two! Three?", 3);
        check("en", "She said \"go.\" And he went.", 2);
        check("en", "Mr. Smith and Dr. Jones, i.e. both of them.", 1);
        check("en", "No mark at all", 1);
        check("en", "Wait... what?", 1);
        check("ka", "ერთი. ორი! სამი?", 3);
        check("ka", "no mark", 1);
    }
}
