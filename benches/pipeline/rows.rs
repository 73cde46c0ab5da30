//! What commits write into the store for a page, table by table.

use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::path::Path;

use bytes::Bytes;
use gleaner::archive;

use crate::commit;
use crate::say;

/// Seeds, and the bodies of all pages by their URLs.
type Pages = (Vec<String>, HashMap<String, Bytes>);

/// Reads the pages of a crawl from its archive; the first one of each host is a seed.
pub(crate) fn crawled(directory: &Path) -> Pages {
    let files = fs::read_dir(directory.join("warc")).expect("a data directory");
    let mut files: Vec<_> = files
        .map(|file| file.expect("it can be read").path())
        .filter(|path| path.to_string_lossy().ends_with(".warc.gz"))
        .collect();
    files.sort();
    let (mut first, mut bodies) = (BTreeMap::new(), HashMap::new());
    for file in files {
        for record in archive::records(&file).expect("a WARC file") {
            let record = record.expect("it is sound");
            let (Some("response"), Some(url), Some((head, body))) = (
                record.header("WARC-Type"),
                record.header("WARC-Target-URI"),
                record.http_parts(),
            ) else {
                continue;
            };
            let is_html = String::from_utf8_lossy(head).contains("text/html");
            let Some(host) = url.split('/').nth(2).filter(|_| is_html) else {
                continue;
            };
            first.entry(host.to_owned()).or_insert(url.to_owned());
            bodies.insert(url.to_owned(), Bytes::copy_from_slice(body));
        }
    }
    (first.into_values().collect(), bodies)
}

/// Commits pages, and says what that wrote.
pub(crate) fn rows(directory: &Path, pages: Pages) {
    let (pages, counted) = commit::rows(directory, pages);
    let each = |sum: u64| sum as f64 / pages.max(1) as f64;
    say("| table | changes a page | bytes a page |");
    say("|---|---|---|");
    let mut tables: Vec<_> = counted.tables.iter().collect();
    tables.sort_by_key(|(_, (_, bytes))| std::cmp::Reverse(*bytes));
    for (table, (changes, bytes)) in tables {
        let name = table.name();
        say(&format!(
            "| {name} | {:.2} | {:.0} |",
            each(*changes),
            each(*bytes)
        ));
    }
    say(&format!(
        "{pages} pages in {} commits: {:.0} bytes a page as they go into a log, {:.0} with each commit compressed by \
         zstd at level 1",
        counted.commits,
        each(counted.encoded),
        each(counted.compressed),
    ));
}
