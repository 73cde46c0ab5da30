//! Honest sites that do what traps do: their content changes at each request, moves about, hides
//! behind parameters that mean nothing elsewhere, or behind many pages that say nothing.

use std::collections::HashMap;

use super::others::{article_in, drawers};
use crate::made_up::site::{Ask, Reply, Site, link, list, scaled};
use crate::made_up::skin::{Build, Noise, Skin};
use crate::made_up::text::Random;
use crate::made_up::tongue::Tongue;

/// Shares whose one line, with their name, has another price at each request.
pub(super) fn live(seed: u64, scale: f64) -> Site {
    let count = scaled(2_000, scale);
    let skin = Skin::new(seed, "Börse", Build::Tables, Tongue::German)
        .one_title()
        .noise(&[Noise::Clock]);
    let path = |it: usize| format!("/kurs/{}", 700_000 + it * 3);
    let answer = move |ask: &Ask| {
        if let Some(reply) = drawers(&skin, ask, count, &path) {
            return reply;
        }
        let id = ask.after("/kurs/").map(|it| it.wrapping_sub(700_000));
        match id.filter(|it| it % 3 == 0 && it / 3 < count) {
            Some(id) => {
                let name = Random::of(seed, &format!("share {id}")).phrase(2);
                let price = Random::of(seed, &format!("price {}", ask.serial)).below(90_000);
                let html = format!("<p>{name} AG {},{:02} EUR</p>", price / 100, price % 100);
                skin.page(ask.serial, "", &html).good((id / 3).to_string())
            }
            None => Reply::missing(),
        }
    };
    Site::new(answer).good((0..count).map(|it| (it.to_string(), path(it))))
}

/// Up to three advertisements before the one line of a page: it never stands at the same place.
pub(super) fn shifting(seed: u64, scale: f64) -> Site {
    let count = scaled(2_000, scale);
    let skin = Skin::new(seed, "Sayings", Build::Bare, Tongue::English).one_title();
    let path = |it: usize| format!("/saying.php?n={it}");
    let answer = move |ask: &Ask| {
        if let Some(reply) = drawers(&skin, ask, count, &path) {
            return reply;
        }
        let number = ask
            .number("n")
            .filter(|it| ask.path == "/saying.php" && *it < count);
        let Some(number) = number else {
            return Reply::missing();
        };
        let mut random = Random::of(seed, &format!("ads {}", ask.serial));
        let mut html = String::new();
        for _ in 0..random.below(4) {
            let mut ad = Random::of(seed, &format!("ad {}", random.below(80)));
            html += &format!("<p>{}</p>", ad.prose(8));
        }
        html += &format!(
            "<p>{}</p>",
            Random::of(seed, &format!("saying {number}")).prose(10)
        );
        skin.page(ask.serial, "", &html).good(number.to_string())
    };
    Site::new(answer).good((0..count).map(|it| (it.to_string(), path(it))))
}

/// Stories named by `sid`, speeches by `session`, files by `ref`, letters by `token`.
pub(super) fn known_names(seed: u64, scale: f64) -> Site {
    let count = scaled(2_400, scale);
    let skin = Skin::new(seed, "Annals", Build::NavLast, Tongue::English).noise(&[Noise::Views]);
    let path = move |it: usize| match it % 4 {
        0 => format!("/article.php?sid={}", it + 3),
        1 => format!("/debates?session={}-{}", 1900 + it / 20, it % 20),
        2 => format!("/files/show?ref=B{:05}", it * 7),
        _ => format!(
            "/letters/read?token={}",
            Random::of(seed, &format!("token {it}")).hex(32)
        ),
    };
    let numbers: HashMap<String, usize> = (0..count).map(|it| (path(it), it)).collect();
    let answer = move |ask: &Ask| {
        if let Some(reply) = drawers(&skin, ask, count, &path) {
            return reply;
        }
        match numbers.get(&format!("{}?{}", ask.path, ask.query)) {
            Some(number) => article_in(&skin, ask.serial, seed, &number.to_string(), (30, 120), ""),
            // Without the parameter, or with an unknown one: the newest.
            None => article_in(&skin, ask.serial, seed, "0", (30, 120), ""),
        }
    };
    Site::new(answer).good((0..count).map(|it| (it.to_string(), path(it))))
}

