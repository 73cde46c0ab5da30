//! The commit of pages that come from memory, and how reading grows with threads.

use std::collections::{HashMap, VecDeque};
use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use bytes::Bytes;
use gleaner::config::Config;
use gleaner::engine::Options;
use gleaner::engine::rehearsal::{Counted, Rehearsal, Taken};
use gleaner::frontier::ScopeKind;

use crate::counting::counted;
use crate::instructions::watch;
use crate::measure::{micros_each, process_time, thread_time};
use crate::pages::Site;

/// Pages of a group, at most; as in a crawl.
const GROUP: usize = 16;
/// Sites that take turns.
const SITES: usize = 64;

/// What commits took, each for one page.
#[derive(Debug, Default, Clone, Copy)]
pub(crate) struct Committed {
    pub(crate) pages: usize,
    /// CPU time of reading, in microseconds.
    pub(crate) reading: f64,
    /// CPU time of the commit, of all threads and of the committer's own, in microseconds.
    pub(crate) all_threads: f64,
    pub(crate) own_thread: f64,
    /// Wall time of the commit, in microseconds.
    pub(crate) wall: f64,
    /// Blocks and bytes of memory that the commit asks for.
    pub(crate) blocks: f64,
    pub(crate) bytes: f64,
    /// Bytes of archive.
    pub(crate) archived: f64,
}

/// The defaults of a crawl, of any host.
pub(crate) fn options() -> Options {
    let mut options = Config::default().options().expect("the defaults are sound");
    options.scope = ScopeKind::Any;
    options
}

/// Crawls some `pages` pages from memory, from their first ones on, with an archive or without.
pub(crate) fn commit(directory: &Path, pages: usize, archive: bool) -> Committed {
    if directory.exists() {
        fs::remove_dir_all(directory).expect("the directory is ours");
    }
    let mut rehearsal = Rehearsal::open(directory, &options()).expect("it begins");
    if !archive {
        rehearsal.without_archive();
    }
    let (first, bodies) = bodies(pages);
    rehearsal.enqueue(first, 0).expect("the disk has room");
    let mut took = Committed::default();
    let (mut reading, mut all, mut own) = (Duration::ZERO, Duration::ZERO, Duration::ZERO);
    let (mut wall, mut blocks, mut bytes) = (Duration::ZERO, 0, 0);
    loop {
        let taken = take(&rehearsal);
        if taken.is_empty() {
            break;
        }
        for group in taken.chunks(GROUP) {
            let before = thread_time();
            let body = |taken: &Taken| bodies.get(taken.url()).cloned().unwrap_or_default();
            let readers = rehearsal.readers();
            let group = group.iter();
            let read: Vec<_> = group
                .filter_map(|taken| readers.prepare(taken.clone(), body(taken), None))
                .collect();
            took.pages += read.len();
            reading += thread_time().saturating_sub(before);
            let before = (process_time(), thread_time(), Instant::now());
            let mut read = Some(read);
            let asked = counted(|| {
                watch(&mut || {
                    let read = read.take().unwrap_or_default();
                    rehearsal.commit(read).expect("the disk has room");
                });
            });
            all += process_time().saturating_sub(before.0);
            own += thread_time().saturating_sub(before.1);
            wall += before.2.elapsed();
            (blocks, bytes) = (blocks + asked.0, bytes + asked.1);
        }
    }
    assert_eq!(took.pages, bodies.len(), "each page is visited once");
    let each = |sum: u64| sum as f64 / took.pages.max(1) as f64;
    took = Committed {
        reading: micros_each(reading, took.pages),
        all_threads: micros_each(all, took.pages),
        own_thread: micros_each(own, took.pages),
        wall: micros_each(wall, took.pages),
        blocks: each(blocks),
        bytes: each(bytes),
        archived: each(rehearsal.archived_bytes()),
        ..took
    };
    drop(rehearsal);
    fs::remove_dir_all(directory).expect("the directory is ours");
    took
}

