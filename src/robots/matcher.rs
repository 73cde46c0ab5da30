//! The path patterns of one crawler's rules, compiled: finds the longest rule that matches a path
//! (RFC 9309, sections 2.2.2 and 2.2.3). Knows nothing of groups or lines.
//!
//! Patterns without `*` and `$`, which are most of them, are sorted, and each links to the longest
//! other pattern that is its prefix. One binary search and a walk up these links find the longest
//! pattern that is a prefix of the path. The remaining patterns are tried from the longest down
//! until one matches or is shorter than the plain pattern found.
//!
//! Patterns and paths are first brought into one form: escapes of unreserved characters are
//! decoded, everything that no URI may contain is escaped, hexadecimal digits are upper case. A `*`
//! in a path is escaped too, so that `/a-%2A` matches the path `/a-*` (the example of section
//! 2.2.3), and a `*` in a pattern, which is an operator, never matches by equality. `$` and `%24`
//! are the same where they are not operators.

use std::borrow::Cow;

/// Maximum number of patterns with `*` or `$`. A large shop has some hundreds. Beyond the maximum,
/// a disallowed pattern is cut at its first `*` or `$` (and disallows more), and an allowed one is
/// dropped, so that forty thousand patterns cannot make every URL of the host cost milliseconds.
pub const MAX_WILDCARD_RULES: usize = 1_000;

/// The compiled rules of one crawler.
#[derive(Debug, Clone)]
pub(super) struct Matcher {
    /// The text of all patterns, concatenated.
    text: Box<str>,
    /// Patterns without operators, sorted by text and distinct.
    plain: Box<[Plain]>,
    /// Patterns with operators, longest first; among equally long ones, `allow` first.
    wildcard: Box<[Wildcard]>,
}

#[derive(Debug, Clone, Copy)]
struct Span {
    start: u32,
    end: u32,
}

impl Span {
    fn of(self, text: &str) -> &str {
        &text[self.start as usize..self.end as usize]
    }

    fn len(self) -> usize {
        (self.end - self.start) as usize
    }
}

/// Whether a rule allows, and its line in the file, packed into one word, because a large file has
/// tens of thousands of rules.
#[derive(Debug, Clone, Copy)]
struct PackedDecision(u32);

impl PackedDecision {
    fn new(allow: bool, line: u32) -> Self {
        Self((line << 1) | u32::from(allow))
    }

    fn allow(self) -> bool {
        self.0 & 1 != 0
    }

    fn line(self) -> u32 {
        self.0 >> 1
    }
}

#[derive(Debug, Clone, Copy)]
struct Plain {
    pattern: Span,
    /// Index of the longest plain pattern that is a prefix of this one, or `NO_PARENT`.
    parent: u32,
    decision: PackedDecision,
}

const NO_PARENT: u32 = u32::MAX;

#[derive(Debug, Clone, Copy)]
struct Wildcard {
    /// The pattern without the final `$`; runs of `*` are folded into one.
    pattern: Span,
    /// Length of the pattern as written, in octets, which makes a rule more specific.
    octets: u32,
    anchored: bool,
    decision: PackedDecision,
}

/// The rule that decided about a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Decision {
    /// Set if the path may be visited.
    pub allow: bool,
    /// Line of the rule in the file, from 1; 0 for a rule that is not in a file.
    pub line: u32,
}

impl Matcher {
    /// Returns the rule that decides about a path, or `None` if no rule applies and the path is
    /// allowed.
    pub(super) fn decide(&self, path_and_query: &str) -> Option<Decision> {
        let path = path_and_query.split('#').next().unwrap_or_default();
        if path == "/robots.txt" {
            return None;
        }
        let path = path_form(path);
        let plain = self.longest_plain(&path);
        let octets = plain.map_or(0, |rule| rule.pattern.len());
        let rival = self
            .wildcard
            .iter()
            .take_while(|rule| rule.octets as usize >= octets)
            .find(|rule| matches(rule.pattern.of(&self.text), rule.anchored, &path));
        let decision = match (plain, rival) {
            (Some(plain), Some(rival))
                if rival.octets as usize == octets && plain.decision.allow() =>
            {
                plain.decision
            }
            (_, Some(rival)) => rival.decision,
            (Some(plain), None) => plain.decision,
            (None, None) => return None,
        };
        Some(Decision {
            allow: decision.allow(),
            line: decision.line(),
        })
    }

