//! Traps that are made of good pages: last pages that repeat, suggestions, tags, prefixes.

use super::{beside, good_page};
use crate::made_up::site::{Ask, Look, Reply, Site, link, list};
use crate::made_up::text::Random;

/// A list whose last page is shown for every number above, and links a next one.
pub(super) fn last_page(seed: u64, good: usize) -> Site {
    beside(seed, good, "/news?page=1", move |ask, look| {
        let Some(page) = ask.number("page").filter(|_| ask.path == "/news") else {
            return Reply::missing();
        };
        let shown = page.clamp(1, good.div_ceil(20)) - 1;
        let items = list(
            (shown * 20..(shown * 20 + 20).min(good))
                .map(|it| (format!("/good/{it}"), format!("Article {it}"))),
        );
        look.page(
            "News",
            &(items + &link(&format!("/news?page={}", page + 1), "next")),
        )
    })
}

/// Whatever is asked is answered by an excuse and by good pages drawn at random, besides links on.
pub(super) fn suggestions(seed: u64, good: usize) -> Site {
    beside(seed, good, "/gone/one", move |ask, look| {
        let mut random = Random::of(seed, &format!("{} {}", ask.path, ask.serial));
        let excuse = Random::of(seed, "excuse").paragraphs(30);
        let liked = list((0..6).map(|_| random.below(good)).map(|it| {
            (
                format!("/good/{it}"),
                Random::of(seed, &format!("good {it}")).phrase(5),
            )
        }));
        let on = list((0..4).map(|_| (format!("/gone/{}", random.slug(2)), "more")));
        look.page(
            "We could not find that",
            &format!("{excuse}<h2>You may like</h2>{liked}{on}"),
        )
    })
}

/// Lists by tags that can be joined in the path, in any order.
pub(super) fn tags(seed: u64, good: usize) -> Site {
    let names = [
        "red", "old", "new", "big", "soft", "round", "loud", "rare", "warm", "deep", "thin", "wet",
    ];
    beside(seed, good, "/tags/red", move |ask, look| {
        let Some(rest) = ask.path.strip_prefix("/tags/") else {
            return Reply::missing();
        };
        let chosen: Vec<&str> = rest.split('+').collect();
        if chosen.iter().any(|it| !names.contains(it)) {
            return Reply::missing();
        }
        let has = |it: usize, tag: &str| Random::of(seed, &format!("tag {it} {tag}")).percent(40);
        let items = (0..good)
            .filter(|it| chosen.iter().all(|tag| has(*it, tag)))
            .take(40);
        let html = list(items.map(|it| (format!("/good/{it}"), format!("Article {it}"))));
        let more = names
            .iter()
            .filter(|it| !chosen.contains(it))
            .map(|it| (format!("/tags/{rest}+{it}"), format!("and {it}")));
        look.page("Tags", &(html + &list(more)))
    })
}

/// Each address leads to another, which leads to the first page or on.
pub(super) fn redirects(seed: u64, good: usize) -> Site {
    beside(seed, good, "/out/1", move |ask: &Ask, look: &Look| {
        if let Some(number) = ask.after("/out/") {
            return Reply::moved(format!("/jump/{}", number * 7 + 1));
        }
        match ask.after("/jump/") {
            Some(number) => {
                let text = Random::of(seed, "jump").paragraphs(50);
                look.page(
                    "You are leaving us",
                    &(text + &list((1..4).map(|it| (format!("/out/{}", number + it), "go on")))),
                )
            }
            None => Reply::missing(),
        }
    })
}

/// Languages that are put before whatever the address was.
pub(super) fn prefixes(seed: u64, good: usize) -> Site {
    let names = ["en", "de", "fr"];
    beside(seed, good, "/en/help", move |ask, look| {
        let parts = ask.segments();
        let Some((last, before)) = parts.split_last() else {
            return Reply::missing();
        };
        if *last != "help" || before.iter().any(|it| !names.contains(it)) {
            return Reply::missing();
        }
        let text = Random::of(seed, "help").paragraphs(90);
        look.page(
            "Help",
            &(text + &list(names.map(|it| (format!("/{it}{}", ask.path), it)))),
        )
    })
}

/// The same page in other formats, each with a time in its address.
pub(super) fn exports(seed: u64, good: usize) -> Site {
    beside(seed, good, "/export?id=0&at=0", move |ask, look| {
        let Some(number) = ask
            .number("id")
            .filter(|it| ask.path == "/export" && *it < good)
        else {
            return Reply::missing();
        };
        let links = list(["a", "b", "c"].map(|it| {
            (
                format!(
                    "/export?id={}&format={it}&at={}",
                    (number + 1) % good,
                    1_700_000_000 + ask.serial
                ),
                it,
            )
        }));
        good_page(look, seed, number, &links)
    })
}
