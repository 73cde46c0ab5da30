//! What a site says of others. Its host is met first, and what it leads to is queued before
//! anything that the good host says of itself.

use std::collections::BTreeMap;

use super::good::{self, ABOUT, DOCS, ITEMS, article, numbered};
use super::web::Web;
use super::{Row, Size, row};

pub(super) const ROWS: &[Row] = &[
    of_documents("pages-as-sitemaps", |web, _| {
        let robots = sitemaps_line(&numbered(DOCS, document));
        seed(web, &[], &robots, BTreeMap::new())
    }),
    of_documents("pages-in-sitemap-index", |web, _| {
        let listed = numbered(DOCS, document);
        let entries = listed
            .iter()
            .map(|it| format!("<sitemap><loc>{it}</loc></sitemap>"));
        let index = format!(
            "<sitemapindex>{}</sitemapindex>",
            entries.collect::<String>()
        );
        let robots = "Sitemap: http://hostile.example/index.xml";
        let paths = BTreeMap::from([("/index.xml".to_owned(), Path::Sitemap(index))]);
        seed(web, &[], robots, paths)
    }),
    of_documents("sitemaps-that-redirect", |web, _| {
        let moved = numbered(DOCS, |n| format!("http://hostile.example/moved{n}"));
        let paths = (0..DOCS).map(|n| (format!("/moved{n}"), Path::Redirect(document(n))));
        seed(web, &[], &sitemaps_line(&moved), paths.collect())
    }),
    of_documents("odd-slashes", |web, _| {
        links(web, &numbered(DOCS, |n| document(n) + "/"))
    }),
    of_documents("odd-sessions", |web, _| {
        let session = ";jsessionid=0123456789ABCDEF";
        links(web, &numbered(DOCS, |n| document(n) + session))
    }),
    Row {
        good: || vec![good::directories()],
        ends: true,
        ..row("odd-directories", |web, _| {
            links(
                web,
                &numbered(DOCS, |n| {
                    format!("http://directories.example/dir{n};jsessionid=0123456789ABCDEF")
                }),
            )
        })
    },
    Row {
        good: || {
            vec![good::Good {
                robots: "User-agent: *\nDisallow: /*?",
                ..good::documents()
            }]
        },
        ends: true,
        ..row("odd-forbidden", |web, _| {
            links(
                web,
                &numbered(DOCS, |n| document(n) + "?utm_source=hostile"),
            )
        })
    },
    of_catalogue("a-parameter", |web, _| {
        let of = |about| {
            numbered(20, move |id| {
                format!("http://catalogue.example/about{about}.html?id={id}")
            })
        };
        links(web, &(0..ABOUT).flat_map(of).collect::<Vec<_>>())
    }),
    of_catalogue("all-pages-are-one", |web, _| {
        links(
            web,
            &numbered(ITEMS, |n| format!("http://catalogue.example/?a{n}={n}")),
        )
    }),
    Row {
        settings: "traps.max_pages_per_host = 50",
        ..of_documents("budget-of-host", |web, _| {
            links(
                web,
                &numbered(300, |n| format!("http://documents.example/junk{n}")),
            )
        })
    },
    Row {
        settings: "traps.max_pages_per_domain = 50",
        ..of_documents("budget-of-domain", |web, _| {
            links(
                web,
                &numbered(300, |n| format!("http://documents.example/?junk={n}")),
            )
        })
    },
];

const fn of_documents(name: &'static str, hostile: fn(&mut Web, Size) -> Vec<String>) -> Row {
    Row {
        good: || vec![good::documents()],
        ends: true,
        ..row(name, hostile)
    }
}

const fn of_catalogue(name: &'static str, hostile: fn(&mut Web, Size) -> Vec<String>) -> Row {
    Row {
        good: || vec![good::catalogue()],
        ends: true,
        ..row(name, hostile)
    }
}

/// A document of the good host.
fn document(number: usize) -> String {
    format!("http://documents.example/doc{number}.html")
}

/// What the hostile host has at a path.
enum Path {
    Sitemap(String),
    Redirect(String),
}

fn sitemaps_line(urls: &[String]) -> String {
    let lines = urls.iter().map(|url| format!("Sitemap: {url}\n"));
    lines.collect()
}

/// A host whose home page has these links.
fn links(web: &mut Web, links: &[String]) -> Vec<String> {
    seed(web, links, "", BTreeMap::new())
}

fn seed(
    web: &mut Web,
    links: &[String],
    robots: &str,
    paths: BTreeMap<String, Path>,
) -> Vec<String> {
    let (home, robots) = (article("hostile", links), robots.to_owned());
    web.host("hostile.example", move |wire, ask| {
        match (ask.path, paths.get(ask.path)) {
            (_, Some(Path::Sitemap(xml))) => wire.xml(xml),
            (_, Some(Path::Redirect(to))) => wire.redirect(to),
            ("/", _) => wire.html(&home),
            ("/robots.txt", _) => wire.text(&robots),
            _ => wire.missing(),
        }
    });
    vec!["http://hostile.example/".to_owned()]
}
