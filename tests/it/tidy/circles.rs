//! That no files of a room need one another in a circle.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use super::paths::{Arrows, Crate};

/// The circles that there still are. This list only shrinks: a file that no
/// circle needs any more must leave it.
const CIRCLES: [&[&str]; 0] = [];

/// The files of a room that need one another, each of them every other.
fn circles(arrows: &Arrows) -> Vec<BTreeSet<&str>> {
    let mut next = BTreeMap::<&str, BTreeSet<&str>>::new();
    for (from, to) in arrows.keys() {
        if room(from) == room(to) && !is_of_folder(to, from) {
            next.entry(from).or_default().insert(to);
        }
    }
    let reached = |start| {
        let mut reached = BTreeSet::new();
        let mut waiting = vec![start];
        while let Some(file) = waiting.pop() {
            let onward = next.get(file).into_iter().flatten();
            waiting.extend(onward.filter(|file| reached.insert(**file)));
        }
        reached
    };
    let reached: BTreeMap<&str, BTreeSet<&str>> =
        next.keys().map(|file| (*file, reached(*file))).collect();
    let mut circles = BTreeSet::new();
    for (file, onward) in &reached {
        let and_back = |other: &&&str| reached.get(**other).is_some_and(|it| it.contains(file));
        let circle: BTreeSet<&str> = onward.iter().filter(and_back).copied().collect();
        if circle.len() > 1 {
            circles.insert(circle);
        }
    }
    circles.into_iter().collect()
}

/// Whether a file is what another one's folder, or a folder around that, is known by: `page/mod.rs`
/// of `page/html/tree.rs`, and `schedule.rs` of `schedule/lanes.rs`.
fn is_of_folder(file: &str, inner: &str) -> bool {
    let folder = file.strip_suffix("/mod.rs");
    let folder = folder.or_else(|| file.strip_suffix(".rs"));
    folder.is_some_and(|folder| {
        let below = inner.strip_prefix(folder);
        below.is_some_and(|rest| rest.starts_with('/'))
    })
}

fn room(file: &str) -> &str {
    file.split_once('/').map_or("", |(room, _)| room)
}

/// The circle's files, and who needs whom for what.
fn told(circle: &BTreeSet<&str>, arrows: &Arrows) -> String {
    let mut told = String::new();
    for ((from, to), names) in arrows {
        if circle.contains(from.as_str()) && circle.contains(to.as_str()) {
            let names: Vec<&str> = names.iter().map(String::as_str).collect();
            let _ = writeln!(told, "    {from} -> {to} ({})", names.join(", "));
        }
    }
    let entry: Vec<String> = circle.iter().map(|file| format!("{file:?}")).collect();
    let _ = writeln!(told, "    as a line of CIRCLES: &[{}],", entry.join(", "));
    told
}

#[test]
fn no_files_of_a_room_are_a_circle() {
    let read = Crate::read();
    let arrows = read.arrows();
    let circles = circles(&arrows);
    let mut wrong = String::new();
    for circle in &circles {
        let is_known = CIRCLES
            .iter()
            .any(|listed| circle.iter().all(|file| listed.contains(file)));
        let told = told(circle, &arrows);
        println!("a circle of {} files:\n{told}", circle.len());
        if !is_known {
            let _ = writeln!(wrong, "a circle of {} files:\n{told}", circle.len());
        }
    }
    for file in CIRCLES.into_iter().flatten() {
        if !circles.iter().any(|circle| circle.contains(file)) {
            let _ = writeln!(wrong, "{file} is in no circle: take it off the list");
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}

#[test]
fn rooms_are_entered_by_their_names() {
    let around = Crate::read_with_tests().ways_around();
    assert!(around.is_empty(), "{around:#?}");
}

#[test]
fn a_circle_is_found() {
    let of = |pairs: &[(&str, &str)]| -> Arrows {
        let own = |(from, to): &(&str, &str)| ((*from).to_owned(), (*to).to_owned());
        let named = |pair| (own(pair), BTreeSet::new());
        pairs.iter().map(named).collect()
    };
    let check = |pairs: &[(&str, &str)], expected: &[&[&str]]| {
        let arrows = of(pairs);
        let expected: Vec<BTreeSet<&str>> = expected
            .iter()
            .map(|it| it.iter().copied().collect())
            .collect();
        assert_eq!(circles(&arrows), expected, "{pairs:?}");
    };
    check(&[("a/1", "a/2"), ("a/2", "a/3"), ("a/1", "a/3")], &[]);
    check(
        &[("a/1", "a/2"), ("a/2", "a/1"), ("a/2", "a/3")],
        &[&["a/1", "a/2"]],
    );
    check(&[("a/1", "b/2"), ("b/2", "a/1")], &[]);
    let two = [
        ("a/1", "a/2"),
        ("a/2", "a/1"),
        ("b/1", "b/2"),
        ("b/2", "b/3"),
        ("b/3", "b/1"),
    ];
    check(&two, &[&["a/1", "a/2"], &["b/1", "b/2", "b/3"]]);
}
