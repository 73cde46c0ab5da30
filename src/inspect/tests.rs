//! Questions about a crawl whose servers and clock the test controls.

use super::*;
use crate::dedup::{Fingerprints, Text, Tier};
use crate::engine::testing::{
    COPY, ORIGINAL, SHORT, World, edits, framed, html, likeness, three, words,
};
use crate::rows::Fate;

/// All clusters. A test has few enough for one part.
fn clusters(world: &World) -> Vec<Cluster> {
    let answer = answer(&world.view(), &Question::Dups { from: None }).unwrap();
    let Answer::Dups(part) = answer else {
        panic!("{answer:?}")
    };
    assert_eq!(part.next, None);
    part.clusters
}

/// The stored pages that are most similar to `subject`.
fn similar(world: &World, subject: Subject, limit: usize) -> Option<Similar> {
    let answer = answer(&world.view(), &Question::Similar { subject, limit }).unwrap();
    let Answer::Similar { found } = answer else {
        panic!("{answer:?}")
    };
    found
}

#[test]
fn clusters_are_listed_with_the_url_that_they_are_best_called_by() {
    let mut world = three();
    world.visit("http://e.example/", &html("", &words(2)));
    let clusters = clusters(&world);
    assert_eq!(clusters.len(), 1, "one page alone is no cluster");
    assert_eq!(
        (&*clusters[0].original, clusters[0].stands),
        (ORIGINAL, true)
    );
    assert_eq!(clusters[0].canonical, SHORT);
    let members: Vec<_> = clusters[0].members.iter().map(|it| &*it.url).collect();
    assert_eq!(members, [SHORT, COPY]);
    let size = |url: &str| match world.page(url).fate {
        Fate::Answered { size, .. } => size,
        _ => 0,
    };
    assert_eq!(clusters[0].members[1].saved, size(COPY));
    let shown = ReportOptions {
        top: 2,
        min_pages: 1,
    };
    let answer = answer(&world.view(), &Question::Report(shown)).unwrap();
    let Answer::Report(report) = answer else {
        panic!("{answer:?}")
    };
    assert_eq!(
        (report.judged, report.duplicates, report.clusters),
        (4, 2, 1)
    );
    assert_eq!(report.saved, size(COPY) + size(SHORT));
    let tiers: Vec<_> = report.tiers.iter().map(|it| (it.tier, it.pages)).collect();
    let expected = [
        (Tier::Raw, 1),
        (Tier::Normalized, 0),
        (Tier::Content, 1),
        (Tier::Near, 0),
    ];
    assert_eq!(tiers, expected);
    assert_eq!(report.largest[0].duplicates, 2);
    let hosts: Vec<_> = report.hosts.iter().map(|it| &*it.host).collect();
    assert_eq!(hosts, ["http://b.example", "http://c.example"]);
    assert!((report.hosts[0].rate - 1.0).abs() < 1e-9);
}

#[test]
fn what_members_name_canonical_counts_before_all_else_if_it_belongs_to_them() {
    let mut world = three();
    let naming = |url: &str| format!("<link rel=canonical href='{url}'>");
    // Named as canonical, but unknown to the crawl.
    world.visit(
        "http://d.example/d",
        &html(&naming("http://x.example/"), &words(1)),
    );
    assert_eq!(clusters(&world)[0].canonical, SHORT);
    // The only member with https.
    world.visit("https://s.example/page", &framed("other", &words(1)));
    assert_eq!(clusters(&world)[0].canonical, "https://s.example/page");
    world.visit("http://d.example/print", &html(&naming(COPY), &words(1)));
    assert_eq!(clusters(&world)[0].canonical, COPY);
    // A page outside the cluster has no vote.
    world.visit("http://n.example/", &html(&naming(ORIGINAL), &words(7)));
    assert_eq!(clusters(&world)[0].canonical, COPY);
    // Each site has one vote.
    for path in ["http://d.example/1", "http://d.example/2"] {
        world.visit(path, &html(&naming(COPY), &words(1)));
    }
    for path in ["http://e.example/", "http://f.example/"] {
        world.visit(path, &html(&naming(ORIGINAL), &words(1)));
    }
    assert_eq!(clusters(&world)[0].canonical, ORIGINAL);
    assert_eq!(world.original(COPY), ORIGINAL, "a name changes no verdict");
    // A site has one vote, however many pages say it.
    for url in [
        "http://m.example/",
        "http://n.example/copy",
        "http://o.example/",
    ] {
        world.visit(url, &html(&naming(COPY), &words(1)));
    }
    for path in 10..30 {
        let url = format!("http://d.example/{path}");
        world.visit(&url, &html(&naming(ORIGINAL), &words(1)));
    }
    assert_eq!(clusters(&world)[0].canonical, COPY);
}

#[test]
fn copies_at_another_site_do_not_take_the_name_by_their_own_word() {
    let itself = |url: &str| html(&format!("<link rel=canonical href='{url}'>"), &words(1));
    let original = "http://victim.example/a/page";
    let copy = "http://victim-1.example/a/copy";
    for claims in [false, true] {
        let mut world = World::new();
        match claims {
            true => world.visit(original, &itself(original)),
            false => world.visit(original, &html("", &words(1))),
        }
        for n in 1..6 {
            world.visit(&format!("{copy}{n}"), &itself(&format!("{copy}1")));
        }
        assert_eq!(clusters(&world)[0].canonical, original);
        // A site that does not speak for itself is heard, unless the original names itself.
        world.visit("http://m.example/", &itself(&format!("{copy}1")));
        let expected = if claims {
            original.to_owned()
        } else {
            format!("{copy}1")
        };
        assert_eq!(clusters(&world)[0].canonical, expected);
    }
    // What the original's site says of its own pages counts as before.
    let mut world = World::new();
    let print = "http://victim.example/a/page/print";
    world.visit(print, &itself(original));
    world.visit(original, &itself(original));
    world.visit("http://m.example/", &itself(print));
    assert_eq!(clusters(&world)[0].canonical, original);
}

#[test]
fn the_most_similar_pages_are_ranked() {
    let mut world = three();
    let (near, far) = (edits(&words(1), 0.65, 0.78), edits(&words(1), 0.3, 0.6));
    world.visit("http://near.example/", &html("", &near));
    world.visit("http://far.example/", &html("", &far));
    world.visit("http://else.example/", &html("", &words(9)));
    let ask = |subject, limit| similar(&world, subject, limit);
    let urls = |subject, limit| -> Vec<String> {
        let found = ask(subject, limit).unwrap();
        found.pages.into_iter().map(|it| it.url).collect()
    };
    let url = |url: &str| Subject::Url(url.to_owned());
    let order = [ORIGINAL, "http://near.example/", "http://far.example/"];
    assert_eq!(urls(url(ORIGINAL), 2), order[1..]);
    assert_eq!(urls(url(COPY), 3), order, "a duplicate by its original");
    let found = ask(url(SHORT), 9).unwrap();
    assert_eq!(found.by.unwrap().tier, Tier::Content);
    assert_eq!(
        found.pages[0].tier,
        Some(Tier::Content),
        "not what the original is to itself"
    );
    assert_eq!(found.pages[1].similarity, likeness(&words(1), &near));
    assert_eq!(
        (found.pages[1].tier, found.pages[1].distance.is_some()),
        (None, true)
    );
    let text = words(1).join(" ");
    let page = Fingerprints::of(b"", &Text::whole(&text));
    assert_eq!(urls(Subject::Page(Box::new(page)), 3), order);
    assert_eq!(ask(url("http://x.example/"), 3), None);
}
