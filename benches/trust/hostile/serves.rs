//! What a site's servers do until the end of a head, and how its bodies come.

use std::io::Write as _;
use std::sync::OnceLock;

use flate2::Compression;
use flate2::write::GzEncoder;

use super::good::{article, numbered};
use super::web::{self, Web, frame};
use super::{Row, Size, row, swarm};

pub(super) const ROWS: &[Row] = &[
    row("hangs", |web, size| {
        let hosts = size.of(200, 5_000);
        swarm(web, (hosts, addresses(size)), |wire, _| wire.hang())
    }),
    row("hangs-at-one-address", |web, size| {
        swarm(web, (size.of(200, 5_000), 1), |wire, _| wire.hang())
    }),
    row("drips-heads", |web, size| {
        swarm(web, (200, addresses(size)), |wire, _| {
            wire.send("HTTP/1.1 200 OK\r\n")?;
            wire.drip("X: y\r\n")
        })
    }),
    row("drips-bodies", |web, size| {
        swarm(web, (200, addresses(size)), |wire, ask| match ask.path {
            "/robots.txt" => wire.missing(),
            _ => {
                wire.head(
                    "200 OK",
                    &["Content-Type: text/html", "Content-Length: 99999"],
                )?;
                wire.drip("x")
            }
        })
    }),
    row("informational", |web, size| {
        swarm(web, (size.of(4, 64), 4), |wire, _| {
            wire.forever("HTTP/1.1 103\r\n\r\n")
        })
    }),
    row("endless-headers", |web, size| {
        swarm(web, (200, addresses(size)), |wire, _| {
            wire.send("HTTP/1.1 200 OK\r\n")?;
            wire.forever("X-More: to come\r\n")
        })
    }),
    row("endless-robots", |web, size| {
        swarm(
            web,
            (size.of(16, 200), addresses(size)),
            |wire, ask| match ask.path {
                "/robots.txt" => {
                    wire.head("200 OK", &["Content-Type: text/plain"])?;
                    wire.forever("Disallow: /x\n")
                }
                _ => wire.html(article(ask.host, &[])),
            },
        )
    }),
    row("endless-bodies", |web, size| {
        swarm(
            web,
            (size.of(16, 200), addresses(size)),
            |wire, ask| match ask.path {
                "/robots.txt" => wire.missing(),
                _ => {
                    wire.head("200 OK", &["Content-Type: text/html"])?;
                    wire.forever("<p>and so on ")
                }
            },
        )
    }),
    row("gzip-bombs", |web, size| {
        swarm(
            web,
            (size.of(4, 64), addresses(size)),
            |wire, ask| match ask.path {
                "/robots.txt" => wire.missing(),
                "/" => wire.html(article(ask.host, &numbered(40, |n| format!("/{n}")))),
                _ => wire.answer(
                    "200 OK",
                    &["Content-Type: text/html", "Content-Encoding: gzip"],
                    bomb(),
                ),
            },
        )
    }),
    row("http-2-pings", |web, size| {
        floods(web, size, &frame(6, 0, 0, &[7; 8]))
    }),
    row("http-2-settings", |web, size| {
        floods(web, size, &frame(web::SETTINGS, 0, 0, &[]))
    }),
    row("http-2-empty-frames", |web, size| {
        floods(web, size, &frame(0, 0, 1, &[]))
    }),
    row("http-2-window-updates", |web, size| {
        floods(web, size, &frame(8, 0, 0, &[0, 0, 0, 0]))
    }),
    row("http-2-unknown-frames", |web, size| {
        floods(web, size, &frame(0xfa, 0, 0, &[]))
    }),
];

/// The number of addresses of a hostile site.
fn addresses(size: Size) -> u8 {
    match size {
        Size::Small => 16,
        Size::Full => 64,
    }
}

/// A gibibyte of zeros in many members of gzip.
fn bomb() -> &'static [u8] {
    static BOMB: OnceLock<Vec<u8>> = OnceLock::new();
    BOMB.get_or_init(|| {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
        let zeros = vec![0; 8 << 20];
        encoder
            .write_all(&zeros)
            .expect("a vector takes every byte");
        let member = encoder.finish().expect("a vector takes every byte");
        member.repeat(128)
    })
}

/// Hosts that send these frames without end.
fn floods(web: &mut Web, size: Size, frames: &[u8]) -> Vec<String> {
    let names = numbered(size.of(2, 16), |n| format!("h{n}.hostile.example"));
    for name in &names {
        web.floods(name, frames.to_vec());
    }
    names
        .iter()
        .map(|name| format!("https://{name}/"))
        .collect()
}
