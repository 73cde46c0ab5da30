//! The main text with its structure as Markdown (`CommonMark`, with tables as on `GitHub`):
//! headings, lists, tables, quotations, code and links.
//!
//! It is written from the same blocks as the plain text, so both say the same. Emphasis is left
//! out, because it is usually decoration.

use std::fmt::Write as _;

use html5ever::local_name;

use super::blocks::TextBlock;
use super::text::Writer;
use crate::page::cut::floor_char_boundary;
use crate::page::facts::Base;
use crate::page::html::{self, Break, Outline, Sight, Tag, attribute};

/// Maximum depth of lists and quotations; deeper ones are written at this depth.
const MAX_LEVELS: usize = 8;

/// Writes `blocks` as Markdown, with links made absolute against `base`.
pub(crate) fn render(
    outline: &Outline<'_>,
    blocks: &[TextBlock],
    base: &Base,
    max_bytes: usize,
) -> String {
    let numbers = item_numbers(outline);
    let mut text = String::new();
    let mut before: Option<BlockContext> = None;
    for block in blocks {
        let form = BlockContext::of(outline, block);
        let same = |part: fn(&BlockContext) -> Option<usize>| {
            before
                .as_ref()
                .is_some_and(|before| part(before).is_some() && part(before) == part(&form))
        };
        let is_same_code = same(|form| form.code);
        let is_same_table = same(|form| form.table);
        let is_list =
            form.item.is_some() && before.as_ref().is_some_and(|before| before.item.is_some());
        let is_same_item = same(|form| form.item);
        if before.as_ref().is_some_and(|before| before.code.is_some()) && !is_same_code {
            text.push_str("\n```");
        }
        if !text.is_empty() {
            let is_tight = is_same_code || is_same_table || (is_list && !is_same_item);
            text.push_str(if is_tight { "\n" } else { "\n\n" });
        }
        let mut margin = "> ".repeat(form.quotes);
        if let Some(item) = form.item {
            margin.push_str(&"  ".repeat(form.lists.saturating_sub(1)));
            match (is_same_item, numbers.get(item).copied().unwrap_or(0)) {
                (true, _) => margin.push_str("  "),
                (false, 0) => margin.push_str("- "),
                (false, number) => {
                    let _ = write!(margin, "{number}. ");
                }
            }
        }
        let left = max_bytes.saturating_sub(text.len());
        if form.code.is_some() {
            if !is_same_code {
                text.push_str("```\n");
            }
            text.push_str(&code(outline, block, left));
        } else if form.table.is_some() {
            row(outline, block, base, &mut text, !is_same_table, max_bytes);
        } else {
            text.push_str(&margin);
            if form.heading > 0 {
                text.push_str(&"#".repeat(usize::from(form.heading)));
                text.push(' ');
            }
            let line = inline(outline, block, base, block.texts, left);
            if line.starts_with(['#', '-', '+', '>', '|']) && form.heading == 0 {
                text.push('\\');
            }
            text.push_str(&line);
        }
        before = Some(form);
        if text.len() >= max_bytes {
            break;
        }
    }
    if before.is_some_and(|before| before.code.is_some()) {
        text.push_str("\n```");
    }
    text.truncate(floor_char_boundary(&text, max_bytes));
    text
}

/// What a block is in, as indices of elements.
struct BlockContext {
    heading: u8,
    code: Option<usize>,
    table: Option<usize>,
    item: Option<usize>,
    lists: usize,
    quotes: usize,
}

impl BlockContext {
    fn of(outline: &Outline<'_>, block: &TextBlock) -> Self {
        let mut form = Self {
            heading: 0,
            code: None,
            table: None,
            item: None,
            lists: 0,
            quotes: 0,
        };
        let mut is_row = false;
        let mut up = block.owner;
        while let Some(item) = outline.elements.get(up) {
            match item.tag {
                Tag::Pre => form.code = Some(up),
                Tag::Tr => is_row = true,
                // Only a row of its own is written as a row; layout tables are not.
                Tag::Table if is_row && form.table.is_none() && block_is_row(outline, block) => {
                    form.table = Some(up);
                }
                Tag::Li if form.item.is_none() => form.item = Some(up),
                Tag::Ul | Tag::Ol => form.lists = (form.lists + 1).min(MAX_LEVELS),
                Tag::Blockquote => form.quotes = (form.quotes + 1).min(MAX_LEVELS),
                tag if form.heading == 0 => form.heading = tag.heading(),
                _ => {}
            }
            if item.parent == up {
                break;
            }
            up = item.parent;
        }
        form
    }
}

