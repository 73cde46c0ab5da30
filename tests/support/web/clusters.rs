//! A ready-made web of several hosts whose pages, links and duplicates are known beforehand: what
//! a whole crawl of it must find, however often the crawl was interrupted.
//!
//! Steps: decide which pages are duplicates of one another and write their texts, link all pages
//! so that host 0's `/` leads everywhere, put them on their hosts, say what is expected.
//!
//! Two decisions make the expectation independent of the order in which a crawler comes by:
//!
//! - Near-duplicates form cliques: within a cluster any two texts are at most [`NEAR`] bits apart,
//!   texts of different clusters more than [`APART`] bits. Which member is met first does not
//!   matter, and no chain joins two clusters.
//! - Only pages without duplicates carry the links that are needed to reach others, so nothing
//!   depends on whether a crawler follows the links of a duplicate.

use std::collections::{BTreeMap, BTreeSet};

use super::links::{Link, Woven, distances, weave};
use super::markup::{self, Frame};
use super::site::{Answer, Delivery, Site};
use super::words::{Article, Random};

/// A host number and a path on it.
pub type Place = (usize, String);

/// Any two texts of a near-duplicate cluster differ in at most this many bits: the usual bound for
/// 64-bit SimHash (Manku, Jain, Das Sarma: "Detecting near-duplicates for web crawling", WWW 2007).
pub const NEAR: u32 = 3;

/// Texts of different clusters differ in more bits than this. Random texts are 32 apart, give or
/// take 4, so this asks for nothing but chance to behave.
pub const APART: u32 = 10;

/// The size of the web, and where its random numbers begin.
#[derive(Debug, Clone, Copy)]
pub struct ClusterOptions {
    /// Hosts, at least one.
    pub hosts: usize,
    /// Pages on each, at least 3, and at least 24 on all hosts together.
    pub pages_per_host: usize,
    /// The same seed gives the same web.
    pub seed: u64,
}

/// What a whole crawl from host 0's `/` finds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Expected {
    /// Every page that answers 200 and that robots.txt allows; the path without a query.
    pub allowed_paths: BTreeSet<Place>,
    /// Linked pages that robots.txt forbids: they exist and must never be asked for.
    pub forbidden: BTreeSet<Place>,
    /// Linked paths that answer 404.
    pub missing: BTreeSet<Place>,
    /// Paths that redirect, and their next step.
    pub redirects: BTreeMap<Place, Place>,
    /// Links with tracking parameters or session ids, path and query, and the page they mean.
    pub variants: BTreeMap<Place, Place>,
    /// `allowed_paths` by content: a set for each cluster of duplicates, pages without any alone.
    pub clusters: Vec<BTreeSet<Place>>,
    /// What makes the cluster of the same number a cluster.
    pub kinds: Vec<Kind>,
    /// Pages that are kept when all duplicates are found: the number of clusters.
    pub unique_payloads: usize,
    /// Different bodies among the pages: what only byte copies reduce.
    pub distinct_bodies: usize,
    /// The main text of each page, one paragraph a line.
    pub texts: BTreeMap<Place, String>,
    /// Links from host 0's `/` to the page farthest from it, redirects counted.
    pub depth: usize,
}

impl Expected {
    /// Pages that repeat another one in this way.
    pub fn copies(&self, kind: Kind) -> usize {
        let clusters = self.clusters.iter().zip(&self.kinds);
        let of_kind = clusters.filter(|(_, found)| **found == kind);
        of_kind.map(|(cluster, _)| cluster.len() - 1).sum()
    }
}

/// What the pages of a cluster have in common.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// A page that has no duplicate.
    Single,
    /// The same bytes.
    Copy,
    /// The same visible text and title in another markup.
    Markup,
    /// The same article in the frames of several hosts, each with a note of its own beside it.
    Frame,
    /// Nearly the same article: one to three words differ from the first member's.
    Near,
}

/// Makes the web and what is expected of it.
///
/// `simhash` is the SimHash of a main text as the code under test computes it (64 bits, over runs
/// of words): edits are tried until the cliques hold for it. It is a function of one text,
/// not a distance of two, because every text is compared with every other one.
pub fn cluster_web(
    options: ClusterOptions,
    simhash: &dyn Fn(&str) -> u64,
) -> (Vec<Site>, Expected) {
    let ClusterOptions {
        hosts,
        pages_per_host,
        seed,
    } = options;
    assert!(
        hosts >= 1 && pages_per_host >= 3 && hosts * pages_per_host >= 24,
        "too small for a cluster of each kind: {options:?}"
    );
    let mut random = Random::new(seed);
    let clusters = Author {
        random: &mut random,
        simhash,
        written: Vec::new(),
    }
    .clusters(options);
    let woven = weave(&clusters, hosts, &mut random);
    publish(&clusters, &woven, hosts, &mut random)
}

/// Pages that are duplicates of one another, or one page.
pub(super) struct Cluster {
    pub(super) kind: Kind,
    pub(super) members: Vec<Place>,
    /// One for each member.
    articles: Vec<Article>,
}

