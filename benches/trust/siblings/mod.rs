//! Pages that resemble their siblings and are pages of their own, with true duplicates planted
//! among them.

mod forms;
mod places;
mod plant;
mod real;
mod wares;

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};

use super::site::{Ask, Look, Reply, Site, list};
use super::text::Random;

pub(crate) use plant::{Style, style};

/// Fills a site with pages.
pub(crate) type Fill = fn(&mut Builder);

/// The kinds that are made up.
pub(crate) const KINDS: &[(&str, Fill)] = &[
    ("intrinsics", forms::intrinsics),
    ("legal", forms::legal),
    ("code", forms::code),
    ("options", forms::options),
    ("stations", forms::stations),
    ("one-title", wares::one_title),
    ("price", wares::price),
    ("colours", wares::colours),
    ("countries", wares::countries),
    ("lists", wares::lists),
    ("tours", places::tours),
    ("timetables", places::timetables),
    ("branches-sub", |it| places::branches(it, true)),
    ("branches-dom", |it| places::branches(it, false)),
    ("persons", places::persons),
];

/// Real documentation: name, and where it is looked for. `~rust` is the documentation that comes
/// with the toolchain.
pub(crate) const REAL: &[(&str, &[&str])] = &[
    ("rust-aarch64", &["~rust/core/arch/aarch64"]),
    ("rust-x86", &["~rust/core/arch/x86_64"]),
    (
        "rust-std",
        &["~rust/std/collections", "~rust/std/primitive.u8.html"],
    ),
    ("rust-reference", &["~rust/reference"]),
    ("rust-lints", &["~rust/rustc", "~rust/cargo"]),
    ("node", &["/usr/share/doc/nodejs/api"]),
    ("npm", &["/usr/lib/node_modules/npm/docs/output/commands"]),
];

/// A site of a kind, with duplicates planted.
pub(crate) fn made_up(fill: Fill, seed: u64, scale: f64) -> Site {
    let mut builder = Builder::new(seed, scale);
    fill(&mut builder);
    plant::plant(&mut builder);
    builder.build()
}

/// A site of real pages with duplicates planted, if this machine has them.
pub(crate) fn real(places: &[&str], seed: u64, most: usize) -> Option<Site> {
    let found: Vec<PathBuf> = places.iter().filter_map(|it| place(it)).collect();
    let found = found.first()?;
    real::site(found, seed, most)
}

/// The directory that a place stands for, if it is there.
fn place(text: &str) -> Option<PathBuf> {
    let path = match text.strip_prefix("~rust") {
        Some(rest) => real::rust_documentation()?.join(rest.trim_start_matches('/')),
        None => Path::new(text).to_owned(),
    };
    path.is_dir().then_some(path)
}

/// One page, or a copy of one.
#[derive(Debug, Clone)]
pub(crate) struct Doc {
    /// Which page it shows.
    pub(crate) key: String,
    /// Number of its host.
    pub(crate) host: usize,
    /// Path with query.
    pub(crate) path: String,
    pub(crate) title: String,
    /// Text of the first heading; empty for none.
    pub(crate) headline: String,
    /// HTML of the main part.
    pub(crate) main: String,
    /// The whole page, for real ones; `main` and the frame are not used then.
    pub(crate) whole: Option<String>,
    /// How it was copied, if it is a copy.
    pub(crate) style: Option<Style>,
    /// Whether it has a line that changes at each fetch.
    pub(crate) is_restless: bool,
}

/// Puts a site of siblings together.
pub(crate) struct Builder {
    pub(crate) seed: u64,
    pub(crate) scale: f64,
    pub(crate) hosts: Vec<String>,
    pub(crate) docs: Vec<Doc>,
    /// Words in the frame.
    pub(crate) frame: usize,
    /// Patterns of the pages to crawl.
    pub(crate) settings: String,
    taken: HashSet<(usize, String)>,
}

impl Builder {
    fn new(seed: u64, scale: f64) -> Self {
        Self {
            seed,
            scale,
            hosts: vec!["site.example".to_owned()],
            docs: Vec::new(),
            frame: 80,
            settings: String::new(),
            taken: HashSet::new(),
        }
    }

    /// So many, at the scale of the suite.
    pub(crate) fn count(&self, all: usize) -> usize {
        super::site::scaled(all, self.scale).max(4)
    }

    /// A generator for one part.
    pub(crate) fn random(&self, part: &str) -> Random {
        Random::of(self.seed, part)
    }

    /// The number of a host with this name.
    pub(crate) fn host(&mut self, name: &str) -> usize {
        if let Some(at) = self.hosts.iter().position(|it| it == name) {
            return at;
        }
        self.hosts.push(name.to_owned());
        self.hosts.len() - 1
    }

