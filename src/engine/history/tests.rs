//! Tests of the history: rings, the file, and what is made of both.

use std::fmt::Write as _;
use std::fs;

use super::*;
use crate::engine::Crawl;
use crate::engine::Limit;
use crate::engine::testing::options;

const MINUTE: u64 = 60_000;
const HOUR: u64 = 60 * MINUTE;
const DAY: u64 = 24 * HOUR;
/// A point in time at which a minute, an hour and a day begin.
const NOW: u64 = 20_000 * DAY;

/// A data directory, and its history as a run that starts at `NOW` opens it.
fn begin() -> (tempfile::TempDir, History) {
    let place = tempfile::tempdir().unwrap();
    fs::create_dir(place.path().join("log")).unwrap();
    let history = History::open(place.path(), Moment(NOW));
    (place, history)
}

/// Figures in which each series has the value `value`.
fn all(value: u64) -> (Vec<u64>, Vec<(String, u64)>) {
    (vec![value; SERIES.len()], Vec::new())
}

fn times(series: &Series) -> Vec<u64> {
    series.rows.iter().map(|row| row.time).collect()
}

fn row(time: u64, values: &[u64]) -> Row {
    Row {
        time,
        values: values.into(),
    }
}

fn names(names: &[&str]) -> Vec<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

/// What a file has: times, and the values by name.
fn read_file(path: &Path) -> Vec<(u64, Vec<(String, u64)>)> {
    let mut rows = Vec::new();
    file::read(path, &mut |names, row| {
        let values = names.iter().cloned().zip(row.values);
        rows.push((row.time, values.collect()));
    })
    .unwrap();
    rows
}

#[test]
fn each_ring_has_its_steps_and_its_length() {
    let (_place, history) = begin();
    for second in 0..2 * 3_600_u64 {
        history.add(NOW + second * 1_000 + 7, all(second));
    }
    let check = |resolution, step: u64, length: usize| {
        let series = history.read(resolution).unwrap();
        assert_eq!((series.resolution_ms, series.rows.len()), (step, length));
        let apart = times(&series);
        assert!(apart.windows(2).all(|two| two[1] - two[0] == step));
        assert_eq!(series.rows[0].values.len(), series.series.len());
    };
    check(Resolution::Second, 1_000, 300);
    check(Resolution::TenSeconds, 10_000, 360);
    check(Resolution::Minute, MINUTE, 120);
    let last = history
        .read(Resolution::Second)
        .unwrap()
        .rows
        .pop()
        .unwrap();
    assert_eq!(last.values[0], Some(7_199));
}

#[test]
fn a_series_that_is_new_is_unknown_before() {
    let (_place, history) = begin();
    history.add(NOW, all(1));
    let (values, _) = all(2);
    history.add(NOW + 1_000, (values, vec![("failures.dns".to_owned(), 5)]));
    history.add(NOW + 2_000, all(UNKNOWN));
    let series = history.read(Resolution::Second).unwrap();
    assert_eq!(series.series.last().unwrap(), "failures.dns");
    let last: Vec<_> = series
        .rows
        .iter()
        .map(|row| *row.values.last().unwrap())
        .collect();
    assert_eq!(last, [None, Some(5), None]);
    assert_eq!(series.rows[2].values[0], None);
    let json = serde_json::to_value(&series.rows[0]).unwrap();
    assert_eq!(json[0], NOW);
    assert_eq!(json[1], 1);
    assert!(json.as_array().unwrap().last().unwrap().is_null());
}

#[test]
fn there_are_never_more_series_than_there_is_room_for() {
    let (_place, history) = begin();
    let others = (0..1_000).map(|number| (format!("links.{number}"), number));
    history.add(NOW, (all(1).0, others.collect()));
    let series = history.read(Resolution::Second).unwrap();
    assert_eq!(series.series.len(), MAX_SERIES);
}

