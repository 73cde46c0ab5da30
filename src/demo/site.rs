//! The hosts of the demo's web and their pages: a journal, and what becomes of one of its articles
//! elsewhere. Plain data; `server` sends it, `report` explains what a crawler made of it.
//!
//! Each copy is linked from the article that it copies, so the article is always the original. Each
//! page differs from every other so much, or so little, that its verdict is never close.

use std::time::Duration;

/// A host of the web.
#[derive(Debug)]
pub(super) struct Host {
    pub(super) name: &'static str,
    /// Description of the host, for people.
    pub(super) about: &'static str,
    /// Delay of each response.
    pub(super) delay: Duration,
    pub(super) robots: Option<&'static str>,
    pub(super) pages: Vec<Page>,
}

/// A path with its query, and the response to it.
#[derive(Debug)]
pub(super) struct Page {
    pub(super) path: &'static str,
    pub(super) reply: Reply,
}

/// A response of a host.
#[derive(Debug)]
pub(super) enum Reply {
    Html(String),
    Moved(&'static str),
}

/// Delay of the slow host; its `about` mentions it.
const SLOW: Duration = Duration::from_millis(800);

const GLEANING: &str = include_str!("texts/gleaning.txt");
const GLEANING_DE: &str = include_str!("texts/gleaning-de.txt");
const GLEANING_JA: &str = include_str!("texts/gleaning-ja.txt");
const HERBS: &str = include_str!("texts/herbs.txt");
const WALLS: &str = include_str!("texts/walls.txt");
const OAKS: &str = include_str!("texts/oaks.txt");
const NOTES: [&str; 3] = [
    include_str!("texts/notes-1.txt"),
    include_str!("texts/notes-2.txt"),
    include_str!("texts/notes-3.txt"),
];

/// Returns all hosts, in the order in which they are shown.
pub(super) fn hosts() -> Vec<Host> {
    let host = |name, about, pages| Host {
        name,
        about,
        delay: Duration::ZERO,
        robots: None,
        pages,
    };
    vec![
        Host {
            robots: Some("User-agent: *\nDisallow: /drafts/\n"),
            ..host("www.fieldnotes.example", "a journal", journal_pages())
        },
        host(
            "mirror.fieldnotes.example",
            "a mirror of two of its pages",
            vec![html("/", index()), html("/gleaning", article(GLEANING))],
        ),
        host(
            "archive.fieldnotes.example",
            "its article in other markup, and in a second edition",
            vec![
                html("/plain", in_other_markup(&article(GLEANING))),
                html("/second-edition", article(&second_edition())),
            ],
        ),
        host(
            "press.fieldnotes.example",
            "a newspaper that reprints the article",
            vec![html("/gleaning", reprint())],
        ),
        host(
            "de.fieldnotes.example",
            "the article in German",
            vec![html(
                "/nachlese",
                journal_page("de", "Nachlese", &paragraphs(GLEANING_DE), ""),
            )],
        ),
        host(
            "ja.fieldnotes.example",
            "an article in Japanese",
            vec![html(
                "/ochibo",
                journal_page("ja", "落ち穂拾い", &paragraphs(GLEANING_JA), ""),
            )],
        ),
        Host {
            delay: SLOW,
            ..host(
                "slow.fieldnotes.example",
                "a server that takes 0.8 s for each answer",
                vec![html(
                    "/oaks",
                    journal_page("en", "Oaks", &paragraphs(OAKS), ""),
                )],
            )
        },
    ]
}

fn html(path: &'static str, html: String) -> Page {
    let reply = Reply::Html(html);
    Page { path, reply }
}

/// Returns the body of a 404 response.
pub(super) fn not_found() -> String {
    journal_page("en", "Gone", "<p>There is nothing here any more.</p>", "")
}

fn journal_pages() -> Vec<Page> {
    let essay = |title, text| journal_page("en", title, &paragraphs(text), "");
    vec![
        html("/", index()),
        html("/gleaning", article(GLEANING)),
        html("/herbs", essay("Drying herbs", HERBS)),
        html("/walls", essay("Building a dry stone wall", WALLS)),
        html(
            "/notes?page=1",
            notes(0, r#"<a href="/notes?page=2">Next</a>"#),
        ),
        html(
            "/notes?page=2",
            notes(
                1,
                r#"<a href="/notes?page=3">Next</a>
<a href="/herbs?PHPSESSID=9682993c8daa2c5497996114facdc805">Herbs</a>"#,
            ),
        ),
        html(
            "/notes?page=3",
            notes(
                2,
                r#"<a href="HTTP://WWW.FieldNotes.example:80/walls#wedges">Walls</a>
<a href="/notes?utm_medium=mail&amp;page=2">Back</a>"#,
            ),
        ),
        Page {
            path: "/gleaning.html",
            reply: Reply::Moved("http://www.fieldnotes.example/gleaning"),
        },
        // Never sent to a crawler that obeys robots.txt.
        html("/drafts/scythes", essay("Scythes, a draft", NOTES[0])),
    ]
}

/// Returns the front page. Its links to other pages of the journal are absolute, except that to the
/// article.
fn index() -> String {
    let body = r#"<p>Notes on things that are done by hand. This journal is built into gleaner: it is served on your own
machine and nowhere else, and its articles are about the right length to be read by a crawler.</p>
<ul>
<li><a href="/gleaning">Gleaning</a>, on what was left in the fields</li>
<li><a href="http://www.fieldnotes.example/herbs">Drying herbs</a></li>
<li><a href="http://www.fieldnotes.example/walls">Building a dry stone wall</a></li>
<li><a href="http://www.fieldnotes.example/notes?page=1">Short notes</a>, in three parts</li>
<li><a href="http://slow.fieldnotes.example/oaks">Oaks</a>, from a slow server</li>
<li><a href="http://www.fieldnotes.example/gleaning.html">Gleaning</a>, where it used to be</li>
<li><a href="http://www.fieldnotes.example/lost">Lost</a>, a page that is gone</li>
<li><a href="http://www.fieldnotes.example/drafts/scythes">Scythes</a>, a draft that is not for robots</li>
<li><a href="http://elsewhere.example/">Elsewhere</a>, a site that is none of ours</li>
</ul>"#;
    journal_page("en", "Field notes", body, "")
}

/// Returns the article as the journal prints it, with links to its copies in the surrounding frame.
fn article(text: &str) -> String {
    let copies = r#"<p>Also at: <a href="http://mirror.fieldnotes.example/">our mirror</a>,
<a href="http://archive.fieldnotes.example/plain">the archive</a>,
<a href="http://archive.fieldnotes.example/second-edition">second edition</a>,
<a href="http://press.fieldnotes.example/gleaning">in the press</a>,
<a href="http://de.fieldnotes.example/nachlese">auf Deutsch</a>,
<a href="http://ja.fieldnotes.example/ochibo">日本語</a></p>"#;
    journal_page("en", "Gleaning", &paragraphs(text), copies)
}

/// Returns the article with three words changed.
fn second_edition() -> String {
    GLEANING
        .replace("for several weeks of bread", "for some weeks of bread")
        .replace("Many did not.", "Most did not.")
        .replace("kept alive by habit", "kept going by habit")
}

/// Rewrites the markup of a page so that it reads the same, but no line of the file is the same.
fn in_other_markup(page: &str) -> String {
    page.replace("<p>", "<div class=\"paragraph\"><p>\n")
        .replace("</p>", "\n</p></div>\n")
        .replace(".\n", ".\n\n")
}

/// Returns the same article in a newspaper that shares nothing else with the journal.
fn reprint() -> String {
    let body = paragraphs(GLEANING);
    format!(
        r#"<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<title>Gleaning - The Evening Press</title>
</head>
<body>
<header class="banner"><strong>The Evening Press</strong> Late edition, price two pence</header>
<nav class="menu">Politics, markets, weather.
<a href="http://www.fieldnotes.example/gleaning?utm_source=press">Source</a>
<a href="http://www.fieldnotes.example/gleaning;jsessionid=1F3A6B0C94E2D7785A21">Source, once more</a></nav>
<main class="story">
<h1>Gleaning</h1>
{body}
</main>
<aside class="sidebar">Subscribers read us at breakfast. Ask your newsagent for our almanac.</aside>
<footer>Printed by steam in Mill Street. Letters to the editor are welcome on one side of the paper.</footer>
</body>
</html>
"#
    )
}

fn notes(part: usize, links: &str) -> String {
    let text = NOTES.get(part).copied().unwrap_or_default();
    let title = format!("Short notes, part {}", part + 1);
    journal_page("en", &title, &paragraphs(text), links)
}

/// Returns a page of the journal: navigation above, footer below.
fn journal_page(language: &str, title: &str, body: &str, footer: &str) -> String {
    format!(
        r#"<!DOCTYPE html>
<html lang="{language}">
<head>
<meta charset="utf-8">
<title>{title}</title>
</head>
<body>
<nav><a href="http://www.fieldnotes.example/">Field notes</a></nav>
<main>
<h1>{title}</h1>
{body}
</main>
<footer>{footer}
<p>Field notes, a journal of things done by hand.</p></footer>
</body>
</html>
"#
    )
}

/// Returns each paragraph of a text as an element.
fn paragraphs(text: &str) -> String {
    let paragraphs: Vec<_> = text
        .split("\n\n")
        .map(|paragraph| format!("<p>{}</p>", paragraph.trim()))
        .collect();
    paragraphs.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_copies_differ_as_they_should() {
        let words =
            |text: &str| -> Vec<String> { text.split_whitespace().map(str::to_owned).collect() };
        let (first, second) = (words(GLEANING), words(&second_edition()));
        assert_eq!(first.len(), second.len());
        let changed = first.iter().zip(&second).filter(|(a, b)| a != b).count();
        assert_eq!(changed, 3);
        assert!(first.len() > 300, "{}", first.len());

        let (page, other) = (article(GLEANING), in_other_markup(&article(GLEANING)));
        let text = |html: &str| {
            let mut inside = false;
            let seen: String = html
                .chars()
                .map(|letter| {
                    inside = (inside || letter == '<') && letter != '>';
                    if inside || letter == '>' { ' ' } else { letter }
                })
                .collect();
            words(&seen)
        };
        assert_eq!(text(&page), text(&other));
        assert!(page.len() + 100 < other.len());
    }
}
