//! `gleaner sitemap`: lists the URLs of a sitemap or feed file. Nothing is fetched, not even the
//! sitemaps of an index.

use std::io::{self, Write};
use std::path::PathBuf;

use clap::Args;
use serde_json::json;

use crate::cli::shown::Data;
use crate::cli::{Failure, input, output};
use crate::page::sitemap::{
    EntryKind, Problem, SitemapEntry, SitemapForm, SitemapOptions, read_sitemap,
};
use crate::url;

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  gleaner sitemap sitemap.xml.gz
  curl -s https://example.org/sitemap.xml | gleaner sitemap - --base https://example.org/sitemap.xml
  gleaner sitemap sitemap.xml --json | jq -r 'select(.priority > 0.5).url'")]
pub(crate) struct Arguments {
    /// Sitemap, sitemap index, feed, or list of URLs, optionally gzipped; `-` for standard input
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// URL of the file, to resolve relative URLs against
    #[arg(long, value_name = "URL", value_parser = url::parse)]
    base: Option<url::Url>,
    /// Maximum number of entries to read
    #[arg(long, value_name = "N", default_value_t = SitemapOptions::default().max_entries)]
    max_entries: usize,
    /// Print one JSON object per entry, with all of its fields
    #[arg(long)]
    json: bool,
}

pub(super) fn run(arguments: &Arguments) -> Result<(), Failure> {
    let source = input::open(&arguments.file, "sitemap")?;
    let options = SitemapOptions {
        max_entries: arguments.max_entries,
        ..SitemapOptions::default()
    };
    let mut out = io::BufWriter::new(Data::lock());
    let mut written = Ok(());
    let report = read_sitemap(source, arguments.base.as_ref(), &options, &mut |entry| {
        if written.is_ok() {
            written = if arguments.json {
                writeln!(out, "{}", as_json(&entry))
            } else {
                writeln!(out, "{}", entry.url)
            };
        }
    });
    let written = written.and_then(|()| out.flush());
    written.map_err(anyhow::Error::from)?;
    drop(out);
    if let [problem @ Problem::NoSitemap(_)] = &*report.problems {
        return Err(Failure::Io(anyhow::anyhow!(
            "{}: {problem}",
            arguments.file.display()
        )));
    }
    for problem in &report.problems {
        output::say(&format!("warning: {}: {problem}", arguments.file.display()));
    }
    let unsaid = report.problem_count - report.problems.len();
    if unsaid > 0 {
        output::say(&format!("warning: and {unsaid} more problems"));
    }
    if report.form == Some(SitemapForm::Index) {
        output::say("hint: this is a sitemap index: its URLs are those of sitemaps");
    }
    Ok(())
}

/// All fields of an entry; missing fields are omitted.
fn as_json(entry: &SitemapEntry) -> serde_json::Value {
    let kind = match entry.kind {
        EntryKind::Page => "page",
        EntryKind::Sitemap => "sitemap",
    };
    let mut value = json!({ "url": entry.url.as_str(), "kind": kind });
    if let Some(lastmod) = &entry.last_modified {
        value["lastmod"] = json!(lastmod);
    }
    if let Some(changefreq) = entry.change_frequency {
        value["changefreq"] = json!(changefreq.as_str());
    }
    if let Some(priority) = entry.priority {
        // As written: 0.8, not the f64 that is nearest to the f32.
        value["priority"] = json!(priority.to_string().parse::<f64>().unwrap_or_default());
    }
    if !entry.alternates.is_empty() {
        let alternates = entry.alternates.iter();
        let alternates: Vec<_> = alternates
            .map(|it| json!({ "hreflang": it.language, "url": it.url.as_str() }))
            .collect();
        value["alternates"] = json!(alternates);
    }
    value
}
