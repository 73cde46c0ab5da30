//! Misbehaviour of robots.txt and of sitemaps.

use std::io::{self, Write as _};

use flate2::Compression;
use flate2::write::GzEncoder;

use super::{Behaviour, Comes, Wire};
use Comes::{Forbids, Nothing};

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

pub(super) const ALL: &[Behaviour] = rows! {
    Robots "robots-200", Nothing, |wire| text(wire, RULES);
    Robots "robots-204", Nothing, |wire| wire.head("204 No Content", "");
    Robots "robots-400", Nothing, |wire| wire.answer("400 Bad Request", "", "x");
    Robots "robots-401", Nothing, |wire| wire.answer("401 Unauthorized", "", "x");
    Robots "robots-403", Nothing, |wire| wire.answer("403 Forbidden", "", "x");
    Robots "robots-404", Nothing, |wire| wire.answer("404 Not Found", "", "x");
    Robots "robots-410", Nothing, |wire| wire.answer("410 Gone", "", "x");
    Robots "robots-429", Forbids, |wire| wire.answer("429 Too Many Requests", "", "x");
    Robots "robots-451", Nothing, |wire| wire.answer("451 No", "", "x");
    Robots "robots-500", Forbids, |wire| wire.answer("500 Oops", "", "x");
    Robots "robots-503", Forbids, |wire| {
        wire.answer("503 Service Unavailable", "Retry-After: 86400000", "x")
    };
    Robots "robots-599", Forbids, |wire| wire.answer("599 What", "", "x");
    Robots "robots-redirects-to-itself", Nothing, |wire| wire.redirect("/robots.txt");
    Robots "robots-redirects-nowhere", Nothing, |wire| wire.answer("301 Moved", "", "x");
    Robots "robots-redirects-to-a-file", Nothing, |wire| wire.redirect("file:///etc/passwd");
    Robots "robots-redirects-to-the-nets", Nothing, |wire| {
        wire.redirect("http://10.0.0.1/robots.txt")
    };
    Robots "robots-redirects-to-metadata", Nothing, |wire| {
        wire.redirect("http://169.254.169.254/x")
    };
    Robots "robots-redirects-to-nothing", Nothing, |wire| wire.redirect("/gone.txt");
    Robots "robots-endless", Nothing, |wire| {
        wire.head("200 OK", "Content-Type: text/plain")?;
        wire.send(RULES)?;
        wire.forever("Disallow: /other\n")
    };
    Robots "robots-endless-line", Nothing, |wire| {
        wire.head("200 OK", "Content-Type: text/plain")?;
        wire.send(RULES)?;
        wire.forever("Disallow: /bad")
    };
    Robots "robots-drips", Forbids, |wire| {
        wire.head("200 OK", "Content-Type: text/plain")?;
        wire.drip("#")
    };
    Robots "robots-never-answers", Forbids, Wire::hang;
    Robots "robots-resets", Forbids, Wire::reset;
    Robots "robots-no-byte", Forbids, Wire::close;
    Robots "robots-no-http", Forbids, |wire| {
        wire.send("what?\r\n\r\n")?;
        wire.close()
    };
    Robots "robots-cut", Forbids, |wire| {
        wire.head("200 OK", "Content-Type: text/plain\nContent-Length: 5000")?;
        wire.send(RULES)?;
        wire.close()
    };
    Robots "robots-of-html", Nothing, |wire| wire.html("<!doctype html><title>Not found</title>");
    Robots "robots-of-noise", Nothing, |wire| {
        text(wire, [0, 1, 2, 0xFF, 0xFE, 10, 0x80].repeat(50_000))
    };
    Robots "robots-of-nuls", Nothing, |wire| {
        text(wire, vec![0; 1 << 20])
    };
    Robots "robots-bomb", Nothing, |wire| {
        let bomb = gzip(&b"Disallow: /bad\n".repeat(1 << 20)).repeat(20);
        wire.answer(
            "200 OK",
            "Content-Encoding: gzip\nContent-Type: text/plain",
            bomb,
        )
    };
    Robots "robots-with-mark", Nothing, |wire| text(wire, format!("\u{feff}{RULES}"));
    Robots "robots-in-old-lines", Nothing, |wire| text(wire, RULES.replace('\n', "\r"));
    Robots "robots-of-stars", Nothing, |wire| {
        text(
            wire,
            format!("User-agent: *\nDisallow: /{}$\n", "*a".repeat(5_000)).repeat(20),
        )
    };
    Robots "robots-of-groups", Nothing, |wire| {
        text(wire, "User-agent: x\nDisallow: /\n".repeat(20_000))
    };
    Robots "robots-slow-crawl", Nothing, |wire| {
        text(wire, "User-agent: *\nCrawl-delay: 99999999999\n")
    };
    Robots "robots-of-sitemaps", Nothing, |wire| {
        let lines: Vec<_> = (0..5_000)
            .map(|it| format!("Sitemap: http://10.0.0.1/{it}"))
            .collect();
        text(wire, lines.join("\n"))
    };
    Sitemap "sitemap-of-itself", Nothing, |wire| {
        let own = wire.url("/sitemap.xml");
        xml(
            wire,
            &format!("<sitemapindex><sitemap><loc>{own}</loc></sitemap></sitemapindex>"),
        )
    };
    Sitemap "sitemap-bomb", Nothing, |wire| {
        let urls = gzip(&b"<url><loc>/not/x</loc></url>".repeat(1 << 20)).repeat(20);
        let body = [gzip(b"<urlset>"), urls].concat();
        wire.answer("200 OK", "Content-Type: application/gzip", body)
    };
    Sitemap "sitemap-of-entities", Nothing, |wire| {
        let mut text = "<!DOCTYPE x [<!ENTITY a \"aaaaaaaaaa\">]><urlset>".to_owned();
        text += &"<url><loc>http://10.0.0.1/&a;&b;&#x41;</loc></url>".repeat(1_000);
        xml(wire, &text)
    };
    Sitemap "sitemap-endless", Nothing, |wire| {
        wire.head("200 OK", "Content-Type: application/xml")?;
        wire.send("<urlset>")?;
        wire.forever("<url><loc>http://sitemap-endless.example/not/x</loc></url>")
    };
    Sitemap "sitemap-of-the-nets", Nothing, |wire| {
        let entries = super::FORBIDDEN.map(|host| format!("<url><loc>http://{host}/x</loc></url>"));
        xml(wire, &format!("<urlset>{}</urlset>", entries.concat()))
    };
    Sitemap "sitemap-deep", Nothing, |wire| xml(wire, &"<urlset>".repeat(200_000));
    Sitemap "sitemap-of-noise", Nothing, |wire| {
        wire.answer(
            "200 OK",
            "Content-Type: application/gzip",
            [0x1f, 0x8b, 8, 0, 0xFF].repeat(10_000),
        )
    };
    Sitemap "sitemap-redirects", Nothing, |wire| wire.redirect("http://10.0.0.1/sitemap.xml");
    Sitemap "sitemap-drips", Nothing, |wire| {
        wire.head("200 OK", "Content-Type: application/xml")?;
        wire.drip("<urlset>")
    };
};
