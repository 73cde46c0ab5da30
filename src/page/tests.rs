//! Tests of whole pages: what is read from them, that the template does not change their main text,
//! and that no page is too hostile.

use std::fmt::Write as _;

use proptest::prelude::*;
use rustix::time::{ClockId, clock_gettime};

use super::*;
use crate::url::{Canonicalizer, Secret, parse};

fn page(html: &str) -> Page {
    page_of(html.into())
}

fn page_of(text: charset::Text<'_>) -> Page {
    let identity = Identity::new(
        Canonicalizer::default(),
        Secret::from_bytes([7; Secret::LEN]),
    );
    let url = parse("https://example.org/dir/page.html").unwrap();
    Page::parse_html(text, &url, &identity, &PageOptions::default())
}

fn check_links(html: &str, expected: &[(&str, LinkKind, bool)]) {
    let links = page(html).links;
    let found: Vec<_> = links
        .iter()
        .map(|l| (l.url.as_str(), l.kind, l.rels.all_say(Rel::NOFOLLOW)))
        .collect();
    assert_eq!(found, expected, "{html}");
}

fn check_text(html: &str, expected: &str) {
    assert_eq!(page(html).full_text, expected, "{html}");
}

#[test]
fn links_of_every_kind_in_document_order() {
    check_links(
        "<meta http-equiv=refresh content='5; URL=\"/later\"'>
         <link rel=alternate hreflang=de href=/de><link rel=alternate type=application/rss+xml href=/rss>
         <link rel='STYLESHEET next' href=/next><link rel=icon href=/icon>
         <a href=' \n other.html#part ' rel='x NoFollow'>a</a><area href=//other.example/b>
         <iframe src=frame></iframe><a href='mailto:x@y'>m</a><a href='#top'>t</a><a href=''>e</a>
         <noscript><a href=/unscripted>n</a></noscript><template><a href=/template>t</a></template>",
        &[
            ("https://example.org/later", LinkKind::Refresh, false),
            ("https://example.org/de", LinkKind::Related, false),
            ("https://example.org/next", LinkKind::Related, false),
            ("https://example.org/dir/other.html", LinkKind::Anchor, true),
            ("https://other.example/b", LinkKind::Area, false),
            ("https://example.org/dir/frame", LinkKind::Frame, false),
            ("https://example.org/unscripted", LinkKind::Anchor, false),
        ],
    );
}

#[test]
fn one_target_is_one_link_and_followed_if_one_reference_is() {
    check_links(
        "<a rel=nofollow href=/a#1>1</a><a href=b>2</a><a href='/a#2'>3</a>",
        &[
            ("https://example.org/a", LinkKind::Anchor, false),
            ("https://example.org/dir/b", LinkKind::Anchor, false),
        ],
    );
}

#[test]
fn a_link_is_vouched_for_if_one_reference_says_no_word_that_is_obeyed() {
    let check = |html: &str, obeyed: &[Rel], expected: bool| {
        let obeyed = obeyed.iter().copied().fold(Rel::default(), Rel::with);
        let links = page(html).links;
        assert_eq!(links[0].rels.all_say(obeyed), expected, "{html}");
    };
    let all = [Rel::NOFOLLOW, Rel::UGC, Rel::SPONSORED];
    check("<a href=/a>", &all, false);
    check("<a href=/a rel='noopener UGC'>", &all, true);
    check("<a href=/a rel='ugc'>", &[Rel::NOFOLLOW], false);
    check("<a href=/a rel='ugc nofollow'>", &[Rel::NOFOLLOW], true);
    check("<a href=/a rel=sponsored>", &[Rel::SPONSORED], true);
    check("<a href=/a rel=sponsored>", &[], false);
    // Each reference is obeyed for another reason, or one is not obeyed.
    let two = "<a href=/a rel=ugc></a><a href=/a rel=sponsored></a>";
    check(two, &all, true);
    check(two, &[Rel::UGC], false);
    check("<a href=/a rel=ugc></a><a href=/a>", &all, false);
}

#[test]
fn only_the_first_base_counts_and_only_on_the_web() {
    let target = [("https://cdn.example/x/a", LinkKind::Anchor, false)];
    check_links(
        "<base target=t><base href=//cdn.example/x/><base href=/no/><a href=a>a</a>",
        &target,
    );
    let target = [("https://example.org/dir/a", LinkKind::Anchor, false)];
    check_links(
        "<base href='data:,x'><base href=/no/><a href=a>a</a>",
        &target,
    );
}

