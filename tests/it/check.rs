//! `gleaner check`: what is sound is said to be sound, any damage is noticed, and nothing is
//! changed.

use std::collections::BTreeMap;
use std::fs;
use std::io::{Read as _, Seek as _, Write as _};
use std::path::{Path, PathBuf};

use rustix::fs::{SeekFrom, seek};
use rustix::io::Errno;

use crate::corpus;
use crate::run::{Output, Place, anchors, gleaner, numbered, run};
use crate::web::{Answer, Site, Web};

/// Two hosts: the pages of the second are duplicates of the first one's, half of them near.
fn web() -> Web {
    let site = |host: usize| {
        let home = format!("<title>Home of {host}</title>") + &anchors(numbered(12));
        Site::new()
            .robots("")
            .page("/", Answer::html(home))
            .otherwise(move |request| {
                let number: u64 = request.path.trim_start_matches('/').parse().unwrap_or(0);
                let text = corpus::text(number, 200);
                let more = ["", " By another hand."][usize::from(host == 1 && number % 2 == 1)];
                let form = ["", " class=x"][host];
                let body =
                    format!("<title>{number}</title><h1>{number}</h1><p{form}>{text}{more}</p>");
                Answer::html(body)
            })
    };
    Web::start(vec![site(0), site(1)])
}

/// What is in a file: its length, and its bytes without what was never written behind them. A
/// journal is 64 MiB long from the beginning.
#[derive(PartialEq)]
struct Contents {
    length: u64,
    bytes: Vec<u8>,
}

impl Contents {
    fn of(path: &Path) -> Self {
        let mut file = fs::File::open(path).expect("the file is opened");
        let length = file.metadata().expect("the file is there").len();
        let mut end = 0;
        while end < length {
            match seek(&file, SeekFrom::Data(end)) {
                Ok(data) => end = seek(&file, SeekFrom::Hole(data)).unwrap_or(length),
                Err(Errno::NXIO) => break,
                // Not all file systems say.
                Err(_) => end = length,
            }
        }
        file.rewind().expect("it is a file");
        let mut bytes = Vec::new();
        let read = file.take(end).read_to_end(&mut bytes);
        read.expect("the file is read");
        Self { length, bytes }
    }

    fn write(&self, path: &Path) {
        let mut file = fs::File::create(path).expect("the file is created");
        file.write_all(&self.bytes).expect("the file is written");
        file.set_len(self.length).expect("it has its length");
    }
}

/// All files of a folder with their contents.
fn contents(folder: &Path) -> BTreeMap<PathBuf, Contents> {
    let mut found = BTreeMap::new();
    for entry in fs::read_dir(folder).expect("the folder is read") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            found.extend(contents(&path));
        } else if path.is_file() {
            let contents = Contents::of(&path);
            found.insert(path, contents);
        }
    }
    found
}

/// Checks a crawl; nothing in it may change.
fn checked(crawl: &Place, scratch: &Path) -> Output {
    let data = crawl.data();
    let before = contents(&data);
    let mut command = gleaner(&["check", "--json"]);
    command
        .arg("--data-dir")
        .arg(&data)
        .arg("--scratch")
        .arg(scratch);
    let output = run(command);
    assert!(contents(&data) == before, "the directory was changed");
    let left = fs::read_dir(scratch).expect("the folder is read").count();
    assert_eq!(left, 0, "the copy is left");
    output
}

#[test]
fn what_is_sound_is_said_to_be_sound() {
    let web = web();
    let crawl = Place::new();
    let scratch = tempfile::tempdir().expect("a folder");
    let (one, two) = (web.url(0, "/"), web.url(1, "/"));
    // As each of these kills leaves it, and at the end.
    for failpoint in ["appended:3", "synced:4", "committed:6", "applied:5"] {
        let killed = run(crawl.command(&[&one, &two, "--failpoint", failpoint]));
        if killed.code != 2 {
            checked(&crawl, scratch.path()).expect(0);
        }
    }
    crawl.crawl(&[&one, &two]);
    let told = checked(&crawl, scratch.path()).expect(0).json();
    assert_eq!(told["is_sound"], true, "{told:#}");
    let read = |part: &str| {
        let parts = told["parts"].as_array().expect("a list");
        let part = parts
            .iter()
            .find(|it| it["part"] == part)
            .expect("the part");
        part["read"].as_u64().expect("a number")
    };
    for part in [
        "store",
        "runs",
        "documents",
        "warc",
        "texts",
        "bodies of duplicates",
        "log",
    ] {
        assert!(read(part) > 0, "{part}: {told:#}");
    }
    assert!(read("log") >= 2 * 14, "a line for each visit");
    let words = crawl.ask(&["check"]).expect(0);
    assert!(words.stdout.contains("sound"), "{words:?}");
}

#[test]
fn what_a_kill_leaves_between_two_steps_is_sound() {
    let web = web();
    let crawl = Place::new();
    let scratch = tempfile::tempdir().expect("a folder");
    crawl.crawl(&[&web.url(0, "/")]);
    let data = crawl.data();
    // A file of the log was renamed, and no commit knows it yet.
    let (current, full) = ("log/fetch.jsonl", "log/fetch-000001.jsonl");
    fs::rename(data.join(current), data.join(full)).expect("it is renamed");
    fs::write(data.join(current), "").expect("it is written");
    checked(&crawl, scratch.path()).expect(0);
    // The first start had not made its first commit.
    for entry in fs::read_dir(&data).expect("it is read") {
        let path = entry.expect("an entry").path();
        match path.is_dir() {
            true => fs::remove_dir_all(path).expect("it is removed"),
            false if path.ends_with("version") => {}
            false => fs::remove_file(path).expect("it is removed"),
        }
    }
    fs::create_dir(data.join("store")).expect("it is created");
    fs::write(data.join("lock"), "").expect("it is written");
    let told = checked(&crawl, scratch.path()).expect(0).json();
    assert_eq!(told["is_sound"], true, "{told:#}");
    assert!(told.to_string().contains("no crawl was begun"), "{told:#}");
}

