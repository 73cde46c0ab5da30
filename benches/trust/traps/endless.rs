//! Addresses without end: soft 404s, paths and queries that grow, mirrors, searches.

use super::{beside, good_page, look, shelves};
use crate::made_up::site::{Ask, Look, Reply, Site, link, list};
use crate::made_up::text::Random;

/// Links to pages that nobody made, from the address of one.
fn onward(seed: u64, ask: &Ask, count: usize) -> String {
    let mut random = Random::of(seed, &format!("{}?{}", ask.path, ask.query));
    list((0..count).map(|_| {
        let words = random.between(1, 3);
        (
            format!("/{}/{}", random.slug(1), random.slug(words)),
            random.word(),
        )
    }))
}

/// Whatever is asked is answered by a few words and some links, with status 200.
pub(super) fn soft_short(seed: u64, good: usize) -> Site {
    beside(seed, good, "/lost-and-found", move |ask, _| {
        let links = onward(seed, ask, 6);
        Reply::html(format!(
            "<html><head><title>Oops</title></head><body><h1>Page not found</h1><p>Try these:</p>{links}</body></html>"
        ))
    })
}

/// The same, in the frame of the site and with an excuse.
pub(super) fn soft_long(seed: u64, good: usize) -> Site {
    beside(seed, good, "/lost-and-found", move |ask, look| {
        let excuse = Random::of(seed, "excuse").paragraphs(150);
        look.page("Not found", &(excuse + &onward(seed, ask, 6)))
    })
}

/// The same, repeating the address that was asked for.
pub(super) fn soft_echo(seed: u64, good: usize) -> Site {
    beside(seed, good, "/lost-and-found", move |ask, look| {
        let words = ask.path.replace(['/', '-'], " ");
        let excuse = Random::of(seed, "excuse").paragraphs(40);
        let html = format!(
            "<p>Sorry, there is no page at <code>{}</code>. You were looking for{words}?</p>{excuse}",
            ask.path
        );
        look.page(
            &format!("No page: {}", ask.path),
            &(html + &onward(seed, ask, 6)),
        )
    })
}

/// Each page leads into folders of itself.
pub(super) fn growing_path(seed: u64, good: usize) -> Site {
    beside(seed, good, "/files/", move |ask, look| {
        if !ask.path.starts_with("/files/") {
            return Reply::missing();
        }
        let names = ["a", "b", "images", "old"];
        look.page(
            "Index of files",
            &list(names.map(|it| (format!("{it}/"), it))),
        )
    })
}

/// Each page adds parameters to its address.
pub(super) fn growing_query(seed: u64, good: usize) -> Site {
    beside(seed, good, "/filter?a=1", move |ask, look| {
        if ask.path != "/filter" {
            return Reply::missing();
        }
        let text = Random::of(seed, "filter").paragraphs(60);
        let mut random = Random::of(seed, ask.query);
        let links = (0..5).map(|_| {
            (
                format!(
                    "/filter?{}&{}={}",
                    ask.query,
                    random.word(),
                    random.below(10)
                ),
                "narrow",
            )
        });
        look.page("Filter", &(text + &list(links)))
    })
}

/// A list that can be shown in many ways, named in any order.
pub(super) fn permutations(seed: u64, good: usize) -> Site {
    beside(seed, good, "/list?sort=name", move |ask, look| {
        if ask.path != "/list" {
            return Reply::missing();
        }
        let ways = [
            ("sort", ["name", "date", "size"]),
            ("dir", ["asc", "desc", "none"]),
            ("view", ["grid", "rows", "full"]),
            ("show", ["10", "20", "50"]),
            ("lang", ["a", "b", "c"]),
        ];
        let mut links = Vec::new();
        for (name, values) in ways {
            for value in values {
                let mut pairs: Vec<String> = ask
                    .query
                    .split('&')
                    .filter(|it| !it.starts_with(&format!("{name}=")))
                    .map(str::to_owned)
                    .collect();
                // In the order in which they were chosen: any order may occur.
                pairs.push(format!("{name}={value}"));
                links.push((
                    format!("/list?{}", pairs.join("&")),
                    format!("{name} {value}"),
                ));
            }
        }
        let shown = (0..30).map(|it| (format!("/good/{it}"), format!("Article {it}")));
        look.page("List", &(list(shown) + &list(links)))
    })
}

