//! A data directory with many hosts, of which few were visited: what lists of hosts are made from.

use std::path::Path;

use gleaner::engine::Options;
use gleaner::engine::rehearsal::{Prepared, Rehearsal};

use crate::queue::GROUP;
use crate::urls::{mix, url};

/// Hosts of which one has a page visited.
const VISITED: u64 = 250;
/// Hosts whose pages are committed as one group.
const TOGETHER: usize = 16;

/// What the directory holds.
pub(crate) struct Figures {
    /// URLs that wait.
    pub(crate) queued: u64,
    /// Pages that were visited.
    pub(crate) pages: u64,
}

/// Queues a URL of each of `count` hosts and half as many again, of which few hosts have most, and
/// commits a page of one host of [`VISITED`].
pub(crate) fn hosts(
    directory: &Path,
    options: &Options,
    count: u64,
    say: &dyn Fn(&str),
) -> Figures {
    let mut rehearsal = Rehearsal::open(directory, options).expect("it begins");
    rehearsal.without_archive();
    let first = |host: u64| format!("https://www.host{host}.example/");
    let more = |number: u64| url(number, count);
    let all: u64 = count + count / 2;
    for from in (0..all).step_by(GROUP as usize) {
        let numbers = from..(from + GROUP).min(all);
        let urls = numbers.map(|it| {
            if it < count {
                first(it + 1)
            } else {
                more(it - count)
            }
        });
        rehearsal
            .enqueue(urls.collect::<Vec<_>>(), 1)
            .expect("the disk has room");
    }
    say(&format!(
        "{} URLs of {count} hosts wait",
        rehearsal.queued()
    ));

    let wanted = (count / VISITED).max(1);
    let mut pages = 0;
    let mut from = Some(Vec::new());
    while let Some(start) = from.take().filter(|_| pages < wanted) {
        let (names, next) = rehearsal
            .hosts(start, VISITED as usize * TOGETHER)
            .expect("rows are read");
        from = next;
        let mut group: Vec<Prepared> = Vec::new();
        for host in names.iter().step_by(VISITED as usize) {
            let taken = rehearsal.take(host, 1).expect("rows are read");
            for it in taken {
                // Some of them are copies of another.
                let seed = pages % (wanted / 2).max(1);
                group.extend(rehearsal.prepare(it, &html(seed)));
                pages += 1;
            }
        }
        rehearsal.commit(group).expect("the disk has room");
    }
    rehearsal.checkpoint().expect("the disk has room");
    say(&format!("{pages} of them were visited"));
    Figures {
        queued: rehearsal.queued(),
        pages,
    }
}

/// A page with words of its own.
fn html(seed: u64) -> String {
    let length = 80 + mix(seed) % 400;
    let words: Vec<String> = (0..length)
        .map(|at| format!("word{}", mix(seed << 20 ^ at) % 50_000))
        .collect();
    let words = words.join(" ");
    format!(
        "<!doctype html><html lang=en><title>Page {seed}</title><main><p>{words}</p></main></html>"
    )
}
