//! What a run gives for lines with URLs and without.

use std::fs;
use std::num::NonZeroUsize;

use serde_json::{Value, json};

use super::*;
use crate::corpus::{Corpus, Fields, Saved};
use crate::dedup::{Mask, forged, shingle};

/// Words of a vocabulary of their own.
fn words(name: &str, count: usize) -> String {
    let words: Vec<_> = (0..count).map(|n| format!("{name}{n}")).collect();
    words.join(" ")
}

/// A page in the frame of a site.
fn page(site: &str, title: &str, body: &str) -> String {
    let items = ["Home", "Products", "Imprint"];
    let menu = items.map(|item| format!("<li><a href=/{item}>{item} of {site}</a></li>"));
    format!(
        "<!doctype html><title>{title}</title><nav><ul>{}</ul></nav><main><h1>{title}</h1>{body}</main><footer><p>{}</p></footer>",
        menu.concat(),
        words(site, 20)
    )
}

/// A screw, which differs from others in its number and price.
fn screw(site: &str, number: usize) -> String {
    let body = format!(
        "<p>{}</p><p>Article {}</p><p>Price {}.{:02}</p><p>{}</p>",
        words("steel", 60),
        70_000 + number,
        3 + number % 7,
        number * 7 % 100,
        words("delivery", 60)
    );
    page(site, "Screw", &body)
}

/// 40 screws of a shop, five of them at a mirror too, and their places: id, URL, page.
fn corpus() -> Vec<(String, String, String)> {
    let shop = (0..40).map(|n| {
        let url = format!("http://shop.example/screws/{}", 70_000 + n);
        (format!("shop {n}"), url, screw("shop", n))
    });
    let mirror = [3, 11, 19, 27, 35].map(|n| {
        let url = format!("http://mirror.example/s/{n}");
        (format!("mirror {n}"), url, screw("shop", n))
    });
    shop.chain(mirror).collect()
}

fn line(id: &str, url: Option<&str>, html: &str) -> String {
    match url {
        Some(url) => json!({"id": id, "url": url, "html": html}).to_string(),
        None => json!({"id": id, "html": html}).to_string(),
    }
}

/// The output of a run, and the lines that it keeps.
fn dedup(lines: &[String], threads: usize) -> (String, Vec<String>) {
    let directory = tempfile::tempdir().unwrap();
    let [input, output] = ["in.jsonl", "out.jsonl"].map(|name| directory.path().join(name));
    fs::write(&input, lines.join("\n")).unwrap();
    let mut verdicts = Vec::new();
    let keeping = Keeping {
        output: Some(&output),
        index: None,
        index_runs: None,
        pairs: None,
        temporary: directory.path(),
    };
    let input = Input {
        files: &[input],
        threads: NonZeroUsize::new(threads),
        skipped: None,
        watch: None,
        languages: &[],
        fields: Fields::default(),
    };
    dedup_jsonl(input, &Options::witness(), keeping, &mut verdicts).unwrap();
    let kept = fs::read_to_string(output).unwrap();
    let kept = kept.lines().map(str::to_owned).collect();
    (String::from_utf8(verdicts).unwrap(), kept)
}

/// A document of a text alone.
fn of_text(id: &str, text: &str) -> String {
    json!({"id": id, "text": text}).to_string()
}

/// The output of a run with some options.
fn dedup_by(options: &Options, lines: &[String], pairs: bool) -> (String, String) {
    let directory = tempfile::tempdir().unwrap();
    let [input, listed] = ["in.jsonl", "pairs.jsonl"].map(|name| directory.path().join(name));
    fs::write(&input, lines.join("\n")).unwrap();
    let mut verdicts = Vec::new();
    let keeping = Keeping {
        output: None,
        index: None,
        index_runs: None,
        pairs: pairs.then_some(&listed),
        temporary: directory.path(),
    };
    let input = Input {
        files: &[input],
        threads: None,
        skipped: None,
        watch: None,
        languages: &[],
        fields: Fields::default(),
    };
    dedup_jsonl(input, options, keeping, &mut verdicts).unwrap();
    let left = fs::read_dir(directory.path()).unwrap().count();
    assert_eq!(left, 1 + usize::from(pairs), "temporary files");
    let listed = fs::read_to_string(listed).unwrap_or_default();
    (String::from_utf8(verdicts).unwrap(), listed)
}

fn article(seed: u64, count: u64) -> String {
    let words = (0..count).map(|at| format!("w{}", shingle::mix(seed ^ at << 20) % 900));
    words.collect::<Vec<_>>().join(" ")
}

