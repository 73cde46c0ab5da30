//! Sites whose addresses are opaque, or that say little at first.

use std::collections::HashMap;

use crate::made_up::site::{Ask, Look, Reply, Site, link, list, scaled};
use crate::made_up::skin::Skin;
use crate::made_up::text::Random;

/// A page of its own.
fn article(look: &Look, seed: u64, key: &str, links: &str) -> Reply {
    let mut random = Random::of(seed, key);
    let title = random.phrase(5);
    let words = random.between(40, 150);
    look.page(&title, &(random.paragraphs(words) + links))
        .good(key)
}

/// A page of its own in a frame, of so many words.
pub(super) fn article_in(
    skin: &Skin,
    serial: usize,
    seed: u64,
    key: &str,
    words: (usize, usize),
    links: &str,
) -> Reply {
    let mut random = Random::of(seed, key);
    let title = skin.tongue.phrase(&mut random, 5);
    let words = random.between(words.0, words.1);
    let text = skin.tongue.paragraphs(&mut random, words);
    skin.page(serial, &title, &(text + links)).good(key)
}

/// The first page, and the lists of fifty that it links; `None` for other pages.
pub(super) fn drawers(
    skin: &Skin,
    ask: &Ask,
    count: usize,
    path: &dyn Fn(usize) -> String,
) -> Option<Reply> {
    let drawers = count.div_ceil(50);
    if ask.path == "/" {
        let all = (0..drawers).map(|it| (format!("/drawer/{it}"), format!("{it}")));
        return Some(skin.page(ask.serial, skin.name(), &list(all)));
    }
    let number = ask.after("/drawer/").filter(|it| *it < drawers)?;
    let shown = number * 50..(number * 50 + 50).min(count);
    let links = list(shown.map(|it| (path(it), format!("{it}"))));
    Some(skin.page(ask.serial, &format!("{} {number}", skin.name()), &links))
}

/// Documents at addresses that look like sessions, half of them in the query.
pub(crate) fn hex_ids(seed: u64, scale: f64) -> Site {
    let count = scaled(3_000, scale);
    let look = Look::new(seed, "Filing", &[("/", "Shelves")], 70);
    let path = move |it: usize| {
        let id = Random::of(seed, &format!("id {it}")).hex(32);
        if it.is_multiple_of(2) {
            format!("/d/{id}/view")
        } else {
            format!("/open?doc={id}")
        }
    };
    let numbers: HashMap<String, usize> = (0..count).map(|it| (path(it), it)).collect();
    let answer = move |ask: &Ask| {
        if ask.path == "/" {
            return look.page(
                "Shelves",
                &list(
                    (0..count.div_ceil(60))
                        .map(|it| (format!("/shelf/{it}"), format!("Shelf {it}"))),
                ),
            );
        }
        if let Some(number) = ask.after("/shelf/").filter(|it| *it < count.div_ceil(60)) {
            let shown = number * 60..(number * 60 + 60).min(count);
            return look.page(
                "Shelf",
                &list(shown.map(|it| (path(it), Random::of(seed, &it.to_string()).phrase(5)))),
            );
        }
        let target = if ask.query.is_empty() {
            ask.path.to_owned()
        } else {
            format!("{}?{}", ask.path, ask.query)
        };
        match numbers.get(&target) {
            Some(number) => article(&look, seed, &number.to_string(), ""),
            None => Reply::missing(),
        }
    };
    Site::new(answer).good((0..count).map(|it| (it.to_string(), path(it))))
}

/// A list of which only the next part is linked, by a token.
pub(crate) fn cursor(seed: u64, scale: f64) -> Site {
    let count = scaled(4_000, scale);
    let lists = count.div_ceil(20);
    let look = Look::new(seed, "Stream", &[("/", "Newest")], 50);
    let token = move |it: usize| Random::of(seed, &format!("token {it}")).hex(22);
    let numbers: HashMap<String, usize> = (1..lists).map(|it| (token(it), it)).collect();
    let answer = move |ask: &Ask| {
        if let Some(number) = ask.after("/post/").filter(|it| *it < count) {
            return article(&look, seed, &number.to_string(), "");
        }
        let at = match ask.get("after") {
            Some(token) => numbers.get(token).copied(),
            None => Some(0).filter(|_| ask.path == "/"),
        };
        let Some(at) = at else {
            return Reply::missing();
        };
        let shown = at * 20..(at * 20 + 20).min(count);
        let mut html = list(shown.map(|it| {
            (
                format!("/post/{it}"),
                Random::of(seed, &it.to_string()).phrase(5),
            )
        }));
        if at + 1 < lists {
            html += &link(&format!("/?after={}", token(at + 1)), "more");
        }
        look.page("Newest", &html)
    };
    Site::new(answer).good((0..count).map(|it| (it.to_string(), format!("/post/{it}"))))
}