    /// Returns the longest plain pattern that is a prefix of `path`. Any such pattern sorts at or
    /// before the path, and everything that sorts between the two has it as a prefix as well. It is
    /// therefore found by going up from the last pattern that does not sort after the path.
    fn longest_plain(&self, path: &str) -> Option<&Plain> {
        let after = self
            .plain
            .partition_point(|rule| rule.pattern.of(&self.text) <= path);
        let mut rule = self.plain.get(after.checked_sub(1)?)?;
        let common = rule.pattern.of(&self.text).bytes().zip(path.bytes());
        let common = common.take_while(|(a, b)| a == b).count();
        while rule.pattern.len() > common {
            rule = self.plain.get(rule.parent as usize)?;
        }
        Some(rule)
    }

    /// Returns the heap size, in bytes.
    pub(super) fn heap_size(&self) -> usize {
        self.text.len() + size_of_val(&*self.plain) + size_of_val(&*self.wildcard)
    }
}

/// Tells whether `path` matches `pattern`, in which `*` stands for anything. The pieces between the
/// stars are found one after the other, each at its first occurrence, the last one at the end if
/// the pattern is anchored. Greedy matching suffices because nothing but `*` varies; `str::find`
/// takes linear time, and so does the whole.
fn matches(pattern: &str, anchored: bool, path: &str) -> bool {
    matches_by(|text, piece| text.find(piece), pattern, anchored, path)
}

/// Like [`matches()`], with the search that finds a piece in a text.
fn matches_by(
    find: impl Fn(&str, &str) -> Option<usize>,
    pattern: &str,
    anchored: bool,
    path: &str,
) -> bool {
    let (head, mut pieces) = match pattern.split_once('*') {
        Some((head, rest)) => (head, rest),
        None if anchored => return pattern == path,
        None => return path.starts_with(pattern),
    };
    let Some(mut rest) = path.strip_prefix(head) else {
        return false;
    };
    while let Some((piece, after)) = pieces.split_once('*') {
        let Some(at) = find(rest, piece) else {
            return false;
        };
        (rest, pieces) = (&rest[at + piece.len()..], after);
    }
    if anchored {
        rest.ends_with(pieces)
    } else {
        find(rest, pieces).is_some()
    }
}

/// Collects rules as they appear in the file and compiles them.
#[derive(Debug, Default)]
pub(super) struct MatcherBuilder {
    text: String,
    plain: Vec<Plain>,
    wildcard: Vec<Wildcard>,
}

impl MatcherBuilder {
    /// Adds a rule. A rule without a pattern says nothing, and one that begins with neither `/` nor
    /// `*` matches no path; both are skipped.
    pub(super) fn add(&mut self, pattern: &str, allow: bool, line: u32) {
        let decision = PackedDecision::new(allow, line);
        if !pattern.starts_with(['/', '*']) {
            return;
        }
        let (body, anchored) = match pattern.strip_suffix('$') {
            Some(body) => (body, true),
            None => (pattern, false),
        };
        if !anchored && !body.contains('*') {
            let pattern = self.push(|text| push_form(body, Operators::Escaped, text));
            self.plain.push(Plain {
                pattern,
                parent: NO_PARENT,
                decision,
            });
        } else if self.wildcard.len() < MAX_WILDCARD_RULES {
            let stars = body.bytes().filter(|byte| *byte == b'*').count();
            let pattern = self.push(|text| push_form(body, Operators::Star, text));
            let kept = pattern
                .of(&self.text)
                .bytes()
                .filter(|byte| *byte == b'*')
                .count();
            let octets = (pattern.len() - kept + stars + usize::from(anchored)) as u32;
            self.wildcard.push(Wildcard {
                pattern,
                octets,
                anchored,
                decision,
            });
        } else if !allow {
            let body = body.split('*').next().unwrap_or_default();
            let body = if body.is_empty() { "/" } else { body };
            let pattern = self.push(|text| push_form(body, Operators::Escaped, text));
            self.plain.push(Plain {
                pattern,
                parent: NO_PARENT,
                decision,
            });
        }
    }

