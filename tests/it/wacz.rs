//! `gleaner export --format wacz`: packages that hold the archive as it is, an index that leads to
//! every capture, and lists of pages.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use rustix::process::Signal;
use serde_json::Value;
use sha2::{Digest as _, Sha256};
use zip::{CompressionMethod, ZipArchive};

use crate::export::export;
use crate::run::{Output, PATIENCE, Place, gleaner, linking, numbered, page, prepared, run, text};
use crate::web::{Answer, Web};

/// The entries of a package, by their paths.
type Entries = BTreeMap<String, Vec<u8>>;

/// Reads a package, and checks what must hold for each.
#[track_caller]
fn unpacked(path: &Path) -> Entries {
    let mut zip = ZipArchive::new(File::open(path).expect("it is written")).expect("it is ZIP");
    let mut entries = Entries::new();
    for at in 0..zip.len() {
        let mut entry = zip.by_index(at).expect("it is there");
        let name = entry.name().expect("it is text").into_owned();
        let is_read_in_pieces = name.starts_with("archive/") || name.starts_with("indexes/");
        let is_stored = entry.compression() == CompressionMethod::Stored;
        assert!(is_stored || !is_read_in_pieces, "{name} is compressed");
        let mut bytes = Vec::new();
        entry.read_to_end(&mut bytes).expect("it is whole");
        assert!(
            entries.insert(name.clone(), bytes).is_none(),
            "{name} twice"
        );
    }
    let description = &entries["datapackage.json"];
    let digest = json(&entries["datapackage-digest.json"]);
    assert_eq!(digest["hash"], sha256(description));
    let description = json(description);
    assert_eq!(description["wacz_version"], "1.1.1");
    let resources = description["resources"].as_array().expect("a list");
    let described: BTreeSet<&str> = resources.iter().map(|it| text(it, "path")).collect();
    for resource in resources {
        let bytes = &entries[text(resource, "path")];
        assert_eq!(resource["bytes"], bytes.len());
        assert_eq!(resource["hash"], sha256(bytes));
        let name = text(resource, "name");
        assert_eq!(name, name.to_lowercase());
    }
    let packed = entries.keys().map(String::as_str);
    let packed: BTreeSet<&str> = packed.filter(|it| !it.starts_with("datapackage")).collect();
    assert_eq!(packed, described);
    entries
}

fn json(bytes: &[u8]) -> Value {
    serde_json::from_slice(bytes).expect("it is JSON")
}

fn sha256(bytes: &[u8]) -> String {
    format!("sha256:{}", hex::encode(Sha256::digest(bytes)))
}

fn unzipped(bytes: &[u8]) -> String {
    let mut text = String::new();
    #[expect(clippy::disallowed_methods, reason = "written a moment ago")]
    let mut decoder = flate2::bufread::MultiGzDecoder::new(bytes);
    decoder.read_to_string(&mut text).expect("it is gzip");
    text
}

/// The lines of the index, each read where the second index says that its block is.
fn index(entries: &Entries) -> Vec<String> {
    let blocks = &entries["indexes/index.cdx.gz"];
    let second = String::from_utf8(entries["indexes/index.idx"].clone()).expect("it is text");
    let mut second = second.lines();
    let head = second.next().expect("there is one");
    let head = head.strip_prefix("!meta 0 ").expect("it is marked");
    assert_eq!(json(head.as_bytes())["format"], "cdxj-gzip-1.0");
    let mut found = Vec::new();
    for line in second {
        let (first, place) = line.split_once(" {").expect("JSON is behind it");
        let place = json(format!("{{{place}").as_bytes());
        let number = |name: &str| place[name].as_u64().expect("a number") as usize;
        let block = &blocks[number("offset")..][..number("length")];
        assert_eq!(place["digest"], sha256(block));
        let lines = unzipped(block);
        assert!(lines.starts_with(&format!("{first} {{")), "{line}");
        found.extend(lines.lines().map(str::to_owned));
    }
    assert!(found.is_sorted());
    found
}

/// The pages of a list, without its head.
fn pages(entries: &Entries, list: &str) -> Vec<Value> {
    let Some(bytes) = entries.get(&format!("pages/{list}.jsonl")) else {
        return Vec::new();
    };
    let mut lines = bytes
        .split(|byte| *byte == b'\n')
        .filter(|it| !it.is_empty());
    let head = json(lines.next().expect("a head"));
    assert_eq!(head["format"], "json-pages-1.0");
    lines.map(json).collect()
}

fn urls(pages: &[Value]) -> Vec<&str> {
    pages.iter().map(|page| text(page, "url")).collect()
}

