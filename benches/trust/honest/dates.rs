//! Sites whose addresses are dates.

use std::collections::HashMap;

use crate::made_up::site::{Ask, Look, Reply, Site, at, link, list, scaled};
use crate::made_up::text::Random;

/// The date so many days after the first of January of a year, in years of twelve months of 28
/// days, which every calendar has.
fn date(first: usize, days: usize) -> (usize, usize, usize) {
    (first + days / 336, days / 28 % 12 + 1, days % 28 + 1)
}

/// A strip a day, with the one before and the next: the text is the same, the picture is not.
pub(crate) fn comic(seed: u64, scale: f64) -> Site {
    strips(seed, scaled(2_000, scale), |it| {
        let (year, month, day) = date(2012, it);
        format!("/comic/{year}-{month:02}-{day:02}")
    })
}

/// The same, with numbers.
pub(crate) fn comic_numbers(seed: u64, scale: f64) -> Site {
    strips(seed, scaled(2_000, scale), |it| {
        format!("/strip/{}/", it + 1)
    })
}

fn strips(seed: u64, count: usize, path: fn(usize) -> String) -> Site {
    let look = Look::new(seed, "Strips", &[("/about", "About")], 80);
    let numbers: HashMap<String, usize> = (0..count).map(|it| (path(it), it)).collect();
    let answer = move |ask: &Ask| {
        let number = match ask.path {
            "/" => count - 1,
            "/about" => return look.page("About", &Random::of(seed, "about").paragraphs(100)),
            other => match numbers.get(other) {
                Some(number) => *number,
                None => return Reply::missing(),
            },
        };
        let image = Random::of(seed, &format!("strip {number}")).hex(16);
        let mut html =
            format!("<img src=\"/images/{image}.png\" alt=\"Comic\" width=\"900\" height=\"300\">");
        if number > 0 {
            html += &link(&path(number - 1), "Previous");
        }
        if number + 1 < count {
            html += &link(&path(number + 1), "Next");
        }
        let reply = look.page("Daily comic", &html);
        reply.good(number.to_string())
    };
    Site::new(answer).good((0..count).map(|it| (it.to_string(), path(it))))
}

/// An article of its own.
fn article(look: &Look, seed: u64, number: usize, links: &str) -> Reply {
    let mut random = Random::of(seed, &format!("article {number}"));
    let title = random.phrase(7);
    let words = random.between(60, 220);
    look.page(&title, &(random.paragraphs(words) + links))
        .good(number.to_string())
}

/// Dated articles that only the sitemap lists.
pub(crate) fn sitemap(seed: u64, scale: f64) -> Site {
    let count = scaled(5_000, scale);
    let look = Look::new(
        seed,
        "Observer",
        &[("/", "Home"), ("/contact", "Contact")],
        100,
    );
    let path = move |it: usize| {
        let (year, month, day) = date(2005, it * 4_000 / count);
        let slug = Random::of(seed, &format!("slug {it}")).slug(3);
        format!("/{year}/{month:02}/{day:02}/{slug}-{it}")
    };
    let good: Vec<(String, String)> = (0..count).map(|it| (it.to_string(), path(it))).collect();
    let numbers: HashMap<String, usize> = good
        .iter()
        .enumerate()
        .map(|(number, it)| (it.1.clone(), number))
        .collect();
    let answer = move |ask: &Ask| match ask.path {
        "/robots.txt" => Reply::of(
            "text/plain",
            format!(
                "User-agent: *\nDisallow:\nSitemap: {}\n",
                at("/sitemap.xml")
            ),
        ),
        "/sitemap.xml" => {
            let mut order: Vec<usize> = (0..count).collect();
            Random::of(seed, "order").shuffle(&mut order);
            let urls: String = order
                .into_iter()
                .map(|it| format!("<url><loc>{}</loc></url>\n", at(&path(it))))
                .collect();
            Reply::of(
                "application/xml",
                format!(
                    "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<urlset xmlns=\"http://www.sitemaps.org/schemas/sitemap/0.9\">\n{urls}</urlset>\n"
                ),
            )
        }
        "/" => look.page(
            "Observer",
            &list((count.saturating_sub(10)..count).map(|it| (path(it), "Latest"))),
        ),
        "/contact" => look.page("Contact", &Random::of(seed, "contact").paragraphs(60)),
        other => match numbers.get(other) {
            Some(number) => article(&look, seed, *number, ""),
            None => Reply::missing(),
        },
    };
    Site::new(answer).good(good)
}

