//! Sitemaps and feeds as lists of URLs: what a site says it has, as a hint. Takes the bytes of a
//! file, as received or from disk, and gives its entries one by one, so that memory does not grow
//! with the file.
//!
//! Read are the XML of sitemaps.org, with any namespace or none, and its index; lists of URLs in
//! plain text; RSS 1 and 2; Atom. Each also compressed with gzip. The form is told from the content;
//! names and media types lie too often.
//!
//! Steps: bytes to plain text (`input.rs`: gzip, encoding, bounds), then markup to entries
//! (`xml.rs`) or a URL a line. Never fails: a broken file gives what could be read, and
//! [`Problem`]s of what could not. Fetches nothing, neither entities nor schemas nor the sitemaps
//! of an index; entities that a file defines stay as they are written.

mod input;
mod xml;

use std::io::{BufRead, Read};

use jiff::Timestamp;
use jiff::civil::{Date, DateTime};
use jiff::tz::TimeZone;

use crate::url::{self, Url};
use input::{Input, Stop};

/// Bounds on what one sitemap may cost. Their defaults are those of the protocol at sitemaps.org,
/// which asks nobody to read more.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SitemapOptions {
    /// Bytes read, after decompression.
    pub max_bytes: u64,
    /// Entries given.
    pub max_entries: usize,
    /// Alternates kept of one entry.
    pub max_alternates: usize,
}

impl Default for SitemapOptions {
    fn default() -> Self {
        Self {
            max_bytes: 50 * 1024 * 1024,
            max_entries: 50_000,
            max_alternates: 200,
        }
    }
}

/// What a sitemap says of one URL. All but the URL are hints, which may be wrong or missing.
#[derive(Debug, Clone, PartialEq)]
pub struct SitemapEntry {
    /// Where: as it was written, made absolute; never canonicalized.
    pub url: Url,
    /// What is there.
    pub kind: EntryKind,
    /// `lastmod`, `pubDate`, `updated` or `dc:date`, as it is written.
    pub last_modified: Option<String>,
    /// How often it is said to change.
    pub change_frequency: Option<ChangeFrequency>,
    /// From 0 to 1, among the pages of the same site.
    pub priority: Option<f32>,
    /// The same page in other languages.
    pub alternates: Vec<Alternate>,
}

impl SitemapEntry {
    /// When it was last modified, as far as that is said and can be read: a date and time of W3C
    /// (RFC 3339 or a part of it, in UTC if it names no zone; a date is its beginning) or of a feed
    /// (RFC 2822).
    pub fn modified(&self) -> Option<Timestamp> {
        modified(self.last_modified.as_deref()?.trim())
    }
}

fn modified(text: &str) -> Option<Timestamp> {
    let in_utc = |time: DateTime| Some(time.to_zoned(TimeZone::UTC).ok()?.timestamp());
    if let Ok(time) = text.parse::<Timestamp>() {
        return Some(time);
    }
    // A date of a year and perhaps a month.
    if let [year, rest @ ..] = &*text.splitn(3, '-').collect::<Vec<_>>()
        && year.len() == 4
        && rest.len() < 2
    {
        let month = rest.first().map_or(Ok(1), |month| month.parse());
        let first = Date::new(year.parse().ok()?, month.ok()?, 1).ok()?;
        return in_utc(first.into());
    }
    let in_feeds = || jiff::fmt::rfc2822::DateTimeParser::new().parse_timestamp(text);
    match text.parse::<DateTime>() {
        Ok(time) => in_utc(time),
        Err(_) => in_feeds().ok(),
    }
}

/// What a URL of a sitemap leads to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EntryKind {
    /// A page.
    Page,
    /// Another sitemap, named by an index.
    Sitemap,
}

/// How often a page is said to change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(missing_docs, reason = "they are the words of the protocol")]
pub enum ChangeFrequency {
    Always,
    Hourly,
    Daily,
    Weekly,
    Monthly,
    Yearly,
    Never,
}

impl ChangeFrequency {
    const ALL: [(Self, &'static str); 7] = [
        (Self::Always, "always"),
        (Self::Hourly, "hourly"),
        (Self::Daily, "daily"),
        (Self::Weekly, "weekly"),
        (Self::Monthly, "monthly"),
        (Self::Yearly, "yearly"),
        (Self::Never, "never"),
    ];

    /// The word of the protocol.
    pub fn as_str(self) -> &'static str {
        let mut all = Self::ALL.into_iter();
        all.find(|(it, _)| *it == self).map_or("", |(_, word)| word)
    }

