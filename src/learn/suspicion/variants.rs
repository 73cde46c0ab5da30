//! Variants: URLs of which another form was visited or admitted before, by a part that may not
//! matter.

use super::state::Rows;
use crate::learn::kinds::{Kind, Slot, copies_at};
use crate::url::Url;

/// The mark of reduced forms of which a URL was visited.
pub(super) fn salt_of_visited(slot: &Slot) -> u32 {
    slot.number() | 1
}

/// The mark of reduced forms of which a URL is kept: one that is not deferred for a slot.
fn salt_of_held(slot: &Slot) -> u32 {
    slot.number() & !1
}

/// The mark of these URLs.
pub(super) const HOLDER: u32 = 0x486f_6c64;

/// Returns `true` if a URL, which holds no reduced form itself, is a variant of one that was
/// visited or is held, or if its reduced form was admitted.
///
/// What is held is never deferred for a slot, and reduced forms are shorter, so two URLs are never
/// deferred for each other.
pub(super) fn is_variant<R: Rows>(url: &Url, slot: &Slot, rows: &mut R) -> Result<bool, R::Error> {
    let Some(reduced) = slot.reduced(url) else {
        return Ok(false);
    };
    if *slot == Slot::Prefix {
        return any_above(reduced, rows, |url, rows| Ok(rows.is_admitted(url)));
    }
    if reduced != *url && rows.is_admitted(&reduced) {
        return Ok(true);
    }
    Ok(!slot.is_compared_with_urls()
        && (rows.is_marked(&reduced, salt_of_visited(slot))
            || rows.is_marked(&reduced, salt_of_held(slot))))
}

/// Returns `true` if `is_meant` holds for a URL, or for what it is a copy of by directories below
/// which the site was found again: it may be a copy within copies.
fn any_above<R: Rows>(
    mut url: Url,
    rows: &mut R,
    is_meant: impl Fn(&Url, &mut R) -> Result<bool, R::Error>,
) -> Result<bool, R::Error> {
    loop {
        if is_meant(&url, rows)? {
            return Ok(true);
        }
        let kind = copies_at(&url).map(|kind| kind.id());
        let closed = &rows.suspicions()?.closed;
        let is_closed = kind.is_some_and(|id| closed.binary_search(&id).is_ok());
        let reduced = Slot::Prefix.reduced(&url).filter(|_| is_closed);
        let Some(reduced) = reduced else {
            return Ok(false);
        };
        url = reduced;
    }
}

/// Takes a URL that is admitted for the one of its reduced form. Returns `true` if there is none
/// yet.
pub(super) fn hold<R: Rows>(url: &Url, slot: &Slot, rows: &mut R) -> bool {
    let reduced = slot.reduced(url).filter(|reduced| reduced != url);
    reduced.is_some_and(|reduced| {
        !slot.is_compared_with_urls() && rows.mark(&reduced, salt_of_held(slot))
    })
}

/// Which slots of a visited URL can be compared, found once for all kinds with a slot.
#[derive(Default)]
pub(super) struct Compared(Vec<(Slot, bool)>);

impl Compared {
    /// Whether the URL is a variant of a visited one by any of the slots asked about. What repeats
    /// the site below a directory, or at another host, is no less a trap for that.
    pub(super) fn is_variant(&self) -> bool {
        let mut asked = self.0.iter();
        asked.any(|(slot, is_variant)| *is_variant && !slot.is_compared_with_urls())
    }

    /// Returns `true` if a visit says something about a kind: always, if that has no slot, else if
    /// a URL of the same reduced form was visited before. Marks the reduced form as visited.
    pub(super) fn of<R: Rows>(
        &mut self,
        url: &Url,
        kind: &Kind,
        rows: &mut R,
    ) -> Result<bool, R::Error> {
        let Some(slot) = &kind.slot else {
            return Ok(true);
        };
        if let Some((_, known)) = self.0.iter().find(|(known, _)| known == slot) {
            return Ok(*known);
        }
        let is_compared = match slot.reduced(url) {
            None => false,
            Some(reduced) if reduced == *url => rows.is_marked(&reduced, salt_of_visited(slot)),
            Some(reduced) if *slot == Slot::Prefix => {
                any_above(reduced, rows, |url, rows| rows.was_visited(url))?
            }
            Some(reduced) if slot.is_compared_with_urls() => rows.was_visited(&reduced)?,
            Some(reduced) => {
                let was_visited = rows.was_visited(&reduced)?;
                !rows.mark(&reduced, salt_of_visited(slot)) || was_visited
            }
        };
        self.0.push((slot.clone(), is_compared));
        Ok(is_compared)
    }
}
