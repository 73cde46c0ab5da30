//! Siblings made of words: laws, patents, judgements, recipes, advertisements, songs.

use super::{Builder, Dress};
use crate::made_up::skin::{Build, Noise};
use crate::made_up::text::Random;
use crate::made_up::tongue::Tongue;

/// Recipes of one dish: what goes in differs, the steps are alike.
pub(super) fn recipes(builder: &mut Builder) {
    builder.dress(Dress::new(Build::Soup, Tongue::English).noise(&[Noise::Ads, Noise::Views]));
    let steps = builder.random("steps").paragraphs(110);
    for number in 0..builder.count(250) {
        let mut random = builder.random(&format!("recipe {number}"));
        let title = format!("Pancakes with {}", random.words(2));
        let rows: String = (0..6)
            .map(|_| format!("<li>{} g {}</li>", random.between(1, 40) * 5, random.word()))
            .collect();
        builder.page(
            0,
            format!("/recipes/{}-{number}", random.slug(2)),
            &title,
            &title,
            format!("<ul>{rows}</ul>{steps}"),
        );
    }
}

/// Vacancies of one employer: the place, the number and a line about the work differ.
pub(super) fn vacancies(builder: &mut Builder) {
    builder.dress(Dress::new(Build::Modern, Tongue::English).noise(&[Noise::Token, Noise::Online]));
    let about = builder.random("employer").paragraphs(220);
    let roles = ["Nurse", "Night nurse", "Ward clerk", "Porter", "Cook"];
    for number in 0..builder.count(250) {
        let mut random = builder.random(&format!("job {number}"));
        let role = random.pick(&roles).to_owned();
        let main = format!(
            "<dl><dt>Place</dt><dd>{}</dd><dt>Hours</dt><dd>{}</dd><dt>Reference</dt><dd>{}</dd></dl>{about}",
            random.phrase(1),
            random.between(12, 40),
            88_000 + number
        );
        builder.page(
            0,
            format!("/jobs/view/{}", 88_000 + number),
            &role,
            &role,
            main,
        );
    }
}

/// Decisions of one court: the reasons are the same, the facts are one paragraph.
pub(super) fn decisions(builder: &mut Builder) {
    builder.dress(Dress::new(Build::Tables, Tongue::German));
    let reasons = Tongue::German.paragraphs(&mut builder.random("reasons"), 500);
    for number in 0..builder.count(200) {
        let mut random = builder.random(&format!("case {number}"));
        let facts = Tongue::German.prose(&mut random, 30);
        let main = format!(
            "<p>Az. {} ZR {}/{}</p><p>{facts}</p>{reasons}<p>Streitwert: {} Euro</p>",
            random.between(1, 12),
            number + 1,
            random.between(10, 25),
            random.between(4, 900) * 100
        );
        builder.page(
            0,
            format!("/entscheidungen/{number:05}.htm"),
            "Beschluss",
            "Beschluss",
            main,
        );
    }
}

/// Families of patents: the description is shared, a clause of the first claim differs.
pub(super) fn patents(builder: &mut Builder) {
    builder.dress(Dress::new(Build::NavLast, Tongue::English));
    for family in 0..builder.count(40) {
        let mut random = builder.random(&format!("family {family}"));
        let (title, text, claim) = (random.phrase(5), random.paragraphs(450), random.words(50));
        for member in 0..5 {
            let mut random = builder.random(&format!("claim {family} {member}"));
            let main = format!(
                "<p>Granted on {} {} {}</p><p>1. {claim}, wherein {}.</p><p>2. The device of claim 1.</p>{text}",
                random.between(1, 28),
                random.pick(&["January", "March", "June", "October"]),
                random.between(1998, 2024),
                random.words(4)
            );
            builder.page(
                0,
                format!(
                    "/patent/US{}B{}",
                    9_000_000 + family * 77 + member * 5,
                    member % 2 + 1
                ),
                &title,
                &title,
                main,
            );
        }
    }
}

/// A law as it stood in each of many years: a paragraph of a hundred differs.
pub(super) fn statutes(builder: &mut Builder) {
    builder.dress(Dress::new(Build::Bare, Tongue::German).one_title());
    for law in 0..builder.count(6) {
        let mut text: Vec<String> = (0..90)
            .map(|it| Tongue::German.prose(&mut builder.random(&format!("law {law} {it}")), 30))
            .collect();
        for year in 0..12 {
            let mut random = builder.random(&format!("change {law} {year}"));
            let at = random.below(text.len());
            text[at] = Tongue::German.prose(&mut random, 30);
            let stand = format!(
                "<p>Stand: {}. März {}</p>",
                random.between(1, 31),
                2010 + year
            );
            let main: String = text
                .iter()
                .enumerate()
                .map(|(at, it)| format!("<p>§ {} {it}</p>", at + 1))
                .collect();
            builder.page(
                0,
                format!("/recht/gesetz{law}/fassung-{}.html", 2010 + year),
                "Gesetze",
                "Gesetze",
                stand + &main,
            );
        }
    }
}