    fn push(&mut self, write: impl FnOnce(&mut String)) -> Span {
        let start = self.text.len() as u32;
        write(&mut self.text);
        Span {
            start,
            end: self.text.len() as u32,
        }
    }

    pub(super) fn build(self) -> Matcher {
        let Self {
            text,
            plain,
            mut wildcard,
        } = self;
        // Sort by text. Most comparisons are decided by the cached word that follows the common
        // prefix. The sort is stable and the first of equal patterns stays: `allow`, if any of them
        // allows.
        let common = common_beginning(plain.iter().map(|rule| rule.pattern.of(&text)));
        let mut by_text: Vec<(u64, Plain)> = plain
            .into_iter()
            .map(|rule| (word_at(common, rule.pattern.of(&text)), rule))
            .collect();
        by_text.sort_unstable_by(|(a_word, a), (b_word, b)| {
            (a_word.cmp(b_word))
                .then_with(|| a.pattern.of(&text).cmp(b.pattern.of(&text)))
                .then_with(|| b.decision.allow().cmp(&a.decision.allow()))
                .then_with(|| a.decision.line().cmp(&b.decision.line()))
        });
        let mut plain: Vec<Plain> = by_text.into_iter().map(|(_, rule)| rule).collect();
        plain.dedup_by(|a, b| a.pattern.of(&text) == b.pattern.of(&text));
        let mut above: Vec<u32> = Vec::new();
        for index in 0..plain.len() {
            let pattern = plain[index].pattern.of(&text);
            while above
                .last()
                .is_some_and(|last| !pattern.starts_with(plain[*last as usize].pattern.of(&text)))
            {
                above.pop();
            }
            plain[index].parent = above.last().copied().unwrap_or(NO_PARENT);
            above.push(index as u32);
        }
        wildcard.sort_by_key(|rule| (std::cmp::Reverse(rule.octets), !rule.decision.allow()));
        Matcher {
            text: text.into(),
            plain: plain.into(),
            wildcard: wildcard.into(),
        }
    }
}

/// Returns the length of the longest common prefix of all texts, in bytes.
fn common_beginning<'a>(mut texts: impl Iterator<Item = &'a str>) -> usize {
    let Some(first) = texts.next() else { return 0 };
    texts.fold(first.len(), |common, text| {
        let pairs = first.bytes().zip(text.bytes()).take(common);
        pairs.take_while(|(a, b)| a == b).count()
    })
}

/// Returns the eight bytes from `start` as a number that orders as the texts do, as far as it
/// reaches.
fn word_at(start: usize, text: &str) -> u64 {
    let bytes = text.as_bytes().get(start..).unwrap_or_default();
    match bytes.first_chunk() {
        Some(word) => u64::from_be_bytes(*word),
        None => {
            let mut word = [0; 8];
            word[..bytes.len()].copy_from_slice(bytes);
            u64::from_be_bytes(word)
        }
    }
}

/// Whether `*` is an operator in a text.
#[derive(Clone, Copy, PartialEq)]
enum Operators {
    Star,
    Escaped,
}

/// Returns a path with its query in the form that is compared. It begins with a slash.
fn path_form(path: &str) -> Cow<'_, str> {
    if path.starts_with('/') && path.bytes().all(stays) {
        return Cow::Borrowed(path);
    }
    let mut form = String::with_capacity(path.len() + path.len() / 2 + 1);
    if !path.starts_with('/') {
        form.push('/');
    }
    push_form(path, Operators::Escaped, &mut form);
    Cow::Owned(form)
}

