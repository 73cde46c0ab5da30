//! Tests of lines, headlines and layouts: what keeps two pages apart, and what does not.

use super::Role::{Data, Form, Frame, Headline, Image, Link, Main};
use super::*;
use crate::page::{Page, PageOptions};
use crate::url::{Canonicalizer, Identity, Secret, parse};

const URL: &str = "https://example.org/dir/page";

fn parts_of(url: &str, html: &str) -> Parts {
    let identity = Identity::new(
        Canonicalizer::default(),
        Secret::from_bytes([7; Secret::LEN]),
    );
    let url = parse(url).unwrap();
    Page::parse_html(html, &url, &identity, &PageOptions::default()).parts
}

fn hashes(url: &str, html: &str) -> Vec<u64> {
    let lines = parts_of(url, html).lines;
    lines.iter().map(|line| line.hash).collect()
}

fn masked(url: &str, html: &str) -> Vec<u64> {
    let lines = parts_of(url, html).lines;
    lines.iter().map(|line| line.masked).collect()
}

/// The two pages have this many lines that differ.
fn check_differ(one: &str, other: &str, expected: usize) {
    let (one_lines, other_lines) = (hashes(URL, one), hashes(URL, other));
    assert_eq!(one_lines.len(), other_lines.len(), "{one}\n{other}");
    let pairs = one_lines.iter().zip(&other_lines);
    let differ = pairs.filter(|(one, other)| one != other).count();
    assert_eq!(differ, expected, "{one}\n{other}");
}

#[test]
fn a_difference_in_a_digit_a_symbol_or_an_address_is_one() {
    check_differ("<p>Price: 19.99 €", "<p>Price: 18.99 €", 1);
    check_differ("<p>Price: 19.99 €", "<p>Price: 19.99 $", 1);
    check_differ("<pre>x = a+b;\nreturn x", "<pre>x = a-b;\nreturn x", 1);
    check_differ("<pre>x = a & b;\ny", "<pre>x = a | b;\ny", 1);
    check_differ("<p>1.5", "<p>15", 1);
    check_differ(
        "<table><tr><td>Station<td>10:05<tr><td>Harbour<td>10:09</table>",
        "<table><tr><td>Station<td>10:05<tr><td>Harbour<td>10:10</table>",
        1,
    );
    check_differ(
        "<p>a<img src=/strip/1.png>",
        "<p>a<img src=/strip/2.png>",
        1,
    );
    check_differ("<img alt=cat src=/a.png>", "<img alt=dog src=/a.png>", 1);
    check_differ(
        "<iframe src=/film/1></iframe>",
        "<iframe src=/film/2></iframe>",
        1,
    );
    check_differ(
        "<video><source src=/film/1.mp4></video>",
        "<video><source src=/film/2.mp4></video>",
        1,
    );
    check_differ(
        "<object data=/1.pdf></object>",
        "<object data=/2.pdf></object>",
        1,
    );
    check_differ(
        "<div style=\"background: url('/1.jpg')\"></div>",
        "<div style=\"background: url('/2.jpg')\"></div>",
        1,
    );
    check_differ("<input value=1>", "<input value=2>", 1);
    check_differ(
        "<select><option selected>red<option>blue</select>",
        "<select><option>red<option selected>blue</select>",
        1,
    );
    check_differ("<textarea>a</textarea>", "<textarea>b</textarea>", 1);
    check_differ("<p>图一", "<p>图二", 1);
    // What scripts load later.
    check_differ(
        "<img src=/blank.gif data-src=/1.jpg>",
        "<img src=/blank.gif data-src=/2.jpg>",
        1,
    );
    check_differ("<img srcset='/1.jpg 2x'>", "<img srcset='/2.jpg 2x'>", 1);
}

#[test]
fn what_no_reader_sees_is_no_difference() {
    check_differ("<p>A “word” – so", "<p>a  \"WORD\" -\n so", 0);
    check_differ(
        "<input type=hidden value=1><p>a",
        "<input type=hidden value=2><p>a",
        0,
    );
    check_differ("<img src=/a.png?v=1>", "<img src=/a.png?v=2>", 0);
    check_differ("<img src=/a.png?1712>", "<img src=/a.png?1713>", 0);
    check_differ(
        "<img src=/a.png;jsessionid=12AB>",
        "<img src=//www.example.org/a.png>",
        0,
    );
    check_differ(
        "<img src=https://img1.cdn.example/a.png>",
        "<img src=https://img2.cdn.example/a.png>",
        0,
    );
    check_differ(
        "<p>a<script>var t='1'</script><style>a{}</style>",
        "<p>a<script>var t='2'</script>",
        0,
    );
    // But a parameter that names the image, and another site.
    check_differ(
        "<img src='/i.php?id=1&v=1'>",
        "<img src='/i.php?id=2&v=1'>",
        1,
    );
    check_differ(
        "<img src=https://a.example/x.png>",
        "<img src=https://b.example/x.png>",
        1,
    );
}

