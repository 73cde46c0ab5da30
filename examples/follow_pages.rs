//! Follows a crawl that runs, here or in another process, and prints each original with the
//! beginning of its text as it is committed.
//!
//! ```console
//! $ cargo run --example follow_pages -- my-crawl
//! ```

#![allow(clippy::print_stdout, reason = "an example prints what it found")]

use std::env::args;
use std::error::Error;
use std::path::PathBuf;
use std::thread::sleep;
use std::time::Duration;

use gleaner::{Feed, Options, Outlook, Position, Texts, VisitVerdict};

/// Characters of a text that are printed.
const BEGINNING: usize = 60;

fn main() -> Result<(), Box<dyn Error>> {
    let data = PathBuf::from(args().nth(1).ok_or("give a data directory")?);
    let options = Options::default();
    let texts = Texts::of(&data, &options.page, options.fetch.decode_bounds());
    // A program that is to go on later keeps the position of the last line that it has worked on.
    let mut feed = Feed::open(&data, Position::default())?;
    loop {
        while let Some((line, position)) = feed.read_line()? {
            let (Some(page), VisitVerdict::Unique) = (&line.page, line.verdict) else {
                continue;
            };
            let text = texts.read(&line.url, page)?.unwrap_or_default();
            let beginning: String = text.chars().take(BEGINNING).collect();
            println!("{position}  {}  {beginning:?}", line.url);
        }
        match feed.refresh()? {
            Outlook::Running => sleep(Duration::from_millis(100)),
            Outlook::Ended | Outlook::Killed => return Ok(()),
        }
    }
}
