//! The main text: what a page is about, without the frame a site puts around it.
//!
//! Steps, each one pass over the outline: (1) [`Sums`] of text, link text and prose below every
//! element; (2) furniture is marked, by element, role and class words (`furniture.rs`); (3) two
//! candidates: the smallest element that holds most of the remaining prose, and the main element
//! with all its links; the share of prose chooses; (4) the chosen one is rendered; (5) when almost
//! nothing came out, the whole page without furniture is taken.
//!
//! The result is hashed to find duplicates, so stability goes before completeness: every rule
//! depends on the element itself and its share of the page, not on absolute positions.

use std::cmp::Reverse;

use html5ever::{LocalName, local_name};
use scraper::node::Element;

use super::furniture::{self, Strictness};
use super::outline::{Break, Content, Outline, Sight, attribute, is_block};
use super::text::Writer;

/// The main text of a page, at most `max_bytes`; `full_text` is what is fallen back to, `sight` what
/// counts as seen on this page.
pub(super) fn main_text(
    outline: &Outline<'_>,
    sight: Sight,
    full_text: &str,
    max_bytes: usize,
) -> String {
    let page = without_furniture(outline, sight);
    let container = densest(&page);
    let prose = page.sums.prose.get(container).copied().unwrap_or(0);
    let text = if percent(prose, page.chars()) < CATALOG_PERCENT {
        let container = main_element(outline, &page.sums, &page.marked);
        render(&page, container, Links::All, max_bytes)
    } else {
        render(&page, container, Links::WithoutLists, max_bytes)
    };
    if percent(text.len(), full_text.len()) >= MIN_TEXT_PERCENT && !text.is_empty() {
        return text;
    }
    let body = render(&page, 0, Links::All, max_bytes);
    if body.is_empty() {
        full_text.to_owned()
    } else {
        body
    }
}

/// A page of which some is known to be furniture.
struct Readable<'o> {
    outline: &'o Outline<'o>,
    sight: Sight,
    /// Whether an item is furniture.
    marked: Vec<bool>,
    /// Sums over the rest.
    sums: Sums,
}

impl Readable<'_> {
    fn prose(&self) -> usize {
        self.sums.prose.first().copied().unwrap_or(0)
    }

    fn chars(&self) -> usize {
        self.sums.chars.first().copied().unwrap_or(0)
    }
}

/// What rendering does with lists of links.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Links {
    /// They are the content of a catalog.
    All,
    /// They lead away from an article.
    WithoutLists,
}

/// Marks furniture as strictly as leaves enough of the page.
fn without_furniture<'o>(outline: &'o Outline<'o>, sight: Sight) -> Readable<'o> {
    let whole = Sums::of(outline, sight, &[]);
    let marked = |strictness| {
        let marked = furniture::mark(outline, &whole, strictness);
        let sums = Sums::of(outline, sight, &marked);
        Readable {
            outline,
            sight,
            marked,
            sums,
        }
    };
    let comments = marked(Strictness::Comments);
    if percent(comments.prose(), whole.prose.first().copied().unwrap_or(0)) >= ENOUGH_PERCENT {
        return comments;
    }
    let words = marked(Strictness::Words);
    let elements = marked(Strictness::Elements);
    if words.prose() * 100 < elements.prose() * WORDS_PERCENT {
        elements
    } else if comments.prose() * 100 < words.prose() * COMMENTS_PERCENT {
        words
    } else {
        comments
    }
}

/// `part` in percent of `whole`.
fn percent(part: usize, whole: usize) -> usize {
    part * 100 / whole.max(1)
}

/// A main text below this share of the visible one is a mistake: a teaser, a dialog.
const MIN_TEXT_PERCENT: usize = 2;

// The following shares were chosen on 661 labelled pages of three collections (news, pages of seven
// types, pages in many languages); around each of them the scores are flat to about a point.

