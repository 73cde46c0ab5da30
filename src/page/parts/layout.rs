//! The layout of a page: which containers its site builds it from.
//!
//! Pages that one template made have the same containers on their upper levels, with the same class
//! names, whatever they say. The value is a hash of the set of these containers, without numbers
//! (`post-123`), so that neither the number of items of a list nor their order changes it.

use html5ever::local_name;
use xxhash_rust::xxh3::xxh3_64_with_seed;

use crate::page::html::{Outline, Tag, attribute};

/// Number of levels below `<body>` that count.
const LEVELS: u8 = 3;

/// The layout of a page.
pub(super) fn layout(outline: &Outline<'_>) -> u32 {
    // The chain of names above each element that counts, and its level.
    let mut chains: Vec<(u64, u8)> = vec![(0, u8::MAX); outline.elements.len()];
    let mut found: Vec<u64> = Vec::new();
    let mut at = 0;
    while let Some(item) = outline.elements.get(at) {
        let (above, level) = chains.get(item.parent).copied().unwrap_or((0, u8::MAX));
        let level = match item.tag {
            Tag::Body => 0,
            tag if level < LEVELS && is_container(tag) => level + 1,
            // What stands in other elements does not count.
            tag if level != u8::MAX || tag == Tag::Head => {
                at = item.end.max(at + 1);
                continue;
            }
            _ => u8::MAX,
        };
        if level == u8::MAX {
            at += 1;
            continue;
        }
        let mut name = xxh3_64_with_seed(&[item.tag as u8], above);
        if level > 0 {
            for key in [local_name!("id"), local_name!("class")] {
                let value = attribute(item.element, &key).unwrap_or_default();
                let first = value.split_ascii_whitespace().next().unwrap_or_default();
                let letters = first.split(|c: char| c.is_ascii_digit()).next();
                name = xxh3_64_with_seed(letters.unwrap_or_default().as_bytes(), name);
            }
        }
        found.push(name);
        if let Some(chain) = chains.get_mut(at) {
            *chain = (name, level);
        }
        at = if level < LEVELS {
            at + 1
        } else {
            item.end.max(at + 1)
        };
    }
    found.sort_unstable();
    found.dedup();
    let sum = found
        .iter()
        .fold(0, |sum: u64, name| sum.rotate_left(9) ^ name);
    (sum >> 32) as u32 ^ sum as u32
}

fn is_container(tag: Tag) -> bool {
    matches!(
        tag,
        Tag::Article
            | Tag::Aside
            | Tag::Center
            | Tag::Custom
            | Tag::Div
            | Tag::Footer
            | Tag::Form
            | Tag::Frameset
            | Tag::Header
            | Tag::Main
            | Tag::Nav
            | Tag::Section
            | Tag::Table
            | Tag::Tbody
            | Tag::Tr
    )
}
