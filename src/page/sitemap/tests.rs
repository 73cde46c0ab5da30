//! Tests of what is read from sitemaps and feeds, intact and broken.

use std::io::Write as _;

use flate2::Compression;
use flate2::write::GzEncoder;
use proptest::prelude::*;

use super::*;
use crate::url;

fn read(source: &[u8], base: Option<&str>) -> (Vec<SitemapEntry>, SitemapReport) {
    let base = base.map(|base| url::parse(base).unwrap());
    let mut entries = Vec::new();
    let report = read_sitemap(
        source,
        base.as_ref(),
        &SitemapOptions::default(),
        &mut |entry| entries.push(entry),
    );
    assert_eq!(report.entries, entries.len());
    (entries, report)
}

/// Checks the URLs that are read, with `-> ` before those of sitemaps, and then the beginnings of
/// the problems.
fn check(source: &[u8], urls: &[&str], problems: &[&str]) {
    let (entries, report) = read(source, None);
    let found: Vec<String> = entries
        .iter()
        .map(|entry| match entry.kind {
            EntryKind::Page => entry.url.to_string(),
            EntryKind::Sitemap => format!("-> {}", entry.url),
        })
        .collect();
    let shown = String::from_utf8_lossy(source);
    assert_eq!(found, urls, "{shown}");
    let said: Vec<String> = report.problems.iter().map(ToString::to_string).collect();
    assert_eq!(said.len(), problems.len(), "{said:?} of {shown}");
    for (said, expected) in said.iter().zip(problems) {
        assert!(said.starts_with(expected), "{said:?}, not {expected:?}");
    }
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

const A: &str = "http://a.example/a";
const B: &str = "http://a.example/b";

fn urlset(inner: &str) -> String {
    format!(
        "<?xml version='1.0' encoding='UTF-8'?>\n<urlset xmlns='http://www.sitemaps.org/schemas/sitemap/0.9'>{inner}</urlset>"
    )
}

#[test]
fn namespaces_do_not_matter() {
    for (open, close) in [
        ("<urlset>", "</urlset>"),
        (
            "<urlset xmlns='http://www.sitemaps.org/schemas/sitemap/0.9'>",
            "</urlset>",
        ),
        (
            "<urlset xmlns='http://www.google.com/schemas/sitemap/0.84'>",
            "</urlset>",
        ),
        (
            "<!DOCTYPE urlset>\n<!-- x --><urlset xmlns='made up'>",
            "</urlset>",
        ),
        ("\n\n <?xml version=\"1.0\"?><urlset>", "</urlset>\n"),
        ("<b>Notice: 17</b>", ""),
    ] {
        let body = format!("{open}<url><loc>{A}</loc></url><url><loc> {B}\n</loc></url>{close}");
        if close.is_empty() {
            check(body.as_bytes(), &[], &["not a sitemap: it begins with <b>"]);
        } else {
            check(body.as_bytes(), &[A, B], &[]);
        }
    }
    let prefixed = format!("<s:urlset xmlns:s='x'><s:url><s:loc>{A}</s:loc></s:url></s:urlset>");
    check(prefixed.as_bytes(), &[A], &[]);
}

#[test]
fn an_index_leads_to_sitemaps() {
    let body = format!(
        "<sitemapindex><sitemap><loc>{A}</loc><lastmod>2024-01-02</lastmod></sitemap><sitemap><loc>{B}</loc></sitemap></sitemapindex>"
    );
    check(
        body.as_bytes(),
        &["-> http://a.example/a", "-> http://a.example/b"],
        &[],
    );
    let (entries, report) = read(body.as_bytes(), None);
    assert_eq!(report.form, Some(SitemapForm::Index));
    assert_eq!(entries[0].last_modified.as_deref(), Some("2024-01-02"));
}

#[test]
fn hints_are_kept() {
    let body = urlset(
        "<url><loc>http://a.example/a</loc><lastmod>2024-05-06T07:08:09Z</lastmod>
        <changefreq>Weekly</changefreq><priority>0.8</priority>
        <xhtml:link rel='alternate' hreflang='de' href='http://a.example/de?x=1&amp;y=2'/>
        <xhtml:link rel='alternate' hreflang='x-default' href='http://a.example/'></xhtml:link>
        <xhtml:link rel='canonical' href='http://a.example/c'/></url>
        <url><loc>http://a.example/b</loc><lastmod/><changefreq>often</changefreq><priority>7</priority></url>",
    );
    let (entries, report) = read(body.as_bytes(), None);
    assert_eq!(report.problems, []);
    let [first, second] = &*entries else {
        panic!("{entries:?}")
    };
    assert_eq!(first.last_modified.as_deref(), Some("2024-05-06T07:08:09Z"));
    assert_eq!(first.change_frequency, Some(ChangeFrequency::Weekly));
    assert_eq!(first.priority, Some(0.8));
    let alternates = first.alternates.iter();
    let alternates: Vec<_> = alternates
        .map(|it| (it.language.as_str(), it.url.as_str()))
        .collect();
    assert_eq!(
        alternates,
        [
            ("de", "http://a.example/de?x=1&y=2"),
            ("x-default", "http://a.example/")
        ]
    );
    assert_eq!(second.last_modified, None);
    assert_eq!(second.change_frequency, None);
    assert_eq!(second.priority, None);
}

#[test]
fn what_extensions_name_is_no_page() {
    let body = urlset(
        "<url><loc>http://a.example/a</loc>
        <image:image><image:loc>http://a.example/i.png</image:loc></image:image>
        <image:loc>http://a.example/j.png</image:loc>
        <video:video><video:player_loc>http://a.example/v</video:player_loc><video:url>x</video:url>
        <video:content_loc>http://a.example/w</video:content_loc></video:video>
        <news:news><news:publication><news:name>x</news:name></news:publication><loc>http://a.example/n</loc></news:news>
        <mobile:mobile/></url>
        <url><image:image><image:loc>http://a.example/k.png</image:loc></image:image><loc>http://a.example/b</loc></url>",
    );
    check(body.as_bytes(), &[A, B], &[]);
}

#[test]
fn text_is_unescaped_once() {
    for (text, expected) in [
        ("http://a.example/?x=1&amp;y=2", "http://a.example/?x=1&y=2"),
        (
            "http://a.example/?x=1&#38;y=&#x32;",
            "http://a.example/?x=1&y=2",
        ),
        (
            "<![CDATA[http://a.example/?x=1&y=2]]>",
            "http://a.example/?x=1&y=2",
        ),
        (
            "\n<![CDATA[ http://a.example/?x=<1> ]]>\n",
            "http://a.example/?x=%3C1%3E",
        ),
        ("http://a.example/<![CDATA[a&b]]>c", "http://a.example/a&bc"),
        ("http://a.example/?q=&amp;amp;", "http://a.example/?q=&amp;"),
        ("http://a.example/&apos;&quot;", "http://a.example/'%22"),
        ("http://a.example/ü", "http://a.example/%C3%BC"),
        // Incorrectly escaped, but unambiguous.
        ("http://a.example/?x=1&y=2", "http://a.example/?x=1&y=2"),
        ("http://a.example/?x=1&y;z", "http://a.example/?x=1&y;z"),
        ("http://a.example/?x&", "http://a.example/?x&"),
        ("http://a.example/<!-- x -->a", A),
    ] {
        check(
            urlset(&format!("<url><loc>{text}</loc></url>")).as_bytes(),
            &[expected],
            &[],
        );
    }
}

#[test]
fn entities_are_neither_fetched_nor_expanded() {
    let bomb = "<!DOCTYPE urlset [<!ENTITY a 'aaaaaaaa'><!ENTITY b '&a;&a;&a;'>
        <!ENTITY file SYSTEM 'file:///etc/hostname'>]>
        <urlset><url><loc>http://a.example/&b;&file;</loc></url></urlset>";
    check(bomb.as_bytes(), &["http://a.example/&b;&file;"], &[]);
}

