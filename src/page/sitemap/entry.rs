//! What a sitemap or a feed says about one URL.

use jiff::Timestamp;
use jiff::civil::{Date, DateTime};
use jiff::tz::TimeZone;

use crate::url::Url;

/// What a sitemap says about one URL. Everything but the URL is a hint that may be wrong or
/// missing.
#[derive(Debug, Clone, PartialEq)]
pub struct SitemapEntry {
    /// The URL as it was written, made absolute and never canonicalized.
    pub url: Url,
    /// What the URL leads to.
    pub kind: EntryKind,
    /// `lastmod`, `pubDate`, `updated` or `dc:date`, as it is written.
    pub last_modified: Option<String>,
    /// How often the page is said to change.
    pub change_frequency: Option<ChangeFrequency>,
    /// Its priority among the pages of the site, from 0 to 1.
    pub priority: Option<f32>,
    /// The same page in other languages.
    pub alternates: Vec<Alternate>,
}

impl SitemapEntry {
    /// When the page was last modified, if that is given and can be parsed: a date and time in the
    /// W3C format (RFC 3339 or a part of it; UTC if there is no zone, the beginning of a date) or
    /// in that of feeds (RFC 2822).
    pub fn modified(&self) -> Option<Timestamp> {
        modified(self.last_modified.as_deref()?.trim())
    }
}

pub(super) fn modified(text: &str) -> Option<Timestamp> {
    let in_utc = |time: DateTime| Some(time.to_zoned(TimeZone::UTC).ok()?.timestamp());
    if let Ok(time) = text.parse::<Timestamp>() {
        return Some(time);
    }
    // A year, perhaps with a month.
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

    /// The word used by the protocol.
    pub fn as_str(self) -> &'static str {
        let mut all = Self::ALL.into_iter();
        all.find(|(it, _)| *it == self).map_or("", |(_, word)| word)
    }

    pub(super) fn parse(text: &str) -> Option<Self> {
        let mut all = Self::ALL.into_iter();
        all.find(|(_, word)| word.eq_ignore_ascii_case(text))
            .map(|(it, _)| it)
    }
}

/// The same page in another language: `<xhtml:link rel="alternate" hreflang=... href=...>`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Alternate {
    /// The language tag or `x-default`, as it is written.
    pub language: String,
    /// The URL.
    pub url: Url,
}
