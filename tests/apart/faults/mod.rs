//! Faults at I/O calls, power cuts, damaged files and clocks that jump: in trials that are drawn at
//! random, a crawl goes wrong in some way, goes on without a fault, and must leave what an
//! undisturbed one leaves.
//!
//! `FAULT_TRIALS` sets the number of trials of each test (a few by default, and none where a trial
//! takes long). What fails is named
//! with its seed; `FAULT_SEED` makes the trial of that seed and no other. docs/performance.md has
//! the figures of long runs.
//!
//! - `control`: the library `preload.c`, and what it is told.
//! - `scene`: the crawls, and what they must leave.
//! - `cuts`: what a power cut may leave.
//! - `damage`: bits that flip and files that end early.

mod control;
mod cuts;
mod damage;
mod scene;

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};

use rustix::io::Errno;

use crate::web::Random;
use control::{Action, CHANGES, Fault, NAME, OPEN, READ};
use scene::{KILLED, Scene, Trial};

pub(crate) use control::missing;
pub(crate) use cuts::{power_cuts, power_cuts_where_names_are_lost_too};
pub(crate) use damage::files_that_are_damaged;

/// How often something came about in the trials of a test.
type Tally = BTreeMap<String, u64>;

/// Makes the trials of a test: so many, unless the environment says otherwise.
fn trials(name: &str, usual: u64, trial: impl Fn(&mut Random, &mut Tally)) {
    let number = |variable: &str| {
        let value = std::env::var(variable).ok();
        value.map(|text| text.parse::<u64>().expect("a number"))
    };
    let many = number("FAULT_TRIALS");
    let seeds = match number("FAULT_SEED") {
        Some(seed) => seed..seed + 1,
        None => 0..many.unwrap_or(usual),
    };
    let mut tally = Tally::new();
    let mut failed = Vec::new();
    for seed in seeds {
        let mut random = Random::new(seed);
        random.next_bits();
        let attempt = catch_unwind(AssertUnwindSafe(|| trial(&mut random, &mut tally)));
        *tally.entry("trials".to_owned()).or_default() += 1;
        if attempt.is_err() {
            eprintln!("faults::{name}: FAULT_SEED={seed} has failed");
            failed.push(seed);
        }
    }
    if many.is_some() {
        eprintln!("faults::{name}: {tally:?}, failed: {failed:?}");
    }
    assert!(failed.is_empty(), "faults::{name}: FAULT_SEED={failed:?}");
}

fn count(tally: &mut Tally, what: &str) {
    *tally.entry(what.to_owned()).or_default() += 1;
}

/// Kills runs of a scene at up to four calls that change something, then lets it come to its end.
fn kills(name: &str, usual: u64, scene: &Scene, first: impl Fn(&mut Random, u64) -> u64) {
    let calls = scene.calls(CHANGES);
    trials(name, usual, |random, tally| {
        let mut trial = Trial::new(scene);
        let mut bound = calls;
        for _ in 0..random.between(1, 4) {
            let chosen = first(random, bound);
            let action = [Action::Kill, Action::Tear][random.below(2)];
            let output = trial.run(Some(Fault {
                kinds: CHANGES,
                chosen,
                action,
            }));
            if trial.struck().is_none() {
                output.expect(0);
                break;
            }
            output.expect(KILLED);
            count(tally, "kills");
            if random.below(4) == 0 {
                trial.check_what_a_kill_has_left();
            }
            // Each goes on where the last one was killed.
            bound = (bound - bound.min(chosen)).max(calls / 8);
        }
        trial.finish();
    });
}

fn anywhere(random: &mut Random, calls: u64) -> u64 {
    1 + random.next_bits() % calls
}

pub(crate) fn killed_in_a_crawl() {
    kills("killed_in_a_crawl", 2, &Scene::crawl(), anywhere);
}

/// Takes a minute to begin, so it is for long runs.
pub(crate) fn killed_in_a_large_crawl() {
    kills("killed_in_a_large_crawl", 1, &Scene::large(), anywhere);
}

pub(crate) fn killed_in_a_daemon() {
    kills("killed_in_a_daemon", 1, &Scene::daemon(), anywhere);
}

/// A start after a kill has fewer calls than this.
const START: u64 = 120;

pub(crate) fn killed_at_starts() {
    let scene = Scene::crawl();
    let calls = scene.calls(CHANGES);
    trials("killed_at_starts", 1, |random, tally| {
        let mut trial = Trial::new(&scene);
        for time in 0..random.between(2, 6) {
            let chosen = 1 + random.next_bits() % if time == 0 { calls } else { START };
            let fault = Fault {
                kinds: CHANGES,
                chosen,
                action: [Action::Kill, Action::Tear][random.below(2)],
            };
            let output = trial.run(Some(fault));
            if trial.struck().is_none() {
                output.expect(0);
                break;
            }
            output.expect(KILLED);
            count(tally, "kills");
        }
        trial.finish();
    });
}

