//! Bounds on what one page may cost, and the notes of what they cut.

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

/// Bounds on what one page may cost. They are counts, never times, so that the same page always
/// yields the same result.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields)]
pub struct PageOptions {
    /// Maximum number of bytes of a page's text; the rest is not read. The largest of 661 sampled
    /// pages had 1.5 MB.
    pub max_bytes: usize,
    /// Maximum number of open elements, counting open formatting elements twice. Further start tags
    /// are dropped, except that the targets of links are kept. Browsers stop at 512 too; the time
    /// to parse is quadratic in this number.
    pub max_depth: usize,
    /// Maximum number of nodes of the tree; the rest of the page is not read. Comments and the
    /// contents of scripts, style sheets and drawings are not nodes. Of 661 sampled pages the
    /// median had 1,600 nodes and the largest 28,000.
    pub max_nodes: usize,
    /// Maximum number of bytes in one tag or comment, in steps of 16 KiB; the rest of it is
    /// skipped. Comparing attribute names is quadratic in this number.
    pub max_tag_bytes: usize,
    /// Maximum number of links, after removing duplicates. Lists of 12,000 pages exist.
    pub max_links: usize,
    /// Maximum length of a link in bytes, as written and made absolute; longer ones are left out.
    /// Servers refuse longer URLs anyway.
    pub max_url_bytes: usize,
    /// Maximum length of the visible text and of the main text in bytes; both are cut there.
    pub max_text_bytes: usize,
    /// Maximum length of the title in bytes; it is cut at a character boundary.
    pub max_title_bytes: usize,
    /// The name by which a page may address this crawler alone; no setting of its own.
    #[serde(skip)]
    pub product_token: String,
    /// Makes equal what lines of two pages may differ in; no setting of its own.
    #[serde(skip)]
    pub line_mask: LineMask,
}

/// What is done to a line before it is compared with others. By default nothing.
#[derive(Clone, Default)]
pub struct LineMask(Option<Arc<Mask>>);

type Mask = dyn Fn(&str) -> String + Send + Sync;

impl LineMask {
    /// A mask that replaces each line by what `mask` makes of it.
    pub fn new(mask: impl Fn(&str) -> String + Send + Sync + 'static) -> Self {
        Self(Some(Arc::new(mask)))
    }

    /// Returns the masked line, if there is a mask.
    pub(super) fn apply(&self, line: &[u8]) -> Option<String> {
        let mask = self.0.as_ref()?;
        Some(mask(&String::from_utf8_lossy(line)))
    }
}

impl fmt::Debug for LineMask {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("LineMask").field(&self.0.is_some()).finish()
    }
}

impl PartialEq for LineMask {
    fn eq(&self, other: &Self) -> bool {
        match (&self.0, &other.0) {
            (Some(one), Some(other)) => Arc::ptr_eq(one, other),
            (one, other) => one.is_none() && other.is_none(),
        }
    }
}

impl Eq for LineMask {}

impl Default for PageOptions {
    fn default() -> Self {
        Self {
            max_bytes: 8 << 20,
            max_depth: 512,
            max_nodes: 150_000,
            max_tag_bytes: 64 * 1024,
            max_links: 25_000,
            max_url_bytes: 4096,
            max_text_bytes: 4 * 1024 * 1024,
            max_title_bytes: 1024,
            product_token: "gleaner".to_owned(),
            line_mask: LineMask::default(),
        }
    }
}

/// A form of the main text that keeps its structure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Markup {
    /// Markdown: `CommonMark`, with tables and footnotes as on `GitHub`.
    Markdown,
    /// HTML without attributes but the addresses of links and images.
    Html,
}

/// A bound of [`PageOptions`] that cut something.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Note {
    /// `max_bytes`: the end of the page was not read.
    BytesCut,
    /// `max_depth`: start tags were dropped.
    DepthCut,
    /// `max_nodes`: the end of the page was not read.
    NodesCut,
    /// `max_tag_bytes`, or too many attributes: part of a tag or comment was skipped.
    TagCut,
    /// `max_links`, `max_url_bytes`, or too many bytes in all links: links were left out.
    LinksCut,
    /// `max_text_bytes`: the text was cut.
    TextCut,
}
