//! The frontier at scale: URLs seen, queues, commits and restarts, with made-up URLs. Says what it
//! takes of processors' time, memory and disk.
//!
//! `cargo bench --bench scale -- seen 100000000` asks a thousand million times whether one of a
//! hundred million URLs was seen; `-- queue 20000000` queues that many and drains the queues; `--
//! commit 20000` commits that many pages (a third number: of new links, for one part of it alone);
//! `-- exchange 1000000` hands in that many links of another shard;
//! `-- restart 10000000` kills a process with that many, a hundred times. A second number is that
//! of hosts (`seen`: of URLs that are expected; `restart`: of kills). `-- power-cut 20` cuts the
//! power of a file system on a loop device, for which one must be root. `-- hosts 1000000 DIR`
//! leaves a data directory with that many hosts, for whatever lists hosts. All else is put below
//! `target/tmp`.

#[path = "scale/commit.rs"]
mod commit;
#[path = "scale/exchange.rs"]
mod exchange;
#[path = "scale/hosts.rs"]
mod hosts;
#[path = "scale/measure.rs"]
mod measure;
#[path = "scale/power_cut.rs"]
mod power_cut;
#[path = "scale/queue.rs"]
mod queue;
#[path = "scale/restart.rs"]
mod restart;
#[path = "scale/seen.rs"]
mod seen;
#[path = "scale/urls.rs"]
mod urls;

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use gleaner::config::Config;
use gleaner::engine::Options;
use gleaner::frontier::ScopeKind;

/// As the binary has it.
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

fn main() {
    let arguments: Vec<String> = std::env::args()
        .skip(1)
        .filter(|it| it != "--bench")
        .collect();
    let number = |at: usize| arguments.get(at).and_then(|it| it.parse::<u64>().ok());
    let what = arguments.first().map(String::as_str);
    if what == Some("fill-until-killed") {
        let directory = Path::new(arguments.get(1).expect("a directory"));
        let [from, hosts] = [2, 3].map(|at| number(at).expect("a number"));
        return restart::fill_until_killed(directory, &options(), from, hosts);
    }
    if what == Some("hosts") {
        let directory = Path::new(arguments.get(2).expect("hosts NUMBER DIRECTORY"));
        assert!(!directory.exists(), "{} is there", directory.display());
        let count = number(1).expect("a number of hosts");
        let figures = hosts::hosts(directory, &options(), count, &say);
        assert!(figures.queued + figures.pages >= count);
        return;
    }
    let directory = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("scale");
    let fresh = || {
        if directory.exists() {
            fs::remove_dir_all(&directory).expect("the directory is ours");
        }
    };
    let wants = |name| what.is_none_or(|it| it == name);
    fresh();
    if wants("seen") {
        let expected = number(2).unwrap_or(10_000_000);
        let count = number(1).unwrap_or(1_000_000);
        let figures = seen::seen(&directory, count, expected, &say);
        assert_eq!((figures.wrong, figures.keys), (0, count));
        say(&format!(
            "all answers right, {:.2} bytes a URL",
            figures.disk
        ));
        fresh();
    }
    if wants("queue") {
        let hosts = number(2).unwrap_or(200_000);
        let count = number(1).unwrap_or(1_000_000);
        let figures = queue::queue(&directory, &options(), (count, hosts), &settled, &say);
        let all = (figures.queued, figures.taken, figures.left);
        assert_eq!(all, (count, count, 0));
        fresh();
    }
    if wants("commit") {
        let (pages, hosts) = (number(1).unwrap_or(10_000), number(2).unwrap_or(10_000));
        let known = pages * 50;
        let parts = [(8, false), (60, false), (8, true)];
        let wanted = number(3);
        for (links, archive) in parts
            .into_iter()
            .filter(|it| wanted.is_none_or(|links| links == it.0))
        {
            let (options, pages) = (options(), (pages, links));
            let known = (known, hosts);
            let figures = commit::commit(&directory, &options, known, pages, archive, &say);
            assert_eq!(figures.admitted, figures.pages * links);
            let queued = known.0 + figures.admitted - figures.pages;
            assert_eq!(figures.queued, queued);
            fresh();
        }
    }
    if wants("exchange") {
        let links = (number(1).unwrap_or(100_000), number(2).unwrap_or(10_000));
        let queued = exchange::exchange(&directory, options(), links, &say);
        assert_eq!(queued, links.0);
        fresh();
    }
    if what == Some("power-cut") {
        cut_power(&directory, number(1).unwrap_or(20));
    }
    if wants("restart") {
        let (count, kills) = (number(1).unwrap_or(1_000_000), number(2).unwrap_or(100));
        let hosts = (count / 100).max(1);
        let exe = std::env::current_exe().expect("this bench runs");
        let command = |from: u64| {
            let mut command = Command::new(&exe);
            command.arg("fill-until-killed").arg(&directory);
            command.args([from.to_string(), hosts.to_string()]);
            command
        };
        let sizes = (count, hosts, kills);
        let figures = restart::restart(&directory, &options(), sizes, command, &say);
        say(&format!(
            "{kills} kills, {} URLs: none lost, none twice; first URL after {:.2} s at most, after {:.2} s where files were lost",
            figures.admitted,
            figures.first.as_secs_f64(),
            figures.rebuilt.as_secs_f64(),
        ));
        fresh();
    }
}

fn say(line: &str) {
    let _ = writeln!(std::io::stdout(), "{line}");
}

/// Cuts the power so many times.
fn cut_power(directory: &Path, cuts: u64) {
    let exe = std::env::current_exe().expect("this bench runs");
    let command = |directory: &Path| {
        let mut command = Command::new(&exe);
        command.arg("fill-until-killed").arg(directory);
        command.args(["0", "1000"]);
        command
    };
    power_cut::power_cut(directory, &options(), (cuts, 1_000), command, &say);
}

/// The defaults of a crawl, of any host.
fn options() -> Options {
    let mut config = Config::default();
    // The largest host has a twentieth of all.
    config.traps.max_pages_per_host = u64::MAX;
    config.traps.max_pages_per_domain = u64::MAX;
    let mut options = config.options().expect("the defaults are sound");
    options.scope = ScopeKind::Any;
    options
}

/// Waits until the size of a directory stays the same, which it does when nothing is compacted any
/// more; half a minute at most.
fn settled(path: &Path) -> u64 {
    let (mut size, mut calm) = (measure::on_disk(path), 0);
    for _ in 0..30 {
        std::thread::sleep(Duration::from_secs(1));
        let now = measure::on_disk(path);
        calm = if now == size { calm + 1 } else { 0 };
        size = now;
        if calm == 3 {
            break;
        }
    }
    size
}
