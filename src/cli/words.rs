//! Words for numbers, for people.

/// A number of things: `1 page`, `2 pages`. The plural ends in `s`.
pub(super) fn count(number: u64, thing: &str) -> String {
    match number {
        1 => format!("1 {thing}"),
        _ => format!("{number} {thing}s"),
    }
}

/// Numbers of shards, with something between two of them.
pub(super) fn shards(shards: &[u16], between: &str) -> String {
    let numbers: Vec<String> = shards.iter().map(|it| format!("{it:02}")).collect();
    numbers.join(between)
}

/// A number of bytes, rounded for people.
pub(super) fn size(bytes: u64) -> String {
    let mut size = bytes as f64;
    for unit in ["B", "kB", "MB", "GB"] {
        // A value that would be rounded to 1000 is shown in the next unit.
        if size < 999.95 {
            return match unit {
                "B" => format!("{bytes} B"),
                _ => format!("{size:.1} {unit}"),
            };
        }
        size /= 1_000.0;
    }
    format!("{size:.1} TB")
}

/// A time in seconds, by its two largest units.
pub(super) fn time(seconds: u64) -> String {
    let (minutes, hours, days) = (seconds / 60, seconds / 3_600, seconds / 86_400);
    match (days, hours, minutes) {
        (0, 0, 0) => format!("{seconds} s"),
        (0, 0, minutes) => format!("{minutes} min"),
        (0, hours, minutes) => format!("{hours} h {} min", minutes % 60),
        (days, hours, _) => format!("{days} d {} h", hours % 24),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_short() {
        let check = |bytes, expected: &str| assert_eq!(size(bytes), expected);
        check(0, "0 B");
        check(999, "999 B");
        check(1_000, "1.0 kB");
        check(999_949, "999.9 kB");
        check(999_999, "1.0 MB");
        check(2_500_000_000, "2.5 GB");
        check(u64::MAX, "18446744.1 TB");
    }

    #[test]
    fn times_have_two_units() {
        let check = |seconds, expected: &str| assert_eq!(time(seconds), expected);
        check(0, "0 s");
        check(59, "59 s");
        check(60, "1 min");
        check(3_599, "59 min");
        check(3_600, "1 h 0 min");
        check(86_399, "23 h 59 min");
        check(200_000, "2 d 7 h");
    }

    #[test]
    fn one_is_not_many() {
        let said = [0, 1, 2].map(|number| count(number, "page"));
        assert_eq!(said, ["0 pages", "1 page", "2 pages"]);
    }
}