/// Documents whose pages only ask to log in; what they say is in their print views.
pub(super) fn print_only(seed: u64, scale: f64) -> Site {
    let count = scaled(1_500, scale);
    let skin = Skin::new(seed, "Law reports", Build::Soup, Tongue::English).noise(&[Noise::Token]);
    let bare = Skin::new(seed, "Law reports", Build::Bare, Tongue::English);
    let path = |it: usize| format!("/case/{it}");
    let answer = move |ask: &Ask| {
        if let Some(reply) = drawers(&skin, ask, count, &path) {
            return reply;
        }
        match ask.after("/case/").filter(|it| *it < count) {
            Some(number) if ask.get("print") == Some("1") => {
                article_in(&bare, ask.serial, seed, &number.to_string(), (40, 160), "")
            }
            Some(number) => skin.page(
                ask.serial,
                "A report",
                &format!(
                    "<p>Please log in to read this report in comfort.</p>{}",
                    link(&format!("/case/{number}?print=1"), "Print version")
                ),
            ),
            None => Reply::missing(),
        }
    };
    Site::new(answer).good((0..count).map(|it| (it.to_string(), format!("{}?print=1", path(it)))))
}

/// Pages that ask for a language; three of twenty that they link say something.
pub(super) fn chosen_language(seed: u64, scale: f64) -> Site {
    let count = scaled(150, scale);
    let names = [
        "en", "de", "fr", "es", "it", "pl", "nl", "sv", "cs", "da", "fi", "el",
    ];
    let skin = Skin::new(seed, "Treaties", Build::Modern, Tongue::English).noise(&[Noise::Token]);
    let path = |it: usize| format!("/treaty/{it}");
    let has = move |it: usize, lang: usize| (it * 5 + lang * 3).is_multiple_of(4);
    let mut good = Vec::new();
    for number in 0..count {
        for (at, name) in names.iter().enumerate().filter(|it| has(number, it.0)) {
            good.push((
                format!("{number}/{at}"),
                format!("{}?lang={name}", path(number)),
            ));
        }
    }
    let answer = move |ask: &Ask| {
        if let Some(reply) = drawers(&skin, ask, count, &path) {
            return reply;
        }
        let Some(number) = ask.after("/treaty/").filter(|it| *it < count) else {
            return Reply::missing();
        };
        let lang = ask
            .get("lang")
            .and_then(|it| names.iter().position(|name| *name == it));
        match lang {
            Some(lang) if has(number, lang) => {
                let tongues = [
                    Tongue::English,
                    Tongue::German,
                    Tongue::Russian,
                    Tongue::Arabic,
                ];
                let skin = skin.in_tongue(tongues[lang % 4]);
                article_in(
                    &skin,
                    ask.serial,
                    seed,
                    &format!("{number}/{lang}"),
                    (40, 120),
                    "",
                )
            }
            Some(_) => skin.page(
                ask.serial,
                "Not translated",
                "<p>There is no translation yet.</p>",
            ),
            None => skin.page(
                ask.serial,
                "Choose a language",
                &list(names.map(|it| (format!("{}?lang={it}", path(number)), it))),
            ),
        }
    };
    Site::new(answer).good(good)
}

/// Lists that end after five pages, however they are sorted: each order shows others.
pub(super) fn capped_orders(seed: u64, scale: f64) -> Site {
    let count = scaled(600, scale);
    let orders = [
        "name", "price", "date", "rating", "place", "votes", "size", "age",
    ];
    let skin = Skin::new(seed, "Classifieds", Build::Soup, Tongue::English).noise(&[Noise::Ads]);
    let order = move |name: &str, dir: &str| {
        let mut all: Vec<usize> = (0..count).collect();
        Random::of(seed, name).shuffle(&mut all);
        if dir == "desc" {
            all.reverse();
        }
        all.truncate((count / 5).max(5));
        all
    };
    let mut shown: Vec<usize> = orders
        .iter()
        .flat_map(|it| [order(it, "asc"), order(it, "desc")].concat())
        .collect();
    shown.sort_unstable();
    shown.dedup();
    let answer = move |ask: &Ask| {
        if let Some(number) = ask.after("/offer/").filter(|it| *it < count) {
            return article_in(&skin, ask.serial, seed, &number.to_string(), (15, 60), "");
        }
        if ask.path != "/" && ask.path != "/offers" {
            return Reply::missing();
        }
        let (sort, dir) = (
            ask.get("sort").unwrap_or("name"),
            ask.get("dir").unwrap_or("asc"),
        );
        let page = ask.number("page").unwrap_or(1).clamp(1, 5);
        let all = order(sort, dir);
        let each = all.len().div_ceil(5);
        let own = all.iter().skip((page - 1) * each).take(each);
        let mut html = list(own.map(|it| (format!("/offer/{it}"), format!("Offer {it}"))));
        for name in orders {
            for dir in ["asc", "desc"] {
                html += &link(&format!("/offers?sort={name}&dir={dir}&page=1"), name);
            }
        }
        html += &list((1..=5).map(|it| {
            (
                format!("/offers?sort={sort}&dir={dir}&page={it}"),
                it.to_string(),
            )
        }));
        skin.page(ask.serial, "Offers", &html)
    };
    Site::new(answer).good(
        shown
            .into_iter()
            .map(|it| (it.to_string(), format!("/offer/{it}"))),
    )
}

