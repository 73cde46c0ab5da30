//! The page of the console, in a browser: what it shows is so, what it is told to do is done, and
//! what strangers' pages say stays text.

use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use serde_json::{Value, json};

use crate::browser::Browser;
use crate::run::{PATIENCE, Place, Running, page};
use crate::web::{Answer, Article, Random, Site, Web};

/// The pages, as the address names them, and their headings.
pub(crate) const PAGES: [(&str, &str); 6] = [
    ("", "Overview"),
    ("hosts", "Hosts"),
    ("duplicates", "Duplicates"),
    ("not-fetched", "Not fetched"),
    ("url", "URL"),
    ("pages", "Pages"),
];

/// A title and a path that a careless page would run.
const HOSTILE: &str = "<img src=x onerror=\"window.ran=1\">";

/// Pages without end, at a pace at which one can look.
pub(crate) const SLOW: &str = "\
[fetch]
user_agent = \"test/1.0 (+https://example.net/bot)\"
[politeness]
delay = \"20ms\"
address_delay = \"0ms\"
response_factor = 0
";

/// A site that leads on and on, each page with a text of its own.
pub(crate) fn endless() -> Site {
    Site::new().robots("").otherwise(|request| {
        let number: u64 = request.path.trim_matches('/').parse().unwrap_or(0);
        let text = Article::random(&mut Random::new(number), 120).text();
        let links = [1, 2, 3].map(|it| format!("/{}", number * 3 + it));
        let links = links.each_ref().map(String::as_str);
        Answer::html(page(&text, &links))
    })
}

/// A long text, with some words of its own at its end.
fn article(title: &str, ending: &str) -> String {
    let sentence = |it| format!("Sentence {it} of the article tells of gleaning in year {it}. ");
    let text: String = (0..60).map(sentence).collect();
    format!(
        "<!doctype html><html><head><title>{title}</title></head><body><main><p>{text}{ending}</p>\
         </main></body></html>"
    )
}

/// A daemon, and where its console listens.
pub(crate) fn watched(place: &Place, settings: &str, seeds: &[&str]) -> (Running, String) {
    let daemon = place.daemon_by(settings, &[seeds, &["--listen", "127.0.0.1:0"]].concat());
    let line = daemon.line_with("listening at ");
    // Before the crawl is open, its routes say that it will be.
    daemon.wait_for_line("accepting seed lists");
    let at = line.split("listening at ").nth(1).expect("it was found");
    (daemon, format!("{}/", at.trim().trim_end_matches('/')))
}

/// Opens one of the pages, and waits until it shows what is asked for.
#[track_caller]
pub(crate) fn show(browser: &mut Browser, base: &str, route: &str, until: &str) {
    browser.open(&format!("{base}#/{route}"));
    browser.wait(until);
}

/// Has a site crawled slowly and watched, and opens the overview once it shows some pages.
pub(crate) fn opened(place: &Place, web: &Web) -> (Running, String, Browser) {
    let (daemon, base) = watched(place, SLOW, &[&web.url(0, "/")]);
    let mut browser = Browser::start();
    show(&mut browser, &base, "", &format!("{} >= 5", key("pages")));
    (daemon, base, browser)
}

/// The page asked nobody but its crawl.
#[track_caller]
pub(crate) fn asked_only(browser: &mut Browser, base: &str) {
    for url in browser.requests() {
        assert!(
            url.starts_with(base) || url == "about:blank",
            "asked for {url}"
        );
    }
}

/// The page asked nobody but its crawl, and complained of nothing.
#[track_caller]
fn stayed_at_home(browser: &mut Browser, base: &str) {
    asked_only(browser, base);
    let complaints = browser.complaints();
    assert!(complaints.is_empty(), "{complaints:#?}");
}

/// A number of the overview by its name.
pub(crate) fn key(name: &str) -> String {
    format!(
        "Number([...document.querySelectorAll('.key')].find((it) => \
         it.querySelector('.keyname').innerText === '{name}').querySelector('.keyvalue').innerText\
         .replaceAll(',', ''))"
    )
}

const STATE: &str = "document.querySelector('.now .badge')?.innerText.trim()";

/// Asks for the state until nothing is in progress, and then so often again.
fn ask_until_quiet(browser: &mut Browser, again: u32) {
    browser.value(&format!(
        "(async () => {{ \
         const fetching = async () => (await (await fetch('api/v1/status')).json()).gauges.fetching; \
         while (await fetching() > 0); \
         for (let it = 0; it < {again}; it += 1) await fetching(); \
         }})()"
    ));
}

