//! The history of a crawl: its counters and gauges over time, for curves.
//!
//! The observer adds a row a second. Memory holds a row a second of the last 5 minutes, one per ten
//! seconds of the last hour, and one a minute of the last day: 2,100 rows of some 50 values, which
//! is less than 1 MB as a rule and 2.2 MB at most. A row a minute goes to a file (`file.rs`), more
//! often while a run is young, and at its end; what it has of the last day is in memory again after
//! a start.
//!
//! Nothing here is on the way of a commit.

mod figures;
mod file;
mod historian;

#[cfg(test)]
mod tests;

use std::collections::VecDeque;
use std::io;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use jiff::Timestamp;
use serde::ser::SerializeSeq as _;
use serde::{Serialize, Serializer};

use crate::frontier::Moment;
use figures::{LIMITS, MAX_SERIES, Row, SERIES, UNKNOWN};
pub(crate) use historian::Historian;

/// Maximum number of rows of the whole history.
const MAX_ROWS: usize = 1_000;

/// How far back each ring goes, and at which steps.
const RINGS: [(Resolution, usize); 3] = [
    (Resolution::Second, 300),
    (Resolution::TenSeconds, 360),
    (Resolution::Minute, 1_440),
];

/// How far apart the rows of a part of the history are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Resolution {
    /// A second: the last 5 minutes.
    Second,
    /// Ten seconds: the last hour.
    TenSeconds,
    /// A minute: the last day.
    Minute,
    /// Everything since the crawl began, in at most 1,000 rows.
    All,
}

impl Resolution {
    /// Time between two rows in milliseconds; `None` for all.
    fn step(self) -> Option<u64> {
        match self {
            Self::Second => Some(1_000),
            Self::TenSeconds => Some(10_000),
            Self::Minute => Some(60_000),
            Self::All => None,
        }
    }
}

/// There is no such resolution.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is no resolution of the history; there are 1s, 10s, 1m and all")]
pub struct NoResolution(String);

impl FromStr for Resolution {
    type Err = NoResolution;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text {
            "1s" => Ok(Self::Second),
            "10s" => Ok(Self::TenSeconds),
            "1m" => Ok(Self::Minute),
            "all" => Ok(Self::All),
            _ => Err(NoResolution(text.to_owned())),
        }
    }
}

/// A part of the history.
#[derive(Debug, Clone, PartialEq, Serialize, schemars::JsonSchema)]
pub struct Series {
    /// Time between two rows in milliseconds; at least that, if rows are missing.
    pub resolution_ms: u64,
    /// The time here, because the reader's clock may differ (RFC 3339).
    pub server_time: String,
    /// What the values of each row are, in order. Counters are since the crawl began; what is
    /// missing of those by class or admission never occurred.
    pub series: Vec<String>,
    /// What the numbers of the series `limit` mean: the names of limits, each at its number.
    pub limits: Vec<&'static str>,
    /// The rows, by time: each a list of its time in milliseconds since 1970 and the values.
    #[schemars(with = "Vec<Vec<Option<u64>>>")]
    pub rows: Vec<SeriesRow>,
}

/// The values of the series at a moment. In JSON it is one list that begins with the time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SeriesRow {
    /// Time in milliseconds since 1970.
    pub time: u64,
    /// The values, in the order of [`Series::series`]; `None` where they are not known.
    pub values: Vec<Option<u64>>,
}

impl Serialize for SeriesRow {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut list = serializer.serialize_seq(Some(1 + self.values.len()))?;
        list.serialize_element(&self.time)?;
        for value in &self.values {
            list.serialize_element(value)?;
        }
        list.end()
    }
}

/// The history of a crawl. Cheap to clone.
#[derive(Debug, Clone)]
pub struct History {
    kept: Arc<Mutex<Kept>>,
    data: Arc<Path>,
}

#[derive(Debug)]
struct Kept {
    /// Names of the values of rows. Later rows have more of them.
    names: Vec<String>,
    rings: [VecDeque<Row>; RINGS.len()],
}

impl Kept {
    /// Returns the place of the values of a series, if there is room for another series.
    fn place(&mut self, name: &str) -> Option<usize> {
        if let Some(at) = self.names.iter().position(|it| it == name) {
            return Some(at);
        }
        (self.names.len() < MAX_SERIES).then(|| {
            self.names.push(name.to_owned());
            self.names.len() - 1
        })
    }

    /// Makes a row of values with names; what has no name here is left out.
    fn row<'a>(&mut self, time: u64, values: impl Iterator<Item = (&'a str, u64)>) -> Row {
        let mut row = vec![UNKNOWN; self.names.len()];
        for (name, value) in values {
            if let Some(at) = self.place(name) {
                row.resize(self.names.len().max(row.len()), UNKNOWN);
                row[at] = value;
            }
        }
        Row {
            time,
            values: row.into(),
        }
    }

    /// Adds a row to each ring whose next step it is in.
    fn add(&mut self, row: &Row) {
        for (ring, (resolution, length)) in self.rings.iter_mut().zip(RINGS) {
            let step = resolution.step().unwrap_or(1);
            let is_next = |last: &Row| last.time / step < row.time / step;
            if ring.back().is_none_or(is_next) {
                if ring.len() == length {
                    ring.pop_front();
                }
                ring.push_back(row.clone());
            }
        }
    }
}

