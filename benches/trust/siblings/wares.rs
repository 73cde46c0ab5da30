//! Siblings in shops.

use super::Builder;
use crate::made_up::site::list;

/// Every page has the title and the headline of the shop.
pub(super) fn one_title(builder: &mut Builder) {
    let terms = builder.random("terms").paragraphs(120);
    for number in 0..builder.count(400) {
        let mut random = builder.random(&format!("ware {number}"));
        let main = format!(
            "<p>{}</p><p>{}.{:02} crowns, item {}</p>{terms}",
            random.prose(14),
            random.between(2, 300),
            random.below(100),
            50_000 + number
        );
        builder.page(
            0,
            format!("/item.php?id={}", 50_000 + number),
            "Henning's hardware",
            "Henning's hardware",
            main,
        );
    }
}

/// Only the price and the number differ.
pub(super) fn price(builder: &mut Builder) {
    let text = builder.random("screw").paragraphs(140);
    for number in 0..builder.count(400) {
        let mut random = builder.random(&format!("price {number}"));
        let main = format!(
            "<p class=\"number\">Item {}</p><p class=\"price\">{}.{:02}</p>{text}",
            70_000 + number * 3,
            random.between(1, 80),
            random.below(100)
        );
        builder.page(
            0,
            format!("/screws/{}", 70_000 + number * 3),
            "Wood screw",
            "Wood screw",
            main,
        );
    }
}

/// Variants of forty articles that differ in a colour.
pub(super) fn colours(builder: &mut Builder) {
    let colours = [
        "red", "green", "blue", "black", "white", "yellow", "orange", "grey", "brown", "pink",
    ];
    for number in 0..builder.count(40) {
        let mut random = builder.random(&format!("shirt {number}"));
        let (title, text) = (random.phrase(3), random.paragraphs(110));
        for colour in colours {
            let main = format!(
                "<img src=\"/img/{number}-{colour}.jpg\" alt=\"{title} {colour}\"><p>Colour: {colour}</p>{text}"
            );
            builder.page(
                0,
                format!("/shirt-{number}-{colour}.html"),
                &format!("{title} {colour}"),
                &format!("{title}, {colour}"),
                main,
            );
        }
    }
}

/// One shop in four countries: prices, currencies and the terms of delivery differ.
pub(super) fn countries(builder: &mut Builder) {
    let countries = [
        ("at", "EUR", 1.0),
        ("ch", "CHF", 1.07),
        ("se", "SEK", 11.3),
        ("uk", "GBP", 0.86),
    ];
    let all = builder.count(100);
    for (country, currency, rate) in countries {
        let host = builder.host(&format!("shop-{country}.example"));
        for number in 0..all {
            let mut random = builder.random(&format!("good {number}"));
            let (title, text) = (random.phrase(3), random.paragraphs(100));
            let price = random.between(5, 200) as f64 * rate + 0.03 * number as f64;
            let main = format!(
                "{text}<p class=\"price\">{price:.2} {currency}</p><p>Delivery within {} days</p>",
                2 + currency.len() + rate as usize % 4
            );
            builder.page(host, format!("/product/{number}"), &title, &title, main);
        }
    }
}

/// Lists with pages 2 to 4.
pub(super) fn lists(builder: &mut Builder) {
    for number in 0..builder.count(108) {
        let title = builder.random(&format!("list {number}")).phrase(2);
        for page in 1..=4 {
            let mut random = builder.random(&format!("list {number} {page}"));
            let items = list((0..20).map(|_| {
                let word = random.phrase(2);
                (format!("/nowhere/{}", word.replace(' ', "-")), word)
            }));
            let main = format!("<p>Page {page} of 4</p>{items}")
                .replace("<a href", "<a rel=\"nofollow\" href");
            let path = if page == 1 {
                format!("/list/{number}")
            } else {
                format!("/list/{number}?page={page}")
            };
            builder.page(0, path, &title, &title, main);
        }
    }
}
