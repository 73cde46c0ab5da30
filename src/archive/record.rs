//! WARC/1.1 records as values: which kinds there are, which header fields each of them has, and how
//! untrusted text becomes a header value that cannot break out of its line.
//!
//! The engine makes records from a finished visit; `encode.rs` turns them into bytes. Nothing here
//! does I/O or reads a clock: ids follow from the content, so a visit always makes the same
//! records.

use std::fmt;
use std::net::IpAddr;

use bytes::Bytes;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use strum::IntoStaticStr;

use super::id::{Digest, DigestAlgorithm, RecordId};

/// The revisit profile of WARC/1.1, section 6.7.2: same payload, compared by digest.
const IDENTICAL_PAYLOAD: &str = "http://netpreserve.org/warc/1.1/revisit/identical-payload-digest";

/// The revisit profile of WARC/1.1, section 6.7.3: the server answered 304.
const NOT_MODIFIED: &str = "http://netpreserve.org/warc/1.1/revisit/server-not-modified";

/// The field with the digest of a payload.
const PAYLOAD_DIGEST: &str = "WARC-Payload-Digest";

/// Maximum length of a URI in a header, in bytes after escaping; longer ones are cut. Crawled URLs
/// are far shorter. A record names at most two URIs, which keeps every header that is written well
/// within the limits of `reader.rs`.
const MAX_URI_BYTES: usize = 64 * 1024;

/// Maximum length of a value in a warcinfo or metadata block, and of a protocol name, in bytes.
const MAX_VALUE_BYTES: usize = 64 * 1024;

/// A record, ready to be appended. Its block is `head` followed by `payload`; the payload is
/// shared, not copied.
#[derive(Debug, Clone)]
pub struct Record {
    kind: RecordKind,
    id: RecordId,
    date: Timestamp,
    target: Option<String>,
    /// Fields that only some kinds have, in the order in which they are written.
    fields: Vec<(&'static str, String)>,
    content_type: &'static str,
    head: Vec<u8>,
    payload: Bytes,
}

/// What the records of one visit have in common.
#[derive(Debug, Clone, Copy)]
pub struct Capture<'a> {
    /// The URI that was requested.
    pub target: &'a str,
    /// Time at which the capture began; the same in all records of the visit (WARC/1.1, section
    /// 5.4).
    pub date: Timestamp,
    /// Address of the server that the crawler was connected to.
    pub ip: Option<IpAddr>,
    /// Protocols in use, higher layers first, as named by the WARC-Protocol extension: `http/1.1`,
    /// `h2`, `tls/1.3`. Empty if unknown.
    pub protocols: &'a [&'a str],
}

/// The archived record that a revisit record refers to, as it was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Original {
    /// The record's id, if it is a UUID.
    pub record: Option<RecordId>,
    /// The record's target URI.
    pub target_uri: String,
    /// The record's date, as written.
    pub date: String,
}

impl Original {
    /// Describes a record that gleaner wrote.
    pub fn new(record: RecordId, target_uri: impl Into<String>, date: Timestamp) -> Self {
        Self {
            record: Some(record),
            target_uri: target_uri.into(),
            date: date_value(date),
        }
    }
}

/// How a metadata record is related to another record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Relation {
    /// It was made during the same visit.
    ConcurrentTo(RecordId),
    /// It describes the other record, at another time.
    RefersTo(RecordId),
}

/// Why a payload is incomplete (WARC/1.1, section 5.13).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, IntoStaticStr)]
#[strum(serialize_all = "kebab-case")]
pub enum Truncation {
    /// The configured maximum length was exceeded.
    Length,
    /// The configured maximum time was exceeded.
    Time,
    /// The connection broke.
    Disconnect,
    /// Another reason, or an unknown one.
    Unspecified,
}

