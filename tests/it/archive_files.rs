//! The life of an archive's files: their names, when they are closed, and what a kill leaves.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use crate::run::{Place, gleaner, kind, linking, numbered, page, read_records, run};
use crate::web::{Answer, Web};

/// The names in a directory, in order, those of indexes aside.
fn names(directory: &Path) -> Vec<String> {
    let entries = fs::read_dir(directory).into_iter().flatten();
    let names = entries.map(|it| it.expect("it stays").file_name().into_string());
    let names: BTreeSet<_> = names.map(|it| it.expect("it is ASCII")).collect();
    let is_index = |name: &String| name.contains(".cdxj");
    names.into_iter().filter(|name| !is_index(name)).collect()
}

/// Checks that each closed file of pages has an index, and that it says what is in the file.
#[track_caller]
fn check_indexes(crawl: &Place) {
    let warc = crawl.data().join("warc");
    for name in names(&warc) {
        let path = warc.join(&name);
        let index = fs::read_to_string(path.with_added_extension("cdxj"));
        if path.extension().is_some_and(|ending| ending == "open") {
            assert!(index.is_err(), "{name} is not closed");
            continue;
        }
        let index = index.unwrap_or_else(|error| panic!("no index of {name}: {error}"));
        let mut command = gleaner(&["warc", "index"]);
        command.arg(&path);
        assert_eq!(run(command).expect(0).stdout, index, "{name}");
    }
}

/// Prefix, crawl, number and ending of a name.
fn parts(name: &str) -> (String, String, String, String) {
    let (stem, ending) = name.split_once('.').expect("it has an ending");
    let mut parts = stem.rsplitn(4, '-').map(str::to_owned);
    let mut next = || {
        parts
            .next()
            .unwrap_or_else(|| panic!("{name} has four parts"))
    };
    let (number, crawl, start, prefix) = (next(), next(), next(), next());
    assert_eq!((start.len(), crawl.len()), (14, 8), "{name}");
    (prefix, crawl, number, ending.to_owned())
}

#[test]
fn files_have_names_of_their_crawl_and_say_whose_it_is() {
    let web = Web::start(vec![linking(&numbered(4))]);
    let settings = "[archive]\nprefix = \"news\"\noperator = \"A. Librarian\"\n\
                    collection = \"dailies\"\ndescription = \"front pages\"\n";
    let crawl = Place::new();
    crawl.crawl_by(settings, &[&web.url(0, "/"), "--max-pages", "2"]);
    crawl.crawl_by(settings, &[]);
    crawl.crawl_by("[archive]\nprefix = \"other\"", &[&web.url(0, "/new")]);
    let found = names(&crawl.data().join("warc"));
    let found: Vec<_> = found.iter().map(|name| parts(name)).collect();
    let told = found
        .iter()
        .map(|(prefix, _, number, ending)| (prefix.as_str(), number.as_str(), ending.as_str()));
    let expected = [("news", "00000"), ("news", "00001"), ("other", "00002")];
    let expected = expected.map(|(prefix, number)| (prefix, number, "warc.gz"));
    assert_eq!(told.collect::<Vec<_>>(), expected);
    let crawls: BTreeSet<&String> = found.iter().map(|(_, crawl, ..)| crawl).collect();
    assert_eq!(crawls.len(), 1, "{found:?}");
    let records = crawl.records();
    let infos: Vec<_> = records.iter().filter(|it| kind(it) == "warcinfo").collect();
    let says = |at: usize, line: &str| {
        let text = String::from_utf8_lossy(&infos[at].block).into_owned();
        assert!(
            text.lines().any(|it| it.starts_with(line)),
            "{line}: {text}"
        );
        text
    };
    for line in [
        "operator: A. Librarian",
        "isPartOf: dailies",
        "description: front pages",
        "policy: bodies unique, of duplicates delta, of other types kept",
        "settings-digest: sha256:",
        "robots: obey",
    ] {
        says(0, line);
    }
    let digest = |at| {
        let text = says(at, "settings-digest: ");
        let mut lines = text.lines().map(str::to_owned);
        lines.find(|it| it.starts_with("settings-digest"))
    };
    assert_eq!(digest(0), digest(1));
    assert_ne!(digest(1), digest(2));

    let another = Place::new();
    another.crawl(&[&web.url(0, "/")]);
    let name = names(&another.data().join("warc")).remove(0);
    assert_eq!(parts(&name).0, "gleaner");
    assert!(!crawls.contains(&parts(&name).1), "{name}");
    let refused = another.file("refused.toml", "archive.prefix = \"texts\"");
    let refused = run(another.command(&[&web.url(0, "/"), "--config", &refused]));
    refused.expect(2).says(&["archive.prefix", "texts"]);
}

