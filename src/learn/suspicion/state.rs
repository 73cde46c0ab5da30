//! What is known of the kinds of a host's URLs, as rows.

use serde::{Deserialize, Serialize};

use crate::learn::kinds::{KindId, Slot};
use crate::learn::ledger::Ledger;
use crate::url::Url;

/// What a host's row says about the kinds of its URLs.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Suspicions {
    /// Number of kinds that have a row.
    pub kinds: u32,
    /// The kinds that are closed, in ascending order.
    pub closed: Vec<KindId>,
    /// The parameters that closed kinds are about, each set with one such kind; their number is
    /// bounded.
    pub slots: Vec<(Slot, KindId)>,
    /// Sets of parameters that were found to change together.
    pub joint: Vec<Vec<String>>,
    /// The other host that seems to serve the same pages.
    pub twin: Option<String>,
    /// Number of its URLs that are deferred.
    pub deferred: u64,
    /// Kinds whose deferred URLs come back.
    pub returning: Vec<Return>,
    /// Where the sweep of the queue for suspects stands; `None` if none is under way.
    pub sweep: Option<Sweep>,
    /// Whether a sweep removed URLs from the queue that may already be in flight.
    pub swept: bool,
    /// A hash of the settings by which its URLs were deferred.
    pub settings: u64,
}

/// Deferred URLs of a kind that come back.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Return {
    /// The kind.
    pub kind: KindId,
    /// The generation of these URLs.
    pub generation: u8,
    /// The part of the kind in which they are; `None` for all of it.
    pub part: Option<u32>,
    /// Whether their visits are evidence for closing the kind again: they are if it was closed
    /// before the pages behind its first visits were seen, and not if samples opened it.
    pub is_evidence: bool,
    /// The key from which to go on; empty at the beginning.
    pub from: Vec<u8>,
}

/// How far a sweep of a queue has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sweep {
    /// The class to continue with.
    pub class: u8,
    /// The sequence in that class to continue with.
    pub sequence: u64,
    /// The last sequence to examine. URLs with higher sequences were admitted by what is known now.
    pub until: u64,
}

/// What is known of a host, as rows.
pub trait Rows {
    /// Why a row cannot be read.
    type Error;
    /// Returns the ledger of a kind, if it has one.
    fn ledger(&mut self, kind: KindId) -> Result<Option<Ledger>, Self::Error>;
    /// Writes the ledger of a kind.
    fn write(&mut self, kind: KindId, ledger: &Ledger);
    /// Returns the sequence of the last URL that was queued.
    fn last_queued(&self) -> u64;
    /// Returns the host's row.
    fn suspicions(&mut self) -> Result<&mut Suspicions, Self::Error>;
    /// Returns `true` if a URL was admitted.
    fn is_admitted(&mut self, url: &Url) -> bool;
    /// Returns `true` if a URL was visited and answered.
    fn was_visited(&mut self, url: &Url) -> Result<bool, Self::Error>;
    /// Returns `true` if a URL was visited before another one, and answered, and the page of that
    /// is no copy.
    fn was_visited_before(&mut self, url: &Url, other: &Url) -> Result<bool, Self::Error>;
    /// Returns `true` if a reduced form was marked with this salt.
    fn is_marked(&mut self, reduced: &Url, salt: u32) -> bool;
    /// Marks a reduced form. Returns `true` if it was not marked before.
    fn mark(&mut self, reduced: &Url, salt: u32) -> bool;
}
