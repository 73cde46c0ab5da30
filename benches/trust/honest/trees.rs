//! Many pages that are alike: galleries, sections, shells, short references, one long list.

use crate::made_up::site::{Ask, Look, Reply, Site, link, list, scaled};
use crate::made_up::text::Random;

/// Albums of forty photographs, each with a page of its own among the same words.
pub(crate) fn gallery(seed: u64, scale: f64) -> Site {
    let albums = scaled(150, scale);
    let each = 40;
    let look = Look::new(seed, "Photographs", &[("/", "Albums")], 160);
    let mut good: Vec<(String, String)> = (0..albums)
        .map(|it| (format!("album {it}"), format!("/album/{it}/")))
        .collect();
    for album in 0..albums {
        good.extend((0..each).map(|it| {
            (
                format!("{album}/{it}"),
                format!("/album/{album}/photo{it}.html"),
            )
        }));
    }
    let answer = move |ask: &Ask| {
        let parts = ask.segments();
        let album = parts
            .get(1)
            .and_then(|it| it.parse().ok())
            .filter(|it: &usize| *it < albums);
        match (parts.as_slice(), album) {
            ([], _) => look.page(
                "Albums",
                &list((0..albums).map(|it| (format!("/album/{it}/"), format!("Album {it}")))),
            ),
            (["album", _], Some(album)) => {
                let title = Random::of(seed, &format!("album {album}")).phrase(2);
                let photos = (0..each).map(|it| {
                    (
                        format!("/album/{album}/photo{it}.html"),
                        format!("Photo {}", it + 1),
                    )
                });
                look.page(&title, &list(photos))
                    .good(format!("album {album}"))
            }
            (["album", _, name], Some(album)) => {
                let number = name
                    .strip_prefix("photo")
                    .and_then(|it| it.strip_suffix(".html"))
                    .and_then(|it| it.parse().ok());
                let Some(photo) = number.filter(|it: &usize| *it < each) else {
                    return Reply::missing();
                };
                let mut random = Random::of(seed, &format!("photo {album}/{photo}"));
                let mut html = format!(
                    "<img src=\"/files/{}.jpg\" alt=\"\"><p>Photo {} of {each}</p><p>Camera: compact. Lens: standard. All rights reserved.</p>",
                    random.hex(16),
                    photo + 1
                );
                if random.percent(50) {
                    html += &format!("<p>{}</p>", random.phrase(4));
                }
                for near in [
                    photo.checked_sub(1),
                    Some(photo + 1).filter(|it| *it < each),
                ]
                .into_iter()
                .flatten()
                {
                    html += &link(&format!("/album/{album}/photo{near}.html"), "turn over");
                }
                look.page("Photo", &html).good(format!("{album}/{photo}"))
            }
            _ => Reply::missing(),
        }
    };
    Site::new(answer).good(good)
}

/// Sections of a hundred pages, each with a few words of its own in a frame of many.
pub(crate) fn tree(seed: u64, scale: f64) -> Site {
    let sections = scaled(500, scale);
    let each = 100;
    let look = Look::new(seed, "Registry", &[("/", "Sections")], 200);
    let mut good: Vec<(String, String)> = (0..sections)
        .map(|it| (format!("section {it}"), format!("/section{it}/")))
        .collect();
    for section in 0..sections {
        good.extend((0..each).map(|it| {
            (
                format!("{section}/{it}"),
                format!("/section{section}/entry{it}"),
            )
        }));
    }
    let answer = move |ask: &Ask| {
        let parts = ask.segments();
        let Some(first) = parts.first() else {
            return look.page(
                "Sections",
                &list((0..sections).map(|it| (format!("/section{it}/"), format!("Section {it}")))),
            );
        };
        let section = first.strip_prefix("section").and_then(|it| it.parse().ok());
        let Some(section) = section.filter(|it: &usize| *it < sections) else {
            return Reply::missing();
        };
        let Some(entry) = parts.get(1) else {
            let entries = (0..each).map(|it| {
                (
                    format!("/section{section}/entry{it}"),
                    format!("Entry {it}"),
                )
            });
            return look
                .page(&format!("Section {section}"), &list(entries))
                .good(format!("section {section}"));
        };
        let entry = entry.strip_prefix("entry").and_then(|it| it.parse().ok());
        let Some(entry) = entry.filter(|it: &usize| *it < each) else {
            return Reply::missing();
        };
        let mut random = Random::of(seed, &format!("{section}/{entry}"));
        let html = format!(
            "<table><tr><th>Owner</th><td>{}</td></tr><tr><th>Parcel</th><td>{}</td></tr><tr><th>Note</th><td>{}</td></tr></table>",
            random.phrase(2),
            random.below(1_000_000),
            random.phrase(5)
        );
        look.page("Entry", &html).good(format!("{section}/{entry}"))
    };
    Site::new(answer).good(good)
}

