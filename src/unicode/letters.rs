//! What characters are, looked up at once: the tables of the standard library are packed, and
//! searched for each character of a text that is not ASCII.

use std::sync::LazyLock;

/// Number of characters that are looked up at once: those of nearly all languages.
const LOOKED_UP: usize = 0x1_0000;

const ALPHANUMERIC: u8 = 1;
const LOWER: u8 = 2;

static TRAITS: LazyLock<Box<[u8]>> = LazyLock::new(|| {
    let characters = (0..LOOKED_UP as u32).map(char::from_u32);
    characters.map(|it| it.map_or(0, traits)).collect()
});

fn traits(c: char) -> u8 {
    let mut lower = c.to_lowercase();
    let is_lower = lower.next() == Some(c) && lower.next().is_none();
    let alphanumeric = if c.is_alphanumeric() { ALPHANUMERIC } else { 0 };
    alphanumeric | if is_lower { LOWER } else { 0 }
}

fn traits_of(c: char) -> u8 {
    TRAITS.get(c as usize).copied().unwrap_or_else(|| traits(c))
}

/// Whether this is a letter or a digit, as [`char::is_alphanumeric`] says.
pub(crate) fn is_alphanumeric(c: char) -> bool {
    traits_of(c) & ALPHANUMERIC != 0
}

/// Whether this is a letter or a digit that lower case leaves as it is.
pub(crate) fn is_lower_alphanumeric(c: char) -> bool {
    traits_of(c) == ALPHANUMERIC | LOWER
}

/// Adds a text in lower case to another, character by character: no letter depends on its
/// neighbours.
pub(crate) fn push_lower(to: &mut String, text: &str) {
    let mut rest = text;
    while !rest.is_empty() {
        let end = rest.find(|c| traits_of(c) & LOWER == 0);
        let (lower, after) = rest.split_at(end.unwrap_or(rest.len()));
        to.push_str(lower);
        let mut others = after.chars();
        to.extend(others.next().into_iter().flat_map(char::to_lowercase));
        rest = others.as_str();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_characters_are_what_the_standard_library_says() {
        for c in '\0'..=char::MAX {
            assert_eq!(is_alphanumeric(c), c.is_alphanumeric(), "{c:?}");
            let lower: String = c.to_lowercase().collect();
            let is_lower = lower == c.to_string();
            assert_eq!(
                is_lower_alphanumeric(c),
                is_lower && c.is_alphanumeric(),
                "{c:?}"
            );
            let mut pushed = String::new();
            push_lower(&mut pushed, &format!("{c}a{c}"));
            assert_eq!(pushed, format!("{lower}a{lower}"));
        }
    }
}
