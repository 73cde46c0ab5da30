//! Pairs of pages as sets of lines, and random ones.

use proptest::prelude::*;

use super::*;

/// A page of a site whose template is known. Lines are written as text: `|` before what is
/// template, `~` before what other pages have too, `#` before what is outside of the main text,
/// `@` before an image, `{` before data, `>` before a link, `^` before a part of the title; `=`
/// between a text and what is left of
/// it without what repeats the URL.
fn page(site: u64, headline: &str, lines: &[&str]) -> OwnLines {
    let hash = |text: &str| xxhash_rust::xxh3::xxh3_64(text.as_bytes());
    let mut all = Lines {
        headline: (!headline.is_empty()).then(|| hash(headline) as u32),
        ..Lines::default()
    };
    let mut standings = Vec::new();
    for line in lines {
        let (standing, line) = match line.split_at(1) {
            ("|", rest) => (Standing::Template, rest),
            ("~", rest) => (Standing::Common, rest),
            _ => (Standing::Own, *line),
        };
        let (kind, line) = match line.split_at(1) {
            ("#", rest) => (Kind::Frame, rest),
            ("@", rest) => (Kind::Image, rest),
            ("{", rest) => (Kind::Data, rest),
            (">", rest) => (Kind::Link, rest),
            ("^", rest) => (Kind::Title, rest),
            _ => (Kind::Main, line),
        };
        let (text, masked) = line.split_once('=').unwrap_or((line, line));
        let packed = Line {
            hash: hash(text) as u32,
            masked: hash(masked) as u32,
            letters: hash(&text.replace(|c: char| c.is_ascii_digit(), "")) as u32,
            words: u8::try_from(text.split(' ').count()).unwrap_or(u8::MAX),
            kind,
        };
        all.push(packed, hash(text));
        standings.push(standing);
    }
    OwnLines::new(&all, (site, true), standings)
}

/// A paragraph of some words, of which the last are `end`.
fn paragraph(seed: usize, words: usize, end: &str) -> String {
    let words = (0..words).map(|at| format!("w{seed}x{at} "));
    words.collect::<String>() + end
}

/// Compares pages of one site or of two.
fn compare(a: &OwnLines, b: &OwnLines) -> OwnComparison {
    in_company(a, b, a.site == b.site, None)
}

/// Compares pages of sites that are one business.
fn compare_strictly(a: &OwnLines, b: &OwnLines) -> OwnComparison {
    in_company(a, b, true, None)
}

fn compare_within(a: &OwnLines, b: &OwnLines, similarity: f32) -> OwnComparison {
    in_company(a, b, a.site == b.site, Some(similarity))
}

fn in_company(a: &OwnLines, b: &OwnLines, is_one: bool, similarity: Option<f32>) -> OwnComparison {
    super::compare(a, b, Company { is_one, similarity })
}

#[track_caller]
fn similar(comparison: OwnComparison) -> f32 {
    match comparison {
        OwnComparison::Similar(share) => share,
        other => panic!("{other:?}"),
    }
}

use OwnComparison::{Differ, Equal, Unknown};

/// Whether two pages are two, as long as nothing proves that their short lines change with each
/// fetch.
fn is_apart(comparison: OwnComparison) -> bool {
    matches!(comparison, Differ | OwnComparison::Restless(_))
}

#[test]
fn a_price_keeps_products_apart_however_common_it_is() {
    let product = |price| {
        page(
            1,
            "shop",
            &["|all about it", "|how to use it", price, "|buy"],
        )
    };
    assert_eq!(compare(&product("|19.99"), &product("|24.99")), Differ);
    assert_eq!(compare(&product("~19.99"), &product("24.99")), Differ);
    // Nothing of their own: the whole pages must say it.
    assert_eq!(compare(&product("|19.99"), &product("|19.99")), Unknown);
}

#[test]
fn variants_of_one_product_that_differ_in_a_value_are_apart() {
    let text = paragraph(1, 120, "");
    let variant = |colour| page(1, "shirt", &["|size", colour, &text, "|buy"]);
    assert!(is_apart(compare(&variant("~red"), &variant("~blue"))));
    assert_eq!(compare(&variant("~red"), &variant("~red")), Equal);
    // Extraction may leave the value out of the main text.
    assert!(is_apart(compare(&variant("#19.99"), &variant("#24.99"))));
}

