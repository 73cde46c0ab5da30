//! Bounds on what one sitemap may cost, and what is reported about it besides its entries.

/// Bounds on what one sitemap may cost. The defaults are those of the protocol at sitemaps.org.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SitemapOptions {
    /// Maximum number of bytes read, after decompression.
    pub max_bytes: u64,
    /// Maximum number of entries.
    pub max_entries: usize,
    /// Maximum number of alternates per entry.
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

/// The form of a file, by which it was recognized.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SitemapForm {
    /// `<urlset>`: pages.
    UrlSet,
    /// `<sitemapindex>`: more sitemaps.
    Index,
    /// One URL per line.
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
    /// Number of entries.
    pub entries: usize,
    /// The first [`MAX_PROBLEMS`] problems.
    pub problems: Vec<Problem>,
    /// Number of all problems.
    pub problem_count: usize,
}

/// Maximum number of problems kept per file; further ones are only counted.
pub const MAX_PROBLEMS: usize = 50;

/// Something that is wrong with a sitemap.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Problem {
    /// The file is neither a sitemap nor a feed.
    #[error("not a sitemap: {0}")]
    NoSitemap(String),
    /// The file is incomplete.
    #[error("the file ends inside {0}")]
    Truncated(String),
    /// Reading ended early because of broken compression or an I/O error.
    #[error("reading ended after {at} bytes: {reason}")]
    Unreadable {
        /// Number of bytes read before, after decompression.
        at: u64,
        /// The error of the reader.
        reason: String,
    },
    /// Malformed markup.
    #[error("broken markup at byte {at}: {reason}")]
    Markup {
        /// The position in bytes after decompression, as UTF-8.
        at: u64,
        /// The error of the parser.
        reason: String,
    },
    /// A malformed URL.
    #[error("not a URL that can be crawled: {text}: {reason}")]
    Url {
        /// Its first 200 characters.
        text: String,
        /// The error.
        reason: String,
    },
    /// An entry without a URL.
    #[error("an entry without a URL")]
    NoUrl,
    /// The file has more bytes than [`SitemapOptions::max_bytes`].
    #[error("only the first {0} bytes were read")]
    TooLarge(u64),
    /// The file has more entries than [`SitemapOptions::max_entries`].
    #[error("only the first {0} entries were read")]
    TooMany(usize),
    /// A tag, comment or text larger than any legitimate one.
    #[error("a single tag or text of more than {0} bytes")]
    PieceTooLarge(usize),
}