    fn parse(text: &str) -> Option<Self> {
        let mut all = Self::ALL.into_iter();
        all.find(|(_, word)| word.eq_ignore_ascii_case(text))
            .map(|(it, _)| it)
    }
}

/// The same page in another language: `<xhtml:link rel="alternate" hreflang=... href=...>`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Alternate {
    /// The language tag, or `x-default`, as it is written.
    pub language: String,
    /// Where.
    pub url: Url,
}

/// The form that a file was recognized by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SitemapForm {
    /// `<urlset>`: pages.
    UrlSet,
    /// `<sitemapindex>`: more sitemaps.
    Index,
    /// A URL a line.
    Text,
    /// RSS 2 or 0.9x.
    Rss,
    /// RSS 1, in RDF.
    Rdf,
    /// Atom.
    Atom,
}

impl SitemapForm {
    /// Its name, for people and logs.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::UrlSet => "sitemap",
            Self::Index => "sitemap index",
            Self::Text => "text",
            Self::Rss => "RSS",
            Self::Rdf => "RSS 1",
            Self::Atom => "Atom",
        }
    }
}

/// What was read, and what was wrong.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SitemapReport {
    /// The form, if it was recognized.
    pub form: Option<SitemapForm>,
    /// Entries given.
    pub entries: usize,
    /// What was wrong, the first [`MAX_PROBLEMS`].
    pub problems: Vec<Problem>,
    /// How much was wrong, all counted.
    pub problem_count: usize,
}

/// Problems that are kept of one file; beyond, they are counted.
pub const MAX_PROBLEMS: usize = 50;

/// Something that is wrong with a sitemap.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Problem {
    /// Neither a sitemap nor a feed.
    #[error("this is no sitemap: {0}")]
    NoSitemap(String),
    /// The file is not whole.
    #[error("the file ends inside {0}")]
    Truncated(String),
    /// Reading ended early: broken compression, or the disk.
    #[error("reading ended after {at} bytes: {reason}")]
    Unreadable {
        /// Bytes read before, after decompression.
        at: u64,
        /// What the reader said.
        reason: String,
    },
    /// Markup that is none.
    #[error("broken markup at byte {at}: {reason}")]
    Markup {
        /// Where, in bytes after decompression, as UTF-8.
        at: u64,
        /// What the parser said.
        reason: String,
    },
    /// An address that is none.
    #[error("not a URL that can be crawled: {text}: {reason}")]
    Url {
        /// Its first 200 characters.
        text: String,
        /// Why it is none.
        reason: String,
    },
    /// An entry without an address.
    #[error("an entry without URL")]
    NoUrl,
    /// More bytes than [`SitemapOptions::max_bytes`].
    #[error("only the first {0} bytes were read")]
    TooLarge(u64),
    /// More entries than [`SitemapOptions::max_entries`].
    #[error("only the first {0} entries were read")]
    TooMany(usize),
    /// One tag, comment or text as large as no honest one.
    #[error("a single tag or text of more than {0} bytes")]
    PieceTooLarge(usize),
}

/// Reads a sitemap or a feed, and hands over its entries one by one, in order, repetitions too.
/// Relative addresses are resolved against `base`, where the file came from; without one, and in
/// plain text, they are problems.
pub fn read_sitemap(
    source: impl Read,
    base: Option<&Url>,
    options: &SitemapOptions,
    each: &mut dyn FnMut(SitemapEntry),
) -> SitemapReport {
    let mut sink = Sink {
        base,
        options,
        each,
        report: SitemapReport::default(),
    };
    let mut input = Input::new(source, options.max_bytes);
    let is_markup = input.fill_buf().map(looks_like_markup);
    let stopped = match is_markup {
        Ok(true) => xml::read(input, &mut sink),
        Ok(false) => read_lines(input, &mut sink),
        Err(error) => Some(input.stop(&error)),
    };
    if let Some(stop) = stopped {
        sink.problem(stop.problem(options.max_bytes));
    }
    sink.report
}

