//! Patterns of the rules by which words are told apart: the part of regular expressions that these
//! use, with lookbehind, which the crate `regex` does not have.
//!
//! A pattern is matched by backtracking. The number of steps of a match is bounded, so that text
//! that was made to be slow is not; beyond it nothing is matched.

use std::cell::Cell;

use super::set::Set;

/// Maximum number of steps of a match.
const MAX_STEPS: u32 = 10_000;

/// Maximum number of parts of a pattern, or turns of one, within one another: what a stack holds.
const MAX_DEPTH: u32 = 400;

/// A pattern.
#[derive(Debug)]
pub(super) struct Pattern {
    nodes: Vec<Node>,
    /// Of each of these sets, as marks, the text holds one if the pattern matches.
    needs: Vec<u128>,
    /// Number of characters of each match, if they have the same.
    width: Option<usize>,
    /// Whether it is a set of characters and nothing else.
    pub(super) is_single: bool,
    /// Whether it is to match texts in lower case only, whatever it says.
    pub(super) is_caseless: bool,
}

#[derive(Debug)]
enum Node {
    One(Set),
    Group(Vec<Vec<Node>>),
    /// As often as possible.
    Repeat {
        inner: Vec<Node>,
        min: usize,
        max: usize,
    },
    Look {
        is_ahead: bool,
        is_wanted: bool,
        inner: Vec<Vec<Node>>,
    },
    Start,
    End,
}

impl Pattern {
    /// Reads a pattern, or says which part of it is none.
    pub(super) fn read(text: &str) -> Result<Self, String> {
        let chars: Vec<char> = text.chars().collect();
        let mut reader = Reader {
            text: &chars,
            at: 0,
            is_caseless: false,
        };
        reader.is_caseless = reader.take("(?iu)");
        let alternatives = reader.alternatives()?;
        let is_caseless = reader.is_caseless;
        if reader.at < chars.len() {
            return Err(format!("a parenthesis too many in {text:?}"));
        }
        let is_single = matches!(&*alternatives, [only] if matches!(&**only, [Node::One(_)]));
        let nodes = vec![Node::Group(alternatives)];
        let mut needs = Vec::new();
        note_needs(&nodes, &mut needs);
        Ok(Self {
            width: width(&nodes),
            is_single,
            is_caseless,
            nodes,
            needs,
        })
    }

    /// Whether it may match a text with these marks.
    pub(super) fn may_match(&self, marks: u128) -> bool {
        self.needs.iter().all(|needed| needed & marks != 0)
    }

    /// Where it ends, if it matches from this place on.
    pub(super) fn ends(&self, text: &[char], start: usize) -> Option<usize> {
        let mut end = None;
        let mut then = |at| {
            end = Some(at);
            true
        };
        Matching::of(text).sequence(&self.nodes, start, &mut then);
        end
    }

    /// The number of characters at the end of the text that it matches, as many as possible.
    pub(super) fn at_end(&self, text: &[char]) -> Option<usize> {
        let all = text.len();
        let reaches_end = |start: usize| {
            let matching = Matching::of(text);
            matching.sequence(&self.nodes, start, &mut |at| at == all)
        };
        match self.width {
            Some(width) => {
                let start = all.checked_sub(width)?;
                reaches_end(start).then_some(width)
            }
            None => (0..all)
                .find(|start| reaches_end(*start))
                .map(|start| all - start),
        }
    }

    /// Whether a match may have this character at its beginning, or at its end.
    pub(super) fn may_border(&self, letter: char, is_beginning: bool) -> bool {
        let all = self.nodes.iter().collect();
        border(all, letter, is_beginning) != Border::Other
    }
}

struct Matching<'a> {
    text: &'a [char],
    steps: Cell<u32>,
    depth: Cell<u32>,
}

impl<'a> Matching<'a> {
    fn of(text: &'a [char]) -> Self {
        Self {
            text,
            steps: Cell::new(MAX_STEPS),
            depth: Cell::new(0),
        }
    }

