//! The page of the console when something is the matter: it says what, and what to do. And after a
//! while: it misses nothing and holds little.

use std::fs;

use serde_json::{Value, json};

use crate::browser::Browser;
use crate::console::{PAGES, SLOW, endless, hostile_web, key, opened, show, watched};
use crate::run::Place;
use crate::web::{Answer, Site, Web};

/// What the sentence and the command of a card say.
fn card(label: &str) -> String {
    format!("document.querySelector('section[aria-label=\"{label}\"]')?.innerText ?? ''")
}

const LIMIT: &str = "What limits it?";

/// Nothing is wider than a phone, on any page.
#[track_caller]
fn fits(browser: &mut Browser, base: &str) {
    browser.size(360, 800);
    for (route, title) in PAGES {
        show(browser, base, route, SETTLED);
        let over = browser
            .value("document.documentElement.scrollWidth - document.documentElement.clientWidth");
        assert_eq!(over, 0, "{title} is wider");
    }
    browser.size(1_440, 900);
}

const SETTLED: &str = "document.querySelector('main > *') && !document.querySelector('.waiting')";

/// Faults that axe-core calls serious or critical, on any page.
#[track_caller]
fn has_no_faults(browser: &mut Browser, base: &str, axe: &str) {
    for (route, title) in PAGES {
        for is_dark in [false, true] {
            browser.dark(is_dark);
            show(browser, base, route, SETTLED);
            has_none_now(browser, axe, &format!("{title}, dark: {is_dark}"));
        }
    }
}

/// Such faults of what is shown now.
#[track_caller]
fn has_none_now(browser: &mut Browser, axe: &str, what: &str) {
    browser.value(&format!("{axe}; null"));
    let faults = browser.value(
        "axe.run().then((it) => it.violations.filter((fault) => \
         ['serious', 'critical'].includes(fault.impact)).map((fault) => \
         [fault.id, fault.nodes.slice(0, 3).map((node) => node.html)]))",
    );
    assert_eq!(faults, json!([]), "{what}");
}

pub(crate) fn axe_finds_no_serious_fault() {
    let axe = fs::read_to_string(crate::need::axe()).expect("the test asks for it");
    let mut browser = Browser::start();
    browser.call("Page.setBypassCSP", json!({ "enabled": true }));

    let web = hostile_web();
    let place = Place::new();
    let (daemon, base) = watched(&place, SLOW, &[&web.url(0, "/")]);
    show(&mut browser, &base, "", &format!("{} >= 5", key("pages")));
    has_no_faults(&mut browser, &base, &axe);

    // A window, what a press leads to, and the end.
    show(&mut browser, &base, "duplicates", SETTLED);
    browser.value("document.querySelector('table.clusters button').click()");
    browser.wait("document.querySelector('dialog .clusters, dialog table')");
    has_none_now(&mut browser, &axe, "a window");
    show(&mut browser, &base, "", SETTLED);
    browser.press("Pause");
    browser.wait(&says("paused"));
    has_none_now(&mut browser, &axe, "paused");
    drop(daemon);
    browser.wait("document.querySelector('.banner')?.innerText.includes('does not answer')");
    has_none_now(&mut browser, &axe, "ended");

    // Nothing there, and nothing that goes.
    for (settings, seeds, name) in states() {
        let place = Place::new();
        let seeds: Vec<&str> = seeds.iter().map(String::as_str).collect();
        let (_daemon, base) = watched(&place, &settings, &seeds);
        show(&mut browser, &base, "", &says(name));
        has_no_faults(&mut browser, &base, &axe);
    }
}

/// Whether this limits the crawl.
fn says(name: &str) -> String {
    let name = json!(name);
    format!("document.querySelector('.limitname')?.innerText === {name}")
}

