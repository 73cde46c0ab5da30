//! Sites whose good pages are behind what looks poor: stubs, lists of tags, opaque names, counters.

use std::collections::HashMap;

use super::others::{article_in, drawers};
use crate::made_up::site::{Ask, Reply, Site, link, list, scaled};
use crate::made_up::skin::{Build, Noise, Skin};
use crate::made_up::text::Random;
use crate::made_up::tongue::Tongue;

/// Articles by UUID, linked by one another only.
pub(super) fn uuids(seed: u64, scale: f64) -> Site {
    let count = scaled(2_500, scale);
    let skin =
        Skin::new(seed, "أخبار", Build::Soup, Tongue::Arabic).noise(&[Noise::Views, Noise::Ads]);
    let path = move |it: usize| {
        let hex = Random::of(seed, &format!("uuid {it}")).hex(32);
        format!(
            "/news/{}-{}-4{}-a{}-{}",
            &hex[..8],
            &hex[8..12],
            &hex[13..16],
            &hex[17..20],
            &hex[20..]
        )
    };
    let numbers: HashMap<String, usize> = (0..count).map(|it| (path(it), it)).collect();
    let answer = move |ask: &Ask| {
        let of = |it: usize| {
            (
                path(it),
                skin.tongue
                    .phrase(&mut Random::of(seed, &format!("{it}")), 5),
            )
        };
        if ask.path == "/" {
            return skin.page(ask.serial, "أخبار", &list((0..10.min(count)).map(of)));
        }
        match numbers.get(ask.path) {
            Some(number) => {
                let on = list(
                    (number * 2 + 8..number * 2 + 12)
                        .filter(|it| *it < count)
                        .map(of),
                );
                article_in(&skin, ask.serial, seed, &number.to_string(), (40, 180), &on)
            }
            None => Reply::missing(),
        }
    };
    Site::new(answer).good((0..count).map(|it| (it.to_string(), path(it))))
}

/// Documents named by a parameter in Base64, with its `=` as they are or encoded.
pub(super) fn base64(seed: u64, scale: f64) -> Site {
    let count = scaled(2_500, scale);
    let skin = Skin::new(seed, "公文库", Build::Tables, Tongue::Chinese).noise(&[Noise::Online]);
    let id = move |it: usize| {
        const LETTERS: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
        let mut random = Random::of(seed, &format!("id {it}"));
        let text: String = (0..14)
            .map(|_| char::from(LETTERS[random.below(62)]))
            .collect();
        text + if it.is_multiple_of(2) { "%3D%3D" } else { "==" }
    };
    let path = move |it: usize| format!("/doc/view?p={}&t=1", id(it));
    let numbers: HashMap<String, usize> = (0..count)
        .map(|it| (id(it).replace("%3D", "="), it))
        .collect();
    let answer = move |ask: &Ask| {
        if let Some(reply) = drawers(&skin, ask, count, &path) {
            return reply;
        }
        let number = ask
            .get("p")
            .and_then(|it| numbers.get(&it.replace("%3D", "=").replace("%3d", "=")));
        match number.filter(|_| ask.path == "/doc/view") {
            Some(number) => article_in(&skin, ask.serial, seed, &number.to_string(), (30, 120), ""),
            None => Reply::missing(),
        }
    };
    Site::new(answer).good((0..count).map(|it| (it.to_string(), path(it))))
}

/// Old posts behind a button whose address has a number of its own at each request.
pub(super) fn busted_chain(seed: u64, scale: f64) -> Site {
    let count = scaled(3_000, scale);
    let skin = Skin::new(seed, "Field notes", Build::Modern, Tongue::English)
        .noise(&[Noise::Popular])
        .popular(
            (0..count.min(20))
                .map(|it| (format!("/notes/{it}"), format!("Note {it}")))
                .collect(),
        );
    let answer = move |ask: &Ask| {
        if let Some(number) = ask.after("/notes/").filter(|it| *it < count) {
            return article_in(&skin, ask.serial, seed, &number.to_string(), (20, 120), "");
        }
        let from = match ask.path {
            "/" => 0,
            "/ajax/more" => ask.number("offset").unwrap_or(count),
            _ => return Reply::missing(),
        };
        let mut html = list((from..(from + 15).min(count)).map(|it| {
            (
                format!("/notes/{it}"),
                Random::of(seed, &format!("note {it}")).phrase(4),
            )
        }));
        if from + 15 < count {
            let buster = Random::of(seed, &format!("buster {}", ask.serial)).below(1 << 40);
            html += &link(
                &format!("/ajax/more?offset={}&_={buster}", from + 15),
                "Older",
            );
        }
        match ask.path {
            "/" => skin.page(ask.serial, "Newest", &html),
            // A part of a page, as scripts load it.
            _ => Reply::html(html),
        }
    };
    Site::new(answer).good((0..count).map(|it| (it.to_string(), format!("/notes/{it}"))))
}

