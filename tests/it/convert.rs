//! Converters: what commands of the user's make of documents is a page like any other.

use crate::run::{Place, page};
use crate::web::{Answer, Site, Web};

/// A document whose text only its converter finds.
fn document(text: &str) -> Answer {
    let mut answer = Answer::html(format!("%PDF-1.4\n{text}"));
    answer
        .headers
        .retain(|(name, _)| !name.eq_ignore_ascii_case("content-type"));
    answer
        .headers
        .push(("Content-Type".to_owned(), "application/pdf".to_owned()));
    answer
}

fn words(of: &str, count: usize) -> String {
    let words: Vec<String> = (0..count).map(|n| format!("{of}{n}")).collect();
    words.join(" ")
}

/// A site with a page, four documents and what one of them links to.
fn site() -> Web {
    let links = ["/a.pdf", "/copy.pdf", "/html.pdf", "/bad.pdf"];
    let same = words("same", 200);
    Web::start(vec![
        Site::new()
            .robots("")
            .page("/", Answer::html(page("home", &links)))
            .page("/a.pdf", document(&format!("one\n{same}")))
            .page("/copy.pdf", document(&format!("two\n{same}")))
            .page("/html.pdf", document("HTML"))
            .page("/bad.pdf", document("BAD"))
            .page("/linked", Answer::html(page("linked", &[]))),
    ])
}

/// Makes a page of `HTML`, fails on `BAD`, and leaves out two lines of all else.
const SCRIPT: &str = "body=$(tail -n +2); case $body in \
    HTML) echo '<!doctype html><title>Made</title><p>Made of a document.</p><a href=/linked>x</a>' ;; \
    BAD) echo 'cannot read this' >&2; exit 1 ;; \
    *) printf '%s' \"$body\" | tail -n +2 ;; esac";

fn settings() -> String {
    let script = toml_string(SCRIPT);
    format!("[[convert]]\ntype = \"application/pdf\"\ncommand = [\"sh\", \"-c\", {script}]")
}

fn toml_string(text: &str) -> String {
    serde_json::to_string(text).expect("a text is one in JSON, too")
}

#[test]
fn what_a_converter_makes_is_a_page_like_any_other() {
    let web = site();
    let crawl = Place::new();
    let seed = web.url(0, "/");
    crawl.crawl_by(&settings(), &[&seed]);
    assert!(
        web.asked(0).contains(&"/linked".to_owned()),
        "HTML has links"
    );
    let pages = crawl.told(&[]);
    let of = |path: &str| {
        let url = web.url(0, path);
        let page = pages.iter().find(|page| page["url"] == *url);
        page.unwrap_or_else(|| panic!("no {path}"))
    };
    let text = |path| of(path)["text"].as_str().unwrap_or_default();
    assert_eq!(text("/a.pdf").trim(), words("same", 200).trim());
    assert_eq!(text("/copy.pdf").trim(), words("same", 200).trim());
    assert_eq!(of("/a.pdf")["mime"], "application/pdf");
    let verdicts = [of("/a.pdf"), of("/copy.pdf")].map(|page| page["verdict"].clone());
    assert!(verdicts.contains(&"unique".into()), "{verdicts:?}");
    assert!(verdicts.contains(&"normalized".into()), "{verdicts:?}");
    assert_eq!(of("/html.pdf")["title"], "Made");
    assert!(text("/html.pdf").contains("Made of a document."));
    // One that fails is a visit like any other, without a text.
    assert_eq!(of("/bad.pdf")["text"], serde_json::Value::Null);
    assert_eq!(of("/bad.pdf")["status"], 200);
    let line = crawl
        .log()
        .into_iter()
        .find(|line| line.url == web.url(0, "/bad.pdf"));
    let note = line.and_then(|line| line.annotation).unwrap_or_default();
    assert!(note.contains("cannot read this"), "{note}");
    let status = crawl.ask(&["status"]).expect(0).stdout;
    assert!(
        status.contains("1  page: documents whose converter failed"),
        "{status}"
    );
    assert!(!status.contains("no converter"), "{status}");
    let show = |path: &str| crawl.ask(&["show", "--text", &web.url(0, path)]);
    assert_eq!(
        show("/copy.pdf").expect(0).stdout.trim(),
        words("same", 200).trim()
    );
    assert!(
        show("/html.pdf")
            .expect(0)
            .stdout
            .contains("Made of a document.")
    );
    let refused = show("/bad.pdf").expect(1).stderr;
    assert!(
        refused.contains("its converter failed") && refused.contains("cannot read this"),
        "{refused}"
    );
    let why = |path: &str| crawl.ask(&["why", &web.url(0, path)]).expect(0).stdout;
    assert!(
        why("/a.pdf").contains("by its converter: conversion in texts/"),
        "{}",
        why("/a.pdf")
    );
    assert!(
        why("/bad.pdf").contains("none: its converter failed: "),
        "{}",
        why("/bad.pdf")
    );
    // The bodies are what was sent, in the archive as in `show`.
    let body = crawl
        .ask(&["show", &web.url(0, "/bad.pdf")])
        .expect(0)
        .stdout;
    assert_eq!(body, "%PDF-1.4\nBAD");
    crawl.ask(&["check"]).expect(0);
}

#[test]
fn without_a_converter_documents_are_as_ever_and_counted() {
    let web = site();
    let crawl = Place::new();
    crawl.crawl(&[&web.url(0, "/")]);
    let pages = crawl.told(&[]);
    let documents = pages
        .iter()
        .filter(|page| page["mime"] == "application/pdf");
    let documents: Vec<_> = documents.collect();
    assert_eq!(documents.len(), 4);
    assert!(documents.iter().all(|page| page["text"].is_null()));
    assert!(!web.asked(0).contains(&"/linked".to_owned()));
    let status = crawl.ask(&["status"]).expect(0).stdout;
    assert!(
        status.contains(
            "kept, without a text\n         4  pages: documents, no converter ([[convert]])"
        ),
        "{status}"
    );
}

/// A converter that hangs costs its page its text, and nothing else waits for it for ever.
#[test]
fn a_converter_that_hangs_is_killed() {
    let web = site();
    let crawl = Place::new();
    let settings = "[convert]\ntimeout = \"200ms\"\n\
        commands = { \"application/pdf\" = [\"sh\", \"-c\", \"sleep 600 & sleep 600\"] }";
    crawl.crawl_by(settings, &[&web.url(0, "/")]);
    let status = crawl.ask(&["status"]).expect(0).stdout;
    assert!(
        status.contains("4  pages: documents whose converter failed"),
        "{status}"
    );
    assert_eq!(crawl.status().counters.pages, 5);
}

#[test]
fn settings_of_converters_that_make_no_sense_are_named() {
    let crawl = Place::new();
    let file = crawl.file(
        "wrong.toml",
        "[convert]\ncommands = { pdf = [\"pdftotext\"] }",
    );
    let told = crawl.command(&["http://127.0.0.1:1/", "--config", &file]);
    crate::run::run(told).expect(2).says(&["convert.commands"]);
}
