//! Data directories of every format that is migrated: what an earlier gleaner left, killed in the
//! middle of a commit, is all there, and the crawl goes on.
//!
//! `tests/fixtures/format-N.tar.gz` is made by [`make`] with the binary that wrote that format:
//! `GLEANER_FIXTURE_FROM=path/to/that/gleaner cargo test --test it formats`, which writes the file
//! of the format that it finds.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io::{Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;

use crate::run::{Place, check_records, gleaner, page, read_records, run};
use crate::web::{Answer, Site, Web};

/// Articles of the first host; the second repeats them, each second one in other markup.
const ARTICLES: usize = 8;

/// Visits that the run made which came to its end, and which is in the checkpoint.
const FIRST_RUN: &str = "6";

fn words(number: usize) -> String {
    let word = |n: usize| (n * n * 31 + (n + 7) * (number + 3) * 977) % 4_001;
    let words: Vec<_> = (0..60).map(|n| format!("w{}", word(n))).collect();
    words.join(" ")
}

fn site(host: usize) -> Site {
    let mut links: Vec<String> = (0..ARTICLES).map(|number| format!("/{number}")).collect();
    links.extend(["/moved", "/gone", "/later"].map(str::to_owned));
    if host == 0 {
        links.push("http://two.example/".to_owned());
    }
    let links: Vec<&str> = links.iter().map(String::as_str).collect();
    let home = page(&format!("home of {host}"), &links);
    let site = Site::new()
        .robots("User-agent: *\nDisallow: /secret\n")
        .page("/", Answer::html(home))
        .page("/moved", Answer::redirect(302, "/0"))
        .page("/gone", Answer::status(404))
        .page("/later", Answer::status(503));
    (0..ARTICLES).fold(site, |site, number| {
        let mark = if number % 2 == 1 && host == 1 {
            " class=x"
        } else {
            ""
        };
        let html = format!("<title>{number}</title><p{mark}>{}</p>", words(number));
        // Slow enough for a commit to hold a visit or two.
        let answer = Answer::html(html).after(Duration::from_millis(10));
        site.page(&format!("/{number}"), answer)
    })
}

/// The web that was crawled, and the settings under which it is found at whatever port it has now.
fn web(place: &Place) -> (Web, String) {
    let web = Web::start(vec![site(0), site(1)]);
    let hosts: Vec<String> = ["one", "two"]
        .iter()
        .zip(1..)
        .map(|(name, host)| format!("\"{name}.example\" = [\"127.0.7.{host}:{}\"]", web.port()))
        .collect();
    let config = format!(
        "[fetch]\nhosts = {{ {} }}\n[politeness]\nbackoff = \"10ms\"\nattempts = 2\n\
         [archive]\nmax_log = \"6KB\"\n[state]\ncheckpoint_interval = \"1h\"\n",
        hosts.join(", ")
    );
    let config = place.file("config.toml", &config);
    (web, config)
}

fn crawl<'a>(config: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    let mut arguments = vec!["http://one.example/", "--scope", "any", "--config", config];
    arguments.extend(["--concurrency", "1", "--max-duration", "30s"]);
    arguments.extend(more);
    arguments
}

/// Makes a data directory: a run that ended well, and one that was killed when the archive had
/// records that the store does not know of. The text of its file `version` is given back.
fn make(binary: &Path, place: &Place, config: &str) -> String {
    let begin = |more: &[&str]| {
        let mut command = place.command(&crawl(config, more));
        let arguments: Vec<_> = command.get_args().map(ToOwned::to_owned).collect();
        command = Command::new(binary);
        command.args(arguments).env("NO_COLOR", "1");
        command.env_remove("GLEANER_FIXTURE_FROM");
        command
            .stdout(std::process::Stdio::null())
            .stderr(std::process::Stdio::piped());
        run(command)
    };
    begin(&["--max-pages", FIRST_RUN]).expect(0);
    begin(&["--failpoint", "synced:5"]).expect(128 + 9);
    fs::read_to_string(place.data().join("version")).expect("it has a version")
}

/// Packs a directory as a compressed tar archive (ustar); the same files give the same bytes.
fn pack(directory: &Path, archive: &Path) {
    let file = File::create(archive).expect("the archive can be written");
    let mut out = GzEncoder::new(file, Compression::best());
    for path in files_below(directory) {
        let name = path.strip_prefix(directory).expect("it is below");
        let bytes = fs::read(&path).expect("the file can be read");
        let mut header = [0; 512];
        let mut field = |at: usize, text: &str| {
            header[at..at + text.len()].copy_from_slice(text.as_bytes());
        };
        field(0, name.to_str().expect("names are ASCII"));
        field(100, "0000644\0");
        field(124, &format!("{:011o}\0", bytes.len()));
        field(136, "00000000000\0");
        field(148, "        ");
        field(156, "0");
        field(257, "ustar\x0000");
        let sum: u32 = header.iter().map(|byte| u32::from(*byte)).sum();
        header[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
        let padding = vec![0; bytes.len().next_multiple_of(512) - bytes.len()];
        for part in [&header[..], &bytes, &padding] {
            out.write_all(part).expect("the archive can be written");
        }
    }
    out.write_all(&[0; 1_024])
        .expect("the archive can be written");
    out.finish().expect("the archive can be written");
}

fn files_below(directory: &Path) -> BTreeSet<PathBuf> {
    let mut files = BTreeSet::new();
    for entry in fs::read_dir(directory).expect("the directory is there") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            files.extend(files_below(&path));
        } else if path.is_file() {
            files.insert(path);
        }
    }
    files
}

