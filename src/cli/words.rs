//! Words for numbers, for people.

/// A number of things: `1 page`, `2 pages`. The plural ends in `s`.
pub(super) fn count(number: u64, thing: &str) -> String {
    match number {
        1 => format!("1 {thing}"),
        _ => format!("{number} {thing}s"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_is_not_many() {
        let said = [0, 1, 2].map(|number| count(number, "page"));
        assert_eq!(said, ["0 pages", "1 page", "2 pages"]);
    }
}
