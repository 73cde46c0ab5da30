//! URLs in memory that are no longer what is to be visited next: they are read again, or given up.

use super::Schedule;
use super::active_host::ReadState;
use super::tasks::page_task;
use crate::frontier::SkipReason;
use crate::url::{HostKey, Site};

/// Whose budget is used up.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Spender {
    /// A host's.
    Host(HostKey),
    /// That of all hosts of a registrable domain.
    Domain(Site),
}

impl Schedule {
    /// Reports that rows of a host's queue were removed or changed. URLs that were read and not
    /// handed out are read again if possible; otherwise a few removed URLs may still be visited.
    pub fn reread(&mut self, host: &HostKey) {
        let Some(active) = self.active_hosts.get_mut(host) else {
            return;
        };
        let mut cursors = active.cursors;
        for waiting in &active.buffer {
            let cursor = &mut cursors[usize::from(waiting.class)];
            *cursor = waiting.sequence.min(*cursor);
        }
        // URLs in progress must not be read again, and a read in progress would set the cursors.
        let is_behind = |(class, sequence): &(u8, u64)| *sequence < cursors[usize::from(*class)];
        let is_reading = matches!(
            active.reading,
            ReadState::InProgress | ReadState::Outdated | ReadState::Void
        );
        if is_reading || !active.in_progress.iter().all(is_behind) {
            return;
        }
        active.cursors = cursors;
        self.urls -= active.buffer.len();
        active.buffer.clear();
        active.more = true;
        self.settle(host);
    }

    /// Reports that a budget is used up. What was read of the hosts is given up for the reason that
    /// is told of each; what is on its way is not.
    pub fn spent(&mut self, by: &Spender, reason: impl Fn(&HostKey) -> Option<SkipReason>) {
        let hosts: Vec<HostKey> = match by {
            Spender::Host(host) => vec![host.clone()],
            Spender::Domain(domain) => {
                let hosts = self.active_hosts.keys();
                let hosts = hosts.filter(|host| Site::of(&host.url()) == *domain);
                hosts.cloned().collect()
            }
        };
        for host in hosts {
            if let Some(reason) = reason(&host) {
                self.give_up(&host, &reason);
            }
        }
    }

    fn give_up(&mut self, host: &HostKey, reason: &SkipReason) {
        let Some(active) = self.active_hosts.get_mut(host) else {
            return;
        };
        active.forget_reads();
        active.more = true;
        self.urls -= active.buffer.len();
        for waiting in active.buffer.drain(..) {
            active.in_progress.insert((waiting.class, waiting.sequence));
            let task = page_task(host.clone(), active.pace, waiting, 0);
            self.forbidden.push_back((task, reason.clone()));
        }
        self.settle(host);
    }
}

impl super::active_host::ActiveHost {
    /// Lets a read that is in progress bring nothing: it was begun before something changed.
    fn forget_reads(&mut self) {
        if matches!(self.reading, ReadState::InProgress | ReadState::Outdated) {
            self.reading = ReadState::Void;
        }
    }
}