/// Papers that only searches lead to; each search proposes others, and many find nothing.
pub(super) fn search_only(seed: u64, scale: f64) -> Site {
    let (count, terms) = (scaled(1_500, scale), scaled(700, scale).max(20));
    let skin =
        Skin::new(seed, "Поиск статей", Build::Modern, Tongue::Russian).noise(&[Noise::Clock]);
    let term = move |it: usize| format!("{}{it}", Random::of(seed, &format!("term {it}")).slug(1));
    let numbers: HashMap<String, usize> = (0..terms).map(|it| (term(it), it)).collect();
    let answer = move |ask: &Ask| {
        if let Some(number) = ask.after("/paper/").filter(|it| *it < count) {
            return article_in(&skin, ask.serial, seed, &number.to_string(), (30, 100), "");
        }
        let at = match ask.path {
            "/" => Some(0),
            "/search" => ask.get("q").and_then(|it| numbers.get(it)).copied(),
            _ => return Reply::missing(),
        };
        let at = at.unwrap_or(0);
        // One search of three finds something, three papers for each of those that do not.
        let found: Vec<usize> = match at.is_multiple_of(3) {
            true => (at * count / terms..(at + 3) * count / terms)
                .filter(|it| *it < count)
                .collect(),
            false => Vec::new(),
        };
        let mut html = match found.is_empty() {
            true => "<p>Ничего не найдено.</p>".to_owned(),
            false => list(
                found
                    .iter()
                    .map(|it| (format!("/paper/{it}"), format!("{it}"))),
            ),
        };
        let others = [at * 2 + 1, at * 2 + 2, (at + 7) % terms];
        html += &list(
            others
                .iter()
                .filter(|it| **it < terms)
                .map(|it| (format!("/search?q={}", term(*it)), term(*it))),
        );
        skin.page(ask.serial, "Поиск", &html)
    };
    Site::new(answer).good((0..count).map(|it| (it.to_string(), format!("/paper/{it}"))))
}

/// Folders in folders, of which six of seven hold nothing but folders or nothing at all.
pub(super) fn empty_folders(seed: u64, scale: f64) -> Site {
    let folders = scaled(3_000, scale);
    let skin = Skin::new(seed, "Portal", Build::Tables, Tongue::German).noise(&[Noise::Online]);
    // A folder lies in one of a third of its number.
    let path = |it: usize| {
        let up = std::iter::successors(Some(it), |it| (*it > 0).then(|| (it - 1) / 4));
        let mut names: Vec<String> = up.map(|it| format!("k{it}")).collect();
        names.reverse();
        format!("/{}/", names.join("/"))
    };
    let has = move |it: usize| Random::of(seed, &format!("folder {it}")).below(7) == 0;
    let answer = move |ask: &Ask| {
        let parts = ask.segments();
        let name = parts.last().copied().unwrap_or("k0");
        if let Some(number) = name
            .strip_prefix("seite")
            .and_then(|it| it.strip_suffix(".html"))
        {
            return match number.parse::<usize>() {
                Ok(number) if number < folders * 2 && has(number / 2) => {
                    article_in(&skin, ask.serial, seed, &number.to_string(), (25, 90), "")
                }
                _ => Reply::missing(),
            };
        }
        let number = name
            .strip_prefix('k')
            .and_then(|it| it.parse::<usize>().ok());
        let Some(number) =
            number.filter(|it| *it < folders && (ask.path == "/" || path(*it) == ask.path))
        else {
            return Reply::missing();
        };
        let below = (number * 4 + 1..number * 4 + 5).filter(|it| *it < folders);
        let mut html = list(below.map(|it| (path(it), format!("Ordner {it}"))));
        match has(number) {
            true => {
                html += &list([0, 1].map(|it| {
                    (
                        format!("{}seite{}.html", path(number), number * 2 + it),
                        "Seite",
                    )
                }));
            }
            false => html += "<p>In diesem Ordner sind keine Seiten.</p>",
        }
        skin.page(ask.serial, "Ordner", &html)
    };
    let good = (0..folders)
        .filter(|it| has(*it))
        .flat_map(|it| [it * 2, it * 2 + 1]);
    Site::new(answer)
        .good(good.map(|it| (it.to_string(), format!("{}seite{it}.html", path(it / 2)))))
}

