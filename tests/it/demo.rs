//! `gleaner demo` does what docs/demo.md shows, from the first line to the last but for times and
//! paths, and can be run again.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::Value;

use crate::run::{Output, gleaner, log, records, run};
use crate::steady;

/// Runs the demo into a new or empty directory.
fn demo(data: &Path, arguments: &[&str]) -> Output {
    let mut command = gleaner(&["demo"]);
    command.args(arguments).arg("--data-dir").arg(data);
    run(command).expect(0)
}

/// The demo's output as docs/demo.md shows it: the text block that begins with its first words.
fn shown() -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/demo.md");
    let page = fs::read_to_string(path).expect("the page is there");
    let block = page
        .split("```text\n")
        .find(|block| block.starts_with("A small web of "))
        .expect("docs/demo.md shows the demo in a block of text");
    let (block, _) = block.split_once("```").expect("the block ends");
    block.to_owned()
}

/// Without what differs from run to run: where it is, what it is called, how long it took.
fn stable(output: &str, data: &str, program: &str) -> Vec<String> {
    let without_time = |line: &str| match line.split_once(" URLs in ") {
        Some((before, _)) => format!("{before} URLs in TIME"),
        None => line.to_owned(),
    };
    steady::without_crawl(output)
        .replace(data, "DIR")
        .replace(program, "PROGRAM")
        .lines()
        .map(without_time)
        .collect()
}

#[test]
fn the_demo_is_as_its_page_shows_it() {
    let place = tempfile::tempdir().expect("there is a directory for temporary files");
    let data = place.path().join("data");
    let output = demo(&data, &[]);
    let data = data.to_str().expect("temporary paths are ASCII");
    let found = stable(&output.stdout, data, env!("CARGO_BIN_EXE_gleaner"));
    let shown = stable(&shown(), "/tmp/gleaner-demo-1", "target/release/gleaner");
    // Line by line, so that what differs is told before all of it is.
    for (found, shown) in found.iter().zip(&shown) {
        assert_eq!(
            found, shown,
            "the demo prints the left line, docs/demo.md has the right one; all of it:\n{}",
            output.stdout
        );
    }
    assert_eq!(found.len(), shown.len(), "{}", output.stdout);
    let wide: Vec<_> = shown
        .iter()
        .filter(|line| line.chars().count() > 100)
        .collect();
    assert!(wide.is_empty(), "{wide:#?}");
}

/// What the demo claims, against what its crawl wrote.
#[test]
fn the_demo_tells_what_its_log_and_archive_have() {
    let place = tempfile::tempdir().expect("there is a directory for temporary files");
    let data = place.path().join("data");
    let output = demo(&data, &["--json"]);
    let report: Value = serde_json::from_str(&output.stdout).expect("one JSON object");
    assert_eq!(report["repeated"], 0);
    assert!(
        report["seconds"].as_f64() < Some(20.0),
        "{}",
        report["seconds"]
    );

    let mut told = BTreeMap::new();
    let mut requests = 0;
    for host in report["hosts"].as_array().expect("a list") {
        requests += host["requests"].as_u64().expect("a number");
        for page in host["pages"].as_array().expect("a list") {
            let text = |field: &str| page[field].as_str().map(str::to_owned);
            let url = text("url").expect("every page has a URL");
            let before = told.insert(url, (text("verdict"), text("original")));
            assert_eq!(before, None);
        }
    }
    let lines = log(&data);
    assert_eq!(
        requests,
        lines.iter().filter(|line| line.status != 0).count() as u64
    );
    let logged: BTreeMap<_, _> = lines
        .into_iter()
        .filter(|line| line.status != 0 && line.verdict != "robots")
        .map(|line| {
            (
                line.url,
                (Some(line.verdict.name().to_owned()), line.original),
            )
        })
        .collect();
    assert_eq!(told, logged);

    // Each tier has its example, and all of them are copies of one article.
    let verdicts: Vec<_> = told
        .values()
        .filter_map(|(verdict, _)| verdict.as_deref())
        .collect();
    for tier in [
        "unique",
        "raw",
        "normalized",
        "content",
        "near",
        "ineligible",
    ] {
        assert!(verdicts.contains(&tier), "no {tier} in {verdicts:?}");
    }
    let reasons: Vec<_> = report["not_fetched"]
        .as_array()
        .expect("a list")
        .iter()
        .collect();
    for reason in ["robots-txt", "out-of-scope", "same-url"] {
        assert!(
            reasons.iter().any(|link| link["reason"] == reason),
            "no {reason}"
        );
    }
    assert!(reasons.iter().all(|link| link["reason"] != "not-reached"));
    assert!(!records(&data).is_empty());
    let warc = report["warc"][0].as_str().expect("a path");
    assert!(Path::new(warc).is_file(), "{warc}");
}

#[test]
fn the_demo_runs_again_and_leaves_others_alone() {
    let place = tempfile::tempdir().expect("there is a directory for temporary files");
    let again = || -> Command {
        let mut command = gleaner(&["demo", "--json"]);
        command.env("TMPDIR", place.path());
        command
    };
    for number in [1, 2] {
        let output = run(again()).expect(0);
        let report: Value = serde_json::from_str(&output.stdout).expect("one JSON object");
        let expected = place.path().join(format!("gleaner-demo-{number}"));
        assert_eq!(report["data_dir"].as_str(), expected.to_str());
    }
    let mut command = gleaner(&["demo", "--data-dir"]);
    command.arg(place.path().join("gleaner-demo-1"));
    let output = run(command).expect(2);
    assert_eq!(output.stdout, "");
    assert!(
        output.stderr.contains("a new or empty directory"),
        "{}",
        output.stderr
    );
    assert!(output.stderr.contains("\nhint: "), "{}", output.stderr);
}