/// Pages that only the lists of tags lead to; the tags are found on pages one by one.
pub(super) fn tag_only(seed: u64, scale: f64) -> Site {
    let count = scaled(2_500, scale);
    let tags = (count / 20).clamp(3, 120);
    let skin = Skin::new(seed, "Pictures and words", Build::Soup, Tongue::English)
        .noise(&[Noise::Ads, Noise::Views]);
    let tag = move |it: usize| Random::of(seed, &format!("tag {it}")).slug(1) + &it.to_string();
    let names: HashMap<String, usize> = (0..tags).map(|it| (tag(it), it)).collect();
    let of = move |it: usize| [it % tags, (it * 31 + it / tags * 7 + 7) % tags];
    let answer = move |ask: &Ask| match ask.segments().as_slice() {
        [] => skin.page(
            ask.serial,
            "Newest",
            &list((0..10.min(count)).map(|it| (format!("/entry/{it}"), format!("Entry {it}")))),
        ),
        ["tagged", name] => {
            let Some(number) = names.get(*name) else {
                return Reply::missing();
            };
            let from = ask.number("start").unwrap_or(0);
            let own: Vec<usize> = (0..count).filter(|it| of(*it).contains(number)).collect();
            let mut html = list(
                own.iter()
                    .skip(from)
                    .take(10)
                    .map(|it| (format!("/entry/{it}"), format!("Entry {it}"))),
            );
            if from + 10 < own.len() {
                html += &link(&format!("/tagged/{name}?start={}", from + 10), "more");
            }
            skin.page(ask.serial, &format!("Tagged {name}"), &html)
        }
        ["entry", number] => match number.parse::<usize>() {
            Ok(number) if number < count => {
                let links = list(of(number).map(|it| (format!("/tagged/{}", tag(it)), tag(it))));
                article_in(
                    &skin,
                    ask.serial,
                    seed,
                    &number.to_string(),
                    (15, 90),
                    &links,
                )
            }
            _ => Reply::missing(),
        },
        _ => Reply::missing(),
    };
    Site::new(answer).good((0..count).map(|it| (it.to_string(), format!("/entry/{it}"))))
}

/// A diary of eight years, of which one day in twenty-five has an event, at an address of its own.
pub(super) fn few_events(seed: u64, scale: f64) -> Site {
    let months = scaled(96, scale).max(12);
    let days = months * 28;
    let skin = Skin::new(seed, "Village hall", Build::Tables, Tongue::English)
        .links(&[("/cal.php", "Calendar"), ("/about.php", "About")])
        .noise(&[Noise::Clock]);
    let has = move |it: usize| Random::of(seed, &format!("event {it}")).percent(4);
    let day = |it: usize| {
        format!(
            "/cal.php?y={}&m={}&d={}",
            2018 + it / 336,
            it / 28 % 12 + 1,
            it % 28 + 1
        )
    };
    let event = move |it: usize| {
        format!(
            "/event/{}",
            Random::of(seed, &format!("event slug {it}")).slug(3)
        )
    };
    let numbers: HashMap<String, usize> = (0..days)
        .filter(|it| has(*it))
        .map(|it| (event(it), it))
        .collect();
    let answer = move |ask: &Ask| {
        if let Some(number) = numbers.get(ask.path) {
            return article_in(&skin, ask.serial, seed, &number.to_string(), (25, 80), "");
        }
        if ask.path == "/about.php" {
            return skin.page(
                ask.serial,
                "About",
                &Random::of(seed, "about").paragraphs(90),
            );
        }
        if ask.path != "/" && ask.path != "/cal.php" {
            return Reply::missing();
        }
        let month = match (ask.number("y"), ask.number("m")) {
            (Some(year), Some(month)) => year
                .wrapping_sub(2018)
                .wrapping_mul(12)
                .wrapping_add(month)
                .wrapping_sub(1),
            _ => months / 2,
        };
        if month >= months {
            return Reply::missing();
        }
        match ask.number("d") {
            Some(number) => {
                let number = month * 28 + number.clamp(1, 28) - 1;
                let html = match has(number) {
                    true => format!("<h3>One event</h3>{}", link(&event(number), "What is on")),
                    false => "<p>There are no events on this day.</p>".to_owned(),
                };
                skin.page(
                    ask.serial,
                    &format!("Events of {}.{}.", number % 28 + 1, month % 12 + 1),
                    &html,
                )
            }
            None => {
                let near = [
                    month.checked_sub(1),
                    Some(month + 1).filter(|it| *it < months),
                ];
                let near = near.into_iter().flatten().map(|it| {
                    (
                        format!("/cal.php?y={}&m={}", 2018 + it / 12, it % 12 + 1),
                        "another month".to_owned(),
                    )
                });
                let own =
                    (month * 28..month * 28 + 28).map(|it| (day(it), format!("{}", it % 28 + 1)));
                skin.page(
                    ask.serial,
                    &format!("{} / {}", month % 12 + 1, 2018 + month / 12),
                    &list(own.chain(near)),
                )
            }
        }
    };
    Site::new(answer).good(
        (0..days)
            .filter(|it| has(*it))
            .map(|it| (it.to_string(), event(it))),
    )
}

