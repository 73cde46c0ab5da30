//! The main text with its structure as Markdown (`CommonMark`, with tables, footnotes and struck
//! text as on `GitHub`, definition lists as in PHP Markdown Extra, formulas between dollars):
//! headings, lists, tables, quotations, code, links, images and emphasis.

use std::borrow::Cow;
use std::fmt::Write as _;

use super::blocks::TextBlock;
use super::passage::{Container, ContainerKind, Content, Links, Mark, Passage, Piece, each};
use crate::page::cut::floor_char_boundary;
use crate::page::html::Outline;

/// Writes `blocks` as Markdown.
pub(crate) fn render(
    outline: &Outline<'_>,
    blocks: &[TextBlock],
    links: Links<'_>,
    max_bytes: usize,
) -> String {
    let mut writer = Writer::default();
    each(outline, blocks, links, max_bytes, |passage| {
        writer.passage(&passage);
        writer.text.len() < max_bytes
    });
    let mut text = writer.text;
    text.truncate(floor_char_boundary(&text, max_bytes));
    text
}

#[derive(Default)]
struct Writer {
    text: String,
    before: Option<(Vec<Container>, Form)>,
}

/// What decides how a passage is separated from the next one.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Form {
    Row,
    Other,
}

impl Writer {
    fn passage(&mut self, passage: &Passage) {
        let form = match passage.content {
            Content::Row(_) => Form::Row,
            _ => Form::Other,
        };
        let content = self.content(passage);
        if content.trim().is_empty() {
            return;
        }
        let is_same_table = self.is_same_table(passage);
        if let Some((before, _)) = &self.before {
            let is_tight = is_same_table || is_next_item(before, &passage.around);
            let gap = if is_tight { "\n" } else { "\n\n" };
            self.text.push_str(gap);
        }
        let (first, further) = self.margins(passage);
        for (at, line) in content.split('\n').enumerate() {
            if at > 0 {
                self.text.push('\n');
            }
            let margin = if at == 0 { &first } else { &further };
            match line.is_empty() {
                true => self.text.push_str(margin.trim_end()),
                false => self.text.push_str(margin),
            }
            self.text.push_str(line);
        }
        self.before = Some((passage.around.clone(), form));
    }

    fn is_same_table(&self, passage: &Passage) -> bool {
        let is_row = matches!(passage.content, Content::Row(_));
        self.before
            .as_ref()
            .is_some_and(|(before, form)| is_row && *form == Form::Row && *before == passage.around)
    }

    /// The content of a passage on lines of its own, without what is around it.
    fn content(&self, passage: &Passage) -> String {
        match &passage.content {
            Content::Heading(level, pieces) => {
                let line = inline(pieces);
                if line.is_empty() {
                    return line;
                }
                format!("{} {line}", "#".repeat(usize::from(*level)))
            }
            Content::Line(pieces) => {
                let line = inline(pieces);
                match is_markup(&line, pieces) {
                    true => format!("\\{line}"),
                    false => line,
                }
            }
            Content::Code(code, _) if code.is_empty() => String::new(),
            Content::Code(code, language) => {
                // A fence is longer than any that is in the code.
                let mut fence = "```".to_owned();
                while code.contains(&fence) {
                    fence.push('`');
                }
                format!(
                    "{fence}{}\n{code}\n{fence}",
                    language.as_deref().unwrap_or_default()
                )
            }
            Content::Row(cells) => {
                let mut row = String::new();
                for cell in cells {
                    let _ = write!(row, "| {} ", inline(cell).replace('|', "\\|"));
                }
                row.push('|');
                if !self.is_same_table(passage) {
                    // The first row is the header, whatever it says.
                    row.push('\n');
                    row.push_str(&"| --- ".repeat(cells.len()));
                    row.push('|');
                }
                row
            }
        }
    }

    /// What stands before the first line of a passage, and before further ones.
    fn margins(&self, passage: &Passage) -> (String, String) {
        let before = self.before.as_ref().map(|(before, _)| before.as_slice());
        let (mut first, mut further) = (String::new(), String::new());
        for (at, container) in passage.around.iter().enumerate() {
            let is_new = before.and_then(|before| before.get(at)) != Some(container);
            let mark = match container.kind {
                ContainerKind::Quote => {
                    first.push_str("> ");
                    further.push_str("> ");
                    continue;
                }
                ContainerKind::Item(0) => "- ".to_owned(),
                ContainerKind::Item(number) => format!("{number}. "),
                ContainerKind::Description => ": ".to_owned(),
                _ => continue,
            };
            let blank = " ".repeat(mark.len());
            first.push_str(if is_new { &mark } else { &blank });
            further.push_str(&blank);
        }
        if let Some(note) = &passage.note {
            let _ = write!(first, "[^{note}]: ");
        }
        (first, further)
    }
}

