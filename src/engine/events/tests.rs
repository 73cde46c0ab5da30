//! Tests of the ring of events.

use std::fs;
use std::path::PathBuf;
use std::thread;

use strum::VariantArray as _;

use super::*;
use crate::url::HostKey;

/// A ring of `slots` that begins at number 5,000.
fn ring(slots: usize) -> Events {
    Events::with_slots(slots, Moment(5))
}

fn checkpoint(events: &Events, sequence: u64) {
    events.tell(&Happening::Checkpoint { sequence });
}

fn ids(told: &Told) -> Vec<u64> {
    told.events.iter().map(|event| event.id).collect()
}

#[test]
fn whoever_follows_hears_each_event_once() {
    let events = ring(8);
    assert_eq!(
        (events.after(None, 10), events.last()),
        (Told::default(), 4_999)
    );
    (0..5).for_each(|sequence| checkpoint(&events, sequence));
    let all = events.after(None, 10);
    assert_eq!(
        (ids(&all), all.missed),
        (vec![5_000, 5_001, 5_002, 5_003, 5_004], None)
    );
    assert_eq!(events.last(), 5_004);
    assert_eq!(ids(&events.after(Some(5_002), 1)), [5_003]);
    assert_eq!(events.after(Some(5_004), 10), Told::default());
    // Number 4,999 is what a reader of nothing knows.
    assert_eq!(events.after(Some(4_999), 10), all);
    // What is told is shared, not copied.
    let again = events.after(None, 1);
    assert!(Arc::ptr_eq(&again.events[0], &all.events[0]));
}

#[test]
fn what_is_gone_is_said_to_be_missed() {
    let events = ring(4);
    (0..10).for_each(|sequence| checkpoint(&events, sequence));
    let missed = |after, next| Some(Missed { after, next });
    let behind = events.after(Some(5_002), 2);
    assert_eq!(
        (behind.missed, ids(&behind)),
        (missed(5_002, 5_006), vec![5_006, 5_007])
    );
    // The event before the oldest is all that must be known to miss none.
    assert_eq!(events.after(Some(5_005), 9).missed, None);
    // An earlier run had lower numbers; if its clock was ahead, higher ones.
    assert_eq!(events.after(Some(17), 9).missed, missed(17, 5_006));
    assert_eq!(events.after(Some(70_000), 9).missed, missed(70_000, 5_006));
    assert_eq!(ids(&events.after(None, 9)).len(), 4);
}

#[tokio::test]
async fn who_knew_an_earlier_run_is_told_at_once_that_some_are_gone() {
    let events = ring(4);
    let mut follower = events.follow(Some(17));
    let told = follower.next(9).await;
    let missed = Missed {
        after: 17,
        next: 5_000,
    };
    assert_eq!((told.missed, ids(&told)), (Some(missed), vec![]));
    // Once: what happens then follows on it.
    checkpoint(&events, 1);
    let told = follower.next(9).await;
    assert_eq!((told.missed, ids(&told)), (None, vec![5_000]));
}

/// A data directory.
fn place() -> tempfile::TempDir {
    let place = tempfile::tempdir().unwrap();
    fs::create_dir(place.path().join("log")).unwrap();
    place
}

fn path(place: &tempfile::TempDir) -> PathBuf {
    place.path().join("log/events.jsonl")
}

/// A run that begins at number 5,000 by the clock.
fn run(place: &tempfile::TempDir) -> Events {
    Events::open(place.path(), Moment(5))
}

/// The file of a run that told of so many checkpoints and was killed, and its last number.
fn killed(place: &tempfile::TempDir, events: u64) -> u64 {
    let run = run(place);
    (0..events).for_each(|sequence| checkpoint(&run, sequence));
    let file = fs::read(path(place)).unwrap();
    let last = run.last();
    drop(run);
    fs::write(path(place), file).unwrap();
    last
}

fn changed(place: &tempfile::TempDir, from: &str, to: &str) {
    let text = fs::read_to_string(path(place)).unwrap();
    assert!(text.contains(from), "{text}");
    fs::write(path(place), text.replace(from, to)).unwrap();
}

