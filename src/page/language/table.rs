//! The languages of one script, told apart by a table of weights.
//!
//! A text is a list of features: for each letter of a word, that letter with those beside it, and
//! each word as a whole. Each is hashed to a row of the table, which has a weight for every
//! language. The score of a language is the mean of its weights; that of a logistic regression over
//! the same features, so the difference of two scores is the logarithm of the odds between them.
//!
//! `benches/train_language.py` makes the tables, from the translations of free programs and manuals
//! in Debian (evolution, gimp, inkscape, vlc, gnome-user-docs), and says what is in a file.

use std::sync::LazyLock;

use pulp::Arch;

use super::Detected;
use super::script::{Shared, is_of};

/// Longest word, in letters, that is a feature as a whole.
const MAX_WORD: u32 = 16;

/// Number of features whose weights fit into a sum of 16 bits: 255 times 127 does.
const SUMMED: usize = 255;

/// Width of a row in weights: that of a vector of the processor.
const LANES: usize = 16;

/// The most languages of one script, rounded up to whole vectors.
const MAX_LANGUAGES: usize = 48;

/// A table, as in its file.
struct Table {
    languages: Vec<&'static str>,
    /// Number of rows less one.
    mask: u32,
    /// Weights of one unit of the score, in tenths of a millionth.
    scale: u64,
    width: usize,
    rows: &'static [u8],
}

static LATIN: LazyLock<Table> = LazyLock::new(|| Table::read(include_bytes!("latin.bin")));
static CYRILLIC: LazyLock<Table> = LazyLock::new(|| Table::read(include_bytes!("cyrillic.bin")));
static ARABIC: LazyLock<Table> = LazyLock::new(|| Table::read(include_bytes!("arabic.bin")));
static DEVANAGARI: LazyLock<Table> =
    LazyLock::new(|| Table::read(include_bytes!("devanagari.bin")));
static BENGALI: LazyLock<Table> = LazyLock::new(|| Table::read(include_bytes!("bengali.bin")));

impl Table {
    fn of(script: Shared) -> &'static Self {
        match script {
            Shared::Latin => &LATIN,
            Shared::Cyrillic => &CYRILLIC,
            Shared::Arabic => &ARABIC,
            Shared::Devanagari => &DEVANAGARI,
            Shared::Bengali => &BENGALI,
        }
    }

    /// Reads a file that is part of the program; a test reads all of them.
    fn read(file: &'static [u8]) -> Self {
        let number = |at: usize| usize::from(file[at]) | usize::from(file[at + 1]) << 8;
        let (count, bits) = (number(0), number(2));
        let names = &file[4..4 + 3 * count];
        let name = |at: usize| {
            let name = str::from_utf8(&names[3 * at..3 * at + 3]);
            name.expect("codes of languages are ASCII").trim_end()
        };
        let at = 4 + 3 * count;
        let scale = f32::from_le_bytes([file[at], file[at + 1], file[at + 2], file[at + 3]]);
        let rows = &file[at + 4..];
        let width = count.next_multiple_of(LANES);
        assert_eq!(rows.len(), width << bits, "the table is whole");
        Self {
            languages: (0..count).map(name).collect(),
            mask: (1 << bits) - 1,
            scale: (scale * 1e7) as u64,
            width,
            rows,
        }
    }

    /// The sums of the weights of all languages over the features of a text, and their number.
    fn sums(&self, text: &str, script: Shared) -> ([i32; MAX_LANGUAGES], usize) {
        let arch = Arch::new();
        let mut sums = [0_i32; MAX_LANGUAGES];
        let mut count = 0;
        let mut keys = [0_u32; SUMMED];
        let mut waiting = 0;
        let mut add = |keys: &[u32]| {
            arch.dispatch(Adding {
                table: self,
                keys,
                sums: &mut sums,
            });
        };
        each_feature(text, script, |key| {
            keys[waiting] = key;
            waiting += 1;
            count += 1;
            if waiting == SUMMED {
                add(&keys);
                waiting = 0;
            }
        });
        add(&keys[..waiting]);
        (sums, count)
    }
}