/// Bytes of the head of a gzip member without optional parts (RFC 1952, section 2.3).
const GZIP_HEAD: usize = 10;

/// A place in a file that holds something: the middle of what is not reserved.
fn middle(bytes: &[u8]) -> usize {
    let end = bytes
        .iter()
        .rposition(|byte| *byte != 0)
        .expect("it is not empty");
    let url = b"http://";
    let urls = bytes
        .windows(url.len())
        .enumerate()
        .filter(|(_, it)| it == url);
    let urls: Vec<usize> = urls.map(|(at, _)| at).collect();
    let at = urls.get(urls.len() / 2).map_or(end / 2, |at| at + 2);
    // The head of a gzip member says when it was made and on what, which nobody reads.
    let heads = bytes[..at].windows(3).rposition(|it| it == [0x1f, 0x8b, 8]);
    let is_in_head = |head: &usize| bytes.starts_with(&[0x1f, 0x8b]) && at - head < GZIP_HEAD;
    heads.filter(is_in_head).map_or(at, |head| head + GZIP_HEAD)
}

#[test]
fn any_damage_is_noticed() {
    let web = web();
    let crawl = Place::new();
    let scratch = tempfile::tempdir().expect("a folder");
    let settings = "[archive]\nmax_file = \"8KB\"\nmax_log = \"4KB\"\n";
    crawl.crawl_by(settings, &[&web.url(0, "/"), &web.url(1, "/")]);
    checked(&crawl, scratch.path()).expect(0);
    let data = crawl.data();
    let mut kinds = BTreeMap::new();
    for (path, whole) in contents(&data) {
        let bytes = &whole.bytes;
        let name = path
            .strip_prefix(&data)
            .expect("it is within")
            .display()
            .to_string();
        let kind = name.split('/').next().expect("a name").to_owned();
        let is_read = matches!(
            kind.as_str(),
            "warc" | "texts" | "log" | "runs" | "documents" | "documents.witness"
        ) || path.extension().is_some_and(|it| it == "jnl");
        let is_whole = ["log/acknowledged", "documents/conf", "documents/blobs"];
        if !is_read
            || bytes.is_empty()
            || is_whole.contains(&name.as_str())
            || name.contains("snap.")
            // Figures for curves and events: nothing is decided by them; what is no line is passed
            // over or set aside.
            || matches!(name.as_str(), "log/history.jsonl" | "log/events.jsonl")
        {
            continue;
        }
        *kinds.entry(kind).or_insert(0) += 1;
        let mut flipped = bytes.clone();
        flipped[middle(bytes)] ^= 1;
        let cut = bytes[..middle(bytes)].to_vec();
        let of = |length, bytes| Contents { length, bytes };
        for (how, damaged) in [
            ("flipped", of(whole.length, flipped)),
            ("cut", of(cut.len() as u64, cut)),
        ] {
            // A flip in a letter of a URL of the log gives another URL.
            if how == "flipped" && name.starts_with("log/") {
                continue;
            }
            damaged.write(&path);
            let told = checked(&crawl, scratch.path());
            assert_eq!(told.code, 7, "{name} {how}: {}", told.stdout);
        }
        whole.write(&path);
    }
    assert_eq!(kinds.len(), 7, "{kinds:?}");
    // Files that were moved away are no damage, but for the last of the archive.
    fs::remove_file(crawl.warc()).expect("it is moved away");
    let told = checked(&crawl, scratch.path()).expect(0);
    assert!(told.stdout.contains("was it moved away?"), "{told:?}");
}

#[test]
fn a_crawl_that_runs_is_left_alone() {
    let crawl = Place::new();
    let scratch = tempfile::tempdir().expect("a folder");
    checked_missing(&crawl, scratch.path());
    let web = web();
    crawl.crawl(&[&web.url(0, "/")]);
    let lock = fs::File::open(crawl.data().join("lock")).expect("the lock is there");
    lock.lock().expect("nobody has it");
    checked(&crawl, scratch.path()).expect(8).says(&["in use"]);
}

/// It writes nothing, not even who it is, so its part is played by a lock.
#[test]
fn a_crawl_that_starts_meanwhile_waits() {
    let crawl = Place::new();
    let web = web();
    let seed = web.url(0, "/");
    crawl.crawl(&[&seed, "--max-pages", "2"]);
    let lock = fs::File::open(crawl.data().join("lock")).expect("the lock is there");
    lock.lock_shared().expect("nobody has it alone");
    let scratch = tempfile::tempdir().expect("a folder");
    checked(&crawl, scratch.path()).expect(0);
    let says = ["in use", "which only reads it", "wait until"];
    for question in [&["why", &seed][..], &["retry", "--class", "dns"]] {
        crawl.ask(question).expect(8).says(&says);
    }
    assert!(!crawl.status().running);
    let starts = crawl.start(&[&seed]);
    starts.wait_for_line("the crawl starts when that has ended");
    drop(lock);
    starts.end().expect(0);
    assert!(crawl.pages().len() > 2);
}

fn checked_missing(crawl: &Place, scratch: &Path) {
    let mut command = gleaner(&["check"]);
    command
        .arg("--data-dir")
        .arg(crawl.data())
        .arg("--scratch")
        .arg(scratch);
    run(command).expect(3).says(&["no crawl"]);
}
