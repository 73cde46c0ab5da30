//! `gleaner dedup` and `gleaner fingerprint` on lines of JSON: what they find, that the order of
//! the lines is kept whatever the threads, and what they say to lines that are none.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write as _;

use flate2::Compression;
use flate2::write::GzEncoder;
use serde_json::{Value, json};

use crate::corpus::{Visit, archive_of, target, text, words};
use crate::run::{Place, gleaner, linking, run};
use crate::web::{Answer, Web};

/// `words` with every `nth` one replaced.
fn edited(words: &[String], nth: usize) -> Vec<String> {
    let edit = |(at, word): (usize, &String)| match at % nth {
        3 => format!("edit{at}"),
        _ => word.clone(),
    };
    words.iter().enumerate().map(edit).collect()
}

/// Documents as lines of a file.
struct Corpus {
    _place: Place,
    file: String,
}

impl Corpus {
    fn new(documents: &[Value]) -> Self {
        let lines: String = documents.iter().map(|it| it.to_string() + "\n").collect();
        let place = Place::new();
        let file = place.file("in.jsonl", &lines);
        Self {
            _place: place,
            file,
        }
    }

    /// The lines that a command prints.
    fn lines(&self, arguments: &[&str]) -> Vec<Value> {
        let output = run(gleaner(&[arguments, &[&self.file]].concat())).expect(0);
        assert!(output.stderr.is_empty(), "{output:?}");
        output.json_lines()
    }

    /// Id, original and kind of each verdict.
    fn verdicts(&self, arguments: &[&str]) -> Vec<[String; 3]> {
        let lines = self.lines(&[&["dedup", "--jsonl"], arguments].concat());
        let told = |line: &Value, key: &str| line[key].as_str().unwrap_or_default().to_owned();
        let verdict = |line| ["id", "duplicate_of", "kind"].map(|key| told(line, key));
        lines.iter().map(verdict).collect()
    }

    #[track_caller]
    fn check(&self, arguments: &[&str], expected: &[[&str; 3]]) {
        assert_eq!(self.verdicts(arguments), expected, "{arguments:?}");
    }
}

#[test]
fn pages_of_one_host_need_one_headline_to_be_near() {
    let text = words(1, 300);
    let page = |url: Value, title: &str, words: &[String]| {
        let paragraphs: Vec<_> = (words.chunks(100))
            .map(|words| format!("<p>{}</p>", words.join(" ")))
            .collect();
        let text = paragraphs.concat();
        let html = format!("<title>{title}</title><body><article>{text}</article>");
        json!({"id": title, "url": url, "html": html})
    };
    let other = edited(&text, 297);
    let check = |url: Value, title: &str, expected: &str| {
        let documents = [
            page("http://a.example/1".into(), "Bar line, 2.22", &text),
            page(url, title, &other),
        ];
        let verdicts = Corpus::new(&documents).verdicts(&[]);
        assert_eq!(verdicts[1][2], expected, "{title}");
    };
    check("http://a.example/2".into(), "Bar line, 2.22", "near");
    // The digits of a headline are its own; without a URL they are not known to be.
    check("http://a.example/2".into(), "Bar line, 2.24", "");
    check(Value::Null, "Bar line, 2.24", "near");
    check("http://a.example/2".into(), "Simile", "");
    check("http://b.example/1".into(), "Simile", "near");
    check(Value::Null, "Simile", "");
    check(json!([1]), "Bar line", "near");
}

#[test]
fn each_tier_names_what_it_finds() {
    let long = text(1, 400);
    let short = "a page of a few words that says hardly anything at all to anybody";
    let corpus = Corpus::new(&[
        json!({"id": "a", "text": long}),
        json!({"id": "bytes", "text": long}),
        json!({"id": "case", "text": format!("  {}\n", long.to_uppercase())}),
        json!({"id": "commas", "text": long.replace(' ', ", ")}),
        json!({"id": "edited", "text": edited(&words(1, 400), 130).join(" ")}),
        json!({"id": "other", "text": text(2, 400)}),
        json!({"id": "short", "text": short}),
        json!({"id": "shorter", "text": format!("{short} else")}),
        json!({"id": "empty", "text": ""}),
        json!({"id": "empty too", "text": ""}),
        json!({"id": "blank", "text": " \n"}),
        json!({"id": "blank too", "text": " \n"}),
    ]);
    let expected = [
        ["a", "", ""],
        ["bytes", "a", "exact"],
        ["case", "a", "normalized"],
        ["commas", "a", "content"],
        ["edited", "a", "near"],
        ["other", "", ""],
        ["short", "", ""],
        ["shorter", "short", "near"],
        ["empty", "", ""],
        ["empty too", "", ""],
        ["blank", "", ""],
        ["blank too", "", ""],
    ];
    for arguments in [
        &[][..],
        &["--method", "minhash"],
        &["--method", "minhash", "--verify", "exact"],
        &["--shingle", "words:3"],
    ] {
        corpus.check(arguments, &expected);
    }
}

