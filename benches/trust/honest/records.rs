//! Collections of records: catalogues with gaps, museums, ledgers of numbers, books of words.

use std::collections::HashMap;

use super::others::{article_in, drawers};
use crate::made_up::site::{Ask, Reply, Site, link, list, scaled};
use crate::made_up::skin::{Build, Noise, Skin};
use crate::made_up::text::Random;
use crate::made_up::tongue::Tongue;

/// A catalogue by number in which three records of five are gone.
pub(super) fn gaps(seed: u64, scale: f64) -> Site {
    let count = scaled(5_000, scale);
    let skin =
        Skin::new(seed, "Stadtbücherei", Build::Tables, Tongue::German).noise(&[Noise::Online]);
    let is_there = move |it: usize| Random::of(seed, &format!("there {it}")).percent(40);
    let path = |it: usize| format!("/opac/titel.asp?mednr={:06}", it * 2 + 17);
    let answer = move |ask: &Ask| {
        if let Some(reply) = drawers(&skin, ask, count, &path) {
            return reply;
        }
        let id = ask
            .number("mednr")
            .filter(|it| ask.path.starts_with("/opac/") && it % 2 == 1 && *it >= 17);
        match id
            .map(|it| (it - 17) / 2)
            .filter(|it| *it < count && is_there(*it))
        {
            Some(number) => article_in(&skin, ask.serial, seed, &number.to_string(), (12, 50), ""),
            None => Reply::missing(),
        }
    };
    Site::new(answer).good(
        (0..count)
            .filter(|it| is_there(*it))
            .map(|it| (it.to_string(), path(it))),
    )
}

/// A museum: an image and five words each, one title for the whole site.
pub(super) fn museum(seed: u64, scale: f64) -> Site {
    let count = scaled(3_000, scale);
    let skin = Skin::new(
        seed,
        "Museum of Everyday Things",
        Build::NavLast,
        Tongue::English,
    )
    .one_title()
    .links(&[
        ("/", "Collection"),
        ("/visit", "Visit us"),
        ("/shop", "Shop"),
    ])
    .noise(&[Noise::Quote]);
    let path = |it: usize| format!("/collection/object/{}.{}", 1900 + it % 90, it);
    let answer = move |ask: &Ask| {
        if let Some(reply) = drawers(&skin, ask, count, &path) {
            return reply;
        }
        let number = ask
            .path
            .strip_prefix("/collection/object/")
            .and_then(|it| it.split_once('.'))
            .and_then(|it| it.1.parse::<usize>().ok());
        match number.filter(|it| *it < count && path(*it) == ask.path) {
            Some(number) => {
                let mut random = Random::of(seed, &format!("object {number}"));
                let what = random
                    .pick(&["Bowl", "Spoon", "Chair", "Jug", "Coat", "Lamp", "Toy"])
                    .to_owned();
                let of = random
                    .pick(&["wood", "tin", "clay", "wool", "glass"])
                    .to_owned();
                let html = format!(
                    "<img src=\"/iiif/{}/full/800,/0/default.jpg\" alt=\"\"><p>{what}, {of}, about {}</p>",
                    random.hex(16),
                    1700 + random.below(25) * 10
                );
                skin.page(ask.serial, "", &html).good(number.to_string())
            }
            None if ask.path == "/visit" || ask.path == "/shop" => {
                skin.page(ask.serial, "", &Random::of(seed, ask.path).paragraphs(60))
            }
            None => Reply::missing(),
        }
    };
    Site::new(answer).good((0..count).map(|it| (it.to_string(), path(it))))
}

