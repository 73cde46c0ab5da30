//! Draws: from which kind the next samples are taken, and how many.

use super::state::{Rows, Suspicions};
use crate::learn::kinds::KindId;
use crate::learn::ledger::Stratum;

/// Maximum number of samples that are drawn at once.
const MAX_DRAWN: u32 = 16;

/// Returns the kind from which samples are drawn next, its generation, the stratum and how many are
/// drawn at most; `None` if all are finished. The kind with the fewest samples so far is the next
/// one, so that every finite kind is served before the second part of an endless one.
pub fn next_draw<R: Rows>(rows: &mut R) -> Result<Option<Draw>, R::Error> {
    let known = rows.suspicions()?.clone();
    let mut best: Option<((u64, u64), Draw)> = None;
    for id in &known.closed {
        let Some(ledger) = rows.ledger(*id)? else {
            continue;
        };
        let Some((stratum, mut most)) = ledger.next_stratum() else {
            continue;
        };
        let mut order = ledger.sampled;
        let left: u64 = ledger.left.iter().sum();
        for wider in closed_among(&ledger.wider, &known) {
            if let Some(shared) = rows.ledger(wider)? {
                // What shares samples is drawn from in proportion to what is left of it.
                let all: u64 = left + shared.left.iter().sum::<u64>();
                let share = u64::from(ENOUGH_SHARED) * left / all.max(1);
                let own = u64::from(ledger.quiet.iter().sum::<u32>());
                let rest = share.max(AT_LEAST).saturating_sub(own);
                most = most.min(u32::try_from(rest).unwrap_or(u32::MAX));
                order = order.max(shared.sampled.min(ledger.sampled + 1));
            }
        }
        let order = (order, *id);
        if most > 0 && best.as_ref().is_none_or(|(least, _)| order < *least) {
            let draw = Draw {
                kind: *id,
                generation: ledger.generation(),
                stratum,
                most: most.min(MAX_DRAWN),
            };
            best = Some((order, draw));
        }
    }
    Ok(best.map(|(_, draw)| draw))
}

/// Samples of kinds that share them with a wider one, at most and at least for each.
const ENOUGH_SHARED: u32 = 236;
const AT_LEAST: u64 = 12;

/// Samples to be drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Draw {
    /// The kind.
    pub kind: KindId,
    /// The generation of its rows.
    pub generation: u8,
    /// The stratum.
    pub stratum: Stratum,
    /// Maximum number of samples.
    pub most: u32,
}

pub(super) fn closed_among(kinds: &[KindId], known: &Suspicions) -> impl Iterator<Item = KindId> {
    let closed = kinds
        .iter()
        .filter(|id| known.closed.binary_search(id).is_ok());
    closed.copied()
}
