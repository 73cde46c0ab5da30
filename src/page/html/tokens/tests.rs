//! Tests that the shortcut yields the same tree as html5ever's tokenizer, apart from what is left
//! out.

use std::fmt::Write as _;

use proptest::prelude::*;
use scraper::{Html, Node};

use super::*;
use crate::page::PageOptions;
use crate::page::html::tree::{parse, parse_all};

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

fn check(html: &str) {
    let options = PageOptions::default();
    let ((short, short_notes), (long, long_notes)) =
        (parse(html, &options), parse_all(html, &options));
    assert_eq!(written(&short), written(&long), "{html:?}");
    assert_eq!((short_notes, long_notes), (vec![], vec![]), "{html:?}");
}

#[test]
fn what_is_not_read_is_not_in_the_tree() {
    let html = "<script>a<b</script><style>c</style><svg><title>d</title><g><path d='e'/></g></svg>\
        <script type=application/ld+json>{}</script><!-- f --><p data-g=h CLASS=i class=j>k<b data-l=m>";
    let (tree, _) = parse(html, &PageOptions::default());
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
