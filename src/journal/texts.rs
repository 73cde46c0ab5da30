//! The main text of a page, read back: either stored as a conversion record, which earlier
//! versions put among the pages, or extracted again from the response. Extraction reads no clock
//! and no settings except its bounds, so it gives what the crawl saw.

use std::path::{Path, PathBuf};

use super::content::{Content, values};
use super::page_line::{PageLine, RecordPlace};
use crate::archive::{self, Limits, ReadRecord, RecordKind, SegmentReader, WarcOptions};
use crate::fetch::{self, DecodeBounds};
use crate::page::{self, BodyKind, Markup, Page, PageOptions, charset};
use crate::url::{self, Canonicalizer, Identity, Secret};

/// Reads texts from an archive.
pub struct Texts {
    data: PathBuf,
    /// Where else the crawl's files may be.
    others: Vec<PathBuf>,
    options: PageOptions,
    decoding: DecodeBounds,
    identity: Identity,
}

/// What a page says.
pub struct ReadText {
    /// The page. Read from a text that was kept instead of the body, it has little else.
    pub page: Page,
    /// Its main text in the form that was asked for.
    pub marked: Option<String>,
    /// Id of the record that it was read from, as in the archive.
    pub record_id: Option<String>,
}

impl Texts {
    /// Reads the texts of the crawl in a data directory, within bounds. A page that the crawl cut
    /// at narrower bounds has more text here.
    pub fn of(data: &Path, bounds: &PageOptions, decoding: DecodeBounds) -> Self {
        Self {
            data: data.to_owned(),
            others: Vec::new(),
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

    /// Looks for files that are missing in other data directories of the same crawl, as those of
    /// workers that have had the same shard.
    #[must_use]
    pub fn with_others(self, others: Vec<PathBuf>) -> Self {
        Self { others, ..self }
    }

    /// Returns the main text of a page that was requested as `url`, or `None` if it has none
    /// because it is not text or not a success.
    pub fn read(&self, url: &str, page: &PageLine) -> Result<Option<String>, archive::Error> {
        let read = self.read_page(url, page, None)?;
        Ok(read.map(|read| read.page.main_text))
    }

    /// Returns what a page that was requested as `url` says, or `None` if that is nothing because
    /// it is not text or not a success. Its text is also given in `markup`, if that is asked for
    /// and the page is HTML of which the archive has the body.
    pub fn read_page(
        &self,
        url: &str,
        page: &PageLine,
        markup: Option<Markup>,
    ) -> Result<Option<ReadText>, archive::Error> {
        let Some(place) = &page.text else {
            return Ok(None);
        };
        let record = self.record(place)?;
        let record_id = record.header("WARC-Record-ID").map(str::to_owned);
        if place.kind == RecordKind::Conversion {
            let text = String::from_utf8_lossy(&record.block);
            let page = Page::plain_text(&text, &self.options);
            return Ok(Some(ReadText {
                page,
                marked: None,
                record_id,
            }));
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
        let body = payload.to_vec().into();
        let codings = values(head, "content-encoding");
        let body = fetch::decode(codings, &body, self.decoding).bytes;
        let content_type = values(head, "content-type").next();
        let read = self.extract(url, content_type, &body, markup);
        Ok(read.map(|read| ReadText { record_id, ..read }))
    }

    /// Returns the id of the record at a place.
    pub fn record_id(&self, place: &RecordPlace) -> Result<Option<String>, archive::Error> {
        let record = self.record(place)?;
        Ok(record.header("WARC-Record-ID").map(str::to_owned))
    }

    /// Returns the record at a place.
    pub fn record(&self, place: &RecordPlace) -> Result<ReadRecord, archive::Error> {
        let path = self.path(place);
        let mut records = SegmentReader::open_at(&path, place.offset, Limits::default())?;
        records.next().unwrap_or(Err(archive::Error::Torn {
            path,
            offset: place.offset,
        }))
    }

    fn path(&self, place: &RecordPlace) -> PathBuf {
        let own = WarcOptions::path_of(&self.data, &place.file);
        if self.others.is_empty() || archive::present(&own).is_some() {
            return own;
        }
        let mut others = self.others.iter();
        let found = others.find_map(|other| {
            let path = WarcOptions::path_of(other, &place.file);
            archive::present(&path)
        });
        found.unwrap_or(own)
    }

    /// Returns the page that a content is, or `None` if it is neither HTML nor text.
    pub fn page(&self, url: &str, content: &Content) -> Option<Page> {
        let content_type = content.header("content-type");
        let read = self.extract(url, content_type.as_deref(), content.body(), None)?;
        Some(read.page)
    }

    /// Returns the main text of a content with its structure, or without it if it is plain text;
    /// `None` if it is neither HTML nor text.
    pub fn markup(&self, markup: Markup, url: &str, content: &Content) -> Option<String> {
        let content_type = content.header("content-type");
        let markup = Some(markup);
        let read = self.extract(url, content_type.as_deref(), content.body(), markup)?;
        Some(read.marked.unwrap_or(read.page.main_text))
    }

    fn extract(
        &self,
        url: &str,
        content_type: Option<&str>,
        body: &[u8],
        markup: Option<Markup>,
    ) -> Option<ReadText> {
        let text = || charset::to_text(body, content_type);
        let (identity, options) = (&self.identity, &self.options);
        let (page, marked) = match page::kind(content_type, body) {
            BodyKind::Html => {
                let url = url::parse(url).ok()?;
                match markup {
                    Some(markup) => {
                        let url = (&url, false);
                        let read = Page::parse_html_to(markup, text(), url, identity, options);
                        (read.0, Some(read.1))
                    }
                    None => (Page::parse_html(text(), &url, identity, options), None),
                }
            }
            BodyKind::Text => (Page::plain_text(&text().text, options), None),
            BodyKind::Other => return None,
        };
        Some(ReadText {
            page,
            marked,
            record_id: None,
        })
    }
}