/// A blog whose archive page links every post.
pub(crate) fn blog(seed: u64, scale: f64) -> Site {
    let count = scaled(3_000, scale);
    let look = Look::new(
        seed,
        "A blog",
        &[("/", "Home"), ("/archive/", "Archive")],
        90,
    );
    let path = move |it: usize| {
        let (year, month, _) = date(2003, it * 6_000 / count);
        format!(
            "/{year}/{month:02}/{}.html",
            Random::of(seed, &format!("slug {it}")).slug(4)
        )
    };
    let good: Vec<(String, String)> = (0..count).map(|it| (it.to_string(), path(it))).collect();
    let numbers: HashMap<String, usize> = good
        .iter()
        .enumerate()
        .map(|(number, it)| (it.1.clone(), number))
        .collect();
    let answer = move |ask: &Ask| match ask.path {
        "/" => look.page(
            "Newest",
            &list((count.saturating_sub(5)..count).map(|it| (path(it), "Newest"))),
        ),
        "/archive/" => look.page(
            "Archive",
            &list((0..count).rev().map(|it| (path(it), format!("Post {it}")))),
        ),
        other => match numbers.get(other) {
            Some(number) => article(&look, seed, *number, ""),
            None => Reply::missing(),
        },
    };
    Site::new(answer).good(good)
}

/// The address of a year, a month or a day of a newspaper, in one of five forms.
fn issue(form: usize, year: usize, month: usize, day: usize) -> String {
    const NAMES: [&str; 12] = [
        "jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec",
    ];
    match (form, month, day) {
        (0, 0, _) => format!("/{year}/"),
        (0, _, 0) => format!("/{year}/{month:02}/"),
        (0, ..) => format!("/{year}/{month:02}/{day:02}/"),
        (1, 0, _) => format!("/archive-{year}.html"),
        (1, _, 0) => format!("/archive-{year}-{month:02}.html"),
        (1, ..) => format!("/{year}-{month:02}-{day:02}.html"),
        (2, 0, _) => format!("/paper.php?year={year}"),
        (2, _, 0) => format!("/paper.php?month={year}{month:02}"),
        (2, ..) => format!("/paper.php?date={year}{month:02}{day:02}"),
        (3, 0, _) => format!("/issues/{year}"),
        (3, _, 0) => format!("/issues/{month}-{year}"),
        (3, ..) => format!("/issues/{day}-{month}-{year}"),
        (_, 0, _) => format!("/year/{year}"),
        (_, _, 0) => format!("/year/{year}/{}", NAMES[month - 1]),
        _ => format!("/year/{year}/{}/day{day}", NAMES[month - 1]),
    }
}