#[test]
fn another_headline_is_another_page_of_the_same_site() {
    let text = paragraph(1, 30, "");
    let of = |site, headline| page(site, headline, &[&text]);
    assert_eq!(compare(&of(1, "vabdl_s8"), &of(1, "vabdl_s16")), Differ);
    assert_eq!(compare(&of(1, "vabdl_s8"), &of(2, "vabdl_s16")), Differ);
    assert_eq!(compare(&of(1, ""), &of(1, "vabdl_s16")), Equal);
    // Mirrors of much text add their name to the title.
    let text = paragraph(1, 320, "");
    let of = |site, title: &str| page(site, "", &[&format!("^{title}"), &text, &text]);
    assert_eq!(compare(&of(1, "A - one"), &of(2, "A - two")), Equal);
    assert_eq!(
        compare_strictly(&of(1, "A - one"), &of(2, "A - two")),
        Differ
    );
}

#[test]
fn one_token_keeps_reference_pages_apart() {
    let of = |token| {
        page(
            1,
            "",
            &["|signed absolute difference long", token, "|available on"],
        )
    };
    assert_eq!(
        compare(&of("pub fn vabdl_s8"), &of("pub fn vabdl_s16")),
        Differ
    );
}

#[test]
fn comics_galleries_and_shells_differ_in_what_is_not_text() {
    for (one, two) in [
        ("@strip-1.png", "@strip-2.png"),
        ("{a: 1", "{a: 2"),
        (">one", ">two"),
    ] {
        let of = |own| page(1, "daily", &["|previous", own, "|next"]);
        assert_eq!(compare(&of(one), &of(two)), Differ, "{one}");
        assert_eq!(compare(&of(one), &of(one)), Equal, "{one}");
    }
}

#[test]
fn copies_in_other_frames_are_equal_or_similar() {
    let text: Vec<String> = (0..8).map(|at| paragraph(at, 40, "")).collect();
    let text: Vec<&str> = text.iter().map(String::as_str).collect();
    let of = |site, before: &[&str], after: &[&str]| {
        page(site, "news", &[before, &text[..], after].concat())
    };
    let plain = of(1, &[], &[]);
    // The same site: a print view, a language of the frame.
    assert!(similar(compare(&plain, &of(1, &["#print"], &["#to top"]))) > 0.98);
    assert!(similar(compare(&plain, &of(1, &["|share this"], &[]))) > 0.98);
    // Another site, with lines of its own.
    let reprint = of(
        2,
        &["|by our staff", "|share"],
        &["source: one", "|imprint"],
    );
    assert!(similar(compare(&plain, &reprint)) > 0.98);
    assert_eq!(compare(&plain, &of(2, &[], &[])), Equal);
}

#[test]
fn edits_of_some_paragraphs_leave_copies_similar() {
    let original: Vec<String> = (0..10).map(|at| paragraph(at, 40, "")).collect();
    let mut edited = original.clone();
    edited[3] = paragraph(3, 39, "edited");
    let of = |text: &[String]| {
        let text: Vec<&str> = text.iter().map(String::as_str).collect();
        page(1, "news", &text)
    };
    let share = similar(compare(&of(&original), &of(&edited)));
    assert!((0.88..0.92).contains(&share), "{share}");
    // Edits in all of them: hardly a line is the same.
    let all: Vec<String> = (1..10).map(|at| paragraph(at, 39, "edited")).collect();
    let all = [&original[..1], &all[..]].concat();
    let (original, all) = (of(&original), of(&all));
    assert!(similar(compare(&original, &all)) < 0.2);
    assert!(similar(compare_within(&original, &all, 0.95)) > 0.85);
    assert_eq!(compare_within(&original, &original, 0.95), Equal);
}

#[test]
fn template_hides_no_difference() {
    // A form: most of it is template, and a name is in three paragraphs.
    let form = |name: &str| {
        let lines: Vec<String> = (0..9)
            .map(|at| format!("|{}", paragraph(at, 40, "")))
            .collect();
        let names = (20..23).map(|at| paragraph(at, 30, name));
        let lines: Vec<String> = lines.into_iter().chain(names).collect();
        let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
        page(1, "lease", &[&lines[..], &["made in two copies"]].concat())
    };
    let (one, two) = (form("smith"), form("jones"));
    assert!(similar(compare_within(&one, &two, 0.97)) < 0.1);
    assert_eq!(compare(&one, &form("smith")), Equal);
}

