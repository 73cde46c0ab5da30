//! Crawls the sites of some URLs, a hundred pages at most, and prints what was found.
//!
//! ```console
//! $ cargo run --example crawl -- my-crawl https://example.org/
//! ```
//!
//! The same command again goes on where it ended.

#![allow(clippy::print_stdout, reason = "an example prints what it found")]

use std::env::args;
use std::error::Error;

use gleaner::{Crawl, Options, RunLimits, ScopeKind, StopHandle, VisitVerdict, url};

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = args().skip(1);
    let data = arguments.next().ok_or("give a data directory and URLs")?;
    let seeds: Vec<_> = arguments
        .map(|seed| url::parse(&seed))
        .collect::<Result<_, _>>()?;

    let mut options = Options::default();
    options.scope = ScopeKind::Host;
    options.fetch.user_agent = String::from("gleaner-example/1.0 (+https://example.org/bot)");

    let mut crawl = Crawl::open(&data, options)?;
    let stop = StopHandle::new();
    crawl.add_seeds(seeds, &stop)?;

    let limits = RunLimits {
        max_pages: Some(100),
        ..RunLimits::default()
    };
    let control_c = stop.clone();
    tokio::spawn(async move {
        if tokio::signal::ctrl_c().await.is_ok() {
            control_c.stop();
        }
    });
    let summary = crawl.run(&limits, &stop).await?;

    let verdicts = &summary.counters.verdicts;
    println!("{} pages in this run ({:?})", summary.pages, summary.ending);
    println!(
        "{} of all are originals",
        verdicts.of(&VisitVerdict::Unique)
    );
    println!("{} URLs wait", summary.counters.queued);
    Ok(())
}
