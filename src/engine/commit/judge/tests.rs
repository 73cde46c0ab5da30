//! Groups of visits through judge and commit: what each leaves behind, and what a panic costs.

use crate::dedup::Tier;
use crate::engine::testing::*;
use crate::rows::{Fate, Judgement};

/// A page with links.
fn linking(words: &[String], links: &[&str]) -> Answer {
    let links = links.iter().map(|link| format!("<a href=\"{link}\">x</a>"));
    let links: String = links.collect();
    html(&format!("<title>links</title></head>{links}"), words)
}

#[test]
fn pages_of_one_group_are_compared_with_one_another() {
    let mut world = World::new();
    let copy = || html("", &words(1));
    world.visit_together(&[
        ("http://a.example/1", copy()),
        ("http://b.example/2", copy()),
        ("http://c.example/3", framed("other", &words(1))),
        ("http://d.example/4", html("", &words(2))),
    ]);
    let tier = |url: &str| world.duplicate(url).tier;
    assert_eq!(world.original("http://b.example/2"), "http://a.example/1");
    assert_eq!(tier("http://b.example/2"), Tier::Raw);
    assert_eq!(tier("http://c.example/3"), Tier::Content);
    assert_eq!(world.original("http://d.example/4"), "http://d.example/4");
    assert_eq!(world.stored("http://b.example/2"), 0, "its bytes are there");
    let kinds: Vec<_> = world.records().into_iter().map(|(kind, _)| kind).collect();
    assert_eq!(kinds.iter().filter(|kind| *kind == "revisit").count(), 1);
}

#[test]
fn a_link_is_admitted_once_whatever_its_form_and_however_often() {
    let mut world = World::new();
    let links = ["/x?utm_source=1", "/x", "/x#part", "/y"];
    world.visit_together(&[
        ("http://a.example/1", linking(&words(1), &links)),
        ("http://a.example/2", linking(&words(2), &["/x", "/z"])),
    ]);
    let queued: Vec<_> = world.queued().into_iter().collect();
    assert_eq!(queued.len(), 3, "{queued:?}");
    world.visit("http://a.example/3", &linking(&words(3), &["/y", "/z"]));
    assert_eq!(world.queued().len(), 3, "they are known by now");
    world.restart();
    world.visit("http://a.example/4", &linking(&words(4), &["/y", "/x"]));
    assert_eq!(world.queued().len(), 3, "a start knows them, too");
}

#[test]
fn a_visit_that_panics_costs_itself_and_is_never_met_again() {
    let mut world = World::new();
    world.seed(&["http://a.example/poison", "http://a.example/good"]);
    let poison = linking(&words(9), &["/lost"]);
    let waiting: Vec<_> = world.waiting();
    assert_eq!(waiting.len(), 2);
    world.answer_together(&[
        ("http://a.example/good", linking(&words(1), &["/found"])),
        ("http://a.example/poison", poison),
    ]);
    let Fate::Failed { class, next, .. } = world.page("http://a.example/poison").fate else {
        panic!("it is recorded as a failure");
    };
    assert_eq!((&*class, next), ("internal", None));
    let good = world.page("http://a.example/good").fate;
    assert!(matches!(
        good,
        Fate::Answered {
            judgement: Judgement::Unique,
            ..
        }
    ));
    let queued: Vec<_> = world.queued().into_iter().collect();
    assert_eq!(
        queued,
        ["http://a.example/found"],
        "it is in no queue again"
    );
    let counters = world.committer().state.counters.clone();
    assert_eq!((counters.pages, counters.failed), (1, 1));
    assert_eq!(counters.failures.get("internal"), Some(&1));
    assert_eq!(counters.queued, 1);
    world.restart();
    assert_eq!(world.queued().len(), 1);
    world.visit("http://b.example/copy", &html("", &words(9)));
    let copy = "http://b.example/copy";
    assert_eq!(
        world.original(copy),
        copy,
        "nothing repeats what was not kept"
    );
}

#[test]
fn what_a_commit_said_is_there_after_a_kill() {
    let mut world = World::new();
    world.seed(&["http://a.example/"]);
    world.answer_together(&[("http://a.example/", linking(&words(1), &["/1", "/2"]))]);
    world.visit("http://b.example/copy", &linking(&words(1), &["/1", "/2"]));
    let before = (world.queued(), world.original("http://b.example/copy"));
    let counters = world.committer().state.counters.clone();
    world.restart();
    assert_eq!(
        before,
        (world.queued(), world.original("http://b.example/copy"))
    );
    assert_eq!(world.committer().state.counters, counters);
    world.committer().checkpoint().unwrap();
    world.restart();
    world.visit("http://c.example/copy", &html("", &words(1)));
    assert_eq!(world.original("http://c.example/copy"), "http://a.example/");
}
