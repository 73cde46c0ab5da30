//! What is in WARC files, record by record.

use std::path::PathBuf;

use jiff::Timestamp;
use serde::Serialize;

use super::{each_record, uri};
use crate::archive::{self, ReadRecord};
use crate::corpus::Error;
use crate::fetch::Exchange;

/// A record, as it is listed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Listed {
    /// The file.
    pub file: String,
    /// Offset of the record, or of the gzip member or zstd frame that it is in.
    pub offset: u64,
    /// Length of that, in bytes; 0 if several records are in it, so that none can be read alone.
    pub length: u64,
    /// Type of the record.
    #[serde(rename = "type")]
    pub kind: Option<String>,
    /// Id of the record.
    pub id: Option<String>,
    /// Time of the capture.
    pub date: Option<String>,
    /// URL of the capture.
    pub url: Option<String>,
    /// HTTP status.
    pub status: Option<u16>,
    /// Media type as declared.
    pub mime: Option<String>,
    /// Length of the block, in bytes.
    pub block: u64,
}

/// Passes each record of some files to `take`, and each place where one cannot be read to
/// `damaged`.
pub fn list(
    files: &[PathBuf],
    mut take: impl FnMut(Listed) -> Result<(), Error>,
    mut damaged: impl FnMut(&archive::Error) -> Result<(), Error>,
) -> Result<(), Error> {
    each_record(
        files,
        |file, record| take(listed(file.display().to_string(), record)),
        |_, error| damaged(error),
    )
}

fn listed(file: String, record: &ReadRecord) -> Listed {
    let own = |name| record.header(name).map(str::to_owned);
    let kind = own("WARC-Type");
    let http = record
        .http_parts()
        .filter(|_| kind.as_deref() != Some("request"));
    let http =
        http.and_then(|(head, _)| Exchange::from_archive(head, b"", Timestamp::UNIX_EPOCH, None));
    Listed {
        file,
        offset: record.offset,
        length: record.length,
        id: uri(record, "WARC-Record-ID").map(str::to_owned),
        date: own("WARC-Date"),
        url: uri(record, "WARC-Target-URI").map(str::to_owned),
        status: http.as_ref().map(|it| it.status),
        mime: match &http {
            Some(http) => http.mime(),
            None => own("Content-Type"),
        },
        kind,
        block: record.block.len() as u64,
    }
}
