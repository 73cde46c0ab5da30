//! What waits at hosts that are parked, or held by a person.

use crate::frontier::HostState;

/// URLs queued at parked and held hosts, and the number of those hosts.
#[derive(Debug, Default, Clone, Copy)]
pub(super) struct Parked {
    pub(super) urls: u64,
    pub(super) hosts: u64,
}

impl Parked {
    /// Adds a host as it is.
    pub(super) fn add(&mut self, host: &HostState, is_held: bool) {
        if (host.parked || is_held) && host.queued > 0 {
            self.urls += host.queued;
            self.hosts += 1;
        }
    }
}
