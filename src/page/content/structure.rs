//! The structure of a page around its text: which elements hold it together, where all others are
//! in relation to those, and what repeats itself. Read by `features.rs`. Everything is linear in
//! the page.

use xxhash_rust::xxh3::xxh3_64;

use super::blocks::{Sums, TextBlock};
use crate::page::html::{Outline, Sight, Tag};

/// The position of every element in relation to one of them.
pub(super) struct View {
    /// That element.
    pub(super) container: usize,
    /// For every element, the number of levels from the container up to the lowest common ancestor.
    pub(super) levels: Vec<u16>,
    /// For every element, the branch below that ancestor that contains it.
    pub(super) branches: Vec<usize>,
}

impl View {
    pub(super) fn from(outline: &Outline<'_>, container: usize) -> Self {
        let elements = &outline.elements;
        let mut levels = vec![0; elements.len()];
        let mut branches: Vec<usize> = (0..elements.len()).collect();
        let mut above = vec![false; elements.len()];
        let mut up = container;
        let mut level = 0;
        while let Some(item) = elements.get(up) {
            above[up] = true;
            levels[up] = level;
            level += 1;
            if item.parent == up {
                break;
            }
            up = item.parent;
        }
        for (index, item) in elements.iter().enumerate().skip(1) {
            if !above[index] {
                levels[index] = levels[item.parent];
                if !above[item.parent] {
                    branches[index] = branches[item.parent];
                }
            }
        }
        Self {
            container,
            levels,
            branches,
        }
    }
}

/// Descends from the root to the last element that contains at least `percent` of its parent's
/// prose.
pub(super) fn densest(outline: &Outline<'_>, sums: &[Sums], percent: u64) -> usize {
    let elements = &outline.elements;
    let mut at = 0;
    loop {
        let mut best = at;
        let mut most = 0;
        let mut child = at + 1;
        while child < elements[at].end {
            if sums[child].prose > most {
                (best, most) = (child, sums[child].prose);
            }
            child = elements[child].end;
        }
        if most == 0 || u64::from(most) * 100 < u64::from(sums[at].prose) * percent {
            return at;
        }
        at = best;
    }
}

/// The element that paragraphs vote for: each votes for the elements right above it, with more
/// weight for nearer ones.
pub(super) fn voted(outline: &Outline<'_>, blocks: &[TextBlock], sums: &[Sums]) -> usize {
    const MIN_CHARS: u32 = 25;
    let elements = &outline.elements;
    let mut votes = vec![0_u32; elements.len()];
    for block in blocks {
        let chars = block.tally.chars;
        let owner = &elements[block.owner];
        if block.sight != Some(Sight::Shown) || chars < MIN_CHARS || owner.tag.heading() > 0 {
            continue;
        }
        let vote = 100 + 100 * block.tally.commas.min(20) + chars.min(300);
        let vote = u64::from(vote) * u64::from(chars - block.link_chars) / u64::from(chars);
        let is_paragraph = matches!(
            owner.tag,
            Tag::P | Tag::Pre | Tag::Li | Tag::Td | Tag::Br | Tag::Blockquote
        );
        let mut up = if is_paragraph {
            owner.parent
        } else {
            block.owner
        };
        for distance in [1, 2, 4, 6] {
            votes[up] = votes[up].saturating_add(vote as u32 / distance);
            up = elements[up].parent;
        }
    }
    let mut best = (0, 0);
    for (index, &votes) in votes.iter().enumerate().filter(|(_, votes)| **votes > 0) {
        let (chars, link_chars) = (sums[index].chars.max(1), sums[index].link_chars);
        let votes =
            u64::from(votes) * u64::from(chars.saturating_sub(link_chars)) / u64::from(chars);
        if votes > best.1 {
            best = (index, votes);
        }
    }
    best.0
}

/// For every element, the number of similar siblings in a row, including itself.
pub(super) fn runs(outline: &Outline<'_>) -> Vec<u16> {
    let elements = &outline.elements;
    let mut runs = vec![1_u16; elements.len()];
    let mut last_child = vec![0; elements.len()];
    let mut like_before = vec![0; elements.len()];
    for (index, item) in elements.iter().enumerate().skip(1) {
        let before = std::mem::replace(&mut last_child[item.parent], index);
        if before > 0 && elements[before].traits.likeness == item.traits.likeness {
            runs[index] = runs[before].saturating_add(1);
            like_before[index] = before;
        }
    }
    for index in (1..elements.len()).rev() {
        if like_before[index] > 0 {
            runs[like_before[index]] = runs[index];
        }
    }
    runs
}

/// For every element, the range of its blocks.
pub(super) fn spans(outline: &Outline<'_>, blocks: &[TextBlock]) -> Vec<(usize, usize)> {
    // Starts ascend with the index; ends are looked up by text.
    let mut first_after = vec![blocks.len(); outline.texts.len() + 1];
    let mut next = blocks.len();
    let mut waiting = blocks.len();
    for text in (0..=outline.texts.len()).rev() {
        while waiting > 0 && blocks[waiting - 1].texts.0 >= text {
            waiting -= 1;
            next = waiting;
        }
        first_after[text] = next;
    }
    outline
        .elements
        .iter()
        .map(|item| {
            let start = first_after[item.texts.0];
            (start, first_after[item.texts.1].max(start))
        })
        .collect()
}

/// Maximum number of words in a block that is searched for elsewhere on the page.
const MAX_REPEATED_WORDS: u32 = 40;

/// For every block, how often the same text occurred before it.
pub(super) fn repetitions(outline: &Outline<'_>, blocks: &[TextBlock]) -> Vec<u32> {
    // The same text has as many characters, so most need not be read.
    let is_searched = |block: &TextBlock| block.tally.words <= MAX_REPEATED_WORDS;
    let place = |block: &TextBlock| block.tally.chars as usize % 1024;
    let mut lengths = [0_u8; 1024];
    for block in blocks.iter().filter(|block| is_searched(block)) {
        lengths[place(block)] = lengths[place(block)].saturating_add(1);
    }
    let mut hashes: Vec<(u64, usize)> = Vec::with_capacity(blocks.len());
    for (at, block) in blocks.iter().enumerate() {
        if !is_searched(block) || lengths[place(block)] < 2 {
            continue;
        }
        let mut hash = 0_u64;
        let texts = outline.texts.get(block.texts.0..block.texts.1);
        for text in texts.unwrap_or_default() {
            if text.sight != Sight::Never {
                for word in text.characters.split_ascii_whitespace() {
                    hash = hash.rotate_left(7) ^ xxh3_64(word.as_bytes());
                }
            }
        }
        hashes.push((hash, at));
    }
    hashes.sort_unstable();
    let mut repeated = vec![0; blocks.len()];
    let mut times = 0;
    for pair in hashes.windows(2) {
        let [(first, _), (second, at)] = pair else {
            continue;
        };
        times = if first == second { times + 1 } else { 0 };
        repeated[*at] = times;
    }
    repeated
}