/// Measurements by station and date in the query; one day of four has none.
pub(super) fn stations(seed: u64, scale: f64) -> Site {
    let (stations, days) = (40, scaled(80, scale.max(0.1)));
    let skin = Skin::new(seed, "气象资料", Build::Tables, Tongue::Chinese)
        .one_title()
        .noise(&[Noise::Clock]);
    let has = move |station: usize, day: usize| {
        Random::of(seed, &format!("has {station} {day}")).percent(75)
    };
    let path = |station: usize, day: usize| {
        format!(
            "/obs.cgi?stn={}&date=2025{:02}{:02}",
            54_000 + station * 11,
            day / 28 + 1,
            day % 28 + 1
        )
    };
    let mut good = Vec::new();
    for station in 0..stations {
        good.extend(
            (0..days)
                .filter(|it| has(station, *it))
                .map(|it| (format!("{station}/{it}"), path(station, it))),
        );
    }
    let answer = move |ask: &Ask| {
        if ask.path == "/" {
            return skin.page(
                ask.serial,
                "",
                &list((0..stations).map(|it| {
                    (
                        format!("/station.cgi?stn={}", 54_000 + it * 11),
                        format!("站 {it}"),
                    )
                })),
            );
        }
        let station = ask
            .number("stn")
            .map(|it| it.wrapping_sub(54_000))
            .filter(|it| it % 11 == 0 && it / 11 < stations)
            .map(|it| it / 11);
        let Some(station) = station else {
            return Reply::missing();
        };
        if ask.path == "/station.cgi" {
            return skin.page(
                ask.serial,
                "",
                &list((0..days).map(|it| (path(station, it), format!("{it}")))),
            );
        }
        let date = ask
            .get("date")
            .filter(|it| it.len() == 8)
            .unwrap_or("00000000");
        let day = date[4..6]
            .parse::<usize>()
            .unwrap_or(0)
            .wrapping_sub(1)
            .wrapping_mul(28)
            .wrapping_add(date[6..].parse::<usize>().unwrap_or(0).wrapping_sub(1));
        if day >= days || !has(station, day) {
            return skin.page(ask.serial, "", "<p>该日没有资料。</p>");
        }
        let mut random = Random::of(seed, &format!("obs {station} {day}"));
        let rows: String = (0..8)
            .map(|hour| {
                format!(
                    "<tr><td>{:02}</td><td>{}.{}</td><td>{}</td><td>{}</td></tr>",
                    hour * 3,
                    random.below(35),
                    random.below(10),
                    random.between(980, 1_035),
                    random.below(360)
                )
            })
            .collect();
        skin.page(ask.serial, "", &format!("<table border=1><tr><td>时</td><td>气温</td><td>气压</td><td>风向</td></tr>{rows}</table>")).good(format!("{station}/{day}"))
    };
    Site::new(answer).good(good)
}

/// Minutes of a parliament by date: each day of the calendar is linked, one in five had a sitting.
pub(super) fn parliament(seed: u64, scale: f64) -> Site {
    let years = scaled(12, scale).max(2);
    let skin = Skin::new(seed, "Госдума", Build::NavLast, Tongue::Russian)
        .links(&[("/", "Годы"), ("/o-nas", "О нас")]);
    let path = |it: usize| {
        format!(
            "/stenogrammy/{}/{:02}/{:02}.html",
            1994 + it / 336,
            it / 28 % 12 + 1,
            it % 28 + 1
        )
    };
    let has = move |it: usize| Random::of(seed, &format!("sat {it}")).percent(20);
    let numbers: HashMap<String, usize> = (0..years * 336).map(|it| (path(it), it)).collect();
    let answer = move |ask: &Ask| match ask.segments().as_slice() {
        [] => skin.page(
            ask.serial,
            "Годы",
            &list((0..years).map(|it| {
                (
                    format!("/stenogrammy/{}/", 1994 + it),
                    format!("{}", 1994 + it),
                )
            })),
        ),
        ["o-nas"] => skin.page(
            ask.serial,
            "О нас",
            &skin.tongue.paragraphs(&mut Random::of(seed, "about"), 90),
        ),
        ["stenogrammy", year] => match year.parse::<usize>().map(|it| it.wrapping_sub(1994)) {
            Ok(year) if year < years => skin.page(
                ask.serial,
                &format!("{}", 1994 + year),
                &list(
                    (year * 336..year * 336 + 336).map(|it| (path(it), format!("{}", it % 28 + 1))),
                ),
            ),
            _ => Reply::missing(),
        },
        _ => match numbers.get(ask.path) {
            Some(number) if has(*number) => {
                article_in(&skin, ask.serial, seed, &number.to_string(), (150, 400), "")
            }
            Some(_) => skin.page(
                ask.serial,
                "Стенограммы",
                "<p>В этот день заседания не было. Выберите другой день в календаре.</p>",
            ),
            None => Reply::missing(),
        },
    };
    Site::new(answer).good(
        (0..years * 336)
            .filter(|it| has(*it))
            .map(|it| (it.to_string(), path(it))),
    )
}