    /// Whether these match from here on, and what follows them agrees to where they end.
    fn sequence(&self, nodes: &[Node], at: usize, then: &mut dyn FnMut(usize) -> bool) -> bool {
        let (steps, depth) = (self.steps.get(), self.depth.get());
        if steps == 0 || depth > MAX_DEPTH {
            return false;
        }
        self.steps.set(steps - 1);
        self.depth.set(depth + 1);
        let found = self.nodes(nodes, at, then);
        self.depth.set(depth);
        found
    }

    fn nodes(&self, nodes: &[Node], at: usize, then: &mut dyn FnMut(usize) -> bool) -> bool {
        let Some((first, rest)) = nodes.split_first() else {
            return then(at);
        };
        match first {
            Node::One(set) => {
                self.text.get(at).is_some_and(|it| set.has(*it))
                    && self.sequence(rest, at + 1, then)
            }
            Node::Group(alternatives) => alternatives
                .iter()
                .any(|it| self.sequence(it, at, &mut |end| self.sequence(rest, end, then))),
            Node::Repeat { inner, min, max } => match &**inner {
                [Node::One(set)] => {
                    let here = self.text.get(at..).unwrap_or_default();
                    let most = here.iter().take(*max).take_while(|it| set.has(**it));
                    let most = most.count();
                    (*min..=most)
                        .rev()
                        .any(|count| self.sequence(rest, at + count, then))
                }
                _ => self.repeat(inner, (*min, *max), rest, at, then),
            },
            Node::Look {
                is_ahead,
                is_wanted,
                inner,
            } => {
                let found = inner.iter().any(|it| match is_ahead {
                    true => self.sequence(it, at, &mut |_| true),
                    false => {
                        let start = width(it).and_then(|width| at.checked_sub(width));
                        start.is_some_and(|start| self.sequence(it, start, &mut |end| end == at))
                    }
                });
                found == *is_wanted && self.sequence(rest, at, then)
            }
            Node::Start => at == 0 && self.sequence(rest, at, then),
            Node::End => at == self.text.len() && self.sequence(rest, at, then),
        }
    }

    fn repeat(
        &self,
        inner: &[Node],
        (min, max): (usize, usize),
        rest: &[Node],
        at: usize,
        then: &mut dyn FnMut(usize) -> bool,
    ) -> bool {
        if max > 0 {
            let left = (min.saturating_sub(1), max - 1);
            // A turn that takes nothing would have no end.
            let again = self.sequence(inner, at, &mut |end| {
                end > at && self.repeat(inner, left, rest, end, then)
            });
            if again {
                return true;
            }
        }
        min == 0 && self.sequence(rest, at, then)
    }
}

/// The number of characters of each match, if they have the same.
fn width(nodes: &[Node]) -> Option<usize> {
    let mut sum = 0;
    for node in nodes {
        sum += match node {
            Node::One(_) => 1,
            Node::Group(alternatives) => {
                let mut widths = alternatives.iter().map(|it| width(it));
                let first = widths.next()??;
                if widths.any(|it| it != Some(first)) {
                    return None;
                }
                first
            }
            Node::Repeat { inner, min, max } if min == max => width(inner)? * min,
            Node::Repeat { .. } => return None,
            Node::Look { .. } | Node::Start | Node::End => 0,
        };
    }
    Some(sum)
}

fn note_needs(nodes: &[Node], needs: &mut Vec<u128>) {
    for node in nodes {
        match node {
            Node::One(set) => needs.extend(set.marks()),
            Node::Repeat { inner, min, .. } if *min > 0 => note_needs(inner, needs),
            Node::Group(alternatives)
            | Node::Look {
                is_wanted: true,
                inner: alternatives,
                ..
            } => {
                if let [only] = &**alternatives {
                    note_needs(only, needs);
                }
            }
            _ => {}
        }
    }
    needs.sort_unstable();
    needs.dedup();
}

/// What is known of the character at the border of a match.
#[derive(PartialEq)]
enum Border {
    /// It may be this one.
    This,
    /// It is another one.
    Other,
    /// Nothing: what was looked at may be empty.
    Open,
}