#[test]
fn what_repeats_the_url_differs_between_copies_only() {
    let text = paragraph(1, 60, "");
    let copy = |echo| page(1, "news", &[&text, echo]);
    assert_eq!(
        compare(&copy("session 12=session"), &copy("session 13=session")),
        Equal
    );
    // A number of its own, among template.
    let product = |echo| page(1, "shop", &["|all about it", "19.99", echo]);
    assert_eq!(compare(&product("no 12=no"), &product("no 13=no")), Differ);
}

#[test]
fn a_headline_that_is_template_gives_way_to_the_title() {
    let of = |title: &str| {
        let title = format!("^{title}");
        page(1, "shop", &["|shop", &title, "|^the shop", "all about it"])
    };
    let (red, blue) = (of("red shirt"), of("blue shirt"));
    assert_eq!((red.headline, red.title), (red.title, red.title));
    assert_ne!(red.headline, blue.headline);
    assert_eq!(compare(&red, &blue), Differ);
    assert_eq!(compare(&red, &of("red shirt")), Equal);
}

#[test]
fn the_name_of_the_site_in_the_title_keeps_no_pages_apart() {
    let text = paragraph(1, 60, "");
    let of = |site, name: &str, shop: &str| page(site, "", &[&format!("^{name}"), shop, &text]);
    let one = of(1, "a kettle", "|^the shop");
    assert_eq!(compare(&one, &of(2, "a kettle", "|^le magasin")), Equal);
    assert_eq!(compare(&one, &of(2, "a pot", "|^le magasin")), Differ);
    // A part of the title that only some pages have in common is a value.
    let small = of(1, "a kettle", "|^small");
    assert!(is_apart(compare(&small, &of(1, "a kettle", "|^large"))));
}

#[test]
fn shops_of_four_countries_differ_where_their_paths_agree() {
    let text = paragraph(1, 100, "");
    let of = |site, price| page(site, "kettle", &[&text, price, "|buy"]);
    assert!(is_apart(compare_strictly(
        &of(1, "~19.99 €"),
        &of(2, "~17.50 £")
    )));
    assert!(is_apart(compare(&of(1, "~19.99 €"), &of(2, "~17.50 £"))));
    let with_logo = |site, logo| page(site, "kettle", &[logo, &text, "~19.99 €"]);
    let logos = [with_logo(1, "|@one.png"), with_logo(2, "|@two.png")];
    assert_eq!(compare_strictly(&logos[0], &logos[1]), Equal);
    let photos = [with_logo(1, "@one.png"), with_logo(2, "@two.png")];
    assert!(is_apart(compare_strictly(&photos[0], &photos[1])));
    let both = [of(1, "|19.99 €"), of(2, "|17.50 £")];
    assert!(is_apart(compare_strictly(&both[0], &both[1])));
    assert_eq!(
        compare_strictly(&of(1, "~19.99 €"), &of(2, "~19.99 €")),
        Equal
    );
}

#[test]
fn without_own_lines_nothing_is_known() {
    let none = page(1, "", &[]);
    assert_eq!(compare(&none, &none), Unknown);
    let frame = page(1, "", &["|imprint", "#home"]);
    assert_eq!(compare(&frame, &frame), Unknown);
    assert_eq!(
        compare(&frame, &page(1, "", &["|imprint", "#home", "one"])),
        Differ
    );
}

#[test]
fn what_was_cut_off_is_compared_by_its_sum() {
    let many: Vec<String> = (0..MAX_LINES + 50).map(|at| format!("line {at}")).collect();
    let of = |lines: &[String]| {
        let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
        page(1, "table", &lines)
    };
    let mut other = many.clone();
    other[MAX_LINES + 20] = "another line".to_owned();
    assert_eq!(compare(&of(&many), &of(&many)), Equal);
    assert_eq!(compare(&of(&many), &of(&other)), Differ);
    let mut cut = of(&many);
    cut.is_cut = true;
    assert_eq!(compare(&cut, &cut), Unknown);
}

