//! Sites as well-known systems make them, with the forms of address that those have.

use std::collections::HashMap;

use super::others::article_in;
use crate::made_up::site::{Ask, Reply, Site, at, link, list, scaled};
use crate::made_up::skin::{Build, Noise, Skin};
use crate::made_up::text::Random;
use crate::made_up::tongue::Tongue;

/// A forum as Discourse makes it: `/t/slug/id`, each answer at `/t/slug/id/n` too, categories by
/// page, users who say nothing of themselves, counters of views.
pub(super) fn discourse(seed: u64, scale: f64) -> Site {
    let topics = scaled(1_500, scale);
    let lists = topics.div_ceil(30);
    let skin = Skin::new(seed, "Makers' corner", Build::Soup, Tongue::English)
        .links(&[
            ("/latest", "Latest"),
            ("/categories", "Categories"),
            ("/login", "Log In"),
        ])
        .noise(&[Noise::Views, Noise::Token]);
    let slug = move |it: usize| Random::of(seed, &format!("slug {it}")).slug(4);
    let topic = move |it: usize| format!("/t/{}/{}", slug(it), 1_200 + it * 3);
    let numbers: HashMap<String, usize> = (0..topics).map(|it| (topic(it), it)).collect();
    let answer = move |ask: &Ask| {
        let page = |title: &str, main: &str| skin.page(ask.serial, title, main);
        let from = ask.number("page").unwrap_or(0);
        match ask.segments().as_slice() {
            [] | ["latest"] if from < lists => {
                let shown = from * 30..(from * 30 + 30).min(topics);
                let mut html = list(shown.map(|it| (topic(it), slug(it).replace('-', " "))));
                html += &link(
                    &format!("/latest?no_definitions=true&page={}", from + 1),
                    "More",
                );
                page("Latest topics", &html)
            }
            [] | ["latest"] => page("Latest topics", "<p>There are no more latest topics.</p>"),
            ["categories"] => page(
                "Categories",
                &list((0..9).map(|it| (format!("/c/part-{it}/{it}"), format!("Part {it}")))),
            ),
            ["c", _, number] => match number.parse::<usize>() {
                Ok(part) if part < 9 => {
                    let own = (part..topics).step_by(9).skip(from * 30).take(30);
                    let mut html = list(own.map(|it| (topic(it), slug(it).replace('-', " "))));
                    if from * 30 < topics / 9 {
                        html += &link(
                            &format!("/c/part-{part}/{part}?page={}", from + 1),
                            "next page",
                        );
                    }
                    page(&format!("Part {part}"), &html)
                }
                _ => Reply::missing(),
            },
            ["u", name] => page(
                name,
                "<p>This user has not told anything about themself.</p>",
            ),
            ["login"] => page(
                "Log in",
                "<form method=\"post\"><input name=\"login\"><input type=\"password\" name=\"password\"></form>",
            ),
            ["t", rest @ ..] if rest.len() >= 2 => {
                let Some(number) = numbers.get(&format!("/t/{}/{}", rest[0], rest[1])) else {
                    return Reply::missing();
                };
                let mut html = String::new();
                for post in 1..=1 + Random::of(seed, &format!("posts {number}")).below(7) {
                    let mut random = Random::of(seed, &format!("post {number} {post}"));
                    let user = format!("user{}", random.below(300));
                    let words = random.between(6, 60);
                    html += &format!(
                        "<div class=\"post\">{} <p>{}</p>{}</div>",
                        link(&format!("/u/{user}"), &user),
                        random.prose(words),
                        link(&format!("{}/{post}", topic(*number)), &format!("{post}"))
                    );
                }
                page(&slug(*number).replace('-', " "), &html).good(number.to_string())
            }
            _ => Reply::missing(),
        }
    };
    Site::new(answer).good((0..topics).map(|it| (it.to_string(), topic(it))))
}

