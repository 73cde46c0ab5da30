//! Tests that the shortcuts yield the same tree as html5ever's tokenizer and tree builder, apart
//! from what is left out.

use std::fmt::Write as _;

use proptest::prelude::*;
use scraper::{Html, Node};

use super::*;
use crate::page::PageOptions;
use crate::page::html::nodes::{self, Page, Tree, listed};
use crate::page::html::plain;
use crate::page::html::tree::{by_html5ever, with_line_feeds};

/// A tree as text, without the parts that the shortcut leaves out.
fn written(tree: &Html) -> String {
    let mut written = String::new();
    let mut open = vec![(tree.tree.root(), 0)];
    while let Some((node, depth)) = open.pop() {
        let mut is_read = true;
        match node.value() {
            Node::Element(element) => {
                let name = &element.name;
                let kind = name.ns.rsplit('/').next().unwrap_or_default();
                let _ = write!(written, "\n{depth} <{kind} {}", name.local);
                let keeps_all = unread::keeps_all_attributes(&name.local);
                for (name, value) in &element.attrs {
                    if keeps_all || unread::read_attribute(&name.local).is_some() {
                        let _ = write!(written, " {} {}={:?}", name.ns, name.local, &**value);
                    }
                }
                written.push('>');
                is_read = match &*name.local {
                    "svg" | "style" => false,
                    "script" => {
                        let content = node.children().find_map(|child| child.value().as_text());
                        let content = content.map_or("", |text| &**text);
                        unread::script(element.attr("type"), content) != unread::Script::Program
                    }
                    _ => true,
                };
            }
            Node::Text(text) => {
                let _ = write!(written, "\n{depth} {:?}", &**text);
            }
            Node::Fragment | Node::Document => {}
            other => panic!("{other:?}"),
        }
        if is_read {
            open.extend(node.children().rev().map(|child| (child, depth + 1)));
        }
    }
    written
}

/// What html5ever makes of a page, and its text with line feeds as line ends.
fn parse(
    html: &str,
    feed: impl FnOnce(&StrTendril, BoundedSink, usize) -> BoundedSink,
) -> (Html, StrTendril) {
    let page = StrTendril::from(&*with_line_feeds(html));
    let (tree, notes) = by_html5ever(&page, &PageOptions::default(), Vec::new(), feed);
    assert_eq!(notes, [], "{html:?}");
    (tree, page)
}

/// A tree as a list of what is in it.
fn walk(tree: &Tree<'_>) -> Vec<String> {
    let mut depth = 0;
    let nodes = tree
        .nodes()
        .iter()
        .enumerate()
        .map(|(at, node)| match *node {
            nodes::Node::Open { .. } => {
                let element = tree.element(at);
                let mut attributes: Vec<_> = element.attributes().collect();
                attributes.sort_by_key(|(name, _)| &***name);
                depth += 1;
                format!("{depth} <{}> {attributes:?}", element.name())
            }
            nodes::Node::Text(text) => format!("{depth} {:?}", tree.text(text)),
            nodes::Node::Close => {
                depth -= 1;
                "close".to_owned()
            }
        });
    let nodes = nodes.collect();
    assert_eq!(depth, 0);
    nodes
}

/// What the pass over plain pages makes of a page, if it is one.
fn plainly(html: &str) -> Option<Vec<String>> {
    let page = with_line_feeds(html);
    let parts = plain::read(&page, &PageOptions::default())?;
    let page = Page::Plain(page);
    Some(walk(&Tree { page, parts }))
}

fn check(html: &str) {
    let ((short, page), (long, _)) = (parse(html, feed), parse(html, feed_to_tokenizer));
    assert_eq!(written(&short), written(&long), "{html:?}");
    if let Some(plain) = plainly(html) {
        assert_eq!(plain, walk(&listed(&short, page)), "{html:?}");
    }
}

#[test]
fn what_is_not_read_is_not_in_the_tree() {
    let html = "<script>a<b</script><style>c</style><svg><title>d</title><g><path d='e'/></g></svg>\
        <script type=application/ld+json>{}</script><!-- f --><p data-g=h CLASS=i class=j>k<b data-l=m>";
    let (tree, _) = parse(html, feed);
    let expected = [
        "1 <xhtml html>",
        "2 <xhtml head>",
        "3 <xhtml script>",
        "3 <xhtml style>",
        "2 <xhtml body>",
        "3 <svg svg>",
        "3 <xhtml script  type=\"application/ld+json\">",
        "4 \"{}\"",
        "3 <xhtml p  class=\"i\">",
        "4 \"k\"",
        "4 <xhtml b  data-l=\"m\">",
    ];
    assert_eq!(written(&tree).lines().skip(1).collect::<Vec<_>>(), expected);
    // The document, the elements and texts above, and a placeholder for the text of the drawing.
    assert_eq!(tree.tree.values().len(), 1 + expected.len() + 1);
}

