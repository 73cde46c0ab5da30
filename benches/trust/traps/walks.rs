//! Pages that lead to a next one for ever.

use super::beside;
use crate::made_up::site::{Reply, Site, link, list};
use crate::made_up::text::Random;

/// Months without end, and without events.
pub(super) fn calendar(seed: u64, good: usize) -> Site {
    beside(
        seed,
        good,
        "/calendar?year=2024&month=5",
        move |ask, look| {
            let (Some(year), Some(month)) = (ask.number("year"), ask.number("month")) else {
                return Reply::missing();
            };
            let at = year * 12 + month - 1;
            let days: String = (1..=30).map(|it| format!("<td>{it}</td>")).collect();
            let near = [at.saturating_sub(1), at + 1].map(|it| {
                (
                    format!("/calendar?year={}&month={}", it / 12, it % 12 + 1),
                    "another month",
                )
            });
            look.page(
                &format!("Calendar {year}-{month:02}"),
                &format!(
                    "<table><tr>{days}</tr></table><p>No events are planned.</p>{}",
                    list(near)
                ),
            )
        },
    )
}

/// Days without end, in the path; months and years besides.
pub(super) fn calendar_path(seed: u64, good: usize) -> Site {
    beside(seed, good, "/events/2024/05/12/", move |ask, look| {
        let numbers: Vec<usize> = ask
            .segments()
            .iter()
            .skip(1)
            .filter_map(|it| it.parse().ok())
            .collect();
        if !ask.path.starts_with("/events/") || numbers.is_empty() || numbers.len() > 3 {
            return Reply::missing();
        }
        let at = |it: usize| numbers.get(it).copied().unwrap_or(1);
        let day = at(0) * 336 + (at(1) - 1) * 28 + at(2) - 1;
        let path = |it: usize| {
            format!(
                "/events/{}/{:02}/{:02}/",
                it / 336,
                it / 28 % 12 + 1,
                it % 28 + 1
            )
        };
        let links = [
            (path(day + 1), "next day"),
            (path(day.saturating_sub(1)), "day before"),
            (format!("/events/{}/{:02}/", at(0), at(1)), "month"),
            (format!("/events/{}/", at(0) + 1), "next year"),
        ];
        look.page(
            &format!("Events on {}-{:02}-{:02}", at(0), at(1), at(2)),
            &format!("<p>There is nothing on that day.</p>{}", list(links)),
        )
    })
}

/// A list that goes on after its end, by ten.
pub(super) fn offset(seed: u64, good: usize) -> Site {
    beside(seed, good, "/results?offset=0", move |ask, look| {
        let Some(offset) = ask.number("offset") else {
            return Reply::missing();
        };
        let shown = (offset..offset + 10)
            .filter(|it| *it < 60)
            .map(|it| (format!("/good/{it}"), format!("Article {it}")));
        let html = list(shown) + &format!("<p>Results {} to {}</p>", offset + 1, offset + 10);
        look.page(
            "Results",
            &(html + &link(&format!("/results?offset={}", offset + 10), "next results")),
        )
    })
}

/// Pages whose text is a number that grows at each request.
pub(super) fn counter(seed: u64, good: usize) -> Site {
    beside(seed, good, "/visit/1", move |ask, look| {
        let Some(number) = ask.after("/visit/") else {
            return Reply::missing();
        };
        let text = Random::of(seed, "counter").paragraphs(30);
        let html = format!(
            "<p>You are visitor number {} of this page.</p>{text}",
            100_000 + ask.serial * 3
        );
        look.page(
            "Visitors",
            &(html
                + &list([
                    (format!("/visit/{}", number + 1), "again"),
                    (format!("/visit/{}", number * 2), "later"),
                ])),
        )
    })
}

/// A page that links itself with a number that is new at each request.
pub(super) fn refresh(seed: u64, good: usize) -> Site {
    beside(seed, good, "/now?t=0", move |ask, look| {
        if ask.path != "/now" {
            return Reply::missing();
        }
        let text = Random::of(seed, "now").paragraphs(60);
        let links = (0..4).map(|it| {
            (
                format!("/now?t={}", 1_600_000_000 + ask.serial * 17 + it),
                "refresh",
            )
        });
        look.page("Now", &(text + &list(links)))
    })
}
