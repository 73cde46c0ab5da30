//! What of a text is repeated: lines, and runs of words.

use xxhash_rust::xxh3::xxh3_64;

/// Finds, of some hashes, the first that is the same.
struct Firsts {
    /// Indices of hashes, each plus one. A power of two of them, at most half of which are used.
    slots: Vec<u32>,
}

impl Firsts {
    /// For so many hashes at most.
    fn new(most: usize) -> Self {
        Self {
            slots: vec![0; (most.max(1) * 2).next_power_of_two()],
        }
    }

    /// The index of the first of the hashes that is as this one; its own, if none was before.
    fn of(&mut self, hashes: &[u64], index: usize) -> usize {
        let Some(hash) = hashes.get(index) else {
            return index;
        };
        let mask = self.slots.len() - 1;
        let mut at = (hash ^ (hash >> 32)) as usize & mask;
        while let Some(slot) = self.slots.get_mut(at) {
            let Some(known) = slot.checked_sub(1) else {
                *slot = index as u32 + 1;
                return index;
            };
            if hashes.get(known as usize) == Some(hash) {
                return known as usize;
            }
            at = (at + 1) & mask;
        }
        index
    }
}

/// Elements that were there before, and their characters.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Repeated {
    pub(super) elements: usize,
    pub(super) chars: usize,
}

/// What of these is repeated.
pub(super) fn repeated(elements: &[&str]) -> Repeated {
    let hashes: Vec<u64> = elements.iter().map(|it| xxh3_64(it.as_bytes())).collect();
    let mut firsts = Firsts::new(hashes.len());
    let mut repeated = Repeated::default();
    for (index, element) in elements.iter().enumerate() {
        if firsts.of(&hashes, index) < index {
            repeated.elements += 1;
            repeated.chars += element.chars().count();
        }
    }
    repeated
}

/// The characters of repeated runs of words.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Runs {
    /// Those of the most frequent run of two, three and four words, with the spaces between the
    /// words; of equally frequent ones, of the first.
    pub(super) most_frequent: [usize; 3],
    /// Those of runs of five to ten words that were there before. Runs that overlap one that counts
    /// are not counted.
    pub(super) repeated: [usize; 6],
}

/// Words one after another.
struct Sequence<'a> {
    words: &'a [&'a str],
    /// Their text without anything between them.
    joined: String,
    /// Where each begins in it, and the last one ends.
    starts: Vec<usize>,
    /// The same in characters.
    chars: Vec<usize>,
}

impl Runs {
    /// Finds the repeated runs of words, which have so many characters.
    pub(super) fn of(words: &[&str], lengths: &[usize]) -> Self {
        let sequence = Sequence::new(words, lengths);
        Self {
            most_frequent: sequence.most_frequent(),
            repeated: sequence.repeated(),
        }
    }
}

