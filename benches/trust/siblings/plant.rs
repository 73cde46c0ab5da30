//! True duplicates, planted among siblings.

use std::collections::HashSet;

use super::{Builder, Doc, copies};
use crate::made_up::text::Random;
use crate::made_up::tongue::Tongue;

/// How a page was copied.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Style {
    /// The same bytes at another host.
    Mirror,
    /// The same page under a session, on the same host.
    Session,
    /// Without the frame, on the same host.
    Print,
    /// In a frame of another language, on the same host.
    Locale(usize),
    /// In the frame of another host.
    Reprint,
    /// Words were replaced, on another host: similarity in hundredths.
    Edited(usize),
    /// The same on the same host.
    EditedHere(usize),
    /// For phones, without a frame, on the same host.
    Amp,
    /// At the host for phones.
    Phone,
    /// The same bytes at an address that tells where the reader came from.
    Utm,
    /// The same bytes at another spelling of the address.
    Slash,
    /// The same bytes at an address that says that it is the first page.
    PageOne,
    /// On another host, with a note before and one after.
    Noted,
    /// On another host, with a paragraph more.
    Appended,
    /// On another host, with a run of words of one paragraph replaced.
    Paragraph,
    /// In the frame of the site in another language.
    InTongue,
}

impl Style {
    /// Name of the style, and the recall that is demanded of it.
    pub(crate) fn bar(self) -> (String, f64) {
        match self {
            Self::Mirror => ("mirror".to_owned(), 0.95),
            Self::Session => ("session".to_owned(), 0.9),
            Self::Print => ("print".to_owned(), 0.9),
            Self::Locale(_) => ("locale".to_owned(), 0.9),
            Self::Reprint => ("reprint".to_owned(), 0.95),
            Self::Edited(it) => (format!("edited .{it}"), 0.95),
            Self::EditedHere(it) => (format!("here .{it}"), 0.9),
            Self::Amp => ("amp".to_owned(), 0.9),
            Self::Phone => ("phone".to_owned(), 0.9),
            Self::Utm => ("utm".to_owned(), 0.9),
            Self::Slash => ("slash".to_owned(), 0.9),
            Self::PageOne => ("page-one".to_owned(), 0.9),
            Self::Noted => ("noted".to_owned(), 0.95),
            Self::Appended => ("appended".to_owned(), 0.95),
            Self::Paragraph => ("paragraph".to_owned(), 0.95),
            Self::InTongue => ("tongue".to_owned(), 0.9),
        }
    }
}

/// The style of the copies of a page, from its key, and whether they have a line that changes.
pub(crate) fn style(key: &str) -> Option<(Style, bool)> {
    let (_, tag) = key.rsplit_once('#')?;
    let steady = tag.strip_suffix('*');
    Some((named(steady.unwrap_or(tag))?, steady.is_some()))
}

fn named(tag: &str) -> Option<Style> {
    let number = |it: &str| it.parse().ok();
    match tag.split_once(':').unwrap_or((tag, "")) {
        ("mirror", _) => Some(Style::Mirror),
        ("session", _) => Some(Style::Session),
        ("print", _) => Some(Style::Print),
        ("locale", _) => Some(Style::Locale(0)),
        ("reprint", _) => Some(Style::Reprint),
        ("edited", it) => number(it).map(Style::Edited),
        ("here", it) => number(it).map(Style::EditedHere),
        ("amp", _) => Some(Style::Amp),
        ("phone", _) => Some(Style::Phone),
        ("utm", _) => Some(Style::Utm),
        ("slash", _) => Some(Style::Slash),
        ("page-one", _) => Some(Style::PageOne),
        ("noted", _) => Some(Style::Noted),
        ("appended", _) => Some(Style::Appended),
        ("paragraph", _) => Some(Style::Paragraph),
        ("tongue", _) => Some(Style::InTongue),
        _ => None,
    }
}

