//! `gleaner similar`: the stored pages that are most similar to a page of the crawl, or to a file.

use std::borrow::Cow;
use std::fmt::Write as _;
use std::fs::File;
use std::io::{self, Read};
use std::path::PathBuf;

use anyhow::Context as _;
use clap::Args;

use super::report::listed;
use crate::cli::exit::Exit;
use crate::cli::inspector::Inspector;
use crate::cli::{Failure, output};
use crate::corpus::Extraction;
use crate::dedup::{Fingerprinter, Fingerprints, Masks, Tier};
use crate::inspect::{Answer, Question, Similar, SimilarPage, Subject};
use crate::page::charset;
use crate::url;

/// Maximum size of a file in bytes.
const MAX_PAGE_BYTES: u64 = 64 << 20;

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  gleaner similar https://example.org/page --data-dir crawl
  gleaner similar page.html --data-dir crawl --limit 3 --min-similarity 0.5
  curl -s https://example.org/ | gleaner similar - --data-dir crawl --json | jq '.pages[0]'

A URL must be one that the crawl has visited, in any of its forms. The exit code is 5 if the page is
neither stored nor a duplicate of a stored page. The crawl may be running.")]
pub(crate) struct Arguments {
    /// URL of a page of the crawl, or an HTML file; `-` for standard input
    #[arg(value_name = "URL|FILE")]
    page: String,
    /// Data directory of the crawl
    #[arg(long, value_name = "DIR")]
    data_dir: PathBuf,
    /// Number of pages to list
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = listed())]
    limit: usize,
    /// List only pages with at least this similarity, 0 to 1
    #[arg(long, value_name = "T", default_value_t, value_parser = share)]
    min_similarity: f64,
    /// Print one JSON object instead of text
    #[arg(long)]
    json: bool,
}

/// Parses a similarity.
fn share(text: &str) -> Result<f64, String> {
    let share = text
        .parse()
        .ok()
        .filter(|share| (0.0..=1.0).contains(share));
    share.ok_or_else(|| "give a number from 0 to 1".to_owned())
}

pub(super) fn run(arguments: &Arguments) -> Result<(), Failure> {
    let mut inspector = Inspector::open(&arguments.data_dir)?;
    let is_url = ["http://", "https://"]
        .iter()
        .any(|scheme| arguments.page.to_ascii_lowercase().starts_with(scheme));
    let subject = if is_url {
        let page = &arguments.page;
        let url = url::parse(page)
            .map_err(|error| Failure::usage(format!("invalid URL {page:?}: {error}")))?;
        Subject::Url(url.to_string())
    } else {
        let Answer::Features(features) = inspector.ask(Question::Features)? else {
            return Err(Failure::other_answer());
        };
        let by = Fingerprinter::new(*features);
        Subject::Page(Box::new(read(&arguments.page, &by)?))
    };
    let limit = arguments.limit;
    let Answer::Similar { found } = inspector.ask(Question::Similar { subject, limit })? else {
        return Err(Failure::other_answer());
    };
    let is_known = found.is_some();
    let mut found = found.unwrap_or_default();
    let is_similar = |page: &SimilarPage| page.similarity.share() >= arguments.min_similarity;
    found.pages.retain(is_similar);
    if arguments.json {
        let json = serde_json::to_string(&found).map_err(anyhow::Error::from)?;
        output::print(&format!("{json}\n"))?;
    } else if is_known {
        output::print(&in_words(&found))?;
    }
    if !is_known {
        let page = &arguments.page;
        output::say(&format!(
            "{page} is neither stored nor a duplicate of a stored page; see `gleaner why`"
        ));
        return Err(Failure::Answered(Exit::Unknown));
    }
    Ok(())
}

/// The fingerprints of a page in a file, made like those of the crawl.
fn read(file: &str, by: &Fingerprinter) -> Result<Fingerprints, Failure> {
    let mut bytes = Vec::new();
    let input: Box<dyn Read> = match file {
        "-" => Box::new(io::stdin()),
        _ => Box::new(File::open(file).map_err(|error| Failure::Usage {
            message: format!("cannot open {file}: {error}"),
            hint: Some("give an absolute URL such as https://example.org/page, an existing HTML file, or - for standard input"),
        })?),
    };
    input
        .take(MAX_PAGE_BYTES + 1)
        .read_to_end(&mut bytes)
        .with_context(|| format!("cannot read {file}"))?;
    if bytes.len() as u64 > MAX_PAGE_BYTES {
        return Err(Failure::usage(format!(
            "{file} has more than {MAX_PAGE_BYTES} bytes, which is no page"
        )));
    }
    let html = charset::to_text(&bytes, None).text;
    let content = Extraction::new(Masks::default())?.content(Cow::Borrowed(&bytes), &html, None);
    let text = by.text(&content.main, &content.visible);
    Ok(by.sign(&bytes, &text.with_hints(&content.hints)))
}

/// The answer in words.
fn in_words(found: &Similar) -> String {
    let mut text = String::new();
    if let Some(by) = &found.by {
        let tier = by.tier.name();
        let _ = writeln!(
            text,
            "a {tier} duplicate (similarity {}) of {}, by which it is compared",
            by.similarity, by.url
        );
    }
    if found.pages.is_empty() {
        text.push_str("nothing that is stored is like it\n");
        return text;
    }
    let _ = writeln!(
        text,
        "{:>10}{:>10}  {:<12}page",
        "similarity", "distance", "duplicate"
    );
    for page in &found.pages {
        let distance = page
            .distance
            .map_or_else(|| "-".to_owned(), |it| it.to_string());
        let tier = page.tier.map_or("no", Tier::name);
        let title = page.title.as_deref().unwrap_or_default();
        let _ = writeln!(
            text,
            "{:>10}{distance:>10}  {tier:<12}{}{}{title}",
            page.similarity.to_string(),
            page.url,
            if title.is_empty() { "" } else { "  " },
        );
    }
    text
}
