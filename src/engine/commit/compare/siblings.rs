//! Families of pages that resemble one another, as sites have them: none of them is a duplicate of
//! another, and copies of them are. Each kind is a line of the table of rules in `docs/dedup.md`.

use std::collections::BTreeMap;

use crate::dedup::Tier;
use crate::engine::testing::*;

/// Number of pages of a family, enough for the template of a site to be known.
const PAGES: usize = 40;

/// A page of a site with a frame.
fn framed_page(title: &str, h1: &str, body: &str) -> String {
    let items = [
        "Home",
        "Products and services",
        "About us",
        "Contact",
        "Imprint",
    ];
    let menu = items.map(|item| format!("<li><a href=/{item}>{item}</a></li>"));
    format!(
        "<!doctype html><title>{title}</title><nav><ul>{}</ul></nav><main><article><h1>{h1}</h1>{body}</article></main><footer><p>All prices in francs, errors excepted.</p></footer>",
        menu.concat()
    )
}

/// A paragraph of some words of a vocabulary.
fn paragraph(seed: usize, count: usize) -> String {
    let all = words(seed as u64);
    let text: Vec<&str> = all
        .iter()
        .cycle()
        .skip(seed * 7 % 300)
        .take(count)
        .map(String::as_str)
        .collect();
    format!("<p>{}.</p>", text.join(" "))
}

/// What all pages of a family say.
fn common() -> String {
    (900..905).map(|seed| paragraph(seed, 45)).collect()
}

fn site(number: usize) -> String {
    format!("http://shop{number}.example")
}

