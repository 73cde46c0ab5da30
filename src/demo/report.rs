//! The report on a crawl of the demo's web, made from its log and from the requests that the
//! servers recorded. The same web gives the same report, except for times and paths.
//!
//! Nothing here knows what should have happened: verdicts come from the log, and why a link was not
//! requested follows from the rules that the crawl itself used.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::Serialize;

use super::server::{Request, Server};
use super::site::{Host, Reply};
use super::{DELAY, SEED};
use crate::engine::{LogLine, VisitVerdict};
use crate::url::{Canonicalizer, Site, Url, join, parse};

/// The report on a crawl of the built-in web.
#[derive(Debug, Serialize)]
pub struct Report {
    /// Duration of the crawl.
    seconds: f64,
    /// The data directory.
    data_dir: PathBuf,
    /// The WARC files.
    warc: Vec<PathBuf>,
    /// The log, one line per visit.
    log: PathBuf,
    hosts: Vec<HostReport>,
    /// Links that were found and led to no request.
    not_fetched: Vec<NotFetched>,
    /// Number of requests for a URL that had been requested before.
    repeated: usize,
}

/// A host as its server saw the crawl, with the verdicts on its pages.
#[derive(Debug, Serialize)]
struct HostReport {
    name: &'static str,
    about: &'static str,
    /// Number of requests, including that for robots.txt.
    requests: usize,
    pages: Vec<PageReport>,
}

/// A page that was requested.
#[derive(Debug, Serialize)]
struct PageReport {
    url: String,
    status: u16,
    /// As in the log.
    verdict: String,
    /// URL of the original, for a duplicate.
    original: Option<String>,
    /// Target of a redirect.
    redirect: Option<&'static str>,
}

/// A link that led to no request.
#[derive(Debug, Serialize, PartialEq, Eq, PartialOrd, Ord)]
struct NotFetched {
    reason: Reason,
    url: String,
    /// The URL that was requested instead, if there is one.
    same_as: Option<String>,
    /// The rules of the canonical form that make the two URLs one.
    rules: Vec<String>,
}

/// Why a link led to no request.
#[derive(Debug, Clone, Copy, Serialize, PartialEq, Eq, PartialOrd, Ord)]
#[serde(rename_all = "kebab-case")]
enum Reason {
    RobotsTxt,
    OutOfScope,
    SameUrl,
    /// The crawl ended before its turn.
    NotReached,
}

/// The log of the crawl could not be read.
#[derive(Debug, thiserror::Error)]
#[error("cannot read what the crawl did from {path}: {source}")]
pub struct Error {
    path: PathBuf,
    source: io::Error,
}

impl Report {
    /// Creates the report on a crawl of this web in `data_dir`.
    pub fn new(server: &Server, data_dir: &Path, took: Duration) -> Result<Self, Error> {
        let log = data_dir.join("log").join("fetch.jsonl");
        let lines = read_log(&log)?;
        let requests = server.requests();
        let distinct: BTreeSet<&Request> = requests.iter().collect();
        Ok(Self {
            seconds: took.as_secs_f64(),
            warc: files(&data_dir.join("warc"))?,
            log,
            hosts: server
                .hosts()
                .iter()
                .map(|host| host_report(host, &requests, &lines))
                .collect(),
            not_fetched: not_fetched(server.hosts(), &lines),
            repeated: requests.len() - distinct.len(),
            data_dir: data_dir.to_owned(),
        })
    }

    /// Returns the report as one line of JSON.
    pub fn to_json(&self) -> serde_json::Result<String> {
        Ok(format!("{}\n", serde_json::to_string(self)?))
    }

    /// Returns the report as text, at most 100 columns wide as long as paths are short.
    pub fn to_text(&self) -> String {
        let mut text = String::new();
        self.write_fetched(&mut text);
        self.write_duplicates(&mut text);
        self.write_not_fetched(&mut text);
        self.write_requests(&mut text);
        self.write_places(&mut text);
        text
    }

