//! Batches, and their form as bytes, in which a commit goes to where it is not a call away: into a
//! log that other processes read.
//!
//! The form is a version (1 byte), the number of changes, the changes, and a checksum (xxh3, 8
//! bytes, little-endian) of all before it. A change is its table and whether it puts (1 byte), the
//! key with its length, and the value with its length if it puts. Numbers are of variable length,
//! seven bits a byte, the lowest first. There is one form of each batch: what [`Batch::decode`]
//! accepts is what [`Batch::encode`] writes.

use super::Table;
use super::sealed::{Broken, CHECKSUM, seal, unseal};

/// Version of the form that is written.
const VERSION: u8 = 1;

/// Least bytes of a change: a delete with an empty key.
const LEAST_CHANGE: usize = 2;

/// An ordered list of puts and deletes. A later change of a row overrides an earlier one.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct Batch {
    pub(super) changes: Vec<Change>,
}

/// One change of one row; a value of `None` deletes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Change {
    pub(super) table: Table,
    pub(super) key: Vec<u8>,
    pub(super) value: Option<Vec<u8>>,
}

impl Batch {
    /// Creates an empty batch.
    pub fn new() -> Self {
        Self::default()
    }

    /// Writes `value` under `key`, replacing any earlier value.
    pub fn put(&mut self, table: Table, key: impl Into<Vec<u8>>, value: impl Into<Vec<u8>>) {
        self.changes.push(Change {
            table,
            key: key.into(),
            value: Some(value.into()),
        });
    }

    /// Deletes the row at `key`, if there is one.
    pub fn delete(&mut self, table: Table, key: impl Into<Vec<u8>>) {
        self.changes.push(Change {
            table,
            key: key.into(),
            value: None,
        });
    }

    /// Returns the rows that it writes to a table, in the order in which it does.
    pub(crate) fn puts(&self, table: Table) -> impl Iterator<Item = (&[u8], &[u8])> {
        let of_table = self.changes.iter().filter(move |it| it.table == table);
        of_table.filter_map(|it| Some((&*it.key, it.value.as_deref()?)))
    }

    /// Returns the keys of the rows that it deletes from a table.
    pub(crate) fn deletes(&self, table: Table) -> impl Iterator<Item = &[u8]> {
        let of_table = self.changes.iter().filter(move |it| it.table == table);
        of_table.filter(|it| it.value.is_none()).map(|it| &*it.key)
    }

    /// Returns the row that it leaves under a key, if it writes one.
    pub(crate) fn put_value(&self, table: Table, key: &[u8]) -> Option<&[u8]> {
        let rows = self.puts(table).filter(|(at, _)| *at == key);
        rows.last().map(|(_, row)| row)
    }

    /// Returns the length of all values.
    #[cfg(test)]
    pub(crate) fn bytes(&self) -> usize {
        let values = self.changes.iter().filter_map(|it| it.value.as_ref());
        values.map(Vec::len).sum()
    }

    /// Returns the table of each change, and the bytes of its key and value.
    pub fn sizes(&self) -> impl Iterator<Item = (Table, usize)> {
        let bytes = |it: &Change| it.key.len() + it.value.as_ref().map_or(0, Vec::len);
        self.changes.iter().map(move |it| (it.table, bytes(it)))
    }

    /// Returns `true` if the batch changes nothing.
    pub fn is_empty(&self) -> bool {
        self.changes.is_empty()
    }

    /// Returns the batch as bytes.
    pub fn encode(&self) -> Vec<u8> {
        /// Most that a change needs beside its key and its value.
        const FRAME: usize = 11;
        let length = |it: &Change| FRAME + it.key.len() + it.value.as_ref().map_or(0, Vec::len);
        let length: usize = self.changes.iter().map(length).sum();
        let mut bytes = Vec::with_capacity(length + FRAME + CHECKSUM);
        bytes.push(VERSION);
        write_number(&mut bytes, self.changes.len());
        for change in &self.changes {
            bytes.push(code(change.table) << 1 | u8::from(change.value.is_some()));
            write_bytes(&mut bytes, &change.key);
            if let Some(value) = &change.value {
                write_bytes(&mut bytes, value);
            }
        }
        seal(bytes)
    }

