//! What a crawl says that it left out: nothing where nothing was, else each reason with a count, an
//! example and a command; and seeds that gave nothing, which have an exit code of their own.

use serde_json::Value;

use crate::run::{LOST, Output, PATIENCE, Place, leaves, linking, page, run};
use crate::web::{Answer, Site, Web};

/// No waits.
const FAST: &str = "[politeness]\nbackoff = \"1ms\"\nattempts = 2\n";

/// The summary of a crawl as JSON.
fn crawl(place: &Place, settings: &str, arguments: &[&str]) -> Output {
    let file = place.file("settings.toml", &format!("{FAST}{settings}"));
    let arguments = [arguments, &["--config", &file, "--json"]].concat();
    run(place.command(&arguments))
}

/// Reason with detail, count and example of everything left out.
fn told(summary: &Value) -> Vec<(String, u64, String)> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let list = summary["left_out"].as_array().expect("it is a list");
    list.iter()
        .map(|it| {
            let name = match &it["detail"] {
                Value::Null => text(&it["reason"]),
                detail => format!("{}: {}", text(&it["reason"]), text(detail)),
            };
            assert!(text(&it["command"]).starts_with("gleaner "), "{it}");
            let count = it["count"].as_u64().expect("it is a number");
            (name, count, text(&it["example"]))
        })
        .collect()
}

/// What was left out for one reason: how many, and the path of the example.
#[track_caller]
fn of(told: &[(String, u64, String)], reason: &str) -> (u64, String) {
    let found = told.iter().find(|(name, ..)| name == reason);
    let (_, count, example) = found.unwrap_or_else(|| panic!("no {reason} in {told:?}"));
    let path = example.splitn(4, '/').nth(3).unwrap_or_default();
    (*count, format!("/{path}"))
}

#[test]
fn a_crawl_that_leaves_nothing_out_says_nothing() {
    let web = Web::start(vec![linking(&["/a", "/b", "/missing"])]);
    let place = Place::new();
    let said = place.crawl(&[&web.url(0, "/")]).stdout;
    for word in ["not fetched", "not followed", "not kept", "lost"] {
        assert!(!said.contains(word), "{said}");
    }
    let status = place.ask(&["status"]).expect(0).stdout;
    assert!(!status.contains("not f"), "{status}");
    let json = place.ask(&["status", "--json"]).expect(0).json();
    assert_eq!(json["left_out"], Value::Array(Vec::new()));
    assert_eq!(json["lost"]["lost"], 0);
}

#[test]
fn links_to_elsewhere_are_no_alarm() {
    let web = Web::start(vec![linking(&[
        "/a",
        "http://other.example/",
        "http://other.example/x",
    ])]);
    let place = Place::new();
    let summary = crawl(&place, "", &[&web.url(0, "/")]).expect(0).json();
    let expected = (
        "out-of-scope".to_owned(),
        2,
        "http://other.example/".to_owned(),
    );
    assert_eq!(told(&summary), [expected]);
}

#[test]
fn an_answer_that_there_is_no_page_is_no_loss() {
    let web = Web::start(vec![Site::new().robots("").page("/", Answer::status(404))]);
    let place = Place::new();
    let summary = crawl(&place, "", &[&web.url(0, "/")]).expect(0).json();
    assert_eq!(told(&summary), []);
}

/// A site that has one of everything.
fn of_everything() -> Site {
    let long = format!("/long/{}", "x".repeat(300));
    let home = page(
        "home",
        &[
            "/private/1",
            "/private/2",
            "/private/1",
            "http://other.example/",
            "/deep",
            "/a/a/a/a/a",
            &long,
            "/skip/1",
            "/broken",
            "/down",
            "/denied",
            "/challenge",
            "/walled",
        ],
    );
    let nofollow = "<a href=/n rel=nofollow>n</a>";
    let challenge = "<title>Just a moment...</title><h1>Just a moment...</h1>\
                     <p>Checking your browser before accessing the site. Enable JavaScript and \
                     cookies to continue.</p><script src=/cdn-cgi/challenge-platform/x.js></script>";
    leaves()
        .robots("User-agent: *\nDisallow: /private\n")
        .page(
            "/",
            Answer::html(home.replace("</body>", &format!("{nofollow}</body>"))),
        )
        .page("/deep", Answer::html(page("deep", &["/deeper"])))
        .page("/broken", Answer::raw(""))
        .page("/down", Answer::status(500))
        .page("/denied", Answer::status(403))
        .page("/challenge", Answer::html(challenge))
        .page(
            "/walled",
            Answer::redirect(302, "http://other.example/wall"),
        )
}