fn border(nodes: Vec<&Node>, letter: char, is_beginning: bool) -> Border {
    let ordered: Vec<&Node> = match is_beginning {
        true => nodes,
        false => nodes.into_iter().rev().collect(),
    };
    for node in ordered {
        let of = |alternatives: &[Vec<Node>]| {
            let mut is_open = false;
            for it in alternatives {
                match border(it.iter().collect(), letter, is_beginning) {
                    Border::This => return Border::This,
                    Border::Open => is_open = true,
                    Border::Other => {}
                }
            }
            match is_open {
                true => Border::Open,
                false => Border::Other,
            }
        };
        let found = match node {
            Node::One(set) => match set.has(letter) {
                true => Border::This,
                false => Border::Other,
            },
            Node::Group(alternatives) => of(alternatives),
            Node::Repeat { inner, min, .. } => {
                match border(inner.iter().collect(), letter, is_beginning) {
                    Border::Other if *min == 0 => Border::Open,
                    found => found,
                }
            }
            // What is looked at stands at the border too.
            Node::Look {
                is_ahead,
                is_wanted: true,
                inner,
            } if *is_ahead == is_beginning => of(inner),
            Node::Look { .. } | Node::Start | Node::End => Border::Open,
        };
        if found != Border::Open {
            return found;
        }
    }
    Border::Open
}

/// Reads patterns.
struct Reader<'a> {
    text: &'a [char],
    at: usize,
    is_caseless: bool,
}

