//! What a crawl calls a duplicate: by which rules, what is never merged, what is no page at all;
//! and how a crawl goes on when its fingerprints are made of something else.

use std::fmt::Write as _;
use std::fs;

use crate::corpus::words;
use crate::run::{Output, Place, about, anchors, leaves, run};
use crate::web::{Answer, Site, Web};

/// Exit code where a data directory cannot be used.
const DIRECTORY: i32 = 3;

/// That of SIGKILL.
const KILLED: i32 = 137;

/// `words` with `edits` of them replaced, far from one another.
fn edited(words: &[String], edits: usize) -> Vec<String> {
    let mut words = words.to_vec();
    let step = words.len() / edits;
    for edit in 0..edits {
        words[edit * step + step / 2] = format!("edit{edit}");
    }
    words
}

fn html(head: &str, words: &[String]) -> Answer {
    let text = words.join(" ");
    Answer::html(format!(
        "<!doctype html><head>{head}</head><body><main><p>{text}</p></main></body>"
    ))
}

/// A host with a page of links to these.
fn home(name: &str, paths: &[&str]) -> Site {
    let home = format!(
        "<title>{name}</title><p>home of {name}</p>{}",
        anchors(paths)
    );
    Site::new().page("/", Answer::html(home))
}

/// The settings in a file, for a crawl.
fn settings(crawl: &Place, text: &str) -> [String; 2] {
    ["--config".to_owned(), crawl.file("settings.toml", text)]
}

fn crawl_by(crawl: &Place, text: &str, seeds: &[String]) -> Output {
    let seeds: Vec<&str> = seeds.iter().map(String::as_str).collect();
    crawl.crawl_by(text, &seeds)
}

/// The verdict on a URL.
fn verdict(crawl: &Place, url: &str) -> String {
    let pages = crawl.pages();
    let page = pages
        .get(url)
        .unwrap_or_else(|| panic!("{url} was not visited"));
    page.verdict.name().to_owned()
}

#[test]
fn rules_hold_for_the_pages_that_they_match_whichever_comes_first() {
    let text = words(1, 400);
    let web = Web::start(vec![
        home("rules", &["/article", "/print/article"])
            .page("/article", html("<title>One</title>", &text))
            .page(
                "/print/article",
                html("<title>One</title>", &edited(&text, 1)),
            ),
    ]);
    let of = |settings: &str| {
        let crawl = Place::new();
        crawl_by(&crawl, settings, &[web.url(0, "/")]);
        let pages = crawl.pages();
        // The two are read at the same time: whichever comes second repeats the other.
        let both = ["/print/article", "/article"].map(|path| &pages[&web.url(0, path)]);
        let second = both.into_iter().find(|page| page.verdict != "unique");
        let page = second.unwrap_or(both[0]);
        let distance = page.page.as_ref().and_then(|page| page.distance);
        (page.verdict.name().to_owned(), distance)
    };
    let (found, distance) = of("");
    assert_eq!(found, "near");
    let distance = distance.expect("a near duplicate has one");
    let check = |settings: &str, expected: &str| assert_eq!(of(settings).0, expected, "{settings}");
    check("[dedup]\ntiers = [\"raw\", \"content\"]", "unique");
    check("[dedup]\nsimilarity = 0.99", "unique");
    check("[dedup]\nsimilarity = 0.97", "near");
    if distance > 0 {
        check(&format!("[dedup]\nhamming = {}", distance - 1), "unique");
    }
    check(&format!("[dedup]\nhamming = {distance}"), "near");
    let rule = |pages: &str, set: &str| format!("[[dedup.rule]]\nmatch = [\"{pages}\"]\n{set}\n");
    check(&rule("/print/", "tiers = [\"raw\"]"), "unique");
    check(&rule("/other/", "tiers = [\"raw\"]"), "near");
    check(&rule("127.0.7.1", "similarity = 0.99"), "unique");
    check(&rule("127.0.7.1/article$", "similarity = 0.99"), "unique");
    let both = rule("127.0.7.1", "similarity = 0.99") + &rule("127.0.7.1/*", "similarity = 0.9");
    check(&both, "near");
}

