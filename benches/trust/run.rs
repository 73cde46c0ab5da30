//! Runs the crawler against a site as a user would, and reads what it left behind.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;

use super::server::Server;
use super::site::Site;

/// How the crawls of a suite are run.
#[derive(Debug, Clone)]
pub(crate) struct Runner {
    /// The binary.
    pub(crate) gleaner: PathBuf,
    /// Where data directories are put.
    pub(crate) directory: PathBuf,
    /// A crawl is stopped after so long.
    pub(crate) patience: Duration,
    /// Whether data directories are kept.
    pub(crate) keep: bool,
    /// More lines of each configuration file.
    pub(crate) settings: String,
    /// Whether `gleaner why` is asked about some of what is lost.
    pub(crate) asks_why: bool,
}

/// A crawl that was run.
pub(crate) struct Crawl {
    pub(crate) server: Server,
    pub(crate) seconds: f64,
    /// Exit code; none if it had to be stopped.
    pub(crate) code: Option<i32>,
    /// What it printed.
    pub(crate) summary: Value,
    /// Verdict and original of each page, by URL.
    pub(crate) verdicts: HashMap<String, (String, Option<String>)>,
    /// What `gleaner why` says of some pages that are lost.
    pub(crate) reasons: Vec<String>,
}

impl Crawl {
    /// Number of requests, robots.txt aside.
    pub(crate) fn requests(&self) -> usize {
        self.server.log(|log| log.requests.len())
    }

    /// Whether it ended by itself, and said that all is well.
    pub(crate) fn ended(&self) -> bool {
        self.code.is_some()
    }

    /// Whether the summary names what it must.
    pub(crate) fn says_why(&self) -> bool {
        let must_say = self.server.site().must_say;
        self.summary.to_string().contains(must_say)
    }

    /// The good pages that were never asked for.
    pub(crate) fn lost(&self) -> Vec<(String, String)> {
        self.server.lost()
    }

    /// After how many requests all good pages that were asked for at all had been.
    pub(crate) fn last_good(&self) -> usize {
        self.server.log(|log| {
            let good = self.server.site().good.iter();
            good.filter_map(|it| log.shown.get(&it.0))
                .copied()
                .max()
                .unwrap_or(0)
        })
    }

    /// Pages with a key whose verdict names a page with another key as their original.
    pub(crate) fn merged(&self) -> Vec<(String, String, String)> {
        let keys = self.keys();
        let mut merged = Vec::new();
        for (url, (verdict, original)) in &self.verdicts {
            let Some(original) = original else { continue };
            if let (Some(own), Some(other)) = (keys.get(url), keys.get(original))
                && own != other
            {
                merged.push((url.clone(), original.clone(), verdict.clone()));
            }
        }
        merged.sort();
        merged
    }

    /// For each key shown at several fetched addresses: how many of them were called duplicates of
    /// one another, and how many should have been.
    pub(crate) fn found(&self) -> HashMap<String, (usize, usize)> {
        let keys = self.keys();
        let mut found: HashMap<String, (usize, usize)> = HashMap::new();
        for (url, (_, original)) in &self.verdicts {
            if let Some(key) = keys.get(url) {
                let sum = found.entry(key.clone()).or_default();
                sum.1 += 1;
                let of = original.as_ref().and_then(|it| keys.get(it));
                sum.0 += usize::from(of == Some(key));
            }
        }
        // One of them is the original.
        for sum in found.values_mut() {
            sum.1 -= 1;
        }
        found.retain(|_, sum| sum.1 > 0);
        found
    }

    /// Addresses of keys whose duplicates were not all found, with the verdict.
    pub(crate) fn missed(&self, most: usize) -> Vec<(String, String)> {
        let found = self.found();
        let mut missed: Vec<(String, String)> = Vec::new();
        for (url, key) in self.keys() {
            if found.get(&key).is_some_and(|it| it.0 < it.1)
                && let Some((verdict, None)) = self.verdicts.get(&url)
            {
                missed.push((url, verdict.clone()));
            }
        }
        missed.sort();
        missed.truncate(most);
        missed
    }

    /// The shapes of address that were asked for most often, with the number of requests and an
    /// example of each.
    pub(crate) fn most_asked(&self, most: usize) -> Vec<(String, usize, String)> {
        let mut shapes: HashMap<String, (usize, String)> = HashMap::new();
        self.server.log(|log| {
            for (url, _) in &log.requests {
                let sum = shapes.entry(shape(url)).or_insert((0, url.clone()));
                sum.0 += 1;
            }
        });
        let mut shapes: Vec<(String, usize, String)> = shapes
            .into_iter()
            .map(|(shape, (count, example))| (shape, count, example))
            .collect();
        shapes.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
        shapes.truncate(most);
        shapes
    }

    /// The key of each address that was asked for.
    fn keys(&self) -> HashMap<String, String> {
        self.server.log(|log| {
            let keyed = log.requests.iter();
            keyed
                .filter_map(|(url, key)| Some((url.clone(), key.clone()?)))
                .collect()
        })
    }
}