/// The source of a program by version: files that changed are pages of their own.
pub(crate) fn repository(seed: u64, scale: f64) -> Site {
    let (tags, files) = (12, scaled(250, scale));
    let text = move |tag: usize, file: usize| {
        (1..=tag)
            .filter(|it| Random::of(seed, &format!("commit {file} {it}")).percent(25))
            .count()
    };
    let name = |tag: usize| format!("v{}.{}", 1 + tag / 6, tag % 6);
    let look = Look::new(seed, "Source", &[("/", "Versions")], 30);
    let mut good: Vec<(String, String)> = Vec::new();
    for file in 0..files {
        for tag in 0..tags {
            if tag == 0 || text(tag, file) != text(tag - 1, file) {
                good.push((
                    format!("{file}/{}", text(tag, file)),
                    format!("/blob/{}/src/part{}/file{file}.c", name(tag), file % 10),
                ));
            }
        }
    }
    let answer = move |ask: &Ask| match ask.segments().as_slice() {
        [] => look.page(
            "Versions",
            &list((0..tags).map(|it| (format!("/tree/{}/", name(it)), name(it)))),
        ),
        ["tree", tag] => match (0..tags).find(|it| name(*it) == *tag) {
            Some(tag) => look.page(
                &format!("Files of {}", name(tag)),
                &list((0..files).map(|it| {
                    (
                        format!("/blob/{}/src/part{}/file{it}.c", name(tag), it % 10),
                        format!("file{it}.c"),
                    )
                })),
            ),
            None => Reply::missing(),
        },
        ["blob", tag, "src", _, file] => {
            let number = file
                .strip_prefix("file")
                .and_then(|it| it.strip_suffix(".c"))
                .and_then(|it| it.parse().ok());
            let (Some(tag), Some(number)) = (
                (0..tags).find(|it| name(*it) == *tag),
                number.filter(|it: &usize| *it < files),
            ) else {
                return Reply::missing();
            };
            let version = text(tag, number);
            let mut code = Random::of(seed, &format!("file {number}"))
                .words(140)
                .replace(' ', ";\n  ");
            code += &format!(
                ";\n  {} = {};\n",
                Random::of(seed, &format!("{number} {version}")).slug(1),
                version * 3 + 1
            );
            look.page(
                &format!("file{number}.c at {}", name(tag)),
                &format!("<pre>{code}</pre>"),
            )
            .good(format!("{number}/{version}"))
        }
        _ => Reply::missing(),
    };
    Site::new(answer).good(good)
}

/// Weather by day: pages that differ in numbers only.
pub(crate) fn weather(seed: u64, scale: f64) -> Site {
    let days = scaled(3_360, scale);
    let look = Look::new(seed, "Weather station", &[("/", "Years")], 60);
    let path = |it: usize| {
        format!(
            "/weather/{}-{:02}-{:02}",
            2000 + it / 336,
            it / 28 % 12 + 1,
            it % 28 + 1
        )
    };
    let numbers: HashMap<String, usize> = (0..days).map(|it| (path(it), it)).collect();
    let answer = move |ask: &Ask| {
        if ask.path == "/" {
            return look.page(
                "Years",
                &list(
                    (0..days.div_ceil(28))
                        .map(|it| (format!("/month/{it}"), format!("Month {it}"))),
                ),
            );
        }
        if let Some(month) = ask.after("/month/").filter(|it| *it < days.div_ceil(28)) {
            let shown = month * 28..(month * 28 + 28).min(days);
            return look.page("Month", &list(shown.map(|it| (path(it), path(it)))));
        }
        let Some(number) = numbers.get(ask.path).copied() else {
            return Reply::missing();
        };
        let mut random = Random::of(seed, &format!("day {number}"));
        let rows: String = (0..24)
            .map(|hour| {
                format!(
                    "<tr><td>{hour}</td><td>{}.{}</td><td>{}</td><td>{}</td></tr>",
                    random.below(30),
                    random.below(10),
                    random.between(970, 1_040),
                    random.below(90)
                )
            })
            .collect();
        let near = [number.saturating_sub(1), (number + 1).min(days - 1)]
            .map(|it| (path(it), "another day"));
        look.page(
            "Weather of the day",
            &format!("<table>{rows}</table>{}", list(near)),
        )
        .good(number.to_string())
    };
    Site::new(answer).good((0..days).map(|it| (it.to_string(), path(it))))
}