/// An application whose pages differ in their state only.
pub(crate) fn shells(seed: u64, scale: f64) -> Site {
    let count = scaled(2_000, scale);
    let look = Look::new(seed, "Service", &[("/", "All")], 90);
    let answer = move |ask: &Ask| {
        if ask.path == "/" {
            return look.page(
                "All",
                &list((0..count).map(|it| (format!("/offer/{it}"), "An offer"))),
            );
        }
        let Some(number) = ask.after("/offer/").filter(|it| *it < count) else {
            return Reply::missing();
        };
        let mut random = Random::of(seed, &format!("offer {number}"));
        let state = format!(
            "{{\"id\":{number},\"title\":\"{}\",\"text\":\"{}\",\"price\":{}}}",
            random.phrase(4),
            random.prose(60),
            random.below(10_000)
        );
        let html = format!(
            "<div id=\"root\"><p>The offer is shown below as soon as it is loaded.</p></div><script type=\"application/json\" id=\"state\">{state}</script>"
        );
        look.page("Offer", &html).good(number.to_string())
    };
    Site::new(answer).good((0..count).map(|it| (it.to_string(), format!("/offer/{it}"))))
}

/// A reference of methods: short pages that differ in a name and a type.
pub(crate) fn api(seed: u64, scale: f64) -> Site {
    let classes = scaled(150, scale);
    let methods = [
        "new",
        "add",
        "sub",
        "mul",
        "min",
        "max",
        "load",
        "store",
        "shift_left",
        "shift_right",
        "compare",
        "convert",
        "reverse",
        "count",
        "clear",
        "merge",
        "split",
        "insert",
        "remove",
        "contains",
    ];
    let types = [
        "i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64", "f32", "f64",
    ];
    let look = Look::new(seed, "Reference", &[("/", "Classes")], 60);
    let mut good = Vec::new();
    for class in 0..classes {
        good.push((format!("{class}"), format!("/api/class.C{class}.html")));
        good.extend(methods.iter().map(|it| {
            (
                format!("{class}.{it}"),
                format!("/api/C{class}/fn.{it}.html"),
            )
        }));
    }
    let answer = move |ask: &Ask| {
        let parts = ask.segments();
        let number = |name: &str| {
            name.strip_prefix('C')
                .and_then(|it| it.parse().ok())
                .filter(|it: &usize| *it < classes)
        };
        match parts.as_slice() {
            [] => look.page(
                "Classes",
                &list((0..classes).map(|it| (format!("/api/class.C{it}.html"), format!("C{it}")))),
            ),
            ["api", file] => {
                let name = file
                    .strip_prefix("class.")
                    .and_then(|it| it.strip_suffix(".html"));
                let Some(class) = name.and_then(number) else {
                    return Reply::missing();
                };
                let kind = types[class % types.len()];
                let all = list(
                    methods
                        .iter()
                        .map(|it| (format!("/api/C{class}/fn.{it}.html"), *it)),
                );
                look.page(
                    &format!("Class C{class}"),
                    &format!("<p>A vector of {kind}.</p>{all}"),
                )
                .good(format!("{class}"))
            }
            ["api", class, file] => {
                let name = file
                    .strip_prefix("fn.")
                    .and_then(|it| it.strip_suffix(".html"));
                let (Some(class), Some(name)) =
                    (number(class), name.filter(|it| methods.contains(it)))
                else {
                    return Reply::missing();
                };
                let kind = types[class % types.len()];
                let html = format!(
                    "<pre><code>pub fn {name}(a: C{class}, b: C{class}) -&gt; {kind}</code></pre><p>Vector {name} of {kind}. The result is undefined if an element is not a number.</p><p>Available on all platforms.</p>"
                );
                look.page(&format!("C{class}::{name}"), &html)
                    .good(format!("{class}.{name}"))
            }
            _ => Reply::missing(),
        }
    };
    Site::new(answer).good(good)
}

/// One page that links 12,000.
pub(crate) fn one_list(seed: u64, scale: f64) -> Site {
    let count = scaled(12_000, scale);
    let look = Look::new(seed, "Words", &[], 20);
    let answer = move |ask: &Ask| {
        if ask.path == "/" {
            return look.page(
                "Words",
                &list((0..count).map(|it| {
                    (
                        format!("/word/{it}"),
                        Random::of(seed, &format!("word {it}")).word(),
                    )
                })),
            );
        }
        let Some(number) = ask.after("/word/").filter(|it| *it < count) else {
            return Reply::missing();
        };
        let mut random = Random::of(seed, &format!("word {number}"));
        let (title, words) = (random.phrase(1), random.between(15, 60));
        look.page(&title, &random.paragraphs(words))
            .good(number.to_string())
    };
    Site::new(answer).good((0..count).map(|it| (it.to_string(), format!("/word/{it}"))))
}
