//! Commands that read files and fetch nothing: `normalize`, `robots`, `sitemap`.

use std::fs::{self, File};
use std::path::PathBuf;
use std::process::Stdio;

use tempfile::TempDir;

use crate::run::{Output, gleaner, run};

/// A directory with one file in it.
struct Input {
    _directory: TempDir,
    path: PathBuf,
}

impl Input {
    fn new(text: impl AsRef<[u8]>) -> Self {
        let directory = TempDir::new().expect("a temporary directory");
        let path = directory.path().join("input");
        fs::write(&path, text).expect("room for a file");
        Self {
            _directory: directory,
            path,
        }
    }

    fn path(&self) -> &str {
        self.path.to_str().expect("an ASCII path")
    }

    /// Runs gleaner with the file as standard input.
    fn piped(&self, arguments: &[&str]) -> Output {
        let mut command = gleaner(arguments);
        command.stdin(Stdio::from(File::open(&self.path).expect("it is there")));
        run(command)
    }
}

#[test]
fn normalize_answers_each_line_with_a_line() {
    let input = Input::new("HTTP://A.example/x/?b=2&a=1#f\n\nmailto:x\nhttp://a.example/%7Eu");
    let output = input.piped(&["normalize"]).expect(0);
    assert_eq!(
        output.stdout,
        "http://a.example/x?a=1&b=2\nerror: not a URL: relative URL without a base\nerror: scheme `mailto` is not supported; only http and https URLs are crawled\nhttp://a.example/~u\n"
    );
}

#[test]
fn normalize_applies_the_rules_that_are_chosen() {
    let url = "http://www.a.example//d/index.html?utm_source=x";
    let normalize = |arguments: &[&str]| {
        let output = run(gleaner(&[&["normalize"], arguments, &[url]].concat()));
        output.expect(0).stdout
    };
    assert_eq!(normalize(&[]), "http://www.a.example//d/index.html\n");
    let enable = [
        "--enable",
        "duplicate-slashes,www",
        "--enable",
        "index-file",
    ];
    assert_eq!(
        normalize(&[&enable[..], &["--disable", "tracking"]].concat()),
        "http://a.example/d?utm_source=x\n"
    );
    assert_eq!(
        normalize(&["--explain", "--enable", "scheme"]),
        "https://www.a.example//d/index.html\tscheme,tracking\n"
    );
    let output = run(gleaner(&["normalize", "--enable", "slashes", url])).expect(2);
    output.says(&["slashes"]);
    let rules = run(gleaner(&["normalize", "--rules"])).expect(0).stdout;
    assert!(rules.contains("\npath-case\toff\t"), "{rules}");
}

const ROBOTS: &str = "User-agent: *\nDisallow: /a\nAllow: /a/*/b\nCrawl-delay: 2.5\n\nUser-agent: x\nDisallow: /\nSitemap: http://a.example/1\nSitemap: /2\n";

#[test]
fn robots_judges_in_order() {
    let input = Input::new(ROBOTS);
    let urls = ["http://a.example/a", "http://a.example/a/1/b", "/c?d"];
    let arguments = [
        "robots",
        "--agent",
        "y/1.0 (+http://y.example)",
        "--robots",
        input.path(),
    ];
    let output = run(gleaner(&[&arguments[..], &urls].concat())).expect(0);
    assert_eq!(
        output.stdout,
        "disallow\thttp://a.example/a\nallow\thttp://a.example/a/1/b\nallow\t/c?d\n"
    );
    let output = run(gleaner(&[&arguments[..], &["--explain"], &urls].concat())).expect(0);
    assert_eq!(
        output.stdout,
        "disallow\thttp://a.example/a\tline 2\tDisallow: /a\nallow\thttp://a.example/a/1/b\tline 3\tAllow: /a/*/b\nallow\t/c?d\t-\tno rule applies\ncrawl-delay\t2.5\n"
    );
    let other = ["robots", "--agent", "X", "--robots", "-", "--explain", "/c"];
    let output = input.piped(&other).expect(0);
    assert_eq!(output.stdout, "disallow\t/c\tline 7\tDisallow: /\n");
    let output = input
        .piped(&["robots", "--robots", "-", "--sitemaps"])
        .expect(0);
    assert_eq!(output.stdout, "http://a.example/1\n/2\n");
}

#[test]
fn robots_says_what_it_cannot_read() {
    let input = Input::new(ROBOTS);
    let judge = |file: &str, url: &str| run(gleaner(&["robots", "--robots", file, url]));
    let output = judge(input.path(), "a/x").expect(0);
    assert_eq!(output.stdout, "disallow\ta/x\n");
    output.says(&["warning: ", "a/x"]);
    judge(input.path(), "ftp://a.example/b").expect(0).says(&[]);
    let output = judge("/nowhere/robots.txt", "/x").expect(2);
    output.says(&["/nowhere/robots.txt", "hint: "]);
    run(gleaner(&["robots", "--robots", input.path()])).expect(2);
}

#[test]
fn sitemap_prints_urls_and_says_what_is_wrong() {
    let input = Input::new(
        "<urlset><url><loc>http://a.example/a?x=1&amp;y=2</loc><priority>0.8</priority></url><url><loc>/b</loc></url><url>",
    );
    let output = run(gleaner(&["sitemap", input.path()])).expect(0);
    assert_eq!(output.stdout, "http://a.example/a?x=1&y=2\n");
    output.says(&["/b", "the file ends inside <url>"]);
    let arguments = [
        "sitemap",
        "-",
        "--json",
        "--base",
        "http://a.example/s/x.xml",
    ];
    let output = input.piped(&arguments).expect(0);
    let first = output.stdout.lines().next().unwrap_or_default();
    let first: serde_json::Value = serde_json::from_str(first).expect("it is JSON");
    assert_eq!(
        first,
        serde_json::json!({ "url": "http://a.example/a?x=1&y=2", "kind": "page", "priority": 0.8 })
    );
    let html = Input::new("<html></html>");
    let output = run(gleaner(&["sitemap", html.path()])).expect(1);
    assert_eq!(output.stdout, "");
    output.says(&["not a sitemap", "<html>"]);
}