fn block_is_row(outline: &Outline<'_>, block: &TextBlock) -> bool {
    outline
        .elements
        .get(block.owner)
        .is_some_and(|item| item.tag == Tag::Tr)
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

/// Preformatted text as it is, up to `max_bytes`.
fn code(outline: &Outline<'_>, block: &TextBlock, max_bytes: usize) -> String {
    let mut writer = Writer::new(max_bytes);
    for text in texts(outline, block.texts) {
        writer.separate(text.before);
        writer.push(text.characters, text.preformatted);
    }
    writer.text
}

fn texts<'o, 'a>(
    outline: &'o Outline<'a>,
    (start, end): (usize, usize),
) -> impl Iterator<Item = &'o html::TextNode<'a>> {
    let texts = outline.texts.get(start..end).unwrap_or_default();
    texts.iter().filter(|text| text.sight < Sight::Never)
}

/// Writes a row of a table; the first row is followed by the line that makes it a header.
fn row(
    outline: &Outline<'_>,
    block: &TextBlock,
    base: &Base,
    out: &mut String,
    is_first: bool,
    max_bytes: usize,
) {
    let cell_of = |at: usize| {
        let mut up = outline.texts.get(at).map_or(0, |text| text.parent);
        while let Some(item) = outline.elements.get(up) {
            if matches!(item.tag, Tag::Td | Tag::Th) {
                return Some(up);
            }
            if item.parent == up {
                break;
            }
            up = item.parent;
        }
        None
    };
    let mut cells = 0;
    let (mut start, end) = block.texts;
    while start < end && out.len() < max_bytes {
        let cell = cell_of(start);
        let stop = (start..end).find(|&at| cell_of(at) != cell).unwrap_or(end);
        if cell.is_some() {
            let left = max_bytes - out.len();
            let cell = inline(outline, block, base, (start, stop), left);
            let _ = write!(out, "| {} ", cell.replace('|', "\\|"));
            cells += 1;
        }
        start = stop;
    }
    out.push('|');
    if is_first {
        out.push('\n');
        out.push_str(&"| --- ".repeat(cells));
        out.push('|');
    }
}

/// What an inline text is in, below its block.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Inline {
    Plain,
    Code(usize),
    Link(usize),
}

/// Writes texts of one block on one line, with links and code, up to `max_bytes`.
fn inline(
    outline: &Outline<'_>,
    block: &TextBlock,
    base: &Base,
    range: (usize, usize),
    max_bytes: usize,
) -> String {
    let mut writer = Writer::new(max_bytes);
    let mut current = Inline::Plain;
    for text in texts(outline, range) {
        if writer.cut {
            break;
        }
        let place = place(outline, block, text.parent);
        if place != current {
            close(&mut writer, outline, base, current);
        }
        writer.separate(text.before);
        if text.characters.starts_with(char::is_whitespace) {
            writer.separate(Break::Space);
        }
        if place != current && !text.characters.trim().is_empty() {
            match place {
                Inline::Plain => {}
                Inline::Code(_) => writer.push("`", false),
                Inline::Link(_) => writer.push("[", false),
            }
            current = place;
        } else if place != current {
            current = Inline::Plain;
        }
        let characters = match current {
            Inline::Plain => text.characters,
            _ => text.characters.trim_start(),
        };
        match current {
            Inline::Code(_) => writer.push(&characters.replace('`', "'"), false),
            _ => writer.push(&escape(characters), false),
        }
    }
    close(&mut writer, outline, base, current);
    writer.text
}

fn place(outline: &Outline<'_>, block: &TextBlock, parent: usize) -> Inline {
    let mut up = parent;
    let mut place = Inline::Plain;
    while up > block.owner {
        let Some(item) = outline.elements.get(up) else {
            break;
        };
        match item.tag {
            Tag::Code => place = Inline::Code(up),
            Tag::A if place == Inline::Plain => place = Inline::Link(up),
            _ => {}
        }
        up = item.parent;
    }
    place
}