/// Drupal: `/node/N`, half of which have moved to a name, terms with pages from 0 on, many nodes
/// unpublished.
pub(super) fn drupal(seed: u64, scale: f64) -> Site {
    let nodes = scaled(2_400, scale);
    let skin = Skin::new(seed, "Gemeinde Steinbach", Build::Modern, Tongue::German)
        .links(&[
            ("/", "Start"),
            ("/archiv", "Archiv"),
            ("/user/login", "Anmelden"),
        ])
        .noise(&[Noise::Token]);
    let is_there = move |it: usize| Random::of(seed, &format!("there {it}")).percent(70);
    let name = move |it: usize| {
        format!(
            "/inhalt/{}-{it}",
            Random::of(seed, &format!("alias {it}")).slug(3)
        )
    };
    let path = move |it: usize| match it % 2 {
        0 => name(it),
        _ => format!("/node/{it}"),
    };
    let answer = move |ask: &Ask| {
        let from = ask.number("page").unwrap_or(0);
        let parts = ask.segments();
        let shown = |base: &str, step: usize, first: usize, title: &str| {
            let own = (first..nodes).step_by(step).skip(from * 20).take(20);
            let mut html = list(own.map(|it| (format!("/node/{it}"), format!("Beitrag {it}"))));
            let last = (nodes - first).div_ceil(step * 20).saturating_sub(1);
            if from < last {
                html += &link(&format!("{base}?page={}", from + 1), "nächste Seite ›");
                html += &link(&format!("{base}?page={last}"), "letzte Seite »");
            }
            skin.page(ask.serial, title, &html)
        };
        match parts.as_slice() {
            [] => skin.page(
                ask.serial,
                "Willkommen",
                &list((0..25).map(|it| (format!("/taxonomy/term/{it}"), format!("Thema {it}")))),
            ),
            ["archiv"] => shown("/archiv", 1, 0, "Archiv"),
            ["taxonomy", "term", term] => match term.parse::<usize>() {
                Ok(term) if term < 25.min(nodes) => shown(
                    &format!("/taxonomy/term/{term}"),
                    25,
                    term,
                    &format!("Thema {term}"),
                ),
                _ => Reply::missing(),
            },
            ["user", ..] => skin.page(
                ask.serial,
                "Anmelden",
                "<form method=\"post\"><label>Benutzername</label><input name=\"name\"></form>",
            ),
            ["node" | "inhalt", number] => {
                let id = number
                    .rsplit('-')
                    .next()
                    .and_then(|it| it.parse::<usize>().ok());
                let Some(id) = id.filter(|it| *it < nodes && is_there(*it)) else {
                    return Reply {
                        status: 403,
                        ..skin.page(
                            ask.serial,
                            "Zugriff verweigert",
                            "<p>Sie haben keine Zugriffsberechtigung für diese Seite.</p>",
                        )
                    };
                };
                if ask.path != path(id) {
                    return Reply::moved(path(id));
                }
                let own = list([
                    (format!("/taxonomy/term/{}", id % 25), "Thema".to_owned()),
                    (
                        format!("/user/login?destination=node/{id}%23comment-form"),
                        "Anmelden, um Kommentare zu schreiben".to_owned(),
                    ),
                ]);
                article_in(&skin, ask.serial, seed, &id.to_string(), (20, 150), &own)
            }
            _ => Reply::missing(),
        }
    };
    Site::new(answer).good(
        (0..nodes)
            .filter(|it| is_there(*it))
            .map(|it| (it.to_string(), path(it))),
    )
}