/// The WARC files of a crawl that are closed.
fn closed(place: &Place) -> Vec<PathBuf> {
    let entries = fs::read_dir(place.data().join("warc")).expect("it is there");
    let paths = entries.map(|it| it.expect("it stays").path());
    let mut paths: Vec<PathBuf> = paths
        .filter(|path| path.to_string_lossy().ends_with(".warc.gz"))
        .collect();
    paths.sort();
    paths
}

fn name(path: &Path) -> String {
    let name = path.file_name().expect("it has one");
    name.to_str().expect("it is ASCII").to_owned()
}

fn wacz(places: &[&Place], name: &str, arguments: &[&str]) -> (Output, PathBuf) {
    export(places, name, &[&["--format", "wacz"], arguments].concat())
}

fn manifest(path: &Path) -> (String, Value) {
    let path = path.with_added_extension("manifest.json");
    let said = json(&fs::read(&path).expect("it is written"));
    (path.to_str().expect("it is ASCII").to_owned(), said)
}

#[test]
fn a_package_holds_the_archive_its_index_and_its_pages() {
    let body = page("a", &[]);
    let web = Web::start(vec![
        linking(&["/a", "/copy", "/moved", "/gone"])
            .page("/a", Answer::html(body.clone()))
            .page("/copy", Answer::html(body))
            .page("/moved", Answer::redirect(301, "/target"))
            .page("/gone", Answer::status(404))
            .page("/seed", Answer::redirect(302, "/")),
    ]);
    let crawl = Place::new();
    crawl.crawl(&[&web.url(0, "/seed")]);
    let (output, path) = wacz(&[&crawl], "crawl.wacz", &["--title", "A crawl"]);
    output.expect(0).says(&["4 pages in 1 file"]);
    let entries = unpacked(&path);
    let files = closed(&crawl);
    assert_eq!(files.len(), 1);
    let packed = format!("archive/{}", name(&files[0]));
    assert_eq!(entries[&packed], fs::read(&files[0]).expect("it stays"));
    let beside = files[0].with_added_extension("cdxj");
    let beside = fs::read_to_string(beside).expect("it is closed");
    assert_eq!(index(&entries).join("\n") + "\n", beside);
    // The seed is where it led to.
    let seeds = pages(&entries, "pages");
    assert_eq!(urls(&seeds), [web.url(0, "/")]);
    assert_eq!(
        (&seeds[0]["seed"], &seeds[0]["title"]),
        (&true.into(), &"home".into())
    );
    let others = pages(&entries, "extraPages");
    let found: BTreeSet<&str> = urls(&others).into_iter().collect();
    let expected = ["/a", "/copy", "/target"].map(|path| web.url(0, path));
    assert_eq!(found, expected.iter().map(String::as_str).collect());
    let told = crawl.pages();
    for page in seeds.iter().chain(&others) {
        assert_eq!(page["ts"], told[text(page, "url")].time);
        assert_eq!(page["text"], Value::Null);
    }
    let description = json(&entries["datapackage.json"]);
    assert_eq!(description["title"], "A crawl");
    assert_eq!(description["mainPageUrl"], web.url(0, "/"));
    let (_, said) = manifest(&path);
    let whole = fs::read(&path).expect("it is written");
    assert_eq!(
        format!("sha256:{}", text(&said["files"][0], "sha256")),
        sha256(&whole)
    );
    assert_eq!(said["files"][0]["bytes"], whole.len());
    // Texts are in the lists if they are asked for.
    let (output, path) = wacz(&[&crawl], "texts.wacz", &["--text"]);
    output.expect(0);
    let with_texts = pages(&unpacked(&path), "extraPages");
    let texts: BTreeMap<&str, &Value> = with_texts
        .iter()
        .map(|it| (text(it, "url"), &it["text"]))
        .collect();
    for told in crawl.told(&[]) {
        if let Some(found) = texts.get(text(&told, "url")) {
            assert_eq!(*found, &told["text"]);
        }
    }
    assert!(texts.values().all(|it| it.is_string()), "{texts:?}");
}