#[test]
fn both_ways_give_the_same_tree() {
    for html in CASES {
        check(html);
        check(&format!("<p>before {html} after<p>last"));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    #[test]
    fn both_ways_give_the_same_tree_of_any_soup(
        parts in proptest::collection::vec((0..SOUP.len(), "([a-zA-Z <>&\"'=/!\0\r\n#;é-]{0,5})?"), 0..60),
        cut in any::<prop::sample::Index>(),
        is_cut in any::<bool>(),
    ) {
        let mut html: String = parts.iter().flat_map(|(part, extra)| [SOUP[*part], extra]).collect();
        if is_cut {
            html.truncate(floor_char_boundary(&html, cut.index(html.len() + 1)));
        }
        check(&html);
    }
}

#[test]
fn most_pages_are_plain() {
    let check = |html: &str, expected: bool| {
        check(html);
        assert_eq!(plainly(html).is_some(), expected, "{html:?}");
    };
    for html in PLAIN {
        check(html, true);
        check(
            &format!("<!DOCTYPE html><p>before {html} after<p>last"),
            true,
        );
    }
    for html in ODD {
        check(html, false);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4000))]

    #[test]
    fn plain_pages_have_the_same_tree(
        parts in proptest::collection::vec((0..TAGS.len(), "[ab &<\n]{0,3}"), 0..40),
        is_standard in any::<bool>(),
    ) {
        let mut html = if is_standard { "<!doctype html>" } else { "" }.to_owned();
        for (tag, text) in parts {
            html += TAGS[tag];
            html += &text;
        }
        check(&html);
    }
}

#[rustfmt::skip]
const TAGS: [&str; 100] = [
    "<p>", "<p>", "</p>", "<div class=a>", "<div>", "</div>", "</div>", "<ul>", "<li>", "<li>", "</li>", "</ul>", "<ol>", "</ol>", "<dl>", "<dt>", "<dd>", "</dd>", "</dl>",
    "<a href=x>", "</a>", "</a>", "<b>", "</b>", "<i id=a>", "</i>", "<code>", "</code>", "<nobr>", "</nobr>", "<span>", "</span>", "<x-y>", "</x-y>", "<em>", "</em>",
    "<table>", "<table>", "</table>", "</table>", "<tr>", "<tr>", "</tr>", "<td>", "<td>", "<td>", "</td>", "<th>", "</th>", "<tbody>", "</tbody>", "<thead>", "</thead>", "<tfoot>",
    "<caption>", "</caption>", "<colgroup>", "</colgroup>", "<col>", "<form>", "</form>", "<input type=hidden>", "<input value=a>", "<button>", "</button>", "<select>", "</select>",
    "<option>", "</option>", "<optgroup>", "</optgroup>", "<h1>", "</h2>", "<h2>", "<pre>", "</pre>", "<textarea>\n</textarea>", "<hr>", "<br>", "</br>", "<img src='a&amp;b'>",
    "<object>", "</object>", "<ruby>", "<rt>", "<rp>", "<rtc>", "</ruby>", "<noscript>", "</noscript>", "<script>a<b</script>", "<style>a</style>", "<!-- c -->", "</body>", "</html>", "<svg><g/></svg>",
    "<template>", "</template>", "<body class=a id=b>", "<html lang=a>",
];

