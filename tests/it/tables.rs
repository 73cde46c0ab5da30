//! `gleaner export` to tables: a row for each page, which says what the lines say, and an index of
//! captures.

use std::fs::File;
use std::path::Path;

use gleaner::archive::{DigestAlgorithm, ReadRecord};
use jiff::Timestamp;
use parquet::file::reader::{FileReader as _, SerializedFileReader};
use parquet::record::Field;
use serde_json::{Map, Value, json};

use crate::crawl::Crawled;
use crate::export::{export, lines};
use crate::run::{Place, kind, linking, page};
use crate::web::{Answer, Web};

/// The rows of a file.
pub(crate) fn rows(path: &Path) -> Vec<Map<String, Value>> {
    let file = File::open(path).expect("it is written");
    let reader = SerializedFileReader::new(file).expect("it is Parquet");
    let rows = reader.get_row_iter(None).expect("it has rows");
    let row = |row: parquet::record::Row| {
        let columns = row.get_column_iter();
        columns
            .map(|(name, field)| (name.clone(), value(field)))
            .collect()
    };
    rows.map(|it| row(it.expect("it is whole"))).collect()
}

fn value(field: &Field) -> Value {
    match field {
        Field::Null => Value::Null,
        Field::Bool(flag) => json!(flag),
        Field::Short(number) => json!(number),
        Field::Int(number) => json!(number),
        Field::Long(number) | Field::TimestampMillis(number) => json!(number),
        Field::Double(number) => json!(number),
        Field::Str(text) => json!(text),
        Field::ListInternal(list) => list.elements().iter().map(value).collect(),
        other => panic!("no column has {other:?}"),
    }
}

/// Where lines of JSON have what a column has.
fn said<'a>(line: &'a Value, column: &str) -> &'a Value {
    match column {
        "id" => &line["warc_record_id"],
        "date" => &line["time"],
        "file_path" => &line["record"]["file"],
        "group_url" => &line["group"]["url"],
        "group_tier" => &line["group"]["tier"],
        "group_similarity" => &line["group"]["similarity"],
        "supersedes_file" => &line["supersedes"]["file"],
        "supersedes_offset" => &line["supersedes"]["offset"],
        "sha256_raw" => &line["digests"]["raw"],
        "sha256_normalized" => &line["digests"]["normalized"],
        "sha256_content" => &line["digests"]["content"],
        "warc_type" => &line["record"]["type"],
        "warc_offset" => &line["record"]["offset"],
        "warc_length" => &line["record"]["length"],
        "token_count" => &Value::Null,
        own => &line[own],
    }
}

fn parquet(place: &Place, name: &str, arguments: &[&str]) -> Vec<Map<String, Value>> {
    let arguments = [&["--format", "parquet"], arguments].concat();
    let (output, path) = export(&[place], name, &arguments);
    output.expect(0);
    rows(&path)
}

#[test]
fn rows_say_what_lines_say() {
    let Crawled { crawl, .. } = Crawled::new(3, 14, 31, "");
    let lines = lines(&[&crawl], "all.jsonl", &[]);
    let all = parquet(&crawl, "all.parquet", &["--dump", "AUTUMN", "--markdown"]);
    assert_eq!(all.len(), lines.len());
    let mut marked = 0;
    for (row, line) in all.iter().zip(&lines) {
        marked += usize::from(row["markdown"].is_string());
        for (column, value) in row {
            let said = said(line, column);
            match (column.as_str(), value.as_f64(), said.as_f64()) {
                ("dump", ..) => assert_eq!(value, "AUTUMN"),
                // Lines have it in fewer digits.
                (_, Some(value), Some(said)) => assert!((value - said).abs() < 1e-6, "{column}"),
                _ => assert_eq!(value, said, "{column}"),
            }
        }
    }
    assert!(marked > 0);
    let unique = parquet(&crawl, "unique.parquet", &["--unique", "--quality"]);
    let told = crawl.told(&["--unique", "--quality"]);
    assert_eq!(unique.len(), told.len());
    let mut measured = 0;
    for (row, told) in unique.iter().zip(&told) {
        assert_eq!(row["dump"], "data");
        for (column, value) in row {
            if let Some(name) = column.strip_prefix("quality_") {
                assert_eq!(value, &told["quality"][name], "{column}");
                measured += 1;
            }
        }
    }
    assert_eq!(measured, 23 * unique.len());
}

