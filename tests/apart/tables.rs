//! What pyarrow, `DuckDB`, `FastWARC` and datatrove make of tables, lines, indexes and archives.

use std::collections::BTreeMap;
use std::fs;
use std::process::Command;

use serde_json::Value;

use crate::need::python;
use crate::run::{Output, Place, page, prepared, run};
use crate::web::{Answer, Site, Web};

fn read(arguments: &[&str]) -> Output {
    read_by("read_tables.py", arguments)
}

fn read_by(script: &str, arguments: &[&str]) -> Output {
    let script = format!("{}/tests/tools/{script}", env!("CARGO_MANIFEST_DIR"));
    let mut command = Command::new(python());
    command.arg(script).args(arguments);
    run(prepared(command)).expect(0)
}

fn crawled() -> (Web, Place) {
    let links = ["/a", "/copy", "/moved", "/missing"];
    let web = Web::start(vec![
        Site::new()
            .robots("")
            .page("/", Answer::html(page("home", &links)))
            .page("/a", Answer::html(page("a", &[])))
            .page("/copy", Answer::html(page("a", &[])))
            .page("/moved", Answer::redirect(301, "/a")),
    ]);
    let crawl = Place::new();
    crawl.crawl(&[&web.url(0, "/")]);
    (web, crawl)
}

fn export(crawl: &Place, name: &str, format: &str) -> String {
    let path = crawl.data().with_file_name(name);
    let path = path.to_str().expect("it is ASCII").to_owned();
    crawl
        .ask(&["export", "--format", format, "-o", &path])
        .expect(0);
    path
}

/// Counts by verdict are those of `gleaner report`, and columns have the types of `FineWeb`.
pub(crate) fn tables_are_read_by_others() {
    let (_web, crawl) = crawled();
    let file = export(&crawl, "pages.parquet", "parquet");
    let told = read(&["pages", &file]).json();
    let report = crawl.ask(&["report", "--json"]).expect(0).json();
    assert_eq!(told["rows"], crawl.told(&[]).len());
    let verdicts = &told["verdicts"];
    let count = |verdict: &str| verdicts[verdict].as_u64().unwrap_or(0);
    let tiers = report["tiers"].as_array().expect("a list");
    let mut duplicates = 0;
    for tier in tiers {
        let pages = count(tier["tier"].as_str().expect("a name"));
        assert_eq!(tier["pages"], pages, "{report} {told}");
        duplicates += pages;
    }
    assert_eq!(report["duplicates"], duplicates);
    assert_eq!(report["judged"], count("unique") + duplicates);
    assert!(duplicates > 0);
    let columns = told["columns"].as_array().expect("a list").iter();
    let columns: Vec<String> = columns
        .map(|it| {
            format!(
                "{} {}",
                it[0].as_str().expect("a name"),
                it[1].as_str().expect("a type")
            )
        })
        .collect();
    let fineweb = [
        "text string",
        "id string",
        "dump string",
        "url string",
        "date string",
        "file_path string",
        "language string",
        "language_score double",
        "token_count int64",
    ];
    assert_eq!(columns[..9], fineweb);
}

/// A query of the index leads to the records.
pub(crate) fn an_index_leads_others_to_records() {
    let (web, crawl) = crawled();
    let directory = export(&crawl, "index", "cc-index");
    let warc = crawl.data().join("warc");
    let url = gleaner::url::parse(&web.url(0, "/")).expect("it is one");
    let host = url.host_str().expect("it has one");
    let warc = warc.to_str().expect("it is ASCII");
    let found = read(&["index", &directory, warc, host]).json_lines();
    let mut urls = BTreeMap::new();
    for line in &found {
        assert_eq!(
            (&line["records"], &line["crawl"]),
            (&1.into(), &"data".into())
        );
        assert_eq!(line["url"], line["target"]);
        urls.insert(line["url"].as_str().expect("a text"), line);
    }
    let told = crawl.told(&[]);
    let expected = told.iter().filter(|page| {
        let is_response = page["record"]["type"] == "response";
        is_response && page["status"] == 200
    });
    let expected: BTreeMap<&str, &Value> = expected
        .map(|page| (page["url"].as_str().expect("a text"), page))
        .collect();
    assert!(expected.len() >= 2);
    assert!(urls.keys().eq(expected.keys()), "{found:#?}");
}

