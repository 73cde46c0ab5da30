//! What one site can do to a crawl: a hostile one beside good ones, of which the same must come as
//! without it.
//!
//! Each row is crawled twice, with the same good hosts and settings. Compared are the good hosts'
//! pages, verdicts, names of clusters, and what the archive has; how many requests they saw in the
//! time that they take alone; and the memory that the crawl took.
//!
//! To add a row, write a function that adds the hostile hosts to a [`Web`] and returns their seeds,
//! and a line of one of the tables:
//!
//! - `says`: what a site says of others: links, sitemaps, redirects.
//! - `serves`: what its servers do until the end of a head, and how its bodies come.
//! - `shows`: what is in its pages.
//! - `names`: how many hosts it has.
//!
//! `web` has the hosts, `good` the good ones, `beside` crawls and compares.

pub(crate) mod web;

pub(crate) mod good;

pub(crate) mod beside;

mod names;
mod says;
mod serves;
mod shows;

use good::Good;
use web::Web;

/// A hostile site, the good hosts beside it, and settings of the crawl.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Row {
    pub(crate) name: &'static str,
    /// Adds its hosts, and returns where a crawl meets them.
    pub(crate) hostile: fn(&mut Web, Size) -> Vec<String>,
    /// Good hosts that it knows.
    pub(crate) good: fn() -> Vec<Good>,
    /// Lines of the configuration.
    pub(crate) settings: &'static str,
    /// Whether the crawl comes to its end beside it; otherwise it is stopped when all that is good
    /// was asked for.
    pub(crate) ends: bool,
}

impl Row {
    /// Whether its good hosts are crawled as those of most rows are.
    pub(crate) fn is_plain(&self) -> bool {
        !self.ends && self.settings.is_empty() && (self.good)().is_empty()
    }
}

/// How much of its evil a row shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Size {
    /// What a test has time for.
    Small,
    Full,
}

impl Size {
    pub(crate) fn of(self, small: usize, full: usize) -> usize {
        match self {
            Self::Small => small,
            Self::Full => full,
        }
    }
}

/// All rows.
pub(crate) fn rows() -> Vec<Row> {
    [says::ROWS, serves::ROWS, shows::ROWS, names::ROWS].concat()
}

/// A row with the good hosts that every crawl has, and no settings of its own, that has no end.
const fn row(name: &'static str, hostile: fn(&mut Web, Size) -> Vec<String>) -> Row {
    Row {
        name,
        hostile,
        good: Vec::new,
        settings: "",
        ends: false,
    }
}

/// A site of so many hosts, at so many addresses, all of which answer alike, and a home page that
/// leads to them. Returns that.
fn swarm(
    web: &mut Web,
    (hosts, addresses): (usize, u8),
    serve: impl Fn(&mut web::Wire, &web::Ask<'_>) -> std::io::Result<()> + Send + Sync + 'static,
) -> Vec<String> {
    let port = web.domain("hostile.example", addresses, serve);
    let links = good::numbered(hosts, |n| format!("http://h{n}.hostile.example:{port}/"));
    let home = good::article("hostile", &links);
    web.host("hostile.example", move |wire, ask| match ask.path {
        "/" => wire.html(&home),
        _ => wire.missing(),
    });
    vec!["http://hostile.example/".to_owned()]
}
