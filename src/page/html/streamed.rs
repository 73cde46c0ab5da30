//! The parts of a page that its server sent late. A server that streams (React) leaves a
//! `<template>` where such a part belongs, and sends the part itself in a hidden element at the
//! end, from which a script takes it at once. Here it is put into its place without the script, so
//! that it is read where a reader sees it.

use std::collections::HashMap;
use std::ops::Range;

use html5ever::local_name;
use memchr::memmem;

use super::nodes::{Node, Tree};
use super::tag::Tag;

/// With what the id of a late part begins.
const PART: &str = "S:";
/// With what the id of its place begins, followed by the same as in the id of the part: of one that
/// waited for data, and of one within such a part.
const PLACES: [&str; 2] = ["B:", "P:"];

/// Puts the late parts of a page into their places. The tree stays as it is if one of them would be
/// lost, or if it would be deeper than `max_depth`.
pub(super) fn place(tree: &mut Tree<'_>, max_depth: usize) {
    if may_name_a_part(tree.page())
        && let Some(nodes) = placed(tree, max_depth)
    {
        tree.parts.nodes = nodes;
    }
}

/// Whether a value on the page may be the id of a part. Most pages have none, and are read no
/// further.
fn may_name_a_part(page: &str) -> bool {
    let bytes = page.as_bytes();
    let before = |at: usize| at.checked_sub(1).and_then(|at| bytes.get(at));
    memmem::find_iter(bytes, PART).any(|at| matches!(before(at), Some(b'"' | b'\'' | b'=')))
}

/// The nodes with all late parts in their places.
fn placed(tree: &Tree<'_>, max_depth: usize) -> Option<Vec<Node>> {
    let nodes = tree.nodes();
    let late = Late::of(tree);
    let mut placed = Vec::with_capacity(nodes.len());
    let (mut depth, mut entered) = (0_usize, 0);
    // What is gone through, each part within what its place is in.
    let whole = 0..nodes.len();
    let mut ranges = vec![whole];
    while let Some(range) = ranges.last_mut() {
        let Some(at) = range.next() else {
            ranges.pop();
            continue;
        };
        if let Some(end) = late.ends.get(&at) {
            range.start = *end;
            continue;
        }
        if let Some(part) = late.places.get(&at) {
            // Nothing of a template but itself is in the tree.
            range.start = at + 2;
            ranges.push(part.clone());
            entered += 1;
            continue;
        }
        let node = *nodes.get(at)?;
        match node {
            Node::Open { .. } => depth += 1,
            Node::Close => depth = depth.saturating_sub(1),
            Node::Text(_) => {}
        }
        if depth > max_depth {
            return None;
        }
        placed.push(node);
    }
    // The place of a part may be within that part.
    let is_whole = entered == late.places.len();
    (entered > 0 && is_whole).then_some(placed)
}

/// The late parts that have a place.
struct Late {
    /// The node after each of them, by the node that opens it.
    ends: HashMap<usize, usize>,
    /// What is in each of them, by the node that opens its place.
    places: HashMap<usize, Range<usize>>,
}

