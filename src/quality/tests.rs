//! Texts that filters keep and leave out; the reasons are those that datatrove 0.10.1 gives.

use super::{Filter, Judgement, measure};

/// Sixty words in five sentences, no two alike.
const PROSE: &str = "The harbour of the small town lies between two hills that keep the wind away from it.\n\
    Fishermen have used its quays for centuries, and with them came traders from distant islands.\n\
    Today most of the boats belong to families who sail on weekends and in the summer.\n\
    In the old warehouse by the pier there is a museum to which schools bring their pupils.\n\
    Nobody here would call the place famous, but everybody is proud of how it looks.";

fn check(filter: Filter, text: &str, expected: Option<&str>) {
    let found = match filter.judge(&measure(text, Some("en"))) {
        Judgement::Kept => None,
        Judgement::Out(reason) => Some(reason.name()),
        Judgement::Open => Some("open"),
    };
    assert_eq!(found, expected, "{filter}: {text}");
}

#[test]
fn prose_passes_and_what_is_none_is_named() {
    for filter in Filter::ALL {
        check(filter, PROSE, None);
    }
    let gopher = |text: &str, reason| check(Filter::Gopher, text, Some(reason));
    gopher("", "gopher_short_doc");
    gopher("Too short to be of use.", "gopher_short_doc");
    gopher(&"a b ".repeat(60), "gopher_below_avg_threshold");
    gopher(
        &"incomprehensibilities ".repeat(60),
        "gopher_above_avg_threshold",
    );
    gopher(
        &format!("{PROSE}{}", " #".repeat(40)),
        "gopher_too_many_hashes",
    );
    gopher(
        &format!("{PROSE}{}", " …".repeat(40)),
        "gopher_too_many_ellipsis",
    );
    let bullets = PROSE.replace('\n', "\n- ");
    gopher(&format!("- {bullets}"), "gopher_too_many_bullets");
    let ellipses = PROSE.replace(".\n", "...\n");
    gopher(&ellipses, "gopher_too_many_end_ellipsis");
    gopher(
        &format!("{PROSE}{}", " 1234".repeat(60)),
        "gopher_below_alpha_threshold",
    );
    let german = "Hafen Stadt zwischen Hügeln Wind Fischer Kaimauern Jahrhunderte ".repeat(9);
    gopher(&german, "gopher_enough_stop_words");
    gopher(&format!("{PROSE}\n{PROSE}"), "dup_line_frac");
    let runs = PROSE.replace('\n', " ");
    gopher(&format!("{runs} {runs}"), "duplicated_5_n_grams");
    check(
        Filter::C4,
        &format!("{PROSE}\nUse {{this}} one here."),
        Some("curly_bracket"),
    );
    check(
        Filter::C4,
        &format!("Lorem ipsum dolor sit.\n{PROSE}"),
        Some("lorem_ipsum"),
    );
    check(
        Filter::C4,
        &PROSE.replace(['.', '\n'], " "),
        Some("too_few_sentences"),
    );
    let fineweb = |text: &str, reason| check(Filter::FineWeb, text, Some(reason));
    fineweb(" \n", "empty");
    fineweb(&PROSE.replace('.', ""), "line_punct_ratio");
    fineweb(&PROSE.replace(' ', " \n"), "line_punct_ratio");
    let short = "A short line.\nOther words here.\nOne more of them.";
    fineweb(short, "short_line_ratio");
    fineweb(&format!("{PROSE}\n{PROSE}"), "char_dup_ratio");
}

#[test]
fn a_language_whose_words_take_a_dictionary_is_not_judged_by_words() {
    let quality = measure("港は小さな町にある。", Some("ja"));
    assert_eq!(quality.words, None);
    assert_eq!(Filter::Gopher.judge(&quality), Judgement::Open);
    let quality = measure(PROSE, Some("de-AT"));
    assert!(!quality.is_english);
    assert_eq!(Filter::Gopher.judge(&quality), Judgement::Kept);
}

#[test]
fn notices_citations_and_long_words_are_no_lines_for_c4() {
    let kept = |text: &str| {
        let quality = measure(text, Some("en"));
        (quality.c4_lines, quality.words.unwrap().sentences)
    };
    assert_eq!(kept("One sentence here. And another one."), (1.0, 2));
    assert_eq!(kept("We use COOKIES on this site."), (0.0, 0));
    assert_eq!(kept("We bake COOKIES on this site."), (1.0, 1));
    assert_eq!(kept("This page uses Cookies for you."), (0.0, 0));
    assert_eq!(kept("Please enable JavaScript for this."), (0.0, 0));
    assert_eq!(
        kept("It was built long ago.[12][citation needed]"),
        (1.0, 1)
    );
    assert_eq!(kept("It was built long ago [see below]"), (0.0, 0));
    assert_eq!(
        kept(&format!("A long {} word.", "x".repeat(1_001))),
        (0.0, 0)
    );
    assert_eq!(kept("Two words.\nNot ended by a mark"), (0.0, 0));
}