pub(crate) fn the_page_shows_a_crawl_and_steers_it() {
    let web = Web::start(vec![endless(), endless(), endless()]);
    let place = Place::new();
    let seeds = [web.url(0, "/"), web.url(1, "/")];
    let (daemon, base) = watched(&place, SLOW, &[&seeds[0], &seeds[1]]);
    let mut browser = Browser::start();
    for (route, title) in PAGES {
        let heading = json!(title);
        show(
            &mut browser,
            &base,
            route,
            &format!(
                "document.querySelector('h1')?.innerText === {heading} && document.querySelector('main > *')"
            ),
        );
        let broken = browser.value("document.querySelector('.empty[role=alert]')?.innerText ?? ''");
        assert_eq!(broken, "", "{title}");
    }

    // Numbers move on their own, and so does the curve.
    show(&mut browser, &base, "", &format!("{} > 0", key("pages")));
    let before = browser.value(&key("pages"));
    browser.wait(&format!("{} > {before}", key("pages")));
    assert_eq!(browser.value(STATE), "Running");

    // Paused, the web sees nothing more.
    browser.press("Pause");
    browser.wait(&format!("{STATE} === 'Paused'"));
    ask_until_quiet(&mut browser, 0);
    let asked = web.requests().len();
    ask_until_quiet(&mut browser, 200);
    assert_eq!(web.requests().len(), asked, "requests while paused");
    browser.press("Resume");
    browser.wait(&format!("{STATE} === 'Running'"));
    assert!(web.wait_for_requests(asked + 5, PATIENCE));

    // A seed from the page is fetched.
    browser.press("Add seeds");
    browser.fill("dialog textarea", &web.url(2, "/7001"));
    browser.press("Add 1 seed");
    browser.wait("!document.querySelector('dialog')");
    let deadline = std::time::Instant::now() + PATIENCE;
    while !web.asked(2).iter().any(|it| it == "/7001") {
        assert!(
            std::time::Instant::now() < deadline,
            "the seed is not fetched"
        );
        assert!(web.wait_for_requests(web.requests().len() + 1, PATIENCE));
    }

    // One click does not stop it.
    browser.press("Stop…");
    assert_eq!(
        browser.wait("document.querySelector('dialog button.danger')?.disabled"),
        true
    );
    browser.fill("dialog input", "stop");
    browser.press("Stop the crawl");
    daemon.end_within(Duration::from_secs(30)).expect(0);
    browser.wait(&format!("{STATE} === 'No answer'"));
}

pub(crate) fn a_host_that_is_held_gets_no_requests() {
    let web = Web::start(vec![endless(), endless()]);
    let place = Place::new();
    let seeds = [web.url(0, "/"), web.url(1, "/")];
    let (_daemon, base) = watched(&place, SLOW, &[&seeds[0], &seeds[1]]);
    let mut browser = Browser::start();
    let host = web.url(0, "").trim_end_matches('/').to_owned();
    show(
        &mut browser,
        &base,
        "hosts",
        &format!(
            "document.querySelector('table.hosts')?.innerText.includes({})",
            json!(host)
        ),
    );
    browser.press(&host);
    browser.press("Hold");
    browser.wait("document.querySelector('dialog')?.innerText.includes('Release')");
    // What is said of it lies over the open window.
    browser.wait(
        "(() => { const box = document.querySelector('.notes p').getBoundingClientRect(); \
         return document.elementFromPoint(box.x + box.width / 2, box.y + box.height / 2)\
         .closest('.notes'); })() !== null",
    );
    // What was under way when it was held may still arrive.
    settled_at(&web, 0);
    let held = web.asked(0).len();
    let others = web.asked(1).len();
    let deadline = std::time::Instant::now() + PATIENCE;
    while web.asked(1).len() < others + 20 {
        assert!(
            std::time::Instant::now() < deadline,
            "the other host stands still too"
        );
        assert!(web.wait_for_requests(web.requests().len() + 1, PATIENCE));
    }
    assert_eq!(web.asked(0).len(), held, "requests at a held host");
    browser.press("Release");
    let deadline = std::time::Instant::now() + PATIENCE;
    while web.asked(0).len() == held {
        assert!(
            std::time::Instant::now() < deadline,
            "it is not visited again"
        );
        assert!(web.wait_for_requests(web.requests().len() + 1, PATIENCE));
    }
    stayed_at_home(&mut browser, &base);
}

/// Waits until the other host had some requests more, so that none to this one is under way.
fn settled_at(web: &Web, held: usize) {
    let other = 1 - held;
    let from = web.asked(other).len();
    while web.asked(other).len() < from + 5 {
        assert!(web.wait_for_requests(web.requests().len() + 1, PATIENCE));
    }
}