fn any_lines(most: usize) -> impl Strategy<Value = Lines> {
    let line = (0..40_u32, 0..4_u32).prop_map(|(text, echo)| {
        let kinds = [
            Kind::Main,
            Kind::Headline,
            Kind::Frame,
            Kind::Image,
            Kind::Data,
            Kind::Form,
            Kind::Link,
            Kind::Title,
        ];
        // The same text is the same line wherever it stands.
        let kind = kinds[text as usize % kinds.len()];
        let hash = text.wrapping_mul(2_654_435_761);
        Line {
            hash: hash ^ (echo / 3),
            masked: hash,
            letters: hash ^ (text % 3),
            words: (text % 30) as u8,
            kind,
        }
    });
    let headline = prop::option::of(0..3_u32);
    (
        prop::collection::vec(line, 0..most),
        headline,
        any::<bool>(),
    )
        .prop_map(|(lines, headline, is_cut)| {
            let mut all = Lines {
                headline,
                layout: 7,
                is_cut,
                ..Lines::default()
            };
            for line in lines {
                all.push(line, u64::from(line.hash));
            }
            all
        })
}

fn any_page() -> impl Strategy<Value = OwnLines> {
    (any_lines(30), any::<bool>(), 0..2_u64).prop_map(|(lines, settled, site)| {
        let all = [Standing::Own, Standing::Common, Standing::Template];
        let of = |line: &Line| all[line.masked as usize % all.len()];
        OwnLines::new(&lines, (site, settled), lines.lines.iter().map(of))
    })
}

proptest! {
    #[test]
    fn rows_are_read_as_written(lines in any_lines(60), cut in 0..200_usize) {
        let bytes = lines.encode();
        prop_assert_eq!(Lines::decode(&bytes), Some(lines));
        let _ = Lines::decode(bytes.get(..cut).unwrap_or_default());
    }

    #[test]
    fn a_page_equals_itself(page in any_page()) {
        let compared = compare(&page, &page);
        prop_assert!(matches!(compared, Equal | Unknown), "{:?}", compared);
    }

    #[test]
    fn comparing_is_symmetric(a in any_page(), b in any_page()) {
        let both = (compare(&a, &b), compare(&b, &a));
        match both {
            (OwnComparison::Similar(one), OwnComparison::Similar(two)) => {
                prop_assert!((0.0..=1.0).contains(&one) && (one - two).abs() < 1e-6);
            }
            (one, two) => prop_assert_eq!(one, two),
        }
    }

    #[test]
    fn the_order_of_equal_lines_does_not_matter(page in any_page(), turn in 0..30_usize) {
        let mut turned = page.clone();
        let at = turn % turned.lines.len().max(1);
        turned.lines.rotate_left(at);
        let equal = compare(&page, &page);
        prop_assert_eq!(compare(&page, &turned), equal);
    }

    #[test]
    fn pages_that_differ_in_a_line_are_not_equal(page in any_page(), at in 0..30_usize) {
        prop_assume!(!page.lines.is_empty());
        let mut other = page.clone();
        let at = at % other.lines.len();
        let line = &mut other.lines[at].line;
        prop_assume!(line.hash > 1);
        prop_assume!(matches!(line.kind, Kind::Main | Kind::Image | Kind::Headline));
        (line.hash, line.masked) = (1, 1);
        let compared = compare(&page, &other);
        prop_assert!(compared != Equal && compared != Unknown, "{:?}", compared);
    }
}

/// Whether two pages are one if their short lines change with each fetch.
fn is_in_doubt(a: &OwnLines, b: &OwnLines, lines: usize) -> bool {
    let company = Company {
        is_one: a.site == b.site,
        similarity: None,
    };
    let found = restless(a, b, company);
    let is_restless = matches!(compare(a, b), OwnComparison::Restless(share) if share > 0.9);
    is_restless && found.len() == lines
}

