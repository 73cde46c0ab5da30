//! A row of the index, and the line as which it is sorted.

use encoding_rs::Encoding;
use jiff::Timestamp;

use super::super::error::Error;
use super::super::parquet::{Column, Kind, Row, Value, dump_name};
use super::super::reading::Found;
use super::super::walk::Source;
use super::super::wet::three_letters;
use crate::archive::{DigestAlgorithm, ReadRecord, RecordKind, crawl_of};
use crate::engine::RecordPlace;
use crate::url::{self, Suffixes, Url, surt};

/// The columns of Common Crawl's index by URL, but for the partitions `crawl` and `subset`, which
/// are in the paths of files: `cc-index-schema-flat.json` of github.com/commoncrawl/cc-index-table
/// as of revision fe3a5e0.
pub(super) const COLUMNS: [Column; 30] = [
    Column::required("url_surtkey", Kind::Text).distinct(),
    Column::required("url", Kind::Text).distinct(),
    Column::required("url_host_name", Kind::Text),
    Column::of("url_host_tld", Kind::Text),
    Column::of("url_host_2nd_last_part", Kind::Text),
    Column::of("url_host_3rd_last_part", Kind::Text),
    Column::of("url_host_4th_last_part", Kind::Text),
    Column::of("url_host_5th_last_part", Kind::Text),
    Column::of("url_host_registry_suffix", Kind::Text),
    Column::of("url_host_registered_domain", Kind::Text),
    Column::of("url_host_private_suffix", Kind::Text),
    Column::of("url_host_private_domain", Kind::Text),
    Column::of("url_host_name_reversed", Kind::Text),
    Column::required("url_protocol", Kind::Text),
    Column::of("url_port", Kind::Int32),
    Column::required("url_path", Kind::Text).distinct(),
    Column::of("url_query", Kind::Text),
    Column::required("fetch_time", Kind::Time),
    Column::required("fetch_status", Kind::Int16),
    Column::of("fetch_redirect", Kind::Text),
    Column::of("content_digest", Kind::Text).distinct(),
    Column::of("content_mime_type", Kind::Text),
    Column::of("content_mime_detected", Kind::Text),
    Column::of("content_charset", Kind::Text),
    Column::of("content_languages", Kind::Text),
    Column::of("content_truncated", Kind::Text),
    Column::required("warc_filename", Kind::Text),
    Column::required("warc_record_offset", Kind::Int32),
    Column::required("warc_record_length", Kind::Int32),
    Column::required("warc_segment", Kind::Text),
];

/// Stands behind what a line is sorted by. Sorts before all that keys have.
const END: char = '\t';

/// Returns the line of a page: what it is sorted by, and its row as JSON. Nothing if there is no
/// capture of the page, or its URL or record cannot be read.
pub(super) fn line(
    found: &Found<'_>,
    source: &Source,
    crawl: Option<&str>,
) -> Result<Option<String>, Error> {
    let Some(place) = found.page.record.as_ref() else {
        return Ok(None);
    };
    let is_capture = matches!(place.kind, RecordKind::Response | RecordKind::Revisit);
    let (Ok(url), Ok(time)) = (url::parse(&found.line.url), found.line.time.parse()) else {
        return Ok(None);
    };
    if !is_capture {
        return Ok(None);
    }
    let Some(record) = source.reader.record(found) else {
        return Ok(None);
    };
    let crawl = match crawl {
        Some(crawl) => crawl.to_owned(),
        None => dump_name(&source.data),
    };
    let is_success = (200..300).contains(&found.line.status);
    let subset = match place.kind {
        RecordKind::Response if is_success => "warc",
        _ => "crawldiagnostics",
    };
    let key = surt(&found.line.url);
    let row = row(found, &key, &url, time, place, &record)?;
    let row = serde_json::to_string(&row);
    let row = row.map_err(|error| Error::Request(format!("a row as JSON: {error}")))?;
    let time = time.strftime("%Y%m%d%H%M%S");
    Ok(Some(format!(
        "crawl={}/subset={subset}{END}{key}{END}{time}{END}{row}",
        directory_name(&crawl)?
    )))
}

/// Returns the partition and the row of a line.
pub(super) fn read(line: &str) -> Result<(String, Row), Error> {
    let mut parts = line.splitn(4, END);
    let partition = parts.next().unwrap_or_default().to_owned();
    let row = serde_json::from_str(parts.nth(2).unwrap_or_default());
    let row = row.map_err(|error| Error::Request(format!("a row that was sorted: {error}")))?;
    Ok((partition, row))
}

/// Checks that a name can be that of a directory, in any file system.
fn directory_name(name: &str) -> Result<&str, Error> {
    let is_plain = |it: char| it.is_ascii_alphanumeric() || ['-', '_', '.'].contains(&it);
    match name.chars().all(is_plain) && !name.is_empty() {
        true => Ok(name),
        false => Err(Error::Request(format!(
            "{name:?} cannot be the name of a partition: give --dump a name of letters, digits and -_."
        ))),
    }
}