/// Shopify: `/products/x` also below its collections, variants in the query, the first two hundred
/// sold out and all alike.
pub(super) fn shopify(seed: u64, scale: f64) -> Site {
    let (gone, count) = (200, scaled(2_500, scale));
    let handle =
        move |it: usize| format!("{}-{it}", Random::of(seed, &format!("handle {it}")).slug(2));
    let numbers: HashMap<String, usize> = (0..gone + count).map(|it| (handle(it), it)).collect();
    let skin = Skin::new(seed, "Oak & Loom", Build::Soup, Tongue::English)
        .links(&[
            ("/collections/all", "Shop all"),
            ("/cart", "Cart"),
            ("/account/login", "Account"),
        ])
        .noise(&[Noise::Token, Noise::Ads]);
    let answer = move |ask: &Ask| {
        let page = |title: &str, main: &str| skin.page(ask.serial, title, main);
        match ask.segments().as_slice() {
            [] => page(
                "Home",
                &list(
                    (0..20).map(|it| (format!("/collections/c{it}"), format!("Collection {it}"))),
                ),
            ),
            ["cart" | "account", ..] => page("Your cart", "<p>Your cart is currently empty.</p>"),
            ["collections", name] => {
                let from = ask.number("page").unwrap_or(1).max(1) - 1;
                let number = name
                    .strip_prefix('c')
                    .and_then(|it| it.parse::<usize>().ok());
                let own: Vec<usize> = match number {
                    Some(number) if number < 20 => {
                        (0..gone + count).filter(|it| it % 20 == number).collect()
                    }
                    None if *name == "all" => (0..gone + count).collect(),
                    _ => return Reply::missing(),
                };
                let mut html: String = own
                    .iter()
                    .skip(from * 24)
                    .take(24)
                    .map(|it| {
                        format!(
                            "<div class=\"card\">{}</div>",
                            link(
                                &format!("/collections/{name}/products/{}", handle(*it)),
                                &handle(*it)
                            )
                        )
                    })
                    .collect();
                for sort in [
                    "price-ascending",
                    "price-descending",
                    "title-ascending",
                    "created-descending",
                ] {
                    html += &link(&format!("/collections/{name}?sort_by={sort}"), sort);
                }
                if (from + 1) * 24 < own.len() {
                    html += &link(&format!("/collections/{name}?page={}", from + 2), "Next");
                }
                page(&format!("Collection {name}"), &html)
            }
            ["products", name] | ["collections", _, "products", name] => match numbers.get(*name) {
                Some(number) if *number < gone => page(
                    "Sold out",
                    "<p>Sorry, this product is sold out. Sign up below to be told when it is back in stock.</p>",
                ),
                Some(number) => {
                    let mut random = Random::of(seed, &format!("ware {number}"));
                    let price = format!("{}.{:02}", random.between(9, 300), random.below(100));
                    let words = random.between(12, 60);
                    let mut html = format!(
                        "<script type=\"application/ld+json\">{{\"@type\":\"Product\",\"sku\":\"{number}\",\"offers\":{{\"price\":\"{price}\"}}}}</script><img src=\"/cdn/{}.jpg\" alt=\"\"><p>${price}</p><p>{}</p>",
                        random.hex(10),
                        random.prose(words)
                    );
                    for variant in 0..3 {
                        html += &link(
                            &format!(
                                "/products/{name}?variant={}",
                                39_000_000 + number * 7 + variant
                            ),
                            ["S", "M", "L"][variant],
                        );
                    }
                    page(name, &html).good(number.to_string())
                }
                None => Reply::missing(),
            },
            _ => Reply::missing(),
        }
    };
    Site::new(answer)
        .good((gone..gone + count).map(|it| (it.to_string(), format!("/products/{}", handle(it)))))
}