/// A URL without its values and numbers, and at most three segments of its path.
fn shape(url: &str) -> String {
    let (path, query) = url.split_once('?').unwrap_or((url, ""));
    let names: Vec<&str> = query
        .split('&')
        .map(|it| it.split('=').next().unwrap_or_default())
        .collect();
    let parts: Vec<String> = path
        .split('/')
        .skip(3)
        .take(3)
        .map(|it| {
            let is_name = !it.contains(|letter: char| letter.is_ascii_digit());
            if is_name { it } else { "#" }.to_owned()
        })
        .collect();
    format!("/{}?{}", parts.join("/"), names.join("&"))
}

impl Runner {
    /// Serves a site and crawls it to the end, or to the cap on requests.
    pub(crate) fn crawl(&self, name: &str, site: Site) -> Crawl {
        let place = self.directory.join(name);
        let _ = fs::remove_dir_all(&place);
        fs::create_dir_all(&place).expect("the directory is ours");
        let cap = match site.cap {
            0 => site.good.len() * 3 + 20_000,
            cap => cap,
        };
        let server = Server::start(site);
        let config = place.join("gleaner.toml");
        fs::write(&config, self.config(&server)).expect("the directory is ours");
        let data = place.join("data");
        let site = server.site();
        let mut command = self.command(&["crawl", "--quiet", "--json", "--delay", "0s"]);
        command
            .args(["--scope", site.scope, "--config"])
            .arg(&config);
        command.arg("--data-dir").arg(&data).args(&site.seeds);
        let printed = fs::File::create(place.join("stdout")).expect("the directory is ours");
        let said = fs::File::create(place.join("stderr")).expect("the directory is ours");
        command.stdout(printed).stderr(said);
        let start = Instant::now();
        let mut child = command.spawn().expect("the binary is there");
        let code = loop {
            if let Some(status) = child.try_wait().expect("it is our child") {
                break status.code();
            }
            let asked = server.log(|log| log.requests.len());
            if asked > cap || start.elapsed() > self.patience {
                let _ = child.kill();
                let _ = child.wait();
                break None;
            }
            thread::sleep(Duration::from_millis(20));
        };
        let seconds = start.elapsed().as_secs_f64();
        let summary = fs::read_to_string(place.join("stdout")).unwrap_or_default();
        let verdicts = self.verdicts(&data);
        let reasons = if self.asks_why {
            self.reasons(&data, &server)
        } else {
            Vec::new()
        };
        if !self.keep {
            let _ = fs::remove_dir_all(&place);
        }
        Crawl {
            server,
            seconds,
            code,
            summary: serde_json::from_str(&summary).unwrap_or(Value::Null),
            verdicts,
            reasons,
        }
    }

    /// What `gleaner why` says of the first and the last page that is lost.
    fn reasons(&self, data: &Path, server: &Server) -> Vec<String> {
        let lost = server.lost();
        let shown = lost.first().into_iter().chain(lost.iter().skip(1).last());
        let mut reasons = Vec::new();
        for (_, url) in shown {
            let mut command = self.command(&["why", url, "--data-dir"]);
            if let Ok(output) = command.arg(data).output() {
                reasons.push(
                    String::from_utf8_lossy(&output.stdout)
                        .trim_end()
                        .to_owned(),
                );
            }
        }
        reasons
    }

    pub(super) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(&self.gleaner);
        for (name, _) in std::env::vars_os() {
            if name.to_string_lossy().starts_with("GLEANER_") {
                command.env_remove(name);
            }
        }
        command.args(arguments).stdin(Stdio::null());
        command
    }

    /// The configuration file: where the names are, and no politeness.
    fn config(&self, server: &Server) -> String {
        let site = server.site();
        let mut text = String::new();
        let mut hosts = String::new();
        for host in &site.hosts {
            let _ = write!(hosts, "\"{host}\" = [\"{}\"], ", server.address);
        }
        // The lines of a site are of its own sections; these are as keys with dots.
        let _ = writeln!(text, "fetch.hosts = {{ {} }}", hosts.trim_end_matches(", "));
        let _ = writeln!(text, "politeness.address_delay = \"0s\"");
        let _ = writeln!(text, "state.disk_reserve = \"100MiB\"");
        text.push_str(&self.settings);
        text.push('\n');
        text.push_str(&site.settings);
        text
    }

    /// What `gleaner pages` says.
    pub(super) fn verdicts(&self, data: &Path) -> HashMap<String, (String, Option<String>)> {
        let mut command = self.command(&["pages", "--no-text", "--data-dir"]);
        let Ok(output) = command.arg(data).stderr(Stdio::null()).output() else {
            return HashMap::new();
        };
        let lines = String::from_utf8_lossy(&output.stdout);
        let mut verdicts = HashMap::new();
        for line in lines.lines() {
            let page: Value = serde_json::from_str(line).unwrap_or(Value::Null);
            let text = |key: &str| page[key].as_str().map(str::to_owned);
            if let Some(url) = text("url") {
                // A later line about a page supersedes the one before.
                let verdict = text("verdict").unwrap_or_default();
                verdicts.insert(url, (verdict, text("original")));
            }
        }
        verdicts
    }
}
