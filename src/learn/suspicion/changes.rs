//! Changes of kinds: what the host's row says of one that is closed or opened.

use super::state::{Return, Rows, Sweep};
use crate::learn::kinds::{KindId, Slot, is_from_elsewhere};
use crate::learn::ledger::{Change, Ledger};

/// Maximum number of sets of parameters that are suspected at URLs without them, per host.
const MAX_SLOTS: usize = 16;

pub(super) fn close(id: KindId, closed: &mut Vec<KindId>) {
    if let Err(at) = closed.binary_search(&id) {
        closed.insert(at, id);
    }
}

/// Enters a change of a kind in its host's row.
pub(super) fn apply<R: Rows>(
    id: KindId,
    (change, is_evidence): (Change, bool),
    ledger: &Ledger,
    rows: &mut R,
) -> Result<(), R::Error> {
    let until = rows.last_queued();
    let known = rows.suspicions()?;
    let mut come_back = |generation, part| {
        known.returning.push(Return {
            kind: id,
            generation,
            part,
            is_evidence,
            from: Vec::new(),
        });
    };
    match change {
        Change::None => {}
        Change::Closed => {
            close(id, &mut known.closed);
            if let Some(slot @ Slot::Parameters(_)) = &ledger.slot
                && known.slots.len() < MAX_SLOTS
                && known.slots.iter().all(|(known, _)| known != slot)
                && !is_from_elsewhere(&ledger.name)
            {
                known.slots.push((slot.clone(), id));
            }
            known.sweep = Some(Sweep {
                class: 0,
                sequence: 0,
                until,
            });
        }
        Change::PartOpened(part) => {
            come_back(ledger.generation(), Some(part));
        }
        Change::Opened => {
            // The generation of what was deferred before.
            come_back((ledger.times.wrapping_sub(1) % 128) as u8, None);
            known.closed.retain(|closed| *closed != id);
            known.slots.retain(|(_, kind)| *kind != id);
        }
    }
    Ok(())
}

/// Opens the kinds of a host that are closed, because its settings have changed: all that is
/// deferred comes back, and its visits are evidence by the new settings.
pub fn open_all<R: Rows>(rows: &mut R) -> Result<(), R::Error> {
    for id in rows.suspicions()?.closed.clone() {
        if let Some(mut ledger) = rows.ledger(id)? {
            ledger.open();
            rows.write(id, &ledger);
            apply(id, (Change::Opened, true), &ledger, rows)?;
        }
    }
    Ok(())
}
