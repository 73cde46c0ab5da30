//! Upload of closed files to a store for files.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;

use crate::bucket::{Bucket, KEY};
use crate::run::{Place, Running, linking, numbered, run};
use crate::web::{Answer, Web};

/// The command with what signs for the store.
fn signed(mut command: Command) -> Command {
    command.env("AWS_ACCESS_KEY_ID", KEY.0);
    command.env("AWS_SECRET_ACCESS_KEY", KEY.1);
    command
}

/// The crawl, with settings of its archive.
fn command(crawl: &Place, settings: &str, arguments: &[&str]) -> Command {
    let file = crawl.file("settings.toml", &format!("[archive]\n{settings}"));
    signed(crawl.command(&[arguments, &["--config", &file]].concat()))
}

/// The WARC files in a directory and their indexes, by name.
fn files(directory: &Path) -> BTreeMap<String, Vec<u8>> {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    let files = entries.filter_map(|entry| {
        let name = entry.file_name().into_string().ok()?;
        let bytes = fs::read(entry.path()).ok()?;
        let is_one = [".warc.gz", ".cdxj"].iter().any(|it| name.ends_with(it));
        is_one.then_some((name, bytes))
    });
    files.collect()
}

fn stored(bucket: &Bucket) -> BTreeMap<String, Vec<u8>> {
    bucket.see(|held| {
        let objects = held.objects.iter();
        let named = objects.map(|(name, (bytes, _))| {
            let name = name.strip_prefix("news/").expect("they have the prefix");
            (name.to_owned(), bytes.clone())
        });
        named.collect()
    })
}

/// Bytes that no compression makes fewer.
fn noise(seed: u64, length: usize) -> Vec<u8> {
    let mut state = 2 * seed + 1;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 24) as u8
    };
    (0..length).map(|_| next()).collect()
}

/// A site with some large files: those of the archive need more than one part.
fn large() -> Web {
    let links: Vec<String> = (0..5).map(|number| format!("/{number}.bin")).collect();
    let mut site = linking(&links);
    for (seed, link) in (1..).zip(&links) {
        let answer = Answer::with_type(200, "application/octet-stream", noise(seed, 4 << 20));
        site = site.page(link, answer);
    }
    Web::start(vec![site])
}

#[test]
fn closed_files_are_uploaded_and_kept() {
    let web = Web::start(vec![linking(&numbered(4))]);
    let (crawl, bucket) = (Place::new(), Bucket::start());
    let settings = format!("max_age = \"1ms\"\n{}", bucket.settings());
    run(command(
        &crawl,
        &settings,
        &[&web.url(0, "/"), "--delay", "30ms"],
    ))
    .expect(0);
    let files = files(&crawl.data().join("warc"));
    assert!(files.len() > 1);
    assert_eq!(stored(&bucket), files);
    // Nothing is left to upload.
    let asked = bucket.see(|held| held.asked.len());
    run(command(&crawl, &settings, &[])).expect(0);
    assert_eq!(bucket.see(|held| held.asked.len()), asked);
}

#[test]
fn a_secret_that_is_wrong_is_told_and_nowhere_shown() {
    let web = Web::start(vec![linking(&numbered(1))]);
    let (crawl, bucket) = (Place::new(), Bucket::start());
    let seed = web.url(0, "/");
    let unsigned = crawl.file(
        "settings.toml",
        &format!("[archive]\n{}", bucket.settings()),
    );
    let unsigned = crawl.command(&[&seed, "--config", &unsigned]);
    run(unsigned)
        .expect(2)
        .says(&["AWS_ACCESS_KEY_ID", "archive.upload_credentials"]);
    let mut wrong = command(&crawl, &bucket.settings(), &[&seed]);
    wrong.env("AWS_SECRET_ACCESS_KEY", "hush");
    let told = run(wrong).expect(0);
    assert!(told.stderr.contains("403 Forbidden"), "{}", told.stderr);
    let status = crawl.ask(&["status"]).expect(0).stdout;
    assert!(
        status.contains("archive.upload") && status.contains("403"),
        "{status}"
    );
    for text in [told.stderr, told.stdout, status] {
        assert!(!text.contains("hush") && !text.contains("X-Amz"), "{text}");
    }
    run(command(&crawl, &bucket.settings(), &[])).expect(0);
    assert_eq!(stored(&bucket), files(&crawl.data().join("warc")));
}

#[test]
fn a_file_is_deleted_only_if_the_store_has_all_of_it() {
    let web = Web::start(vec![linking(&numbered(1))]);
    let (crawl, bucket) = (Place::new(), Bucket::start());
    let settings = format!("{}after_upload = \"delete\"\n", bucket.settings());
    bucket.change(|held| held.tells_wrong_tags = true);
    run(command(&crawl, &settings, &[&web.url(0, "/")])).expect(0);
    let warc = crawl.data().join("warc");
    let kept = files(&warc);
    assert_eq!(kept.len(), 2);
    let status = crawl.ask(&["status"]).expect(0).stdout;
    assert!(
        status.contains("1  closed files are to leave by archive.upload"),
        "{status}"
    );
    bucket.change(|held| held.tells_wrong_tags = false);
    run(command(&crawl, &settings, &[])).expect(0);
    assert!(files(&warc).keys().all(|name| !name.ends_with(".warc.gz")));
    assert_eq!(stored(&bucket), kept);
}

/// Kills the crawl at each request of an upload in parts. The object is whole or absent, no part is
/// left behind for ever, and the file is there until the object is.
#[test]
fn a_kill_at_any_part_leaves_the_object_whole_or_absent() {
    let web = large();
    let (crawl, bucket) = (Place::new(), Bucket::start());
    let settings = format!("{}after_upload = \"delete\"\n", bucket.settings());
    let warc = crawl.data().join("warc");
    let seed = web.url(0, "/");
    let mut file = BTreeMap::new();
    for at in [
        "HEAD",
        "POST begin",
        "PUT upload part 1",
        "PUT upload part 2",
        "POST upload",
    ] {
        bucket.change(|held| {
            held.asked.clear();
            held.silent_from = Some(at.to_owned());
        });
        let running = Running::start(command(&crawl, &settings, &[&seed]));
        bucket.wait_until(|held| held.asked.iter().any(|it| it.starts_with(at)));
        running.signal(rustix::process::Signal::KILL);
        running.end();
        file = files(&warc);
        assert_eq!(file.len(), 2, "{at}");
        assert!(stored(&bucket).is_empty(), "{at}");
    }
    bucket.change(|held| held.silent_from = None);
    run(command(&crawl, &settings, &[&seed])).expect(0);
    assert_eq!(stored(&bucket), file);
    assert_eq!(files(&warc).len(), 1);
    assert!(bucket.see(|held| held.parts.is_empty()));
    assert!(bucket.see(|held| {
        held.asked
            .iter()
            .any(|it| it.starts_with("PUT upload part 2"))
    }));
}
