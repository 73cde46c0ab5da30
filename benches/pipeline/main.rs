//! The way of a page, stage by stage, and a whole crawl beside a floor: a bare client, parser and
//! set of URLs of the same crates.
//!
//! `cargo bench --bench pipeline -- stages` says what each stage costs for a page: CPU time, blocks
//! and bytes of memory, and with `--instructions` instructions, counted by valgrind; `--from-memory
//! 2` says how reading grows with two threads; `--commits 6000` is the number of pages that are
//! committed; `--quick` takes seconds. `-- rows` says how many bytes of which tables a commit
//! writes for a page, of made-up pages or of those of a crawl that stored all bodies: `--of
//! DIRECTORY`. `-- levels` compresses the pages at all levels. `-- crawl` crawls a web of its own
//! on loopback, in turn with the floor: `--pages 6000`, `--rounds 3`, `--gzip` for bodies that come
//! compressed, `--pin` for the crawler on the first core and the web on the second, `--gleaner
//! FILE` for another binary. `-- long` crawls 300,000 pages that are made when they are asked for,
//! and says how speed, memory and state change from tenth to tenth. `-- tls` crawls 2,000 hosts
//! with the default politeness, over TLS and without. Everything is put below `target/tmp`.

#[path = "../trust/text.rs"]
#[expect(
    dead_code,
    clippy::format_push_string,
    reason = "sites of traps need more kinds of text"
)]
mod random;

#[path = "../../tests/support/tls.rs"]
mod authority;

mod child;
mod commit;
mod corpus;
mod counting;
mod crawl;
mod floor;
mod instructions;
mod levels;
mod long;
mod measure;
mod pages;
mod rows;
mod secure;
mod stages;
mod text;
mod tls;
mod web;

use std::fs;
use std::io::Write as _;
use std::path::PathBuf;

use commit::Committed;
use counting::Counting;
use crawl::Plan;
use measure::{Cost, median};
use secure::Serving;
use stages::Stages;

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// What was asked for on the command line.
struct Arguments(Vec<String>);

impl Arguments {
    fn has(&self, flag: &str) -> bool {
        self.0.iter().any(|it| it == flag)
    }

    fn value(&self, flag: &str) -> Option<&str> {
        let at = self.0.iter().position(|it| it == flag)?;
        self.0.get(at + 1).map(String::as_str)
    }

    fn number(&self, flag: &str) -> Option<usize> {
        let value = self.value(flag)?;
        Some(value.parse().expect("the option takes a number"))
    }
}

fn main() {
    let arguments = std::env::args().skip(1).filter(|it| it != "--bench");
    let arguments = Arguments(arguments.collect());
    match arguments.0.first().map(String::as_str) {
        Some("crawl") => whole_crawl(&arguments),
        Some("long") => long_crawl(&arguments),
        Some("tls") => tls_crawls(&arguments),
        Some("rows") => {
            let directory = directory();
            let pages = match arguments.value("--of") {
                Some(crawled) => rows::crawled(crawled.as_ref()),
                None => commit::bodies(arguments.number("--pages").unwrap_or(6_000)),
            };
            rows::rows(&directory.join("rows"), pages);
            let _ = fs::remove_dir_all(&directory);
        }
        Some("levels") if arguments.has("--quick") => levels::levels(FEW_PAGES, 1),
        Some("levels") => levels::levels(PAGES, 9),
        // Processes that this one starts.
        Some("one") => one(&arguments.0[1]),
        Some("web") => {
            let pages = arguments.0[1].parse().expect("a number");
            web::serve(pages, arguments.has("--gzip"), arguments.has("--made"));
        }
        Some("secure") => {
            let name = &arguments.0[1];
            let serving = Serving::ALL.into_iter().find(|it| it.name == name);
            let pages: usize = arguments.0[2].parse().expect("a number");
            secure::serve(
                serving.expect("there is this way"),
                tls::HOSTS,
                pages.div_ceil(tls::HOSTS),
                arguments.0[3].as_ref(),
            );
        }
        Some("floor") => {
            let seeds = fs::read_to_string(&arguments.0[1]).expect("a file of URLs");
            let threads = arguments.0[2].parse().expect("a number");
            floor::crawl(&seeds, threads, arguments.has("--gzip"));
        }
        None | Some("stages") => all_stages(&arguments),
        Some(other) => {
            panic!("there is no `{other}`: `stages`, `rows`, `levels`, `crawl`, `long` or `tls`")
        }
    }
}

