//! The features of each block, as small integers: the input of the model that tells content from
//! everything else on a page (`model.rs`).
//!
//! A block is described by itself, by its surroundings and by its relation to the elements that
//! contain the page's prose, but not by its distance from the top or its share of all text: those
//! change with every link added to a sidebar, and the main text must not. All arithmetic is on
//! integers, so that a page yields the same numbers everywhere, and all of it is linear in the
//! page: what a block inherits from the elements above it is carried down in one pass. Numbers are
//! stored in columns, one per feature, because the model reads them that way.

use html5ever::local_name;

use super::blocks::{Sums, TextBlock};
use super::structure::{View, densest, repetitions, runs, spans, voted};
use crate::page::html::{Outline, Sight, Tag, attribute, bit};

/// The features in the order of their columns.
#[rustfmt::skip]
pub(super) const NAMES: [&str; 89] = [
    // The block itself.
    "chars", "words", "link", "links", "stops", "capitals", "digits", "last", "inline", "tag", "heading", "depth",
    "repeated", "weight",
    // What it is in: elements, class words, runs of similar elements.
    "in_main", "in_table", "in_section", "in_p", "in_figure", "in_list", "in_quote", "in_aside", "in_article",
    "in_foot", "in_comments", "in_caption", "hidden", "run", "run_height",
    // Its neighbours.
    "before_chars", "before_heading", "before_like", "before_weight", "before2_chars",
    "after_chars", "after_like", "after_weight", "near_link", "near_weight", "heading_distance", "heading_level",
    // The elements above it, each larger than the one below.
    "a0_chars", "a0_link", "a0_blocks", "a0_prose", "a0_mean",
    "a1_chars", "a1_link", "a1_blocks", "a1_prose", "a1_mean",
    "a2_chars", "a2_link", "a2_blocks", "a2_prose", "a2_mean",
    // Its position.
    "after_h1", "h1_levels", "narrow_levels", "narrow_place",
    // The branch it is in, seen from the densest element and from the one that paragraphs vote for.
    "d_levels", "d_chars", "d_link", "d_blocks", "d_prose", "d_of", "d_vs", "d_tag", "d_items", "d_before", "d_after",
    "v_levels", "v_chars", "v_link", "v_blocks", "v_prose", "v_of", "v_vs", "v_tag", "v_items", "v_before", "v_after",
    // The page.
    "d_total", "d_mean", "v_total", "page_paragraphs", "page_longest", "says_article", "says_product",
];

/// Number of blocks whose features lie side by side.
pub(super) const LANES: usize = 16;

/// Each feature of some blocks.
pub(super) type Columns = [[i16; LANES]; NAMES.len()];

/// The features of all blocks of a page.
pub(super) struct Table {
    /// Number of blocks.
    pub(super) rows: usize,
    /// Their features, of [`LANES`] blocks each.
    pub(super) parts: Vec<Columns>,
}

impl Table {
    /// A feature of a block.
    pub(super) fn value(&self, row: usize, feature: usize) -> i16 {
        let part = self.parts.get(row / LANES);
        let column = part.and_then(|columns| columns.get(feature));
        column.map_or(0, |column| column[row % LANES])
    }
}

/// Writes one row, column after column.
struct RowWriter<'c> {
    columns: std::slice::IterMut<'c, [i16; LANES]>,
    lane: usize,
}

impl RowWriter<'_> {
    #[inline]
    fn put(&mut self, value: i32) {
        if let Some(column) = self.columns.next() {
            column[self.lane % LANES] = value.clamp(-30_000, 30_000) as i16;
        }
    }

    fn count(&mut self, count: u32) {
        self.put(whole(count));
    }

    fn truth(&mut self, holds: bool) {
        self.put(i32::from(holds));
    }
}

/// The number, clamped to the range of an `i32`.
fn whole(number: impl TryInto<i32>) -> i32 {
    number.try_into().unwrap_or(i32::MAX)
}

/// The share in per mille.
fn share(part: u32, whole: u32) -> i32 {
    // Numbers of 64 bits take several times as long to divide.
    match part.checked_mul(1000) {
        Some(part) => self::whole(part / whole.max(1)),
        None => self::whole(u64::from(part) * 1000 / u64::from(whole.max(1))),
    }
}

