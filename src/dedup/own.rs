//! What a page has of its own: its lines, as they are stored, and how the own parts of two pages
//! compare.
//!
//! [`Lines`] are a page's lines as read (`own/lines.rs`), and [`OwnLines`] the same with what each
//! of them is on its site, without the frame and without what changes between two fetches of one
//! URL. [`compare`] looks at nothing else, so it needs no archive.
//!
//! - **Likeness** counts own words only: template weighs nothing.
//! - **A difference** keeps pages apart although its line may be common, such as a price.
//! - Where nothing is left to compare, the answer is [`Unknown`](OwnComparison::Unknown), never
//!   *equal*.

mod lines;

use std::collections::HashMap;

pub use lines::{Kind, Line, Lines, MAX_LINES};

/// Number of words from which a line that took the place of another is an edit of a text, and not
/// another value: a price, a colour, a name.
const LONG: u32 = 16;
/// Number of shared own words from which two pages say the same, so that what only repeats their
/// URLs, their data and their forms may differ.
const SOME_TEXT: u32 = 20;
const MUCH_TEXT: u32 = 50;
/// Least number of words of a line of numbers that may be what a server says of itself.
const SENTENCE: u8 = 5;
/// Weight of an image, of data or of a form value, in words.
const OBJECT: u32 = 5;

/// How the own parts of two pages compare.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum OwnComparison {
    /// All that either page says the other says too, and some of it is neither template nor on
    /// other pages of the site.
    Equal,
    /// Part of what they say differs, as edits do. At least this share of their own words agrees.
    Similar(f32),
    /// They are two pages: two headlines, two values in one place, or nothing of their own in
    /// common.
    Differ,
    /// There is too little of their own to say.
    Unknown,
}

/// What a line is on its site.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Standing {
    /// No other page has it, or only pages that say the same.
    Own,
    /// Other pages have it too, so it may be a value such as a price; not enough of them for
    /// template.
    Common,
    /// It is template.
    Template,
    /// It is frame, or changes between two fetches of one URL: of no account.
    Ignored,
}

/// A line with what it is on its site.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OwnLine {
    /// The line.
    pub line: Line,
    /// What it is on its site.
    pub standing: Standing,
}

/// The lines of a page that are of account, with what they are on its site.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct OwnLines {
    /// Number of the site: equal for pages of one site.
    pub site: u64,
    /// Set if enough pages of the site and of the page's layout were seen to tell what is template.
    pub is_settled: bool,
    /// Hash of the headline, digits kept: of the title, if the first `<h1>` is template.
    pub headline: Option<u32>,
    /// Hash of the title, digits kept; `None` if it is template.
    pub title: Option<u32>,
    /// The lines, in document order.
    pub lines: Vec<OwnLine>,
    /// What follows the stored lines.
    rest: (u64, u32),
    is_cut: bool,
}

impl OwnLines {
    /// Takes a page's lines with what each is on its site.
    pub fn new(
        lines: &Lines,
        (site, is_settled): (u64, bool),
        standings: impl IntoIterator<Item = Standing>,
    ) -> Self {
        let all = lines.lines.iter().zip(standings);
        let all = all.map(|(line, standing)| OwnLine {
            line: *line,
            standing,
        });
        let all: Vec<OwnLine> = all.filter(|it| it.standing != Standing::Ignored).collect();
        let is_own = |hash: &u32| {
            let known = all.iter().find(|it| it.line.hash == *hash);
            known.is_none_or(|it| it.standing != Standing::Template)
        };
        let title = lines.title.filter(is_own);
        Self {
            site,
            is_settled,
            headline: lines.headline.filter(is_own).or(title).or(lines.headline),
            title,
            lines: all,
            rest: (lines.rest, lines.rest_words),
            is_cut: lines.is_cut,
        }
    }

    /// Returns the lines that are neither template nor of any other account: the page's own.
    pub fn own(&self) -> impl Iterator<Item = &Line> {
        let own = self.lines.iter();
        own.filter(|it| it.standing != Standing::Template)
            .map(|it| &it.line)
    }

    /// Returns the number of words of the page's own text. Images, data and forms do not count.
    pub fn words(&self) -> u32 {
        let text = self.own().filter(|line| line.kind.is_text());
        text.map(|line| u32::from(line.words)).sum()
    }
}

/// Compares the own parts of two pages. On one site, what differs between them keeps them apart;
/// pages of two sites have two templates, so there only what is rare on its site is compared.
pub fn compare(a: &OwnLines, b: &OwnLines) -> OwnComparison {
    judge(a, b, a.site == b.site).comparison
}

/// Compares the own parts of pages of two sites as if the sites were one: where they are known to
/// have the same pages under the same paths, such as one shop for four countries.
pub fn compare_strictly(a: &OwnLines, b: &OwnLines) -> OwnComparison {
    judge(a, b, true).comparison
}