/// The kinds of records that gleaner writes (WARC/1.1, chapter 6).
#[derive(
    Debug,
    Clone,
    Copy,
    PartialEq,
    Eq,
    Hash,
    Serialize,
    Deserialize,
    IntoStaticStr,
    schemars::JsonSchema,
)]
#[serde(rename_all = "lowercase")]
#[strum(serialize_all = "kebab-case")]
pub enum RecordKind {
    /// Describes the segment that it opens.
    Warcinfo,
    /// The request as sent.
    Request,
    /// The response as received.
    Response,
    /// A response without its payload, which the archive has already.
    Revisit,
    /// What the crawler has to say about a visit.
    Metadata,
    /// The main text of a page.
    Conversion,
}

impl Record {
    /// Creates a response record. `head` is the status line and the header lines with the empty
    /// line that ends them (added if missing). `payload` is the body as it is to be kept, with any
    /// transfer coding removed, and `payload_digest` the digest of exactly these bytes.
    pub fn response(
        capture: &Capture<'_>,
        head: Vec<u8>,
        payload: Bytes,
        payload_digest: Digest,
        truncated: Option<Truncation>,
    ) -> Record {
        let mut fields = captured(capture);
        fields.push((PAYLOAD_DIGEST, payload_digest.to_string()));
        if let Some(reason) = truncated {
            fields.push(("WARC-Truncated", reason.as_str().to_owned()));
        }
        let head = complete_head(head);
        Record {
            id: identify(
                RecordKind::Response,
                capture,
                &[&head, payload_digest.as_bytes()],
            ),
            payload,
            ..Record::about(
                RecordKind::Response,
                capture,
                fields,
                "application/http;msgtype=response",
                head,
            )
        }
    }

    /// Creates the record of the request that led to the record `concurrent_to`.
    pub fn request(capture: &Capture<'_>, head: Vec<u8>, concurrent_to: RecordId) -> Record {
        let mut fields = captured(capture);
        fields.push(("WARC-Concurrent-To", concurrent_to.to_string()));
        Record::about(
            RecordKind::Request,
            capture,
            fields,
            "application/http;msgtype=request",
            complete_head(head),
        )
    }

    /// Creates a revisit record for a response whose payload is byte for byte that of `refers_to`:
    /// the headers of this response are kept, its payload is not (WARC/1.1, section 6.7.2, which
    /// also asks for the truncation mark). An empty `head` makes a record without a block.
    /// `payload_digest` is a [`Digest`], or whatever digest the original names.
    pub fn revisit(
        capture: &Capture<'_>,
        head: Vec<u8>,
        payload_digest: impl fmt::Display,
        refers_to: &Original,
    ) -> Record {
        let mut fields = captured(capture);
        let digest = text_value(&payload_digest.to_string());
        fields.extend([
            ("WARC-Profile", IDENTICAL_PAYLOAD.to_owned()),
            (PAYLOAD_DIGEST, digest),
        ]);
        fields.extend(references(refers_to));
        fields.push(("WARC-Truncated", Truncation::Length.as_str().to_owned()));
        Record::of_revisit(capture, fields, head)
    }

    /// Creates a revisit record for a 304 response (WARC/1.1, section 6.7.3): a reference to the
    /// response that is still valid with that one's payload digest, as far as they are known, or
    /// else its headers.
    ///
    /// Beside a reference it has no block: pywb and `ReplayWeb.page` take the head of a revisit, if
    /// it has one, for that of the page, and a 304 shows nothing.
    pub fn not_modified(
        capture: &Capture<'_>,
        head: Vec<u8>,
        refers_to: Option<(Original, Option<Digest>)>,
    ) -> Record {
        let mut fields = captured(capture);
        fields.push(("WARC-Profile", NOT_MODIFIED.to_owned()));
        let Some((original, digest)) = refers_to else {
            return Record::of_revisit(capture, fields, head);
        };
        fields.extend(digest.map(|digest| (PAYLOAD_DIGEST, digest.to_string())));
        fields.extend(references(&original));
        Record::of_revisit(capture, fields, Vec::new())
    }

