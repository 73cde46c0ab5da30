//! How fast documents are signed, and found again among ten million: side by side with what a
//! textbook would write, in one process, so that a busy machine slows both.
//!
//! `cargo bench --bench dedup` runs all; `-- sign` or `-- index` one part.

use std::collections::hash_map::DefaultHasher;
use std::collections::{HashMap, HashSet};
use std::fmt::Write as _;
use std::hash::{Hash, Hasher};
use std::hint::black_box;
use std::io::Write as _;
use std::time::{Duration, Instant};

use gleaner::corpus::{Figures, Found, Options, Signer, Tables, sign_minhash, sign_simhash};
use gleaner::dedup::{Permutations, Text};

fn main() {
    let wanted: Vec<String> = std::env::args()
        .skip(1)
        .filter(|it| !it.starts_with('-'))
        .collect();
    let wants = |name: &str| wanted.is_empty() || wanted.iter().any(|it| it == name);
    if wants("sign") {
        sign();
    }
    if wants("index") {
        index();
    }
}

fn say(line: &str) {
    let _ = writeln!(std::io::stdout(), "{line}");
}

/// `SplitMix64`, for texts and fingerprints.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ mixed >> 31
    }
}

/// Texts of 300 to 1,300 words whose frequencies and lengths are like those of prose: few frequent
/// short words, many rare longer ones, 6 bytes a word with what stands between.
fn texts(count: usize) -> Vec<String> {
    let mut random = Random(1);
    let vocabulary: Vec<String> = (0..20_000_u64)
        .map(|rank| {
            let length = 2 + ((rank + 1).ilog2() / 2) as usize + (random.next() % 3) as usize;
            (0..length)
                .map(|_| char::from(b'a' + (random.next() % 26) as u8))
                .collect()
        })
        .collect();
    (0..count)
        .map(|_| {
            let mut text = String::new();
            for at in 0..300 + random.next() % 1_000 {
                // The rank's logarithm is even, as Zipf has it.
                let bits = random.next() % 15;
                let rank = (1 << bits) + random.next() % (1 << bits);
                let word = &vocabulary[(rank as usize - 1) % vocabulary.len()];
                let end = match at % 17 {
                    16 => ". ",
                    9 => ", ",
                    _ => " ",
                };
                let _ = write!(text, "{word}{end}");
            }
            text
        })
        .collect()
}

/// Makes something of a text, and a number of that, so that it is not left out.
type Contender = Box<dyn FnMut(&str) -> u64>;

fn sign() {
    let texts = texts(1_000);
    let bytes: usize = texts.iter().map(String::len).sum();
    say(&format!("# {} texts, {bytes} bytes", texts.len()));
    let witness = Signer::new(&Options::witness());
    let minhash = Signer::new(&Options::minhash(0.8));
    let plain = Signer::new(&Options::witness());
    let permutations = Permutations::new(0);
    let mut contenders: Vec<(&str, Contender)> = vec![
        ("textbook SimHash", Box::new(textbook_simhash)),
        ("SimHash", Box::new(|text| sign_simhash(text, 2, 0))),
        (
            "textbook MinHash-128",
            Box::new(|text| textbook_minhash(text)[0]),
        ),
        (
            "MinHash-128",
            Box::new(move |text| u64::from(sign_minhash(text, 5, &permutations)[0])),
        ),
        (
            "tokenising and digests",
            Box::new(|text| u64::from(Text::whole(text).word_count())),
        ),
        (
            "all that the default signs",
            Box::new(move |text| {
                black_box(witness.sign(text.as_bytes(), &Text::whole(text)));
                0
            }),
        ),
        (
            "all that --method minhash signs",
            Box::new(move |text| {
                black_box(minhash.sign(text.as_bytes(), &Text::whole(text)));
                0
            }),
        ),
        (
            "all figures",
            Box::new(move |text| {
                u64::from(Figures::of(text.as_bytes(), &Text::whole(text), &plain).words)
            }),
        ),
    ];
    // The least time of several rounds, each of which has all contenders in turn.
    let mut best = vec![Duration::MAX; contenders.len()];
    for _ in 0..7 {
        for ((_, contender), best) in contenders.iter_mut().zip(&mut best) {
            let start = Instant::now();
            for text in &texts {
                black_box(contender(text));
            }
            *best = start.elapsed().min(*best);
        }
    }
    for ((name, _), best) in contenders.iter().zip(&best) {
        say(&format!(
            "{name:<34}{:>8.1} MB/s",
            bytes as f64 / 1e6 / best.as_secs_f64()
        ));
    }
    let ratio =
        |textbook: usize, own: usize| best[textbook].as_secs_f64() / best[own].as_secs_f64();
    say(&format!(
        "SimHash {:.1} x, MinHash-128 {:.1} x the textbook",
        ratio(0, 1),
        ratio(2, 3)
    ));
}

/// The words of a text, as a textbook takes them.
fn textbook_words(text: &str) -> Vec<String> {
    text.split(|c: char| !c.is_alphanumeric())
        .filter(|word| !word.is_empty())
        .map(str::to_lowercase)
        .collect()
}