/// GitLab: short issues, commits by hash, links to log in and to open a new one at each page.
pub(super) fn gitlab(seed: u64, scale: f64) -> Site {
    let (issues, commits) = (scaled(1_200, scale), scaled(1_500, scale));
    let hash = move |it: usize| Random::of(seed, &format!("commit {it}")).hex(40);
    let numbers: HashMap<String, usize> = (0..commits).map(|it| (hash(it), it)).collect();
    let base = "/tools/weaver/-";
    let skin = Skin::new(seed, "weaver", Build::Modern, Tongue::English)
        .links(&[
            ("/tools/weaver/-/issues", "Issues"),
            ("/tools/weaver/-/commits/main", "Commits"),
            ("/users/sign_in?redirect_to_referer=yes", "Sign in"),
        ])
        .noise(&[Noise::Token]);
    let mut good: Vec<(String, String)> = (1..=issues)
        .map(|it| (format!("i{it}"), format!("{base}/issues/{it}")))
        .collect();
    good.extend((0..commits).map(|it| (format!("c{it}"), format!("{base}/commit/{}", hash(it)))));
    let answer = move |ask: &Ask| {
        let page = |title: &str, main: &str| skin.page(ask.serial, title, main);
        let Some(rest) = ask.path.strip_prefix("/tools/weaver/-") else {
            return match ask.path {
                "/" | "/tools/weaver" => {
                    page("weaver", &Random::of(seed, "readme").paragraphs(120))
                }
                "/users/sign_in" => page(
                    "Sign in",
                    "<form method=\"post\"><input name=\"user[login]\"></form>",
                ),
                _ => Reply::missing(),
            };
        };
        let parts: Vec<&str> = rest.split('/').filter(|it| !it.is_empty()).collect();
        match parts.as_slice() {
            ["issues"] => {
                let from = ask.number("page").unwrap_or(1).max(1) - 1;
                let mut html = list(
                    (from * 20 + 1..=(from * 20 + 20).min(issues))
                        .map(|it| (format!("{base}/issues/{it}"), format!("#{it}"))),
                );
                if (from + 1) * 20 < issues {
                    html += &link(
                        &format!(
                            "{base}/issues?page={}&sort=created_date&state=opened",
                            from + 2
                        ),
                        "Next",
                    );
                }
                html += &link(&format!("{base}/issues/new"), "New issue");
                page("Issues", &html)
            }
            ["issues", "new"] => Reply::moved("/users/sign_in".to_owned()),
            ["issues", number] => match number.parse::<usize>() {
                Ok(number) if (1..=issues).contains(&number) => {
                    let mut random = Random::of(seed, &format!("issue {number}"));
                    let (title, words) = (random.phrase(5), random.between(3, 25));
                    let html = format!(
                        "<p>{}</p>{}",
                        random.prose(words),
                        link(
                            &format!("/users/sign_in?return=issue{number}"),
                            "sign in to reply"
                        )
                    );
                    page(&title, &html).good(format!("i{number}"))
                }
                _ => Reply::missing(),
            },
            ["commits", "main"] => {
                let from = ask.number("offset").unwrap_or(0);
                let mut html = list((from..(from + 40).min(commits)).map(|it| {
                    (
                        format!("{base}/commit/{}", hash(it)),
                        hash(it)[..8].to_owned(),
                    )
                }));
                if from + 40 < commits {
                    html += &link(
                        &format!("{base}/commits/main?limit=40&offset={}", from + 40),
                        "Older",
                    );
                }
                page("Commits", &html)
            }
            ["commit", id] => match numbers.get(*id) {
                Some(number) => {
                    let mut random = Random::of(seed, &format!("change {number}"));
                    let html = format!(
                        "<p>{}</p><pre>-{}\n+{}</pre>{}",
                        random.prose(6),
                        random.words(6),
                        random.words(6),
                        link(&format!("{base}/commit/{id}?view=parallel"), "Side-by-side")
                    );
                    page(&random.phrase(4), &html).good(format!("c{number}"))
                }
                None => Reply::missing(),
            },
            _ => Reply::missing(),
        }
    };
    Site::new(answer).good(good)
}

