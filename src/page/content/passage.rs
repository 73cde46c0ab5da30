//! The main text with its form: passages (paragraphs, headings, rows, code), what each stands in,
//! and the marks within its lines. Markdown and HTML are written from these, and from the same
//! blocks as the plain text, so all three say the same.

mod line;
mod names;

use std::collections::HashMap;

use html5ever::local_name;

use line::Line;
use names::{language_of_class, note_id, note_ids, notes};

use super::apart::is_apart;
use super::blocks::TextBlock;
use super::text::{self, Writer};
use crate::page::facts::Base;
use crate::page::html::{Break, Outline, OutlineElement, Sight, Tag, TextNode, attribute};

/// A run of the main text.
#[derive(Debug)]
pub(crate) struct Passage {
    pub(crate) content: Content,
    /// What it stands in, the outermost first.
    pub(crate) around: Vec<Container>,
    /// The label of the footnote that begins here.
    pub(crate) note: Option<String>,
}

#[derive(Debug)]
pub(crate) enum Content {
    /// Level 1 to 6.
    Heading(u8, Vec<Piece>),
    Line(Vec<Piece>),
    /// Preformatted text, and the language it is written in.
    Code(String, Option<String>),
    /// A row of a table, cell by cell.
    Row(Vec<Vec<Piece>>),
}

/// A part of a line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Piece {
    /// Characters without white space around them.
    Text(String),
    Space,
    Open(Mark),
    Close(Mark),
    /// An image: its alternative text and its address.
    Image(String, String),
    /// A formula, in TeX as far as the page says so; whether it stands for itself.
    Formula(String, bool),
    /// A reference to the footnote with this label.
    Note(String),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Mark {
    /// Its address.
    Link(String),
    Strong,
    Emphasis,
    Deleted,
    Raised,
    Lowered,
    Code,
}

/// Something that holds passages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Container {
    pub(crate) kind: ContainerKind,
    /// Index of the element.
    pub(crate) element: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ContainerKind {
    Quote,
    Bullets,
    Numbers,
    /// Its number in a numbered list; 0 in others.
    Item(u32),
    Definitions,
    Term,
    Description,
    Table,
}

/// Maximum number of containers around a passage; further ones inside are left out.
const MAX_LEVELS: usize = 16;

/// Maximum number of cells in a row.
const MAX_CELLS: usize = 1_000;

/// How the targets of links are written.
#[derive(Clone, Copy)]
pub(crate) enum Links<'b> {
    /// Absolute.
    From(&'b Base),
    /// As on the page, whose address is not known.
    AsWritten,
}

impl Links<'_> {
    fn target(self, reference: &str) -> Option<String> {
        const SCHEMES: [&str; 5] = ["http", "https", "ftp", "mailto", "tel"];
        let reference = reference.trim();
        let scheme = reference.split_once(':').map(|(scheme, _)| scheme);
        let scheme = scheme.filter(|it| it.bytes().all(|byte| byte.is_ascii_alphanumeric()));
        if scheme.is_some_and(|it| !SCHEMES.iter().any(|known| it.eq_ignore_ascii_case(known))) {
            return None;
        }
        match self {
            Self::From(base) => base.url().join(reference).ok().map(String::from),
            Self::AsWritten => Some(reference.to_owned()).filter(|it| !it.is_empty()),
        }
    }
}

/// Gives each passage of `blocks` to `write`, until that returns `false`. `room` bounds the bytes
/// of one passage.
pub(crate) fn each(
    outline: &Outline<'_>,
    blocks: &[TextBlock],
    links: Links<'_>,
    room: usize,
    mut write: impl FnMut(Passage) -> bool,
) {
    let reader = Reader::of(outline, blocks, links, room);
    let mut at = 0;
    while let Some(block) = blocks.get(at) {
        let before = at.checked_sub(1).and_then(|before| blocks.get(before));
        for image in reader.images_between(before, block) {
            if !write(image) {
                return;
            }
        }
        let (passage, read) = reader.passage(blocks.get(at..).unwrap_or_default());
        if !write(passage) {
            return;
        }
        at += read.max(1);
    }
}