/// Fingerprints by the seed that everybody knows can be forged, and decide nothing alone.
#[test]
fn a_forged_text_hides_no_other_one() {
    let (text, fake) = forged::pair();
    let options = Options::witness();
    let signer = Signer::new(&options);
    let mut corpus = Corpus::new(options.clone());
    let mut by_fingerprints = |text: &str| {
        let signed = signer.sign(text.as_bytes(), &signer.text(text, text));
        corpus.judge(signed).duplicate
    };
    assert_eq!(by_fingerprints(fake), None);
    let found = by_fingerprints(text).expect("its fingerprints are those of the fake");
    assert!(found.similarity > Some(0.84), "{found:?}");

    // With a page that has a URL, all documents wait for the end.
    let page = line("page", Some("http://a.example/"), "<p>a page of some words");
    for more in [vec![], vec![page]] {
        let mut lines = more;
        lines.extend([
            of_text("fake", fake),
            of_text("text", text),
            of_text("edited", &format!("{text} indeed")),
            of_text("fake again", &format!("{fake} indeed")),
        ]);
        let (output, _) = dedup_by(&options, &lines, false);
        let expected = [("edited", "text"), ("fake again", "fake")];
        let expected = expected.map(|(one, other)| (one.to_owned(), other.to_owned()));
        assert_eq!(duplicates(&output), expected);
    }
}

/// Short texts, and each method, are compared as they were.
#[test]
fn what_is_near_is_near_by_the_texts_too() {
    let short = "all of these words are said twice, once with one more at the end";
    let lines = [
        of_text("long", &article(2, 200)),
        of_text("short", short),
        of_text("long again", &format!("{} indeed", article(2, 200))),
        of_text("short again", &format!("{short} indeed")),
        of_text("other", &article(3, 200)),
    ];
    let expected = [("long again", "long"), ("short again", "short")];
    let expected = expected.map(|(one, other)| (one.to_owned(), other.to_owned()));
    for mut options in [
        Options::witness(),
        Options::minhash(0.8),
        Options::hamming(7),
    ] {
        assert_eq!(duplicates(&dedup_by(&options, &lines, false).0), expected);
        options.seed = 5;
        assert_eq!(duplicates(&dedup_by(&options, &lines, false).0), expected);
    }
    let of_characters = Options {
        shingle: "chars:8".parse().unwrap(),
        short_shingle: "chars:8".parse().unwrap(),
        ..Options::minhash(0.8)
    };
    assert_eq!(
        duplicates(&dedup_by(&of_characters, &lines, false).0),
        expected
    );
}

/// An index that keeps a few runs: what these repeat is known for as long as it is repeated, and
/// what they do not is forgotten, whatever runs fail in between.
#[test]
fn an_index_forgets_what_is_not_repeated() {
    let directory = tempfile::tempdir().unwrap();
    let [input, index] = ["in.jsonl", "index"].map(|name| directory.path().join(name));
    let run = |day: u64, index_runs: Option<usize>, fails: bool| {
        let text = |name: &str, seed: u64| of_text(&format!("{name} {day}"), &article(seed, 120));
        let edited = format!("{} on day {day}", article(1, 120));
        let mut lines = vec![
            text("each day", 2),
            of_text(&format!("edited {day}"), &edited),
            text("news", 100 + day),
        ];
        lines.extend((day == 6).then(|| text("old news", 101)));
        lines.extend((day == 6).then(|| text("new news", 105)));
        lines.extend(fails.then(|| "{}".to_owned()));
        fs::write(&input, lines.join("\n")).unwrap();
        let mut verdicts = Vec::new();
        let keeping = Keeping {
            output: None,
            index: Some(&index),
            index_runs: index_runs.and_then(NonZeroUsize::new),
            pairs: None,
            temporary: directory.path(),
        };
        let input = Input {
            files: std::slice::from_ref(&input),
            threads: None,
            skipped: None,
            watch: None,
            languages: &[],
            fields: Fields::default(),
        };
        let ended = dedup_jsonl(input, &Options::witness(), keeping, &mut verdicts);
        assert_eq!(ended.is_err(), fails, "day {day}: {ended:?}");
        duplicates(&String::from_utf8(verdicts).unwrap())
    };
    let entries = || {
        let files = fs::read_dir(&index).unwrap().map(|it| it.unwrap());
        let files = files.filter(|it| it.file_name().to_str().unwrap().starts_with("entries"));
        let sizes: Vec<u64> = files.map(|it| it.metadata().unwrap().len()).collect();
        assert_eq!(sizes.len(), 1);
        sizes[0]
    };
    let pair = |one: &str, other: &str| (one.to_owned(), other.to_owned());
    assert_eq!(run(1, Some(2), false), []);
    let mut sizes = Vec::new();
    for day in 2..6 {
        let manifest = fs::read(index.join("index.json")).unwrap();
        let _ = run(day, Some(2), true);
        assert_eq!(fs::read(index.join("index.json")).unwrap(), manifest);
        let found = run(day, Some(2), false);
        let each = pair(&format!("each day {day}"), "each day 1");
        // The closest, of which there may be two.
        assert_eq!((found.len(), &found[0]), (2, &each), "{found:?}");
        assert_eq!(found[1].0, format!("edited {day}"));
        sizes.push(entries());
    }
    assert!(sizes[3] < sizes[0] * 3 / 2, "{sizes:?}");
    let found = run(6, Some(2), false);
    assert!(found.contains(&pair("new news 6", "news 5")), "{found:?}");
    assert!(
        !found.iter().any(|(one, _)| one == "old news 6"),
        "{found:?}"
    );
    // Without a bound nothing is forgotten any more.
    run(7, None, false);
    run(8, None, false);
    let found = run(9, None, false);
    assert!(
        found.contains(&pair("each day 9", "each day 1")),
        "{found:?}"
    );
    let saved = Saved::open(&index, &Options::witness()).unwrap();
    assert_eq!(saved.runs(), 9);
    assert_eq!(saved.run_of(0), 1);
}

