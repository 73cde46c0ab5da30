//! Pages that resemble their siblings and are pages of their own, with true duplicates planted
//! among them.

mod copies;
mod figures;
mod forms;
mod places;
mod plant;
mod real;
mod texts;
mod wares;

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};

use super::site::{Ask, Look, Reply, Site, list};
use super::skin::{Build, Noise, Skin};
use super::text::Random;
use super::tongue::Tongue;

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
    ("recipes", texts::recipes),
    ("vacancies", texts::vacancies),
    ("decisions", texts::decisions),
    ("patents", texts::patents),
    ("statutes", texts::statutes),
    ("songs", texts::songs),
    ("entries", texts::entries),
    ("notices", texts::notices),
    ("minutes", texts::minutes),
    ("manuals", texts::manuals),
    ("readings", figures::readings),
    ("matches", figures::matches),
    ("shares", figures::shares),
    ("flats", figures::flats),
    ("parts", figures::parts),
    ("goods-zh", figures::goods_zh),
    ("signatures", figures::signatures),
    ("pictures", figures::pictures),
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
    if builder.dress.is_some() {
        copies::plant(&mut builder);
    }
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
    /// Number of the host in whose frame it is.
    pub(crate) frame: usize,
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

/// How the pages of a site look that are in no plain frame.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Dress {
    build: Build,
    tongue: Tongue,
    has_one_title: bool,
    noise: &'static [Noise],
}

impl Dress {
    /// Built so, in this language.
    pub(crate) fn new(build: Build, tongue: Tongue) -> Self {
        Self {
            build,
            tongue,
            has_one_title: false,
            noise: &[],
        }
    }

    /// With one title for all pages, and no headlines.
    pub(crate) fn one_title(mut self) -> Self {
        self.has_one_title = true;
        self
    }

    /// With these things that change at each request.
    pub(crate) fn noise(mut self, noise: &'static [Noise]) -> Self {
        self.noise = noise;
        self
    }

    /// The frame of a host.
    fn skin(self, seed: u64, name: &str) -> Skin {
        let skin = Skin::new(seed, name, self.build, self.tongue)
            .links(&[("/", "Home")])
            .noise(self.noise);
        if self.has_one_title {
            skin.one_title()
        } else {
            skin
        }
    }
}

/// Puts a site of siblings together.
pub(crate) struct Builder {
    pub(crate) seed: u64,
    pub(crate) scale: f64,
    pub(crate) hosts: Vec<String>,
    pub(crate) docs: Vec<Doc>,
    /// Words in the frame.
    pub(crate) frame: usize,
    /// How the pages look, if not plain.
    pub(crate) dress: Option<Dress>,
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
            dress: None,
            settings: String::new(),
            taken: HashSet::new(),
        }
    }

    /// So many, at the scale of the suite.
    pub(crate) fn count(&self, all: usize) -> usize {
        super::site::scaled(all, self.scale).max(4)
    }

    /// The pages look so.
    pub(crate) fn dress(&mut self, dress: Dress) {
        self.dress = Some(dress);
    }

    /// The language of the site.
    pub(crate) fn tongue(&self) -> Tongue {
        self.dress.map_or(Tongue::English, |it| it.tongue)
    }

    /// A generator for one part.
    pub(crate) fn random(&self, part: &str) -> Random {
        Random::of(self.seed, part)
    }

    /// Whether something changes at each request of any page.
    pub(crate) fn is_noisy(&self) -> bool {
        self.dress.is_some_and(|it| !it.noise.is_empty())
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
            frame: host,
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
            dress,
            settings,
            ..
        } = self;
        let frames = Frames {
            // Hosts of one business have one frame; the others have their own.
            looks: hosts.iter().map(|it| look(seed, it, frame)).collect(),
            strange: (0..8)
                .map(|it| look(seed, &format!("Locale {it}"), frame))
                .collect(),
            skins: dress.map(|dress| {
                hosts
                    .iter()
                    .map(|it| dress.skin(seed, &business(it)))
                    .collect()
            }),
        };
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
                return frames.show(&docs[*number], ask.serial);
            }
            let own = &of_host[host];
            let lists = own.len().div_ceil(100);
            if ask.path == "/" {
                return frames.list(
                    host,
                    ask.serial,
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
                    frames.list(
                        host,
                        ask.serial,
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

/// Whose a host is: branch-7.example and branch-8.example are one business.
fn business(host: &str) -> String {
    match host.split_once('-') {
        Some((before, _)) if host.contains('.') => before.to_owned(),
        _ => host.split('.').rev().take(2).collect(),
    }
}

/// The frame of a host.
fn look(seed: u64, host: &str, words: usize) -> Look {
    Look::new(seed, &business(host), &[("/", "Home")], words)
}

/// The frames of the hosts, by number.
struct Frames {
    looks: Vec<Look>,
    /// Those of copies in other languages.
    strange: Vec<Look>,
    /// Those of sites that are dressed.
    skins: Option<Vec<Skin>>,
}

impl Frames {
    /// A list of pages.
    fn list(&self, host: usize, serial: usize, title: &str, main: &str) -> Reply {
        match &self.skins {
            Some(skins) => skins[host].page(serial, title, main),
            None => self.looks[host].page(title, main),
        }
    }

    /// What a page looks like.
    fn show(&self, doc: &Doc, serial: usize) -> Reply {
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
        let reply = match (doc.style, &self.skins) {
            (Some(Style::Print), _) => Reply::html(format!(
                "<html><head><title>{}</title><meta name=\"robots\" content=\"noindex\"></head><body><h1>{}</h1>{main}</body></html>",
                doc.title, doc.headline
            )),
            (Some(Style::Locale(number)), _) => {
                self.strange[number % self.strange.len()].page(&doc.headline, &main)
            }
            (style, Some(skins)) => {
                let skin = &skins[doc.frame];
                match style {
                    Some(Style::Amp) => skin.built(Build::Bare).page(serial, &doc.headline, &main),
                    Some(Style::Phone) => {
                        skin.built(Build::NavLast)
                            .page(serial, &doc.headline, &main)
                    }
                    Some(Style::InTongue) => {
                        let tongue = match skin.tongue {
                            Tongue::Russian => Tongue::German,
                            _ => Tongue::Russian,
                        };
                        skin.in_tongue(tongue).page(serial, &doc.headline, &main)
                    }
                    _ => skin.page(serial, &doc.headline, &main),
                }
            }
            (_, None) if doc.headline.is_empty() => self.looks[doc.host].plain(&doc.title, &main),
            (_, None) => self.looks[doc.host].titled(&doc.title, &doc.headline, &main),
        };
        reply.good(doc.key.clone())
    }
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