/// URL and page of each member of a family, for each kind of family.
#[expect(clippy::too_many_lines, reason = "a table")]
pub(crate) fn families() -> BTreeMap<&'static str, Vec<(String, String)>> {
    let common = common();
    let of = |page: &dyn Fn(usize) -> (String, String)| (0..PAGES).map(page).collect::<Vec<_>>();
    // Of each country enough for its template.
    let of_many =
        |page: &dyn Fn(usize) -> (String, String)| (0..2 * PAGES).map(page).collect::<Vec<_>>();
    let at = |path: &str, n: usize| format!("http://a.example/{path}/{n}");
    let towns = [
        "Bern", "Basel", "Chur", "Genf", "Thun", "Brig", "Zug", "Sion",
    ];
    let mut families = BTreeMap::new();
    families.insert(
        "reference of functions",
        of(&|n| {
            let name = format!("vabd{}_s{}", ["l", "q", "s", "h"][n % 4], 8 << (n / 4));
            let body = format!("<pre>pub fn {name}(a: int{n}x8_t, b: int{n}x8_t)</pre>{common}");
            (
                at("arch", n),
                framed_page(&format!("{name} in core::arch"), &name, &body),
            )
        }),
    );
    families.insert(
        "products under one title",
        of(&|n| {
            let body = format!(
                "<p>Model {n}0{n} in the best quality</p><p>{}.90</p>{common}",
                19 + n
            );
            (at("item", n), framed_page("The shop", "The shop", &body))
        }),
    );
    families.insert(
        "products that differ in price and number",
        of(&|n| {
            let body = format!(
                "<p>Number {}</p><p>Price {}.{:02}</p>{common}",
                4_711 + n,
                9 + n,
                n
            );
            (
                at("product", n),
                framed_page(&format!("Lamp {n}"), &format!("Lamp {n}"), &body),
            )
        }),
    );
    families.insert(
        "variants in colour",
        of(&|n| {
            let colour = ["red", "blue", "green", "black"][n % 4];
            let item = format!("Shirt {}", n / 4);
            let body = format!("{}<p>Colour: {colour}</p>{common}", paragraph(n / 4, 120));
            (at("shirt", n), framed_page(&item, &item, &body))
        }),
    );
    families.insert(
        "one shop in four countries",
        of_many(&|n| {
            let body = format!(
                "{}<p>Price {}</p>{common}",
                paragraph(n / 4, 80),
                10 * (n / 4) + n % 4 * 3 + 7
            );
            let item = format!("Table {}", n / 4);
            let url = format!("{}/table/{}", site(n % 4), n / 4);
            (
                url,
                framed_page(&format!("{item} - country {}", n % 4), &item, &body),
            )
        }),
    );
    families.insert("legal forms", of(&|n| {
        let body = format!("<p>Between the lender {} and the borrower, on day {n} of the year, it is agreed for {} francs that</p>{common}", towns[n % 8], 1_000 + n * 50);
        (at("form", n), framed_page("Contract", "Contract", &body))
    }));
    families.insert("listings that differ in an operator", of(&|n| {
        let operator = ["+", "-", "*", "/", "%", "&amp;", "|", "^"][n % 8];
        let body = format!("{common}<pre>fn apply(a: u8, b: u8) -> u8 {{\n    a {operator} b\n    // case {}\n}}</pre>", n / 8);
        (at("code", n), framed_page("Listing", "Listing", &body))
    }));
    families.insert(
        "guided tours",
        of(&|n| {
            let body = format!(
                "<p>{}, day {} at {}:30</p>{common}",
                towns[n % 8],
                1 + n,
                9 + n % 8
            );
            (
                at("tour", n),
                framed_page("Guided tour", "Guided tour", &body),
            )
        }),
    );
    families.insert(
        "timetables",
        of(&|n| {
            let row = |row: usize| {
                let (leaves, arrives) = ((row * 7 + n) % 60, (row * 5 + n * 3) % 60);
                let (hour, next) = (5 + row, 6 + row);
                format!("<tr><td>Stop {row}<td>{hour}:{leaves:02}<td>{next}:{arrives:02}")
            };
            let rows = (0..12).map(row).collect::<Vec<_>>().concat();
            let body = format!("<table>{rows}</table>{common}");
            (at("line", n), framed_page("Timetable", "Timetable", &body))
        }),
    );
    families.insert(
        "branches on subdomains",
        of(&|n| {
            let town = format!("{} {}", towns[n % 8], n / 8);
            let body = format!("<p>Visit us in {town}, phone {}</p>{common}", 310_000 + n);
            (
                format!("http://b{n}.chain.example/"),
                framed_page("Our branch", "Our branch", &body),
            )
        }),
    );
    families.insert(
        "branches on domains",
        of(&|n| {
            let town = format!("{} {}", towns[n % 8], n / 8);
            let body = format!("<p>Visit us in {town}, phone {}</p>{common}", 310_000 + n);
            (
                format!("http://branch{n}.example/"),
                framed_page(&format!("Branch {town}"), &format!("Branch {town}"), &body),
            )
        }),
    );
    families.insert(
        "pages of lists",
        of(&|n| {
            let body = format!(
                "{common}<ul><li><a href=/x{n}>{}</a><li><a href=/y{n}>{}</a></ul>",
                words(n as u64)[7],
                words(n as u64)[8]
            );
            let url = format!("http://a.example/list{}?page={}", n / 4, n % 4 + 1);
            (url, framed_page("List", "List", &body))
        }),
    );
    families.insert(
        "comics",
        of(&|n| {
            let body = format!("<img src=/strips/{n}.png>{common}");
            (
                at("strip", n),
                framed_page("Daily comic", "Daily comic", &body),
            )
        }),
    );
    families.insert("shells of an application", of(&|n| {
        let body = format!("{common}<script type=application/ld+json>{{\"@type\":\"Product\",\"name\":\"Thing {n}\",\"price\":{}}}</script>", n * 3);
        (at("app", n), framed_page("Application", "Application", &body))
    }));
    families
}

/// Visits pages in order; returns those that were called duplicates, by tier.
fn duplicates(world: &mut World, pages: &[(String, String)]) -> Vec<(String, Tier)> {
    for (url, html) in pages {
        world.visit(url, &Answer::Page(html.clone()));
    }
    again(world, pages);
    let is_other = pages
        .iter()
        .filter(|(url, _)| world.page(url).duplicate().is_some());
    is_other
        .map(|(url, _)| (url.clone(), world.duplicate(url).tier))
        .collect()
}