/// A newspaper by year, month and day; each day is a page of its own.
pub(crate) fn newspaper(seed: u64, scale: f64, form: usize) -> Site {
    let days = scaled(6_048, scale);
    let years = days.div_ceil(336);
    let look = Look::new(seed, "Morning paper", &[("/", "Years")], 60);
    let mut places: HashMap<String, (usize, usize, usize)> = HashMap::new();
    let mut good = Vec::new();
    for number in 0..days {
        let (year, month, day) = date(1990, number);
        let path = issue(form, year, month, day);
        good.push((format!("{year}-{month}-{day}"), path.clone()));
        places.insert(issue(form, year, 0, 0), (year, 0, 0));
        places.insert(issue(form, year, month, 0), (year, month, 0));
        places.insert(path, (year, month, day));
    }
    let answer = move |ask: &Ask| {
        let target = if ask.query.is_empty() {
            ask.path.to_owned()
        } else {
            format!("{}?{}", ask.path, ask.query)
        };
        if target == "/" {
            return look.page(
                "Years",
                &list((1990..1990 + years).map(|it| (issue(form, it, 0, 0), it.to_string()))),
            );
        }
        let slashed = format!("{target}/");
        let Some((year, month, day)) = places
            .get(&target)
            .or_else(|| places.get(&slashed))
            .copied()
        else {
            return Reply::missing();
        };
        let has = |year: usize, month: usize, day: usize| {
            (year - 1990) * 336 + (month - 1) * 28 + day <= days
        };
        match (month, day) {
            (0, _) => look.page(
                &format!("{year}"),
                &list(
                    (1..=12)
                        .filter(|it| has(year, *it, 1))
                        .map(|it| (issue(form, year, it, 0), format!("Month {it}"))),
                ),
            ),
            (_, 0) => look.page(
                &format!("{month}/{year}"),
                &list(
                    (1..=28)
                        .filter(|it| has(year, month, *it))
                        .map(|it| (issue(form, year, month, it), format!("Day {it}"))),
                ),
            ),
            _ => {
                let mut random = Random::of(seed, &format!("{year}-{month}-{day}"));
                let words = random.between(50, 160);
                let html = random.paragraphs(words);
                look.page(&format!("The paper of {day}/{month}/{year}"), &html)
                    .good(format!("{year}-{month}-{day}"))
            }
        }
    };
    Site::new(answer).good(good)
}

/// Thirty years of months, most of them empty; events have pages of their own.
pub(crate) fn calendar(seed: u64, _scale: f64) -> Site {
    let months = 360;
    let mut random = Random::of(seed, "events");
    let mut events: HashMap<usize, Vec<usize>> = HashMap::new();
    let (mut good, mut month, mut number) = (Vec::new(), 2, 0);
    while month < months {
        good.push((
            format!("m{month}"),
            format!(
                "/calendar?year={}&month={}",
                1995 + month / 12,
                month % 12 + 1
            ),
        ));
        for _ in 0..random.between(1, 4) {
            good.push((format!("e{number}"), format!("/event/{number}")));
            events.entry(month).or_default().push(number);
            number += 1;
        }
        // Up to two years without any.
        month += if random.percent(10) {
            random.between(12, 24)
        } else {
            random.between(1, 7)
        };
    }
    let look = Look::new(
        seed,
        "Parish",
        &[("/", "Home"), ("/calendar?year=1995&month=1", "Calendar")],
        50,
    );
    let answer = move |ask: &Ask| {
        if ask.path == "/" {
            return look.page("Parish", &Random::of(seed, "home").paragraphs(80));
        }
        if let Some(event) = ask.after("/event/").filter(|it| *it < number) {
            let mut random = Random::of(seed, &format!("event {event}"));
            let title = random.phrase(5);
            return look
                .page(&title, &random.paragraphs(70))
                .good(format!("e{event}"));
        }
        let (Some(year), Some(month)) = (ask.number("year"), ask.number("month")) else {
            return Reply::missing();
        };
        if ask.path != "/calendar" || !(1995..2025).contains(&year) || !(1..=12).contains(&month) {
            return Reply::missing();
        }
        let at = (year - 1995) * 12 + month - 1;
        let shown = events.get(&at);
        let mut html = match shown {
            Some(events) => list(events.iter().map(|it| {
                (
                    format!("/event/{it}"),
                    Random::of(seed, &format!("event {it}")).phrase(5),
                )
            })),
            None => "<p>There are no events in this month.</p>".to_owned(),
        };
        for near in [at.checked_sub(1), Some(at + 1).filter(|it| *it < months)]
            .into_iter()
            .flatten()
        {
            html += &link(
                &format!(
                    "/calendar?year={}&month={}",
                    1995 + near / 12,
                    near % 12 + 1
                ),
                "another month",
            );
        }
        let reply = look.page(&format!("Calendar {month}/{year}"), &html);
        if shown.is_some() {
            reply.good(format!("m{at}"))
        } else {
            reply
        }
    };
    Site::new(answer).good(good)
}
