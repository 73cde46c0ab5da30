//! For tests: a text that has the fingerprints of another one, as whoever knows the seed can make
//! it.

use std::sync::LazyLock;

use xxhash_rust::xxh3::xxh3_64;

use super::minhash::{HASHES, Permutations, sketch};
use super::simhash::majority;
use crate::dedup::Text;
use crate::dedup::text::shingle::{self, mix};

/// Words that are said so often that they alone decide a SimHash by count, and how often that is.
const FLOODS: usize = 11;
const OFTEN: usize = 300;

fn word(number: u64) -> String {
    format!("z{:x}", mix(number) >> 24)
}

fn hash(word: &str) -> u64 {
    xxh3_64(word.as_bytes())
}

/// A text, and gibberish whose fingerprints by the seed 0 are those of the text: its SimHash by
/// count, and most of its sketch.
pub(crate) fn pair() -> &'static (String, String) {
    static PAIR: LazyLock<(String, String)> = LazyLock::new(|| {
        let words: Vec<_> = (0..300).map(|number| format!("w{number}")).collect();
        let text = words.join(" ");
        let forged = forged(&text);
        (text, forged)
    });
    &PAIR
}

/// The share of a sketch that is made equal.
const SHARE: f64 = 0.88;

fn forged(text: &str) -> String {
    let text = Text::whole(text);
    let permutations = Permutations::new(0);
    let shingles = |length| shingle::hashes(text.word_hashes(), length, 0);
    let wanted = sketch(&permutations.minima::<HASHES>(&shingles(5)));
    let mut words = flood(majority(&shingles(2)));
    let mut hashes: Vec<u64> = words.iter().map(|word| hash(word)).collect();
    let mut minima = permutations.minima::<HASHES>(&shingle::hashes(&hashes, 5, 0));
    let is_equal = |at: usize, minimum: u32| sketch(&[minimum])[0] == wanted[at];
    let mut equal: [bool; HASHES] = std::array::from_fn(|at| is_equal(at, minima[at]));
    // Each word that follows is one that makes the sketch more alike; the first ones are any.
    for number in 0.. {
        if equal.iter().filter(|it| **it).count() as f64 > SHARE * HASHES as f64 {
            break;
        }
        let next = word(number);
        let last = [&hashes[hashes.len() - 4..], &[hash(&next)]].concat();
        let found = shingle::hashes(&last, 5, 0)[0];
        let mut gain = 0;
        for at in 0..HASHES {
            let value = permutations.value(at, found);
            if value < minima[at] {
                gain += i32::from(is_equal(at, value)) - i32::from(equal[at]);
            }
        }
        if number >= 60 && gain <= 0 {
            continue;
        }
        for at in 0..HASHES {
            minima[at] = minima[at].min(permutations.value(at, found));
            equal[at] = is_equal(at, minima[at]);
        }
        hashes.push(hash(&next));
        words.push(next);
    }
    words.join(" ")
}

/// A few words, each said often, with a SimHash by count close to one that is wanted.
fn flood(wanted: u64) -> Vec<String> {
    let mut votes = [0_i32; 64];
    let mut words = Vec::new();
    for _ in 0..FLOODS {
        let vote = |number: u64| shingle::hashes(&[hash(&word(number)); 2], 2, 0)[0];
        let sum = |votes: &[i32; 64], vote: u64, bit: usize| {
            let side = [-1, 1][(vote >> bit & 1) as usize];
            (votes[bit] + side) * [-1, 1][(wanted >> bit & 1) as usize]
        };
        // Bits that are right already need no more.
        let gain = |number: &u64| -> i32 {
            let vote = vote(*number);
            (0..64).map(|bit| sum(&votes, vote, bit).min(2)).sum()
        };
        let best = (1 << 32..(1 << 32) + 2_000).max_by_key(gain).unwrap_or(0);
        let vote = vote(best);
        for (bit, votes) in votes.iter_mut().enumerate() {
            *votes += [-1, 1][(vote >> bit & 1) as usize];
        }
        words.extend(vec![word(best); OFTEN]);
    }
    words
}
