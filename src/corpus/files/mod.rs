//! The files of a corpus: documents as lines of JSON, or as records of WARC files.

mod jsonl;
mod opened;
mod records;
mod warc_in;
mod warc_out;

use std::borrow::Cow;
use std::fmt;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::sync::atomic::AtomicU64;

use super::Error;
use super::waiting::SitePage;
use crate::dedup::{Masks, PageHints};
use crate::page::{Page, PageOptions, Parts, language};
use crate::sites::{self, SiteName};
use crate::url::{self, Canonicalizer, Identity, Secret, Url};

pub use jsonl::Fields;
pub(super) use jsonl::{JsonDocument, each_line};
pub use opened::{FileKind, files_in, open};
pub(super) use records::each_sound_record;
pub(super) use warc_in::{Item, SourceRecord, Wanted, read, work};
pub use warc_out::StoredBodies;
pub(super) use warc_out::{JudgedPage, Note, WarcOutput};

/// Told of what is read while it is.
#[derive(Clone, Copy)]
pub struct Watch<'a>(pub &'a (dyn Fn() + Sync));

impl fmt::Debug for Watch<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Watch")
    }
}

/// The files of a corpus.
#[derive(Debug, Clone, Copy)]
pub struct Input<'a> {
    /// Their paths. For lines of JSON, `-` or no path is standard input.
    pub files: &'a [PathBuf],
    /// Threads that sign documents; `None` for one per core. The output does not depend on it.
    pub threads: Option<NonZeroUsize>,
    /// If lines that cannot be read are to be skipped: where they are counted.
    pub skipped: Option<&'a AtomicU64>,
    /// Told of each line and of each page that is read, if somebody wants to know.
    pub watch: Option<Watch<'a>>,
    /// The languages whose documents are wanted; all if there are none.
    pub languages: &'a [String],
    /// How lines of JSON name what a document is.
    pub fields: Fields<'a>,
}

/// The texts of a document, from which it is signed.
pub struct Content<'a> {
    /// Its bytes as given.
    pub raw: Cow<'a, [u8]>,
    /// Its main text.
    pub main: Cow<'a, str>,
    /// All of its text.
    pub visible: Cow<'a, str>,
    /// What it says about itself.
    pub hints: PageHints,
    /// What it says line by line, if it has a URL.
    pub(super) page: Option<SitePage>,
}

impl Content<'_> {
    /// Whether its text is in one of these languages; without any, it is.
    pub(super) fn is_in(&self, languages: &[String]) -> bool {
        let is_among = |it: language::Detected| language::is_among(it.language, languages);
        languages.is_empty() || language::detect(&self.main).is_some_and(is_among)
    }
}

/// Extracts texts from pages. The links it finds are not used.
pub struct Extraction {
    base: Url,
    identity: Identity,
    options: PageOptions,
}

impl Extraction {
    /// An extraction with the default options; what is masked is nothing that two lines differ in.
    pub fn new(masks: Masks) -> Result<Self, Error> {
        let base = url::parse("http://localhost/");
        let base = base.map_err(|error| Error::input(error.to_string()))?;
        let secret = Secret::from_bytes([0; Secret::LEN]);
        Ok(Self {
            base,
            identity: Identity::new(Canonicalizer::default(), secret),
            options: PageOptions {
                line_mask: sites::line_mask(masks),
                ..PageOptions::default()
            },
        })
    }

    /// The texts of a page with the bytes `raw`.
    pub fn content<'a>(&self, raw: Cow<'a, [u8]>, html: &str, url: Option<&str>) -> Content<'a> {
        let url = url.and_then(|url| url::parse(url).ok());
        let base = url.as_ref().unwrap_or(&self.base);
        let page = Page::parse_html(html, base, &self.identity, &self.options);
        let language = page.sure_language();
        let main = page.compared_text().to_owned();
        Content {
            raw,
            main: main.into(),
            visible: page.full_text.into(),
            page: url.as_ref().map(|url| site_page(url, &page.parts)),
            hints: PageHints {
                language,
                host: url.and_then(|url| url.host_str().map(str::to_owned)),
                title: page.title,
                h1: page.metadata.h1,
                ..PageHints::default()
            },
        }
    }

    /// What a text says line by line, if it has a URL.
    pub(super) fn page_of_text(&self, text: &str, url: Option<&str>) -> Option<SitePage> {
        let url = url::parse(url?).ok()?;
        let page = Page::plain_text_of(text, &url, &self.options);
        Some(site_page(&url, &page.parts))
    }
}

fn site_page(url: &Url, parts: &Parts) -> SitePage {
    SitePage {
        url: url.as_str().to_owned(),
        site: SiteName::of(url).number(),
        lines: sites::lines(parts),
    }
}