#[test]
fn links_are_bounded() {
    let mut html = String::new();
    for n in 0..12_000 {
        write!(html, "<a href={n}>n</a>").unwrap();
    }
    let list = page(&html);
    assert_eq!((list.links.len(), list.notes.len()), (12_000, 0));
    for n in 12_000..30_000 {
        write!(html, "<a href={n}>n</a>").unwrap();
    }
    let endless = page(&html);
    assert_eq!(
        (endless.links.len(), endless.notes.as_slice()),
        (25_000, [Note::LinksCut].as_slice())
    );
    // What the base adds counts too.
    let base = |length| format!("<base href='http://b.example/{}/'>", "x".repeat(length));
    let amplified = page(&[base(4_000), html.clone()].concat());
    let bytes: usize = amplified.links.iter().map(|link| link.url.len()).sum();
    assert!(bytes <= 8 << 20, "{bytes}");
    assert_eq!(amplified.notes, [Note::LinksCut]);
    let longer = page(&[base(4_100), html].concat());
    assert_eq!(
        (longer.links.len(), &*longer.notes),
        (0, &[Note::LinksCut][..])
    );
}

#[test]
fn a_long_base_does_not_multiply_a_page() {
    let mut links = String::new();
    for n in 0..9_000 {
        write!(links, "<a href={n:09}>n</a>").unwrap();
    }
    for (length, kept) in [(400, 9_000), (3_000, 2_768), (16_000, 0)] {
        let page = page(&format!("<base href='/{}/'>{links}", "b".repeat(length)));
        let bytes: usize = page.links.iter().map(|link| link.url.len()).sum();
        assert!(bytes <= 8 << 20, "{bytes}");
        assert_eq!(page.links.len(), kept);
        let cut: &[Note] = if kept == 9_000 {
            &[]
        } else {
            &[Note::LinksCut]
        };
        assert_eq!(page.notes, cut);
    }
}

#[test]
fn text_keeps_words_apart_and_together() {
    check_text("<p>un<b>divi</b>ded</p><p>next</p>", "undivided\nnext");
    check_text("a<br>b<div>c</div>d <i> e</i>", "a\nb\nc\nd e");
    check_text("<table><tr><td>1<td>2<tr><td>3</table>", "1 2\n3");
    check_text("x <!-- y --> z&nbsp;\t w\u{AD}o\0rd", "x z word");
    check_text(
        "<pre>\n\n  a\n\n    b  \nc \n\n</pre>d",
        "  a\n\n    b  \nc\nd",
    );
    check_text(
        "<pre><b>import</b> <i>json</i>\n<i>x</i>  =\t1</pre><pre>\ty</pre>",
        "import json\nx  =\t1\n\ty",
    );
    check_text("<p>if <code>&nbsp; x</code> y", "if \u{a0} x y");
    check_text("<ul><li>one<li>two</ul>after", "one\ntwo\nafter");
}

#[test]
fn the_main_text_begins_with_the_headline() {
    let text = "<p>The river rose three metres in a night, and nobody in the valley had seen it \
                coming before.</p>"
        .repeat(6);
    let check = |before: &str, expected: Option<&str>, after: &str| {
        let page = page(&format!("{before}{text}{after}"));
        assert_eq!(page.headline.as_deref(), expected, "{before}");
        let begin = expected.unwrap_or("The river");
        assert!(page.main_text.starts_with(begin), "{}", page.main_text);
        assert!(page.main_text.ends_with(page.compared_text()));
    };
    // The name of the site is a heading too, and a link to its start.
    check(
        "<title>The flood \u{2014} The Paper</title><h1><a href='/'>The Paper</a></h1><main>\
         <h1>The flood<a class=headerlink href='#f'>\u{b6}</a></h1>",
        Some("The flood"),
        "",
    );
    // It is said outside of a heading, as in the title.
    check(
        "<title>The flood</title><div>The flood</div><h2>1. Overview</h2>",
        Some("The flood"),
        "",
    );
    // The title lacks the number.
    check(
        "<title>Floods (Manual 7.3)</title><h5>11.2.4 Floods</h5>",
        Some("11.2.4 Floods"),
        "",
    );
    check("<title>x</title>", None, "<h3>Related</h3>");
}