    /// Reads a batch that [`encode`](Self::encode) wrote.
    ///
    /// # Errors
    ///
    /// Whatever is cut off, damaged or added is an error.
    pub fn decode(bytes: &[u8]) -> Result<Self, DecodeError> {
        let mut rest = unseal(VERSION, bytes).map_err(|broken| match broken {
            Broken::Short => DecodeError::Short,
            Broken::Version(other) => DecodeError::Version(other),
            Broken::Checksum => DecodeError::Checksum,
        })?;
        let count = read_number(&mut rest)?;
        let mut changes = Vec::with_capacity(count.min(rest.len() / LEAST_CHANGE));
        for _ in 0..count {
            let (&tag, after) = rest.split_first().ok_or(DecodeError::Short)?;
            rest = after;
            changes.push(Change {
                table: table(tag >> 1).ok_or(DecodeError::Table(tag >> 1))?,
                key: read_bytes(&mut rest)?,
                value: match tag & 1 {
                    0 => None,
                    _ => Some(read_bytes(&mut rest)?),
                },
            });
        }
        match rest.len() {
            0 => Ok(Self { changes }),
            more => Err(DecodeError::Rest(more)),
        }
    }
}

/// Why bytes are no batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum DecodeError {
    /// Another version of the form.
    #[error("it has the form {0}, and this version of gleaner reads form {VERSION}")]
    Version(u8),
    /// The bytes end too early.
    #[error("it is cut off")]
    Short,
    /// The bytes are not those that were written.
    #[error("its checksum does not match")]
    Checksum,
    /// No table has this number.
    #[error("it changes table number {0}, which this version of gleaner does not have")]
    Table(u8),
    /// A number is not in its shortest form, or too large.
    #[error("it has a number that is not written as numbers are")]
    Number,
    /// There is more than was announced.
    #[error("{0} bytes stand behind its last change")]
    Rest(usize),
}

/// Returns the number of a table in the form. A number is never given to another table.
pub(super) const fn code(table: Table) -> u8 {
    match table {
        Table::Meta => 1,
        Table::Pages => 2,
        Table::Hosts => 3,
        Table::Queue => 4,
        Table::Due => 5,
        Table::Robots => 6,
        Table::Scope => 7,
        Table::Revisits => 8,
        Table::Clusters => 9,
        Table::Learned => 10,
        Table::Deltas => 11,
        Table::Kept => 12,
        Table::Templates => 13,
        Table::Parts => 14,
        Table::Groups => 15,
        Table::Deferred => 16,
        Table::Earlier => 17,
        Table::Outbox => 18,
    }
}

/// Returns the table of a number.
pub(super) fn table(number: u8) -> Option<Table> {
    let mut all = Table::ALL.iter().copied();
    all.find(|table| code(*table) == number)
}