#[test]
fn events_go_on_behind_those_of_earlier_runs() {
    let place = place();
    let first = run(&place);
    let all = |events: &Events| ids(&events.after(None, 100));
    // A new crawl has missed nothing of its own, and knows nobody's numbers.
    assert_eq!(first.after(Some(4_998), 9).missed.unwrap().next, 5_000);
    (0..3).for_each(|sequence| checkpoint(&first, sequence));
    first.end();
    assert_eq!(all(&first), [5_000, 5_001, 5_002]);
    drop(first);
    // After an end in order, and after a kill, even of a run that told of nothing.
    drop(run(&place));
    assert_eq!(killed(&place, 2), 5_004);
    drop(run(&place));
    let third = run(&place);
    assert_eq!(third.after(Some(5_004), 9), Told::default());
    checkpoint(&third, 9);
    assert_eq!(all(&third), (5_000..=5_005).collect::<Vec<_>>());
    for known in 4_999..=5_005 {
        let told = third.after(Some(known), 100);
        let behind: Vec<_> = (known + 1..=5_005).collect();
        assert_eq!((ids(&told), told.missed), (behind, None));
    }
    // The clock goes on too.
    drop(third);
    let later = Events::open(place.path(), Moment(6));
    assert_eq!(later.last(), 5_999);
    assert_eq!(later.after(Some(5_005), 9), Told::default());
    checkpoint(&later, 1);
    assert_eq!(ids(&later.after(Some(5_004), 9)), [5_005, 6_000]);
    // Numbers that nobody was told stand for the last one before them.
    assert_eq!(ids(&later.after(Some(5_999), 9)), [6_000]);
    assert_eq!(later.after(Some(5_999), 9).missed, None);
}

#[tokio::test]
async fn what_a_power_cut_may_have_taken_is_said_to_be_missed() {
    let place = place();
    let last = killed(&place, 3);
    // The machine has started since, and the last line never came to its disk.
    let text = fs::read_to_string(path(&place)).unwrap();
    let boot = boot_of(&text);
    let lines: Vec<&str> = text.lines().collect();
    let kept = lines[..3].join("\n") + "\n";
    fs::write(path(&place), kept.replace(&boot, "another")).unwrap();

    let events = run(&place);
    let next = events.last() + 1;
    assert!(next >= 5_000 + (1 << 20), "its number is not used again");
    let missed = |after| Some(Missed { after, next });
    assert_eq!(events.after(Some(last), 9).missed, missed(last));
    // What is there is told first.
    let mut follower = events.follow(Some(5_000));
    assert_eq!(ids(&follower.next(9).await), [5_001]);
    let told = follower.next(9).await;
    assert_eq!((told.missed, ids(&told)), (missed(5_001), vec![]));
    checkpoint(&events, 7);
    let told = follower.next(9).await;
    assert_eq!((told.missed, ids(&told)), (None, vec![next]));
    drop(events);
    // The file says so from then on, to all who come behind it.
    drop(follower);
    let events = run(&place);
    assert_eq!(events.after(Some(5_001), 9).missed, missed(5_001));
    assert_eq!(events.after(Some(next - 1), 9).missed, None);
    assert_eq!(events.after(Some(5_000), 9).missed, None);
    // A run that ended in order has lost nothing, whatever came then.
    checkpoint(&events, 8);
    drop(events);
    changed(&place, &boot, "another");
    let events = run(&place);
    assert_eq!(events.after(Some(next + 1), 9), Told::default());
    assert_eq!(events.last(), next + 1);
}

/// Which start of the machine a file names.
fn boot_of(text: &str) -> String {
    let first: serde_json::Value = serde_json::from_str(text.lines().next().unwrap()).unwrap();
    first["boot"].as_str().expect("Linux tells").to_owned()
}