/// Wrong relative links: any path that ends like a page shows it.
pub(super) fn relative(seed: u64, good: usize) -> Site {
    beside(seed, good, "/shop/info/terms.html", move |ask, look| {
        let parts = ask.segments();
        let Some(file) = parts.last() else {
            return Reply::missing();
        };
        let names = [
            "terms", "imprint", "delivery", "contact", "returns", "careers",
        ];
        if !names
            .iter()
            .any(|it| file.strip_suffix(".html") == Some(it))
        {
            return Reply::missing();
        }
        let text = Random::of(seed, file).paragraphs(90);
        look.page(
            file,
            &(text + &list(names.map(|it| (format!("shop/info/{it}.html"), it)))),
        )
    })
}

/// The whole site again below `/mirror`, and in it again.
pub(super) fn mirror(seed: u64, good: usize) -> Site {
    let look = look(seed);
    let answer = move |ask: &Ask| {
        let mut path = ask.path;
        let mut depth = 0;
        while let Some(rest) = path.strip_prefix("/mirror") {
            (path, depth) = (rest, depth + 1);
        }
        if path == "/robots.txt" {
            return Reply::missing();
        }
        let prefix = "/mirror".repeat(depth);
        let with = |path: &str| format!("{prefix}{path}");
        let way = link(&with("/mirror/"), "mirror");
        if matches!(path, "/" | "") {
            return shelves(&look, good, None, &with, &way);
        }
        let inner = Ask { path, ..*ask };
        if let Some(shelf) = inner.after("/shelf/").filter(|it| *it < good.div_ceil(50)) {
            return shelves(&look, good, Some(shelf), &with, &way);
        }
        match inner.after("/good/").filter(|it| *it < good) {
            Some(number) => good_page(&look, seed, number, &way),
            None => Reply::missing(),
        }
    };
    let mut site =
        Site::new(answer).good((0..good).map(|it| (it.to_string(), format!("/good/{it}"))));
    site.cap = good * 12;
    site
}

/// Searches that find nothing and propose others.
pub(super) fn searches(seed: u64, good: usize) -> Site {
    beside(seed, good, "/search?q=help", move |ask, look| {
        let Some(asked) = ask.get("q").filter(|_| ask.path == "/search") else {
            return Reply::missing();
        };
        let mut random = Random::of(seed, asked);
        let links = (0..8)
            .map(|_| random.word())
            .map(|it| (format!("/search?q={it}"), it.clone()));
        let links = list(links);
        let text = format!(
            "<form action=\"/search\"><input name=\"q\" value=\"{asked}\"></form><p>Nothing was found for <b>{asked}</b>.</p><p>Other people searched for:</p>"
        );
        look.page(&format!("Search: {asked}"), &(text + &links))
    })
}

/// A table of good pages that can be sorted by each column, on pages of ten.
pub(super) fn sorted(seed: u64, good: usize) -> Site {
    beside(seed, good, "/table", move |ask, look| {
        if ask.path != "/table" {
            return Reply::missing();
        }
        let (page, sort) = (
            ask.number("page").unwrap_or(1).max(1),
            ask.get("sort").unwrap_or("id"),
        );
        let descends = ask.get("dir") == Some("desc");
        let mut order: Vec<usize> = (0..good).collect();
        Random::of(seed, sort).shuffle(&mut order);
        if descends {
            order.reverse();
        }
        let mut html = list(
            order
                .iter()
                .skip((page - 1) * 10)
                .take(10)
                .map(|it| (format!("/good/{it}"), format!("Article {it}"))),
        );
        for column in ["id", "name", "date", "size", "author", "views"] {
            html += &link(&format!("/table?sort={column}&dir=asc"), column);
            html += &link(&format!("/table?sort={column}&dir=desc"), column);
        }
        let dir = if descends { "desc" } else { "asc" };
        if page < good / 10 {
            html += &link(
                &format!("/table?sort={sort}&dir={dir}&page={}", page + 1),
                "next",
            );
        }
        look.page("Table", &html)
    })
}

/// Endless pages of random words: only a budget ends them.
pub(super) fn words(seed: u64, good: usize) -> Site {
    let mut site = beside(seed, good, "/words/start", move |ask: &Ask, look: &Look| {
        if !ask.path.starts_with("/words/") {
            return Reply::missing();
        }
        let mut random = Random::of(seed, ask.path);
        let title = random.phrase(4);
        let text = random.paragraphs(120);
        let links = (0..4).map(|_| (format!("/words/{}", random.slug(2)), random.word()));
        look.page(&title, &(text + &list(links)))
    });
    site.cap = 6_000;
    site.must_say = "max_pages_per_host";
    "traps.max_pages_per_host = 3000\n".clone_into(&mut site.settings);
    site
}
