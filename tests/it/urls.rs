//! Which URLs are one to a crawl, by settings.

use crate::run::{Place, gleaner, linking, page, run};
use crate::web::{Answer, Site, Web};

/// Exit code of a data directory that cannot be used.
const DIRECTORY: i32 = 3;

fn config(web: &Web, rule: &str) -> String {
    format!(
        "[[url.rule]]\nmatch = [\"127.0.7.1:{}\"]\n{rule}\n",
        web.port()
    )
}

#[test]
fn rules_of_a_host_say_what_is_visited_and_stay_what_they_are() {
    let links = ["/x?ref=1", "/x?ref=2", "/x?id=1", "{host1}/x?ref=1"];
    let other = Site::new()
        .page("/x?ref=1", Answer::html(page("one", &["/x?ref=2"])))
        .page("/x?ref=2", Answer::html(page("two", &[])));
    let site = Site::new()
        .page("/", Answer::html(page("home", &links)))
        .page("/x", Answer::html(page("x", &["/more"])))
        .page("/more", Answer::html(page("more", &[])));
    let web = Web::start(vec![site, other]);
    let crawl = Place::new();
    let own = config(&web, "drop = [\"ref\"]");
    let seed = web.url(0, "/");
    let arguments = [&*seed, "--scope", "any", "--allow-private"];
    crawl.crawl_by(&own, &arguments);
    let mut expected = [
        web.url(0, "/"),
        web.url(0, "/more"),
        web.url(0, "/x?id=1"),
        web.url(0, "/x?ref=1"),
        web.url(1, "/x?ref=1"),
        web.url(1, "/x?ref=2"),
    ];
    expected.sort();
    let visited: Vec<String> = crawl.pages().into_keys().collect();
    assert_eq!(visited, expected);

    // Asked offline, by the settings that were kept.
    let url = web.url(0, "/x?ref=77");
    let told = crawl.ask(&["why", &url]).expect(0).stdout;
    assert!(told.contains(&web.url(0, "/x?ref=1")), "{told}");

    let file = crawl.file("other.toml", &config(&web, "drop = [\"ref\", \"id\"]"));
    let changed = crawl.command(&[&seed, "--scope", "any", "--config", &file]);
    run(changed).expect(DIRECTORY).says(&[
        "started with other canonicalization rules",
        "then: at 127.0.7.1",
        "drop [\"id\", \"ref\"]",
        "restore the settings in [url]",
    ]);
    run(crawl.command(&[&seed, "--scope", "any", "--reset-settings"]))
        .expect(DIRECTORY)
        .says(&["now: nothing more"]);
    // Without a file, the crawl goes on with the rules that it was told.
    crawl.crawl(&[]).says(&["settings of earlier runs: "]);
    web.clear_log();
    crawl.crawl_by(&own, &arguments);
    assert!(web.requests().is_empty());
}

#[test]
fn normalize_shows_what_settings_make_of_urls() {
    let place = Place::new();
    let file = place.file(
        "own.toml",
        "[url]\non = [\"www\"]\n[[url.rule]]\nmatch = [\"a.example\"]\non = [\"path-case\"]\ndrop = [\"ref\"]\n",
    );
    let normalize = |arguments: &[&str]| {
        let command = gleaner(&[&["normalize", "--config", &file], arguments].concat());
        run(command).expect(0).stdout
    };
    assert_eq!(
        normalize(&["--explain", "http://www.a.example/P?ref=1&x=2"]),
        "http://a.example/p?x=2\twww,path-case,parameters\n"
    );
    assert_eq!(
        normalize(&["--disable", "www", "http://www.b.example/P?ref=1"]),
        "http://www.b.example/P?ref=1\n"
    );
    assert!(normalize(&["--rules"]).contains("\nwww\ton\t"));
}

#[test]
fn entries_that_make_no_sense_are_refused_with_their_line() {
    let place = Place::new();
    let check = |text: &str, parts: &[&str]| {
        let file = place.file("bad.toml", text);
        let command = gleaner(&["config", "check", "--config", &file]);
        run(command).expect(2).says(parts);
    };
    let entry = "[url]\n\n[[url.rule]]\nmatch = [\"a.example\"]\n";
    check(
        &format!("{entry}drop = [\"a=b\"]\n"),
        &["bad.toml, line 3, [[url.rule]] 1: \"a=b\" is no parameter"],
    );
    check(
        &format!("{entry}on = [\"index-fil\"]\n"),
        &["`index-fil` is not a canonicalization rule", "5 |"],
    );
    check(
        &format!("{entry}dorp = [\"x\"]\n"),
        &["unknown field `dorp`"],
    );
    check("[url]\nno = 1", &["did you mean `url.on`?"]);
}

#[test]
fn patterns_choose_which_links_are_followed() {
    let links = ["/docs/a", "/docs/calendar/1", "/blog/b", "{host1}/blog/c"];
    let site = || linking(&links).robots("");
    let web = Web::start(vec![site(), site()]);
    let crawl = Place::new();
    let settings = "[crawl]\ninclude = [\"*/docs/*\"]\nexclude = [\"*.pdf\", \"re:/calendar/\"]\n\
         [[domain]]\nmatch = [\"127.0.7.2\"]\ncrawl.include = []\n";
    let arguments = [&*web.url(0, "/"), "--scope", "any", "--allow-private"];
    crawl.crawl_by(settings, &arguments);
    let visited: Vec<String> = crawl.pages().into_keys().collect();
    let expected = [
        web.url(0, "/"),
        web.url(0, "/docs/a"),
        web.url(1, "/blog/c"),
    ];
    assert_eq!(visited, expected);
    let links = crawl.status().counters.links;
    assert_eq!((links["excluded"], links["not-included"]), (1, 1));

    let why = |path: &str, expected: &str| {
        let told = crawl.ask(&["why", &web.url(0, path)]).expect(5).stdout;
        assert!(told.contains(expected), "{told}");
    };
    why(
        "/docs/calendar/1",
        "excluded by \"re:/calendar/\" (crawl.exclude)",
    );
    why(
        "/blog/b",
        "not included: it matches no pattern of crawl.include",
    );

    let bad = crawl.file("bad.toml", "[crawl]\nexclude = [\"/blog/*\"]\n");
    let check = gleaner(&["config", "check", "--config", &bad]);
    run(check)
        .expect(2)
        .says(&["\"/blog/*\" is not a URL pattern", "begin it with `*`"]);
}
