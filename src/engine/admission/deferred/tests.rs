//! Deferred URLs across commits, runs and settings, with servers in the test's hand.

use std::collections::BTreeSet;

use crate::engine::testing::{Answer, World, html, options, words};
use crate::engine::{deferred_url, for_each_kind};
use crate::frontier::{Policies, Policy};
use crate::learn::TrapMode;
use crate::store::{Table, for_each};

/// A page about something, with links.
fn page(about: u64, links: &[String]) -> Answer {
    let links: Vec<String> = links
        .iter()
        .map(|it| format!("<a href=\"{it}\">x</a>"))
        .collect();
    match html("", &words(about)) {
        Answer::Page(text) => {
            Answer::Page(text.replace("</main>", &format!("</main>{}", links.concat())))
        }
        other => other,
    }
}

/// Answers what waits, in order, by a site; returns the number of requests.
fn answer_all(world: &mut World, site: &dyn Fn(&str) -> Answer) -> usize {
    let mut requests = 0;
    loop {
        let waiting = world.waiting();
        let first = waiting
            .iter()
            .min_by_key(|(place, _)| (place.class, place.sequence));
        let Some((_, first)) = first else {
            return requests;
        };
        let url = first.url.clone();
        world.answer(&url, &site(&url));
        requests += 1;
        assert!(requests < 5_000, "it does not end");
    }
}

/// What is deferred: the URLs, and the number of samples that said something.
#[derive(Debug, PartialEq)]
struct Left {
    urls: Vec<String>,
    counted: u64,
    found: u64,
}

fn deferred(world: &World) -> Left {
    let store = world.store();
    let mut left = Left {
        urls: Vec::new(),
        counted: 0,
        found: 0,
    };
    for_each_kind(&*store, None, &mut |_, _, ledger| {
        left.counted += ledger.left.iter().sum::<u64>() + ledger.returning;
        left.found += ledger.found;
    })
    .unwrap();
    for_each(&*store, Table::Deferred, &[], &mut |_, row| {
        left.urls.push(deferred_url(row)?);
        Ok(())
    })
    .unwrap();
    assert_eq!(left.urls.len() as u64, left.counted);
    left
}

/// A list of items, of which the first say nothing, and from `good` on all are new.
fn shop(items: u64, good: u64) -> impl Fn(&str) -> Answer {
    move |url| match url.rsplit_once("/item/") {
        None => page(
            1,
            &(0..items).map(|n| format!("/item/{n}")).collect::<Vec<_>>(),
        ),
        Some((_, number)) => match number.parse::<u64>() {
            Ok(number) if number >= good => page(1_000 + number, &[]),
            _ => Answer::Status(404),
        },
    }
}

#[test]
fn what_says_nothing_is_deferred_sampled_and_comes_back() {
    let mut world = World::new();
    world.seed(&["http://a.example/"]);
    let requests = answer_all(&mut world, &shop(600, 500));
    // All items are fetched, because some of those that were deferred said something.
    // A few of them are visited again, to see what changes with each visit.
    assert!((601..=604).contains(&requests), "{requests}");
    assert_eq!(deferred(&world).counted, 0);
}

#[test]
fn what_goes_on_saying_nothing_is_kept_and_listed() {
    let mut world = World::new();
    world.seed(&["http://a.example/"]);
    let requests = answer_all(&mut world, &shop(900, 900));
    assert!((248..300).contains(&requests), "{requests}");
    let left = deferred(&world);
    assert_eq!(left.counted as usize, 901 - requests);
    let distinct: BTreeSet<&String> = left.urls.iter().collect();
    assert_eq!(distinct.len(), left.urls.len());
    assert_eq!(left.found, 0);

    // A kill changes nothing, and neither does a start.
    world.restart();
    assert_eq!(deferred(&world), left);
    assert!(world.waiting().is_empty());

    // Another setting brings all back.
    let mut policy = Policy::new(crate::frontier::Politeness::none());
    policy.crawl.robots = crate::frontier::RobotsMode::Ignore;
    policy.traps.mode = TrapMode::Off;
    world.options.policies = Policies::new(policy, []);
    world.restart();
    let more = answer_all(&mut world, &shop(900, 900));
    assert_eq!(requests + more, 901);
    assert_eq!(deferred(&world).counted, 0);
}

#[test]
fn what_is_deferred_is_known_after_the_runs_were_lost() {
    let mut world = World::new();
    world.seed(&["http://a.example/"]);
    answer_all(&mut world, &shop(900, 900));
    let left = deferred(&world);
    std::fs::remove_dir_all(world.directory.path().join("runs")).unwrap();
    world.restart();
    // Another page has the same links.
    world.seed(&["http://a.example/again"]);
    assert_eq!(answer_all(&mut world, &shop(900, 900)), 1);
    assert_eq!(deferred(&world), left);
}

#[test]
fn no_more_than_the_bound_is_deferred_and_nothing_is_dropped() {
    let mut options = options();
    options.limits.max_deferred = 50;
    let mut world = World::with(options);
    world.seed(&["http://a.example/"]);
    let requests = answer_all(&mut world, &shop(900, 900));
    assert!(deferred(&world).counted <= 50);
    assert!(requests + 50 >= 901, "{requests}");
}