#[rustfmt::skip]
const PLAIN: [&str; 30] = [
    "<p>a<p>b</p></p>", "<div><p>a<div>b</div>c</div>", "<ul><li>a<ul><li>b</ul>c<li>d</ul>", "<dl><dt>a<dd>b<dt>c</dl>", "<a href=x>a</a><a href=y>b<a href=z>c</a>",
    "<b><i>a</b>b</i>", "<p><b>a<p>b</b>c", "<p><b class=x>a</p><p>b</b>c</p>", "a<!-- b -->c&amp;<!-- d -->e &lt; f", "<form><div></form>a</div>b", "<table><tr><td>a<td>b<tr><th>c</table>d",
    "<table> <caption>a</caption> <colgroup><col> </colgroup> <thead><tr><th>b</thead> <tbody></tbody></table>", "<table><form><input type=HIDDEN><tr><td><p>a</form></table>",
    "<table><tr><td><table><tr><td>a</table>b</table>c", "<select><option>a<option selected>b<optgroup><option>c</select>", "<button>a<button>b</button>", "<h1>a<h2>b</h1>c",
    "<pre>\n\na</pre><textarea>\n\na</textarea>", "<svg><path/></svg><svg/>", "<ruby>a<rp>(<rt>b<rp>)</ruby>", "<object>a<b>b</object>c", "a <3 b < c <!x> <?y?> </> </ z>",
    "<script type=application/ld+json>{\"a\":1}</script><style>b</style><iframe src=x>c</iframe><noscript><img src=d></noscript>", "</br><image src=a><hr></p></x>",
    "<body class=a><body id=b class=c>b", "<html lang=a><p>b<html lang=c id=d>", "<template><p>a</body></template>b", "<table><tr><template><tr>a<template></template></table></p></template><td>b</table>",
    "<b><template></b><script></template></script><svg><a><image/></a></svg></template>a</b>", "<ul><li><template><li></ul><a><div><a></template>a<li>b</ul><select><template><option></template></select>",
];

#[rustfmt::skip]
const ODD: [&str; 13] = [
    "<table>a<tr><td>b</table>", "<table><div>a</div></table>", "<b><p>a</b>b</p>", "<a><div><a>b", "<template><math></template>a", "<math><mi>a</math>", "<svg><foreignObject><p>a</svg>", "<plaintext>a",
    "<frameset><frame src=a></frameset>", "<template><col><style><b></template>", "<template><b><object></template>a", "a\0b", "<head></head><link rel=next href=a><body>",
];

#[rustfmt::skip]
const CASES: [&str; 92] = [
    // Tags and attributes.
    "<a href=x/>y<a/href='x'class=\"y\"z>", "<p =x==y / id = \"\" id=z><p class=a\tid=b\nrole=c\u{c}>",
    "<P CLASS=X><dIV Id='&amp;&ampx=&amp=&amp;'></DiV x=y/></p/>", "<p class=a\0b><p\0><p id=\0></p\0>", "<é><p é=ü id=ö>",
    "<p id='a'id='b'>", "<p id>", "<p id=>", "<p id= >x", "<br/><img src='x'/ >", "</br></p></>", "</ x></3>< p><3>&<&#>",
    // Incomplete markup.
    "<", "</", "<p", "<p ", "<p a", "<p a=", "<p a='", "<p a=''", "</p", "x&", "x&amp", "x&#", "x&#x", "x&#65", "<!", "<!-", "<!--", "<!--x-",
    "<script>x", "<script>x</script", "<script>x</script ", "<style>x</sty", "<title>x&lt", "<svg><g>", "<svg></svg", "<!doctype", "<![CDATA[x",
    // References.
    "&amp;&ampx&am&notit;&notin;&not;&NotEqualTilde;&nGt;&#0;&#128;&#x80;&#xD800;&#x110000;&#99999999999;&#13;&#x41g&;&x;&&amp",
    "<a href='?a=1&copy=2&copy;&copy&reg3&reg'>&AMP;&AMP</a>",
    // Comments.
    "a<!-->b<!--->c<!---->d<!--->-->e<!--x--!>f<!--<!--g-->h<!----!-->i<!-- --- >j--->k<!-x>l<!>m<?n>o<!--\0-->p",
    // Raw text.
    "<script><!--</script>a", "<script><!--<script></script>--></script>b", "<script><!--<script ></SCRIPT\n>c</script>d", "<script><!--<scripty></script>e",
    "<script>'</scriptx>'</script/ x='>'>f", "<script type=' application/LD+json '>{\"a\":\"</b>\0\"}</script>g", "<script/>x</script>h",
    "<style><!--</style>--></style>a", "<title>a&amp;b<b></title>", "<title>a\0b</title>", "<textarea>\n\na<b></textarea>", "<textarea>&#10;a</textarea>",
    "<xmp>&amp;</xmp><iframe><p></iframe><noembed><p></noembed><noframes><p></noframes><noscript><p></noscript>", "<plaintext></plaintext>a",
    "<frameset><script><frame></script><frame><style><frame></style><noframes><p></noframes>", "<select><script><option></script><option>a<textarea>b</textarea>",
    // Drawings.
    "<svg><style>a</style><title>b</title><g/><path/></svg>c", "<svg><g></svg>a", "<svg></g></svg>a", "<svg><p>a</svg>b", "<svg><title><p>a</title></svg>b",
    "<svg><foreignObject><p>a</foreignObject></svg>b", "<svg><![CDATA[</svg>]]></svg>a", "<svg><script>a<b></script></svg>c", "<svg><font color=a>b</svg>c", "<svg><font>b</svg>c",
    "<svg/>a", "<svg><svg><g></g></svg></svg>a", "<math><svg><g></svg></math>a", "<math><annotation-xml encoding=text/html><svg><p>a</svg></math>b", "<table><svg><g>a</g></svg><tr><td>b",
    "<svg>a</svg><frameset>", "<svg> </svg><frameset>", "<svg>&#32;</svg><frameset>", "<svg><title>a</title></svg><frameset>", "<svg><!-- a --></svg><frameset>", "<select><svg><g>a</g></svg>b",
    // Other decisions that depend on attributes.
    "<input type=hidden><frameset>", "<input type=text><frameset>", "<table><input type=hidden><input type=x></table>",
    "<p><b x=1><b x=2><b x=3><b x=3><b x=3><b x=3></p>a", "<p><a x=1><a x=2><a x=2><a x=2><a x=2></p>a", "<p><font x><font x><font x><font x y></p>a",
    // Line ends, and the beginning of a page.
    "\u{feff}a\r\nb\rc\n\rd<p id='x\r\ny'\rclass\r=\r\nz>\u{feff}e", "<pre>\r\n\r\na</pre><pre>&#10;b</pre><pre><!-- c -->\nd</pre>", " \0 <!doctype html>\0a", "\0\0<p>\0a<table>\0b<svg>\0c", "a\0\0\0b<table>\0\0c<svg>\0\0\0d</svg><select>\0\0e",
    "<!DOCTYPE html PUBLIC \"-//W3C//DTD HTML 3.2//EN\"><p><table>a", "<p><table>a",
];

