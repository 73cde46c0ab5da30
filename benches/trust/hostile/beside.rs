//! Crawls good hosts with and without a hostile one beside them, and compares what came of them.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use gleaner::archive;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use super::good::{self, Good};
use super::web::Web;
use super::{Row, Size};
use crate::made_up::run::Runner;

/// How long a crawl may take to stop when it is asked to.
const STOPPING: Duration = Duration::from_mins(1);

/// How crawls are made.
#[derive(Debug, Clone)]
pub(crate) struct Trial {
    pub(crate) runner: Runner,
    pub(crate) size: Size,
    /// Time between two requests of a host, in milliseconds; of an address, a quarter of it.
    pub(crate) delay: u64,
    /// Number of good hosts besides those that a row names, and of pages of each.
    pub(crate) crowd: (usize, usize),
}

/// What came of the good hosts of a crawl.
#[derive(Debug, Default)]
pub(crate) struct Seen {
    /// The name of each page, which duplicates have together, and the verdicts of all that have it:
    /// which of them is met first may differ from crawl to crawl.
    pub(crate) pages: BTreeMap<String, (String, BTreeSet<String>)>,
    /// Digests of what the archive has of each page.
    pub(crate) kept: BTreeMap<String, BTreeSet<String>>,
    /// When they were asked for something, since the start of the crawl.
    pub(crate) requests: Vec<(String, Duration)>,
    /// Requests of other hosts.
    pub(crate) others: usize,
    /// The most memory that the crawl took, in bytes; 0 where that cannot be read.
    pub(crate) peak: u64,
    /// Whether it came to its end, or was ended when all was done.
    pub(crate) is_done: bool,
    /// Exit code; none if it had to be killed.
    pub(crate) code: Option<i32>,
    pub(crate) seconds: f64,
    /// What it said.
    pub(crate) said: String,
}

/// What a hostile host cost the others.
#[derive(Debug)]
pub(crate) struct Cost {
    /// Pages that are not there, or of which something else is told, and what.
    pub(crate) lost: Vec<String>,
    /// Requests that the good hosts saw in the time that all their pages take, as a share.
    pub(crate) throughput: f64,
}

impl Trial {
    /// Crawls the good hosts of a row alone.
    pub(crate) fn undisturbed(&self, row: &Row) -> Seen {
        self.crawl(row, None)
    }

    /// Crawls them beside the hostile host, until all is done that the other crawl did.
    pub(crate) fn disturbed(&self, row: &Row, undisturbed: &Seen) -> Seen {
        self.crawl(row, Some(undisturbed))
    }

    fn crawl(&self, row: &Row, undisturbed: Option<&Seen>) -> Seen {
        let mut web = Web::start();
        let mut goods: Vec<Good> = (row.good)();
        goods.extend((0..self.crowd.0).map(|n| good::crowd(n, self.crowd.1)));
        let mut seeds: Vec<String> = goods.iter().map(Good::seed).collect();
        for good in goods {
            web.good(good);
        }
        if undisturbed.is_some() {
            seeds.splice(0..0, (row.hostile)(&mut web, self.size));
        }
        let name = format!("{}-{}", row.name, u8::from(undisturbed.is_some()));
        let place = self.runner.directory.join(name);
        let _ = fs::remove_dir_all(&place);
        fs::create_dir_all(&place).expect("the directory is ours");
        let seen = self.run(row, &web, &seeds, undisturbed, &place);
        if !self.runner.keep {
            let _ = fs::remove_dir_all(&place);
        }
        seen
    }

