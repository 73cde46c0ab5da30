//! Forgetting: an index that keeps what the newest runs added, and the documents that those repeat,
//! so that it does not grow for ever.

use super::files::Note;
use super::{Error, Saved, SavedEntry};

/// What is known of a document before it is decided which are forgotten.
struct Known {
    /// The origin of its record.
    origin: Option<u32>,
    is_kept: bool,
}

/// The new number of each document or origin that is kept.
struct Renumbered(Vec<Option<u32>>);

impl Renumbered {
    fn new(kept: impl Iterator<Item = bool>) -> Self {
        let mut next = 0;
        let numbers = kept.map(|is_kept| {
            let number = is_kept.then_some(next);
            next += u32::from(is_kept);
            number
        });
        Self(numbers.collect())
    }

    fn get(&self, number: u32) -> Option<u32> {
        self.0.get(number as usize).copied().flatten()
    }
}

/// Forgets the documents of all but the newest runs, unless one of these repeats them. Returns the
/// number of those that are forgotten when the run is committed.
pub(super) fn forget(saved: &mut Saved, newest: usize) -> Result<usize, Error> {
    let first = saved.runs().saturating_sub(newest);
    let (mut documents, mut origins) = (Vec::new(), Vec::new());
    let (mut repeated, mut next) = (Vec::new(), None);
    saved.read_runs(|run, entry| {
        let is_new = run >= first;
        match entry {
            SavedEntry::Document { judged, .. } => {
                let of = judged.duplicate.map(|duplicate| duplicate.of);
                repeated.extend(of.filter(|_| is_new));
                documents.push(Known {
                    origin: next.take(),
                    is_kept: is_new,
                });
            }
            SavedEntry::Note(note) => match Note::decode(&note, saved)? {
                Note::Origin(..) => origins.push(is_new),
                Note::DocumentOf(origin) => next = Some(origin),
                Note::LeftOut(_, left_out) if is_new => keep(&mut origins, left_out.origin()),
                Note::LeftOut(..) | Note::Promised(_) => {}
            },
        }
        Ok::<_, Error>(())
    })?;
    for of in repeated {
        if let Some(document) = documents.get_mut(of as usize) {
            document.is_kept = true;
        }
    }
    let forgotten = documents.iter().filter(|it| !it.is_kept).count();
    if forgotten == 0 {
        return Ok(0);
    }
    for document in documents.iter().filter(|it| it.is_kept) {
        document
            .origin
            .into_iter()
            .for_each(|origin| keep(&mut origins, origin));
    }
    let numbers = Renumbered::new(documents.iter().map(|it| it.is_kept));
    let origins = Renumbered::new(origins.into_iter());
    let (mut document, mut origin) = (0, 0);
    saved.rewrite(|saved, run, entry| {
        Ok::<_, Error>(match entry {
            SavedEntry::Document {
                id,
                mut judged,
                kept,
            } => {
                let number = numbers.get(document);
                document += 1;
                judged.duplicate = judged.duplicate.and_then(|mut duplicate| {
                    duplicate.of = numbers.get(duplicate.of)?;
                    Some(duplicate)
                });
                judged.joins = judged
                    .joins
                    .iter()
                    .filter_map(|of| numbers.get(*of))
                    .collect();
                number.map(|_| SavedEntry::Document { id, judged, kept })
            }
            SavedEntry::Note(note) => {
                let note = match Note::decode(&note, saved)? {
                    Note::Origin(of, payload) => {
                        origin += 1;
                        let number = origins.get(origin - 1);
                        number.map(|_| Note::Origin(of, payload))
                    }
                    Note::DocumentOf(of) => {
                        let of = numbers.get(document).and_then(|_| origins.get(of));
                        of.map(Note::DocumentOf)
                    }
                    Note::LeftOut(keys, left_out) if run >= first => origins
                        .get(left_out.origin())
                        .map(|of| Note::LeftOut(keys, left_out.at(of))),
                    Note::Promised(keys) if run >= first => Some(Note::Promised(keys)),
                    Note::LeftOut(..) | Note::Promised(_) => None,
                };
                note.map(|note| SavedEntry::Note(note.encode()))
            }
        })
    })?;
    Ok(forgotten)
}

fn keep(origins: &mut [bool], origin: u32) {
    if let Some(is_kept) = origins.get_mut(origin as usize) {
        *is_kept = true;
    }
}