#[rustfmt::skip]
const SOUP: [&str; 138] = [
    "<p>", "</p>", "<p ", "<p id='", "<div class=\"", "<div class=a data-b=c>", "</div>", "<div", "'", "\"", ">", "/>", " = ", " id=", " class='a&amp;b'", " data-x",
    "<a href=/x?a=1&copy=2>", "<a href='", "</a>", "<b>", "<b x=1>", "<b x=2 class=y>", "</b>", "<i>", "</i>", "<font color=x>", "<font>", "</font>", "<nobr>", "<em data-a>",
    "<script>", "<script type=application/ld+json>", "<script src='x'>", "</script>", "</script ", "</SCRIPT/>", "<!--<script>", "<!--", "-->", "--!>", "<!-->", "<!", "<?", "--", "</scriptx>",
    "<style>", "<style media=x>", "</style>", "</style\n>", "<title>", "</title>", "<textarea>", "</textarea>", "<textarea>\n", "<iframe src=x>", "</iframe>", "<xmp>", "</xmp>", "<noframes>", "</noframes>",
    "<noembed>", "</noembed>", "<noscript>", "</noscript>", "<plaintext>", "<svg>", "<svg viewBox=x>", "</svg>", "<svg/>", "<g>", "</g>", "<path d='M0 0'/>", "<path>", "</path>", "<foreignObject>", "</foreignObject>",
    "<desc>", "</desc>", "<math>", "</math>", "<mi>", "<mtext>", "<annotation-xml encoding=text/html>", "</annotation-xml>", "<mglyph>", "<![CDATA[", "]]>", "<template>", "</template>", "<select>", "</select>", "<option>", "<optgroup>",
    "<input type=hidden>", "<input type='text' name=x>", "<table>", "</table>", "<tr>", "<td>", "<th>", "</td>", "<tbody>", "<caption>", "<colgroup>", "<col>", "<frameset>", "</frameset>", "<frame src=x>",
    "<html lang=en>", "</html>", "<head>", "</head>", "<body class=x>", "</body>", "<meta charset=utf-8>", "<meta name=a content='b'>", "<link rel=next href=x>", "<base href=y>", "<!doctype html>", "<!DOCTYPE x PUBLIC \"",
    "&amp;", "&nbsp;", "&not", "&notin;", "&#65;", "&#x80;", "&#", "&", "&copy", "\0", "\r\n", "\n", " ", "text", "<pre>\n", "</pre>", "<li>", "<h1>",
];
