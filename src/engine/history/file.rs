//! `log/history.jsonl`: the history of a crawl beyond a process.
//!
//! A line `{"series":[…]}` names the values of the lines that follow it, which are `[time,value,…]`
//! with `null` for what is not known. Each run begins with such a line, and writes another when a
//! series is new. What is not such a line (the torn end that a kill left) is passed over. Nothing
//! is synced: the file is not needed to go on.
//!
//! Bounded: rows older than a day are thinned to one per minute, older than 30 days to one per
//! hour, older than a year to one per day. A row has some 300 bytes, so that a year of them takes
//! some 16 MB, and each further year 0.1 MB.

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, Read as _, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::Deserialize;

use super::figures::{MAX_NAME, MAX_SERIES, Row, UNKNOWN};
use crate::engine::lines;

/// Name of the file in the directory of the log.
const NAME: &str = "history.jsonl";

/// From which age on how many milliseconds have one row.
const THINNING: [(Duration, u64); 3] = [
    (Duration::from_hours(365 * 24), 24 * 3_600_000),
    (Duration::from_hours(30 * 24), 3_600_000),
    (Duration::from_hours(24), 60_000),
];

/// Returns the path of the file of a data directory.
pub(super) fn path(data: &Path) -> PathBuf {
    data.join("log").join(NAME)
}

/// A line of the file.
#[derive(Deserialize)]
#[serde(untagged)]
enum Line {
    Names { series: Vec<String> },
    Row(Vec<Option<u64>>),
}

/// Reads the file row by row, each with the names of its values. A file that is not there has no
/// rows.
pub(super) fn read(path: &Path, row: &mut dyn FnMut(&[String], Row)) -> io::Result<()> {
    let mut names = Vec::new();
    lines::read(path, &mut |line| match serde_json::from_slice(line) {
        Ok(Line::Names { series }) => {
            let is_bounded = series.len() <= MAX_SERIES;
            let is_good = is_bounded && series.iter().all(|name| name.len() <= MAX_NAME);
            names = if is_good { series } else { Vec::new() };
        }
        Ok(Line::Row(values)) if values.len() == names.len() + 1 => {
            let mut values = values.into_iter();
            if let Some(Some(time)) = values.next() {
                let values = values.map(|value| value.unwrap_or(UNKNOWN)).collect();
                row(&names, Row { time, values });
            }
        }
        _ => {}
    })
}

/// Appends a row, and before it the names of its values if they are not those of the last one. What
/// a kill has left of a line is ended first.
pub(super) fn append(path: &Path, names: Option<&[String]>, row: &Row) -> io::Result<()> {
    let mut file = OpenOptions::new()
        .read(true)
        .append(true)
        .create(true)
        .open(path)?;
    let mut text = Vec::new();
    if names.is_some() && file.seek(SeekFrom::End(0))? > 0 {
        file.seek(SeekFrom::End(-1))?;
        let mut last = [0];
        file.read_exact(&mut last)?;
        if last != *b"\n" {
            text.push(b'\n');
        }
    }
    if let Some(names) = names {
        write_names(&mut text, names)?;
    }
    write_row(&mut text, row)?;
    file.write_all(&text)
}

fn write_names(to: &mut impl io::Write, names: &[String]) -> io::Result<()> {
    let line = serde_json::json!({ "series": names });
    writeln!(to, "{line}")
}

fn write_row(to: &mut impl io::Write, row: &Row) -> io::Result<()> {
    write!(to, "[{}", row.time)?;
    for value in &row.values {
        match *value {
            UNKNOWN => write!(to, ",null")?,
            value => write!(to, ",{value}")?,
        }
    }
    writeln!(to, "]")
}

/// Rewrites the file without the rows that are thinned out by now, if there are enough of them to
/// be worth it. A reader sees either the old file or the new one.
pub(super) fn thin(path: &Path, now: u64) -> io::Result<()> {
    /// The file is rewritten if this part of its rows goes.
    const WORTH: u64 = 8;
    let (mut all, mut kept, mut last) = (0_u64, 0_u64, None);
    read(path, &mut |_, row| {
        let span = span(row.time, now);
        all += 1;
        // Counted by their first rows, of which there are as many as last ones.
        kept += u64::from(last != Some(span));
        last = Some(span);
    })?;
    if (all - kept) * WORTH <= all {
        return Ok(());
    }
    let temporary = path.with_extension("jsonl.new");
    let mut new = BufWriter::new(File::create(&temporary)?);
    let mut written = Vec::new();
    let mut waiting: Option<(Vec<String>, Row)> = None;
    let mut result = Ok(());
    let mut write = |(names, row): (Vec<String>, Row)| -> io::Result<()> {
        if names != written {
            write_names(&mut new, &names)?;
            written = names;
        }
        write_row(&mut new, &row)
    };
    // Of each span the last row is kept: counters are what they were at its end.
    read(path, &mut |names, row| {
        let next = span(row.time, now);
        let before = waiting.replace((names.to_vec(), row));
        if let Some(before) = before
            && span(before.1.time, now) != next
            && result.is_ok()
        {
            result = write(before);
        }
    })?;
    result?;
    waiting.map_or(Ok(()), write)?;
    new.into_inner()
        .map_err(io::IntoInnerError::into_error)?
        .sync_all()?;
    fs::rename(&temporary, path)
}

/// Returns the span of time of which one row is kept: its length and number.
fn span(time: u64, now: u64) -> (u64, u64) {
    let age = now.saturating_sub(time);
    let length = THINNING
        .iter()
        .find(|(from, _)| u128::from(age) > from.as_millis());
    let length = length.map_or(1, |(_, length)| *length);
    (length, time / length)
}
