//! Unified diffs of two texts, line by line.

use std::fmt::Write as _;

/// Lines of context around a change.
const CONTEXT: usize = 3;

/// Pairs of lines beyond which the shortest difference is not searched: 16 MiB of table.
const MAX_PAIRS: usize = 4 << 20;

/// What happens to a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Change {
    Keep,
    Remove,
    Add,
}

/// Returns the hunks of a unified diff, empty if the texts are equal.
pub(super) fn unified(old: &str, new: &str) -> String {
    let (old, new): (Vec<&str>, Vec<&str>) = (old.lines().collect(), new.lines().collect());
    let changes = changes(&old, &new);
    let is_near_change = |at: usize| {
        let from = at.saturating_sub(CONTEXT);
        let around = changes.iter().skip(from).take(at - from + CONTEXT + 1);
        around.into_iter().any(|change| *change != Change::Keep)
    };
    let mut text = String::new();
    let (mut old_at, mut new_at, mut at) = (0, 0, 0);
    while at < changes.len() {
        if !is_near_change(at) {
            (old_at, new_at, at) = (old_at + 1, new_at + 1, at + 1);
            continue;
        }
        let (old_from, new_from) = (old_at, new_at);
        let mut hunk = String::new();
        while at < changes.len() && is_near_change(at) {
            let (mark, line) = match changes[at] {
                Change::Keep => (' ', old.get(old_at)),
                Change::Remove => ('-', old.get(old_at)),
                Change::Add => ('+', new.get(new_at)),
            };
            let _ = writeln!(hunk, "{mark}{}", line.copied().unwrap_or_default());
            old_at += usize::from(changes[at] != Change::Add);
            new_at += usize::from(changes[at] != Change::Remove);
            at += 1;
        }
        let (old_lines, new_lines) = (old_at - old_from, new_at - new_from);
        // A range without lines names the line before it.
        let start = |from: usize, lines: usize| from + usize::from(lines > 0);
        let _ = writeln!(
            text,
            "@@ -{},{old_lines} +{},{new_lines} @@",
            start(old_from, old_lines),
            start(new_from, new_lines),
        );
        text += &hunk;
    }
    text
}

/// Returns what makes the new lines of the old ones, removals before additions.
fn changes(old: &[&str], new: &[&str]) -> Vec<Change> {
    let same = |pair: &(&&str, &&str)| pair.0 == pair.1;
    let head = old.iter().zip(new).take_while(same).count();
    let (old, new) = (&old[head..], &new[head..]);
    let tail = old.iter().rev().zip(new.iter().rev());
    let tail = tail.take_while(same).count();
    let (old, new) = (&old[..old.len() - tail], &new[..new.len() - tail]);
    let mut changes = vec![Change::Keep; head];
    if old.len().saturating_mul(new.len()) > MAX_PAIRS {
        changes.extend(old.iter().map(|_| Change::Remove));
        changes.extend(new.iter().map(|_| Change::Add));
    } else {
        between(old, new, &mut changes);
    }
    changes.extend(std::iter::repeat_n(Change::Keep, tail));
    changes
}

/// Adds the changes of a longest common subsequence.
fn between(old: &[&str], new: &[&str], changes: &mut Vec<Change>) {
    let width = new.len() + 1;
    // How many lines the rests from here on have in common.
    let mut common = vec![0_u32; (old.len() + 1) * width];
    for a in (0..old.len()).rev() {
        for b in (0..new.len()).rev() {
            common[a * width + b] = match old[a] == new[b] {
                true => common[(a + 1) * width + b + 1] + 1,
                false => common[(a + 1) * width + b].max(common[a * width + b + 1]),
            };
        }
    }
    let (mut a, mut b) = (0, 0);
    while a < old.len() || b < new.len() {
        if a < old.len() && b < new.len() && old[a] == new[b] {
            changes.push(Change::Keep);
            (a, b) = (a + 1, b + 1);
        } else if a < old.len()
            && (b == new.len() || common[(a + 1) * width + b] >= common[a * width + b + 1])
        {
            changes.push(Change::Remove);
            a += 1;
        } else {
            changes.push(Change::Add);
            b += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(lines: &[&str]) -> String {
        lines.join("\n")
    }

    #[test]
    fn a_change_is_told_with_what_surrounds_it() {
        let old = text(&["a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k"]);
        let new = text(&["a", "b", "c", "d", "E", "f", "g", "h", "i", "j", "k", "l"]);
        let expected = "@@ -2,10 +2,11 @@\n b\n c\n d\n-e\n+E\n f\n g\n h\n i\n j\n k\n+l\n";
        assert_eq!(unified(&old, &new), expected);
        assert_eq!(unified(&old, &old), "");
        assert_eq!(unified("", "a"), "@@ -0,0 +1,1 @@\n+a\n");
        assert_eq!(unified("a", ""), "@@ -1,1 +0,0 @@\n-a\n");
    }

    /// Whatever the texts, the changes make the one of the other.
    #[test]
    fn changes_make_the_new_text_of_the_old_one() {
        let lines = ["a", "b", "c", "d"];
        for number in 0..4_000_usize {
            let pick = |from: usize, many: usize| -> Vec<&str> {
                let digits = (0..many).map(|at| (number * 2_654_435_761 + from) >> (7 * at) & 3);
                digits.map(|digit| lines[digit]).collect()
            };
            let (old, new) = (pick(3, number % 7), pick(11, number % 5));
            let (mut a, mut b, mut kept) = (0, 0, 0);
            for change in changes(&old, &new) {
                if change == Change::Keep {
                    assert_eq!(old[a], new[b]);
                    kept += 1;
                }
                a += usize::from(change != Change::Add);
                b += usize::from(change != Change::Remove);
            }
            assert_eq!((a, b), (old.len(), new.len()));
            assert!(kept <= old.len().min(new.len()));
        }
    }
}
