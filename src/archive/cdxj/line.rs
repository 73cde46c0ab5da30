//! One line: the key of the URL, the time to the second, and what is needed to serve the record, as
//! JSON in ASCII.

use std::borrow::Cow;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use crate::archive::id::DigestAlgorithm;
use crate::archive::reader::ReadRecord;
use crate::archive::record::{Record, RecordKind};
use crate::url::surt;

/// What the name of a file's index has behind that of the file.
const ENDING: &str = ".cdxj";

/// Returns the path of the index beside a WARC file, by that one's whole name.
pub fn index_path(warc: &Path) -> PathBuf {
    let mut name = warc.as_os_str().to_owned();
    name.push(ENDING);
    PathBuf::from(name)
}

/// What a line says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IndexLine {
    /// URL of the capture.
    pub url: String,
    /// Offset of the record.
    pub offset: u64,
    /// Its length, in bytes.
    pub length: u64,
    /// Name of its file.
    pub filename: String,
}

impl IndexLine {
    /// Reads a line; `None` if it is not whole.
    ///
    /// No writer puts a control character into a line. A power cut does: what it takes out of the
    /// middle of a file reads as zeros, which then stand before the next line's key.
    pub fn parse(line: &str) -> Option<Self> {
        if line.chars().any(char::is_control) {
            return None;
        }
        let mut parts = line.splitn(3, ' ');
        let (_, time) = (parts.next()?, parts.next()?);
        if time.len() != 14 || !time.bytes().all(|digit| digit.is_ascii_digit()) {
            return None;
        }
        let fields: serde_json::Value = serde_json::from_str(parts.next()?).ok()?;
        let number = |name: &str| fields.get(name)?.as_str()?.parse().ok();
        Some(Self {
            url: fields.get("url")?.as_str()?.to_owned(),
            offset: number("offset")?,
            length: number("length")?,
            filename: fields.get("filename")?.as_str()?.to_owned(),
        })
    }
}

/// Returns the line of a record of a file, without a line end; `None` if it is of a kind that is
/// not served, or has no date. `length` is that of the record in the file.
pub fn index_line(record: &ReadRecord, file: &str, length: u64) -> Option<String> {
    let kind = record.header("WARC-Type")?;
    let content_type = record.header("Content-Type");
    let is_served = match kind {
        "response" | "revisit" => true,
        "resource" | "metadata" => content_type != Some("application/warc-fields"),
        _ => false,
    };
    let url = record.header("WARC-Target-URI").filter(|_| is_served)?;
    let url = url
        .strip_prefix('<')
        .and_then(|url| url.strip_suffix('>'))
        .unwrap_or(url);
    let url = url.replace(' ', "%20");
    let head = Head::of(kind, &url, &record.block);
    let digest = match record.header("WARC-Payload-Digest") {
        Some(digest) => Some(digest.to_owned()),
        None if kind == "revisit" => None,
        None => {
            let payload = record.block.get(head.length..).unwrap_or_default();
            Some(DigestAlgorithm::Sha1.digest([payload]))
        }
    };
    let media_type = match kind {
        "resource" | "metadata" => content_type.map(first_word),
        _ => None,
    };
    Some(written(&Told {
        url: &url,
        time: &seconds(record.header("WARC-Date")?)?,
        is_revisit: kind == "revisit",
        media_type,
        head,
        digest: digest.as_deref(),
        length,
        offset: record.offset,
        file,
    }))
}

/// Returns the line of a record that was written with such digests at this place; `None` if it is
/// of a kind that is not served.
pub(super) fn line_of(
    record: &Record,
    algorithm: DigestAlgorithm,
    (offset, length): (u64, u64),
    file: &str,
) -> Option<String> {
    let is_revisit = match record.kind() {
        RecordKind::Response => false,
        RecordKind::Revisit => true,
        _ => return None,
    };
    let url = record.target()?;
    Some(written(&Told {
        url,
        time: &record.date().strftime("%Y%m%d%H%M%S").to_string(),
        is_revisit,
        media_type: None,
        head: Head::of(record.kind().as_str(), url, record.head()),
        digest: record.payload_digest(algorithm).as_deref(),
        length,
        offset,
        file,
    }))
}

/// What a line is made of.
struct Told<'a> {
    url: &'a str,
    time: &'a str,
    is_revisit: bool,
    /// Media type of what is no HTTP message.
    media_type: Option<&'a str>,
    head: Head,
    digest: Option<&'a str>,
    length: u64,
    offset: u64,
    file: &'a str,
}

