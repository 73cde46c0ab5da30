//! Footnotes, and the languages of code: what ids and classes say of a passage.

use std::collections::HashMap;

use html5ever::local_name;

use super::above;
use crate::page::content::blocks::TextBlock;
use crate::page::html::{Element, Outline, OutlineElement, attribute};

/// The footnotes that are referred to and are in `blocks`: their ids and labels.
pub(super) fn notes<'a>(outline: &Outline<'a>, blocks: &[TextBlock]) -> HashMap<&'a str, String> {
    let mut notes: HashMap<&'a str, String> = HashMap::new();
    for item in outline
        .pointers
        .iter()
        .filter_map(|&at| outline.elements.get(at))
    {
        let Some(id) = note_id(outline, item) else {
            continue;
        };
        let texts = outline
            .texts
            .get(item.texts.0..item.texts.1)
            .unwrap_or_default();
        let label: String = texts.iter().map(|text| text.characters.trim()).collect();
        let label = label.trim_matches(['[', ']', '(', ')']);
        let is_label = (1..=8).contains(&label.len()) && label.chars().all(char::is_alphanumeric);
        if is_label {
            notes.entry(id).or_insert_with(|| label.to_owned());
        }
    }
    if notes.is_empty() {
        return notes;
    }
    let mut found: HashMap<&'a str, String> = HashMap::new();
    for block in blocks {
        for id in note_ids(outline, block) {
            if let Some((id, label)) = notes.remove_entry(id) {
                found.insert(id, label);
            }
        }
    }
    found
}

/// The id that a link to a footnote points at.
pub(super) fn note_id<'a>(outline: &Outline<'a>, link: &OutlineElement<'a>) -> Option<&'a str> {
    let id = attribute(link.element, &local_name!("href"))?.strip_prefix('#')?;
    let class = attribute(link.element, &local_name!("class")).unwrap_or_default();
    let role = attribute(link.element, &local_name!("role")).unwrap_or_default();
    let is_sup = |item: &OutlineElement<'_>| *item.element.name() == local_name!("sup");
    let at = |at: usize| outline.elements.get(at);
    let is_raised = at(link.parent).is_some_and(is_sup)
        || outline
            .elements
            .iter()
            .skip(link.parent + 1)
            .take(3)
            .any(|item| {
                is_sup(item) && at(item.parent).is_some_and(|it| it.element == link.element)
            });
    let is_one = role == "doc-noteref"
        || class.contains("footnote-ref")
        || class.contains("footref")
        || (is_raised && !class.contains("backref") && role != "doc-backlink");
    is_one.then_some(id)
}

/// The ids around the beginning of a block, from the nearest on.
pub(super) fn note_ids<'o, 'a: 'o>(
    outline: &'o Outline<'a>,
    block: &TextBlock,
) -> impl Iterator<Item = &'a str> + use<'o, 'a> {
    let first = block.texts.0;
    above(outline, block.inner)
        .take(6)
        .filter(move |(_, item)| item.texts.0 + 2 >= first)
        .filter_map(|(_, item)| attribute(item.element, &local_name!("id")))
}

/// The language that the class of code names.
pub(super) fn language_of_class(element: Element<'_>) -> Option<String> {
    const PREFIXES: [&str; 6] = [
        "language-",
        "lang-",
        "highlight-source-",
        "highlight-text-",
        "highlight-",
        "src-",
    ];
    // After these words the language follows as a word of its own.
    const MARKERS: [&str; 5] = ["brush:", "hljs", "sourceCode", "programlisting", "src"];
    const NOT_ONE: [&str; 12] = [
        "none",
        "text",
        "plaintext",
        "default",
        "notranslate",
        "plain",
        "highlight",
        "output",
        "source",
        "html+",
        "nohighlight",
        "code",
    ];
    const MAX_BYTES: usize = 20;
    let class = attribute(element, &local_name!("class"))?;
    let words: Vec<&str> = class.split_ascii_whitespace().collect();
    let prefixed = words
        .iter()
        .find_map(|word| PREFIXES.iter().find_map(|prefix| word.strip_prefix(prefix)));
    let marked = || {
        let at = words.iter().position(|word| MARKERS.contains(word))?;
        words.get(at + 1).copied()
    };
    let language = prefixed
        .or_else(marked)?
        .trim_end_matches(';')
        .to_ascii_lowercase();
    let is_name = language.len() <= MAX_BYTES
        && language
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || b"+#-._".contains(&byte));
    (is_name && !language.is_empty() && !NOT_ONE.contains(&&*language)).then_some(language)
}