#[test]
fn text_leaves_out_what_nobody_sees() {
    check_text(
        "<title>t</title><p>seen<span hidden> a</span><span style='color:red; DISPLAY : none'> b</span>\
         <script>c</script><style>d</style><select><option>e</select><span aria-hidden=true>f</span>\
         <template>g</template><svg><text>h</text></svg><textarea>i</textarea> end",
        "seen end",
    );
    let hidden = format!(
        "<p>Loading<div hidden>{}</div>",
        "revealed later ".repeat(30)
    );
    assert!(
        page(&hidden).full_text.contains("revealed"),
        "a page that scripts reveal has text"
    );
    let unscripted = format!(
        "<body><div id=app></div><noscript><p>{}</noscript>",
        "words ".repeat(30)
    );
    assert!(page(&unscripted).main_text.contains("words"));
}

#[test]
fn metadata_is_read_and_bounded() {
    let found = page(
        "<html lang=' pt_BR'><title> A\n title </title><svg><title>no</title></svg>\
         <link rel=canonical href=/c#x><meta name=ROBOTS content='NoIndex, follow'>\
         <meta name=gleaner content=none><meta name=otherbot content=noarchive>",
    );
    assert_eq!(found.title.as_deref(), Some("A title"));
    assert_eq!(found.language.as_deref(), Some("pt-br"));
    assert_eq!(found.canonical.as_deref(), Some("https://example.org/c"));
    assert_eq!(
        found.robots.names().collect::<Vec<_>>(),
        ["noindex", "nofollow"]
    );
    let identity = Identity::new(
        Canonicalizer::default(),
        Secret::from_bytes([7; Secret::LEN]),
    );
    let options = PageOptions {
        product_token: "ourbot".to_owned(),
        ..PageOptions::default()
    };
    let url = parse("https://example.org/").unwrap();
    let html = "<meta name=OurBot content=nofollow><meta name=gleaner content=noindex>";
    let ours = Page::parse_html(html, &url, &identity, &options);
    assert_eq!(ours.robots.names().collect::<Vec<_>>(), ["nofollow"]);
    let reserved = page(
        "<meta name=robots content='noai, NoImageAI'><meta name=tdm-reservation content=' 1 '>",
    );
    assert_eq!(
        reserved.robots.names().collect::<Vec<_>>(),
        ["noai", "noimageai", "tdm-reservation"]
    );
    let free = page(
        "<meta name=tdm-reservation content=0><meta name=robots content='tdm-reservation, all'>",
    );
    assert_eq!(free.robots, Wishes::default());

    assert_eq!(
        page("<title> </title><h1>An <b>h1</b></h1>")
            .title
            .as_deref(),
        Some("An h1")
    );
    let og = "<meta property=og:title content='og'><h1>h</h1>";
    assert_eq!(page(og).title.as_deref(), Some("og"));
    assert_eq!(
        page("<meta http-equiv=content-language content='de-DE, en'>")
            .language
            .as_deref(),
        Some("de-de")
    );
    assert_eq!(page("<html lang='<!--'>").language, None);
    assert_eq!(
        page(&format!("<title>{}", "é".repeat(5000)))
            .title
            .unwrap()
            .len(),
        1024
    );
}

#[test]
fn robots_header_is_for_whom_it_names() {
    let check = |values: &[&str], expected: (bool, bool, bool)| {
        let found = Wishes::from_header_values(values.iter().copied(), "gleaner");
        assert_eq!(
            (
                found.has(Wish::Noindex),
                found.has(Wish::Nofollow),
                found.has(Wish::Noarchive)
            ),
            expected,
            "{values:?}"
        );
    };
    check(&["noindex"], (true, false, false));
    check(
        &["otherbot: noindex, nofollow", "noarchive"],
        (false, false, true),
    );
    check(
        &["otherbot: noindex, Gleaner: nofollow"],
        (false, true, false),
    );
    check(&["max-snippet: 5, NONE"], (true, true, false));
    check(
        &["unavailable_after: 25 Jun 2010 15:00:00 PST, noindex"],
        (true, false, false),
    );
    check(&["", ",:,,", "indexnoindex"], (false, false, false));
    let noai = Wishes::from_header_values(["noai, otherbot: noimageai"], "gleaner");
    assert_eq!(noai.names().collect::<Vec<_>>(), ["noai"]);
    let reserved = [Some("1"), Some(" 0"), Some("11"), None].map(Wishes::from_tdm_reservation);
    assert_eq!(reserved.map(|it| it.names().count()), [1, 0, 0, 0]);
}