fn say(line: &str) {
    let _ = writeln!(std::io::stdout(), "{line}");
}

/// A directory of this process, which is empty.
fn directory() -> PathBuf {
    let name = format!("pipeline-{}", std::process::id());
    let directory = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
    fs::create_dir_all(&directory).expect("the directory is ours");
    directory
}

/// Pages that a stage is measured on, and those of its quick measurement or under valgrind.
const PAGES: usize = 40;
const FEW_PAGES: usize = 20;
/// Pages of commits, likewise.
const COMMITS: usize = 2_560;
const FEW_COMMITS: usize = 320;

/// The commit, as the table and valgrind know it.
const COMMIT: &str = "commit, with the archive";
const BARE_COMMIT: &str = "commit, without the archive";

/// One stage alone, for valgrind.
fn one(name: &str) {
    measure::stop_clocks();
    let directory = directory();
    if [COMMIT, BARE_COMMIT].contains(&name) {
        commit::commit(&directory.join("commit"), FEW_COMMITS, name == COMMIT);
    } else {
        let stages = Stages::new(FEW_PAGES, &directory);
        let stage = stages.all.iter().find(|it| it.name == name);
        stages.watch(stage.expect("a stage has this name"));
    }
    let _ = fs::remove_dir_all(&directory);
}

fn all_stages(arguments: &Arguments) {
    let quick = arguments.has("--quick");
    let directory = directory();
    let (pages, rounds, again) = if quick {
        (FEW_PAGES, 1, 1)
    } else {
        (PAGES, 9, 4)
    };
    let stages = Stages::new(pages, &directory);
    let sizes = stages.sizes();
    say(&format!(
        "{} pages of {} to {} bytes, {} on average; SHA instructions: {}",
        sizes.len(),
        sizes.iter().min().unwrap_or(&0),
        sizes.iter().max().unwrap_or(&0),
        sizes.iter().sum::<usize>() / sizes.len().max(1),
        sha_instructions()
    ));
    let mut rows: Vec<(String, Cost)> = Vec::new();
    let costs = stages.measure(rounds, again);
    rows.extend(stages.all.iter().map(|it| it.name.clone()).zip(costs));
    drop(stages);
    let pages = if quick { FEW_COMMITS } else { COMMITS };
    let pages = arguments.number("--commits").unwrap_or(pages);
    let committed = commits(&directory, pages, if quick { 1 } else { 3 }, &mut rows);
    table(&rows, arguments.has("--instructions"));
    say(&share(&committed));
    if let Some(threads) = arguments.number("--from-memory") {
        say(&grows(
            &directory,
            threads.max(1),
            if quick { 160 } else { 4_000 },
        ));
    }
    let _ = fs::remove_dir_all(&directory);
}

fn whole_crawl(arguments: &Arguments) {
    say(&format!("SHA instructions: {}", sha_instructions()));
    let directory = directory();
    crawl::crawl(&plan(arguments, 6_000), &directory);
    let _ = fs::remove_dir_all(&directory);
}

fn long_crawl(arguments: &Arguments) {
    let directory = directory();
    long::crawl(&plan(arguments, 300_000), &directory);
    let _ = fs::remove_dir_all(&directory);
}

fn tls_crawls(arguments: &Arguments) {
    let directory = directory();
    let plan = Plan {
        rounds: arguments.number("--rounds").unwrap_or(1),
        ..plan(arguments, 20_000)
    };
    tls::crawl(&plan, &directory);
    let _ = fs::remove_dir_all(&directory);
}

fn plan(arguments: &Arguments, pages: usize) -> Plan {
    Plan {
        pages: arguments.number("--pages").unwrap_or(pages),
        rounds: arguments.number("--rounds").unwrap_or(3),
        gzip: arguments.has("--gzip"),
        pin: arguments.has("--pin"),
        gleaner: arguments
            .value("--gleaner")
            .unwrap_or(env!("CARGO_BIN_EXE_gleaner"))
            .into(),
    }
}