#[test]
fn compression_is_known_by_content() {
    let body = urlset(&format!("<url><loc>{A}</loc></url>"));
    check(&gzip(body.as_bytes()), &[A], &[]);
    check(&gzip(&gzip(body.as_bytes())), &[A], &[]);
    check(&gzip(format!("{A}\n{B}").as_bytes()), &[A, B], &[]);
    let members = [gzip(&body.as_bytes()[..60]), gzip(&body.as_bytes()[60..])].concat();
    check(&members, &[A], &[]);
}

#[test]
fn what_is_cut_gives_what_was_whole() {
    let body = urlset(&format!(
        "<url><loc>{A}</loc></url><url><loc>{B}</loc></url>"
    ));
    let until = |mark: &str| &body.as_bytes()[..body.rfind(mark).unwrap()];
    check(
        until("</urlset>"),
        &[A, B],
        &["the file ends inside <urlset>"],
    );
    check(until("</url>"), &[A, B], &["the file ends inside <url>"]);
    // The address may continue after the cut.
    check(until("</loc>"), &[A], &["the file ends inside <loc>"]);
    check(until("oc></url>"), &[A], &["broken markup"]);
    // Enough compressed bytes for the beginning to be readable.
    let many: Vec<String> = (0..5_000)
        .map(|n| format!("<url><loc>{A}{n}</loc></url>"))
        .collect();
    let whole = gzip(urlset(&many.concat()).as_bytes());
    let (entries, report) = read(&whole[..whole.len() / 2], None);
    assert!(
        entries.len() > 1_000 && entries.len() < 4_000,
        "{}",
        entries.len()
    );
    assert!(matches!(report.problems[..], [Problem::Unreadable { .. }]));
    assert_eq!(entries[7].url.as_str(), "http://a.example/a7");
    let (entries, report) = read(&whole[..30], None);
    assert_eq!(entries, []);
    assert!(matches!(report.problems[..], [Problem::Unreadable { .. }]));
}

