//! The fuzz targets on stable: each input of the corpus, and mutations of them drawn from a fixed
//! seed, so that a failure comes again. What a longer run of cargo-fuzz finds belongs into the
//! corpus.

use std::collections::BTreeSet;
use std::fs;
use std::panic;
use std::path::Path;

use crate::fuzz_targets;

/// Mutations for each target: some seconds in a debug build.
const MUTATIONS: u64 = 4_000;

/// Bytes that mean something to one of the formats, strewn in.
const WORDS: [&str; 48] = [
    "%",
    "%2e",
    "/",
    "//",
    "..",
    ";jsessionid=",
    "?",
    "&",
    "=",
    "#",
    "utm_a=",
    "*",
    "$",
    ":",
    "\n",
    "\r",
    "\u{feff}",
    "user-agent:",
    "disallow:",
    "allow:",
    "<loc>",
    "</loc>",
    "<url>",
    "<![CDATA[",
    "]]>",
    "<!--",
    "&amp;",
    "&#x",
    "é",
    "\0",
    "gzip, ",
    "deflate",
    "br",
    "zstd",
    "charset=",
    "utf-16",
    "<meta charset=",
    "<p>",
    "</p>",
    "<div>",
    "<a href=/",
    "</a>",
    "<b>",
    "<table><td>",
    "<svg>",
    "<script>",
    "</script>",
    "<title>",
];

/// splitmix64.
struct Draw(u64);

impl Draw {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    fn below(&mut self, limit: usize) -> usize {
        (self.next() % limit.max(1) as u64) as usize
    }
}

fn mutate(input: &mut Vec<u8>, corpus: &[Vec<u8>], draw: &mut Draw) {
    for _ in 0..=draw.below(4) {
        let at = draw.below(input.len() + 1);
        match draw.below(6) {
            0 => input.insert(at, draw.next() as u8),
            1 if at < input.len() => input[at] ^= 1 << draw.below(8),
            2 => {
                let end = (at + draw.below(16)).min(input.len());
                input.drain(at..end);
            }
            3 => {
                let word = WORDS[draw.below(WORDS.len())].as_bytes();
                input.splice(at..at, word.iter().copied());
            }
            4 => {
                let other = &corpus[draw.below(corpus.len())];
                let from = draw.below(other.len() + 1);
                let end = (from + draw.below(64)).min(other.len());
                input.splice(at..at, other[from..end].iter().copied());
            }
            _ => input.truncate(at),
        }
    }
}

fn check(name: &str, target: fn(&[u8])) {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("fuzz/corpus")
        .join(name);
    let mut files: Vec<_> = fs::read_dir(&directory)
        .expect("the target has a corpus")
        .map(|entry| entry.expect("the corpus stays").path())
        .collect();
    files.sort();
    let corpus: Vec<Vec<u8>> = files
        .iter()
        .map(|file| fs::read(file).expect("readable"))
        .collect();
    assert!(!corpus.is_empty(), "{} is empty", directory.display());
    for (file, input) in files.iter().zip(&corpus) {
        let result = panic::catch_unwind(|| target(input));
        assert!(result.is_ok(), "{} breaks the target", file.display());
    }
    for seed in 0..MUTATIONS {
        let mut draw = Draw(seed);
        let mut input = corpus[draw.below(corpus.len())].clone();
        mutate(&mut input, &corpus, &mut draw);
        let result = panic::catch_unwind(|| target(&input));
        let shown = input.escape_ascii();
        assert!(result.is_ok(), "{name} breaks on mutation {seed}: {shown}");
    }
}

#[test]
fn urls() {
    check("url", fuzz_targets::url);
}

#[test]
fn warc_files() {
    check("warc", fuzz_targets::warc);
}

#[test]
fn indexes() {
    check("cdxj", fuzz_targets::cdxj);
}

#[test]
fn robots_files() {
    check("robots", fuzz_targets::robots);
}

#[test]
fn sitemaps() {
    check("sitemap", fuzz_targets::sitemap);
}

#[test]
fn bodies() {
    check("body", fuzz_targets::body);
}

#[test]
fn charsets() {
    check("charset", fuzz_targets::charset);
}

#[test]
fn pages() {
    check("page", fuzz_targets::page);
}

#[test]
fn batches() {
    check("batch", fuzz_targets::batch);
}

/// What cargo-fuzz builds, it builds before releases only: each of its targets is one of these
/// functions, which are compiled and replayed here.
#[test]
fn targets_are_those_that_are_replayed() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let read = |path: &str| fs::read_to_string(root.join(path)).expect("the repository has it");
    let functions = read("tests/support/fuzz_targets.rs");
    let functions = functions.lines().filter_map(|line| {
        let name = line.strip_prefix("pub(crate) fn ")?;
        Some(name.strip_suffix("(bytes: &[u8]) {")?.to_owned())
    });
    let functions: BTreeSet<String> = functions.collect();
    let replayed = read("tests/it/fuzz.rs");
    for name in &functions {
        let replay = format!("check(\"{name}\", fuzz_targets::{name});");
        assert!(replayed.contains(&replay), "{name} is not replayed");
        let entry = read(&format!("fuzz/fuzz_targets/{name}.rs"));
        let call = format!("fuzz_target!(|bytes: &[u8]| targets::{name}(bytes));");
        assert!(entry.contains(&call), "{entry} does not call {name}");
    }
    let manifest: toml::Table = read("fuzz/Cargo.toml").parse().expect("it is TOML");
    let built: Vec<toml::Table> = manifest["bin"].clone().try_into().expect("tables");
    let built = built.iter().map(|bin| {
        let name = bin["name"].as_str().expect("a name").to_owned();
        let path = format!("fuzz_targets/{name}.rs");
        assert_eq!(bin["path"].as_str(), Some(path.as_str()));
        name
    });
    assert_eq!(built.collect::<BTreeSet<_>>(), functions);
}
