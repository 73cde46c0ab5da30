//! What cannot be done is refused with a message that says what to do and an exit code of its own,
//! before anything is fetched or changed.

use std::fmt::Write as _;
use std::fs;
use std::process::Stdio;

use crate::run::{Output, PATIENCE, Place, gleaner, linking, run};
use crate::web::{Answer, Site, Web};

/// Exit codes, as they are documented.
const USAGE: i32 = 2;
const DIRECTORY: i32 = 3;
/// The directory is in use. A supervisor tries again later, which it does not after the code above.
const IN_USE: i32 = 8;

fn web() -> Web {
    Web::start(vec![linking(&["/1", "/2", "/3"])])
}

/// What `gleaner crawl` says to these arguments, which it must refuse without contacting the web.
#[track_caller]
fn refused(place: &Place, web: &Web, arguments: &[&str], code: i32, says: &[&str]) -> Output {
    let before = web.requests().len();
    let output = run(place.command(arguments)).expect(code).says(says);
    assert!(output.stdout.is_empty(), "{output:?}");
    assert_eq!(web.requests().len(), before, "{arguments:?}");
    output
}

/// As [`refused`]; nothing may have been begun either.
#[track_caller]
fn refused_at_once(arguments: &[&str], says: &[&str]) {
    let (place, web) = (Place::new(), web());
    let seed = web.url(0, "/");
    let arguments = [arguments, &[&*seed]].concat();
    refused(&place, &web, &arguments, USAGE, says);
    assert!(!place.data().exists(), "{arguments:?}");
}

#[test]
fn seed_lists_that_cannot_be_read() {
    let place = Place::new();
    let missing = place.data().join("none.txt");
    let missing = missing.to_str().expect("an ASCII path");
    refused_at_once(&["--seeds", missing], &["error: ", missing, "--seeds"]);
    let directory = std::env::temp_dir();
    let directory = directory.to_str().expect("an ASCII path");
    refused_at_once(&["--seeds", directory], &["error: ", directory]);
    refused_at_once(
        &["--seeds", "-", "--seeds", "-"],
        &["standard input", "once"],
    );
}

#[test]
fn a_malformed_line_is_named_with_its_file_and_number() {
    let place = Place::new();
    for (line, reason) in [
        ("htp:/nowhere", "htp:/nowhere"),
        ("not a url", "not a url"),
        ("ftp://files.example/", "ftp://files.example/"),
        ("http://", "http://"),
        ("/relative", "/relative"),
    ] {
        let text = format!("# a list\nhttp://127.0.0.1/\n{line}\nhttp://127.0.0.1/2\n");
        let list = place.file("bad.txt", &text);
        refused_at_once(&["--seeds", &list], &[&format!("{list}:3"), reason]);
    }
    refused_at_once(&["nonsense"], &["error: ", "nonsense"]);
    // Standard input is named as what it is.
    let input = place.file("input.txt", "\n\nnot a url\n");
    let mut command = place.command(&["--seeds", "-"]);
    command.stdin(fs::File::open(input).expect("just written"));
    run(command)
        .expect(USAGE)
        .says(&["standard input:3", "not a url"]);
    assert!(!place.data().exists());
}

#[test]
fn all_malformed_lines_are_named_and_can_be_skipped() {
    let place = Place::new();
    let web = Web::start(vec![Site::new().page("/", Answer::html("<p>here"))]);
    let mut text = format!("{}\n", web.url(0, "/"));
    for line in 0..25 {
        let _ = writeln!(text, "bad line {line}");
    }
    let list = place.file("bad.txt", &text);
    let expected = [
        "bad.txt:2: ",
        "bad.txt:21: ",
        "and 5 more",
        "--skip-bad-seeds",
    ];
    let output = run(place.command(&["--seeds", &list]))
        .expect(USAGE)
        .says(&expected);
    assert!(!output.stderr.contains("bad.txt:22: "), "{output:?}");
    assert!(!place.data().exists());
    let output = place.crawl(&["--seeds", &list, "--skip-bad-seeds"]);
    output.says(&["bad seeds skipped: 25", "bad.txt:2: ", "seeds: 1 new"]);
    assert_eq!(place.pages().len(), 1);

    // Told once, also where nothing runs the crawl.
    let output = place.ask(&["seeds", "add", "--seeds", &list, "--skip-bad-seeds"]);
    let told = output.expect(0).says(&["seeds: 0 new, 1 known"]);
    assert_eq!(told.stderr.matches("bad seeds skipped: 25").count(), 1);
}

