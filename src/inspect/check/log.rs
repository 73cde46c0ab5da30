//! The fetch log: its lines can be read, up to the end that the store acknowledges.

use std::fs::File;
use std::io::{self, BufRead as _, BufReader, Read as _};
use std::path::Path;

use super::{PartChecked, Subject, within};
use crate::journal::{FORGOTTEN_LINE, LogLine, current_path, full_path};

/// Maximum length of a line, in bytes.
const MAX_LINE: u64 = 4 << 20;

/// Checks all files of the log.
pub(super) fn check(subject: &Subject<'_>) -> PartChecked {
    let mut part = PartChecked::new("log", "lines");
    let (log, end) = (subject.data.join("log"), subject.disk.log);
    for number in 0..end.rotated {
        let is_newest = number + 1 == end.rotated;
        file(
            subject,
            &full_path(&log, number),
            None,
            !is_newest,
            &mut part,
        );
    }
    if end.bytes > 0 {
        // A kill may come between the rotation of the file and the commit that acknowledges it.
        let full = full_path(&log, end.rotated);
        let last = match full.exists() {
            true => full,
            false => current_path(&log),
        };
        file(subject, &last, Some(end.bytes), false, &mut part);
    }
    part.advise(
        "nothing for the crawl, which does not read the log; `gleaner pages` lacks these lines",
    )
}

/// Checks a file, up to `end`.
fn file(
    subject: &Subject<'_>,
    path: &Path,
    end: Option<u64>,
    may_be_missing: bool,
    part: &mut PartChecked,
) {
    let shown = within(subject.data, path);
    let shown = shown.display();
    match read(path, end, part) {
        Ok(()) => {}
        Err(error) if error.kind() == io::ErrorKind::NotFound && may_be_missing => {
            part.note(format!("{shown} is not there; was it moved away?"));
        }
        Err(error) => part.damage(format!("{shown}: {error}")),
    }
}

fn read(path: &Path, end: Option<u64>, part: &mut PartChecked) -> io::Result<()> {
    let file = File::open(path)?;
    let length = file.metadata()?.len();
    let end = end.unwrap_or(length);
    let mut lines = BufReader::new(file.take(end));
    let (mut line, mut at) = (Vec::new(), 0);
    let wrong = |at: u64, why: &str| {
        let text = format!("the line at byte {at} {why}");
        io::Error::new(io::ErrorKind::InvalidData, text)
    };
    loop {
        line.clear();
        let read = (&mut lines).take(MAX_LINE).read_until(b'\n', &mut line)?;
        if read == 0 {
            break;
        }
        part.read += 1;
        if line.last() != Some(&b'\n') {
            return Err(wrong(at, "does not end"));
        }
        let is_forgotten = line.starts_with(FORGOTTEN_LINE);
        if !is_forgotten && serde_json::from_slice::<LogLine>(&line).is_err() {
            part.damage(wrong(at, &format!("of {} cannot be read", path.display())));
        }
        at += read as u64;
    }
    if length < end {
        let text = format!("it has {length} bytes, and {end} are acknowledged");
        return Err(io::Error::new(io::ErrorKind::InvalidData, text));
    }
    Ok(())
}
