//! `gleaner robots`: checks URLs against a robots.txt file, as a crawl would. Nothing is fetched.

use std::fmt::Write as _;
use std::io::Read as _;
use std::path::PathBuf;

use clap::Args;

use crate::cli::{Failure, input, output};
use crate::robots::{self, MAX_BODY, Rules};
use crate::url::Url;

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  gleaner robots --robots robots.txt https://example.org/a https://example.org/b
  gleaner robots --agent examplebot --robots robots.txt --explain https://example.org/a
  curl -s https://example.org/robots.txt | gleaner robots --robots - --sitemaps")]
pub(crate) struct Arguments {
    /// URLs to check, or paths that begin with a slash; the host is ignored
    #[arg(value_name = "URL", required_unless_present_any = ["sitemaps", "explain"])]
    urls: Vec<String>,
    /// Crawler to check for: a product token or a full user agent
    #[arg(long, value_name = "NAME", default_value = "gleaner")]
    agent: String,
    /// The robots.txt file; `-` for standard input
    #[arg(long, value_name = "FILE")]
    robots: PathBuf,
    /// Print the matching line after each URL, separated by tabs, and at the end the crawl delay,
    /// if there is one
    #[arg(long)]
    explain: bool,
    /// Print the sitemaps that the file lists
    #[arg(long)]
    sitemaps: bool,
}

pub(super) fn run(arguments: &Arguments) -> Result<(), Failure> {
    let paths = arguments.urls.iter().map(|url| path_and_query(url));
    let paths: Vec<String> = paths.collect();
    let mut body = Vec::new();
    input::open(&arguments.robots, "robots.txt")?
        .take(MAX_BODY as u64)
        .read_to_end(&mut body)
        .map_err(|error| input::unreadable(&arguments.robots, error))?;
    let rules = Rules::parse(&body, robots::product_token(&arguments.agent));
    let mut text = String::new();
    for (url, path) in arguments.urls.iter().zip(&paths) {
        let verdict = if rules.allows(path) {
            "allow"
        } else {
            "disallow"
        };
        let _ = write!(text, "{verdict}\t{url}");
        if arguments.explain {
            let _ = match rules.decide(path) {
                Some(decision) => {
                    let rule = robots::line(&body, decision.line);
                    write!(text, "\tline {}\t{rule}", decision.line)
                }
                None => write!(text, "\t-\tno rule applies"),
            };
        }
        text.push('\n');
    }
    if let Some(delay) = rules.crawl_delay().filter(|_| arguments.explain) {
        let _ = writeln!(text, "crawl-delay\t{}", delay.as_secs_f64());
    }
    if arguments.sitemaps {
        for sitemap in rules.sitemaps() {
            let _ = writeln!(text, "{sitemap}");
        }
    }
    output::print(&text)?;
    Ok(())
}

/// The path and query of a URL of any scheme. Rules match paths, so anything else is treated as a
/// path.
fn path_and_query(text: &str) -> String {
    if text.starts_with('/') {
        return text.to_owned();
    }
    match Url::parse(text) {
        Ok(url) if !url.cannot_be_a_base() => {
            let query = url.query().map(|query| format!("?{query}"));
            format!("{}{}", url.path(), query.unwrap_or_default())
        }
        _ => {
            let path = format!("/{text}");
            output::say(&format!(
                "warning: {text:?} is not a URL; checking the path {path:?}"
            ));
            path
        }
    }
}
