//! Slots: places on the pages of a site, told by the lines around them that many pages have.

use serde::{Deserialize, Serialize};

use super::mix;

/// Maximum number of slots that are suspected at a time.
const MAX_SUSPECTS: usize = 32;
/// Number of pages that only the line of one slot made new, after which it is suspected to change
/// with each fetch.
const ENOUGH: u8 = 12;

/// Slots whose lines alone made pages new, with the number of these pages; the first one was not
/// seen for the longest time.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Suspects(Vec<(u32, u8)>);

impl Suspects {
    /// Counts a page that only these slots make new. Returns those of them that are suspected.
    pub(super) fn count(&mut self, slots: &[u32]) -> Vec<u32> {
        let mut suspected = Vec::new();
        for slot in slots {
            let at = self.0.iter().position(|(known, _)| known == slot);
            let before = at.map_or(0, |at| self.0.remove(at).1);
            if self.0.len() >= MAX_SUSPECTS {
                self.0.remove(0);
            }
            let pages = before.saturating_add(1);
            self.0.push((*slot, pages));
            if pages >= ENOUGH {
                suspected.push(*slot);
            }
        }
        suspected
    }
}

/// Returns the slot of each line of a page: its place between the nearest lines around it that
/// many pages have. A line is given as its hash and whether many pages have it.
pub fn slots(lines: &[(u32, bool)]) -> Vec<u32> {
    let mut slots = Vec::with_capacity(lines.len());
    let mut before = 0_u32;
    while slots.len() < lines.len() {
        let rest = &lines[slots.len()..];
        let count = rest.iter().take_while(|(_, is_frame)| !is_frame).count();
        let after = rest.get(count).map_or(0, |(line, _)| *line);
        let between = mix(before.rotate_left(16) ^ mix(after)).wrapping_add(count as u32);
        slots.extend((0..count as u32).map(|at| mix(between.rotate_left(8) ^ at)));
        if count < rest.len() {
            slots.push(mix(before ^ after));
            before = after;
        }
    }
    slots
}
