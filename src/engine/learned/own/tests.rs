//! What pages add to their sites: honest pages that look alike, traps, and what is written of both.

use std::sync::Arc;

use crate::dedup::own::{Company, OwnComparison, compare};
use crate::dedup::{Document, Ineligible, Repeat, Tier, Verdict};
use crate::engine::learned::own;
use crate::engine::testing::{Answer, World};
use crate::engine::visit::{Analysed, Entry, Judged, Novelty, Own};
use crate::frontier::Moment;
use crate::rows::Judgement;
use crate::store::{Table, for_each};

/// Makes the path and the body of a page by its number.
type Made = Box<dyn Fn(usize) -> (String, String)>;

/// A page of a site with a frame.
fn html(title: &str, body: &str) -> String {
    let menu = ["Home", "Products", "News", "About us", "Contact"];
    let menu = menu.map(|name| format!("<li><a href=\"/{name}\">{name}</a></li>"));
    format!(
        "<html><head><title>{title}</title></head><body><nav><ul>{}</ul></nav>\
         <main>{body}</main><footer><p>All rights reserved by the owner of this site</p>\
         </footer></body></html>",
        menu.concat()
    )
}

/// A page's own part, by what is committed of its site.
fn own_of(world: &mut World, visit: &Analysed) -> Own {
    let now = Moment(world.now);
    let mut own = Own::default();
    let judged = Judged {
        analysed: visit,
        verdict: Verdict::Unique,
        same_payload: None,
        is_found_again: false,
        keep: None,
        keeps_body: false,
        like: None,
        previous: None,
        must_be_whole: false,
        seed: None,
        own: Own::default(),
    };
    let set = world.committer().collect(now, |_, group| {
        own = own::of(&judged, group)?;
        Ok(())
    });
    set.unwrap();
    own
}

/// Commits pages, and says of each, in order, what it adds to its site.
fn novelties(world: &mut World, pages: impl Iterator<Item = (String, String)>) -> Vec<Novelty> {
    let mut found = Vec::new();
    for (url, body) in pages {
        let visit = world.analysed(&url, None, None, &Answer::Page(body));
        found.push(own_of(world, &visit).novelty);
        world.commit(vec![Entry::Visit(Box::new(visit))]);
    }
    found
}

/// The share of pages, after the first `few`, that say something new.
fn new_after(few: usize, found: &[Novelty]) -> f64 {
    let after = &found[few..];
    let new = after.iter().filter(|it| **it == Novelty::New).count();
    new as f64 / after.len() as f64
}

fn pages<'a>(
    count: usize,
    page: impl Fn(usize) -> (String, String) + 'a,
) -> impl Iterator<Item = (String, String)> + 'a {
    (0..count).map(page)
}

/// A number that looks like any other.
fn any(number: usize) -> usize {
    number.wrapping_mul(2_654_435_761) % 1_000_003
}

#[test]
fn honest_pages_that_look_alike_all_say_something() {
    let text = "<p>A kettle of steel that boils a litre of water in two minutes.</p>\
                <p>Keep it dry, and read what comes with it before you use it.</p>";
    let sites: [(&str, Made); 5] = [
        (
            "products",
            Box::new(move |n| {
                let (no, cents) = (any(n), any(n + 7) % 90_000);
                let own = format!("<h1>Kettle</h1>{text}<p>No. {no}</p><p>{cents} €</p>");
                (format!("/p/{n}"), html("Shop", &own))
            }),
        ),
        (
            "reference",
            Box::new(|n| {
                let name = format!("vabdl_{}{}", ["s", "u", "high_s"][n % 3], n);
                let own =
                    format!("<h1>Function</h1><pre>pub fn {name}(a, b)</pre><p>Subtract.</p>");
                (format!("/arch/fn.{n}.html"), html("core::arch", &own))
            }),
        ),
        (
            "comic",
            Box::new(|n| {
                let own = format!("<h1>The daily strip</h1><img src=\"/art/{}.png\">", any(n));
                (format!("/comic/{n}"), html("Strip", &own))
            }),
        ),
        (
            "shell",
            Box::new(|n| {
                let data = format!("{{\"@type\":\"Product\",\"name\":\"thing {}\"}}", any(n));
                let own = format!(
                    "<div id=\"app\"></div><script type=\"application/ld+json\">{data}</script>"
                );
                (format!("/app/{n}"), html("App", &own))
            }),
        ),
        (
            "gallery",
            Box::new(|n| {
                let own = format!(
                    "<img src=\"/photos/{}.jpg\" alt=\"\"><p>View full size</p>",
                    any(n)
                );
                (format!("/gallery/{n}"), html("Gallery", &own))
            }),
        ),
    ];
    for (site, page) in sites {
        let mut world = World::new();
        let found = novelties(
            &mut world,
            pages(100, |n| {
                let (path, body) = page(n);
                (format!("http://www.{site}.example{path}"), body)
            }),
        );
        assert!(new_after(0, &found) > 0.999, "{site}: {found:?}");
    }
}