    /// Creates a metadata record from `fields`, which become an `application/warc-fields` block.
    /// Characters that a name or a value must not contain are replaced.
    pub fn metadata(
        capture: &Capture<'_>,
        relation: Option<Relation>,
        fields: &[(&str, &str)],
    ) -> Record {
        let mut own = captured(capture);
        match relation {
            Some(Relation::ConcurrentTo(id)) => own.push(("WARC-Concurrent-To", id.to_string())),
            Some(Relation::RefersTo(id)) => own.push(("WARC-Refers-To", id.to_string())),
            None => {}
        }
        Record::about(
            RecordKind::Metadata,
            capture,
            own,
            "application/warc-fields",
            warc_fields(fields),
        )
    }

    /// Creates a conversion record with the main text of a page, derived from the record
    /// `refers_to`. Of the capture, only target and date are written, because section 5 of the
    /// standard allows no more here.
    pub fn conversion(capture: &Capture<'_>, refers_to: Option<RecordId>, text: &str) -> Record {
        let fields = refers_to
            .map(|id| ("WARC-Refers-To", id.to_string()))
            .into_iter()
            .collect();
        Record {
            id: identify(RecordKind::Conversion, capture, &[text.as_bytes()]),
            payload: Bytes::copy_from_slice(text.as_bytes()),
            ..Record::about(
                RecordKind::Conversion,
                capture,
                fields,
                "text/plain; charset=utf-8",
                Vec::new(),
            )
        }
    }

    /// Creates a record with a pack of bodies: metadata that accompanies the visits that its index
    /// names. It has no target of its own.
    pub fn of_pack(date: Timestamp, pack: Vec<u8>) -> Record {
        let capture = Capture {
            target: "",
            date,
            ip: None,
            protocols: &[],
        };
        Record {
            target: None,
            ..Record::about(
                RecordKind::Metadata,
                &capture,
                Vec::new(),
                "application/vnd.gleaner.bodies",
                pack,
            )
        }
    }

    /// Creates the record that opens the segment `filename`. WARC archives write it themselves.
    pub fn warcinfo(
        id: RecordId,
        date: Timestamp,
        filename: &str,
        fields: &[(&str, &str)],
    ) -> Record {
        Record {
            kind: RecordKind::Warcinfo,
            id,
            date,
            target: None,
            fields: vec![("WARC-Filename", text_value(filename))],
            content_type: "application/warc-fields",
            head: warc_fields(fields),
            payload: Bytes::new(),
        }
    }

    /// Returns the record with the id of the record that it replaces, so that references to that
    /// one lead here.
    #[must_use]
    pub fn in_place_of(mut self, id: RecordId) -> Record {
        self.id = id;
        self
    }

    /// Returns the kind of the record.
    pub fn kind(&self) -> RecordKind {
        self.kind
    }

    /// Returns the record's id, by which other records refer to it. It follows from kind, target,
    /// date and content: two records share an id only if they are the same observation at the same
    /// moment.
    pub fn id(&self) -> RecordId {
        self.id
    }

    /// Returns the time at which the capture began.
    pub fn date(&self) -> Timestamp {
        self.date
    }

    /// Returns the target URI as written; `None` for a warcinfo record.
    pub fn target(&self) -> Option<&str> {
        self.target.as_deref()
    }

    /// Returns `true` if both are the same record, with the same payload in memory.
    pub(super) fn is(&self, other: &Self) -> bool {
        self.id == other.id
            && (self.kind, self.date, &self.target) == (other.kind, other.date, &other.target)
            && (&self.fields, self.content_type) == (&other.fields, other.content_type)
            && self.head == other.head
            && self.payload.as_ptr_range() == other.payload.as_ptr_range()
    }

    /// Returns the two parts of the block, in order.
    pub fn block(&self) -> [&[u8]; 2] {
        [&self.head, &self.payload]
    }

    /// Returns the first part of the block: the head of a message, where the record has one.
    pub fn head(&self) -> &[u8] {
        &self.head
    }

    /// Returns the second part of the block.
    pub fn payload(&self) -> &Bytes {
        &self.payload
    }

