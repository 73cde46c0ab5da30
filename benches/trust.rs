//! Whether a crawl can be trusted: what it loses of honest sites, when it ends beside traps, which
//! pages of their own it calls duplicates, and what a hostile site costs others.
//! `docs/performance.md` has the commands.
//!
//! The sites are made up from a seed and served on loopback; the crawler is run as a user would
//! run it and judged by what was asked of the server and by what it printed.

#![expect(clippy::print_stdout, reason = "it reports to whoever runs it")]

#[path = "trust/mod.rs"]
mod made_up;

// What the hostile sites need.
#[path = "../tests/support/dns.rs"]
mod dns;
#[path = "../tests/support/tls.rs"]
mod tls_servers;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use made_up::hostile::beside::{Trial, compare};
use made_up::hostile::{Size, rows};
use made_up::run::{Crawl, Runner};
use made_up::site::Site;
use made_up::{honest, siblings, traps};
use serde_json::{Value, json};

/// What was asked for on the command line.
struct Wanted {
    suite: String,
    kinds: Vec<String>,
    scale: f64,
    seeds: u64,
    first_seed: u64,
    json: bool,
    runner: Runner,
    /// Of the suite of hostile sites: milliseconds between two requests of a host, and number of
    /// good hosts and of pages of each.
    delay: u64,
    crowd: (usize, usize),
}

