//! Siblings made of figures: measurements, results, prices, parts, signatures, pictures.

use super::{Builder, Dress};
use crate::made_up::skin::{Build, Noise};
use crate::made_up::tongue::Tongue;

/// Measurements by station and day: nothing but numbers.
pub(super) fn readings(builder: &mut Builder) {
    builder.dress(
        Dress::new(Build::Tables, Tongue::Chinese)
            .one_title()
            .noise(&[Noise::Clock]),
    );
    for number in 0..builder.count(300) {
        let mut random = builder.random(&format!("reading {number}"));
        let rows: String = (0..12)
            .map(|it| {
                format!(
                    "<tr><td>{:02}时</td><td>{}.{}</td><td>{}</td><td>{}%</td></tr>",
                    it * 2,
                    random.below(36),
                    random.below(10),
                    random.between(985, 1_030),
                    random.between(20, 99)
                )
            })
            .collect();
        builder.page(
            0,
            format!(
                "/zdz/{}/202511{:02}.htm",
                57_000 + number / 20,
                number % 20 + 1
            ),
            "实况",
            "实况",
            format!("<table>{rows}</table>"),
        );
    }
}

/// Results of matches between the same clubs.
pub(super) fn matches(builder: &mut Builder) {
    builder.dress(Dress::new(Build::Tables, Tongue::English).noise(&[Noise::Ads, Noise::Online]));
    let clubs: Vec<String> = (0..12)
        .map(|it| builder.random(&format!("club {it}")).phrase(1) + " United")
        .collect();
    for round in 0..builder.count(250) {
        let mut random = builder.random(&format!("round {round}"));
        let mut order: Vec<usize> = (0..12).collect();
        random.shuffle(&mut order);
        let rows: String = order
            .chunks(2)
            .map(|it| {
                format!(
                    "<tr><td>{}</td><td>{}:{}</td><td>{}</td></tr>",
                    clubs[it[0]],
                    random.below(5),
                    random.below(4),
                    clubs[it[1]]
                )
            })
            .collect();
        builder.page(
            0,
            format!(
                "/results?season={}&round={}",
                2000 + round / 22,
                round % 22 + 1
            ),
            "Results",
            "Results",
            format!("<table>{rows}</table>"),
        );
    }
}

/// Quotes of shares beside a long warning.
pub(super) fn shares(builder: &mut Builder) {
    builder.dress(Dress::new(Build::Soup, Tongue::German).noise(&[Noise::Token]));
    let warning = Tongue::German.paragraphs(&mut builder.random("warning"), 130);
    for number in 0..builder.count(250) {
        let mut random = builder.random(&format!("share {number}"));
        let name = random.phrase(1) + " AG";
        let main = format!(
            "<div>WKN {}</div><div>{},{:02} EUR</div><div>{}{},{:02} %</div>{warning}",
            random.between(100_000, 999_999),
            random.between(1, 400),
            random.below(100),
            random.pick(&["+", "-"]),
            random.below(9),
            random.below(100)
        );
        builder.page(0, format!("/kurse/{}", random.hex(12)), &name, &name, main);
    }
}

/// Flats in a few houses: the number, the floor, the size and the rent differ.
pub(super) fn flats(builder: &mut Builder) {
    builder.dress(Dress::new(Build::Soup, Tongue::English).noise(&[Noise::Views, Noise::Ads]));
    for house in 0..builder.count(10) {
        let mut random = builder.random(&format!("house {house}"));
        let (street, text) = (random.phrase(2), random.paragraphs(120));
        for flat in 0..25 {
            let main = format!(
                "<ul><li>Flat {}</li><li>Floor {}</li><li>{} m²</li><li>{} a month</li></ul>{text}",
                flat + 1,
                flat / 4,
                random.between(28, 140),
                random.between(300, 2_900)
            );
            builder.page(
                0,
                format!("/expose/{}", 120_000 + house * 400 + flat * 3),
                &street,
                &street,
                main,
            );
        }
    }
}

/// Parts with a size and a number each.
pub(super) fn parts(builder: &mut Builder) {
    builder.dress(Dress::new(Build::Bare, Tongue::English).one_title());
    let note = builder.random("note").prose(40);
    for number in 0..builder.count(300) {
        let main = format!(
            "<p>Hexagon bolt M{}×{}, {}</p><p>Order number {}</p><p>{note}</p>",
            number % 9 + 3,
            number / 9 * 5 + 10,
            ["A2", "A4", "8.8"][number % 3],
            400_100 + number * 2
        );
        builder.page(
            0,
            format!("/catalog/part.asp?pn={}", 400_100 + number * 2),
            "Fasteners",
            "Fasteners",
            main,
        );
    }
}

/// Goods whose names differ in a number or a sign.
pub(super) fn goods_zh(builder: &mut Builder) {
    builder.dress(Dress::new(Build::Modern, Tongue::Chinese).noise(&[Noise::Token, Noise::Ads]));
    let text = Tongue::Chinese.paragraphs(&mut builder.random("text"), 160);
    for number in 0..builder.count(250) {
        let colour = ["红", "蓝", "黑", "白", "绿"][number % 5];
        let title = format!("水泵 QX-{}{colour}", 100 + number / 5);
        let main = format!(
            "<p>{}.00 元</p><p>颜色：{colour}</p>{text}",
            200 + number * 3
        );
        builder.page(
            0,
            format!("/shangpin/{}.html", 9_000 + number),
            &title,
            "水泵",
            main,
        );
    }
}

/// Functions of a library in two versions: a type of the signature differs.
pub(super) fn signatures(builder: &mut Builder) {
    builder.dress(Dress::new(Build::NavLast, Tongue::English));
    for number in 0..builder.count(125) {
        let mut random = builder.random(&format!("function {number}"));
        let (name, text, argument) = (random.slug(1), random.paragraphs(70), random.slug(1));
        for version in 0..2 {
            let main = format!(
                "<pre>{} {name}({} {argument})</pre>{text}",
                ["int", "void"][number % 2],
                ["int", "size_t"][version]
            );
            builder.page(
                0,
                format!("/{}/functions/{name}-{number}", ["v3", "v4"][version]),
                &name,
                &name,
                main,
            );
        }
    }
}

/// Photographs: the picture is all that differs.
pub(super) fn pictures(builder: &mut Builder) {
    builder.dress(
        Dress::new(Build::NavLast, Tongue::English)
            .one_title()
            .noise(&[Noise::Views]),
    );
    for number in 0..builder.count(250) {
        let image = builder.random(&format!("picture {number}")).hex(14);
        let main = format!(
            "<img src=\"/photos/{image}_b.jpg\" alt=\"\"><p>Photograph, silver gelatine print, unknown photographer</p>"
        );
        builder.page(
            0,
            format!("/photo/{}/", 70_000 + number),
            "Archive",
            "Archive",
            main,
        );
    }
}
