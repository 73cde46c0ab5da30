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

mod align;
mod lines;

use align::{Gap, Pairing, pair};

pub use lines::{Kind, Line, Lines, MAX_LINES, Names};

/// Number of words from which a line that took the place of another is an edit of a text, and not
/// another value: a price, a colour, a name.
const LONG: u8 = 16;
/// Number of shared own words from which two pages say the same, so that what only repeats their
/// URLs may differ.
const SOME_TEXT: u32 = 20;
/// The same for their data and forms, and for what may change between two fetches of one URL.
const MUCH_TEXT: u32 = 50;
/// Number of words from which what surrounds a text is known to be a frame, and another frame than
/// that of another page.
const SOME_FRAME: u32 = 20;
/// Maximum number of lines of a page that may change between two fetches of one URL.
const MAX_RESTLESS: usize = 8;
/// Pages of two sites with fewer words need one headline. Branches and agencies that say the same
/// under domains of their own are as short; articles that are printed elsewhere are longer.
pub(crate) const SHORT_ACROSS: u32 = 300;
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
    /// They are two pages, unless the few short lines in which they differ change with each fetch:
    /// then at least this share of their own words agrees.
    Restless(f32),
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
    /// Hash of what of the title is no template, digits kept.
    pub title: Option<u32>,
    /// The lines, in document order.
    pub lines: Vec<OwnLine>,
    /// Number of words of the site's frame that the page has, which are not among the lines.
    frame: u32,
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
        let (ignored, all): (Vec<_>, Vec<_>) = all.partition(|it| it.standing == Standing::Ignored);
        let frame = ignored.iter().filter(|it| it.line.kind.is_frame());
        let frame: u32 = frame.map(|it| u32::from(it.line.words)).sum();
        let names = lines.names(|hash| {
            let is_other = |it: &OwnLine| it.line.hash != hash;
            let is_own = |it: &OwnLine| it.standing != Standing::Template;
            ignored.iter().all(is_other) && all.iter().all(|it| is_other(it) || is_own(it))
        });
        Self {
            site,
            is_settled,
            headline: names.headline,
            title: names.title,
            lines: all,
            frame: lines.frame.saturating_add(frame),
            rest: (lines.rest, lines.rest_words),
            is_cut: lines.is_cut,
        }
    }

    /// Leaves lines out of account.
    pub fn ignore(&mut self, lines: &[Restless]) {
        self.lines
            .retain(|it| lines.iter().all(|ignored| ignored.line != it.line));
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

/// How much two pages have to do with each other, and how similar their whole texts are.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Company {
    /// Set if they are pages of one site, or of sites that are known to have the same pages under
    /// the same paths, such as one shop for four countries. Otherwise each has a template of its
    /// own.
    pub is_one: bool,
    /// Similarity of their whole texts, 0 to 1, if it is known. Where edits are spread over all
    /// lines, hardly a line is equal; then it bounds the similarity of the own parts, unless much
    /// of the texts is template, which would hide what differs.
    pub similarity: Option<f32>,
}

/// Compares the own parts of two pages.
pub fn compare(a: &OwnLines, b: &OwnLines, company: Company) -> OwnComparison {
    judge(a, b, company).comparison
}

/// A line of a page in whose place another page has another, and both may change with each fetch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Restless {
    /// The line.
    pub line: Line,
    /// Set if the two differ in their numbers only.
    pub in_numbers: bool,
}

/// Returns the lines of the first page in which it differs from the second, if it does so in a few
/// short lines only.
pub fn restless(a: &OwnLines, b: &OwnLines, company: Company) -> Vec<Restless> {
    judge(a, b, company).restless
}

/// Returns the lines of a page that changed between two visits. Where texts changed, it has become
/// another page, and nothing is said.
pub fn changed(now: &OwnLines, before: &OwnLines) -> Vec<Restless> {
    let gaps = pair(now, before).gaps;
    let is_edited = |gap: &Gap<'_>| {
        let mut sides = gap.left.iter();
        sides.all(|left| {
            left.iter()
                .any(|it| it.line.kind == Kind::Main && !it.is_short())
        })
    };
    match gaps.iter().any(is_edited) {
        true => Vec::new(),
        false => gaps.iter().filter_map(Gap::values).flatten().collect(),
    }
}

/// A comparison, and the lines that it is in doubt about.
struct Judged {
    comparison: OwnComparison,
    restless: Vec<Restless>,
}

impl Judged {
    fn certain(comparison: OwnComparison) -> Self {
        Self {
            comparison,
            restless: Vec::new(),
        }
    }
}