/// Plants copies of articles and of siblings. The key of what has copies ends with their style.
pub(crate) fn plant(builder: &mut Builder) {
    let siblings = builder.docs.len();
    let styles = [
        ("mirror", Style::Mirror),
        ("session", Style::Session),
        ("print", Style::Print),
        ("locale", Style::Locale(0)),
        ("reprint", Style::Reprint),
    ];
    let mut random = builder.random("plant");
    let mut taken = HashSet::new();
    for (at, (tag, style)) in styles.into_iter().enumerate() {
        for (turn, copies) in [1, 5, 50, 1, 5].into_iter().enumerate() {
            // One style of each site has a page with ten times as many.
            let many = copies == 50 && at as u64 == builder.seed % 5;
            let copies = match if many { 500 } else { copies } {
                few @ 0..=5 => few,
                more => crate::made_up::site::scaled(more, builder.scale.min(1.0)).max(5),
            };
            let is_restless = turn % 2 == 1;
            // Some copies are of siblings and some are of articles.
            let of = if turn < 3 {
                article(builder, &format!("{tag} {turn}"))
            } else {
                let mut of = random.below(siblings);
                while !taken.insert(of) {
                    of = random.below(siblings);
                }
                of
            };
            copy(builder, of, tag, style, copies, is_restless);
        }
    }
    // Words are told by the spaces between them.
    if builder.tongue() == Tongue::Chinese {
        return;
    }
    for percent in [84, 90, 93, 96] {
        for turn in 0..builder.count(10) {
            let of = article(builder, &format!("edited {percent} {turn}"));
            copy(
                builder,
                of,
                &format!("edited:{percent}"),
                Style::Edited(percent),
                1,
                turn % 2 == 1,
            );
            if percent >= 93 {
                let of = article(builder, &format!("here {percent} {turn}"));
                copy(
                    builder,
                    of,
                    &format!("here:{percent}"),
                    Style::EditedHere(percent),
                    1,
                    turn % 2 == 1,
                );
            }
        }
    }
}

/// Adds an article of its own and returns its number.
pub(super) fn article(builder: &mut Builder, part: &str) -> usize {
    let mut random = builder.random(part);
    let (title, main) = match builder.dress {
        None => {
            let title = random.phrase(6);
            let words = random.between(180, 400);
            (title, random.paragraphs(words))
        }
        Some(_) => {
            let title = builder.tongue().phrase(&mut random, 6);
            let words = random.between(180, 400);
            (title, builder.tongue().paragraphs(&mut random, words))
        }
    };
    builder.page(
        0,
        format!("/article/{}", random.slug(3)),
        &title,
        &title,
        main,
    );
    builder.docs.len() - 1
}

