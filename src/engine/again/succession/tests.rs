//! Duplicates over time: what becomes of a cluster whose pages change, go or come back.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use crate::dedup::{Fingerprints, Similarity, Text, Tier};
use crate::engine::commit::DEDUP_RUNS;
use crate::engine::options::Options;
use crate::engine::testing::*;
use crate::engine::visit::{Entry, KnownBody, KnownPage, KnownPages};
use crate::frontier::RevisitPolicy;
use crate::rows::{Fate, Judgement, PageRecord};
use crate::store::{Table, keys};

#[test]
fn a_duplicate_keeps_what_it_repeats_and_since_when() {
    let mut world = three();
    let near = edited(&words(1), 2, 0);
    world.visit("http://d.example/", &html("", &near));
    let found = world.duplicate("http://d.example/");
    assert_eq!(found.tier, Tier::Near);
    assert_eq!(found.similarity, likeness(&words(1), &near));
    assert!(found.distance > 0);
    let first = world.duplicate(COPY);
    assert_eq!(first.similarity, Similarity::EXACT);
    assert_eq!(first.first_seen, first.last_checked);
    let interval = |world: &World| world.page(COPY).revisit.unwrap().interval;
    let mut last = interval(&world);
    for _ in 0..3 {
        let before = world.duplicate(COPY);
        world.wait(1_000);
        world.revisit(COPY, &html("", &words(1)));
        let after = world.duplicate(COPY);
        assert_eq!(after.first_seen, first.first_seen);
        assert!(after.last_checked > before.last_checked);
        assert_eq!((after.of, after.rank), (first.of, first.rank));
        assert!(
            interval(&world) > last,
            "known duplicates fall due more and more seldom"
        );
        last = interval(&world);
    }
}

#[test]
fn a_servers_word_that_a_page_is_the_same_is_believed_while_that_stands() {
    let mut world = three();
    let before = [ORIGINAL, COPY, SHORT].map(|url| world.page(url));
    world.wait(1_000);
    for url in [ORIGINAL, COPY, SHORT] {
        world.revisit(url, &Answer::Same);
    }
    for (url, before) in [ORIGINAL, COPY, SHORT].into_iter().zip(before) {
        let mut after = world.page(url);
        assert!(
            after.time > before.time && after.revisit.unwrap().due > before.revisit.unwrap().due
        );
        let of = |page: &PageRecord| page.revisit.map(|it| it.mark);
        assert_eq!(of(&after), of(&before));
        if let Some(duplicate) = before.duplicate() {
            let checked = world.duplicate(url).last_checked;
            assert!(checked > duplicate.last_checked);
        }
        after.fate = before.fate.clone();
        after.document.clone_from(&before.document);
        assert_eq!(
            (after.url, after.validators),
            (before.url, before.validators)
        );
    }
    assert_eq!(world.listed().len(), 1);
    world.records();

    // The original is gone while its copies are on their way to be asked whether they are the same:
    // they are, but that is not what they were known for any more.
    world.wait(1_000);
    world.revisit(ORIGINAL, &Answer::Status(404));
    world.revisit(COPY, &Answer::Same);
    let waiting = world.waiting().into_iter();
    let whole: Vec<_> = waiting
        .filter(|(_, it)| it.validators.is_none())
        .map(|(_, it)| it.url)
        .collect();
    assert!(whole.iter().any(|url| url == COPY), "{whole:?}");
    world.revisit(COPY, &html("", &words(1)));
    assert_eq!(world.original(COPY), COPY);
    world.records();
}

#[test]
fn an_original_that_is_gone_hands_over_to_its_best_duplicate() {
    let mut world = three();
    world.wait(10);
    assert_eq!(world.queued().len(), 3, "all are due");
    world.revisit(COPY, &html("", &words(1)));
    world.revisit(SHORT, &framed("menu", &words(1)));
    assert!(world.duplicate(COPY).last_checked > world.duplicate(COPY).first_seen);
    world.revisit(ORIGINAL, &Answer::Status(404));
    // Not days later, and the best one first.
    assert_eq!(world.queued(), [SHORT.to_owned()].into());
    assert!(world.page(ORIGINAL).original().is_none());
    world.restart();
    assert_eq!(world.queued(), [SHORT.to_owned()].into());
    world.revisit(SHORT, &framed("menu", &words(1)));
    assert_eq!(world.original(SHORT), SHORT);
    assert_eq!(world.stored(SHORT), 1, "its body is stored now");
    assert_eq!(world.queued(), [COPY.to_owned()].into());
    world.restart();
    world.revisit(COPY, &html("", &words(1)));
    assert_eq!(world.original(COPY), SHORT);
    assert_eq!(world.duplicate(COPY).tier, Tier::Content);
    assert_eq!(world.stored(COPY), 0);
    assert_eq!(
        world.listed(),
        [(SHORT.to_owned(), vec![COPY.to_owned()])].into()
    );
    assert_eq!(world.queued(), BTreeSet::new());
    // And a page that comes later finds it.
    world.visit("http://d.example/", &html("", &words(1)));
    assert_eq!(world.original("http://d.example/"), SHORT);
    let meta = |prefix: &[u8]| world.store().range(Table::Meta, prefix, prefix, 9).unwrap();
    assert_eq!(meta(keys::meta::ORPHANED), []);
    assert_eq!(meta(keys::meta::ASKED), []);
}

