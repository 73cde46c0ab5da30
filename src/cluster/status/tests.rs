//! What is said of clusters that are well and of others.

use std::collections::BTreeSet;

use super::super::rows::Beat;
use super::super::tells::Tells;
use super::super::wanted::{Limits, Wishes};
use super::*;
use crate::engine::exchange::{Counts, Look};
use crate::url::Secret;

fn terms() -> Terms {
    Terms {
        shards: 2,
        copies: 2,
        secret: Secret::from_bytes([7; Secret::LEN]),
        settings: BTreeMap::new(),
        seeds_from: 0,
    }
}

/// A worker that owns a shard of so many pages, and follows the other one.
fn known(owns: u16, pages: u64, follows: (u16, u64), time: i64) -> Known {
    let figures = Figures {
        pages,
        end: 10,
        seeds_through: 3,
        limit: "politeness".to_owned(),
        ..Figures::default()
    };
    let other = usize::from(1 - owns);
    let mut counts = Counts {
        sent: vec![0, 0],
        received: vec![0, 0],
        ..Counts::default()
    };
    counts.sent[other] = 5;
    counts.received[other] = 4;
    let look = Look {
        is_idle: false,
        counts,
    };
    Known {
        beat: Beat {
            machine: format!("m{owns}"),
            follows: BTreeMap::from([follows]),
            looks: BTreeMap::from([(owns, look)]),
            tells: Tells {
                time,
                pages_in_100_s: 250,
                figures: BTreeMap::from([(owns, figures)]),
                ..Tells::default()
            },
            ..Beat::default()
        },
        age: Some(Duration::from_millis(500)),
        is_alive: true,
    }
}

fn owners() -> Vec<Owner> {
    let owner = |worker: &str, epoch| Owner {
        worker: worker.to_owned(),
        epoch,
    };
    vec![owner("a", 1), owner("b", 3)]
}

fn now(workers: &BTreeMap<String, Known>, wishes: &Wishes) -> ClusterStatus {
    wanted(workers, wishes, false)
}

fn wanted(workers: &BTreeMap<String, Known>, wishes: &Wishes, stays: bool) -> ClusterStatus {
    stands(&Facts {
        name: "news",
        terms: &terms(),
        wanted: &Wanted {
            wishes: wishes.clone(),
            limits: Limits {
                max_pages: Some(1_000),
                max_bytes: None,
            },
            stays,
        },
        owners: &owners(),
        workers,
        seeds_end: 3,
        time: 10_500,
    })
}

fn both() -> BTreeMap<String, Known> {
    BTreeMap::from([
        ("a".to_owned(), known(0, 100, (1, 10), 10_000)),
        ("b".to_owned(), known(1, 40, (0, 7), 10_000)),
    ])
}

impl ClusterStatus {
    /// A cluster of two workers that is well.
    pub(crate) fn example() -> Self {
        now(&both(), &Wishes::default())
    }
}

#[test]
fn a_cluster_that_is_well_needs_no_attention() {
    let now = now(&both(), &Wishes::default());
    assert_eq!(now.attention, Vec::<String>::new());
    assert_eq!(now.sum.pages, 140);
    assert!((now.pages_per_second - 5.0).abs() < 1e-9);
    assert_eq!(
        (now.links.sent, now.links.received, now.links.waiting),
        (10, 8, 2)
    );
    assert_eq!(now.workers[0].owns, [0]);
    assert_eq!(now.workers[0].follows, [1]);
    assert_eq!(now.workers[0].clock_seconds, Some(0.0));
    let shard = &now.shards[0];
    assert_eq!((shard.owner.as_deref(), shard.epoch), (Some("a"), 1));
    let copy = CopyNow {
        worker: "b".to_owned(),
        is_alive: true,
        lag: 3,
    };
    assert_eq!(shard.copies, [copy]);
    assert_eq!((shard.links.sent, shard.links.waiting), (5, 1));
}

