//! Parameters and names that nearly always make no difference.

use crate::made_up::site::{Ask, HOST, Look, Reply, Site, link, list, scaled};
use crate::made_up::text::Random;

/// A page of its own.
fn article(look: &Look, seed: u64, key: &str, links: &str) -> Reply {
    let mut random = Random::of(seed, key);
    let title = random.phrase(5);
    let words = random.between(50, 150);
    look.page(&title, &(random.paragraphs(words) + links))
        .good(key)
}

/// The home page and its shelves, which list a hundred articles each; `None` for other pages.
fn shelves(ask: &Ask, look: &Look, count: usize, path: impl Fn(usize) -> String) -> Option<Reply> {
    let shelves = count.div_ceil(100);
    if ask.path == "/" {
        let all = (0..shelves).map(|it| (format!("/shelf/{it}"), format!("Shelf {it}")));
        return Some(look.page("Shelves", &list(all)));
    }
    let number = ask.after("/shelf/").filter(|it| *it < shelves)?;
    let shown = number * 100..(number * 100 + 100).min(count);
    let articles = shown.map(|it| (path(it), format!("Article {it}")));
    Some(look.page(&format!("Shelf {number}"), &list(articles)))
}

/// A parameter that matters on one page of 50.
pub(crate) fn rare(seed: u64, scale: f64) -> Site {
    let count = scaled(3_000, scale);
    let look = Look::new(seed, "Almanac", &[("/", "Shelves")], 60);
    let mut special: Vec<usize> = (0..count).collect();
    Random::of(seed, "special").shuffle(&mut special);
    special.truncate(count.div_ceil(50));
    special.sort_unstable();
    let mut good: Vec<(String, String)> = (0..count)
        .map(|it| (it.to_string(), format!("/article?id={it}")))
        .collect();
    good.extend(
        special
            .iter()
            .map(|it| (format!("{it} full"), format!("/article?id={it}&view=full"))),
    );
    let answer = move |ask: &Ask| {
        if let Some(reply) = shelves(ask, &look, count, |it| format!("/article?id={it}")) {
            return reply;
        }
        let Some(number) = ask
            .number("id")
            .filter(|it| ask.path == "/article" && *it < count)
        else {
            return Reply::missing();
        };
        let full = ask.get("view") == Some("full") && special.binary_search(&number).is_ok();
        let key = if full {
            format!("{number} full")
        } else {
            number.to_string()
        };
        article(
            &look,
            seed,
            &key,
            &link(&format!("/article?id={number}&view=full"), "full view"),
        )
    };
    Site::new(answer).good(good)
}

/// A parameter that makes no difference on the first half of the pages, and one on the others.
pub(crate) fn late(seed: u64, scale: f64) -> Site {
    let count = scaled(5_000, scale);
    let look = Look::new(seed, "Chronicle", &[("/", "Shelves")], 60);
    let mut good: Vec<(String, String)> = (0..count)
        .map(|it| (it.to_string(), format!("/entry/{it}")))
        .collect();
    good.extend(
        (count / 2..count).map(|it| (format!("{it} notes"), format!("/entry/{it}?show=notes"))),
    );
    let answer = move |ask: &Ask| {
        if let Some(reply) = shelves(ask, &look, count, |it| format!("/entry/{it}")) {
            return reply;
        }
        let Some(number) = ask.after("/entry/").filter(|it| *it < count) else {
            return Reply::missing();
        };
        let notes = ask.get("show") == Some("notes") && number >= count / 2;
        let key = if notes {
            format!("{number} notes")
        } else {
            number.to_string()
        };
        article(
            &look,
            seed,
            &key,
            &link(&format!("/entry/{number}?show=notes"), "notes"),
        )
    };
    Site::new(answer).good(good)
}

/// Two names that show the same first 400 pages, and then others.
pub(crate) fn www(seed: u64, scale: f64) -> Site {
    let count = scaled(1_000, scale);
    let same = count * 2 / 5;
    let alias = format!("www.{HOST}");
    let look = Look::new(seed, "Two houses", &[("/", "Shelves")], 60);
    let mut good: Vec<(String, String)> = (0..count)
        .map(|it| (it.to_string(), format!("/page/{it}")))
        .collect();
    let mut site_good: Vec<(String, String)> = Vec::new();
    for number in same..count {
        site_good.push((
            format!("{number} www"),
            format!("http://{alias}/page/{number}"),
        ));
    }
    let home = alias.clone();
    let answer = move |ask: &Ask| {
        if let Some(reply) = shelves(ask, &look, count, |it| format!("/page/{it}")) {
            return reply;
        }
        let Some(number) = ask.after("/page/").filter(|it| *it < count) else {
            return Reply::missing();
        };
        let other = ask.host == home && number >= same;
        let key = if other {
            format!("{number} www")
        } else {
            number.to_string()
        };
        article(&look, seed, &key, "")
    };
    let mut site = Site::new(answer).good(good.drain(..));
    site.good.extend(site_good);
    site.seeds.push(format!("http://{alias}/"));
    site.hosts.push(alias);
    site
}