#[test]
fn pages_of_two_hosts_may_be_less_alike_than_those_of_one() {
    let text = words(2, 300);
    let copy = || html("<title>Story</title>", &edited(&text, 5));
    let web = Web::start(vec![
        home("one", &["/story", "/copy"])
            .page("/story", html("<title>Story</title>", &text))
            .page("/copy", copy()),
        home("other", &["/copy"]).page("/copy", copy()),
    ]);
    // 0.84 of the shingles are common.
    let crawl = Place::new();
    crawl_by(&crawl, "[dedup]\nsimilarity = 0.95\n", &[web.url(0, "/")]);
    assert_eq!(verdict(&crawl, &web.url(0, "/copy")), "unique");
    let crawl = Place::new();
    let only = "[[dedup.rule]]\nmatch = [\"127.0.7.1/copy\"]\ntiers = []\nrefusals = false\n";
    crawl_by(&crawl, only, &[web.url(0, "/")]);
    crawl_by(&crawl, only, &[web.url(1, "/")]);
    assert_eq!(verdict(&crawl, &web.url(1, "/copy")), "near");
    let strict = "[dedup]\ncross_host_similarity = 0.95\n[[dedup.rule]]\nmatch = [\"127.0.7.1/copy\"]\ntiers = []\n";
    let crawl = Place::new();
    crawl_by(&crawl, strict, &[web.url(0, "/")]);
    crawl_by(&crawl, strict, &[web.url(1, "/")]);
    assert_eq!(verdict(&crawl, &web.url(1, "/copy")), "unique");
}

#[test]
fn pages_in_other_languages_and_of_one_series_are_kept_apart() {
    let (text, list, story) = (words(3, 300), words(4, 300), words(5, 600));
    let alternates = "<title>Hello</title><link rel=alternate hreflang=en href=/en>\
                      <link rel=alternate hreflang=de href=/de>";
    let next =
        "<title>Story</title><link rel=prev href=/story/one><link rel=next href=/story/three>";
    let web = Web::start(vec![
        home(
            "series",
            &[
                "/en",
                "/de",
                "/en?print",
                "/list",
                "/list?page=2",
                "/story/one",
                "/story/two",
                "/story/copy",
            ],
        )
        .page("/en", html(alternates, &text))
        .page("/de", html(&format!("{alternates}<meta name=a>"), &text))
        .page(
            "/en?print",
            html(&format!("{alternates}<meta name=b>"), &text),
        )
        .page("/list", html("<title>List</title>", &list))
        .page(
            "/list?page=2",
            html("<title>List</title>", &edited(&list, 1)),
        )
        .page("/story/one", html("<title>Story</title>", &story))
        .page("/story/two", html(next, &edited(&story, 1)))
        .page(
            "/story/copy",
            html("<title>Story</title>", &edited(&story, 2)),
        ),
    ]);
    let crawl = Place::new();
    // Pages of one host may overtake one another: what others repeat comes first.
    crawl.crawl(&[&web.url(0, "/en"), &web.url(0, "/story/one")]);
    crawl.crawl(&[&web.url(0, "/")]);
    let check = |path: &str, expected: &str| {
        assert_eq!(verdict(&crawl, &web.url(0, path)), expected, "{path}");
    };
    check("/en", "unique");
    check("/de", "unique");
    check("/en?print", "normalized");
    check("/list?page=2", "unique");
    check("/story/two", "unique");
    check("/story/copy", "near");
}

const CHALLENGE: &str = "<title>Just a moment...</title><p>Verify you are human to go on.</p>\
    <script src=/cdn-cgi/challenge-platform/x.js></script>";

