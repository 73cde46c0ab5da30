//! The index over sled, as the committer writes it: killed with SIGKILL while it works, it keeps
//! all that it acknowledged; without sled's folder it is rebuilt. `benches/documents.rs` does the
//! same with ten million documents (docs/performance.md).

use std::fs;
use std::path::Path;
use std::time::Duration;

use gleaner::dedup::Finder;

use crate::child::Role;
use crate::rehearsal::{Rehearsal, id, original_of};

/// The process that [`killed_and_lost`] kills.
pub(crate) fn commit_until_killed(directory: &Path, from: u64) {
    Rehearsal::new(Finder::Simhash).commit_until_killed(directory, from, 20);
}

pub(crate) fn killed_and_lost() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let directory = directory.path().join("crawl");
    let rehearsal = Rehearsal::new(Finder::Simhash);
    let reopen = || rehearsal.open(&directory, Duration::from_secs(30));
    let mut study = reopen();
    study
        .commit((0..200).map(|number| rehearsal.page(number)).collect())
        .expect("pages are committed");
    drop(study);
    let killed = rehearsal.kill(&directory, 200, 20, |from| {
        Role::Commit.command(&directory, from)
    });
    assert!(killed.acknowledged > 1_000, "the kills left time to work");

    let mut study = reopen();
    study.checkpoint().expect("the disk has room");
    rehearsal.check(&study, 0..killed.acknowledged);
    drop(study);
    for lost in ["documents", "documents.witness", "runs"] {
        let lost = directory.join(lost);
        if lost.is_dir() {
            fs::remove_dir_all(lost).expect("it is ours");
        } else {
            fs::remove_file(lost).expect("it is ours");
        }
        rehearsal.check(&reopen(), 0..killed.acknowledged);
    }

    let study = reopen();
    let copies = (0..killed.acknowledged).filter(|number| original_of(*number).is_some());
    let found = |number: &u64| {
        let found = study.original_of(id(!number), &rehearsal.fingerprints(*number));
        found.expect("the index is read").is_some()
    };
    let (found, missed): (Vec<u64>, Vec<u64>) = copies.partition(found);
    assert!(missed.len() * 50 < found.len(), "{missed:?}");
}
