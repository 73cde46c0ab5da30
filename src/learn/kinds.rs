//! Kinds: what the URLs of a host have in common, so that what some of them turned out to be says
//! something about the others. A URL belongs to a bounded list of kinds.
//!
//! Some kinds have a *slot*: a part of the URL that may not matter, such as a parameter. The URL
//! without it is its *reduced form*. The first URL of a reduced form is never suspected for the
//! slot: only the next ones can be variants of it.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::xxh3_64;

use super::host_aliases::counterpart;
use super::pattern::{Pattern, has_drawn_word, is_drawn};
use super::traps::{Trail, TrapPolicy, by_form};
use crate::url::{HostKey, Url};

/// The number of a kind on its host: a hash of its name.
pub type KindId = u64;

/// A kind of URLs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Kind {
    /// Its name, for people. Kinds of one host with equal names are one kind.
    pub name: String,
    /// The part of the URL that may not matter, if that is what the kind is about.
    pub slot: Option<Slot>,
    /// How it is judged.
    pub rule: Rule,
}

/// How a kind is judged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rule {
    /// By its visits alone. The number of halves of `learn.visits` that must have said nothing in a
    /// row: the more URLs the kind covers, the more.
    Visits(u32),
    /// As [`Self::Visits`], but the visits must have had several values of the slot.
    Values(u32),
    /// It is suspected from the start, for its form.
    Form,
}

/// A part of a URL that may not matter.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Slot {
    /// The parameters with these names, in alphabetical order.
    Parameters(Vec<String>),
    /// The segment of the path at this position, counted from 0.
    Segment(usize),
    /// The name of the index file of a directory.
    IndexFile,
    /// The slash at the end of the path.
    TrailingSlash,
    /// The case of the path.
    PathCase,
    /// The name of the host: the other one.
    Host(String),
    /// The first segment of the path, below which the site may be found again.
    Prefix,
}

/// Maximum number of parameters that are examined in one query.
const MAX_PARAMETERS: usize = 8;
/// Maximum length of a value or name in the name of a kind, in bytes.
const MAX_SHOWN: usize = 60;

impl Slot {
    /// The reduced form of a URL: the URL without the slot; `None` if it is no URL.
    pub fn reduced(&self, url: &Url) -> Option<Url> {
        let mut reduced = url.clone();
        match self {
            Self::Parameters(names) => {
                let is_other = |piece: &&str| names.iter().all(|it| it != name(piece));
                let rest: Vec<&str> = pieces(url).filter(is_other).collect();
                let rest = rest.join("&");
                reduced.set_query((!rest.is_empty()).then_some(&rest));
            }
            Self::Segment(at) => {
                let segments = url.path().split('/').skip(1).enumerate();
                let rest = segments.filter(|(index, _)| index != at);
                let rest: Vec<&str> = rest.map(|(_, segment)| segment).collect();
                reduced.set_path(&["/", &rest.join("/")].concat());
            }
            Self::IndexFile => {
                let end = url.path().rfind('/')? + 1;
                reduced.set_path(&url.path()[..end]);
            }
            Self::TrailingSlash => reduced.set_path(url.path().trim_end_matches('/')),
            Self::PathCase => reduced.set_path(&url.path().to_ascii_lowercase()),
            Self::Prefix => {
                let rest = url.path().get(1..)?.split_once('/')?.1;
                reduced.set_path(&["/", rest].concat());
            }
            Self::Host(other) => return counterpart(url, &HostKey::parse(other)?),
        }
        Some(reduced)
    }

    /// A number that stands for the slot.
    pub(super) fn number(&self) -> u32 {
        let text = match self {
            Self::Parameters(names) => names.join("&"),
            Self::Segment(at) => format!("/{at}"),
            Self::IndexFile => "/index".to_owned(),
            Self::TrailingSlash => "/slash".to_owned(),
            Self::PathCase => "/case".to_owned(),
            Self::Prefix => "/prefix".to_owned(),
            Self::Host(other) => other.clone(),
        };
        xxh3_64(text.as_bytes()) as u32
    }

    /// Whether reduced forms are URLs of their own, which alone are compared.
    pub(super) fn is_compared_with_urls(&self) -> bool {
        matches!(self, Self::Host(_) | Self::Prefix)
    }

    /// A hash of the value of the slot in a URL.
    pub fn value(&self, url: &Url) -> u32 {
        let text = match self {
            Self::Parameters(names) => {
                let is_named = |piece: &&str| names.iter().any(|it| it == name(piece));
                pieces(url).filter(is_named).collect::<Vec<_>>().join("&")
            }
            Self::Segment(at) => {
                let segment = url.path().split('/').skip(1).nth(*at);
                segment.unwrap_or_default().to_owned()
            }
            _ => url.path().to_owned(),
        };
        xxh3_64(text.as_bytes()) as u32
    }

