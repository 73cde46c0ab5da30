//! Traps beside good pages, which must end by themselves and keep nothing from them.

mod beside;
mod endless;
mod links;
mod others;
mod restless;
mod sessions;
mod spaces;
mod walks;

use super::site::{Ask, Look, Reply, Site, link, list};
use super::text::Random;

/// Good pages beside a trap.
pub(crate) const GOOD: usize = 500;

/// What is expected of a crawl of a trap.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Bound {
    /// Requests until all good pages were fetched, at most.
    pub(crate) good_within: usize,
    /// Requests in all, at most: so many for each good page, and so many more.
    pub(crate) per_good: f64,
    pub(crate) beside: usize,
}

impl Bound {
    /// Requests in all, at most, with so many good pages.
    pub(crate) fn requests(&self, good: usize) -> usize {
        (good as f64 * self.per_good) as usize + self.beside
    }
}

const fn bound(good_within: usize, per_good: f64, beside: usize) -> Bound {
    Bound {
        good_within,
        per_good,
        beside,
    }
}

/// The bound of most traps.
const USUAL: Bound = bound(1_200, 1.1, 300);

/// Makes a site from a seed, with so many good pages.
pub(crate) type Make = fn(u64, usize) -> Site;

/// The kinds, what makes a site of each from a seed, and what is expected.
pub(crate) const KINDS: &[(&str, (Make, Bound))] = &[
    ("soft404-short", (endless::soft_short, USUAL)),
    ("soft404-long", (endless::soft_long, USUAL)),
    ("soft404-echo", (endless::soft_echo, USUAL)),
    ("session-path", (sessions::path, USUAL)),
    ("session-query", (sessions::query, USUAL)),
    ("session-5000", (sessions::large, bound(7_000, 1.1, 110))),
    ("www-same", (sessions::www, bound(1_400, 1.2, 25))),
    ("calendar", (walks::calendar, USUAL)),
    ("calendar-path", (walks::calendar_path, USUAL)),
    ("offset", (walks::offset, USUAL)),
    ("counter", (walks::counter, USUAL)),
    ("refresh", (walks::refresh, USUAL)),
    ("growing-path", (endless::growing_path, USUAL)),
    ("growing-query", (endless::growing_query, USUAL)),
    ("permutations", (endless::permutations, USUAL)),
    ("relative", (endless::relative, USUAL)),
    ("mirror", (endless::mirror, USUAL)),
    ("searches", (endless::searches, USUAL)),
    ("sorted", (endless::sorted, USUAL)),
    ("login", (sessions::login, USUAL)),
    ("last-page", (others::last_page, USUAL)),
    ("suggestions", (others::suggestions, USUAL)),
    ("tags", (others::tags, USUAL)),
    ("redirects", (others::redirects, USUAL)),
    ("prefixes", (others::prefixes, USUAL)),
    ("exports", (others::exports, USUAL)),
    (
        "print-reply",
        (sessions::print_reply, bound(1_500, 1.1, 600)),
    ),
    (
        "facets",
        (
            |seed, good| super::honest::shops::facets(seed, good as f64 / GOOD as f64),
            bound(10_000, 0.0, 20_000),
        ),
    ),
    ("words", (endless::words, bound(1_200, 0.0, 4_000))),
    ("session-twice", (links::session_twice, USUAL)),
    ("wildcard", (links::wildcard, bound(1_150, 1.1, 600))),
    ("referrer", (links::referrer, USUAL)),
    ("way-back", (links::way_back, bound(1_200, 1.1, 600))),
    ("spellings", (links::spellings, bound(1_500, 1.1, 900))),
    ("buster", (links::buster, USUAL)),
    (
        "languages-20",
        (links::twenty_languages, bound(1_500, 1.1, 600)),
    ),
    ("three-views", (links::three_views, bound(1_500, 1.1, 900))),
    ("wiki-tools", (links::wiki_tools, bound(1_700, 1.1, 1_500))),
    ("carts", (links::carts, bound(1_500, 1.1, 900))),
    ("replies", (links::replies, bound(1_600, 1.1, 1_200))),
    ("date-picker", (spaces::date_picker, USUAL)),
    ("inner-calendar", (spaces::inner_calendar, USUAL)),
    (
        "beyond-the-end",
        (spaces::beyond_the_end, bound(1_200, 1.1, 370)),
    ),
    ("orders", (spaces::orders, bound(1_500, 1.1, 900))),
    ("proposals", (spaces::proposals, USUAL)),
    ("astray", (spaces::astray, USUAL)),
    (
        "numbered-facets",
        (spaces::numbered_facets, bound(1_500, 1.1, 600)),
    ),
    (
        "stacked-prefixes",
        (spaces::stacked_prefixes, bound(1_500, 1.1, 900)),
    ),
    ("polling", (spaces::polling, USUAL)),
    ("tag-clouds", (spaces::tag_clouds, bound(1_200, 1.1, 600))),
    ("passages", (restless::passages, USUAL)),
    ("stateful", (restless::stateful, USUAL)),
    ("moving", (restless::moving, USUAL)),
    (
        "calendar-files",
        (restless::calendar_files, bound(1_200, 1.1, 600)),
    ),
    ("files", (restless::files, bound(1_700, 2.1, 300))),
];

