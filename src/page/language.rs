//! The language of a text, recognized by its script and by the function words that every sentence
//! contains.
//!
//! Only what is nearly certain is reported: short and mixed texts have no language here.

use std::collections::HashMap;
use std::sync::LazyLock;

/// Maximum number of words examined; the first sentences are enough.
const MAX_WORDS: usize = 80;

/// Maximum number of letters examined of a word.
const MAX_LETTERS: usize = 200;

/// Minimum number of function words that must be found, and their minimum percentage of all words.
const MIN_HITS: u32 = 4;
const MIN_PERCENT: u32 = 8;

/// The language of `text` as an ISO 639-1 code, if it is certain and one that is known here.
pub(super) fn detect(text: &str) -> Option<&'static str> {
    let mut hits = [0_u32; LANGUAGES.len()];
    let mut scripts = [0_u32; SCRIPTS.len()];
    let mut letters = 0_u32;
    let mut words = 0_u32;
    let mut lower = String::new();
    let parts = text.split(|c: char| !c.is_alphabetic() && c != '\'' && c != '’');
    for word in parts.filter(|word| !word.is_empty()).take(MAX_WORDS) {
        words += 1;
        // Scripts without spaces make long words.
        if word.is_ascii() {
            letters += word.len().min(MAX_LETTERS) as u32;
        }
        let beyond = Some(word).filter(|word| !word.is_ascii()).into_iter();
        for letter in beyond.flat_map(|word| word.chars().take(MAX_LETTERS)) {
            letters += 1;
            if letter.is_ascii() {
                continue;
            }
            let script = SCRIPTS
                .iter()
                .position(|(first, last, _)| (*first..=*last).contains(&letter));
            if let Some(script) = script {
                scripts[script] += 1;
            }
        }
        if word.len() <= MAX_SMALL_WORD {
            lower.clear();
            if word.is_ascii() {
                lower.push_str(word);
                lower.make_ascii_lowercase();
            } else {
                lower.extend(word.chars().flat_map(char::to_lowercase));
            }
            let languages = SMALL_WORDS.get(lower.as_str()).copied().unwrap_or(0);
            for (at, hits) in hits.iter_mut().enumerate() {
                *hits += languages >> at & 1;
            }
        }
    }
    // Japanese mixes Han with its own syllabaries; Han alone is Chinese.
    let of = |name: &str| -> u32 {
        let named = SCRIPTS
            .iter()
            .zip(&scripts)
            .filter(|((_, _, script), _)| *script == name);
        named.map(|(_, count)| *count).sum()
    };
    if of("ja") * 10 > letters {
        return Some("ja");
    }
    for script in ["zh", "ko", "ar", "he", "el", "th", "hi"] {
        if of(script) * 2 > letters {
            return Some(script);
        }
    }
    let most = *hits.iter().max()?;
    let mut best = LANGUAGES.iter().zip(hits).filter(|(_, hits)| *hits == most);
    let ((language, _), hits) = best.next()?;
    let is_sure = hits >= MIN_HITS && hits * 100 >= words * MIN_PERCENT && best.next().is_none();
    is_sure.then_some(*language)
}

/// Unicode blocks in which (nearly) only one language is written.
const SCRIPTS: [(char, char, &str); 9] = [
    ('\u{3040}', '\u{30FF}', "ja"),
    ('\u{4E00}', '\u{9FFF}', "zh"),
    ('\u{AC00}', '\u{D7AF}', "ko"),
    ('\u{0600}', '\u{06FF}', "ar"),
    ('\u{0590}', '\u{05FF}', "he"),
    ('\u{0370}', '\u{03FF}', "el"),
    ('\u{0E00}', '\u{0E7F}', "th"),
    ('\u{0900}', '\u{097F}', "hi"),
    ('\u{1F00}', '\u{1FFF}', "el"),
];

/// Length in bytes of the longest word below.
const MAX_SMALL_WORD: usize = 10;

