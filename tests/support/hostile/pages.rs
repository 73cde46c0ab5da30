//! Misbehaviour that is proper HTTP: redirects, statuses, and what pages hold.

use std::fmt::Write as _;
use std::io;

use super::{Behaviour, Comes, Wire};
use Comes::{Leads, Noted, Nothing, Titled, Waits, Whole};

/// A page that leads on, around something.
fn around(wire: &mut Wire, something: &str) -> io::Result<()> {
    wire.html(format!(
        "<!doctype html><title>around</title><p><a href=/led>on</a>{something}<p>the end"
    ))
}

/// A page of links to these.
fn linking(wire: &mut Wire, targets: &[&str]) -> io::Result<()> {
    let mut html = "<!doctype html><title>links</title><p>".to_owned();
    for target in targets {
        let _ = write!(html, "<a href=\"{target}\">x</a> ");
    }
    wire.html(html)
}

/// Links to everything that is nobody's business.
fn tempting(wire: &mut Wire) -> io::Result<()> {
    let targets: Vec<String> = super::FORBIDDEN
        .iter()
        .flat_map(|host| [format!("http://{host}/x"), format!("https://{host}/x")])
        .collect();
    let targets: Vec<&str> = targets.iter().map(String::as_str).collect();
    linking(wire, &targets)
}

/// A page in an encoding, as it says or not.
fn encoded(wire: &mut Wire, declared: &str, body: &[u8]) -> io::Result<()> {
    wire.answer(
        "200 OK",
        &format!("Content-Type: text/html{declared}"),
        body,
    )
}

fn utf_16(text: &str) -> Vec<u8> {
    text.encode_utf16().flat_map(u16::to_le_bytes).collect()
}

fn noise(bytes: usize) -> Vec<u8> {
    let mut random = crate::web::Random::new(9);
    (0..bytes / 8)
        .flat_map(|_| random.next_bits().to_le_bytes())
        .collect()
}