#[test]
fn no_seeds_and_nothing_to_go_on_with() {
    let place = Place::new();
    run(place.command(&[]))
        .expect(USAGE)
        .says(&["no seeds", "--seeds"]);
    // Being refused begins nothing that could be gone on with.
    let list = place.file("empty.txt", "# nothing\n\n");
    run(place.command(&["--seeds", &list]))
        .expect(USAGE)
        .says(&["no seeds"]);
}

#[test]
fn a_public_seed_needs_a_contact_in_the_user_agent() {
    refused_at_once(
        &["http://www.example.com/"],
        &["no contact", "http://www.example.com/", "--user-agent"],
    );
    refused_at_once(
        &["http://www.example.com/", "--user-agent", "example/1.0"],
        &["no contact", "example/1.0"],
    );
}

#[test]
fn a_user_agent_that_no_header_can_hold() {
    let (place, web) = (Place::new(), web());
    let seed = web.url(0, "/");
    let arguments = [&*seed, "--user-agent", "two\nlines a@b.example"];
    let output = run(place.command(&arguments));
    assert_ne!(output.code, 0);
    assert!(output.stderr.contains("error: "), "{output:?}");
    assert!(web.requests().is_empty());
}

#[test]
fn configurations_that_are_wrong() {
    let place = Place::new();
    let missing = place.data().join("none.toml");
    let missing = missing.to_str().expect("an ASCII path");
    refused_at_once(&["--config", missing], &["error: ", missing, "--config"]);
    for (text, says) in [
        (
            "politeness.dellay = \"1s\"",
            ["politeness.dellay", "politeness.delay"],
        ),
        ("[politness]\n", ["politness", "`politeness`"]),
        ("delay = \"1s\"\n", ["delay", "did you mean"]),
        ("[politeness]\ndelay = \"soon\"\n", ["delay", "soon"]),
        ("[politeness]\ndelay = 5\n", ["delay", "line 2"]),
        ("[archive]\nstore = \"some\"\n", ["some", "exact-only"]),
        (
            "archive.compression = 12",
            ["archive.compression", "0 to 9"],
        ),
        ("fetch.concurrency = 0", ["fetch.concurrency", "at least 1"]),
        ("state.max_memory = \"1MiB\"", ["state.max_memory", "64"]),
        ("[crawl\n", ["not valid", "line 1"]),
    ] {
        let config = place.file("config.toml", text);
        refused_at_once(&["--config", &config], &says);
    }
}

#[test]
fn memory_that_does_not_suffice() {
    let place = Place::new();
    let config = place.file("config.toml", "[crawl]\nexpected_urls = 2_000_000_000\n");
    let says = [
        "state.max_memory",
        "crawl.expected_urls",
        "--max-memory",
        "blocks of the store",
    ];
    refused_at_once(&["http://127.0.0.1:9/", "--config", &config], &says);
}

#[test]
fn arguments_that_are_wrong() {
    for (arguments, says) in [
        (&["--delay", "soon"][..], &["--delay", "soon"][..]),
        (&["--delay=-1s"], &["--delay", "-1s"]),
        (&["--max-duration", "5 years"], &["--max-duration"]),
        (&["--max-pages", "many"], &["--max-pages", "many"]),
        (&["--max-depth", "99999999"], &["--max-depth"]),
        (&["--max-rate", "0"], &["--max-rate"]),
        (&["--scope", "world"], &["world", "prefix"]),
        (&["--robots", "sometimes"], &["sometimes", "obey"]),
        (&["--concurrency", "0"], &["concurrency", "at least 1"]),
        (&["--colour"], &["--colour"]),
        (&["--log", "gleaner=loud"], &["--log", "loud"]),
        (&["--failpoint", "nowhere"], &["nowhere"]),
    ] {
        refused_at_once(arguments, says);
    }
    run(gleaner(&["crawl", "http://127.0.0.1/"]))
        .expect(USAGE)
        .says(&["--data-dir"]);
    run(gleaner(&["reap"])).expect(USAGE).says(&["reap"]);
}

