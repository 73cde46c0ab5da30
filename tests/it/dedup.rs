//! `gleaner dedup` and `gleaner fingerprint` on lines of JSON: what they find, that the order of
//! the lines is kept whatever the threads, and what they say to lines that are none.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;

use gleaner::archive::{Archive as _, Capture, Digest, Record, WarcArchive, WarcOptions};
use jiff::Timestamp;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::run::{gleaner, run};

/// `count` words, the same ones for the same seed.
fn words(seed: u64, count: u64) -> Vec<String> {
    (0..count)
        .map(|at| format!("word{}", (at * at * 7 + at * 13 + seed * 1_013) % 4_001))
        .collect()
}

/// `words` with every `nth` one replaced.
fn edited(words: &[String], nth: usize) -> Vec<String> {
    let edit = |(at, word): (usize, &String)| match at % nth {
        3 => format!("edit{at}"),
        _ => word.clone(),
    };
    words.iter().enumerate().map(edit).collect()
}

struct Corpus {
    directory: TempDir,
}

impl Corpus {
    fn new(documents: &[Value]) -> Self {
        let directory = tempfile::tempdir().expect("a directory");
        let lines: String = documents.iter().map(|it| it.to_string() + "\n").collect();
        fs::write(directory.path().join("in.jsonl"), lines).expect("room for it");
        Self { directory }
    }

    fn path(&self) -> PathBuf {
        self.directory.path().join("in.jsonl")
    }

    /// The lines that a command prints.
    fn lines(&self, arguments: &[&str]) -> Vec<Value> {
        let mut command = gleaner(arguments);
        command.arg(self.path());
        let output = run(command).expect(0);
        assert!(output.stderr.is_empty(), "{output:?}");
        let lines = output.stdout.lines();
        lines
            .map(|line| serde_json::from_str(line).expect("JSON"))
            .collect()
    }

    /// Id, original and kind of each verdict.
    fn verdicts(&self, arguments: &[&str]) -> Vec<(String, String, String)> {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let arguments = [&["dedup", "--jsonl"], arguments].concat();
        self.lines(&arguments)
            .iter()
            .map(|line| {
                (
                    text(&line["id"]),
                    text(&line["duplicate_of"]),
                    text(&line["kind"]),
                )
            })
            .collect()
    }
}

fn check(found: &[(String, String, String)], expected: &[(&str, &str, &str)]) {
    let found: Vec<_> = found.iter().map(|(a, b, c)| (&**a, &**b, &**c)).collect();
    assert_eq!(found, expected);
}

#[test]
fn pages_of_one_host_need_one_headline_to_be_near() {
    let text = words(1, 300);
    let page = |url: Value, title: &str, words: &[String]| {
        let words = words.join(" ");
        let html = format!("<title>{title}</title><body><article><p>{words}</p></article>");
        json!({"id": title, "url": url, "html": html})
    };
    let other = edited(&text, 297);
    let check = |url: Value, title: &str, expected: &str| {
        let documents = [
            page("http://a.example/1".into(), "Bar line, 2.22", &text),
            page(url, title, &other),
        ];
        let verdicts = Corpus::new(&documents).verdicts(&[]);
        let (_, _, kind) = &verdicts[1];
        assert_eq!(kind, expected, "{title}");
    };
    check("http://a.example/2".into(), "Bar line, 2.24", "near");
    check("http://a.example/2".into(), "Simile", "");
    check("http://b.example/1".into(), "Simile", "near");
    check(Value::Null, "Simile", "");
    check(json!([1]), "Bar line", "near");
}

#[test]
fn each_tier_names_what_it_finds() {
    let text = words(1, 400).join(" ");
    let short = "a page of a few words that says hardly anything at all to anybody";
    let corpus = Corpus::new(&[
        json!({"id": "a", "text": text}),
        json!({"id": "bytes", "text": text}),
        json!({"id": "case", "text": format!("  {}\n", text.to_uppercase())}),
        json!({"id": "commas", "text": text.replace(' ', ", ")}),
        json!({"id": "edited", "text": edited(&words(1, 400), 130).join(" ")}),
        json!({"id": "other", "text": words(2, 400).join(" ")}),
        json!({"id": "short", "text": short}),
        json!({"id": "shorter", "text": format!("{short} else")}),
        json!({"id": "empty", "text": ""}),
    ]);
    let expected = [
        ("a", "", ""),
        ("bytes", "a", "exact"),
        ("case", "a", "normalized"),
        ("commas", "a", "content"),
        ("edited", "a", "near"),
        ("other", "", ""),
        ("short", "", ""),
        ("shorter", "short", "near"),
        ("empty", "", ""),
    ];
    check(&corpus.verdicts(&[]), &expected);
    check(&corpus.verdicts(&["--method", "minhash"]), &expected);
    check(
        &corpus.verdicts(&["--method", "minhash", "--verify", "exact"]),
        &expected,
    );
    check(&corpus.verdicts(&["--shingle", "words:3"]), &expected);
}

