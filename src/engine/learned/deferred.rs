//! Deferred URLs: not admitted for a reason that may go away, and kept so that they can be
//! re-admitted then.

use crate::engine::Error;
use crate::engine::commit::WriteSet;
use crate::frontier::QueuedUrl;
use crate::store::{Table, decode, encode, keys};
use crate::url::HostKey;

/// Maximum number of deferred URLs per host; further ones are refused for good.
const MAX_DEFERRED: u32 = 1_000;

/// A deferred URL.
pub(crate) struct Deferred {
    pub(crate) queued: QueuedUrl,
    /// Set if it was queued when it was deferred.
    pub(crate) was_queued: bool,
}

/// Returns the prefix of the rows deferred at a host under one tag.
fn prefix(host: &HostKey, tag: [u8; 8]) -> Vec<u8> {
    keys::learned(host.as_str(), keys::learned::DEFERRED, &tag)
}

/// Defers a URL under the tag of its reason.
pub(crate) fn defer(
    deferred: &Deferred,
    host: &HostKey,
    tag: [u8; 8],
    set: &mut WriteSet,
) -> Result<(), Error> {
    let key = [&prefix(host, tag), &deferred.queued.id.as_bytes()[..]].concat();
    if set.learned(&key)?.is_some() {
        return Ok(());
    }
    let state = set.host(host)?;
    if state.deferred < MAX_DEFERRED {
        state.deferred += 1;
        set.learn(key, encode(&(deferred.was_queued, &deferred.queued)));
    }
    Ok(())
}

/// Takes out the URLs deferred at a host under one tag.
pub(crate) fn take(
    host: &HostKey,
    tag: [u8; 8],
    set: &mut WriteSet,
) -> Result<Vec<Deferred>, Error> {
    let mut taken = Vec::new();
    for (key, row) in set.learned_rows(&prefix(host, tag))? {
        set.unlearn(key);
        let state = set.host(host)?;
        state.deferred = state.deferred.saturating_sub(1);
        let (was_queued, queued): (bool, QueuedUrl) = decode(Table::Learned, &row)?;
        taken.push(Deferred { queued, was_queued });
    }
    Ok(taken)
}
