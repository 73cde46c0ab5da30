//! Documents through the index as a crawl's committer sends them: store, deltas, sled, witness
//! column and runs, without network and archive. Says what that takes of time, memory and disk,
//! then kills the process twenty times and deletes sled's folder.
//!
//! `cargo bench --bench documents` takes ten million pages, an hour and 20 GB in `target/tmp`;
//! `cargo bench --bench documents -- 100000` fewer. `-- fill`, `restart`, `pauses`, `kill`, `lose`
//! are its parts; without the others each takes the directory as the one before left it. `--
//! minhash fill` says what `dedup.method = "minhash"` takes. `-- pauses` commits further pages in
//! small groups, and compares the longest pauses with those of a bare append and sync of as many
//! bytes. `-- 1000000 library` says what a worker of a cluster takes for the documents that all
//! shards tell of.

#[path = "documents/library.rs"]
mod library;
#[path = "scale/measure.rs"]
#[expect(dead_code, reason = "the other bench asks for more")]
mod measure;
#[path = "documents/rehearsal.rs"]
mod rehearsal;

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use gleaner::dedup::Finder;
use gleaner::engine::study::Study;
use measure::{memory, on_disk, process_time};
use rehearsal::{Rehearsal, id, mix};

/// Pages that share a sync. A crawl has 16; then syncs of the disk would be most of what is
/// measured.
const GROUP: u64 = 512;

/// The allocator that the binary has.
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

const PARTS: [&str; 5] = ["fill", "restart", "pauses", "kill", "lose"];

/// Pages of a group, at most, as a crawl has them.
const SMALL_GROUP: u64 = 16;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if let [directory, from, flag, ..] = &arguments[..]
        && flag == "--until-killed"
    {
        let from = from.parse().expect("a number");
        let rehearsal = Rehearsal::new(Finder::Simhash);
        return rehearsal.commit_until_killed(Path::new(directory), from, 100);
    }
    let wanted = arguments.iter().find_map(|argument| argument.parse().ok());
    let count: u64 = wanted.unwrap_or(10_000_000);
    let parts: Vec<&str> = PARTS
        .into_iter()
        .filter(|part| arguments.iter().any(|argument| argument == part))
        .collect();
    let method = match arguments.iter().any(|argument| argument == "minhash") {
        true => Finder::Minhash,
        false => Finder::Simhash,
    };
    let rehearsal = Rehearsal::new(method);
    let is_library = arguments.iter().any(|argument| argument == "library");
    let wants = |part| parts.is_empty() && !is_library || parts.contains(&part);
    let directory = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("documents");
    let clear = || {
        if directory.exists() {
            fs::remove_dir_all(&directory).expect("the directory is ours");
        }
    };

    if wants("fill") {
        clear();
        fill(&rehearsal, &directory, count);
    }
    if wants("restart") {
        restart(&rehearsal, &directory, count);
    }
    if wants("pauses") {
        pauses(&rehearsal, &directory, count);
    }
    if wants("kill") {
        kill_and_look(&rehearsal, &directory, count);
    }
    if wants("lose") {
        lose(&rehearsal, &directory, count);
    }
    if parts.is_empty() {
        clear();
    }
    if is_library {
        clear();
        let documents = library::library(&rehearsal, &directory, count, &say);
        assert!(documents >= count, "{documents} of {count}");
        clear();
    }
}

fn say(line: &str) {
    let _ = writeln!(std::io::stdout(), "{line}");
}

fn open(rehearsal: &Rehearsal, directory: &Path) -> Study {
    rehearsal.open(directory, Duration::from_secs(30))
}

fn fill(rehearsal: &Rehearsal, directory: &Path, count: u64) {
    let mut study = open(rehearsal, directory);
    let mut duplicates = 0;
    let mut most = 0;
    let step = (count / 20).max(1);
    let (mut signing, mut committing) = (Duration::ZERO, Duration::ZERO);
    let mut longest = Duration::ZERO;
    let mut cpu = process_time();
    let mut next = 0;
    let mut reported = 0;
    while next < count {
        let end = (next + GROUP).min(count);
        let start = Instant::now();
        let pages = (next..end).map(|number| rehearsal.page(number)).collect();
        signing += start.elapsed();
        let start = Instant::now();
        duplicates += study.commit(pages).expect("pages are committed").duplicates;
        committing += start.elapsed();
        longest = longest.max(start.elapsed());
        next = end;
        most = most.max(memory("RssAnon"));
        if next / step > reported / step || next == count {
            let pages = (next - reported) as f64;
            say(&format!(
                "{next} pages: {:.0} us each to sign, {:.0} us to judge and commit ({:.0} us of processors' time for both, \
                 the longest group {:.1} s); RssAnon {} MB (at most {most} MB), mapped {} MB",
                signing.as_secs_f64() * 1e6 / pages,
                committing.as_secs_f64() * 1e6 / pages,
                process_time().saturating_sub(cpu).as_secs_f64() * 1e6 / pages,
                longest.as_secs_f64(),
                memory("RssAnon"),
                memory("RssFile"),
            ));
            (signing, committing, reported) = (Duration::ZERO, Duration::ZERO, next);
            (longest, cpu) = (Duration::ZERO, process_time());
        }
    }
    study.checkpoint().expect("the disk has room");
    study.settle().expect("files are merged");
    let copies = (0..count).filter(|number| number % 10 == 9).count();
    say(&format!("{duplicates} of {copies} copies found"));
    sizes(directory, &study);
    lookups(rehearsal, &study, count);
}