fn row(
    found: &Found<'_>,
    key: &str,
    url: &Url,
    time: Timestamp,
    place: &RecordPlace,
    record: &ReadRecord,
) -> Result<Row, Error> {
    let line = found.line;
    let (head, payload) = record.http_parts().unwrap_or_default();
    let field = |name| field_of(head, name);
    let host = url.host_str().unwrap_or_default().trim_end_matches('.');
    let labels: Vec<&str> = match url.domain() {
        Some(_) => host.rsplit('.').collect(),
        None => Vec::new(),
    };
    let label = |number: usize| Value::text(labels.get(number).copied());
    let suffixes = Suffixes::of(url);
    let is_redirect = (300..400).contains(&line.status);
    let target = field("location").filter(|_| is_redirect);
    let target = target.and_then(|target| url::join(url, target).ok());
    // Of a page whose bytes another record has.
    let digest = match place.kind {
        RecordKind::Revisit => None,
        _ => Some(DigestAlgorithm::Sha1.digest([payload])),
    };
    let digest = digest.as_deref().and_then(|it| it.strip_prefix("sha1:"));
    let language = found.language.detected.as_ref();
    let [offset, length] = [place.offset, place.length].map(i32::try_from);
    let (Ok(offset), Ok(length)) = (offset, length) else {
        return Err(Error::Request(format!(
            "{} is larger than 2 GiB, which this index cannot say of a file: keep archive.max_file below that, or use --format parquet",
            place.file
        )));
    };
    Ok(vec![
        Value::text(Some(key)),
        Value::text(Some(url.as_str())),
        Value::text(Some(host)),
        label(0),
        label(1),
        label(2),
        label(3),
        label(4),
        Value::text(suffixes.registry_suffix),
        Value::text(suffixes.registered_domain),
        Value::text(suffixes.private_suffix),
        Value::text(suffixes.private_domain),
        Value::text((!labels.is_empty()).then(|| labels.join("."))),
        Value::text(Some(url.scheme())),
        Value::int(url.port()),
        Value::text(Some(url.path())),
        Value::text(url.query()),
        Value::Int(time.as_millisecond()),
        Value::int(Some(line.status)),
        Value::text(target.map(String::from)),
        Value::text(digest),
        Value::text(line.mime.clone()),
        Value::text(record.header("WARC-Identified-Payload-Type")),
        Value::text(field("content-type").and_then(charset)),
        Value::text(language.map(|(language, _)| three_letters(language))),
        Value::text(record.header("WARC-Truncated")),
        Value::text(Some(place.file.as_str())),
        Value::int(Some(offset)),
        Value::int(Some(length)),
        Value::Text(crawl_of(&place.file)),
    ])
}

/// The first value of a field of a head.
fn field_of<'a>(head: &'a [u8], name: &str) -> Option<&'a str> {
    let mut lines = head.split(|byte| *byte == b'\n');
    lines.find_map(|line| {
        let (own, value) = str::from_utf8(line).ok()?.split_once(':')?;
        own.trim().eq_ignore_ascii_case(name).then(|| value.trim())
    })
}

/// The declared encoding, by its usual name.
fn charset(content_type: &str) -> Option<&'static str> {
    let mut parameters = content_type.split(';').skip(1);
    let label = parameters.find_map(|it| {
        let (name, value) = it.split_once('=')?;
        let is_it = name.trim().eq_ignore_ascii_case("charset");
        is_it.then(|| value.trim().trim_matches('"'))
    })?;
    Some(Encoding::for_label(label.as_bytes())?.name())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn heads_and_names_are_read() {
        let head = b"HTTP/1.1 302 Found\r\nlocation : /x\r\nContent-Type: a/b; q=1; Charset=\"latin1\"\r\n\r\n";
        assert_eq!(field_of(head, "Location"), Some("/x"));
        assert_eq!(field_of(head, "Missing"), None);
        assert_eq!(
            field_of(head, "content-type").and_then(charset),
            Some("windows-1252")
        );
        assert_eq!(charset("text/html"), None);
        assert!(directory_name("CC-MAIN_2026.1").is_ok());
        for name in ["", "a/b", "a b", "ä"] {
            assert!(directory_name(name).is_err(), "{name}");
        }
    }

    #[test]
    fn a_line_has_its_row() {
        let row = vec![Value::Text("a\tb\n".to_owned()), Value::Int(7), Value::None];
        let text = serde_json::to_string(&row).unwrap();
        let line = format!("crawl=x/subset=warc{END}org,a)/{END}20260102030405{END}{text}");
        assert_eq!(
            read(&line).unwrap(),
            ("crawl=x/subset=warc".to_owned(), row)
        );
        assert!(read("crawl=x").is_err());
    }
}
