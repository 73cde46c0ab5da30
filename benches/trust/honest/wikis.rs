//! Versions, languages, histories, and a content management system.

use std::collections::BTreeMap;

use crate::made_up::site::{Ask, HOST, Look, Reply, Site, link, list, scaled};
use crate::made_up::text::Random;

/// A manual in twenty versions. A page changes now and then; the newest two were rewritten.
pub(crate) fn manual(seed: u64, scale: f64) -> Site {
    let (versions, pages) = (20, scaled(53, scale.max(0.3)));
    // The number of the text that a page has in a version.
    let text = move |version: usize, page: usize| match version {
        0..18 => (1..=version)
            .filter(|it| Random::of(seed, &format!("change {page} {it}")).percent(30))
            .count(),
        _ => version + 100,
    };
    let name = |version: usize| format!("{}.{}", version / 10 + 1, version % 10);
    let look = Look::new(seed, "Manual", &[("/", "Versions")], 40);
    let mut good = BTreeMap::new();
    for version in 0..versions {
        for page in 0..pages {
            good.entry(format!("{page}/{}", text(version, page)))
                .or_insert_with(|| format!("/docs/{}/page{page}.html", name(version)));
        }
    }
    let answer = move |ask: &Ask| match ask.segments().as_slice() {
        [] => look.page(
            "Versions",
            &list((0..versions).map(|it| (format!("/docs/{}/", name(it)), name(it)))),
        ),
        ["docs", version, rest @ ..] => {
            let Some(version) = (0..versions).find(|it| name(*it) == *version) else {
                return Reply::missing();
            };
            let Some(file) = rest.first() else {
                return look.page(
                    &format!("Manual {}", name(version)),
                    &list((0..pages).map(|it| {
                        (
                            format!("/docs/{}/page{it}.html", name(version)),
                            format!("Page {it}"),
                        )
                    })),
                );
            };
            let page = file
                .strip_prefix("page")
                .and_then(|it| it.strip_suffix(".html"))
                .and_then(|it| it.parse().ok());
            let Some(page) = page.filter(|it: &usize| *it < pages) else {
                return Reply::missing();
            };
            let text = text(version, page);
            let title = Random::of(seed, &format!("title {page}")).phrase(3);
            let mut html = String::new();
            if version < 18 {
                html += &Random::of(seed, &format!("old {page}")).paragraphs(150);
                html += &Random::of(seed, &format!("old {page} {text}")).paragraphs(40);
            } else {
                html += &Random::of(seed, &format!("new {page} {version}")).paragraphs(220);
            }
            if page + 1 < pages {
                html += &link(&format!("page{}.html", page + 1), "Next");
            }
            look.page(&title, &html).good(format!("{page}/{text}"))
        }
        _ => Reply::missing(),
    };
    Site::new(answer).good(good)
}

/// Ten languages of 300 pages; each page links its translations.
pub(crate) fn languages(seed: u64, scale: f64) -> Site {
    let names = [
        "en", "de", "fr", "es", "it", "pl", "pt-br", "nl", "sv", "cs",
    ];
    let pages = scaled(300, scale);
    let looks: Vec<Look> = names
        .iter()
        .map(|it| Look::new(seed, &format!("Handbook {it}"), &[("/", "Languages")], 50))
        .collect();
    let mut good = Vec::new();
    for name in names {
        good.extend(
            (0..pages).map(|it| (format!("{name}/{it}"), format!("/{name}/chapter-{it}/"))),
        );
    }
    let answer = move |ask: &Ask| match ask.segments().as_slice() {
        [] => looks[0].page(
            "Languages",
            &list(names.iter().map(|it| (format!("/{it}/"), *it))),
        ),
        [name, rest @ ..] => {
            let Some(at) = names.iter().position(|it| it == name) else {
                return Reply::missing();
            };
            let Some(chapter) = rest.first() else {
                return looks[at].page(
                    "Contents",
                    &list((0..pages).map(|it| {
                        (
                            format!("/{name}/chapter-{it}/"),
                            Random::of(seed, &format!("{name} {it}")).phrase(3),
                        )
                    })),
                );
            };
            let number = chapter
                .strip_prefix("chapter-")
                .and_then(|it| it.parse().ok());
            let Some(number) = number.filter(|it: &usize| *it < pages) else {
                return Reply::missing();
            };
            let mut random = Random::of(seed, &format!("{name} {number}"));
            let title = random.phrase(3);
            let code = format!(
                "<pre>{}</pre>",
                Random::of(seed, &format!("code {number}")).prose(40)
            );
            let html = random.paragraphs(120)
                + &code
                + &list(
                    names
                        .iter()
                        .map(|it| (format!("/{it}/chapter-{number}/"), *it)),
                );
            looks[at]
                .page(&title, &html)
                .good(format!("{name}/{number}"))
        }
    };
    Site::new(answer).good(good)
}

