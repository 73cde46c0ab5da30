//! The parts of a page of the guide: text, blocks that are run, comments that prepare something.
//! What differs from run to run, such as times, is made alike before outputs are compared; a line
//! `...` stands for any lines.

use std::path::Path;
use std::sync::LazyLock;

use regex::{Captures, Regex};

use super::web;

/// A page, whose [`Page::text`] is what it was parsed from.
pub(super) struct Page {
    pub(super) pieces: Vec<Piece>,
}

pub(super) enum Piece {
    Text(String),
    /// A comment that is run.
    Hidden(String),
    /// A block marked `console`.
    Shown(Vec<Step>),
}

/// A command, and the lines that it is shown to print.
pub(super) struct Step {
    pub(super) command: String,
    pub(super) output: Vec<String>,
}

const BLOCK: &str = "```console\n";
const BLOCK_END: &str = "```\n";
const COMMENT: &str = "<!-- run\n";
const COMMENT_END: &str = "-->\n";
/// Any lines, or none.
const OMITTED: &str = "...";

impl Page {
    pub(super) fn parse(text: &str) -> Self {
        let mut pieces = Vec::new();
        let mut rest = text;
        loop {
            let next = [BLOCK, COMMENT].map(|it| rest.find(it).unwrap_or(rest.len()));
            let at = next[0].min(next[1]);
            let (before, piece) = rest.split_at(at);
            pieces.push(Piece::Text(before.to_owned()));
            if let Some(inner) = piece.strip_prefix(BLOCK) {
                let (block, after) = inner.split_once(BLOCK_END).expect("the block ends");
                pieces.push(Piece::Shown(steps(block)));
                rest = after;
            } else if let Some(inner) = piece.strip_prefix(COMMENT) {
                let (script, after) = inner.split_once(COMMENT_END).expect("the comment ends");
                pieces.push(Piece::Hidden(script.to_owned()));
                rest = after;
            } else {
                return Self { pieces };
            }
        }
    }

    pub(super) fn text(&self) -> String {
        let text = |piece: &Piece| match piece {
            Piece::Text(text) => text.clone(),
            Piece::Hidden(script) => format!("{COMMENT}{script}{COMMENT_END}"),
            Piece::Shown(steps) => {
                let lines = steps.iter().flat_map(|step| {
                    let command = format!("$ {}", step.command);
                    std::iter::once(command).chain(step.output.iter().cloned())
                });
                let lines: String = lines.map(|line| line + "\n").collect();
                format!("{BLOCK}{lines}{BLOCK_END}")
            }
        };
        self.pieces.iter().map(text).collect()
    }
}

fn steps(block: &str) -> Vec<Step> {
    let mut steps: Vec<Step> = Vec::new();
    let mut goes_on = false;
    for line in block.lines() {
        if let Some(command) = line.strip_prefix("$ ") {
            steps.push(Step {
                command: command.to_owned(),
                output: Vec::new(),
            });
            goes_on = true;
        } else {
            let step = steps.last_mut().expect("a block begins with a command");
            match goes_on {
                true => step.command.extend(["\n", line]),
                false => step.output.push(line.to_owned()),
            }
        }
        goes_on &= line.ends_with(['\\', '|']);
    }
    steps
}

impl Step {
    /// Whether the command is shown to print this.
    pub(super) fn shows(&self, printed: &[String]) -> bool {
        let all = |lines: &[String]| -> Vec<String> {
            let lines = lines.iter().filter(|it| !is_of_slow_host(it));
            lines.map(|it| comparable(it)).collect()
        };
        matches(&all(&self.output), &all(printed))
    }

    /// Shows this, but for lines that need no change, and for what is omitted between them.
    pub(super) fn update(&mut self, printed: &[String]) {
        if self.shows(printed) {
            return;
        }
        let mut output = Vec::new();
        let (mut shown_until, mut printed_until) = (0, 0);
        let ends = (self.output.len(), printed.len());
        for (at, from) in common(&self.output, printed).into_iter().chain([ends]) {
            let omits = self.output[shown_until..at] == [OMITTED];
            match omits {
                true => output.push(OMITTED.to_owned()),
                false => output.extend_from_slice(&printed[printed_until..from]),
            }
            output.extend(self.output.get(at).cloned());
            (shown_until, printed_until) = (at + 1, from + 1);
        }
        self.output = output;
    }
}

