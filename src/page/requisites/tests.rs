//! What is found in pages and style sheets, against small ones of each kind.

use proptest::prelude::*;

use super::*;
use crate::url::{Canonicalizer, Secret, parse};

const BASE: &str = "https://example.org/dir/";

fn identity() -> Identity {
    Identity::new(
        Canonicalizer::default(),
        Secret::from_bytes([7; Secret::LEN]),
    )
}

fn of(html: &str, is_page: bool, most: usize) -> Requisites {
    let url = parse("https://example.org/dir/page.html").unwrap();
    let options = PageOptions::default();
    Requisites::of_html(&html.into(), (&url, is_page), most, &identity(), &options)
}

/// What is found, relative to the directory of the page, each with the first letter of its kind.
fn found(requisites: &Requisites) -> Vec<String> {
    let list = requisites.list.iter();
    list.map(|it| {
        let url = it.url.strip_prefix(BASE).unwrap_or(&it.url);
        let kind = match it.kind {
            RequisiteKind::File => 'f',
            RequisiteKind::Style => 's',
            RequisiteKind::Document => 'd',
        };
        format!("{kind} {url}")
    })
    .collect()
}

#[track_caller]
fn check(html: &str, expected: &[&str]) {
    assert_eq!(found(&of(html, false, 100)), expected, "{html}");
}

#[test]
fn images_with_all_their_candidates() {
    check("<img src=a.png>", &["f a.png"]);
    check(
        "<img src=a.png srcset='b.png 1x, c.png 2x'>",
        &["f a.png", "f b.png", "f c.png"],
    );
    check(
        "<picture><source srcset='a.avif, b.avif 2x'><img src=c.png></picture>",
        &["f a.avif", "f b.avif", "f c.png"],
    );
    check(
        "<input type=image src=a.png><image src=b.png>",
        &["f a.png", "f b.png"],
    );
    check(
        "<body background=a.png><table background=b.png>",
        &["f a.png", "f b.png"],
    );
    check(
        "<svg><image href=a.png /><use xlink:href='b.svg#x'/></svg>",
        &["f a.png", "f b.svg"],
    );
    check("<svg><use href='#x'/></svg><img src=''><img src=' '>", &[]);
    check(
        "<img src='data:image/png;base64,AAAA'><img src=DATA:,x>",
        &[],
    );
}

#[test]
fn style_sheets_and_what_they_name() {
    check("<link rel=stylesheet href=a.css>", &["s a.css"]);
    check("<link rel='Alternate STYLESHEET' href=a.css>", &["s a.css"]);
    check("<link rel=preload as=style href=a.css>", &["s a.css"]);
    // What is read of it most counts.
    check(
        "<link rel=preload href=a.css><link rel=stylesheet href=a.css>",
        &["s a.css"],
    );
    check(
        "<style>@import 'a.css'; p { background: url(b.png) }</style>",
        &["s a.css", "f b.png"],
    );
    check("<p style=\"background: url('a.png')\">", &["f a.png"]);
    check(
        "<p style='background: url(&quot;a.png&quot;)'>",
        &["f a.png"],
    );
}

#[test]
fn scripts_media_icons_frames_and_plug_ins() {
    check(
        "<script src=a.js></script><script type=module src=b.mjs></script>",
        &["f a.js", "f b.mjs"],
    );
    check(
        "<video src=a.mp4 poster=b.png><source src=c.mp4><track src=d.vtt></video><audio src=e.mp3>",
        &["f a.mp4", "f b.png", "f c.mp4", "f d.vtt", "f e.mp3"],
    );
    check(
        "<iframe src=a.html></iframe><frame src=b.html>",
        &["d a.html", "d b.html"],
    );
    check(
        "<object data=a.svg></object><embed src=b.pdf>",
        &["d a.svg", "d b.pdf"],
    );
    check(
        "<link rel='shortcut icon' href=a.ico><link rel=apple-touch-icon href=b.png><link rel=manifest href=c.json>",
        &["f a.ico", "f b.png", "f c.json"],
    );
    check(
        "<link rel=preload as=image href=a.png imagesrcset='b.png 2x'><link rel=modulepreload href=c.js>",
        &["f a.png", "f b.png", "f c.js"],
    );
    // A frame within an attribute takes the place of its address.
    check(
        "<iframe src=a.html srcdoc='<img src=b.png>'></iframe>",
        &["f b.png"],
    );
    check(
        "<noscript><img src=a.png></noscript><template><img src=b.png></template>",
        &["f a.png", "f b.png"],
    );
}

