//! A sound copy of what is left of a WARC file: a gzip member for each record, with digests. What
//! is damaged is left out; nothing is ever written in place.

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, Write as _};
use std::path::Path;

use super::each_record;
use crate::archive::{DigestAlgorithm, ReadRecord};
use crate::corpus::Error;

/// What was written.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Repaired {
    /// Number of records.
    pub records: u64,
    /// Number of those that got digests.
    pub digested: u64,
    /// The places where something could not be read, each in words.
    pub damages: Vec<String>,
}

/// Copies the records of a file that can be read to a new one.
pub fn repair(file: &Path, output: &Path) -> Result<Repaired, Error> {
    let wrong = |action: &str| Error::io(format!("cannot {action} {}", output.display()));
    let created = OpenOptions::new().write(true).create_new(true).open(output);
    let mut written = BufWriter::new(created.map_err(wrong("create"))?);
    let mut repaired = Repaired::default();
    let mut damages = Vec::new();
    let copied = each_record(
        &[file.to_owned()],
        |_, record| {
            let mut record = record.clone();
            repaired.digested += u64::from(add_digests(&mut record));
            repaired.records += 1;
            written
                .write_all(&record.to_member())
                .map_err(wrong("write to"))
        },
        |_, error| {
            damages.push(error.to_string());
            Ok(())
        },
    );
    let done = copied.and_then(|()| finish(written).map_err(wrong("write to")));
    if let Err(error) = done {
        // What is there is no copy. The first error is the one to tell.
        let _ = fs::remove_file(output);
        return Err(error);
    }
    repaired.damages = damages;
    Ok(repaired)
}

fn finish(written: BufWriter<File>) -> io::Result<()> {
    let file = written
        .into_inner()
        .map_err(io::IntoInnerError::into_error)?;
    file.sync_all()
}

/// Adds the digests that a record does not have. Returns `true` if there were any to add.
fn add_digests(record: &mut ReadRecord) -> bool {
    let digest = |bytes: &[u8]| DigestAlgorithm::Sha256.digest([bytes]);
    let mut added = Vec::new();
    if record.header("WARC-Block-Digest").is_none() {
        added.push(("WARC-Block-Digest", digest(&record.block)));
    }
    if record.header("WARC-Type") == Some("response")
        && record.header("WARC-Payload-Digest").is_none()
        && let Some((_, payload)) = record.http_parts()
    {
        added.push(("WARC-Payload-Digest", digest(payload)));
    }
    let any = !added.is_empty();
    let added = added.into_iter();
    record
        .headers
        .extend(added.map(|(name, value)| (name.to_owned(), value)));
    any
}