    /// Adds a page.
    pub(crate) fn page(
        &mut self,
        host: usize,
        path: String,
        title: &str,
        headline: &str,
        main: String,
    ) {
        if !self.taken.insert((host, path.clone())) {
            return;
        }
        self.docs.push(Doc {
            key: format!("{host}{path}"),
            host,
            path,
            title: title.to_owned(),
            headline: headline.to_owned(),
            main,
            whole: None,
            style: None,
            is_restless: false,
        });
    }

    fn build(self) -> Site {
        let Self {
            seed,
            hosts,
            docs,
            frame,
            settings,
            ..
        } = self;
        // Hosts of one business have one frame; the others have their own.
        let looks: Vec<Look> = hosts.iter().map(|it| look(seed, it, frame)).collect();
        let strange: Vec<Look> = (0..8)
            .map(|it| look(seed, &format!("Locale {it}"), frame))
            .collect();
        let urls: Vec<String> = docs
            .iter()
            .map(|it| format!("http://{}{}", hosts[it.host], it.path))
            .collect();
        let numbers: HashMap<String, usize> = urls
            .iter()
            .enumerate()
            .map(|(number, it)| (it.clone(), number))
            .collect();
        let mut of_host: Vec<Vec<usize>> = vec![Vec::new(); hosts.len()];
        for (number, doc) in docs.iter().enumerate() {
            of_host[doc.host].push(number);
        }
        // Copies before or after what they are copies of, in turns by host and seed.
        for (host, numbers) in of_host.iter_mut().enumerate() {
            if (host as u64 + seed).is_multiple_of(2) {
                numbers.reverse();
            }
        }
        let good = docs
            .iter()
            .zip(&urls)
            .filter(|it| it.0.style.is_none())
            .map(|(doc, url)| (doc.key.clone(), url.clone()))
            .collect();
        let names = hosts.clone();
        let answer = move |ask: &Ask| {
            let Some(host) = names.iter().position(|it| it == ask.host) else {
                return Reply::missing();
            };
            let target = if ask.query.is_empty() {
                ask.path.to_owned()
            } else {
                format!("{}?{}", ask.path, ask.query)
            };
            if let Some(number) = numbers.get(&format!("http://{}{target}", ask.host)) {
                return show(&docs[*number], &looks, &strange, ask.serial);
            }
            let own = &of_host[host];
            let lists = own.len().div_ceil(100);
            if ask.path == "/" {
                return looks[host].page(
                    "Home",
                    &list((0..lists).map(|it| (format!("/all-{it}/"), format!("Part {it}")))),
                );
            }
            let part = ask
                .path
                .strip_prefix("/all-")
                .and_then(|it| it.trim_end_matches('/').parse().ok());
            match part.filter(|it: &usize| *it < lists) {
                Some(part) => {
                    let shown = own.iter().skip(part * 100).take(100);
                    looks[host].page(
                        &format!("Part {part}"),
                        &list(shown.map(|it| (docs[*it].path.clone(), docs[*it].headline.clone()))),
                    )
                }
                None => Reply::missing(),
            }
        };
        let mut site = Site::new(answer);
        site.good = good;
        site.seeds = hosts.iter().map(|it| format!("http://{it}/")).collect();
        site.hosts = hosts;
        site.settings = settings;
        site.cap = 60_000;
        site
    }
}

/// The frame of a host.
fn look(seed: u64, host: &str, words: usize) -> Look {
    // branch-7.example and branch-8.example are one business.
    let business: String = match host.split_once('-') {
        Some((before, _)) if host.contains('.') => before.to_owned(),
        _ => host.split('.').rev().take(2).collect(),
    };
    Look::new(seed, &business, &[("/", "Home")], words)
}

/// What a page looks like.
fn show(doc: &Doc, looks: &[Look], strange: &[Look], serial: usize) -> Reply {
    let mut main = doc.main.clone();
    let restless = restless(serial);
    if let Some(whole) = &doc.whole {
        let end = if doc.is_restless {
            format!("{restless}</body>")
        } else {
            "</body>".to_owned()
        };
        return Reply::html(whole.replacen("</body>", &end, 1)).good(doc.key.clone());
    }
    if doc.is_restless {
        main.push_str(&restless);
    }
    let reply = match doc.style {
        Some(Style::Print) => Reply::html(format!(
            "<html><head><title>{}</title><meta name=\"robots\" content=\"noindex\"></head><body><h1>{}</h1>{main}</body></html>",
            doc.title, doc.headline
        )),
        Some(Style::Locale(number)) => strange[number % strange.len()].page(&doc.headline, &main),
        _ if doc.headline.is_empty() => looks[doc.host].plain(&doc.title, &main),
        _ => looks[doc.host].titled(&doc.title, &doc.headline, &main),
    };
    reply.good(doc.key.clone())
}

/// A line that changes at each fetch.
fn restless(serial: usize) -> String {
    format!(
        "<p class=\"stats\">Request {} served in {} ms by node {}</p>",
        700_001 + serial * 13,
        7 + serial * 31 % 90,
        serial % 7
    )
}