/// Whether no empty line stands between two passages: where the second begins an item of the list
/// in which the first stands too, or a list in the same item, or describes the term before it.
fn is_next_item(before: &[Container], around: &[Container]) -> bool {
    use ContainerKind as K;
    let same = before
        .iter()
        .zip(around)
        .take_while(|(one, other)| one == other)
        .count();
    let kind = |containers: &[Container], at: usize| containers.get(at).map(|it| it.kind);
    let last = before.len().checked_sub(1).and_then(|at| kind(before, at));
    match (kind(around, same), kind(before, same)) {
        (Some(K::Item(_)), Some(K::Item(_))) => true,
        (Some(K::Description), Some(K::Term)) => same + 1 == before.len(),
        (Some(K::Bullets | K::Numbers), None) => matches!(last, Some(K::Item(_))),
        _ => false,
    }
}

/// Whether a line would be read as something else, such as a heading or an item.
fn is_markup(line: &str, pieces: &[Piece]) -> bool {
    let is_text = matches!(pieces.first(), Some(Piece::Text(_)));
    is_text && line.starts_with(['#', '-', '+', '>', '|', '=', '~', ':'])
}

/// Writes the pieces of a line.
fn inline(pieces: &[Piece]) -> String {
    let mut line = String::new();
    let mut code: Option<String> = None;
    for piece in pieces {
        match piece {
            Piece::Space => code.as_mut().unwrap_or(&mut line).push(' '),
            Piece::Text(text) => match &mut code {
                Some(code) => code.push_str(text),
                None => line.push_str(&escape(text)),
            },
            Piece::Formula(tex, false) => {
                let _ = write!(line, "${tex}$");
            }
            Piece::Formula(tex, true) => {
                let _ = write!(line, "$${tex}$$");
            }
            Piece::Note(label) => {
                let _ = write!(line, "[^{label}]");
            }
            Piece::Image(alt, source) => {
                let _ = write!(line, "![{}]({})", escape(alt), target(source));
            }
            Piece::Open(Mark::Link(_)) => line.push('['),
            Piece::Close(Mark::Link(to)) => {
                let _ = write!(line, "]({})", target(to));
            }
            Piece::Open(Mark::Code) => code = Some(String::new()),
            Piece::Close(Mark::Code) => line.push_str(&quoted(&code.take().unwrap_or_default())),
            Piece::Open(Mark::Raised) => line.push_str("<sup>"),
            Piece::Close(Mark::Raised) => line.push_str("</sup>"),
            Piece::Open(Mark::Lowered) => line.push_str("<sub>"),
            Piece::Close(Mark::Lowered) => line.push_str("</sub>"),
            Piece::Open(mark) | Piece::Close(mark) => line.push_str(match mark {
                Mark::Strong => "**",
                Mark::Emphasis => "*",
                _ => "~~",
            }),
        }
    }
    line
}

/// Code between as many marks as it needs.
fn quoted(code: &str) -> String {
    let mut marks = "`".to_owned();
    while code.contains(&marks) {
        marks.push('`');
    }
    let space = if code.starts_with('`') || code.ends_with('`') {
        " "
    } else {
        ""
    };
    format!("{marks}{space}{code}{space}{marks}")
}

/// The target of a link without characters that would end it.
fn target(target: &str) -> String {
    target
        .replace('(', "%28")
        .replace(')', "%29")
        .replace(' ', "%20")
        .replace('<', "%3C")
        .replace('>', "%3E")
}

/// Escapes the characters that have a meaning in Markdown.
fn escape(text: &str) -> Cow<'_, str> {
    const MARKS: [char; 6] = ['\\', '`', '*', '[', ']', '<'];
    // Within a word, an underscore has none.
    let is_mark = |(at, c): (usize, char)| {
        let is_word = |c: Option<char>| c.is_some_and(char::is_alphanumeric);
        let is_inside = || {
            let (before, after) = text.split_at(at);
            is_word(before.chars().next_back()) && is_word(after.chars().nth(1))
        };
        MARKS.contains(&c) || (c == '_' && !is_inside())
    };
    if !text.contains(MARKS) && !text.contains('_') {
        return text.into();
    }
    let mut escaped = String::with_capacity(text.len() + 8);
    for (at, c) in text.char_indices() {
        if is_mark((at, c)) {
            escaped.push('\\');
        }
        escaped.push(c);
    }
    escaped.into()
}

#[cfg(test)]
mod tests;