/// Below this share of prose in what is left of a page it is a catalog: a list of links, products or
/// results, whose links are its content.
const CATALOG_PERCENT: usize = 20;

/// With this share of the prose left, nothing but furniture was taken away.
const ENOUGH_PERCENT: usize = 60;

/// With less prose than this left by class words, the site uses the words in another sense.
const WORDS_PERCENT: usize = 10;

/// With less prose than this beside the comments, the comments are the content.
const COMMENTS_PERCENT: usize = 20;

/// What a child must hold of its parent's prose to be the container instead of it.
const CONTAINER_PERCENT: usize = 75;

/// What an element that calls itself the content must hold of the prose to be believed.
const NAMED_PERCENT: usize = 50;

/// Share of link text from which a list, or another part, is one of links.
const LIST_LINK_PERCENT: usize = 70;
const FRAME_LINK_PERCENT: usize = 80;

/// A block of text without a line break inside.
#[derive(Default)]
struct Block {
    /// Index of the nearest element that is laid out as a block.
    owner: usize,
    chars: usize,
    link_chars: usize,
}

/// Characters (without white space) below every item.
pub(super) struct Sums {
    pub(super) chars: Vec<usize>,
    pub(super) link_chars: Vec<usize>,
    /// Characters in blocks that read like sentences.
    pub(super) prose: Vec<usize>,
}

impl Sums {
    /// Sums over what is seen and not `left_out`.
    fn of(outline: &Outline<'_>, sight: Sight, left_out: &[bool]) -> Self {
        let items = &outline.items;
        let mut sums = Self {
            chars: vec![0; items.len()],
            link_chars: vec![0; items.len()],
            prose: vec![0; items.len()],
        };
        // The nearest element laid out as a block, for every item; the end of the current link.
        let mut owners = vec![0; items.len()];
        let mut link_end = 0;
        let mut block = Block::default();
        for (index, item) in items.iter().enumerate() {
            let owner = owners[item.parent];
            match &item.content {
                Content::Element(element) => {
                    owners[index] = if is_block(&element.name.local) {
                        index
                    } else {
                        owner
                    };
                    if element.name.local == local_name!("a")
                        && attribute(element, &local_name!("href")).is_some()
                    {
                        link_end = link_end.max(item.end);
                    }
                }
                Content::Text(text) => {
                    let is_apart = owner != block.owner && text.before > Break::None;
                    if text.before == Break::Line || is_apart {
                        sums.add(&block);
                        block = Block {
                            owner,
                            ..Block::default()
                        };
                    }
                    if item.sight > sight || left_out.get(index) == Some(&true) {
                        continue;
                    }
                    let chars = text
                        .characters
                        .chars()
                        .filter(|c| !c.is_whitespace())
                        .count();
                    let link_chars = if index < link_end { chars } else { 0 };
                    sums.chars[index] = chars;
                    sums.link_chars[index] = link_chars;
                    block.chars += chars;
                    block.link_chars += link_chars;
                }
            }
        }
        sums.add(&block);
        // Children stand after their parents, so one pass backwards adds up every subtree.
        for index in (1..items.len()).rev() {
            let parent = items[index].parent;
            if parent < index {
                sums.chars[parent] += sums.chars[index];
                sums.link_chars[parent] += sums.link_chars[index];
                sums.prose[parent] += sums.prose[index];
            }
        }
        sums
    }

    /// Counts a finished block as prose of its owner, if it is some.
    fn add(&mut self, block: &Block) {
        if block.chars >= MIN_PROSE_CHARS && block.link_chars * 3 < block.chars {
            self.prose[block.owner] += block.chars - 2 * block.link_chars;
        }
    }
}

/// Characters from which a block counts as prose.
const MIN_PROSE_CHARS: usize = 40;