#[test]
fn pages_are_compared_by_their_main_text() {
    let article = words(1, 300).join(" ");
    let page = |menu: &str| {
        format!("<html><nav>{menu}</nav><main><article><p>{article}</article></main></html>")
    };
    let corpus = Corpus::new(&[
        json!({"id": "a", "html": page("Home Contact")}),
        json!({"id": "b", "html": page("Start Imprint")}),
        json!({"id": "c", "text": article}),
    ]);
    let expected = [("a", "", ""), ("b", "a", "content"), ("c", "a", "content")];
    check(&corpus.verdicts(&[]), &expected);
}

/// A corpus with chains of edits: each document is a few words from the one before.
fn chains() -> Corpus {
    let mut documents = Vec::new();
    for seed in 0..40 {
        let mut text = words(seed, 300);
        for step in 0..6 {
            let at = (step * 47 + 11) % text.len();
            text[at..]
                .iter_mut()
                .take(6)
                .for_each(|word| word.push('x'));
            documents.push(json!({"id": format!("{seed}-{step}"), "text": text.join(" ")}));
        }
    }
    Corpus::new(&documents)
}

#[test]
fn the_threads_leave_no_trace_in_the_output() {
    let corpus = chains();
    for method in ["simhash", "minhash"] {
        let of =
            |threads| corpus.lines(&["dedup", "--jsonl", "--method", method, "--threads", threads]);
        let one = of("1");
        assert!(one.iter().any(|line| line["kind"] == "near"));
        assert_eq!(of("2"), one);
        assert_eq!(of("5"), one);
    }
}

#[test]
fn what_is_linked_is_one_cluster_and_first_fit_is_stricter() {
    let corpus = chains();
    let count = |arguments: &[&str]| {
        let verdicts = corpus.verdicts(arguments);
        let mut clusters: BTreeMap<String, String> = BTreeMap::new();
        for (id, of, _) in verdicts {
            let cluster = clusters.get(&of).cloned().unwrap_or_else(|| id.clone());
            clusters.insert(id, cluster);
        }
        let mut roots: Vec<_> = clusters.into_values().collect();
        roots.sort();
        roots.dedup();
        roots.len()
    };
    let method = ["--method", "minhash", "--verify", "exact"];
    let linked = count(&method);
    let first_fit = count(&[&method[..], &["--clusters", "first-fit"]].concat());
    assert_eq!(linked, 40, "each chain hangs together");
    assert!(first_fit > linked, "{first_fit}");
}

#[test]
fn the_order_decides_which_is_the_original_but_not_which_are_alike() {
    let text = words(1, 300);
    let documents = [
        json!({"id": "a", "text": text.join(" ")}),
        json!({"id": "b", "text": edited(&text, 150).join(" ")}),
    ];
    let reversed: Vec<Value> = documents.iter().rev().cloned().collect();
    check(
        &Corpus::new(&documents).verdicts(&[]),
        &[("a", "", ""), ("b", "a", "near")],
    );
    check(
        &Corpus::new(&reversed).verdicts(&[]),
        &[("b", "", ""), ("a", "b", "near")],
    );
}

#[test]
fn lines_and_flags_that_mean_nothing_are_refused() {
    let refused = |lines: &str, arguments: &[&str], says: &[&str]| {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("in.jsonl");
        fs::write(&path, lines).expect("room for it");
        let mut command = gleaner(&[&["dedup", "--jsonl"], arguments].concat());
        command.arg(&path);
        run(command).expect(2).says(says)
    };
    let good = "{\"id\":1,\"text\":\"one\"}\n";
    let output = refused(
        &format!("{good}{{\"id\":2}}\n{good}"),
        &[],
        &["in.jsonl, line 2", "neither"],
    );
    assert_eq!(
        output.stdout.lines().count(),
        1,
        "what was before it is judged"
    );
    refused("{\"id\":1,\"text\":\"\\ud800\"}", &[], &["line 1"]);
    refused(
        good,
        &["--method", "minhash", "--hamming", "3"],
        &["--threshold"],
    );
    refused(
        good,
        &["--bands", "16", "--rows", "8"],
        &["--method minhash"],
    );
    refused(
        good,
        &["--method", "minhash", "--bands", "100", "--rows", "2"],
        &["128"],
    );
    refused(good, &["--threshold", "0"], &["above 0"]);
    refused(good, &["--hamming", "8"], &["8"]);
    let output = run(gleaner(&["dedup", "--jsonl", "no/such/file"])).expect(2);
    assert!(output.stderr.contains("no/such/file"), "{output:?}");
}

