//! How many hosts a site has.

use super::good::{article, numbered};
use super::{Row, row, swarm};

pub(super) const ROWS: &[Row] = &[
    row("fresh-names", |web, size| {
        swarm(web, (size.of(500, 12_000), 64), |wire, ask| {
            match ask.path {
                "/robots.txt" => wire.missing(),
                _ => wire.html(article(ask.host, &numbered(20, |n| format!("/{n}")))),
            }
        })
    }),
    // Each page leads to hosts that nobody has heard of.
    row("names-without-end", |web, _| {
        swarm(web, (100, 64), |wire, ask| match ask.path {
            "/robots.txt" => wire.missing(),
            _ => {
                let first = ask.number() * 100 % 100_000;
                let port = wire.port();
                let links = numbered(100, |n| {
                    format!("http://h{}.hostile.example:{port}/", first + n)
                });
                wire.html(article(ask.host, &links))
            }
        })
    }),
    row("dead-names", |web, size| {
        let links = numbered(size.of(500, 12_000), |n| {
            format!("http://h{n}.nowhere.example/")
        });
        let home = article("hostile", &links);
        web.host("hostile.example", move |wire, ask| match ask.path {
            "/" => wire.html(&home),
            _ => wire.missing(),
        });
        vec!["http://hostile.example/".to_owned()]
    }),
    row("sitemaps-elsewhere", |web, size| {
        let count = size.of(500, 5_000);
        swarm(web, (64, 64), move |wire, ask| match ask.path {
            "/robots.txt" => {
                let first = ask.number() * count;
                let port = wire.port();
                let lines = numbered(count, |n| {
                    format!(
                        "Sitemap: http://h{}.hostile.example:{port}/map.xml\n",
                        first + n
                    )
                });
                wire.text(lines.concat())
            }
            "/map.xml" => wire.xml("<urlset></urlset>"),
            _ => wire.html(article(ask.host, &[])),
        })
    }),
    row("redirect-mazes", |web, size| {
        swarm(web, (size.of(100, 5_000), 64), |wire, ask| match ask.path {
            "/robots.txt" => wire.missing(),
            path => {
                let (next, port) = (ask.number() * 7 + 1, wire.port());
                let next = next % 1_000_000;
                wire.redirect(&format!("http://h{next}.hostile.example:{port}{path}x"))
            }
        })
    }),
];