/// Tells whether a byte is left as it is in the compared form: the characters that RFC 3986 calls
/// unreserved or reserved, except `*`.
fn stays(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"-._~:/?#[]@!$&'()+,;=".contains(&byte)
}

/// Pushes `text` in the form that is compared.
fn push_form(text: &str, operators: Operators, out: &mut String) {
    let mut bytes = text.as_bytes();
    let mut after_star = false;
    while let [byte, after @ ..] = bytes {
        bytes = after;
        let is_star = *byte == b'*' && operators == Operators::Star;
        match (*byte, escaped(after)) {
            (b'*', _) if is_star => {
                if !after_star {
                    out.push('*');
                }
            }
            (b'%', Some(octet)) => {
                bytes = &after[2..];
                if octet.is_ascii_alphanumeric() || b"-._~$".contains(&octet) {
                    out.push(char::from(octet));
                } else {
                    push_escape(octet, out);
                }
            }
            (b'%', None) => out.push('%'),
            (byte, _) if stays(byte) => out.push(char::from(byte)),
            (byte, _) => push_escape(byte, out),
        }
        after_star = is_star;
    }
}

/// Returns the octet whose two hexadecimal digits `digits` begins with.
fn escaped(digits: &[u8]) -> Option<u8> {
    let [high, low, ..] = digits else { return None };
    let digit = |byte: u8| char::from(byte).to_digit(16);
    u8::try_from(digit(*high)? * 16 + digit(*low)?).ok()
}

