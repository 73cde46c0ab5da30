//! Whether all is in the archive that a player asks for.

use std::collections::BTreeSet;

use gleaner::archive::ReadRecord;
use scraper::{Html, Selector};

use super::{by_mode, crawl, css, image, with};
use crate::run::{gleaner, kind, run};
use crate::web::{Answer, Request, Site, Web};

/// What HTML, CSS and `srcset` name of a stored body, read in another way than the crawl does.
fn named(record: &ReadRecord) -> Vec<String> {
    let url = record
        .header("WARC-Target-URI")
        .expect("a response has one");
    let mut base = gleaner::url::parse(url).expect("it was requested");
    let (head, body) = record.http_parts().expect("it is a response");
    let head = String::from_utf8_lossy(head).to_ascii_lowercase();
    let body = String::from_utf8_lossy(body).into_owned();
    let mut named = Vec::new();
    let take_css = |css: &str, named: &mut Vec<String>| {
        for part in css.split("url(").skip(1) {
            let end = part.find(')').unwrap_or(part.len());
            named.push(part[..end].trim_matches(['"', '\'', ' ']).to_owned());
        }
        for part in css.split("@import '").skip(1) {
            named.push(part.split('\'').next().unwrap_or_default().to_owned());
        }
    };
    let is_html = body.contains("<html>");
    if is_html {
        let html = Html::parse_document(&body);
        let bases = Selector::parse("base").expect("it is one");
        let href = html.select(&bases).find_map(|it| it.attr("href"));
        base = href.map_or(base.clone(), |href| base.join(href).expect("it is one"));
        let each = |selector: &str, attribute: &str| {
            let selector = Selector::parse(selector).expect("it is one");
            let values = html.select(&selector).filter_map(|it| it.attr(attribute));
            values.map(str::to_owned).collect::<Vec<_>>()
        };
        named.extend(each(
            "img, script, source, iframe, video, audio, track, embed",
            "src",
        ));
        named.extend(each("link[rel~=stylesheet], link[rel~=icon]", "href"));
        named.extend(each("video", "poster"));
        named.extend(each("object", "data"));
        for set in each("img, source", "srcset") {
            let candidates = set.split(", ");
            named
                .extend(candidates.filter_map(|it| Some(it.split_whitespace().next()?.to_owned())));
        }
        for css in each("[style]", "style") {
            take_css(&css, &mut named);
        }
        let styles = Selector::parse("style").expect("it is one");
        for style in html.select(&styles) {
            take_css(&style.text().collect::<String>(), &mut named);
        }
    } else if head.contains("content-type: text/css") {
        take_css(&body, &mut named);
    }
    let urls = named
        .iter()
        .filter_map(|it| gleaner::url::join(&base, it).ok());
    urls.map(String::from).collect()
}

/// Offline, a player asks for nothing that the stored pages and style sheets name and that is not
/// there.
#[test]
fn everything_that_is_named_is_in_the_archive() {
    let home = "<style>@import '/in-style.css'; p { background: url('{host1}/p.png') }</style>\
        <link rel='stylesheet' href='/s.css'><link rel='shortcut icon' href='/icon.ico'>\
        <picture><source srcset='/a.avif, {host1}/b.avif 2x'><img src=/c.png srcset='/d.png 1x, /e.png 2x'></picture>\
        <video src=/v.mp4 poster=/poster.png><source src=/w.webm><track src=/t.vtt></video>\
        <audio src='{host1}/sound.ogg'></audio><object data='{host1}/o.svg'></object>\
        <embed src='{host1}/e.pdf'><p style='background: url(/inline.png)'>x</p>\
        <iframe src='{host1}/framed'></iframe><a href=/next>n</a><script src=/s.js></script>";
    let next = "<base href='/deep/'><img src=relative.png><link rel=icon href=/icon.ico>";
    let svg = "<svg xmlns='http://www.w3.org/2000/svg'><image href='/in-svg.png'/></svg>";
    let any = |request: &Request| match request.bare_path() {
        path if path.contains(".css") => {
            css("@import 'deeper/x.txt'; p { background: url(bg.png) }")
        }
        path if path.contains(".txt") => css("p { cursor: url(../cursor.cur), auto }"),
        path => image(path),
    };
    let web = Web::start(vec![
        Site::new()
            .page("/", with("home", home))
            .page("/next", with("next", next))
            .otherwise(any),
        Site::new()
            .page(
                "/framed",
                with("framed", "<link rel=stylesheet href=f.css><img src=f.png>"),
            )
            .page(
                "/o.svg",
                Answer::with_type(200, "image/svg+xml", svg.as_bytes().to_vec()),
            )
            .otherwise(any),
    ]);
    let (place, _) = crawl(&web, &by_mode("all"));
    let records = place.records();
    let responses = records.iter().filter(|it| kind(it) == "response");
    let mut named: BTreeSet<String> = responses.flat_map(named).collect();
    named.insert(web.url(1, "/in-svg.png"));
    assert!(named.len() >= 26, "{named:#?}");
    let file = place.warc();
    for url in named {
        let mut command = gleaner(&["warc", "get", "--url", &url]);
        command.arg(&file);
        run(command).expect(0);
    }
    // The site is no larger for it.
    assert_eq!(place.status().counters.pages, 2);
}