/// Shingles as strings in a map, 64 counters.
fn textbook_simhash(text: &str) -> u64 {
    let words = textbook_words(text);
    let mut features: HashMap<String, i64> = HashMap::new();
    for shingle in words.windows(2) {
        *features.entry(shingle.join(" ")).or_default() += 1;
    }
    let mut votes = [0_i64; 64];
    for (feature, weight) in &features {
        let hash = hash(feature);
        for (bit, vote) in votes.iter_mut().enumerate() {
            *vote += if hash >> bit & 1 == 1 {
                *weight
            } else {
                -*weight
            };
        }
    }
    (0..64).fold(0, |bits, bit| bits | u64::from(votes[bit] > 0) << bit)
}

/// Shingles as strings in a set, 128 functions (a x + b) mod p.
fn textbook_minhash(text: &str) -> [u64; 128] {
    const PRIME: u64 = (1 << 61) - 1;
    let words = textbook_words(text);
    let shingles: HashSet<String> = words.windows(5).map(|shingle| shingle.join(" ")).collect();
    let mut random = Random(7);
    let functions: Vec<(u64, u64)> = (0..128)
        .map(|_| (random.next() % PRIME, random.next() % PRIME))
        .collect();
    let mut minima = [u64::MAX; 128];
    for shingle in &shingles {
        let hash = u128::from(hash(shingle) & 0xffff_ffff);
        for ((a, b), minimum) in functions.iter().zip(&mut minima) {
            let value = (u128::from(*a) * hash + u128::from(*b)) % u128::from(PRIME);
            *minimum = (*minimum).min(value as u64 & 0xffff_ffff);
        }
    }
    minima
}

fn hash(text: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    text.hash(&mut hasher);
    hasher.finish()
}

/// Ten million fingerprints; every tenth has up to 3 bits of an earlier one turned.
fn index() {
    const COUNT: u32 = 10_000_000;
    /// Of the last ones the time is taken, in parts: the least is that without laying tables out
    /// anew.
    const PART: u32 = 100_000;
    const PARTS: u32 = 10;
    let mut random = Random(3);
    let mut tables = Tables::default();
    let mut planted = Vec::new();
    let mut fingerprints = Vec::with_capacity(COUNT as usize);
    for number in 0..COUNT {
        let fingerprint = if number % 10 == 9 {
            let of = random.next() as u32 % number;
            planted.push((number, of));
            let turned =
                (0..random.next() % 4).fold(0, |turned, _| turned | 1 << (random.next() % 64));
            fingerprints[of as usize] ^ turned
        } else {
            random.next()
        };
        fingerprints.push(fingerprint);
    }
    let mut found: Vec<Found> = Vec::new();
    let mut hits = planted.iter().peekable();
    let (mut seen, mut missed) = (0_u32, 0_u32);
    let before = resident();
    let (mut least, mut mean) = (f64::MAX, 0.0);
    let (mut start, mut clock) = (0.0, Instant::now());
    for (number, fingerprint) in (0..).zip(&fingerprints) {
        if number == COUNT - PARTS * PART {
            clock = Instant::now();
        }
        if number % PART == 0 {
            start = processor_time();
        }
        found.clear();
        tables.find(*fingerprint, 3, &mut found);
        if let Some((_, of)) = hits.next_if(|(planted, _)| *planted == number) {
            seen += 1;
            missed += u32::from(found.iter().all(|found| found.number != *of));
        }
        tables.insert(*fingerprint, number);
        if number % PART == PART - 1 && number >= COUNT - PARTS * PART {
            let each = (processor_time() - start) * 1e6 / f64::from(PART);
            least = each.min(least);
            mean += each / f64::from(PARTS);
        }
    }
    let clock = clock.elapsed().as_secs_f64() * 1e6 / f64::from(PARTS * PART);
    let bytes = |bytes: usize| bytes as f64 / f64::from(COUNT);
    say(&format!(
        "{COUNT} fingerprints: lookup + insert {mean:.2} us of processor time, mean of the last million \
         ({least:.2} in the best {PART}; {clock:.2} by the clock), {} of {seen} planted found, \
         {:.1} bytes each (resident {:.1})",
        seen - missed,
        bytes(tables.memory_bytes()),
        bytes(resident().saturating_sub(before)),
    ));
    for distance in [3, 7, 10] {
        let mut least = f64::MAX;
        for _ in 0..10 {
            let start = processor_time();
            for _ in 0..5_000 {
                found.clear();
                tables.find(random.next(), distance, &mut found);
                black_box(&found);
            }
            least = least.min((processor_time() - start) * 1e6 / 5_000.0);
        }
        say(&format!("lookup at distance {distance}: {least:.2} us"));
    }
}

/// Seconds that this thread has run: a clock would count what else the machine does.
fn processor_time() -> f64 {
    let status = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    let nanoseconds = status.split_whitespace().next();
    nanoseconds
        .and_then(|it| it.parse::<f64>().ok())
        .unwrap_or(0.0)
        / 1e9
}

/// Bytes of this process in memory, as far as the system tells.
fn resident() -> usize {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find(|line| line.starts_with("RssAnon"));
    let kilobytes = line.and_then(|line| line.split_whitespace().nth(1)?.parse::<usize>().ok());
    kilobytes.unwrap_or(0) * 1_024
}