#[test]
fn plain_text_is_main_text() {
    let page = Page::plain_text("a\r\nb  \n\n\nc\0", &PageOptions::default());
    assert_eq!(
        (page.main_text.as_str(), page.full_text.as_str()),
        ("a\nb  \n\n\nc", "a\nb  \n\n\nc")
    );
}

/// Paragraphs of an article, no two alike.
fn article() -> String {
    let subjects = [
        "The river",
        "The old dam",
        "The first village",
        "The mayor",
        "An engineer",
        "The bridge",
    ];
    let events = [
        "rose three metres in a single night, and nobody in the valley had seen it coming before",
        "had been leaking since the autumn, as those who looked at it later were to find out",
        "was cut off at midnight, when the road along the water was closed to all traffic",
        "said that everything would be built again, and this time higher than it had been",
    ];
    let mut html = String::from("<h2>Why the river rose</h2>");
    for (number, event) in events.iter().cycle().take(12).enumerate() {
        let subject = subjects[number % subjects.len()];
        writeln!(html, "<p>{subject} {event}. It was day {number}, and <a href=/{number}>the reports</a> were many.</p>").unwrap();
    }
    html + "<ul><li>The water is to be lower by the weekend, if no more rain falls in the hills.</li>\
        <li>The school stays closed until the cellar is dry, and so does the town hall.</li></ul>"
}

/// The same article in templates that differ as those of one site do. The text is hashed to find
/// duplicates, so it must not change with them.
#[test]
fn the_same_article_in_other_frames_is_the_same_text() {
    let article = article();
    let links = |titles: &[&str]| {
        let items = titles
            .iter()
            .map(|title| format!("<li><a href='/{title}'>{title}</a></li>"));
        items.collect::<String>()
    };
    let frame = |menu: &str, related: &str, foot: &str| {
        page(&format!(
            "<title>River | The Daily</title><body class='post page has-sidebar'>\
             <header class=site-header><a href=/>The Daily</a><nav class=menu><ul>{menu}</ul></nav></header>\
             <div id=main><article class='post entry-content'>{article}</article></div>\
             <aside class=sidebar><h3>Most read</h3><ul>{related}</ul></aside>\
             <footer class=site-footer><p>{foot}</p></footer>"
        ))
    };
    let menu = links(&["World", "Sport", "Culture", "Weather"]);
    let long_menu = links(&[
        "World", "Sport", "Culture", "Weather", "Jobs", "Cars", "Homes", "Letters",
    ]);
    let related = links(&[
        "A dog finds its way home",
        "Ten gardens to see",
        "Trains are late again",
    ]);
    let swapped = links(&[
        "Trains are late again",
        "The harbour at night",
        "A dog finds its way home",
    ]);
    let first = frame(&menu, &related, "Copyright The Daily. All rights reserved.");
    assert!(
        first
            .main_text
            .starts_with("Why the river rose\nThe river rose three metres"),
        "{}",
        first.main_text
    );
    assert!(
        first.main_text.ends_with("so does the town hall."),
        "{}",
        first.main_text
    );
    for other in [
        frame(&menu, &swapped, "Copyright The Daily. All rights reserved."),
        frame(
            &long_menu,
            &related,
            "Copyright The Daily. All rights reserved.",
        ),
        frame(&menu, "", "Contact us, or write to the editor."),
    ] {
        assert_eq!(other.main_text, first.main_text);
    }
    assert!(first.kept_permille > 800 && first.kept_permille < 1000);
}

/// Streaming servers put late parts into hidden elements, which a script moves at once.
#[test]
fn what_a_streaming_server_hides_is_seen() {
    let html = format!(
        "<body><main><div id=app></div></main><div hidden id='S:0'>{}</div>",
        article()
    );
    assert!(page(&html).main_text.contains("three metres"));
    // In its place it is read as if it had been there.
    let at_once = format!("<body><main>{}</main><footer>About us</footer>", article());
    let late = format!(
        "<body><main><template id=B:0></template></main><footer>About us</footer>\
         <div hidden id=S:0>{}</div>",
        article()
    );
    assert_eq!(page(&late).main_text, page(&at_once).main_text);
    assert_eq!(page(&late).full_text, page(&at_once).full_text);
}

