//! Counters that never fall. A crawl takes some of its counts back, as when failed URLs are queued
//! again; to whoever scrapes, a counter that falls has begun anew, and all of it would count once
//! more.

use std::collections::HashMap;

/// What was told of counters, by name and label.
#[derive(Debug, Default)]
pub(super) struct Rising(HashMap<(&'static str, String), Told>);

#[derive(Debug, Default)]
struct Told {
    /// The count that it was last made of.
    last: u64,
    /// What was taken back of it so far.
    taken_back: u64,
}

impl Rising {
    /// Returns the value of a counter whose count is this now: the count, and what was taken back
    /// of it since it was first told.
    pub(super) fn of(&mut self, name: &'static str, label: &str, count: u64) -> u64 {
        let told = self.0.entry((name, label.to_owned())).or_default();
        told.taken_back += told.last.saturating_sub(count);
        told.last = count;
        count + told.taken_back
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_taken_back_does_not_make_a_counter_fall() {
        let mut rising = Rising::default();
        let mut told = |count| rising.of("failures", "dns", count);
        assert_eq!([5, 7, 3, 4, 4, 0, 9].map(&mut told), [5, 7, 7, 8, 8, 8, 17]);
        assert_eq!(rising.of("failures", "tls", 2), 2);
    }
}