const LIMITS: &str = "[crawl]\nmax_depth = 1\nexclude = [\"*/skip/*\"]\nmax_url_length = 200\n";

#[test]
fn every_reason_is_told_with_a_count_and_an_example() {
    let web = Web::start(vec![of_everything()]);
    let place = Place::new();
    let summary = crawl(&place, LIMITS, &[&web.url(0, "/")]).expect(0).json();
    let told = told(&summary);
    let check = |reason: &str, count: u64, example: &str| {
        assert_eq!(of(&told, reason), (count, example.to_owned()), "{reason}");
    };
    // The same link twice on a page is one. What is forbidden comes in any order.
    let (count, example) = of(&told, "robots");
    assert_eq!((count, &example[..9]), (2, "/private/"));
    check("failed: disconnect", 1, "/broken");
    check("out-of-scope", 2, "/");
    check("too-deep", 1, "/deeper");
    check("malformed", 1, &format!("/long/{}", "x".repeat(300)));
    check("excluded", 1, "/skip/1");
    check("nofollow", 1, "/n");
    check("status: denied", 1, "/denied");
    check("status: server-error", 1, "/down");
    check("challenge", 1, "/challenge");
    // What only looks like a trap is visited: `/a/a/a/a/a`.
    assert_eq!(told.len(), 10, "{told:?}");

    // Status and report have the same, and the next start forgets nothing of it.
    let status = place.ask(&["status", "--json"]).expect(0).json();
    assert_eq!(status["left_out"], summary["left_out"]);
    let report = place.ask(&["report", "--json"]).expect(0).json();
    assert_eq!(report["left_out"], summary["left_out"]);
    let words = place.ask(&["status"]).expect(0).stdout;
    for part in [
        "not fetched\n",
        "2  URLs: forbidden by robots.txt",
        "/deeper  (gleaner why URL)",
        "links not followed\n",
        "fetched, not kept\n",
        "(gleaner retry --class disconnect)",
    ] {
        assert!(words.contains(part), "no {part:?} in {words}");
    }

    // What is put back is not left out any more, until it fails again.
    place.ask(&["retry", "--class", "disconnect"]).expect(0);
    let status = place.ask(&["status", "--json"]).expect(0).json();
    let list = self::told(&status);
    assert!(
        list.iter().all(|(name, ..)| !name.starts_with("failed")),
        "{list:?}"
    );
    assert_eq!(of(&list, "queued"), (1, "/broken".to_owned()));
    let summary = crawl(&place, LIMITS, &[]).expect(0).json();
    let list = self::told(&summary);
    assert_eq!(list.len(), told.len(), "{list:?}");
    assert_eq!(of(&list, "failed: disconnect"), (1, "/broken".to_owned()));
}

#[test]
fn hosts_that_need_javascript_are_named() {
    let shell = "<!doctype html><title>Shop</title><div id=root></div>\
                 <noscript>You need to enable JavaScript to run this app.</noscript>\
                 <script src=/static/main.4f2a.js></script>";
    let site = Site::new()
        .robots("")
        .otherwise(move |_| Answer::html(shell));
    let web = Web::start(vec![linking(&["{host1}/a", "{host1}/b"]), site]);
    let place = Place::new();
    let arguments = [&*web.url(0, "/"), "--scope", "any", "--allow-private"];
    let summary = crawl(&place, "", &arguments).expect(0).json();
    assert_eq!(of(&told(&summary), "script-shell").0, 2);
    let shells = &summary["script_shells"];
    assert_eq!((&shells["hosts"], &shells["pages"]), (&1.into(), &2.into()));
    let words = place.ask(&["status"]).expect(0).stdout;
    assert!(
        words.contains("sends pages that need JavaScript: 2 pages"),
        "{words}"
    );
}

#[test]
fn a_kill_doubles_nothing() {
    let web = Web::start(vec![of_everything()]);
    let whole = Place::new();
    let seed = web.url(0, "/");
    let expected = crawl(&whole, LIMITS, &[&seed]).expect(0).json();
    let place = Place::new();
    let mut killed = 0;
    let summary = loop {
        killed += 1;
        let step = ["appended:1", "synced:2", "committed:2", "applied:1"][killed % 4];
        let output = crawl(&place, LIMITS, &[&seed, "--failpoint", step]);
        if output.code != 128 + 6 && output.code != 128 + 9 {
            break output.expect(0).json();
        }
        assert!(killed < 100, "it comes to no end");
    };
    assert!(killed > 3, "it was not killed");
    let counts = |summary| {
        let reasons = told(summary).into_iter();
        reasons
            .map(|(name, count, _)| (name, count))
            .collect::<Vec<_>>()
    };
    assert_eq!(counts(&summary), counts(&expected));
}

