//! `gleaner why`: for each way in which a URL can end, or not begin, what is told of it.

use serde_json::Value;

use crate::run::{Output, PATIENCE, Place, gleaner, page, run};
use crate::web::{Answer, Site, Web};

fn ask(crawl: &Place, url: &str, arguments: &[&str]) -> Output {
    let mut command = gleaner(&["why", url]);
    command.args(arguments).arg("--data-dir").arg(crawl.data());
    run(command)
}

/// The answer as JSON; the exit code says whether the URL is known.
#[track_caller]
fn json(crawl: &Place, url: &str) -> Value {
    let output = ask(crawl, url, &["--json"]);
    let answer: Value = serde_json::from_str(&output.stdout).expect("one object");
    let code = if answer["state"] == "unknown" { 5 } else { 0 };
    output.expect(code);
    answer
}

/// The answer for people has all of these.
#[track_caller]
fn says(crawl: &Place, url: &str, parts: &[&str]) {
    let output = ask(crawl, url, &[]);
    for part in parts {
        assert!(output.stdout.contains(part), "no {part:?} in {output:#?}");
    }
}

fn site() -> Site {
    let article = page("article", &[]);
    let links = [
        "/article?utm_source=a",
        "/gone",
        "/private/x",
        "{host1}/",
        "/far",
        // Long after what it repeats, which is the original then.
        "/copy",
        "/moved",
    ];
    Site::new()
        .robots("# ours\nUser-agent: *\nDisallow: /private\nAllow: /\n")
        .page("/", Answer::html(page("home", &links)))
        .page("/article?utm_source=a", Answer::html(article.clone()))
        .page("/copy", Answer::html(article))
        .page("/moved", Answer::redirect(301, "/copy"))
        .page("/gone", Answer::status(404))
        .page("/far", Answer::html(page("far", &["/too-far"])))
}

#[test]
fn every_fate_is_told() {
    let web = Web::start(vec![site(), Site::new()]);
    let crawl = Place::new();
    let seed = web.url(0, "/");
    crawl.crawl(&[&seed, "--max-depth", "1", "--delay", "20ms"]);
    let of = |path: &str| json(&crawl, &web.url(0, path));

    let home = of("/");
    assert_eq!(home["state"], "done");
    assert_eq!(home["visit"]["verdict"], "unique");
    assert_eq!(home["visit"]["depth"], 0);
    assert_eq!(home["visit"]["via"], Value::Null);
    assert_eq!(home["robots"]["answer"], "allowed");
    assert_eq!(home["robots"]["line"], 4);
    assert_eq!(home["robots"]["rule"], "Allow: /");
    says(
        &crawl,
        &seed,
        &["status 200, unique", "as a seed", "by line 4: Allow: /"],
    );

    // Any form of a URL will do; the one that was requested is told.
    let article = of("/article?fbclid=1#part");
    assert_eq!(article["canonical"], web.url(0, "/article"));
    assert_eq!(article["visit"]["url"], web.url(0, "/article?utm_source=a"));
    assert_eq!(article["visit"]["via"], seed);
    assert_eq!(article["visit"]["title"], "article");
    let stored = &article["visit"]["record"];
    assert_eq!(stored["type"], "response");
    assert_eq!(stored["file"], "gleaner-00000000.warc.gz");
    let records = crawl.records();
    let found = records.iter().any(|record| {
        record.offset == stored["offset"] && record.header("WARC-Type") == Some("response")
    });
    assert!(found, "{stored}");

    let copy = of("/copy");
    assert_eq!(copy["visit"]["verdict"], "raw");
    assert_eq!(copy["visit"]["distance"], 0);
    assert_eq!(
        copy["visit"]["original"],
        web.url(0, "/article?utm_source=a")
    );
    assert_eq!(copy["visit"]["original_record"], *stored);
    assert_eq!(copy["visit"]["record"]["type"], "revisit");
    says(
        &crawl,
        &web.url(0, "/copy"),
        &[
            "a raw duplicate (distance 0, similarity 1.000) of",
            "revisit in warc/",
        ],
    );

    let moved = of("/moved");
    assert_eq!(
        (&moved["visit"]["status"], &moved["visit"]["verdict"]),
        (&301.into(), &"ineligible".into())
    );
    let gone = of("/gone");
    assert_eq!(gone["visit"]["status"], 404);

    let private = of("/private/x");
    assert_eq!(private["state"], "done");
    assert_eq!(private["visit"]["verdict"], "forbidden");
    assert_eq!(private["robots"]["answer"], "forbidden");
    assert_eq!(private["robots"]["line"], 3);
    says(
        &crawl,
        &web.url(0, "/private/x"),
        &["forbidden", "by line 3: Disallow: /private"],
    );

    let outside = json(&crawl, &web.url(1, "/"));
    assert_eq!(outside["state"], "unknown");
    assert_eq!(outside["admission"]["answer"], "out-of-scope");
    says(
        &crawl,
        &web.url(1, "/"),
        &["unknown", "out of scope", "crawl.scope is host"],
    );

    let deep = of("/too-far");
    assert_eq!(deep["state"], "unknown");
    assert_eq!(deep["admission"]["answer"], "admitted");
    assert_eq!(deep["admission"]["max_depth"], 1);
    says(
        &crawl,
        &web.url(0, "/too-far"),
        &["unknown", "up to depth 1 (crawl.max_depth)"],
    );

    let long = of(&format!("/{}", "x".repeat(3_000)));
    assert_eq!(long["admission"]["answer"], "malformed");
}