#[test]
fn a_torn_line_is_cut() {
    for (torn, left) in [(r#"{"id":"5003","ti"#, 3), ("\0\0\0\0\0", 3), ("", 3)] {
        let place = place();
        let last = killed(&place, left);
        let whole = fs::read_to_string(path(&place)).unwrap();
        fs::write(path(&place), format!("{whole}{torn}")).unwrap();
        let events = run(&place);
        let is_torn = !torn.is_empty();
        assert_eq!(events.after(Some(last), 9).missed.is_some(), is_torn);
        assert_eq!(ids(&events.after(Some(last - 1), 9)), [last]);
        checkpoint(&events, 9);
        let text = fs::read_to_string(path(&place)).unwrap();
        assert!(text.starts_with(&whole) && !text.contains('\0'), "{text}");
        let is_line = |line| serde_json::from_str::<serde_json::Value>(line).is_ok();
        assert!(text.lines().all(is_line), "{text}");
        drop(events);
        assert_eq!(run(&place).kept().slots.len(), 4);
        assert!(!path(&place).with_extension("jsonl.unreadable").exists());
    }
    // A line that lacks its end only is whole, but nobody knows what came then.
    let place = place();
    let last = killed(&place, 2);
    let whole = fs::read_to_string(path(&place)).unwrap();
    fs::write(path(&place), whole.trim_end()).unwrap();
    let events = run(&place);
    assert_eq!(ids(&events.after(None, 9)), [last - 1, last]);
    assert!(events.after(Some(last), 9).missed.is_some());
    checkpoint(&events, 9);
    drop(events);
    let text = fs::read_to_string(path(&place)).unwrap();
    assert!(text.starts_with(&whole), "{text}");
    assert_eq!(run(&place).kept().slots.len(), 3);
}

#[test]
fn a_file_that_cannot_be_read_is_set_aside() {
    let place = place();
    let last = killed(&place, 4);
    changed(&place, r#""id":"5001""#, r#""id":"77""#);
    let events = run(&place);
    let aside = path(&place).with_extension("jsonl.unreadable");
    assert!(fs::read_to_string(&aside).unwrap().contains("77"));
    assert_eq!(ids(&events.after(None, 9)), Vec::<u64>::new());
    assert!(events.after(Some(last), 9).missed.is_some());
    assert!(events.last() > last);
    checkpoint(&events, 1);
    drop(events);
    assert_eq!(ids(&run(&place).after(None, 9)).len(), 1);
    // What is no file at all stops nobody either: events are in memory then.
    fs::remove_file(path(&place)).unwrap();
    fs::create_dir_all(path(&place).join("in it")).unwrap();
    fs::remove_file(&aside).unwrap();
    fs::create_dir_all(aside.join("in it")).unwrap();
    let events = run(&place);
    checkpoint(&events, 1);
    assert_eq!(ids(&events.after(None, 9)).len(), 1);
}

#[test]
fn a_disk_that_is_full_for_a_while_costs_nothing_that_is_kept() {
    let place = place();
    let events = run(&place);
    checkpoint(&events, 0);
    let fill = |is_full: bool| events.journal().as_mut().unwrap().is_full = is_full;
    fill(true);
    (1..4).for_each(|sequence| checkpoint(&events, sequence));
    assert_eq!(ids(&events.after(None, 9)).len(), 4, "they are told");
    // A kill now would leave a file that says that it is not all.
    let text = fs::read_to_string(path(&place)).unwrap();
    assert!(text.ends_with('}'), "{text}");
    let copy = self::place();
    fs::write(path(&copy), &text).unwrap();
    let known = events.after(None, 1).events[0].id;
    let after = run(&copy).after(Some(known), 9);
    assert!(after.missed.is_some());
    fill(false);
    checkpoint(&events, 4);
    let last = events.last();
    drop(events);
    let events = run(&place);
    assert_eq!(
        ids(&events.after(Some(known), 9)),
        (known + 1..=last).collect::<Vec<_>>()
    );
}

#[test]
fn files_are_bounded() {
    let place = place();
    let events = run(&place);
    let kept = KEPT as u64;
    (0..2 * kept + 10).for_each(|sequence| checkpoint(&events, sequence));
    events.end();
    let last = events.last();
    drop(events);
    let lines = |name: &str| {
        let text = fs::read_to_string(place.path().join("log").join(name)).unwrap();
        text.lines().filter(|it| it.contains("\"id\"")).count()
    };
    assert_eq!((lines("events-1.jsonl"), lines("events.jsonl")), (KEPT, 10));
    assert_eq!(fs::read_dir(place.path().join("log")).unwrap().count(), 2);
    // The last are there after a start, and what is gone is said to be.
    let events = run(&place);
    let oldest = last - kept + 1;
    assert_eq!(ids(&events.after(None, 1)), [oldest]);
    assert_eq!(ids(&events.after(Some(oldest - 1), KEPT)).len(), KEPT);
    let missed = events.after(Some(oldest - 2), 1).missed;
    assert_eq!(missed.map(|it| it.next), Some(oldest));
    // If the earlier file is gone, so are its events and no others.
    drop(events);
    fs::remove_file(place.path().join("log/events-1.jsonl")).unwrap();
    let events = run(&place);
    assert_eq!(ids(&events.after(Some(last - 10), 99)).len(), 10);
    assert_eq!(events.after(Some(last - 10), 99).missed, None);
    assert!(events.after(Some(last - 11), 99).missed.is_some());
}

#[test]
fn what_is_forgotten_is_in_no_file() {
    let place = place();
    let events = run(&place);
    let host = |name: &str| HostKey::parse(name).unwrap();
    for name in ["https://gone.example", "https://stays.example"] {
        events.tell(&Happening::Held {
            host: host(name),
            queued: 1,
        });
    }
    let is_meant = |it: &CrawlEvent| it.host.as_deref().is_some_and(|it| it.contains("gone"));
    events.forget(&is_meant);
    checkpoint(&events, 1);
    let text = fs::read_to_string(path(&place)).unwrap();
    assert!(!text.contains("gone") && text.contains("stays"), "{text}");
    let all = events.after(None, 9);
    assert_eq!(
        (ids(&all), all.events[0].host.as_deref()),
        (vec![5_000, 5_001, 5_002], None)
    );
    drop(events);
    assert_eq!(run(&place).after(None, 9), all);
}

#[test]
fn an_event_in_json_is_what_the_docs_say() {
    let events = ring(2);
    let host = HostKey::parse("https://a.example").unwrap();
    events.tell(&Happening::Held { host, queued: 2 });
    let event = &events.after(None, 1).events[0];
    let mut json = serde_json::to_value(&**event).unwrap();
    assert!(json["time"].take().as_str().unwrap().ends_with('Z'));
    let expected = serde_json::json!({
        "id": "5000",
        "time": null,
        "kind": "held",
        "host": "https://a.example",
        "text": "the host is held: 2 URLs wait until it is released",
    });
    assert_eq!(json, expected);
    for kind in EventKind::VARIANTS {
        assert_eq!(serde_json::to_value(kind).unwrap(), kind.name());
    }
}

#[test]
fn a_long_text_is_cut_between_characters() {
    let events = ring(2);
    let file = "ä".repeat(MAX_TEXT);
    events.tell(&Happening::FileClosed { file });
    let text = &events.after(None, 1).events[0].text;
    assert_eq!(text.len(), MAX_TEXT);
    assert!(text.chars().all(|it| it == 'ä'));
}

#[test]
fn many_tell_and_many_read_and_nobody_waits_for_another() {
    const EACH: u64 = 5_000;
    let events = ring(64);
    thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| (0..EACH).for_each(|sequence| checkpoint(&events, sequence)));
        }
        for _ in 0..2 {
            scope.spawn(|| {
                let (mut known, mut heard) = (None, 0);
                let last = 5_000 + 3 * EACH - 1;
                while known != Some(last) {
                    let told = events.after(known, 16);
                    let numbers = ids(&told);
                    // Each part is a whole sequence, and goes on where the last one ended unless it
                    // says otherwise.
                    assert!(numbers.windows(2).all(|two| two[1] == two[0] + 1));
                    if let (Some(first), Some(known), None) = (numbers.first(), known, told.missed)
                    {
                        assert_eq!(*first, known + 1);
                    }
                    heard += numbers.len();
                    known = numbers.last().copied().or(known);
                }
                assert!(heard >= 64);
            });
        }
    });
}

#[tokio::test]
async fn a_follower_waits_for_news() {
    let events = ring(8);
    let mut follower = events.follow(None);
    checkpoint(&events, 1);
    assert_eq!(ids(&follower.next(8).await), [5_000]);
    let teller = events.clone();
    let told = tokio::spawn(async move { follower.next(8).await });
    tokio::task::yield_now().await;
    checkpoint(&teller, 2);
    assert_eq!(ids(&told.await.unwrap()), [5_001]);
}