#[test]
fn traps_add_nothing() {
    let months = [
        "January",
        "February",
        "March",
        "April",
        "May",
        "June",
        "July",
        "August",
        "September",
        "October",
        "November",
        "December",
    ];
    let sites: [(&str, Made); 5] = [
        (
            "missing",
            Box::new(|n| {
                let own = format!(
                    "<h1>Not found</h1><p>We could not find /x/{n}/y{n} here.</p>\
                 <p><a href=\"/x/{}/y\">Try another page</a></p>",
                    n + 1
                );
                (format!("/x/{n}/y{n}"), html("Not found", &own))
            }),
        ),
        (
            "calendar",
            Box::new(move |n| {
                let (year, month) = (2_000 + n / 12, n % 12);
                let own = format!(
                    "<h1>{} {year}</h1><p><a href=\"/cal/{}\">{}</a></p><p>No events this month</p>",
                    months[month],
                    n + 1,
                    if month == 11 {
                        format!("January {}", year + 1)
                    } else {
                        "Next".to_owned()
                    }
                );
                (format!("/cal/{year}/{}", month + 1), html("Calendar", &own))
            }),
        ),
        (
            "search",
            Box::new(|n| {
                let own = format!("<h1>Search</h1><p>No results for word{}</p>", any(n));
                (format!("/search?q=word{}", any(n)), html("Search", &own))
            }),
        ),
        (
            "counter",
            Box::new(|n| {
                let own = format!("<h1>Page {n}</h1><p>You are on page {n}</p>");
                (format!("/count?n={n}"), html(&format!("Page {n}"), &own))
            }),
        ),
        (
            "session",
            Box::new(|n| {
                let text = format!("<p>All about thing {0}, and why {0} matters.</p>", n % 10);
                let own = format!("<h1>Article {}</h1>{text}", n % 10);
                (format!("/a/{}?sid={}", n % 10, any(n)), html("News", &own))
            }),
        ),
    ];
    for (site, page) in sites {
        let mut world = World::new();
        let found = novelties(
            &mut world,
            pages(60, |n| {
                let (path, body) = page(n);
                (format!("http://www.{site}.example{path}"), body)
            }),
        );
        assert!(new_after(14, &found) < 0.001, "{site}: {found:?}");
    }
}

#[test]
fn a_repetition_adds_nothing_although_its_frame_says_something_else() {
    let text = "<p>A kettle of steel that boils a litre of water in two minutes, and more.</p>";
    let body = |n: usize| {
        let page = html("Kettle", &format!("<h1>Kettle</h1>{text}"));
        page.replace(
            "</footer>",
            &format!("<p>Made in {} ms</p></footer>", any(n)),
        )
    };
    let mut world = World::new();
    let mut found = Vec::new();
    for n in 0..6 {
        // The same bytes as before, or with another line in the frame.
        let url = format!("http://www.ms.example/a?s={n}");
        let visit = world.analysed(&url, None, None, &Answer::Page(body(n / 2)));
        let before = own_of(&mut world, &visit);
        let mut judged = Judged {
            analysed: &visit,
            verdict: Verdict::Unique,
            same_payload: None,
            is_found_again: false,
            like: None,
            keep: None,
            keeps_body: false,
            previous: None,
            must_be_whole: false,
            seed: None,
            own: before,
        };
        found.push(own::novelty_by_verdict(&judged));
        if n > 0 {
            let record = world.page("http://www.ms.example/a?s=0");
            let original = Arc::new(record.document.unwrap());
            let of = |url: &str, tier| {
                let original = Document {
                    url: url.to_owned(),
                    ..(*original).clone()
                };
                Verdict::Duplicate(Repeat::exact(Arc::new(original), tier))
            };
            judged.verdict = of("http://shop.ms.example/", Tier::Content);
            assert_eq!(own::novelty_by_verdict(&judged), Novelty::Nothing);
            judged.verdict = of("http://other.example/", Tier::Content);
            assert_eq!(own::novelty_by_verdict(&judged), judged.own.novelty);
            // A picture that is not known: of equal bytes, only that it was forgotten.
            let forgotten = Own {
                novelty: Novelty::New,
                has_new_pictures: true,
                ..Own::default()
            };
            let known = std::mem::replace(&mut judged.own, forgotten);
            for (tier, novelty) in [
                (Tier::Raw, Novelty::Nothing),
                (Tier::Normalized, Novelty::New),
            ] {
                judged.verdict = of("http://shop.ms.example/", tier);
                assert_eq!(own::novelty_by_verdict(&judged), novelty, "{tier:?}");
            }
            judged.own = known;
        }
        judged.verdict = Verdict::Ineligible(Ineligible::ScriptShell);
        assert_eq!(own::novelty_by_verdict(&judged), Novelty::Nothing);
        judged.verdict = Verdict::Ineligible(Ineligible::Denied);
        assert_eq!(own::novelty_by_verdict(&judged), Novelty::Unknown);
        drop(judged);
        world.commit(vec![Entry::Visit(Box::new(visit))]);
    }
    assert_eq!(found[..3], [Novelty::New, Novelty::Nothing, Novelty::New]);
}

