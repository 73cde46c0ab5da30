//! What a group changes of hosts, told to whoever follows the log at level `info`.

use jiff::Timestamp;

use crate::frontier::{HostState, RobotsVerdict, Trouble};
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

    /// Tells what is new of a host.
    pub(super) fn tell(self, host: &HostKey, state: &HostState) {
        if !self.is_known {
            tracing::info!(%host, "new host");
        }
        if state.parked && !self.parked {
            let trouble = state.trouble.map_or("", Trouble::name);
            let failures = state.failures;
            let until = i64::try_from(state.due.0).ok();
            let until = until.and_then(|it| Timestamp::from_millisecond(it).ok());
            let until = format!("{:.0}", until.unwrap_or_default());
            tracing::info!(%host, until, failures, trouble, "host is parked");
        }
        if self.parked && !state.parked {
            tracing::info!(%host, "host is no longer parked");
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
