//! Values that are no longer used, such as the documents that expired. One bit each, so that a
//! merge can check every pair that it copies.

/// Number of values per chunk of a [`Retired`].
pub const CHUNK: u64 = 32_768;

/// A set of values that are numbered without large gaps, such as documents.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Retired {
    words: Vec<u64>,
    count: u64,
}

impl Retired {
    /// Adds a value. Returns `false` if the set had it.
    pub fn insert(&mut self, value: u64) -> bool {
        let (at, bit) = place(value);
        if self.words.len() <= at {
            self.words.resize(at + 1, 0);
        }
        let Some(word) = self.words.get_mut(at) else {
            return false;
        };
        let is_new = *word & bit == 0;
        *word |= bit;
        self.count += u64::from(is_new);
        is_new
    }

    /// Returns `true` if the set contains a value.
    pub fn contains(&self, value: u64) -> bool {
        let (at, bit) = place(value);
        self.words.get(at).is_some_and(|word| word & bit != 0)
    }

    /// Returns the number of values.
    pub fn len(&self) -> u64 {
        self.count
    }

    /// Returns `true` if the set is empty.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Returns the values from `chunk` times [`CHUNK`] on as bytes, to be stored.
    pub fn chunk(&self, chunk: u64) -> Vec<u8> {
        let words = (CHUNK / 64) as usize;
        let from = chunk as usize * words;
        let words = self.words.iter().skip(from).take(words);
        words.flat_map(|word| word.to_le_bytes()).collect()
    }

    /// Adds the values from bytes that [`chunk`](Self::chunk) returned.
    pub fn restore(&mut self, chunk: u64, bytes: &[u8]) {
        let words = bytes.as_chunks().0.iter().map(|it| u64::from_le_bytes(*it));
        for (word, first) in words.zip((chunk * CHUNK..).step_by(64)) {
            for bit in (0..64).filter(|bit| word >> bit & 1 == 1) {
                self.insert(first + bit);
            }
        }
    }
}

fn place(value: u64) -> (usize, u64) {
    ((value / 64) as usize, 1 << (value % 64))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn what_is_kept_is_what_was_there(values in prop::collection::btree_set(0..3 * CHUNK, 0..200)) {
            let mut retired = Retired::default();
            for value in &values {
                prop_assert!(retired.insert(*value));
                prop_assert!(!retired.insert(*value));
            }
            prop_assert_eq!(retired.len(), values.len() as u64);
            let mut restored = Retired::default();
            for chunk in 0..3 {
                restored.restore(chunk, &retired.chunk(chunk));
            }
            for value in 0..3 * CHUNK {
                prop_assert_eq!(restored.contains(value), values.contains(&value));
            }
            prop_assert_eq!(restored.len(), retired.len());
        }
    }
}