/// Pushes `%` and the two hexadecimal digits of an octet.
pub(super) fn push_escape(octet: u8, out: &mut String) {
    const DIGITS: &[u8; 16] = b"0123456789ABCDEF";
    out.push('%');
    out.push(char::from(DIGITS[usize::from(octet >> 4)]));
    out.push(char::from(DIGITS[usize::from(octet & 15)]));
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use proptest::prelude::*;

    use super::*;

    /// Builds a matcher from rules written as `-/a` and `+/a/b`.
    fn matcher(rules: &[&str]) -> Matcher {
        let mut builder = MatcherBuilder::default();
        for rule in rules {
            let (sign, pattern) = rule.split_at(1);
            builder.add(pattern, sign == "+", 0);
        }
        builder.build()
    }

    fn allows(matcher: &Matcher, path: &str) -> bool {
        matcher.decide(path).is_none_or(|decision| decision.allow)
    }

    fn check(rules: &[&str], expected: &[&str]) {
        let matcher = matcher(rules);
        for expectation in expected {
            let (sign, path) = expectation.split_at(1);
            assert_eq!(allows(&matcher, path), sign == "+", "{path} by {rules:?}");
        }
    }

    #[test]
    fn a_plain_pattern_is_a_prefix() {
        check(
            &["-/fish"],
            &[
                "-/fish",
                "-/fish.html",
                "-/fish/x?y",
                "-/fishy",
                "+/Fish",
                "+/fis",
                "+/a/fish",
                "+/?id=fish",
            ],
        );
        check(
            &["-/fish/"],
            &["-/fish/", "-/fish/x", "+/fish", "+/fish.html"],
        );
        check(&["-/a?b"], &["-/a?bc", "+/a"]);
    }

    #[test]
    fn the_longest_rule_decides() {
        check(&["-/", "+/p"], &["+/p", "+/page", "-/q"]);
        check(
            &["+/p", "-/p/x", "+/p/x/y"],
            &["+/p/", "-/p/x", "-/p/x/", "+/p/x/y"],
        );
        check(&["+/page", "-/*.htm"], &["-/page.htm", "+/page.ht"]);
        check(&["+/page", "-/*.ph"], &["+/page.php5"]);
        check(&["+/$", "-/"], &["+/", "-/x"]);
        check(&["-/a/*", "+/a/b"], &["-/a/c", "+/a/b"]);
    }

    #[test]
    fn allow_wins_among_equals() {
        check(&["-/folder", "+/folder"], &["+/folder/x"]);
        check(&["+/folder", "-/folder"], &["+/folder/x"]);
        check(&["-/ab*", "+/a*b"], &["+/ab"]);
        check(&["-/a*", "+/ab"], &["+/ab"]);
        check(&["+/a*", "-/ab"], &["+/ab"]);
    }

    #[test]
    fn a_star_is_anything() {
        check(
            &["-/fish*.php"],
            &[
                "-/fish.php",
                "-/fishheads/catfish.php?parameters",
                "+/Fish.PHP",
                "+/fish.asp",
            ],
        );
        check(&["-*.php"], &["-/x.php", "-/x.php/y", "+/x"]);
        check(&["-/a*b*c"], &["-/abc", "-/a1b2c3", "+/acb", "+/ab"]);
        check(&["-*"], &["-/", "-/x"]);
        check(&["-/a**b"], &["-/ab", "-/axb"]);
    }

    #[test]
    fn a_dollar_is_the_end() {
        check(
            &["-/*.php$"],
            &[
                "-/x.php",
                "-/x.php.php",
                "+/x.php?p",
                "+/x.php/",
                "+/x.php5",
            ],
        );
        check(&["-/a$"], &["-/a", "+/ab", "+/a/"]);
        check(&["-/a*a$"], &["-/aa", "+/a", "-/aba", "+/abab"]);
        check(&["-/a*$"], &["-/a", "-/abc", "+/b"]);
        check(&["-/x$/y"], &["-/x$/yz", "+/x", "+/x/y"]);
    }

    #[test]
    fn operators_are_matched_when_escaped() {
        check(
            &["-/a-%2A.html"],
            &["-/a-*.html", "-/a-%2a.html", "+/a-b.html"],
        );
        check(&["-/foo-%24"], &["-/foo-$", "-/foo-$1", "+/foo-"]);
    }

    #[test]
    fn both_sides_are_brought_into_one_form() {
        check(
            &["-/foo/bar/%62%61%7A"],
            &["-/foo/bar/baz", "-/foo/bar/%62az"],
        );
        check(&["-/~mak", "-/%7ejoe"], &["-/%7Emak", "-/~joe"]);
        check(&["-/a%2fb"], &["-/a%2Fb", "+/a/b"]);
        check(&["-/a<b c"], &["-/a%3Cb%20c", "-/a<b c"]);
        check(&["-/%"], &["-/%", "-/%zz", "+/a"]);
        check(&["-/ツ*x"], &["-/%E3%83%84/x", "-/ツx"]);
    }

    #[test]
    fn what_matches_no_path_is_no_rule() {
        check(
            &["-", "-$", "-fish/", "-http://a.example/"],
            &["+/", "+/fish/", "+/http://a.example/"],
        );
    }

    #[test]
    fn odd_paths_are_paths() {
        check(&["-/x", "-/?q"], &["-x", "-?q", "+", "-/x#f", "+/#x"]);
    }

    #[test]
    fn beyond_the_limit_disallowed_patterns_disallow_more() {
        let mut rules: Vec<String> = (0..MAX_WILDCARD_RULES)
            .map(|n| format!("-/{n}*x"))
            .collect();
        rules.extend(["-/late*x".to_owned(), "+/later*x".to_owned()]);
        let rules: Vec<&str> = rules.iter().map(String::as_str).collect();
        check(&rules, &["-/1/x", "+/1/y", "-/late", "-/laterx"]);
    }

    /// Hostile patterns are matched in linear time: no byte of the path is searched twice.
    #[test]
    fn stars_search_each_byte_once() {
        let path = format!("/{}", "a".repeat(2_000));
        for (pattern, anchored) in [
            (format!("/{}b", "a*".repeat(800)), false),
            (format!("/{}b", "*a".repeat(200)), false),
            (format!("/{}b", "*aaaaaaaaab".repeat(800)), true),
            (format!("/*{}b", "a".repeat(1_000)), false),
        ] {
            let searched = Cell::new(0);
            let find = |text: &str, piece: &str| {
                let found = text.find(piece);
                searched.set(searched.get() + found.map_or(text.len(), |at| at + piece.len()));
                found
            };
            assert!(!matches_by(find, &pattern, anchored, &path));
            assert!(searched.get() <= path.len(), "{}", searched.get());
        }
        check(&[&format!("-/{}b", "*".repeat(200))], &["+/aaaa", "-/aab"]);
    }

    /// Matches a pattern as written against a path, by a table of which prefix of one matches which
    /// prefix of the other.
    fn matches_by_table(pattern: &str, path: &str) -> bool {
        let (body, anchored) = match pattern.strip_suffix('$') {
            Some(body) => (body, true),
            None => (pattern, false),
        };
        let mut row = vec![false; path.len() + 1];
        row[0] = true;
        for byte in body.bytes() {
            let mut next = vec![false; path.len() + 1];
            for at in 0..=path.len() {
                next[at] = match byte {
                    b'*' => row[at] || (at > 0 && next[at - 1]),
                    byte => at > 0 && row[at - 1] && path.as_bytes()[at - 1] == byte,
                };
            }
            row = next;
        }
        if anchored {
            row[path.len()]
        } else {
            row.contains(&true)
        }
    }

    /// Decides by the rules as the RFC words them: of the matching rules the one with most octets,
    /// `allow` among equals.
    fn allows_by_table(rules: &[(String, bool)], path: &str) -> bool {
        let matching = rules
            .iter()
            .filter(|(pattern, _)| pattern.starts_with(['/', '*']))
            .filter(|(pattern, _)| matches_by_table(pattern, path));
        matching
            .max_by_key(|(pattern, allow)| (pattern.len(), *allow))
            .is_none_or(|(_, allow)| *allow)
    }

    fn check_against_table(rules: &[(String, bool)], paths: &[String]) {
        let mut builder = MatcherBuilder::default();
        for (pattern, allow) in rules {
            builder.add(pattern, *allow, 0);
        }
        let matcher = builder.build();
        for path in paths {
            let expected = allows_by_table(rules, path);
            assert_eq!(allows(&matcher, path), expected, "{path} by {rules:?}");
        }
    }

    /// Patterns of few letters, so that they match paths; free patterns hardly ever would.
    fn pattern() -> impl Strategy<Value = String> {
        prop_oneof![
            "/[ab/]{0,4}",
            "/[ab*]{0,5}[$]?",
            "[*][ab*]{0,3}[$]?",
            "/[ab/.?=*$]{0,12}[$]?",
            "/(a|b|\\*|ab\\*|/){0,16}[$]{0,2}",
            "[$*/ab]{0,6}",
        ]
    }

    proptest! {
        #[test]
        fn the_rule_found_is_the_one_the_rfc_means(
            rules in proptest::collection::vec((pattern(), any::<bool>()), 0..12),
            paths in proptest::collection::vec("/[ab/]{0,6}|/[ab/.?=$]{0,12}|/(a|b|ab|/){0,20}", 1..8),
        ) {
            check_against_table(&rules, &paths);
        }

        /// Paths made from a rule, so that they match it, or nearly.
        #[test]
        fn paths_made_from_rules_are_judged_as_the_rfc_means(
            rules in proptest::collection::vec((pattern(), any::<bool>()), 1..6),
            fillings in proptest::collection::vec("[ab/]{0,3}", 1..6),
            tail in "[ab$]{0,1}",
        ) {
            let paths: Vec<String> = rules
                .iter()
                .flat_map(|(pattern, _)| fillings.iter().map(move |filling| (pattern, filling)))
                .map(|(pattern, filling)| {
                    let body = pattern.strip_suffix('$').unwrap_or(pattern);
                    format!("/{}{tail}", body.trim_start_matches('/').replace('*', filling))
                })
                .collect();
            check_against_table(&rules, &paths);
        }
    }
}
