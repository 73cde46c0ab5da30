//! How often the main text stays the same, word for word, when what surrounds it changes: run with
//! `cargo bench --bench extraction_stability -- PAGES.jsonl`, where each line is an object with
//! `html`.
//!
//! Each page is read, changed in one way where it holds none of its main text, written as HTML and
//! read again. What a change leaves as it was is not counted.
//!
//! With `--write` it changes each page in several ways at once, drawn by a hash of the page, and
//! writes it to standard output: pages for `train_extraction.py` to learn from. What is learned
//! must not depend on the model that was there before: of a page whose main text is not known
//! (`truth`), only what stands in elements that are for what surrounds it is changed.

use std::collections::HashSet;
use std::fs::File;
use std::io::{self, BufRead, BufReader, BufWriter, Write as _};

use ego_tree::NodeId;
use gleaner::page::{Page, PageOptions};
use gleaner::url::{self, Canonicalizer, Identity, Secret, Url};
use scraper::Html;
use scraper::node::Node;
use serde_json::Value;
use xxhash_rust::xxh3::xxh3_64;

/// Words of a link's text that stands for others.
const OTHER_LINKS: [&str; 8] = [
    "Trains are late again in the north",
    "Ten gardens to see before the summer ends",
    "What the harbour looks like at night",
    "A dog finds its way home",
    "Letters",
    "Seven questions about the new bridge",
    "Jobs",
    "Why the old mill was sold",
];

/// One way to change what surrounds the main text.
struct Change {
    name: &'static str,
    /// How many of 256 pages that are written have it.
    odds: u8,
    apply: fn(&mut Html, &Surroundings),
}

const CHANGES: [Change; 8] = [
    Change {
        name: "lists reordered",
        odds: 128,
        apply: reorder,
    },
    Change {
        name: "links swapped",
        odds: 160,
        apply: swap_links,
    },
    Change {
        name: "related links added",
        odds: 100,
        apply: |html, _| add_links(html),
    },
    Change {
        name: "asides taken out",
        odds: 80,
        apply: |html, around| take_out(html, around, "aside"),
    },
    Change {
        name: "navigation taken out",
        odds: 60,
        apply: |html, around| take_out(html, around, "nav"),
    },
    Change {
        name: "footers taken out",
        odds: 60,
        apply: |html, around| take_out(html, around, "footer"),
    },
    Change {
        name: "classes renamed around",
        odds: 160,
        apply: |html, around| rename_classes(html, Some(around)),
    },
    Change {
        name: "classes renamed everywhere",
        odds: 60,
        apply: |html, _| rename_classes(html, None),
    },
];

fn main() {
    // Cargo passes flags of its own; without pages there is nothing to do.
    let (flags, paths): (Vec<_>, Vec<_>) = std::env::args()
        .skip(1)
        .partition(|argument| argument.starts_with('-'));
    let Some(path) = paths.first() else { return };
    match flags.iter().any(|flag| flag == "--write") {
        true => write(path),
        false => measure(path),
    }
}

/// The pages of a file.
fn pages(path: &str) -> impl Iterator<Item = Value> {
    let lines = BufReader::new(File::open(path).expect("the file opens")).lines();
    lines.map(|line| {
        let line = line.expect("the file is UTF-8");
        serde_json::from_str(&line).expect("a line is JSON")
    })
}

/// A page as its parser writes it, so that only the change is a difference later.
fn normal(page: &Value) -> String {
    let html = page["html"].as_str().expect("a page has html");
    Html::parse_document(html).html()
}

/// Writes every page of a file changed, around what is known to be its main text.
fn write(path: &str) {
    let mut out = BufWriter::new(io::stdout().lock());
    for mut page in pages(path) {
        let written = normal(&page);
        let main_words: Vec<String> = match page["truth"].as_str() {
            Some(truth) => truth.split_whitespace().map(str::to_owned).collect(),
            None => words_outside_frames(&written),
        };
        let draw = xxh3_64(written.as_bytes()).to_le_bytes();
        let mut tree = Html::parse_document(&written);
        for (change, _) in CHANGES
            .iter()
            .zip(draw)
            .filter(|(change, draw)| *draw < change.odds)
        {
            let around = Surroundings::of(&tree, &main_words);
            (change.apply)(&mut tree, &around);
        }
        page["html"] = tree.html().into();
        writeln!(out, "{page}").expect("the output takes it");
    }
}

/// The words of a page outside of elements that are for what surrounds its main text.
fn words_outside_frames(html: &str) -> Vec<String> {
    const FRAMES: [&str; 5] = ["nav", "aside", "header", "footer", "form"];
    let tree = Html::parse_document(html);
    let mut words = Vec::new();
    for node in tree.tree.nodes() {
        let is_framed = || {
            let mut above = node.ancestors();
            above.any(|it| FRAMES.iter().any(|name| is(it.value(), name)))
        };
        if let Node::Text(text) = node.value()
            && !is_framed()
        {
            words.extend(text.split_whitespace().map(str::to_owned));
        }
    }
    words
}

/// Prints how often each change leaves the main text as it was.
fn measure(path: &str) {
    let reader = Reader::new();
    let mut tallies = CHANGES.map(|change| (change, 0_u32, 0_u32));
    for page in pages(path) {
        let written = normal(&page);
        let before = reader.main_words(&written);
        if before.is_empty() {
            continue;
        }
        for (change, changed, same) in &mut tallies {
            let mut tree = Html::parse_document(&written);
            let around = Surroundings::of(&tree, &before);
            (change.apply)(&mut tree, &around);
            let after = tree.html();
            if after != written {
                *changed += 1;
                *same += u32::from(reader.main_words(&after) == before);
            }
        }
    }
    eprintln!("{:<28} {:>6} {:>14}", "change", "pages", "the same text");
    for (change, changed, same) in &tallies {
        let percent = 100.0 * f64::from(*same) / f64::from((*changed).max(1));
        eprintln!("{:<28} {changed:>6} {percent:>12.1} %", change.name);
    }
}

