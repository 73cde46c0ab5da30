//! Spaces of addresses that somebody's script makes up: dates, pages beyond the end, sortings,
//! searches, combinations.

use super::beside::{Place, among, title};
use crate::made_up::site::{Ask, Reply, Site, link, list};
use crate::made_up::skin::{Build, Noise, Skin};
use crate::made_up::text::Random;
use crate::made_up::tongue::Tongue;

/// Days from the year 0 to 9999, by day, month and year, none of which has an event.
pub(super) fn date_picker(seed: u64, good: usize) -> Site {
    let skin = Skin::new(seed, "Town hall", Build::Modern, Tongue::English).noise(&[Noise::Quote]);
    among(
        seed,
        good,
        skin,
        |_, _| link("/events/2026/11/22", "Events"),
        |ask, skin| {
            let parts = ask.segments();
            let ["events", year, month, day] = parts.as_slice() else {
                return Reply::missing();
            };
            let number = |text: &str| text.parse::<i64>().unwrap_or(0);
            let today = number(year) * 336 + (number(month) - 1) * 28 + number(day) - 1;
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
            let names = [
                "Monday",
                "Tuesday",
                "Wednesday",
                "Thursday",
                "Friday",
                "Saturday",
                "Sunday",
            ];
            let said = format!(
                "{}, {} {} {}",
                names[today.rem_euclid(7) as usize],
                number(day),
                months[(number(month) - 1).rem_euclid(12) as usize],
                number(year)
            );
            let links = [-336, -28, -1, 1, 28, 336].map(|it| {
                let to = (today + it).clamp(0, 3_360_000);
                (
                    format!(
                        "/events/{}/{:02}/{:02}",
                        to / 336,
                        to / 28 % 12 + 1,
                        to % 28 + 1
                    ),
                    "another day",
                )
            });
            skin.page(
                ask.serial,
                &said,
                &format!("<p>No events on {said}.</p>{}", list(links)),
            )
        },
    )
}

/// A small calendar inside of each page, whose months are addresses of that page.
pub(super) fn inner_calendar(seed: u64, good: usize) -> Site {
    let skin = Skin::new(seed, "Vereinsblatt", Build::Tables, Tongue::German)
        .noise(&[Noise::Clock, Noise::Online]);
    let months = |path: &str, at: i64| {
        let near = [at - 1, at + 1].map(|it| {
            (
                format!(
                    "{path}?cal={}-{:02}",
                    it.div_euclid(12),
                    it.rem_euclid(12) + 1
                ),
                "Monat",
            )
        });
        let days: String = (1..=28).map(|it| format!("<td>{it}</td>")).collect();
        format!(
            "<table><tr><td>{}/{}</td></tr><tr>{days}</tr></table>{}",
            at.rem_euclid(12) + 1,
            at.div_euclid(12),
            list(near)
        )
    };
    among(
        seed,
        good,
        skin,
        move |ask, _| months(ask.path, 2026 * 12 + 10),
        move |ask, skin| {
            let Some(place) = Place::of(ask.path, good) else {
                return Reply::missing();
            };
            let (year, month) = ask
                .get("cal")
                .and_then(|it| it.rsplit_once('-'))
                .unwrap_or(("2026", "11"));
            let at =
                year.parse::<i64>().unwrap_or(2026) * 12 + month.parse::<i64>().unwrap_or(1) - 1;
            place.show(
                skin,
                seed,
                good,
                ask.serial,
                &str::to_owned,
                &months(ask.path, at),
            )
        },
    )
}

/// Twenty lists that always have a next page; beyond the end it says that there is nothing.
pub(super) fn beyond_the_end(seed: u64, good: usize) -> Site {
    let skin = Skin::new(seed, "دليل", Build::NavLast, Tongue::Arabic).noise(&[Noise::Ads]);
    among(
        seed,
        good,
        skin,
        |_, place| match place {
            Place::Good(it) => link(&format!("/category/{}?page=1", it % 20), "قسم"),
            _ => String::new(),
        },
        move |ask, skin| {
            let (Some(category), Some(page)) = (
                ask.after("/category/").filter(|it| *it < 20),
                ask.number("page"),
            ) else {
                return Reply::missing();
            };
            let own: Vec<usize> = (category..good)
                .step_by(20)
                .skip((page.max(1) - 1) * 10)
                .take(10)
                .collect();
            let html = match own.is_empty() {
                true => "<p>لا توجد نتائج في هذه الصفحة.</p>".to_owned(),
                false => list(
                    own.iter()
                        .map(|it| (format!("/item/{it}"), title(skin, seed, *it))),
                ),
            };
            skin.page(
                ask.serial,
                &format!("قسم {category}"),
                &(html + &link(&format!("/category/{category}?page={}", page + 1), "التالي")),
            )
        },
    )
}

