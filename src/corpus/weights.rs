//! Weights of shingles in a SimHash: by how often a shingle occurs, equal, or by how rare it is.
//!
//! Rarity is read from a table of document frequencies, which is made once from a corpus
//! ([`DfCounts`]). A table is numbered and never changes: it contains the checksum of its rows, and
//! everything that keeps fingerprints names it, so that a page's fingerprint never depends on when
//! it was seen. Weights are integers, so that every machine makes the same fingerprints.

use std::collections::HashMap;
use std::hash::BuildHasherDefault;
use std::io::{self, BufRead, Read, Write};
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::xxh3_64;

use super::lookup::Spread;
use crate::dedup::features::OF_CORPORA as FEATURES_VERSION;
use crate::dedup::shingle::Shingle;
use crate::dedup::simhash;

/// Maximum number of shingles counted at once. Above it, those that occurred once are dropped (as
/// in Manku and Motwani, "Approximate Frequency Counts over Data Streams", 2002).
const MOST_COUNTED: usize = 1 << 24;

/// Maximum number of shingles in a table, the most frequent ones. All others count as rarest.
const MOST_LISTED: usize = 1 << 20;

/// The beginning of a table's first line, which identifies the format.
const FORMAT: &str = "gleaner df-table 1";

/// Bytes of a row: the shingle's hash, and the number of documents that contain it.
const ROW: usize = 12;

/// The weight of each shingle of a text.
#[derive(Debug, Clone, Default, PartialEq)]
pub enum Weights {
    /// The number of its occurrences.
    #[default]
    Count,
    /// 1 for each distinct shingle.
    Set,
    /// The number of its occurrences, times 1 + log2(all documents / documents that contain it),
    /// rounded down.
    TfIdf(Arc<DfTable>),
}

impl Weights {
    /// The SimHash of a text with these shingles. A tie gives 0.
    pub(super) fn simhash(&self, shingles: &[u64]) -> u64 {
        let Weights::TfIdf(table) = self else {
            return match self {
                Weights::Set => simhash::of_set(shingles.to_vec()),
                _ => simhash::majority(shingles),
            };
        };
        let mut votes = [0_i64; 64];
        for shingle in shingles {
            let weight = i64::from(table.weight(*shingle));
            for (bit, votes) in votes.iter_mut().enumerate() {
                *votes += if shingle >> bit & 1 == 1 {
                    weight
                } else {
                    -weight
                };
            }
        }
        let bits = votes.iter().enumerate();
        bits.fold(0, |bits, (bit, votes)| bits | u64::from(*votes > 0) << bit)
    }

    /// The name. The name of a table tells it from every other.
    pub fn name(&self) -> String {
        match self {
            Weights::Count => "count".to_owned(),
            Weights::Set => "set".to_owned(),
            Weights::TfIdf(table) => {
                let DfHeader { number, xxh3, .. } = &table.header;
                format!("tfidf by table {number} ({xxh3})")
            }
        }
    }
}

/// The document frequencies of a corpus's shingles. They never change.
#[derive(Debug, Clone, PartialEq)]
pub struct DfTable {
    header: DfHeader,
    weights: HashMap<u64, u8, BuildHasherDefault<Spread>>,
}

/// The first line of a table.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct DfHeader {
    format: String,
    /// Chosen by the table's author.
    number: u32,
    documents: u64,
    shingle: Shingle,
    seed: u64,
    /// The version of the features, which defines what a word is.
    features: String,
    rows: u64,
    /// The xxh3 of the rows, as 16 hexadecimal digits.
    xxh3: String,
}

impl DfTable {
    /// Reads a table. It must have been made of these shingles with this seed.
    pub fn read(mut from: impl BufRead, shingle: Shingle, seed: u64) -> Result<Self, DfError> {
        let mut line = Vec::new();
        (&mut from).take(1 << 16).read_until(b'\n', &mut line)?;
        let header: DfHeader = serde_json::from_slice(&line).map_err(|_| DfError::NoTable)?;
        if header.format != FORMAT {
            return Err(DfError::NoTable);
        }
        if (header.shingle, header.seed) != (shingle, seed) || header.features != FEATURES_VERSION {
            return Err(DfError::Other);
        }
        let mut bytes = Vec::new();
        from.take((MOST_LISTED * ROW) as u64 + 1)
            .read_to_end(&mut bytes)?;
        let is_whole = bytes.len() as u64 == header.rows * ROW as u64;
        if !is_whole || format!("{:016x}", xxh3_64(&bytes)) != header.xxh3 {
            return Err(DfError::Damaged);
        }
        let rows = bytes.chunks_exact(ROW).filter_map(|row| {
            let (hash, count) = row.split_first_chunk::<8>()?;
            let count = u32::from_le_bytes(count.try_into().ok()?);
            Some((u64::from_le_bytes(*hash), idf(header.documents, count)))
        });
        Ok(Self {
            weights: rows.collect(),
            header,
        })
    }

    fn weight(&self, shingle: u64) -> u8 {
        let listed = self.weights.get(&shingle).copied();
        listed.unwrap_or_else(|| idf(self.header.documents, 1))
    }
}

