//! Sitemaps and feeds as lists of URLs: what a site says it has, as a hint. Takes the bytes of a
//! file, as received or from disk, and gives its entries one by one, so that memory does not grow
//! with the file.
//!
//! Read are the XML of sitemaps.org, with any namespace or none, and its index; lists of URLs in
//! plain text; RSS 1 and 2; Atom. Each also compressed with gzip. The form is told from the
//! content; names and media types lie too often.
//!
//! Steps: bytes to plain text (`input.rs`: gzip, encoding, bounds), then markup to entries
//! (`xml.rs`) or a URL a line. Never fails: a broken file gives what could be read, and
//! [`Problem`]s of what could not. Fetches nothing, neither entities nor schemas nor the sitemaps
//! of an index; entities that a file defines stay as they are written.

mod entry;
mod report;

mod input;
mod sink;
mod xml;

use std::io::{BufRead, Read};

pub use entry::{Alternate, ChangeFrequency, EntryKind, SitemapEntry};
pub use report::{MAX_PROBLEMS, Problem, SitemapForm, SitemapOptions, SitemapReport};

use crate::url::Url;
use input::{Input, Stop};
use sink::{Draft, Sink};

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