#[test]
fn missing_end_tags_are_taken_for_granted() {
    let body = format!("<urlset><url><loc>{A}<lastmod>2024</lastmod><url><loc>{B}</loc></urlset>");
    check(body.as_bytes(), &[A, B], &[]);
    let body = format!("<urlset><url><loc>{A}</lok></url></x><url><loc>{B}</loc></url></urlset>");
    check(body.as_bytes(), &[A, B], &[]);
    let rootless = format!("<url><loc>{A}</loc></url><url><loc>{B}</loc></url>");
    check(rootless.as_bytes(), &[A, B], &[]);
}

#[test]
fn entries_without_url_are_problems() {
    let body = urlset(
        "<url><loc></loc></url><url/><url><loc>/relative</loc></url><url><loc>ftp://a.example/</loc></url><url><loc>http://a.example/a</loc></url>",
    );
    check(
        body.as_bytes(),
        &[A],
        &[
            "an entry without a URL",
            "an entry without a URL",
            "not a URL that can be crawled: /relative",
            "not a URL that can be crawled: ftp://a.example/",
        ],
    );
    let (entries, _) = read(body.as_bytes(), Some("https://b.example/x/sitemap.xml"));
    assert_eq!(entries[0].url.as_str(), "https://b.example/relative");
}

#[test]
fn plain_text_has_a_url_a_line() {
    check(format!("\u{feff}{A}\r\n\n {B} \n").as_bytes(), &[A, B], &[]);
    check(
        format!("{A}\nhello\n{B}").as_bytes(),
        &[A, B],
        &["not a URL that can be crawled: hello"],
    );
    check(b"hello\nworld\n", &[], &["not a sitemap"]);
    let (entries, _) = read(b"hello\nworld\n", Some("http://a.example/"));
    assert_eq!(entries, []);
    check(b"", &[], &["not a sitemap"]);
    check(b"\x00\x01\xFF\xFE", &[], &["not a sitemap"]);
}