#[test]
fn what_is_sent_in_place_of_a_page_is_no_original() {
    let about = words(6, 300).join(" ");
    let web = Web::start(vec![
        home("refusals", &["/a", "/b", "/denied", "/consent", "/about"])
            .page("/a", Answer::html(CHALLENGE))
            .page("/b", Answer::html(format!("{CHALLENGE}<!-- 2 -->")))
            .page("/denied", Answer::html("<title>403 Forbidden</title><h1>403 Forbidden</h1>"))
            .page(
                "/consent",
                Answer::html(
                    "<title>Before you continue</title><p>We use cookies and data for this and that.\
                     <form><button>Accept all</button></form>",
                ),
            )
            .page(
                "/about",
                Answer::html(format!(
                    "<title>Just a moment: how sites verify you are human</title><main><p>{about}</main>"
                )),
            ),
    ]);
    let crawl = Place::new();
    let output = crawl.crawl(&[&web.url(0, "/")]);
    let said = output.stdout + &output.stderr;
    assert!(
        said.contains("refusals") && said.contains("2 challenge"),
        "{said}"
    );
    let pages = crawl.pages();
    for (path, reason) in [
        ("/a", "challenge"),
        ("/b", "challenge"),
        ("/denied", "denied"),
        ("/consent", "consent"),
    ] {
        let page = &pages[&web.url(0, path)];
        assert_eq!(page.verdict, "ineligible", "{path}");
        let annotation = page.annotation.as_deref().unwrap_or_default();
        assert_eq!(annotation, format!("ineligible:{reason}"), "{path}");
    }
    assert_eq!(verdict(&crawl, &web.url(0, "/about")), "unique");
    let counters = crawl.status().counters;
    let count = |reason: &str| counters.ineligible.get(reason).copied();
    assert_eq!((count("challenge"), count("consent")), (Some(2), Some(1)));
    let said = crawl.ask(&["why", &web.url(0, "/a")]).expect(0).stdout;
    assert!(said.contains("ineligible (challenge: a CAPTCHA"), "{said}");

    let crawl = Place::new();
    let rule = "[[dedup.rule]]\nmatch = [\"127.0.7.1/b\", \"127.0.7.1/a\"]\nrefusals = false\n";
    crawl_by(&crawl, rule, &[web.url(0, "/")]);
    // The two are read at the same time: whichever comes second repeats the other.
    let mut verdicts = ["/a", "/b"].map(|path| verdict(&crawl, &web.url(0, path)));
    verdicts.sort();
    assert_eq!(verdicts, ["normalized", "unique"]);
    assert_eq!(verdict(&crawl, &web.url(0, "/denied")), "ineligible");
}

#[test]
fn a_short_text_under_many_urls_is_told_by_its_repetition() {
    let gone = |n: &str| {
        Answer::html(format!(
            "<p id={n}>This item is no longer on sale in our house, sorry.</p>"
        ))
    };
    let mut site_of = Vec::new();
    let mut paths: Vec<String> = (0..4).map(|n| format!("/page/of/{n}x")).collect();
    paths.extend((0..14).map(|n| format!("/item/{n}x")));
    let links: Vec<&str> = paths.iter().map(String::as_str).collect();
    for name in ["one", "other"] {
        site_of.push(home(name, &links).otherwise(move |request| {
            match request.path.strip_prefix("/item/") {
                Some(item) => gone(item),
                None => {
                    let seed = request.path.len() as u64 + u64::from(request.path.as_bytes()[9]);
                    html("", &words(seed, 200))
                }
            }
        }));
    }
    let web = Web::start(site_of);
    let crawl = Place::new();
    crawl.crawl(&[&web.url(0, "/")]);
    // In the order in which they were judged: pages of one host may overtake one another.
    let log = crawl.log();
    let items: Vec<_> = (log.iter().filter(|line| line.url.contains("/item/"))).collect();
    let verdicts: Vec<&str> = items.iter().map(|line| line.verdict.name()).collect();
    assert_eq!(verdicts[0], "unique", "nobody could know");
    assert_eq!(verdicts[8], "normalized");
    assert_eq!(verdicts[9..], ["ineligible"; 5]);
    let said = crawl.ask(&["why", &items[0].url]).expect(0).stdout;
    assert!(said.contains("ineligible (repeated"), "{said}");
    // Withdrawn: it is nobody's original any more, not even after a restart.
    crawl.crawl(&[&web.url(1, "/item/3x")]);
    assert_eq!(verdict(&crawl, &web.url(1, "/item/3x")), "unique");
}