/// Children of the element at `index`, elements only.
fn children<'o>(outline: &'o Outline<'_>, index: usize) -> impl Iterator<Item = usize> + 'o {
    let end = outline.items.get(index).map_or(0, |item| item.end);
    let mut next = index + 1;
    std::iter::from_fn(move || {
        let current = next;
        let item = outline.items.get(current).filter(|_| current < end)?;
        next = item.end;
        Some(current)
    })
    .filter(|&child| matches!(outline.items[child].content, Content::Element(_)))
}

/// Picks the container of an article: from what the markup names down to the last element that
/// holds most of the prose of its parent.
fn densest(page: &Readable<'_>) -> usize {
    let Readable {
        outline,
        marked,
        sums,
        ..
    } = page;
    let mut at = named(page);
    loop {
        let best = children(outline, at)
            .filter(|&child| !marked[child])
            .max_by_key(|&child| (sums.prose[child], Reverse(child)));
        match best {
            Some(child)
                if sums.prose[child] > 0
                    && sums.prose[child] * 100 >= sums.prose[at] * CONTAINER_PERCENT =>
            {
                at = child;
            }
            _ => return at,
        }
    }
}

/// The innermost element that calls itself the content and holds much of it, or the whole page.
fn named(page: &Readable<'_>) -> usize {
    let Readable {
        outline,
        marked,
        sums,
        ..
    } = page;
    outline
        .elements()
        .filter(|&(index, element)| !marked[index] && is_named(element))
        .map(|(index, _)| index)
        .filter(|&at| sums.prose[at] > 0 && sums.prose[at] * 100 >= page.prose() * NAMED_PERCENT)
        .last()
        .unwrap_or(0)
}

/// The largest element that the markup calls the main one, or the whole page.
fn main_element(outline: &Outline<'_>, sums: &Sums, marked: &[bool]) -> usize {
    outline
        .elements()
        .filter(|&(index, element)| !marked[index] && is_main(element))
        .map(|(index, _)| index)
        .max_by_key(|&index| (sums.chars[index], Reverse(index)))
        .unwrap_or(0)
}

fn is_main(element: &Element) -> bool {
    element.name.local == local_name!("main") || has_value(element, &local_name!("role"), "main")
}

/// Whether the element says that it is the content.
fn is_named(element: &Element) -> bool {
    element.name.local == local_name!("article")
        || is_main(element)
        || has_value(element, &local_name!("itemprop"), "articleBody")
}

fn has_value(element: &Element, name: &LocalName, value: &str) -> bool {
    attribute(element, name).is_some_and(|found| found.eq_ignore_ascii_case(value))
}

/// Writes what is in the container, without furniture.
fn render(page: &Readable<'_>, container: usize, links: Links, max_bytes: usize) -> String {
    let Readable {
        outline,
        sight,
        marked,
        sums,
    } = page;
    let mut writer = Writer::new(max_bytes);
    let end = outline.items.get(container).map_or(0, |item| item.end);
    let mut skipped_to = 0;
    for (index, item) in outline.items.iter().enumerate().take(end).skip(container) {
        match &item.content {
            Content::Text(text) => {
                writer.separate(text.before);
                if index >= skipped_to && item.sight <= *sight && !marked[index] {
                    writer.push(text.characters, text.preformatted);
                }
            }
            Content::Element(element) => {
                let (chars, link_chars) = (sums.chars[index], sums.link_chars[index]);
                if links == Links::WithoutLists
                    && index >= skipped_to
                    && index != container
                    && is_link_list(element, chars, link_chars)
                {
                    skipped_to = item.end;
                }
            }
        }
    }
    writer.text
}

/// Whether an element is there for its links.
fn is_link_list(element: &Element, chars: usize, link_chars: usize) -> bool {
    let percent = match element.name.local {
        local_name!("ul") | local_name!("ol") => LIST_LINK_PERCENT,
        local_name!("div") | local_name!("section") | local_name!("table") | local_name!("dl") => {
            FRAME_LINK_PERCENT
        }
        _ => return false,
    };
    link_chars * 100 > chars * percent
}