#[test]
fn all_pairs_are_listed() {
    let text = article(4, 200);
    let lines = [
        of_text("a", &text),
        of_text("b", &format!("{text} once")),
        of_text("other", &article(5, 200)),
        of_text("c", &format!("{text} twice")),
        of_text("b again", &format!("{text} once")),
    ];
    let (output, pairs) = dedup_by(&Options::witness(), &lines, true);
    let pairs = pairs.lines().map(|line| {
        let pair: Value = serde_json::from_str(line).unwrap();
        assert!(pair["similarity"].as_f64() >= Some(0.84), "{pair}");
        [&pair["id"], &pair["of"], &pair["kind"]].map(|it| it.as_str().unwrap().to_owned())
    });
    let mut pairs: Vec<_> = pairs.collect();
    pairs.sort_unstable();
    let expected = [
        ["b", "a", "near"],
        ["b again", "b", "exact"],
        ["c", "a", "near"],
        ["c", "b", "near"],
    ];
    assert_eq!(pairs, expected);
    assert_eq!(dedup_by(&Options::witness(), &lines, false).0, output);
}

/// Pages that differ in what is masked alone, in their text and line by line.
#[test]
fn what_is_masked_differs_for_no_tier_that_compares_what_is_near() {
    let text = |name: &str, day: u32, hour: u32| {
        let date = format!("Wed, {day:02} May 2024 at {hour} am");
        let rows = (0..30).map(|row| format!("on {date}, {name}{row} was seen"));
        rows.collect::<Vec<_>>().join("\n")
    };
    let page = |day: u32| {
        let text = text("line", day, day + 1).replace('\n', "<p>");
        let frame = "<a href=/x>x</a> ".repeat(20);
        format!("<title>Rows</title><nav>{frame}</nav><main><h1>Rows</h1><p>{text}</main>")
    };
    let lines = [
        of_text("one", &text("row", 1, 2)),
        of_text("other", &text("row", 3, 4)),
        line("page one", Some("http://a.example/1"), &page(1)),
        line("page other", Some("http://a.example/2"), &page(3)),
    ];
    assert_eq!(
        duplicates(&dedup_by(&Options::witness(), &lines, false).0),
        []
    );
    let mut options = Options {
        masks: [Mask::Dates, Mask::Times].into_iter().collect(),
        ..Options::witness()
    };
    let found = duplicates(&dedup_by(&options, &lines, false).0);
    let has = |one: &str, of: &str| found.contains(&(one.to_owned(), of.to_owned()));
    assert!(
        has("other", "one") && has("page other", "page one"),
        "{found:?}"
    );
    // The time is left.
    options.masks = [Mask::Dates].into_iter().collect();
    assert_eq!(duplicates(&dedup_by(&options, &lines, false).0), []);
}