fn judge(a: &OwnLines, b: &OwnLines, company: Company) -> Judged {
    if company.is_one && headlines_differ(a, b) {
        return Judged::certain(OwnComparison::Differ);
    }
    let mut pairing = pair(a, b);
    if have_two_headlines(a, b, pairing.shared) {
        return Judged::certain(OwnComparison::Differ);
    }
    let have_two_frames = pairing.shared >= SOME_TEXT && have_two_frames(a, b, &pairing);
    let is_much = pairing.shared >= MUCH_TEXT;
    let are_settled = a.is_settled && b.is_settled;
    // Of a site whose template is known, a line that no other page has is no frame: extraction left
    // out of the main text what may be all that two pages differ in.
    let is_left_out = |page: &OwnLines, it: &OwnLine| {
        page.is_settled && it.standing == Standing::Own && it.line.kind == Kind::Frame
    };
    for gap in &mut pairing.gaps {
        let is_inner = gap.is_inner;
        let has = |side: usize, is_meant: &dyn Fn(&OwnLines, &OwnLine) -> bool| {
            gap.left[side].iter().any(|it| is_meant([a, b][side], it))
        };
        let says = |_: &OwnLines, it: &OwnLine| {
            it.standing == Standing::Own && matches!(it.line.kind, Kind::Frame | Kind::Main)
        };
        // A view of a page for print or phones lacks some of that; in its place it has nothing.
        let is_more = [(0, 1), (1, 0)].into_iter().any(|(side, other)| {
            has(side, &is_left_out) && (a.site != b.site || has(other, &says))
        });
        let values = if is_much { Vec::new() } else { gap.numbered() };
        for left in &mut gap.left {
            left.retain(|it| {
                let is_template = it.standing == Standing::Template;
                let is_value = is_more || values.contains(&it.line.letters);
                let is_around =
                    it.line.kind.is_around() && !is_value || it.line.kind == Kind::Title;
                // What surrounds a text, if each page has a frame of its own, or one that other
                // pages have too: a navigation. Extraction may take a price for a part of it.
                let is_frame = !is_inner
                    && (is_around && have_two_frames
                        || it.line.kind.is_navigation() && is_template);
                // The template of another site. Of one business, the logos of two sites differ.
                let is_worn = a.site != b.site && !it.line.kind.is_text();
                let is_strange = is_template && (!company.is_one || is_worn);
                // What only programs read.
                let is_aside = is_much
                    && (are_settled || !company.is_one)
                    && matches!(it.line.kind, Kind::Data | Kind::Form | Kind::Link);
                !is_frame && !is_strange && !is_aside
            });
        }
    }
    verdict(a, b, &pairing, company)
}

fn headlines_differ(a: &OwnLines, b: &OwnLines) -> bool {
    a.headline.is_some() && b.headline.is_some() && a.headline != b.headline
}

/// Whether the headlines make them two pages. A title may have the name of its site in it: beside
/// much text that both have it does not count.
fn have_two_headlines(a: &OwnLines, b: &OwnLines, shared: u32) -> bool {
    let is_short = shared < MUCH_TEXT || a.words().min(b.words()) < SHORT_ACROSS;
    let is_title = |page: &OwnLines| page.headline == page.title;
    headlines_differ(a, b) && (is_short || !is_title(a) && !is_title(b))
}

/// Whether the pages have two frames: two sites, two languages of one, a view for print. They have
/// one if they share half of it.
fn have_two_frames(a: &OwnLines, b: &OwnLines, pairing: &Pairing<'_>) -> bool {
    let words = |page: &OwnLines| {
        let lines = page.lines.iter().filter(|it| it.line.kind.is_frame());
        page.frame + lines.map(|it| u32::from(it.line.words)).sum::<u32>()
    };
    let both = match a.site == b.site {
        true => pairing.frame + a.frame.min(b.frame),
        false => pairing.frame,
    };
    let larger = words(a).max(words(b));
    a.site != b.site && both < SOME_FRAME || larger >= SOME_FRAME && both * 2 < larger
}

