//! What a group queues, for whoever only wants to know.

use super::WriteSet;
use crate::frontier::QueuedUrl;
use crate::url::HostKey;

impl WriteSet {
    /// Returns the URLs that the group queues, each with its host.
    pub(crate) fn queued_now(&self) -> impl Iterator<Item = (&HostKey, &QueuedUrl)> {
        let rows = self.hosts.iter();
        rows.flat_map(|row| row.queued.iter().map(|(_, _, queued)| (&row.host, queued)))
    }
}