impl Reader<'_> {
    fn peek(&self) -> Option<char> {
        self.text.get(self.at).copied()
    }

    fn take(&mut self, expected: &str) -> bool {
        let length = expected.chars().count();
        let here = self.text.get(self.at..self.at + length);
        let is_here = here.is_some_and(|it| it.iter().copied().eq(expected.chars()));
        if is_here {
            self.at += length;
        }
        is_here
    }

    fn wrong(&self, what: &str) -> String {
        let text: String = self.text.iter().collect();
        format!("{what} at character {} of {text:?}", self.at)
    }

    fn alternatives(&mut self) -> Result<Vec<Vec<Node>>, String> {
        let mut alternatives = vec![Vec::new()];
        while let Some(letter) = self.peek() {
            match letter {
                ')' => break,
                '|' => {
                    self.at += 1;
                    alternatives.push(Vec::new());
                }
                _ => {
                    let node = self.node()?;
                    let node = self.repeated(node)?;
                    if let Some(last) = alternatives.last_mut() {
                        last.push(node);
                    }
                }
            }
        }
        Ok(alternatives)
    }

    fn node(&mut self) -> Result<Node, String> {
        let group = [
            ("(?:", None),
            ("(?=", Some((true, true))),
            ("(?!", Some((true, false))),
            ("(?<=", Some((false, true))),
            ("(?<!", Some((false, false))),
            ("(", None),
        ];
        for (opening, look) in group {
            if !self.take(opening) {
                continue;
            }
            let inner = self.alternatives()?;
            if !self.take(")") {
                return Err(self.wrong("no closing parenthesis"));
            }
            return Ok(match look {
                None => Node::Group(inner),
                Some((is_ahead, is_wanted)) => Node::Look {
                    is_ahead,
                    is_wanted,
                    inner,
                },
            });
        }
        if self.take("^") {
            return Ok(Node::Start);
        }
        if self.take("$") {
            return Ok(Node::End);
        }
        let is_letter = self.peek().is_some_and(char::is_alphabetic);
        let lower = self.peek().and_then(|it| it.to_lowercase().next());
        if let Some(lower) = lower.filter(|_| self.is_caseless && is_letter) {
            self.at += 1;
            return Ok(Node::One(Set::of(lower)));
        }
        let set = Set::read(self.text, &mut self.at).map_err(|what| self.wrong(what))?;
        Ok(Node::One(set))
    }

    fn repeated(&mut self, node: Node) -> Result<Node, String> {
        let (min, max) = match self.peek() {
            Some('*') => (0, usize::MAX),
            Some('+') => (1, usize::MAX),
            Some('?') => (0, 1),
            Some('{') => {
                let rest = self.text.get(self.at + 1..).unwrap_or_default();
                let inner: String = rest.iter().take_while(|it| **it != '}').collect();
                self.at += inner.chars().count() + 1;
                let (min, max) = inner.split_once(',').unwrap_or((&inner, &inner));
                let max = match max {
                    "" => Ok(usize::MAX),
                    max => max.parse(),
                };
                match (min.parse(), max) {
                    (Ok(min), Ok(max)) => (min, max),
                    _ => return Err(self.wrong("no number of times")),
                }
            }
            _ => return Ok(node),
        };
        self.at += 1;
        Ok(Node::Repeat {
            inner: vec![node],
            min,
            max,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::set::mark;
    use super::*;

    fn chars(text: &str) -> Vec<char> {
        text.chars().collect()
    }

    fn check_start(pattern: &str, text: &str, expected: Option<usize>) {
        let pattern = Pattern::read(pattern).unwrap();
        assert_eq!(pattern.ends(&chars(text), 0), expected, "{text}");
    }

    #[test]
    fn a_pattern_matches_from_a_place_on() {
        check_start("abc", "abcd", Some(3));
        check_start("a|ab", "abc", Some(1));
        check_start("(a|ab)c", "abc", Some(3));
        check_start(r"\.\.+", "....x", Some(4));
        check_start(r"\+(?![0-9])", "+1", None);
        check_start(r"\+(?![0-9])", "+a", Some(1));
        check_start(r"\w{1,3}\$", "US$1", Some(3));
        check_start(r"[^a-c\]]+", "xy]", Some(2));
        check_start(r"(?:ab){2}c?$", "abab", Some(4));
        check_start(r"\u00e4\U0001F600", "ä😀", Some(2));
        check_start("(a*)*b", "aaaa", None);
        check_start("(?iu)^Saint-[a-z]+$", "saint-lo", Some(8));
    }

    #[test]
    fn a_pattern_matches_the_end_as_far_as_it_can() {
        let check = |pattern: &str, text: &str, expected| {
            let pattern = Pattern::read(pattern).unwrap();
            assert_eq!(pattern.at_end(&chars(text)), expected, "{text}");
        };
        check("(?<=[0-9])(?:km|m|km²)", "5km", Some(2));
        check("(?<=[0-9])(?:km|m|km²)", "km", None);
        check("(?<=[^sS])'", "Jens'", None);
        check("(?<=[^sS])'", "Jan'", Some(1));
        check(r"\.\.+", "a...", Some(3));
        check(r"^([0-9]){1,2}\.", "12.", Some(3));
        check(r"^([0-9]){1,2}\.", "123.", None);
    }

    #[test]
    fn what_cannot_match_is_known_beforehand() {
        let pattern = Pattern::read("(?<=[0-9])(?:km|m)").unwrap();
        let mask = |text: &str| text.chars().fold(0, |all, it| all | mark(it));
        assert!(pattern.may_match(mask("5km")));
        assert!(!pattern.may_match(mask("km")));
        assert!(pattern.may_border('m', false) && !pattern.may_border('k', false));
        assert!(pattern.may_border('k', true) && !pattern.may_border('5', true));
        let pattern = Pattern::read("(?<=a)(?=[bc])").unwrap();
        assert!(pattern.may_border('b', true) && !pattern.may_border('a', true));
    }

    #[test]
    fn a_match_without_end_is_given_up() {
        let text = chars(&"a:".repeat(5_000));
        let pattern = Pattern::read(r"(?:\S+(?::\S*)?@)+x").unwrap();
        assert_eq!(pattern.ends(&text, 0), None);
    }

    #[test]
    fn what_is_no_pattern_is_named() {
        for wrong in ["(a", "a)", "[a", "a{x}", "*"] {
            assert!(Pattern::read(wrong).is_err(), "{wrong}");
        }
    }
}