/// Servers answer what is asked again, with what they answered.
fn again(world: &mut World, pages: &[(String, String)]) {
    let bodies: BTreeMap<&String, &String> = pages.iter().map(|(url, html)| (url, html)).collect();
    let waiting: Vec<String> = (world.waiting().into_iter())
        .filter(|(_, queued)| queued.revisit)
        .map(|(_, queued)| queued.url)
        .collect();
    for url in waiting {
        if let Some(html) = bodies.get(&url) {
            world.revisit(&url, &Answer::Page((*html).clone()));
        }
    }
}

#[test]
fn siblings_are_pages_of_their_own() {
    let mut wrong = Vec::new();
    for (kind, pages) in families() {
        let found = duplicates(&mut World::new(), &pages);
        if !found.is_empty() {
            wrong.push((kind, found.len(), found[0].clone()));
        }
    }
    assert_eq!(wrong, []);
}

#[test]
fn siblings_are_told_as_a_group() {
    let mut world = World::new();
    let families = families();
    let pages = &families["products that differ in price and number"];
    assert_eq!(duplicates(&mut world, pages), []);
    let (first, last) = (&pages[0].0, &pages[PAGES - 1].0);
    let group = |url: &str| {
        let key = crate::store::keys::group(world.id(url).as_bytes());
        let row = world
            .store()
            .get(crate::store::Table::Groups, &key)
            .unwrap();
        row.map(|row| crate::rows::GROUPS.decode(&row).unwrap().url)
    };
    assert_eq!(group(first), None, "it is the first");
    assert_eq!(group(last).as_ref(), Some(first));
}

/// An article of a site, in its frame.
fn article(n: usize) -> (String, String) {
    let title = format!("Report {} of the {n}th week", words(n as u64)[3]);
    let body: String = (0..8).map(|part| paragraph(n * 10 + part, 50)).collect();
    (title, body)
}

/// A kind of copies: site, path, and the copy of a page.
type Copy<'a> = (&'a str, &'a str, Box<dyn Fn(usize) -> String + 'a>);

fn copies_of(site: &str, path: &str, copy: impl Fn(usize) -> String) -> Vec<(String, String)> {
    (0..20)
        .map(|n| (format!("{site}/{path}/{n}"), copy(n)))
        .collect()
}

#[test]
fn copies_among_pages_of_one_site_are_found() {
    let originals = copies_of("http://a.example", "report", |n| {
        let (title, body) = article(n);
        framed_page(&title, &title, &body)
    });
    let edited = |body: &str, every: usize| {
        let words = body.split(' ').enumerate();
        let words = words.map(|(at, word)| match at % every {
            7 => "changed".to_owned(),
            _ => word.to_owned(),
        });
        words.collect::<Vec<_>>().join(" ")
    };
    let kinds: [Copy<'_>; 6] = [
        (
            "http://a.example",
            "session",
            Box::new(|n| {
                let (title, body) = article(n);
                framed_page(&title, &title, &body)
            }),
        ),
        (
            "http://a.example",
            "print",
            Box::new(|n| {
                let (title, body) = article(n);
                format!("<title>{title}</title><h1>{title}</h1>{body}")
            }),
        ),
        (
            "http://a.example",
            "edited",
            Box::new(|n| {
                let (title, body) = article(n);
                framed_page(&title, &title, &edited(&body, 140))
            }),
        ),
        (
            "http://mirror.example",
            "report",
            Box::new(|n| {
                let (title, body) = article(n);
                framed_page(&title, &title, &body)
            }),
        ),
        (
            "http://news.example",
            "reprint",
            Box::new(|n| {
                let (title, body) = article(n);
                format!(
                    "<title>{title} | News</title><header>News of the day</header><main><article><h1>{title}</h1>{body}</article></main><footer>By our agency</footer>"
                )
            }),
        ),
        (
            "http://other.example",
            "edited",
            Box::new(|n| {
                let (title, body) = article(n);
                format!(
                    "<title>{title}</title><main><article><h1>{title}</h1>{}</article></main>",
                    edited(&body, 140)
                )
            }),
        ),
    ];
    let mut world = World::new();
    assert_eq!(duplicates(&mut world, &originals), []);
    for (site, path, copy) in kinds {
        let copies = copies_of(site, path, copy);
        let found = duplicates(&mut world, &copies);
        assert!(
            found.len() >= 17,
            "{} of 20 copies: {site}/{path}",
            found.len()
        );
    }
}