/// The weight of one occurrence of a shingle that `having` of all documents contain.
fn idf(documents: u64, having: u32) -> u8 {
    let times = documents.max(1) / u64::from(having.max(1));
    1 + times.max(1).ilog2() as u8
}

/// Counts the documents that contain each shingle, to make a table.
#[derive(Debug, Default)]
pub struct DfCounts {
    documents: u64,
    counts: HashMap<u64, u32, BuildHasherDefault<Spread>>,
}

impl DfCounts {
    /// Adds a document by its distinct shingles. The result depends on the order of documents.
    pub fn add(&mut self, distinct: &[u64]) {
        self.documents += 1;
        for shingle in distinct {
            *self.counts.entry(*shingle).or_default() += 1;
        }
        if self.counts.len() > MOST_COUNTED {
            self.counts.retain(|_, count| *count > 1);
        }
    }

    /// Writes the table: the most frequent shingles that at least two documents contain.
    pub fn write(
        self,
        mut to: impl Write,
        number: u32,
        shingle: Shingle,
        seed: u64,
    ) -> io::Result<()> {
        let mut rows: Vec<_> = self.counts.into_iter().filter(|it| it.1 > 1).collect();
        rows.sort_unstable_by_key(|(hash, count)| (std::cmp::Reverse(*count), *hash));
        rows.truncate(MOST_LISTED);
        rows.sort_unstable();
        let mut bytes = Vec::with_capacity(rows.len() * ROW);
        for (hash, count) in &rows {
            bytes.extend(hash.to_le_bytes());
            bytes.extend(count.to_le_bytes());
        }
        let header = DfHeader {
            format: FORMAT.to_owned(),
            number,
            documents: self.documents,
            shingle,
            seed,
            features: FEATURES_VERSION.to_owned(),
            rows: rows.len() as u64,
            xxh3: format!("{:016x}", xxh3_64(&bytes)),
        };
        serde_json::to_writer(&mut to, &header)?;
        to.write_all(b"\n")?;
        to.write_all(&bytes)?;
        to.flush()
    }
}

/// A table cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum DfError {
    /// The table could not be read.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// The file is not a table.
    #[error(
        "not a table of document frequencies; create one with `gleaner fingerprint --df-table-out`"
    )]
    NoTable,
    /// The table was made of other shingles, with another seed, or by another version.
    #[error(
        "this table was made with another --shingle, --seed or version of gleaner; give the same flags, or make another table"
    )]
    Other,
    /// The checksum of the rows does not match.
    #[error("this table is damaged; restore it, or make another with another number")]
    Damaged,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dedup::shingle::mix;

    fn table(documents: &[&[u64]]) -> Vec<u8> {
        let mut counts = DfCounts::default();
        for document in documents {
            counts.add(document);
        }
        let mut bytes = Vec::new();
        counts.write(&mut bytes, 7, Shingle::words(2), 0).unwrap();
        bytes
    }

    fn read(bytes: &[u8]) -> Result<DfTable, DfError> {
        DfTable::read(bytes, Shingle::words(2), 0)
    }

    #[test]
    fn what_is_common_counts_less() {
        let documents: Vec<Vec<u64>> = (0..64)
            .map(|n| vec![mix(1), mix(2 + n % 2), mix(9 + n)])
            .collect();
        let documents: Vec<&[u64]> = documents.iter().map(Vec::as_slice).collect();
        let table = read(&table(&documents)).unwrap();
        let weights = [mix(1), mix(2), mix(9), mix(1_000)].map(|it| table.weight(it));
        assert_eq!(weights, [1, 2, 7, 7]);
        assert_eq!(
            Weights::TfIdf(Arc::new(table)).name()[..17],
            *"tfidf by table 7 "
        );
    }

    #[test]
    fn each_way_to_weigh_makes_its_majority() {
        let documents: Vec<&[u64]> = vec![&[0b01]; 8];
        let tfidf = Weights::TfIdf(Arc::new(read(&table(&documents)).unwrap()));
        let check = |shingles: &[u64], expected: [u64; 3]| {
            let found = [&Weights::Count, &Weights::Set, &tfidf].map(|it| it.simhash(shingles));
            assert_eq!(found, expected, "{shingles:?}");
        };
        check(&[0b01, 0b01, 0b10], [0b01, 0, 0b10]);
        // Four shingles of weight 1 tie with one of weight 4.
        check(&[0b01, 0b01, 0b01, 0b01, 0b10], [0b01, 0, 0]);
        check(&[], [0; 3]);
    }

    #[test]
    fn a_table_that_is_none_or_not_this_one_is_refused() {
        let bytes = table(&[&[1, 2], &[1, 2], &[2]]);
        assert!(read(&bytes).is_ok());
        let last = bytes.len() - 1;
        let mut damaged = bytes.clone();
        damaged[last] ^= 1;
        assert!(matches!(read(&damaged), Err(DfError::Damaged)));
        assert!(matches!(read(&bytes[..last]), Err(DfError::Damaged)));
        assert!(matches!(read(b"{}\n"), Err(DfError::NoTable)));
        let other = DfTable::read(&bytes[..], Shingle::words(3), 0);
        assert!(matches!(other, Err(DfError::Other)));
        let other = DfTable::read(&bytes[..], Shingle::words(2), 1);
        assert!(matches!(other, Err(DfError::Other)));
    }
}
