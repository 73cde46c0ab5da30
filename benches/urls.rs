//! What canonicalization and robots.txt cost, in one run, beside what they are measured against:
//! `cargo bench --bench urls`. The bounds that are printed are those of the design; a loaded
//! machine moves the figures, but hardly their ratios.

#![expect(clippy::print_stdout, reason = "it reports to whoever runs it")]

use std::fmt::Write as _;
use std::hint::black_box;
use std::time::{Duration, Instant};

use gleaner::robots::Rules;
use gleaner::url::{self, Canonicalizer, HostKey, HostRules, Url};

fn main() {
    canonicalization();
    parsing();
    plain_rules();
    stars();
}

/// The shortest of several runs, for one call: what the work costs when nobody disturbs it.
fn time<T>(calls: u32, mut work: impl FnMut() -> T) -> Duration {
    let run = |work: &mut dyn FnMut() -> T| {
        let start = Instant::now();
        for _ in 0..calls {
            black_box(work());
        }
        start.elapsed() / calls
    };
    let runs = (0..7).map(|_| run(&mut work));
    runs.min().unwrap_or_default()
}

fn report(what: &str, found: Duration, bound: Duration) {
    let mark = if found <= bound { "" } else { "  OVER" };
    println!("{what:<64}{found:>12.2?}  of {bound:?}{mark}");
}

const LINKS: [&str; 8] = [
    "https://www.example.com/news/2024/05/some-article-title-here.html",
    "https://www.example.com/list?page=2&sort=asc",
    "http://127.0.0.1:8080/x.html?b=2&a=1",
    "http://a.example/x.html?PHPSESSID=cdc993a493e899bed04f4d0c8a462a03",
    "http://a.example/x.html?utm_source=home&utm_medium=link",
    "https://de.example.org/wiki/M%C3%BCnchen",
    "https://shop.example.com/p/item;v=1/?color=red&size=xl&utm_campaign=x&ref=home",
    "https://www.example.com/",
];

fn canonicalization() {
    measure(&Canonicalizer::default(), "canonical form");
    // Rules for a thousand other hosts, as settings say them and as they are learned.
    let others = (0..1_000).map(|n| {
        let pattern = format!("host{n}.example.org").parse().expect("a pattern");
        (pattern, own_rules())
    });
    let mut canonicalizer = Canonicalizer::with_hosts(HostRules::default(), others);
    for n in 0..1_000 {
        let host = HostKey::parse(&format!("http://learned{n}.example.org"));
        canonicalizer.learn(&host.expect("a host"), own_rules());
    }
    measure(&canonicalizer, "the same, other hosts have rules");
}

fn own_rules() -> HostRules {
    HostRules {
        drop: ["ref".to_owned()].into(),
        ..HostRules::default()
    }
}

fn measure(canonicalizer: &Canonicalizer, what: &str) {
    let bound = Duration::from_micros(1);
    for link in LINKS {
        let parsing = time(20_000, || Url::parse(black_box(link)));
        let both = time(20_000, || {
            let url = url::parse(black_box(link)).expect("it is one");
            canonicalizer.canonicalize(&url)
        });
        let ratio = both.as_secs_f64() / parsing.as_secs_f64();
        let shown = link.get(..40).unwrap_or(link);
        let what = format!("{what} beyond Url::parse (x{ratio:.1}), {shown}");
        report(&what, both.saturating_sub(parsing), bound);
    }
}

/// A file of this line, with numbers in no order in it, up to 500,000 bytes.
fn file(line: &str) -> String {
    let mut body = String::from("user-agent: *\n");
    let mut number = 0;
    while body.len() < 500_000 {
        let _ = writeln!(body, "{}", line.replace('#', &format!("{number:06}")));
        number = (number + 382_771) % 1_000_000;
    }
    body
}

fn parsing() {
    for line in [
        "disallow: /filler/#/",
        "allow:/#",
        "disallow: /wiki/Special%3APages_for_deletion#",
        "disallow: /*a#b*c",
        "user-agent: bot#\ndisallow: /",
        "sitemap: http://a.example/#.xml",
    ] {
        let body = file(line);
        let found = time(1, || Rules::parse(body.as_bytes(), "gleaner"));
        let what = format!("parse 500 kB of `{}`", line.replace('\n', "; "));
        report(&what, found, Duration::from_millis(8));
    }
}

fn plain_rules() {
    let rules = Rules::parse(file("disallow: /filler/#/").as_bytes(), "gleaner");
    let bound = Duration::from_micros(10);
    let long = format!("/filler/{}", "a0/".repeat(600));
    for (what, path) in [
        (
            "a URL against 19,000 plain rules: forbidden",
            "/filler/009999/x?y=1",
        ),
        ("the same: allowed", "/other/page.html?x=1"),
        ("the same: a path of 1,800 bytes", long.as_str()),
    ] {
        report(what, time(10_000, || rules.allows(black_box(path))), bound);
    }
}

fn stars() {
    let path = format!("/{}", "a".repeat(2_000));
    for pattern in [
        format!("/{}b", "a*".repeat(800)),
        format!("/{}b", "*a".repeat(800)),
        format!("/{}b$", "*aab".repeat(800)),
    ] {
        let rules = Rules::parse(
            format!("user-agent: *\ndisallow: {pattern}").as_bytes(),
            "x",
        );
        let found = time(20, || rules.allows(black_box(&path)));
        let what = format!("800 stars against 2,000 bytes, {}...", &pattern[..9]);
        report(&what, found, Duration::from_millis(1));
    }
}
