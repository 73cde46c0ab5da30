//! Long entries in parts: each message says whether it is a whole entry, or which part of which.
//!
//! A whole entry has the tag 0 before it. A part has the tag 1, a checksum of the whole entry by
//! which its parts know one another, its number, their number (4 bytes each, little-endian), and
//! its bytes. The last part makes the entry; parts without their last one are what a writer left
//! that was interrupted, and are passed over.

use xxhash_rust::xxh3::xxh3_64;

const WHOLE: u8 = 0;
const PART: u8 = 1;

/// Bytes before those of a part.
const HEAD: usize = 1 + 8 + 4 + 4;

/// Cuts an entry into messages of at most `max` bytes.
pub(super) fn cut(entry: &[u8], max: usize) -> Vec<Vec<u8>> {
    if entry.len() < max {
        return vec![[&[WHOLE], entry].concat()];
    }
    let checksum = xxh3_64(entry).to_le_bytes();
    let pieces = entry.chunks(max.saturating_sub(HEAD).max(1));
    let count = (pieces.len() as u32).to_le_bytes();
    let part = |(number, piece): (u32, &[u8])| {
        [&[PART][..], &checksum, &number.to_le_bytes(), &count, piece].concat()
    };
    (0..).zip(pieces).map(part).collect()
}

/// Joins parts to entries.
#[derive(Debug, Default)]
pub(super) struct Joiner {
    /// Checksum of the entry that is being joined.
    checksum: u64,
    /// The number of parts that are there.
    joined: u32,
    entry: Vec<u8>,
}

impl Joiner {
    /// Takes the next message, and returns the entry that ends with it. A message of another form
    /// is passed over.
    pub(super) fn add(&mut self, message: &[u8]) -> Option<Vec<u8>> {
        let (tag, rest) = message.split_first()?;
        match *tag {
            WHOLE => {
                *self = Self::default();
                Some(rest.to_vec())
            }
            PART => self.add_part(rest),
            _ => None,
        }
    }

    fn add_part(&mut self, rest: &[u8]) -> Option<Vec<u8>> {
        let (checksum, rest) = rest.split_first_chunk()?;
        let (number, rest) = rest.split_first_chunk()?;
        let (count, piece) = rest.split_first_chunk()?;
        let checksum = u64::from_le_bytes(*checksum);
        let number = u32::from_le_bytes(*number);
        if number == 0 {
            *self = Self {
                checksum,
                ..Self::default()
            };
        }
        if (checksum, number) != (self.checksum, self.joined) {
            return None;
        }
        self.joined += 1;
        self.entry.extend_from_slice(piece);
        if self.joined < u32::from_le_bytes(*count) {
            return None;
        }
        let Self { entry, .. } = std::mem::take(self);
        (xxh3_64(&entry) == checksum).then_some(entry)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn join(messages: &[Vec<u8>]) -> Vec<Vec<u8>> {
        let mut joiner = Joiner::default();
        let entries = messages.iter().filter_map(|message| joiner.add(message));
        entries.collect()
    }

    #[test]
    fn parts_without_their_last_one_are_passed_over() {
        let long = cut(&[1; 100], 40);
        let other = cut(&[2; 100], 40);
        assert_eq!(long.len(), 5);
        let begun = [&long[..4], &cut(b"short", 40)[..], &long[4..]].concat();
        assert_eq!(join(&begun), [b"short".to_vec()]);
        let again = [&long[..3], &long[..], &other[..]].concat();
        assert_eq!(join(&again), [vec![1; 100], vec![2; 100]]);
        let mixed = [&long[..2], &other[2..], &long[2..]].concat();
        assert_eq!(join(&mixed), [vec![1; 100]]);
        assert_eq!(
            join(&[vec![], vec![9, 1], vec![PART, 1]]),
            Vec::<Vec<u8>>::new()
        );
    }

    proptest! {
        #[test]
        fn what_is_cut_is_joined(
            entries in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..200), 0..5),
            max in HEAD + 1..60,
        ) {
            let messages: Vec<_> = entries.iter().flat_map(|entry| cut(entry, max)).collect();
            prop_assert!(messages.iter().all(|message| message.len() <= max));
            prop_assert_eq!(join(&messages), entries);
        }
    }
}
