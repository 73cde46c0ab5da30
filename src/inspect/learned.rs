//! `rules`: what a crawl learned about the kinds of URLs of its hosts.

use serde::{Deserialize, Serialize};

use super::Error;
use crate::engine::for_each_kind;
use crate::learn::Ledger;
use crate::store::Store;

/// The kinds of URLs whose pages said nothing of their own, so that further ones were deferred.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Learned {
    /// The kinds, by host.
    pub kinds: Vec<LearnedKind>,
}

/// A kind of URLs of a host.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct LearnedKind {
    /// Scheme, name and port.
    pub host: String,
    /// The kind: a pattern of URLs, a parameter, or another part of URLs.
    pub what: String,
    /// Whether its URLs are deferred.
    pub closed: bool,
    /// How many times its URLs were deferred and came back.
    pub opened: u16,
    /// Number of its URLs that are deferred.
    pub deferred: u64,
    /// Number of its URLs that are on their way back.
    pub returning: u64,
    /// Number of samples that were visited.
    pub sampled: u64,
    /// Number of these that said something.
    pub found: u64,
    /// How many of ten thousand deferred URLs say something of their own at most, with a confidence
    /// of 95 %, as far as the samples are a uniform draw; `None` if none is deferred.
    pub missed_at_most: Option<u32>,
    /// One of its URLs that was deferred.
    pub example: String,
}

impl LearnedKind {
    /// What a ledger says.
    pub(super) fn of(host: &str, ledger: Ledger) -> Self {
        let missed = ledger.bound();
        Self {
            host: host.to_owned(),
            closed: ledger.is_closed,
            opened: ledger.times,
            deferred: ledger.left.iter().sum(),
            returning: ledger.returning,
            sampled: ledger.sampled,
            found: ledger.found,
            missed_at_most: missed.map(|share| (share * 10_000.0).ceil() as u32),
            example: ledger.example,
            what: ledger.name,
        }
    }
}

/// Reads the kinds that were closed at some time.
pub(crate) fn learned(store: &dyn Store) -> Result<Learned, Error> {
    let mut learned = Learned::default();
    for_each_kind(store, None, &mut |host, _, ledger| {
        if ledger.is_closed || ledger.times > 0 {
            learned.kinds.push(LearnedKind::of(host, ledger));
        }
    })?;
    Ok(learned)
}