/// A row has its text once unless both forms are asked for, and columns that are chosen have what
/// they have among all.
#[test]
fn columns_may_be_chosen() {
    let Crawled { crawl, .. } = Crawled::new(3, 14, 31, "");
    let all = parquet(&crawl, "all.parquet", &["--quality"]);
    assert!(all.iter().all(|row| !row.contains_key("markdown")));
    for (name, columns) in [
        ("plain", "url,text"),
        ("unread", "title,url,language,id,words"),
        ("measured", "quality_words,position"),
    ] {
        let chosen = parquet(&crawl, name, &["--columns", columns]);
        assert_eq!(chosen.len(), all.len());
        let columns: Vec<&str> = columns.split(',').collect();
        for (row, all) in chosen.iter().zip(&all) {
            assert_eq!(row.len(), columns.len());
            for column in &columns {
                assert_eq!(row[*column], all[*column], "{column}");
            }
        }
    }
    let refused = |arguments: &[&str], code, reason| {
        export(&[&crawl], "no", arguments)
            .0
            .expect(code)
            .says(&[reason]);
    };
    let columns = |columns| ["--format", "parquet", "--columns", columns];
    refused(
        &columns("url,body"),
        2,
        "no table has a column \"body\": give some of text, id",
    );
    refused(&columns("url,url"), 2, "asked for twice");
    let both = [&columns("url")[..], &["--quality"]].concat();
    refused(&both, 2, "cannot be used with");
}

#[test]
fn options_of_tables_are_for_tables() {
    let web = Web::start(vec![linking(&["/a"])]);
    let crawl = Place::new();
    crawl.crawl(&[&web.url(0, "/")]);
    let (output, _) = export(&[&crawl], "a.jsonl", &["--format", "jsonl", "--quality"]);
    output
        .expect(2)
        .says(&["--columns, --markdown and --quality are for --format parquet"]);
    let (output, _) = export(&[&crawl], "a", &["--format", "jsonl", "--columns", "url"]);
    output.expect(2).says(&["give --fields"]);
    let (output, _) = export(&[&crawl], "a", &["--format", "parquet", "--fields", "url"]);
    output.expect(2).says(&["give --columns"]);
    let arguments = ["--format", "parquet", "--max-size", "1B"];
    let (output, path) = export(&[&crawl], "train.parquet", &arguments);
    output.expect(0);
    let first = path.with_file_name("train-00000.parquet");
    assert_eq!(rows(&first).len(), 1);
    assert!(!path.exists());
}

#[test]
fn an_index_leads_to_the_record_of_each_capture() {
    let web = Web::start(vec![
        linking(&["/a?b=%C3%A4", "/copy", "/moved", "/gone"])
            .page("/copy", Answer::html(page("/a?b=%C3%A4", &[])))
            .page("/moved", Answer::redirect(301, "/copy"))
            .page("/gone", Answer::status(404)),
    ]);
    let crawl = Place::new();
    crawl.crawl(&[&web.url(0, "/")]);
    let arguments = ["--format", "cc-index", "--dump", "AUTUMN"];
    let (output, path) = export(&[&crawl], "index", &arguments);
    output.expect(0);
    assert!(path.join("manifest.json").is_file());
    let known = crawl.records();
    let pages = crawl.pages();
    let mut found = Vec::new();
    for subset in ["warc", "crawldiagnostics"] {
        let file = format!("crawl=AUTUMN/subset={subset}/part-00000.parquet");
        let rows = rows(&path.join(file));
        let keys: Vec<&str> = rows.iter().map(|row| string(row, "url_surtkey")).collect();
        assert!(keys.is_sorted(), "{keys:?}");
        for row in &rows {
            let url = string(row, "url");
            let line = &pages[url];
            let is_at = |it: &&ReadRecord| row["warc_record_offset"] == it.offset;
            let record = known.iter().find(is_at).expect("it leads to a record");
            assert_eq!(record.header("WARC-Target-URI"), Some(url));
            assert_eq!(row["warc_record_length"], record.length);
            assert_eq!(row["fetch_status"], line.status);
            let time: Timestamp = line.time.parse().expect("it is a time");
            assert_eq!(row["fetch_time"], time.as_millisecond());
            let is_body = kind(record) == "response" && line.status == 200;
            assert_eq!(subset == "warc", is_body, "{url}");
            let (_, payload) = record.http_parts().expect("it is HTTP");
            let digest = DigestAlgorithm::Sha1.digest([payload]);
            match kind(record) {
                "response" => assert_eq!(digest, format!("sha1:{}", string(row, "content_digest"))),
                _ => assert!(row["content_digest"].is_null()),
            }
            let parsed = gleaner::url::parse(url).expect("it was requested");
            assert_eq!(row["url_path"], parsed.path());
            assert_eq!(row["url_query"].as_str(), parsed.query());
            assert_eq!(row["url_port"].as_u64(), parsed.port().map(u64::from));
            if line.status == 301 {
                assert_eq!(row["fetch_redirect"], web.url(0, "/copy"));
            }
            found.push(url.to_owned());
        }
    }
    found.sort();
    assert!(found.iter().eq(pages.keys()), "{found:?}");
    let (output, _) = export(&[&crawl], "index", &arguments);
    output.expect(2).says(&["is there already"]);
    let (output, path) = export(&[&crawl], "no", &["--format", "cc-index", "--dump", "a/b"]);
    output
        .expect(2)
        .says(&["cannot be the name of a partition"]);
    assert!(!path.exists() && !path.with_added_extension("part").exists());
}

fn string<'a>(row: &'a Map<String, Value>, column: &str) -> &'a str {
    row[column].as_str().expect("it is a text")
}
