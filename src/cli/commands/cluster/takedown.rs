//! `gleaner cluster takedown`: a takedown in all shards of a crawl, and on all workers' disks.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use clap::Args;
use serde::Serialize;

use super::{PATIENCE, Target, outcome};
use crate::cli::commands::forget::{Which, in_words, nothing_named};
use crate::cli::exit::Exit;
use crate::cli::words::{count, shards};
use crate::cli::{Failure, output};
use crate::cluster::{self, TakenDown, TakenDownSoFar, Terms};
use crate::config;
use crate::engine::{ForgetDone, ForgetOrder};
use crate::url::Identity;

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  gleaner cluster takedown nats://127.0.0.1/news https://example.org/people/jo --dry-run
  gleaner cluster takedown nats://127.0.0.1/news --host example.org
  gleaner cluster takedown nats://127.0.0.1/news https://example.org/people/jo --undo

All shards forget it, as `gleaner forget` has one crawl forget it, and all workers search the files
that they have written while they owned a shard. It waits for those that are there now, and says what
came of that; if you interrupt it, they go on. Shards without an owner do it when they have one, and
workers that are away when they are back. A crawl that is over does it when workers are started. The
exit code is 0 only when all have done it. Of single URLs the engine gets no more than ids.")]
pub(crate) struct Arguments {
    #[command(flatten)]
    target: Target,
    #[command(flatten)]
    which: Which,
    /// Print one JSON object instead of text
    #[arg(long)]
    json: bool,
}

/// What came of it, as JSON.
#[derive(Debug, Serialize)]
struct Said<'a> {
    /// Pages that were forgotten, or would be.
    pages: u64,
    /// Records and bodies that were overwritten, and lines of logs.
    records: u64,
    lines: u64,
    /// Pages that were judged again, and those that are visited again.
    rehomed: u64,
    refetched: u64,
    /// Hosts and prefixes, and URLs, that may come back.
    back: u64,
    /// Number of files that were changed.
    files: u64,
    /// Files that are nowhere, and those that were changed after a copy was handed over; and how
    /// many are not named.
    nowhere: &'a BTreeSet<String>,
    handed_over: &'a BTreeSet<String>,
    unnamed: u64,
    /// Shards that have carried it out.
    done: &'a [u16],
    /// Why others have not.
    refused: &'a BTreeMap<String, Vec<u16>>,
    /// Shards that will do it when they have an owner.
    unowned: &'a [u16],
    /// Shards that do not say what came of it.
    silent: &'a [u16],
    /// Workers that will search their files when they are back, or when those shards have done it.
    away: Vec<&'a str>,
    /// Workers that cannot search their files, and why.
    troubled: &'a BTreeMap<String, String>,
    /// Workers of a version that does not search.
    unable: &'a [String],
    /// Workers that the crawl does not know any more, and that have files with it.
    unknown: &'a [String],
    /// Copies that are not followed, whose rows may name it: shards by worker.
    stale: &'a BTreeMap<String, BTreeSet<u16>>,
}

impl<'a> Said<'a> {
    fn of(found: &'a TakenDownSoFar) -> Self {
        let sum = &found.sum;
        Self {
            pages: sum.pages,
            records: sum.records,
            lines: sum.lines,
            rehomed: sum.rehomed,
            refetched: sum.refetched,
            back: sum.back,
            files: sum.files,
            nowhere: &sum.nowhere,
            handed_over: &sum.handed_over,
            unnamed: sum.unnamed,
            done: &found.done,
            refused: &found.refused,
            unowned: &found.pending.unowned,
            silent: &found.pending.silent,
            away: later(found).collect(),
            troubled: &found.troubled,
            unable: &found.unable,
            unknown: &found.unknown,
            stale: &found.stale,
        }
    }
}

pub(super) fn run(arguments: &Arguments) -> Result<(), Failure> {
    let target = &arguments.target;
    let order = arguments.which.order()?;
    if order.selection.is_empty() {
        return Err(nothing_named());
    }
    let (broker, terms) = target.find()?;
    let order = without_urls(order, &terms)?;
    let explain = |error| target.explain(error);
    let at = cluster::take_down(&*broker, &order).map_err(explain)?;
    let is_searched = !order.back && !order.dry_run;
    let look = || {
        let now = cluster::taken_down(&broker, target.name(), (at, is_searched), PATIENCE);
        now.map_err(explain)
    };
    let found = outcome(look, |now| now.goes_on().then(|| at_it(now)))?;
    output::print_answer(&Said::of(&found), arguments.json, |_| words(&found, &order))?;
    match is_done(&found) {
        true => Ok(()),
        false => Err(Failure::Answered(Exit::Failed)),
    }
}

/// Puts ids in place of single URLs, so that nobody reads them in the engine. What comes back is
/// fetched again, and has to be named.
fn without_urls(mut order: ForgetOrder, terms: &Terms) -> Result<ForgetOrder, Failure> {
    if !order.back {
        let options = config::kept(&terms.settings).options()?;
        let identity = Identity::new(options.canonicalizer, terms.secret.clone());
        order.selection.ids = order.selection.ids(&identity);
        order.selection.urls.clear();
    }
    Ok(order)
}