/// Commits pages as a crawl would that finds each by links from the first ones, and counts what
/// that writes into the store. Returns the number of pages too; what links lead to besides is left
/// out.
pub(crate) fn rows(
    directory: &Path,
    (first, bodies): (Vec<String>, HashMap<String, Bytes>),
) -> (usize, Counted) {
    let mut rehearsal = Rehearsal::open(directory, &options()).expect("it begins");
    rehearsal.without_archive();
    rehearsal.enqueue(first, 0).expect("the disk has room");
    let tally = rehearsal.tally();
    let mut pages = 0;
    loop {
        let taken = take(&rehearsal);
        if taken.is_empty() {
            break;
        }
        let is_there = |taken: &Taken| bodies.contains_key(taken.url());
        let (taken, others): (Vec<_>, Vec<_>) = taken.into_iter().partition(is_there);
        if !others.is_empty() {
            rehearsal.drop_taken(&others).expect("the disk has room");
        }
        for group in taken.chunks(GROUP) {
            let readers = rehearsal.readers();
            let read = group.iter().filter_map(|taken| {
                let body = bodies.get(taken.url()).cloned();
                readers.prepare(taken.clone(), body.unwrap_or_default(), None)
            });
            let read: Vec<_> = read.collect();
            pages += read.len();
            rehearsal.commit(read).expect("the disk has room");
        }
    }
    let counted = tally.counted();
    drop(rehearsal);
    fs::remove_dir_all(directory).expect("the directory is ours");
    (pages, counted)
}

/// The first page of each site, and all bodies by their URLs.
pub(crate) fn bodies(pages: usize) -> (Vec<String>, HashMap<String, Bytes>) {
    let mut bodies = HashMap::new();
    let mut first = Vec::new();
    for number in 0..SITES {
        let site = Site::new(number as u64, pages.div_ceil(SITES));
        let url = |path: &String| format!("http://site{number}.example{path}");
        first.extend(site.paths.first().map(url));
        let paths = site.paths.iter().enumerate();
        bodies.extend(paths.map(|(at, path)| (url(path), site.page(at).into())));
    }
    (first, bodies)
}

/// URLs to visit, those of a host not in a row.
fn take(rehearsal: &Rehearsal) -> Vec<Taken> {
    let (hosts, _) = rehearsal.hosts(Vec::new(), SITES).expect("rows are read");
    let taken = hosts.iter().map(|host| rehearsal.take(host, 8));
    let mut by_host: Vec<VecDeque<Taken>> =
        taken.map(|it| it.expect("rows are read").into()).collect();
    let mut waiting = Vec::new();
    for _ in 0..8 {
        waiting.extend(by_host.iter_mut().filter_map(VecDeque::pop_front));
    }
    waiting
}

/// Reads `pages` pages with so many threads; returns pages per second, and CPU time for each in
/// microseconds.
pub(crate) fn read_with(threads: usize, pages: usize, directory: &Path) -> (f64, f64) {
    if directory.exists() {
        fs::remove_dir_all(directory).expect("the directory is ours");
    }
    let mut rehearsal = Rehearsal::open(directory, &options()).expect("it begins");
    let (_, bodies) = bodies(160);
    rehearsal
        .enqueue(bodies.keys(), 1)
        .expect("the disk has room");
    let (hosts, _) = rehearsal.hosts(Vec::new(), SITES).expect("rows are read");
    let taken: Vec<(Taken, Bytes)> = hosts
        .iter()
        .flat_map(|host| rehearsal.take(host, 160).expect("rows are read"))
        .map(|taken| {
            let body = bodies[taken.url()].clone();
            (taken, body)
        })
        .collect();
    let next = AtomicUsize::new(0);
    let (begun, before) = (Instant::now(), process_time());
    thread::scope(|scope| {
        for _ in 0..threads {
            let (readers, next, taken) = (rehearsal.readers(), &next, &taken);
            scope.spawn(move || {
                loop {
                    let at = next.fetch_add(1, Ordering::Relaxed);
                    if at >= pages {
                        return;
                    }
                    let (taken, body) = &taken[at % taken.len()];
                    drop(readers.prepare(taken.clone(), body.clone(), None));
                }
            });
        }
    });
    let wall = begun.elapsed().as_secs_f64();
    let cpu = micros_each(process_time().saturating_sub(before), pages);
    drop(rehearsal);
    fs::remove_dir_all(directory).expect("the directory is ours");
    (pages as f64 / wall, cpu)
}