/// The form of a file whose first element says that it is a sitemap or a feed, also of a compressed
/// one. Looks at the beginning alone.
pub fn recognize(body: &[u8]) -> Option<SitemapForm> {
    let text = body.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(body);
    let is_markup = text.trim_ascii_start().first() == Some(&b'<');
    if !is_markup && !body.starts_with(&[0x1F, 0x8B]) {
        return None;
    }
    let options = SitemapOptions {
        max_bytes: RECOGNIZED_BYTES,
        max_entries: 0,
        max_alternates: 0,
    };
    let form = read_sitemap(body, None, &options, &mut |_| ()).form;
    form.filter(|form| *form != SitemapForm::Text)
}

/// Bytes in which the first element is looked for: comments may stand before it.
const RECOGNIZED_BYTES: u64 = 16 * 1024;

/// Where entries and problems go.
struct Sink<'a> {
    base: Option<&'a Url>,
    options: &'a SitemapOptions,
    each: &'a mut dyn FnMut(SitemapEntry),
    report: SitemapReport,
}

/// An entry as it is read.
#[derive(Debug, Default)]
struct Draft {
    address: Option<String>,
    last_modified: Option<String>,
    change_frequency: Option<ChangeFrequency>,
    priority: Option<f32>,
    alternates: Vec<Alternate>,
    /// What serves as an address if there is none.
    identifier: Option<String>,
}

impl Sink<'_> {
    fn problem(&mut self, problem: Problem) {
        self.report.problem_count += 1;
        if self.report.problems.len() < MAX_PROBLEMS {
            self.report.problems.push(problem);
        }
    }

    /// Whether another entry is wanted.
    fn wants_more(&mut self) -> bool {
        if self.report.entries < self.options.max_entries {
            return true;
        }
        self.problem(Problem::TooMany(self.options.max_entries));
        false
    }

    fn resolve(&self, address: &str) -> Result<Url, url::Error> {
        match self.base {
            Some(base) => url::join(base, address),
            None => url::parse(address),
        }
    }

    /// An address that is one, or a problem.
    fn url(&mut self, address: &str) -> Option<Url> {
        match self.resolve(address) {
            Ok(url) => Some(url),
            Err(error) => {
                self.problem(Problem::Url {
                    text: address.chars().take(200).collect(),
                    reason: error.to_string(),
                });
                None
            }
        }
    }

    fn entry(&mut self, kind: EntryKind, draft: Draft) {
        let Some(address) = draft.address else {
            self.problem(Problem::NoUrl);
            return;
        };
        let Some(url) = self.url(&address) else {
            return;
        };
        self.report.entries += 1;
        (self.each)(SitemapEntry {
            url,
            kind,
            last_modified: draft.last_modified,
            change_frequency: draft.change_frequency,
            priority: draft.priority,
            alternates: draft.alternates,
        });
    }
}

/// Whether a file begins like markup, possibly behind what a server's script let slip.
fn looks_like_markup(head: &[u8]) -> bool {
    let text = String::from_utf8_lossy(head);
    text.trim_start().starts_with('<')
        || ["<?xml", "<urlset", "<sitemapindex", "<rss", "<feed"]
            .iter()
            .any(|mark| text.contains(mark))
}

/// A URL a line. Lines that cannot be crawled are problems; a file of nothing else is no sitemap.
fn read_lines(mut input: Input<'_>, sink: &mut Sink<'_>) -> Option<Stop> {
    // Against a base each line of any text would be a URL.
    sink.base = None;
    let mut line = Vec::new();
    loop {
        line.clear();
        input.begin_piece();
        let read = input.read_until(b'\n', &mut line);
        let text = String::from_utf8_lossy(&line);
        let text = text.trim_matches(|c: char| c.is_whitespace() || c.is_control());
        match read {
            // What was read of the line is not all of it.
            Err(error) => return Some(input.stop(&error)),
            Ok(0) => break,
            Ok(_) if text.is_empty() => {}
            Ok(_) if !sink.wants_more() => break,
            Ok(_) => {
                let draft = Draft {
                    address: Some(text.to_owned()),
                    ..Draft::default()
                };
                sink.entry(EntryKind::Page, draft);
            }
        }
    }
    if sink.report.entries > 0 {
        sink.report.form = Some(SitemapForm::Text);
    } else {
        sink.report.problems.clear();
        sink.report.problem_count = 0;
        sink.problem(Problem::NoSitemap(
            "neither markup nor a list of URLs".to_owned(),
        ));
    }
    None
}

#[cfg(test)]
mod tests;
