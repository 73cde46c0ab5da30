//! Tests of the ring of events.

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

#[test]
fn a_later_run_goes_on_with_higher_numbers() {
    let earlier = Events::new(Moment(1_700_000_000_000));
    (0..100).for_each(|sequence| checkpoint(&earlier, sequence));
    let last = earlier.after(None, 1_000).events.pop().unwrap().id;
    let later = Events::new(Moment(1_700_000_000_001));
    assert!(later.0.first > last);
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