    /// Returns the length of the block, in bytes.
    pub fn block_length(&self) -> u64 {
        (self.head.len() + self.payload.len()) as u64
    }

    /// Returns the digest of the payload as headers with such digests have it.
    pub(super) fn payload_digest(&self, algorithm: DigestAlgorithm) -> Option<String> {
        let named = self.fields.iter().find(|(name, _)| *name == PAYLOAD_DIGEST);
        let (_, named) = named?;
        Some(match (algorithm, self.kind) {
            (DigestAlgorithm::Sha1, RecordKind::Response) => algorithm.digest([&self.payload[..]]),
            _ => named.clone(),
        })
    }

    /// Adds what the payload of a response is by its first bytes, as a media type (WARC/1.1,
    /// section 5.14).
    #[must_use]
    pub fn identified_as(mut self, media_type: Option<&str>) -> Record {
        let field = media_type.map(|it| ("WARC-Identified-Payload-Type", text_value(it)));
        self.fields.extend(field);
        self
    }

    /// Adds the language of the block's text, by its code of ISO 639-3. Not of the standard: Common
    /// Crawl's files of texts have this field.
    #[must_use]
    pub fn in_language(mut self, language: Option<&str>) -> Record {
        let field = language.map(|it| ("WARC-Identified-Content-Language", text_value(it)));
        self.fields.extend(field);
        self
    }

    /// Returns everything before the block, as it is written: version line, named fields and empty
    /// line. `warcinfo` is the record that opens the segment. Takes one pass over the block, to
    /// compute its digest.
    pub fn header(&self, warcinfo: Option<RecordId>) -> String {
        self.header_by(warcinfo, DigestAlgorithm::Sha256)
    }

    /// The same with digests of this kind.
    pub fn header_by(&self, warcinfo: Option<RecordId>, algorithm: DigestAlgorithm) -> String {
        use fmt::Write as _;
        let mut text = String::with_capacity(768);
        text.push_str("WARC/1.1\r\n");
        let mut field = |name: &str, value: &dyn fmt::Display| {
            // Writing to a String cannot fail.
            let _ = write!(text, "{name}: {value}\r\n");
        };
        field("WARC-Type", &self.kind.as_str());
        field("WARC-Record-ID", &self.id);
        if let Some(warcinfo) = warcinfo {
            field("WARC-Warcinfo-ID", &warcinfo);
        }
        field("WARC-Date", &date_value(self.date));
        if let Some(target) = &self.target {
            field("WARC-Target-URI", target);
        }
        for (name, value) in &self.fields {
            let is_other = algorithm != DigestAlgorithm::Sha256 && *name == PAYLOAD_DIGEST;
            if is_other && self.kind == RecordKind::Response {
                field(name, &algorithm.digest([&self.payload[..]]));
            } else {
                field(name, value);
            }
        }
        field("WARC-Block-Digest", &algorithm.digest(self.block()));
        if self.block_length() > 0 {
            field("Content-Type", &self.content_type);
        }
        field("Content-Length", &self.block_length());
        text.push_str("\r\n");
        text
    }

    /// Creates a revisit record: the head of a response whose payload is elsewhere.
    fn of_revisit(
        capture: &Capture<'_>,
        fields: Vec<(&'static str, String)>,
        head: Vec<u8>,
    ) -> Record {
        Record::about(
            RecordKind::Revisit,
            capture,
            fields,
            "application/http;msgtype=response",
            complete_head(head),
        )
    }

    /// Creates a record of a visit whose whole content is `head`.
    fn about(
        kind: RecordKind,
        capture: &Capture<'_>,
        fields: Vec<(&'static str, String)>,
        content_type: &'static str,
        head: Vec<u8>,
    ) -> Record {
        Record {
            kind,
            id: identify(kind, capture, &[&head]),
            date: capture.date,
            target: Some(uri_value(capture.target)),
            fields,
            content_type,
            head,
            payload: Bytes::new(),
        }
    }
}

impl RecordKind {
    /// Returns the value of WARC-Type.
    pub fn as_str(self) -> &'static str {
        self.into()
    }
}

impl Truncation {
    /// Returns the value of WARC-Truncated.
    pub fn as_str(self) -> &'static str {
        self.into()
    }
}