/// Adds copies of a page.
pub(super) fn copy(
    builder: &mut Builder,
    of: usize,
    tag: &str,
    style: Style,
    copies: usize,
    is_restless: bool,
) {
    builder.docs[of].key = format!(
        "{}#{tag}{}",
        builder.docs[of].key,
        if is_restless { "*" } else { "" }
    );
    builder.docs[of].is_restless |= is_restless;
    let origin = builder.docs[of].clone();
    for number in 0..copies {
        let mut doc = Doc {
            is_restless: origin.is_restless,
            ..origin.clone()
        };
        doc.style = Some(style);
        let host = |doc: &Doc, builder: &mut Builder, name: String| {
            if doc.host == 0 {
                builder.host(&name)
            } else {
                builder.host(&format!("x{}{name}", doc.host))
            }
        };
        let session = Random::of(builder.seed, &format!("{} {number}", origin.path)).hex(16);
        let mark = if doc.path.contains('?') { '&' } else { '?' };
        match style {
            Style::Mirror => {
                doc.host = host(&doc, builder, format!("mirror{}.example", number % 40));
            }
            Style::Reprint => {
                doc.host = host(&doc, builder, format!("paper{}.example", number % 40));
            }
            Style::Edited(_) => doc.host = host(&doc, builder, "agency.example".to_owned()),
            Style::Session => doc.path = format!("{}{mark}visit={session}", doc.path),
            Style::Print => {}
            Style::Locale(_) => {
                doc.style = Some(Style::Locale(number));
                doc.path = format!("/{}{}", locale(number), doc.path);
            }
            Style::EditedHere(_) => doc.path = format!("/archive{}", doc.path),
            _ => copies::change(builder, &origin, number, &mut doc),
        }
        if style != Style::Mirror {
            doc.frame = doc.host;
        }
        if style == Style::Print {
            let name = ["print", "printable", "plain", "text", "pdf"][number % 5];
            doc.path = format!(
                "/{name}{}{}",
                if number >= 5 {
                    format!("{}", number / 5)
                } else {
                    String::new()
                },
                doc.path
            );
        }
        if matches!(style, Style::Mirror | Style::Reprint) && number >= 40 {
            doc.path = format!("/copy{}{}", number / 40, doc.path);
        }
        if style == Style::Mirror && builder.dress.is_none() {
            // The same bytes: the frame too.
            mirror(builder, origin.host, &mut doc);
        }
        if let Style::Edited(percent) | Style::EditedHere(percent) = style {
            let mut random = Random::of(builder.seed, &format!("edit {} {number}", origin.path));
            doc.main = edited(
                &doc.main,
                doc.is_restless,
                percent as f64 / 100.0,
                &mut random,
            );
        }
        builder.docs.push(doc);
    }
}

/// Two letters, and two more for the countries that have the same language.
fn locale(number: usize) -> String {
    const NAMES: [&str; 20] = [
        "en", "de", "fr", "es", "it", "pl", "nl", "sv", "cs", "da", "fi", "el", "hu", "ro", "bg",
        "hr", "sk", "sl", "et", "lv",
    ];
    let language = NAMES[number % 20];
    match number / 20 {
        0 => language.to_owned(),
        country => format!("{language}-{}", NAMES[country % 20]),
    }
}

/// Makes a copy show the plain frame of the origin's host.
fn mirror(builder: &Builder, origin: usize, doc: &mut Doc) {
    let look = super::look(builder.seed, &builder.hosts[origin], builder.frame);
    if doc.whole.is_none() {
        let reply = if doc.headline.is_empty() {
            look.plain(&doc.title, &doc.main)
        } else {
            look.titled(&doc.title, &doc.headline, &doc.main)
        };
        doc.whole = Some(reply.body);
    }
}

/// The set of runs of five words of a text.
fn shingles(words: &[String]) -> HashSet<String> {
    words.windows(5).map(|it| it.join(" ")).collect()
}

/// The share of common runs of five words.
pub(crate) fn jaccard(a: &[String], b: &[String]) -> f64 {
    let (a, b) = (shingles(a), shingles(b));
    let common = a.intersection(&b).count();
    common as f64 / (a.len() + b.len() - common).max(1) as f64
}

/// The words of a text and of the line that changes.
fn words(html: &str, line: &str) -> Vec<String> {
    let all = html.split_whitespace().chain(line.split_whitespace());
    all.map(str::to_owned).collect()
}

/// Replaces words until one more would bring the similarity below this.
fn edited(html: &str, is_restless: bool, least: f64, random: &mut Random) -> String {
    // The line that changes is part of what is compared.
    let [one, other] = if is_restless {
        [3, 11].map(super::restless)
    } else {
        Default::default()
    };
    let origin: Vec<&str> = html.split(' ').collect();
    let whole = self::words(html, &one);
    let mut words: Vec<String> = origin.iter().map(|it| (*it).to_owned()).collect();
    for _ in 0..origin.len() {
        let at = random.below(words.len());
        if words[at].contains('<') || words[at].contains('>') {
            continue;
        }
        let before = std::mem::replace(&mut words[at], random.word());
        if jaccard(&whole, &self::words(&words.join(" "), &other)) < least {
            words[at] = before;
            break;
        }
    }
    words.join(" ")
}
