//! Shops: sold-out items, filters, sessions in links.

use crate::made_up::site::{Ask, Look, Reply, Site, link, list, scaled};
use crate::made_up::text::Random;

/// What an item says of itself.
fn item(look: &Look, seed: u64, number: usize, links: &str) -> Reply {
    let mut random = Random::of(seed, &format!("item {number}"));
    let title = random.phrase(4);
    let price = format!("{}.{:02}", random.between(3, 400), random.below(100));
    let words = random.between(25, 90);
    let html = format!(
        "<p class=\"price\">{price}</p><img src=\"/i/{}.jpg\" alt=\"{title}\">{}{links}",
        random.hex(12),
        random.paragraphs(words)
    );
    look.page(&title, &html).good(number.to_string())
}

/// A shop whose 150 sold-out items are linked before all others.
pub(crate) fn sold_out(seed: u64, scale: f64) -> Site {
    let gone = 150;
    let count = scaled(5_000, scale);
    let lists = count.div_ceil(100);
    let look = Look::new(
        seed,
        "Ironmonger",
        &[("/", "Home"), ("/outlet", "Outlet")],
        150,
    );
    let mut good: Vec<(String, String)> = (gone..gone + count)
        .map(|it| (it.to_string(), format!("/item/{it}")))
        .collect();
    good.extend((0..lists).map(|it| (format!("list {it}"), format!("/category/{it}"))));
    let answer = move |ask: &Ask| match ask.path {
        "/" => look.page("Welcome", &link("/outlet", "Begin here")),
        "/outlet" => {
            let items = (0..gone).map(|it| (format!("/item/{it}"), "An offer".to_owned()));
            let categories = (0..lists).map(|it| {
                let title = Random::of(seed, &format!("category {it}")).phrase(2);
                (format!("/category/{it}"), title)
            });
            look.page("Outlet", &list(items.chain(categories)))
        }
        _ => {
            if let Some(number) = ask.after("/category/").filter(|it| *it < lists) {
                let shown = gone + number * 100..(gone + number * 100 + 100).min(gone + count);
                let title = Random::of(seed, &format!("category {number}")).phrase(2);
                return look
                    .page(
                        &title,
                        &list(shown.map(|it| {
                            (
                                format!("/item/{it}"),
                                Random::of(seed, &format!("item {it}")).phrase(4),
                            )
                        })),
                    )
                    .good(format!("list {number}"));
            }
            match ask.after("/item/") {
                Some(number) if number < gone => look.page("Sold out", "<p>This article is sold out. It will not be delivered again, but perhaps you like one of our other articles. Customers who looked for it have also looked at what stands in the same category, and many of them found there what they needed. If you wish to be told when something like it arrives, leave your address at the counter, or write to us; we answer within two working days, and we do not pass your address on to anybody. Our counter is open on working days from nine to six, on Saturdays from ten to two. Parcels are sent on the day of the order if it arrives before noon. What you do not like can be sent back within thirty days, free of charge, in its own box, with the slip that came with it. We thank you for your patience and hope to see you again soon in our house at the old market, beside the fountain, where we have been since the year in which the bridge was built.</p>"),
                Some(number) if number < gone + count => item(&look, seed, number, &link(&format!("/category/{}", (number - gone) / 100), "more like this")),
                _ => Reply::missing(),
            }
        }
    };
    Site::new(answer).good(good)
}

/// Names of the six filters.
const FILTERS: [&str; 6] = ["color", "size", "brand", "material", "season", "price"];