/// The longest sequence of lines that both have, as their places in each.
fn common(shown: &[String], printed: &[String]) -> Vec<(usize, usize)> {
    let alike = |at: usize, from: usize| comparable(&shown[at]) == comparable(&printed[from]);
    // How many lines the rests have in common, from the last to the first.
    let mut counts = vec![vec![0; printed.len() + 1]; shown.len() + 1];
    for at in (0..shown.len()).rev() {
        for from in (0..printed.len()).rev() {
            counts[at][from] = match alike(at, from) {
                true => counts[at + 1][from + 1] + 1,
                false => counts[at + 1][from].max(counts[at][from + 1]),
            };
        }
    }
    let (mut at, mut from) = (0, 0);
    let mut found = Vec::new();
    while at < shown.len() && from < printed.len() {
        if alike(at, from) {
            found.push((at, from));
            (at, from) = (at + 1, from + 1);
        } else if counts[at + 1][from] >= counts[at][from + 1] {
            at += 1;
        } else {
            from += 1;
        }
    }
    found
}

fn matches(shown: &[String], printed: &[String]) -> bool {
    match shown.split_first() {
        None => printed.is_empty(),
        Some((first, rest)) if first == OMITTED => {
            (0..=printed.len()).any(|skipped| matches(rest, &printed[skipped..]))
        }
        Some((first, rest)) => printed.first() == Some(first) && matches(rest, &printed[1..]),
    }
}

/// What a command printed, line by line, with the same times and names in each run, and without
/// the settings that lead to the test's web.
pub(super) fn printed(said: &str, work: &Path) -> Vec<String> {
    let work = work.to_str().expect("temporary paths are ASCII");
    let said = said.replace(work, "/home/you");
    let is_of_web = |line: &&str| web::HIDDEN.iter().any(|it| line.contains(it));
    let lines = said.lines().filter(|line| !is_of_web(line));
    lines.map(|line| steady(line.trim_end())).collect()
}

/// Times, and names that have times in them, as the guide shows them.
fn steady(line: &str) -> String {
    static TIME: LazyLock<Regex> = LazyLock::new(|| {
        let date = "20[0-9]{2}-[0-9]{2}-[0-9]{2}";
        regex(&format!(
            "{date}([T ])[0-9]{{2}}:[0-9]{{2}}:[0-9]{{2}}(?:[.][0-9]+)?"
        ))
    });
    static DIGITS: LazyLock<Regex> = LazyLock::new(|| regex("\\b20[0-9]{12}\\b"));
    static CRAWL: LazyLock<Regex> = LazyLock::new(|| regex("-20[0-9]{12}-[0-9a-f]{8}-([0-9]{5})"));
    static RECORD: LazyLock<Regex> =
        LazyLock::new(|| regex("[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"));
    let line = CRAWL.replace_all(line, "-20260102030405-0123abcd-$1");
    let line = TIME.replace_all(&line, "2026-01-02${1}03:04:05");
    let line = DIGITS.replace_all(&line, "20260102030405");
    RECORD
        .replace_all(&line, "01234567-89ab-cdef-0123-456789abcdef")
        .into_owned()
}

/// Whether a line is of one of the slowest hosts: one that answers within half a millisecond has
/// none, and their order is that of the run.
fn is_of_slow_host(line: &str) -> bool {
    static SLOW: LazyLock<Regex> = LazyLock::new(|| regex("^(slowest)? +[0-9]+  ms  https?://"));
    SLOW.is_match(line)
}

