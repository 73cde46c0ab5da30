//! Builds the tree of a page whose markup is nested in a plain way, in document order (HTML
//! standard, section 13.2.6).
//!
//! Plain means that what is added is always added at the end, so that the list of `nodes.rs` can be
//! written at once: nothing is put in front of a table or into a head that was closed, no element
//! is taken out of another, and there are no frame sets and formulas. What is not plain,
//! or comes near a bound, ends the building with `None`, and html5ever builds the tree (`sink.rs`).
//! A test compares the two.
//!
//! The names of functions are those of the standard's algorithms. Whether a `<frameset>` may still
//! come is not noted, since none is plain.

mod end_tags;
mod stack;
mod start_tags;

pub(super) use stack::Tag;

use super::names::{Kind, set};
use super::nodes::{Span, TreeParts};
use stack::{Plain, Stack};

/// What follows a step of the rules.
enum Step {
    Done,
    /// The tag is to be taken again in another mode.
    Again,
}

/// The insertion mode.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mode {
    Initial,
    BeforeHtml,
    BeforeHead,
    InHead,
    InHeadNoscript,
    AfterHead,
    InBody,
    InTable,
    InCaption,
    InColumnGroup,
    InTableBody,
    InRow,
    InCell,
    AfterBody,
    AfterAfterBody,
}

/// Number of tags `<html>` and `<body>` that are not too many (`sink.rs`).
const MERGED_TAGS: u32 = 8;

/// A tree in the making.
pub(super) struct Nesting<'t> {
    pub(super) stack: Stack<'t>,
    mode: Mode,
    form: Option<u32>,
    /// Whether the page is in quirks mode, if that is known.
    has_quirks: Option<bool>,
    /// Whether a line feed that follows at once is left out.
    ignores_line_feed: bool,
    /// Number of tags `<html>` and `<body>`.
    merged_tags: u32,
}

impl<'t> Nesting<'t> {
    /// An empty tree with room for so many nodes.
    pub(super) fn new(page: &'t str, nodes: usize, max_depth: usize, max_nodes: usize) -> Self {
        Self {
            stack: Stack::new(page, nodes, max_depth, max_nodes),
            mode: Mode::Initial,
            form: None,
            has_quirks: None,
            ignores_line_feed: false,
            merged_tags: 0,
        }
    }

    /// The template that was opened last ends. Its contents, which had so many start tags, are
    /// left out.
    pub(super) fn end_template(&mut self, start_tags: usize) -> Plain {
        self.stack.leave_out(start_tags)?;
        self.stack.pop();
        self.reset_mode();
        Some(())
    }

    /// "Reset the insertion mode appropriately".
    fn reset_mode(&mut self) {
        let modes = self
            .stack
            .open
            .iter()
            .enumerate()
            .rev()
            .find_map(|(at, it)| {
                Some(match it.kind {
                    Kind::Cell if at > 0 => Mode::InCell,
                    Kind::Row => Mode::InRow,
                    Kind::Section => Mode::InTableBody,
                    Kind::Caption => Mode::InCaption,
                    Kind::Colgroup => Mode::InColumnGroup,
                    Kind::Table => Mode::InTable,
                    Kind::Head if at > 0 => Mode::InHead,
                    Kind::Body => Mode::InBody,
                    Kind::Html => Mode::AfterHead,
                    _ => return None,
                })
            });
        self.mode = modes.unwrap_or(Mode::InBody);
    }

    /// A doctype was read; `is_standard` if it is that of the standard.
    pub(super) fn doctype(&mut self, is_standard: bool) {
        self.ignores_line_feed = false;
        if self.mode == Mode::Initial {
            self.has_quirks = is_standard.then_some(false);
            self.mode = Mode::BeforeHtml;
        }
    }

    /// The page ends: closes all elements, after adding those that every page has.
    pub(super) fn finish(mut self) -> Plain<TreeParts> {
        while let Mode::Initial
        | Mode::BeforeHtml
        | Mode::BeforeHead
        | Mode::InHead
        | Mode::InHeadNoscript
        | Mode::AfterHead = self.mode
        {
            self.leave_head()?;
        }
        self.stack.pop_to(0);
        Some(self.stack.parts)
    }

    /// What anything else does in the modes up to the body: the next mode, with the element that
    /// belongs to it.
    fn leave_head(&mut self) -> Plain {
        self.mode = match self.mode {
            Mode::Initial => {
                self.has_quirks = Some(true);
                Mode::BeforeHtml
            }
            Mode::BeforeHtml => {
                let html = self.stack.phantom("html");
                self.stack.insert(html)?;
                Mode::BeforeHead
            }
            Mode::BeforeHead => {
                let head = self.stack.phantom("head");
                self.stack.insert(head)?;
                Mode::InHead
            }
            Mode::InHeadNoscript => {
                self.stack.pop();
                Mode::InHead
            }
            Mode::InHead => {
                self.stack.pop();
                Mode::AfterHead
            }
            _ => {
                let body = self.stack.phantom("body");
                self.stack.insert(body)?;
                Mode::InBody
            }
        };
        Some(())
    }

    /// Characters were read.
    pub(super) fn characters(&mut self, mut text: Span) -> Plain {
        if self.ignores_line_feed {
            self.ignores_line_feed = false;
            let starts = self.stack.text(text).starts_with('\n');
            text = text.after(usize::from(starts));
        }
        if text.len() == 0 {
            return Some(());
        }
        loop {
            match self.mode {
                Mode::InBody | Mode::InCell | Mode::InCaption => {
                    self.stack.reconstruct_formatting()?;
                    return self.stack.append(text);
                }
                Mode::AfterBody | Mode::AfterAfterBody => {
                    if self.stack.space_before(text) < text.len() {
                        self.mode = Mode::InBody;
                    }
                    self.stack.reconstruct_formatting()?;
                    return self.stack.append(text);
                }
                Mode::InTable | Mode::InTableBody | Mode::InRow => {
                    let is_space = self.stack.space_before(text) == text.len();
                    let is_placed = self.stack.has_open_of(set::WITHOUT_TEXT);
                    return (is_space && is_placed).then(|| self.stack.append(text))?;
                }
                Mode::InColumnGroup => {
                    let is_space = self.stack.space_before(text) == text.len();
                    return is_space.then(|| self.stack.append(text))?;
                }
                Mode::Initial | Mode::BeforeHtml | Mode::BeforeHead => {
                    text = text.after(self.stack.space_before(text));
                }
                Mode::InHead | Mode::InHeadNoscript | Mode::AfterHead => {
                    let space = self.stack.space_before(text);
                    self.stack.append(text.until(space))?;
                    text = text.after(space);
                }
            }
            if text.len() == 0 {
                return Some(());
            }
            self.leave_head()?;
        }
    }

    /// The contents of an element of raw text were read, and its end.
    pub(super) fn raw_text(&mut self, text: Option<Span>) -> Plain {
        if let Some(mut text) = text {
            let is_ignoring = std::mem::take(&mut self.ignores_line_feed);
            let starts = self.stack.text(text).starts_with('\n');
            text = text.after(usize::from(is_ignoring && starts));
            self.stack.append(text)?;
        }
        self.ignores_line_feed = false;
        self.stack.pop();
        Some(())
    }
}