/// Browsers that run scripts do not read what is in there.
#[test]
fn what_follows_a_frame_without_an_end_for_browsers_without_scripts_is_read() {
    let counted = "<noscript><iframe src=https://count.example/ height=0 /></noscript>";
    let html = format!("<body>{counted}<main>{}</main>", article());
    assert!(page(&html).main_text.contains("three metres"));
    check_links(
        &format!("{counted}<a href=/next>next</a>"),
        &[
            ("https://count.example/", LinkKind::Frame, false),
            ("https://example.org/next", LinkKind::Anchor, false),
        ],
    );
}

/// A page without text of its own describes itself in its head.
#[test]
fn a_shell_is_read_by_what_it_says_about_itself() {
    let shell = "<title>t</title><meta property=og:description content='Short. And what else there is.'>\
        <meta name=description content=Short.><body><div id=root></div>";
    assert_eq!(page(shell).main_text, "Short. And what else there is.");
    let data = r#"<script type="application/ld+json">{"@type":"NewsArticle","articleBody":"All of\nthe \"text\".",
        "author":{"@type":"Person","name":"A. Writer"},"datePublished":"2024-05-06"}</script>"#;
    let found = page(&format!("{shell}{data}"));
    assert_eq!(found.main_text, "All of\nthe \"text\".");
    assert_eq!(found.metadata.author.as_deref(), Some("A. Writer"));
    assert_eq!(found.metadata.published.as_deref(), Some("2024-05-06"));
    let seen = format!("{shell}{}", article());
    assert!(page(&seen).main_text.contains("three metres"));
}

#[test]
fn what_a_page_says_of_itself_is_read() {
    let found = page(
        "<meta name=Author content='A. Writer'><meta property=article:published_time content=2024-05-06T07:08Z>\
         <meta property=og:type content=article><meta property=og:site_name content='The  Daily'>\
         <link rel=alternate hreflang=DE href=/de><link rel=alternate type=application/rss+xml href=/feed>\
         <h1>The <i>first</i></h1><h1>second</h1>",
    );
    let metadata = &found.metadata;
    assert_eq!(metadata.author.as_deref(), Some("A. Writer"));
    assert_eq!(metadata.published.as_deref(), Some("2024-05-06T07:08Z"));
    assert_eq!(metadata.kind.as_deref(), Some("article"));
    assert_eq!(metadata.site_name.as_deref(), Some("The Daily"));
    assert_eq!(metadata.h1.as_deref(), Some("The first"));
    let alternates = [("de".to_owned(), "https://example.org/de".to_owned())];
    assert_eq!(metadata.alternates, alternates);
    let english = page(&format!("<html lang=fr>{}", article()));
    assert_eq!(
        (
            english.language.as_deref(),
            english.detected_language.map(|it| it.language)
        ),
        (Some("fr"), Some("en"))
    );
}

#[test]
fn a_forum_is_about_its_comments() {
    let mut html =
        String::from("<body><nav><a href=/>Home</a></nav><h1>Which lens?</h1><div class=comments>");
    for n in 0..6 {
        write!(html, "<div class=comment><p>Post {n}: I would take the fifty, it is sharp and light and cheap.</p></div>").unwrap();
    }
    let main_text = page(&html).main_text;
    assert!(
        main_text.contains("Post 0") && main_text.contains("Post 5"),
        "{main_text}"
    );
}

#[test]
fn the_end_of_an_enormous_page_is_not_read() {
    let options = PageOptions {
        max_bytes: 40,
        ..PageOptions::default()
    };
    let url = parse("https://example.org/").unwrap();
    let identity = Identity::new(
        Canonicalizer::default(),
        Secret::from_bytes([7; Secret::LEN]),
    );
    let html = "<title>t</title><p>h\u{e9}re it is \u{e9}\u{e9}\u{e9}\u{e9}\u{e9}\u{e9}\u{e9}<a href=/x>cut</a>";
    let found = Page::parse_html(html, &url, &identity, &options);
    assert_eq!(
        (found.links.len(), &found.notes[..]),
        (0, &[Note::BytesCut][..])
    );
    assert!(found.full_text.starts_with("h\u{e9}re it is"), "{found:?}");
    let text = Page::plain_text(&"word ".repeat(10), &options);
    assert_eq!(text.full_text, "word ".repeat(8).trim_end());
    assert_eq!(text.notes, [Note::BytesCut]);
}