/// Whether it is done everywhere.
fn is_done(found: &TakenDownSoFar) -> bool {
    let workers = [&found.searching, &found.away, &found.unable, &found.unknown];
    found.pending.is_empty()
        && workers.iter().all(|it| it.is_empty())
        && found.refused.is_empty()
        && found.troubled.is_empty()
}

/// The workers that search their files later.
fn later(found: &TakenDownSoFar) -> impl Iterator<Item = &str> {
    found
        .away
        .iter()
        .chain(&found.searching)
        .map(String::as_str)
}

/// Those who are at it.
fn at_it(now: &TakenDownSoFar) -> String {
    let mut what = Vec::new();
    if !now.pending.busy.is_empty() {
        what.push(format!("shard {}", shards(&now.pending.busy, ", ")));
    }
    if !now.searching.is_empty() {
        let workers = now.searching.join(", ");
        what.push(format!("the files of {workers}"));
    }
    what.join(" and ")
}

fn words(found: &TakenDownSoFar, order: &ForgetOrder) -> String {
    let TakenDown {
        pages,
        records,
        lines,
        rehomed,
        refetched,
        back,
        unnamed,
        ..
    } = found.sum;
    let done = ForgetDone {
        pages,
        records,
        lines,
        rehomed,
        refetched,
        back,
        nowhere: found.sum.nowhere.clone(),
        handed_over: found.sum.handed_over.clone(),
        ..ForgetDone::default()
    };
    let mut text = String::new();
    for (reason, of) in &found.refused {
        let _ = writeln!(text, "shard {}: {reason}", shards(of, ", "));
    }
    if !found.done.is_empty() {
        let what = match order.dry_run {
            // Nobody reads all files for that.
            true => format!(
                "would forget {}, with what the logs and archives of all workers have of it\n",
                count(pages, "page")
            ),
            false => in_words(&done, order),
        };
        text += &what;
    }
    if unnamed > 0 {
        let _ = writeln!(text, "{unnamed} more files are not named");
    }
    let mut say = |of: &str, what: &str| {
        if !of.is_empty() {
            let _ = writeln!(text, "{of} {what}");
        }
    };
    let of_shards = |numbers: &[u16]| match numbers {
        [] => String::new(),
        numbers => format!("shard {}", shards(numbers, ", ")),
    };
    say(
        &of_shards(&found.pending.unowned),
        match found.done.is_empty() && found.pending.silent.is_empty() {
            true => "will when it has an owner: start workers",
            false => "will when it has an owner",
        },
    );
    say(
        &of_shards(&found.pending.silent),
        "does not say what came of it: `gleaner cluster status` shows whether workers are of one \
         version",
    );
    let names: Vec<&str> = later(found).collect();
    say(
        &names.join(", "),
        match found.pending.unowned.is_empty() {
            true => "will search the files of before when it is back",
            false => "will search the files of before when the shards have done it",
        },
    );
    for (worker, trouble) in &found.troubled {
        say(worker, &format!("cannot search its files: {trouble}"));
    }
    say(
        &found.unable.join(", "),
        "is of a version that does not search the files of before: start a newer one",
    );
    say(
        &found.unknown.join(", "),
        "is no worker of the crawl any more, and has files with it: start one with its directory, \
         or remove them",
    );
    for (worker, of) in &found.stale {
        let of: Vec<u16> = of.iter().copied().collect();
        say(
            worker,
            &format!(
                "has copies of shard {} that it does not follow now: their rows may name it until \
                 it does; where they are not needed, remove `store` there",
                shards(&of, ", ")
            ),
        );
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cluster::Pending;

    #[test]
    fn who_has_not_done_it_is_named() {
        let order = ForgetOrder::default();
        let mut found = TakenDownSoFar {
            pending: Pending {
                unowned: vec![2, 11],
                ..Pending::default()
            },
            searching: vec!["w1".to_owned()],
            away: vec!["w2".to_owned()],
            ..TakenDownSoFar::default()
        };
        assert!(!is_done(&found) && !found.goes_on());
        assert_eq!(
            words(&found, &order),
            "shard 02, 11 will when it has an owner: start workers\n\
             w2, w1 will search the files of before when the shards have done it\n"
        );
        found.pending.unowned.clear();
        assert!(found.goes_on());
        found.searching.clear();
        found.done = vec![2, 11];
        found.sum.pages = 1;
        found.sum.records = 3;
        assert!(!is_done(&found) && !found.goes_on());
        let done = "forgot 1 page: 3 records of the archive, 0 lines of the log\n\
                    packages and exports that were made before still have it: make them again\n";
        assert_eq!(
            words(&found, &order),
            format!("{done}w2 will search the files of before when it is back\n")
        );
        found.away.clear();
        assert!(is_done(&found));
        assert_eq!(words(&found, &order), done);
        found.refused.insert("too many".to_owned(), vec![3]);
        assert!(!is_done(&found));
        assert_eq!(words(&found, &order), format!("shard 03: too many\n{done}"));
    }
}