pub(crate) fn killed_in_an_import() {
    kills("killed_in_an_import", 1, &Scene::import(), anywhere);
}

pub(crate) fn killed_in_a_repair() {
    kills("killed_in_a_repair", 1, &Scene::repair(), anywhere);
}

pub(crate) fn killed_while_fingerprints_are_made_again() {
    let name = "killed_while_fingerprints_are_made_again";
    kills(name, 1, &Scene::rewriting(), anywhere);
}

/// Exit codes, as documented.
const FAILED: i32 = 1;
const DIRECTORY: i32 = 3;
const DISK: i32 = 4;

/// A disk, or what else a call needs, fails at some call, once or from then on: the run goes on, or
/// ends and names the cause.
fn failures(name: &str, usual: u64, scene: &Scene) {
    let faults = [
        (CHANGES, Errno::IO, "Input/output error"),
        (CHANGES, Errno::NOSPC, "No space left on device"),
        (READ, Errno::IO, "Input/output error"),
        (NAME | OPEN, Errno::MFILE, "Too many open files"),
    ];
    let calls = faults.map(|(kinds, ..)| scene.calls(kinds));
    trials(name, usual, |random, tally| {
        let which = random.below(faults.len());
        let (kinds, errno, cause) = faults[which];
        let mut trial = Trial::new(scene);
        // Half of them at the start, where little is at hand yet.
        let bound = calls[which].min([u64::MAX, START][random.below(2)]);
        let stays = random.below(2) == 1;
        let output = trial.run(Some(Fault {
            kinds,
            chosen: 1 + random.next_bits() % bound,
            action: Action::Fail {
                errno: errno.raw_os_error(),
                stays,
            },
        }));
        let at = trial.struck().unwrap_or_default();
        let how = format!("{errno:?} at {at}, stays: {stays}");
        if !at.is_empty() {
            count(tally, "faults");
            count(tally, &format!("exit {}", output.code));
        }
        if output.code != 0 {
            let expected = match errno {
                Errno::MFILE => [FAILED, DIRECTORY, DISK].contains(&output.code),
                _ => output.code == DISK,
            };
            assert!(expected, "{how}: {output:#?}");
            assert!(output.stderr.contains(cause), "{how}: {output:#?}");
        }
        trial.finish();
    });
}

pub(crate) fn disks_that_fail_in_a_crawl() {
    failures("disks_that_fail_in_a_crawl", 2, &Scene::crawl());
}

pub(crate) fn disks_that_fail_in_an_import() {
    failures("disks_that_fail_in_an_import", 1, &Scene::import());
}

pub(crate) fn disks_that_fail_while_fingerprints_are_made_again() {
    let name = "disks_that_fail_while_fingerprints_are_made_again";
    failures(name, 1, &Scene::rewriting());
}

const DAY: i64 = 86_400;

/// The clock jumps while runs go on and between them; in the end it is right, and nothing waits for
/// a time that a wrong one has written.
pub(crate) fn clocks_that_jump() {
    let scene = Scene::crawl();
    let calls = scene.calls(CHANGES);
    trials("clocks_that_jump", 2, |random, tally| {
        let mut trial = Trial::new(&scene);
        for _ in 0..random.between(1, 3) {
            // The last one leads back to about the year 2000.
            let seconds = [90 * DAY, -DAY, -26 * 365 * DAY][random.below(3)];
            // Half of the runs begin with that clock.
            let chosen = [0, anywhere(random, calls)][random.below(2)];
            let fault = Fault {
                kinds: CHANGES,
                chosen,
                action: Action::Clock(seconds),
            };
            let pages = random.between(3, 20).to_string();
            trial
                .run_with(&["--max-pages", &pages], Some(fault))
                .expect(0);
            count(tally, "jumps");
        }
        trial.finish();
    });
}

/// A daemon that has run ahead of its time visits pages again when it is their time by the clock as
/// it is then.
pub(crate) fn daemons_whose_clock_was_ahead() {
    let scene = Scene::daemon();
    trials("daemons_whose_clock_was_ahead", 1, |random, tally| {
        let ahead = |seconds| {
            Some(Fault {
                kinds: CHANGES,
                chosen: 0,
                action: Action::Clock(seconds),
            })
        };
        let mut trial = Trial::new(&scene);
        // That of the last page is asked for at the end only.
        let pages = scene.pages() - 1;
        assert_eq!(trial.visits(pages, None), pages);
        let days = [40, 90, 400][random.below(3)];
        assert_eq!(trial.visits(pages, ahead(days * DAY)), pages, "all are due");
        assert_eq!(trial.visits(0, None), 0, "nothing is due");
        // The longest interval, from today on.
        assert_eq!(trial.visits(pages, ahead(31 * DAY)), pages, "all are due");
        count(tally, "jumps");
    });
}