#[test]
fn short_lines_beside_much_text_may_change_with_each_fetch() {
    let text = paragraph(1, 120, "");
    let of = |site, lines: &[&str]| {
        let lines = [&["|share", &text], lines, &["|imprint"]].concat();
        page(site, "news", &lines)
    };
    let one = of(1, &["request 7001 served in 38 ms"]);
    assert!(is_in_doubt(
        &one,
        &of(1, &["request 7014 served in 9 ms"]),
        1
    ));
    assert!(is_in_doubt(
        &one,
        &of(2, &["request 7014 served in 9 ms"]),
        1
    ));
    assert!(is_in_doubt(&one, &of(1, &["thought of the day: none"]), 1));
    // One has something more, and nothing in its place.
    assert!(similar(compare(&one, &of(1, &[]))) > 0.9);
    // A text took the place of a line.
    assert_eq!(
        compare(&one, &of(1, &[&paragraph(3, 30, "")])),
        OwnComparison::Differ
    );
    let many: Vec<String> = (0..20).map(|at| format!("at {at}")).collect();
    let more: Vec<String> = (0..20).map(|at| format!("at {}", at + 50)).collect();
    let [many, more] = [&many, &more].map(|all| all.iter().map(String::as_str).collect::<Vec<_>>());
    assert_eq!(compare(&of(1, &many), &of(1, &more)), Differ, "a timetable");
    // A text of two or three lines: the numbers may be all that it says.
    let little = paragraph(2, 40, "");
    let of = |number| page(1, "news", &[&little, number]);
    assert_eq!(compare(&of("price 10.90"), &of("price 12.90")), Differ);
}

#[test]
fn a_text_that_differs_in_its_numbers_is_another_however_long() {
    let texts = [paragraph(1, 120, ""), paragraph(2, 90, "")];
    let of = |fee: &str| {
        let fee = paragraph(3, 20, &format!("pays {fee} francs"));
        let lines: Vec<&str> = texts.iter().map(String::as_str).chain([&*fee]).collect();
        page(1, "lease", &lines)
    };
    assert!(is_in_doubt(&of("100"), &of("120"), 1));
    assert!(similar(compare(&of("hundred"), &of("thousand"))) > 0.8);
}

#[test]
fn what_changed_between_two_visits_is_told() {
    let text = paragraph(1, 120, "");
    let of = |lines: &[&str]| page(1, "news", &[&[&*text], lines].concat());
    let before = of(&["seen 7 times", "price 10", "tip: rest"]);
    let now = of(&["seen 8 times", "price 10", "tip: go"]);
    let found = changed(&now, &before);
    let numbers: Vec<bool> = found.iter().map(|it| it.in_numbers).collect();
    assert_eq!(numbers, [true, false]);
    let mut rest = now.clone();
    rest.ignore(&found);
    assert_eq!(rest.lines.len(), now.lines.len() - 2);
    // Another page took its place, or one that has become longer.
    let other = page(1, "news", &[&paragraph(2, 120, ""), "seen 9 times"]);
    assert_eq!(changed(&other, &before), []);
    assert_eq!(
        changed(
            &of(&["seen 7 times", "price 10", "tip: rest", "new"]),
            &before
        ),
        []
    );
}

#[test]
fn what_extraction_left_out_keeps_pages_of_two_sites_apart() {
    // A catalogue whose main text is a note that all parts share, and a copy on a young mirror.
    let note = paragraph(1, 80, "");
    let of = |site, frame: usize, part: &str| {
        let frame = format!("#{}", paragraph(frame, 40, ""));
        OwnLines {
            is_settled: site == 1,
            ..page(site, "catalogue", &[&*note, part, "#in stock", &frame])
        }
    };
    let one = of(1, 90, "#hexagon bolt m3");
    let other = compare(&one, &of(2, 91, "#hexagon bolt m4"));
    assert!(is_apart(other), "{other:?}");
    // The frame of the first is template, and not among its lines.
    let mut copied = one.clone();
    copied.lines.pop();
    copied.frame = 40;
    let copy = compare(&copied, &of(2, 91, "#hexagon bolt m3"));
    assert!(copy == Equal || similar(copy) > 0.9, "{copy:?}");
    let other = compare(&copied, &of(2, 91, "#hexagon bolt m4"));
    assert!(is_apart(other), "{other:?}");
}

#[test]
fn a_frame_that_is_known_on_one_site_only_makes_no_difference() {
    let frame: Vec<String> = (0..8)
        .map(|at| format!("#{}", paragraph(at, 9, "")))
        .collect();
    let of = |site, frame: &[String], price: &str| {
        let lines = frame.iter().map(String::as_str);
        let lines: Vec<&str> = ["a screw of brass", price]
            .into_iter()
            .chain(lines)
            .collect();
        page(site, "screw", &lines)
    };
    let (one, copy) = (of(1, &[], "4.90"), of(2, &frame, "4.90"));
    assert!(similar(compare(&one, &copy)) > 0.9);
    assert!(is_apart(compare(&one, &of(2, &frame, "5.90"))));
}