impl History {
    /// Opens the history of the crawl in a data directory. Reads the file, so it blocks; a file
    /// that cannot be read is no reason not to crawl.
    pub(crate) fn open(data: &Path, now: Moment) -> Self {
        let history = Self {
            kept: Arc::new(Mutex::new(Kept {
                names: SERIES.iter().map(|name| (*name).to_owned()).collect(),
                rings: Default::default(),
            })),
            data: data.into(),
        };
        let path = history.path();
        let result = file::thin(&path, now.0).and_then(|()| history.read_back(now));
        if let Err(error) = result {
            tracing::warn!(%error, path = %path.display(), "cannot read the history of the crawl");
        }
        history
    }

    fn path(&self) -> PathBuf {
        file::path(&self.data)
    }

    fn kept(&self) -> MutexGuard<'_, Kept> {
        // Rows are added whole, so whoever panicked left nothing half done.
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes back into memory what the file has of the last day.
    fn read_back(&self, now: Moment) -> io::Result<()> {
        let mut kept = self.kept();
        let (_, minutes) = RINGS[RINGS.len() - 1];
        let from = now.0.saturating_sub(minutes as u64 * 60_000);
        file::read(&self.path(), &mut |names, row| {
            // Rows that a clock wrote that was ahead would keep others out.
            if (from..=now.0).contains(&row.time) {
                let values = names
                    .iter()
                    .map(String::as_str)
                    .zip(row.values.iter().copied());
                let row = kept.row(row.time, values);
                kept.add(&row);
            }
        })
    }

    /// Adds a row to memory and returns it with the names of its values.
    fn add(&self, time: u64, figures: (Vec<u64>, Vec<(String, u64)>)) -> (Vec<String>, Row) {
        let (values, others) = figures;
        let mut kept = self.kept();
        let named = others.iter().map(|(name, value)| (name.as_str(), *value));
        let row = kept.row(time, SERIES.into_iter().zip(values).chain(named));
        kept.add(&row);
        (kept.names.clone(), row)
    }

    /// Returns a part of the history. All of it is read from its file, so that blocks.
    pub fn read(&self, resolution: Resolution) -> io::Result<Series> {
        let Some(step) = resolution.step() else {
            return whole(&self.data);
        };
        let kept = self.kept();
        let ring = RINGS.iter().position(|(it, _)| *it == resolution);
        let rows = ring.map(|ring| &kept.rings[ring]);
        let rows: Vec<_> = rows.into_iter().flatten().cloned().collect();
        Ok(series(step, kept.names.clone(), rows))
    }
}

/// Reads the whole history of the crawl in a data directory, running or not, in at most 1,000 rows.
pub fn whole(data: &Path) -> io::Result<Series> {
    let mut kept = Kept {
        names: SERIES.iter().map(|name| (*name).to_owned()).collect(),
        rings: Default::default(),
    };
    let mut rows: Vec<Row> = Vec::new();
    // Every second row goes when there are too many, so that memory stays bounded: what is left is
    // evenly spread over rows, and the last row of all is added in the end.
    let (mut stride, mut number, mut last) = (1_u64, 0_u64, None);
    file::read(&file::path(data), &mut |names, row| {
        let values = names
            .iter()
            .map(String::as_str)
            .zip(row.values.iter().copied());
        let row = kept.row(row.time, values);
        if number.is_multiple_of(stride) {
            if rows.len() == 8 * MAX_ROWS {
                let mut at = 0;
                rows.retain(|_| {
                    at += 1;
                    at % 2 == 1
                });
                stride *= 2;
            }
            if number.is_multiple_of(stride) {
                rows.push(row.clone());
            }
        }
        number += 1;
        last = Some(row);
    })?;
    if let Some(last) = last.filter(|last| rows.last() != Some(last)) {
        rows.push(last);
    }
    let rows = spread(rows, MAX_ROWS);
    let (first, end) = (rows.first(), rows.last());
    let long = first
        .zip(end)
        .map_or(0, |(a, b)| b.time.saturating_sub(a.time));
    let step = long / (rows.len().max(2) as u64 - 1);
    Ok(series(step.max(1_000), kept.names, rows))
}

/// Keeps at most so many rows, about evenly spread over time: the first, and the last of each step
/// behind it.
fn spread(mut rows: Vec<Row>, most: usize) -> Vec<Row> {
    // A clock that was set back may have written them out of order.
    rows.sort_by_key(|row| row.time);
    let (Some(first), Some(last)) = (rows.first(), rows.last()) else {
        return rows;
    };
    if rows.len() <= most {
        return rows;
    }
    let first = first.time;
    let step = (last.time - first).div_ceil(most as u64 - 1).max(1);
    let mut kept: Vec<(u64, Row)> = Vec::with_capacity(most);
    for row in rows {
        let number = (row.time - first).div_ceil(step);
        match kept.last_mut() {
            Some((before, last)) if *before == number => *last = row,
            _ => kept.push((number, row)),
        }
    }
    kept.into_iter().map(|(_, row)| row).collect()
}

fn series(resolution_ms: u64, names: Vec<String>, rows: Vec<Row>) -> Series {
    let width = names.len();
    let rows = rows.into_iter().map(|row| {
        let mut values: Vec<_> = row
            .values
            .iter()
            .map(|it| (*it != UNKNOWN).then_some(*it))
            .collect();
        values.resize(width, None);
        SeriesRow {
            time: row.time,
            values,
        }
    });
    Series {
        resolution_ms,
        server_time: format!("{:.3}", Timestamp::now()),
        series: names,
        limits: LIMITS.to_vec(),
        rows: rows.collect(),
    }
}
