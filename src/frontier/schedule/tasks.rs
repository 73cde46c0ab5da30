//! What visits are handed out as.

use crate::frontier::{FetchTask, HeldAddress, Pace, Place, Purpose, QueuedUrl, Waiting};
use crate::url::{HostKey, Identity};

/// The visit of a URL that waits.
pub(super) fn page_task(host: HostKey, pace: Pace, waiting: Waiting, floor: u64) -> FetchTask {
    FetchTask {
        url: waiting.url,
        host,
        pace,
        robots_redirect: None,
        place: Some(Place {
            class: waiting.class,
            sequence: waiting.sequence,
            block: waiting.block,
            floor,
        }),
        queued: waiting.queued,
        held: HeldAddress::default(),
    }
}

/// The visit of a host's robots.txt.
pub(super) fn robots_task(host: HostKey, pace: Pace, identity: &Identity) -> FetchTask {
    let url = host.robots_url();
    FetchTask {
        queued: QueuedUrl {
            purpose: Purpose::Robots,
            path: "P".to_owned(),
            ..QueuedUrl::new(url.to_string(), identity.id(&url))
        },
        url,
        host,
        pace,
        robots_redirect: None,
        place: None,
        held: HeldAddress::default(),
    }
}