/// A crawl with copies, and with titles and links that would like to be markup.
pub(crate) fn hostile_web() -> Web {
    let links = [
        "/one",
        "/two",
        "/three",
        "/hostile",
        "javascript:window.ran=2",
    ];
    let bold = format!(
        "<!doctype html><title>{}</title><p>A page of its own, and more of it.",
        HOSTILE.replace('<', "&lt;")
    );
    Web::start(vec![
        Site::new()
            .robots("User-agent: *\nDisallow: /not/\n")
            .page(
                "/",
                Answer::html(page("home", &[&links[..], &["/not/this"]].concat())),
            )
            .page("/one", Answer::html(article("one", "The end is here.")))
            .page("/two", Answer::html(article("two", "The end is there.")))
            .page("/three", Answer::html(article("one", "The end is here.")))
            .page("/hostile", Answer::html(bold)),
    ])
}

pub(crate) fn what_pages_say_stays_text() {
    let (web, place) = (hostile_web(), Place::new());
    let (_daemon, base, mut browser) = opened(&place, &web);
    let url = |path: &str| {
        let url = web.url(0, path);
        url::form_urlencoded::byte_serialize(url.as_bytes()).collect::<String>()
    };
    show(
        &mut browser,
        &base,
        &format!("url?u={}", url("/hostile")),
        "document.querySelector('main').innerText.includes('onerror')",
    );
    show(
        &mut browser,
        &base,
        "url?u=javascript%3Awindow.ran%3D2",
        "document.querySelector('main').innerText.length > 20",
    );
    show(
        &mut browser,
        &base,
        "hosts?q=%3Cimg%20src%3Dx%20onerror%3Dwindow.ran%3D3%3E",
        "document.querySelector('main').innerText.includes('No host')",
    );
    let ran = browser.value("[window.ran ?? null, document.querySelectorAll('main img').length, [...document.querySelectorAll('a')].filter((it) => !/^(https?|about):/.test(it.protocol)).length]");
    assert_eq!(ran, json!([null, 0, 0]));
    let rels = browser.value("[...document.querySelectorAll('a[target=_blank]')].every((it) => it.rel === 'noreferrer noopener')");
    assert_eq!(rels, true);
    for url in browser.requests() {
        assert!(
            url.starts_with(&base) || url == "about:blank",
            "asked for {url}"
        );
    }
}

pub(crate) fn it_fits_a_phone_and_the_dark() {
    let (web, place) = (hostile_web(), Place::new());
    let (_daemon, base, mut browser) = opened(&place, &web);
    for (route, title) in PAGES {
        for (width, is_dark) in [(360, false), (360, true), (1_440, true)] {
            browser.size(width, 800);
            browser.dark(is_dark);
            show(
                &mut browser,
                &base,
                route,
                "document.querySelector('main > *') && !document.querySelector('.waiting')",
            );
            let over = browser.value(
                "document.documentElement.scrollWidth - document.documentElement.clientWidth",
            );
            assert_eq!(over, 0, "{title} at {width} pixels is wider");
            let ground = browser.value("getComputedStyle(document.body).backgroundColor.match(/\\d+/g).map(Number).reduce((a, b) => a + b)");
            assert_eq!(
                ground.as_u64().expect("a sum") < 200,
                is_dark,
                "{title}: {ground}"
            );
            picture(&mut browser, &format!("{title}-{width}-{is_dark}"));
        }
    }
}

/// Leaves a picture for whoever asks for them by `TEST_PICTURES`, a directory.
fn picture(browser: &mut Browser, name: &str) {
    let Some(directory) = std::env::var_os("TEST_PICTURES") else {
        return;
    };
    let path = PathBuf::from(directory).join(format!("{}.png", name.replace(' ', "-")));
    fs::write(path, browser.picture()).expect("the directory is there");
}

pub(crate) fn a_report_opens_from_disk() {
    let web = hostile_web();
    let place = Place::new();
    // Pages of one host may overtake one another: what others repeat comes first.
    place.crawl(&[&web.url(0, "/one")]);
    place.crawl(&[&web.url(0, "/")]);
    let file = place.file("report.html", "");
    place.ask(&["report", "-o", &file]).expect(0);
    let size = fs::metadata(&file).expect("it is written").len();
    assert!((10_000..2_000_000).contains(&size), "{size} bytes");
    let base = format!("file://{file}");
    let mut browser = Browser::start();
    for (route, part) in [
        ("", "What did it drop"),
        ("hosts", "http://127.0.7.1:"),
        ("duplicates", "/one"),
    ] {
        let part = json!(part);
        show(
            &mut browser,
            &base,
            route,
            &format!("document.querySelector('main')?.innerText.includes({part})"),
        );
    }
    show(
        &mut browser,
        &base,
        "duplicates",
        "document.querySelectorAll('table.clusters tbody tr').length >= 1",
    );
    browser.value("document.querySelector('table.clusters button').click()");
    browser.wait("document.querySelector('dialog')?.innerText.includes('/three')");
    assert_eq!(browser.value("window.ran ?? null"), Value::Null);
    stayed_at_home(&mut browser, &base);
}
