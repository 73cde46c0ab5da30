//! Real kinds of pages through the whole judgement: which are pages of their own and which repeat
//! another. Each test belongs to a line of the table of rules in `docs/dedup.md`.

use crate::dedup::Tier;
use crate::engine::testing::*;

/// A page of some paragraphs.
fn page(title: &str, paragraphs: &[&str]) -> Answer {
    let paragraphs = paragraphs.join("</p><p>");
    Answer::Page(format!(
        "<!doctype html><title>{title}</title><main><article><h1>{title}</h1><p>{paragraphs}</p></article></main>"
    ))
}

/// Words of one text.
fn prose(seed: u64) -> String {
    words(seed).join(" ")
}

/// The tier at which a page repeats another one, if it does.
fn tier(world: &World, url: &str) -> Option<Tier> {
    (world.original(url) != url).then(|| world.duplicate(url).tier)
}

#[track_caller]
fn check((one, first): (&str, &Answer), (other, second): (&str, &Answer), expected: Option<Tier>) {
    let mut world = World::new();
    world.visit(one, first);
    world.visit(other, second);
    assert_eq!(tier(&world, other), expected, "{other}");
}

#[test]
fn parts_of_a_series_are_merged_by_nothing_but_the_same_text() {
    let text = prose(1);
    let list = |number: &str| page("Lists", &[&format!("{number} {text}")]);
    let urls = [
        ("http://a.example/list", "http://a.example/list?page=2"),
        (
            "http://a.example/list/page/2",
            "http://a.example/list/page/3",
        ),
        (
            "http://a.example/tours/2026-05-01",
            "http://a.example/tours/2026-05-08",
        ),
        (
            "http://a.example/tours?date=2026-05-01",
            "http://a.example/tours?date=2026-05-08",
        ),
        ("http://a.example/2026/05", "http://a.example/2026/06"),
        ("http://a.example/names/a", "http://a.example/names/b"),
        (
            "http://a.example/names?letter=a",
            "http://a.example/names?letter=c",
        ),
    ];
    for (one, other) in urls {
        check((one, &list("one")), (other, &list("two")), None);
        // Punctuation alone: the same words, and still not the same text.
        check((one, &list("one")), (other, &list("one!")), None);
        check(
            (one, &list("one")),
            (other, &list("ONE")),
            Some(Tier::Normalized),
        );
        check((one, &list("one")), (other, &list("one")), Some(Tier::Raw));
    }
    // What is no list is compared as ever.
    let (one, other) = ("http://a.example/story", "http://a.example/story/print");
    check((one, &list("one")), (other, &list("two")), Some(Tier::Near));
    check(
        (one, &list("one")),
        (other, &list("one!")),
        Some(Tier::Content),
    );
}

#[test]
fn a_list_s_pages_are_parts_by_what_they_name_as_next() {
    let text = prose(1);
    let part = |next: &str, end: &str| {
        Answer::Page(format!(
            "<!doctype html><title>Rules</title><link rel=next href='{next}'><main><article><p>{text} {end}</p></article></main>"
        ))
    };
    let (one, two) = ("http://a.example/rules-a", "http://www.a.example/rules-b");
    check(
        (one, &part(two, "first")),
        (two, &part("/rules-c", "second")),
        None,
    );
    check(
        (one, &part("/x", "first")),
        (two, &part("/y", "second")),
        Some(Tier::Near),
    );
}

#[test]
fn branches_on_subdomains_are_pages_of_one_site() {
    let (text, one, other) = (
        prose(1),
        "http://bern.shop.example/",
        "http://basel.shop.example/",
    );
    let branch = |town: &str, end: &str| {
        let text = format!("{text} {end}");
        page(&format!("Our branch in {town}"), &[&text])
    };
    let bern = branch("Bern", "Bern");
    check((one, &bern), (other, &branch("Basel", "Basel")), None);
    check(
        (one, &bern),
        ("http://basel.example/", &branch("Basel", "Basel")),
        None,
    );
    check(
        (one, &bern),
        (other, &branch("Bern", "Basel")),
        Some(Tier::Near),
    );
    check((one, &bern), (other, &bern), Some(Tier::Raw));
}

#[test]
fn texts_that_drift_keep_more_than_one() {
    let mut world = World::new();
    let mut text = words(1);
    let mut kept = 0;
    for step in 0..41 {
        let url = format!("http://a.example/drift/{step}x");
        world.visit(&url, &html("<title>Drift</title>", &text));
        kept += u32::from(tier(&world, &url).is_none());
        for at in 0..2 {
            text[(step * 31 + at * 197) % 400] = format!("drift{step}-{at}");
        }
    }
    assert!(kept > 1, "{kept} of 41 texts");
}

#[test]
fn nothing_is_no_duplicate_of_nothing() {
    let (one, other) = ("http://a.example/1", "http://a.example/2");
    let blank = || Answer::Page(" \n".to_owned());
    check((one, &blank()), (other, &blank()), None);
    let frame = |class: &str| Answer::Page(format!("<html><body class={class}></body></html>"));
    check((one, &frame("a")), (other, &frame("b")), None);
}
