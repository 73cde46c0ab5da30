//! The pages that stages are measured on, and what of them each stage is given.

use std::io::Write as _;

use bytes::Bytes;
use flate2::Compression;
use flate2::write::GzEncoder;
use gleaner::dedup::{Fingerprinter, Text};
use gleaner::page::{Page, PageOptions};
use gleaner::url::{self, Canonicalizer, Identity, Secret, Url};

use crate::pages::Site;

/// Sites of the corpus.
const SITES: usize = 4;

/// A page, and what it becomes.
pub(crate) struct Sample {
    pub(crate) url: Url,
    pub(crate) body: Bytes,
    /// The body as servers compress it.
    pub(crate) compressed: Bytes,
    pub(crate) page: Page,
    pub(crate) text: Text,
    /// Targets of its links.
    pub(crate) links: Vec<Url>,
}

/// What pages are read with.
pub(crate) struct Tools {
    pub(crate) identity: Identity,
    pub(crate) options: PageOptions,
    pub(crate) fingerprinter: Fingerprinter,
    /// Makes what others are told.
    pub(crate) others: Fingerprinter,
}

impl Tools {
    pub(crate) fn new() -> Self {
        let secret = std::array::from_fn(|at| (at * 167 % 251) as u8);
        let others = gleaner::dedup::Features {
            seed: 1,
            ..gleaner::dedup::Features::default()
        };
        Self {
            identity: Identity::new(Canonicalizer::default(), Secret::from_bytes(secret)),
            options: PageOptions::default(),
            fingerprinter: Fingerprinter::new(gleaner::dedup::Features::default()),
            others: Fingerprinter::new(others),
        }
    }
}

/// So many pages, of all kinds alike.
pub(crate) fn samples(count: usize, tools: &Tools) -> Vec<Sample> {
    let sites: Vec<Site> = (0..SITES as u64).map(|it| Site::new(it, 100)).collect();
    let sample = |at: usize| {
        // The first page is the only one with another path.
        let (site, number) = (at % SITES, 1 + at / SITES + 20 * (at % SITES));
        let path = &sites[site].paths[number];
        let url = url::parse(&format!("http://site{site}.example{path}")).expect("a URL");
        let html = sites[site].page(number);
        let page = Page::parse_html(html.as_str(), &url, &tools.identity, &tools.options);
        let links = page.links.iter().map(|it| url::parse(&it.url));
        Sample {
            links: links.map(|it| it.expect("links are URLs")).collect(),
            text: tools.fingerprinter.text(&page.main_text, &page.full_text),
            compressed: gzip(html.as_bytes()),
            body: html.into(),
            page,
            url,
        }
    };
    (0..count).map(sample).collect()
}

/// The bytes as servers compress them.
pub(crate) fn gzip(bytes: &[u8]) -> Bytes {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(bytes).expect("memory takes all");
    encoder.finish().expect("memory takes all").into()
}