fn write_number(bytes: &mut Vec<u8>, mut number: usize) {
    while number >= 0x80 {
        bytes.push(number as u8 | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8);
}

fn write_bytes(bytes: &mut Vec<u8>, field: &[u8]) {
    write_number(bytes, field.len());
    bytes.extend_from_slice(field);
}

fn read_number(rest: &mut &[u8]) -> Result<usize, DecodeError> {
    let mut number = 0_u64;
    for shift in (0..u64::BITS).step_by(7) {
        let (&byte, after) = rest.split_first().ok_or(DecodeError::Short)?;
        *rest = after;
        let bits = u64::from(byte & 0x7f);
        if bits << shift >> shift != bits || (byte == 0 && shift > 0) {
            return Err(DecodeError::Number);
        }
        number |= bits << shift;
        if byte < 0x80 {
            return usize::try_from(number).map_err(|_| DecodeError::Number);
        }
    }
    Err(DecodeError::Number)
}

fn read_bytes(rest: &mut &[u8]) -> Result<Vec<u8>, DecodeError> {
    let length = read_number(rest)?;
    let (field, after) = rest.split_at_checked(length).ok_or(DecodeError::Short)?;
    *rest = after;
    Ok(field.to_vec())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn change() -> impl Strategy<Value = Change> {
        let bytes = || prop::collection::vec(any::<u8>(), 0..300);
        let table = prop::sample::select(Table::ALL);
        (table, bytes(), prop::option::of(bytes())).prop_map(|(table, key, value)| Change {
            table,
            key,
            value,
        })
    }

    fn batch() -> impl Strategy<Value = Batch> {
        prop::collection::vec(change(), 0..20).prop_map(|changes| Batch { changes })
    }

    /// Bytes with the checksum that belongs to them.
    fn sealed(body: &[u8]) -> Vec<u8> {
        seal(body.to_vec())
    }

    #[test]
    fn the_form_is_the_one_that_earlier_versions_wrote() {
        let mut batch = Batch::new();
        batch.put(Table::Meta, "a", [7; 200]);
        batch.delete(Table::Deltas, "key");
        batch.put(Table::Earlier, "", "");
        let bytes = batch.encode();
        let body = [
            &[1, 3][..],
            &[0b11, 1, b'a', 0xc8, 1],
            &[7; 200],
            &[0b1_0110, 3, b'k', b'e', b'y'],
            &[0b10_0011, 0, 0],
        ];
        assert_eq!(bytes, sealed(&body.concat()));
        assert_eq!(hex::encode(&bytes[bytes.len() - 8..]), "dcc56b062054dc2d");
    }

    #[test]
    fn each_table_has_a_number_of_its_own() {
        for &each in Table::ALL {
            assert_eq!(table(code(each)), Some(each));
            assert!(code(each) < 128);
        }
    }

    #[test]
    fn what_is_no_batch_is_told() {
        let check = |bytes: &[u8], expected| assert_eq!(Batch::decode(bytes), Err(expected));
        check(b"", DecodeError::Short);
        check(&[1], DecodeError::Short);
        check(&[2], DecodeError::Version(2));
        check(&sealed(&[1]), DecodeError::Short);
        check(&sealed(&[1, 1]), DecodeError::Short);
        check(&sealed(&[1, 0, 9]), DecodeError::Rest(1));
        check(&sealed(&[1, 1, 0b11, 5, b'a']), DecodeError::Short);
        check(&sealed(&[1, 1, 0, 0]), DecodeError::Table(0));
        check(&sealed(&[1, 1, 0xfe, 0]), DecodeError::Table(127));
        // A number that could be shorter, and one that is too large.
        check(&sealed(&[1, 0x80, 0]), DecodeError::Number);
        check(
            &sealed(&[&[1][..], &[0xff; 10]].concat()),
            DecodeError::Number,
        );
        // A number that is announced reserves nothing.
        let many = [&[1][..], &[0xff; 8], &[1]].concat();
        check(&sealed(&many), DecodeError::Short);
        let mut damaged = Batch::new().encode();
        damaged[1] ^= 1;
        check(&damaged, DecodeError::Checksum);
    }

    proptest! {
        #[test]
        fn what_is_written_is_read(batch in batch()) {
            prop_assert_eq!(Batch::decode(&batch.encode()), Ok(batch));
        }

        #[test]
        fn damage_is_told(
            batch in batch(), at in any::<prop::sample::Index>(), flip in 1..=255_u8, more in 1..9_usize,
        ) {
            let bytes = batch.encode();
            let at = at.index(bytes.len());
            prop_assert!(Batch::decode(&bytes[..at]).is_err());
            let mut flipped = bytes.clone();
            flipped[at] ^= flip;
            prop_assert!(Batch::decode(&flipped).is_err());
            prop_assert!(Batch::decode(&[&bytes[..], &vec![flip; more]].concat()).is_err());
        }

        /// Whatever the checksum says is whole has one form only.
        #[test]
        fn there_is_one_form_of_a_batch(body in prop::collection::vec(any::<u8>(), 0..60)) {
            let bytes = sealed(&[&[VERSION][..], &body].concat());
            if let Ok(batch) = Batch::decode(&bytes) {
                prop_assert_eq!(batch.encode(), bytes);
            }
        }
    }
}
