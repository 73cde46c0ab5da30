//! Sweeps queues after a rule was learned: variants of known URLs, and URLs of a host that became
//! an alias, are removed unvisited and deferred.

use super::{Gate, Origin};
use crate::engine::Error;
use crate::engine::commit::{Group, WriteSet};
use crate::engine::learned::{Deferred, Learning, aliases, defer, variants};
use crate::engine::visit::Analysed;
use crate::frontier::{Admission, Block, CLASSES, Expectation, Purpose, QueuedUrl};
use crate::learn::Sweep;
use crate::store::{Table, keys};
use crate::url::{self, HostKey, Identity};

/// Approximate number of queued URLs that are examined per commit.
const SWEEP: usize = 1_000;
/// Number of blocks read at once for that.
const SWEEP_BLOCKS: usize = 32;

/// What becomes of a queued URL.
enum Swept {
    /// It stays queued as it is.
    Stays,
    /// It stays queued in this form.
    Waits(QueuedUrl),
    /// It is removed.
    Leaves,
}

impl Gate {
    /// Removes variants of known URLs from the queues of visited hosts, if something was learned
    /// since they were queued.
    pub(crate) fn sweep(&self, visits: &[Analysed], group: &mut Group<'_>) -> Result<(), Error> {
        for visit in visits {
            let host = &visit.fetched.task.host;
            let state = group.set.known_host(host)?;
            if state.is_some_and(|state| state.learned_rules.sweep.is_some()) {
                self.sweep_host(host, visits, group)?;
            }
        }
        Ok(())
    }

    fn sweep_host(
        &self,
        host: &HostKey,
        visits: &[Analysed],
        group: &mut Group<'_>,
    ) -> Result<(), Error> {
        let state = group.set.host(host)?;
        let Some(mut sweep) = state.learned_rules.sweep else {
            return Ok(());
        };
        let state = state.clone();
        let learned = variants::under_learned_rules(&self.identity, host, &state.learned_rules);
        // These visits are over with this group.
        let places = visits.iter().filter_map(|visit| visit.fetched.task.place);
        let visited: Vec<u64> = places.map(|place| place.sequence).collect();
        let mut left = SWEEP;
        while sweep.class < CLASSES && left > 0 {
            let name = host.as_str();
            let first = sweep.sequence.max(state.head(sweep.class));
            let from = keys::queue(name, sweep.class, first);
            let prefix = keys::queue_class(name, sweep.class);
            let store = &group.set.store;
            let rows = store.range(Table::Queue, &prefix, &from, SWEEP_BLOCKS)?;
            let is_end = rows.len() < SWEEP_BLOCKS;
            for (key, row) in rows {
                let Some((class, last, block)) = Block::of_row(&key, &row)? else {
                    continue;
                };
                left = left.saturating_sub(block.urls.len());
                sweep.sequence = last + 1;
                let mut swept = block.clone();
                let gone = state.gone(class, last);
                let waiting = block.waiting(last, gone);
                let waiting = waiting.filter(|(sequence, ..)| {
                    // Everything behind was admitted under what was learned.
                    *sequence <= sweep.until && !visited.contains(sequence)
                });
                let mut is_changed = false;
                for (_, place, queued) in waiting {
                    match self.sweep_url(queued, host, learned.as_ref(), group)? {
                        Swept::Stays => continue,
                        Swept::Leaves => swept.remove(place),
                        Swept::Waits(queued) => swept.replace(place, queued),
                    }
                    is_changed = true;
                }
                let set = &mut group.set;
                if is_changed && swept.is_empty(gone) {
                    set.host(host)?.forget(class, last);
                    set.batch.delete(Table::Queue, key.clone());
                } else if is_changed {
                    let row = swept.encode(last);
                    set.batch.put(Table::Queue, key.clone(), row);
                }
                set.swept.insert(key, swept.removed);
            }
            if is_end {
                sweep = Sweep {
                    class: sweep.class + 1,
                    sequence: 0,
                    ..sweep
                };
            }
        }
        let learned_rules = &mut group.set.host(host)?.learned_rules;
        learned_rules.sweep = (sweep.class < CLASSES).then_some(sweep);
        group.set.receipt.reread = Some(host.clone());
        group.set.end_receipt();
        Ok(())
    }

    /// Decides what becomes of a queued URL, by what was learned since it was queued.
    fn sweep_url(
        &self,
        queued: QueuedUrl,
        host: &HostKey,
        learned: Option<&(Identity, u32)>,
        group: &mut Group<'_>,
    ) -> Result<Swept, Error> {
        let is_given = queued.via.is_none() || queued.revisit || queued.purpose != Purpose::Page;
        let Some(url) = url::parse(&queued.url).ok().filter(|_| !is_given) else {
            return Ok(Swept::Stays);
        };
        if let Some(other) = self.elsewhere(&url, &queued, host, group)? {
            group.set.count_link(&Admission::Alias, &queued.url);
            take_from_queue(queued, host, aliases::TAG, &mut group.set)?;
            self.admit(other, Origin::Link, group)?;
            return Ok(Swept::Leaves);
        }
        let Some((identity, generation)) = learned else {
            return Ok(Swept::Stays);
        };
        if !Learning::is_known_form(identity.id(&url), *generation, queued.id, group) {
            return Ok(Swept::Stays);
        }
        if group.set.host(host)?.learned_rules.suppress() {
            // The URL of which it is a variant is queued before it, or was visited.
            let expectation = Expectation::Check;
            return Ok(Swept::Waits(QueuedUrl {
                expectation,
                ..queued
            }));
        }
        group.set.count_link(&Admission::Variant, &queued.url);
        take_from_queue(queued, host, variants::tag(*generation), &mut group.set)?;
        Ok(Swept::Leaves)
    }
}

/// Defers a URL that was queued; the caller rewrites its block.
fn take_from_queue(
    queued: QueuedUrl,
    host: &HostKey,
    tag: [u8; 8],
    set: &mut WriteSet,
) -> Result<(), Error> {
    let state = set.host(host)?;
    state.queued = state.queued.saturating_sub(1);
    state.learned_rules.swept = true;
    set.state.counters.queued = set.state.counters.queued.saturating_sub(1);
    let deferred = Deferred {
        queued,
        was_queued: true,
    };
    defer(&deferred, host, tag, set)
}
