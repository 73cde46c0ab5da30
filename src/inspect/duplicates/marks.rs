//! What people say of verdicts: `marks.jsonl` in the data directory, a line each, the last of a URL
//! counts. From what was marked follow how precise each tier is, and how a kind of wrong verdicts
//! is undone.
//!
//! Lines are appended whole, so several programs may mark at once; a torn one is no mark.

use std::collections::BTreeMap;
use std::fs::OpenOptions;
use std::io::{self, BufRead as _, BufReader, ErrorKind, Read as _, Write as _};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::dedup::Tier;
use crate::inspect::{Error, Why};
use crate::url::{self, HostKey};

/// Name of the file.
const FILE: &str = "marks.jsonl";
/// Maximum size of the file, some hundred thousand marks: whoever reads it holds the last of each
/// URL.
const MAX_FILE: u64 = 64 << 20;
/// Maximum length of a line: two URLs and some words.
const MAX_LINE: u64 = 64 << 10;
/// Number of marks that are listed, and of rules.
const LISTED: usize = 100;
/// The normal quantile of an interval that holds in 95 of 100 cases.
const QUANTILE: f64 = 1.959_964;

/// What a person says of a verdict.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Mark {
    /// The page says what its original says.
    Right,
    /// It is a page of its own.
    Wrong,
}

/// A verdict that was marked.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Marked {
    /// When (RFC 3339).
    pub time: String,
    /// The duplicate.
    pub url: String,
    /// Its original.
    pub original: String,
    /// The tier that found it.
    pub tier: Tier,
    /// What was said; `None` takes back what was said before.
    pub mark: Option<Mark>,
}

/// What was marked, and what follows.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct MarksNow {
    /// The tiers of which duplicates were marked.
    pub tiers: Vec<Precision>,
    /// The last that were marked, newest first.
    pub marks: Vec<Marked>,
    /// How wrong verdicts are undone, the most frequent first.
    pub undo: Vec<Undo>,
}

/// How many duplicates of a tier were marked right. If they were drawn at random, the precision of
/// the tier is between `low` and `high` in 95 of 100 cases (E. B. Wilson, "Probable inference, the
/// law of succession, and statistical inference", 1927).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Precision {
    /// The tier.
    pub tier: Tier,
    /// Number of duplicates that were marked.
    pub marked: u64,
    /// Number of them that are right.
    pub right: u64,
    /// Share of them that are right.
    pub precision: f64,
    /// Least share of all duplicates of the tier.
    pub low: f64,
    /// Greatest share.
    pub high: f64,
}

/// How wrong verdicts of a tier at a host are undone.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Undo {
    /// The tier.
    pub tier: Tier,
    /// The host, and the directory that all of them are in.
    pub pages: String,
    /// Number of verdicts that were marked wrong.
    pub wrong: u64,
    /// A rule for the configuration: pages like these are found by cheaper tiers only.
    pub rule: String,
    /// The command that brings back all of the tier at the host, when the crawl does not run.
    pub command: String,
    /// The command that brings back only those that were marked.
    pub single: String,
}

impl Marked {
    /// What is said of the verdict on a URL now; `None` if it is no duplicate.
    pub fn of(why: &Why, mark: Option<Mark>) -> Option<Self> {
        let visit = why.visit.as_ref()?;
        let mut tiers = Tier::ALL.into_iter();
        Some(Self {
            time: format!("{:.3}", jiff::Timestamp::now()),
            url: visit.url.clone(),
            original: visit.original.clone()?,
            tier: tiers.find(|tier| tier.name() == visit.verdict)?,
            mark,
        })
    }
}

fn path(data: &Path) -> PathBuf {
    data.join(FILE)
}

fn failed(data: &Path) -> impl Fn(io::Error) -> Error {
    let path = path(data);
    move |source| Error::Marks {
        path: path.clone(),
        source,
    }
}

/// Writes what a person says of a verdict, durably.
///
/// # Errors
///
/// [`Error::Marks`] if the file cannot be written, or is full.
pub fn mark(data: &Path, marked: &Marked) -> Result<(), Error> {
    let failed = failed(data);
    let mut line = serde_json::to_vec(marked).unwrap_or_default();
    line.push(b'\n');
    let mut file = OpenOptions::new()
        .create(true)
        .append(true)
        .open(path(data))
        .map_err(&failed)?;
    if file.metadata().map_err(&failed)?.len() >= MAX_FILE {
        let full = format!("it has {MAX_FILE} bytes, and that is all it may have; move it away");
        return Err(failed(io::Error::other(full)));
    }
    file.write_all(&line).map_err(&failed)?;
    file.sync_data().map_err(&failed)
}

