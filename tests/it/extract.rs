//! `gleaner extract`: one page or a stream of them, in order, and what is said of input that is no
//! page.

use std::fs::{self, File};
use std::process::{Command, Stdio};

use serde_json::json;

use crate::run::{Output, gleaner, run};

/// An article in a frame.
fn article(number: usize) -> String {
    let text = "<p>The river rose three metres in a night, and nobody in the valley had seen it coming before.</p>\n\
        <p>Upstream the old dam had been leaking since the autumn, engineers said, when they came to look at it.</p>";
    let menu = "<li class=menu-item><a href=/section>A section</a></li>".repeat(12);
    format!(
        "<!doctype html><html lang=en><title>River {number}</title><nav class=menu><ul>{menu}</ul></nav>\
         <article class=entry-content><h1>River {number}</h1>{}<h2>The <code>dam</code></h2>\
         <ul><li>It was built in another age, and of other stone, than the town below it was.</li>\
         <li>It will be built again, <a href=/plans>higher this time</a>, the mayor told everybody.</li></ul></article>\
         <footer class=footer>All rights reserved</footer>",
        text.repeat(5)
    )
}

/// Runs `gleaner extract` with `input` on standard input.
fn extract(arguments: &[&str], input: &str) -> Output {
    let place = tempfile::tempdir().expect("a temporary directory");
    let path = place.path().join("input");
    fs::write(&path, input).expect("it is writable");
    let mut command: Command = gleaner(&[&["extract"], arguments].concat());
    command.stdin(Stdio::from(File::open(&path).expect("it was written")));
    run(command)
}

#[test]
fn measures_of_the_text_are_added_where_they_are_asked_for() {
    let line = |page: &str| format!("{}\n", json!({ "id": 1, "html": page }));
    let read = |arguments: &[&str], input: &str| -> serde_json::Value {
        let output = extract(arguments, input).expect(0);
        serde_json::from_str(&output.stdout).expect("it is an object")
    };
    let page = article(1);
    let without = read(&["--jsonl", "-"], &line(&page));
    assert_eq!(without.get("quality"), None);
    let of_line = read(&["--jsonl", "--quality", "-"], &line(&page));
    let of_page = read(&["--format", "json", "--quality", "-"], &page);
    assert_eq!(of_line["quality"], of_page["quality"]);
    // The article has the same two paragraphs five times.
    assert!(
        of_page["quality"]["duplicate_lines"].as_f64() > Some(0.5),
        "{of_page}"
    );
    assert!(
        of_page["quality"]["words"].as_u64() > Some(150),
        "{of_page}"
    );
    let refused = extract(&["--quality", "-"], &page);
    assert_eq!(refused.code, 2);
    assert!(
        refused.stderr.contains("add --format json"),
        "{}",
        refused.stderr
    );
}

#[test]
fn one_page_as_text_markdown_and_json() {
    let text = extract(&["-"], &article(1)).expect(0).stdout;
    assert!(
        text.contains("The river rose three metres in a night"),
        "{text}"
    );
    assert!(
        !text.contains("A section") && !text.contains("rights"),
        "{text}"
    );

    let mut arguments = [
        "-",
        "--url",
        "https://example.org/a/b",
        "--format",
        "markdown",
    ];
    let markdown = extract(&arguments, &article(1)).expect(0).stdout;
    assert!(markdown.contains("\n## The `dam`\n"), "{markdown}");
    let item = "\n- It will be built again, [higher this time](https://example.org/plans), the";
    assert!(markdown.contains(item), "{markdown}");

    assert!(markdown.starts_with("# River 1\n\nThe river"), "{markdown}");

    // Where a page is from is not made up.
    let placeless = ["-", "--format", "markdown"];
    let markdown = extract(&placeless, &article(1)).expect(0).stdout;
    assert!(
        markdown.contains("[higher this time](/plans)"),
        "{markdown}"
    );
    let placeless = ["-", "--format", "json"];
    let answer = extract(&placeless, &article(1)).expect(0).json();
    assert_eq!(answer["links"], json!([]));

    arguments[4] = "html";
    let html = extract(&arguments, &article(1)).expect(0).stdout;
    let item = "<a href=\"https://example.org/plans\">higher this time</a>, the mayor";
    assert!(html.starts_with("<h1>River 1</h1>\n<p>The river"), "{html}");
    assert!(html.contains(item) && !html.contains("class"), "{html}");

    arguments[4] = "json";
    let answer = extract(&arguments, &article(1)).expect(0).json();
    assert_eq!(
        (&answer["title"], &answer["headline"], &answer["lang"]),
        (&json!("River 1"), &json!("River 1"), &json!("en"))
    );
    assert!(answer["lang_score"].as_f64() > Some(0.9), "{answer}");
    let links = ["https://example.org/section", "https://example.org/plans"];
    assert_eq!(answer["links"], json!(links));
    assert!(answer["kept"].as_f64() > Some(0.5), "{answer}");
}

#[test]
fn a_stream_is_answered_in_order() {
    let lines = (0..300).map(|number| {
        let html = if number % 7 > 0 {
            article(number)
        } else {
            String::new()
        };
        json!({"id": number, "html": html, "url": null}).to_string() + "\n"
    });
    let answers = extract(&["--jsonl"], &lines.collect::<String>());
    let answers = answers.expect(0).json_lines();
    assert_eq!(answers.len(), 300);
    for (number, answer) in answers.iter().enumerate() {
        assert_eq!(answer["id"], json!(number));
        let title = (number % 7 > 0).then(|| format!("River {number}"));
        assert_eq!(answer["title"], json!(title));
        assert_eq!(
            answer["text"].as_str().is_some_and(str::is_empty),
            number % 7 == 0
        );
    }
}

#[test]
fn a_line_that_is_no_page_is_named_after_those_before_it_are_answered() {
    let good = json!({"id": "a", "html": "<p>text"}).to_string();
    let output = extract(
        &["--jsonl"],
        &format!("{good}\n{good}\n{{\"id\": 3}}\n{good}\n"),
    )
    .expect(2)
    .says(&["standard input, line 3", "html", "hint: "]);
    assert_eq!(output.stdout.lines().count(), 2);
}

#[test]
fn what_cannot_be_read_is_refused() {
    let missing = ["extract", "/nowhere/page.html"];
    run(gleaner(&missing))
        .expect(2)
        .says(&["/nowhere/page.html", "hint: "]);
    extract(&["-", "--url", "nonsense"], "")
        .expect(2)
        .says(&["--url", "hint: "]);
    extract(&[], "").expect(2);
    run(gleaner(&["extract", "/nowhere/a.html", "/nowhere/b.html"]))
        .expect(2)
        .says(&["/nowhere/b.html", "hint: "]);
    run(gleaner(&["extract", "/nowhere/a.warc.gz"]))
        .expect(2)
        .says(&["/nowhere/a.warc.gz: No such file"]);
}
