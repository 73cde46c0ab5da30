//! Which bulletins were read, of the many few: so that it shows where an engine has lost some of
//! them, and gives their positions to others.

use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::xxh3_64;

/// What stood at some positions: at the last one that was read, and at ever fewer before it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Marks(Vec<Mark>);

/// What stood at a position.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mark {
    /// The position.
    pub position: u64,
    /// A hash of the bulletin there.
    pub hash: u64,
}

/// What stands at a position of the log now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stands {
    /// This bulletin.
    Bulletin(Mark),
    /// Nothing: the log ends before it.
    Nothing,
    /// What stood before this position was removed, because all had read it.
    Removed {
        /// The first position that is left.
        first: u64,
    },
}

impl Mark {
    /// The mark of a bulletin.
    pub fn of(position: u64, bulletin: &[u8]) -> Self {
        let hash = xxh3_64(bulletin);
        Self { position, hash }
    }
}

impl Marks {
    /// Notes a bulletin that was read last.
    pub(crate) fn note(&mut self, mark: Mark) {
        self.cut(mark.position.saturating_sub(1));
        self.0.push(mark);
        // Of those that are about as far back, the first and the last stay.
        let far = |it: &Mark| (mark.position - it.position).checked_ilog2();
        let all = &self.0;
        let stays = |at: usize| {
            let before = at.checked_sub(1).and_then(|it| all.get(it));
            let (own, behind) = (all.get(at).map(far), all.get(at + 1));
            before.map(far) != own || behind.map(far) != own
        };
        let kept = (0..all.len()).filter(|at| stays(*at));
        self.0 = kept.filter_map(|at| all.get(at).copied()).collect();
    }

    /// Forgets what stood behind a position.
    pub(crate) fn cut(&mut self, position: u64) {
        self.0.retain(|it| it.position <= position);
    }

    /// Returns the mark of what was read last.
    pub(super) fn last(&self) -> Option<Mark> {
        self.0.last().copied()
    }

    /// Returns the last position up to which there is still what was read, for who has read up to
    /// a position; 0 if there is none. `now` returns what stands at a position. What was removed is
    /// taken to be what was read, unless what comes first behind it is not.
    ///
    /// # Errors
    ///
    /// What `now` says.
    pub fn still<E>(
        &self,
        position: u64,
        mut now: impl FnMut(u64) -> Result<Stands, E>,
    ) -> Result<u64, E> {
        let removed = |first: u64| position.min(first.saturating_sub(1));
        let mut is_removed = false;
        if self.0.is_empty() && position > 0 {
            // Nothing is known of what was read by a version without marks.
            return Ok(match now(position)? {
                Stands::Bulletin(_) => position,
                Stands::Nothing => 0,
                Stands::Removed { first } => removed(first),
            });
        }
        // From the first one on: who has read on since a loss knows what came behind it.
        let mut still = 0;
        for mark in self.0.iter().filter(|it| it.position <= position) {
            match now(mark.position)? {
                Stands::Bulletin(it) if it == *mark => {
                    (still, is_removed) = (mark.position, false);
                }
                Stands::Removed { first } => (still, is_removed) = (removed(first), true),
                // The loss may have been before what was removed.
                Stands::Bulletin(_) | Stands::Nothing if is_removed => return Ok(0),
                Stands::Bulletin(_) | Stands::Nothing => break,
            }
        }
        Ok(still)
    }
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use super::*;

    fn mark(position: u64) -> Mark {
        Mark::of(position, &position.to_le_bytes())
    }

    #[test]
    fn few_marks_show_about_where_a_loss_is() {
        let mut marks = Marks::default();
        for position in 1..=100_000 {
            marks.note(mark(position));
            assert!(marks.0.len() <= 40, "{}", marks.0.len());
        }
        let still = |end: u64| {
            let now = |at| {
                Ok::<_, Infallible>(match at <= end {
                    true => Stands::Bulletin(mark(at)),
                    false => Stands::Nothing,
                })
            };
            marks.still(100_000, now).unwrap()
        };
        assert_eq!(still(100_000), 100_000);
        for end in [0, 1, 500, 50_000, 90_000, 99_900, 99_999] {
            let (lost, back) = (100_000 - end, 100_000 - still(end));
            assert!((lost..=4 * lost).contains(&back), "{lost}: {back}");
        }
    }

    #[test]
    fn what_stands_there_now_is_another_bulletin() {
        let mut marks = Marks::default();
        assert_eq!(marks.still(0, |_| Err(())), Ok(0));
        let always = |stands: Stands| move |_| Ok::<_, Infallible>(stands);
        assert_eq!(marks.still(7, always(Stands::Bulletin(mark(7)))), Ok(7));
        assert_eq!(marks.still(7, always(Stands::Nothing)), Ok(0));
        for position in 1..=10 {
            marks.note(mark(position));
        }
        let other = |at| match at {
            ..=5 => mark(at),
            _ => Mark::of(at, b"another"),
        };
        let still = marks.still(10, |at| Ok::<_, Infallible>(Stands::Bulletin(other(at))));
        let still = still.unwrap();
        assert!((1..=5).contains(&still), "{still}");
        // What is read again takes the place.
        marks.cut(still);
        marks.note(other(still + 1));
        assert_eq!(marks.last(), Some(other(still + 1)));
        assert_eq!(marks.still(10, |_| Err("away")), Err("away"));
    }

    #[test]
    fn what_was_removed_was_read() {
        let mut marks = Marks::default();
        for position in 1..=100 {
            marks.note(mark(position));
        }
        let still = |position: u64, first: u64, end: u64| {
            let now = |at| {
                Ok::<_, Infallible>(match at {
                    _ if at < first => Stands::Removed { first },
                    _ if at <= end => Stands::Bulletin(mark(at)),
                    _ => Stands::Nothing,
                })
            };
            marks.still(position, now).unwrap()
        };
        assert_eq!(still(100, 60, 100), 100);
        assert_eq!(still(100, 200, 300), 100);
        assert_eq!(still(50, 60, 100), 50);
        // What was lost stood behind that.
        assert!((59..=80).contains(&still(100, 60, 80)));
        // It may have stood before that.
        let other = |at| {
            Ok::<_, Infallible>(match at {
                ..60 => Stands::Removed { first: 60 },
                _ => Stands::Bulletin(Mark::of(at, b"another")),
            })
        };
        assert_eq!(marks.still(100, other), Ok(0));
        assert_eq!(
            Marks::default().still(50, |_| Ok::<_, Infallible>(Stands::Removed { first: 9 })),
            Ok(8)
        );
    }
}