    fn pages(&self) -> impl Iterator<Item = &PageReport> {
        self.hosts.iter().flat_map(|host| &host.pages)
    }

    fn write_fetched(&self, text: &mut String) {
        let (pages, seconds) = (self.pages().count(), self.seconds);
        let _ = writeln!(text, "Fetched: {pages} URLs in {seconds:.1} s");
        for host in &self.hosts {
            let _ = writeln!(text, "\n  {}, {}", host.name, host.about);
            for page in &host.pages {
                let path = without_host(&page.url, host.name);
                let verdict = match (page.redirect, &*page.verdict) {
                    (Some(to), _) => format!("redirect to {}", without_host(to, host.name)),
                    (None, "ineligible") => "no page, so not compared".to_owned(),
                    (None, verdict) if page.original.is_some() => format!("{verdict} duplicate"),
                    (None, verdict) => verdict.to_owned(),
                };
                let _ = writeln!(text, "    {path:<20} {:>3}  {verdict}", page.status);
            }
        }
    }

    fn write_duplicates(&self, text: &mut String) {
        let mut by_original: BTreeMap<&str, Vec<&PageReport>> = BTreeMap::new();
        for page in self.pages() {
            if let Some(original) = &page.original {
                by_original.entry(original).or_default().push(page);
            }
        }
        let count: usize = by_original.values().map(Vec::len).sum();
        let _ = writeln!(
            text,
            "\nDuplicates: {count} pages, whose bodies are not stored again"
        );
        for (original, copies) in by_original {
            let _ = writeln!(text, "\n  of {}", without_scheme(original));
            for copy in copies {
                let (url, verdict) = (without_scheme(&copy.url), &copy.verdict);
                let why = why(verdict);
                let _ = writeln!(text, "    {url:<42}  {verdict:<10}  {why}");
            }
        }
    }

    fn write_not_fetched(&self, text: &mut String) {
        let count = self.not_fetched.len();
        let _ = writeln!(text, "\nNot fetched: {count} links\n");
        for link in &self.not_fetched {
            let why = match link.reason {
                Reason::RobotsTxt => "robots.txt forbids it".to_owned(),
                Reason::OutOfScope => "out of scope: another domain".to_owned(),
                Reason::NotReached => "the crawl ended before its turn".to_owned(),
                Reason::SameUrl => {
                    let same_as = without_origin(link.same_as.as_deref().unwrap_or_default());
                    if link.rules.is_empty() {
                        format!("the same URL as {same_as} in another spelling")
                    } else {
                        format!(
                            "the same URL as {same_as} by the rule {}",
                            link.rules.join(", ")
                        )
                    }
                }
            };
            let _ = writeln!(text, "  {}\n    {why}", link.url);
        }
    }

    fn write_requests(&self, text: &mut String) {
        let requests: usize = self.hosts.iter().map(|host| host.requests).sum();
        let hosts = self.hosts.len();
        let _ = writeln!(
            text,
            "\nSeen by the servers: {requests} requests, robots.txt of {hosts} hosts among them; \
             repeated URLs: {}\n",
            self.repeated
        );
        for host in &self.hosts {
            let _ = writeln!(text, "  {:<30} {:>3}", host.name, host.requests);
        }
    }

    fn write_places(&self, text: &mut String) {
        text.push_str("\nWritten\n\n");
        for path in &self.warc {
            let is_index = path.extension().is_some_and(|it| it == "cdxj");
            let what = if is_index { "index" } else { "pages" };
            let _ = writeln!(text, "  {what}  {}", path.display());
        }
        let _ = writeln!(text, "  log    {}", self.log.display());
        let _ = writeln!(
            text,
            "  all    {}, yours to delete",
            self.data_dir.display()
        );
    }
}

/// Returns the text that is shown before the demo begins.
pub fn introduction(server: &Server) -> String {
    format!(
        "A small web of {} hosts is served on this machine; no request leaves it. gleaner crawls it\n\
         from {SEED} as it crawls any web, but for two settings:\n\
         politeness.delay is {DELAY:?} in place of 1s, crawl.scope is domain in place of host.\n\n",
        server.hosts().len()
    )
}

