//! `gleaner warc`, on the files of a crawl and on forms in which others write the same.

use std::fs;
use std::path::{Path, PathBuf};

use crate::dedup_kept::run_on;
use crate::run::{Output, Place, gleaner, linking, page, run};
use crate::web::{Answer, Web};

fn warc(arguments: &[&str], files: &[&Path]) -> Output {
    let mut command = gleaner(&[&["warc"], arguments].concat());
    command.args(files);
    run(command)
}

/// A page that leads to its copy, which so comes behind it.
fn packed() -> String {
    page("packed", &["/copy"])
}

fn crawled() -> (Web, Place) {
    let web = Web::start(vec![
        linking(&["/packed", "/moved", "/gone"])
            .page("/packed", Answer::gzip(packed()))
            .page("/copy", Answer::gzip(packed()))
            .page("/moved", Answer::redirect(301, "/packed")),
    ]);
    let crawl = Place::new();
    crawl.crawl(&[&web.url(0, "/")]);
    (web, crawl)
}

/// The file of a crawl, as a file that is not compressed.
fn plain(crawl: &Place) -> (PathBuf, Vec<u8>) {
    let records = gleaner::archive::records(crawl.warc()).expect("it is there");
    let bytes = records.flat_map(|it| it.expect("it is whole").to_bytes());
    let bytes: Vec<u8> = bytes.collect();
    let path = PathBuf::from(crawl.file("plain.warc", ""));
    fs::write(&path, &bytes).expect("it is ours");
    (path, bytes)
}

#[test]
fn what_a_crawl_writes_is_sound_and_found() {
    let (web, crawl) = crawled();
    let file = crawl.warc();
    let sound = warc(&["verify"], &[&file]).expect(0);
    let said = sound.stderr.clone();
    sound.says(&[" 0 faults"]);
    // A directory is its files.
    let directory = file.parent().expect("it is in warc/");
    let of_directory = warc(&["verify"], &[directory]).expect(0);
    assert_eq!(of_directory.stderr, said);
    let listed = warc(&["ls", "--json"], &[&file]).expect(0).json_lines();
    assert_eq!(listed.len(), crawl.records().len());
    let copy = listed.iter().find(|it| it["type"] == "revisit");
    let copy = copy.expect("the copy is listed");
    assert_eq!(copy["status"], 200);
    let url = web.url(0, "/packed");
    let got = warc(&["get", "--url", &url, "--decoded"], &[&file]).expect(0);
    assert_eq!(got.stdout, packed());
    let offset = copy["offset"].to_string();
    let got = warc(&["get", "--offset", &offset], &[&file]).expect(0);
    assert!(
        got.stdout.starts_with("WARC/1.1\r\nWARC-Type: revisit"),
        "{}",
        got.stdout
    );
    let refused = warc(&["get", "--offset", &offset, "--payload"], &[&file]).expect(2);
    refused.says(&["is a revisit"]);
    warc(&["get", "--url", "http://h.test/"], &[&file])
        .expect(1)
        .says(&["no such record"]);
    warc(&["get"], &[&file])
        .expect(2)
        .says(&["--url", "--offset"]);
}

#[test]
fn captures_are_indexed_and_indexes_merged() {
    let (web, crawl) = crawled();
    let file = crawl.warc();
    let own = fs::read_to_string(file.with_added_extension("cdxj")).expect("it is closed");
    let (first, rest) = own.split_once('\n').expect("there are several lines");
    assert!(
        first.contains(",0,127:") && rest.contains("warc/revisit"),
        "{own}"
    );
    assert!(
        own.contains(&format!("{{\"url\": \"{}\"", web.url(0, "/moved"))),
        "{own}"
    );
    // Merged with parts of itself and a file in another form, each line is there once.
    let (plain, _) = plain(&crawl);
    let part = PathBuf::from(crawl.file("part.cdxj", &format!("!meta 0 {{}}\n{rest}")));
    let merged = warc(&["index"], &[&part, &file, &plain]).expect(0);
    let lines: Vec<&str> = merged.stdout.lines().collect();
    assert_eq!(lines.len(), 2 * own.lines().count());
    assert!(lines.is_sorted(), "{lines:#?}");
    let of_file = lines.iter().filter(|line| !line.contains("plain.warc"));
    assert!(of_file.copied().eq(own.lines()), "{lines:#?}");
    // Beside a file, and in a file.
    warc(&["index", "--beside"], &[&plain]).expect(0);
    let beside = fs::read_to_string(plain.with_added_extension("cdxj")).expect("it is written");
    assert_eq!(beside.lines().count(), own.lines().count());
    let output = crawl.file("all.cdxj", "");
    warc(&["index", "-o", &output], &[&part, &file, &plain]).expect(0);
    assert_eq!(
        fs::read_to_string(&output).expect("it is written"),
        merged.stdout
    );
    let none = PathBuf::from(crawl.file("none.cdxj", "a line\n"));
    warc(&["index", "-o", &output], &[&none])
        .expect(2)
        .says(&["none.cdxj, line 1", "no line of a CDXJ index"]);
    assert_eq!(
        fs::read_to_string(&output).expect("it stays"),
        merged.stdout
    );
}

/// A damaged record costs that record, here and wherever files of others are read.
#[test]
fn damage_costs_one_record_and_is_told() {
    let (web, crawl) = crawled();
    let (path, mut bytes) = plain(&crawl);
    let all = warc(&["ls"], &[&path]).expect(0).stdout.lines().count();
    let whole = run_on(&[], &[&path]).expect(0).stdout;
    assert_eq!(whole, run_on(&[], &[&crawl.warc()]).expect(0).stdout);
    // The record of the seed has another length.
    let url = web.url(0, "/");
    let wanted = "WARC-Type: response\r\n";
    let at = bytes
        .windows(wanted.len())
        .position(|it| it == wanted.as_bytes());
    let at = at.expect("there is a response") - "WARC/1.1\r\n".len();
    bytes[at] = b'V';
    fs::write(&path, &bytes).expect("it is ours");
    let verified = warc(&["verify"], &[&path]).expect(1);
    assert!(
        verified.stdout.contains("no WARC record at byte"),
        "{}",
        verified.stdout
    );
    let listed = warc(&["ls"], &[&path])
        .expect(0)
        .says(&["1 place could not be read"]);
    assert_eq!(listed.stdout.lines().count(), all - 1);
    // It was robots.txt, which is text as any other.
    let verdicts = run_on(&[], &[&path]).expect(0).says(&["left out", "byte"]);
    assert!(verdicts.stdout.lines().eq(whole.lines().skip(1)));
    let second = Place::new();
    let known = path.to_str().expect("it is ASCII");
    run(second.command(&[&url, "--known", known]))
        .expect(0)
        .says(&["cannot be read"]);

    let repaired = path.with_file_name("repaired.warc.gz");
    let output = repaired.to_str().expect("it is ASCII");
    warc(&["repair", "-o", output], &[&path])
        .expect(0)
        .says(&["1 places"]);
    // The request that went with it has no answer now.
    let verified = warc(&["verify"], &[&repaired]).expect(1);
    assert_eq!(verified.stdout.lines().count(), 1, "{}", verified.stdout);
    let with = crawl.warc();
    let with = with.to_str().expect("it is ASCII");
    warc(&["verify", "--with", with, "--"], &[&repaired]).expect(0);
}
