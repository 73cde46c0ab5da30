//! Whether WARC files are sound: framing, digests, heads against bodies, and what refers to what.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use serde::Serialize;
use xxhash_rust::xxh3::xxh3_64;

use super::{each_record, uri};
use crate::archive::{Digest, DigestAlgorithm, ReadRecord};
use crate::corpus::Error;
use crate::fetch::{self, DecodeBounds, Exchange};

/// Bounds of a payload that is decoded; what is larger is not checked further.
const BOUNDS: DecodeBounds = DecodeBounds {
    max_bytes: 256 << 20,
    max_codings: 4,
};

/// Something that is wrong.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Fault {
    /// The file.
    pub file: String,
    /// Offset of the record.
    pub offset: u64,
    /// URL of the record, if it has one.
    pub url: Option<String>,
    /// What is wrong.
    pub fault: String,
}

/// What was read.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Verified {
    /// Number of records.
    pub records: u64,
    /// Number of faults.
    pub faults: u64,
    /// Number of digests that are of a kind that is not known here.
    pub unchecked: u64,
}

/// Checks files, and passes what is wrong to `tell`. Records may refer to those of `with`, which
/// are not checked.
pub fn verify(
    files: &[PathBuf],
    with: &[PathBuf],
    mut tell: impl FnMut(Fault) -> Result<(), Error>,
) -> Result<Verified, Error> {
    let mut run = Run::default();
    let mut note = |_: &Path, record: &ReadRecord| {
        run.known.add(record);
        Ok(())
    };
    each_record(with, &mut note, |_, _| Ok(()))?;
    let mut faults = 0;
    let mut damages: Vec<Fault> = Vec::new();
    for file in files {
        let records = |_: &Path, record: &ReadRecord| {
            for fault in run.record(file, record) {
                faults += 1;
                tell(fault)?;
            }
            Ok(())
        };
        each_record(std::slice::from_ref(file), records, |_, error| {
            damages.push(Fault {
                file: file.display().to_string(),
                offset: error.offset().unwrap_or_default(),
                url: None,
                fault: error.to_string(),
            });
            Ok(())
        })?;
        for fault in damages.drain(..) {
            faults += 1;
            tell(fault)?;
        }
    }
    for fault in run.missing() {
        faults += 1;
        tell(fault)?;
    }
    Ok(Verified {
        faults,
        ..run.verified
    })
}

/// What records may refer to.
#[derive(Debug, Default)]
struct Known {
    ids: HashSet<u64>,
    /// URL and date.
    captures: HashSet<u64>,
    /// Payload digests of responses, as written.
    payloads: HashSet<u64>,
}

impl Known {
    /// Adds a record.
    fn add(&mut self, record: &ReadRecord) {
        if let (Some(url), Some(date)) =
            (uri(record, "WARC-Target-URI"), record.header("WARC-Date"))
            && matches!(record.header("WARC-Type"), Some("response" | "resource"))
        {
            self.captures.insert(capture(url, date));
            let payload = record.header("WARC-Payload-Digest");
            self.payloads
                .extend(payload.map(|it| xxh3_64(it.as_bytes())));
        }
        let id = uri(record, "WARC-Record-ID");
        self.ids.extend(id.map(|id| xxh3_64(id.as_bytes())));
    }
}

fn capture(url: &str, date: &str) -> u64 {
    // A date may have a fraction in one place and none in the other.
    let seconds = date.split(['.', 'Z']).next().unwrap_or(date);
    xxh3_64(format!("{url}\n{seconds}").as_bytes())
}

/// A reference that is looked up when all records are known.
#[derive(Debug)]
struct Reference {
    place: Fault,
    /// Any of these will do.
    id: Option<u64>,
    capture: Option<u64>,
    payload: Option<u64>,
}

#[derive(Debug, Default)]
struct Run {
    known: Known,
    /// Ids of the records that are checked. Those they may refer to can be the same records.
    ids: HashSet<u64>,
    references: Vec<Reference>,
    verified: Verified,
}