#[test]
fn feeds_are_read() {
    let rss = "<?xml version='1.0'?><rss version='2.0' xmlns:atom='http://www.w3.org/2005/Atom'><channel>
        <title>t</title><link>http://a.example/</link><atom:link rel='self' href='http://a.example/feed'/>
        <image><url>http://a.example/i.png</url><link>http://a.example/</link></image>
        <item><title>x &amp; y</title><link>http://a.example/a</link><guid>http://a.example/?p=1</guid>
        <enclosure url='http://a.example/e.mp3'/><media:content><link>http://a.example/m</link></media:content>
        <pubDate>Mon, 06 May 2024 07:08:09 GMT</pubDate></item>
        <item><guid isPermaLink='true'>http://a.example/b</guid></item>
        <item><guid isPermaLink='false'>tag:17</guid><title>t</title></item></channel></rss>";
    check(rss.as_bytes(), &[A, B], &["an entry without a URL"]);
    let (entries, report) = read(rss.as_bytes(), None);
    assert_eq!(report.form, Some(SitemapForm::Rss));
    let date = entries[0].last_modified.as_deref();
    assert_eq!(date, Some("Mon, 06 May 2024 07:08:09 GMT"));

    let rdf = "<rdf:RDF xmlns:rdf='http://www.w3.org/1999/02/22-rdf-syntax-ns#' xmlns='http://purl.org/rss/1.0/'>
        <channel rdf:about='http://a.example/rss'><link>http://a.example/</link><items><rdf:Seq><rdf:li resource='x'/></rdf:Seq></items></channel>
        <item rdf:about='http://a.example/a'><link>http://a.example/a</link><dc:date>2024-05-06</dc:date></item>
        <item><link>http://a.example/b</link></item></rdf:RDF>";
    check(rdf.as_bytes(), &[A, B], &[]);
    let (entries, report) = read(rdf.as_bytes(), None);
    assert_eq!(report.form, Some(SitemapForm::Rdf));
    assert_eq!(entries[0].last_modified.as_deref(), Some("2024-05-06"));

    let atom = "<feed xmlns='http://www.w3.org/2005/Atom'><link rel='self' href='http://a.example/feed'/><id>x</id>
        <entry><link rel='edit' href='http://a.example/e'/><link href='http://a.example/a'/><link rel='alternate' href='http://a.example/z'/>
        <updated>2024-05-06T00:00:00Z</updated><content type='xhtml'><div><link href='http://a.example/no'/></div></content></entry>
        <entry><link rel='alternate' type='text/html' href='http://a.example/b'/></entry></feed>";
    check(atom.as_bytes(), &[A, B], &[]);
    let (entries, report) = read(atom.as_bytes(), None);
    assert_eq!(report.form, Some(SitemapForm::Atom));
    assert_eq!(
        entries[0].last_modified.as_deref(),
        Some("2024-05-06T00:00:00Z")
    );
}

#[test]
fn other_markup_is_no_sitemap() {
    check(
        b"<!doctype html><html><a href='http://a.example/a'>x</a></html>",
        &[],
        &["not a sitemap: it begins with <html>"],
    );
    check(
        b"<!-- only this -->",
        &[],
        &["not a sitemap: it has no element"],
    );
}

#[test]
fn encodings_are_read() {
    let body = format!(
        "<?xml version='1.0' encoding='UTF-16'?><urlset><url><loc>{A}ü</loc></url></urlset>"
    );
    let expected = "http://a.example/a%C3%BC";
    for mark in ["\u{feff}", ""] {
        let body = format!("{mark}{body}");
        let little: Vec<u8> = body.encode_utf16().flat_map(u16::to_le_bytes).collect();
        let big: Vec<u8> = body.encode_utf16().flat_map(u16::to_be_bytes).collect();
        check(&little, &[expected], &[]);
        check(&big, &[expected], &[]);
        check(body.as_bytes(), &[expected], &[]);
    }
    let latin = format!("<?xml version=\"1.0\" encoding=\"ISO-8859-1\"?><urlset><url><loc>{A}");
    let latin = [latin.as_bytes(), b"\xFC</loc></url></urlset>"].concat();
    check(&latin, &[expected], &[]);
    // Wrongly declared or not at all: a replacement character rather than a wrong letter.
    let broken = [A.as_bytes(), b"\xFC"].concat();
    check(&broken, &["http://a.example/a%EF%BF%BD"], &[]);
}

#[test]
fn bounds_hold() {
    let many = urlset(&format!("<url><loc>{A}</loc></url>").repeat(10));
    let options = SitemapOptions {
        max_entries: 3,
        ..SitemapOptions::default()
    };
    let mut count = 0;
    let report = read_sitemap(many.as_bytes(), None, &options, &mut |_| count += 1);
    assert_eq!((count, report.problems), (3, vec![Problem::TooMany(3)]));
    let lines = format!("{A}\n").repeat(10);
    let report = read_sitemap(lines.as_bytes(), None, &options, &mut |_| count += 1);
    assert_eq!((count, report.problems), (6, vec![Problem::TooMany(3)]));

    let options = SitemapOptions {
        max_bytes: 1_000_000,
        ..SitemapOptions::default()
    };
    // Expands to a thousand times its size.
    let body = urlset(&" ".repeat(900_000).repeat(20));
    let report = read_sitemap(&*gzip(body.as_bytes()), None, &options, &mut |_| {});
    assert_eq!(report.problems, [Problem::TooLarge(1_000_000)]);
    let body = urlset(&format!(
        "<url><loc>{A}</loc></url><!-- {} -->",
        "x".repeat(5_000_000)
    ));
    let (entries, report) = read(body.as_bytes(), None);
    assert_eq!(entries.len(), 1);
    assert!(matches!(report.problems[..], [Problem::PieceTooLarge(_)]));

    let body = urlset(&"<url><loc>no</loc></url>".repeat(2 * MAX_PROBLEMS));
    let (_, report) = read(body.as_bytes(), None);
    assert_eq!(report.problems.len(), MAX_PROBLEMS);
    assert_eq!(report.problem_count, 2 * MAX_PROBLEMS);
    let long = urlset(&format!(
        "<url><loc>http://a.example/{}</loc></url>",
        "x".repeat(100_000)
    ));
    check(long.as_bytes(), &[], &["not a URL that can be crawled"]);
}

