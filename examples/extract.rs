//! Extracts title, language, main text and links from an HTML file.
//!
//! ```console
//! $ cargo run --example extract -- page.html https://example.org/page
//! ```

#![allow(clippy::print_stdout, reason = "an example prints what it found")]

use std::env::args;
use std::error::Error;

use gleaner::page::charset;
use gleaner::url::{self, Canonicalizer, Identity, Secret};
use gleaner::{Page, PageOptions};

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = args().skip(1);
    let file = arguments.next().ok_or("give an HTML file and its URL")?;
    let url = arguments.next().ok_or("give the URL of the page")?;
    let bytes = std::fs::read(file)?;

    // Links are told apart by their canonical form. Ids of URLs are secret in a crawl only.
    let identity = Identity::new(
        Canonicalizer::default(),
        Secret::from_bytes([0; Secret::LEN]),
    );
    // The character encoding is that of the page's own declaration, or a guess.
    let html = charset::to_text(&bytes, None);
    let page = Page::parse_html(html, &url::parse(&url)?, &identity, &PageOptions::default());

    println!("title: {}", page.title.unwrap_or_default());
    println!("language: {}", page.language.unwrap_or_default());
    println!("\n{}\n", page.main_text);
    for link in page.links {
        println!("{}", link.url);
    }
    Ok(())
}
