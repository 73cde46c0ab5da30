//! Puts the lines of two pages side by side: what both have, and what only one of them has in each
//! gap between.

use super::{Kind, Line, OwnLine, OwnLines, Standing};

/// What two pages have in common, and what not.
#[derive(Debug, Default)]
pub(super) struct Pairing<'a> {
    /// Words of what both have: own, template, of their frames.
    pub(super) shared: u32,
    pub(super) template: u32,
    pub(super) frame: u32,
    /// Lines that agree but for what repeats the URL.
    pub(super) echoes: u32,
    /// What stands between two lines that both have in the same order.
    pub(super) gaps: Vec<Gap<'a>>,
}

/// A place in two pages, and the lines of each that the other page does not have.
#[derive(Debug, Default)]
pub(super) struct Gap<'a> {
    /// Set if text that both pages have stands before and after it.
    pub(super) is_inner: bool,
    pub(super) left: [Vec<&'a OwnLine>; 2],
}

/// Pairs the lines of two pages, whatever their order: equal lines first, then those that are equal
/// but for what repeats the URL.
pub(super) fn pair<'a>(a: &'a OwnLines, b: &'a OwnLines) -> Pairing<'a> {
    let hashes = |page: &'a OwnLines| page.lines.iter().map(|it| it.line.hash);
    // Where lines were moved, which of them count as moved depends on which page comes first.
    if hashes(a).le(hashes(b)) {
        return pair_in_order(a, b);
    }
    let mut pairing = pair_in_order(b, a);
    pairing.gaps.iter_mut().for_each(|gap| gap.left.reverse());
    pairing
}

fn pair_in_order<'a>(a: &'a OwnLines, b: &'a OwnLines) -> Pairing<'a> {
    let mut pairing = Pairing::default();
    let mut partners: Vec<Option<usize>> = vec![None; a.lines.len()];
    let mut is_paired = vec![false; b.lines.len()];
    for masked in [false, true] {
        let key = |line: &Line| match masked {
            true => line.masked,
            false => line.hash,
        };
        // Equal lines of both pages come together, each page's in document order.
        let by_key = |page: &OwnLines, is_free: &dyn Fn(usize) -> bool| {
            let lines = page.lines.iter().enumerate();
            let free = lines.filter(|(at, _)| is_free(*at));
            let mut lines: Vec<(u32, usize)> = free.map(|(at, it)| (key(&it.line), at)).collect();
            lines.sort_unstable();
            lines
        };
        let asking = by_key(a, &|at| partners[at].is_none());
        let waiting = by_key(b, &|at| !is_paired[at]);
        let mut waiting = waiting.into_iter().peekable();
        for (key, of_a) in asking {
            while waiting.next_if(|(other, _)| *other < key).is_some() {}
            let Some((_, of_b)) = waiting.next_if(|(other, _)| *other == key) else {
                continue;
            };
            (partners[of_a], is_paired[of_b]) = (Some(of_b), true);
            pairing.count(&a.lines[of_a], &b.lines[of_b], masked);
        }
    }
    let pairs = partners.iter().enumerate();
    let pairs: Vec<(usize, usize)> = pairs.filter_map(|(at, it)| Some((at, (*it)?))).collect();
    pairing.gaps = gaps(a, b, &in_order(&pairs), (&partners, &is_paired));
    pairing
}

impl Pairing<'_> {
    fn count(&mut self, one: &OwnLine, other: &OwnLine, masked: bool) {
        let is_template = [one.standing, other.standing].contains(&Standing::Template);
        if one.line.kind.is_frame() || other.line.kind.is_frame() {
            self.frame += u32::from(one.line.words);
        }
        let weight = one.weight().max(other.weight());
        match (masked, is_template) {
            (true, _) => self.echoes += 1,
            (false, true) => self.template += weight,
            (false, false) => self.shared += weight,
        }
    }
}

/// Returns the gaps between the lines that both pages have in the same order. What was moved is in
/// none.
fn gaps<'a>(
    a: &'a OwnLines,
    b: &'a OwnLines,
    kept: &[(usize, usize)],
    (partners, is_paired): (&[Option<usize>], &[bool]),
) -> Vec<Gap<'a>> {
    let mut gaps = Vec::new();
    let (mut from, mut last_text) = ((0, 0), None);
    let mut first_text = None;
    let ends = kept.iter().copied().map(Some).chain([None]);
    for end in ends {
        let to = end.unwrap_or((a.lines.len(), b.lines.len()));
        let of_a = (from.0..to.0).filter(|at| partners[*at].is_none());
        let of_b = (from.1..to.1).filter(|at| !is_paired[*at]);
        gaps.push(Gap {
            is_inner: false,
            left: [
                of_a.map(|at| &a.lines[at]).collect(),
                of_b.map(|at| &b.lines[at]).collect(),
            ],
        });
        let is_text = end.is_some_and(|(at, other)| {
            let kinds = [a.lines[at].line.kind, b.lines[other].line.kind];
            let mut kinds = kinds.iter();
            kinds.all(|it| matches!(it, Kind::Main | Kind::Headline))
        });
        if is_text {
            first_text = first_text.or(Some(gaps.len()));
            last_text = Some(gaps.len());
        }
        from = (to.0 + 1, to.1 + 1);
    }
    if let (Some(first), Some(last)) = (first_text, last_text) {
        gaps[first..last]
            .iter_mut()
            .for_each(|gap| gap.is_inner = true);
    }
    gaps.retain(|gap| gap.left.iter().any(|left| !left.is_empty()));
    gaps
}

/// Returns the most pairs that are in the same order in both pages: a longest rising sequence.
/// Pairs come in the order of the first page.
fn in_order(pairs: &[(usize, usize)]) -> Vec<(usize, usize)> {
    // For each length, the pair that a sequence of that length ends with soonest.
    let mut ends: Vec<usize> = Vec::new();
    let mut before: Vec<Option<usize>> = Vec::with_capacity(pairs.len());
    for (at, (_, other)) in pairs.iter().enumerate() {
        let length = ends.partition_point(|end| pairs[*end].1 < *other);
        before.push(length.checked_sub(1).map(|shorter| ends[shorter]));
        match ends.get_mut(length) {
            Some(end) => *end = at,
            None => ends.push(at),
        }
    }
    let mut last = ends.last().copied();
    let mut kept = Vec::with_capacity(ends.len());
    while let Some(at) = last {
        kept.push(pairs[at]);
        last = before[at];
    }
    kept.reverse();
    kept
}
