//! A disk that fills up during a crawl: a clear end, and nothing stored is lost.
//!
//! The disk is a memory file system of a few megabytes, mounted in a name space of the child's own.
//! Where the kernel allows no such thing, a limit on the size of files takes its place: the
//! system's answer has another name then, and so has the exit code.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::process::{Command, Stdio};

use crate::run::{Output, Place, Running, anchors, log, page, pages, records};
use crate::web::{Answer, Site, Web};

/// As it is documented.
const DISK_FULL: i32 = 4;

/// Bytes of the disk: room for an empty crawl and a few pages.
const SIZE: usize = 2 << 20;

/// Bytes of a page that cannot be compressed much; all pages together exceed the disk by far.
const PAGE: usize = 200_000;
const PAGES: usize = 80;

/// Bytes of a file, where files are limited instead: the engine's journal, which is sparse, needs
/// 64 MiB. Pages are larger then.
const FILE_SIZE: usize = (64 << 20) + 1_024;
const LARGE_PAGE: usize = 1_500_000;

/// Runs gleaner on a small disk. What it wrote is copied from there when it has ended, into the
/// place's data directory. The script's arguments: the copy, then the command but its directory.
const ON_A_SMALL_DISK: &str = r#"
    copy=$1; shift
    small=$copy.small
    mkdir "$small" "$copy" && mount -t tmpfs -o size=$SIZE tmpfs "$small" || exit 100
    mkdir "$small/data"
    "$@" --data-dir "$small/data"
    code=$?
    cp -a "$small/data/." "$copy/" || exit 101
    exit $code
"#;

const WITH_SMALL_FILES: &str = r#"
    copy=$1; shift
    trap '' XFSZ
    ulimit -f $((SIZE / 512))
    exec "$@" --data-dir "$copy"
"#;

/// Letters without order, the same for the same number.
fn noise(number: usize, length: usize) -> String {
    let mut state = number as u64 + 1;
    (0..length)
        .map(|at| {
            // xorshift (Marsaglia, "Xorshift RNGs", 2003).
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            if at % 8 == 7 {
                ' '
            } else {
                char::from(b'a' + (state >> 32) as u8 % 26)
            }
        })
        .collect()
}

fn web(page: usize) -> Web {
    Web::start(vec![Site::new().robots("").otherwise(move |request| {
        let number: usize = request.path[1..].parse().unwrap_or(0);
        let links = anchors((1..PAGES).map(|number| format!("/{number}")));
        Answer::html(format!("<p>{}</p>{links}", noise(number, page)))
    })])
}

/// Whether a name space with file systems of its own can be had; how, if so.
fn name_space() -> Option<Vec<&'static str>> {
    let ways = [
        vec!["--user", "--map-root-user", "--mount"],
        // For root where users may not.
        vec!["--mount"],
    ];
    ways.into_iter().find(|way| {
        let script = "mount -t tmpfs -o size=64k tmpfs /tmp";
        Command::new("unshare")
            .args(way)
            .args(["sh", "-c", script])
            .output()
            .is_ok_and(|output| output.status.success())
    })
}

/// The arguments of a command, but for its data directory, which is the script's to name.
fn without_directory<'a>(command: &'a Command, place: &Place) -> Vec<&'a OsStr> {
    let data = place.data();
    let named = [OsStr::new("--data-dir"), data.as_os_str()];
    let arguments = command.get_args();
    arguments.filter(|it| !named.contains(it)).collect()
}

/// Runs the crawl until the disk is full.
fn fill(place: &Place, seed: &str) -> Output {
    let inner = place.command(&[seed]);
    let (mut command, script, size, code) = match name_space() {
        Some(way) => {
            let mut command = Command::new("unshare");
            command.args(way).arg("sh");
            (command, ON_A_SMALL_DISK, SIZE, DISK_FULL)
        }
        None => {
            eprintln!("no name space of its own is allowed here: limiting the size of files");
            (Command::new("sh"), WITH_SMALL_FILES, FILE_SIZE, 1)
        }
    };
    command
        .arg("-c")
        .arg(script)
        .arg("sh")
        .arg(place.data())
        .arg(inner.get_program())
        .args(without_directory(&inner, place))
        .env("SIZE", size.to_string())
        .env("NO_COLOR", "1")
        .env("GLEANER_STATE_DISK_RESERVE", "0")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    Running::start(command).end().expect(code)
}