#[test]
fn a_budget_is_told_by_its_name() {
    let web = Web::start(vec![linking(&["/a", "/b", "/c", "/d"])]);
    let place = Place::new();
    let settings = "[traps]\nmax_pages_per_host = 3\n";
    let summary = crawl(&place, settings, &[&web.url(0, "/")])
        .expect(0)
        .json();
    let told_ = told(&summary);
    assert_eq!(
        of(&told_, "budget: traps.max_pages_per_host"),
        (2, "/c".to_owned())
    );

    let place = Place::new();
    let settings = "[traps]\nmax_bytes_per_host = 200\n";
    let summary = crawl(&place, settings, &[&web.url(0, "/")])
        .expect(0)
        .json();
    let told_ = told(&summary);
    assert_eq!(told_.len(), 1, "{told_:?}");
    assert!(
        told_[0].0.starts_with("budget: traps.max_bytes_per_host"),
        "{told_:?}"
    );

    let place = Place::new();
    let limited = [&*web.url(0, "/"), "--max-pages", "2"];
    let summary = crawl(&place, "", &limited).expect(0).json();
    let told_ = told(&summary);
    assert_eq!(of(&told_, "queued: --max-pages reached").0, 3);
}

/// Seeds at hosts that answer in many ways, and the reasons for those that are lost.
#[test]
fn seeds_that_gave_nothing_are_named_and_have_an_exit_code() {
    let hosts = vec![
        leaves(),
        Site::new().robots("User-agent: *\nDisallow: /\n"),
        Site::new().robots("").page("/", Answer::status(403)),
        Site::new().robots("").page("/", Answer::raw("")),
        Site::new()
            .robots("")
            .page("/", Answer::redirect(302, "http://other.example/")),
        leaves().page("/", Answer::redirect(301, "/moved")),
        Site::new().page("/robots.txt", Answer::status(500)),
        Site::new()
            .robots("")
            .page("/", Answer::redirect(301, "/gone-bad"))
            .page("/gone-bad", Answer::raw("")),
        Site::new().robots("").page("/", Answer::redirect(302, "/")),
        Site::new()
            .robots("")
            .page("/", Answer::redirect(302, "/there"))
            .page("/there", Answer::redirect(302, "/")),
    ];
    let web = Web::start(hosts);
    let place = Place::new();
    let seeds: Vec<String> = (0..10).map(|host| web.url(host, "/")).collect();
    let seeds: Vec<&str> = seeds.iter().map(String::as_str).collect();
    let summary = crawl(&place, "", &seeds).expect(LOST).json();
    assert_eq!(summary["lost"]["seeds"], 10);
    assert_eq!(summary["lost"]["lost"], 8);
    let named = summary["lost"]["named"].as_array().expect("a list");
    let reason = |host: usize| {
        let url = web.url(host, "/");
        let seed = named.iter().find(|it| it["url"] == *url);
        seed.map(|it| it["reason"].as_str().unwrap_or_default().to_owned())
    };
    assert_eq!((reason(0), reason(5)), (None, None));
    for (host, part) in [
        (1, "robots.txt forbids it"),
        (2, "status 403"),
        (3, "disconnect"),
        (
            4,
            "redirects to http://other.example/, which is out-of-scope",
        ),
        (6, "its host is parked: overloaded"),
        (7, "disconnect"),
        (8, "redirects in a circle"),
        (9, "redirects in a circle"),
    ] {
        let reason = reason(host).unwrap_or_else(|| panic!("{host}: {named:?}"));
        assert!(reason.contains(part), "{reason}");
    }
    // The same command says it again.
    let again = run(place.command(&seeds)).expect(LOST);
    assert!(again.stdout.contains("lost: 8 of 10 seeds"), "{again:?}");
    // A run that is stopped, or reaches a limit, is not over.
    let place = Place::new();
    let limited = [&seeds[1..2], &["--max-pages", "1"]].concat();
    run(place.command(&limited)).expect(LOST);
    let place = Place::new();
    let limited = [&seeds[..2], &["--max-pages", "1"]].concat();
    run(place.command(&limited)).expect(0);
}

