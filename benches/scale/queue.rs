//! Queues on disk: so many URLs admitted, then all taken out again.

use std::path::Path;

use gleaner::engine::Options;
use gleaner::engine::rehearsal::Rehearsal;

use crate::measure::{Meter, memory, on_disk};
use crate::urls::url;

/// URLs that are admitted in one commit: sixteen pages with sixty links.
pub(crate) const GROUP: u64 = 960;

/// What was found.
pub(crate) struct Figures {
    /// URLs in queues after all were admitted.
    pub(crate) queued: u64,
    /// URLs that were taken out.
    pub(crate) taken: u64,
    /// URLs that were left.
    pub(crate) left: u64,
}

/// Admits URLs from `from` to `to`.
pub(crate) fn fill(rehearsal: &mut Rehearsal, from: u64, to: u64, hosts: u64, meter: &mut Meter) {
    let mut next = from;
    while next < to {
        let end = (next + GROUP).min(to);
        let urls: Vec<_> = meter.beside(|| (next..end).map(|number| url(number, hosts)).collect());
        rehearsal.enqueue(urls, 1).expect("the disk has room");
        next = end;
    }
}

/// Queues `count` URLs over `hosts` hosts and drains the queues; `size` tells what a directory
/// takes.
pub(crate) fn queue(
    directory: &Path,
    options: &Options,
    (count, hosts): (u64, u64),
    size: &dyn Fn(&Path) -> u64,
    say: &dyn Fn(&str),
) -> Figures {
    let mut rehearsal = Rehearsal::open(directory, options).expect("it begins");
    let store = directory.join("store");
    let mut resident = 0;
    let mut meter = Meter::start();
    let step = (count / 10).max(1);
    for from in (0..count).step_by(step as usize) {
        let to = (from + step).min(count);
        fill(&mut rehearsal, from, to, hosts, &mut meter);
        resident = resident.max(memory("VmRSS"));
        say(&format!(
            "{to} URLs queued: {:.2} us of processors' time each; resident {resident} MB at most (RssAnon now {} MB); {} MB on disk",
            meter.micros(to),
            memory("RssAnon"),
            on_disk(&store) / 1_000_000,
        ));
    }
    let queued = rehearsal.queued();
    let taken_up = size(&store);
    say(&format!(
        "{:.0} bytes of disk for each of {queued} queued URLs",
        taken_up as f64 / queued.max(1) as f64
    ));
    let enqueued = (meter.micros(count), meter.system_micros(count));

    let meter = Meter::start();
    let mut taken = 0;
    loop {
        let before = taken;
        let mut from = Some(Vec::new());
        while let Some(start) = from.take() {
            let (names, next) = rehearsal.hosts(start, 512).expect("rows are read");
            from = next;
            for host in names {
                // A host has one visit at a time, but many hosts share a commit; here one host has
                // all of it, a thousand URLs at most before the next has its turn.
                for _ in 0..32 {
                    let urls = rehearsal.take(&host, 32).expect("rows are read");
                    if urls.is_empty() {
                        break;
                    }
                    for group in urls.chunks(16) {
                        rehearsal.drop_taken(group).expect("the disk has room");
                    }
                    taken += urls.len() as u64;
                    if taken / step > (taken - urls.len() as u64) / step {
                        resident = resident.max(memory("VmRSS"));
                        say(&format!(
                            "{taken} URLs taken: {:.2} us of processors' time each; resident {resident} MB at most; {} MB on disk",
                            meter.micros(taken),
                            on_disk(&store) / 1_000_000,
                        ));
                    }
                }
            }
        }
        if taken == before {
            break;
        }
    }
    let dequeued = (meter.micros(taken), meter.system_micros(taken));
    let left = rehearsal.queued();
    say(&format!(
        "{:.2} us of processors' time for a URL to enter and to leave, {:.2} of it in the kernel ({} syncs of the disk); \
         {} MB on disk when all have left",
        enqueued.0 + dequeued.0,
        enqueued.1 + dequeued.1,
        count.div_ceil(GROUP) + taken.div_ceil(16),
        size(&store) / 1_000_000,
    ));
    Figures {
        queued,
        taken,
        left,
    }
}