impl<'a> Sequence<'a> {
    fn new(words: &'a [&'a str], lengths: &[usize]) -> Self {
        let mut sequence = Self {
            words,
            joined: words.concat(),
            starts: Vec::with_capacity(words.len() + 1),
            chars: Vec::with_capacity(words.len() + 1),
        };
        let (mut start, mut chars) = (0, 0);
        sequence.starts.push(start);
        sequence.chars.push(chars);
        for (word, length) in words.iter().zip(lengths) {
            start += word.len();
            chars += length;
            sequence.starts.push(start);
            sequence.chars.push(chars);
        }
        sequence
    }

    /// The characters of the most frequent runs of two, three and four words. A run is repeated
    /// only where the run without its last word is: so longer ones cost less.
    fn most_frequent(&self) -> [usize; 3] {
        let words = self.words.iter().map(|it| xxh3_64(it.as_bytes()));
        let words: Vec<u64> = words.collect();
        // Where runs begin that may be repeated, and the hashes of these.
        let mut places: Vec<usize> = (0..words.len()).collect();
        let mut hashes = words.clone();
        [2, 3, 4].map(|count| {
            let longer = places.iter().zip(&hashes).filter_map(|(place, hash)| {
                let next = words.get(place + count - 1)?;
                let mixed = (hash.rotate_left(23) ^ next).wrapping_mul(0x9E37_79B9_7F4A_7C15);
                Some((*place, mixed))
            });
            (places, hashes) = longer.unzip();
            let mut known = Firsts::new(places.len());
            let firsts = (0..places.len()).map(|it| known.of(&hashes, it));
            let firsts: Vec<usize> = firsts.collect();
            let mut times = vec![0_usize; places.len()];
            for it in &firsts {
                times.get_mut(*it).into_iter().for_each(|times| *times += 1);
            }
            let most = times.iter().copied().max().unwrap_or(1);
            let first = times.iter().position(|it| *it == most);
            let place = match most {
                // None is repeated: the first of all.
                1 => Some(0),
                _ => first.and_then(|at| places.get(at).copied()),
            };
            let mut is_repeated =
                (firsts.iter()).map(|it| times.get(*it).is_some_and(|it| *it > 1));
            let kept = places
                .iter()
                .zip(&hashes)
                .filter(|_| is_repeated.next() == Some(true));
            (places, hashes) = kept.map(|(place, hash)| (*place, *hash)).unzip();
            let place = place.filter(|_| self.words.len() >= count);
            place.map_or(0, |at| (self.chars(at, count) + count - 1) * most)
        })
    }

    /// The characters of runs of five to ten words that were there before.
    fn repeated(&self) -> [usize; 6] {
        let places = self.perhaps_repeated();
        let mut hashes = Vec::with_capacity(places.len());
        let mut was_seen = Vec::with_capacity(places.len());
        [5, 6, 7, 8, 9, 10].map(|count| {
            hashes.clear();
            let whole = places
                .iter()
                .take_while(|it| *it + count <= self.words.len());
            hashes.extend(whole.map(|it| xxh3_64(self.text(*it, count))));
            was_seen.clear();
            was_seen.resize(hashes.len(), false);
            let mut known = Firsts::new(hashes.len());
            let (mut sum, mut next) = (0, 0);
            for (index, place) in places.iter().enumerate().take(hashes.len()) {
                let first = known.of(&hashes, index);
                let seen = was_seen.get_mut(first).filter(|_| *place >= next);
                let Some(seen) = seen else { continue };
                if std::mem::replace(seen, true) {
                    sum += self.chars(*place, count);
                    next = place + count;
                }
            }
            sum
        })
    }

    /// Where runs of five and more words begin that may be repeated: what follows there is there
    /// twice, or too short to tell. Only the text counts, not where words in it end.
    fn perhaps_repeated(&self) -> Vec<usize> {
        const BYTES: usize = 16;
        let here = |start: &usize| self.joined.as_bytes().get(*start..start + BYTES);
        let hashes = self.starts.iter().map(|it| here(it).map_or(0, xxh3_64));
        let hashes: Vec<u64> = hashes.collect();
        let mut known = Firsts::new(hashes.len());
        let mut is_repeated = vec![false; hashes.len()];
        for index in 0..hashes.len() {
            let first = known.of(&hashes, index);
            if first < index {
                for at in [first, index] {
                    is_repeated
                        .get_mut(at)
                        .into_iter()
                        .for_each(|it| *it = true);
                }
            }
        }
        let places = is_repeated.iter().enumerate().take(self.words.len());
        let places = places.filter(|(at, it)| **it || self.text(*at, 5).len() < BYTES);
        places.map(|(at, _)| at).collect()
    }

    fn text(&self, at: usize, count: usize) -> &[u8] {
        let start = self.starts.get(at).copied().unwrap_or_default();
        let end = self.starts.get(at + count).copied().unwrap_or_default();
        self.joined.as_bytes().get(start..end).unwrap_or_default()
    }

    fn chars(&self, at: usize, count: usize) -> usize {
        let end = self.chars.get(at + count).copied().unwrap_or_default();
        end - self.chars.get(at).copied().unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_there_before_is_repeated() {
        let lines = ["a", "bä", "a", "bä", "a", "c"];
        let expected = Repeated {
            elements: 3,
            chars: 4,
        };
        assert_eq!(repeated(&lines), expected);
        assert_eq!(repeated(&[]), Repeated::default());
    }

    #[test]
    fn runs_of_words_are_counted() {
        let check = |text: &str, most_frequent: [usize; 3], repeated: [usize; 6]| {
            let words: Vec<&str> = text.split(' ').collect();
            let lengths: Vec<usize> = words.iter().map(|it| it.len()).collect();
            let expected = Runs {
                most_frequent,
                repeated,
            };
            assert_eq!(Runs::of(&words, &lengths), expected, "{text}");
        };
        // `a b` three times, with its space; nothing longer is there twice, so the first counts.
        check("a b a b c a b", [9, 5, 7], [0; 6]);
        // Of equally frequent ones the first.
        check("aaa b c d c d aaa b", [10, 7, 9], [0; 6]);
        // The second run begins behind the first.
        check("a b c d e a b c d e", [6, 10, 14], [5, 0, 0, 0, 0, 0]);
        check("a b a b a b a b a b", [15, 20, 28], [5, 6, 7, 8, 0, 0]);
        check("a", [0; 3], [0; 6]);
        // Where words end does not matter.
        let ends = "1 23456 78 9 abcdefghijkl x 12 3456 78 9 abcdefghijkl";
        check(ends, [8, 34, 12], [21, 0, 0, 0, 0, 0]);
    }
}