#[test]
fn a_worker_that_is_gone_is_told_with_what_it_had() {
    let mut workers = both();
    let gone = workers.get_mut("a").unwrap();
    gone.is_alive = false;
    gone.age = Some(Duration::from_secs(42));
    let stopped = Wishes {
        going: Going::Stopped,
        ..Wishes::default()
    };
    let said = now(&workers, &stopped).attention.join("\n");
    assert!(!said.contains("fewer than"), "{said}");
    let now = now(&workers, &Wishes::default());
    let said = now.attention.join("\n");
    assert!(
        said.contains("shard 00 has no owner: a has it, and copies are with b"),
        "{said}"
    );
    assert!(
        said.contains("worker a has said nothing for 42 s"),
        "{said}"
    );
    assert!(said.contains("fewer than 2 copies of shard 01"), "{said}");
    // What it has fetched counts all the same, and its rate does not.
    assert_eq!(now.sum.pages, 140);
    assert!((now.pages_per_second - 2.5).abs() < 1e-9);
}

#[test]
fn what_people_want_and_wrong_clocks_are_told() {
    let mut workers = both();
    workers.insert("c".to_owned(), known(1, 0, (0, 10), 31_000));
    let wishes = Wishes {
        going: Going::Paused,
        drained: BTreeSet::from(["b".to_owned()]),
    };
    let now = now(&workers, &wishes);
    let said = now.attention.join("\n");
    assert!(said.contains("paused"), "{said}");
    assert!(
        said.contains("the clock of worker c is 21 s ahead of"),
        "{said}"
    );
    assert!(now.workers[1].is_drained);
}

#[test]
fn a_crawl_that_has_enough_says_so() {
    let mut workers = both();
    let stopped = Wishes {
        going: Going::Stopped,
        ..Wishes::default()
    };
    let said = |workers: &_| now(workers, &stopped).attention[0].clone();
    assert!(said(&workers).starts_with("stopped: "));
    for known in workers.values_mut() {
        for figures in known.beat.tells.figures.values_mut() {
            figures.pages = 500;
        }
    }
    let why = "stopped, because it has its maximum of 1000 pages: ";
    assert!(said(&workers).starts_with(why), "{}", said(&workers));
}

#[test]
fn seeds_that_wait_are_told() {
    let mut workers = both();
    let tells = &mut workers.get_mut("b").unwrap().beat.tells;
    tells.figures.get_mut(&1).unwrap().seeds_through = 2;
    let said = now(&workers, &Wishes::default()).attention;
    assert_eq!(said, ["seeds, or URLs to retry, wait for shard 01"]);
    let nobody = now(&BTreeMap::new(), &Wishes::default());
    assert!(nobody.attention[0].contains("no worker has joined yet"));
}

#[test]
fn who_took_a_shard_over_is_believed_and_not_who_had_it() {
    let mut workers = both();
    // It had received less when it died, and sent as much.
    let mut gone = known(1, 40, (0, 7), 10_000);
    let look = gone.beat.looks.get_mut(&1).unwrap();
    look.counts.received = vec![1, 0];
    gone.is_alive = false;
    workers.insert("c".to_owned(), gone);
    let now = now(&workers, &Wishes::default());
    assert_eq!((now.links.sent, now.links.waiting), (10, 2));
}

#[test]
fn who_ended_in_good_order_needs_no_attention_and_who_died_does() {
    let mut workers = both();
    let mut gone = known(1, 40, (0, 7), 10_000);
    (gone.is_alive, gone.age) = (false, None);
    gone.beat.looks.clear();
    gone.beat.tells.figures.clear();
    gone.beat.is_leaving = true;
    workers.insert("c".to_owned(), gone);
    let ended = now(&workers, &Wishes::default());
    assert!(ended.workers[2].has_ended());
    assert_eq!(ended.attention, Vec::<String>::new());
    workers.get_mut("c").unwrap().beat.is_leaving = false;
    let died = now(&workers, &Wishes::default());
    assert_eq!(died.attention, ["worker c is gone"]);
}

#[test]
fn what_is_over_needs_no_attention() {
    let mut workers = both();
    for (shard, known) in (0..).zip(workers.values_mut()) {
        known.is_alive = false;
        known.beat.done.insert(shard);
    }
    let now = now(&workers, &Wishes::default());
    assert!(now.is_over);
    assert_eq!(now.attention, Vec::<String>::new());
    assert_eq!(format!("{:.1}", now.pages_per_second), "0.0");
    // Of one that is to stay, somebody has to start the workers again.
    let now = wanted(&workers, &Wishes::default(), true);
    assert!(!now.is_over && now.stays);
    assert!(
        now.attention[0].contains("no worker runs"),
        "{:?}",
        now.attention
    );
}