/// The addition of the rows of some features, to be run with the widest vectors of the processor.
struct Adding<'a> {
    table: &'a Table,
    /// [`SUMMED`] at most.
    keys: &'a [u32],
    sums: &'a mut [i32; MAX_LANGUAGES],
}

impl pulp::NullaryFnOnce for Adding<'_> {
    type Output = ();

    #[inline(always)]
    #[expect(
        clippy::inline_always,
        reason = "it must be compiled into the dispatcher"
    )]
    fn call(self) {
        let vectors = self.table.width / LANES;
        let weights = self.table.rows.as_chunks::<LANES>().0;
        let sums = self.sums.as_chunks_mut::<LANES>().0;
        // One vector of all rows after another, so that its sums stay in a register.
        for (at, sums) in sums.iter_mut().enumerate().take(vectors) {
            let mut some = [0_i16; LANES];
            for key in self.keys {
                let row = (key & self.table.mask) as usize * vectors;
                let Some(weights) = weights.get(row + at) else {
                    continue;
                };
                for (sum, weight) in some.iter_mut().zip(weights) {
                    *sum += i16::from(weight.cast_signed());
                }
            }
            for (sum, some) in sums.iter_mut().zip(some) {
                *sum += i32::from(some);
            }
        }
    }
}

/// The languages that share a script, some of them several times.
pub(super) fn languages() -> impl Iterator<Item = &'static str> {
    let tables: [&Table; 5] = [&LATIN, &CYRILLIC, &ARABIC, &DEVANAGARI, &BENGALI];
    tables
        .into_iter()
        .flat_map(|it| it.languages.iter().copied())
}

/// The language of a text in this script, and how clear that is.
pub(super) fn detect(text: &str, script: Shared) -> Option<Detected> {
    let table = Table::of(script);
    let (sums, count) = table.sums(text, script);
    let languages = table.languages.iter().copied();
    // Of two with one sum, one is first whatever their order in the table.
    let (mut first, mut second) = (None, None);
    for scored in sums.into_iter().zip(languages).map(Some) {
        if scored > first {
            (first, second) = (scored, first);
        } else if scored > second {
            second = scored;
        }
    }
    let ((best, language), (second, _)) = first.zip(second)?;
    // The logarithm of the odds, in thousandths.
    let lead = u64::from(best.abs_diff(second)) * table.scale / (count.max(1) as u64 * 10_000);
    Some(Detected {
        language,
        permille: likelihood(lead),
    })
}

/// The logistic function of thousandths, in thousandths: between values that were computed, on a
/// straight line, so that it is the same on every machine.
fn likelihood(lead: u64) -> u16 {
    const STEP: u64 = 250;
    const VALUES: [u16; 29] = [
        500, 562, 622, 679, 731, 777, 818, 852, 881, 905, 924, 940, 953, 963, 971, 977, 982, 986,
        989, 991, 993, 995, 996, 997, 998, 998, 998, 999, 999,
    ];
    let at = usize::try_from(lead / STEP).unwrap_or(usize::MAX);
    let value = |at: usize| VALUES.get(at).copied().unwrap_or(999);
    let (low, high) = (value(at), value(at.saturating_add(1)));
    low + ((high - low) * (lead % STEP) as u16) / STEP as u16
}

/// Calls `each` with the hash of every feature of a text.
fn each_feature(text: &str, script: Shared, mut each: impl FnMut(u32)) {
    let mut word = Word::default();
    for letter in text.chars() {
        if letter.is_ascii() {
            match script == Shared::Latin && letter.is_ascii_alphabetic() {
                true => word.push(u32::from(letter.to_ascii_lowercase()), &mut each),
                false => word.end(&mut each),
            }
            continue;
        }
        for letter in letter.to_lowercase() {
            match is_of(letter, script) {
                true => word.push(u32::from(letter), &mut each),
                false => word.end(&mut each),
            }
        }
    }
    word.end(&mut each);
}