#[test]
fn what_repeats_the_url_is_masked() {
    let page = |term: &str| {
        format!("<h1>Results for “{term}”</h1><p>Nothing was found for {term}.<p>Try another.")
    };
    let one = masked(
        "https://example.org/search?q=blue+shoes",
        &page("blue shoes"),
    );
    let other = masked("https://example.org/search?q=red%20hats", &page("red hats"));
    assert_eq!(one, other);
    let lines = hashes("https://example.org/search?q=red%20hats", &page("red hats"));
    assert_ne!(lines.first(), one.first());
    assert_eq!(
        lines.last(),
        one.last(),
        "nothing of the last line is in the URL"
    );
    // A day of a calendar, with and without leading zeros.
    let day = |number: u8| format!("<p>{number}.5.2026");
    let of = |url: &str, number| masked(url, &day(number));
    let first = of("https://example.org/calendar/2026-05-01", 1);
    assert_eq!(first, of("https://example.org/calendar?day=20260502", 2));
    assert_ne!(first, of("https://example.org/calendar", 3));
    // Letters that a language writes with accents, percent-encoded in the URL.
    assert_eq!(
        masked("https://example.org/z%C3%BCrich", "<p>Wetter in Zürich"),
        masked("https://example.org/genf", "<p>Wetter in Genf")
    );
}

#[test]
fn a_relative_address_repeats_the_place_of_its_page() {
    let html = "<p>a<img src=logo.png>";
    let (one, other) = ("https://example.org/a/b/", "https://example.org/a/b/a/b/");
    assert_eq!(masked(one, html), masked(other, html));
    assert_ne!(hashes(one, html), hashes(other, html));
    assert_eq!(
        hashes("https://example.org/a/", "<img src=../b/./c.png>"),
        hashes("https://example.org/x/", "<img src=/b/c.png>"),
    );
}

#[test]
fn roles_and_headlines() {
    let html = "<title>T 1</title><nav><a href=/a>Home</a></nav><h1>Head 2</h1>\
        <article><p>It was a long night in the harbour, and nobody had slept, said the captain.\
        <p>In the morning the ships, all of them, were gone, and the sea lay still.</article>\
        <img src=/a.png><input value=x>";
    let parts = parts_of(URL, html);
    let roles: Vec<Role> = parts.lines.iter().map(|line| line.role).collect();
    assert_eq!(
        roles,
        [Role::Title, Frame, Headline, Main, Main, Image, Form]
    );
    assert_eq!(parts.headline, parts.lines.get(2).map(|line| line.hash));
    assert!(parts.lines.iter().all(|line| line.words > 0), "{parts:?}");
    let named = |url, title: &str| {
        parts_of(url, &format!("<title>{title}</title>"))
            .lines
            .len()
    };
    assert_eq!(named("https://www.the-herald.co.uk/", "A day - Herald"), 2);
    assert_eq!(
        named("https://www.the-herald.co.uk/", "A day - The Herald"),
        1
    );
    assert_eq!(named("https://herald.example/", "A day - The Herald"), 1);
    assert_eq!(named("https://herald.example/", "The Herald"), 0);
    let html = "<h1>The Herald</h1><h1>A day</h1>";
    let headed = parts_of("https://herald.example/", html);
    assert_eq!(headed.headline, headed.lines.last().map(|line| line.hash));
    assert_eq!(
        named("https://herald.example/", "A day - A herald in the fog"),
        2
    );
    assert_eq!(
        named("https://shop.example/", "A kettle - Shop in Berlin"),
        2
    );
    let parted = parts_of(
        URL,
        "<title>Head-on 2 | Site — All of it</title><h1>Site</h1>",
    );
    let roles: Vec<Role> = parted.lines.iter().map(|line| line.role).collect();
    assert_eq!(roles, [Role::Title, Role::Title, Role::Title, Headline]);
    assert_eq!(parted.headline, parted.lines.get(1).map(|line| line.hash));
    assert_eq!(parts_of(URL, "").lines, []);
}

#[test]
fn pages_of_one_template_have_one_layout() {
    let page = |class: &str, items: &str| {
        format!(
            "<body class='{class}'><header id=top></header><div class=wrap><main class=post-17>\
             <ul class=list>{items}</ul></main></div><footer></footer>"
        )
    };
    let layout = |html: &str| parts_of(URL, html).layout;
    let one = layout(&page("page postid-1", "<li>a"));
    assert_eq!(
        one,
        layout(&page("page postid-2", "<li>a<li>b<li><div>c</div>"))
    );
    let other = page("", "").replace("class=wrap", "class=shop");
    assert_ne!(one, layout(&other));
}

#[test]
fn lines_are_bounded() {
    let html = "<p>a".repeat(MAX_LINES + 1);
    let parts = parts_of(URL, &html);
    assert_eq!((parts.lines.len(), parts.is_cut), (MAX_LINES, true));
    let parts = parts_of(URL, &"<p>a".repeat(MAX_LINES));
    assert_eq!((parts.lines.len(), parts.is_cut), (MAX_LINES, false));
}