/// Songs with one refrain each and in two versions that differ in a verse.
pub(super) fn songs(builder: &mut Builder) {
    builder.dress(Dress::new(Build::Bare, Tongue::English).noise(&[Noise::Quote]));
    for song in 0..builder.count(120) {
        let mut random = builder.random(&format!("song {song}"));
        let (title, refrain) = (random.phrase(3), lines(&mut random, 4));
        let verses: Vec<String> = (0..3).map(|_| lines(&mut random, 4)).collect();
        for version in 0..2 {
            let own = lines(&mut builder.random(&format!("verse {song} {version}")), 4);
            let main = format!(
                "<p>{}</p><p>{refrain}</p><p>{}</p><p>{refrain}</p><p>{own}</p><p>{refrain}</p>",
                verses[0], verses[1]
            );
            builder.page(
                0,
                format!("/songs/{song}/{}", ["text", "live"][version]),
                &title,
                &title,
                main,
            );
        }
    }
}

fn lines(random: &mut Random, count: usize) -> String {
    let lines: Vec<String> = (0..count).map(|_| random.phrase(6)).collect();
    lines.join("<br>")
}

/// Entries of ten words, in a frame with a saying that changes.
pub(super) fn entries(builder: &mut Builder) {
    builder
        .dress(Dress::new(Build::NavLast, Tongue::Russian).noise(&[Noise::Quote, Noise::Online]));
    for number in 0..builder.count(300) {
        let mut random = builder.random(&format!("entry {number}"));
        let title = Tongue::Russian.phrase(&mut random, 1) + &Tongue::Russian.word(&mut random);
        let words = random.between(5, 14);
        let main = format!("<p>{}</p>", Tongue::Russian.prose(&mut random, words));
        builder.page(0, format!("/s/{number}.html"), &title, &title, main);
    }
}

/// Short notices that share their formulas.
pub(super) fn notices(builder: &mut Builder) {
    builder.dress(
        Dress::new(Build::Soup, Tongue::Arabic)
            .one_title()
            .noise(&[Noise::Views, Noise::Clock]),
    );
    let formula = Tongue::Arabic.prose(&mut builder.random("formula"), 28);
    for number in 0..builder.count(250) {
        let mut random = builder.random(&format!("notice {number}"));
        let main = format!(
            "<p>{}</p><p>{formula}</p>",
            Tongue::Arabic.prose(&mut random, 8)
        );
        builder.page(
            0,
            format!("/notice.aspx?nid={}", 3_000 + number),
            "إعلان",
            "إعلان",
            main,
        );
    }
}

/// Minutes of a council: the agenda is a form, what was said is short.
pub(super) fn minutes(builder: &mut Builder) {
    builder.dress(
        Dress::new(Build::Tables, Tongue::German)
            .one_title()
            .noise(&[Noise::Clock]),
    );
    let agenda: Vec<String> = (0..14)
        .map(|it| Tongue::German.prose(&mut builder.random(&format!("item {it}")), 14))
        .collect();
    for number in 0..builder.count(200) {
        let mut random = builder.random(&format!("sitting {number}"));
        let mut main = format!(
            "<p>Sitzung vom {}.{}.{}</p>",
            random.between(1, 28),
            random.between(1, 12),
            random.between(1995, 2025)
        );
        for (at, item) in agenda.iter().enumerate() {
            main += &format!("<p>TOP {}: {item}</p>", at + 1);
            if random.percent(30) {
                main += &format!(
                    "<p>{} Ja, {} Nein</p>",
                    random.between(5, 30),
                    random.below(9)
                );
            }
        }
        builder.page(
            0,
            format!("/protokoll.php?sid={}", number * 2 + 5),
            "Gemeinderat",
            "Gemeinderat",
            main,
        );
    }
}

/// Manual pages of a program in two versions: an option more, or another default.
pub(super) fn manuals(builder: &mut Builder) {
    builder.dress(Dress::new(Build::Bare, Tongue::English));
    for page in 0..builder.count(120) {
        let mut random = builder.random(&format!("man {page}"));
        let name = random.slug(1);
        let options: Vec<String> = (0..12)
            .map(|_| {
                format!(
                    "  -{}, --{}\n      {}",
                    random.pick(&["a", "b", "c", "d", "e"]),
                    random.slug(1),
                    random.prose(14)
                )
            })
            .collect();
        let at = random.below(12);
        for version in 0..2 {
            let mut own = options.clone();
            if version == 1 {
                own[at] = match page % 2 {
                    0 => own[at].clone() + &format!(" The default is {}.", random.between(2, 900)),
                    _ => format!("  -z, --{}\n      {}", random.slug(1), random.prose(10)),
                };
            }
            let text = own.join("\n");
            let main = format!(
                "<pre>NAME\n  {name} - {}\n\nOPTIONS\n{text}\n</pre>",
                builder.random(&format!("what {page}")).words(6)
            );
            builder.page(
                0,
                format!("/man/{}/{name}.{page}.html", ["2.30", "2.31"][version]),
                &format!("{name}(1)"),
                &format!("{name}(1)"),
                main,
            );
        }
    }
}