/// Reads what was marked. `directory` is how commands are to name the data directory.
///
/// # Errors
///
/// [`Error::Marks`] if the file is there and cannot be read.
pub fn marks(data: &Path, directory: &str) -> Result<MarksNow, Error> {
    let last = marks_by_url(data)?;
    let mut now = MarksNow::default();
    for tier in Tier::ALL {
        let of_tier = last.values().filter(|it| it.tier == tier);
        let marks: Vec<Mark> = of_tier.filter_map(|it| it.mark).collect();
        let right = marks.iter().filter(|it| **it == Mark::Right).count() as u64;
        now.tiers.extend(precision(tier, right, marks.len() as u64));
    }
    now.undo = undo(&last, directory);
    now.marks = last.into_values().filter(|it| it.mark.is_some()).collect();
    now.marks
        .sort_by(|a, b| b.time.cmp(&a.time).then_with(|| a.url.cmp(&b.url)));
    now.marks.truncate(LISTED);
    Ok(now)
}

/// Reads what was said last of each URL.
///
/// # Errors
///
/// [`Error::Marks`] if the file is there and cannot be read.
pub(crate) fn marks_by_url(data: &Path) -> Result<BTreeMap<String, Marked>, Error> {
    let failed = failed(data);
    let file = match std::fs::File::open(path(data)) {
        Ok(file) => file,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(BTreeMap::new()),
        Err(error) => return Err(failed(error)),
    };
    let mut file = BufReader::new(file.take(MAX_FILE + MAX_LINE));
    let mut last = BTreeMap::new();
    let mut line = Vec::new();
    loop {
        line.clear();
        let read = file.by_ref().take(MAX_LINE).read_until(b'\n', &mut line);
        if read.map_err(&failed)? == 0 {
            return Ok(last);
        }
        if let Ok(marked) = serde_json::from_slice::<Marked>(&line) {
            last.insert(marked.url.clone(), marked);
        }
    }
}

fn precision(tier: Tier, right: u64, marked: u64) -> Option<Precision> {
    if marked == 0 {
        return None;
    }
    let (n, share) = (marked as f64, right as f64 / marked as f64);
    let square = QUANTILE * QUANTILE;
    let middle = (share + square / (2.0 * n)) / (1.0 + square / n);
    let half =
        QUANTILE / (1.0 + square / n) * (share * (1.0 - share) / n + square / (4.0 * n * n)).sqrt();
    Some(Precision {
        tier,
        marked,
        right,
        precision: share,
        low: (middle - half).max(0.0),
        high: (middle + half).min(1.0),
    })
}

/// How what was marked wrong is undone, by tier and host.
fn undo(last: &BTreeMap<String, Marked>, directory: &str) -> Vec<Undo> {
    let mut kinds: BTreeMap<(Tier, String), Vec<url::Url>> = BTreeMap::new();
    for marked in last.values().filter(|it| it.mark == Some(Mark::Wrong)) {
        if let Ok(url) = url::parse(&marked.url) {
            let host = HostKey::of(&url);
            let host = host.as_str().split_once("://").map_or("", |(_, name)| name);
            let host = host.to_owned();
            kinds.entry((marked.tier, host)).or_default().push(url);
        }
    }
    let mut undo: Vec<Undo> = kinds
        .into_iter()
        .map(|((tier, host), urls)| {
            let pages = format!("{host}{}", directory_of(&urls));
            let cheaper = Tier::ALL.into_iter().take_while(|it| *it != tier);
            let cheaper: Vec<String> = cheaper.map(|it| format!("{:?}", it.name())).collect();
            let all: Vec<String> = urls.iter().map(|url| quoted(url.as_str())).collect();
            let directory = quoted(directory);
            Undo {
                rule: format!(
                    "[[dedup.rule]]\nmatch = [{:?}]\ntiers = [{}]\n",
                    pages,
                    cheaper.join(", ")
                ),
                command: format!(
                    "gleaner restore --data-dir {directory} --tier {} --host {host}",
                    tier.name()
                ),
                single: format!("gleaner restore --data-dir {directory} {}", all.join(" ")),
                wrong: urls.len() as u64,
                tier,
                pages,
            }
        })
        .collect();
    undo.sort_by(|a, b| b.wrong.cmp(&a.wrong).then_with(|| a.pages.cmp(&b.pages)));
    undo.truncate(LISTED);
    undo
}

