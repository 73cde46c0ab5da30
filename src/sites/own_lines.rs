//! A page's lines with what each of them is on its site.

use super::name::SiteName;
use crate::dedup::own::{Kind, Line, Lines, OwnLines, Standing};
use crate::learn::{self, Class, KnownLines, Seen};
use crate::page::{self, Parts, Role};

/// Number of words with which a line tells by itself what its numbers are.
const SENTENCE: u8 = 5;

/// Returns the lines of a page in the form that is stored and compared.
pub(crate) fn lines(parts: &Parts) -> Lines {
    let short = |hash: u64| hash as u32;
    let mut lines = Lines {
        headline: parts.headline.map(short),
        layout: parts.layout,
        is_cut: parts.is_cut,
        ..Lines::default()
    };
    for line in &parts.lines {
        let stored = Line {
            hash: short(line.hash),
            masked: short(line.masked),
            letters: short(line.letters),
            words: u8::try_from(line.words).unwrap_or(u8::MAX),
            kind: kind(line),
        };
        lines.push(stored, line.hash);
    }
    lines
}

fn kind(line: &page::Line) -> Kind {
    match line.role {
        Role::Title => Kind::Title,
        Role::Headline => Kind::Headline,
        Role::Main => Kind::Main,
        Role::Frame if line.is_link => Kind::Menu,
        Role::Frame => Kind::Frame,
        Role::Image => Kind::Image,
        Role::Data => Kind::Data,
        Role::Form => Kind::Form,
        Role::Link => Kind::Link,
    }
}

/// Looks up the lines of a page in what is known of its site.
pub(crate) fn known<'a>(lines: &Lines, seen: Seen<'a>) -> KnownLines<'a> {
    KnownLines::of(
        lines.lines.iter().map(|line| line.masked),
        lines.layout,
        seen,
    )
}

/// Returns a page's lines with what each of them is on its site. `is_counted` says whether the
/// template has counted the page.
pub(crate) fn own_lines(
    lines: &Lines,
    site: &SiteName,
    known: &KnownLines<'_>,
    is_counted: bool,
) -> OwnLines {
    let site = (site.number(), known.seen().is_settled(lines.layout));
    OwnLines::new(lines, site, standings(lines, known, is_counted))
}

/// Returns by what a page is told from others of its site, before the template has counted it.
pub(crate) fn headline(lines: &Lines, seen: Seen<'_>) -> Option<u32> {
    let is_own = |hash| seen.standing(hash, lines.layout, false, false) < learn::Standing::Template;
    lines.names(is_own).headline
}

/// Returns what each of a page's lines is on its site, in their order.
pub(crate) fn standings<'a>(
    lines: &'a Lines,
    known: &'a KnownLines<'_>,
    is_counted: bool,
) -> impl Iterator<Item = Standing> + 'a {
    lines.lines.iter().enumerate().map(move |(at, line)| {
        // The name of the site is frame of the title.
        let is_frame = line.kind.is_frame() || line.kind == Kind::Title;
        match known.standing(at, is_counted, is_frame) {
            learn::Standing::Frame => Standing::Ignored,
            learn::Standing::Template => Standing::Template,
            _ if is_volatile(&lines.lines, at, known) => Standing::Ignored,
            learn::Standing::Common => Standing::Common,
            learn::Standing::Rare => Standing::Own,
        }
    })
}

/// Returns whether a line is known to change between two fetches of one URL.
pub(crate) fn is_volatile(lines: &[Line], at: usize, known: &KnownLines<'_>) -> bool {
    let classes = [true, false].into_iter();
    known.are_volatile(classes.filter_map(|in_numbers| class(lines, at, in_numbers)))
}

/// Returns the class of a line that may change in its numbers, or as a whole.
pub(crate) fn class(lines: &[Line], at: usize, in_numbers: bool) -> Option<Class> {
    let line = lines.get(at)?;
    let letters = |at: Option<usize>| {
        let line = at.and_then(|at| lines.get(at));
        line.map_or(0, |line| line.letters)
    };
    let around = (letters(at.checked_sub(1)), letters(at.checked_add(1)));
    Some(match in_numbers {
        true => Class::of_numbers(line.letters, (line.words < SENTENCE).then_some(around)),
        false => Class::of_place(around.0, around.1),
    })
}

/// Returns the slots of lines. Links take no place: which of them a page has changes from page to
/// page.
pub(crate) fn slots(lines: &[Line], known: &KnownLines<'_>) -> Vec<u32> {
    let placed = lines.iter().enumerate();
    let placed: Vec<(u32, bool)> = placed
        .filter(|(_, line)| line.kind != Kind::Link)
        .map(|(at, line)| (line.masked, known.is_frequent(at)))
        .collect();
    let mut slots = learn::slots(&placed).into_iter();
    let slot = |line: &Line| match line.kind {
        Kind::Link => 0,
        _ => slots.next().unwrap_or_default(),
    };
    lines.iter().map(slot).collect()
}