/// Crawls, and is killed at a step; `None` if that is not reached. The next run, which may have
/// nothing to do, leaves no file open, and has every page once.
fn killed_at(step: &str) -> Option<bool> {
    let web = Web::start(vec![linking(&numbered(6))]);
    let crawl = Place::new();
    let seed = web.url(0, "/");
    // Each visit has a commit of its own.
    let killed = run(crawl.command(&[&seed, "--delay", "30ms", "--failpoint", step]));
    if killed.code == 0 {
        return None;
    }
    assert_eq!(killed.code, 137, "{step}: {killed:?}");
    let warc = crawl.data().join("warc");
    let left = names(&warc);
    let is_open = |name: &String| name.ends_with(".warc.gz.open");
    let was_open = left.iter().any(is_open);
    let bytes = fs::read(warc.join(&left[0])).expect("it is there");
    // It is read under either name.
    assert!(!crawl.told(&[]).is_empty(), "{step}");
    crawl.crawl(&[&seed]);
    assert!(!names(&warc).iter().any(is_open), "{step}");
    let whole = fs::read(crawl.warc()).expect("it is there");
    assert!(whole.starts_with(&bytes), "{step}");
    assert!(was_open || whole.len() == bytes.len(), "{step}");
    assert_eq!(crawl.pages().len(), 7, "{step}");
    crawl.records();
    check_indexes(&crawl);
    Some(was_open)
}

#[test]
fn a_kill_leaves_a_file_open_or_closed() {
    assert_eq!(killed_at("file-closed"), Some(false));
    // Up to the last commit.
    let killed = (5..).map_while(|nth| killed_at(&format!("committed:{nth}")));
    let killed: Vec<bool> = killed.collect();
    assert!(
        killed.len() > 2 && killed.iter().all(|was_open| *was_open),
        "{killed:?}"
    );
}

#[test]
fn a_file_that_is_old_is_closed_while_the_crawl_goes_on() {
    let web = Web::start(vec![linking(&numbered(5))]);
    let crawl = Place::new();
    let settings = "archive.max_age = \"1ms\"";
    crawl.crawl_by(settings, &[&web.url(0, "/"), "--delay", "30ms"]);
    let found = names(&crawl.data().join("warc"));
    assert!(found.len() > 2, "{found:?}");
    assert_eq!(crawl.pages().len(), 6);
    crawl.records();
    check_indexes(&crawl);
    // Those that are closed may be moved away: the crawl goes on, and says so where it matters.
    fs::remove_file(crawl.warc()).expect("it is moved away");
    crawl.crawl(&[&web.url(0, "/new")]);
    let told = crawl.ask(&["check"]).expect(0);
    assert!(told.stdout.contains("was it moved away?"), "{told:?}");
}

#[test]
fn digests_and_types_are_as_wanted() {
    let web = Web::start(vec![
        linking(&["/packed", "/picture", "/empty"])
            // The copy is found by its original, which is judged first then.
            .page("/packed", Answer::gzip(page("packed", &["/copy"])))
            .page("/copy", Answer::gzip(page("packed", &["/copy"])))
            .page(
                "/picture",
                Answer::with_type(200, "text/html", b"\x89PNG\r\n\x1a\n".into()),
            )
            .page("/empty", Answer::status(204)),
    ]);
    let crawl = Place::new();
    crawl.crawl_by("archive.digest = \"sha1\"", &[&web.url(0, "/")]);
    let records = read_records(&crawl.data());
    let of = |kind_of: &str, path: &str, name: &str| {
        let url = web.url(0, path);
        let is_it = |it: &&gleaner::archive::ReadRecord| {
            kind(it) == kind_of && it.header("WARC-Target-URI") == Some(&url)
        };
        let record = records
            .iter()
            .find(is_it)
            .unwrap_or_else(|| panic!("no {kind_of} of {path}"));
        assert_eq!(record.block_is_intact(), Some(true), "{path}");
        record.header(name).map(str::to_owned)
    };
    let digest = of("response", "/packed", "WARC-Payload-Digest");
    assert!(
        digest.as_ref().is_some_and(|it| it.starts_with("sha1:")),
        "{digest:?}"
    );
    assert_eq!(of("revisit", "/copy", "WARC-Payload-Digest"), digest);
    let media_type = |path| of("response", path, "WARC-Identified-Payload-Type");
    assert_eq!(media_type("/packed").as_deref(), Some("text/html"));
    assert_eq!(media_type("/picture").as_deref(), Some("image/png"));
    assert_eq!(media_type("/empty"), None);
}

