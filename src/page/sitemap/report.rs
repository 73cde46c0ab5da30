//! Bounds on what one sitemap may cost, and what is told of it besides its entries.

/// Bounds on what one sitemap may cost. Their defaults are those of the protocol at sitemaps.org,
/// which asks nobody to read more.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SitemapOptions {
    /// Bytes read, after decompression.
    pub max_bytes: u64,
    /// Entries given.
    pub max_entries: usize,
    /// Alternates kept of one entry.
    pub max_alternates: usize,
}

impl Default for SitemapOptions {
    fn default() -> Self {
        Self {
            max_bytes: 50 * 1024 * 1024,
            max_entries: 50_000,
            max_alternates: 200,
        }
    }
}

/// The form that a file was recognized by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SitemapForm {
    /// `<urlset>`: pages.
    UrlSet,
    /// `<sitemapindex>`: more sitemaps.
    Index,
    /// A URL a line.
    Text,
    /// RSS 2 or 0.9x.
    Rss,
    /// RSS 1, in RDF.
    Rdf,
    /// Atom.
    Atom,
}

impl SitemapForm {
    /// Its name, for people and logs.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::UrlSet => "sitemap",
            Self::Index => "sitemap index",
            Self::Text => "text",
            Self::Rss => "RSS",
            Self::Rdf => "RSS 1",
            Self::Atom => "Atom",
        }
    }
}

/// What was read, and what was wrong.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SitemapReport {
    /// The form, if it was recognized.
    pub form: Option<SitemapForm>,
    /// Entries given.
    pub entries: usize,
    /// What was wrong, the first [`MAX_PROBLEMS`].
    pub problems: Vec<Problem>,
    /// How much was wrong, all counted.
    pub problem_count: usize,
}

/// Problems that are kept of one file; beyond, they are counted.
pub const MAX_PROBLEMS: usize = 50;

/// Something that is wrong with a sitemap.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Problem {
    /// Neither a sitemap nor a feed.
    #[error("this is no sitemap: {0}")]
    NoSitemap(String),
    /// The file is not whole.
    #[error("the file ends inside {0}")]
    Truncated(String),
    /// Reading ended early: broken compression, or the disk.
    #[error("reading ended after {at} bytes: {reason}")]
    Unreadable {
        /// Bytes read before, after decompression.
        at: u64,
        /// What the reader said.
        reason: String,
    },
    /// Markup that is none.
    #[error("broken markup at byte {at}: {reason}")]
    Markup {
        /// Where, in bytes after decompression, as UTF-8.
        at: u64,
        /// What the parser said.
        reason: String,
    },
    /// An address that is none.
    #[error("not a URL that can be crawled: {text}: {reason}")]
    Url {
        /// Its first 200 characters.
        text: String,
        /// Why it is none.
        reason: String,
    },
    /// An entry without an address.
    #[error("an entry without URL")]
    NoUrl,
    /// More bytes than [`SitemapOptions::max_bytes`].
    #[error("only the first {0} bytes were read")]
    TooLarge(u64),
    /// More entries than [`SitemapOptions::max_entries`].
    #[error("only the first {0} entries were read")]
    TooMany(usize),
    /// One tag, comment or text as large as no honest one.
    #[error("a single tag or text of more than {0} bytes")]
    PieceTooLarge(usize),
}
