//! Hosts that a person holds: nothing of them is handed out, whatever is due, and they leave the
//! working set as soon as they are at rest. Everything they have is on disk. And hosts that a
//! person lets wait no longer.

use super::Schedule;
use super::active_host::{ReadState, Robots};
use super::lanes::Standing;
use crate::frontier::{FetchTask, Moment, Pace};
use crate::url::HostKey;

impl Schedule {
    /// Holds a host, or lets it go on. What waits at a host that goes on is read when its queue is
    /// reported.
    pub fn hold(&mut self, host: &HostKey, is_held: bool) {
        match is_held {
            true => self.held.insert(host.clone()),
            false => self.held.remove(host),
        };
        let Some(active) = self.active_hosts.get_mut(host) else {
            return;
        };
        if active.held == is_held {
            return;
        }
        active.held = is_held;
        // Its place there is that of another time and address.
        self.lanes.remove(host);
        let moved = std::mem::take(&mut active.robots_redirects);
        for task in moved {
            self.come_again(task);
        }
        self.settle(host);
    }

    /// Reports that the failures of a host are forgotten by a commit: it waits no longer because of
    /// them, and may be visited when it is `due`. A visit that this commit did not know of has the
    /// last word.
    pub fn relieved(&mut self, host: &HostKey, due: Moment) {
        let Some(active) = self.active_hosts.get_mut(host) else {
            return;
        };
        if !active.is_committed() || active.followed_redirects {
            return;
        }
        active.pace = Pace {
            due: active.pace.due.min(due.max(active.not_before)),
            crawl_delay: active.pace.crawl_delay,
            ..Pace::default()
        };
        active.standing = Standing::New;
        // It says how long the host had to wait.
        if matches!(active.reading, ReadState::InProgress | ReadState::Outdated) {
            active.reading = ReadState::Void;
            active.more = true;
        }
        self.settle(host);
    }

    /// Returns `true` if a visit of a host is in progress.
    pub fn is_visiting(&self, host: &HostKey) -> bool {
        self.active_hosts
            .get(host)
            .is_some_and(|active| active.busy)
    }

    /// Queues a visit that comes before all else of the host that it is made at. One that a held
    /// host is to make for itself is left to the disk, where its URL still waits; one of a
    /// robots.txt of another host is handed out at once, to fail: that host must not wait for a
    /// person.
    pub(super) fn come_again(&mut self, mut task: FetchTask) {
        let at = task.visiting().0.clone();
        let Some(active) = self.active_hosts.get_mut(&at) else {
            return;
        };
        if active.held && task.host == at {
            match task.place {
                Some(place) => {
                    active.in_progress.remove(&(place.class, place.sequence));
                    self.pages_in_progress = self.pages_in_progress.saturating_sub(1);
                    if let Some(left) = &mut self.pages_left {
                        *left += 1;
                    }
                }
                None => active.robots = Robots::Wanted,
            }
            return;
        }
        if let Some(redirect) = &mut task.robots_redirect {
            redirect.is_at_held = active.held;
        }
        active.robots_redirects.push_back(task);
    }
}