/// Profiles of users, of whom two of three have written nothing.
pub(crate) fn profiles(seed: u64, scale: f64) -> Site {
    let count = scaled(4_000, scale);
    let look = Look::new(seed, "Community", &[("/", "Users")], 80);
    let wrote = move |user: usize| {
        user > count / 10 && Random::of(seed, &format!("wrote {user}")).below(3) == 0
    };
    let answer = move |ask: &Ask| {
        if ask.path == "/" {
            return look.page(
                "Users",
                &list(
                    (0..count.div_ceil(80))
                        .map(|it| (format!("/users/{it}"), format!("Users {it}"))),
                ),
            );
        }
        if let Some(number) = ask.after("/users/").filter(|it| *it < count.div_ceil(80)) {
            let shown = number * 80..(number * 80 + 80).min(count);
            return look.page(
                "Users",
                &list(shown.map(|it| (format!("/user.php?id={it}"), format!("user {it}")))),
            );
        }
        match ask.number("id").filter(|it| ask.path == "/user.php" && *it < count) {
            Some(user) if wrote(user) => article(&look, seed, &user.to_string(), ""),
            Some(_) => look.page("Profile", "<p>This user has not written anything about himself yet. Come back later, or look at the profiles of other users in the meantime.</p>"),
            None => Reply::missing(),
        }
    };
    Site::new(answer).good(
        (0..count)
            .filter(|it| wrote(*it))
            .map(|it| (it.to_string(), format!("/user.php?id={it}"))),
    )
}

/// A catalogue whose records have three views, each of which says something else.
pub(crate) fn views(seed: u64, scale: f64) -> Site {
    let count = scaled(1_200, scale);
    let names = ["card", "marc", "full"];
    let look = Look::new(seed, "Library", &[("/", "Catalogue")], 60);
    let mut good = Vec::new();
    for number in 0..count {
        good.extend(names.map(|it| {
            (
                format!("{number}/{it}"),
                format!("/record?id={number}&view={it}"),
            )
        }));
    }
    let answer = move |ask: &Ask| {
        if ask.path == "/" {
            return look.page(
                "Catalogue",
                &list(
                    (0..count.div_ceil(60))
                        .map(|it| (format!("/drawer/{it}"), format!("Drawer {it}"))),
                ),
            );
        }
        if let Some(number) = ask.after("/drawer/").filter(|it| *it < count.div_ceil(60)) {
            let shown = number * 60..(number * 60 + 60).min(count);
            return look.page(
                "Drawer",
                &list(shown.map(|it| {
                    (
                        format!("/record?id={it}"),
                        Random::of(seed, &format!("title {it}")).phrase(4),
                    )
                })),
            );
        }
        let Some(number) = ask
            .number("id")
            .filter(|it| ask.path == "/record" && *it < count)
        else {
            return Reply::missing();
        };
        let view = ask
            .get("view")
            .and_then(|it| names.into_iter().find(|name| *name == it))
            .unwrap_or("card");
        let title = Random::of(seed, &format!("title {number}")).phrase(4);
        let mut random = Random::of(seed, &format!("{number} {view}"));
        let own = match view {
            "marc" => (0..12)
                .map(|it| {
                    format!(
                        "<tr><td>{}</td><td>$a {}</td></tr>",
                        100 + it * 50,
                        random.phrase(2)
                    )
                })
                .collect(),
            "full" => random.paragraphs(90),
            _ => format!("<p>{}</p>", random.prose(18)),
        };
        let links = list(names.map(|it| (format!("/record?id={number}&view={it}"), it)));
        look.page(&title, &(own + &links))
            .good(format!("{number}/{view}"))
    };
    Site::new(answer).good(good)
}
