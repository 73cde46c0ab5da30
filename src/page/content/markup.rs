//! The main text with its structure as HTML: only elements that carry meaning, without classes,
//! styles and scripts. What it says is what the plain text and the Markdown say.

use std::fmt::Write as _;

use super::blocks::TextBlock;
use super::passage::{Container, ContainerKind, Content, Links, Mark, Passage, Piece, each};
use crate::page::html::Outline;

/// Writes `blocks` as HTML, one element of text on a line. Passages that do not fit are left out,
/// so that every element is closed.
pub(crate) fn render(
    outline: &Outline<'_>,
    blocks: &[TextBlock],
    links: Links<'_>,
    max_bytes: usize,
) -> String {
    let mut writer = Writer::default();
    each(outline, blocks, links, max_bytes, |passage| {
        let before = writer.text.len();
        let open = writer.open.clone();
        writer.passage(&passage);
        let is_room = writer.text.len() + writer.closing() <= max_bytes;
        if !is_room {
            writer.text.truncate(before);
            writer.open = open;
        }
        is_room
    });
    writer.close(0);
    writer.text.truncate(writer.text.trim_end().len());
    writer.text
}

#[derive(Default)]
struct Writer {
    text: String,
    open: Vec<Container>,
}

impl Writer {
    fn passage(&mut self, passage: &Passage) {
        let content = content(passage);
        if content.is_empty() {
            return;
        }
        let around = &passage.around;
        let same = self
            .open
            .iter()
            .zip(around)
            .take_while(|(one, other)| one == other)
            .count();
        self.close(same);
        for container in around.iter().skip(same) {
            let _ = writeln!(self.text, "<{}>", name(container.kind));
            self.open.push(*container);
        }
        self.text.push_str(&content);
        self.text.push('\n');
    }

    /// Number of bytes that it takes to close all containers.
    fn closing(&self) -> usize {
        let tag = |container: &Container| "</>\n".len() + name(container.kind).len();
        self.open.iter().map(tag).sum()
    }

    /// Closes all containers but the first ones.
    fn close(&mut self, kept: usize) {
        while self.open.len() > kept {
            if let Some(container) = self.open.pop() {
                let _ = writeln!(self.text, "</{}>", name(container.kind));
            }
        }
    }
}

fn name(kind: ContainerKind) -> &'static str {
    match kind {
        ContainerKind::Quote => "blockquote",
        ContainerKind::Bullets => "ul",
        ContainerKind::Numbers => "ol",
        ContainerKind::Item(_) => "li",
        ContainerKind::Definitions => "dl",
        ContainerKind::Term => "dt",
        ContainerKind::Description => "dd",
        ContainerKind::Table => "table",
    }
}

fn content(passage: &Passage) -> String {
    let id = match &passage.note {
        Some(label) => format!(" id=\"note-{}\"", escape(label)),
        None => String::new(),
    };
    match &passage.content {
        Content::Heading(level, pieces) => match inline(pieces) {
            line if line.is_empty() => line,
            line => format!("<h{level}{id}>{line}</h{level}>"),
        },
        Content::Line(pieces) => match inline(pieces) {
            line if line.is_empty() => line,
            line => format!("<p{id}>{line}</p>"),
        },
        Content::Code(code, _) if code.is_empty() => String::new(),
        Content::Code(code, language) => {
            let class = match language {
                Some(language) => format!(" class=\"language-{}\"", escape(language)),
                None => String::new(),
            };
            format!("<pre><code{class}>{}</code></pre>", escape(code))
        }
        Content::Row(cells) => {
            let mut row = "<tr>".to_owned();
            for cell in cells {
                let _ = write!(row, "<td>{}</td>", inline(cell));
            }
            row + "</tr>"
        }
    }
}

/// Writes the pieces of a line.
fn inline(pieces: &[Piece]) -> String {
    let mut line = String::new();
    for piece in pieces {
        let _ = match piece {
            Piece::Space => write!(line, " "),
            Piece::Text(text) => write!(line, "{}", escape(text)),
            Piece::Formula(tex, false) => write!(line, "\\({}\\)", escape(tex)),
            Piece::Formula(tex, true) => write!(line, "\\[{}\\]", escape(tex)),
            Piece::Note(label) => {
                let label = escape(label);
                write!(line, "<sup><a href=\"#note-{label}\">{label}</a></sup>")
            }
            Piece::Image(alt, source) => {
                write!(
                    line,
                    "<img src=\"{}\" alt=\"{}\">",
                    escape(source),
                    escape(alt)
                )
            }
            Piece::Open(Mark::Link(target)) => write!(line, "<a href=\"{}\">", escape(target)),
            Piece::Open(mark) => write!(line, "<{}>", mark_name(mark)),
            Piece::Close(mark) => write!(line, "</{}>", mark_name(mark)),
        };
    }
    line
}

fn mark_name(mark: &Mark) -> &'static str {
    match mark {
        Mark::Link(_) => "a",
        Mark::Strong => "strong",
        Mark::Emphasis => "em",
        Mark::Deleted => "del",
        Mark::Raised => "sup",
        Mark::Lowered => "sub",
        Mark::Code => "code",
    }
}

fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            _ => escaped.push(c),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::page::content::blocks;
    use crate::page::html;
    use crate::page::options::PageOptions;

    fn check(html: &str, max_bytes: usize, expected: &str) {
        let (tree, _) = html::parse(html, &PageOptions::default());
        let outline = Outline::of(&tree);
        let (blocks, _) = blocks::of(&outline);
        let written = render(&outline, &blocks, Links::AsWritten, max_bytes);
        assert_eq!(written, expected, "{html}");
    }

    #[test]
    fn the_form_is_kept_without_attributes() {
        check(
            "<h1 class=x>A &lt; B</h1><div><p style='color:red'>c <a href='d?e&amp;f'>g</a></div>\
             <ul><li>h<ul><li>i</ul><li>j</ul><table><tr><th>k<th>l<tr><td>m<td>n</table>\
             <pre class='brush: c'>a  &amp;\n b</pre>",
            10_000,
            "<h1>A &lt; B</h1>\n<p>c <a href=\"d?e&amp;f\">g</a></p>\n<ul>\n<li>\n<p>h</p>\n<ul>\n<li>\n\
             <p>i</p>\n</li>\n</ul>\n</li>\n<li>\n<p>j</p>\n</li>\n</ul>\n<table>\n\
             <tr><td>k</td><td>l</td></tr>\n<tr><td>m</td><td>n</td></tr>\n</table>\n\
             <pre><code class=\"language-c\">a  &amp;\n b</code></pre>",
        );
        // What does not fit is left out as a whole.
        check(
            "<ul><li>a<li>bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb</ul>",
            31,
            "<ul>\n<li>\n<p>a</p>\n</li>\n</ul>",
        );
    }
}