/// A wiki whose first two hundred links lead to pages that nobody has written yet.
pub(super) fn stubs_first(seed: u64, scale: f64) -> Site {
    let (stubs, count) = (200, scaled(2_500, scale));
    let skin = Skin::new(seed, "Regiowiki", Build::Modern, Tongue::German)
        .links(&[("/wiki/Hauptseite", "Hauptseite")])
        .noise(&[Noise::Quote]);
    let name = move |it: usize| {
        format!(
            "/wiki/{}_{it}",
            Tongue::English
                .phrase(&mut Random::of(seed, &format!("name {it}")), 2)
                .replace(' ', "_")
        )
    };
    let numbers: HashMap<String, usize> = (0..stubs + count).map(|it| (name(it), it)).collect();
    let answer = move |ask: &Ask| {
        if matches!(ask.path, "/" | "/wiki/Hauptseite") {
            return skin.page(
                ask.serial,
                "Hauptseite",
                &list((0..(stubs + 5).min(stubs + count)).map(|it| (name(it), name(it)))),
            );
        }
        match numbers.get(ask.path) {
            Some(number) if *number < stubs => skin.page(ask.serial, &name(*number)[6..].replace('_', " "), "<p>Dieser Artikel existiert noch nicht. Du kannst ihn anlegen, wenn du dich angemeldet hast, oder in anderen Artikeln danach suchen.</p>"),
            Some(number) => {
                let own = number - stubs;
                let on = (own * 2 + 5..own * 2 + 9).filter(|it| *it < count).map(|it| (name(stubs + it), name(stubs + it)));
                article_in(&skin, ask.serial, seed, &number.to_string(), (30, 120), &list(on))
            }
            None => Reply::missing(),
        }
    };
    Site::new(answer).good((stubs..stubs + count).map(|it| (it.to_string(), name(it))))
}

/// A forum of one line a thread, beside much that changes at each request.
pub(super) fn one_liners(seed: u64, scale: f64) -> Site {
    let count = scaled(3_000, scale);
    let skin = Skin::new(seed, "Ask the neighbours", Build::Tables, Tongue::English)
        .one_title()
        .links(&[("/", "Forum"), ("/faq", "FAQ"), ("/login", "Login")])
        .noise(&[Noise::Online, Noise::Quote, Noise::Clock, Noise::Ads]);
    let path = |it: usize| format!("/index.php?topic={}.0", it + 11);
    let answer = move |ask: &Ask| {
        if let Some(reply) = drawers(&skin, ask, count, &path) {
            return reply;
        }
        let id = ask
            .get("topic")
            .and_then(|it| it.split('.').next())
            .and_then(|it| it.parse::<usize>().ok());
        match id.map(|it| it.wrapping_sub(11)).filter(|it| *it < count) {
            Some(number) => {
                let mut random = Random::of(seed, &format!("line {number}"));
                let words = random.between(2, 9);
                let html = format!(
                    "<table><tr><td>user{}</td><td>{}</td></tr></table>",
                    random.below(50),
                    random.prose(words)
                );
                skin.page(ask.serial, "", &html).good(number.to_string())
            }
            None => skin.page(ask.serial, "", &Random::of(seed, "faq").paragraphs(60)),
        }
    };
    Site::new(answer).good((0..count).map(|it| (it.to_string(), path(it))))
}