fn written(told: &Told<'_>) -> String {
    let mut line = surt(told.url);
    line.reserve(told.url.len() + 256);
    // Writing to a string cannot fail.
    let _ = write!(line, " {} {{\"url\": ", told.time);
    push_json(&mut line, told.url);
    let media_type = match told.is_revisit {
        true => Some("warc/revisit"),
        false => told.media_type.or(told.head.media_type.as_deref()),
    };
    let [offset, length] = [told.offset, told.length].map(|it| it.to_string());
    for (name, value) in [
        ("mime", media_type),
        ("status", told.head.status.as_deref()),
        ("digest", told.digest),
        ("length", Some(&*length)),
        ("offset", Some(&*offset)),
        ("filename", Some(told.file)),
    ] {
        if let Some(value) = value {
            let _ = write!(line, ", \"{name}\": ");
            push_json(&mut line, value);
        }
    }
    line.push('}');
    line
}

/// Writes a string of JSON in ASCII.
fn push_json(line: &mut String, text: &str) {
    line.push('"');
    for letter in text.chars() {
        match letter {
            '"' => line.push_str("\\\""),
            '\\' => line.push_str("\\\\"),
            '\n' => line.push_str("\\n"),
            '\r' => line.push_str("\\r"),
            '\t' => line.push_str("\\t"),
            '\u{8}' => line.push_str("\\b"),
            '\u{c}' => line.push_str("\\f"),
            ' '..='~' => line.push(letter),
            _ => {
                for unit in letter.encode_utf16(&mut [0; 2]) {
                    let _ = write!(line, "\\u{unit:04x}");
                }
            }
        }
    }
    line.push('"');
}

/// Returns a date of a record as 14 digits. What it does not say is the first moment of the rest.
fn seconds(date: &str) -> Option<String> {
    let mut parts = date.split(|letter: char| !letter.is_ascii_digit());
    let mut digits = String::with_capacity(14);
    for (width, missing) in [
        (4, ""),
        (2, "01"),
        (2, "01"),
        (2, "00"),
        (2, "00"),
        (2, "00"),
    ] {
        let part = parts
            .next()
            .filter(|part| !part.is_empty())
            .unwrap_or(missing);
        if part.len() > width || part.is_empty() {
            return None;
        }
        let _ = write!(digits, "{part:0>width$}");
    }
    Some(digits)
}

/// What the head of an HTTP response says.
#[derive(Debug, Default)]
struct Head {
    status: Option<String>,
    media_type: Option<String>,
    /// Bytes of it.
    length: usize,
}

impl Head {
    fn of(kind: &str, url: &str, block: &[u8]) -> Self {
        let is_http = url.starts_with("http:") || url.starts_with("https:");
        if !is_http || !matches!(kind, "response" | "revisit") || block.is_empty() {
            return Self::default();
        }
        let mut length = 0;
        let mut lines = block.split_inclusive(|byte| *byte == b'\n').map(|line| {
            length += line.len();
            trimmed(text_of(line))
        });
        let first = lines.next().unwrap_or_default();
        if first.is_empty() {
            drop(lines);
            return Self {
                length,
                ..Self::default()
            };
        }
        let mut media_type = None;
        for line in lines.by_ref().take_while(|line| !line.is_empty()) {
            let Some((name, value)) = line.split_once(':') else {
                continue;
            };
            let is_it = name
                .trim_end_matches([' ', '\t'])
                .eq_ignore_ascii_case("content-type");
            if is_it && media_type.is_none() && !name.starts_with([' ', '\t']) {
                media_type = Some(first_word(value.trim_start()).to_owned());
            }
        }
        drop(lines);
        let status = first
            .split_once(' ')
            .map_or("", |(_, status)| status.trim());
        let status = status.split(' ').next().unwrap_or_default();
        Self {
            status: Some(status.to_owned()),
            media_type,
            length,
        }
    }
}

/// The text of a line of a head: UTF-8, else Latin-1.
fn text_of(line: &[u8]) -> Cow<'_, str> {
    match str::from_utf8(line) {
        Ok(text) => text.into(),
        Err(_) => line
            .iter()
            .copied()
            .map(char::from)
            .collect::<String>()
            .into(),
    }
}

fn trimmed(line: Cow<'_, str>) -> Cow<'_, str> {
    let length = line.trim_end().len();
    match line {
        Cow::Borrowed(line) => line.get(..length).unwrap_or_default().into(),
        Cow::Owned(mut line) => {
            line.truncate(length);
            line.into()
        }
    }
}

/// Returns a media type without its parameters.
fn first_word(value: &str) -> &str {
    let end = value.find(|letter: char| letter == ';' || letter.is_whitespace());
    value.get(..end.unwrap_or(value.len())).unwrap_or_default()
}
