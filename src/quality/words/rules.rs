//! The rules of a language: its tables, read once.

use std::collections::{BTreeMap, HashMap};
use std::sync::OnceLock;

use serde::Deserialize;

use super::affixes::Affixes;
use super::cutter::Cutter;
use super::pattern::Pattern;
use super::piece::Piece;
use super::set::Set;
use super::special::Specials;

/// The rules of a language.
pub(in crate::quality) struct Rules {
    affixes: Affixes,
    specials: Specials,
    shared: &'static Shared,
}

impl Rules {
    /// The words of a text, and the white space between them that is more than a space.
    pub(in crate::quality) fn split(&self, text: &str) -> Vec<Piece> {
        let mut pieces = Vec::with_capacity(text.len() / 4);
        Cutter::new(&self.affixes, Some(&self.specials)).split(text, &mut pieces);
        self.specials.join(text, &mut pieces);
        pieces
    }

    /// Whether a character is punctuation.
    pub(in crate::quality) fn is_punctuation(&self, letter: char) -> bool {
        self.shared.punctuation.has(letter)
    }

    /// Whether a character is a letter: of one of the categories L of Unicode.
    pub(in crate::quality) fn is_letter(&self, letter: char) -> bool {
        match letter.is_ascii() {
            true => letter.is_ascii_alphabetic(),
            false => self.shared.letters.has(letter),
        }
    }
}

/// A table as it is written.
#[derive(Deserialize)]
struct Table {
    prefixes: Option<Vec<String>>,
    suffixes: Option<Vec<String>>,
    infixes: Option<Vec<String>>,
    #[serde(default)]
    token_match: Vec<String>,
    single: Vec<String>,
    several: BTreeMap<String, String>,
    #[serde(default)]
    without: Vec<String>,
}

/// What all languages have.
#[derive(Deserialize)]
struct SharedTable {
    classes: HashMap<String, String>,
    url: String,
    punctuation: Vec<u32>,
    letters: Vec<u32>,
    #[serde(flatten)]
    table: Table,
}

struct Shared {
    classes: HashMap<String, String>,
    url: Pattern,
    punctuation: Set,
    letters: Set,
    table: Table,
}

impl Shared {
    fn get() -> &'static Self {
        static SHARED: OnceLock<Shared> = OnceLock::new();
        SHARED.get_or_init(|| {
            let written: SharedTable = serde_json::from_str(include_str!("rules/shared.json"))
                .expect("the tests read the table");
            Shared {
                url: Pattern::read(&named(&written.url, &written.classes))
                    .expect("the tests read the pattern"),
                punctuation: Set::of_ranges(&written.punctuation),
                letters: Set::of_ranges(&written.letters),
                classes: written.classes,
                table: written.table,
            }
        })
    }
}

/// The pattern with the classes that it names.
fn named(pattern: &str, classes: &HashMap<String, String>) -> String {
    let mut text = String::new();
    let mut rest = pattern;
    while let Some((before, after)) = rest.split_once("{{") {
        let (name, after) = after.split_once("}}").unwrap_or((after, ""));
        text.push_str(before);
        text.push_str(classes.get(name).map_or("", String::as_str));
        rest = after;
    }
    text + rest
}

/// Languages with a table of their own.
macro_rules! tables {
    ($($code:literal),*) => {
        const CODES: &[&str] = &[$($code),*];
        const TABLES: &[&str] = &[$(include_str!(concat!("rules/", $code, ".json"))),*];
    };
}

tables!(
    "am", "bg", "ca", "da", "de", "el", "en", "es", "fa", "fi", "fr", "ga", "hu", "id", "it", "ky",
    "lt", "mk", "ms", "nb", "nl", "pl", "pt", "ro", "ru", "sl", "sr", "sv", "tn", "tr", "uk"
);

/// Returns the rules of a language, by the code that its table has: those of all languages if it
/// has none.
pub(in crate::quality) fn of(code: &str) -> &'static Rules {
    static GENERAL: OnceLock<Rules> = OnceLock::new();
    static OWN: [OnceLock<Rules>; CODES.len()] = [const { OnceLock::new() }; CODES.len()];
    let at = CODES.binary_search(&code).ok();
    match at.and_then(|at| Some((OWN.get(at)?, TABLES.get(at)?))) {
        Some((rules, table)) => rules.get_or_init(|| {
            let table = serde_json::from_str(table).expect("the tests read each table");
            read(Some(&table)).expect("the tests read each pattern")
        }),
        None => GENERAL.get_or_init(|| read(None).expect("the tests read each pattern")),
    }
}

fn read(own: Option<&Table>) -> Result<Rules, String> {
    let shared = Shared::get();
    let read = |texts: &[String]| -> Result<Vec<Pattern>, String> {
        let named = texts.iter().map(|text| named(text, &shared.classes));
        named.map(|text| Pattern::read(&text)).collect()
    };
    let patterns = |of: fn(&Table) -> &Option<Vec<String>>| {
        let written = own.and_then(|it| of(it).as_ref());
        let written = written.or(of(&shared.table).as_ref());
        read(written.map(|it| &**it).unwrap_or_default())
    };
    let without = own.map(|it| &*it.without).unwrap_or_default();
    let tables = [Some(&shared.table), own];
    let exceptions = tables.into_iter().flatten().flat_map(|table| {
        let single = table.single.iter().map(|text| (&**text, &**text));
        let several = table.several.iter();
        single.chain(several.map(|(text, pieces)| (&**text, &**pieces)))
    });
    let exceptions = exceptions.filter(|(text, _)| without.iter().all(|it| it != text));
    let kinds = [
        patterns(|it| &it.prefixes)?,
        patterns(|it| &it.suffixes)?,
        patterns(|it| &it.infixes)?,
        read(own.map(|it| &*it.token_match).unwrap_or_default())?,
    ];
    let affixes = Affixes::new(kinds, &shared.url);
    let cut = |text: &str| {
        let mut pieces = Vec::new();
        Cutter::new(&affixes, None).split(text, &mut pieces);
        (text.contains(' ') || affixes.touch(text)).then_some(pieces)
    };
    let specials = Specials::new(&exceptions.collect(), cut);
    Ok(Rules {
        affixes,
        specials,
        shared,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_table_can_be_read() {
        for (code, table) in CODES.iter().zip(TABLES) {
            let table: Table = serde_json::from_str(table).expect(code);
            read(Some(&table)).expect(code);
        }
        assert!(CODES.is_sorted());
        assert!(of("en").specials.pieces("don't").is_some());
        assert!(of("xx").specials.pieces("don't").is_none());
    }
}