/// Writes texts that are as far apart, or as near, as they should be.
struct Author<'a> {
    random: &'a mut Random,
    simhash: &'a dyn Fn(&str) -> u64,
    /// The SimHash of every text of the clusters so far.
    written: Vec<u64>,
}

impl Author<'_> {
    /// All pages in clusters: the hosts' `/` first, then other single pages, then duplicates.
    fn clusters(&mut self, options: ClusterOptions) -> Vec<Cluster> {
        let ClusterOptions {
            hosts,
            pages_per_host,
            ..
        } = options;
        let mut clusters: Vec<Cluster> = (0..hosts)
            .map(|host| self.single((host, "/".to_owned())))
            .collect();
        let mut free: Vec<Place> = (1..pages_per_host)
            .flat_map(|number| (0..hosts).map(move |host| (host, number)))
            .map(|(host, number)| (host, self.path(number)))
            .collect();
        self.random.shuffle(&mut free);

        let kinds = [Kind::Copy, Kind::Markup, Kind::Frame, Kind::Near];
        // Two pages of five are in clusters of two to four, at least one cluster of each kind.
        let mut left = hosts * pages_per_host * 2 / 5;
        let mut duplicates = Vec::new();
        for turn in 0.. {
            let reserved = 2 * kinds.len().saturating_sub(turn + 1);
            let most = left.saturating_sub(reserved).min(4);
            if most < 2 {
                break;
            }
            let size = self.random.between(2, most);
            left -= size;
            let members = take_from_several_hosts(&mut free, size);
            duplicates.push(self.duplicates(kinds[turn % kinds.len()], members));
        }
        for (number, place) in free.into_iter().enumerate() {
            let single = if number == FOREIGN {
                self.foreign(place)
            } else {
                self.single(place)
            };
            clusters.push(single);
        }
        clusters.extend(duplicates);
        clusters
    }

    fn path(&mut self, number: usize) -> String {
        let ending = ["", ".html", "/"][self.random.below(3)];
        format!(
            "/{}/{}-{number}{ending}",
            self.random.word(),
            self.random.word()
        )
    }

    fn single(&mut self, place: Place) -> Cluster {
        let words = self.random.between(200, 320);
        let article = self.fresh(|random| Article::random(random, words));
        self.cluster(Kind::Single, vec![place], vec![article])
    }

    fn foreign(&mut self, place: Place) -> Cluster {
        let article = self.fresh(|random| Article::random(random, 240).foreign());
        self.cluster(Kind::Single, vec![place], vec![article])
    }

    fn duplicates(&mut self, kind: Kind, members: Vec<Place>) -> Cluster {
        let articles = if kind == Kind::Near {
            self.near(members.len())
        } else {
            let words = self.random.between(200, 400);
            vec![self.fresh(|random| Article::random(random, words)); members.len()]
        };
        self.cluster(kind, members, articles)
    }

    fn cluster(&mut self, kind: Kind, members: Vec<Place>, articles: Vec<Article>) -> Cluster {
        self.written.extend(
            articles
                .iter()
                .map(|article| (self.simhash)(&article.text())),
        );
        Cluster {
            kind,
            members,
            articles,
        }
    }

    /// An article far from all others.
    fn fresh(&mut self, write: impl Fn(&mut Random) -> Article) -> Article {
        for _ in 0..1_000 {
            let article = write(self.random);
            if self.is_apart((self.simhash)(&article.text())) {
                return article;
            }
        }
        panic!("1,000 random texts in a row are near others: is `simhash` a SimHash?");
    }

    /// A long article and edited copies of it, any two at most [`NEAR`] bits apart, but not equal.
    ///
    /// One changed word touches a few of some 600 shingles and flips about two bits, so a few
    /// attempts for each copy are enough. Two copies differ in two words: of their five-word
    /// shingles at least 95 in 100 are common, so that any measure calls them near.
    fn near(&mut self, count: usize) -> Vec<Article> {
        for _ in 0..50 {
            let words = self.random.between(400, 800);
            let original = self.fresh(|random| Article::random(random, words));
            let mut hashes = vec![(self.simhash)(&original.text())];
            let mut articles = vec![original];
            for _ in 0..1_000 {
                if articles.len() == count {
                    return articles;
                }
                let candidate = articles[0].edited(self.random, 1);
                let hash = (self.simhash)(&candidate.text());
                let fits = |&other: &u64| (1..=NEAR).contains(&(hash ^ other).count_ones());
                if hashes.iter().all(fits) && self.is_apart(hash) {
                    hashes.push(hash);
                    articles.push(candidate);
                }
            }
        }
        panic!("no edits of 50 long articles stay within {NEAR} bits: is `simhash` a SimHash?");
    }

    fn is_apart(&self, hash: u64) -> bool {
        self.written
            .iter()
            .all(|other| (hash ^ other).count_ones() > APART)
    }
}