impl Run {
    /// Checks a record by itself, and remembers what it refers to.
    fn record(&mut self, file: &Path, record: &ReadRecord) -> Vec<Fault> {
        self.verified.records += 1;
        let fault = |what: String| Fault {
            file: file.display().to_string(),
            offset: record.offset,
            url: uri(record, "WARC-Target-URI").map(str::to_owned),
            fault: what,
        };
        let mut faults: Vec<String> = Vec::new();
        for name in ["WARC-Type", "WARC-Record-ID", "WARC-Date"] {
            if record.header(name).is_none() {
                faults.push(format!("it has no {name}"));
            }
        }
        let date = record.header("WARC-Date");
        if let Some(date) = date.filter(|it| it.parse::<Timestamp>().is_err()) {
            faults.push(format!("its WARC-Date is no date: {date}"));
        }
        if record.length == 0 {
            faults.push("it shares its gzip member or zstd frame with other records, so that it cannot be read from its offset".to_owned());
        }
        self.known.add(record);
        let id = uri(record, "WARC-Record-ID").map(|id| xxh3_64(id.as_bytes()));
        if id.is_some_and(|id| !self.ids.insert(id)) {
            faults.push("another record has its WARC-Record-ID".to_owned());
        }
        self.digests(record, &mut faults);
        if record.header("WARC-Type") == Some("response") {
            http(record, &mut faults);
        }
        self.refer(record, &fault);
        faults.into_iter().map(fault).collect()
    }

    fn digests(&mut self, record: &ReadRecord, faults: &mut Vec<String>) {
        let of_block = (Some(&record.block[..]), "WARC-Block-Digest");
        // A revisit record names the digest of a payload that is elsewhere.
        let payload = match record.header("WARC-Type") {
            Some("revisit") => None,
            _ => match record.http_parts() {
                Some((_, payload)) => Some(payload),
                None => Some(&record.block[..]),
            },
        };
        for (bytes, name) in [of_block, (payload, "WARC-Payload-Digest")] {
            let (Some(bytes), Some(named)) = (bytes, record.header(name)) else {
                continue;
            };
            match matches_digest(named, bytes) {
                Some(true) => {}
                Some(false) => faults.push(format!("its {name} is another: {named}")),
                None => self.verified.unchecked += 1,
            }
        }
    }

    /// Remembers what a record refers to.
    fn refer(&mut self, record: &ReadRecord, fault: &impl Fn(String) -> Fault) {
        let id = |name| uri(record, name).map(|id| xxh3_64(id.as_bytes()));
        let kind = record.header("WARC-Type").unwrap_or_default();
        if kind == "revisit" {
            let at = uri(record, "WARC-Refers-To-Target-URI")
                .zip(record.header("WARC-Refers-To-Date"))
                .map(|(url, date)| capture(url, date));
            let payload = record.header("WARC-Payload-Digest");
            let reference = Reference {
                place: fault("what it is a revisit of is in none of the files".to_owned()),
                id: id("WARC-Refers-To"),
                capture: at,
                payload: payload.map(|it| xxh3_64(it.as_bytes())),
            };
            // A 304 of which nothing is stored refers to nothing.
            let refers = reference.id.or(at).or(reference.payload).is_some();
            self.references.extend(refers.then_some(reference));
        } else if let Some(id) = id("WARC-Concurrent-To") {
            self.references.push(Reference {
                place: fault(
                    "the record that it was captured with is in none of the files".to_owned(),
                ),
                id: Some(id),
                capture: None,
                payload: None,
            });
        }
    }

    /// Returns what refers to nothing that is there.
    fn missing(&self) -> impl Iterator<Item = Fault> {
        let known = &self.known;
        let is_known = |it: &&Reference| {
            it.id.is_some_and(|id| known.ids.contains(&id))
                || it.capture.is_some_and(|at| known.captures.contains(&at))
                || it.payload.is_some_and(|of| known.payloads.contains(&of))
        };
        let missing = self.references.iter().filter(move |it| !is_known(it));
        missing.map(|it| it.place.clone())
    }
}