/// Commits with and without the archive, in turn; adds what they cost, and returns the rounds with.
fn commits(
    directory: &std::path::Path,
    pages: usize,
    rounds: usize,
    rows: &mut Vec<(String, Cost)>,
) -> Vec<Committed> {
    let round = |archive| commit::commit(&directory.join("commit"), pages, archive);
    let (mut bare, mut whole) = (Vec::new(), Vec::new());
    for _ in 0..rounds {
        bare.push(round(false));
        whole.push(round(true));
    }
    for (name, of) in [(BARE_COMMIT, &bare), (COMMIT, &whole)] {
        let last = of.last().copied().unwrap_or_default();
        let cost = Cost {
            micros: of.iter().map(|it| it.all_threads).collect(),
            blocks: last.blocks,
            bytes: last.bytes,
        };
        rows.push((name.to_owned(), cost));
    }
    whole
}

fn table(rows: &[(String, Cost)], wants_instructions: bool) {
    let counts = wants_instructions && instructions::can_count();
    if wants_instructions && !counts {
        say("valgrind is not installed: instructions are not counted");
    }
    let more = if counts {
        " thousand instructions |"
    } else {
        ""
    };
    say(&format!(
        "| for a page | CPU us, median | least | blocks of memory | kB of memory |{more}"
    ));
    say(&format!(
        "|---|---|---|---|---|{}",
        if counts { "---|" } else { "" }
    ));
    for (name, cost) in rows {
        let counted = if counts {
            in_thousands(name)
        } else {
            String::new()
        };
        say(&format!(
            "| {name} | {:.1} | {:.1} | {:.0} | {:.1} |{counted}",
            cost.median(),
            cost.least(),
            cost.blocks,
            cost.bytes / 1e3,
        ));
    }
}

/// A cell with the instructions of a stage for one page.
fn in_thousands(name: &str) -> String {
    let pages = match [COMMIT, BARE_COMMIT].contains(&name) {
        true => FEW_COMMITS,
        false => FEW_PAGES,
    };
    let counted = instructions::count(name);
    let each = counted.map(|it| format!("{:.1}", it / pages as f64 / 1e3));
    format!(" {} |", each.unwrap_or_else(|| "?".to_owned()))
}

/// The committer's share of the CPU time, and the most pages per second that it leaves.
fn share(committed: &[Committed]) -> String {
    let of = |what: fn(&Committed) -> f64| {
        let values: Vec<f64> = committed.iter().map(what).collect();
        median(&values)
    };
    let (reading, all, own) = (
        of(|it| it.reading),
        of(|it| it.all_threads),
        of(|it| it.own_thread),
    );
    format!(
        "from memory: reading takes {reading:.0} us of CPU time a page, the commit {all:.0}, of which {own:.0} are the \
         committer's own thread, {:.1} % of all: at most {:.0} pages a second on any machine. {:.0} us by the clock, \
         syncs included; {:.0} bytes of archive a page",
        100.0 * own / (reading + all),
        1e6 / own,
        of(|it| it.wall),
        of(|it| it.archived),
    )
}

/// How reading grows with threads.
fn grows(directory: &std::path::Path, threads: usize, pages: usize) -> String {
    let (mut one, mut many) = (Vec::new(), Vec::new());
    for _ in 0..3 {
        one.push(commit::read_with(1, pages, &directory.join("reading")));
        many.push(commit::read_with(
            threads,
            pages,
            &directory.join("reading"),
        ));
    }
    let of = |rounds: &[(f64, f64)], what: fn(&(f64, f64)) -> f64| {
        let values: Vec<f64> = rounds.iter().map(what).collect();
        median(&values)
    };
    let (rate, rates) = (of(&one, |it| it.0), of(&many, |it| it.0));
    let (cpu, cpus) = (of(&one, |it| it.1), of(&many, |it| it.1));
    format!(
        "reading with 1 thread: {rate:.0} pages/s, {cpu:.0} us of CPU time each; with {threads}: {rates:.0} pages/s, \
         {cpus:.0} us each. {:.2} times as many; {:.2} times by CPU time, which counts for nothing that others run",
        rates / rate,
        threads as f64 * cpu / cpus,
    )
}

/// Whether the processor has instructions for SHA-256.
fn sha_instructions() -> &'static str {
    #[cfg(target_arch = "x86_64")]
    let has = std::is_x86_feature_detected!("sha");
    #[cfg(target_arch = "aarch64")]
    let has = std::arch::is_aarch64_feature_detected!("sha2");
    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
    let has = false;
    if has { "yes" } else { "no" }
}