/// Compares the own parts of two pages whose whole texts have a known similarity. Where edits are
/// spread over all lines, hardly a line is equal; then the similarity of the whole texts bounds
/// that of the own parts, unless much of the texts is template, which would hide what differs.
pub fn compare_within(a: &OwnLines, b: &OwnLines, whole: f32) -> OwnComparison {
    judge(a, b, a.site == b.site).within(whole)
}

/// [`compare_within`] for pages of two hosts of a site whose template is not known: each host may
/// have a frame of its own. Two headlines are two pages.
pub fn compare_hosts_within(a: &OwnLines, b: &OwnLines, whole: f32) -> OwnComparison {
    match (a.headline, b.headline) {
        (Some(one), Some(other)) if one != other => OwnComparison::Differ,
        _ => judge(a, b, false).within(whole),
    }
}

/// [`compare_strictly`] for pages whose whole texts have a known similarity, as
/// [`compare_within`].
pub fn compare_strictly_within(a: &OwnLines, b: &OwnLines, whole: f32) -> OwnComparison {
    judge(a, b, true).within(whole)
}

/// A comparison, with the numbers of words that it rests on.
struct Judged {
    comparison: OwnComparison,
    /// Words that both have and that are template.
    template: u32,
    /// Own words of both together.
    own: u32,
}

impl Judged {
    fn within(&self, whole: f32) -> OwnComparison {
        let OwnComparison::Similar(by_lines) = self.comparison else {
            return self.comparison;
        };
        let all = self.template + self.own;
        if self.own == 0 || self.template * 5 > all {
            return self.comparison;
        }
        let differing = (1.0 - whole) * all as f32 / self.own as f32;
        OwnComparison::Similar(by_lines.max(1.0 - differing).clamp(0.0, 1.0))
    }
}

/// What two pages have in common, and what not.
#[derive(Default)]
struct Pairing {
    /// Weights of what both have: own, template.
    shared: u32,
    template: u32,
    /// Lines that agree but for what repeats the URL.
    echoes: u32,
    /// Lines of each page that the other does not have: weight of the line, and of the last line
    /// before it that both have.
    left: [Vec<Unpaired>; 2],
}

/// A line that the other page does not have.
struct Unpaired {
    line: Line,
    standing: Standing,
    /// Hash of the last line before it that both pages have; 0 if there is none.
    after: u32,
}

impl Unpaired {
    fn weight(&self) -> u32 {
        weight(&self.line)
    }

    fn is_short(&self) -> bool {
        u32::from(self.line.words) < LONG || self.line.kind == Kind::Data
    }

    /// Whether a reader sees it. Extraction may take a price for a part of the frame.
    fn is_said(&self) -> bool {
        self.line.kind != Kind::Form
    }
}

fn weight(line: &Line) -> u32 {
    match line.kind {
        Kind::Frame => 0,
        Kind::Image | Kind::Data | Kind::Form => u32::from(line.words).max(OBJECT),
        Kind::Headline | Kind::Main | Kind::Link => u32::from(line.words),
    }
}

/// Pairs the lines of two pages, whatever their order.
fn pair(a: &OwnLines, b: &OwnLines) -> Pairing {
    let mut pairing = Pairing::default();
    let pages = [a, b];
    let mut paired = pages.map(|page| vec![false; page.lines.len()]);
    // Equal lines first, then those that are equal but for what repeats the URL.
    for masked in [false, true] {
        let key = |line: &Line| match masked {
            true => line.masked,
            false => line.hash,
        };
        let mut waiting: HashMap<u32, Vec<usize>> = HashMap::new();
        let [of_a, of_b] = &mut paired;
        for (at, OwnLine { line, .. }) in b.lines.iter().enumerate().rev() {
            if !of_b[at] {
                waiting.entry(key(line)).or_default().push(at);
            }
        }
        for (at, OwnLine { line, standing }) in a.lines.iter().enumerate() {
            if of_a[at] {
                continue;
            }
            let Some(other) = waiting.get_mut(&key(line)).and_then(Vec::pop) else {
                continue;
            };
            (of_a[at], of_b[other]) = (true, true);
            let is_template = [*standing, b.lines[other].standing].contains(&Standing::Template);
            match (masked, is_template) {
                (true, _) => pairing.echoes += 1,
                (false, true) => pairing.template += weight(line),
                (false, false) => pairing.shared += weight(line),
            }
        }
    }
    for ((page, paired), left) in pages.iter().zip(&paired).zip(&mut pairing.left) {
        let mut after = 0;
        for (OwnLine { line, standing }, is_paired) in page.lines.iter().zip(paired) {
            match is_paired {
                true => after = line.masked,
                false => left.push(Unpaired {
                    line: *line,
                    standing: *standing,
                    after,
                }),
            }
        }
    }
    pairing
}