#[test]
fn young_sites_are_told_by_values_where_frames_differ() {
    // Nothing is known of the template of either.
    let text: Vec<String> = (0..4).map(|at| paragraph(at, 50, "")).collect();
    let page_of = |site: u64, frame: usize, price: &str| {
        let frame = format!("#{}", paragraph(frame, 40, ""));
        let text = text.iter().map(String::as_str);
        let lines: Vec<&str> = [&*frame, price].into_iter().chain(text).collect();
        OwnLines {
            is_settled: false,
            ..page(site, "screw", &lines)
        }
    };
    let one = page_of(1, 90, "item 7");
    for (site, frame) in [(1, 90), (1, 91), (2, 90), (2, 91)] {
        let same = compare(&one, &page_of(site, frame, "item 7"));
        assert!(same == Equal || similar(same) > 0.97, "{same:?}");
        let other = compare(&one, &page_of(site, frame, "item 9"));
        assert!(matches!(other, OwnComparison::Restless(_)), "{other:?}");
        let other = compare(&one, &page_of(site, frame, "a nail"));
        assert!(matches!(other, OwnComparison::Restless(_)), "{other:?}");
    }
    // In one frame, what extraction took for a part of it is a value too.
    let other = compare(&one, &page_of(1, 90, "#item 9"));
    assert!(matches!(other, OwnComparison::Restless(_)), "{other:?}");
}

#[test]
fn what_extraction_left_out_of_two_views_tells_pages_apart() {
    let note = paragraph(1, 40, "");
    let of = |site: u64, frame: usize, part: &str| {
        let frame = format!("|#{}", paragraph(frame, 40, ""));
        page(site, "fasteners", &[&*frame, part, &*note])
    };
    // One site: a view for phones, from which extraction left out the name of the part.
    let phone = of(1, 90, "#hexagon bolt m8");
    for part in ["hexagon bolt m10", "#hexagon bolt m10", "#washer"] {
        let other = compare(&phone, &of(1, 91, part));
        assert!(is_apart(other), "{part}: {other:?}");
    }
    let copy = compare(&phone, &of(1, 91, "#hexagon bolt m8"));
    assert!(copy == Equal || similar(copy) > 0.9, "{copy:?}");
    // Where the other view has nothing in its place, it is around the text.
    let print = page(1, "fasteners", &[&*note]);
    assert_eq!(compare(&of(1, 90, "#last read 8 times"), &print), Equal);
}

#[test]
fn the_same_words_with_other_numbers_around_a_short_text_are_values() {
    let of = |site: u64, frame: usize, words: usize, number: &str| {
        let (frame, note) = (paragraph(frame, 40, ""), paragraph(1, words, ""));
        let lines = [&*format!("#{frame}"), number, &*note];
        OwnLines {
            is_settled: false,
            ..page(site, "fasteners", &lines)
        }
    };
    let one = of(1, 90, 40, "#order number 7");
    for part in ["#order number 9", "order number 9"] {
        let other = compare(&one, &of(2, 91, 40, part));
        assert!(is_apart(other), "{part}: {other:?}");
    }
    let copy = compare(&one, &of(2, 91, 40, "#order number 7"));
    assert!(copy == Equal || similar(copy) > 0.9, "{copy:?}");
    // A reprint under another navigation.
    assert_eq!(compare(&one, &of(2, 91, 40, "#12 comments")), Equal);
    let long = |site: u64, frame: usize, comments: &str| {
        let text = of(site, frame, 40, comments);
        let more = (2..10).map(|seed| paragraph(seed, 40, ""));
        let more: Vec<String> = more.collect();
        let more: Vec<&str> = more.iter().map(String::as_str).collect();
        let mut all = page(site, "fasteners", &more);
        all.lines.splice(0..0, text.lines);
        all.is_settled = false;
        all
    };
    let reprint = compare(&long(1, 90, "#3 comments"), &long(2, 91, "#12 comments"));
    assert_eq!(reprint, Equal);
}