    /// The parameters that two URLs of one host and path differ in, if there are several.
    pub fn between(a: &Url, b: &Url) -> Option<Vec<String>> {
        if HostKey::of(a) != HostKey::of(b) || a.path() != b.path() {
            return None;
        }
        let (a, b): (BTreeSet<&str>, BTreeSet<&str>) = (pieces(a).collect(), pieces(b).collect());
        let names: BTreeSet<&str> = a.symmetric_difference(&b).map(|it| name(it)).collect();
        let is_joint = (2..=MAX_PARAMETERS).contains(&names.len());
        is_joint.then(|| names.into_iter().map(str::to_owned).collect())
    }
}

fn pieces(url: &Url) -> impl Iterator<Item = &str> {
    let pieces = url.query().unwrap_or_default().split('&');
    pieces.filter(|piece| !piece.is_empty())
}

fn name(piece: &str) -> &str {
    piece.split_once('=').map_or(piece, |(name, _)| name)
}

/// The beginning of a text, and what tells it from others.
fn shown(text: &str) -> String {
    if text.len() <= MAX_SHOWN {
        return text.to_owned();
    }
    let end = (0..=MAX_SHOWN - 17)
        .rev()
        .find(|&at| text.is_char_boundary(at));
    let head = &text[..end.unwrap_or(0)];
    format!("{head}~{:016x}", xxh3_64(text.as_bytes()))
}

impl Kind {
    fn new(name: String, slot: Option<Slot>, rule: Rule) -> Self {
        Self { name, slot, rule }
    }

    /// The number of the kind.
    pub fn id(&self) -> KindId {
        xxh3_64(self.name.as_bytes())
    }
}

/// How a URL was found, as far as its kinds are concerned.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Found {
    /// How far it is into something that may be a trap.
    pub trail: Trail,
    /// Number of pages in a row before it that said nothing.
    pub silent: u8,
    /// Whether only another site leads to it. Such URLs are of kinds of their own: what others link
    /// to says nothing about what a site itself leads to.
    pub is_hearsay: bool,
}

/// How the names of kinds begin whose URLs only other sites lead to.
const FROM_ELSEWHERE: &str = "from other sites: ";

/// Returns `true` if only other sites lead to the URLs of a kind with this name.
pub fn is_from_elsewhere(name: &str) -> bool {
    name.starts_with(FROM_ELSEWHERE)
}

/// Number of pages in a row that said nothing behind which a URL is of a kind of its own, whatever
/// its form.
const SILENT: u8 = 2;

/// What is known of a host that decides which kinds its URLs belong to.
#[derive(Debug, Clone, Copy)]
pub(super) struct Grammar<'a> {
    /// Sets of parameters that were found to change together.
    pub(super) joint: &'a [Vec<String>],
    /// The other host that seems to serve the same pages.
    pub(super) twin: Option<&'a str>,
    /// Whether slots are examined: `learn.parameters`.
    pub(super) has_slots: bool,
    /// Which forms of URLs are suspected.
    pub traps: &'a TrapPolicy,
}

