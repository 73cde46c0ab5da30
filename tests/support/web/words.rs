//! The texts of the built-in web: a seeded generator of numbers, a vocabulary, and articles made
//! of random words. Every text follows from the seed; none means anything.
//!
//! Words are drawn from 4,096, so two articles of 200 words have hardly one run of three words in
//! common: for every method of near-duplicate detection they are far apart.

/// A small generator of numbers: splitmix64 (Steele, Lea, Flood: "Fast splittable pseudorandom
/// number generators", OOPSLA 2014). The same seed gives the same numbers on every machine.
#[derive(Debug, Clone)]
pub struct Random(u64);

impl Random {
    /// A generator that begins at `seed`.
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// The next 64 bits.
    pub fn next_bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number from 0 to `bound - 1`. Its bias, below `bound / 2^64`, does not matter here.
    pub fn below(&mut self, bound: usize) -> usize {
        (self.next_bits() % bound as u64) as usize
    }

    /// A number from `low` to `high`, both included.
    pub fn between(&mut self, low: usize, high: usize) -> usize {
        low + self.below(high - low + 1)
    }

    /// Puts the items into a random order.
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for end in (1..items.len()).rev() {
            items.swap(end, self.below(end + 1));
        }
    }

    /// A word of the vocabulary.
    pub fn word(&mut self) -> String {
        word(self.below(VOCABULARY))
    }

    /// A few words, the first with a capital.
    pub fn phrase(&mut self, words: usize) -> String {
        let words: Vec<String> = (0..words).map(|_| self.word()).collect();
        capitalized(&words.join(" "))
    }
}

/// Number of words in the vocabulary.
pub const VOCABULARY: usize = 4_096;

/// Word number `index`: two syllables that spell the number, and an ending.
pub fn word(index: usize) -> String {
    const CONSONANTS: &[u8; 16] = b"bdfghjklmnprstvz";
    const VOWELS: &[u8; 5] = b"aeiou";
    const ENDINGS: [&str; 7] = ["", "n", "s", "r", "lin", "dor", "mes"];
    let syllable = |number: usize| {
        let (consonant, vowel) = (CONSONANTS[number / 5 % 16], VOWELS[number % 5]);
        [char::from(consonant), char::from(vowel)]
    };
    let stem = syllable(index % 80).into_iter().chain(syllable(index / 80));
    stem.chain(ENDINGS[index % 7].chars()).collect()
}

/// The main text of a page: paragraphs of words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Article {
    paragraphs: Vec<Vec<String>>,
}

impl Article {
    /// An article of `words` random words, in paragraphs of up to 70.
    pub fn random(random: &mut Random, words: usize) -> Self {
        let words: Vec<String> = (0..words).map(|_| random.word()).collect();
        Self {
            paragraphs: words.chunks(70).map(<[String]>::to_vec).collect(),
        }
    }

    /// The same article with `count` words replaced by others, at random places.
    pub fn edited(&self, random: &mut Random, count: usize) -> Self {
        let mut edited = self.clone();
        for _ in 0..count {
            let paragraph = random.below(edited.paragraphs.len());
            let paragraph = &mut edited.paragraphs[paragraph];
            let place = random.below(paragraph.len());
            let former = std::mem::take(&mut paragraph[place]);
            while paragraph[place].is_empty() || paragraph[place] == former {
                paragraph[place] = random.word();
            }
        }
        edited
    }

    /// The same article in letters beyond ASCII, with a sentence each in other scripts.
    pub fn foreign(&self) -> Self {
        let mut foreign = self.clone();
        for word in foreign.paragraphs.iter_mut().flatten() {
            *word = word.replace('a', "ä").replace('e', "é").replace('o', "ø");
        }
        let sentences = [
            "Съешь ещё этих мягких булок",
            "Ξεσκεπάζω την ψυχοφθόρα",
            "春 はあけぼの",
        ];
        let sentences = sentences.map(|text| text.split(' ').map(str::to_owned).collect());
        foreign.paragraphs.extend(sentences);
        foreign
    }

    /// The paragraphs as they are read: sentences with commas. Where these stand depends on the
    /// place of a word only, so that an edited word changes nothing but itself.
    pub fn paragraphs(&self) -> Vec<String> {
        self.paragraphs
            .iter()
            .map(|words| sentences(words))
            .collect()
    }

    /// The whole text, one paragraph a line.
    pub fn text(&self) -> String {
        self.paragraphs().join("\n")
    }
}

fn sentences(words: &[String]) -> String {
    let mut text = String::new();
    for (place, word) in words.iter().enumerate() {
        let begins = place % 14 == 0;
        let ends = place % 14 == 13 || place + 1 == words.len();
        if place > 0 {
            text.push(' ');
        }
        text.push_str(&if begins {
            capitalized(word)
        } else {
            word.clone()
        });
        text.push_str(if ends {
            "."
        } else if place % 5 == 4 {
            ","
        } else {
            ""
        });
    }
    text
}

fn capitalized(text: &str) -> String {
    let mut letters = text.chars();
    let first = letters.next().into_iter().flat_map(char::to_uppercase);
    first.chain(letters).collect()
}
