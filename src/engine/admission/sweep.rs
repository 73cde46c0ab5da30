//! Sweeps queues after a kind was closed: URLs that are suspected now are removed unvisited and
//! deferred.

use super::Gate;
use super::deferred::Suspicion;
use crate::engine::Error;
use crate::engine::commit::Group;
use crate::engine::learned::hearsay::was_hearsay;
use crate::engine::visit::Analysed;
use crate::frontier::{Admission, Block, CLASSES, Purpose, QueuedUrl};
use crate::learn::{Expectation, Sweep};
use crate::store::{Table, keys};
use crate::url::{self, HostKey};

/// Approximate number of queued URLs that are examined per commit.
const SWEEP: usize = 1_000;
/// Number of blocks read at once for that.
const SWEEP_BLOCKS: usize = 32;

impl Gate {
    /// Removes suspects from the queues of visited hosts, if a kind was closed since they were
    /// queued.
    pub(crate) fn sweep(&self, visits: &[Analysed], group: &mut Group<'_>) -> Result<(), Error> {
        for visit in visits {
            let host = &visit.fetched.task.host;
            let state = group.set.known_host(host)?;
            if state.is_some_and(|state| state.suspicions.sweep.is_some()) {
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
        let Some(mut sweep) = state.suspicions.sweep else {
            return Ok(());
        };
        let state = state.clone();
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
                    // Everything behind was admitted by what is known now.
                    *sequence <= sweep.until && !visited.contains(sequence)
                });
                let mut is_changed = false;
                for (_, place, queued) in waiting {
                    match self.sweep_url(&queued, host, group)? {
                        Suspicion::None => continue,
                        Suspicion::Deferred => swept.remove(place),
                        // It keeps its place, because it may be in flight.
                        Suspicion::Sample(expectation) => {
                            swept.replace(
                                place,
                                QueuedUrl {
                                    expectation,
                                    ..queued
                                },
                            );
                        }
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
        let suspicions = &mut group.set.host(host)?.suspicions;
        suspicions.sweep = (sweep.class < CLASSES).then_some(sweep);
        group.set.receipt.reread = Some(host.clone());
        group.set.end_receipt();
        Ok(())
    }

    /// Decides what becomes of a queued URL; the caller rewrites its block.
    fn sweep_url(
        &self,
        queued: &QueuedUrl,
        host: &HostKey,
        group: &mut Group<'_>,
    ) -> Result<Suspicion, Error> {
        let is_new = matches!(
            queued.expectation,
            Expectation::Usual | Expectation::Doubtful { .. }
        );
        let is_given = queued.via.is_none() || queued.revisit || queued.purpose != Purpose::Page;
        if !is_new || is_given || queued.attempts > 0 {
            return Ok(Suspicion::None);
        }
        let Ok(url) = url::parse(&queued.url) else {
            return Ok(Suspicion::None);
        };
        let is_hearsay = was_hearsay(queued, host, &mut group.set)?;
        let suspicion = self.defer(&url, (queued, is_hearsay), (host, true), group)?;
        if matches!(suspicion, Suspicion::Deferred) {
            let state = group.set.host(host)?;
            state.queued = state.queued.saturating_sub(1);
            state.suspicions.swept = true;
            let counters = &mut group.set.state.counters;
            counters.queued = counters.queued.saturating_sub(1);
            group.set.count_link(&Admission::Deferred, &queued.url);
        }
        Ok(suspicion)
    }
}