#[test]
fn the_file_outlives_the_process_and_a_torn_line() {
    let (place, history) = begin();
    let path = history.path();
    let first = names(&["pages", "queued"]);
    file::append(&path, Some(&first), &row(NOW - 3 * MINUTE, &[1, 10])).unwrap();
    file::append(&path, None, &row(NOW - 2 * MINUTE, &[2, UNKNOWN])).unwrap();
    // A kill cuts a line.
    let whole = fs::read(&path).unwrap();
    fs::write(&path, [&whole[..], b"[17,3"].concat()).unwrap();
    // The next run goes on, with another series before.
    let later = names(&["bytes", "pages"]);
    file::append(&path, Some(&later), &row(NOW - MINUTE, &[700, 4])).unwrap();
    let read = read_file(&path);
    let values = |time, pairs: &[(&str, u64)]| {
        let pairs = pairs
            .iter()
            .map(|(name, value)| ((*name).to_owned(), *value));
        (time, pairs.collect::<Vec<_>>())
    };
    assert_eq!(
        read,
        [
            values(NOW - 3 * MINUTE, &[("pages", 1), ("queued", 10)]),
            values(NOW - 2 * MINUTE, &[("pages", 2), ("queued", UNKNOWN)]),
            values(NOW - MINUTE, &[("bytes", 700), ("pages", 4)]),
        ]
    );
    let history = History::open(place.path(), Moment(NOW));
    let series = history.read(Resolution::Minute).unwrap();
    assert_eq!(
        times(&series),
        [NOW - 3 * MINUTE, NOW - 2 * MINUTE, NOW - MINUTE]
    );
    let pages = series
        .series
        .iter()
        .position(|name| name == "pages")
        .unwrap();
    let pages: Vec<_> = series.rows.iter().map(|row| row.values[pages]).collect();
    assert_eq!(pages, [Some(1), Some(2), Some(4)]);
    // What is shown of all is the same.
    let all = history.read(Resolution::All).unwrap();
    assert_eq!((all.resolution_ms, all.rows), (MINUTE, series.rows));
}

#[test]
fn what_is_no_history_is_passed_over() {
    let (place, history) = begin();
    let path = history.path();
    let long = format!("{{\"series\":[\"{}\"]}}", "x".repeat(MAX_LINE_TEST));
    let many: Vec<_> = (0..=MAX_SERIES).map(|it| it.to_string()).collect();
    let many = serde_json::json!({ "series": many }).to_string();
    let rows = format!("{long}\n[1,2]\n{many}\n\0\0\0\n[\"a\"]\n{{}}\n[-5,1]\n");
    fs::write(
        &path,
        format!("[5,6]\n{rows}{{\"series\":[\"a\"]}}\n[1]\n[7,8]\n[7,8,9]"),
    )
    .unwrap();
    assert_eq!(read_file(&path), [(7, vec![("a".to_owned(), 8)])]);
    fs::remove_file(&path).unwrap();
    assert_eq!(whole(place.path()).unwrap().rows, []);
    fs::create_dir(&path).unwrap();
    // Neither stops the crawl.
    History::open(place.path(), Moment(NOW));
    assert!(whole(place.path()).is_err());
}

/// Longer than a line may be.
const MAX_LINE_TEST: usize = 20_000;

#[test]
fn years_of_it_stay_small() {
    let (_place, history) = begin();
    let path = history.path();
    let named = names(&["pages"]);
    let mut text = serde_json::json!({ "series": named }).to_string() + "\n";
    // Two years, by the half hour; two months by the minute, and two days by the second or so.
    let mut time = NOW - 730 * DAY;
    let mut count = 0;
    while time <= NOW {
        writeln!(text, "[{time},{count}]").unwrap();
        count += 1;
        time += match NOW - time {
            age if age > 60 * DAY => 30 * MINUTE,
            age if age > 2 * DAY => MINUTE,
            _ => 20_000,
        };
    }
    fs::write(&path, &text).unwrap();
    file::thin(&path, NOW).unwrap();
    let kept = read_file(&path);
    let within = |from: u64, to: u64| {
        let is_in = |time: u64| time > NOW - from && time <= NOW - to;
        kept.iter().filter(|(time, _)| is_in(*time)).count() as u64
    };
    assert_eq!(within(DAY - 1, 0), DAY / 20_000);
    let minutes = 29 * DAY / MINUTE;
    assert!((minutes..=minutes + 1).contains(&within(30 * DAY, DAY)));
    let hours = 335 * 24;
    assert!((hours..=hours + 1).contains(&within(365 * DAY, 30 * DAY)));
    assert!((365..=366).contains(&within(730 * DAY, 365 * DAY)));
    // The last row of each span is kept, and nothing is out of order.
    assert!(
        kept.windows(2)
            .all(|two| two[0].0 < two[1].0 && two[0].1[0].1 < two[1].1[0].1)
    );
    assert_eq!(kept.last().unwrap().1[0].1, count - 1);
    let hour = kept
        .iter()
        .find(|(time, _)| *time > NOW - 300 * DAY)
        .unwrap();
    assert_eq!(hour.0 % HOUR, 30 * MINUTE);
    // What has nothing to thin out is not written again.
    let before = fs::metadata(&path).unwrap().modified().unwrap();
    file::thin(&path, NOW).unwrap();
    assert_eq!(fs::metadata(&path).unwrap().modified().unwrap(), before);
    // All of it is shown in a bounded number of rows, from the first to the last.
    let series = history.read(Resolution::All).unwrap();
    assert!(
        (MAX_ROWS / 2..=MAX_ROWS).contains(&series.rows.len()),
        "{}",
        series.rows.len()
    );
    assert_eq!(series.rows[0].time, kept[0].0);
    assert_eq!(
        series.rows.last().unwrap().time,
        NOW - (NOW - kept.last().unwrap().0)
    );
}

