//! `crawl.languages`: links of pages in other languages are not followed.

use crate::run::{Place, gleaner, run};
use crate::web::{Answer, Site, Web};

const GERMAN: &str = "<p>Am Morgen lag noch Nebel über dem Hafen, und die Fischer warteten \
    darauf, dass der Wind drehte. Erst gegen Mittag liefen die ersten Boote aus, und am Abend \
    waren die Netze voll wie lange nicht mehr.</p>";
const ENGLISH: &str = "<p>In the morning there was still fog over the harbour, and the fishermen \
    waited for the wind to turn. Only towards noon did the first boats leave, and in the evening \
    they came back with full nets.</p>";
/// Too short to be clear.
const UNCLEAR: &str = "<p>Radio Hotel Taxi</p>";

fn answer(head: &str, text: &str, links: &[&str]) -> Answer {
    let links: Vec<String> = links
        .iter()
        .map(|it| format!("<a href={it}>{it}</a>"))
        .collect();
    let links = links.join(" ");
    Answer::html(format!("<head>{head}</head><body>{text}{links}</body>"))
}

/// A site in two languages. Its start is in English; what is in German is reached from there, from
/// pages whose language is not clear, and from what an English page says is its German version.
fn site() -> Site {
    let version = "<link rel=alternate hreflang=de-AT href=/de/version>\
                   <link rel=alternate hreflang=fr href=/fr/version>";
    Site::new()
        .page("/", answer("", ENGLISH, &["/de/", "/en/", "/map"]))
        .page("/de/", answer("", GERMAN, &["/de/1", "/shared"]))
        .page("/de/1", answer("", &GERMAN.replace("Nebel", "Schnee"), &[]))
        .page(
            "/de/version",
            answer("", &GERMAN.replace("Nebel", "Regen"), &["/de/2"]),
        )
        .page("/de/2", answer("", &GERMAN.replace("Nebel", "Rauch"), &[]))
        .page("/fr/version", answer("", "<p>Bonjour</p>", &[]))
        .page("/map", answer("", UNCLEAR, &["/map/1"]))
        .page("/map/1", answer("", UNCLEAR, &[]))
        .page(
            "/en/",
            answer(
                version,
                &ENGLISH.replace("fog", "snow"),
                &["/en/1", "/shared"],
            ),
        )
        .page("/en/1", answer("", &ENGLISH.replace("fog", "rain"), &[]))
        .page("/shared", answer("", UNCLEAR, &[]))
}

fn asked(web: &Web) -> Vec<String> {
    let mut paths: Vec<String> = web.requests().into_iter().map(|it| it.path).collect();
    paths.retain(|path| path != "/robots.txt");
    paths.sort_unstable();
    paths
}

#[test]
fn links_of_pages_in_other_languages_are_not_followed() {
    let wanted = [
        "/",
        "/de/",
        "/de/1",
        "/de/2",
        "/de/version",
        "/en/",
        "/map",
        "/map/1",
        "/shared",
    ];
    let at_the_host = "[[domain]]\nmatch = [\"127.0.7.1\"]\ncrawl.languages = [\"de-CH\", \"it\"]";
    for settings in ["[crawl]\nlanguages = [\"de\"]", at_the_host] {
        let web = Web::start(vec![site()]);
        let place = Place::new();
        place.crawl_by(settings, &[&web.url(0, "/")]);
        assert_eq!(asked(&web), wanted, "{settings}");
        // That page itself is kept: somebody asked for what leads to it.
        assert!(
            place
                .told(&["--no-text"])
                .iter()
                .any(|it| it["url"] == web.url(0, "/en/"))
        );
        assert_eq!(place.links("other-language"), 3, "{settings}");
        let data = place.data();
        let data = data.to_str().expect("paths are ASCII");
        let why = run(gleaner(&["why", &web.url(0, "/en/1"), "--data-dir", data]));
        let expected = "language that is not wanted (crawl.languages)";
        assert!(why.stdout.contains(expected), "{}", why.stdout);
    }
}

#[test]
fn without_languages_all_are_followed() {
    let web = Web::start(vec![site()]);
    Place::new().crawl(&[&web.url(0, "/")]);
    let all = asked(&web);
    assert_eq!(all.len(), 11, "{all:?}");
}

#[test]
fn a_language_that_no_page_is_told_to_be_in_is_refused() {
    let place = Place::new();
    let file = place.file("c.toml", "[crawl]\nlanguages = [\"de\", \"klingon\"]\n");
    let output = run(gleaner(&["config", "check", "--config", &file]));
    assert_ne!(output.code, 0);
    let expected = "it must be codes of languages that can be told apart";
    assert!(output.stderr.contains(expected), "{}", output.stderr);
}