#[test]
fn what_waits_and_what_failed_is_told() {
    let web = Web::start(vec![
        Site::new()
            .robots("User-agent: *\nCrawl-delay: 0.01\n")
            .page("/", Answer::html(page("home", &["/a", "/b", "/c"])))
            .otherwise(|request| Answer::html(page(&request.path, &[]))),
    ]);
    let crawl = Place::new();
    crawl.crawl(&[&web.url(0, "/"), "--max-pages", "2"]);
    let waiting = json(&crawl, &web.url(0, "/c"));
    assert_eq!(waiting["state"], "queued");
    assert_eq!(waiting["visit"], Value::Null);
    assert_eq!(waiting["queued"]["ahead"], 1);
    assert_eq!(waiting["queued"]["class"], 1);
    assert_eq!(waiting["queued"]["via"], web.url(0, "/"));
    assert_eq!(waiting["host"]["queued"], 2);
    assert_eq!(waiting["host"]["crawl_delay_ms"], 10);
    assert_eq!(waiting["robots"]["reason"], "no rule matches");
    says(
        &crawl,
        &web.url(0, "/c"),
        &["queued: 1 URLs of its host before it"],
    );

    // A port that nobody listens on any more.
    let gone = {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
        listener.local_addr().expect("bound").port()
    };
    let crawl = Place::new();
    let url = format!("http://127.0.0.1:{gone}/");
    crawl.crawl(&[
        &url,
        "--robots",
        "ignore",
        "--config",
        &crawl.file("c.toml", "politeness.attempts = 1"),
    ]);
    let failed = json(&crawl, &url);
    assert_eq!(failed["visit"]["verdict"], "failed");
    assert_eq!(failed["robots"]["answer"], "ignored");
    says(&crawl, &url, &["done: connect: "]);
}

#[test]
fn what_cannot_be_asked_is_said() {
    let web = Web::start(vec![Site::new()]);
    let crawl = Place::new();
    let url = web.url(0, "/");
    ask(&crawl, &url, &[])
        .expect(3)
        .says(&["there is no crawl in"]);
    ask(&crawl, "no-url", &[])
        .expect(2)
        .says(&["no-url", "hint: give an absolute URL"]);
}

/// The process that crawls has the store, and answers itself.
#[test]
fn a_running_crawl_tells_too() {
    let link = page("home", &["/next"]);
    let web = Web::start(vec![Site::new().robots("").page("/", Answer::html(link))]);
    let crawl = Place::new();
    let url = web.url(0, "/");
    // robots.txt and the seed are answered, what it links to is not.
    web.hold_after(2);
    let _running = crawl.start(&[&url]);
    assert!(web.wait_for_requests(3, PATIENCE));
    assert_eq!(json(&crawl, &url)["visit"]["verdict"], "unique");
    let next = json(&crawl, &web.url(0, "/next"));
    assert_eq!(next["state"], "queued");
    assert_eq!(next["queued"]["via"], url.as_str());
    assert_eq!(json(&crawl, &web.url(0, "/other"))["state"], "unknown");
}