#[test]
fn rows_of_plain_text_are_lines() {
    let url = parse("https://example.org/notes/7").unwrap();
    let options = PageOptions::default();
    let parts = Page::plain_text_of("Note 7\n\nA+B  = c", &url, &options).parts;
    let one_line = parts_of(URL, "<p>a+b = C");
    let hashes: Vec<u64> = parts.lines.iter().map(|line| line.hash).collect();
    assert_eq!(hashes.len(), 2);
    assert_eq!(hashes.last(), one_line.lines.first().map(|line| &line.hash));
    let other = parse("https://example.org/notes/8").unwrap();
    let other = Page::plain_text_of("Note 8\n\nA+B  = c", &other, &options).parts;
    let masked = |parts: &Parts| -> Vec<u64> { parts.lines.iter().map(|it| it.masked).collect() };
    assert_eq!(masked(&parts), masked(&other));
    assert_eq!(Page::plain_text("", &options).parts, Parts::default());
}

fn data(script: &str) -> Vec<Line> {
    let parts = parts_of(URL, &format!("<p>a{script}"));
    let lines = parts.lines.into_iter();
    lines.filter(|line| line.role == Data).collect()
}

#[test]
fn data_in_scripts_is_read_object_by_object() {
    let product = |name: &str, price: &str| {
        format!(
            "<script type='application/ld+json'>{{\"@type\": \"Product\", \"name\": \"{name}\",
             \"offers\": {{\"price\": {price}, \"currency\": \"EUR\"}}}}</script>"
        )
    };
    let (one, other) = (
        data(&product("Lamp", "19.99")),
        data(&product("Lamp", "18.99")),
    );
    assert_eq!(one.len(), 2);
    // The inner object ends first.
    assert_ne!(one.first(), other.first());
    assert_eq!(one.last(), other.last());
    assert_eq!(
        one.first().map(|it| it.letters),
        other.first().map(|it| it.letters)
    );
    // Neither the order of the keys nor what surrounds the data matters.
    let state = "window.__STATE__ = {\"a\": 1, \"b\": \"x y\"};";
    let expected = data(&format!("<script>{state}</script>"));
    assert_eq!(expected.len(), 1);
    for same in [
        "<script>var initialState={b:'x y',\"a\":1};(function(){})()</script>",
        "<script type='application/json' id='__NEXT_DATA__'>{\"b\":\"x y\",\"a\":1}</script>",
        "<script>window['__DATA__']=JSON.parse('{\"a\":1,\"b\":\"x\\\\u0020y\"}')</script>",
        "<script>self.__next_f.push([{\"a\":1,\"b\":\"x y\"}])</script>",
    ] {
        assert_eq!(data(same), expected, "{same}");
    }
}

#[test]
fn tokens_of_a_response_and_programs_are_no_data() {
    let state = |token: &str, time: u32| {
        format!(
            "<script type='application/json'>{{\"csrfToken\":\"{token}\",\"serverTime\":{time},
             \"title\":\"A\",\"nonce\":{{\"value\":\"{token}\"}}}}</script>"
        )
    };
    assert_eq!(data(&state("abc", 1)), data(&state("xyz", 2)));
    assert_eq!(data(&state("abc", 1)).len(), 1);
    for program in [
        "<script>window.dataLayer = [{\"visitor\": 17}];</script>",
        "<script>var state = compute({\"a\": 1});</script>",
        "<script>init({\"a\": 1});</script>",
        "<script src=/a.js>window.__STATE__ = x</script>",
        "<script type=importmap>{\"imports\": {\"a\": \"b\"}}</script>",
    ] {
        assert_eq!(data(program), [], "{program}");
    }
}

#[test]
fn any_script_is_read() {
    let nested = "[".repeat(100_000);
    for script in [
        "{",
        "}",
        "\"",
        "\"\\",
        "'\\u12",
        "\"\\ud83d\"",
        "{\"a\":}",
        "/*",
        "//",
        "-",
        "{'a':'b",
        "]]]{\"a\":1",
        &nested,
    ] {
        data(&format!(
            "<script type='application/json'>{script}</script>"
        ));
    }
    // What is deeper than is counted belongs to the object around.
    let deep = format!("{}1{}", "[".repeat(100), "]".repeat(100));
    let deep = data(&format!("<script type='application/json'>{deep}</script>"));
    assert_eq!(deep.len(), 1);
}

#[test]
fn numbers_are_told_from_letters_and_links_from_text() {
    let of = |html: &str| parts_of(URL, html).lines;
    let letters = |html: &str| -> Vec<u64> { of(html).iter().map(|it| it.letters).collect() };
    assert_eq!(letters("<p>Room 7 at 10:15"), letters("<p>Room 12 at 9:00"));
    assert_ne!(letters("<p>Room 7"), letters("<p>Hall 7"));
    assert_eq!(
        letters("<img src=/strip/1.png>"),
        letters("<img src=/strip/22.png>")
    );
    let page = "<article><p>It was a long night in the harbour, and nobody had slept, said the \
        captain.<h2><a href=/a>All that the captain said of the ships, in the morning, at sea</a></h2>\
        <p>In the morning the ships, all of them, were <a href=/b>gone</a>, and the sea lay still.";
    let roles: Vec<Role> = of(page).iter().map(|line| line.role).collect();
    assert_eq!(roles, [Main, Link, Main]);
}
