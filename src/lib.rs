//! gleaner is a polite web crawler for one machine whose heart is deduplication: every page is
//! compared with all pages stored so far, and of duplicates only a record of the visit is archived.
//!
//! The `gleaner` command does everything that this crate does. As a library, the crate runs crawls
//! in a process of one's own, reads what crawls found, and offers their parts by themselves.
//!
//! # A crawl
//!
//! A [`Crawl`] lives in a data directory, which has the state, the archive and the log. Opening the
//! directory again goes on where the last commit ended, whatever ended the process.
//!
//! ```
//! use gleaner::{Crawl, Options, RunLimits, StopHandle};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # use std::io::{Read, Write};
//! # let site = std::net::TcpListener::bind("127.0.0.1:0")?;
//! # let seed = format!("http://{}/", site.local_addr()?);
//! # std::thread::spawn(move || {
//! #     for mut stream in site.incoming().flatten() {
//! #         let _ = stream.read(&mut [0; 4096]);
//! #         let page = "<title>Hello</title><p>There is one page on this site.";
//! #         let _ = write!(
//! #             stream,
//! #             "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: {}\r\n\
//! #              Connection: close\r\n\r\n{page}",
//! #             page.len()
//! #         );
//! #     }
//! # });
//! # let directory = tempfile::tempdir()?;
//! # let data = directory.path().join("crawl");
//! # tokio::runtime::Runtime::new()?.block_on(async {
//! let mut crawl = Crawl::open(&data, Options::default())?;
//! let stop = StopHandle::new();
//! crawl.add_seeds([gleaner::url::parse(&seed)?], &stop)?;
//! let summary = crawl.run(&RunLimits::default(), &stop).await?;
//! println!("{} pages, {:?}", summary.pages, summary.ending);
//! # assert_eq!(summary.pages, 1);
//! # Ok(())
//! # })
//! # }
//! ```
//!
//! [`Options`] has the defaults of the command: robots.txt is obeyed, a host is visited once a
//! second, private addresses are refused unless a seed names them. A [`StopHandle`] ends a run
//! early, [`Crawl::watch`] shows what goes on, and [`Crawl::control`] pauses it, adds seeds and
//! changes settings while it runs.
//!
//! # What it found
//!
//! - [`Feed`] reads the visits in the order of their commits, also while another process crawls:
//!   a [`LogLine`] has the URL, the [`VisitVerdict`] and where the record is in the archive;
//!   [`Texts`] reads the main text of a page.
//! - [`inspect::answer`] answers questions about a crawl: what happened to a URL and why, which
//!   clusters of duplicates there are, which pages are most like a page.
//! - The archive is WARC/1.1, which [`archive`] and any other WARC tool read.
//!
//! # The parts by themselves
//!
//! - [`page::Page`] extracts title, main text, links and metadata from HTML.
//! - [`corpus`] deduplicates documents that others crawled: lines of JSON, or WARC files.
//! - [`url::Canonicalizer`] says which URLs are one, [`robots::Rules`] what a robots.txt allows.
//! - [`fetch::Fetcher`] makes single requests, with all bounds and guards of the crawl.
//!
//! The directory `examples` has a program for each of the first four: `crawl`, `follow_pages`,
//! `dedup_jsonl` and `extract`.
//!
//! # Stability
//!
//! Formats of what a crawl writes for others (log, archive, output of the command) are documented
//! in `docs/formats.md`. The modules below [`Crawl`] follow the needs of the command and may change
//! with each minor version until 1.0; modules that are not documented here are no part of the
//! interface.

// The rooms, in the order in which a newcomer should read them. `engine::visit` shows the way of a
// URL through them as types; docs/architecture.md tells which room may import which, and why.

pub mod units;

mod lock;
mod unicode;

pub mod seeds;
pub mod url;

pub mod frontier;
#[doc(hidden)]
pub mod learn;
pub mod robots;

pub mod fetch;

pub mod page;

#[doc(hidden)]
pub mod quality;

pub mod dedup;

pub mod archive;
#[doc(hidden)]
pub mod handover;

#[doc(hidden)]
pub mod broker;
#[doc(hidden)]
pub mod runs;
#[doc(hidden)]
pub mod store;

#[doc(hidden)]
pub mod journal;
#[doc(hidden)]
pub mod rows;

mod sites;

pub mod engine;

pub mod inspect;

pub mod corpus;

pub mod export;

pub mod config;
#[doc(hidden)]
pub mod control;

#[doc(hidden)]
pub mod cluster;

#[doc(hidden)]
pub mod demo;

#[doc(hidden)]
pub mod console;

#[doc(hidden)]
pub mod cli;

pub use engine::{
    Control, Counters, Crawl, Ending, Error, LogLine, Options, PageLine, Position, RunLimits,
    StopHandle, Summary, Texts, VisitVerdict, Watch,
};
pub use frontier::ScopeKind;
pub use inspect::{Feed, Outlook};
pub use page::{Page, PageOptions};
