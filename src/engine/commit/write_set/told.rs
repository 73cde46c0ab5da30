//! What a group changes of hosts, told to whoever follows the events, or the log at level `info`.

use crate::engine::events::Happening;
use crate::frontier::{HostState, RobotsVerdict};
use crate::url::HostKey;

/// What was known of a host before a group.
#[derive(Debug, Clone, Copy)]
pub(super) struct Before {
    is_known: bool,
    parked: bool,
}

impl Before {
    pub(super) fn of(is_known: bool, state: &HostState) -> Self {
        Self {
            is_known,
            parked: state.parked,
        }
    }

    /// Whether the host had a row.
    pub(super) fn is_known(self) -> bool {
        self.is_known
    }

    /// Returns what is to be told of a host.
    pub(super) fn tell(self, host: &HostKey, state: &HostState) -> Option<Happening> {
        if !self.is_known {
            tracing::info!(%host, "new host");
        }
        let host = host.clone();
        match (self.parked, state.parked) {
            (false, true) => Some(Happening::Parked {
                host,
                until: state.due,
                failures: state.failures,
                trouble: state.trouble,
            }),
            (true, false) => Some(Happening::Unparked { host }),
            _ => None,
        }
    }
}

/// Tells what the robots.txt of a host is.
pub(super) fn tell_robots(host: &HostKey, verdict: &RobotsVerdict) {
    match verdict {
        RobotsVerdict::AllowAll => tracing::info!(%host, "no robots.txt: all is allowed"),
        RobotsVerdict::DisallowAll(reason) => {
            tracing::info!(%host, reason, "robots.txt cannot be had: nothing is allowed for now");
        }
        RobotsVerdict::Text(text) => {
            let bytes = text.len();
            tracing::info!(%host, bytes, "robots.txt");
        }
    }
}