/// Six filters of ten values over a list of products: each list links every filter's values.
pub(crate) fn facets(seed: u64, scale: f64) -> Site {
    let count = scaled(3_000, scale);
    let look = Look::new(seed, "Outfitter", &[("/products", "Products")], 100);
    let value = move |product: usize, filter: usize| {
        Random::of(seed, &format!("{product} {filter}")).below(10)
    };
    let table: Vec<[usize; 6]> = (0..count)
        .map(|it| std::array::from_fn(|filter| value(it, filter)))
        .collect();
    let answer = move |ask: &Ask| {
        if let Some(number) = ask.after("/product/").filter(|it| *it < count) {
            return item(&look, seed, number, "");
        }
        if !matches!(ask.path, "/" | "/products") {
            return Reply::missing();
        }
        let chosen: Vec<(usize, usize)> = FILTERS
            .iter()
            .enumerate()
            .filter_map(|(at, name)| Some((at, ask.number(name)?)))
            .collect();
        let page = ask.number("page").unwrap_or(1).max(1);
        let matching: Vec<usize> = (0..count)
            .filter(|it| {
                chosen
                    .iter()
                    .all(|(filter, value)| table[*it][*filter] == *value)
            })
            .collect();
        let target = |chosen: &[(usize, usize)], page: usize| {
            let mut pairs: Vec<String> = chosen
                .iter()
                .map(|(filter, value)| format!("{}={value}", FILTERS[*filter]))
                .collect();
            if page > 1 {
                pairs.push(format!("page={page}"));
            }
            if pairs.is_empty() {
                "/products".to_owned()
            } else {
                format!("/products?{}", pairs.join("&"))
            }
        };
        let mut html = list(matching.iter().skip((page - 1) * 20).take(20).map(|it| {
            (
                format!("/product/{it}"),
                Random::of(seed, &format!("item {it}")).phrase(4),
            )
        }));
        for (filter, name) in FILTERS.iter().enumerate() {
            let values = (0..10).map(|value| {
                let mut next: Vec<(usize, usize)> =
                    chosen.iter().copied().filter(|it| it.0 != filter).collect();
                next.push((filter, value));
                next.sort_unstable();
                (target(&next, 1), format!("{name} {value}"))
            });
            html += &list(values);
        }
        let pages = matching.len().div_ceil(20);
        html += &list(
            (1..=pages)
                .filter(|it| it.abs_diff(page) < 3 || *it == pages)
                .map(|it| (target(&chosen, it), it.to_string())),
        );
        look.page("Products", &html)
    };
    let mut site =
        Site::new(answer).good((0..count).map(|it| (it.to_string(), format!("/product/{it}"))));
    site.cap = (count * 7).max(9_000);
    site
}

/// A shop that writes a session id into every link, another at each request without one.
pub(crate) fn session_links(seed: u64, scale: f64) -> Site {
    let count = scaled(3_000, scale);
    let lists = count.div_ceil(50);
    let look = Look::new(seed, "Colonial goods", &[], 120);
    let answer = move |ask: &Ask| {
        let session = match ask.get("basket") {
            Some(session) => session.to_owned(),
            None => Random::of(seed, &format!("session {}", ask.serial)).hex(24),
        };
        let with = |path: String| format!("{path}?basket={session}");
        if ask.path == "/" {
            return look.page(
                "Welcome",
                &list((0..lists).map(|it| (with(format!("/list/{it}")), format!("Shelf {it}")))),
            );
        }
        if let Some(number) = ask.after("/list/").filter(|it| *it < lists) {
            let shown = number * 50..(number * 50 + 50).min(count);
            return look
                .page(
                    &format!("Shelf {number}"),
                    &list(shown.map(|it| {
                        (
                            with(format!("/item/{it}")),
                            Random::of(seed, &format!("item {it}")).phrase(4),
                        )
                    })),
                )
                .good(format!("list {number}"));
        }
        match ask.after("/item/").filter(|it| *it < count) {
            Some(number) => item(
                &look,
                seed,
                number,
                &link(&with(format!("/list/{}", number / 50)), "back"),
            ),
            None => Reply::missing(),
        }
    };
    let lists = (0..lists).map(|it| (format!("list {it}"), format!("/list/{it}")));
    Site::new(answer)
        .good(lists)
        .good((0..count).map(|it| (it.to_string(), format!("/item/{it}"))))
}
