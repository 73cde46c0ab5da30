//! The names of the files of both archives: one row of `Meta`, written before the first file that
//! has such a name.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::archive::FileNames;
use crate::store::{Result, Store, Table, decode, keys};

/// What the names of a crawl's files are made of.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Row {
    /// Seconds since 1970 at which the crawl began, or the version that gives such names to it.
    start: i64,
    /// A number that other crawls do not have.
    crawl: u32,
    spans: Vec<Span>,
}

/// The files from some numbers on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Span {
    pages: u32,
    texts: u32,
    prefix: String,
}

/// The names of the files of both archives.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ArchiveNames {
    row: Row,
    /// Those of the pages.
    pub pages: FileNames,
    /// Those of the texts.
    pub texts: FileNames,
}

/// The prefix of the files of texts, and of nothing else.
const TEXTS: &str = "texts";

impl ArchiveNames {
    /// Reads the names of a crawl.
    pub fn read(store: &dyn Store) -> Result<Self> {
        let row = store.get(Table::Meta, keys::meta::FILES)?;
        let row = row.map(|row| decode(Table::Meta, &row)).transpose()?;
        Ok(Self::of(row.unwrap_or_default()))
    }

    fn of(row: Row) -> Self {
        let start = Timestamp::from_second(row.start).unwrap_or_default();
        let start = start.strftime("%Y%m%d%H%M%S");
        let mut pages = FileNames::plain("gleaner");
        let mut texts = FileNames::plain(TEXTS);
        for span in &row.spans {
            let stem = |prefix: &str| format!("{prefix}-{start}-{:08x}", row.crawl);
            pages = pages.followed_by(span.pages, stem(&span.prefix));
            texts = texts.followed_by(span.texts, stem(TEXTS));
        }
        Self { row, pages, texts }
    }

    /// Returns the names with this prefix for files that are still to be begun, which have at least
    /// these numbers, and the row that says so; `None` if that is how they are named.
    pub fn with_prefix(
        &self,
        prefix: &str,
        (pages, texts): (u32, u32),
        now: Timestamp,
        crawl: u32,
    ) -> Option<(Self, Vec<u8>)> {
        let mut row = self.row.clone();
        if row.spans.is_empty() {
            row.start = now.as_second();
            row.crawl = crawl;
        } else if row.spans.last().is_some_and(|last| last.prefix == prefix) {
            return None;
        }
        // No file was begun under a name that is changed again.
        row.spans
            .retain(|span| span.pages < pages || span.texts < texts);
        row.spans.push(Span {
            pages,
            texts,
            prefix: prefix.to_owned(),
        });
        let encoded = crate::store::encode(&row);
        Some((Self::of(row), encoded))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_prefix_applies_to_files_that_are_begun_after_it() {
        let none = ArchiveNames::of(Row::default());
        assert_eq!(none.pages.name(1), "gleaner-00000001.warc.gz");
        let now = "2026-01-02T03:04:05Z".parse().unwrap();
        let (first, _) = none.with_prefix("gleaner", (2, 0), now, 0xab).unwrap();
        assert_eq!(first.pages.name(1), "gleaner-00000001.warc.gz");
        assert_eq!(
            first.pages.name(2),
            "gleaner-20260102030405-000000ab-00002.warc.gz"
        );
        assert_eq!(
            first.texts.name(0),
            "texts-20260102030405-000000ab-00000.warc.gz"
        );
        assert_eq!(first.with_prefix("gleaner", (5, 5), now, 1), None);
        let later = Timestamp::now();
        let (second, _) = first.with_prefix("news", (4, 1), later, 0xff).unwrap();
        assert_eq!(second.pages.name(3), first.pages.name(3));
        assert_eq!(
            second.pages.name(4),
            "news-20260102030405-000000ab-00004.warc.gz"
        );
        assert_eq!(second.texts.name(1), first.texts.name(1));
        // No file has the second prefix yet.
        let (third, row) = second.with_prefix("more", (4, 1), later, 0).unwrap();
        assert_eq!(
            third.pages.name(4),
            "more-20260102030405-000000ab-00004.warc.gz"
        );
        assert_eq!(ArchiveNames::of(decode(Table::Meta, &row).unwrap()), third);
    }
}