/// A word as it is read, letter by letter.
struct Word {
    /// The two letters before the next one; a space before the first.
    before: [u32; 2],
    length: u32,
    hash: u32,
}

impl Default for Word {
    fn default() -> Self {
        Self {
            before: [0, SPACE],
            length: 0,
            hash: 0,
        }
    }
}

const SPACE: u32 = ' ' as u32;

impl Word {
    fn push(&mut self, letter: u32, each: &mut impl FnMut(u32)) {
        if self.length > 0 {
            self.three(letter, each);
        }
        self.before = [self.before[1], letter];
        self.length += 1;
        self.hash = self.hash.wrapping_mul(0x0100_0193).wrapping_add(letter);
    }

    fn three(&self, after: u32, each: &mut impl FnMut(u32)) {
        let [first, middle] = self.before;
        let key = first
            .wrapping_mul(0x9E37_79B1)
            .wrapping_add(middle.wrapping_mul(0x85EB_CA77))
            .wrapping_add(after.wrapping_mul(0xC2B2_AE3D));
        each(mixed(key));
    }

    fn end(&mut self, each: &mut impl FnMut(u32)) {
        if self.length > 0 {
            self.three(SPACE, each);
            if self.length <= MAX_WORD {
                each(mixed(
                    self.hash
                        .wrapping_mul(0x27D4_EB2F)
                        .wrapping_add(0x1656_67B1),
                ));
            }
            *self = Self::default();
        }
    }
}

fn mixed(key: u32) -> u32 {
    let key = (key ^ key >> 15).wrapping_mul(0x2C1B_3C6D);
    key ^ key >> 13
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_tables_are_whole() {
        let scripts = [
            Shared::Latin,
            Shared::Cyrillic,
            Shared::Arabic,
            Shared::Devanagari,
            Shared::Bengali,
        ];
        let tables = scripts.map(Table::of);
        assert!(
            tables
                .iter()
                .all(|table| table.languages.len() <= MAX_LANGUAGES)
        );
        assert!(tables.iter().all(|table| table.scale > 0));
        let languages: usize = tables.iter().map(|table| table.languages.len()).sum();
        assert!(languages >= 60, "{languages}");
    }

    #[test]
    fn sums_are_those_of_all_features() {
        let text = "Une histoire de la ville, \u{441}\u{43b}\u{43e}\u{432}\u{430} \u{645}\u{646}. ";
        let text = text.repeat(40);
        for script in [
            Shared::Latin,
            Shared::Cyrillic,
            Shared::Arabic,
            Shared::Bengali,
        ] {
            let table = Table::of(script);
            let mut count = 0;
            let mut expected = [0; MAX_LANGUAGES];
            each_feature(&text, script, |key| {
                count += 1;
                let row = &table.rows[(key & table.mask) as usize * table.width..][..table.width];
                for (sum, weight) in expected.iter_mut().zip(row) {
                    *sum += i32::from(weight.cast_signed());
                }
            });
            assert_eq!(table.sums(&text, script), (expected, count));
        }
    }

    #[test]
    fn features_are_threes_of_letters_and_words() {
        let features = |text| {
            let mut features = Vec::new();
            each_feature(text, Shared::Latin, |key| features.push(key));
            features
        };
        // Of `ab`: ` ab`, `ab `, and the word.
        assert_eq!(features("ab").len(), 3);
        assert_eq!(features("Ab, AB").len(), 6);
        assert_eq!(features("a1b").len(), 4);
        assert!(features("я 12 -").is_empty());
        let long = "x".repeat(17);
        assert_eq!(features(&long).len(), 17);
        // The script of training makes the same numbers.
        assert_eq!(features("Été")[..2], features("été")[..2]);
    }
}