#[test]
fn pages_of_one_text_and_other_images_are_no_refusal() {
    let paths: Vec<String> = (0..16).map(|n| format!("/strip/{n}x")).collect();
    let links: Vec<&str> = paths.iter().map(String::as_str).collect();
    let strips = home("strips", &links).otherwise(|request| {
        let number: usize = request.path.bytes().map(usize::from).sum();
        let image = format!(
            "<img src=/images/{}.png>",
            words(number as u64, 3).join("-")
        );
        Answer::html(format!(
            "<title>A strip</title><p>A new strip every day.</p>{image}"
        ))
    });
    let web = Web::start(vec![strips]);
    let crawl = Place::new();
    crawl.crawl(&[&web.url(0, "/")]);
    for path in &paths {
        assert_ne!(verdict(&crawl, &web.url(0, path)), "ineligible", "{path}");
    }
}

#[test]
fn script_shells_are_nobodys_original() {
    const SHELL: &str =
        "<title>Shop</title><div id=root></div><script src=/static/js/main.js></script>";
    let full = SHELL.replace("id=root>", "id=root><p>Lamps, and what goes with them.");
    let site = home("shop", &["/a", "/b", "/full"])
        .page("/a", Answer::html(SHELL))
        .page("/b", Answer::html(SHELL))
        .page("/full", Answer::html(full));
    let web = Web::start(vec![site]);
    let crawl = Place::new();
    crawl.crawl(&[&web.url(0, "/")]);
    for path in ["/a", "/b"] {
        assert_eq!(verdict(&crawl, &web.url(0, path)), "ineligible", "{path}");
    }
    assert_eq!(verdict(&crawl, &web.url(0, "/full")), "unique");
    let counters = crawl.status().counters;
    assert_eq!(counters.ineligible.get("script-shell"), Some(&2));
    let said = crawl.ask(&["why", &web.url(0, "/a")]).expect(0).stdout;
    assert!(
        said.contains("says nothing until its scripts run"),
        "{said}"
    );
}

/// Two hosts with the same stories, the second's edited in so many places.
fn stories(edits: usize) -> Web {
    let paths: Vec<String> = (0..8).map(|n| format!("/story/{n}x")).collect();
    let links: Vec<&str> = paths.iter().map(String::as_str).collect();
    let site = |host: usize| {
        home(&format!("host {host}"), &links).otherwise(move |request| {
            let text = words(request.path.as_bytes()[7].into(), 300);
            match host {
                0 => html("", &text),
                _ => html("", &edited(&text, edits)),
            }
        })
    };
    Web::start(vec![site(0), site(1)])
}

fn count(crawl: &Place, verdict: &str) -> u64 {
    let counters = crawl.status().counters;
    counters.verdicts.get(verdict).copied().unwrap_or(0)
}