/// Spellings that Unicode calls one are the same text; letters in another shape are near.
#[test]
fn a_text_in_another_normal_form_is_the_same() {
    let text = (0..20).map(|at| format!("caf\u{e9} fit{at} for the office"));
    let text = text.collect::<Vec<_>>().join(" ");
    let wide = |c: char| match c {
        'a'..='z' | '0'..='9' => char::from_u32(u32::from(c) + 0xfee0).unwrap_or(c),
        other => other,
    };
    let lines = [
        of_text("plain", &text),
        of_text("apart", &text.replace('\u{e9}', "e\u{301}")),
        of_text(
            "ligatures",
            &text.replace("ffi", "\u{fb03}").replace("fi", "\u{fb01}"),
        ),
        of_text("wide", &text.chars().map(wide).collect::<String>()),
    ];
    let (output, _) = dedup_by(&Options::witness(), &lines, false);
    let kinds = output.lines().map(|line| {
        let line: Value = serde_json::from_str(line).unwrap();
        line["kind"].as_str().unwrap_or("unique").to_owned()
    });
    let kinds: Vec<_> = kinds.collect();
    assert_eq!(kinds, ["unique", "normalized", "near", "near"]);
}

/// Which documents repeat which.
fn duplicates(output: &str) -> Vec<(String, String)> {
    let lines = output
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap());
    let pairs = lines.filter_map(|line| {
        let of = line["duplicate_of"].as_str()?.to_owned();
        Some((line["id"].as_str()?.to_owned(), of))
    });
    pairs.collect()
}

#[test]
fn products_of_a_shop_stay_apart_and_mirrors_are_found() {
    let corpus = corpus();
    let mut lines: Vec<String> = corpus
        .iter()
        .map(|(id, url, html)| line(id, Some(url), html))
        .collect();
    let (output, kept) = dedup(&lines, 1);
    let expected: Vec<_> = [3, 11, 19, 27, 35]
        .map(|n| (format!("mirror {n}"), format!("shop {n}")))
        .into();
    assert_eq!(duplicates(&output), expected);
    assert_eq!(kept, lines[..40]);
    assert_eq!(dedup(&lines, 4), (output, kept), "whatever the threads");
    // The first of two is kept, and nothing else depends on the order.
    lines.reverse();
    let reversed = duplicates(&dedup(&lines, 2).0);
    let swapped: Vec<_> = expected
        .into_iter()
        .rev()
        .map(|(copy, origin)| (origin, copy))
        .collect();
    assert_eq!(reversed, swapped);
}

#[test]
fn lines_without_urls_are_judged_by_their_texts_alone() {
    let corpus = corpus();
    let lines: Vec<String> = corpus
        .iter()
        .map(|(id, _, html)| line(id, None, html))
        .collect();
    let (output, kept) = dedup(&lines, 2);
    assert_eq!(duplicates(&output).len(), 44, "{output}");
    assert_eq!(kept.len(), 1);
    // The same between one with a URL and one without, also after a document that waits.
    let (id, url, html) = &corpus[0];
    let mixed = [line(id, Some(url), html), lines[1].clone()];
    assert_eq!(duplicates(&dedup(&mixed, 1).0).len(), 1);
}

#[test]
fn texts_with_urls_are_pages_of_sites_too() {
    let lines: Vec<String> = (0..40)
        .map(|n| {
            let text = format!(
                "{}\nDeparture {}:{:02}\nPlatform {n}\n{}",
                words("notice", 80),
                5 + n % 12,
                n * 7 % 60,
                words("terms", 80)
            );
            json!({"id": n.to_string(), "url": format!("http://a.example/{n}"), "text": text})
                .to_string()
        })
        .collect();
    assert_eq!(duplicates(&dedup(&lines, 2).0), []);
}

#[test]
fn what_fails_is_told_after_the_verdicts_on_what_was_before() {
    let directory = tempfile::tempdir().unwrap();
    let input = directory.path().join("in.jsonl");
    let corpus = corpus();
    let (id, url, html) = &corpus[0];
    fs::write(&input, format!("{}\n{{}}\n", line(id, Some(url), html))).unwrap();
    let mut verdicts = Vec::new();
    let keeping = Keeping {
        output: None,
        index: None,
        index_runs: None,
        pairs: None,
        temporary: directory.path(),
    };
    let input = Input {
        files: &[input],
        threads: None,
        skipped: None,
        watch: None,
        languages: &[],
        fields: Fields::default(),
    };
    let failed = dedup_jsonl(input, &Options::witness(), keeping, &mut verdicts);
    assert!(failed.unwrap_err().to_string().contains("line 2"));
    assert_eq!(verdicts.split(|byte| *byte == b'\n').count(), 2);
}
