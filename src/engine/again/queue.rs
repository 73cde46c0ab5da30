//! From the record of a page to its host's queue: a visit that is not its first.

use crate::engine::Error;
use crate::engine::commit::WriteSet;
use crate::frontier::{QueuedUrl, class_of};
use crate::rows::PageRecord;
use crate::url::{self, HostKey, UrlId};

/// Rows read and queued in one commit.
pub(super) const ROWS_PER_COMMIT: usize = 1_000;

/// How a page is requested.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Asking {
    /// Conditional: the server sends a body only if the page has changed.
    IfModified,
    /// Without: its body.
    Always,
    /// The same, before all else that waits for its host.
    Now,
}

/// Queues a page to be visited again.
pub(super) fn queue_revisit(id: UrlId, asking: Asking, set: &mut WriteSet) -> Result<(), Error> {
    match set.committed_page(id)? {
        Some(page) => queue_page(id, page, asking, set),
        None => Ok(()),
    }
}

/// Queues a sitemap to be requested again, unless that is planned anyway.
pub(crate) fn visit_sitemap_again(
    id: UrlId,
    page: PageRecord,
    set: &mut WriteSet,
) -> Result<(), Error> {
    match page.revisit {
        Some(_) => Ok(()),
        None => queue_page(id, page, Asking::Always, set),
    }
}

/// Queues a page with this record to be visited again.
pub(super) fn queue_page(
    id: UrlId,
    page: PageRecord,
    asking: Asking,
    set: &mut WriteSet,
) -> Result<(), Error> {
    let Ok(url) = url::parse(&page.url) else {
        return Ok(());
    };
    let purpose = page.purpose();
    let queued = QueuedUrl {
        via: page.via,
        depth: page.depth,
        revisit: true,
        purpose,
        validators: page.validators.filter(|_| asking == Asking::IfModified),
        ..QueuedUrl::new(page.url, id)
    };
    let host = HostKey::of(&url);
    match asking {
        Asking::Now => set.queue_in(0, queued, host),
        // It is as good as new: what was known of it no longer holds.
        Asking::Always => set.queue_in(class_of(queued.depth), queued, host),
        Asking::IfModified => set.queue(queued, host),
    }
}