/// Crawls that do not go on: their settings and seeds, and what the page says limits them.
fn states() -> [(String, Vec<String>, &'static str); 3] {
    // A port that nobody listens at: it was free a moment ago, and is nobody's range.
    let down = |path: &str| format!("http://127.0.0.1:9/{path}");
    let reserve = format!("{SLOW}[state]\ndisk_reserve = \"8000000GiB\"\n");
    let quick = format!("{SLOW}backoff = \"10ms\"\n");
    [
        (SLOW.to_owned(), Vec::new(), "no seeds"),
        (quick, ["", "a"].map(down).into(), "failing hosts"),
        (reserve, vec![down("")], "disk full"),
    ]
}

pub(crate) fn it_says_what_is_the_matter_and_what_to_do() {
    let mut browser = Browser::start();
    for (settings, seeds, name) in states() {
        let place = Place::new();
        let seeds: Vec<&str> = seeds.iter().map(String::as_str).collect();
        let (daemon, base) = watched(&place, &settings, &seeds);
        show(&mut browser, &base, "", &says(name));
        let told = match name {
            "no seeds" => "gleaner seeds add",
            "failing hosts" => "gleaner retry",
            _ => "8000000 GiB",
        };
        browser.wait(&format!("({}).includes({})", card(LIMIT), json!(told)));
        fits(&mut browser, &base);
        let complaints = browser.complaints();
        assert!(complaints.is_empty(), "{name}: {complaints:#?}");

        // When it has ended, what was known stays, and nothing can be pressed.
        show(&mut browser, &base, "", &says(name));
        drop(daemon);
        browser.wait("document.querySelector('.banner')?.innerText.includes('does not answer')");
        let left = browser.value(&format!(
            "[document.querySelector('.commands') === null, {}]",
            says(name)
        ));
        assert_eq!(left, json!([true, true]), "{name}");
        browser.open("about:blank");
        browser.complaints();
    }
}

/// Takes the network from the browser, or gives it back.
fn cut_off(browser: &mut Browser, is_away: bool) {
    let rates = json!({
        "offline": is_away, "latency": 0, "downloadThroughput": -1, "uploadThroughput": -1
    });
    browser.call("Network.emulateNetworkConditions", rates);
}

/// Freezes the page, as a browser does with those that nobody looks at, or lets it go on.
fn frozen(browser: &mut Browser, is_away: bool) {
    let state = if is_away { "frozen" } else { "active" };
    browser.call("Page.setWebLifecycleState", json!({ "state": state }));
    // Who is active again is not seen yet.
    let seen = json!({ "enabled": !is_away });
    browser.call("Emulation.setFocusEmulationEnabled", seen);
}

pub(crate) fn a_page_that_slept_has_missed_nothing() {
    let web = Web::start(vec![endless()]);
    let place = Place::new();
    let (_daemon, base) = watched(&place, SLOW, &[&web.url(0, "/")]);
    let mut browser = Browser::start();
    show(&mut browser, &base, "", &format!("{} > 0", key("pages")));
    for away in [cut_off, frozen] {
        away(&mut browser, true);
        for _ in 0..5 {
            place.ask(&["pause"]).expect(0);
            place.ask(&["resume"]).expect(0);
        }
        away(&mut browser, false);
        // All that the crawl tells are there, each once.
        browser.wait(
            "fetch('api/v1/events').then((it) => it.text()).then((it) => { \
             window.told = it.trim().split('\\n').length; }) && \
             parseInt(document.querySelector('[aria-label=Events] .says')?.innerText.replace(',', '')) === window.told && \
             window.told >= 10",
        );
        let ids = browser.value("document.querySelectorAll('.events li .kind').length");
        assert!(ids.as_u64().expect("a number") >= 10);
    }
}

/// Events of a day, one a second, that come as fast as they are read.
const DAY: u32 = 86_400;

pub(crate) fn a_day_of_events_takes_little_memory() {
    let web = Web::start(vec![
        Site::new()
            .robots("")
            .page("/", Answer::html("<p>One page.")),
    ]);
    let place = Place::new();
    let (_daemon, base) = watched(&place, SLOW, &[&web.url(0, "/")]);
    let mut browser = Browser::start();
    // What follows the crawl is given these instead.
    browser.call(
        "Page.addScriptToEvaluateOnNewDocument",
        json!({ "source": format!(
            "const asked = window.fetch;
             window.fetch = (url, options) => {{
                if (!String(url).includes('/events')) return asked(url, options);
                let at = 0;
                const body = new ReadableStream({{ pull(sink) {{
                    if (at >= {DAY}) return new Promise(() => {{}});
                    let lines = '';
                    for (const end = at + 1000; at < end && at < {DAY}; at += 1)
                        lines += JSON.stringify({{ id: String(at + 1), time: '2026-01-01T00:00:00Z', kind: 'parked', host: `https://host${{at}}.example`, text: 'the host is left alone '.repeat(8) }}) + '\\n';
                    sink.enqueue(new TextEncoder().encode(lines));
                }} }});
                return Promise.resolve(new Response(body));
             }};"
        )}),
    );
    show(
        &mut browser,
        &base,
        "",
        "document.querySelector('[aria-label=Events] .says')?.innerText.startsWith('86,400 events')",
    );
    browser.call("HeapProfiler.collectGarbage", json!({}));
    let heap = browser.call("Runtime.getHeapUsage", json!({}));
    let nodes = browser.call("Memory.getDOMCounters", json!({}));
    let (used, nodes) = (number(&heap, "usedSize"), number(&nodes, "nodes"));
    assert!(used < 30e6, "{used} bytes of objects");
    assert!(nodes < 20e3, "{nodes} nodes");
}

fn number(of: &Value, name: &str) -> f64 {
    of[name].as_f64().expect("a number")
}

pub(crate) fn the_keyboard_reaches_everything() {
    let (web, place) = (hostile_web(), Place::new());
    let (_daemon, base, mut browser) = opened(&place, &web);
    for (route, title) in PAGES {
        show(&mut browser, &base, route, SETTLED);
        // What can be pressed or typed into, but for rows that come and go with events.
        let wanted = browser.value(
            "(() => { document.activeElement?.blur(); \
             const all = [...document.querySelectorAll('a[href], button:not(:disabled), input, select, textarea, [tabindex=\"0\"]')]; \
             window.wanted = new Set(all.filter((it) => it.offsetParent !== null && !it.closest('.events'))); \
             window.reached = new Set(); return window.wanted.size; })()",
        );
        let steps = 3 * wanted.as_u64().expect("a number") + 120;
        for _ in 0..steps {
            for kind in ["keyDown", "keyUp"] {
                let key = json!({ "type": kind, "key": "Tab", "code": "Tab", "windowsVirtualKeyCode": 9 });
                browser.call("Input.dispatchKeyEvent", key);
            }
            let left = browser.value(
                "(() => { window.reached.add(document.activeElement); \
                 return [...window.wanted].filter((it) => it.isConnected && !window.reached.has(it)).length; })()",
            );
            if left == 0 {
                break;
            }
        }
        let missed = browser.value(
            "[...window.wanted].filter((it) => it.isConnected && !window.reached.has(it)).map((it) => it.outerHTML.slice(0, 200))",
        );
        assert_eq!(missed, json!([]), "{title}");
    }
}