/// Families: a page a person of name and dates, reached from parents and children only.
pub(super) fn genealogy(seed: u64, scale: f64) -> Site {
    let count = scaled(3_000, scale);
    let skin = Skin::new(seed, "Our families", Build::Tables, Tongue::English)
        .links(&[("/tng/index.php", "Home"), ("/tng/login.php", "Log in")])
        .noise(&[Noise::Clock]);
    let path = |it: usize| format!("/tng/getperson.php?personID=I{it}&tree=Main");
    let answer = move |ask: &Ask| {
        if matches!(ask.path, "/" | "/tng/index.php") {
            return skin.page(
                ask.serial,
                "Home",
                &(Random::of(seed, "home").paragraphs(50)
                    + &link(&path(0), "Begin with our ancestor")),
            );
        }
        let id = ask
            .get("personID")
            .and_then(|it| it.strip_prefix('I'))
            .and_then(|it| it.parse::<usize>().ok());
        let Some(number) = id.filter(|it| *it < count) else {
            return Reply::missing();
        };
        if ask.path == "/tng/pedigree.php" {
            let up = std::iter::successors(Some(number), |it| it.checked_sub(1).map(|it| it / 3));
            return skin.page(
                ask.serial,
                "Pedigree",
                &list(up.take(5).map(|it| (path(it), format!("I{it}")))),
            );
        }
        if ask.path != "/tng/getperson.php" {
            return skin.page(
                ask.serial,
                "Log in",
                "<form method=\"post\"><input name=\"tngusername\"></form>",
            );
        }
        let mut random = Random::of(seed, &format!("person {number}"));
        let born = 1600 + (number + 1).ilog2() as usize * 30 + random.below(30);
        let given = random
            .pick(&[
                "John", "Mary", "Anna", "Peter", "Hans", "Ruth", "Carl", "Elsa",
            ])
            .to_owned();
        let family = random
            .pick(&["Miller", "Stone", "Brook", "Hill", "Marsh"])
            .to_owned();
        let mut html = format!(
            "<table><tr><td>Birth</td><td>{} {born}</td><td>{}</td></tr><tr><td>Death</td><td>{}</td></tr></table>",
            random.between(1, 28),
            random.pick(&["Ulm", "York", "Bern", "Graz"]),
            born + random.between(1, 90)
        );
        let near = (number * 3 + 1..number * 3 + 4)
            .filter(|it| *it < count)
            .chain(number.checked_sub(1).map(|it| it / 3));
        html += &list(near.map(|it| (path(it), "relative")));
        html += &link(
            &format!("/tng/pedigree.php?personID=I{number}&tree=Main"),
            "Pedigree",
        );
        skin.page(ask.serial, &format!("{given} {family}"), &html)
            .good(number.to_string())
    };
    let path = |it: usize| format!("/tng/getperson.php?personID=I{it}&tree=Main");
    Site::new(answer).good((0..count).map(|it| (it.to_string(), path(it))))
}

/// Games of chess: openings are shared, the moves are all there is.
pub(super) fn chess(seed: u64, scale: f64) -> Site {
    let count = scaled(2_000, scale);
    let skin =
        Skin::new(seed, "Games of chess", Build::Bare, Tongue::English).noise(&[Noise::Views]);
    let path = |it: usize| format!("/perl/chessgame?gid={}", 1_000_000 + it * 13);
    let answer = move |ask: &Ask| {
        if let Some(reply) = drawers(&skin, ask, count, &path) {
            return reply;
        }
        let id = ask
            .number("gid")
            .map(|it| it.wrapping_sub(1_000_000))
            .filter(|it| it % 13 == 0 && it / 13 < count);
        let Some(number) = id.map(|it| it / 13) else {
            return Reply::missing();
        };
        let mut opening = Random::of(seed, &format!("opening {}", number % 20));
        let mut random = Random::of(seed, &format!("game {number}"));
        let mut pgn = String::new();
        for turn in 1..=random.between(18, 50) {
            let from = if turn < 9 { &mut opening } else { &mut random };
            let mut half = || {
                format!(
                    "{}{}{}",
                    from.pick(&["", "N", "B", "R", "Q", "K"]),
                    from.pick(&["a", "b", "c", "d", "e", "f", "g", "h"]),
                    from.between(1, 8)
                )
            };
            pgn += &format!("{turn}.{} {} ", half(), half());
        }
        let players = format!(
            "{} vs {}",
            random.pick(&["Adams", "Bird", "Cole", "Dorn"]),
            random.pick(&["Ende", "Falk", "Gross", "Horn"])
        );
        skin.page(
            ask.serial,
            &players,
            &format!("<p>{pgn}{}</p>", random.pick(&["1-0", "0-1", "1/2"])),
        )
        .good(number.to_string())
    };
    Site::new(answer).good((0..count).map(|it| (it.to_string(), path(it))))
}

