//! How long reading a page takes, beside the bare parse of the same pages: run with `cargo bench
//! --bench extraction -- PAGES.jsonl`, where each line is an object with `html`. Without pages it
//! makes some.
//!
//! Both are timed page by page in turn, so that whatever else the machine does is in both figures.

use std::fs::File;
use std::hint::black_box;
use std::io::{BufRead, BufReader};
use std::time::{Duration, Instant};

use gleaner::page::{Page, PageOptions};
use gleaner::url::{self, Canonicalizer, Identity, Secret};

/// Times each page is read; the fastest counts.
const ROUNDS: usize = 5;

fn main() {
    let pages = pages();
    let bytes: usize = pages.iter().map(String::len).sum();
    let secret = std::array::from_fn(|at| (at * 167 % 251) as u8);
    let identity = Identity::new(Canonicalizer::default(), Secret::from_bytes(secret));
    let url = url::parse("https://example.org/a/page.html").expect("a URL");
    let options = PageOptions::default();
    let (mut bare, mut whole) = (Duration::ZERO, Duration::ZERO);
    for html in &pages {
        let (mut best_bare, mut best_whole) = (Duration::MAX, Duration::MAX);
        for _ in 0..ROUNDS {
            let start = Instant::now();
            drop(black_box(scraper::Html::parse_document(html)));
            best_bare = best_bare.min(start.elapsed());
            let start = Instant::now();
            drop(black_box(Page::parse_html(
                html.as_str(),
                &url,
                &identity,
                &options,
            )));
            best_whole = best_whole.min(start.elapsed());
        }
        bare += best_bare;
        whole += best_whole;
    }
    let rate = |took: Duration| bytes as f64 / 1e6 / took.as_secs_f64();
    let count = pages.len() as u32;
    eprintln!("{count} pages, {:.1} MB", bytes as f64 / 1e6);
    eprintln!(
        "bare parse  {:>10.1?} a page  {:>6.1} MB/s",
        bare / count,
        rate(bare)
    );
    eprintln!(
        "whole pass  {:>10.1?} a page  {:>6.1} MB/s",
        whole / count,
        rate(whole)
    );
    eprintln!(
        "ratio       {:>10.2}",
        whole.as_secs_f64() / bare.as_secs_f64()
    );
}

/// The pages of the file that was named, or made ones.
fn pages() -> Vec<String> {
    // Cargo passes flags of its own.
    let Some(path) = std::env::args()
        .skip(1)
        .find(|argument| !argument.starts_with('-'))
    else {
        return (1..20).map(|size| made(size * 20)).collect();
    };
    let file = File::open(&path).expect("the file opens");
    let lines = BufReader::new(file).lines();
    lines
        .map(|line| {
            let line = line.expect("the file is UTF-8");
            let page: serde_json::Value = serde_json::from_str(&line).expect("a line is JSON");
            page["html"].as_str().expect("a page has html").to_owned()
        })
        .collect()
}

/// A page with a menu, paragraphs and related links.
fn made(paragraphs: usize) -> String {
    let menu = "<li class=menu-item><a href=/section/one>One section</a></li>".repeat(30);
    let text = "<p>Some words of a sentence, with <a href=/there>a link</a> and <b>weight</b>, and on it goes.</p>\n"
        .repeat(paragraphs);
    format!(
        "<!doctype html><html lang=en><title>A page</title><body><nav><ul>{menu}</ul></nav>\
         <div id=content class=\"main wide\"><h1>A page</h1>{text}</div>\
         <aside class=related><ul>{menu}</ul></aside><footer class=site-footer>No rights.</footer>"
    )
}
