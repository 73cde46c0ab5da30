//! Fuzz targets: functions over any bytes that panic where a law is broken. Each reads what
//! strangers write, through public functions of one room. cargo-fuzz drives them from
//! `fuzz/fuzz_targets/`, which needs a nightly compiler; `tests/it/fuzz.rs` replays `fuzz/corpus/`
//! and mutations of it on stable.

use std::fs;
use std::path::PathBuf;

use bytes::Bytes;
use gleaner::archive::{IndexLine, Limits, RecordStream};
use gleaner::corpus::warc;
use gleaner::fetch::{self, DecodeBounds};
use gleaner::page::sitemap::{SitemapOptions, read_sitemap, recognize};
use gleaner::page::{self, Markup, Page, PageOptions, charset};
use gleaner::robots::{self, Rules};
use gleaner::store::Batch;
use gleaner::url::{self, Canonicalizer, HostKey, Identity, Rule, RuleSet, Secret, Site, Url};
use xxhash_rust::xxh3::xxh3_64;

/// Any text is a URL or is refused; what is accepted has a canonical form that parses, is its own
/// canonical form under whatever rules, and does not leave the host unless a rule says so. The
/// first two bytes choose the rules.
pub(crate) fn url(bytes: &[u8]) {
    let (choice, text) = match bytes {
        [a, b, rest @ ..] => (u16::from_le_bytes([*a, *b]), rest),
        _ => (0, bytes),
    };
    let Ok(url) = url::parse(&String::from_utf8_lossy(text)) else {
        return;
    };
    let chosen = Rule::all()
        .iter()
        .filter(|line| choice & (1 << line.rule as u8) != 0);
    let chosen: RuleSet = chosen.map(|line| line.rule).collect();
    for rules in [RuleSet::default(), chosen] {
        let canonicalizer = Canonicalizer::with_rules(rules);
        let once = canonicalizer.canonicalize(&url);
        let parsed = Url::parse(once.as_str()).expect("a canonical form parses");
        assert_eq!(parsed.as_str(), once.as_str(), "parsing changes {once}");
        assert_eq!(canonicalizer.canonicalize(&parsed), once, "not idempotent");
        for rule in canonicalizer.explain(&url) {
            assert!(rules.has(rule), "{rule} is off");
        }
    }
    let host_key = HostKey::of(&url);
    let read_back = HostKey::parse(host_key.as_str());
    assert_eq!(read_back.as_ref(), Some(&host_key));
    assert!(!Site::of(&url).as_str().is_empty());
}

/// Any bytes are a robots.txt. robots.txt itself is allowed, a decision names a line that is there,
/// and what is held is bounded. The last line is the path.
pub(crate) fn robots(bytes: &[u8]) {
    let end = bytes.iter().rposition(|byte| *byte == b'\n').unwrap_or(0);
    let (body, path) = bytes.split_at(end);
    let path = String::from_utf8_lossy(path);
    let rules = Rules::parse(body, "gleaner");
    assert!(rules.allows("/robots.txt"));
    let lines = robots::lines(body).count();
    for path in [path.trim(), "/", "/a/b?c=d"] {
        let decision = rules.decide(path);
        assert_eq!(rules.allows(path), decision.is_none_or(|it| it.allow));
        if let Some(decision) = decision {
            assert!((1..=lines).contains(&(decision.line as usize)));
        }
    }
    assert!(rules.size() < 4 * 1024 + 200 * body.len());
    assert!(rules.crawl_delay() <= Some(robots::MAX_CRAWL_DELAY));
}

/// Any bytes are read to an end, with as many entries as are reported, all of them to be crawled.
pub(crate) fn sitemap(bytes: &[u8]) {
    let base = url::parse("http://a.example/sitemap.xml").expect("it is a URL");
    let options = SitemapOptions {
        max_bytes: 1024 * 1024,
        max_entries: 100,
        max_alternates: 10,
    };
    let mut entries = 0;
    let report = read_sitemap(bytes, Some(&base), &options, &mut |entry| {
        entries += 1;
        assert!(matches!(entry.url.scheme(), "http" | "https"));
        assert!(entry.alternates.len() <= options.max_alternates);
        // Any date is read or passed over.
        let _ = entry.modified();
    });
    assert_eq!(report.entries, entries);
    assert!(entries <= options.max_entries);
    assert!(report.problems.len() <= report.problem_count);
    if let Some(form) = recognize(bytes) {
        assert_eq!(report.form, Some(form));
    }
}

/// Any bytes are in any codings, and what comes of them is bounded. The first line names the
/// codings.
pub(crate) fn body(bytes: &[u8]) {
    let end = bytes.iter().position(|byte| *byte == b'\n');
    let (codings, body) = bytes.split_at(end.map_or(0, |end| end + 1));
    let codings = String::from_utf8_lossy(codings);
    let body = Bytes::copy_from_slice(body);
    let bounds = DecodeBounds {
        max_bytes: 64 * 1024,
        max_codings: 3,
    };
    let decoded = fetch::decode([&*codings].into_iter(), &body, bounds);
    assert!(decoded.bytes.len() <= bounds.max_bytes);
    assert!(decoded.is_whole || decoded.note.is_some());
    let none = fetch::decode([].into_iter(), &body, bounds);
    assert_eq!(none.is_whole, body.len() <= bounds.max_bytes);
    assert!(body.starts_with(&none.bytes));
}

