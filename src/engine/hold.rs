//! Holding single hosts on a person's request, as it is asked and answered. The committer does it
//! if a crawl runs, else `again/hold.rs`.

use serde::{Deserialize, Serialize};
use tokio::sync::oneshot;

use crate::frontier::{HeldHosts, MAX_HELD_HOSTS};
use crate::url::HostKey;

/// An order to hold hosts, or to let them go on.
#[derive(Debug)]
pub struct HoldOrder {
    pub(crate) hosts: Vec<HostKey>,
    pub(crate) is_held: bool,
    /// Where to send those for which that is new, once it is committed.
    pub(crate) reply: oneshot::Sender<Result<Vec<HostKey>, TooManyHeld>>,
}

/// More hosts are to be held than is possible.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "at most {MAX_HELD_HOSTS} hosts can be held: let some go on, or keep hosts out with crawl.exclude or crawl.block_lists"
)]
pub struct TooManyHeld;

/// A host that is held, as others see it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct HeldHost {
    /// Scheme, name and port.
    pub host: String,
    /// Since when it is held (RFC 3339).
    pub since: String,
}

/// Returns the first hosts that are held, by name, at most so many.
pub(crate) fn first_held(held: &HeldHosts, most: usize) -> Vec<HeldHost> {
    let hosts = held.iter().take(most);
    let hosts = hosts.map(|(host, since)| HeldHost {
        host: host.as_str().to_owned(),
        since: {
            let since = jiff::Timestamp::from_microsecond(since.micros());
            format!("{:.0}", since.unwrap_or_default())
        },
    });
    hosts.collect()
}