#[test]
fn depth_costs_nothing() {
    let deep = urlset(&format!(
        "{}{}<url><loc>{A}</loc></url>",
        "<x>".repeat(100_000),
        "</x>".repeat(100_000)
    ));
    check(deep.as_bytes(), &[A], &[]);
    let open = urlset(&"<url>".repeat(1_000));
    let (_, report) = read(open.as_bytes(), None);
    assert_eq!(report.problem_count, 1_000);
}

/// A file that arrives in small pieces.
struct Dribble<'a>(&'a [u8]);

impl Read for Dribble<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let count = self.0.len().min(1).min(buffer.len());
        buffer[..count].copy_from_slice(&self.0[..count]);
        self.0 = &self.0[count..];
        Ok(count)
    }
}

proptest! {
    #[test]
    fn any_bytes_are_read(source in proptest::collection::vec(any::<u8>(), 0..200)) {
        read(&source, Some("http://a.example/"));
    }

    /// Pieces of sitemaps in any order read the same byte by byte.
    #[test]
    fn any_markup_is_read(pieces in proptest::collection::vec(proptest::sample::select(vec![
        "<urlset>", "</urlset>", "<url>", "</url>", "<loc>", "</loc>", "http://a.example/a", "<rss>", "<item>",
        "<link>", "</link>", "<feed>", "<entry>", "<link href='/x'/>", "<!--", "-->", "<![CDATA[", "]]>", "&amp;",
        "&", ";", "<", ">", "'", "<?xml encoding='latin1'?>", "<lastmod>", "<sitemap>", "<sitemapindex>", "<!",
        "\u{feff}", "é", " ", "</", "/>", "<xhtml:link rel='alternate' hreflang='de' href='/y'/>",
    ]), 0..24)) {
        let source = pieces.concat();
        let (entries, report) = read(source.as_bytes(), Some("http://a.example/"));
        let mut again = Vec::new();
        let base = url::parse("http://a.example/").unwrap();
        let slowly = read_sitemap(
            Dribble(source.as_bytes()),
            Some(&base),
            &SitemapOptions::default(),
            &mut |entry| again.push(entry),
        );
        prop_assert_eq!(entries, again);
        prop_assert_eq!(report, slowly);
    }

    /// Whatever URLs a site has, they are read in order.
    #[test]
    fn what_was_written_is_read(paths in proptest::collection::vec("[a-z0-9/?&=]{0,12}", 1..20), compress in any::<bool>()) {
        let urls: Vec<String> = paths.iter().map(|path| format!("http://a.example/{path}")).collect();
        let inner: Vec<String> = urls.iter().map(|url| format!("<url><loc>{}</loc></url>", url.replace('&', "&amp;"))).collect();
        let body = urlset(&inner.concat()).into_bytes();
        let (entries, report) = read(&if compress { gzip(&body) } else { body }, None);
        let found: Vec<String> = entries.into_iter().map(|entry| entry.url.into()).collect();
        prop_assert_eq!(found, urls);
        prop_assert_eq!(report.problem_count, 0);
    }
}