fn unpack(archive: &Path, directory: &Path) {
    let mut from = GzDecoder::new(File::open(archive).expect("the archive is there"));
    let mut header = [0; 512];
    loop {
        from.read_exact(&mut header).expect("a header");
        let text = |at: usize, length: usize| {
            let field = &header[at..at + length];
            let end = field.iter().position(|byte| *byte == 0).unwrap_or(length);
            String::from_utf8(field[..end].to_vec()).expect("ASCII")
        };
        let name = text(0, 100);
        if name.is_empty() {
            return;
        }
        let size = usize::from_str_radix(&text(124, 12), 8).expect("a size");
        let mut bytes = vec![0; size.next_multiple_of(512)];
        from.read_exact(&mut bytes).expect("a file");
        let path = directory.join(name);
        fs::create_dir_all(path.parent().expect("it has a folder")).expect("folders can be made");
        fs::write(path, &bytes[..size]).expect("files can be written");
    }
}

fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures")
}

/// URL to verdict, of what `gleaner pages` shows; each URL once, and without those that fail.
fn pages(data: &Path) -> BTreeMap<String, String> {
    let mut command = gleaner(&["pages", "--no-text", "--data-dir"]);
    command.arg(data);
    let lines = run(command).expect(0).stdout;
    let mut pages = BTreeMap::new();
    for line in lines.lines() {
        let line: serde_json::Value = serde_json::from_str(line).expect("a JSON object");
        let field = |name: &str| line[name].as_str().unwrap_or_default().to_owned();
        if field("url").ends_with("/later") {
            continue;
        }
        let twice = pages.insert(field("url"), field("verdict"));
        assert!(twice.is_none(), "{line} comes twice");
    }
    pages
}

/// Every URL of the web that does not fail.
fn all() -> BTreeSet<String> {
    let others = ["", "moved", "gone"].map(str::to_owned);
    let paths = (0..ARTICLES).map(|number| number.to_string()).chain(others);
    paths
        .flat_map(|path| ["one", "two"].map(|host| format!("http://{host}.example/{path}")))
        .collect()
}

/// Checks the verdicts: of the two hosts' copies of an article, one is unique and the other repeats
/// it, whichever was fetched first.
fn check_verdicts(pages: &BTreeMap<String, String>) {
    for number in 0..ARTICLES {
        let copies = ["one", "two"].map(|host| format!("http://{host}.example/{number}"));
        let mut found: Vec<&str> = copies
            .iter()
            .filter_map(|url| pages.get(url).map(String::as_str))
            .collect();
        found.sort_unstable();
        let tier = if number % 2 == 1 { "normalized" } else { "raw" };
        match found[..] {
            [] => {}
            [only] => assert_eq!(only, "unique", "{number}"),
            [first, second] => assert_eq!((first, second), (tier, "unique")),
            _ => unreachable!("there are two copies"),
        }
    }
}

/// Opens a directory as it was left, sees what was there, and crawls on to the end: all pages are
/// there, with their verdicts, and none was asked for again.
fn check_goes_on(place: &Place, web: &Web, config: &str) {
    web.clear_log();
    let before = pages(&place.data());
    let counters = place.status().counters;
    assert!(before.len() >= 6 && counters.pages >= 6, "{before:#?}");
    assert!(counters.queued > 0, "{counters:?}");
    check_verdicts(&before);
    place.crawl(&crawl(config, &[]));
    let after = pages(&place.data());
    check_verdicts(&after);
    assert_eq!(after.into_keys().collect::<BTreeSet<_>>(), all());
    let names = ["one.example", "two.example"];
    for request in web.requests() {
        let url = format!("http://{}{}", names[request.host], request.path);
        assert!(!before.contains_key(&url), "{url} was asked for again");
    }
    // Revisit records of before may refer to a response with another head.
    check_records(&read_records(&place.data()));
}

#[test]
fn older_formats_are_opened_and_crawled_on() {
    for format in [11, 12, 13, 14, 15] {
        let place = Place::new();
        let (web, config) = web(&place);
        let fixture = format!("format-{format}.tar.gz");
        unpack(&fixtures().join(fixture), &place.data());
        check_goes_on(&place, &web, &config);
        let version = fs::read_to_string(place.data().join("version")).expect("it has a version");
        assert_eq!(version, "gleaner data directory, format 16\n");
    }
}

#[test]
fn killed_between_the_steps_from_one_format_to_the_next() {
    for step in ["version-raised", "migrated"] {
        let place = Place::new();
        let (web, config) = web(&place);
        unpack(&fixtures().join("format-11.tar.gz"), &place.data());
        run(place.command(&crawl(&config, &["--failpoint", step]))).expect(128 + 9);
        let requests = web.requests();
        assert!(requests.is_empty(), "killed at {step} after {requests:?}");
        check_goes_on(&place, &web, &config);
    }
}

#[test]
fn the_present_format_is_packed_and_crawled_on() {
    let binary = std::env::var_os("GLEANER_FIXTURE_FROM");
    let binary = binary.map_or_else(|| env!("CARGO_BIN_EXE_gleaner").into(), PathBuf::from);
    let place = Place::new();
    let (first, config) = web(&place);
    let version = make(&binary, &place, &config);
    drop(first);
    let archive = place.data().with_extension("tar.gz");
    pack(&place.data(), &archive);
    if std::env::var_os("GLEANER_FIXTURE_FROM").is_some() {
        let format = version.trim().rsplit(' ').next().expect("a number");
        fs::create_dir_all(fixtures()).expect("the folder can be made");
        let fixture = fixtures().join(format!("format-{format}.tar.gz"));
        fs::copy(&archive, fixture).expect("the fixture can be written");
    }
    let copy = Place::new();
    let (web, config) = web(&copy);
    unpack(&archive, &copy.data());
    check_goes_on(&copy, &web, &config);
}