/// Places among the single pages that are not a host's `/`: what is special about them.
const GZIPPED: usize = 0;
const CHUNKED: usize = 1;
const FOREIGN: usize = 2;
/// This one only redirects lead to.
pub(super) const LANDING: usize = 3;

/// Takes places of different hosts as far as there are any.
fn take_from_several_hosts(free: &mut Vec<Place>, count: usize) -> Vec<Place> {
    let mut taken: Vec<Place> = Vec::new();
    while taken.len() < count {
        let is_new = |(host, _): &Place| taken.iter().all(|(other, _)| other != host);
        let index = free.iter().position(is_new).unwrap_or(0);
        taken.push(free.swap_remove(index));
    }
    taken
}

/// Host 1 has no robots.txt, which allows everything there.
pub(super) fn has_robots(host: usize) -> bool {
    host != 1
}

/// Puts everything on its host and says what is expected.
fn publish(
    clusters: &[Cluster],
    woven: &Woven,
    hosts: usize,
    random: &mut Random,
) -> (Vec<Site>, Expected) {
    let mut sites: Vec<Site> = (0..hosts).map(robots).collect();
    let mut texts = BTreeMap::new();
    let mut bodies = BTreeSet::new();
    let usual: Vec<Frame> = (0..hosts).map(|_| frame(random)).collect();
    let asides: Vec<String> = (0..hosts).map(|_| random.phrase(12)).collect();
    for (number, cluster) in clusters.iter().enumerate() {
        let title = random.phrase(4);
        for (version, (place, article)) in cluster.members.iter().zip(&cluster.articles).enumerate()
        {
            let mut frame = match cluster.kind {
                Kind::Frame => Frame {
                    aside: Some(asides[place.0].clone()),
                    ..usual[place.0].clone()
                },
                Kind::Copy | Kind::Markup => usual[cluster.members[0].0].clone(),
                Kind::Single | Kind::Near => usual[place.0].clone(),
            };
            frame.title.clone_from(&title);
            let links = woven.links.get(place).map_or(&[][..], Vec::as_slice);
            frame.links = links.iter().map(|link| reference(place.0, link)).collect();
            let body = match (cluster.kind, version) {
                (Kind::Markup, 1..) => markup::reworked(&frame, &article.paragraphs(), version),
                _ => markup::plain(&frame, &article.paragraphs()),
            };
            bodies.insert(body.clone());
            texts.insert(place.clone(), article.text());
            let answer = match number.checked_sub(hosts) {
                Some(GZIPPED) => Answer::gzip(body),
                Some(CHUNKED) => Answer::html(body).delivery(Delivery::Chunked),
                _ => Answer::html(body),
            };
            put(&mut sites, place, answer);
        }
    }
    for place in &woven.forbidden {
        let article = Article::random(random, 200);
        put(
            &mut sites,
            place,
            Answer::html(markup::plain(&frame(random), &article.paragraphs())),
        );
    }
    for (turn, (place, (host, path))) in woven.redirects.iter().enumerate() {
        let status = [301, 302][turn % 2];
        put(
            &mut sites,
            place,
            Answer::redirect(status, &format!("{{host{host}}}{path}")),
        );
    }

    let allowed_paths: BTreeSet<Place> = texts.keys().cloned().collect();
    let reached = distances(woven);
    assert!(
        allowed_paths
            .iter()
            .all(|place| reached.contains_key(place)),
        "a page without a link"
    );
    let expected = Expected {
        allowed_paths,
        forbidden: woven.forbidden.clone(),
        missing: woven.missing.clone(),
        redirects: woven.redirects.clone(),
        variants: woven.variants.clone(),
        clusters: clusters
            .iter()
            .map(|cluster| cluster.members.iter().cloned().collect())
            .collect(),
        kinds: clusters.iter().map(|cluster| cluster.kind).collect(),
        unique_payloads: clusters.len(),
        distinct_bodies: bodies.len(),
        texts,
        depth: reached.into_values().max().unwrap_or(0),
    };
    (sites, expected)
}

fn robots(host: usize) -> Site {
    if has_robots(host) {
        Site::new().robots("User-agent: *\nDisallow: /private/\n")
    } else {
        Site::new()
    }
}

fn put(sites: &mut [Site], (host, path): &Place, answer: Answer) {
    sites[*host] = std::mem::take(&mut sites[*host]).page(path, answer);
}

/// Header and footer of a host or page, without links.
fn frame(random: &mut Random) -> Frame {
    Frame {
        title: random.phrase(3),
        header: random.phrase(4),
        aside: None,
        footer: random.phrase(8),
        links: Vec::new(),
    }
}

fn reference(host: usize, link: &Link) -> (String, String) {
    let (to, path) = &link.to;
    let origin = if link.absolute || *to != host {
        format!("{{host{to}}}")
    } else {
        String::new()
    };
    let suffix = link.suffix.replace('&', "&amp;");
    (format!("{origin}{path}{suffix}"), link.text.clone())
}