#[test]
fn pages_are_compared_by_their_main_text() {
    let article = text(1, 300);
    let page = |menu: &str| {
        format!("<html><nav>{menu}</nav><main><article><p>{article}</article></main></html>")
    };
    let corpus = Corpus::new(&[
        json!({"id": "a", "html": page("Home Contact")}),
        json!({"id": "b", "html": page("Start Imprint")}),
        json!({"id": "c", "text": article}),
    ]);
    let expected = [["a", "", ""], ["b", "a", "content"], ["c", "a", "content"]];
    corpus.check(&[], &expected);
}

#[test]
fn the_shingles_asked_for_are_those_of_short_texts_too() {
    let words: Vec<String> = (0..40).map(|at| format!("word{at}")).collect();
    let mut other = words.clone();
    other[20] = "changed".to_owned();
    let corpus = Corpus::new(&[
        json!({"id": "a", "text": words.join(" ")}),
        json!({"id": "b", "text": other.join(" ")}),
    ]);
    // One word of 40 is in one shingle of a word each, and in five of five: 39 of 41, 31 of 41.
    let apart = [["a", "", ""], ["b", "", ""]];
    let near = [["a", "", ""], ["b", "a", "near"]];
    for method in ["simhash", "minhash"] {
        let with = |shingle| {
            [
                "--method",
                method,
                "--threshold",
                "0.84",
                "--shingle",
                shingle,
            ]
        };
        corpus.check(&with("words:5"), &apart);
        corpus.check(&with("words:1"), &near);
        corpus.check(&with("chars:3"), &near);
    }
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
        for [id, of, _] in verdicts {
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
    Corpus::new(&documents).check(&[], &[["a", "", ""], ["b", "a", "near"]]);
    Corpus::new(&reversed).check(&[], &[["b", "", ""], ["a", "b", "near"]]);
}

#[test]
fn lines_and_flags_that_mean_nothing_are_refused() {
    let refused = |lines: &str, arguments: &[&str], says: &[&str]| {
        let place = Place::new();
        let file = place.file("in.jsonl", lines);
        let arguments = [&["dedup", "--jsonl", &file], arguments].concat();
        run(gleaner(&arguments)).expect(2).says(says)
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
    let place = Place::new();
    let lines = place.file("in.jsonl.gz", good);
    let output = run(gleaner(&["dedup", &lines])).expect(2);
    output.says(&["in.jsonl.gz is no WARC file", "--jsonl"]);
}

#[test]
fn the_curve_is_explained() {
    let arguments = ["dedup", "--explain-lsh", "--bands", "8", "--rows", "16"];
    let output = run(gleaner(&arguments)).expect(0);
    assert!(output.stdout.contains("0.80    20.42 %"), "{output:?}");
}

#[test]
fn pages_of_warc_files_are_compared() {
    let place = Place::new();
    let article = text(1, 300);
    let page = |title: &str| format!("<title>{title}</title><main><p>{article}</main>");
    let mut visits = [
        Visit::new("a", &page("One")),
        Visit::new("missing", &page("One")),
        Visit::new("image", "\u{89}PNG"),
        Visit::new("b", &page("Two")),
        Visit::new("c", &text(2, 300)),
    ];
    visits[1].status = "404 Not Found";
    visits[2].mime = "image/png";
    visits[4].mime = "text/plain";
    let responses = visits.iter().enumerate().map(|(at, it)| it.response(at));
    let path = archive_of(&place.data(), &responses.collect::<Vec<_>>());
    let file = path.to_str().expect("temporary paths are ASCII");
    let lines = run(gleaner(&["dedup", file])).expect(0).json_lines();
    let urls: Vec<_> = lines.iter().map(|line| line["url"].clone()).collect();
    assert_eq!(urls, ["a", "b", "c"].map(target));
    assert_eq!(lines[1]["duplicate_of"], lines[0]["id"]);
    assert_eq!(lines[1]["kind"], "normalized");
    assert!(lines[2]["duplicate_of"].is_null());

    // A file that ends within a record: what was before it is judged.
    let whole = fs::read(&path).expect("it is there");
    fs::write(&path, &whole[..whole.len() - 30]).expect("room for it");
    let output = run(gleaner(&["dedup", file])).expect(0).says(&["left out"]);
    assert_eq!(output.stdout.lines().count(), 2);
}

#[test]
fn fingerprints_are_printed() {
    let some = text(1, 100);
    let corpus = Corpus::new(&[
        json!({"id": 1, "text": some}),
        json!({"id": 2, "text": some.replace(' ', "  ")}),
    ]);
    let lines = corpus.lines(&["fingerprint", "--jsonl", "--minhash"]);
    assert_eq!(lines[0]["words"], 100);
    assert_eq!(lines[0]["minhash"].as_array().map(Vec::len), Some(128));
    let same = [
        "sha256-normalized",
        "sha256-content",
        "simhash-64",
        "sketch",
        "minhash",
    ];
    for field in same {
        assert_eq!(lines[0][field], lines[1][field], "{field}");
    }
    assert_ne!(lines[0]["sha256-raw"], lines[1]["sha256-raw"]);
    let seeded = corpus.lines(&["fingerprint", "--jsonl", "--seed", "5"]);
    assert_ne!(lines[0]["simhash-64"], seeded[0]["simhash-64"]);
}

/// Lines that `gleaner pages` prints are compared as they are, compressed or not, from files and
/// from directories.
#[test]
fn what_pages_prints_is_input_of_dedup() {
    let text = "A page that says something of its own, and says it at some length. ".repeat(8);
    let copy = format!("<title>One</title><p>{text}</p>");
    let web = Web::start(vec![
        linking(&["/a", "/b", "/file.bin"])
            .page("/a", Answer::html(copy.clone()))
            .page("/b", Answer::html(copy))
            .page(
                "/file.bin",
                Answer::with_type(200, "application/octet-stream", vec![0; 9]),
            ),
    ]);
    let crawl = Place::new();
    crawl.crawl(&[&web.url(0, "/")]);
    let lines = crawl.ask(&["pages"]).expect(0).stdout;
    let plain = crawl.file("pages.jsonl", &lines);
    let judged = run(gleaner(&["dedup", "--jsonl", &plain])).expect(0);
    let verdicts = judged.json_lines();
    assert_eq!(verdicts.len(), lines.lines().count());
    let copies: Vec<_> = verdicts
        .iter()
        .filter(|it| !it["duplicate_of"].is_null())
        .collect();
    assert_eq!(copies.len(), 1, "{verdicts:?}");
    // Both are asked for at once, and either may be the first.
    let both = [web.url(0, "/a"), web.url(0, "/b")];
    let last = verdicts
        .iter()
        .rfind(|it| both.iter().any(|url| it["id"] == **url));
    assert_eq!(Some(copies[0]), last);
    let directory = crawl.data().with_file_name("corpus");
    fs::create_dir(&directory).expect("it is free");
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder
        .write_all(lines.as_bytes())
        .expect("memory suffices");
    let bytes = encoder.finish().expect("memory suffices");
    fs::write(directory.join("pages.jsonl.gz"), bytes).expect("it is ours");
    let directory = directory.to_str().expect("it is ASCII");
    let kept = crawl.data().with_file_name("kept.jsonl.zst");
    let kept = kept.to_str().expect("it is ASCII");
    let again = run(gleaner(&["dedup", "--jsonl", directory, "-o", kept])).expect(0);
    assert_eq!(again.stdout, judged.stdout);
    let rest = run(gleaner(&["dedup", "--jsonl", kept])).expect(0);
    assert_eq!(rest.stdout.lines().count(), verdicts.len() - 1);
    let named = [
        "dedup",
        "--jsonl",
        &plain,
        "--id-field",
        "title",
        "--text-field",
        "headline",
    ];
    run(gleaner(&named)).expect(2).says(&["the id is null"]);
    run(gleaner(&["dedup", directory]))
        .expect(2)
        .says(&["no file in", ".warc.gz"]);
}
