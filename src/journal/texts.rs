//! The main text of a page, read back from the archive: either stored as a conversion record, or
//! extracted again from the response. Extraction reads no clock and no settings except its bounds,
//! so it gives what the crawl saw.

use std::path::{Path, PathBuf};

use super::page_line::{PageLine, RecordPlace};
use crate::archive::{self, Limits, ReadRecord, RecordKind, SegmentReader};
use crate::fetch::{self, DecodeBounds};
use crate::page::{self, BodyKind, Page, PageOptions, charset};
use crate::url::{self, Canonicalizer, Identity, Secret};

/// Reads texts from an archive.
pub struct Texts {
    directory: PathBuf,
    options: PageOptions,
    decoding: DecodeBounds,
    identity: Identity,
}

impl Texts {
    /// Reads the texts of the crawl in a data directory, within bounds. A page that the crawl cut
    /// at narrower bounds has more text here.
    pub fn of(data: &Path, bounds: &PageOptions, decoding: DecodeBounds) -> Self {
        Self {
            directory: data.join("warc"),
            options: PageOptions {
                // Links take time and are not needed.
                max_links: 0,
                ..bounds.clone()
            },
            decoding,
            identity: Identity::new(
                Canonicalizer::default(),
                Secret::from_bytes([0; Secret::LEN]),
            ),
        }
    }

    /// Returns the main text of a page that was requested as `url`, or `None` if it has none
    /// because it is not text or not a success.
    pub fn read(&self, url: &str, page: &PageLine) -> Result<Option<String>, archive::Error> {
        let Some(place) = &page.text else {
            return Ok(None);
        };
        let record = self.record(place)?;
        if place.kind == RecordKind::Conversion {
            return Ok(Some(String::from_utf8_lossy(&record.block).into_owned()));
        }
        let Some((head, payload)) = record.http_parts() else {
            return Ok(None);
        };
        // The bytes are those of another page, but the headers that say how to read them are its
        // own.
        let revisit = match &page.record {
            Some(own) if own.kind == RecordKind::Revisit => Some(self.record(own)?),
            _ => None,
        };
        let head = revisit
            .as_ref()
            .and_then(|revisit| Some(revisit.http_parts()?.0))
            .unwrap_or(head);
        Ok(self.extract(url, head, payload))
    }

    fn record(&self, place: &RecordPlace) -> Result<ReadRecord, archive::Error> {
        let path = self.directory.join(&place.file);
        let mut records = SegmentReader::open_at(&path, place.offset, Limits::default())?;
        records.next().unwrap_or(Err(archive::Error::Torn {
            path,
            offset: place.offset,
        }))
    }

    fn extract(&self, url: &str, head: &[u8], payload: &[u8]) -> Option<String> {
        let head = String::from_utf8_lossy(head);
        let values = |name: &'static str| {
            head.lines().filter_map(move |line| {
                let (own, value) = line.split_once(':')?;
                own.eq_ignore_ascii_case(name).then_some(value.trim())
            })
        };
        let body = payload.to_vec().into();
        let body = fetch::decode(values("content-encoding"), &body, self.decoding).bytes;
        let content_type = values("content-type").next();
        let text = || charset::to_text(&body, content_type);
        let page = match page::kind(content_type, &body) {
            BodyKind::Html => {
                let url = url::parse(url).ok()?;
                Page::parse_html(text(), &url, &self.identity, &self.options)
            }
            BodyKind::Text => Page::plain_text(&text().text, &self.options),
            BodyKind::Other => return None,
        };
        Some(page.main_text)
    }
}
