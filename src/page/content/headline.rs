//! The headline of a page: the heading that names what the page is about.
//!
//! It is one of the headings that a reader sees. The title that the page declares tells which, and
//! where the main text begins: sites also make headings of their own name, of teasers and of menus.

use html5ever::local_name;

use super::apart::is_apart;
use super::blocks::TextBlock;
use super::text::Writer;
use crate::page::facts::metadata::{Metadata, headline_as_data};
use crate::page::html::{Break, Outline, Sight, Tag, attribute};
use crate::unicode;

/// Maximum length of a headline in bytes; longer headings are paragraphs.
const MAX_BYTES: usize = 400;

/// Number of headings that are looked at.
const MAX_HEADINGS: usize = 60;

/// Words of main text before a heading after which it is no longer that of the page.
const MAX_WORDS_BEFORE: u32 = 120;

/// Points that a heading needs to be the headline: no single hint but the title's gives them.
const MIN_POINTS: i32 = 30;

/// The headline.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Headline {
    /// On one line.
    pub(crate) text: String,
    /// Index of the heading.
    pub(crate) element: usize,
}

impl Headline {
    /// Whether a block is of the heading.
    pub(crate) fn contains(&self, outline: &Outline<'_>, block: &TextBlock) -> bool {
        let end = outline
            .elements
            .get(self.element)
            .map_or(0, |item| item.end);
        (self.element..end).contains(&block.inner)
    }
}

/// What the page says of its headline outside of it.
pub(crate) struct Declared<'a> {
    pub(crate) title: Option<&'a str>,
    pub(crate) metadata: &'a Metadata,
}

/// The headline of a page, if one of its headings is one. `blocks` are all blocks of the page.
pub(crate) fn of(
    outline: &Outline<'_>,
    blocks: &[TextBlock],
    declared: &Declared<'_>,
) -> Option<Headline> {
    let titles = Titles::of(outline, declared);
    let mut best: Option<(i32, Headline)> = None;
    let mut words_before = 0;
    let mut last = None;
    let mut headings = 0;
    let first_main = blocks.iter().position(|block| block.is_main);
    for (at, block) in blocks.iter().enumerate() {
        if words_before > MAX_WORDS_BEFORE || headings > MAX_HEADINGS {
            break;
        }
        let heading = heading_of(outline, block)
            .or_else(|| named_like_title(outline, block, &titles))
            .filter(|_| block.sight == Some(Sight::Shown));
        let Some(element) = heading.filter(|_| heading != last) else {
            words_before += if block.is_main { block.tally.words } else { 0 };
            continue;
        };
        last = heading;
        headings += 1;
        let is_near = first_main.is_some_and(|first| at + 8 >= first);
        let by_place = level_points(outline.elements[element].tag)
            + i32::from(block.is_main) * 15
            + i32::from(is_near) * 10
            - i32::from(words_before > 0) * 10
            - frame_points(outline, element)
            - i32::from(block.is_link()) * if leads_home(outline, element) { 60 } else { 10 };
        let needed = best.as_ref().map_or(MIN_POINTS, |(most, _)| most + 1);
        if by_place + titles.most() < needed {
            continue;
        }
        let text = text_of(outline, element);
        if text.is_empty() || text.len() > MAX_BYTES {
            continue;
        }
        let points = by_place + titles.points(&text);
        if points >= needed {
            best = Some((points, Headline { text, element }));
        }
    }
    best.map(|(_, headline)| headline)
}

/// The heading that a block stands in.
fn heading_of(outline: &Outline<'_>, block: &TextBlock) -> Option<usize> {
    const MAX_LEVELS: usize = 4;
    let mut up = block.owner;
    for _ in 0..MAX_LEVELS {
        let item = outline.elements.get(up)?;
        if item.tag.heading() > 0 {
            return Some(up);
        }
        if item.parent == up {
            return None;
        }
        up = item.parent;
    }
    None
}

/// The element of a block that is no heading and says what the title of the page does: some pages
/// have their headline in a `<div>`.
fn named_like_title(outline: &Outline<'_>, block: &TextBlock, titles: &Titles) -> Option<usize> {
    // About the length of the title, so that few blocks are written to be compared.
    let chars = block.tally.chars as usize;
    if chars < 3 || chars > titles.title.len() || chars * 2 < titles.title.len() {
        return None;
    }
    let is_alone = outline.elements.get(block.owner)?.texts == block.texts;
    let text = || folded(&text_of(outline, block.owner));
    (is_alone && text() == titles.title).then_some(block.owner)
}

fn level_points(tag: Tag) -> i32 {
    match tag.heading() {
        1 => 30,
        2 => 18,
        3 => 8,
        _ => 0,
    }
}

/// What speaks against a heading because of where it stands.
fn frame_points(outline: &Outline<'_>, element: usize) -> i32 {
    let mut up = element;
    while let Some(item) = outline.elements.get(up) {
        if matches!(
            item.tag,
            Tag::Nav | Tag::Aside | Tag::Footer | Tag::Form | Tag::Dialog
        ) {
            return 40;
        }
        if item.parent == up {
            break;
        }
        up = item.parent;
    }
    0
}

