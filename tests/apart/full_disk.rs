//! A disk that fills up during a crawl: a clear end, and nothing stored is lost. The disk is a
//! memory file system of a few megabytes, mounted in a name space of the child's own. A limit on
//! the size of files is another way to have no room: the system's answer and the exit code are
//! others.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::process::Command;

use gleaner::engine::LogLine;

use crate::need::name_space;
use crate::run::{Output, Place, Running, anchors, log, page, pages, prepared, records};
use crate::web::{Answer, Site, Web};

/// As it is documented.
const DISK_FULL: i32 = 4;

/// Bytes of the disk: room for an empty crawl and a few pages.
const SIZE: usize = 2 << 20;

/// Bytes of a page that cannot be compressed much; all pages together exceed the disk by far.
const PAGE: usize = 200_000;
const PAGES: usize = 80;

/// Bytes of a file, where files are limited: the engine's journal, which is sparse, needs
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

/// A script in a name space in which it can mount file systems.
fn mounting(script: &str) -> Command {
    let mut command = Command::new("unshare");
    command
        .args(name_space().expect("the test is ignored otherwise"))
        .args(["sh", "-c", script, "sh"]);
    prepared(command)
}

/// The arguments of a command, but for its data directory, which is the script's to name.
fn without_directory<'a>(command: &'a Command, place: &Place) -> Vec<&'a OsStr> {
    let data = place.data();
    let named = [OsStr::new("--data-dir"), data.as_os_str()];
    let arguments = command.get_args();
    arguments.filter(|it| !named.contains(it)).collect()
}

/// What stands for a disk.
enum Disk {
    /// A file system of [`SIZE`] bytes.
    Small,
    /// Files of [`FILE_SIZE`] bytes at most.
    OfSmallFiles,
}

/// Runs the crawl until the disk is full.
fn fill(place: &Place, seed: &str, disk: &Disk) -> Output {
    let inner = place.command(&[seed]);
    let (mut command, size, code) = match disk {
        Disk::Small => (mounting(ON_A_SMALL_DISK), SIZE, DISK_FULL),
        Disk::OfSmallFiles => {
            let mut command = Command::new("sh");
            command.args(["-c", WITH_SMALL_FILES, "sh"]);
            (prepared(command), FILE_SIZE, 1)
        }
    };
    command
        .arg(place.data())
        .arg(inner.get_program())
        .args(without_directory(&inner, place))
        .env("SIZE", size.to_string())
        .env("GLEANER_STATE_DISK_RESERVE", "0");
    Running::start(command).end().expect(code)
}

pub(crate) fn a_full_disk_ends_the_run_and_nothing_stored_is_lost() {
    let output = ends_and_loses_nothing(PAGE, &Disk::Small);
    let output = output.says(&["the disk is full", "hint: free some space", "same command"]);
    assert!(!output.stderr.contains("panicked"), "{output:?}");
}

pub(crate) fn a_limit_on_files_ends_the_run_and_nothing_stored_is_lost() {
    ends_and_loses_nothing(LARGE_PAGE, &Disk::OfSmallFiles);
}

/// Crawls pages of a size until there is no room, then again with room; what the first run said.
fn ends_and_loses_nothing(page: usize, disk: &Disk) -> Output {
    let web = web(page);
    let place = Place::new();
    let seed = web.url(0, "/0");
    let output = fill(&place, &seed, disk);
    assert!(output.stderr.contains("error: "), "{output:?}");
    let stored = place.status().counters;
    assert!(stored.pages > 0, "the disk was too small for one page");
    assert!(stored.queued > 0, "the disk was not full");

    // With room, the same command goes on: nothing is fetched again but what was not committed.
    let asked_before = web.requests().len();
    let log_before = log(&place.data());
    let says = format!("resumed: {} queued, {} done", stored.queued, stored.pages);
    place.crawl(&[&seed]).says(&[&says]);
    let asked_after = web.requests().len() - asked_before;
    // A few pages are asked for once more to see whether they change with each fetch. What the log
    // says of visits that could not be committed is cut off.
    let log = log(&place.data());
    let is_same = |(a, b): &(&LogLine, &LogLine)| a.time == b.time && a.url == b.url;
    let kept = log_before.iter().zip(&log).take_while(is_same).count();
    let (_, new) = log.split_at(kept);
    let checked = |lines: &[LogLine]| lines.iter().filter(|it| it.verdict == "checked").count();
    assert_eq!(asked_after, PAGES - stored.pages as usize + checked(new));
    let pages = pages(&place.data());
    assert_eq!(pages.len(), PAGES);
    assert!(pages.values().all(|line| line.verdict == "unique"));
    assert_eq!(log.len(), PAGES + 1 + checked(&log));

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
    output
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

pub(crate) fn a_crawl_that_had_no_room_to_begin_begins_when_there_is_room() {
    for size in [4, 8, 16, 24, 32, 48, 64, 96, 128, 192] {
        let web = Web::start(vec![Site::new().page("/", Answer::html(page("home", &[])))]);
        let place = Place::new();
        let inner = place.command(&[&web.url(0, "/")]);
        let mut command = mounting(MAKE_ROOM);
        command
            .arg(place.data())
            .arg(inner.get_program())
            .args(inner.get_args())
            .env("SIZE", size.to_string())
            .env("GLEANER_STATE_DISK_RESERVE", "0");
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
            until "$1" status --data-dir "$directory/data" | grep '^limit *disk' >&2; do :; done
            read -r line < "$go"
            rm "$directory/others" ;;
        esac
    done
"#;

pub(crate) fn below_the_reserve_no_visit_is_made_until_there_is_room() {
    let web = Web::start(vec![Site::new().page("/", Answer::html(page("home", &[])))]);
    let place = Place::new();
    let go = std::path::Path::new(&place.file("go", "")).with_extension("pipe");
    let mode = rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR;
    rustix::fs::mkfifoat(rustix::fs::CWD, &go, mode).expect("a pipe with a name");
    let inner = place.command(&[&web.url(0, "/")]);
    let mut command = mounting(BELOW_THE_RESERVE);
    command
        .args([place.data().as_os_str(), go.as_os_str()])
        .arg(inner.get_program())
        .args(without_directory(&inner, &place))
        .env("GLEANER_STATE_DISK_RESERVE", "16MB");
    let running = Running::start(command);
    running.wait_for_line("less than state.disk_reserve: no visits are made until it has 17 MB");
    running.wait_for_line("  disk (full disk");
    assert_eq!(web.requests().len(), 0);
    std::fs::write(&go, "go\n").expect("the script reads it");
    running.wait_for_line("free: the crawl goes on");
    running.wait_for_line("ended: 0");
    assert_eq!(running.end().code, 0);
    let paths: Vec<_> = web.requests().into_iter().map(|it| it.path).collect();
    assert_eq!(paths, ["/robots.txt", "/"]);
}