/// Hostile pages of about a megabyte. None may overflow the stack, take quadratic time or create
/// millions of nodes. The time is asserted loosely, for slow machines and debug builds; a quadratic
/// step takes minutes here.
#[test]
fn hostile_pages_are_cut_not_endured() {
    let attributes = |tag: &str| {
        let mut html = format!("<{tag}");
        for n in 0..150_000 {
            write!(html, " a{n}").unwrap();
        }
        html + ">end"
    };
    let numbered = |part: &str, count: usize| {
        (0..count).fold(String::new(), |html, n| {
            html + &part.replace('#', &n.to_string())
        })
    };
    let cases = [
        ("<div>".repeat(200_000), Some(Note::DepthCut)),
        ("<ul><li>".repeat(125_000), Some(Note::DepthCut)),
        ("<svg><style>".repeat(80_000), Some(Note::DepthCut)),
        ("<table><tr><td>".repeat(60_000), Some(Note::DepthCut)),
        (numbered("<b a=#><p>x", 80_000), None),
        (
            numbered("<i id=a#>", 80_000) + &"</i><p>x".repeat(50_000),
            None,
        ),
        (attributes("div"), Some(Note::TagCut)),
        (numbered("<body a#=1>", 80_000), None),
        (numbered("<a href=#><div>", 60_000), None),
        ("<p></div>".repeat(100_000), None),
        (
            "<!--".to_owned() + &" - ".repeat(300_000),
            Some(Note::TagCut),
        ),
        ("&amp".repeat(250_000), None),
        ("&a".repeat(500_000), None),
        ("\0".repeat(1_000_000), None),
        ("<".repeat(1_000_000), None),
        (
            "<a b='".to_owned() + &"<p>".repeat(300_000),
            Some(Note::TagCut),
        ),
        (
            format!("{}{}", "<div>".repeat(500), "<p></p>".repeat(140_000)),
            None,
        ),
        // What is read ahead and then again.
        ("<!--".repeat(250_000), Some(Note::TagCut)),
        ("<p a='\0".repeat(140_000), Some(Note::TagCut)),
        ("<script><!--<script ".repeat(50_000), None),
        ("<title>\0</title>".repeat(60_000), None),
        (
            "<frameset>".to_owned() + &"<script>".repeat(120_000) + "</script>",
            None,
        ),
        ("<svg><g></p>".repeat(80_000), None),
        (
            "<svg>".to_owned() + &"<g></g><svg>".repeat(80_000),
            Some(Note::DepthCut),
        ),
        (
            "<div>".repeat(600) + &"<svg><g></g>".repeat(80_000),
            Some(Note::DepthCut),
        ),
    ];
    for (html, note) in cases {
        let start = html.chars().take(40).collect::<String>();
        // The time that this thread computes, however busy the machine is.
        let computed = || clock_gettime(ClockId::ThreadCPUTime).tv_sec;
        let before = computed();
        let page = page(&html);
        assert!(computed() - before < 10, "{start}");
        if let Some(note) = note {
            assert!(page.notes.contains(&note), "{start}: {:?}", page.notes);
        }
    }
}

#[test]
fn links_below_the_deepest_level_are_kept() {
    let below = "<a href=/a>one</a><ul><li><a href=/b>two<area href=/c><link rel=next href=/d>";
    for around in [
        "<div>",
        "<ul><li>",
        "<section>",
        "<a href=/x><div>",
        "<table><tr><td>",
    ] {
        let html = around.repeat(100_000) + below + &"</a>".repeat(10) + "<a href=/e>three</a>";
        let found = page(&html);
        let links: Vec<_> = found
            .links
            .iter()
            .map(|link| link.url.trim_start_matches("https://example.org/"))
            .filter(|path| *path != "x")
            .collect();
        assert_eq!(links, ["a", "b", "c", "d", "e"], "{around}");
        assert!(found.notes.contains(&Note::DepthCut), "{around}");
        assert!(found.full_text.contains("three"), "{around}");
    }
}

