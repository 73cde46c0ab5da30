//! Traps whose pages say something else at each request, in what scripts read, at places that move,
//! in other formats.

use super::beside::{Place, among, title, whole};
use crate::made_up::site::{Ask, Reply, Site, link, list};
use crate::made_up::skin::{Build, Noise, Skin};
use crate::made_up::text::Random;
use crate::made_up::tongue::Tongue;

/// Bad addresses are answered by passages of good pages at random and bad addresses.
pub(super) fn passages(seed: u64, good: usize) -> Site {
    let skin = Skin::new(seed, "Old press", Build::NavLast, Tongue::English).noise(&[Noise::Views]);
    among(
        seed,
        good,
        skin,
        |_, _| link("/vault/first", "vault"),
        move |ask, skin| {
            let mut random = Random::of(seed, &format!("{} {}", ask.path, ask.serial));
            let mut html = "<p>This page has moved. Meanwhile, from our pages:</p>".to_owned();
            for _ in 0..4 {
                let number = random.below(good);
                let mut text = Random::of(seed, &format!("text {number}"));
                let words = text.between(40, 160);
                let all = skin.tongue.paragraphs(&mut text, words);
                html += all.split_inclusive("</p>").next().unwrap_or_default();
                html += &link(&format!("/item/{number}"), &title(skin, seed, number));
            }
            let on = list((0..4).map(|_| (format!("/vault/{}", random.slug(2)), "more")));
            skin.page(ask.serial, "Moved", &(html + &on))
        },
    )
}

/// A session in each link, and a state for scripts with numbers of its own at each request.
pub(super) fn stateful(seed: u64, good: usize) -> Site {
    let skin =
        Skin::new(seed, "App", Build::Modern, Tongue::English).noise(&[Noise::State, Noise::Token]);
    let answer = move |ask: &Ask| {
        let visit = Random::of(seed, &format!("visit {}", ask.serial)).hex(16);
        let with = |path: &str| format!("{path}?v={visit}");
        match Place::of(ask.path, good) {
            Some(place) => place.show(&skin, seed, good, ask.serial, &with, ""),
            None => Reply::missing(),
        }
    };
    whole(good, answer)
}

/// Pages to log in from each page, with one to four advertisements above and below.
pub(super) fn moving(seed: u64, good: usize) -> Site {
    let skin = Skin::new(seed, "Rund ums Rad", Build::Tables, Tongue::German);
    among(
        seed,
        good,
        skin,
        |ask, _| {
            link(
                &format!("/konto?von={}", ask.path.replace('/', "~")),
                "Konto",
            )
        },
        move |ask, skin| {
            let mut random = Random::of(seed, &format!("ads {}", ask.serial));
            let mut ads = || {
                let count = random.between(1, 4);
                let texts = (0..count)
                    .map(|_| Random::of(seed, &format!("ad {}", random.below(90))).prose(8));
                texts.map(|it| format!("<p>{it}</p>")).collect::<String>()
            };
            let (above, below) = (ads(), ads());
            match ask.path {
                "/konto" => skin.page(
                    ask.serial,
                    "Anmelden",
                    &format!(
                        "{above}<p>Bitte melden Sie sich an, um Ihr Konto zu sehen.</p>{below}"
                    ),
                ),
                _ => Reply::missing(),
            }
        },
    )
}

/// Calendars as files, for each month without end, each with the time at which it was made.
pub(super) fn calendar_files(seed: u64, good: usize) -> Site {
    let skin = Skin::new(seed, "Choir", Build::Bare, Tongue::English);
    let months = |at: usize| {
        let name = |it: usize| format!("{}/{:02}", it / 12, it % 12 + 1);
        list([
            (format!("/calendar/{}", name(at + 1)), "next"),
            (format!("/calendar/{}", name(at - 1)), "previous"),
            (format!("/calendar/{}.ics", name(at)), "file"),
        ])
    };
    among(
        seed,
        good,
        skin,
        move |_, _| months(2026 * 12 + 10),
        move |ask, skin| {
            let ["calendar", year, month] = ask.segments()[..] else {
                return Reply::missing();
            };
            let number = month.trim_end_matches(".ics").parse::<usize>().unwrap_or(1);
            let at = year.parse::<usize>().unwrap_or(2026) * 12 + number.max(1) - 1;
            if month.contains(".ics") {
                let text = format!(
                    "BEGIN:VCALENDAR\r\nVERSION:2.0\r\nDTSTAMP:20261122T{:06}Z\r\nEND:VCALENDAR\r\n",
                    ask.serial
                );
                return Reply::of("text/calendar", text);
            }
            skin.page(
                ask.serial,
                "Calendar",
                &format!("<p>Nothing is planned.</p>{}", months(at.max(12))),
            )
        },
    )
}

/// Each page as a file, with the time at which it was asked for in the address.
pub(super) fn files(seed: u64, good: usize) -> Site {
    let skin = Skin::new(seed, "Archive", Build::Soup, Tongue::English);
    among(
        seed,
        good,
        skin,
        |ask, place| match place {
            Place::Good(it) => link(
                &format!("/pdf?id={it}&t={}", 1_790_000_000 + ask.serial),
                "PDF",
            ),
            _ => String::new(),
        },
        move |ask, skin| match ask
            .number("id")
            .filter(|it| ask.path == "/pdf" && *it < good)
        {
            Some(number) => {
                let text = title(skin, seed, number);
                Reply::of(
                    "application/pdf",
                    format!(
                        "%PDF-1.4\n%{}\n1 0 obj ({text}) endobj\n%%EOF\n",
                        ask.serial
                    ),
                )
            }
            None => Reply::missing(),
        },
    )
}