#[test]
fn a_full_disk_ends_the_run_and_nothing_stored_is_lost() {
    let is_disk = name_space().is_some();
    let web = web(if is_disk { PAGE } else { LARGE_PAGE });
    let place = Place::new();
    let seed = web.url(0, "/0");
    let output = fill(&place, &seed);
    assert!(output.stderr.contains("error: "), "{output:?}");
    if output.code == DISK_FULL {
        let output = output.says(&["the disk is full", "hint: free some space", "same command"]);
        assert!(!output.stderr.contains("panicked"), "{output:?}");
    }
    let stored = place.status().counters;
    assert!(stored.pages > 0, "the disk was too small for one page");
    assert!(stored.queued > 0, "the disk was not full");

    // With room, the same command goes on: nothing is fetched again but what was not committed.
    let asked_before = web.requests().len();
    let says = format!("resumed: {} queued, {} done", stored.queued, stored.pages);
    place.crawl(&[&seed]).says(&[&says]);
    let asked_after = web.requests().len() - asked_before;
    assert_eq!(asked_after, PAGES - stored.pages as usize);
    let pages = pages(&place.data());
    assert_eq!(pages.len(), PAGES);
    assert!(pages.values().all(|line| line.verdict == "unique"));
    assert_eq!(log(&place.data()).len(), PAGES + 1);

    // Each page's record is there, once and whole.
    let mut responses: BTreeMap<String, usize> = BTreeMap::new();
    for record in records(&place.data()) {
        if record.header("WARC-Type") == Some("response") {
            let url = record.header("WARC-Target-URI").unwrap_or_default();
            *responses.entry(url.to_owned()).or_default() += 1;
        }
    }
    assert_eq!(responses.len(), PAGES + 1);
    assert!(responses.values().all(|&times| times == 1), "{responses:?}");
}

/// Begins a crawl on a disk of so many kilobytes, makes room there, and runs the same command.
const MAKE_ROOM: &str = r#"
    directory=$1; shift
    mkdir "$directory" && mount -t tmpfs -o size=${SIZE}k tmpfs "$directory" || exit 100
    "$@" >&2
    echo "first: $?" >&2
    mount -o remount,size=64m "$directory" || exit 101
    exec "$@"
"#;

#[test]
fn a_crawl_that_had_no_room_to_begin_begins_when_there_is_room() {
    let Some(way) = name_space() else {
        // A limit on the size of files cannot be raised again; the other test says more.
        eprintln!("no name space of its own is allowed here: this could not be tested");
        return;
    };
    for size in [4, 8, 16, 24, 32, 48, 64, 96, 128, 192] {
        let web = Web::start(vec![Site::new().page("/", Answer::html(page("home", &[])))]);
        let place = Place::new();
        let inner = place.command(&[&web.url(0, "/")]);
        let mut command = Command::new("unshare");
        command
            .args(&way)
            .args(["sh", "-c", MAKE_ROOM, "sh"])
            .arg(place.data())
            .arg(inner.get_program())
            .args(inner.get_args())
            .env("SIZE", size.to_string())
            .env("GLEANER_STATE_DISK_RESERVE", "0")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let output = Running::start(command).end();
        assert_eq!(output.code, 0, "{size} kB: {output:#?}");
        let first = &output.stderr[..output.stderr.find("first: ").expect("it ended")];
        let ended = &output.stderr[first.len()..];
        assert!(!first.contains("panicked"), "{size} kB: {first}");
        if !ended.starts_with("first: 0") {
            assert!(ended.starts_with("first: 4"), "{size} kB: {output:#?}");
            assert!(
                first.contains("hint: free some space"),
                "{size} kB: {first}"
            );
        }
    }
}

/// Begins a crawl on a disk that has less room than its reserve. When it has said so, and what
/// `gleaner status` says was passed on, it waits for a line from a pipe, and makes room.
const BELOW_THE_RESERVE: &str = r#"
    directory=$1; go=$2; shift 2
    mkdir "$directory" && mount -t tmpfs -o size=24m tmpfs "$directory" || exit 100
    mkdir "$directory/data"
    head -c 16000000 /dev/zero > "$directory/others"
    { "$@" --data-dir "$directory/data" 2>&1 >/dev/null; echo "ended: $?"; } | while read -r line; do
        echo "$line" >&2
        case $line in *"no visits are made"*)
            until "$1" status --data-dir "$directory/data" | grep 'limit: disk' >&2; do :; done
            read -r line < "$go"
            rm "$directory/others" ;;
        esac
    done
"#;

#[test]
fn below_the_reserve_no_visit_is_made_until_there_is_room() {
    let Some(way) = name_space() else {
        eprintln!("no name space of its own is allowed here: this could not be tested");
        return;
    };
    let web = Web::start(vec![Site::new().page("/", Answer::html(page("home", &[])))]);
    let place = Place::new();
    let go = std::path::Path::new(&place.file("go", "")).with_extension("pipe");
    let mode = rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR;
    rustix::fs::mkfifoat(rustix::fs::CWD, &go, mode).expect("a pipe with a name");
    let inner = place.command(&[&web.url(0, "/")]);
    let mut command = Command::new("unshare");
    command
        .args(&way)
        .args(["sh", "-c", BELOW_THE_RESERVE, "sh"])
        .args([place.data().as_os_str(), go.as_os_str()])
        .arg(inner.get_program())
        .args(without_directory(&inner, &place))
        .env("NO_COLOR", "1")
        .env("GLEANER_STATE_DISK_RESERVE", "16MB")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let running = Running::start(command);
    running.wait_for_line("less than state.disk_reserve: no visits are made until it has 17 MB");
    running.wait_for_line("limit: disk (a full disk");
    assert_eq!(web.requests().len(), 0);
    std::fs::write(&go, "go\n").expect("the script reads it");
    running.wait_for_line("free: the crawl goes on");
    running.wait_for_line("ended: 0");
    assert_eq!(running.end().code, 0);
    let paths: Vec<_> = web.requests().into_iter().map(|it| it.path).collect();
    assert_eq!(paths, ["/robots.txt", "/"]);
}