/// A wiki with histories, old versions and differences.
pub(crate) fn wiki(seed: u64, scale: f64) -> Site {
    let count = scaled(1_000, scale);
    let look = Look::new(
        seed,
        "Wiki",
        &[("/index.php?title=Special:AllPages", "All pages")],
        50,
    );
    let name =
        move |it: usize| format!("{}_{it}", Random::of(seed, &format!("name {it}")).phrase(1));
    let versions = move |it: usize| 1 + Random::of(seed, &format!("versions {it}")).below(4);
    let good: Vec<(String, String)> = (0..count)
        .map(|it| (it.to_string(), format!("/index.php?title={}", name(it))))
        .collect();
    let text = move |it: usize, version: usize| {
        let mut html = Random::of(seed, &format!("article {it}")).paragraphs(100);
        for change in 0..=version {
            html += &Random::of(seed, &format!("article {it} {change}")).paragraphs(25);
        }
        html
    };
    let answer = move |ask: &Ask| {
        let title = ask.get("title").unwrap_or("Special:AllPages");
        if title == "Special:AllPages" {
            let from = ask.number("from").unwrap_or(0);
            let mut html = list(
                (from..(from + 200).min(count))
                    .map(|it| (format!("/index.php?title={}", name(it)), name(it))),
            );
            if from + 200 < count {
                html += &link(
                    &format!("/index.php?title=Special:AllPages&from={}", from + 200),
                    "Next page",
                );
            }
            return look.page("All pages", &html);
        }
        let Some(number) = title
            .rsplit_once('_')
            .and_then(|it| it.1.parse().ok())
            .filter(|it: &usize| *it < count && name(*it) == title)
        else {
            return Reply::missing();
        };
        let newest = versions(number) - 1;
        let tabs = list([
            (format!("/index.php?title={title}&action=edit"), "Edit"),
            (
                format!("/index.php?title={title}&action=history"),
                "History",
            ),
            (
                format!("/index.php?title={title}&printable=yes"),
                "Printable version",
            ),
        ]);
        let version = ask
            .number("oldid")
            .map(|it| it % 10)
            .filter(|it| *it <= newest);
        if let Some(version) = version {
            let before = version.saturating_sub(1);
            if ask.get("diff").is_some() {
                let html = format!(
                    "<table><tr><td>-</td><td>+ {}</td></tr></table>",
                    Random::of(seed, &format!("article {number} {version}")).prose(25)
                );
                return look.page(
                    &format!("Difference between revisions of {title}"),
                    &(html + &text(number, version)),
                );
            }
            let other = link(
                &format!(
                    "/index.php?title={title}&diff=prev&oldid={}",
                    number * 10 + before
                ),
                "previous",
            );
            return look.page(
                &format!("Old revision of {title}"),
                &(text(number, version) + &other),
            );
        }
        match ask.get("action") {
            Some("edit") => look.page(&format!("View source for {title}"), "<p>You do not have permission to edit this page, for the following reason: the action is limited to users.</p>"),
            Some("history") => {
                let rows = (0..=newest).flat_map(|it| {
                    let id = number * 10 + it;
                    [(format!("/index.php?title={title}&oldid={id}"), format!("revision {id}")), (format!("/index.php?title={title}&diff=prev&oldid={id}"), "prev".to_owned())]
                });
                look.page(&format!("Revision history of {title}"), &list(rows))
            }
            _ => {
                let near = list((0..4).map(|it| name(Random::of(seed, &format!("link {number} {it}")).below(count))).map(|it| (format!("/index.php?title={it}"), it)));
                look.page(title, &(tabs + &text(number, newest) + &near)).good(number.to_string())
            }
        }
    };
    let mut site = Site::new(answer).good(good);
    site.cap = count * 20 + 5_000;
    site
}