/// Whether the link in a heading leads to the start of the site or of the manual.
fn leads_home(outline: &Outline<'_>, element: usize) -> bool {
    let end = outline.elements.get(element).map_or(0, |item| item.end);
    let around = outline.elements.get(element).map(|item| item.parent);
    let inside = outline.elements.get(element..end).unwrap_or_default();
    let around = around.and_then(|at| outline.elements.get(at));
    inside.iter().chain(around).any(|item| {
        let href = attribute(item.element, &local_name!("href")).filter(|_| item.tag == Tag::A);
        href.is_some_and(|href| {
            let path = href.split(['?', '#']).next().unwrap_or_default();
            let path = path.split_once("://").map_or(path, |(_, rest)| {
                rest.split_once('/').map_or("", |(_, path)| path)
            });
            let last = path.rsplit('/').next().unwrap_or_default();
            !href.starts_with('#')
                && (last.is_empty() || last.starts_with("index."))
                && path.trim_matches(['.', '/']).split('/').count() <= 1
        })
    })
}

/// The text of an element on one line.
fn text_of(outline: &Outline<'_>, element: usize) -> String {
    let mut writer = Writer::new(2 * MAX_BYTES);
    for text in outline.texts_of(element) {
        writer.separate(text.before.min(Break::Space));
        if text.sight == Sight::Shown && !is_apart(outline, text) {
            writer.push(text.characters, false);
        }
    }
    writer.text
}

/// The titles of a page in the forms in which headings are compared with them.
struct Titles {
    /// Equal to the headline if they are declared rightly: of `OpenGraph` and of JSON-LD.
    exact: Vec<String>,
    /// The title, and its parts between separators.
    title: String,
    parts: Vec<String>,
    /// Number of different words of the title.
    words: usize,
    site: String,
}

impl Titles {
    /// Points of a heading that is what the page declares as its headline, and of one that is its
    /// title.
    const IS_EXACT: i32 = 40;
    const IS_TITLE: i32 = 45;

    fn of(outline: &Outline<'_>, declared: &Declared<'_>) -> Self {
        const SEPARATORS: [&str; 9] = [
            " | ", " - ", " – ", " — ", " · ", " :: ", " » ", " / ", ": ",
        ];
        let title = declared.title.unwrap_or_default();
        let mut parts = vec![title];
        for separator in SEPARATORS {
            parts = parts
                .into_iter()
                .flat_map(|part| part.split(separator))
                .collect();
        }
        let title = folded(title);
        let mut words: Vec<&str> = title.split(' ').collect();
        words.sort_unstable();
        words.dedup();
        Self {
            exact: all_folded(&headline_as_data(outline)),
            parts: all_folded(&parts),
            words: words.len(),
            title,
            site: folded(declared.metadata.site_name.as_deref().unwrap_or_default()),
        }
    }

    /// The most points that a heading gets by its words.
    fn most(&self) -> i32 {
        match self.exact.is_empty() {
            true => Self::IS_TITLE,
            false => Self::IS_TITLE + Self::IS_EXACT,
        }
    }

    /// How well a heading agrees with the titles.
    fn points(&self, heading: &str) -> i32 {
        let folded = folded(heading);
        // The number of a section is often not in the title.
        let is_number = |word: &&str| word.bytes().all(|byte| byte.is_ascii_digit());
        let words: Vec<&str> = folded.split(' ').skip_while(is_number).collect();
        let heading = match words.is_empty() {
            true => folded,
            false => words.join(" "),
        };
        if heading.is_empty() {
            return -100;
        }
        let mut points = 0;
        if self.exact.contains(&heading) {
            points += Self::IS_EXACT;
        }
        if self.site == heading {
            points -= 40;
        }
        let words = heading.split(' ');
        let known = words
            .clone()
            .filter(|word| self.title.split(' ').any(|it| it == *word))
            .count();
        let all = words.count();
        points += if self.title == heading {
            Self::IS_TITLE
        } else if self.title.starts_with(&heading)
            || heading.starts_with(&self.title) && !self.title.is_empty()
        {
            // Most sites put the name of the page first.
            40
        } else if self.parts.contains(&heading) {
            30
        } else if known * 10 >= all * 6 && known * 10 >= self.words * 3 {
            25
        } else {
            0
        };
        points
    }
}

/// The forms of texts in which headings are compared with them, but of those that have no letter.
fn all_folded(texts: &[impl AsRef<str>]) -> Vec<String> {
    let folded = texts.iter().map(|it| folded(it.as_ref()));
    folded.filter(|it| !it.is_empty()).collect()
}

/// Letters and digits in lower case, words separated by single spaces.
fn folded(text: &str) -> String {
    let mut folded = String::with_capacity(text.len());
    let mut is_apart = false;
    for c in text.chars() {
        if !unicode::is_alphanumeric(c) {
            is_apart = true;
            continue;
        }
        if is_apart && !folded.is_empty() {
            folded.push(' ');
        }
        is_apart = false;
        match c.is_ascii() {
            true => folded.push(c.to_ascii_lowercase()),
            false => folded.extend(c.to_lowercase()),
        }
    }
    folded
}
