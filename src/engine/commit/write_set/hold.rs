//! Hosts that a group holds, or lets go on.

use std::sync::Arc;

use super::WriteSet;
use crate::engine::Error;
use crate::engine::events::Happening;
use crate::url::HostKey;

impl WriteSet {
    /// Holds a host or lets it go on; returns `false` if that is how it is already. What is queued
    /// for it stays as it is, and counts as parked while it is held.
    pub(crate) fn hold(&mut self, host: &HostKey, is_held: bool) -> Result<bool, Error> {
        if self.held.has(host) == is_held {
            return Ok(false);
        }
        // It is counted as it was before.
        let at = self.place_of_host(host)?;
        let queued = self.hosts[at].state.queued;
        let since = is_held.then_some(self.now);
        Arc::make_mut(&mut self.held).set(host, since, &mut self.batch);
        let host = host.clone();
        self.happened.push(match is_held {
            true => Happening::Held {
                host: host.clone(),
                queued,
            },
            false => Happening::Released {
                host: host.clone(),
                queued,
            },
        });
        self.tell_hold(&host, is_held)?;
        Ok(true)
    }

    /// Closes a receipt that tells the schedule whether a host is held, and what waits there if it
    /// is not.
    pub(crate) fn tell_hold(&mut self, host: &HostKey, is_held: bool) -> Result<(), Error> {
        let at = self.place_of_host(host)?;
        let state = &self.hosts[at].state;
        if !is_held && state.queued > 0 {
            self.receipt.queued.push((host.clone(), state.due));
        }
        self.receipt.held = Some((host.clone(), is_held));
        self.end_receipt();
        Ok(())
    }
}