/// What an element has by itself or inherits from those above it.
#[derive(Debug, Clone, Copy, Default)]
struct Inherited {
    bits: u32,
    inside: u16,
    depth: u16,
    /// The longest run of similar siblings on the way from the root, and its depth.
    run: u16,
    run_depth: u16,
    weight: i16,
    /// The next larger element: the nearest ancestor that contains more blocks.
    larger: usize,
}

/// Number of bits of [`inside`].
const INSIDE: usize = 9;

/// The bit of an element type for which it matters whether a block is inside one, in the order of
/// [`NAMES`].
fn inside(tag: Tag) -> u16 {
    match tag {
        Tag::Main => 1,
        Tag::Table => 1 << 1,
        Tag::Section => 1 << 2,
        Tag::P => 1 << 3,
        Tag::Figure => 1 << 4,
        Tag::Ul | Tag::Ol => 1 << 5,
        Tag::Blockquote => 1 << 6,
        Tag::Aside => 1 << 7,
        Tag::Article => 1 << 8,
        _ => 0,
    }
}

/// Computes the features of every block. A page without blocks has none.
#[expect(
    clippy::too_many_lines,
    reason = "a list, one line a feature, in the order of NAMES"
)]
pub(super) fn of(outline: &Outline<'_>, blocks: &[TextBlock], sums: &[Sums]) -> Table {
    let mut table = Table {
        rows: blocks.len(),
        parts: vec![[[0; LANES]; NAMES.len()]; blocks.len().div_ceil(LANES)],
    };
    let (elements, Some(&total)) = (&outline.elements, sums.first()) else {
        return table;
    };
    let inherited = inherit(outline, sums);
    let narrow = View::from(outline, densest(outline, sums, 50));
    let densest = View::from(outline, densest(outline, sums, 75));
    let voted = View::from(outline, voted(outline, blocks, sums));
    let mut headings = outline.declared(Tag::H1).map(|(index, _)| index);
    let h1 = headings.find(|&index| elements[index].sight == Sight::Shown);
    let h1_view = h1.map(|h1| View::from(outline, h1));
    let h1_block =
        h1.map(|h1| blocks.partition_point(|block| block.texts.0 < elements[h1].texts.0));
    let page = PageFeatures::of(outline, blocks);
    let repeated = repetitions(outline, blocks);
    // The amount of prose before each block.
    let mut prose = Vec::with_capacity(blocks.len() + 1);
    let mut prose_so_far = 0_u32;
    for block in blocks {
        prose.push(prose_so_far);
        if block.sight == Some(Sight::Shown) {
            prose_so_far += block.prose();
        }
    }
    prose.push(prose_so_far);
    let spans = spans(outline, blocks);
    let inners: Vec<usize> = blocks.iter().map(|block| block.inner).collect();
    let weight = |at: Option<usize>| {
        at.and_then(|at| inners.get(at))
            .map_or(0, |&inner| i32::from(inherited[inner].weight))
    };
    let mut heading = None;
    for (at, block) in blocks.iter().enumerate() {
        let item = &elements[block.owner];
        let own = inherited[block.inner];
        let tally = block.tally;
        let mut row = RowWriter {
            columns: table.parts[at / LANES].iter_mut(),
            lane: at % LANES,
        };
        row.count(tally.chars);
        row.count(tally.words);
        row.put(share(block.link_chars, tally.chars));
        row.count(block.links);
        row.count(tally.stops);
        row.put(share(tally.capitals, tally.words));
        row.put(share(tally.digits, tally.chars));
        row.put(tally.last as i32);
        row.put(inline_code(elements[block.inner].tag, item.tag));
        row.put(block_code(item.tag));
        row.put(i32::from(item.tag.heading()));
        row.put(i32::from(own.depth));
        row.count(repeated[at]);
        row.put(i32::from(own.weight));

        for bit in 0..INSIDE {
            row.truth(own.inside >> bit & 1 == 1);
        }
        row.truth(own.bits & bit::BELOW != 0);
        row.truth(own.bits & bit::COMMENTS != 0);
        row.truth(own.bits & bit::CAPTION != 0);
        row.truth(block.sight != Some(Sight::Shown));
        row.put(i32::from(own.run.min(100)));
        row.put(i32::from(own.depth) - i32::from(own.run_depth));

        let before = at.checked_sub(1);
        let after = Some(at + 1).filter(|&at| at < blocks.len());
        let chars_of = |at: Option<usize>| at.map_or(-1, |at| whole(blocks[at].tally.chars));
        let is_like = |at: Option<usize>| {
            at.map_or(-1, |at| {
                let there = elements[blocks[at].owner].traits.likeness;
                i32::from(there == item.traits.likeness)
            })
        };
        row.put(chars_of(before));
        row.put(before.map_or(-1, |at| i32::from(elements[blocks[at].owner].tag.heading())));
        row.put(is_like(before));
        row.put(weight(before));
        row.put(chars_of(at.checked_sub(2)));
        row.put(chars_of(after));
        row.put(is_like(after));
        row.put(weight(after));
        let near = Window::of(blocks, at, 4);
        row.put(share(near.link_chars, near.chars));
        let weights: i32 = (near.start..near.end).map(|at| weight(Some(at))).sum();
        row.put(weights / 4);
        if item.tag.heading() > 0 {
            heading = Some((at, item.tag.heading()));
        }
        row.put(heading.map_or(-1, |(heading, _)| whole(at - heading)));
        row.put(heading.map_or(0, |(_, level)| i32::from(level)));

        let mut up = block.owner;
        for _ in 0..3 {
            let here = sums[up];
            row.count(here.chars);
            row.put(share(here.link_chars, here.chars));
            row.count(here.blocks);
            row.put(share(here.prose, here.chars));
            row.count(here.chars / here.blocks.max(1));
            up = inherited[up].larger;
        }

        row.put(h1_block.map_or(-30_000, |h1| whole(at) - whole(h1)));
        row.put(
            h1_view
                .as_ref()
                .map_or(-1, |view| i32::from(view.levels[block.inner])),
        );
        row.put(i32::from(narrow.levels[block.inner]));
        let narrow_end = elements[narrow.container].end;
        row.put(i32::from(block.inner >= narrow_end) - i32::from(block.inner < narrow.container));

        for view in [&densest, &voted] {
            let branch = view.branches[block.inner];
            let (here, above) = (sums[branch], elements[branch].parent);
            row.put(i32::from(view.levels[block.inner]));
            row.count(here.chars);
            row.put(share(here.link_chars, here.chars));
            row.count(here.blocks);
            row.put(share(here.prose, here.chars));
            row.put(share(here.prose, sums[above].prose));
            row.put(share(here.prose, sums[view.container].prose));
            row.put(branch_code(elements[branch].tag));
            row.truth(elements[branch].traits.bits & bit::ITEMS != 0);
            let ((start, end), (outer_start, outer_end)) = (spans[branch], spans[above]);
            let prose_above = prose[outer_end] - prose[outer_start];
            row.put(share(prose[start] - prose[outer_start], prose_above));
            row.put(share(prose[outer_end] - prose[end], prose_above));
        }

        let dense = sums[densest.container];
        row.count(dense.prose);
        row.count(dense.chars / dense.blocks.max(1));
        row.count(sums[voted.container].prose);
        row.count(total.paragraphs);
        page.put(&mut row);
        debug_assert_eq!(row.columns.len(), 0);
    }
    table
}