#[test]
fn a_run_writes_often_while_it_is_young_and_once_a_minute_then() {
    let place = tempfile::tempdir().unwrap();
    let crawl = Crawl::open(place.path(), options()).unwrap();
    let (watch, path) = (crawl.watch(), file::path(place.path()));
    let mut historian = Historian::new(watch.clone(), Moment(NOW));
    for second in 0..=3 * 3_600_u64 {
        historian.note(Moment(NOW + second * 1_000), false);
    }
    historian.note(Moment(NOW + 3 * HOUR + 500), true);
    let times: Vec<u64> = read_file(&path).iter().map(|(time, _)| *time).collect();
    let of_hour = |hour: u64| {
        let from = NOW + hour * HOUR;
        times
            .iter()
            .filter(|time| (from..from + HOUR).contains(time))
            .count()
    };
    assert_eq!(times[..3], [NOW, NOW + 1_000, NOW + 2_000]);
    assert!((200..400).contains(&of_hour(0)), "{}", of_hour(0));
    assert_eq!([of_hour(1), of_hour(2)], [60, 60]);
    assert_eq!(times.last(), Some(&(NOW + 3 * HOUR + 500)));
    // A day later what is older than a day is thinned, and what comes next is not lost.
    let mut historian = Historian::new(watch, Moment(NOW));
    historian.note(Moment(NOW + 26 * HOUR), false);
    historian.note(Moment(NOW + 26 * HOUR + MINUTE), true);
    historian.note(Moment(NOW + 26 * HOUR + 2 * MINUTE), true);
    let rows = read_file(&path);
    let early = rows.iter().filter(|(time, _)| *time < NOW + HOUR).count();
    assert_eq!(early, 60);
    let last: Vec<_> = rows
        .iter()
        .rev()
        .take(3)
        .map(|(time, _)| *time - NOW - 26 * HOUR)
        .collect();
    assert_eq!(last, [2 * MINUTE, MINUTE, 0]);
    // What is known of the process and its disk is there.
    let (_, values) = rows.last().unwrap();
    let value = |name: &str| values.iter().find(|it| it.0 == name).map(|it| it.1);
    assert!(value("rss").is_some_and(|rss| rss > 1 << 20));
    assert!(value("disk_free").is_some_and(|free| free != UNKNOWN));
    assert_eq!(value("saved_bytes"), Some(0));
}

#[test]
fn rows_are_spread_over_time() {
    let check = |times: &[u64], most: usize, expected: &[u64]| {
        let rows = times.iter().map(|time| row(*time, &[])).collect();
        let kept: Vec<_> = spread(rows, most).iter().map(|row| row.time).collect();
        assert_eq!(kept, expected, "{times:?}");
    };
    check(&[], 3, &[]);
    check(&[5, 6, 7], 3, &[5, 6, 7]);
    check(&[0, 1, 2, 3, 4, 5, 6], 4, &[0, 2, 4, 6]);
    check(&[0, 1, 2, 3, 100], 3, &[0, 3, 100]);
    check(&[9, 9, 9, 9], 3, &[9]);
    // Out of order, by a clock that was set back.
    check(&[50, 60, 70, 0, 10], 3, &[0, 10, 70]);
}

#[test]
fn limits_are_numbered_as_they_are_named() {
    assert_eq!(LIMITS.to_vec(), Limit::names());
    let numbers = Limit::names().len() as u64;
    assert_eq!(Limit::Ending as u64 + 1, numbers);
}

#[test]
fn a_resolution_is_named_or_refused() {
    for (text, expected) in [
        ("1s", Resolution::Second),
        ("10s", Resolution::TenSeconds),
        ("1m", Resolution::Minute),
        ("all", Resolution::All),
    ] {
        assert_eq!(text.parse(), Ok(expected));
    }
    let error = "5s".parse::<Resolution>().unwrap_err().to_string();
    assert_eq!(
        error,
        "\"5s\" is no resolution of the history; there are 1s, 10s, 1m and all"
    );
}

#[test]
fn what_an_earlier_version_did_not_count_is_counted_once() {
    use crate::engine::testing::{World, html, words};
    use crate::store::{Batch, Durability, Table, keys};

    let mut world = World::new();
    for page in 0..4 {
        let url = format!("http://h{page}.example/");
        world.visit(&url, &html("<title>The same</title>", &words(page / 3)));
    }
    let counted = world.watch().saved();
    assert!(counted["raw"] > 100, "{counted:?}");
    let mut batch = Batch::new();
    batch.delete(Table::Meta, keys::meta::SAVED);
    world.store().commit(batch, Durability::Disk).unwrap();
    world.restart();
    assert_eq!(world.watch().saved(), counted);
    let row = world.store().get(Table::Meta, keys::meta::SAVED).unwrap();
    assert!(row.is_some(), "the next run need not count");
}