#[test]
fn a_successor_with_the_same_bytes_is_not_stored_again() {
    let mut world = World::with(Options {
        expire_after: Some(Duration::from_millis(100 * DAY)),
        ..options()
    });
    let same = || html("", &words(1));
    world.visit(ORIGINAL, &same());
    world.visit(COPY, &same());
    world.wait(10);
    world.revisit(COPY, &same());
    world.revisit(ORIGINAL, &Answer::Status(410));
    world.revisit(COPY, &same());
    assert_eq!(world.original(COPY), COPY);
    assert_eq!(
        (world.stored(ORIGINAL), world.stored(COPY)),
        (2, 0),
        "page and 410"
    );
    let revisits = |world: &World, url: &str| {
        let records = world.records().into_iter();
        records
            .filter(|(kind, of)| kind == "revisit" && of == url)
            .count()
    };
    assert_eq!(revisits(&world, COPY), 3);
    world.visit("http://d.example/", &same());
    assert_eq!(world.original("http://d.example/"), COPY);
    assert_eq!(revisits(&world, "http://d.example/"), 1);

    // The page that the response was stored for is forgotten, and the response is not.
    world.committer().checkpoint().unwrap();
    world.wait(60);
    world.revisit(COPY, &same());
    world.wait(60);
    let first = world.committer().lookups.index.documents().get(1).unwrap();
    assert_eq!(first, None, "it was not seen for 120 days");
    world.visit("http://e.example/", &same());
    assert_eq!(world.original("http://e.example/"), COPY);
    assert_eq!(revisits(&world, "http://e.example/"), 1);
    assert_eq!(world.stored("http://e.example/"), 0);
}

#[test]
fn who_is_gone_too_or_silent_is_passed_over() {
    let mut world = three();
    let third = "http://d.example/the-longest-url-of-all/of-them";
    world.visit(third, &framed("third", &words(1)));
    world.wait(10);
    for url in [SHORT, COPY, third] {
        world.revisit(
            url,
            &match url {
                COPY => html("", &words(1)),
                SHORT => framed("menu", &words(1)),
                _ => framed("third", &words(1)),
            },
        );
    }
    world.revisit(ORIGINAL, &Answer::Status(404));
    assert_eq!(world.queued(), [SHORT.to_owned()].into());
    world.revisit(SHORT, &Answer::Silence);
    assert_eq!(world.queued(), [COPY.to_owned()].into());
    world.revisit(COPY, &Answer::Status(404));
    assert_eq!(world.queued(), [third.to_owned()].into());
    world.revisit(third, &framed("third", &words(1)));
    assert_eq!(world.original(third), third);
    assert_eq!(world.queued(), [SHORT.to_owned()].into());
    world.revisit(SHORT, &framed("menu", &words(1)));
    assert_eq!(world.original(SHORT), third);
    assert!(matches!(
        world.page(COPY).fate,
        Fate::Answered {
            judgement: Judgement::Ineligible(_),
            ..
        }
    ));
}

#[test]
fn an_original_that_changes_leaves_its_duplicates_to_themselves() {
    let mut world = three();
    world.wait(10);
    world.revisit(COPY, &html("", &words(1)));
    world.revisit(SHORT, &framed("menu", &words(1)));
    world.revisit(ORIGINAL, &html("", &words(5)));
    assert_eq!(world.original(ORIGINAL), ORIGINAL, "by its new text");
    assert_eq!(world.stored(ORIGINAL), 2);
    world.revisit(SHORT, &framed("menu", &words(1)));
    world.revisit(COPY, &html("", &words(1)));
    assert_eq!(world.original(COPY), SHORT);
    // Its new fingerprints are what later pages are compared with, and its old ones are not.
    world.visit("http://d.example/", &html("", &words(5)));
    assert_eq!(world.original("http://d.example/"), ORIGINAL);
    world.visit("http://e.example/", &html("", &words(1)));
    assert_eq!(world.original("http://e.example/"), SHORT);
}