/// Carries down what elements inherit from those above them.
fn inherit(outline: &Outline<'_>, sums: &[Sums]) -> Vec<Inherited> {
    let elements = &outline.elements;
    let runs = runs(outline);
    let mut inherited: Vec<Inherited> = Vec::with_capacity(elements.len());
    for (index, item) in elements.iter().enumerate() {
        let mut own = inherited.get(item.parent).copied().unwrap_or_default();
        own.bits |= item.traits.bits;
        own.inside |= inside(item.tag);
        own.depth += 1;
        if runs[index] >= own.run
            && item.tag.is_block()
            && !matches!(item.tag, Tag::Br | Tag::P)
            && sums[index].chars > 0
        {
            (own.run, own.run_depth) = (runs[index], own.depth);
        }
        own.weight = own.weight.saturating_add(item.traits.weight);
        if let Some(parent) = sums.get(item.parent)
            && parent.blocks > sums[index].blocks
        {
            own.larger = item.parent;
        }
        inherited.push(own);
    }
    inherited
}

/// Sums over the blocks around one.
struct Window {
    start: usize,
    end: usize,
    chars: u32,
    link_chars: u32,
}

impl Window {
    fn of(blocks: &[TextBlock], at: usize, width: usize) -> Self {
        let start = at.saturating_sub(width);
        let end = (at + width + 1).min(blocks.len());
        let mut window = Self {
            start,
            end,
            chars: 0,
            link_chars: 0,
        };
        for block in blocks.get(start..end).unwrap_or_default() {
            window.chars += block.tally.chars;
            window.link_chars += block.link_chars;
        }
        window
    }
}

