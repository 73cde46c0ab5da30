//! Short texts that a host sends for many URLs. What a server sends instead of pages repeats
//! itself.

use serde::{Deserialize, Serialize};

/// Texts that are counted at a time. A frequent text stays among them (Misra, Gries, "Finding
/// repeated elements", 1982).
const TEXTS: usize = 4;

/// Number of paths after which a text counts as repeated.
const MANY: u32 = 10;

/// Number of pages with other texts that the host must have sent.
const OTHERS: u32 = 3;

/// Counts of the short texts of one host. Takes some hundred bytes at most.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Repeats {
    texts: Vec<RepeatedText>,
    /// Pages with a text other than these, as far as remembered.
    others: u32,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct RepeatedText {
    text: u64,
    /// Number of paths for which it was sent.
    count: u32,
    /// Hash of the last of these paths.
    path: u64,
}

impl Repeats {
    /// Counts a page with a short text. `path` is the hash of the path without the query, because
    /// the same text for other parameters is as often the same page.
    pub fn see(&mut self, text: u64, path: u64) {
        if let Some(known) = self.texts.iter_mut().find(|known| known.text == text) {
            if known.path != path {
                known.path = path;
                known.count = known.count.saturating_add(1);
            }
            return;
        }
        self.see_other();
        if self.texts.len() < TEXTS {
            self.texts.push(RepeatedText {
                text,
                count: 1,
                path,
            });
            return;
        }
        for known in &mut self.texts {
            // A text that counts as repeated is never forgotten.
            if known.count < MANY {
                known.count -= 1;
            }
        }
        self.texts.retain(|known| known.count > 0);
    }

    /// Counts a page with another text.
    pub fn see_other(&mut self) {
        self.others = self.others.saturating_add(1);
    }

    /// Whether the host sends this text for many URLs while its other pages differ.
    pub fn is_repeated(&self, text: u64) -> bool {
        let known = self.texts.iter().find(|known| known.text == text);
        // The text itself was counted as another one when it was first seen.
        known.is_some_and(|known| known.count >= MANY) && self.others > OTHERS
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn repeats(times: u64, others: u64) -> Repeats {
        let mut repeats = Repeats::default();
        for n in 0..others {
            repeats.see(1_000 + n, n);
        }
        for path in 0..times {
            repeats.see(7, path);
        }
        repeats
    }

    #[test]
    fn a_text_under_many_paths_is_repeated_where_others_differ() {
        assert!(repeats(10, 3).is_repeated(7));
        assert!(!repeats(9, 3).is_repeated(7));
        assert!(!repeats(10, 3).is_repeated(8));
        assert!(!repeats(100, 2).is_repeated(7), "a host with one text");
        let mut one_path = repeats(1, 5);
        (0..100).for_each(|_| one_path.see(7, 0));
        assert!(!one_path.is_repeated(7));
    }

    #[test]
    fn what_comes_often_is_counted_among_many_others() {
        let mut repeats = Repeats::default();
        for n in 0..200 {
            repeats.see(7, n);
            repeats.see(7, 1_000 + n);
            repeats.see(10_000 + n, n);
        }
        assert!(repeats.is_repeated(7));
        assert!(repeats.texts.len() <= TEXTS);
        // It is still known after many other texts.
        for n in 0..200 {
            repeats.see(20_000 + n, n);
        }
        assert!(repeats.is_repeated(7));
    }
}
