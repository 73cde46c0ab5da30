//! Good hosts: small, and with what a careless crawler would lose beside a hostile one.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io;

use super::web::{Ask, Wire};
use crate::made_up::text::Random;

/// Pages that a good host has besides those that lead to them.
pub(crate) const DOCS: usize = 40;
/// Steps from the home page of a good host to what it has.
const STEPS: usize = 6;
/// The home page and the steps.
pub(crate) const PATH: usize = 1 + STEPS;
/// Items of the host with a catalogue.
pub(crate) const ITEMS: usize = 600;
/// Other pages of that host.
pub(crate) const ABOUT: usize = 9;

/// A good host: what it answers follows from the path alone.
#[derive(Debug, Clone)]
pub(crate) struct Good {
    pub(crate) name: String,
    pub(crate) robots: &'static str,
    /// Pages by their path, with the query.
    pub(crate) pages: BTreeMap<String, String>,
}

impl Good {
    /// A page is looked up with its query, then without, as most servers do.
    pub(crate) fn answer(&self, wire: &mut Wire, ask: &Ask<'_>) -> io::Result<()> {
        let bare = ask.path.split('?').next().unwrap_or_default();
        match self.pages.get(ask.path).or_else(|| self.pages.get(bare)) {
            Some(page) => wire.html(page),
            None if bare == "/robots.txt" => wire.text(self.robots),
            None => wire.missing(),
        }
    }

    /// Its home page.
    pub(crate) fn seed(&self) -> String {
        format!("http://{}/", self.name)
    }

    fn page(mut self, path: &str, about: &str, links: &[String]) -> Self {
        let page = article(&format!("{} {about}", self.name), links);
        self.pages.insert(path.to_owned(), page);
        self
    }
}

/// A list of texts that differ by a number.
pub(crate) fn numbered(count: usize, text: impl Fn(usize) -> String) -> Vec<String> {
    (0..count).map(text).collect()
}

/// A page about something of its own.
pub(crate) fn article(about: &str, links: &[String]) -> String {
    let text = Random::of(1, about).prose(80);
    let mut html = format!("<!doctype html><title>{about}</title><h1>{about}</h1><p>{text}</p>");
    for link in links {
        let _ = write!(html, "<a href=\"{link}\">{link}</a> ");
    }
    html
}

/// A host whose home page leads to these over some steps: what others link to is visited before.
fn behind(name: &str, links: &[String]) -> Good {
    let good = Good {
        name: name.to_owned(),
        robots: "",
        pages: BTreeMap::new(),
    };
    let good = (1..STEPS).fold(good, |good, step| {
        let next = format!("/step{}", step + 1);
        good.page(&format!("/step{step}"), &format!("step {step}"), &[next])
    });
    good.page("/", "home", &["/step1".to_owned()])
        .page(&format!("/step{STEPS}"), "list", links)
}

/// A host with files, which knows no other names of them.
pub(crate) fn documents() -> Good {
    let links = numbered(DOCS, |n| format!("/doc{n}.html"));
    (0..DOCS).fold(behind("documents.example", &links), |good, n| {
        good.page(&links[n], &format!("document {n}"), &[])
    })
}

/// A host with directories, none of which is found without the slash at its end.
pub(crate) fn directories() -> Good {
    let links = numbered(DOCS, |n| format!("/dir{n}/"));
    (0..DOCS).fold(behind("directories.example", &links), |good, n| {
        good.page(&links[n], &format!("directory {n}"), &[])
    })
}

/// A host with items that differ by a parameter only, and pages that ignore all parameters, as most
/// do.
pub(crate) fn catalogue() -> Good {
    let mut links = numbered(ABOUT, |n| format!("/about{n}.html"));
    links.extend(numbered(ITEMS, |n| format!("/item?id={n}")));
    let good = behind("catalogue.example", &links);
    links
        .iter()
        .fold(good, |good, link| good.page(link, link, &[]))
}

/// A host of so many pages, each fifth of which is a copy of another for printers.
pub(crate) fn crowd(number: usize, pages: usize) -> Good {
    let links = numbered(pages.saturating_sub(1), |n| match n % 5 {
        4 => format!("/print/{}", n - 1),
        _ => format!("/news/{n}"),
    });
    let good = Good {
        name: format!("good{number}.example"),
        robots: "User-agent: *\nDisallow: /search\n",
        pages: BTreeMap::new(),
    };
    let good = good.page("/", "home", &links);
    (0..links.len()).fold(good, |good, n| {
        let of = links[n].rsplit('/').next().unwrap_or_default();
        good.page(&links[n], &format!("news {of}"), &[])
    })
}