#[test]
fn files_of_one_name_are_two_entries_and_their_captures_are_found() {
    let web = Web::start(vec![linking(&numbered(300))]);
    let [one, other] = [Place::new(), Place::new()];
    one.crawl(&[&web.url(0, "/")]);
    let mut copy = Command::new("cp");
    copy.arg("-r").arg(one.data()).arg(other.data());
    run(prepared(copy)).expect(0);
    // Without the index beside it, too.
    let file = &closed(&other)[0];
    fs::remove_file(file.with_added_extension("cdxj")).expect("it is there");
    let (output, path) = wacz(&[&one, &other], "both.wacz", &[]);
    output.expect(0);
    let entries = unpacked(&path);
    let lines = index(&entries);
    assert!(lines.len() > 600);
    let mut counts = BTreeMap::<String, usize>::new();
    for line in &lines {
        let (_, fields) = line.split_once(" {").expect("JSON is behind it");
        let fields = json(format!("{{{fields}").as_bytes());
        let number = |name: &str| text(&fields, name).parse::<usize>().expect("a number");
        let file = text(&fields, "filename").to_owned();
        let bytes = &entries[&format!("archive/{file}")];
        let record = unzipped(&bytes[number("offset")..][..number("length")]);
        let target = format!("WARC-Target-URI: {}\r\n", text(&fields, "url"));
        assert!(record.contains(&target), "{line}");
        *counts.entry(file).or_default() += 1;
    }
    let name = name(file);
    let expected = [name.clone(), format!("2-{name}")].map(|name| (name, lines.len() / 2));
    assert_eq!(counts, expected.into_iter().collect());
    let found: usize = ["pages", "extraPages"]
        .map(|it| pages(&entries, it).len())
        .iter()
        .sum();
    assert_eq!(found, 2 * 301);
    let (output, _) = wacz(&[&one, &one], "no.wacz", &[]);
    output.expect(2).says(&["twice"]);
}

#[test]
fn beside_a_crawl_closed_files_are_packed_and_the_next_package_goes_on() {
    let web = Web::start(vec![linking(&numbered(20))]);
    let crawl = Place::new();
    crawl.crawl(&[&web.url(0, "/"), "--max-pages", "4"]);
    web.clear_log();
    web.hold_after(3);
    let running = crawl.start(&[]);
    assert!(web.wait_for_requests(4, PATIENCE));
    let mut follower = crawl.follow(&[]);
    let so_far: Vec<String> = follower.by_ref().take(4 + 2).collect();
    let (output, first) = wacz(&[&crawl], "first.wacz", &[]);
    output
        .expect(0)
        .says(&["1 file of the archive not closed yet"]);
    let entries = unpacked(&first);
    let listed = |entries: &Entries| -> Vec<String> {
        let lists = ["pages", "extraPages"].map(|list| pages(entries, list));
        let urls = lists.iter().flat_map(|list| urls(list));
        urls.map(str::to_owned).collect()
    };
    assert_eq!(listed(&entries), so_far[..4]);
    let (after, _) = manifest(&first);
    let (output, path) = wacz(&[&crawl], "no.wacz", &["--after", &after]);
    output.expect(2).says(&["no file of the archive is closed"]);
    assert!(!path.exists());
    running.signal(Signal::TERM);
    web.release();
    running.end().expect(0);
    follower.running.end().expect(0);
    let (output, second) = wacz(&[&crawl], "second.wacz", &["--after", &after]);
    output.expect(0);
    let found: Vec<String> = [listed(&entries), listed(&unpacked(&second))].concat();
    let all: BTreeSet<String> = found.iter().cloned().collect();
    assert_eq!(all.len(), found.len(), "nothing is there twice");
    assert!(all.iter().eq(crawl.pages().keys()));
    let (_, said) = manifest(&second);
    let files = said["crawls"][0]["archive_files"].as_array();
    assert_eq!(files.map(Vec::len), Some(2), "{said}");
}

#[test]
fn packages_of_a_size_are_listed_in_one_file() {
    let web = Web::start(vec![linking(&numbered(6))]);
    let crawl = Place::new();
    crawl.crawl(&[&web.url(0, "/"), "--max-pages", "2"]);
    crawl.crawl(&["--max-pages", "2"]);
    crawl.crawl(&[]);
    let (output, path) = wacz(
        &[&crawl],
        "all.wacz",
        &["--max-size", "1B", "--title", "All"],
    );
    output.expect(0);
    let list = json(&fs::read(path.with_extension("json")).expect("it is written"));
    assert_eq!(list["profile"], "multi-wacz-package");
    let resources = list["resources"].as_array().expect("a list");
    assert_eq!(resources.len(), 3);
    let mut found = 0;
    for (number, resource) in resources.iter().enumerate() {
        let file = path.with_file_name(text(resource, "path"));
        assert_eq!(name(&file), format!("all-{number:05}.wacz"));
        assert_eq!(
            resource["hash"],
            sha256(&fs::read(&file).expect("it is written"))
        );
        let entries = unpacked(&file);
        found += pages(&entries, "pages").len() + pages(&entries, "extraPages").len();
    }
    assert_eq!(found, crawl.pages().len());
}