/// Derives the id of a record from everything that distinguishes it.
fn identify(kind: RecordKind, capture: &Capture<'_>, content: &[&[u8]]) -> RecordId {
    let date = capture.date.as_nanosecond().to_be_bytes();
    let ip = capture.ip.map(|ip| ip.to_string()).unwrap_or_default();
    let mut parts: Vec<&[u8]> = vec![
        kind.as_str().as_bytes(),
        capture.target.as_bytes(),
        &date,
        ip.as_bytes(),
    ];
    parts.extend(content);
    RecordId::of(&parts)
}

/// Returns the fields that tell how a capture was made.
fn captured(capture: &Capture<'_>) -> Vec<(&'static str, String)> {
    let mut fields = Vec::with_capacity(10);
    if let Some(ip) = capture.ip {
        // An IPv4 address that came through an IPv6 socket is written as a dotted quad.
        fields.push(("WARC-IP-Address", ip.to_canonical().to_string()));
    }
    for protocol in capture.protocols {
        fields.push(("WARC-Protocol", text_value(protocol)));
    }
    fields
}

/// Returns the fields that name the record a revisit record refers to.
fn references(original: &Original) -> impl Iterator<Item = (&'static str, String)> {
    let id = original.record.map(|id| ("WARC-Refers-To", id.to_string()));
    let uri = uri_value(&original.target_uri);
    id.into_iter().chain([
        ("WARC-Refers-To-Target-URI", uri),
        ("WARC-Refers-To-Date", text_value(&original.date)),
    ])
}

/// Formats a date as in all records: to the millisecond, so that a row that keeps milliseconds can
/// give a record's date exactly (WARC-Refers-To-Date must be equal to it).
fn date_value(date: Timestamp) -> String {
    format!("{date:.3}")
}

/// Formats a URI as a header value. Only what no URI contains is percent-encoded: control
/// characters, white space and angle brackets (which some readers take for quotes).
fn uri_value(uri: &str) -> String {
    let mut value = String::with_capacity(uri.len());
    for character in uri.chars() {
        if value.len() + 4 * 3 > MAX_URI_BYTES {
            break;
        }
        if character.is_control() || character.is_whitespace() || matches!(character, '<' | '>') {
            for byte in character.encode_utf8(&mut [0; 4]).bytes() {
                value.push('%');
                value.push_str(&hex::encode_upper([byte]));
            }
        } else {
            value.push(character);
        }
    }
    value
}

/// Formats text as a header value: on one line, without control characters.
fn text_value(text: &str) -> String {
    let mut value = String::with_capacity(text.len());
    for character in text.trim().chars() {
        if value.len() + character.len_utf8() > MAX_VALUE_BYTES {
            break;
        }
        let breaks = character.is_control() || matches!(character, '\u{2028}' | '\u{2029}');
        value.push(if breaks { ' ' } else { character });
    }
    value
}

/// Formats a block of `application/warc-fields`: one `name: value` per line.
fn warc_fields(fields: &[(&str, &str)]) -> Vec<u8> {
    let mut block = String::new();
    for (name, value) in fields {
        let token = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
        block.extend(name.chars().map(|c| if token(c) { c } else { '-' }));
        block.push_str(": ");
        block.push_str(&text_value(value));
        block.push_str("\r\n");
    }
    block.into_bytes()
}

/// Ends a message head with its empty line, without which a reader would take the payload for
/// header lines. An empty head stays empty.
fn complete_head(mut head: Vec<u8>) -> Vec<u8> {
    if head.is_empty() || head.ends_with(b"\r\n\r\n") || head.ends_with(b"\n\n") {
        return head;
    }
    if !head.ends_with(b"\n") {
        head.extend_from_slice(b"\r\n");
    }
    head.extend_from_slice(b"\r\n");
    head
}