/// Ends a link or code. White space before the end moves behind it.
fn close(writer: &mut Writer, outline: &Outline<'_>, base: &Base, place: Inline) {
    match place {
        Inline::Plain => {}
        Inline::Code(_) => writer.push_close("`"),
        Inline::Link(at) => {
            let item = outline.elements.get(at);
            let href = item.and_then(|item| attribute(item.element, &local_name!("href")));
            let target = href.and_then(|href| base.join(href));
            match target {
                Some(target) => {
                    let target = target.as_str().replace('(', "%28").replace(')', "%29");
                    writer.push_close(&format!("]({target})"));
                }
                None => writer.push_close("]"),
            }
        }
    }
}

/// Escapes the characters that have a meaning in Markdown.
fn escape(text: &str) -> std::borrow::Cow<'_, str> {
    const MARKS: [char; 6] = ['\\', '`', '*', '[', ']', '<'];
    if !text.contains(MARKS) {
        return text.into();
    }
    let mut escaped = String::with_capacity(text.len() + 8);
    for letter in text.chars() {
        if MARKS.contains(&letter) {
            escaped.push('\\');
        }
        escaped.push(letter);
    }
    escaped.into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::page::content::blocks;
    use crate::page::options::PageOptions;

    /// Checks the Markdown of a page all of whose blocks are content.
    fn check_markdown(html: &str, expected: &str) {
        let (tree, _) = html::parse(html, &PageOptions::default());
        let outline = Outline::of(&tree);
        let url = crate::url::parse("https://example.org/dir/page.html").unwrap();
        let base = Base::of(&outline, &url, encoding_rs::UTF_8);
        let (blocks, _) = blocks::of(&outline);
        assert_eq!(render(&outline, &blocks, &base, 10_000), expected, "{html}");
    }

    #[test]
    fn what_is_written_stops_at_the_bound() {
        let links = "<a href=x>y</a> ".repeat(2_000);
        let rows = "<td><a href=x>y</a>".repeat(2_000);
        for content in [
            format!("<p>{links}</p>"),
            format!("<table><tr>{rows}</table>"),
            format!("<pre>{}</pre>", "y\n".repeat(10_000)),
        ] {
            let html = format!("<base href='/{}/'>{content}", "b".repeat(16_000));
            let (tree, _) = html::parse(&html, &PageOptions::default());
            let outline = Outline::of(&tree);
            let url = crate::url::parse("https://example.org/").unwrap();
            let base = Base::of(&outline, &url, encoding_rs::UTF_8);
            let (blocks, _) = blocks::of(&outline);
            for block in &blocks {
                let line = inline(&outline, block, &base, block.texts, 5_000);
                assert!(line.len() <= 5_000, "{}", line.len());
                assert!(code(&outline, block, 5_000).len() <= 5_000);
                let mut text = String::new();
                row(&outline, block, &base, &mut text, false, 5_000);
                assert!(text.len() <= 5_010, "{}", text.len());
            }
            assert!(render(&outline, &blocks, &base, 5_000).len() <= 5_000);
        }
    }

    #[test]
    fn markdown_keeps_the_form() {
        check_markdown(
            "<h1>One</h1><p>Two <a href=x>three </a>four <code>f()</code>.</p>",
            "# One\n\nTwo [three](https://example.org/dir/x) four `f()`.",
        );
        check_markdown(
            "<ul><li>a<ol><li>b<li>c</ol><li><p>d<p>e</ul><p>f",
            "- a\n  1. b\n  2. c\n- d\n\n  e\n\nf",
        );
        check_markdown(
            "<pre>  x = 1\n\n  y</pre><p>z",
            "```\n  x = 1\n\n  y\n```\n\nz",
        );
        check_markdown("<blockquote><p>q<p>r</blockquote>", "> q\n\n> r");
        check_markdown(
            "<table><tr><th>a<th>b|<tr><td>1<td><b>2</b> 3</table>",
            "| a | b\\| |\n| --- | --- |\n| 1 | 2 3 |",
        );
        check_markdown(
            "<p># no [heading] *here*",
            "\\# no \\[heading\\] \\*here\\*",
        );
    }
}