#[test]
fn what_cannot_be_packed_leaves_nothing_behind() {
    let web = Web::start(vec![linking(&["/a"])]);
    let crawl = Place::new();
    crawl.crawl(&[&web.url(0, "/")]);
    let refused = |name: &str, arguments: &[&str], reason: &str| {
        let (output, path) = wacz(&[&crawl], name, arguments);
        output.expect(2).says(&[reason]);
        let beside = fs::read_dir(path.parent().expect("it has one")).expect("it is there");
        let found = beside.map(|it| it.expect("it stays").file_name());
        let found: Vec<_> = found
            .filter(|it| it != "data" && it != "other.json")
            .collect();
        assert_eq!(found.len(), 0, "{found:?}");
    };
    refused("a.zip", &[], "does not end in .wacz");
    refused("a.wacz", &["--unique"], "omit --unique");
    refused("a.wacz", &["--after", "0:1"], "packs files, not lines");
    let other = crawl.file(
        "other.json",
        r#"{"format": "jsonl", "software": "x", "crawls": [], "files": []}"#,
    );
    refused("a.wacz", &["--after", &other], "an export to jsonl");
    // A line of an index that is none.
    let index = closed(&crawl)[0].with_added_extension("cdxj");
    fs::write(&index, "no line\n").expect("it is ours");
    refused("a.wacz", &[], "line 1 is no line of a CDXJ index");
    let mut command = gleaner(&["export", "--format", "jsonl", "--title", "x", "-o", "x"]);
    command.arg("--data-dir").arg(crawl.data());
    run(command).expect(2).says(&["are for --format wacz"]);
}

/// What a package's revisits refer to is in it, or the package says where: a player shows such a
/// page only if it has both.
#[test]
fn a_package_names_what_its_revisits_refer_to() {
    let web = Web::start(vec![
        linking(&["/a", "/new"])
            .page("/a", Answer::html(page("a", &["/copy"])))
            .page("/copy", Answer::html(page("a", &["/copy"])))
            .page("/new", Answer::html(page("new", &[]))),
    ]);
    let [first, second] = [(); 2].map(|()| Place::new());
    first.crawl(&[&web.url(0, "/"), "--exclude", "*/new"]);
    let earlier = first.data();
    let earlier = earlier.to_str().expect("it is ASCII");
    let since = [&*web.url(0, "/"), "--since", earlier, "--max-pages", "2"];
    second.crawl(&since);
    second.crawl(&[]);
    let crawl_of = |place: &Place| {
        let name = name(&closed(place)[0]);
        let mut parts = name.rsplit('-');
        let (id, start) = (parts.nth(1), parts.next());
        format!("{}-{}", start.expect("a time"), id.expect("an id"))
    };
    let required = |path: &Path| {
        let description = json(&unpacked(path)["datapackage.json"]);
        description["relation"]["requires"].clone()
    };
    let (output, path) = wacz(&[&first], "first.wacz", &[]);
    let said = output.expect(0);
    assert!(!said.stderr.contains("refer"), "{said:?}");
    assert_eq!(required(&path), Value::Null);
    let (output, path) = wacz(&[&second], "second.wacz", &[]);
    let id = crawl_of(&first);
    let unchanged = second.status().counters.revisits["unchanged-since"];
    assert_eq!(unchanged, 3);
    output
        .expect(0)
        .says(&["3 revisits refer to records that are not packed here", &id]);
    assert_eq!(required(&path), serde_json::json!([id]));
    let (output, path) = wacz(&[&first, &second], "both.wacz", &[]);
    let said = output.expect(0);
    assert!(!said.stderr.contains("refer"), "{said:?}");
    assert_eq!(required(&path), Value::Null);

    // In several, each names the package that has it, and of those in one list nothing is said.
    let (output, path) = wacz(&[&first, &second], "apart.wacz", &["--max-size", "1B"]);
    let said = output.expect(0);
    assert!(!said.stderr.contains("refer"), "{said:?}");
    let parts = ["apart-00000.wacz", "apart-00001.wacz", "apart-00002.wacz"];
    let needed = parts.map(|part| required(&path.with_file_name(part)));
    assert_eq!(needed[0], Value::Null);
    assert_eq!(needed[1], serde_json::json!(["apart-00000.wacz"]));
    assert_eq!(needed[2], serde_json::json!(["apart-00000.wacz"]));

    // What is lost is counted.
    for file in closed(&first) {
        fs::remove_file(file.with_added_extension("cdxj")).expect("it is there");
        fs::remove_file(file).expect("it is there");
    }
    let (output, path) = wacz(&[&second], "alone.wacz", &[]);
    output
        .expect(0)
        .says(&["3 revisits refer to records that no archive at hand has"]);
    assert_eq!(required(&path), Value::Null);
}