/// Tables of where the planets stand, by body, year and month, with links to the next month.
pub(super) fn ephemeris(seed: u64, scale: f64) -> Site {
    let years = scaled(30, scale).max(3);
    let bodies = [
        "sun", "moon", "mars", "venus", "jupiter", "saturn", "uranus",
    ];
    let skin = Skin::new(seed, "Ephemeris", Build::Bare, Tongue::English).one_title();
    let path =
        |body: &str, month: usize| format!("/eph/{body}/{}/{}", 1950 + month / 12, month % 12 + 1);
    let mut good = Vec::new();
    for body in bodies {
        good.extend((0..years * 12).map(|it| (format!("{body}/{it}"), path(body, it))));
    }
    let answer = move |ask: &Ask| match ask.segments().as_slice() {
        [] => skin.page(ask.serial, "", &list(bodies.map(|it| (path(it, 0), it)))),
        ["eph", body, year, month] => {
            let month = year
                .parse::<usize>()
                .unwrap_or(0)
                .wrapping_sub(1950)
                .wrapping_mul(12)
                .wrapping_add(month.parse::<usize>().unwrap_or(0))
                .wrapping_sub(1);
            if !bodies.contains(body) || month >= years * 12 {
                return Reply::missing();
            }
            let mut random = Random::of(seed, &format!("{body} {month}"));
            let rows: String = (1..=28)
                .map(|day| {
                    format!(
                        "<tr><td>{day}</td><td>{}°{:02}'</td><td>{}°{:02}'</td></tr>",
                        random.below(360),
                        random.below(60),
                        random.below(30),
                        random.below(60)
                    )
                })
                .collect();
            let next = if month + 1 < years * 12 {
                link(&path(body, month + 1), "&gt;&gt;")
            } else {
                String::new()
            };
            skin.page(ask.serial, "", &format!("<table>{rows}</table>{next}"))
                .good(format!("{body}/{month}"))
        }
        _ => Reply::missing(),
    };
    Site::new(answer).good(good)
}

/// A dictionary by letter: entries of ten words, many of which only point to another.
pub(super) fn dictionary(seed: u64, scale: f64) -> Site {
    let count = scaled(3_000, scale);
    let skin = Skin::new(seed, "Толковый словарь", Build::NavLast, Tongue::Russian)
        .noise(&[Noise::Popular, Noise::Quote])
        .popular(
            (0..count.min(60))
                .map(|it| (format!("/slovo/{it}/"), format!("слово {it}")))
                .collect(),
        );
    let word =
        move |it: usize| Tongue::Russian.phrase(&mut Random::of(seed, &format!("entry {it}")), 2);
    let answer = move |ask: &Ask| {
        let path = |it: usize| format!("/slovo/{it}/");
        if let Some(reply) = drawers(&skin, ask, count, &path) {
            return reply;
        }
        let Some(number) = ask.after("/slovo/").filter(|it| *it < count) else {
            return Reply::missing();
        };
        let mut random = Random::of(seed, &format!("meaning {number}"));
        let html = match number % 3 {
            0 => format!(
                "<p>см. {}</p>",
                link(
                    &path((number * 7 + 1) % count),
                    &word((number * 7 + 1) % count)
                )
            ),
            _ => format!("<p>{}</p>", skin.tongue.prose(&mut random, 14)),
        };
        skin.page(ask.serial, &word(number), &html)
            .good(number.to_string())
    };
    Site::new(answer).good((0..count).map(|it| (it.to_string(), format!("/slovo/{it}/"))))
}