/// The frame of the sites with traps.
fn look(seed: u64) -> Look {
    Look::new(seed, "Almanac", &[("/", "Home"), ("/about", "About")], 60)
}

/// What a good page says, with these links.
fn good_page(look: &Look, seed: u64, number: usize, links: &str) -> Reply {
    let mut random = Random::of(seed, &format!("good {number}"));
    let title = random.phrase(5);
    let words = random.between(40, 160);
    look.page(&title, &(random.paragraphs(words) + links))
        .good(number.to_string())
}

/// The lists of good pages that the first page links, each address changed by this.
fn shelves(
    look: &Look,
    count: usize,
    shelf: Option<usize>,
    with: &dyn Fn(&str) -> String,
    links: &str,
) -> Reply {
    match shelf {
        None => {
            let shelves = (0..count.div_ceil(50))
                .map(|it| (with(&format!("/shelf/{it}")), format!("Shelf {it}")));
            look.page("Home", &(links.to_owned() + &list(shelves)))
        }
        Some(shelf) => {
            let shown = (shelf * 50..(shelf * 50 + 50).min(count))
                .map(|it| (with(&format!("/good/{it}")), format!("Article {it}")));
            look.page(
                &format!("Shelf {shelf}"),
                &(links.to_owned() + &list(shown)),
            )
        }
    }
}

/// A site of good pages, each of which links the trap too; what is not of them is the trap's.
fn beside(
    seed: u64,
    good: usize,
    entry: &'static str,
    trap: impl Fn(&Ask, &Look) -> Reply + Send + Sync + 'static,
) -> Site {
    let look = look(seed);
    let answer = move |ask: &Ask| {
        let own = |path: &str| path.to_owned();
        let way = link(entry, "more");
        if ask.query.is_empty() {
            if ask.path == "/" {
                return shelves(&look, good, None, &own, &way);
            }
            if ask.path == "/about" {
                return look.page("About", &Random::of(seed, "about").paragraphs(80));
            }
            if let Some(shelf) = ask.after("/shelf/").filter(|it| *it < good.div_ceil(50)) {
                return shelves(&look, good, Some(shelf), &own, &way);
            }
            if let Some(number) = ask.after("/good/").filter(|it| *it < good) {
                return good_page(&look, seed, number, &way);
            }
        }
        if ask.path == "/robots.txt" {
            return Reply::missing();
        }
        trap(ask, &look)
    };
    let mut site =
        Site::new(answer).good((0..good).map(|it| (it.to_string(), format!("/good/{it}"))));
    site.cap = good * 12;
    site
}
