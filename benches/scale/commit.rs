//! What the commit of a page costs: sixty links, of which some are new.

use std::collections::VecDeque;
use std::fmt::Write as _;
use std::path::Path;
use std::time::{Duration, Instant};

use gleaner::engine::Options;
use gleaner::engine::rehearsal::{Prepared, Rehearsal, Taken};

use crate::measure::{Meter, memory, written};
use crate::queue::fill;
use crate::urls::{mix, recent, url};

/// Links of a page.
const LINKS: u64 = 60;
/// Pages of a group.
const GROUP: u64 = 16;

/// What was found.
pub(crate) struct Figures {
    /// Pages committed: a whole number of groups.
    pub(crate) pages: u64,
    /// URLs that were new.
    pub(crate) admitted: u64,
    /// URLs left waiting.
    pub(crate) queued: u64,
}

/// Commits `pages` pages in groups, each with `fresh` links that nobody has seen and others that
/// are known, after `known` URLs were queued.
pub(crate) fn commit(
    directory: &Path,
    options: &Options,
    (known, hosts): (u64, u64),
    (pages, fresh): (u64, u64),
    archive: bool,
    say: &dyn Fn(&str),
) -> Figures {
    let mut rehearsal = Rehearsal::open(directory, options).expect("it begins");
    if !archive {
        rehearsal.without_archive();
    }
    fill(&mut rehearsal, 0, known, hosts, &mut Meter::start());
    rehearsal.checkpoint().expect("the disk has room");

    let mut prepared: VecDeque<Prepared> = VecDeque::new();
    let pages = pages.next_multiple_of(GROUP);
    let (mut count, mut done) = (known, 0);
    let before = written();
    let admitted = rehearsal.admitted();
    let mut meter = Meter::start();
    let mut committing = Duration::ZERO;
    let mut longest = Duration::ZERO;
    while done < pages {
        // Prepared before, as other threads do it in a crawl: the committer has its core to itself.
        if prepared.is_empty() {
            prepared = meter.beside(|| {
                let mut taken = take(&rehearsal);
                // What is not visited now is taken again.
                taken.truncate(taken.len() - taken.len() % GROUP as usize);
                let pages = taken.into_iter().filter_map(|taken| {
                    let html = html(taken.url(), count, fresh, hosts);
                    count += fresh;
                    rehearsal.prepare(taken, &html)
                });
                pages.collect()
            });
        }
        let group: Vec<Prepared> = prepared.drain(..GROUP as usize).collect();
        done += group.len() as u64;
        let start = Instant::now();
        rehearsal.commit(group).expect("the disk has room");
        committing += start.elapsed();
        longest = longest.max(start.elapsed());
    }
    let (cpu, system) = (meter.micros(done), meter.system_micros(done));
    let after = written();
    let archived = rehearsal.archived_bytes();
    let each = |bytes: u64| bytes as f64 / done as f64;
    say(&format!(
        "{done} pages of {LINKS} links, {fresh} new, {}: {:.3} ms of processors' time each, {:.3} of it in the kernel; {:.0} bytes given to write \
         ({:.0} went to the disk), {:.0} pages a second; the longest group {:.0} ms; RssAnon {} MB",
        match archive {
            true => format!("{:.0} bytes of archive each", each(archived)),
            false => "without archive".to_owned(),
        },
        cpu / 1e3,
        system / 1e3,
        each(after.0 - before.0) - each(if archive { archived } else { 0 }),
        each(after.1 - before.1) - each(if archive { archived } else { 0 }),
        done as f64 / committing.as_secs_f64(),
        longest.as_secs_f64() * 1e3,
        memory("RssAnon"),
    ));
    Figures {
        pages,
        admitted: rehearsal.admitted() - admitted,
        queued: rehearsal.queued(),
    }
}

/// URLs to visit, those of a host not in a row.
fn take(rehearsal: &Rehearsal) -> VecDeque<Taken> {
    let (hosts, _) = rehearsal.hosts(Vec::new(), 128).expect("rows are read");
    let taken = hosts.iter().map(|host| rehearsal.take(host, 8));
    let mut waiting = VecDeque::new();
    let mut by_host: Vec<VecDeque<Taken>> =
        taken.map(|it| it.expect("rows are read").into()).collect();
    for _ in 0..8 {
        waiting.extend(by_host.iter_mut().filter_map(VecDeque::pop_front));
    }
    waiting
}

/// A page of about 8 kB with words of its own.
fn html(of: &str, count: u64, fresh: u64, hosts: u64) -> String {
    let mut html = format!("<!doctype html><html lang=en><title>About {of}</title><nav><ul>");
    for link in 0..LINKS {
        let number = match link < fresh {
            true => count + link,
            false => recent(count * LINKS + link, count),
        };
        let target = url(number, hosts);
        let _ = write!(html, "<li><a href=\"{target}\">Link {number}</a>");
    }
    html.push_str("</ul></nav><main><h1>Words</h1><p>");
    let seed = of.bytes().fold(0, |hash, byte| mix(hash ^ u64::from(byte)));
    for at in 0..200 {
        let _ = write!(html, "word{} ", mix(seed ^ at) % 50_000);
    }
    html.push_str("</p></main></html>");
    html
}