impl Late {
    /// Finds them. As for the script, the first element with an id is the one with that id.
    fn of(tree: &Tree<'_>) -> Self {
        let nodes = tree.nodes();
        let mut parts: HashMap<&str, Range<usize>> = HashMap::new();
        let mut places: HashMap<&str, usize> = HashMap::new();
        // The open elements: whether what is in them stays hidden, and which part each is.
        let mut open: Vec<(bool, Option<&str>)> = Vec::new();
        for (at, node) in nodes.iter().enumerate() {
            match node {
                Node::Open { .. } => {
                    let element = tree.element(at);
                    let id = element.attribute(&local_name!("id")).unwrap_or_default();
                    let tag = element.tag();
                    let is_hidden = open.last().is_some_and(|(is_hidden, _)| *is_hidden)
                        || tag == Tag::Head
                        || element.attribute(&local_name!("hidden")).is_some();
                    let part = id.strip_prefix(PART);
                    let part = part.filter(|part| is_hidden && !parts.contains_key(part));
                    if let Some(part) = part {
                        parts.insert(part, at..at);
                    }
                    let place = PLACES.iter().find_map(|place| id.strip_prefix(place));
                    // What is moved to where nobody sees it would not be read.
                    if let Some(place) = place
                        && tag == Tag::Template
                        && !is_hidden
                        && nodes.get(at + 1) == Some(&Node::Close)
                    {
                        places.entry(place).or_insert(at);
                    }
                    open.push((is_hidden && part.is_none(), part));
                }
                Node::Close => {
                    let part = open.pop().and_then(|(_, part)| part);
                    if let Some(range) = part.and_then(|part| parts.get_mut(part)) {
                        range.end = at;
                    }
                }
                Node::Text(_) => {}
            }
        }
        let mut late = Self {
            ends: HashMap::new(),
            places: HashMap::new(),
        };
        for (id, place) in places {
            if let Some(part) = parts.get(id).filter(|part| part.end > part.start) {
                late.ends.insert(part.start, part.end + 1);
                late.places.insert(place, part.start + 1..part.end);
            }
        }
        late
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::{Outline, Sight, parse};
    use crate::page::PageOptions;

    /// The texts of a page in order; of what is hidden, that it is.
    fn texts_of(html: &str, options: &PageOptions) -> Vec<String> {
        let (tree, _) = parse(html, options);
        let outline = Outline::of(&tree);
        let texts = outline.texts.iter();
        let texts = texts.map(|text| match text.sight {
            Sight::Shown => text.characters.to_owned(),
            _ => format!("hidden {}", text.characters),
        });
        texts.collect()
    }

    fn texts(html: &str) -> Vec<String> {
        texts_of(html, &PageOptions::default())
    }

    /// A page that html5ever reads, not `plain.rs`.
    fn nested_badly(html: &str) -> String {
        format!("{html}<b><p></b></p>")
    }

    #[test]
    fn late_parts_are_read_in_their_places() {
        let html = r#"<body><main><template id="B:0"></template></main><footer>end</footer>
<div hidden id="S:0"><h1>title</h1><template id="P:1"></template><p>last</p></div>
<div hidden id="S:1"><p>first</p></div>"#
            .replace('\n', "");
        assert_eq!(texts(&html), ["title", "first", "last", "end"]);
        let html = nested_badly(&html);
        assert_eq!(texts(&html), ["title", "first", "last", "end"]);
    }

    #[test]
    fn rows_of_a_table_are_put_into_it() {
        let html = "<body><table><tr><td>1</td></tr><template id=B:a></template></table><p>2</p>\
            <table hidden><tbody id=S:a><tr><td>late</td></tr></tbody></table>";
        assert_eq!(texts(html), ["1", "late", "2"]);
    }

    /// What looks like it and is not: all of it is read where it stands.
    #[test]
    fn what_has_no_place_stays() {
        for html in [
            // A part of another page, or one that nobody takes.
            "<body><p>1</p><div hidden id=S:0>2</div>",
            "<body><template id=B:1></template><p>1</p><div hidden id=S:0>2</div>",
            // Not hidden, so that no script has to show it.
            "<body><template id=B:0></template><p>1</p><div id=S:0>2</div>",
            // In places that nobody sees.
            "<template id=B:0></template><body><p>1</p><div hidden id=S:0>2</div>",
            "<body><p>1</p><div hidden><template id=B:0></template></div><div hidden id=S:0>2</div>",
            // No template.
            "<body><p id=B:0>1</p><div hidden id=S:0>2</div>",
            // In itself.
            "<body><p>1</p><div hidden id=S:0>2<template id=B:0></template></div>",
            // In one another.
            "<body><div hidden id=S:0>1<template id=P:1></template></div>\
             <div hidden id=S:1>2<template id=P:0></template></div>",
        ] {
            assert_eq!(texts(html), ["1", "2"], "{html}");
        }
    }

    #[test]
    fn the_first_with_an_id_is_meant() {
        let html = "<body><template id=B:0></template><p>1</p><template id=B:0></template>\
            <div hidden id=S:0>late</div><div id=x><div hidden id=S:0>2</div></div>";
        assert_eq!(texts(html), ["late", "1", "2"]);
    }

    #[test]
    fn no_page_becomes_deeper_than_pages_may_be() {
        let options = PageOptions {
            max_depth: 40,
            ..PageOptions::default()
        };
        let part = |n: usize| {
            let place = format!("<template id=P:{}></template>", n + 1);
            let inside = "<div>".repeat(8) + &n.to_string() + &place + &"</div>".repeat(8);
            format!("<div hidden id=S:{n}>{inside}</div>")
        };
        let page = |parts: usize| {
            let parts: String = (0..parts).map(part).collect();
            format!("<body><template id=B:0></template><p>end</p>{parts}")
        };
        let found = |parts| texts_of(&page(parts), &options);
        assert_eq!(found(3), ["0", "1", "2", "end"]);
        assert_eq!(
            found(9),
            ["end", "0", "1", "2", "3", "4", "5", "6", "7", "8"]
        );
    }

    proptest! {
        /// Wherever parts and places are, no text is lost, and none is read twice.
        #[test]
        fn nothing_is_lost(pieces in prop::collection::vec((0_u8..6, 0_u8..4), 0..24)) {
            let pieces = pieces.iter().enumerate();
            let html: Vec<String> = pieces
                .clone()
                .map(|(at, (kind, id))| match kind {
                    0 | 1 => format!("<div hidden id='S:{id}'>"),
                    2 => format!("<template id='B:{id}'></template>"),
                    3 => format!("<template id='P:{id}'></template>"),
                    4 => "</div>".to_owned(),
                    _ => format!("<i>t{at}</i>"),
                })
                .collect();
            let mut found = texts(&html.concat());
            let written = pieces.filter(|(_, (kind, _))| *kind == 5);
            let mut written: Vec<String> = written.map(|(at, _)| format!("t{at}")).collect();
            found.sort_unstable();
            written.sort_unstable();
            prop_assert_eq!(found, written);
        }
    }
}