#[test]
fn the_curve_is_explained() {
    let arguments = ["dedup", "--explain-lsh", "--bands", "8", "--rows", "16"];
    let output = run(gleaner(&arguments)).expect(0);
    assert!(output.stdout.contains("0.80    20.42 %"), "{output:?}");
}

#[test]
fn pages_of_warc_files_are_compared() {
    let directory = tempfile::tempdir().expect("a directory");
    let options = WarcOptions::new(directory.path().join("warc"));
    let (mut archive, _) = WarcArchive::open(options, None).expect("an archive");
    let article = words(1, 300).join(" ");
    let page = |title: &str| format!("<title>{title}</title><main><p>{article}</main>");
    let responses = [
        ("a", "200 OK", "text/html", page("One")),
        ("missing", "404 Not Found", "text/html", page("One")),
        ("image", "200 OK", "image/png", "\u{89}PNG".to_owned()),
        ("b", "200 OK", "text/html", page("Two")),
        ("c", "200 OK", "text/plain", words(2, 300).join(" ")),
    ];
    for (at, (path, status, kind, body)) in responses.into_iter().enumerate() {
        let target = format!("http://example.org/{path}");
        let capture = Capture {
            target: &target,
            date: Timestamp::from_second(1_700_000_000 + i64::try_from(at).expect("few"))
                .expect("a time"),
            ip: None,
            protocols: &[],
        };
        let head = format!("HTTP/1.1 {status}\r\nContent-Type: {kind}\r\n\r\n").into_bytes();
        let digest = Digest::of(body.as_bytes());
        let record = Record::response(&capture, head, body.into(), digest, None);
        archive.append(&[record]).expect("room for it");
    }
    archive.sync().expect("a disk");
    drop(archive);
    let files: Vec<_> = fs::read_dir(directory.path().join("warc"))
        .expect("its folder")
        .map(|entry| entry.expect("its file").path())
        .collect();
    let [path] = &files[..] else {
        panic!("{files:?}");
    };
    let mut command = gleaner(&["dedup"]);
    command.arg(path);
    let output = run(command).expect(0);
    let lines: Vec<Value> = output
        .stdout
        .lines()
        .map(|line| serde_json::from_str(line).expect("JSON"))
        .collect();
    let urls: Vec<_> = lines.iter().map(|line| line["url"].as_str()).collect();
    let expected = ["a", "b", "c"].map(|path| format!("http://example.org/{path}"));
    assert_eq!(urls, expected.each_ref().map(|url| Some(url.as_str())));
    assert_eq!(lines[1]["duplicate_of"], lines[0]["id"]);
    assert_eq!(lines[1]["kind"], "normalized");
    assert!(lines[2]["duplicate_of"].is_null());

    // A file that ends within a record: what was before it is judged.
    let whole = fs::read(path).expect("it is there");
    fs::write(path, &whole[..whole.len() - 30]).expect("room for it");
    let mut command = gleaner(&["dedup"]);
    command.arg(path);
    let output = run(command).expect(2);
    assert_eq!(output.stdout.lines().count(), 2);
}

#[test]
fn fingerprints_are_printed() {
    let text = words(1, 100).join(" ");
    let corpus = Corpus::new(&[
        json!({"id": 1, "text": text}),
        json!({"id": 2, "text": text.replace(' ', "  ")}),
    ]);
    let lines = corpus.lines(&["fingerprint", "--jsonl", "--minhash"]);
    assert_eq!(lines[0]["words"], 100);
    assert_eq!(lines[0]["minhash"].as_array().map(Vec::len), Some(128));
    for field in [
        "sha256-normalized",
        "sha256-content",
        "simhash-64",
        "sketch",
        "minhash",
    ] {
        assert_eq!(lines[0][field], lines[1][field], "{field}");
    }
    assert_ne!(lines[0]["sha256-raw"], lines[1]["sha256-raw"]);
    let seeded = corpus.lines(&["fingerprint", "--jsonl", "--seed", "5"]);
    assert_ne!(lines[0]["simhash-64"], seeded[0]["simhash-64"]);
}
