//! Siblings of places and persons.

use super::Builder;

/// Guided tours that differ in the date and the place.
pub(super) fn tours(builder: &mut Builder) {
    for tour in 0..builder.count(15) {
        let mut random = builder.random(&format!("tour {tour}"));
        let (title, text) = (random.phrase(3), random.paragraphs(180));
        for turn in 0..20 {
            let main = format!(
                "<p>{} {} 2026, {}:30, meeting point: {}</p>{text}",
                turn + 3,
                ["May", "June", "July"][turn % 3],
                9 + turn % 8,
                random.phrase(2)
            );
            builder.page(0, format!("/tours/{tour}/{turn}"), &title, &title, main);
        }
    }
}

/// Timetables of other lines: the stops are alike, the times differ.
pub(super) fn timetables(builder: &mut Builder) {
    let stops: Vec<String> = (0..16)
        .map(|it| builder.random(&format!("stop {it}")).phrase(1))
        .collect();
    for line in 0..builder.count(300) {
        let mut random = builder.random(&format!("line {line}"));
        let mut minute = random.between(240, 420);
        let mut rows = String::new();
        for stop in &stops {
            minute += random.between(1, 9);
            rows += &format!(
                "<tr><td>{stop}</td><td>{:02}:{:02}</td><td>{:02}:{:02}</td></tr>",
                minute / 60,
                minute % 60,
                minute / 60 + 1,
                minute % 60
            );
        }
        let main = format!(
            "<p>Line {}</p><table>{rows}</table><p>Runs on working days. No service on holidays.</p>",
            line + 100
        );
        builder.page(
            0,
            format!("/lines/{}", line + 100),
            "Timetable",
            "Timetable",
            main,
        );
    }
}

/// Branches of one business at subdomains or domains of their own.
pub(super) fn branches(builder: &mut Builder, below: bool) {
    let text = builder.random("about").paragraphs(150);
    for number in 0..builder.count(200) {
        let mut random = builder.random(&format!("branch {number}"));
        let city = random.phrase(1);
        let name = if below {
            format!("branch-{number}.opticians.example")
        } else {
            format!("opticians-{number}.example")
        };
        let host = builder.host(&name);
        let main = format!(
            "<p>{} {}, {} {city}</p><p>Telephone 0{}</p>{text}",
            random.phrase(1),
            random.between(1, 120),
            random.between(10_000, 99_999),
            random.between(1_000_000, 9_999_999)
        );
        builder.page(
            host,
            "/branch".to_owned(),
            &format!("Opticians in {city}"),
            &format!("Your opticians in {city}"),
            main,
        );
    }
}

/// Persons of an institute: a name, a room, a number.
pub(super) fn persons(builder: &mut Builder) {
    let text = builder.random("institute").paragraphs(60);
    for number in 0..builder.count(400) {
        let mut random = builder.random(&format!("person {number}"));
        let name = random.phrase(2);
        let main = format!(
            "<p>Name: {name}</p><p>Room: {}.{:03}</p><p>Telephone: -{}</p>{text}",
            random.between(1, 5),
            random.below(400),
            random.between(1_000, 9_999)
        );
        builder.page(
            0,
            format!("/staff/{number}.html"),
            "Staff",
            "Institute of geodesy",
            main,
        );
    }
}
