//! What a run gives for lines with URLs and without.

use std::fs;
use std::num::NonZeroUsize;

use serde_json::{Value, json};

use super::*;

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
        temporary: directory.path(),
    };
    let input = Input {
        files: &[input],
        threads: NonZeroUsize::new(threads),
        skipped: None,
    };
    dedup_jsonl(input, &Options::witness(), keeping, &mut verdicts).unwrap();
    let kept = fs::read_to_string(output).unwrap();
    let kept = kept.lines().map(str::to_owned).collect();
    (String::from_utf8(verdicts).unwrap(), kept)
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
        temporary: directory.path(),
    };
    let input = Input {
        files: &[input],
        threads: None,
        skipped: None,
    };
    let failed = dedup_jsonl(input, &Options::witness(), keeping, &mut verdicts);
    assert!(failed.unwrap_err().to_string().contains("line 2"));
    assert_eq!(verdicts.split(|byte| *byte == b'\n').count(), 2);
}
