//! Which hosts are in the working set. Hosts are read from disk by due time. If there is no room,
//! hosts that wait long and hosts that used up their quantum make room.

use std::time::Duration;

use super::Schedule;
use super::active_host::ActiveHost;
use crate::frontier::{LoadRequest, Loaded, Moment};
use crate::store::keys;
use crate::url::HostKey;

/// In a full working set, a host that may not be visited for this long makes room for another.
const FAR: Duration = Duration::from_mins(1);
/// Minimum time between two searches for such hosts.
const LOOK_FAR: Duration = Duration::from_secs(1);
/// Maximum number of hosts in a full working set that wait for one address.
const CROWD: usize = 64;
/// Number of hosts read at once.
const LOAD_LIMIT: usize = 512;
/// Number of hosts in `recent` beyond which those whose time has passed are forgotten.
const MAX_RECENT: usize = 1_024;

impl Schedule {
    /// Reports the hosts that `load` read, by due time.
    pub fn loaded(&mut self, loaded: Loaded, now: Moment) {
        self.clock = now.max(self.clock);
        self.loading = false;
        self.pass = loaded.next;
        if let Some((due, ..)) = loaded.hosts.first() {
            self.lowest_due = self.lowest_due.min(*due);
        }
        for (due, host, parked) in loaded.hosts {
            if self.active_hosts.contains_key(&host) || self.held.contains(&host) {
                continue;
            }
            if due > now.plus(FAR) {
                // All that follow are due later: the next pass finds them.
                self.note_outside(due, parked);
                self.pass = None;
                return;
            }
            if parked && due > now {
                self.note_outside(due, true);
                continue;
            }
            if self.room() == 0 {
                self.note_outside(due, false);
                self.resume = Some(keys::due(due.0, host.as_str()));
                self.pass = None;
                return;
            }
            self.admit_host(&host, due);
        }
    }

    pub(super) fn admit_host(&mut self, host: &HostKey, due: Moment) {
        if self.active_hosts.contains_key(host) || self.held.contains(host) {
            return;
        }
        if self.room() == 0 {
            self.note_outside(due, false);
            return;
        }
        let not_before = self.recent.remove(host).unwrap_or_default();
        let active = ActiveHost {
            not_before,
            ..ActiveHost::new(due.max(not_before))
        };
        self.active_hosts.insert(host.clone(), active);
        self.settle(host);
    }

    /// Removes a host that has nothing in progress from the working set.
    pub(super) fn leave(&mut self, host: &HostKey) {
        self.lanes.remove(host);
        let Some(active) = self.active_hosts.remove(host) else {
            return;
        };
        self.urls -= active.buffer.len();
        self.over_quantum.remove(&active.over_quantum);
        self.leaving -= usize::from(active.leaving);
        if !active.is_done() && !active.held {
            self.note_outside(active.pace.due, active.pace.parked);
        }
        if active.followed_redirects && active.pace.due > self.clock {
            self.recent.insert(host.clone(), active.pace.due);
            if self.recent.len() > MAX_RECENT {
                let now = self.clock;
                self.recent.retain(|_, due| *due > now);
            }
        }
    }

    /// Number of hosts for which there is room.
    fn room(&self) -> usize {
        self.options.window.saturating_sub(self.active_hosts.len())
    }

    /// Notes that a host is on disk only. A parked host is not read before its due time.
    fn note_outside(&mut self, due: Moment, parked: bool) {
        let near = if parked {
            due
        } else {
            Moment(due.0.saturating_sub(FAR.as_millis() as u64))
        };
        self.outside_from = Some(self.outside_from.map_or(near, |from| from.min(near)));
    }

    /// Asks for the next hosts if one outside the working set may soon be visited and there is room
    /// for several, because each pass walks over the hosts that are in memory already.
    pub(super) fn next_load(&mut self, now: Moment) -> Option<LoadRequest> {
        if self.loading {
            return None;
        }
        if self.pass.is_none() {
            if self.outside_from.is_none_or(|from| from > now) {
                return None;
            }
            let wanted = (self.options.window / 8).max(1);
            if self.room() < wanted {
                self.evict_far(now);
            }
            if self.room() < wanted {
                self.rotate(wanted);
            }
            if self.room() < wanted {
                return None;
            }
            self.pass = Some(self.resume.take().unwrap_or_else(|| {
                self.outside_from = None;
                let lowest = std::mem::replace(&mut self.lowest_due, Moment(u64::MAX));
                keys::due(lowest.0, "")
            }));
        }
        self.loading = true;
        Some(LoadRequest {
            from: self.pass.take().unwrap_or_default(),
            limit: LOAD_LIMIT,
        })
    }

    /// Removes hosts that wait long, so that others may be visited before them.
    fn evict_far(&mut self, now: Moment) {
        if now < self.looked_far.plus(LOOK_FAR) {
            return;
        }
        self.looked_far = now;
        for host in self.lanes.far(now.plus(FAR), CROWD, LOAD_LIMIT) {
            if self
                .active_hosts
                .get(&host)
                .is_some_and(ActiveHost::is_at_rest)
            {
                self.leave(&host);
            }
        }
    }

    /// Removes hosts that used up their quantum, as many as are needed.
    fn rotate(&mut self, wanted: usize) {
        while self.room() + self.leaving < wanted {
            let Some((_, host)) = self.over_quantum.pop_first() else {
                return;
            };
            if let Some(active) = self.active_hosts.get_mut(&host) {
                active.leaving = true;
                self.leaving += 1;
            }
            self.settle(&host);
        }
    }
}
