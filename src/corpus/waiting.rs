//! Documents whose lines carry URLs: what is template of their sites is known when the last of
//! them was read, so they wait for it in temporary files, with all that follow the first of them.
//!
//! Memory has some 50 bytes of each, and the template of one site at a time. The pages of a site
//! are counted in the order of their texts' digests, so what is template depends neither on the
//! order of the corpus nor on threads.

use std::path::Path;

use serde::{Deserialize, Serialize};

use super::Error;
use super::sign::ReadDocument;
use super::spool::{Place, Spool};
use crate::dedup::own::{Kind, Lines, OwnComparison, OwnLines, Standing};
use crate::learn::{Change, Seen, Sighting, Template, Unit};
use crate::sites;

/// Number of pages after which a template takes over what they change.
const TOGETHER: usize = 64;

/// A document as it was read.
#[derive(Serialize, Deserialize)]
pub(super) struct Document {
    /// Its id, as JSON.
    pub(super) id: Box<str>,
    pub(super) read: ReadDocument,
    /// Its line, if that may be given out.
    pub(super) line: Option<Box<[u8]>>,
    /// What it says line by line, if it has a URL.
    #[serde(skip)]
    pub(super) page: Option<SitePage>,
}

/// The lines of a page, and where the page is.
pub(super) struct SitePage {
    pub(super) url: String,
    /// Number of its site.
    pub(super) site: u64,
    pub(super) lines: Lines,
}

/// [`SitePage`] as it waits. Its length never changes.
#[derive(Serialize, Deserialize)]
struct Row {
    url: String,
    lines: Vec<u8>,
    /// For each line, what it is on the site.
    standings: Vec<u8>,
    is_settled: bool,
}

/// All documents from the first one with a URL on.
pub(super) struct Waiting {
    /// Number of documents before them.
    before: u32,
    documents: Spool,
    rows: Spool,
    places: Vec<(Place, Option<OfSite>)>,
}

/// What memory has of a page of a site.
#[derive(Clone, Copy)]
struct OfSite {
    site: u64,
    /// Equal for pages with equal texts.
    text: u64,
    row: Place,
}

impl Waiting {
    /// Creates the files. `before` is the number of documents that were judged already.
    pub(super) fn new(directory: &Path, before: u32) -> Result<Self, Error> {
        Ok(Self {
            before,
            documents: Spool::create(directory)?,
            rows: Spool::create(directory)?,
            places: Vec::new(),
        })
    }

    /// Adds the next document.
    pub(super) fn push(&mut self, document: &Document) -> Result<(), Error> {
        let mut of_site = None;
        if let Some(page) = &document.page {
            let row = Row {
                url: page.url.clone(),
                lines: page.lines.encode(),
                standings: vec![0; page.lines.lines.len()],
                is_settled: false,
            };
            of_site = Some(OfSite {
                site: page.site,
                text: document.read.signed.text_number(),
                row: self.rows.push(&bytes(&row))?,
            });
        }
        let place = self.documents.push(&bytes(document))?;
        self.places.push((place, of_site));
        Ok(())
    }

    /// Ends the corpus: tells of each line what it is on its site.
    pub(super) fn settle(&mut self) -> Result<(), Error> {
        self.documents.flush()?;
        self.rows.flush()?;
        let mut pages: Vec<OfSite> = self.places.iter().filter_map(|(_, it)| *it).collect();
        // Stable: of pages with one text the first is counted.
        pages.sort_by_key(|page| (page.site, page.text));
        for pages in pages.chunk_by(|a, b| a.site == b.site) {
            if pages.len() > 1 {
                self.settle_site(pages)?;
            }
        }
        Ok(())
    }

    fn settle_site(&self, pages: &[OfSite]) -> Result<(), Error> {
        let mut template = Template::default();
        let texts: Vec<&OfSite> = pages
            .chunk_by(|a, b| a.text == b.text)
            .filter_map(<[_]>::first)
            .collect();
        for texts in texts.chunks(TOGETHER) {
            let mut change = Change::of(&template);
            for page in texts {
                let (_, lines) = self.row(page.row)?;
                let sighting = Sighting {
                    headline: sites::headline(&lines, Seen::new(&template, Some(&change))),
                    layout: lines.layout,
                    units: &units(&lines),
                };
                change.take_in(&template, &sighting);
            }
            template.take_over(change);
        }
        let seen = Seen::new(&template, None);
        for page in pages {
            let (mut row, lines) = self.row(page.row)?;
            row.is_settled = seen.is_settled(lines.layout);
            let known = sites::known(&lines, seen);
            let standings = sites::standings(&lines, &known, true);
            row.standings = standings.map(number).collect();
            self.rows.replace(page.row, &bytes(&row))?;
        }
        Ok(())
    }