/// Reads pages.
struct Reader {
    identity: Identity,
    url: Url,
    options: PageOptions,
}

impl Reader {
    fn new() -> Self {
        let secret = std::array::from_fn(|at| (at * 167 % 251) as u8);
        Self {
            identity: Identity::new(Canonicalizer::default(), Secret::from_bytes(secret)),
            url: url::parse("https://example.org/a/page.html").expect("a URL"),
            options: PageOptions::default(),
        }
    }

    /// The words of the main text.
    fn main_words(&self, html: &str) -> Vec<String> {
        let page = Page::parse_html(html, &self.url, &self.identity, &self.options);
        page.main_text
            .split_whitespace()
            .map(str::to_owned)
            .collect()
    }
}

/// The elements that hold text, but none of the main text, in document order.
struct Surroundings {
    elements: Vec<NodeId>,
}

impl Surroundings {
    fn of(tree: &Html, main_words: &[String]) -> Self {
        let main_text = main_words.join(" ");
        let mut with_text = HashSet::new();
        let mut with_main = HashSet::new();
        for node in tree.tree.nodes() {
            let Node::Text(text) = node.value() else {
                continue;
            };
            let words: Vec<&str> = text.split_whitespace().collect();
            if words.is_empty() {
                continue;
            }
            let is_main = main_text.contains(&words.join(" "));
            for above in node.ancestors() {
                with_text.insert(above.id());
                if is_main {
                    with_main.insert(above.id());
                }
            }
        }
        let root = tree.tree.root();
        let body = root.descendants().find(|node| is(node.value(), "body"));
        let around = body.into_iter().flat_map(|body| body.descendants());
        let elements = around
            .filter(|node| node.value().is_element())
            .map(|node| node.id())
            .filter(|id| with_text.contains(id) && !with_main.contains(id));
        Self {
            elements: elements.collect(),
        }
    }

    /// Those of a name.
    fn called<'a>(&'a self, html: &'a Html, name: &'a str) -> impl Iterator<Item = NodeId> + 'a {
        let elements = self.elements.iter().copied();
        elements.filter(move |id| {
            let node = html.tree.get(*id);
            node.is_some_and(|node| is(node.value(), name))
        })
    }
}

/// Whether a node is an element of this name.
fn is(node: &Node, name: &str) -> bool {
    node.as_element()
        .is_some_and(|element| element.name() == name)
}

/// Turns the items of lists around.
fn reorder(html: &mut Html, around: &Surroundings) {
    let lists: Vec<NodeId> = around.called(html, "ul").collect();
    for list in lists {
        let Some(node) = html.tree.get(list) else {
            continue;
        };
        let items: Vec<NodeId> = node
            .children()
            .filter(|child| is(child.value(), "li"))
            .map(|child| child.id())
            .collect();
        for item in items {
            if let Some(mut list) = html.tree.get_mut(list) {
                list.prepend_id(item);
            }
        }
    }
}

/// Gives links other texts.
fn swap_links(html: &mut Html, around: &Surroundings) {
    let mut texts = Vec::new();
    for link in around.called(html, "a") {
        let below = html
            .tree
            .get(link)
            .into_iter()
            .flat_map(|it| it.descendants());
        texts.extend(below.filter(|it| it.value().is_text()).map(|it| it.id()));
    }
    for (at, id) in texts.into_iter().enumerate() {
        if let Some(mut node) = html.tree.get_mut(id)
            && let Node::Text(text) = node.value()
            && !text.trim().is_empty()
        {
            text.text = OTHER_LINKS[at % OTHER_LINKS.len()].into();
        }
    }
}

/// Puts a list of links behind everything else.
fn add_links(html: &mut Html) {
    let items = OTHER_LINKS.map(|text| format!("<li><a href=/{}>{text}</a></li>", text.len()));
    let list = format!(
        "<aside class=related><h3>Read on</h3><ul>{}</ul></aside>",
        items.concat()
    );
    let fragment = Html::parse_fragment(&list);
    let body = html
        .tree
        .nodes()
        .find(|node| is(node.value(), "body"))
        .map(|node| node.id());
    let added = html.tree.extend_tree(fragment.tree).id();
    if let Some(mut body) = body.and_then(|body| html.tree.get_mut(body)) {
        body.append_id(added);
    }
}

/// Takes out the elements of a name.
fn take_out(html: &mut Html, around: &Surroundings, name: &str) {
    let named: Vec<NodeId> = around.called(html, name).collect();
    for id in named {
        if let Some(mut node) = html.tree.get_mut(id) {
            node.detach();
        }
    }
}

/// Gives classes and ids names that say nothing, as tools that build style sheets do.
fn rename_classes(html: &mut Html, around: Option<&Surroundings>) {
    let elements: Vec<NodeId> = match around {
        Some(around) => around.elements.clone(),
        None => html.tree.nodes().map(|node| node.id()).collect(),
    };
    for id in elements {
        if let Some(mut node) = html.tree.get_mut(id)
            && let Node::Element(element) = node.value()
        {
            for (name, value) in &mut element.attrs {
                if matches!(&*name.local, "class" | "id") {
                    let renamed = value
                        .split_whitespace()
                        .map(|word| format!("c{:x}", xxh3_64(word.as_bytes()) >> 32));
                    *value = renamed.collect::<Vec<_>>().join(" ").into();
                }
            }
        }
    }
}