/// Tells whether bytes have a digest; `None` if it is of a kind that is not known here.
fn matches_digest(named: &str, bytes: &[u8]) -> Option<bool> {
    let (algorithm, value) = named.split_once(':')?;
    let is = |hex: String, base32: &str| {
        value.eq_ignore_ascii_case(&hex) || value.trim_end_matches('=').eq_ignore_ascii_case(base32)
    };
    match algorithm.to_ascii_lowercase().replace('-', "").as_str() {
        "sha1" => {
            let own = DigestAlgorithm::Sha1.digest([bytes]);
            let base32 = own.strip_prefix("sha1:")?;
            let raw = data_encoding::BASE32.decode(base32.as_bytes()).ok()?;
            Some(is(hex::encode(raw), base32))
        }
        "sha256" => {
            let raw = Digest::of(bytes);
            let base32 = data_encoding::BASE32_NOPAD.encode(raw.as_bytes());
            Some(is(hex::encode(raw.as_bytes()), &base32))
        }
        _ => None,
    }
}

/// Compares the head of a response with its body.
fn http(record: &ReadRecord, faults: &mut Vec<String>) {
    let is_http = |it: &str| it.starts_with("application/http");
    if !record.header("Content-Type").is_some_and(is_http) {
        return;
    }
    let parts = record.http_parts();
    let read = parts.and_then(|(head, payload)| {
        let read = Exchange::from_archive(head, payload, Timestamp::UNIX_EPOCH, None)?;
        Some((read, payload))
    });
    let Some((exchange, payload)) = read else {
        faults.push("its block is no HTTP response".to_owned());
        return;
    };
    let lengths: HashSet<&str> = exchange.header_values("content-length").collect();
    if lengths.len() > 1 {
        faults.push("its head has two values of Content-Length".to_owned());
    }
    if record.header("WARC-Truncated").is_some() || payload.is_empty() {
        return;
    }
    let is_chunked = exchange.header("transfer-encoding").is_some();
    let length = exchange.header("content-length");
    let length: Option<u64> = length.and_then(|it| it.trim().parse().ok());
    if let (Some(length), 1, false) = (length, lengths.len(), is_chunked)
        && length != payload.len() as u64
    {
        faults.push(format!(
            "its body has {} bytes, and its head promises {length}",
            payload.len()
        ));
    }
    if !is_chunked && fetch::is_chunked(payload) {
        faults.push("its body is in chunks, and its head does not say so".to_owned());
        return;
    }
    let codings = exchange.header_values("content-encoding");
    let decoded = fetch::decode(codings.clone(), &exchange.body, BOUNDS);
    let coding = codings.collect::<Vec<_>>().join(", ");
    let is_large = decoded.bytes.len() >= BOUNDS.max_bytes;
    let is_another = matches!(decoded.note, Some(fetch::BROKEN_CODING | fetch::NOT_CODED));
    if !coding.is_empty() && is_another && !is_large {
        faults.push(format!("its body is not coded as its head says ({coding})"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digests_are_read_in_every_spelling() {
        let check = |named: &str, expected| {
            assert_eq!(matches_digest(named, b"hello"), expected, "{named}");
        };
        // Made with `openssl`, `base32` and `xxd`.
        check("sha1:VL2MMHO4YXUKFWV63YHTWSBM3GXKSQ2N", Some(true));
        check("sha1:vl2mmho4yxukfwv63yhtwsbm3gxksq2n", Some(true));
        check("SHA-1:aaf4c61ddcc5e8a2dabede0f3b482cd9aea9434d", Some(true));
        check("sha1:BL2MMHO4YXUKFWV63YHTWSBM3GXKSQ2N", Some(false));
        check(
            "sha256:2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824",
            Some(true),
        );
        check(
            "sha256:FTZE3OS7WCRQ4JXIHMVMLOPCTYNRMHS4D6TUEXTTAQZWFE4LTASA====",
            Some(true),
        );
        check("md5:XUFAKM3CX53VBHE2MOQVZXMR", None);
        check("nothing", None);
    }
}
