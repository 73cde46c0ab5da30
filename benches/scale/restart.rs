//! A frontier that is killed with SIGKILL over and over while it grows, and loses files in between.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use gleaner::engine::Options;
use gleaner::engine::rehearsal::Rehearsal;

use crate::measure::{Meter, memory};
use crate::queue::{GROUP, fill};
use crate::urls::{mix, url};

/// Admits URLs from `from` on without end, and says on standard output how far it is each time that
/// a group is acknowledged. This is the process that is killed.
pub(crate) fn fill_until_killed(directory: &Path, options: &Options, from: u64, hosts: u64) {
    let mut rehearsal = Rehearsal::open(directory, options).expect("what a kill leaves opens");
    let mut out = std::io::stdout().lock();
    let mut next = from;
    loop {
        let mut meter = Meter::start();
        fill(&mut rehearsal, next, next + GROUP, hosts, &mut meter);
        next += GROUP;
        writeln!(out, "acknowledged {next}").expect("somebody listens");
        out.flush().expect("somebody listens");
    }
}

/// What was found.
#[derive(Debug, Default)]
pub(crate) struct Figures {
    /// URLs admitted at the end.
    pub(crate) admitted: u64,
    /// The longest that it took to the first URL that could be fetched, where nothing was damaged.
    pub(crate) first: Duration,
    /// The same where files were lost.
    pub(crate) rebuilt: Duration,
}

/// What befalls a directory between a kill and the next start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mishap {
    None,
    NoFilter,
    DamagedFilter,
    NoRun,
    DamagedRun,
    NoDocuments,
}

impl Mishap {
    const ALL: [Self; 6] = [
        Self::None,
        Self::DamagedFilter,
        Self::NoRun,
        Self::NoDocuments,
        Self::NoFilter,
        Self::DamagedRun,
    ];

    fn befall(self, directory: &Path) -> bool {
        let runs = directory.join("runs");
        let filter = runs.join("seen.filter");
        let largest = || {
            let files = fs::read_dir(&runs).into_iter().flatten().flatten();
            let files = files.map(|entry| entry.path());
            let is_seen = |path: &PathBuf| {
                let name = path.file_name().unwrap_or_default().to_string_lossy();
                name.starts_with("seen-") && name.ends_with(".run")
            };
            let size = |path: &PathBuf| path.metadata().map_or(0, |it| it.len());
            files.filter(is_seen).max_by_key(size)
        };
        match self {
            Self::None => true,
            Self::NoFilter => fs::remove_file(filter).is_ok(),
            Self::DamagedFilter => damage(&filter),
            Self::NoRun => largest().is_some_and(|path| fs::remove_file(path).is_ok()),
            Self::DamagedRun => largest().is_some_and(|path| damage(&path)),
            Self::NoDocuments => fs::remove_dir_all(directory.join("documents")).is_ok(),
        }
    }
}

/// Turns a bit in the middle of a file.
fn damage(path: &Path) -> bool {
    let Ok(mut bytes) = fs::read(path) else {
        return false;
    };
    let middle = bytes.len() / 2;
    bytes[middle] ^= 4;
    fs::write(path, bytes).is_ok()
}

/// Starts `command` (given the next URL) until `count` URLs are acknowledged, then kills it and so
/// often again at moments that the seed chooses, with mishaps in between; after each kill all that
/// was acknowledged must be there, once.
pub(crate) fn restart(
    directory: &Path,
    options: &Options,
    (count, hosts, kills): (u64, u64, u64),
    command: impl Fn(u64) -> Command,
    say: &dyn Fn(&str),
) -> Figures {
    let mut figures = Figures::default();
    let mut acknowledged = 0;
    for round in 0..=kills {
        // What was acknowledged is offered again, and must not be admitted again.
        let from = acknowledged - acknowledged.min(GROUP * 3);
        let mut child = command(from)
            .stdout(Stdio::piped())
            .spawn()
            .expect("the process starts");
        let mut lines = BufReader::new(child.stdout.take().expect("it is piped")).lines();
        let number = |line: &str| line.strip_prefix("acknowledged ")?.parse::<u64>().ok();
        // In every fourth round in the midst of opening, or just after.
        let wanted = match round {
            0 => count,
            _ if round % 4 == 3 => 0,
            _ => from + GROUP * (mix(round) % 40),
        };
        while acknowledged < wanted {
            let line = lines.next().expect("it goes on until it is killed");
            let line = number(&line.expect("it says numbers"));
            acknowledged = line.unwrap_or(0).max(acknowledged);
        }
        child.kill().expect("SIGKILL is sent");
        for line in lines.map_while(Result::ok) {
            acknowledged = number(&line).unwrap_or(0).max(acknowledged);
        }
        child.wait().expect("it is ours");

        let mishap = Mishap::ALL[(round % Mishap::ALL.len() as u64) as usize];
        let befell = mishap.befall(directory);
        let (start, meter) = (Instant::now(), Meter::start());
        let mut rehearsal = Rehearsal::open(directory, options).expect("what a kill leaves opens");
        let (names, _) = rehearsal.hosts(Vec::new(), 512).expect("rows are read");
        if let Some(host) = names.first() {
            let taken = rehearsal.take(host, 32).expect("rows are read");
            assert!(!taken.is_empty(), "a host that waits has URLs");
        }
        let (first, cpu) = (start.elapsed(), meter.micros(1) / 1e6);
        let longest = match mishap {
            Mishap::None | Mishap::NoFilter | Mishap::DamagedFilter => &mut figures.first,
            _ => &mut figures.rebuilt,
        };
        *longest = first.max(*longest);
        figures.admitted = rehearsal.admitted();
        if round < 6 || round % 10 == 0 {
            let what = if befell { mishap } else { Mishap::None };
            say(&format!(
                "kill {round}, {} URLs, {what:?}: first URL after {:.2} s, {cpu:.2} s of processors' time; RssAnon {} MB",
                figures.admitted,
                first.as_secs_f64(),
                memory("RssAnon"),
            ));
        }
        assert!(figures.admitted >= acknowledged, "nothing is lost");
        assert_eq!(rehearsal.queued(), figures.admitted);
        let sample = (0..10_000).map(|n| mix(n) % figures.admitted.max(1));
        let recent = figures.admitted.saturating_sub(GROUP * 50)..figures.admitted;
        for number in sample.chain(recent).filter(|n| *n < figures.admitted) {
            let url = url(number, hosts);
            assert!(rehearsal.is_seen(&url), "{url} is lost");
        }
        for number in figures.admitted..figures.admitted + 1_000 {
            assert!(!rehearsal.is_seen(&url(number, hosts)), "{number}");
        }
        if round == kills {
            let audit = rehearsal.audit().expect("rows are read");
            say(&format!("{audit:?}"));
            let sound = (audit.queued, audit.doubled, audit.unseen);
            assert_eq!(sound, (figures.admitted, 0, 0));
        }
    }
    figures
}
