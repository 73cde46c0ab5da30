//! Draws: from which kind the next samples are taken, and how many.

use super::state::Rows;
use crate::learn::kinds::KindId;
use crate::learn::ledger::{ENOUGH_DRAWN, Part, Stratum};

/// Maximum number of samples that are drawn at once.
const MAX_DRAWN: u32 = 16;

/// Samples for each of several kinds that share them, at least.
const AT_LEAST: u32 = 12;
/// The least part of its samples that such a kind must have when all have enough together.
const LEAST_PART: f64 = 0.6;
/// What is left of them is little, whatever the number of their samples, up to this part of the
/// URLs of the host.
const LITTLE: u64 = 8;

/// Returns the kind from which samples are drawn next, its generation, the stratum and how many are
/// drawn at most; `None` if all are finished. The kind with the fewest samples so far, by its part,
/// is the next one, so that every finite kind is served before the second part of an endless one.
///
/// A URL may be of several closed kinds and is deferred for one of them. Such kinds share their
/// samples: each has its part, by the number of its URLs, so that together these are a uniform draw
/// from all. A kind that has said something since it was first closed is not like the others: it
/// has its own samples, and the others as many as before. Whether little is left is asked of all
/// that share as well.
pub fn next_draw<R: Rows>(rows: &mut R) -> Result<Option<Draw>, R::Error> {
    let closed = rows.suspicions()?.closed.clone();
    let mut ledgers = Vec::with_capacity(closed.len());
    for id in closed {
        ledgers.extend(rows.ledger(id)?.map(|ledger| (id, ledger)));
    }
    let mut best: Option<((u64, u64), Draw)> = None;
    for (id, ledger) in &ledgers {
        let own = ledger.known();
        let shares = ledger.found == 0;
        let others = ledgers.iter().filter(|(other, of)| {
            other != id && shares && (ledger.wider.contains(other) || of.wider.contains(id))
        });
        let (mut all, mut quiet) = (own, ledger.quiet_samples());
        for (_, other) in others {
            all += other.known();
            quiet += other.quiet_samples();
        }
        let share = own as f64 / all.max(1) as f64;
        // Parts change while URLs are found. What had too many samples makes up for some of those
        // that others have too few of.
        let due = match quiet < ENOUGH_DRAWN || quiet == ledger.quiet_samples() {
            true => share,
            false => share * LEAST_PART,
        };
        // What is known of them and is no sample is left.
        let left = all - u64::from(quiet);
        let part = Part {
            share: due,
            at_least: AT_LEAST,
            is_little: left <= u64::from(quiet).max(rows.last_queued() / LITTLE),
        };
        let Some((stratum, most)) = ledger.next_stratum(part) else {
            continue;
        };
        let order = ((ledger.sampled as f64 / share) as u64, *id);
        if best.as_ref().is_none_or(|(least, _)| order < *least) {
            let draw = Draw {
                kind: *id,
                generation: ledger.generation(),
                stratum,
                most: most.min((f64::from(MAX_DRAWN) * share).ceil() as u32),
            };
            best = Some((order, draw));
        }
    }
    Ok(best.map(|(_, draw)| draw))
}

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