#[test]
fn lists_of_known_teasers_add_nothing_and_those_of_new_ones_do() {
    let teaser = |n: usize| format!("<p>Thing {n} is made of {} and lasts.</p>", any(n));
    let list = |n: usize, from: usize| {
        let teasers: String = (0..5).map(|at| teaser(from + at * 3)).collect();
        let url = format!("http://www.facets.example/list?f={n}");
        (url, html("Things", &format!("<h1>Things</h1>{teasers}")))
    };
    let mut world = World::new();
    let first = novelties(&mut world, pages(20, |n| list(n, n * 15)));
    assert!(new_after(0, &first) > 0.999);
    let again = novelties(&mut world, pages(20, |n| list(100 + n, 15 * n)));
    assert!(new_after(0, &again) < 0.001, "{again:?}");
}

#[test]
fn originals_keep_their_lines_and_copies_keep_none() {
    let mut world = World::new();
    let words = |seed: usize| -> String {
        let words = (0..60).map(|at| format!("w{}", any(seed * 1_000 + at)));
        words.collect::<Vec<_>>().join(" ")
    };
    let page = |n: usize, text: usize, extra: &str| {
        let own = format!("<h1>Article {text}</h1><p>{}</p>{extra}", words(text));
        (
            format!("http://www.news.example/{n}?s={}", any(n)),
            html("News", &own),
        )
    };
    let found = novelties(&mut world, pages(40, |n| page(n, n % 20, "")));
    assert!(new_after(20, &found) < 0.001);
    let store = world.store();
    let mut rows = Vec::new();
    for_each(&*store, Table::Parts, &[], &mut |_, row| {
        rows.push(row.len());
        Ok(())
    })
    .unwrap();
    assert_eq!(rows.len(), 20);
    assert!(rows.iter().all(|bytes| *bytes < 150), "{rows:?}");

    // The stored lines of an original compare with a page that is read now.
    let pages = [
        (page(500, 3, ""), OwnComparison::Equal),
        (page(501, 3, "<p>19.99 €</p>"), OwnComparison::Similar(0.0)),
        (page(502, 77, ""), OwnComparison::Differ),
    ];
    let record = world.page(&format!("http://www.news.example/3?s={}", any(3)));
    let original = record.document.unwrap();
    for ((url, body), expected) in pages {
        let visit = world.analysed(&url, None, None, &Answer::Page(body));
        let own = own_of(&mut world, &visit).lines.unwrap();
        let now = Moment(world.now);
        let mut compared = None;
        let set = world.committer().collect(now, |_, group| {
            let stored = group.own_lines(&original)?.unwrap();
            let company = Company {
                is_one: true,
                similarity: None,
            };
            compared = Some(compare(&own, &stored, company));
            Ok(())
        });
        set.unwrap();
        match (compared.unwrap(), expected) {
            (OwnComparison::Similar(share), OwnComparison::Similar(_)) => assert!(share > 0.9),
            (is, expected) => assert_eq!(is, expected, "{url}"),
        }
    }
}

#[test]
fn what_a_kill_leaves_is_what_was_committed() {
    let page = |n: usize| {
        let own = format!("<h1>Article {n}</h1><p>It is about {}.</p>", any(n));
        (format!("http://www.kill.example/{n}"), html("News", &own))
    };
    let mut world = World::new();
    novelties(&mut world, pages(30, page));
    // Judged, and never committed.
    let (url, body) = page(31);
    let visit = world.analysed(&url, None, None, &Answer::Page(body.clone()));
    let now = Moment(world.now);
    let set = world
        .committer()
        .collect(now, |judge, group| judge.visit(&visit, group));
    drop(set);
    world.restart();
    let found = novelties(&mut world, [page(31), page(31), page(5)].into_iter());
    assert_eq!(found, [Novelty::New, Novelty::Nothing, Novelty::Nothing]);
}

#[test]
fn a_page_writes_little() {
    let mut world = World::new();
    let page = |n: usize| {
        let line = |at: usize| format!("<p>Line {at} of {n} says {}.</p>", any(n * 100 + at));
        let lines = (0..20).map(line).collect::<Vec<_>>().concat();
        let url = format!("http://www.long.example/{n}");
        (url, html("Long", &format!("<h1>Article {n}</h1>{lines}")))
    };
    novelties(&mut world, pages(400, page));
    let bytes = |world: &World, table| {
        let mut sum = (0, 0);
        for_each(&*world.store(), table, &[], &mut |_, row| {
            sum = (sum.0 + 1, sum.1 + row.len());
            Ok(())
        })
        .unwrap();
        sum
    };
    let (originals, parts) = bytes(&world, Table::Parts);
    assert_eq!(originals, 400);
    assert!(
        parts / originals < 11 * 32,
        "{} bytes an original",
        parts / originals
    );
    // 20 lines of two hashes each.
    let (_, templates) = bytes(&world, Table::Templates);
    assert!(templates / 400 < 200, "{} bytes a page", templates / 400);
    let judged = world.page("http://www.long.example/7").fate;
    let is_unique = matches!(
        judged,
        crate::rows::Fate::Answered {
            judgement: Judgement::Unique,
            ..
        }
    );
    assert!(is_unique);
}