/// A blog as `WordPress` makes it: posts by date, categories, tags, pages of lists, feeds, short
/// links, forms to answer.
pub(crate) fn wordpress(seed: u64, scale: f64) -> Site {
    let count = scaled(1_500, scale);
    let look = Look::new(seed, "My journal", &[("/", "Home"), ("/feed/", "Feed")], 80);
    let path = move |it: usize| {
        let days = it * 3_000 / count;
        format!(
            "/{}/{:02}/{:02}/{}/",
            2008 + days / 336,
            days / 28 % 12 + 1,
            days % 28 + 1,
            Random::of(seed, &format!("slug {it}")).slug(3)
        )
    };
    let good: Vec<(String, String)> = (0..count).map(|it| (it.to_string(), path(it))).collect();
    let numbers: BTreeMap<String, usize> = good
        .iter()
        .enumerate()
        .map(|(number, it)| (it.1.clone(), number))
        .collect();
    let category = |it: usize| it % 12;
    let answer = move |ask: &Ask| {
        if let Some(number) = ask.number("p").filter(|it| *it < count && ask.path == "/") {
            return Reply::moved(path(number));
        }
        let parts = ask.segments();
        let (parts, page) = match parts.as_slice() {
            [before @ .., "page", number] => (before, number.parse::<usize>().unwrap_or(0)),
            all => (all, 1),
        };
        let (listed, base): (Vec<usize>, String) = match parts {
            ["feed"] | [.., "feed"] => {
                let items: String = (count.saturating_sub(10)..count)
                    .map(|it| {
                        format!(
                            "<item><title>Post {it}</title><link>http://{HOST}{}</link></item>",
                            path(it)
                        )
                    })
                    .collect();
                return Reply::of(
                    "application/rss+xml",
                    format!(
                        "<?xml version=\"1.0\"?><rss version=\"2.0\"><channel><title>My journal</title><link>http://{HOST}/</link>{items}</channel></rss>"
                    ),
                );
            }
            [] => ((0..count).rev().collect(), String::new()),
            ["category", name] => (
                (0..count)
                    .rev()
                    .filter(|it| format!("c{}", category(*it)) == *name)
                    .collect(),
                format!("/category/{name}"),
            ),
            ["tag", name] => (
                (0..count)
                    .rev()
                    .filter(|it| format!("t{}", it * 7 % 80) == *name)
                    .collect(),
                format!("/tag/{name}"),
            ),
            [year, month] if year.len() == 4 && month.len() == 2 => {
                let prefix = format!("/{year}/{month}/");
                (
                    (0..count)
                        .rev()
                        .filter(|it| path(*it).starts_with(&prefix))
                        .collect(),
                    format!("/{year}/{month}"),
                )
            }
            _ => {
                let Some(number) = numbers.get(ask.path).copied() else {
                    return Reply::missing();
                };
                let mut random = Random::of(seed, &format!("post {number}"));
                let (title, words) = (random.phrase(5), random.between(60, 200));
                let own = path(number);
                let mut html = random.paragraphs(words);
                html += &list([
                    (format!("/?p={number}"), "Short link"),
                    (format!("{own}?replytocom={}", number * 3), "Reply"),
                    (format!("{own}feed/"), "Comments feed"),
                    (format!("/category/c{}/", category(number)), "Category"),
                    (format!("/tag/t{}/", number * 7 % 80), "Tag"),
                    (path(number.saturating_sub(1)), "Previous"),
                    (path((number + 1).min(count - 1)), "Next"),
                ]);
                html += &link(&own[..9], "This month");
                return look.page(&title, &html).good(number.to_string());
            }
        };
        let shown = listed
            .iter()
            .skip(page.max(1).saturating_sub(1) * 10)
            .take(10);
        let entries: Vec<usize> = shown.copied().collect();
        if entries.is_empty() {
            return Reply::missing();
        }
        let mut html: String = entries
            .iter()
            .map(|it| {
                let mut random = Random::of(seed, &format!("post {it}"));
                let title = random.phrase(5);
                format!(
                    "<h2>{}</h2><p>{}</p>",
                    link(&path(*it), &title),
                    random.prose(25)
                )
            })
            .collect();
        if listed.len() > page * 10 {
            html += &link(&format!("{base}/page/{}/", page + 1), "Older posts");
        }
        look.plain("My journal", &html)
    };
    Site::new(answer).good(good)
}
