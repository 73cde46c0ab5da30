//! Numbers and texts that follow from a seed: the same on every machine.

/// A generator of numbers: splitmix64.
#[derive(Debug, Clone)]
pub(crate) struct Random(u64);

impl Random {
    /// A generator that begins at this seed.
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// A generator for one part of a site: equal parts give equal numbers.
    pub(crate) fn of(seed: u64, part: &str) -> Self {
        let mut hash = seed ^ 0xcbf2_9ce4_8422_2325;
        for byte in part.bytes() {
            hash = (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
        }
        let mut random = Self(hash);
        random.bits();
        random
    }

    /// The next 64 bits.
    pub(crate) fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number below the bound.
    pub(crate) fn below(&mut self, bound: usize) -> usize {
        (self.bits() % bound.max(1) as u64) as usize
    }

    /// A number from low to high, both included.
    pub(crate) fn between(&mut self, low: usize, high: usize) -> usize {
        low + self.below(high - low + 1)
    }

    /// True so many times out of a hundred.
    pub(crate) fn percent(&mut self, share: usize) -> bool {
        self.below(100) < share
    }

    /// One of these.
    pub(crate) fn pick<'a>(&mut self, of: &[&'a str]) -> &'a str {
        of[self.below(of.len())]
    }

    /// Puts the items into a random order.
    pub(crate) fn shuffle<T>(&mut self, items: &mut [T]) {
        for end in (1..items.len()).rev() {
            items.swap(end, self.below(end + 1));
        }
    }

    /// A word: frequent ones come often, as in real texts.
    pub(crate) fn word(&mut self) -> String {
        // One word of three is one of a hundred small ones.
        let index = match self.below(3) {
            0 => self.below(100),
            1 => self.below(1_500),
            _ => self.below(12_000),
        };
        word(index)
    }

    /// So many words.
    pub(crate) fn words(&mut self, count: usize) -> String {
        let words: Vec<String> = (0..count).map(|_| self.word()).collect();
        words.join(" ")
    }

    /// A few words, the first with a capital.
    pub(crate) fn phrase(&mut self, count: usize) -> String {
        capital(&self.words(count))
    }

    /// Sentences of so many words in all.
    pub(crate) fn prose(&mut self, words: usize) -> String {
        let mut text = String::new();
        let mut left = words;
        while left > 0 {
            let length = self.between(6, 18).min(left);
            left -= length;
            text.push_str(&self.phrase(length));
            text.push_str(if left == 0 { "." } else { ". " });
        }
        text
    }

    /// Paragraphs of so many words in all.
    pub(crate) fn paragraphs(&mut self, words: usize) -> String {
        let mut html = String::new();
        let mut left = words;
        while left > 0 {
            let length = self.between(30, 80).min(left);
            left -= length;
            html.push_str(&format!("<p>{}</p>\n", self.prose(length)));
        }
        html
    }

    /// A name for an address: words with hyphens.
    pub(crate) fn slug(&mut self, words: usize) -> String {
        let words: Vec<String> = (0..words).map(|_| self.word()).collect();
        words.join("-")
    }

    /// So many hexadecimal digits.
    pub(crate) fn hex(&mut self, digits: usize) -> String {
        let mut text = String::new();
        while text.len() < digits {
            text.push_str(&format!("{:016x}", self.bits()));
        }
        text.truncate(digits);
        text
    }
}

/// The text with a capital.
pub(crate) fn capital(text: &str) -> String {
    let mut letters = text.chars();
    let first = letters.next().map(|it| it.to_ascii_uppercase());
    first.into_iter().chain(letters).collect()
}

/// Word number `index`, another for each; small numbers give short words.
pub(crate) fn word(index: usize) -> String {
    const CONSONANTS: [&str; 16] = [
        "b", "d", "f", "g", "h", "k", "l", "m", "n", "p", "r", "s", "t", "v", "st", "tr",
    ];
    const VOWELS: [&str; 6] = ["a", "e", "i", "o", "u", "ea"];
    const ENDINGS: [&str; 5] = ["", "n", "r", "s", "lin"];
    let mut rest = index * 7 + 3;
    let mut text = String::new();
    loop {
        text.push_str(CONSONANTS[rest % 16]);
        rest /= 16;
        text.push_str(VOWELS[rest % 6]);
        rest /= 6;
        if rest == 0 {
            break;
        }
    }
    text.push_str(ENDINGS[index % 5]);
    text
}