/// Pages that are equal but for the state that their script reads.
pub(super) fn states(seed: u64, scale: f64) -> Site {
    let count = scaled(2_000, scale);
    let skin = Skin::new(seed, "Atlas of soils", Build::Modern, Tongue::English)
        .one_title()
        .noise(&[Noise::Token]);
    let path = |it: usize| format!("/sample/{}", it + 400);
    let answer = move |ask: &Ask| {
        if let Some(reply) = drawers(&skin, ask, count, &path) {
            return reply;
        }
        match ask
            .after("/sample/")
            .map(|it| it.wrapping_sub(400))
            .filter(|it| *it < count)
        {
            Some(number) => {
                let mut random = Random::of(seed, &format!("state {number}"));
                let state = format!(
                    "{{\"props\":{{\"ph\":{}.{},\"clay\":{},\"place\":\"{}\",\"notes\":\"{}\"}}}}",
                    random.below(9),
                    random.below(100),
                    random.below(70),
                    random.phrase(2),
                    random.prose(12)
                );
                let text = Random::of(seed, "explained").paragraphs(70);
                skin.page(ask.serial, "", &format!("{text}<div id=\"chart\"></div><script id=\"__NEXT_DATA__\" type=\"application/json\">{state}</script>")).good(number.to_string())
            }
            None => Reply::missing(),
        }
    };
    Site::new(answer).good((0..count).map(|it| (it.to_string(), path(it))))
}

/// One library's classes in ten versions: most pages change now and then, all link all versions.
pub(super) fn api_versions(seed: u64, scale: f64) -> Site {
    let (versions, classes) = (10, scaled(200, scale.max(0.1)));
    let skin =
        Skin::new(seed, "libknit", Build::NavLast, Tongue::English).links(&[("/", "Versions")]);
    let text = move |version: usize, class: usize| {
        (1..=version)
            .filter(|it| Random::of(seed, &format!("changed {class} {it}")).percent(35))
            .count()
    };
    let path =
        |version: usize, class: usize| format!("/api/{}.x/classKnit_{class}.html", version + 1);
    let mut good: Vec<(String, String)> = Vec::new();
    for class in 0..classes {
        for version in 0..versions {
            if version == 0 || text(version, class) != text(version - 1, class) {
                good.push((
                    format!("{class}/{}", text(version, class)),
                    path(version, class),
                ));
            }
        }
    }
    let answer = move |ask: &Ask| match ask.segments().as_slice() {
        [] => skin.page(
            ask.serial,
            "Versions",
            &list((0..versions).map(|it| (format!("/api/{}.x/", it + 1), format!("{}.x", it + 1)))),
        ),
        ["api", version, rest @ ..] => {
            let version = version
                .strip_suffix(".x")
                .and_then(|it| it.parse::<usize>().ok())
                .map(|it| it.wrapping_sub(1));
            let Some(version) = version.filter(|it| *it < versions) else {
                return Reply::missing();
            };
            let Some(file) = rest.first() else {
                return skin.page(
                    ask.serial,
                    "Classes",
                    &list((0..classes).map(|it| (path(version, it), format!("Knit_{it}")))),
                );
            };
            let class = file
                .strip_prefix("classKnit_")
                .and_then(|it| it.strip_suffix(".html"))
                .and_then(|it| it.parse::<usize>().ok());
            let Some(class) = class.filter(|it| *it < classes) else {
                return Reply::missing();
            };
            let state = text(version, class);
            let methods: String = (0..6)
                .map(|it| {
                    let mut random = Random::of(
                        seed,
                        &format!(
                            "method {class} {it} {}",
                            if it == class % 6 { state } else { 0 }
                        ),
                    );
                    format!(
                        "<h3>{}()</h3><pre>int {}(int {}, char *{});</pre><p>{}</p>",
                        random.slug(1),
                        random.slug(1),
                        random.slug(1),
                        random.slug(1),
                        random.prose(18)
                    )
                })
                .collect();
            let others = list((0..versions).map(|it| (path(it, class), format!("{}.x", it + 1))));
            skin.page(
                ask.serial,
                &format!("Knit_{class} class reference"),
                &(methods + &others),
            )
            .good(format!("{class}/{state}"))
        }
        _ => Reply::missing(),
    };
    Site::new(answer).good(good)
}