/// Returns what follows from the lines of account that only one of the pages has.
fn verdict(a: &OwnLines, b: &OwnLines, pairing: &Pairing<'_>, company: Company) -> Judged {
    let of = |side: usize| pairing.gaps.iter().flat_map(move |gap| &gap.left[side]);
    let shared = pairing.shared;
    let rests_differ = a.rest != b.rest;
    if of(0).chain(of(1)).next().is_none() && !rests_differ {
        return Judged::certain(match (shared, pairing.echoes) {
            (0, 0) => OwnComparison::Unknown,
            (..SOME_TEXT, 1..) => OwnComparison::Differ,
            _ if a.is_cut || b.is_cut => OwnComparison::Unknown,
            _ => OwnComparison::Equal,
        });
    }
    // Edited, a text of one paragraph has no line in common with what it was.
    let has_text = |side| of(side).any(|it| it.line.kind == Kind::Main && !it.is_short());
    if shared == 0 && !(has_text(0) && has_text(1)) || company.is_one && rests_differ {
        return Judged::certain(OwnComparison::Differ);
    }
    let weights = [0, 1].map(|side| of(side).map(|it| it.weight_of_difference()).sum::<u32>());
    let [of_a, of_b] = weights;
    let more = of_a.max(of_b) + a.rest.1.max(b.rest.1);
    let by_lines = shared as f32 / (shared + more) as f32;
    let (own, all) = (
        shared + of_a + of_b,
        pairing.template + shared + of_a + of_b,
    );
    let share = match company.similarity {
        Some(whole) if own > 0 && pairing.template * 5 <= all => {
            let differing = (1.0 - whole) * all as f32 / own as f32;
            by_lines.max(1.0 - differing).clamp(0.0, 1.0)
        }
        _ => by_lines,
    };
    let mut restless = Vec::new();
    let mut has_values = false;
    for gap in &pairing.gaps {
        match gap.values() {
            Some(values) => restless.extend(values),
            None => has_values = true,
        }
    }
    let long = |side| {
        let long = of(side).filter(|it| !it.is_short());
        long.map(|it| it.weight()).sum::<u32>()
    };
    let is_text = shared + long(0).min(long(1)) >= MUCH_TEXT;
    match restless.len() {
        _ if has_values => Judged::certain(OwnComparison::Differ),
        0 => Judged::certain(OwnComparison::Similar(share)),
        ..=MAX_RESTLESS if is_text => Judged {
            comparison: OwnComparison::Restless(share),
            restless,
        },
        _ => Judged::certain(OwnComparison::Differ),
    }
}

impl OwnLine {
    fn is_short(&self) -> bool {
        self.line.words < LONG || self.line.kind == Kind::Data
    }

    /// The same where only one page has the line. A frame that one site is known by, and the other
    /// not yet, makes no difference.
    fn weight_of_difference(&self) -> u32 {
        match self.line.kind.is_frame() {
            true => 0,
            false => self.weight().max(1),
        }
    }

    /// Number of words, as far as they count for how much two pages say.
    fn weight(&self) -> u32 {
        let words = u32::from(self.line.words);
        match self.line.kind {
            Kind::Frame | Kind::Menu => 0,
            Kind::Image | Kind::Data | Kind::Form => words.max(OBJECT),
            Kind::Title | Kind::Headline | Kind::Main | Kind::Link => words,
        }
    }
}

impl Gap<'_> {
    /// Returns the texts, without numbers, of short lines that the pages have with other numbers
    /// each. Two frames hardly have one in common: it is a value such as a part number, although
    /// extraction left it out of the text.
    fn numbered(&self) -> Vec<u32> {
        let [of_a, of_b] = &self.left;
        let is_numbered = |it: &&&OwnLine| {
            let is_said = matches!(it.line.kind, Kind::Frame | Kind::Main);
            let is_value = it.is_short() && it.line.letters != it.line.hash;
            is_said && is_value && it.standing != Standing::Template
        };
        let letters = of_a.iter().filter(is_numbered).map(|it| it.line.letters);
        letters
            .filter(|letters| {
                let mut others = of_b.iter().filter(is_numbered);
                others.any(|it| it.line.letters == *letters)
            })
            .collect()
    }

    /// Returns the lines of the first page in whose place the second has another value, as far as
    /// both may be one that changes with each fetch; `None` if they are not. A value is a short
    /// line, or one that differs in its numbers only. Where one page has nothing, something was
    /// added.
    fn values(&self) -> Option<Vec<Restless>> {
        // What forms have in them, no reader sees.
        let said = |side: usize| {
            let said = self.left[side].iter().copied();
            said.filter(|it| it.line.kind != Kind::Form).collect()
        };
        let (mut of_a, mut of_b): (Vec<&OwnLine>, Vec<&OwnLine>) = (said(0), said(1));
        let mut values = Vec::new();
        of_a.retain(|it| {
            let same = of_b
                .iter()
                .position(|other| other.line.letters == it.line.letters);
            match same {
                Some(at) => {
                    of_b.remove(at);
                    values.push(Restless {
                        line: it.line,
                        in_numbers: true,
                    });
                    false
                }
                None => true,
            }
        });
        if of_a.is_empty() || of_b.is_empty() {
            return Some(values);
        }
        let has_text = |of: &[&OwnLine]| of.iter().any(|it| !it.is_short());
        let shorts = [&of_a, &of_b].map(|of| of.iter().filter(|it| it.is_short()).count());
        match shorts {
            // A text was edited, and perhaps something was added.
            [0, 0] => {}
            [0, _] | [_, 0] if has_text(&of_a) && has_text(&of_b) => {}
            [one, other] if one == other => {
                let short = of_a.iter().filter(|it| it.is_short());
                values.extend(short.map(|it| Restless {
                    line: it.line,
                    in_numbers: false,
                }));
            }
            _ => return None,
        }
        Some(values)
    }
}

#[cfg(test)]
mod tests;