/// A table of the good pages by column, direction, page, length and view.
pub(super) fn orders(seed: u64, good: usize) -> Site {
    let skin = Skin::new(seed, "Register", Build::Tables, Tongue::English).noise(&[Noise::Token]);
    among(
        seed,
        good,
        skin,
        |_, place| match place {
            Place::Home => link("/table?order=name", "Table"),
            _ => String::new(),
        },
        move |ask, skin| {
            if ask.path != "/table" {
                return Reply::missing();
            }
            let order = ask.get("order").unwrap_or("name");
            let dir = ask.get("dir").unwrap_or("asc");
            let per = ask.number("per_page").unwrap_or(10).clamp(10, 100);
            let view = ask.get("view").unwrap_or("rows");
            let page = ask.number("page").unwrap_or(1).max(1);
            let mut all: Vec<usize> = (0..good).collect();
            Random::of(seed, order).shuffle(&mut all);
            if dir == "desc" {
                all.reverse();
            }
            let shown = all.iter().skip((page - 1) * per).take(per);
            let mut html = list(shown.map(|it| (format!("/item/{it}"), title(skin, seed, *it))));
            let to = |order: &str, dir: &str, per: usize, view: &str, page: usize| {
                format!("/table?order={order}&dir={dir}&per_page={per}&view={view}&page={page}")
            };
            for column in ["name", "date", "price", "rating", "place", "votes"] {
                html += &link(
                    &to(
                        column,
                        if dir == "asc" { "desc" } else { "asc" },
                        per,
                        view,
                        1,
                    ),
                    column,
                );
            }
            for number in [10, 25, 50, 100] {
                html += &link(&to(order, dir, number, view, 1), &number.to_string());
            }
            for name in ["rows", "grid", "map"] {
                html += &link(&to(order, dir, per, name, page), name);
            }
            for number in 1..=good.div_ceil(per) {
                html += &link(&to(order, dir, per, view, number), &number.to_string());
            }
            skin.page(ask.serial, "Table", &html)
        },
    )
}

/// Searches that find five good pages each and propose six other searches.
pub(super) fn proposals(seed: u64, good: usize) -> Site {
    let skin = Skin::new(seed, "Поиск", Build::Modern, Tongue::Russian).noise(&[Noise::Quote]);
    among(
        seed,
        good,
        skin,
        |_, _| link("/search/?text=%D0%B4%D0%BE%D0%BC", "поиск"),
        move |ask, skin| {
            if !ask.path.starts_with("/search") {
                return Reply::missing();
            }
            let mut random = Random::of(seed, ask.query);
            let found = list(
                (0..5)
                    .map(|_| random.below(good))
                    .map(|it| (format!("/item/{it}"), title(skin, seed, it))),
            );
            let other = list((0..6).map(|_| {
                (
                    format!("/search/?text={}", random.slug(2).replace('-', "+")),
                    "ещё",
                )
            }));
            skin.page(
                ask.serial,
                "Результаты поиска",
                &format!("{found}<p>С этим ищут:</p>{other}"),
            )
        },
    )
}

/// Any bad address is answered by good pages at random, with status 200, and by relative links
/// that lead further astray.
pub(super) fn astray(seed: u64, good: usize) -> Site {
    let skin = Skin::new(seed, "Garten & Haus", Build::Soup, Tongue::German).noise(&[
        Noise::Quote,
        Noise::Ads,
        Noise::Online,
    ]);
    among(
        seed,
        good,
        skin,
        |_, place| match place {
            Place::Good(it) => link(&format!("alt/beitrag{it}.html"), "Zum alten Beitrag"),
            _ => String::new(),
        },
        move |ask, skin| {
            let mut random = Random::of(seed, &format!("astray {}", ask.serial));
            let liked = list(
                (0..4)
                    .map(|_| random.below(good))
                    .map(|it| (format!("/item/{it}"), title(skin, seed, it))),
            );
            let on = list(
                [
                    "aktuell/heft.html",
                    "service/kontakt.html",
                    "abo/index.html",
                ]
                .map(|it| (it, "mehr")),
            );
            skin.page(ask.serial, "Nicht gefunden", &format!("<p>Leider gibt es diese Seite nicht mehr. Vielleicht gefällt Ihnen etwas davon:</p>{liked}{on}"))
        },
    )
}

/// Filters with numbers, as Drupal writes them: `f[0]=a:1&f[1]=b:2`, in the order of choosing.
pub(super) fn numbered_facets(seed: u64, good: usize) -> Site {
    let skin = Skin::new(seed, "Fundus", Build::Modern, Tongue::English).noise(&[Noise::Token]);
    let kinds = ["colour", "size", "maker", "year", "form"];
    among(
        seed,
        good,
        skin,
        |_, place| match place {
            Place::Home => link("/find", "Find"),
            _ => String::new(),
        },
        move |ask, skin| {
            if ask.path != "/find" {
                return Reply::missing();
            }
            let query = ask
                .query
                .replace("%5B", "[")
                .replace("%5D", "]")
                .replace("%3A", ":");
            let chosen: Vec<&str> = query
                .split('&')
                .filter_map(|it| it.split_once('='))
                .map(|it| it.1)
                .filter(|it| it.contains(':'))
                .collect();
            let has = |item: usize, facet: &str| {
                let (kind, value) = facet.split_once(':').unwrap_or_default();
                Random::of(seed, &format!("{item} {kind}"))
                    .below(8)
                    .to_string()
                    == value
            };
            let own: Vec<usize> = (0..good)
                .filter(|it| chosen.iter().all(|facet| has(*it, facet)))
                .collect();
            let mut html = list(
                own.iter()
                    .take(20)
                    .map(|it| (format!("/item/{it}"), title(skin, seed, *it))),
            );
            for kind in kinds {
                for value in 0..8 {
                    let facet = format!("{kind}:{value}");
                    if chosen.contains(&facet.as_str()) {
                        continue;
                    }
                    let all = chosen
                        .iter()
                        .map(ToString::to_string)
                        .chain([facet.clone()]);
                    let query: Vec<String> = all
                        .enumerate()
                        .map(|(at, it)| format!("f%5B{at}%5D={}", it.replace(':', "%3A")))
                        .collect();
                    html += &link(&format!("/find?{}", query.join("&")), &facet);
                }
            }
            skin.page(ask.serial, "Find", &html)
        },
    )
}