/// Whoever reads the archive for a corpus gets each page once, whatever repeats it, and an export
/// has the same documents with their texts.
pub(crate) fn documents_are_the_unique_pages() {
    let links = [
        "/a", "/copy", "/packed", "/near", "/odd", "/latin", "/moved", "/missing", "/soft",
        "/empty",
    ];
    let article = |end: &str| {
        let sentences =
            (0..60).map(|nth| format!("Of field {nth} the gleaners took what was left."));
        let sentences: Vec<String> = sentences.collect();
        format!(
            "<!doctype html><title>t</title><main><p>{} {end}</p></main>",
            sentences.join(" ")
        )
    };
    let latin = page("caf\u{e9}", &[]);
    let latin = latin.chars().map(|it| u32::from(it) as u8).collect();
    let latin = Answer::with_type(200, "text/html; charset=iso-8859-1", latin);
    let web = Web::start(vec![
        Site::new()
            .robots("User-agent: *\n")
            .page("/", Answer::html(page("home", &links)))
            .page("/a", Answer::html(article("In the evening.")))
            .page("/copy", Answer::html(article("In the evening.")))
            .page("/packed", Answer::gzip(article("In the evening.")))
            .page("/near", Answer::html(article("In the morning.")))
            .page(
                "/odd",
                Answer::html(page("odd", &[])).content_type("application/xhtml+xml"),
            )
            .page("/latin", latin)
            .page("/moved", Answer::redirect(301, "/a"))
            // An error page, and its bytes as a page.
            .page(
                "/missing",
                Answer::with_type(404, "text/html", page("no", &[]).into()),
            )
            .page("/soft", Answer::html(page("no", &[])))
            .page("/empty", Answer::status(204)),
    ]);
    let crawl = Place::new();
    // Pages of one host may overtake one another: what others repeat comes first.
    crawl.crawl(&[&web.url(0, "/a")]);
    crawl.crawl(&[&web.url(0, "/")]);
    let told = crawl.told(&["--unique"]);
    let duplicates = crawl
        .told(&[])
        .into_iter()
        .filter(|page| page["original"].is_string());
    assert!(duplicates.count() >= 3, "{told:#?}");
    let text = |line: &Value, name: &str| line[name].as_str().expect("a text").to_owned();
    let sorted = |lines: &[Value], field: &str| {
        let mut sorted: Vec<(String, String)> = lines
            .iter()
            .map(|it| (text(it, "url"), text(it, field)))
            .collect();
        sorted.sort();
        sorted
    };
    let expected = sorted(&told, "text");
    let expected_urls: Vec<&String> = expected.iter().map(|(url, _)| url).collect();
    let unpacked = |kind: &str, directory: &str| {
        read_by("read_documents.py", &[kind, directory])
            .expect(0)
            .json_lines()
    };

    let archive = crawl.data().join("warc");
    let found = sorted(
        &unpacked("warc", archive.to_str().expect("it is ASCII")),
        "id",
    );
    let urls: Vec<&String> = found.iter().map(|(url, _)| url).collect();
    assert_eq!(urls, expected_urls);

    for (kind, name) in [("parquet", "train.parquet"), ("jsonl", "train.jsonl.zst")] {
        let directory = crawl.data().with_file_name(kind);
        fs::create_dir(&directory).expect("it is not there");
        let path = directory.join(name);
        let path = path.to_str().expect("it is ASCII");
        let arguments = ["export", "--format", kind, "-o", path, "--unique"];
        crawl.ask(&arguments).expect(0);
        let lines = unpacked(kind, directory.to_str().expect("it is ASCII"));
        assert_eq!(sorted(&lines, "text"), expected, "{kind}");
        // Its documents are the archive's.
        assert_eq!(sorted(&lines, "id"), found, "{kind}");
    }
}