/// Returns the text that is shown after the demo; `program` is the name of the binary.
pub fn next_steps(program: &str) -> String {
    format!(
        "\nNext: crawl a site, politely, with a contact of yours in place of this one\n\n  \
         {program} crawl https://example.org/ --data-dir crawl --max-pages 100 \\\n      \
         --user-agent 'examplebot/1.0 (+https://example.org/bot)'\n"
    )
}

/// Explains in a few words what a tier found.
fn why(tier: &str) -> &'static str {
    match tier {
        "raw" => "the same bytes",
        "normalized" => "the same text, other markup",
        "content" => "the same article, other page",
        "near" => "the article, a few words changed",
        _ => "",
    }
}

fn read_log(path: &Path) -> Result<Vec<LogLine>, Error> {
    let fail = |source| Error {
        path: path.to_owned(),
        source,
    };
    let text = fs::read_to_string(path).map_err(fail)?;
    text.lines()
        .map(|line| serde_json::from_str(line).map_err(|error| fail(error.into())))
        .collect()
}

/// Returns the files of a directory, sorted by name.
fn files(directory: &Path) -> Result<Vec<PathBuf>, Error> {
    let read = || -> io::Result<Vec<PathBuf>> {
        let entries = fs::read_dir(directory)?.map(|entry| Ok(entry?.path()));
        let mut paths = entries.collect::<io::Result<Vec<_>>>()?;
        paths.sort();
        Ok(paths)
    };
    read().map_err(|source| Error {
        path: directory.to_owned(),
        source,
    })
}

fn host_report(host: &Host, requests: &[Request], lines: &[LogLine]) -> HostReport {
    let origin = format!("http://{}/", host.name);
    let mut pages: Vec<_> = lines
        .iter()
        .filter(|line| line.url.starts_with(&origin))
        .filter(|line| {
            line.status != 0
                && !matches!(
                    line.verdict,
                    VisitVerdict::Robots | VisitVerdict::Sitemap | VisitVerdict::Retry
                )
        })
        .map(|line| PageReport {
            url: line.url.clone(),
            status: line.status,
            verdict: line.verdict.name().to_owned(),
            original: line.original.clone(),
            redirect: redirect(host, &line.url),
        })
        .collect();
    // In the order of the web's own list; the order of arrival differs from run to run.
    let place = |url: &str| {
        let path = without_host(url, host.name);
        let at = host.pages.iter().position(|page| page.path == path);
        at.unwrap_or(usize::MAX)
    };
    pages.sort_by(|a, b| (place(&a.url), &a.url).cmp(&(place(&b.url), &b.url)));
    HostReport {
        name: host.name,
        about: host.about,
        requests: requests.iter().filter(|it| it.host == host.name).count(),
        pages,
    }
}

fn redirect(host: &Host, url: &str) -> Option<&'static str> {
    let path = without_host(url, host.name);
    let page = host.pages.iter().find(|page| page.path == path)?;
    match page.reply {
        Reply::Moved(to) => Some(to),
        Reply::Html(_) => None,
    }
}