#[test]
fn signatures_find_what_is_alike_in_eight_tenths() {
    // 0.87 of the shingles are common.
    let web = stories(4);
    let crawl = Place::new();
    let minhash = "[dedup]\nmethod = \"minhash\"\n";
    crawl_by(&crawl, minhash, &[web.url(0, "/")]);
    // What was stored is found again by another process.
    crawl_by(&crawl, minhash, &[web.url(1, "/")]);
    assert_eq!(count(&crawl, "near"), 8);
    // Nothing beyond 0 bits may be found by SimHash: it is the bands that find.
    let crawl = Place::new();
    let by_bands = "[dedup]\nmethod = \"minhash\"\nhamming = 0\n";
    crawl_by(&crawl, by_bands, &[web.url(0, "/"), web.url(1, "/")]);
    assert_eq!(count(&crawl, "near"), 8);
    let crawl = Place::new();
    let rule = "[[dedup.rule]]\nmatch = [\"127.0.7.2\"]\nmethod = \"simhash\"\n";
    crawl_by(&crawl, &format!("{by_bands}{rule}"), &[web.url(0, "/")]);
    crawl_by(&crawl, &format!("{by_bands}{rule}"), &[web.url(1, "/")]);
    assert!(count(&crawl, "near") < 8);
}

#[test]
fn a_rule_says_how_many_bodies_of_a_cluster_are_stored() {
    let text = words(8, 300);
    let paths = ["/0", "/1", "/2", "/3", "/same"];
    let mut site = home("cluster", &paths)
        .page("/0", html("<title>One</title>", &text))
        .page("/same", html("<title>One</title>", &text));
    for (copy, path) in paths.iter().enumerate().take(4).skip(1) {
        let head = format!("<title>One</title><meta name={copy}>");
        site = site.page(path, html(&head, &text));
    }
    let web = Web::start(vec![site]);
    let check = |settings: &str, expected: usize| {
        let crawl = Place::new();
        // Of five at once, two threads decide which is the original.
        crawl_by(&crawl, settings, &[web.url(0, "/0")]);
        crawl_by(&crawl, settings, &[web.url(0, "/")]);
        assert_eq!(count(&crawl, "normalized"), 3);
        assert_eq!(count(&crawl, "raw"), 1);
        let records = crawl.records();
        let bodies = paths
            .iter()
            .map(|path| about(&records, "response", &web.url(0, path)).len());
        assert_eq!(bodies.sum::<usize>(), 1 + expected, "{settings}");
    };
    check("", 0);
    check(
        "[[dedup.rule]]\nmatch = [\"127.0.7.1\"]\nstored_members = 2\n",
        2,
    );
    check(
        "[dedup]\nstored_members = 1\n[archive]\nstore = \"all\"\n",
        1,
    );
}

#[test]
fn what_is_masked_may_differ() {
    let report = |day: usize| {
        let mut text = String::new();
        for (at, word) in words(7, 200).iter().enumerate() {
            let _ = write!(text, "{word} ");
            if at % 8 == 0 {
                let _ = write!(text, "{day}.{}.2024 ", at / 8 % 12 + 1);
            }
        }
        Answer::html(format!("<title>Report</title><main><p>{text}</main>"))
    };
    let web = Web::start(vec![
        home("reports", &["/1", "/2"])
            .page("/1", report(3))
            .page("/2", report(4)),
    ]);
    let of = |settings: &str| {
        let crawl = Place::new();
        crawl_by(&crawl, settings, &[web.url(0, "/")]);
        // Which of the two is read first, two threads decide.
        let mut verdicts = ["/1", "/2"].map(|path| verdict(&crawl, &web.url(0, path)));
        verdicts.sort();
        verdicts
    };
    assert_eq!(of(""), ["unique", "unique"]);
    assert_eq!(of("[dedup]\nmasks = [\"dates\"]\n"), ["near", "unique"]);
    assert_eq!(of("[dedup]\nmasks = [\"times\"]\n"), ["unique", "unique"]);
}