fn main() -> ExitCode {
    let wanted = match wanted() {
        Ok(wanted) => wanted,
        Err(error) => {
            println!("{error}");
            return ExitCode::from(2);
        }
    };
    let good = match wanted.suite.as_str() {
        "honest" => honest(&wanted),
        "traps" => traps(&wanted),
        "siblings" => siblings(&wanted),
        "hostile" => hostile(&wanted),
        other => {
            println!("no suite {other}: honest, traps, siblings, hostile");
            return ExitCode::from(2);
        }
    };
    if good {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}

fn wanted() -> Result<Wanted, String> {
    let directory = std::env::temp_dir().join(format!("gleaner-trust-{}", std::process::id()));
    let mut wanted = Wanted {
        suite: "honest".to_owned(),
        kinds: Vec::new(),
        scale: 1.0,
        seeds: 1,
        first_seed: 1,
        json: false,
        runner: Runner {
            gleaner: PathBuf::from(env!("CARGO_BIN_EXE_gleaner")),
            directory,
            patience: Duration::from_mins(10),
            keep: false,
            settings: String::new(),
            asks_why: false,
        },
        delay: 250,
        crowd: (20, 45),
    };
    let mut arguments = std::env::args().skip(1).filter(|it| it != "--bench");
    let mut words = Vec::new();
    while let Some(argument) = arguments.next() {
        let mut value = || arguments.next().ok_or(format!("{argument} needs a value"));
        match argument.as_str() {
            "--scale" => wanted.scale = number(&value()?)?,
            "--seeds" => wanted.seeds = number(&value()?)?,
            "--seed" => wanted.first_seed = number(&value()?)?,
            "--patience" => wanted.runner.patience = Duration::from_secs(number(&value()?)?),
            "--gleaner" => wanted.runner.gleaner = PathBuf::from(value()?),
            "--directory" => wanted.runner.directory = PathBuf::from(value()?),
            "--keep" => wanted.runner.keep = true,
            "--set" => {
                wanted.runner.settings.push_str(&value()?);
                wanted.runner.settings.push('\n');
            }
            "--delay" => wanted.delay = number(&value()?)?,
            "--hosts" => wanted.crowd.0 = number(&value()?)?,
            "--pages" => wanted.crowd.1 = number(&value()?)?,
            "--why" => wanted.runner.asks_why = true,
            "--json" => wanted.json = true,
            option if option.starts_with('-') => return Err(format!("no option {option}")),
            word => words.push(word.to_owned()),
        }
    }
    if let Some((suite, kinds)) = words.split_first() {
        wanted.suite.clone_from(suite);
        wanted.kinds = kinds.to_vec();
    }
    Ok(wanted)
}

fn number<T: std::str::FromStr>(text: &str) -> Result<T, String> {
    text.parse().map_err(|_| format!("no number: {text}"))
}

/// The kinds that were asked for, with seeds.
fn chosen<T: Copy>(wanted: &Wanted, kinds: &[(&'static str, T)]) -> Vec<(&'static str, T, u64)> {
    let is_wanted =
        |name: &str| wanted.kinds.is_empty() || wanted.kinds.iter().any(|it| it == name);
    let kinds = kinds.iter().filter(|it| is_wanted(it.0));
    let seeds = wanted.first_seed..wanted.first_seed + wanted.seeds;
    kinds
        .flat_map(|(name, make)| seeds.clone().map(|seed| (*name, *make, seed)))
        .collect()
}

fn honest(wanted: &Wanted) -> bool {
    let head = format!(
        "{:<16} {:>4} {:>6} {:>6} {:>7} {:>8} {:>9} {:>6} {:>5} {:>4}  {}",
        "honest site",
        "seed",
        "good",
        "lost",
        "merged",
        "requests",
        "per good",
        "s",
        "ended",
        "exit",
        "an example of what is lost"
    );
    say(wanted, &head);
    let (mut good, mut lost, mut merged, mut requests, mut bad) = (0, 0, 0, 0, 0);
    for (name, make, seed) in chosen(wanted, honest::KINDS) {
        let site: Site = make(seed, wanted.scale);
        let (all, may_lose) = (site.good.len(), site.may_lose);
        let crawl: Crawl = wanted.runner.crawl(name, site);
        let missing = crawl.lost();
        let together = crawl.merged();
        let asked = crawl.requests();
        let is_good = missing.len() as f64 <= may_lose * all as f64 && crawl.ended();
        let example = missing.first().map_or("", |it| &it.1);
        good += all;
        lost += missing.len();
        merged += together.len();
        requests += asked;
        bad += usize::from(!is_good);
        let per = asked as f64 / all as f64;
        let exit = crawl.code.map_or("-".to_owned(), |it| it.to_string());
        let ended = if crawl.ended() { "yes" } else { "NO" };
        say(
            wanted,
            &format!(
                "{name:<16} {seed:>4} {all:>6} {:>6} {:>7} {asked:>8} {per:>9.2} {:>6.1} {ended:>5} {exit:>4}  {example}",
                missing.len(),
                together.len(),
                crawl.seconds
            ),
        );
        for reason in &crawl.reasons {
            say(wanted, reason);
        }
        tell(
            wanted,
            &json!({
                "suite": "honest", "kind": name, "seed": seed, "good": all, "lost": missing.len(),
                "merged": together.len(), "requests": asked, "seconds": crawl.seconds,
                "ended": crawl.ended(), "exit": crawl.code, "is_good": is_good,
                "examples": missing.iter().take(5).map(|it| &it.1).collect::<Vec<_>>(),
                "merged_examples": together.iter().take(5).collect::<Vec<_>>(),
            }),
        );
    }
    say(
        wanted,
        &format!(
            "{:<16} {:>4} {good:>6} {lost:>6} {merged:>7} {requests:>8}  {bad} missed the bar",
            "total", ""
        ),
    );
    bad == 0
}

fn traps(wanted: &Wanted) -> bool {
    say(
        wanted,
        &format!(
            "{:<16} {:>4} {:>6} {:>6} {:>10} {:>7} {:>8} {:>7} {:>6} {:>5} {:>4}",
            "trap",
            "seed",
            "good",
            "lost",
            "good after",
            "at most",
            "requests",
            "at most",
            "s",
            "ended",
            "exit"
        ),
    );
    let mut bad = 0;
    for (name, (make, bound), seed) in chosen(wanted, traps::KINDS) {
        let site: Site = make(seed, made_up::site::scaled(traps::GOOD, wanted.scale));
        let good = site.good.len();
        let most = bound.requests(good);
        let crawl: Crawl = wanted.runner.crawl(name, site);
        let (lost, asked, last) = (crawl.lost(), crawl.requests(), crawl.last_good());
        let is_good = lost.is_empty()
            && crawl.ended()
            && crawl.says_why()
            && last <= bound.good_within
            && asked <= most;
        bad += usize::from(!is_good);
        let exit = crawl.code.map_or("-".to_owned(), |it| it.to_string());
        let ended = if crawl.ended() { "yes" } else { "NO" };
        let asked_most = match wanted.runner.asks_why && !is_good {
            true => crawl.most_asked(6),
            false => Vec::new(),
        };
        let mark = if is_good { "" } else { "  MISSED" };
        say(
            wanted,
            &format!(
                "{name:<16} {seed:>4} {good:>6} {:>6} {last:>10} {:>7} {asked:>8} {:>7} {:>6.1} {ended:>5} {exit:>4}{mark}",
                lost.len(),
                bound.good_within,
                most,
                crawl.seconds
            ),
        );
        for (shape, count, example) in asked_most {
            say(wanted, &format!("  {count:>6} {shape}  {example}"));
        }
        tell(
            wanted,
            &json!({
                "suite": "traps", "kind": name, "seed": seed, "good": good, "lost": lost.len(),
                "good_after": last, "requests": asked, "seconds": crawl.seconds,
                "ended": crawl.ended(), "exit": crawl.code, "is_good": is_good,
                "examples": lost.iter().take(5).map(|it| &it.1).collect::<Vec<_>>(),
            }),
        );
    }
    say(wanted, &format!("{bad} missed the bar"));
    bad == 0
}

fn siblings(wanted: &Wanted) -> bool {
    let head = format!(
        "{:<16} {:>4} {:>6} {:>6} {:>6} {:>8} {:>6} {:>4}  recall by style",
        "siblings", "seed", "pages", "lost", "merged", "requests", "s", "exit"
    );
    say(wanted, &head);
    let mut tally = Tally::default();
    for (name, fill, seed) in chosen(wanted, siblings::KINDS) {
        tally.run(
            wanted,
            name,
            seed,
            siblings::made_up(fill, seed, wanted.scale),
        );
    }
    for (name, places, seed) in chosen(wanted, siblings::REAL) {
        let most = made_up::site::scaled(600, wanted.scale).max(50);
        match siblings::real(places, seed, most) {
            Some(site) => tally.run(wanted, name, seed, site),
            None => say(wanted, &format!("{name:<16} not on this machine")),
        }
    }
    tally.end(wanted)
}

/// Share of their requests that good hosts must see beside a hostile one.
const THROUGHPUT: f64 = 0.8;

/// Bytes that a crawl may take by default: `state.max_memory` and a quarter.
const MEMORY: u64 = (1 << 30) / 4 * 5;

fn hostile(wanted: &Wanted) -> bool {
    say(
        wanted,
        &format!(
            "{:<22} {:>6} {:>5} {:>10} {:>8} {:>8} {:>6} {:>4}  an example of what is lost",
            "hostile site", "pages", "lost", "throughput", "peak MB", "its own", "s", "exit"
        ),
    );
    let trial = Trial {
        runner: wanted.runner.clone(),
        size: if wanted.scale < 1.0 {
            Size::Small
        } else {
            Size::Full
        },
        delay: wanted.delay,
        crowd: wanted.crowd,
    };
    let is_wanted =
        |name: &str| wanted.kinds.is_empty() || wanted.kinds.iter().any(|it| it == name);
    let mut bad = 0;
    for row in rows().into_iter().filter(|row| is_wanted(row.name)) {
        let before = trial.undisturbed(&row);
        let after = trial.disturbed(&row, &before);
        let cost = compare(&before, &after);
        let is_good = cost.lost.is_empty()
            && cost.throughput >= THROUGHPUT
            && after.peak <= MEMORY
            && after.is_done;
        bad += usize::from(!is_good);
        let exit = after.code.map_or("-".to_owned(), |it| it.to_string());
        say(
            wanted,
            &format!(
                "{:<22} {:>6} {:>5} {:>10.2} {:>8} {:>8} {:>6.1} {exit:>4}  {}{}",
                row.name,
                before.pages.len(),
                cost.lost.len(),
                cost.throughput,
                after.peak >> 20,
                after.others,
                after.seconds,
                if is_good { "" } else { "MISSED " },
                cost.lost.first().map_or("", String::as_str),
            ),
        );
        tell(
            wanted,
            &json!({
                "suite": "hostile", "kind": row.name, "pages": before.pages.len(),
                "lost": cost.lost.len(), "throughput": cost.throughput, "peak": after.peak,
                "undisturbed_peak": before.peak, "others": after.others,
                "undisturbed_seconds": before.seconds, "seconds": after.seconds,
                "exit": after.code, "is_good": is_good,
                "examples": cost.lost.iter().take(5).collect::<Vec<_>>(), "said": after.said,
            }),
        );
    }
    say(wanted, &format!("{bad} missed the bar"));
    bad == 0
}

/// What all kinds of siblings came to.
#[derive(Default)]
struct Tally {
    pages: usize,
    lost: usize,
    merged: usize,
    /// Found and planted duplicates, and the bar, by style.
    recall: BTreeMap<String, (usize, usize, f64)>,
    examples: Vec<String>,
}

impl Tally {
    fn run(&mut self, wanted: &Wanted, name: &str, seed: u64, site: Site) {
        let pages = site.good.len();
        let crawl = wanted.runner.crawl(name, site);
        let (lost, merged) = (crawl.lost(), crawl.merged());
        let mut recall: BTreeMap<String, (usize, usize, f64)> = BTreeMap::new();
        for (key, (found, planted)) in crawl.found() {
            if let Some((style, is_restless)) = siblings::style(&key) {
                let (mut style, bar) = style.bar();
                // With a line that changes at each fetch.
                if is_restless {
                    style.push('*');
                }
                for all in [&mut recall, &mut self.recall] {
                    let sum = all.entry(style.clone()).or_insert((0, 0, bar));
                    sum.0 += found;
                    sum.1 += planted;
                }
            }
        }
        self.pages += pages;
        self.lost += lost.len();
        self.merged += merged.len();
        let exit = crawl.code.map_or("-".to_owned(), |it| it.to_string());
        say(
            wanted,
            &format!(
                "{name:<16} {seed:>4} {pages:>6} {:>6} {:>6} {:>8} {:>6.1} {exit:>4}  {}",
                lost.len(),
                merged.len(),
                crawl.requests(),
                crawl.seconds,
                shown(&recall)
            ),
        );
        if wanted.runner.asks_why {
            for (url, original, verdict) in merged.iter().step_by(merged.len().div_ceil(5).max(1)) {
                say(
                    wanted,
                    &format!("  merged {url} is {verdict} of {original}"),
                );
            }
            for (url, verdict) in crawl.missed(usize::MAX).iter().step_by(10).take(12) {
                say(wanted, &format!("  missed {url} is {verdict}"));
            }
        }
        if let Some((url, original, verdict)) = merged.first() {
            self.examples
                .push(format!("{name}: {url} is {verdict} of {original}"));
        }
        tell(
            wanted,
            &json!({
                "suite": "siblings", "kind": name, "seed": seed, "pages": pages, "lost": lost.len(),
                "merged": merged.len(), "requests": crawl.requests(), "seconds": crawl.seconds,
                "exit": crawl.code, "recall": recall,
                "merged_examples": merged.iter().take(5).collect::<Vec<_>>(),
                "missed_examples": crawl.missed(5),
            }),
        );
    }

    fn end(&self, wanted: &Wanted) -> bool {
        for example in &self.examples {
            say(wanted, example);
        }
        say(
            wanted,
            &format!(
                "{} pages, {} lost, {} merged ({:.2} %); {}",
                self.pages,
                self.lost,
                self.merged,
                self.merged as f64 * 100.0 / self.pages.max(1) as f64,
                shown(&self.recall)
            ),
        );
        let found_enough = self
            .recall
            .values()
            .all(|(found, planted, bar)| *found as f64 >= bar * *planted as f64);
        self.lost == 0 && self.merged as f64 <= 0.001 * self.pages as f64 && found_enough
    }
}

/// Recall by style.
fn shown(recall: &BTreeMap<String, (usize, usize, f64)>) -> String {
    let parts = recall.iter().map(|(style, (found, planted, bar))| {
        let mark = if (*found as f64) < bar * *planted as f64 {
            "!"
        } else {
            ""
        };
        format!("{style} {found}/{planted}{mark}")
    });
    parts.collect::<Vec<_>>().join(", ")
}

/// Says a line to people.
fn say(wanted: &Wanted, line: &str) {
    if !wanted.json {
        println!("{line}");
    }
}

/// Says a line to programs.
fn tell(wanted: &Wanted, value: &Value) {
    if wanted.json {
        println!("{value}");
    }
}
