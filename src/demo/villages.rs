//! The web of `gleaner demo --cluster`: sites that are registrable domains of their own, so that
//! they belong to different shards, and lead to one another. Plain data, made from lists of words.

use std::fmt::Write as _;
use std::time::Duration;

use super::site::{Host, Page, Reply};

/// The sites, and what each is known for.
const SITES: [(&str, &str, &str); 8] = [
    (
        "barleyford.example",
        "Barleyford",
        "barley that is cut by hand",
    ),
    ("elmstead.example", "Elmstead", "elms older than its church"),
    (
        "millbrook.example",
        "Millbrook",
        "a brook that drives five wheels",
    ),
    (
        "oakhurst.example",
        "Oakhurst",
        "charcoal from pollarded oaks",
    ),
    (
        "ryecroft.example",
        "Ryecroft",
        "rye bread baked in the field",
    ),
    ("stonewell.example", "Stonewell", "a well that never froze"),
    (
        "thornby.example",
        "Thornby",
        "hedges of thorn laid each winter",
    ),
    (
        "willowdale.example",
        "Willowdale",
        "baskets of white willow",
    ),
];

/// The pages of each site, and what they are about.
const PAGES: [(&str, &str); 9] = [
    ("/", "home"),
    ("/bridges", "bridges"),
    ("/fields", "fields"),
    ("/inns", "inns"),
    ("/mills", "mills"),
    ("/orchards", "orchards"),
    ("/roads", "roads"),
    ("/songs", "songs"),
    ("/walls", "walls"),
];

/// What may be said of something, by the number of the page.
const SAID: [&str; 12] = [
    "The oldest of them are named in a charter that nobody has seen for a century.",
    "Children learn to count by them before they learn to read.",
    "After the flood only those on the northern side were left standing.",
    "A surveyor drew all of them in one summer and forgot the last.",
    "They are painted in the colours of whoever paid for the paint.",
    "Strangers ask for the way to them and are sent the long way round.",
    "Every spring someone proposes to have fewer, and every autumn there are more.",
    "The parish keeps a book of them, in which two pages are torn out.",
    "Nobody owns them, so everybody mends them.",
    "One was moved a mile to the west, stone by stone, for a wedding.",
    "In dry years they are all that can be seen from the hill.",
    "The quarrel about them ended when the last who remembered it died.",
];

/// Number of pages of all sites.
pub(super) const COUNT: usize = SITES.len() * PAGES.len();

/// Where a crawl of them begins.
pub(super) const SEED: &str = "http://barleyford.example/";

/// Returns all sites.
pub(super) fn hosts() -> Vec<Host> {
    let host = |(number, (name, ..)): (usize, &(&'static str, _, _))| Host {
        name,
        about: "a village",
        delay: Duration::ZERO,
        robots: None,
        pages: (0..PAGES.len())
            .map(|page| self::page(number, page))
            .collect(),
    };
    SITES.iter().enumerate().map(host).collect()
}

/// A page: it leads to all pages of its site, and to two of the next ones.
fn page(site: usize, page: usize) -> Page {
    let (host, village, known) = SITES[site];
    let (path, subject) = PAGES[page];
    let mut html = format!(
        "<!doctype html><html lang=en><title>{village}: {subject}</title><main>\
         <h1>The {subject} of {village}</h1><p>{village} is known for {known}."
    );
    for turn in 0..4 {
        let said = SAID[(site * 5 + page * 7 + turn * (page + 3)) % SAID.len()];
        let _ = write!(
            html,
            "<p>Of the {subject} of {village} they tell this. {said}"
        );
    }
    html.push_str("</main><nav>");
    for (path, subject) in PAGES {
        let _ = write!(html, "<a href=\"http://{host}{path}\">{subject}</a> ");
    }
    for step in [1, 3] {
        let (other, village, _) = SITES[(site + step) % SITES.len()];
        let _ = write!(html, "<a href=\"http://{other}{path}\">{village}</a> ");
    }
    html.push_str("</nav></html>");
    Page {
        path,
        reply: Reply::Html(html),
    }
}
