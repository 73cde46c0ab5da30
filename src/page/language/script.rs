//! Scripts: which letters belong to which, and which script a text is written in.

/// What the script of a text says about its language.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Script {
    /// (Nearly) only this language is written in it.
    One(&'static str),
    Several(Shared),
}

/// A script of several languages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Shared {
    Latin,
    Cyrillic,
    Arabic,
    Devanagari,
    Bengali,
}

/// Unicode blocks, or parts of them: first and last letter, the script, and how many letters of an
/// alphabet one of them stands for.
type Block = (char, char, Script, u32);

const fn one(first: char, last: char, language: &'static str, weight: u32) -> Block {
    (first, last, Script::One(language), weight)
}

const fn several(first: char, last: char, script: Shared) -> Block {
    // Beside another script, Latin is names and code.
    let weight = if matches!(script, Shared::Latin) {
        1
    } else {
        2
    };
    (first, last, Script::Several(script), weight)
}

/// In order. The letters of scripts with several languages are those of `train_language.py`.
const BLOCKS: [Block; 41] = [
    several('A', 'Z', Shared::Latin),
    several('a', 'z', Shared::Latin),
    several('\u{C0}', '\u{D6}', Shared::Latin),
    several('\u{D8}', '\u{F6}', Shared::Latin),
    several('\u{F8}', '\u{24F}', Shared::Latin),
    one('\u{370}', '\u{3FF}', "el", 2),
    several('\u{400}', '\u{481}', Shared::Cyrillic),
    several('\u{48A}', '\u{52F}', Shared::Cyrillic),
    one('\u{531}', '\u{58A}', "hy", 2),
    one('\u{5B0}', '\u{5F4}', "he", 2),
    several('\u{610}', '\u{61A}', Shared::Arabic),
    several('\u{620}', '\u{65F}', Shared::Arabic),
    several('\u{66E}', '\u{6D3}', Shared::Arabic),
    several('\u{6D5}', '\u{6DC}', Shared::Arabic),
    several('\u{6EE}', '\u{6EF}', Shared::Arabic),
    several('\u{6FA}', '\u{6FF}', Shared::Arabic),
    one('\u{780}', '\u{7B1}', "dv", 2),
    several('\u{900}', '\u{963}', Shared::Devanagari),
    several('\u{971}', '\u{97F}', Shared::Devanagari),
    several('\u{980}', '\u{9E3}', Shared::Bengali),
    several('\u{9F0}', '\u{9F1}', Shared::Bengali),
    one('\u{A00}', '\u{A7F}', "pa", 2),
    one('\u{A80}', '\u{AFF}', "gu", 2),
    one('\u{B00}', '\u{B7F}', "or", 2),
    one('\u{B80}', '\u{BFF}', "ta", 2),
    one('\u{C00}', '\u{C7F}', "te", 2),
    one('\u{C80}', '\u{CFF}', "kn", 2),
    one('\u{D00}', '\u{D7F}', "ml", 2),
    one('\u{D80}', '\u{DFF}', "si", 2),
    one('\u{E00}', '\u{E7F}', "th", 2),
    one('\u{E80}', '\u{EFF}', "lo", 2),
    one('\u{F40}', '\u{FBC}', "bo", 2),
    one('\u{1000}', '\u{109F}', "my", 2),
    one('\u{10A0}', '\u{10FF}', "ka", 2),
    one('\u{1200}', '\u{137F}', "am", 3),
    one('\u{1780}', '\u{17D3}', "km", 2),
    several('\u{1E00}', '\u{1EFF}', Shared::Latin),
    one('\u{1F00}', '\u{1FFF}', "el", 2),
    one('\u{3040}', '\u{30FF}', "ja", 3),
    one('\u{4E00}', '\u{9FFF}', "zh", 5),
    one('\u{AC00}', '\u{D7AF}', "ko", 4),
];

/// The languages that have a script for themselves, some of them several times.
pub(super) fn languages() -> impl Iterator<Item = &'static str> {
    BLOCKS.iter().filter_map(|(_, _, script, _)| match script {
        Script::One(language) => Some(*language),
        Script::Several(_) => None,
    })
}

/// The index of the block of a letter; `None` for what is no letter of a known script.
fn block_of(letter: char) -> Option<usize> {
    let at = BLOCKS.partition_point(|(_, last, ..)| *last < letter);
    let (first, ..) = BLOCKS.get(at)?;
    (*first <= letter).then_some(at)
}

/// Whether a letter is one of a script.
pub(super) fn is_of(letter: char, script: Shared) -> bool {
    if letter.is_ascii() {
        return script == Shared::Latin && letter.is_ascii_alphabetic();
    }
    let block = block_of(letter).and_then(|at| BLOCKS.get(at));
    block.is_some_and(|(_, _, of, _)| *of == Script::Several(script))
}

/// The script of most letters of a text, and how many letters of an alphabet they stand for.
pub(super) fn of(text: &str) -> Option<(Script, u32)> {
    let mut counts = [0_u32; BLOCKS.len()];
    let mut ascii = 0;
    for letter in text.chars() {
        if letter.is_ascii() {
            ascii += u32::from(letter.is_ascii_alphabetic());
        } else if let Some(count) = block_of(letter).and_then(|at| counts.get_mut(at)) {
            *count += 1;
        }
    }
    counts[0] = ascii;
    let mut sums: Vec<(Script, u32)> = Vec::new();
    for ((_, _, script, weight), count) in BLOCKS.iter().zip(counts) {
        let weighed = count * weight;
        match sums.iter_mut().find(|(of, _)| of == script) {
            Some((_, sum)) => *sum += weighed,
            None if weighed > 0 => sums.push((*script, weighed)),
            None => {}
        }
    }
    // Japanese mixes Chinese characters with its own syllables.
    let sum_of = |language| {
        let found = sums
            .iter()
            .find(|(script, _)| *script == Script::One(language));
        found.map_or(0, |(_, sum)| *sum)
    };
    let (japanese, chinese) = (sum_of("ja"), sum_of("zh"));
    if japanese * 10 > chinese {
        sums.retain(|(script, _)| *script != Script::One("zh"));
        for (_, sum) in sums
            .iter_mut()
            .filter(|(script, _)| *script == Script::One("ja"))
        {
            *sum += chinese;
        }
    }
    sums.into_iter().max_by_key(|(_, sum)| *sum)
}
