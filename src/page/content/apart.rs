//! What stands in a text and is not of it: the marks that link a heading to itself, and the numbers
//! beside lines of code. A reader who selects the text on the page does not get them, or not
//! willingly.

use html5ever::local_name;

use crate::page::html::{Outline, Tag, TextNode, attribute};

/// Number of levels above a text that are asked.
const MAX_LEVELS: usize = 3;

/// Whether a text is not of the text around it.
pub(crate) fn is_apart(outline: &Outline<'_>, text: &TextNode<'_>) -> bool {
    is_permalink(outline, text) || is_line_number(outline, text)
}

/// Whether it is the mark of a link within the page: `¶` behind a heading, `↩` behind a footnote.
fn is_permalink(outline: &Outline<'_>, text: &TextNode<'_>) -> bool {
    const MARKS: [&str; 12] = [
        "¶",
        "#",
        "§",
        "∞",
        "⚓",
        "🔗",
        "\u{f0c1}",
        "↩",
        "↩\u{fe0e}",
        "⏎",
        "↑",
        "^",
    ];
    // Most texts are longer than that, or are words, and are not looked at twice.
    let is_mark = |byte: u8| !byte.is_ascii_alphanumeric() && byte > b' ';
    if text.characters.len() > 8
        || !text.characters.bytes().any(is_mark)
        || !MARKS.contains(&text.characters.trim())
    {
        return false;
    }
    above(outline, text).any(|item| {
        let href = || attribute(item.element, &local_name!("href"));
        item.tag == Tag::A && href().is_some_and(|href| href.contains('#'))
    })
}

/// Whether it is the number of a line, or several of them.
fn is_line_number(outline: &Outline<'_>, text: &TextNode<'_>) -> bool {
    // Class names of highlighters: Pygments, Rouge, highlight.js, Prism, SyntaxHighlighter, GitHub.
    const CLASSES: [&str; 10] = [
        "linenos",
        "lineno",
        "linenr",
        "line-number",
        "line-numbers",
        "line-numbers-rows",
        "hljs-ln-numbers",
        "gutter",
        "rouge-gutter",
        "blob-num",
    ];
    let is_number = |byte: u8| byte.is_ascii_digit() || byte.is_ascii_whitespace();
    let is_blank = |byte: u8| byte.is_ascii_whitespace();
    if !text.characters.bytes().all(is_number) || text.characters.bytes().all(is_blank) {
        return false;
    }
    above(outline, text).any(|item| {
        let class = attribute(item.element, &local_name!("class")).unwrap_or_default();
        class
            .split_ascii_whitespace()
            .any(|word| CLASSES.contains(&word))
    })
}

fn above<'o, 'a>(
    outline: &'o Outline<'a>,
    text: &TextNode<'_>,
) -> impl Iterator<Item = &'o crate::page::html::OutlineElement<'a>> {
    let first = outline.elements.get(text.parent);
    let next = |item: &&'o crate::page::html::OutlineElement<'a>| outline.elements.get(item.parent);
    std::iter::successors(first, next).take(MAX_LEVELS)
}