/// What is the same for all blocks of a page.
struct PageFeatures {
    longest: u32,
    says_article: i32,
    says_product: bool,
}

impl PageFeatures {
    fn of(outline: &Outline<'_>, blocks: &[TextBlock]) -> Self {
        let mut says_article = 0;
        let mut says_product = false;
        for (_, element) in outline.declared(Tag::Meta) {
            let property = attribute(element, &local_name!("property")).unwrap_or_default();
            if property == "og:type" {
                let content = attribute(element, &local_name!("content")).unwrap_or_default();
                says_article = says_article.max(i32::from(content == "article"));
                says_product |= content.contains("product");
            } else if property.starts_with("article:") {
                says_article = 2;
            }
        }
        for data in &outline.data {
            says_article |= 4 * i32::from(
                ["Article\"", "BlogPosting\""]
                    .iter()
                    .any(|name| data.contains(name)),
            );
            says_product |= data.contains("\"Product\"");
        }
        Self {
            longest: blocks.iter().map(TextBlock::prose).max().unwrap_or(0),
            says_article,
            says_product,
        }
    }

    fn put(&self, row: &mut RowWriter<'_>) {
        row.count(self.longest);
        row.put(self.says_article);
        row.truth(self.says_product);
    }
}

/// Kinds of blocks as numbers. The model only asks which are below and above a border.
fn block_code(tag: Tag) -> i32 {
    match tag {
        Tag::P => 0,
        Tag::Li => 1,
        Tag::Td => 2,
        Tag::Th => 3,
        Tag::Pre => 4,
        Tag::Dt => 5,
        Tag::Dd => 6,
        Tag::Figcaption => 7,
        Tag::Blockquote => 8,
        Tag::Div => 9,
        Tag::Section => 10,
        Tag::Br => 11,
        Tag::Article => 12,
        tag if tag.heading() > 0 => 13,
        _ => 14,
    }
}

/// Kinds of elements that contain the first text of a block.
fn inline_code(tag: Tag, owner: Tag) -> i32 {
    match tag {
        tag if tag == owner => 0,
        Tag::A => 1,
        Tag::Span => 2,
        Tag::Strong | Tag::B => 3,
        Tag::Em | Tag::I => 4,
        Tag::Button | Tag::Label => 5,
        Tag::Td | Tag::Th => 6,
        Tag::Time => 7,
        Tag::Custom => 8,
        _ => 9,
    }
}

/// Kinds of branches.
fn branch_code(tag: Tag) -> i32 {
    match tag {
        Tag::P => 0,
        Tag::Ul | Tag::Ol => 1,
        Tag::Div => 2,
        Tag::Section => 3,
        Tag::Header => 4,
        Tag::Footer => 5,
        Tag::Aside => 6,
        Tag::Figure => 7,
        Tag::Table => 8,
        Tag::H1 => 9,
        Tag::H2 | Tag::H3 | Tag::H4 => 10,
        Tag::Form => 11,
        Tag::Article => 12,
        Tag::Pre => 13,
        Tag::Blockquote => 14,
        Tag::Nav => 15,
        _ => 16,
    }
}
