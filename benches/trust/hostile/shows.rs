//! What is in a site's pages.

use std::fmt::Write as _;
use std::sync::OnceLock;

use super::good::{article, numbered};
use super::web::Ask;
use super::{Row, row, swarm};
use crate::made_up::text::Random;

pub(super) const ROWS: &[Row] = &[
    row("nesting", |web, size| {
        swarm(web, (size.of(4, 64), 64), |wire, ask| match ask.path {
            "/robots.txt" => wire.missing(),
            _ => wire.html(around(ask, &"<div>".repeat(100_000))),
        })
    }),
    row("unclosed-markup", |web, size| {
        swarm(web, (size.of(2, 64), 64), |wire, ask| match ask.path {
            "/robots.txt" => wire.missing(),
            _ => wire.html(around(ask, &"<p><b><i><font size=1>x".repeat(200_000))),
        })
    }),
    row("base-amplification", |web, size| {
        swarm(web, (size.of(4, 64), 64), |wire, ask| match ask.path {
            "/robots.txt" => wire.missing(),
            _ => {
                let base = "a/".repeat(8_000);
                let mut html = format!("<base href='http://{}/{base}'>", ask.host);
                for n in 0..25_000 {
                    let _ = write!(html, "<a href={n}>x</a>");
                }
                wire.html(around(ask, &html))
            }
        })
    }),
    row("links-without-end", |web, size| {
        swarm(web, (size.of(4, 64), 64), |wire, ask| match ask.path {
            "/robots.txt" => wire.missing(),
            path => {
                let mut html = String::new();
                for n in 0..25_000 {
                    let _ = write!(html, "<a href={path}/{n}/{}>x</a>", "y".repeat(200));
                }
                wire.html(around(ask, &html))
            }
        })
    }),
    row("lists-in-lists", |web, size| {
        swarm(web, (size.of(4, 64), 64), |wire, ask| match ask.path {
            "/robots.txt" => wire.missing(),
            // Written as Markdown, each line is indented by all around it.
            _ => wire.html(around(ask, &"<ul><li><a href=/x>x</a>".repeat(50_000))),
        })
    }),
    // Repeated words outvote the others in all bits of a SimHash.
    row("one-fingerprint", |web, size| {
        let pages = size.of(50, 2_000);
        swarm(web, (size.of(4, 64), 64), move |wire, ask| match ask.path {
            "/robots.txt" => wire.missing(),
            "/" => {
                let links = numbered(pages, |n| format!("/{n}"));
                wire.html(article(ask.host, &links))
            }
            path => {
                let own = Random::of(1, &format!("{}{path}", ask.host)).words(60);
                wire.html(format!(
                    "<title>{own}</title><p>{} {own}",
                    "spam ".repeat(200)
                ))
            }
        })
    }),
    row("near-copies", |web, size| {
        let pages = size.of(50, 2_000);
        swarm(web, (size.of(4, 64), 64), move |wire, ask| match ask.path {
            "/robots.txt" => wire.missing(),
            "/" => {
                let links = numbered(pages, |n| format!("/{n}"));
                wire.html(article(ask.host, &links))
            }
            path => {
                let own = Random::of(2, &format!("{}{path}", ask.host)).words(8);
                wire.html(format!("<title>{own}</title><p>{} {own}", common()))
            }
        })
    }),
    row("controls", |web, size| {
        swarm(web, (size.of(16, 64), 64), |wire, ask| match ask.path {
            "/robots.txt" => wire.missing(),
            "/" => {
                let bad = "\u{1b}]0;PWN\u{7}\u{1b}[31m\u{202e}\u{9b}31m\u{0}\r\u{8}";
                let links = numbered(40, |n| format!("/%1b[31m{n}{bad}"));
                wire.answer(
                    "200 OK",
                    &[
                        "Content-Type: text/html; charset=\u{9b}31m",
                        "Set-Cookie: a=\u{1b}[31m; Domain=example",
                        "Set-Cookie: a=b; Domain=good0.example; Path=/",
                        "ETag: \"\u{9b}\u{1b}\"",
                    ],
                    article(bad, &links),
                )
            }
            _ => wire.answer("200 OK", &["Content-Type: \u{9b}\u{1b}[31m"], ask.path),
        })
    }),
    row("pages-without-end", |web, size| {
        swarm(web, (size.of(16, 64), 64), |wire, ask| match ask.path {
            "/robots.txt" => wire.missing(),
            path => {
                let path = path.trim_end_matches('/');
                let links = numbered(100, |n| format!("{path}/{n}"));
                wire.html(article(&format!("{}{path}", ask.host), &links))
            }
        })
    }),
];

/// A text of some length.
fn common() -> &'static str {
    static COMMON: OnceLock<String> = OnceLock::new();
    COMMON.get_or_init(|| Random::of(3, "common").prose(400))
}

/// A page of a host around something, which leads to more of them.
fn around(ask: &Ask<'_>, something: &str) -> String {
    let path = ask.path.trim_end_matches('/');
    let links = numbered(40, |n| format!("{path}/p{n}"));
    article(&format!("{}{path}", ask.host), &links) + something
}
