//! `gleaner extract FILE.warc.gz`: the main texts of the pages in WARC files, in the order of their
//! records.

use std::io::{BufWriter, Write as _};
use std::path::{Path, PathBuf};

use super::{Format, Output, Read, Wanted, identity};
use crate::cli::Failure;
use crate::cli::output::Screen;
use crate::cli::progress::Counted;
use crate::cli::shown::Data;
use crate::corpus::{ArchivedPage, FileKind, each_page, files_in};
use crate::page::{BodyKind, Page, PageOptions, charset};
use crate::url::{self, Identity};

/// Whether a file is one of WARC records, by its name, or a directory with such files.
pub(super) fn is_one(path: &Path) -> bool {
    let name = path.to_string_lossy();
    [".warc.gz", ".warc", ".warc.zst"]
        .iter()
        .any(|ending| name.ends_with(ending))
        || path.is_dir()
}

/// Prints a JSON object a line for each page.
pub(super) fn run(files: &[PathBuf], wanted: Wanted, screen: &Screen) -> Result<(), Failure> {
    let files = files_in(files, FileKind::Warc)?;
    let counted = Counted::beside_data(screen, "pages");
    let mut out = BufWriter::new(Data::lock());
    let identity = identity();
    let done = each_page(
        &files,
        |page| {
            let read = read(page, &identity, wanted.format);
            let id = serde_json::Value::from(page.id.as_str());
            let mut output = Output::of(&read, Some(id), wanted);
            output.url = Some(&page.url);
            output.line().map_err(Failure::from)
        },
        |line: Vec<u8>| {
            counted.one();
            Ok(out.write_all(&line).map_err(anyhow::Error::from)?)
        },
    );
    out.flush().map_err(anyhow::Error::from)?;
    done
}

fn read(page: &ArchivedPage, identity: &Identity, format: Format) -> Read {
    let text = charset::to_text(&page.body, page.content_type.as_deref());
    if page.kind == BodyKind::Html {
        let url = url::parse(&page.url).ok();
        return Read::of(text, url.as_ref(), identity, format);
    }
    Read {
        page: Page::plain_text(&text.text, &PageOptions::default()),
        marked: None,
        is_placeless: false,
    }
}