struct Reader<'o, 'a, 'l> {
    outline: &'o Outline<'a>,
    links: Links<'l>,
    room: usize,
    /// The numbers of items.
    numbers: Vec<u32>,
    /// The labels of footnotes, by the id of what they are in.
    notes: HashMap<&'a str, String>,
    /// The indices of the images with a text.
    images: Vec<usize>,
}

impl<'o, 'a, 'l> Reader<'o, 'a, 'l> {
    fn of(outline: &'o Outline<'a>, blocks: &[TextBlock], links: Links<'l>, room: usize) -> Self {
        let images = outline.elements.iter().enumerate().filter(|(_, item)| {
            item.tag == Tag::Img
                && item.sight == Sight::Shown
                && attribute(item.element, &local_name!("alt"))
                    .is_some_and(|alt| !alt.trim().is_empty())
        });
        Self {
            outline,
            links,
            room,
            numbers: item_numbers(outline),
            notes: notes(outline, blocks),
            images: images.map(|(index, _)| index).collect(),
        }
    }

    fn item(&self, at: usize) -> Option<&'o OutlineElement<'a>> {
        self.outline.elements.get(at)
    }

    /// An element and those around it.
    fn above(
        &self,
        at: usize,
    ) -> impl Iterator<Item = (usize, &'o OutlineElement<'a>)> + use<'o, 'a> {
        above(self.outline, at)
    }

    /// The passage that begins with the first of these blocks, and how many of them it takes.
    fn passage(&self, blocks: &[TextBlock]) -> (Passage, usize) {
        let Some(block) = blocks.first() else {
            return (
                Passage {
                    content: Content::Line(Vec::new()),
                    around: Vec::new(),
                    note: None,
                },
                1,
            );
        };
        let row = self.row_of(block);
        let mut around = self.around(block.owner);
        let note = self.note(block);
        let code = self
            .above(block.inner)
            .find(|(_, item)| item.tag == Tag::Pre);
        let mut read = 1;
        let content = if let Some((pre, _)) = code {
            // Lines of code may be blocks of their own.
            let is_same = |other: &&TextBlock| self.above(other.inner).any(|(at, _)| at == pre);
            read = blocks.iter().take_while(is_same).count();
            Content::Code(
                self.code(blocks.get(..read).unwrap_or_default()),
                self.code_language(pre),
            )
        } else if let Some((table, row)) = row {
            let is_same = |other: &&TextBlock| self.row_of(other) == Some((table, row));
            read = blocks.iter().take_while(is_same).count();
            around.retain(|it| it.element < table);
            around.push(Container {
                kind: ContainerKind::Table,
                element: table,
            });
            Content::Row(self.cells(blocks.get(..read).unwrap_or_default(), row))
        } else {
            let mut above = self.above(block.owner);
            let level = above.find_map(|(_, item)| Some(item.tag.heading()).filter(|it| *it > 0));
            let pieces = self.line(block.texts, block.owner, level.is_some());
            match level {
                Some(level) => Content::Heading(level, pieces),
                None => Content::Line(pieces),
            }
        };
        (
            Passage {
                content,
                around,
                note,
            },
            read,
        )
    }