/// Any bytes are text, whatever is said of them, and text that is UTF-8 stays. The first line is
/// what is said.
pub(crate) fn charset(bytes: &[u8]) {
    let end = bytes.iter().position(|byte| *byte == b'\n');
    let (said, body) = bytes.split_at(end.map_or(0, |end| end + 1));
    let said = String::from_utf8_lossy(said);
    for content_type in [None, Some(said.trim())] {
        let text = charset::to_text(body, content_type);
        // No encoding makes more than three bytes of one, but for the mark of what cannot be read.
        assert!(text.text.len() <= 3 * body.len() + 3);
        let again = charset::to_text(body, content_type);
        assert_eq!(again, text);
        let _ = page::kind(content_type, body);
    }
    if let Ok(plain) = std::str::from_utf8(body)
        && !plain.contains(['\0', '<', '\u{feff}'])
    {
        assert_eq!(charset::to_text(body, None).text, plain);
    }
}

/// Any bytes are a page, twice the same one, within its bounds.
pub(crate) fn page(bytes: &[u8]) {
    let url = url::parse("http://a.example/b/").expect("it is a URL");
    let identity = Identity::new(
        Canonicalizer::default(),
        Secret::from_bytes([7; Secret::LEN]),
    );
    let options = PageOptions {
        max_bytes: 30_000,
        max_depth: 40,
        max_nodes: 2_000,
        max_tag_bytes: 20_000,
        max_links: 20,
        max_url_bytes: 200,
        max_text_bytes: 3_000,
        max_title_bytes: 50,
        ..PageOptions::default()
    };
    let read = |markup| {
        let text = charset::to_text(bytes, None);
        Page::parse_html_to(markup, text, (&url, false), &identity, &options)
    };
    let (page, markdown) = read(Markup::Markdown);
    let (same, html) = read(Markup::Html);
    assert_eq!(same, page);
    assert!(page.links.len() <= options.max_links);
    for link in &page.links {
        let target = url::parse(&link.url).expect("a link is a URL");
        assert_eq!(identity.id(&target), link.id);
    }
    let title = page.title.as_deref().unwrap_or_default();
    assert!(title.len() <= options.max_title_bytes);
    for text in [&page.full_text, &page.main_text, &markdown, &html] {
        assert!(text.len() <= options.max_text_bytes);
    }
    let headline = page.headline.as_deref().unwrap_or_default();
    assert!(page.main_text.starts_with(headline));
    assert_eq!(read(Markup::Markdown), (page, markdown));
}

/// A file for one input at a time, which is removed with it.
struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str) -> Self {
        let own = format!("fuzz-{}-{name}", std::process::id());
        Self(std::env::temp_dir().join(own))
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // It may not have been made.
        let _ = fs::remove_file(&self.0);
    }
}

/// Any bytes are a WARC file, plain or compressed, that is read to its end, record after record. A
/// repaired copy of it has what could be read, and no damage.
pub(crate) fn warc(bytes: &[u8]) {
    let file = Scratch::new("of-others.warc");
    let copy = Scratch::new("repaired.warc.gz");
    fs::write(&file.0, bytes).expect("there is room for a file");
    let limits = Limits {
        header_bytes: 4 * 1024,
        block_bytes: 64 * 1024,
    };
    let mut before = 0;
    for (count, record) in RecordStream::open(&file.0, limits)
        .expect("it is there")
        .enumerate()
    {
        assert!(count <= bytes.len() + 1, "reading does not end");
        let offset = match record {
            Ok(record) => Some(record.offset),
            Err(error) => error.offset(),
        };
        if let Some(offset) = offset {
            assert!(offset >= before, "reading goes back");
            before = offset;
        }
    }
    let repaired = warc::repair(&file.0, &copy.0).expect("what is damaged is left out");
    let read = RecordStream::open(&copy.0, Limits::default()).expect("it is there");
    let read = read.map(|record| record.expect("a copy has no damage"));
    assert_eq!(read.count() as u64, repaired.records);
}

/// Any bytes are an index, whose lines come in order and each once, or are refused. A line says
/// where a record is, or is none.
pub(crate) fn cdxj(bytes: &[u8]) {
    let file = Scratch::new("index.cdxj");
    fs::write(&file.0, bytes).expect("there is room for a file");
    let mut lines: Vec<String> = Vec::new();
    let files = [file.0.clone()];
    let indexed = warc::index(
        &files,
        &std::env::temp_dir(),
        |line| {
            lines.push(line.to_owned());
            Ok(())
        },
        |_| Ok(()),
    );
    assert!(lines.is_sorted_by(|one, next| one < next));
    if let Ok(indexed) = indexed {
        assert_eq!(indexed.lines, lines.len() as u64);
    }
    for line in String::from_utf8_lossy(bytes).lines() {
        if let Some(said) = IndexLine::parse(line) {
            assert!(line.contains('{') && said.filename.len() <= line.len());
        }
    }
}

/// Any bytes are a batch or are refused, also where the checksum belongs to them; what is accepted
/// is written as it was read.
pub(crate) fn batch(bytes: &[u8]) {
    let sealed = [bytes, &xxh3_64(bytes).to_le_bytes()].concat();
    for bytes in [bytes, &sealed] {
        if let Ok(batch) = Batch::decode(bytes) {
            assert_eq!(batch.encode(), bytes);
        }
    }
}