/// A crawl whose closed files are moved away by a command, and what reads them afterwards.
#[test]
fn closed_files_are_moved_away_and_still_read() {
    let web = Web::start(vec![linking(&numbered(6))]);
    let crawl = Place::new();
    let cold = crawl.data().with_file_name("cold");
    fs::create_dir(&cold).expect("it is free");
    let script = crawl.file("move", "#!/bin/sh\nmv \"$2\" \"$1\"\n");
    let settings = format!(
        "[archive]\nmax_age = \"1ms\"\non_close = [\"sh\", {script:?}, {cold:?}]\nalso_in = [{cold:?}]\n"
    );
    crawl.crawl_by(&settings, &[&web.url(0, "/"), "--delay", "30ms"]);
    assert!(
        names(&crawl.data().join("warc"))
            .iter()
            .all(|it| !it.ends_with(".warc.gz"))
    );
    assert!(names(&cold).len() > 1);
    let told = crawl.told(&[]);
    assert_eq!(told.len(), 7);
    assert!(told.iter().all(|page| page["text"].is_string()), "{told:?}");
    // What another crawl knows is found there, too.
    let other = Place::new();
    let data = crawl.data();
    let known = run(other.command(&[
        &web.url(0, "/"),
        "--known",
        data.to_str().expect("it is ASCII"),
    ]));
    known.expect(0).says(&["nothing left to crawl"]);
    // A file that is nowhere is told once, and costs its texts only.
    fs::remove_file(cold.join(names(&cold).remove(1))).expect("it is there");
    let told = crawl.ask(&["pages"]);
    assert_eq!(told.stdout.lines().count(), 7);
    assert_eq!(
        told.stderr
            .matches("cannot read texts from this file")
            .count(),
        1
    );
    crawl.ask(&["check"]).expect(0);
    crawl.crawl_by(&settings, &[&web.url(0, "/new"), "--delay", "30ms"]);
    assert_eq!(crawl.ask(&["pages"]).stdout.lines().count(), 8);
}

/// A command that fails keeps files waiting, which is told; they leave in a later run.
#[test]
fn a_command_that_fails_is_told_and_run_again() {
    let web = Web::start(vec![linking(&numbered(2))]);
    let crawl = Place::new();
    let seed = web.url(0, "/");
    let failing = "archive.on_close = [\"sh\", \"-c\", \"echo no room >&2; exit 3\"]";
    crawl.crawl_by(failing, &[&seed]);
    let status = crawl.ask(&["status"]).expect(0);
    assert!(
        status
            .stdout
            .contains("1  closed files are to leave by archive.on_close")
            && status.stdout.contains("no room"),
        "{}",
        status.stdout
    );
    let noted = crawl.data().with_file_name("noted");
    let command = format!("basename $0 >> {}", noted.display());
    crawl.crawl_by(
        &format!("archive.on_close = [\"sh\", \"-c\", {command:?}]"),
        &[],
    );
    let expected = names(&crawl.data().join("warc"));
    assert_eq!(
        fs::read_to_string(&noted)
            .unwrap_or_default()
            .lines()
            .collect::<Vec<_>>(),
        expected
    );
    let status = crawl.ask(&["status"]).expect(0);
    assert!(
        status.stdout.contains("0  closed files are to leave"),
        "{}",
        status.stdout
    );
}

/// The command kills the crawl each time that it is run for a file it has not seen: every file is
/// handed over all the same, however often the crawl is killed between a command and its note.
#[test]
fn over_kills_each_closed_file_leaves_at_least_once() {
    let web = Web::start(vec![linking(&numbered(8))]);
    let crawl = Place::new();
    let noted = crawl.data().with_file_name("noted");
    let script = "grep -qxF \"$2\" \"$1\" && exit 0; echo \"$2\" >> \"$1\"; kill -9 $PPID; exit 1";
    let script = crawl.file("kill", script);
    crawl.file("noted", "");
    let settings =
        format!("[archive]\nmax_age = \"1ms\"\non_close = [\"sh\", {script:?}, {noted:?}]\n");
    let settings = crawl.file("settings.toml", &settings);
    let seed = web.url(0, "/");
    let mut kills = 0;
    loop {
        let arguments = [&seed, "--delay", "20ms", "--config", &settings];
        let done = run(crawl.command(&arguments));
        if done.code == 0 {
            break;
        }
        assert_eq!(done.code, 137, "{done:?}");
        kills += 1;
    }
    let left: BTreeSet<String> = (fs::read_to_string(&noted).expect("it is there").lines())
        .map(|path| {
            Path::new(path)
                .file_name()
                .expect("a file")
                .to_string_lossy()
                .into_owned()
        })
        .collect();
    let closed: BTreeSet<String> = names(&crawl.data().join("warc"))
        .into_iter()
        .chain(names(&crawl.data().join("texts")))
        .filter(|name| name.ends_with(".warc.gz"))
        .collect();
    assert_eq!(left, closed);
    assert_eq!(kills, closed.len());
    assert_eq!(crawl.pages().len(), 9);
}