pub(super) const ALL: &[Behaviour] = rows! {
    // Redirects.
    Page "redirects-to-itself", Whole(302), |wire| wire.redirect("/bad");
    Page "redirects-in-a-circle", Whole(302), |wire| {
        let to = if wire.path == "/bad" { "/bad2" } else { "/bad" };
        wire.redirect(to)
    };
    Page "redirects-for-ever", Whole(302), |wire| {
        let to = format!("{}1", wire.path);
        wire.redirect(&to)
    };
    Page "redirects-well", Leads, |wire| wire.redirect("/led");
    Page "redirects-to-a-file", Whole(302), |wire| wire.redirect("file:///etc/passwd");
    Page "redirects-to-a-script", Whole(302), |wire| wire.redirect("javascript:alert(1)");
    Page "redirects-to-data", Whole(302), |wire| wire.redirect("data:text/html,<p>x");
    Page "redirects-to-gopher", Whole(302), |wire| wire.redirect("gopher://127.0.0.1:70/x");
    Page "redirects-nowhere", Whole(302), |wire| wire.answer("302 Found", "", "x");
    Page "redirects-emptily", Whole(302), |wire| wire.redirect("");
    Page "redirects-to-nonsense", Whole(302), |wire| wire.redirect("http://[::1");
    Page "redirects-to-bad-port", Whole(302), |wire| wire.redirect("http://a.example:99999/");
    Page "redirects-to-the-nets", Titled(200, "links"), |wire| {
        let number = wire.path.trim_start_matches("/bad");
        if let Ok(number) = number.parse::<usize>() {
            return wire.redirect(&format!("http://{}/x", super::FORBIDDEN[number]));
        }
        let all: Vec<_> = (0..super::FORBIDDEN.len())
            .map(|it| format!("/bad{it}"))
            .collect();
        linking(wire, &all.iter().map(String::as_str).collect::<Vec<_>>())
    };
    Page "redirects-to-metadata", Whole(302), |wire| {
        wire.redirect("http://169.254.169.254/latest/meta-data/")
    };
    Page "redirects-to-loopback", Whole(302), |wire| wire.redirect("http://[::1]/x");
    Page "redirects-to-a-number", Whole(302), |wire| wire.redirect("http://2130706433/x");
    Page "redirects-to-octal", Whole(302), |wire| wire.redirect("http://0177.0.0.1/x");
    Page "redirects-with-a-name", Whole(302), |wire| wire.redirect("http://good@10.0.0.1/x");
    Page "redirects-in-raw-bytes", Leads, |wire| {
        match wire.path.as_str() {
            "/bad" => wire.send(
                b"HTTP/1.1 302 Found\r\nLocation: /bad-\xe9\xff\r\nContent-Length: 0\r\n\r\n",
            ),
            "/bad-%E9%FF" => around(wire, ""),
            _ => wire.answer("404 Not Found", "", "none"),
        }
    };
    Page "redirects-twice-at-once", Whole(302), |wire| {
        wire.answer(
            "302 Found",
            "Location: /led\nLocation: http://10.0.0.1/x",
            "x",
        )
    };
    Page "redirects-far", Whole(302), |wire| {
        let far = format!("/{}", "x".repeat(30_000));
        wire.redirect(&far)
    };
    Page "redirects-endlessly", Noted(302, "cut:"), |wire| {
        wire.head("302 Found", "Location: /led\nContent-Type: text/html")?;
        wire.forever("<p>moved ")
    };
    Page "refreshes-itself", Titled(200, "again"), |wire| {
        wire.html("<title>again</title><meta http-equiv=refresh content='0; url=/bad'>again")
    };
    Page "refreshes-elsewhere", Titled(200, "off"), |wire| {
        wire.html(
            "<title>off</title><meta http-equiv=refresh content='0; url=http://10.0.0.1/x'>off",
        )
    };
    // Statuses.
    Page "too-many-requests", Whole(429), |wire| {
        wire.answer("429 Too Many Requests", "", "slow down")
    };
    Page "back-in-a-year", Waits, |wire| {
        wire.answer("503 Service Unavailable", "Retry-After: 31536000", "later")
    };
    Page "back-before", Whole(503), |wire| {
        wire.answer("503 Service Unavailable", "Retry-After: -1", "later")
    };
    Page "back-some-time", Whole(503), |wire| {
        wire.answer("503 Service Unavailable", "Retry-After: soon", "later")
    };
    Page "back-in-9999", Whole(503), |wire| {
        wire.answer(
            "503 Service Unavailable",
            "Retry-After: Fri, 31 Dec 9999 23:59:59 GMT",
            "later",
        )
    };
    Page "back-in-eternity", Waits, |wire| {
        let eternity = format!("Retry-After: {}", u64::MAX);
        wire.answer("503 Service Unavailable", &eternity, "later")
    };
    Page "wants-a-password", Whole(401), |wire| {
        wire.answer(
            "401 Unauthorized",
            "WWW-Authenticate: Basic realm=\"x\"",
            "who?",
        )
    };
    Page "wants-a-proxy", Whole(407), |wire| {
        wire.answer(
            "407 Proxy Authentication Required",
            "Proxy-Authenticate: Basic",
            "who?",
        )
    };
    Page "fails-inside", Whole(500), |wire| wire.answer("500 Oops", "", "oops");
    Page "is-a-teapot", Whole(418), |wire| wire.answer("418 Teapot", "", "tea");
    // Types.
    Page "picture-as-page", Whole(200), |wire| {
        wire.html([b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR", &noise(4_000)[..]].concat())
    };
    Page "noise-as-page", Nothing, |wire| wire.html(noise(1 << 20));
    Page "page-as-picture", Whole(200), |wire| {
        wire.answer(
            "200 OK",
            "Content-Type: image/png",
            "<p><a href=/bad-link>x</a>",
        )
    };
    Page "page-of-no-type", Leads, |wire| {
        wire.answer(
            "200 OK",
            "",
            "<!doctype html><title>x</title><a href=/led>x</a>",
        )
    };
    Page "type-of-nonsense", Leads, |wire| {
        wire.answer(
            "200 OK",
            "Content-Type: ;;,=",
            "<!doctype html><title>x</title><a href=/led>x</a>",
        )
    };
    Page "archive-as-page", Whole(200), |wire| {
        wire.html([b"PK\x03\x04\x14\0\0\0", &noise(4_000)[..]].concat())
    };
    Page "entities-in-xml", Whole(200), |wire| {
        let mut xml = "<?xml version=\"1.0\"?><!DOCTYPE x [<!ENTITY a0 \"lol\">".to_owned();
        for level in 1..20 {
            let inner = format!("&a{};", level - 1).repeat(10);
            let _ = write!(xml, "<!ENTITY a{level} \"{inner}\">");
        }
        xml.push_str("]><urlset><url><loc>&a19;</loc></url></urlset>");
        wire.answer("200 OK", "Content-Type: application/xml", xml)
    };
    // Encodings.
    Page "charset-unheard-of", Titled(200, "grün"), |wire| {
        encoded(
            wire,
            "; charset=klingon",
            "<title>grün</title><p>grün".as_bytes(),
        )
    };
    Page "charset-wrong", Titled(200, "Съешь ещё булок"), |wire| {
            let (bytes, _, _) = encoding_rs::WINDOWS_1251
                .encode("<title>Съешь ещё булок</title><p>Съешь ещё этих мягких французских булок");
            encoded(wire, "; charset=utf-8", &bytes)
        };
    Page "charset-wrongly-latin", Titled(200, "grün, größer"), |wire| {
            encoded(
                wire,
                "; charset=iso-8859-1",
                "<title>grün, größer</title><p>größer".as_bytes(),
            )
        };
    Page "charset-of-two-minds", Titled(200, "春はあけぼの"), |wire| {
            let page = "<meta charset=shift_jis><title>春はあけぼの</title><p>春はあけぼの。やうやう白くなりゆく山ぎは";
            encoded(
                wire,
                "; charset=utf-8",
                &encoding_rs::SHIFT_JIS.encode(page).0,
            )
        };
    // The query in the encoding of the page (URL standard, section 4.4).
    Page "charset-legacy", Leads, |wire| match wire.path.as_str() {
        "/bad" => {
            let page = "<meta charset=gbk><title>x</title><a href='/bad?q=春&x=%E9'>x</a>";
            encoded(wire, "", &encoding_rs::GBK.encode(page).0)
        }
        "/bad?q=%B4%BA&x=%E9" => around(wire, ""),
        _ => wire.answer("404 Not Found", "", "none"),
    };
    Page "wide-without-mark", Leads, |wire| {
        encoded(
            wire,
            "",
            &utf_16("<!doctype html><title>wide</title><a href=/led>x</a>"),
        )
    };
    Page "wide-with-mark", Leads, |wire| {
        encoded(
            wire,
            "; charset=utf-8",
            &utf_16("\u{feff}<!doctype html><title>wide</title><a href=/led>x</a>"),
        )
    };
    Page "wide-cut", Titled(200, "wide"), |wire| {
        let mut bytes = utf_16("\u{feff}<title>wide</title><p>\u{1f600}");
        bytes.pop();
        encoded(wire, "", &bytes)
    };
    Page "wide-by-lie", Titled(200, "narrow"), |wire| {
        encoded(wire, "", b"<meta charset=utf-16><title>narrow</title>")
    };
    Page "full-of-nuls", Leads, |wire| around(wire, &"\0a".repeat(100_000));
    Page "only-nuls", Whole(200), |wire| wire.html(vec![0; 1 << 20]);
    // Size.
    Page "million-links", Noted(200, "LinksCut"), |wire| {
        let mut html = "<!doctype html><title>links</title><a href=/led>on</a>".to_owned();
        for number in 0..1_000_000 {
            let _ = write!(html, "<a href=/not/{number}>");
        }
        wire.html(html)
    };
    Page "million-times-one-link", Leads, |wire| {
        around(wire, &"<a href=/led>x</a>".repeat(1_000_000))
    };
    Page "links-of-a-megabyte", Leads, |wire| {
        around(
            wire,
            &format!("<a href=/not/{}>x</a>", "x".repeat(50_000)).repeat(40),
        )
    };
    Page "deep", Leads, |wire| around(wire, &"<div>".repeat(100_000));
    Page "deep-lists", Leads, |wire| around(wire, &"<ul><li>".repeat(125_000));
    Page "deep-below", Leads, |wire| {
        wire.html(
            "<title>deep</title>".to_owned() + &"<div>".repeat(100_000) + "<a href=/led>on</a>",
        )
    };
    Page "deep-tables", Leads, |wire| around(wire, &"<table><tr><td>".repeat(70_000));
    Page "unclosed", Leads, |wire| around(wire, &"<p><b><i><font size=1>".repeat(50_000));
    Page "attribute-flood", Leads, |wire| {
        let mut tag = "<p".to_owned();
        for number in 0..150_000 {
            let _ = write!(tag, " a{number}");
        }
        around(wire, &(tag + ">"))
    };
    Page "attribute-without-end", Leads, |wire| {
        around(wire, &format!("<p a='{}", "x".repeat(5 << 20)))
    };
    Page "comment-without-end", Leads, |wire| {
        around(wire, &format!("<!-- {}", "- ".repeat(1 << 20)))
    };
    Page "entity-flood", Leads, |wire| {
        around(
            wire,
            &"&amp;&#x10ffff;&#99999999999;&notit;".repeat(100_000),
        )
    };
    Page "giant-title", Leads, |wire| {
        wire.html(format!(
            "<title>{}</title><a href=/led>on</a>",
            "giant ".repeat(1 << 20)
        ))
    };
    Page "giant-word", Leads, |wire| around(wire, &"x".repeat(8 << 20));
    Page "giant-blank", Leads, |wire| around(wire, &" \n\t".repeat(2 << 20));
    Page "giant-script", Leads, |wire| {
        around(
            wire,
            &format!("<script>{}</script>", "x<!--<script>".repeat(300_000)),
        )
    };
    Page "giant-drawing", Leads, |wire| {
        around(
            wire,
            &format!("<svg>{}</svg>", "<g><path d=x>".repeat(200_000)),
        )
    };
    Page "stacked-marks", Leads, |wire| around(wire, &"e\u{301}\u{301}".repeat(500_000));
    Page "giant-data", Leads, |wire| {
        let json = "[".repeat(500_000);
        around(
            wire,
            &format!("<script type=application/ld+json>{json}</script>"),
        )
    };
    // Traps.
    Page "calendar", Nothing, |wire| {
        let day: usize = wire
            .path
            .rsplit('=')
            .next()
            .and_then(|it| it.parse().ok())
            .unwrap_or(0);
        wire.html(format!(
            "<title>day {day}</title><a href='/bad?day={}'>next</a>",
            day + 1
        ))
    };
    Page "frames-of-frames", Nothing, |wire| {
        let inner = format!("{}/x", wire.path);
        wire.html(format!(
            "<title>{inner}</title><iframe src='{inner}'></iframe><frameset><frame src='{inner}/y'>"
        ))
    };
    Page "relative-without-end", Nothing, |wire| {
        wire.html("<title>deeper</title><a href='bad/deeper/'>on</a><a href='../bad/x/'>on</a>")
    };
    Page "base-of-a-script", Leads, |wire| {
        wire.html("<base href='javascript:alert(1)'><title>x</title><a href=/led>on</a>")
    };
    Page "base-elsewhere", Titled(200, "x"), |wire| {
        wire.html("<base href='http://10.0.0.1/'><title>x</title><a href=/bad-link>on</a>")
    };
    Page "canonical-elsewhere", Titled(200, "x"), |wire| {
        wire.html("<link rel=canonical href='http://10.0.0.1/'><title>x</title>")
    };
    Page "links-to-the-nets", Titled(200, "links"), tempting;
    Page "links-of-all-kinds", Leads, |wire| {
        linking(
            wire,
            &[
                "/led",
                "mailto:a@b.example",
                "tel:1",
                "javascript:x()",
                "file:///etc/passwd",
                "ftp://127.0.0.1/",
                "ws://127.0.0.1/",
                "http://",
                "//",
                "http://%00/",
                "http://a b/",
                "\u{0}",
                "http:",
                "http://[::1",
            ],
        )
    };
};
