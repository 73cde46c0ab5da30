//! Sitemaps and feeds as lists of URLs: what a site says it contains, as a hint. Takes the bytes of
//! a file, as received or from disk, and yields its entries one by one, so that memory does not
//! grow with the file.
//!
//! Supported are the XML format of sitemaps.org with any namespace or none, its index, lists of
//! URLs in plain text, RSS 1 and 2, and Atom, each also compressed with gzip. The form is
//! recognized by content, because names and media types are too often wrong.
//!
//! Steps: bytes to plain text (`input.rs`: gzip, encoding, bounds), then markup to entries
//! (`xml.rs`) or one URL per line. Reading never fails: a broken file yields what could be read,
//! and [`Problem`]s for the rest. Nothing is fetched: neither entities nor schemas nor the sitemaps
//! of an index. Entities that a file defines stay as they are written.

mod entry;
mod report;

mod input;
mod sink;
mod xml;

use std::io::{BufRead, Read};

pub use entry::{Alternate, ChangeFrequency, EntryKind, SitemapEntry};
pub use report::{MAX_PROBLEMS, Problem, SitemapForm, SitemapOptions, SitemapReport};

use crate::url::Url;
use input::{EarlyEnd, SitemapText};
use sink::{Draft, Sink};

/// Reads a sitemap or a feed and passes its entries to `each` one by one, in order, including
/// repetitions. Relative URLs are resolved against `base`, the URL of the file; without it, and in
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
    let mut input = SitemapText::new(source, options.max_bytes);
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

/// The form of a file whose first element identifies it as a sitemap or a feed, also if it is
/// compressed. Only the beginning is examined.
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

/// Number of bytes in which the first element is searched for; comments may precede it.
const RECOGNIZED_BYTES: u64 = 16 * 1024;

/// Whether a file begins like markup, possibly after stray output of a server's script.
fn looks_like_markup(head: &[u8]) -> bool {
    let text = String::from_utf8_lossy(head);
    text.trim_start().starts_with('<')
        || ["<?xml", "<urlset", "<sitemapindex", "<rss", "<feed"]
            .iter()
            .any(|mark| text.contains(mark))
}

/// Reads one URL per line. Lines that cannot be crawled are problems; a file of nothing else is not
/// a sitemap.
fn read_lines(mut input: SitemapText<'_>, sink: &mut Sink<'_>) -> Option<EarlyEnd> {
    // With a base, any line of text would be a URL.
    sink.base = None;
    let mut line = Vec::new();
    loop {
        line.clear();
        input.begin_piece();
        let read = input.read_until(b'\n', &mut line);
        let text = String::from_utf8_lossy(&line);
        let text = text.trim_matches(|c: char| c.is_whitespace() || c.is_control());
        match read {
            // The line is incomplete.
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