fn judge(a: &OwnLines, b: &OwnLines, strictly: bool) -> Judged {
    let mut pairing = pair(a, b);
    let shared = pairing.shared;
    let have_two_headlines = matches!((a.headline, b.headline), (Some(a), Some(b)) if a != b);
    let rests_differ = a.rest != b.rest;
    if !strictly {
        // Each site has a template of its own.
        for left in &mut pairing.left {
            left.retain(|it| it.standing == Standing::Own);
        }
        // What surrounds a text that both have is of no account there.
        if shared >= SOME_TEXT {
            for left in &mut pairing.left {
                left.retain(|it| it.line.kind != Kind::Frame);
            }
        }
    }
    // On one site, the frame of some of its pages: in another language, for print.
    if strictly && shared >= SOME_TEXT {
        let is_of_frame = |it: &Unpaired| {
            matches!(it.line.kind, Kind::Frame | Kind::Link) && it.standing == Standing::Template
        };
        for left in &mut pairing.left {
            left.retain(|it| !is_of_frame(it));
        }
    }
    // Nor are the data and links of such a text, if it is known to be no template.
    if shared >= MUCH_TEXT && (!strictly || a.is_settled && b.is_settled) {
        for left in &mut pairing.left {
            left.retain(|it| !matches!(it.line.kind, Kind::Data | Kind::Form | Kind::Link));
        }
    }
    let [of_a, of_b] = &pairing.left;
    let weights = |left: &[Unpaired]| left.iter().map(|it| it.weight().max(1)).sum::<u32>();
    let (of_a_only, of_b_only) = (weights(of_a), weights(of_b));
    // One line of numbers beside much of their own that agrees is what a server says of itself.
    let long = |left: &[Unpaired]| -> u32 {
        let long = left.iter().filter(|it| !it.is_short());
        long.map(Unpaired::weight).sum()
    };
    let is_much = shared + long(of_a).min(long(of_b)) >= 2 * MUCH_TEXT;
    let may_have_a_number = is_much && a.is_settled && b.is_settled;
    let are_two = |of_a: &[Unpaired], of_b: &[Unpaired]| {
        let (values, numbers) = other_values(of_a, of_b);
        values > 0 || numbers > u32::from(may_have_a_number)
    };
    let comparison = if have_two_headlines && (strictly || shared < MUCH_TEXT) {
        OwnComparison::Differ
    } else if of_a.is_empty() && of_b.is_empty() && !rests_differ {
        match (shared, pairing.echoes) {
            (0, 0) => OwnComparison::Unknown,
            (..SOME_TEXT, 1..) => OwnComparison::Differ,
            _ if a.is_cut || b.is_cut => OwnComparison::Unknown,
            _ => OwnComparison::Equal,
        }
    } else if shared == 0 && !(has_long(of_a) && has_long(of_b))
        || strictly && (rests_differ || are_two(of_a, of_b))
    {
        OwnComparison::Differ
    } else {
        let more = of_a_only.max(of_b_only) + a.rest.1.max(b.rest.1);
        OwnComparison::Similar(shared as f32 / (shared + more) as f32)
    };
    Judged {
        comparison,
        template: pairing.template,
        own: shared + of_a_only + of_b_only,
    }
}

/// Whether there is a text among the lines that the other page does not have. Edited, a text of one
/// paragraph has no line in common with what it was.
fn has_long(left: &[Unpaired]) -> bool {
    left.iter()
        .any(|it| it.line.kind == Kind::Main && !it.is_short())
}

/// How many places there are where the pages have other values: a short line, or an image, of one
/// where the other has something else; and how many short lines differ in their numbers only.
fn other_values(a: &[Unpaired], b: &[Unpaired]) -> (u32, u32) {
    let mut places: HashMap<u32, [Vec<&Unpaired>; 2]> = HashMap::new();
    for (side, left) in [a, b].into_iter().enumerate() {
        for it in left.iter().filter(|it| it.is_said()) {
            places.entry(it.after).or_default()[side].push(it);
        }
    }
    let (mut values, mut numbers) = (0, 0);
    for [mut of_a, mut of_b] in places.into_values() {
        of_a.retain(|it| {
            // A value that other pages have too is a value, and so is a line of little but a
            // number: a price, a size.
            let is_aside = |it: &Unpaired| {
                it.is_short() && it.line.words >= SENTENCE && it.standing == Standing::Own
            };
            let is_same = |other: &&Unpaired| {
                is_aside(it) && is_aside(other) && it.line.letters == other.line.letters
            };
            let Some(at) = of_b.iter().position(is_same) else {
                return true;
            };
            of_b.remove(at);
            numbers += 1;
            false
        });
        let mut all = of_a.iter().chain(&of_b);
        if !of_a.is_empty() && !of_b.is_empty() && all.any(|it| it.is_short()) {
            values += 1;
        }
    }
    (values, numbers)
}

#[cfg(test)]
mod tests;