#[test]
fn queries_are_written_in_the_encoding_of_the_page() {
    let html = "<base href='/d/?b'><a href='?q=\u{e9}'>x</a><a href='/\u{e9}'>y</a>\
         <link rel=canonical href='?c=\u{e9}'>";
    let (bytes, _, _) = encoding_rs::WINDOWS_1252.encode(html);
    let header = Some("text/html; charset=iso-8859-1");
    let found = page_of(charset::to_text(&bytes, header));
    let links: Vec<_> = found.links.iter().map(|link| link.url.as_str()).collect();
    let expected = [
        "https://example.org/d/?q=%E9",
        "https://example.org/%C3%A9",
        "https://example.org/d/?c=%E9",
    ];
    assert_eq!(links, expected);
    assert_eq!(found.canonical.as_deref(), Some(expected[2]));
}

#[test]
fn what_follows_a_cut_tag_or_comment_is_read() {
    let data = "A".repeat(300_000);
    let html =
        format!("<p>before<img src='data:image/png;base64,{data}' alt=x><a href=/after>after</a>");
    let found = page(&html);
    assert_eq!(
        (found.full_text.as_str(), found.links.len()),
        ("before after", 1)
    );
    let comment = "<p>commented ".repeat(30_000);
    assert_eq!(
        page(&format!("<p>before<!--{comment}--> after")).full_text,
        "before after"
    );
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    /// Whatever the tags, a page is read without panic, the same twice, and within its bounds.
    #[test]
    fn any_tag_soup_is_read(parts in proptest::collection::vec((0_usize..SOUP.len(), "[a-z <>&\"'=\0é-]{0,6}"), 0..120)) {
        let mut html = String::new();
        for (part, extra) in &parts {
            html.push_str(SOUP[*part]);
            html.push_str(extra);
        }
        let found = page(&html);
        prop_assert!(found.main_text.len() <= html.len() * 3 + 16);
        prop_assert_eq!(&found, &page(&html));
    }

    /// Bytes of any kind become text and then a page.
    #[test]
    fn any_bytes_are_read(bytes in proptest::collection::vec(any::<u8>(), 0..400), header in "[ -~]{0,30}") {
        let text = charset::to_text(&bytes, Some(&header));
        let _ = page(&text.text);
        let _ = kind(Some(&header), &bytes);
        let _ = kind(None, &bytes);
        let _ = Wishes::from_header_values([header.as_str()], "gleaner");
    }
}

const SOUP: &[&str] = &[
    "<p>",
    "</p>",
    "<div class='content'>",
    "</div>",
    "<table>",
    "<tr>",
    "<td>",
    "</table>",
    "<b>",
    "</b>",
    "<i x=1>",
    "</i>",
    "<a href=/x>",
    "</a>",
    "<svg>",
    "</svg>",
    "<math>",
    "<mi>",
    "<annotation-xml encoding=text/html>",
    "<foreignObject>",
    "<title>",
    "</title>",
    "<template>",
    "</template>",
    "<select>",
    "<option>",
    "</select>",
    "<frameset>",
    "<frame src=f>",
    "<noscript>",
    "</noscript>",
    "<script>",
    "</script>",
    "<style>",
    "</style>",
    "<textarea>",
    "</textarea>",
    "<!--",
    "-->",
    "<![CDATA[",
    "]]>",
    "<!doctype html>",
    "<html lang=en>",
    "<head>",
    "</head>",
    "<body>",
    "</body>",
    "</html>",
    "<form>",
    "</form>",
    "<input>",
    "<button>",
    "<pre>\n",
    "</pre>",
    "<ul>",
    "<li>",
    "</ul>",
    "<h1>",
    "</h1>",
    "<main>",
    "<article>",
    "</article>",
    "<nav>",
    "</nav>",
    "<plaintext>",
    "<meta charset=x>",
    "<base href=b>",
    "<link rel=canonical href=c>",
    "<nobr>",
    "<applet>",
    "</applet>",
    "<caption>",
    "<colgroup>",
    "<col>",
    "<tbody>",
    "<br>",
    "</br>",
    "<image>",
    "<iframe src=i>",
    "</iframe>",
    "<dialog open>",
    "A sentence of some length that would count as prose, would it not, if it were long enough? ",
    "<template shadowrootmode=open>",
    "<selectedcontent>",
    "<optgroup>",
    "<rb>",
    "<rt>",
    "<ruby>",
    "<hr>",
    "<dd>",
    "<dt>",
];
