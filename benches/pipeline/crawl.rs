//! A whole crawl beside the floor, in turn, on a web of its own.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::child::{self, Usage};
use crate::measure::median;
use crate::web::{Asked, Web};

/// What is crawled, and with what.
pub(crate) struct Plan {
    /// Pages of the web.
    pub(crate) pages: usize,
    /// Crawls by each.
    pub(crate) rounds: usize,
    /// Whether bodies come compressed.
    pub(crate) gzip: bool,
    /// Whether the crawler has the first core, and the web the second.
    pub(crate) pin: bool,
    /// The binary.
    pub(crate) gleaner: PathBuf,
}

/// The columns of a run.
const HEADER: &str = "| crawler | pages | missed | again | other requests | CPU s | wall s \
    | pages per CPU s | pages/s | peak MB | of it anonymous |";

/// One crawl.
#[derive(Debug, Clone)]
struct Run {
    usage: Usage,
    asked: Asked,
}

/// Crawls in turn; files are put into `directory`.
pub(crate) fn crawl(plan: &Plan, directory: &Path) {
    let coding = plan.gzip.then_some("--gzip");
    let mut web = Web::start(plan.pages, coding.as_slice(), plan.pin.then_some(1));
    let seeds = directory.join("seeds.txt");
    fs::write(&seeds, web.seeds().join("\n") + "\n").expect("the directory is ours");
    let data = directory.join("crawl");
    let mut crawlers = [
        ("floor", floor(plan, &seeds), Vec::new()),
        ("gleaner", gleaner(plan, &seeds, &data), Vec::new()),
    ];
    crate::say(HEADER);
    crate::say("|---|---|---|---|---|---|---|---|---|---|---|");
    for _ in 0..plan.rounds {
        for (name, command, runs) in &mut crawlers {
            web.asked();
            let usage = child::run(command, plan.pin.then_some(0));
            let asked = web.asked();
            let run = Run { usage, asked };
            crate::say(&run.row(name));
            runs.push(run);
            if data.exists() {
                fs::remove_dir_all(&data).expect("the directory is ours");
            }
        }
    }
    for (name, _, runs) in &crawlers {
        if let Some(run) = runs.last() {
            crate::say(&run.threads(name));
        }
    }
    let [floor, gleaner] = crawlers.map(|(_, _, runs)| runs);
    let of = |runs: &[Run], what: fn(&Run) -> f64| {
        let values: Vec<f64> = runs.iter().map(what).collect();
        median(&values)
    };
    let (own, floors) = (of(&gleaner, Run::per_cpu), of(&floor, Run::per_cpu));
    crate::say(&format!(
        "medians: gleaner {own:.0} pages per CPU second, the floor {floors:.0}: {:.2} of the floor; peak memory {:.0} MB, \
         the floor's {:.0}; at most {} pages missed and {} fetched again",
        own / floors,
        of(&gleaner, |run| run.usage.peak),
        of(&floor, |run| run.usage.peak),
        most(&gleaner, |run| run.asked.missed),
        most(&gleaner, |run| run.asked.again),
    ));
}

fn most(runs: &[Run], what: fn(&Run) -> u64) -> u64 {
    runs.iter().map(what).max().unwrap_or(0)
}

impl Run {
    fn per_cpu(&self) -> f64 {
        self.asked.pages as f64 / self.usage.cpu.max(0.01)
    }

    /// The threads that take the most, in microseconds a page.
    fn threads(&self, name: &str) -> String {
        let mut threads: Vec<_> = self.usage.threads.iter().collect();
        threads.sort_by(|a, b| b.1.total_cmp(a.1));
        let pages = self.asked.pages.max(1) as f64;
        let each = |seconds: f64| seconds * 1e6 / pages;
        let seen: f64 = threads.iter().map(|it| it.1).sum();
        let mut said: Vec<String> = threads
            .iter()
            .take(8)
            .map(|(name, seconds)| format!("{name} {:.0}", each(**seconds)))
            .collect();
        said.push(format!("not seen {:.0}", each(self.usage.cpu - seen)));
        format!(
            "{name}, us of CPU time a page by threads: {}",
            said.join(", ")
        )
    }

    fn row(&self, name: &str) -> String {
        let Self { usage, asked } = self;
        format!(
            "| {name} | {} | {} | {} | {} | {:.2} | {:.2} | {:.0} | {:.0} | {:.0} | {:.0} |",
            asked.pages,
            asked.missed,
            asked.again,
            asked.other,
            usage.cpu,
            usage.wall,
            self.per_cpu(),
            asked.pages as f64 / usage.wall,
            usage.peak,
            usage.anonymous,
        )
    }
}

fn floor(plan: &Plan, seeds: &Path) -> Command {
    let mut command = Command::new(std::env::current_exe().expect("this bench runs"));
    // A thread for each core that it may use.
    command.arg("floor").arg(seeds);
    command.arg(if plan.pin { "1" } else { "2" });
    command.args(plan.gzip.then_some("--gzip"));
    command.stdout(Stdio::null());
    command
}

/// The whole pipeline with its defaults, but for politeness.
pub(crate) fn gleaner(plan: &Plan, seeds: &Path, data: &Path) -> Command {
    let mut command = Command::new(&plan.gleaner);
    command.arg("crawl").arg("--seeds").arg(seeds);
    command.arg("--data-dir").arg(data);
    command.args(["--robots", "ignore", "--delay", "0s", "--concurrency", "64"]);
    command.arg("--quiet").stdout(Stdio::null());
    // Its settings are those of the command line alone.
    for (name, _) in std::env::vars_os() {
        if name.to_string_lossy().starts_with("GLEANER") {
            command.env_remove(name);
        }
    }
    command
}