#[test]
fn a_directory_in_use_is_refused_and_its_crawl_goes_on() {
    let (place, web) = (Place::new(), web());
    let seed = web.url(0, "/");
    web.hold_after(2);
    let first = place.start(&[&seed]);
    assert!(web.wait_for_requests(3, PATIENCE));
    let pid = first.pid().as_raw_nonzero().to_string();
    let data = place.data().display().to_string();
    let says = [&*data, "in use", &*pid, "hint: ", "gleaner status"];
    refused(&place, &web, &[&seed], IN_USE, &says);
    assert!(place.status().running);
    web.release();
    first.end().expect(0);
    assert_eq!(place.pages().len(), 4);
}

#[test]
fn a_directory_of_another_version_is_refused_and_kept() {
    let (place, web) = (Place::new(), web());
    let seed = web.url(0, "/");
    place.crawl(&[&seed, "--max-pages", "2"]);
    let version = place.data().join("version");
    let own = fs::read_to_string(&version).expect("it has a version");
    let other = "gleaner data directory, format 999\n";
    fs::write(&version, other).expect("it is ours");
    let says = ["format 999", "--data-dir"];
    refused(&place, &web, &[&seed], DIRECTORY, &says);
    place
        .ask(&["status"])
        .expect(DIRECTORY)
        .says(&["format 999"]);
    assert_eq!(fs::read_to_string(&version).expect("it stays"), other);
    // Nothing was lost.
    fs::write(&version, own).expect("it is ours");
    place.crawl(&[]).says(&["resumed: 2 queued, 2 done"]);
    assert_eq!(place.pages().len(), 4);
}

#[test]
fn a_directory_of_something_else_is_refused_and_kept() {
    let (place, web) = (Place::new(), web());
    let seed = web.url(0, "/");
    fs::create_dir(place.data()).expect("it is not there yet");
    fs::write(place.data().join("thesis.txt"), "years of work").expect("it is ours");
    let says = ["not empty", "--data-dir"];
    refused(&place, &web, &[&seed], DIRECTORY, &says);
    let entries = fs::read_dir(place.data()).expect("it is there").count();
    assert_eq!(entries, 1);
    place.ask(&["status"]).expect(DIRECTORY).says(&["no crawl"]);

    let file = place.file("file", "not a directory");
    let command = gleaner(&["crawl", &seed, "--data-dir", &file]);
    run(command).expect(DIRECTORY).says(&[&file]);
    let missing = gleaner(&["status", "--data-dir", "/nonexistent/crawl"]);
    run(missing).expect(DIRECTORY).says(&["/nonexistent/crawl"]);
}

#[test]
fn a_refused_command_leaves_the_crawl_as_it_was() {
    let (place, web) = (Place::new(), web());
    let seed = web.url(0, "/");
    place.crawl(&[&seed, "--max-pages", "2"]);
    let list = place.file("bad.txt", "http://127.0.0.1/\nnot a url\n");
    refused(&place, &web, &["--seeds", &list], USAGE, &["bad.txt:2"]);
    refused(&place, &web, &["--scope", "world"], USAGE, &["world"]);
    let public = ["http://www.example.com/"];
    refused(&place, &web, &public, USAGE, &["no contact"]);
    let counters = place.status().counters;
    assert_eq!((counters.queued, counters.pages, counters.seeds), (2, 2, 1));
    place.crawl(&[]).says(&["resumed: 2 queued, 2 done"]);
}

#[test]
fn a_closed_pipe_is_no_error() {
    let (place, web) = (Place::new(), web());
    let seed = web.url(0, "/");
    let closed = || {
        let (reader, writer) = std::io::pipe().expect("pipes can be had");
        drop(reader);
        Stdio::from(writer)
    };
    let mut command = place.command(&[&seed]);
    command.stdout(closed());
    let output = run(command).expect(0);
    assert!(!output.stderr.contains("error"), "{output:?}");
    assert_eq!(place.status().counters.pages, 4);
    let data = place.data();
    let data = data.to_str().expect("an ASCII path");
    for arguments in [
        &["status", "--data-dir", data][..],
        &["status", "--json", "--data-dir", data],
        &["--help"],
        &["crawl", "--help"],
    ] {
        let mut command = gleaner(arguments);
        command.stdout(closed());
        let output = run(command).expect(0);
        assert!(output.stderr.is_empty(), "{output:?}");
    }
}
