//! `gleaner fingerprint --df-table-out`, and fingerprints that are weighted by such a table.

use std::fs;
use std::path::Path;

use tempfile::TempDir;

use crate::dedup_kept::{dedup, lines, refused, run_on, text, words};
use crate::run::{gleaner, run};

#[test]
fn weights_come_from_a_table_that_stays() {
    let directory = TempDir::new().expect("a directory");
    let document = |seed| ("", format!("{0} {0} {1}", words(99, 30), words(seed, 100)));
    let documents: Vec<(&str, String)> = (0..40).map(document).collect();
    let input = lines(directory.path(), "in", &documents);
    let table = directory.path().join("table");
    let make = |path: &Path, threads: &str| {
        let mut command = gleaner(&["fingerprint", "--jsonl", "--threads", threads]);
        command
            .arg(&input)
            .args(["--df-table-number", "7", "--df-table-out"])
            .arg(path);
        run(command)
    };
    assert!(make(&table, "1").expect(0).stdout.is_empty());
    let again = directory.path().join("again");
    make(&again, "3").expect(0);
    assert_eq!(
        fs::read(&table).expect("a table"),
        fs::read(&again).expect("a table")
    );
    make(&table, "1").expect(2).says(&["give a new file"]);

    let simhashes = |arguments: &[&str]| -> Vec<String> {
        let mut command = gleaner(&[&["fingerprint", "--jsonl"], arguments].concat());
        command.arg(&input);
        let lines = run(command).expect(0).json_lines();
        lines
            .iter()
            .map(|it| it["simhash-64"].to_string())
            .collect()
    };
    let tfidf = ["--weights", "tfidf", "--df-table", text(&table)];
    let ways = [
        &[][..],
        &["--weights", "set"],
        &tfidf,
        &["--shingle", "chars:8"],
    ];
    let found = ways.map(simhashes);
    for (at, one) in found.iter().enumerate() {
        assert!(found[..at].iter().all(|other| other != one));
    }
    let index = directory.path().join("index");
    let arguments = ["--jsonl", "--index", text(&index)];
    dedup(&[&arguments[..], &tfidf].concat(), &[&input]);
    run_on(&arguments, &[&input])
        .expect(2)
        .says(&["tfidf by table 7", "count"]);
    let mut damaged = fs::read(&table).expect("a table");
    *damaged.last_mut().expect("rows") ^= 1;
    fs::write(&again, damaged).expect("room for it");
    let other_shingles = [&tfidf[..], &["--shingle", "words:3"]].concat();
    for (arguments, says) in [
        (&["--weights", "tfidf"][..], "--df-table"),
        (&["--df-table", text(&table)], "--weights tfidf"),
        (
            &["--method", "minhash", "--weights", "set"],
            "--method simhash",
        ),
        (&other_shingles, "another --shingle"),
        (
            &["--weights", "tfidf", "--df-table", text(&again)],
            "damaged",
        ),
    ] {
        refused(&[&["--jsonl"], arguments].concat(), &[&input], says);
    }
}
