//! What pyarrow, `DuckDB` and `FastWARC` make of tables and indexes.

use std::collections::BTreeMap;
use std::process::Command;

use serde_json::Value;

use crate::need::python;
use crate::run::{Output, Place, page, prepared, run};
use crate::web::{Answer, Site, Web};

fn read(arguments: &[&str]) -> Output {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/tools/read_tables.py");
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