/// The directory that all URLs are in.
fn directory_of(urls: &[url::Url]) -> String {
    let mut common: Option<Vec<&str>> = None;
    for url in urls {
        let mut parts: Vec<&str> = url.path().split('/').collect();
        parts.pop();
        common = Some(match common {
            Some(common) => {
                let same = common
                    .iter()
                    .zip(&parts)
                    .take_while(|(a, b)| a == b)
                    .count();
                common.into_iter().take(same).collect()
            }
            None => parts,
        });
    }
    format!("{}/", common.unwrap_or_default().join("/"))
}

/// A word of a command line for the shell.
fn quoted(word: &str) -> String {
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "-_./:%+,@=".contains(letter);
    match !word.is_empty() && word.chars().all(is_plain) {
        true => word.to_owned(),
        false => format!("'{}'", word.replace('\'', "'\\''")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn marked(url: &str, tier: Tier, mark: Option<Mark>, minute: u32) -> Marked {
        Marked {
            time: format!("2026-01-02T03:{minute:02}:00Z"),
            url: url.to_owned(),
            original: "http://a.example/".to_owned(),
            tier,
            mark,
        }
    }

    #[test]
    fn the_last_mark_of_a_page_counts() {
        let place = tempfile::tempdir().unwrap();
        let data = place.path();
        assert_eq!(marks(data, "crawl").unwrap(), MarksNow::default());
        let (right, wrong) = (Some(Mark::Right), Some(Mark::Wrong));
        for (at, (url, mark)) in [
            ("http://a.example/1", right),
            ("http://a.example/2", wrong),
            ("http://a.example/1", wrong),
            ("http://a.example/3", wrong),
            ("http://a.example/3", None),
            ("http://a.example/4", right),
        ]
        .into_iter()
        .enumerate()
        {
            mark_at(data, url, mark, at);
        }
        // A line that was torn by a crash, and one of another kind.
        let mut file = OpenOptions::new().append(true).open(path(data)).unwrap();
        file.write_all(b"{\"time\":\n[]\n").unwrap();
        let now = marks(data, "crawl").unwrap();
        let [near] = &now.tiers[..] else {
            panic!("{now:?}");
        };
        assert_eq!((near.tier, near.marked, near.right), (Tier::Near, 3, 1));
        let urls: Vec<&str> = now.marks.iter().map(|it| &*it.url).collect();
        assert_eq!(
            urls,
            [
                "http://a.example/4",
                "http://a.example/1",
                "http://a.example/2"
            ]
        );
    }

    fn mark_at(data: &Path, url: &str, said: Option<Mark>, minute: usize) {
        let minute = u32::try_from(minute).unwrap();
        mark(data, &marked(url, Tier::Near, said, minute)).unwrap();
    }

    #[test]
    fn the_interval_is_wilsons() {
        let of = |right, marked| precision(Tier::Near, right, marked).unwrap();
        let check = |right, marked, low: f64, high: f64| {
            let it = of(right, marked);
            assert!(
                (it.low - low).abs() < 0.001 && (it.high - high).abs() < 0.001,
                "{it:?}"
            );
        };
        // Computed by other means.
        check(9, 10, 0.596, 0.982);
        check(10, 10, 0.722, 1.0);
        check(0, 10, 0.0, 0.278);
        check(95, 100, 0.888, 0.978);
        assert_eq!(precision(Tier::Near, 0, 0), None);
    }

    #[test]
    fn wrong_verdicts_are_undone_by_tier_and_host() {
        let wrong = Some(Mark::Wrong);
        let last = [
            marked("http://a.example/shop/x/1", Tier::Near, wrong, 1),
            marked("http://a.example/shop/y/2?b='c'", Tier::Near, wrong, 2),
            marked("http://a.example/other", Tier::Content, wrong, 3),
            marked("http://b.example:81/p/q", Tier::Near, Some(Mark::Right), 4),
        ];
        let last = last.into_iter().map(|it| (it.url.clone(), it)).collect();
        let undo = undo(&last, "my crawl");
        assert_eq!(undo.len(), 2);
        let first = &undo[0];
        assert_eq!((first.wrong, &*first.pages), (2, "a.example/shop/"));
        assert_eq!(
            first.rule,
            "[[dedup.rule]]\nmatch = [\"a.example/shop/\"]\ntiers = [\"raw\", \"normalized\", \"content\"]\n"
        );
        assert_eq!(
            first.command,
            "gleaner restore --data-dir 'my crawl' --tier near --host a.example"
        );
        assert!(
            first
                .single
                .ends_with(" http://a.example/shop/x/1 'http://a.example/shop/y/2?b=%27c%27'"),
            "{}",
            first.single
        );
        assert_eq!(undo[1].pages, "a.example/");
        assert!(
            undo[1]
                .rule
                .ends_with("tiers = [\"raw\", \"normalized\"]\n")
        );
    }
}