/// Without sizes, durations and rates, and without the columns that they make wider.
fn comparable(line: &str) -> String {
    static AMOUNT: LazyLock<Regex> = LazyLock::new(|| {
        let unit = "(?:bytes|kB|MB|GB|B|KiB|MiB|GiB|ms|s|min|h|pages/s|kB/s|MB/s|B/s)";
        regex(&format!("(^|[ (~])[0-9][0-9.,]* *{unit}(/s)?\\b"))
    });
    // A rate, and a place in a file, which depends on sizes before it.
    static NUMBER: LazyLock<Regex> = LazyLock::new(|| regex("\\b(pages/s|at byte) +[0-9][0-9.]*"));
    let line = AMOUNT.replace_all(line, |found: &Captures<'_>| format!("{}AMOUNT", &found[1]));
    let line = NUMBER.replace_all(&line, "$1 NUMBER");
    let words: Vec<&str> = line.split_whitespace().collect();
    // `2 min 5 s` in one run is `58 s` in another.
    words.join(" ").replace("AMOUNT AMOUNT", "AMOUNT")
}

fn regex(pattern: &str) -> Regex {
    // Without the tables of Unicode, which this package does not ask for.
    Regex::new(&format!("(?-u){pattern}")).expect("the pattern is sound")
}

#[test]
fn pages_are_parsed_and_written_as_they_are() {
    let text = "# x\n\n```console\n$ a |\n    b\none\n$ c\n```\nmore\n<!-- run\nd\n-->\n\nend\n";
    let page = Page::parse(text);
    assert_eq!(page.text(), text);
    let Piece::Shown(steps) = &page.pieces[1] else {
        panic!("a block is shown");
    };
    assert_eq!(steps[0].command, "a |\n    b");
    assert_eq!(steps[0].output, ["one"]);
    assert!(steps[1].output.is_empty());
}

#[test]
fn outputs_are_compared_but_for_times_and_sizes() {
    let check = |shown: &[&str], printed: &str, expected: bool| {
        let step = Step {
            command: String::new(),
            output: shown.iter().map(|&it| it.to_owned()).collect(),
        };
        let printed = self::printed(printed, Path::new("/work"));
        assert_eq!(step.shows(&printed), expected, "{shown:?} {printed:?}");
    };
    check(&["a 1.2 MB", "b"], "a   17 kB\nb\n", true);
    check(&["a", "...", "b"], "a\n1\n2\nb\n", true);
    check(&["a", "..."], "a\n", true);
    check(&["a", "...", "b"], "a\n1\n2\n", false);
    check(&["3 pages"], "4 pages\n", false);
    check(
        &["at 2026-01-02T03:04:05Z"],
        "at 2031-11-23T15:07:19.123Z\n",
        true,
    );
    check(&["in 4.1 s"], "in 250ms\n", true);
    check(&["pages/s 12.5"], "pages/s    3.0\n", true);
    let slow =
        "slowest     3  ms  https://a.example  (2 answers)\n            2  ms  http://b.example";
    check(&["a", "b"], &format!("a\n{slow}\nb\n"), true);
    check(&["slowest 3 pages"], "", false);
    check(&["at byte 17"], "at byte 4711\n", true);
    check(&["/home/you/x"], "/work/x\n", true);
    check(
        &["gleaner-20260102030405-0123abcd-00001.warc.gz"],
        "gleaner-20311123150719-89abcdef-00001.warc.gz\n",
        true,
    );
}

#[test]
fn an_update_keeps_what_is_the_same_and_what_is_omitted() {
    let lines = |text: &str| text.lines().map(str::to_owned).collect::<Vec<_>>();
    let check = |shown: &str, printed: &str, expected: &str| {
        let mut step = Step {
            command: String::new(),
            output: lines(shown),
        };
        step.update(&lines(printed));
        assert_eq!(step.output, lines(expected), "{shown:?} {printed:?}");
        assert!(step.shows(&lines(printed)));
    };
    check("in 2 s\nb", "in 3 s\nc", "in 2 s\nc");
    check("a\n...\nd\nx", "a\nb\nc\nd\ne", "a\n...\nd\ne");
    check("a\n...\nd", "b\nc\nd", "b\nc\nd");
    check("a\n...", "a\nb\nc", "a\n...");
    check("", "a", "a");
}