/// Answers of which each request shows three of six, in any order.
pub(super) fn shuffled(seed: u64, scale: f64) -> Site {
    let count = scaled(1_500, scale);
    let skin = Skin::new(seed, "Ask", Build::Soup, Tongue::English)
        .noise(&[Noise::Views])
        .one_title();
    let path = |it: usize| format!("/q/{}", 300 + it * 2);
    let answer = move |ask: &Ask| {
        if let Some(reply) = drawers(&skin, ask, count, &path) {
            return reply;
        }
        let number = ask
            .after("/q/")
            .map(|it| it.wrapping_sub(300))
            .filter(|it| it % 2 == 0 && it / 2 < count);
        let Some(number) = number.map(|it| it / 2) else {
            return Reply::missing();
        };
        let mut order: Vec<usize> = (0..6).collect();
        Random::of(seed, &format!("order {}", ask.serial)).shuffle(&mut order);
        let answers: String = order[..3]
            .iter()
            .map(|it| {
                format!(
                    "<div><p>{}</p></div>",
                    Random::of(seed, &format!("answer {number} {it}")).prose(15)
                )
            })
            .collect();
        skin.page(ask.serial, "", &answers).good(number.to_string())
    };
    Site::new(answer).good((0..count).map(|it| (it.to_string(), path(it))))
}

/// What is known of each number: the divisors, and little more.
pub(super) fn divisors(seed: u64, scale: f64) -> Site {
    let count = scaled(2_000, scale);
    let skin = Skin::new(seed, "Numbers", Build::Bare, Tongue::English);
    let path = |it: usize| format!("/number/{}", it + 10_000);
    let answer = move |ask: &Ask| {
        if let Some(reply) = drawers(&skin, ask, count, &path) {
            return reply;
        }
        match ask
            .after("/number/")
            .filter(|it| (10_000..10_000 + count).contains(it))
        {
            Some(number) => {
                let of = |it: &usize| number.is_multiple_of(*it);
                let all: Vec<String> = (1..=number).filter(of).map(|it| it.to_string()).collect();
                let html = format!(
                    "<p>Divisors: {}</p><p>Binary: {number:b}</p><p>Next: {}</p>",
                    all.join(", "),
                    link(&path((number - 10_000 + 1) % count), "next number")
                );
                skin.page(ask.serial, &format!("The number {number}"), &html)
                    .good((number - 10_000).to_string())
            }
            None => Reply::missing(),
        }
    };
    Site::new(answer).good((0..count).map(|it| (it.to_string(), path(it))))
}

/// A shop of ten pages for each ware, one for each shop window, nine of which show the same.
pub(super) fn windows(seed: u64, scale: f64) -> Site {
    let count = scaled(300, scale);
    let skin = Skin::new(seed, "Arcade", Build::Modern, Tongue::English)
        .noise(&[Noise::State, Noise::Token]);
    let path = |it: usize| format!("/window/{}/ware/{}", it % 10, it / 10);
    // The tenth window has an offer of its own.
    let key = |it: usize| match it % 10 {
        7 => format!("{} offer", it / 10),
        _ => format!("{}", it / 10),
    };
    let answer = move |ask: &Ask| {
        if let Some(reply) = drawers(&skin, ask, count * 10, &path) {
            return reply;
        }
        let ["window", window, "ware", ware] = ask.segments()[..] else {
            return Reply::missing();
        };
        let (window, ware) = (
            window.parse::<usize>().unwrap_or(10),
            ware.parse::<usize>().unwrap_or(count),
        );
        if window >= 10 || ware >= count {
            return Reply::missing();
        }
        article_in(
            &skin,
            ask.serial,
            seed,
            &key(ware * 10 + window),
            (20, 80),
            "",
        )
    };
    let good = (0..count).flat_map(|it| [it * 10, it * 10 + 7]);
    Site::new(answer).good(good.map(|it| (key(it), path(it))))
}
