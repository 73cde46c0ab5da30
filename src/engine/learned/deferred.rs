//! Deferred URLs as rows: kept by host, kind, generation and stratum, in an order that is a uniform
//! draw without replacement. Their number is bounded for the whole crawl (`crawl.max_deferred`).

use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::xxh3_64;

use super::rows::kind_key;
use crate::engine::Error;
use crate::engine::commit::WriteSet;
use crate::frontier::QueuedUrl;
use crate::learn::{Expectation, KindId, Ledger, Stratum};
use crate::store::{self, Table, decode, encode, keys};
use crate::url::{HostKey, UrlId};

/// A deferred URL: its row.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Deferred {
    pub(crate) queued: QueuedUrl,
    /// Set if it was queued when it was deferred.
    pub(crate) was_queued: bool,
}

impl Deferred {
    /// The same, visited for another reason.
    pub(crate) fn expecting(mut self, expectation: Expectation) -> Self {
        self.queued.expectation = expectation;
        self
    }
}

/// Returns the URL of a row.
pub(crate) fn url_of(row: &[u8]) -> store::Result<String> {
    let deferred: Deferred = decode(Table::Deferred, row)?;
    Ok(deferred.queued.url)
}

/// Returns the id of the URL of a row.
pub(crate) fn id_of(row: &[u8]) -> store::Result<UrlId> {
    let deferred: Deferred = decode(Table::Deferred, row)?;
    Ok(deferred.queued.id)
}

/// Where deferred URLs of a kind are: the number of their generation and stratum.
pub(crate) fn shelf(generation: u8, stratum: Stratum) -> u8 {
    generation * 2 + u8::from(stratum == Stratum::Poor)
}

/// Returns the stratum of a shelf.
pub(crate) fn stratum_of(shelf: u8) -> Stratum {
    match shelf % 2 {
        0 => Stratum::Good,
        _ => Stratum::Poor,
    }
}

/// Returns the rank of a URL among the deferred: a hash of its id, which is keyed.
fn rank(id: UrlId) -> u64 {
    xxh3_64(id.as_bytes())
}

/// Returns the key of a deferred URL.
pub(crate) fn key(host: &HostKey, kind: KindId, shelf: u8, id: UrlId) -> Vec<u8> {
    keys::deferred(host.as_str(), kind, shelf, rank(id))
}

/// Defers a URL that its ledger counts.
pub(crate) fn put(
    deferred: &Deferred,
    host: &HostKey,
    kind: KindId,
    shelf: u8,
    set: &mut WriteSet,
) -> Result<(), Error> {
    let key = key(host, kind, shelf, deferred.queued.id);
    set.put_deferred(key, encode(deferred))
}

/// Takes out up to `limit` URLs of one shelf, from a key on, for which `is_meant` holds. Returns
/// them, and the key from which to go on; `None` at the end of the shelf.
pub(crate) fn take(
    prefix: &[u8],
    from: &[u8],
    limit: usize,
    is_meant: &mut dyn FnMut(&Deferred) -> Result<bool, Error>,
    set: &mut WriteSet,
) -> Result<(Vec<Deferred>, Option<Vec<u8>>), Error> {
    let rows = set.deferred_rows(prefix, from, limit)?;
    let next = match rows.last() {
        Some((last, _)) if rows.len() >= limit => Some([last, &[0][..]].concat()),
        _ => None,
    };
    let mut taken = Vec::new();
    for (key, row) in rows {
        let deferred: Deferred = decode(Table::Deferred, &row)?;
        if is_meant(&deferred)? {
            set.remove_deferred(key)?;
            taken.push(deferred);
        }
    }
    Ok((taken, next))
}

/// Counts that a URL has left a shelf.
pub(crate) fn leave(
    host: &HostKey,
    kind: KindId,
    shelf: u8,
    set: &mut WriteSet,
) -> Result<(), Error> {
    let key = kind_key(host, kind);
    if let Some(row) = set.learned(&key)? {
        let mut ledger: Ledger = decode(Table::Learned, &row)?;
        if shelf / 2 == ledger.generation() {
            ledger.drawn(stratum_of(shelf), 1);
        } else {
            ledger.returning = ledger.returning.saturating_sub(1);
        }
        set.learn(key, encode(&ledger));
    }
    let suspicions = &mut set.host(host)?.suspicions;
    suspicions.deferred = suspicions.deferred.saturating_sub(1);
    Ok(())
}
