//! An archive that keeps its records in memory: used in tests, as the model that the WARC archive
//! is compared with. Nothing outlives the process.

use super::{Archive, Error, Location, Record, Result, Tail};

/// An archive of unencoded records. Everything is in segment 0, and lengths are block lengths plus
/// one, so that empty records have distinct locations.
#[derive(Debug, Default)]
pub struct MemoryArchive {
    records: Vec<(Location, Record)>,
}

impl MemoryArchive {
    /// Creates an empty archive.
    pub fn new() -> Self {
        Self::default()
    }

    /// Iterates over the records in the order in which they were appended.
    pub fn records(&self) -> impl Iterator<Item = &Record> {
        self.records.iter().map(|(_, record)| record)
    }

    /// Returns the record at a location that [`append`](Archive::append) returned.
    pub fn get(&self, location: &Location) -> Option<&Record> {
        let place = |(at, _): &(Location, Record)| at.cmp(location);
        let index = self.records.binary_search_by(place).ok()?;
        self.records.get(index).map(|(_, record)| record)
    }

    fn end(&self) -> u64 {
        self.records
            .last()
            .map_or(0, |(location, _)| location.offset + location.length)
    }
}

impl Archive for MemoryArchive {
    fn append(&mut self, records: &[Record]) -> Result<Vec<Location>> {
        let mut locations = Vec::with_capacity(records.len());
        for record in records {
            let location = Location {
                segment: 0,
                offset: self.end(),
                length: record.block_length() + 1,
            };
            self.records.push((location, record.clone()));
            locations.push(location);
        }
        Ok(locations)
    }

    fn sync(&mut self) -> Result<Tail> {
        Ok(Tail {
            segment: 0,
            offset: self.end(),
        })
    }

    fn rewind(&mut self, tail: &Tail) -> Result<()> {
        if tail.segment > 0 || tail.offset > self.end() {
            return Err(Error::TailBeyondEnd {
                path: "(memory)".into(),
                acknowledged: tail.offset,
                found: self.end(),
            });
        }
        self.records
            .retain(|(location, _)| location.offset < tail.offset);
        Ok(())
    }
}