    fn run(
        &self,
        row: &Row,
        web: &Web,
        seeds: &[String],
        undisturbed: Option<&Seen>,
        place: &Path,
    ) -> Seen {
        let (config, data) = (place.join("gleaner.toml"), place.join("data"));
        let settings = format!(
            "{}\nfetch.user_agent = \"test (+https://example.org)\"\ncrawl.scope = \"any\"\n\
             politeness.delay = \"{}ms\"\npoliteness.address_delay = \"{}ms\"\n\
             dedup.seed = 0\nstate.disk_reserve = \"100MiB\"\n{}\n{}\n",
            web.settings(),
            self.delay,
            self.delay / 4,
            self.runner.settings,
            row.settings,
        );
        fs::write(&config, settings).expect("the directory is ours");
        let mut command = self.runner.command(&["crawl", "--quiet", "--config"]);
        command
            .arg(&config)
            .arg("--data-dir")
            .arg(&data)
            .args(seeds);
        let said = fs::File::create(place.join("stderr")).expect("the directory is ours");
        command.stdout(Stdio::null()).stderr(said);
        let start = Instant::now();
        let child = command.spawn().expect("the binary is there");
        let awaited = undisturbed.filter(|_| !row.ends).map(|it| Awaited {
            urls: it.requests.iter().map(|(url, _)| url.clone()).collect(),
            log: data.join("log"),
            read: 0,
        });
        let watched = self.watch(child, web, awaited);
        let seconds = start.elapsed().as_secs_f64();
        let requests = web.asked().into_iter();
        let requests = requests.map(|it| (it.url, it.at.saturating_duration_since(start)));
        Seen {
            pages: self.pages(&data),
            kept: kept(&data),
            requests: requests.collect(),
            others: web.others(),
            peak: watched.peak,
            is_done: watched.is_done,
            code: watched.code,
            seconds,
            said: fs::read_to_string(place.join("stderr")).unwrap_or_default(),
        }
    }

    /// Waits for the end of a crawl, or until all that is awaited is committed, and then ends it:
    /// in a test by a kill, since a stop waits some seconds for what hangs.
    fn watch(&self, mut child: Child, web: &Web, mut awaited: Option<Awaited>) -> Watched {
        let deadline = Instant::now() + self.runner.patience;
        let mut watched = Watched::default();
        while !watched.is_done && Instant::now() < deadline {
            if watched.has_ended(&mut child) {
                watched.is_done = true;
                return watched;
            }
            watched.is_done = awaited.as_mut().is_some_and(Awaited::is_committed);
            web.wait_for_more_than(web.asked().len(), Duration::from_millis(20));
        }
        let pid = Pid::from_child(&child);
        let deadline = Instant::now() + STOPPING;
        if self.size == Size::Full && kill_process(pid, Signal::TERM).is_ok() {
            while Instant::now() < deadline && !watched.has_ended(&mut child) {
                thread::sleep(Duration::from_millis(20));
            }
            watched.is_done &= watched.code.is_some();
        }
        let _ = child.kill();
        let _ = child.wait();
        watched
    }

    /// Name of each page, and the verdicts of all that have it.
    fn pages(&self, data: &Path) -> BTreeMap<String, (String, BTreeSet<String>)> {
        let mut command = self.runner.command(&["dups", "--data-dir"]);
        let output = command.arg(data).stderr(Stdio::null()).output();
        let output = output.expect("the binary is there");
        let mut names = BTreeMap::new();
        for line in String::from_utf8_lossy(&output.stdout).lines() {
            let cluster: Value = serde_json::from_str(line).unwrap_or(Value::Null);
            let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
            names.insert(text(&cluster["original"]), text(&cluster["canonical"]));
        }
        let mut named = BTreeMap::new();
        let mut together: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        for (url, (verdict, original)) in self.runner.verdicts(data) {
            let original = original.unwrap_or_else(|| url.clone());
            let name = names.get(&original).cloned().unwrap_or(original);
            together.entry(name.clone()).or_default().insert(verdict);
            named.insert(url, name);
        }
        let with_verdicts = named.into_iter().map(|(url, name)| {
            let verdicts = together.get(&name).cloned().unwrap_or_default();
            (url, (name, verdicts))
        });
        with_verdicts.collect()
    }
}