    /// Images with a text that stand between two blocks, if nothing was left out between these.
    fn images_between(&self, before: Option<&TextBlock>, block: &TextBlock) -> Vec<Passage> {
        let Some(before) = before.filter(|it| it.texts.1 <= block.texts.0) else {
            return Vec::new();
        };
        let gap = self.outline.texts.get(before.texts.1..block.texts.0);
        let is_blank =
            |text: &TextNode<'_>| text.sight != Sight::Shown || text.characters.trim().is_empty();
        if self.images.is_empty() || !gap.unwrap_or_default().iter().all(is_blank) {
            return Vec::new();
        }
        let place = |image: &usize| self.item(*image).map_or(0, |item| item.texts.0);
        let from = self
            .images
            .partition_point(|image| place(image) < before.texts.1);
        let to = self
            .images
            .partition_point(|image| place(image) <= block.texts.0);
        let between = self.images.get(from..to).unwrap_or_default();
        let outside = between.iter().filter(|image| {
            // One at the start of the block is written with it.
            !self.above(**image).any(|(at, _)| at == block.owner)
        });
        outside
            .filter_map(|&image| {
                Some(Passage {
                    content: Content::Line(vec![self.image(image)?]),
                    around: self.around(image),
                    note: None,
                })
            })
            .collect()
    }

    fn image(&self, at: usize) -> Option<Piece> {
        let element = self.item(at)?.element;
        let alt = attribute(element, &local_name!("alt"))?;
        let source = attribute(element, &local_name!("src")).unwrap_or_default();
        let source = self.links.target(source).unwrap_or_default();
        let alt: Vec<&str> = alt.split_whitespace().collect();
        Some(Piece::Image(alt.join(" "), source))
    }

