//! A page's lines with what each of them is on its site.

use super::name::SiteName;
use crate::dedup::own::{Kind, Line, Lines, OwnLines, Standing};
use crate::learn::{self, Seen};
use crate::page::{Parts, Role};

/// Returns the lines of a page in the form that is stored and compared.
pub(crate) fn lines(parts: &Parts) -> Lines {
    let short = |hash: u64| hash as u32;
    let mut lines = Lines {
        headline: parts.headline.map(short),
        title: parts.title.map(short),
        layout: parts.layout,
        is_cut: parts.is_cut,
        ..Lines::default()
    };
    for line in &parts.lines {
        let stored = Line {
            hash: short(line.hash),
            masked: short(line.masked),
            letters: line.letters as u16,
            words: u8::try_from(line.words).unwrap_or(u8::MAX),
            kind: kind(line.role),
        };
        lines.push(stored, line.hash);
    }
    lines
}

fn kind(role: Role) -> Kind {
    match role {
        Role::Headline => Kind::Headline,
        Role::Main => Kind::Main,
        Role::Frame => Kind::Frame,
        Role::Image => Kind::Image,
        Role::Data => Kind::Data,
        Role::Form => Kind::Form,
        Role::Link => Kind::Link,
    }
}

/// Returns a page's lines with what each of them is on its site. `is_counted` says whether the
/// template has counted the page.
pub(crate) fn own_lines(
    lines: &Lines,
    site: &SiteName,
    seen: Seen<'_>,
    is_counted: bool,
) -> OwnLines {
    let site = (site.number(), seen.is_settled(lines.layout));
    OwnLines::new(lines, site, standings(lines, seen, is_counted))
}

/// Returns what each of a page's lines is on its site, in their order.
pub(crate) fn standings<'a>(
    lines: &'a Lines,
    seen: Seen<'a>,
    is_counted: bool,
) -> impl Iterator<Item = Standing> + 'a {
    lines.lines.iter().enumerate().map(move |(at, line)| {
        let is_frame = line.kind == Kind::Frame;
        match seen.standing(line.masked, lines.layout, is_counted, is_frame) {
            learn::Standing::Frame => Standing::Ignored,
            learn::Standing::Template => Standing::Template,
            _ if seen.is_volatile(slot(&lines.lines, at)) => Standing::Ignored,
            learn::Standing::Common => Standing::Common,
            learn::Standing::Rare => Standing::Own,
        }
    })
}

/// Returns the slot of a line: its place between its neighbours.
pub(crate) fn slot(lines: &[Line], at: usize) -> u32 {
    let masked = |at: Option<usize>| {
        let line = at.and_then(|at| lines.get(at));
        line.map_or(0, |line| line.masked)
    };
    learn::slot(masked(at.checked_sub(1)), masked(at.checked_add(1)))
}