/// What each structure takes.
fn sizes(directory: &Path, study: &Study) {
    let documents = study.documents() as f64;
    say(&format!("{documents} documents; bytes each:"));
    let mut all = 0.0;
    for (name, path) in [
        ("rows in sled", "documents"),
        ("witness column", "documents.witness"),
        ("runs", "runs"),
    ] {
        let bytes = on_disk(&directory.join(path)) as f64 / documents;
        all += bytes;
        say(&format!("  {name:<20}{bytes:>8.1}"));
    }
    say(&format!("  {:<20}{all:>8.1}", "together"));
    let store = on_disk(&directory.join("store")) as f64 / documents;
    say(&format!("  {:<20}{store:>8.1}", "rows in the store"));
    for (name, files, mapped, memory) in study.runs() {
        say(&format!(
            "  {name:<20}{:>8.1} mapped, {:.1} of memory, {files} files",
            mapped as f64 / documents,
            memory as f64 / documents,
        ));
    }
}

/// How long it takes to judge a page, and whether copies are found.
fn lookups(rehearsal: &Rehearsal, study: &Study, count: u64) {
    const LOOKUPS: u64 = 2_000;
    let judge = |numbers: &dyn Fn(u64) -> u64| {
        let pages: Vec<_> = (0..LOOKUPS)
            .map(|n| rehearsal.fingerprints(numbers(n)))
            .collect();
        let start = Instant::now();
        let found = pages.iter().zip(0..).filter(|(page, n)| {
            let found = study.original_of(id(!*n), page);
            found.expect("the index is read").is_some()
        });
        (
            found.count(),
            start.elapsed().as_secs_f64() * 1e6 / LOOKUPS as f64,
        )
    };
    // Copies are numbered ...9; these come from beyond the pages that were committed.
    let beyond = count / 10 * 10 + 10_000_000;
    let (found, each) = judge(&|n| beyond + n * 10);
    say(&format!("judging a new page: {each:.1} us ({found} found)"));
    let (found, each) = judge(&|n| mix(n) % count / 10 * 10);
    say(&format!(
        "judging one that is there: {each:.1} us ({found} of {LOOKUPS} found)"
    ));
}

fn restart(rehearsal: &Rehearsal, directory: &Path, count: u64) {
    let start = Instant::now();
    let study = open(rehearsal, directory);
    let opened = start.elapsed().as_secs_f64();
    rehearsal.check(&study, [0]);
    say(&format!(
        "restart: open after {opened:.2} s, first query answered after {:.2} s; RssAnon {} MB",
        start.elapsed().as_secs_f64(),
        memory("RssAnon"),
    ));
    lookups(rehearsal, &study, count);
}

/// Commits a tenth as many pages again, as a crawl does, and after each group appends what it wrote
/// to a file and syncs it: how long each of both took, from the usual to the longest.
fn pauses(rehearsal: &Rehearsal, directory: &Path, count: u64) {
    let mut study = open(rehearsal, directory);
    let path = directory.with_extension("beside");
    let mut beside = fs::File::create(&path).expect("the directory is ours");
    let (mut writing, mut appending) = (Vec::new(), Vec::new());
    // Beyond the pages that the other parts make.
    let from = count + 1_000_000;
    let mut next = from;
    while next < from + count / 10 {
        let pages = (next..next + SMALL_GROUP).map(|number| rehearsal.page(number));
        let before = written();
        let committed = study.commit(pages.collect()).expect("pages are committed");
        let bytes = vec![b'x'; written().saturating_sub(before)];
        writing.push(committed.writing);
        let start = Instant::now();
        beside.write_all(&bytes).expect("the disk has room");
        beside.sync_data().expect("the disk has room");
        appending.push(start.elapsed());
        next += SMALL_GROUP;
    }
    let _ = fs::remove_file(&path);
    say(&format!(
        "{} groups of {SMALL_GROUP} pages: milliseconds at the median, 99 %, 99.9 %, the longest",
        writing.len()
    ));
    for (name, times) in [("a commit", &mut writing), ("an append", &mut appending)] {
        times.sort_unstable();
        let at = |share: f64| {
            let place = (times.len() as f64 * share) as usize;
            times[place.min(times.len() - 1)].as_secs_f64() * 1e3
        };
        let times = [0.5, 0.99, 0.999, 1.0].map(|share| format!("{:.2}", at(share)));
        say(&format!("  {name:<12}{}", times.join("  ")));
    }
}

/// Bytes that this thread has written to files.
fn written() -> usize {
    let said = fs::read_to_string("/proc/thread-self/io").unwrap_or_default();
    let line = said.lines().find_map(|line| line.strip_prefix("wchar: "));
    line.and_then(|it| it.parse().ok()).unwrap_or_default()
}

fn kill_and_look(rehearsal: &Rehearsal, directory: &Path, count: u64) {
    let exe = std::env::current_exe().expect("this bench runs");
    let killed = rehearsal.kill(directory, count, 20, |from| {
        let mut command = Command::new(&exe);
        let from = from.to_string();
        command.args([
            directory.as_os_str(),
            from.as_ref(),
            "--until-killed".as_ref(),
        ]);
        command
    });
    say(&format!(
        "20 kills: all {} pages acknowledged between them found, opening took {:.1} s at most",
        killed.acknowledged - count,
        killed.opening.as_secs_f64()
    ));
}

fn lose(rehearsal: &Rehearsal, directory: &Path, count: u64) {
    fs::remove_dir_all(directory.join("documents")).expect("the folder is ours");
    let start = Instant::now();
    let study = open(rehearsal, directory);
    say(&format!(
        "sled's folder deleted: rebuilt in {:.1} s; RssAnon {} MB",
        start.elapsed().as_secs_f64(),
        memory("RssAnon"),
    ));
    rehearsal.check(&study, (0..10_000).map(|n| mix(n) % count));
}