/// `DSpace`: handles, full records that say more, lists of all kinds, texts with `?sequence=`.
pub(super) fn dspace(seed: u64, scale: f64) -> Site {
    let items = scaled(900, scale);
    let skin = Skin::new(seed, "Repositorium", Build::Tables, Tongue::German).links(&[
        ("/browse?type=title", "Titel"),
        ("/browse?type=author", "Autoren"),
        ("/password-login", "Login"),
    ]);
    let item = |it: usize| format!("/handle/123456789/{}", 40 + it);
    let mut good = Vec::new();
    for it in 0..items {
        good.push((format!("{it}"), item(it)));
        good.push((format!("{it} full"), format!("{}?show=full", item(it))));
        good.push((
            format!("{it} text"),
            format!("/bitstream{}/text{it}.txt?sequence=2&isAllowed=y", item(it)),
        ));
    }
    let answer = move |ask: &Ask| {
        let page = |title: &str, main: &str| skin.page(ask.serial, title, main);
        let browse = |kind: &str| {
            let from = ask.number("offset").unwrap_or(0);
            let own = (from..(from + 20).min(items)).map(|it| (item(it), format!("Eintrag {it}")));
            let mut html = list(own);
            for (order, per) in [("ASC", 20), ("DESC", 20), ("ASC", 100)] {
                html += &link(
                    &format!(
                        "/browse?order={order}&rpp={per}&sort_by=1&etal=-1&offset={from}&type={kind}"
                    ),
                    "ordnen",
                );
            }
            if from + 20 < items {
                html += &link(
                    &format!("/browse?type={kind}&offset={}", from + 20),
                    "weiter",
                );
            }
            page("Auflistung", &html)
        };
        match ask.segments().as_slice() {
            [] => page("Repositorium", &list([("/browse?type=title", "Titel")])),
            ["browse"] => browse(ask.get("type").unwrap_or("title")),
            ["handle", "123456789", id] => {
                match id.parse::<usize>().map(|it| it.wrapping_sub(40)) {
                    Ok(number) if number < items => {
                        let mut random = Random::of(seed, &format!("item {number}"));
                        let title = skin.tongue.phrase(&mut random, 6);
                        let author = random.phrase(2);
                        let mut html = format!("<p>{author}, {}</p>", random.between(1970, 2025));
                        html += &link(
                            &format!(
                                "/bitstream{}/text{number}.txt?sequence=2&isAllowed=y",
                                item(number)
                            ),
                            "Volltext",
                        );
                        if ask.get("show") == Some("full") {
                            let rows: String = [
                                "dc.date",
                                "dc.subject",
                                "dc.publisher",
                                "dc.type",
                                "dc.identifier",
                            ]
                            .iter()
                            .map(|it| {
                                format!(
                                    "<tr><td>{it}</td><td>{}</td></tr>",
                                    skin.tongue.phrase(&mut random, 3)
                                )
                            })
                            .collect();
                            return page(&title, &format!("{html}<table>{rows}</table>"))
                                .good(format!("{number} full"));
                        }
                        html += &skin.tongue.paragraphs(&mut random, 70);
                        html += &link(&format!("{}?show=full", item(number)), "Zur Langanzeige");
                        html += &link(
                            &format!("/browse?type=author&value={}", author.replace(' ', "+")),
                            &author,
                        );
                        page(&title, &html).good(number.to_string())
                    }
                    _ => Reply::missing(),
                }
            }
            ["bitstream", "handle", _, id, _] => {
                match id.parse::<usize>().map(|it| it.wrapping_sub(40)) {
                    Ok(number) if number < items => {
                        let text = skin
                            .tongue
                            .prose(&mut Random::of(seed, &format!("text {number}")), 200);
                        Reply::of("text/plain; charset=utf-8", text).good(format!("{number} text"))
                    }
                    _ => Reply::missing(),
                }
            }
            _ => page(
                "Login",
                "<form method=\"post\"><input name=\"login_email\"></form>",
            ),
        }
    };
    let mut site = Site::new(answer).good(good);
    site.seeds.push(at("/browse?type=title"));
    site
}