#[test]
fn dates_of_sitemaps_and_feeds_are_read() {
    for (text, expected) in [
        ("2024-05-01T10:20:30Z", "2024-05-01T10:20:30Z"),
        ("2024-05-01T10:20:30.5+02:00", "2024-05-01T08:20:30.5Z"),
        ("2024-05-01T10:20+00:00", "2024-05-01T10:20:00Z"),
        ("2024-05-01T10:20:30", "2024-05-01T10:20:30Z"),
        ("2024-05-01 10:20:30", "2024-05-01T10:20:30Z"),
        (" 2024-05-01 ", "2024-05-01T00:00:00Z"),
        ("2024-05", "2024-05-01T00:00:00Z"),
        ("2024", "2024-01-01T00:00:00Z"),
        ("Wed, 01 May 2024 10:20:30 GMT", "2024-05-01T10:20:30Z"),
        ("Wed, 01 May 2024 10:20:30 +0200", "2024-05-01T08:20:30Z"),
    ] {
        let found = super::entry::modified(text.trim()).map(|time| time.to_string());
        assert_eq!(found.as_deref(), Some(expected), "{text}");
    }
    for text in ["", "yesterday", "2024-13", "20240", "2024-05-41", "99999"] {
        assert_eq!(super::entry::modified(text), None, "{text}");
    }
}

#[test]
fn sitemaps_are_recognized_by_their_first_element() {
    use super::SitemapForm::{Atom, Index, Rss, UrlSet};
    let long = format!("<!-- {} --><urlset>", "x".repeat(10_000));
    for (text, expected) in [
        ("<?xml version='1.0'?>\n<urlset>", Some(UrlSet)),
        (long.as_str(), Some(UrlSet)),
        ("\u{feff}<s:sitemapindex xmlns:s='x'/>", Some(Index)),
        ("<rss version='2.0'><channel>", Some(Rss)),
        ("<feed xmlns='http://www.w3.org/2005/Atom'>", Some(Atom)),
        ("<html><urlset>", None),
        ("<svg/>", None),
        ("http://a.example/x", None),
        ("words <urlset>", None),
        ("", None),
    ] {
        assert_eq!(super::recognize(text.as_bytes()), expected, "{text}");
    }
}

/// What a person would read in files that were written by hand, or cut and pasted.
#[test]
fn broken_nesting_is_read_as_far_as_it_can_be() {
    let lists = [
        // End tags that are missing or swapped.
        "<urlset><url><loc>A</url><url><loc>B</url></urlset>",
        "<urlset><url><loc>A</url></loc><url><loc>B</url></loc></urlset>",
        "<urlset><url><loc>A<url><loc>B</urlset>",
        "<urlset><url><loc>A</loc><url><loc>B</loc></url></urlset>",
        // Elements that are missing.
        "<urlset><url><loc>A</loc><loc>B</loc></url></urlset>",
        "<urlset><loc>A</loc><loc>B</loc></urlset>",
        "<urlset><loc>A</loc><url><loc>B</loc></url></urlset>",
        "<urlset><url>A</url><url>\n B </url></urlset>",
        "<urlset><loc><url>A</url></loc><loc><url>B</url></loc></urlset>",
        "<urlset><url <loc>A</loc></url><url <loc>B</loc></url></urlset>",
        // Capitals.
        "<URLSET><URL><LOC>A</LOC></URL><URL><LOC>B</LOC></URL></URLSET>",
        "<UrlSet><Url><Loc>A</loc></url><url><loc>B</Loc></URL></urlset>",
    ];
    for text in lists {
        let body = text.replace('A', A).replace('B', B);
        check(body.as_bytes(), &[A, B], &[]);
    }
    let indexes = [
        "<sitemapindex><sitemap><loc>A</loc><sitemap><loc>B</loc></sitemap></sitemapindex>",
        "<sitemapindex><sitemap><loc>A</loc><lastmod>2024</lastmod><loc>B</loc></sitemapindex>",
        "<sitemapindex><sitemap><loc>A</loc></sitemap><sitemap><loc>B</loc></sitemapindex>",
        "<sitemapindex><sitemap><loc>A<sitemap><loc>B</sitemap></sitemapindex>",
        "<sitemapindex><loc>A</loc><loc>B</loc></sitemapindex>",
        "<SITEMAPINDEX><SITEMAP><LOC>A</LOC></SITEMAP><SITEMAP><LOC>B</LOC></SITEMAP></SITEMAPINDEX>",
    ];
    for text in indexes {
        let body = text
            .replace("A<", &format!("{A}<"))
            .replace("B<", &format!("{B}<"));
        let urls = [A, B].map(|url| format!("-> {url}"));
        let urls: Vec<&str> = urls.iter().map(String::as_str).collect();
        check(body.as_bytes(), &urls, &[]);
    }
    // Capitals of feeds.
    let feed = "<RSS><CHANNEL><ITEM><LINK>http://a.example/a</LINK></ITEM></CHANNEL></RSS>";
    check(feed.as_bytes(), &[A], &[]);
}
