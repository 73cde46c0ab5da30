//! The main text of a page, read back: either stored as a conversion record, which earlier
//! versions put among the pages, or extracted again from the response. Extraction reads no clock
//! and no settings except its bounds, so it gives what the crawl saw.

use std::path::{Path, PathBuf};

use super::content::{Content, values};
use super::page_line::{PageLine, RecordPlace};
use crate::archive::{self, Limits, ReadRecord, RecordKind, SegmentReader, WarcOptions};
use crate::fetch::{self, DecodeBounds};
use crate::page::{self, BodyKind, Page, PageOptions, charset};
use crate::url::{self, Canonicalizer, Identity, Secret, Url};

/// Reads texts from an archive.
pub struct Texts {
    data: PathBuf,
    options: PageOptions,
    decoding: DecodeBounds,
    identity: Identity,
}

impl Texts {
    /// Reads the texts of the crawl in a data directory, within bounds. A page that the crawl cut
    /// at narrower bounds has more text here.
    pub fn of(data: &Path, bounds: &PageOptions, decoding: DecodeBounds) -> Self {
        Self {
            data: data.to_owned(),
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
            .filter(|revisit| revisit.has_identical_payload())
            .and_then(|revisit| Some(revisit.http_parts()?.0))
            .unwrap_or(head);
        Ok(self.extract(url, head, payload))
    }

    fn record(&self, place: &RecordPlace) -> Result<ReadRecord, archive::Error> {
        let path = WarcOptions::path_of(&self.data, &place.file);
        let mut records = SegmentReader::open_at(&path, place.offset, Limits::default())?;
        records.next().unwrap_or(Err(archive::Error::Torn {
            path,
            offset: place.offset,
        }))
    }

    fn extract(&self, url: &str, head: &[u8], payload: &[u8]) -> Option<String> {
        let body = payload.to_vec().into();
        let codings = values(head, "content-encoding");
        let body = fetch::decode(codings, &body, self.decoding).bytes;
        let content_type = values(head, "content-type").next();
        Some(self.parse(url, content_type, &body, html)?.main_text)
    }

    /// Returns the page that a content is, or `None` if it is neither HTML nor text.
    pub fn page(&self, url: &str, content: &Content) -> Option<Page> {
        let content_type = content.header("content-type");
        self.parse(url, content_type.as_deref(), content.body(), html)
    }

    /// Returns the main text of a content as Markdown, or `None` if it is neither HTML nor text.
    pub fn markdown(&self, url: &str, content: &Content) -> Option<String> {
        let mut markdown = None;
        let content_type = content.header("content-type");
        let page = self.parse(
            url,
            content_type.as_deref(),
            content.body(),
            |text, url, identity, options| {
                let (page, text) = Page::parse_html_to_markdown(text, url, identity, options);
                markdown = Some(text);
                page
            },
        )?;
        Some(markdown.unwrap_or(page.main_text))
    }

    fn parse(
        &self,
        url: &str,
        content_type: Option<&str>,
        body: &[u8],
        read_html: impl FnOnce(charset::Text<'_>, &Url, &Identity, &PageOptions) -> Page,
    ) -> Option<Page> {
        let text = || charset::to_text(body, content_type);
        match page::kind(content_type, body) {
            BodyKind::Html => {
                let url = url::parse(url).ok()?;
                Some(read_html(text(), &url, &self.identity, &self.options))
            }
            BodyKind::Text => Some(Page::plain_text(&text().text, &self.options)),
            BodyKind::Other => None,
        }
    }
}

fn html(text: charset::Text<'_>, url: &Url, identity: &Identity, options: &PageOptions) -> Page {
    Page::parse_html(text, url, identity, options)
}
