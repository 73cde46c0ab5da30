//! The record that opens a file: which software wrote it, by which settings, for whom.

use std::path::Path;

use jiff::Timestamp;

use super::id::{Digest, RecordId};
use super::record::Record;

/// Creates the record that opens the file `name` of a directory. `software`, `format` and
/// `conformsTo` are added to the fields that are given if they are missing.
pub(super) fn warcinfo(name: &str, directory: &Path, given: &[(String, String)]) -> Record {
    let date = Timestamp::now();
    let defaults = [
        (
            "software",
            concat!(env!("CARGO_PKG_NAME"), "/", env!("CARGO_PKG_VERSION")),
        ),
        ("format", "WARC File Format 1.1"),
        (
            "conformsTo",
            "https://iipc.github.io/warc-specifications/specifications/warc-format/warc-1.1/",
        ),
    ];
    let missing = |name: &str| !given.iter().any(|(n, _)| n.eq_ignore_ascii_case(name));
    let fields: Vec<(&str, &str)> = defaults
        .into_iter()
        .filter(|(name, _)| missing(name))
        .chain(given.iter().map(|(n, v)| (n.as_str(), v.as_str())))
        .collect();
    // Two archives of the same name differ in directory, process or nanosecond.
    let seed = format!(
        "{name}\n{}\n{}\n{}\n{given:?}",
        date.as_nanosecond(),
        std::process::id(),
        directory.display(),
    );
    let id = RecordId::from_digest(&Digest::of(seed.as_bytes()));
    Record::warcinfo(id, date, name, &fields)
}

/// Returns the record that opens a file which is no archive's, as a gzip member.
pub fn warcinfo_member(name: &str, given: &[(String, String)]) -> Vec<u8> {
    warcinfo(name, Path::new(""), given).to_member()
}