/// Digests of what an archive has of each URL.
fn kept(data: &Path) -> BTreeMap<String, BTreeSet<String>> {
    let mut kept: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    let files = fs::read_dir(data.join("warc")).into_iter().flatten();
    for file in files
        .flatten()
        .filter(|it| archive::is_archive_file(&it.path()))
    {
        let records = archive::records(file.path()).into_iter().flatten();
        for record in records.map_while(Result::ok) {
            if let (Some(url), Some(digest)) = (
                record.header("WARC-Target-URI"),
                record.header("WARC-Payload-Digest"),
            ) && matches!(record.header("WARC-Type"), Some("response" | "revisit"))
            {
                let of_url = kept.entry(url.to_owned()).or_default();
                of_url.insert(digest.to_owned());
            }
        }
    }
    kept
}

/// What is known of the process of a crawl.
#[derive(Debug, Default)]
struct Watched {
    is_done: bool,
    code: Option<i32>,
    peak: u64,
}

impl Watched {
    /// Whether the process has ended.
    fn has_ended(&mut self, child: &mut Child) -> bool {
        self.peak = self.peak.max(high_water(child));
        match child.try_wait() {
            Ok(Some(status)) => {
                self.code = status.code();
                true
            }
            _ => false,
        }
    }
}

/// URLs of which a crawl has no line in its log so far.
struct Awaited {
    urls: BTreeSet<String>,
    log: PathBuf,
    /// The end of the lines that were read.
    read: usize,
}

impl Awaited {
    /// Whether lines about all of them are committed.
    fn is_committed(&mut self) -> bool {
        let said = fs::read_to_string(self.log.join("acknowledged")).unwrap_or_default();
        let bytes = said.split(' ').nth(1).and_then(|it| it.parse().ok());
        let bytes = bytes.unwrap_or(0).max(self.read);
        let mut lines = vec![0; bytes - self.read];
        let file = File::open(self.log.join("fetch.jsonl"));
        let read = file.and_then(|it| it.read_exact_at(&mut lines, self.read as u64));
        if read.is_ok() {
            self.read = bytes;
            for line in String::from_utf8_lossy(&lines).lines() {
                let line: Value = serde_json::from_str(line).unwrap_or(Value::Null);
                self.urls.remove(line["url"].as_str().unwrap_or_default());
            }
        }
        self.urls.is_empty()
    }
}

/// The most memory that a process has taken so far.
fn high_water(child: &Child) -> u64 {
    let status = fs::read_to_string(format!("/proc/{}/status", child.id()));
    let status = status.unwrap_or_default();
    let line = status.lines().find_map(|it| it.strip_prefix("VmHWM:"));
    let kilobytes = line.and_then(|it| it.trim().strip_suffix(" kB")?.parse::<u64>().ok());
    kilobytes.unwrap_or(0) << 10
}

/// Compares what came of good hosts beside a hostile one with what came of them without it.
pub(crate) fn compare(undisturbed: &Seen, disturbed: &Seen) -> Cost {
    let mut lost = Vec::new();
    let unknown = ("not there".to_owned(), BTreeSet::new());
    for (url, before) in &undisturbed.pages {
        let after = disturbed.pages.get(url).unwrap_or(&unknown);
        if before.0 != after.0 || !after.1.is_superset(&before.1) {
            lost.push(format!("{url}: {after:?}, and was {before:?}"));
        }
    }
    for (url, digests) in &undisturbed.kept {
        let after = disturbed.kept.get(url);
        if after.is_none_or(|after| !after.is_superset(digests)) {
            lost.push(format!(
                "{url}: the archive has {after:?}, and had {digests:?}"
            ));
        }
    }
    let last = undisturbed
        .requests
        .last()
        .map_or(Duration::ZERO, |it| it.1);
    let in_time = disturbed.requests.iter().filter(|it| it.1 <= last).count();
    Cost {
        lost,
        throughput: in_time as f64 / undisturbed.requests.len().max(1) as f64,
    }
}