    /// Lists, quotations and definitions around an element.
    fn around(&self, at: usize) -> Vec<Container> {
        let kind = |at: usize, item: &OutlineElement<'_>| {
            Some(match item.tag {
                Tag::Blockquote => ContainerKind::Quote,
                Tag::Ul | Tag::Menu | Tag::Dir => ContainerKind::Bullets,
                Tag::Ol => ContainerKind::Numbers,
                Tag::Li => ContainerKind::Item(self.numbers.get(at).copied().unwrap_or(0)),
                Tag::Dl => ContainerKind::Definitions,
                Tag::Dt => ContainerKind::Term,
                Tag::Dd => ContainerKind::Description,
                _ => return None,
            })
        };
        let containers = self.above(at).filter_map(|(element, item)| {
            let kind = kind(element, item)?;
            Some(Container { kind, element })
        });
        let mut containers: Vec<_> = containers.collect();
        containers.reverse();
        containers.truncate(MAX_LEVELS);
        containers
    }

    /// The table and the row that a block stands in, if the table is one of data: not one that lays
    /// out the page, whose cells hold headings, lists, code and further tables.
    fn row_of(&self, block: &TextBlock) -> Option<(usize, usize)> {
        let mut row = None;
        for (at, item) in self.above(block.owner) {
            match item.tag {
                Tag::Tr if row.is_none() => row = Some(at),
                Tag::Table => {
                    let row = row?;
                    let is_data = at == block.owner || row == block.owner || self.is_of_data(at);
                    return is_data.then_some((at, row));
                }
                Tag::Ul | Tag::Ol | Tag::Dl | Tag::Pre | Tag::Blockquote if row.is_none() => {
                    return None;
                }
                tag if tag.heading() > 0 => return None,
                _ => {}
            }
        }
        None
    }

    fn is_of_data(&self, table: usize) -> bool {
        let end = self.item(table).map_or(0, |item| item.end);
        let inside = self
            .outline
            .elements
            .get(table + 1..end)
            .unwrap_or_default();
        let (mut cells, mut rows) = (0, 0);
        for item in inside {
            match item.tag {
                Tag::Td | Tag::Th => cells += 1,
                Tag::Tr => rows += 1,
                Tag::Table
                | Tag::Pre
                | Tag::Ul
                | Tag::Ol
                | Tag::Dl
                | Tag::Blockquote
                | Tag::Form
                | Tag::Article
                | Tag::Section => return false,
                tag if tag.heading() > 0 => return false,
                _ => {}
            }
        }
        rows > 1 && cells >= 2 * rows
    }

    /// The cells of a row, of which these are the blocks.
    fn cells(&self, blocks: &[TextBlock], row: usize) -> Vec<Vec<Piece>> {
        let end = self.item(row).map_or(0, |item| item.end);
        let cells = (row + 1..end).filter(|&at| {
            self.item(at)
                .is_some_and(|item| item.parent == row && matches!(item.tag, Tag::Td | Tag::Th))
        });
        let from = blocks.first().map_or(0, |block| block.texts.0);
        let to = blocks.last().map_or(0, |block| block.texts.1);
        let mut room = self.room;
        let mut of_row = Vec::new();
        for cell in cells.take(MAX_CELLS) {
            let texts = self.item(cell).map_or((0, 0), |item| item.texts);
            let pieces = self.line((texts.0.max(from), texts.1.min(to)), cell, false);
            let size: usize = pieces.iter().map(Piece::size).sum();
            if size > room {
                break;
            }
            room -= size;
            of_row.push(pieces);
        }
        of_row
    }

    /// Preformatted text as it is.
    fn code(&self, blocks: &[TextBlock]) -> String {
        let mut writer = Writer::new(self.room);
        let mut end = blocks.first().map_or(0, |block| block.texts.0);
        for block in blocks {
            writer.separate(Break::Line);
            text::write_gap(&mut writer, self.outline, (end, block.texts.0));
            end = block.texts.1;
            text::write(&mut writer, self.outline, block.texts, Sight::Hidden);
        }
        writer.text
    }

    /// The language of code according to the classes of highlighters.
    fn code_language(&self, pre: usize) -> Option<String> {
        let end = self.item(pre).map_or(0, |item| item.end);
        let inside = (pre + 1..end)
            .take(1)
            .filter_map(|at| Some((at, self.item(at)?)));
        let mut places = inside
            .filter(|(_, item)| item.tag == Tag::Code)
            .chain(self.above(pre).take(MAX_LEVELS / 2));
        places.find_map(|(_, item)| language_of_class(item.element))
    }

    /// The label of the footnote that begins with a block.
    fn note(&self, block: &TextBlock) -> Option<String> {
        if self.notes.is_empty() {
            return None;
        }
        let mut ids = note_ids(self.outline, block);
        ids.find_map(|id| self.notes.get(id)).cloned()
    }

    /// Texts on one line, with the marks of the elements below `owner`.
    fn line(&self, (start, end): (usize, usize), owner: usize, is_heading: bool) -> Vec<Piece> {
        let mut line = Line::new(self.room);
        let texts = self.outline.texts.get(start..end).unwrap_or_default();
        let place = |image: &usize| self.item(*image).map_or(0, |item| item.texts.0);
        let mut images = self
            .images
            .iter()
            .skip(self.images.partition_point(|image| place(image) < start))
            .peekable();
        let mut formula = None;
        for (at, text) in texts.iter().enumerate() {
            while let Some(image) = images.next_if(|image| place(image) <= start + at) {
                let is_inside = self.above(*image).any(|(at, _)| at == owner);
                if is_inside && let Some(piece) = self.image(*image) {
                    let parent = self.item(*image).map_or(0, |item| item.parent);
                    line.space = true;
                    line.push(self.marks(parent, owner, is_heading), piece);
                    line.space = true;
                }
            }
            line.space |= text.before > Break::None;
            if text.sight == Sight::Never || is_apart(self.outline, text) {
                continue;
            }
            let marks = || self.marks(text.parent, owner, is_heading);
            if let Some(is_display) = self.formula(text.parent) {
                if formula == Some(text.parent) {
                    line.extend_formula(text.characters);
                } else {
                    line.push(
                        marks(),
                        Piece::Formula(text.characters.to_owned(), is_display),
                    );
                }
                formula = Some(text.parent);
                continue;
            }
            line.space |= text.characters.starts_with(char::is_whitespace);
            let mut words = String::new();
            for word in text.characters.split_whitespace() {
                let kept: String = word.chars().filter(|c| !text::is_dropped(*c)).collect();
                if !words.is_empty() && !kept.is_empty() {
                    words.push(' ');
                }
                words.push_str(&kept);
            }
            if words.is_empty() {
                continue;
            }
            match self.reference(text.parent, owner) {
                Some(label) => line.push(Vec::new(), Piece::Note(label)),
                None => line.push(marks(), Piece::Text(words)),
            }
            line.space = text.characters.ends_with(char::is_whitespace);
            if line.is_full {
                break;
            }
        }
        line.close(0);
        line.pieces
    }

    /// Whether a text is a formula, and stands for itself.
    fn formula(&self, parent: usize) -> Option<bool> {
        let element = self.item(parent)?.element;
        match *element.name() {
            local_name!("math") => {
                let is_block = |(_, item): (usize, &OutlineElement<'_>)| {
                    let class = attribute(item.element, &local_name!("class")).unwrap_or_default();
                    class.contains("display")
                };
                Some(self.above(parent).take(3).any(is_block))
            }
            local_name!("script") => {
                let media_type = attribute(element, &local_name!("type")).unwrap_or_default();
                Some(media_type.contains("mode=display"))
            }
            _ => None,
        }
    }

    /// The label of the footnote that a text refers to.
    fn reference(&self, parent: usize, owner: usize) -> Option<String> {
        if self.notes.is_empty() {
            return None;
        }
        let mut above = self.above(parent).take_while(|(at, _)| *at > owner);
        let (_, link) = above.find(|(_, item)| item.tag == Tag::A)?;
        let id = note_id(self.outline, link)?;
        self.notes.get(id).cloned()
    }

    /// The marks around a text, the outermost first. Links stand outside, code inside.
    fn marks(&self, parent: usize, owner: usize, is_heading: bool) -> Vec<Mark> {
        let mut link = None;
        let mut marks = Vec::new();
        let mut code = None;
        for (_, item) in self.above(parent).take_while(|(at, _)| *at > owner) {
            let mark = match item.tag {
                Tag::A if link.is_none() => {
                    let href = attribute(item.element, &local_name!("href"));
                    link = href
                        .and_then(|href| self.links.target(href))
                        .map(Mark::Link);
                    continue;
                }
                Tag::Code => {
                    code = Some(Mark::Code);
                    continue;
                }
                Tag::Strong | Tag::B if !is_heading => Mark::Strong,
                Tag::Em | Tag::I => Mark::Emphasis,
                Tag::Other => match *item.element.name() {
                    local_name!("tt") | local_name!("kbd") | local_name!("samp") => {
                        code = Some(Mark::Code);
                        continue;
                    }
                    local_name!("del") | local_name!("s") | local_name!("strike") => Mark::Deleted,
                    local_name!("var") | local_name!("cite") | local_name!("dfn") => Mark::Emphasis,
                    local_name!("sup") => Mark::Raised,
                    local_name!("sub") => Mark::Lowered,
                    _ => continue,
                },
                _ => continue,
            };
            if !marks.contains(&mark) {
                marks.push(mark);
            }
        }
        marks.reverse();
        link.into_iter().chain(marks).chain(code).collect()
    }
}

/// An element and those around it.
fn above<'o, 'a>(
    outline: &'o Outline<'a>,
    at: usize,
) -> impl Iterator<Item = (usize, &'o OutlineElement<'a>)> + use<'o, 'a> {
    let first = outline.elements.get(at).map(|item| (at, item));
    std::iter::successors(first, move |(at, item)| {
        let parent = outline.elements.get(item.parent);
        parent
            .filter(|_| item.parent != *at)
            .map(|parent| (item.parent, parent))
    })
}

/// The number of every item of a numbered list; 0 for every other element.
fn item_numbers(outline: &Outline<'_>) -> Vec<u32> {
    let elements = &outline.elements;
    let mut last = vec![0_u32; elements.len()];
    let mut numbers = vec![0_u32; elements.len()];
    for (index, item) in elements.iter().enumerate() {
        if item.tag == Tag::Li && elements[item.parent].tag == Tag::Ol {
            last[item.parent] += 1;
            numbers[index] = last[item.parent];
        }
    }
    numbers
}