/// A prefix for the language before whatever the address was, good pages too.
pub(super) fn stacked_prefixes(seed: u64, good: usize) -> Site {
    let skin = Skin::new(seed, "Comarca", Build::NavLast, Tongue::English).noise(&[Noise::Views]);
    let names = ["en", "fr", "ar"];
    let more = move |path: &str| list(names.map(|it| (format!("/{it}{path}"), it)));
    among(
        seed,
        good,
        skin,
        move |ask, _| more(ask.path),
        move |ask, skin| {
            let parts = ask.segments();
            let own = parts
                .iter()
                .skip_while(|it| names.contains(it))
                .copied()
                .collect::<Vec<_>>()
                .join("/");
            match Place::of(&format!("/{own}"), good) {
                Some(place) => place.show(
                    skin,
                    seed,
                    good,
                    ask.serial,
                    &str::to_owned,
                    &more(ask.path),
                ),
                None => Reply::missing(),
            }
        },
    )
}

/// A script that is asked for parts of pages, with a counter and a time, and has nothing new.
pub(super) fn polling(seed: u64, good: usize) -> Site {
    let skin = Skin::new(seed, "Ticker", Build::Soup, Tongue::English).noise(&[Noise::Clock]);
    among(
        seed,
        good,
        skin,
        |ask, _| {
            link(
                &format!(
                    "/ajax/ticker?since={}&_={}",
                    1_790_000_000 + ask.serial,
                    ask.serial * 37
                ),
                "refresh",
            )
        },
        |ask, _| match ask.path {
            "/ajax/ticker" => Reply::html(format!(
                "<div class=\"ticker\">Nothing new since your last visit. {}</div>",
                link(
                    &format!(
                        "/ajax/ticker?since={}&_={}",
                        1_790_000_000 + ask.serial,
                        ask.serial * 37 + 5
                    ),
                    "refresh"
                )
            )),
            _ => Reply::missing(),
        },
    )
}

/// Tags joined by commas in the query, and taken away again, over lists of good pages.
pub(super) fn tag_clouds(seed: u64, good: usize) -> Site {
    let skin = Skin::new(seed, "Scrapbook", Build::Soup, Tongue::English)
        .noise(&[Noise::Popular])
        .popular(
            (0..good.min(80))
                .map(|it| (format!("/item/{it}"), format!("Item {it}")))
                .collect(),
        );
    let tags: Vec<String> = (0..30)
        .map(|it| Random::of(seed, &format!("tag {it}")).slug(1))
        .collect();
    let cloud = tags.clone();
    among(
        seed,
        good,
        skin,
        move |_, place| match place {
            Place::Good(it) => list(
                [it % 30, it * 7 % 30]
                    .map(|it| (format!("/browse?tags={}", cloud[it]), cloud[it].clone())),
            ),
            _ => String::new(),
        },
        move |ask: &Ask, skin| {
            if ask.path != "/browse" {
                return Reply::missing();
            }
            let chosen: Vec<&str> = ask
                .get("tags")
                .unwrap_or_default()
                .split(',')
                .filter(|it| !it.is_empty())
                .collect();
            let has = |it: usize, tag: &str| Random::of(seed, &format!("{it} {tag}")).percent(30);
            let own = (0..good)
                .filter(|it| chosen.iter().all(|tag| has(*it, tag)))
                .take(15);
            let html = list(own.map(|it| (format!("/item/{it}"), title(skin, seed, it))));
            let add = tags
                .iter()
                .filter(|it| !chosen.contains(&it.as_str()))
                .map(|it| {
                    (
                        format!("/browse?tags={},{it}", chosen.join(",")),
                        format!("+{it}"),
                    )
                });
            let away = chosen.iter().map(|gone| {
                let rest: Vec<&str> = chosen.iter().filter(|it| *it != gone).copied().collect();
                (
                    format!("/browse?tags={}", rest.join(",")),
                    format!("-{gone}"),
                )
            });
            skin.page(
                ask.serial,
                "Browse by tags",
                &(html + &list(add.chain(away))),
            )
        },
    )
}
