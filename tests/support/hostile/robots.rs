//! Misbehaviour of robots.txt and of sitemaps.

use std::io::{self, Write as _};

use flate2::Compression;
use flate2::write::GzEncoder;

use super::{At, Behaviour, Comes, Wire};
use Comes::{Forbids, Nothing};

const fn robots(
    name: &'static str,
    comes: Comes,
    serve: fn(&mut Wire) -> io::Result<()>,
) -> Behaviour {
    Behaviour::at(At::Robots, name, comes, serve)
}

const fn sitemap(name: &'static str, serve: fn(&mut Wire) -> io::Result<()>) -> Behaviour {
    Behaviour::at(At::Sitemap, name, Nothing, serve)
}

/// Rules that leave the good page out of what they forbid.
const RULES: &str = "User-agent: *\nDisallow: /bad\n";

fn text(wire: &mut Wire, body: impl AsRef<[u8]>) -> io::Result<()> {
    wire.answer("200 OK", "Content-Type: text/plain", body)
}

fn xml(wire: &mut Wire, body: &str) -> io::Result<()> {
    wire.answer("200 OK", "Content-Type: application/xml", body)
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(bytes).expect("a vector takes every byte");
    encoder.finish().expect("a vector takes every byte")
}

pub(super) const ALL: &[Behaviour] = &[
    robots("robots-200", Nothing, |wire| text(wire, RULES)),
    robots("robots-204", Nothing, |wire| {
        wire.head("204 No Content", "")
    }),
    robots("robots-400", Nothing, |wire| {
        wire.answer("400 Bad Request", "", "x")
    }),
    robots("robots-401", Nothing, |wire| {
        wire.answer("401 Unauthorized", "", "x")
    }),
    robots("robots-403", Nothing, |wire| {
        wire.answer("403 Forbidden", "", "x")
    }),
    robots("robots-404", Nothing, |wire| {
        wire.answer("404 Not Found", "", "x")
    }),
    robots("robots-410", Nothing, |wire| {
        wire.answer("410 Gone", "", "x")
    }),
    robots("robots-429", Forbids, |wire| {
        wire.answer("429 Too Many Requests", "", "x")
    }),
    robots("robots-451", Nothing, |wire| wire.answer("451 No", "", "x")),
    robots("robots-500", Forbids, |wire| {
        wire.answer("500 Oops", "", "x")
    }),
    robots("robots-503", Forbids, |wire| {
        wire.answer("503 Service Unavailable", "Retry-After: 86400000", "x")
    }),
    robots("robots-599", Forbids, |wire| {
        wire.answer("599 What", "", "x")
    }),
    robots("robots-redirects-to-itself", Nothing, |wire| {
        wire.redirect("/robots.txt")
    }),
    robots("robots-redirects-nowhere", Nothing, |wire| {
        wire.answer("301 Moved", "", "x")
    }),
    robots("robots-redirects-to-a-file", Nothing, |wire| {
        wire.redirect("file:///etc/passwd")
    }),
    robots("robots-redirects-to-the-nets", Nothing, |wire| {
        wire.redirect("http://10.0.0.1/robots.txt")
    }),
    robots("robots-redirects-to-metadata", Nothing, |wire| {
        wire.redirect("http://169.254.169.254/x")
    }),
    robots("robots-redirects-to-nothing", Nothing, |wire| {
        wire.redirect("/gone.txt")
    }),
    robots("robots-endless", Nothing, |wire| {
        wire.head("200 OK", "Content-Type: text/plain")?;
        wire.send(RULES)?;
        wire.forever("Disallow: /other\n")
    }),
    robots("robots-endless-line", Nothing, |wire| {
        wire.head("200 OK", "Content-Type: text/plain")?;
        wire.send(RULES)?;
        wire.forever("Disallow: /bad")
    }),
    robots("robots-drips", Forbids, |wire| {
        wire.head("200 OK", "Content-Type: text/plain")?;
        wire.drip("#")
    }),
    robots("robots-never-answers", Forbids, Wire::hang),
    robots("robots-resets", Forbids, Wire::reset),
    robots("robots-no-byte", Forbids, Wire::close),
    robots("robots-no-http", Forbids, |wire| {
        wire.send("what?\r\n\r\n")?;
        wire.close()
    }),
    robots("robots-cut", Forbids, |wire| {
        wire.head("200 OK", "Content-Type: text/plain\nContent-Length: 5000")?;
        wire.send(RULES)?;
        wire.close()
    }),
    robots("robots-of-html", Nothing, |wire| {
        wire.html("<!doctype html><title>Not found</title>")
    }),
    robots("robots-of-noise", Nothing, |wire| {
        text(wire, [0, 1, 2, 0xFF, 0xFE, 10, 0x80].repeat(50_000))
    }),
    robots("robots-of-nuls", Nothing, |wire| {
        text(wire, vec![0; 1 << 20])
    }),
    robots("robots-bomb", Nothing, |wire| {
        let bomb = gzip(&b"Disallow: /bad\n".repeat(1 << 20)).repeat(20);
        wire.answer(
            "200 OK",
            "Content-Encoding: gzip\nContent-Type: text/plain",
            bomb,
        )
    }),
    robots("robots-with-mark", Nothing, |wire| {
        text(wire, format!("\u{feff}{RULES}"))
    }),
    robots("robots-in-old-lines", Nothing, |wire| {
        text(wire, RULES.replace('\n', "\r"))
    }),
    robots("robots-of-stars", Nothing, |wire| {
        text(
            wire,
            format!("User-agent: *\nDisallow: /{}$\n", "*a".repeat(5_000)).repeat(20),
        )
    }),
    robots("robots-of-groups", Nothing, |wire| {
        text(wire, "User-agent: x\nDisallow: /\n".repeat(20_000))
    }),
    robots("robots-slow-crawl", Nothing, |wire| {
        text(wire, "User-agent: *\nCrawl-delay: 99999999999\n")
    }),
    robots("robots-of-sitemaps", Nothing, |wire| {
        let lines: Vec<_> = (0..5_000)
            .map(|it| format!("Sitemap: http://10.0.0.1/{it}"))
            .collect();
        text(wire, lines.join("\n"))
    }),
    sitemap("sitemap-of-itself", |wire| {
        let own = wire.url("/sitemap.xml");
        xml(
            wire,
            &format!("<sitemapindex><sitemap><loc>{own}</loc></sitemap></sitemapindex>"),
        )
    }),
    sitemap("sitemap-bomb", |wire| {
        let urls = gzip(&b"<url><loc>/not/x</loc></url>".repeat(1 << 20)).repeat(20);
        let body = [gzip(b"<urlset>"), urls].concat();
        wire.answer("200 OK", "Content-Type: application/gzip", body)
    }),
    sitemap("sitemap-of-entities", |wire| {
        let mut text = "<!DOCTYPE x [<!ENTITY a \"aaaaaaaaaa\">]><urlset>".to_owned();
        text += &"<url><loc>http://10.0.0.1/&a;&b;&#x41;</loc></url>".repeat(1_000);
        xml(wire, &text)
    }),
    sitemap("sitemap-endless", |wire| {
        wire.head("200 OK", "Content-Type: application/xml")?;
        wire.send("<urlset>")?;
        wire.forever("<url><loc>http://sitemap-endless.example/not/x</loc></url>")
    }),
    sitemap("sitemap-of-the-nets", |wire| {
        let entries = super::FORBIDDEN.map(|host| format!("<url><loc>http://{host}/x</loc></url>"));
        xml(wire, &format!("<urlset>{}</urlset>", entries.concat()))
    }),
    sitemap("sitemap-deep", |wire| {
        xml(wire, &"<urlset>".repeat(200_000))
    }),
    sitemap("sitemap-of-noise", |wire| {
        wire.answer(
            "200 OK",
            "Content-Type: application/gzip",
            [0x1f, 0x8b, 8, 0, 0xFF].repeat(10_000),
        )
    }),
    sitemap("sitemap-redirects", |wire| {
        wire.redirect("http://10.0.0.1/sitemap.xml")
    }),
    sitemap("sitemap-drips", |wire| {
        wire.head("200 OK", "Content-Type: application/xml")?;
        wire.drip("<urlset>")
    }),
];
