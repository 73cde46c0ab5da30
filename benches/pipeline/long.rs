//! A long crawl: whether its last tenth is as fast as its second, what memory it takes meanwhile,
//! and how many bytes of state each page leaves.

use std::fs;
use std::path::Path;

use crate::child::{self, Look};
use crate::crawl::{Plan, gleaner};
use crate::web::Web;

/// Parts into which the crawl is divided.
const PARTS: u64 = 10;

/// What is kept of a crawl, by the name in its directory.
const KEPT: [&str; 6] = ["store", "runs", "documents", "log", "texts", "warc"];

/// The pages that were sent when a part ended, and what the crawl took until then.
#[derive(Debug, Clone, Copy, Default)]
struct Part {
    sent: u64,
    look: Look,
    /// The most memory seen in the part, in megabytes.
    most: f64,
}

/// Crawls the pages of a web that makes them when they are asked for.
pub(crate) fn crawl(plan: &Plan, directory: &Path) {
    let core = |number| plan.pin.then_some(number);
    let mut options = vec!["--made"];
    options.extend(plan.gzip.then_some("--gzip"));
    let mut web = Web::start(plan.pages, &options, core(1));
    let seeds = directory.join("seeds.txt");
    fs::write(&seeds, web.seeds().join("\n") + "\n").expect("the directory is ours");
    let data = directory.join("crawl");
    let mut parts: Vec<Part> = Vec::new();
    let mut now = Part::default();
    let step = (plan.pages as u64 / PARTS).max(1);
    child::run_watched(&mut gleaner(plan, &seeds, &data), core(0), &mut |look| {
        now.sent = web.sent();
        now.most = now.most.max(look.resident);
        now.look = look;
        if now.sent >= step * (parts.len() as u64 + 1) {
            parts.push(now);
            now.most = 0.0;
        }
    });
    if now.sent > parts.last().map_or(0, |it| it.sent) + step / 2 {
        parts.push(now);
    }
    say_parts(&parts);
    let asked = web.asked();
    crate::say(&format!(
        "{} pages, {} missed, {} fetched again; bytes a page: {}",
        asked.pages,
        asked.missed,
        asked.again,
        KEPT.map(|name| {
            let bytes = bytes_below(&data.join(name));
            format!("{name} {}", bytes / asked.pages.max(1))
        })
        .join(", ")
    ));
}

fn say_parts(parts: &[Part]) {
    crate::say("| pages until | pages per CPU s | pages/s | most MB | MB, anonymous, at its end |");
    crate::say("|---|---|---|---|---|");
    let mut before = Part::default();
    let mut speeds = Vec::new();
    for part in parts {
        let pages = (part.sent - before.sent) as f64;
        let speed = pages / (part.look.cpu - before.look.cpu).max(0.01);
        crate::say(&format!(
            "| {} | {speed:.0} | {:.0} | {:.0} | {:.0} |",
            part.sent,
            pages / (part.look.wall - before.look.wall).max(0.01),
            part.most,
            part.look.anonymous,
        ));
        speeds.push(speed);
        before = *part;
    }
    if let (Some(second), Some(last)) = (speeds.get(1), speeds.last()) {
        let ratio = last / second;
        crate::say(&format!(
            "the last tenth: {ratio:.2} of the second, by CPU time"
        ));
    }
}

/// Bytes of all files below a directory, as they are on disk.
fn bytes_below(path: &Path) -> u64 {
    use std::os::unix::fs::MetadataExt as _;
    let entries = fs::read_dir(path).into_iter().flatten().flatten();
    let sizes = entries.map(|entry| match entry.metadata() {
        Ok(metadata) if metadata.is_dir() => bytes_below(&entry.path()),
        Ok(metadata) => metadata.blocks() * 512,
        Err(_) => 0,
    });
    sizes.sum()
}