#[test]
fn a_seed_that_is_too_long_is_one_that_was_given() {
    let web = Web::start(vec![leaves()]);
    let place = Place::new();
    let long = web.url(0, &format!("/{}", "a".repeat(300)));
    for _ in 0..2 {
        let summary = crawl(&place, LIMITS, &[&long]).expect(LOST).json();
        let lost = &summary["lost"];
        assert_eq!(
            (&lost["seeds"], &lost["lost"]),
            (&1.into(), &1.into()),
            "{lost}"
        );
    }
}

#[test]
fn a_seed_that_is_found_later_is_not_lost() {
    let answers = vec![
        Answer::raw(""),
        Answer::raw(""),
        Answer::html(page("home", &[])),
    ];
    let web = Web::start(vec![Site::new().robots("").page_in_turn("/", answers)]);
    let place = Place::new();
    crawl(&place, "", &[&web.url(0, "/")]).expect(LOST);
    place.ask(&["retry", "--class", "disconnect"]).expect(0);
    let summary = crawl(&place, "", &[]).expect(0).json();
    assert_eq!(summary["lost"]["lost"], 0);
    assert_eq!(told(&summary), []);
}

#[test]
fn a_url_that_is_linked_often_is_left_out_once_and_may_come_in_by_another_way() {
    let links: Vec<String> = (0..9).map(|number| format!("/{number}")).collect();
    let links: Vec<&str> = links.iter().map(String::as_str).collect();
    let deep = "<a href=/deep>x</a><a href=/deeper>x</a><a href=/n rel=nofollow>x</a>\
                <a href=http://other.example/ rel=nofollow>x</a>";
    let site = Site::new()
        .robots("")
        .page("/", Answer::html(page("home", &links)))
        .otherwise(move |request| {
            let page = page(&request.path, &[]);
            Answer::html(page.replace("</body>", &format!("{deep}</body>")))
        });
    let web = Web::start(vec![site]);
    let place = Place::new();
    let settings = "[crawl]\nmax_depth = 1\n";
    let summary = crawl(&place, settings, &[&web.url(0, "/")])
        .expect(0)
        .json();
    let list = told(&summary);
    assert_eq!(of(&list, "too-deep"), (2, "/deep".to_owned()));
    assert_eq!(of(&list, "nofollow"), (1, "/n".to_owned()));
    assert_eq!(list.len(), 2, "{list:?}");
    let why = place.ask(&["why", &web.url(0, "/n")]).expect(5).stdout;
    assert!(
        why.contains("its first link was refused: nofollow"),
        "{why}"
    );

    // A seed that was refused as a link is not left out any more, nor is what it links to.
    let deep = web.url(0, "/deep");
    let summary = crawl(&place, settings, &[&deep]).expect(0).json();
    let list = told(&summary);
    assert_eq!(of(&list, "nofollow").0, 1);
    assert_eq!(list.len(), 1, "{list:?}");
    let nofollow = web.url(0, "/n");
    let summary = crawl(&place, settings, &[&nofollow]).expect(0).json();
    assert_eq!(told(&summary), []);
}

#[test]
fn a_running_crawl_says_what_it_left_out_so_far() {
    let web = Web::start(vec![
        linking(&["/private/x", "/a", "/b"]).robots("User-agent: *\nDisallow: /private\n"),
    ]);
    let place = Place::new();
    // robots.txt and the home page.
    web.hold_after(2);
    let running = place.start(&[&web.url(0, "/")]);
    assert!(web.wait_for_requests(3, PATIENCE));
    let told = loop {
        let status = place.ask(&["status", "--json"]).expect(0).json();
        if status["left_out"] != Value::Array(Vec::new()) {
            break told(&status);
        }
    };
    assert_eq!(of(&told, "robots"), (1, "/private/x".to_owned()));
    assert_eq!(told.len(), 1, "what is queued is not left out yet");
    web.release();
    running.end().expect(0);
}

#[test]
fn a_budget_is_explained_with_its_figures() {
    let web = Web::start(vec![linking(&["/a", "/b", "/c"])]);
    let place = Place::new();
    place.crawl_by("[traps]\nmax_pages_per_host = 2\n", &[&web.url(0, "/")]);
    let why = place.ask(&["why", &web.url(0, "/c")]).expect(5).stdout;
    for part in [
        "its first link was refused: the budget traps.max_pages_per_host was used up",
        "traps.max_pages_per_host is used up: 2 of 2",
    ] {
        assert!(why.contains(part), "no {part:?} in {why}");
    }
}