/// One text whose accents are characters of their own at the second host; at the third, powers are
/// plain digits, which is another text.
#[test]
fn accents_that_are_written_apart_are_the_same_text() {
    let text = words(9, 90).join(" \u{e9}t\u{e9} x\u{b2} ");
    let apart = text.replace('\u{e9}', "e\u{301}");
    let plain = text.replace('\u{b2}', "2");
    let site = |text: &str| {
        let html = format!("<title>Une page</title><main><p>{text}</main>");
        leaves().page("/", Answer::html(html))
    };
    let web = Web::start(vec![site(&text), site(&apart), site(&plain)]);
    let crawl = Place::new();
    crawl_by(&crawl, "", &[0, 1, 2].map(|host| web.url(host, "/")));
    let mut verdicts = [0, 1].map(|host| verdict(&crawl, &web.url(host, "/")));
    verdicts.sort();
    assert_eq!(verdicts, ["normalized", "unique"]);
    let other = verdict(&crawl, &web.url(2, "/"));
    assert!(other != "normalized" && other != "content", "{other}");
}

#[test]
fn other_features_are_made_again_from_the_archive() {
    let web = stories(1);
    let crawl = Place::new();
    let output = crawl.crawl(&[&web.url(0, "/")]);
    assert!(!output.stderr.contains("recomputed"), "{output:?}");
    let other = "[dedup]\nmethod = \"minhash\"\nseed = 7\nhamming = 0\n";
    let output = crawl_by(&crawl, other, &[web.url(1, "/")]);
    assert!(output.stderr.contains("recomputed"), "{output:?}");
    assert_eq!(count(&crawl, "near"), 8);
    assert_eq!(count(&crawl, "unique"), 10);
    crawl.records();
    // Once.
    let output = crawl_by(&crawl, other, &[web.url(1, "/")]);
    assert!(!output.stderr.contains("recomputed"), "{output:?}");
    assert!(!output.stderr.contains("rebuilt"), "{output:?}");
}

#[test]
fn a_kill_while_fingerprints_are_made_again_leaves_no_mixture() {
    let web = stories(1);
    let old = "[dedup]\nhamming = 4\n";
    let other = "[dedup]\nmethod = \"minhash\"\nseed = 7\n";
    for step in ["refingerprinted", "rebuilt"] {
        // Whatever the next run wants.
        for next in [old, other] {
            let crawl = Place::new();
            crawl_by(&crawl, old, &[web.url(0, "/")]);
            let [flag, file] = settings(&crawl, other);
            let seed = web.url(1, "/");
            let arguments = [&seed, &flag, &file, "--failpoint", step];
            run(crawl.command(&arguments)).expect(KILLED);
            let output = crawl_by(&crawl, next, &[web.url(1, "/")]);
            // Anew, or from where it was killed.
            assert!(
                output.stderr.contains("from the archive"),
                "{step}: {output:?}"
            );
            assert_eq!(count(&crawl, "near"), 8, "{step}");
            let output = crawl_by(&crawl, next, &[web.url(1, "/")]);
            assert!(
                !output.stderr.contains("from the archive"),
                "{step}: {output:?}"
            );
        }
    }
}

#[test]
fn without_the_archive_other_features_are_refused_and_the_old_ones_stay() {
    let web = stories(1);
    let crawl = Place::new();
    let small = "[archive]\nmax_file = \"1KiB\"\n";
    crawl_by(&crawl, small, &[web.url(0, "/")]);
    let pages = crawl.pages();
    let record = (pages[&web.url(0, "/story/0x")].page.as_ref()).and_then(|it| it.record.as_ref());
    let name = &record.expect("it is stored").file;
    let (file, elsewhere) = (
        crawl.data().join("warc").join(name),
        crawl.data().join(name),
    );
    fs::rename(&file, &elsewhere).expect("it is moved");
    let [flag, other] = settings(&crawl, "[dedup]\nseed = 7\n");
    run(crawl.command(&[&web.url(1, "/"), &flag, &other]))
        .expect(DIRECTORY)
        .says(&[&format!("{name} is missing"), "restore the file"]);
    fs::rename(&elsewhere, &file).expect("it is moved back");
    let output = crawl.crawl(&[&web.url(1, "/")]);
    assert!(!output.stderr.contains("recomputed"), "{output:?}");
    assert_eq!(count(&crawl, "near"), 8);
}
