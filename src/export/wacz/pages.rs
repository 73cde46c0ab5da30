//! The lists of pages: seeds in one, all others in another.

use std::collections::HashSet;
use std::io::{self, Write as _};
use std::path::Path;

use serde::Serialize;
use xxhash_rust::xxh3::xxh3_128;

use super::super::error::Error;
use super::super::filter::Filter;
use super::super::reading::{Found, Want};
use super::super::walk::{Source, walk};
use super::members::Member;
use super::spool::Spool;
use super::zip_file::{MainPage, Package};
use crate::archive::RecordKind;
use crate::engine::{LogLine, PageLine, Position, VisitVerdict};

/// What was listed.
pub(super) struct Listed {
    /// Number of pages.
    pub(super) pages: u64,
    /// The first page.
    pub(super) first: Option<MainPage>,
    /// How far each crawl was read.
    pub(super) positions: Vec<Position>,
}

/// The first line of a list.
#[derive(Serialize)]
struct Head {
    format: &'static str,
    id: &'static str,
    title: &'static str,
    #[serde(rename = "hasText")]
    has_text: bool,
}

/// A line of a list.
#[derive(Serialize)]
struct Line<'a> {
    id: String,
    url: &'a str,
    ts: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    title: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<String>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    seed: bool,
}

/// A page that is listed.
struct Made {
    is_seed: bool,
    line: String,
    page: MainPage,
}

/// Adds the lists of the pages whose records are in these files.
pub(super) fn add(
    package: &mut Package,
    sources: &[Source],
    members: &[Member],
    with_text: bool,
    count: &mut impl FnMut(),
) -> Result<Listed, Error> {
    let staged = package.staged().to_owned();
    let wrong = || Error::io("write to", &staged);
    let files = members.iter().filter_map(|member| {
        let source = sources.get(member.source)?;
        Some((source.data.as_path(), member.name.as_str()))
    });
    let files: HashSet<(&Path, &str)> = files.collect();
    let begin = |id, title| List::begin(&staged, id, title, with_text).map_err(wrong());
    let mut seeds = begin("pages", "Seeds")?;
    let mut others = begin("extra-pages", "Other pages")?;
    let walked = walk(
        sources,
        &Filter::default(),
        Want::default(),
        |found, source, _| {
            let is_packed = |file: &str| files.contains(&(source.data.as_path(), file));
            let is_listed = is_listed(found.line, found.page, is_packed);
            is_listed
                .then(|| Made::of(&found, source, with_text))
                .transpose()
        },
        |made: Made| {
            let list = match made.is_seed {
                true => &mut seeds,
                false => &mut others,
            };
            count();
            list.add(made).map_err(wrong())
        },
    )?;
    let listed = Listed {
        pages: seeds.pages + others.pages,
        first: seeds.first.take().or(others.first.take()),
        positions: walked.iter().map(|it| it.position).collect(),
    };
    package.add("pages/pages.jsonl", true, |out| {
        seeds.spool.copy_to(out).map_err(wrong())
    })?;
    if others.pages > 0 {
        package.add("pages/extraPages.jsonl", true, |out| {
            others.spool.copy_to(out).map_err(wrong())
        })?;
    }
    Ok(listed)
}

/// Whether a player can show a page, and a person would look for it in a list.
fn is_listed(line: &LogLine, page: &PageLine, is_packed: impl Fn(&str) -> bool) -> bool {
    let is_page = !matches!(
        line.verdict,
        VisitVerdict::Requisite | VisitVerdict::Robots | VisitVerdict::Sitemap
    );
    let has_capture = page.record.as_ref().is_some_and(|record| {
        matches!(record.kind, RecordKind::Response | RecordKind::Revisit) && is_packed(&record.file)
    });
    is_page && (200..300).contains(&line.status) && has_capture
}

/// Whether a page is a seed, or where a seed's redirects lead.
fn is_seed(line: &LogLine) -> bool {
    line.path.bytes().all(|hop| hop == b'R')
}

impl Made {
    fn of(found: &Found<'_>, source: &Source, with_text: bool) -> Result<Self, Error> {
        let Found { line, page, .. } = found;
        let read = || source.reader.read(line, page, None);
        let text = with_text.then(read).flatten();
        let is_seed = is_seed(line);
        let told = Line {
            id: format!(
                "{:032x}",
                xxh3_128(format!("{} {}", line.time, line.url).as_bytes())
            ),
            url: &line.url,
            ts: &line.time,
            title: page.title.as_deref(),
            text: text.map(|read| read.page.main_text),
            seed: is_seed,
        };
        let told = serde_json::to_string(&told);
        Ok(Self {
            is_seed,
            line: told.map_err(|error| Error::Request(format!("a page as JSON: {error}")))?,
            page: MainPage {
                url: line.url.clone(),
                time: line.time.clone(),
            },
        })
    }
}

/// A list that waits.
struct List {
    spool: Spool,
    pages: u64,
    first: Option<MainPage>,
}

impl List {
    fn begin(
        staged: &Path,
        id: &'static str,
        title: &'static str,
        has_text: bool,
    ) -> io::Result<Self> {
        let mut spool = Spool::beside(staged, id)?;
        let head = Head {
            format: "json-pages-1.0",
            id,
            title,
            has_text,
        };
        writeln!(spool, "{}", serde_json::to_string(&head)?)?;
        Ok(Self {
            spool,
            pages: 0,
            first: None,
        })
    }

    fn add(&mut self, made: Made) -> io::Result<()> {
        self.pages += 1;
        self.first.get_or_insert(made.page);
        writeln!(self.spool, "{}", made.line)
    }
}