impl Grammar<'_> {
    /// The kinds of a URL: first those with a slot, the narrowest first; then those without, the
    /// widest first.
    pub(super) fn kinds(&self, url: &Url, found: Found) -> Vec<Kind> {
        let mut kinds = Vec::new();
        if self.has_slots {
            self.push_parameters(url, &mut kinds);
            push_path_slots(url, &mut kinds);
        }
        if let Some(twin) = self.twin {
            let slot = Slot::Host(twin.to_owned());
            kinds.push(Kind::new(
                format!("pages of {twin}"),
                Some(slot),
                Rule::Visits(2),
            ));
        }
        self.push_plain(url, found, &mut kinds);
        if found.is_hearsay {
            for kind in &mut kinds {
                kind.name.insert_str(0, FROM_ELSEWHERE);
            }
        }
        kinds
    }

    fn push_parameters(&self, url: &Url, kinds: &mut Vec<Kind>) {
        let names: BTreeSet<&str> = pieces(url).map(name).collect();
        if names.is_empty() || names.len() > MAX_PARAMETERS {
            return;
        }
        let pattern = Pattern::named(url).text;
        let mut pools = Vec::new();
        let mut everywhere = Vec::new();
        for one in &names {
            let slot = Slot::Parameters(vec![(*one).to_owned()]);
            let of_name = pieces(url).filter(|piece| name(piece) == *one);
            let pieces = shown(&of_name.collect::<Vec<_>>().join("&"));
            let one = shown(one);
            let text = format!("{pattern} with {pieces}");
            kinds.push(Kind::new(text, Some(slot.clone()), Rule::Visits(2)));
            let text = format!("{pattern} with any {one}");
            pools.push(Kind::new(text, Some(slot.clone()), Rule::Values(2)));
            let text = format!("parameter {one}");
            everywhere.push(Kind::new(text, Some(slot), Rule::Values(4)));
        }
        kinds.append(&mut pools);
        for joint in self.joint {
            if joint.iter().all(|it| names.contains(&**it)) {
                let text = format!("parameters {}", shown(&joint.join(", ")));
                let slot = Slot::Parameters(joint.clone());
                let of_names = |piece: &&str| joint.iter().any(|it| it == name(piece));
                let pieces: Vec<&str> = pieces(url).filter(of_names).collect();
                let one = format!("{text} as {}", shown(&pieces.join("&")));
                kinds.push(Kind::new(one, Some(slot.clone()), Rule::Visits(2)));
                kinds.push(Kind::new(text, Some(slot), Rule::Values(2)));
            }
        }
        kinds.append(&mut everywhere);
    }

    fn push_plain(&self, url: &Url, found: Found, kinds: &mut Vec<Kind>) {
        let mut plain = |name, halves| kinds.push(Kind::new(name, None, Rule::Visits(halves)));
        if found.silent >= SILENT {
            plain("behind pages that said nothing".to_owned(), 4);
        }
        let levels = url.path().split('/').skip(1).filter(|it| !it.is_empty());
        plain(format!("level {}", levels.count()), 6);
        if let Some(tree) = Pattern::tree_of(url) {
            plain(tree.text, 4);
        }
        let (named, masked) = (Pattern::named(url), Pattern::of(url));
        if url.query().is_some() {
            plain(format!("{}?**", Pattern::of_path(url).text), 4);
            plain(named.text, 3);
        } else if named.text != masked.text && is_masked(&named.text) {
            plain(masked.text, 3);
            plain(named.text, 2);
        } else {
            plain(masked.text, 2);
        }
        if let Some(trap) = by_form(url, found.trail, self.traps) {
            kinds.push(Kind::new(trap.name().to_owned(), None, Rule::Form));
        }
    }
}

/// The narrowest of the kinds of a URL that are about no slot, which its pattern alone decides.
pub(super) fn narrowest(kinds: &[Kind]) -> Option<&Kind> {
    let mut plain = kinds.iter().rev();
    plain.find(|kind| kind.slot.is_none() && kind.rule != Rule::Form)
}

/// Whether several names can have this pattern.
fn is_masked(pattern: &str) -> bool {
    pattern.contains(['#', '{'])
}

fn push_path_slots(url: &Url, kinds: &mut Vec<Kind>) {
    let path = url.path();
    let count = path.split('/').count();
    let segments = path.split('/').enumerate().skip(1);
    // The last segment names the page, unless it is nothing but drawn.
    let drawn = segments.filter(|(at, segment)| match at + 1 == count {
        true => has_drawn_word(segment),
        false => is_drawn(segment),
    });
    for at in drawn.map(|(at, _)| at - 1).take(2) {
        let text = format!("drawn segment {}", at + 1);
        kinds.push(Kind::new(text, Some(Slot::Segment(at)), Rule::Values(2)));
    }
    kinds.extend(copies_at(url));
    let file = path.rsplit('/').next().unwrap_or_default();
    let mut push = |name: &str, slot| {
        kinds.push(Kind::new(name.to_owned(), Some(slot), Rule::Visits(2)));
    };
    if file.is_empty() || file.starts_with("index.") || file.starts_with("default.") {
        push("index file", Slot::IndexFile);
    }
    if path.len() > 1 && !file.contains('.') {
        push("trailing slash", Slot::TrailingSlash);
    }
    if path.bytes().any(|byte| byte.is_ascii_alphabetic()) {
        push("case of the path", Slot::PathCase);
    }
}

/// The kind of URLs below the first directory of one, if the site is found again there.
pub(super) fn copies_at(url: &Url) -> Option<Kind> {
    let tree = Pattern::tree_of(url)?;
    let text = format!("copies at {}", tree.text);
    Some(Kind::new(text, Some(Slot::Prefix), Rule::Visits(2)))
}

/// The part of a host in which a URL lies, for what is brought back when one of a kind said
/// something: its directory, and the value of the slot.
pub(super) fn subtree(url: &Url, slot: Option<&Slot>) -> u32 {
    let end = url.path().rfind('/').map_or(0, |at| at + 1);
    let directory = xxh3_64(&url.path().as_bytes()[..end]) as u32;
    let value = match slot {
        Some(slot @ (Slot::Parameters(_) | Slot::Segment(_))) => slot.value(url),
        _ => 0,
    };
    directory.rotate_left(7) ^ value
}