#[test]
fn a_duplicate_leaves_later_than_it_would_be_taken_in() {
    let base = words(1);
    // An estimate may fall short of 0.9 by its standard error, and a duplicate stays one from 0.85.
    let between = edits(&base, 0.855, 0.87);
    let far = edits(&base, 0.6, 0.8);
    let mut world = World::new();
    world.visit(ORIGINAL, &html("", &base));
    world.visit(COPY, &html("", &base));
    world.visit("http://d.example/", &html("", &between));
    let fresh = "http://d.example/";
    assert_eq!(
        world.original(fresh),
        fresh,
        "not alike enough to be taken in"
    );
    world.wait(10);
    world.revisit(COPY, &html("", &between));
    // Exactly what is stored elsewhere by now is no question of more or less.
    assert_eq!(world.original(COPY), fresh);

    let mut world = World::new();
    world.visit(ORIGINAL, &html("", &base));
    world.visit(COPY, &html("", &base));
    let first = world.duplicate(COPY).first_seen;
    world.wait(10);
    world.revisit(COPY, &html("", &between));
    let stays = world.duplicate(COPY);
    assert_eq!((stays.tier, stays.first_seen), (Tier::Near, first));
    assert_eq!(stays.similarity, likeness(&base, &between));
    assert_eq!(world.stored(COPY), 0);
    world.wait(10);
    world.revisit(COPY, &html("", &far));
    assert_eq!(world.original(COPY), COPY);
    assert_eq!(world.stored(COPY), 1, "it is a page of its own, and stored");
    assert_eq!(world.listed(), BTreeMap::new());
    world.wait(10);
    world.revisit(COPY, &html("", &between));
    assert_eq!(
        world.original(COPY),
        COPY,
        "and comes back only where it would be taken in"
    );
}

/// A page of a crawl of long ago was not seen by this one for long.
#[test]
fn what_an_earlier_crawl_knows_is_not_forgotten_at_once() {
    let mut world = World::with(Options {
        expire_after: Some(Duration::from_millis(100 * DAY)),
        ..options()
    });
    let text = words(1).join(" ");
    let page = KnownPage {
        url: ORIGINAL.to_owned(),
        id: world.id(ORIGINAL),
        time: 1,
        status: 200,
        mime: None,
        body: Some(KnownBody {
            record: [1; 16],
            payload: [1; 32],
            fingerprints: Some(Fingerprints::of(b"", &Text::whole(&text))),
            is_refusal: false,
        }),
    };
    let known = KnownPages {
        archive: "earlier.warc.gz".to_owned(),
        pages: vec![page],
        progress: keys::meta::KNOWN.to_vec(),
        through: 1,
    };
    world.commit(vec![Entry::Known(known)]);
    world.committer().checkpoint().unwrap();
    world.wait(50);
    world.visit(COPY, &html("", &words(1)));
    assert_eq!(world.original(COPY), ORIGINAL);
    assert!(world.page(ORIGINAL).original().is_some());
}

#[test]
fn what_nobody_has_seen_for_long_is_forgotten() {
    const PAGES: u64 = 150;
    let url = |number: u64| format!("http://a.example/{number}");
    let mut world = World::with(Options {
        expire_after: Some(Duration::from_millis(100 * DAY)),
        revisit: RevisitPolicy::off(),
        ..options()
    });
    for number in 0..PAGES {
        world.visit(&url(number), &html("", &words(number)));
    }
    world.committer().checkpoint().unwrap();
    world.wait(60);
    world.visit("http://b.example/0", &html("", &words(0)));
    world.committer().checkpoint().unwrap();
    let postings = |world: &mut World| -> u64 {
        let catalog = &world.committer().lookups.catalog;
        catalog[DEDUP_RUNS..]
            .iter()
            .map(crate::runs::Runs::len)
            .sum()
    };
    let before = postings(&mut world);
    world.wait(50);
    let check = |world: &World| {
        assert!(
            world.page(&url(0)).original().is_some(),
            "its duplicate was seen"
        );
        assert!((1..PAGES).all(|number| world.page(&url(number)).document.is_none()));
        let committer = world.committer.as_ref().unwrap();
        assert_eq!(
            committer.lookups.index.documents().ids(0, 999).unwrap(),
            [1]
        );
        assert_eq!(committer.lookups.catalog.retired().len(), PAGES - 1);
    };
    check(&world);
    // Killed before a checkpoint, and started.
    world.restart();
    check(&world);
    for _ in 0..3 {
        // Something to be checkpointed.
        let number = PAGES + world.now;
        world.visit(
            &format!("http://c.example/{number}"),
            &html("", &words(number)),
        );
        world.committer().checkpoint().unwrap();
        world.committer().lookups.catalog.finish_merges().unwrap();
    }
    let after = postings(&mut world);
    assert!(after < before / 10, "{after} postings of {before}");
    assert!(!world.committer().disk.is_purging);
    world.restart();
    assert_eq!(
        world.committer().disk.dead_rows,
        0,
        "the folder was built anew"
    );
    // What is left is compared with, and what is not, is not.
    world.visit("http://d.example/0", &html("", &words(0)));
    world.visit("http://d.example/1", &html("", &words(1)));
    assert_eq!(world.original("http://d.example/0"), url(0));
    assert_eq!(world.original("http://d.example/1"), "http://d.example/1");
    assert_eq!(world.stored("http://d.example/1"), 1);
    world.restart();
    assert_eq!(world.original("http://d.example/1"), "http://d.example/1");
}
