//! True duplicates as sites make them: views for phones, notes around, spellings of one address;
//! and teasers, which are none.

use super::plant::{Style, article, copy};
use super::{Builder, Doc};
use crate::made_up::text::Random;
use crate::made_up::tongue::Tongue;

/// Plants copies among siblings in a dress of their own.
pub(super) fn plant(builder: &mut Builder) {
    let styles = [
        ("amp", Style::Amp),
        ("phone", Style::Phone),
        ("utm", Style::Utm),
        ("slash", Style::Slash),
        ("page-one", Style::PageOne),
        ("noted", Style::Noted),
        ("appended", Style::Appended),
        ("paragraph", Style::Paragraph),
        ("tongue", Style::InTongue),
    ];
    let siblings = builder.docs.len();
    let mut random = builder.random("copies");
    for (tag, style) in styles {
        for turn in 0..builder.count(8) {
            if style == Style::PageOne && builder.is_noisy() {
                continue;
            }
            if style == Style::Paragraph && builder.tongue() == Tongue::Chinese {
                continue;
            }
            // Views and spellings of siblings too; edited ones only where there is text to edit.
            let of_sibling = turn % 2 == 0
                && !matches!(style, Style::Noted | Style::Appended | Style::Paragraph);
            let of = if of_sibling {
                let free = |it: &usize| !builder.docs[*it].key.contains('#');
                match (0..50).map(|_| random.below(siblings)).find(free) {
                    Some(of) => of,
                    None => continue,
                }
            } else {
                article(builder, &format!("{tag} {turn}"))
            };
            // Pages of a series are one only if they are equal.
            let is_series = style == Style::PageOne;
            copy(builder, of, tag, style, 1, turn % 4 >= 2 && !is_series);
        }
    }
    for turn in 0..builder.count(16) {
        let of = article(builder, &format!("teaser {turn}"));
        teaser(builder, of, turn % 2 == 0);
    }
}

/// The first third of an article, on the same host or another: a page of its own.
fn teaser(builder: &mut Builder, of: usize, here: bool) {
    let origin = builder.docs[of].clone();
    let letters: Vec<char> = origin.main.chars().collect();
    let first: String = letters[..letters.len() * 3 / 10].iter().collect();
    let host = if here {
        0
    } else {
        builder.host("portal.example")
    };
    builder.docs.push(Doc {
        key: format!("teaser {}", origin.key),
        host,
        frame: host,
        path: format!("/preview{}", origin.path),
        main: format!(
            "{} …</p><p><a rel=\"nofollow\" href=\"/login\">…</a></p>",
            first.rsplit_once(' ').map_or(first.as_str(), |it| it.0)
        ),
        ..origin
    });
}

/// Makes a copy what its style says.
pub(super) fn change(builder: &mut Builder, origin: &Doc, number: usize, doc: &mut Doc) {
    let mut random = Random::of(builder.seed, &format!("change {} {number}", origin.path));
    let mark = if doc.path.contains('?') { '&' } else { '?' };
    let tongue = builder.tongue();
    match doc.style {
        Some(Style::Amp) => doc.path = format!("/amp{}", doc.path),
        Some(Style::Phone) => {
            doc.host = builder.host("m.site.example");
        }
        Some(Style::Utm) => {
            doc.path = format!(
                "{}{mark}utm_source=letter&utm_medium=email&utm_campaign={}",
                doc.path,
                random.slug(1)
            );
        }
        Some(Style::Slash) if !doc.path.contains(['?', '.']) => {
            doc.path = format!("{}/index.html", doc.path.trim_end_matches('/'));
        }
        Some(Style::Slash) => doc.path = format!("/{}", doc.path),
        Some(Style::PageOne) => doc.path = format!("{}{mark}page=1", doc.path),
        Some(Style::InTongue) => doc.path = format!("/ru{}", doc.path),
        Some(Style::Noted) => {
            doc.host = builder.host("syndicate.example");
            let (before, after) = (tongue.prose(&mut random, 9), tongue.prose(&mut random, 12));
            doc.main = format!(
                "<p><em>{before}</em></p>{}<p><small>{after}</small></p>",
                doc.main
            );
        }
        Some(Style::Appended) => {
            doc.host = builder.host("syndicate.example");
            let words = origin.main.split_whitespace().count() / 12;
            doc.main += &format!("<p>{}</p>", tongue.prose(&mut random, words));
        }
        Some(Style::Paragraph) => {
            doc.host = builder.host("agency.example");
            doc.main = reworded(&doc.main, &mut random);
        }
        _ => {}
    }
}

/// With words of the longest paragraph replaced, one in twelve of all.
fn reworded(html: &str, random: &mut Random) -> String {
    let mut parts: Vec<String> = html.split("</p>").map(str::to_owned).collect();
    let Some(longest) = parts.iter_mut().max_by_key(|it| it.len()) else {
        return html.to_owned();
    };
    let all = html.split_whitespace().count();
    let mut words: Vec<String> = longest.split(' ').map(str::to_owned).collect();
    let first = words.len() / 3;
    for word in words.iter_mut().skip(first).take(all / 16) {
        *word = random.word();
    }
    *longest = words.join(" ");
    parts.join("</p>")
}