/// Articles, prepositions and conjunctions: the words that sentences are made of.
#[rustfmt::skip]
const LANGUAGES: [(&str, &[&str]); 20] = [
    ("en", &["the", "and", "of", "to", "is", "that", "for", "with", "this", "are", "was", "you", "have", "from"]),
    ("de", &["der", "die", "und", "das", "ist", "nicht", "mit", "den", "von", "für", "auf", "ein", "eine", "wird"]),
    ("fr", &["le", "la", "les", "des", "et", "est", "une", "dans", "pour", "que", "sur", "pas", "du", "vous"]),
    ("es", &["el", "la", "los", "las", "que", "y", "en", "una", "por", "con", "para", "del", "es", "como"]),
    ("it", &["il", "che", "di", "della", "è", "per", "una", "sono", "con", "non", "gli", "del", "nel", "più"]),
    ("pt", &["o", "que", "e", "não", "uma", "os", "para", "com", "do", "da", "em", "dos", "mais", "são"]),
    ("nl", &["de", "het", "een", "en", "van", "dat", "niet", "met", "voor", "zijn", "op", "aan", "ook", "naar"]),
    ("sv", &["och", "att", "det", "som", "är", "på", "för", "inte", "till", "ett", "den", "med", "av", "har"]),
    ("da", &["og", "at", "det", "er", "ikke", "af", "til", "på", "som", "med", "den", "også", "blev", "har"]),
    ("no", &["og", "å", "det", "er", "ikke", "av", "til", "på", "som", "med", "en", "også", "ble", "har"]),
    ("fi", &["ja", "on", "ei", "että", "se", "joka", "ovat", "oli", "kun", "myös", "mutta", "tai", "hän", "sen"]),
    ("pl", &["i", "w", "na", "nie", "się", "z", "że", "do", "jest", "to", "jak", "przez", "oraz", "dla"]),
    ("cs", &["a", "se", "na", "je", "že", "v", "s", "pro", "jsou", "které", "ale", "jako", "byl", "podle"]),
    ("tr", &["ve", "bir", "bu", "için", "ile", "da", "de", "olarak", "çok", "daha", "gibi", "olan", "sonra", "ancak"]),
    ("ro", &["și", "în", "de", "la", "cu", "pentru", "este", "nu", "care", "din", "mai", "sunt", "fost", "prin"]),
    ("hu", &["a", "az", "és", "hogy", "nem", "is", "egy", "meg", "volt", "de", "csak", "mint", "már", "ezt"]),
    ("id", &["yang", "dan", "di", "untuk", "dengan", "ini", "dari", "pada", "tidak", "itu", "dalam", "akan", "juga", "ke"]),
    ("vi", &["và", "của", "là", "có", "cho", "các", "được", "không", "trong", "với", "một", "những", "đã", "người"]),
    ("ru", &["и", "в", "не", "на", "что", "с", "по", "это", "как", "для", "из", "его", "был", "от"]),
    ("uk", &["і", "в", "не", "на", "що", "з", "та", "це", "як", "для", "до", "його", "був", "від"]),
];

/// For each of these words, the languages that have it, a bit for each.
static SMALL_WORDS: LazyLock<HashMap<&str, u32>> = LazyLock::new(|| {
    let mut languages = HashMap::new();
    for (at, (_, words)) in LANGUAGES.iter().enumerate() {
        for word in *words {
            *languages.entry(*word).or_default() |= 1 << at;
        }
    }
    languages
});

// Languages are bits of a number.
const _: () = assert!(LANGUAGES.len() <= 32);

#[cfg(test)]
mod tests {
    use super::detect;

    fn check(text: &str, expected: Option<&str>) {
        assert_eq!(detect(text), expected, "{text}");
    }

    #[test]
    fn sentences_tell_their_language() {
        check(
            "The cat and the dog are in the house that was built for them.",
            Some("en"),
        );
        check(
            "Der Hund und die Katze sind nicht in dem Haus, das für sie gebaut ist.",
            Some("de"),
        );
        check(
            "Le chat est dans la maison et les chiens ne sont pas sur le toit.",
            Some("fr"),
        );
        check(
            "Кот и собака не в доме, это был дом для них, что и как из сказки.",
            Some("ru"),
        );
        check("猫と犬は家の中にいますが、庭には誰もいません。", Some("ja"));
        check("猫和狗都在房子里，没有人在花园里。", Some("zh"));
    }

    #[test]
    fn what_is_no_sentence_has_no_language() {
        check("", None);
        check("Acme 3000, 12.50, Zurich", None);
    }
}