    fn row(&self, place: Place) -> Result<(Row, Lines), Error> {
        let row: Row = value(&self.rows.read(place)?)?;
        let lines = Lines::decode(&row.lines).ok_or_else(damaged)?;
        Ok((row, lines))
    }

    /// What of a document is its own, and its URL; `None` if it has none.
    fn own(&self, document: u32) -> Result<Option<(String, OwnLines)>, Error> {
        let at = document.checked_sub(self.before);
        let waits = at.and_then(|at| self.places.get(at as usize));
        let Some((_, Some(of_site))) = waits else {
            return Ok(None);
        };
        let (row, lines) = self.row(of_site.row)?;
        let standings = row.standings.into_iter().map(standing);
        let own = OwnLines::new(&lines, (of_site.site, row.is_settled), standings);
        Ok(Some((row.url, own)))
    }

    /// Passes the documents on, in their order, each with its own part.
    pub(super) fn each(
        &self,
        mut take: impl FnMut(Document, &mut OwnPart<'_>) -> Result<(), Error>,
    ) -> Result<(), Error> {
        for (number, (place, _)) in (self.before..).zip(&self.places) {
            let document: Document = value(&self.documents.read(*place)?)?;
            let mut own = OwnPart {
                waiting: self,
                own: self.own(number)?,
                failed: None,
            };
            take(document, &mut own)?;
            if let Some(error) = own.failed {
                return Err(error);
            }
        }
        Ok(())
    }
}

/// The own part of a document, to be compared with those of earlier ones.
pub(super) struct OwnPart<'a> {
    waiting: &'a Waiting,
    own: Option<(String, OwnLines)>,
    failed: Option<Error>,
}

impl OwnPart<'_> {
    /// Compares it with that of an earlier document, whose whole text has this similarity. Unknown
    /// if one of them has no URL.
    pub(super) fn compare(&mut self, earlier: u32, similarity: f64) -> OwnComparison {
        let Some((url, own)) = &self.own else {
            return OwnComparison::Unknown;
        };
        match self.waiting.own(earlier) {
            Ok(Some((others_url, other))) => {
                sites::compare_own((url, own), (&others_url, &other), similarity)
            }
            Ok(None) => OwnComparison::Unknown,
            Err(error) => {
                self.failed.get_or_insert(error);
                OwnComparison::Unknown
            }
        }
    }
}

/// The lines of a page as a template counts them.
fn units(lines: &Lines) -> Vec<Unit> {
    let masked = lines.lines.iter().map(|line| Unit {
        line: line.masked,
        is_said: matches!(
            line.kind,
            Kind::Title | Kind::Headline | Kind::Main | Kind::Image | Kind::Data
        ),
    });
    // Another page may have the line as it is.
    let echoes = lines.lines.iter().filter(|line| line.is_echo());
    let whole = echoes.map(|line| Unit {
        line: line.hash,
        is_said: false,
    });
    masked.chain(whole).collect()
}

const STANDINGS: [Standing; 4] = [
    Standing::Own,
    Standing::Common,
    Standing::Template,
    Standing::Ignored,
];

fn number(standing: Standing) -> u8 {
    let at = STANDINGS.iter().position(|it| *it == standing);
    at.unwrap_or(0) as u8
}

fn standing(number: u8) -> Standing {
    let known = STANDINGS.get(usize::from(number));
    known.copied().unwrap_or(Standing::Own)
}

fn bytes(value: &impl Serialize) -> Vec<u8> {
    postcard::to_stdvec(value).expect("plain data")
}

fn value<'a, T: Deserialize<'a>>(bytes: &'a [u8]) -> Result<T, Error> {
    postcard::from_bytes(bytes).map_err(|_| damaged())
}

fn damaged() -> Error {
    Error::input("a temporary file was changed while it was used")
}