#[test]
fn what_is_no_requisite() {
    check(
        "<a href=a.png>a</a><area href=b><form action=c></form>",
        &[],
    );
    check(
        "<meta property='og:image' content=a.png><link rel=canonical href=b>",
        &[],
    );
    check(
        "<link rel=next href=a><link rel=prefetch href=b><link rel=dns-prefetch href=//c/>",
        &[],
    );
    check(
        "<script>var x = '<img src=a.png>'</script><!-- <img src=b.png> -->",
        &[],
    );
    check(
        "<img src='mailto:a@b'><img src='javascript:x'><iframe src='about:blank'></iframe>",
        &[],
    );
    check("<img src=page.html><iframe src='#top'></iframe>", &[]);
}

#[test]
fn references_are_relative_to_the_base_wherever_that_stands() {
    check(
        "<img src=a.png><base href=/x/><base href=/y/><style>p{background:url(b.png)}</style>",
        &[
            "f https://example.org/x/a.png",
            "f https://example.org/x/b.png",
        ],
    );
    check(
        "<img src='//other.example/a.png'>",
        &["f https://other.example/a.png"],
    );
    // The query is in the encoding of the page.
    let text = charset::to_text(b"<meta charset=iso-8859-1><img src='a?\xe9'>", None);
    let url = parse("https://example.org/dir/page.html").unwrap();
    let options = PageOptions::default();
    let all = Requisites::of_html(&text, (&url, false), 9, &identity(), &options);
    assert_eq!(found(&all), ["f a?%E9"]);
}

/// A player asks for what is written, so two forms of one page are two files.
#[test]
fn each_url_counts_once_as_it_is_written() {
    check(
        "<img src=a.png><img src='./a.png'><img src='a.png#x'>",
        &["f a.png"],
    );
    check(
        "<img src='a?b=1&amp;c=2'><img src='a?c=2&amp;b=1'>",
        &["f a?b=1&c=2", "f a?c=2&b=1"],
    );
    check(
        "<img src='a?utm_source=x'><img src=a>",
        &["f a?utm_source=x", "f a"],
    );
}

#[test]
fn a_page_without_an_icon_has_the_usual_one() {
    let icon = "f https://example.org/favicon.ico";
    assert_eq!(found(&of("<p>x", true, 9)), [icon]);
    assert_eq!(found(&of("<p>x", false, 9)), [] as [&str; 0]);
    assert_eq!(
        found(&of("<link rel=icon href=a.ico>", true, 9)),
        ["f a.ico"]
    );
    assert_eq!(
        found(&of("<link rel=apple-touch-icon href=a>", true, 9)),
        ["f a", icon]
    );
}

#[test]
fn what_is_too_much_is_counted() {
    let html = "<img src=a><img src=b><img src=a><img src=c><img src=d>";
    let all = of(html, false, 2);
    assert_eq!(
        (found(&all), all.more),
        (vec!["f a".to_owned(), "f b".to_owned()], 2)
    );
    let mut many = String::new();
    for number in 0..3_000 {
        many.extend(["<img src=", &number.to_string(), &"x".repeat(2_000), ">"]);
    }
    let all = of(&many, false, 10_000);
    assert!(
        all.list.len() > 1_500 && all.more > 500,
        "{}",
        all.list.len()
    );
}

#[test]
fn a_style_sheet_is_its_own_base() {
    let url = parse("https://example.org/css/a.css").unwrap();
    let css = "@import 'b.css'; @import 'a.css'; p { background: url(../c.png) }";
    let options = PageOptions::default();
    let all = Requisites::of_css(css, &url, 9, &identity(), &options);
    let urls: Vec<_> = all.list.iter().map(|it| (&*it.url, it.kind)).collect();
    let expected = [
        ("https://example.org/css/b.css", RequisiteKind::Style),
        ("https://example.org/c.png", RequisiteKind::File),
    ];
    assert_eq!(urls, expected);
}

proptest! {
    /// No page causes a panic.
    #[test]
    fn anything_may_be_read(html in "(<img src=|<style>|<base href=|<iframe srcdoc='|<link rel=|url\\(|srcset=|[\"'>/ ,;]|\\PC){0,40}") {
        of(&html, true, 9);
    }
}