/// Returns every link of a page that was sent which was not requested.
fn not_fetched(hosts: &[Host], lines: &[LogLine]) -> Vec<NotFetched> {
    let line_of = |url: &str| lines.iter().find(|line| line.url == url);
    let canonicalizer = Canonicalizer::default();
    let canonical = |url: &Url| canonicalizer.canonicalize(url);
    let fetched: BTreeMap<_, &str> = lines
        .iter()
        .filter(|line| line.status != 0)
        .filter_map(|line| Some((canonical(&parse(&line.url).ok()?), &*line.url)))
        .collect();
    let site = parse(SEED).ok().map(|seed| Site::of(&seed));
    let mut found = BTreeSet::new();
    for (page, body) in sent(hosts, lines) {
        for reference in references(body) {
            let Ok(url) = join(&page, &reference) else {
                continue;
            };
            // The link as written on the page; parsing has already normalized some spellings.
            let written = if reference.contains("://") {
                reference
            } else {
                url.to_string()
            };
            let line = line_of(url.as_str());
            if line.is_some_and(|line| line.status != 0 && line.url == written) {
                continue;
            }
            let same_as = fetched.get(&canonical(&url)).map(|url| (*url).to_owned());
            let reason = match line {
                Some(line) if line.verdict == VisitVerdict::Forbidden => Reason::RobotsTxt,
                _ if same_as.is_some() => Reason::SameUrl,
                _ if Some(Site::of(&url)) != site => Reason::OutOfScope,
                _ => Reason::NotReached,
            };
            let rules = match reason {
                Reason::SameUrl => rules(&url),
                _ => Vec::new(),
            };
            found.insert(NotFetched {
                reason,
                url: written,
                same_as,
                rules,
            });
        }
    }
    found.into_iter().collect()
}

/// Returns the pages that the crawl received, with their URLs.
fn sent<'a>(hosts: &'a [Host], lines: &[LogLine]) -> Vec<(Url, &'a str)> {
    let mut sent = Vec::new();
    for line in lines.iter().filter(|line| line.status == 200) {
        let Ok(url) = parse(&line.url) else { continue };
        let host = hosts.iter().find(|host| url.host_str() == Some(host.name));
        let page = host.and_then(|host| {
            let path = without_host(&line.url, host.name);
            host.pages.iter().find(|page| page.path == path)
        });
        if let Some(Reply::Html(html)) = page.map(|page| &page.reply) {
            sent.push((url, html.as_str()));
        }
    }
    sent
}

/// Returns the `href` attributes of a page of this web; pages of other webs may write them
/// differently.
fn references(html: &str) -> impl Iterator<Item = String> {
    html.split("href=\"").skip(1).filter_map(|rest| {
        let (reference, _) = rest.split_once('"')?;
        Some(reference.replace("&amp;", "&"))
    })
}

/// Returns the rules that change a URL on the way to its canonical form.
fn rules(url: &Url) -> Vec<String> {
    let fired = Canonicalizer::default().explain(url);
    fired.iter().map(ToString::to_string).collect()
}

/// Returns path and query of a URL of this host, or the whole URL of another.
fn without_host<'a>(url: &'a str, host: &str) -> &'a str {
    let rest = without_scheme(url).strip_prefix(host);
    rest.filter(|path| path.starts_with('/')).unwrap_or(url)
}

/// Returns path and query of a URL.
fn without_origin(url: &str) -> &str {
    let rest = without_scheme(url);
    rest.find('/').and_then(|at| rest.get(at..)).unwrap_or(rest)
}

fn without_scheme(url: &str) -> &str {
    url.strip_prefix("http://").unwrap_or(url)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rules_that_make_two_urls_one_are_named() {
        let check = |url: &str, expected: &[&str]| {
            assert_eq!(rules(&parse(url).unwrap()), expected, "{url}");
        };
        check("http://a.example/x?utm_source=y", &["tracking"]);
        check("http://a.example/x", &[]);
        check("HTTP://A.example:80/x#y", &[]);
    }

    #[test]
    fn urls_are_shortened_to_what_tells_them_apart() {
        let short = |url| without_host(url, "a.example");
        assert_eq!(short("http://a.example/x?y"), "/x?y");
        assert_eq!(short("http://b.example/x"), "http://b.example/x");
        assert_eq!(short("http://a.example.org/x"), "http://a.example.org/x");
        assert_eq!(without_origin("http://a.example/x?y"), "/x?y");
    }

    #[test]
    fn references_are_those_of_the_attributes() {
        let found: Vec<_> = references(r#"<a href="/a?b&amp;c">x</a> <a href="d">"#).collect();
        assert_eq!(found, ["/a?b&c", "d"]);
    }
}
