//! Lists of hosts, domains and URLs that are not requested, as people keep them: one entry a line,
//! or as files of hosts (`0.0.0.0 ads.example.org`).
//!
//! A list may have a hundred thousand lines, so an entry is kept as a hash with its place, in 16
//! bytes. Two entries with the same hash are taken for one; the expected number of such pairs among
//! n entries is n²/2⁶⁵. What is asked is hashed in the forms in which an entry may name it: its
//! host, each domain above, and the URL up to each end of a word.

use std::collections::BTreeMap;
use std::fmt;
use std::net::IpAddr;

use xxhash_rust::xxh3::xxh3_64_with_seed;

use super::{HostKey, Url};

/// Number of bad lines that are named.
const NAMED: usize = 5;

/// What an entry names; the seed of its hash.
#[derive(Debug, Clone, Copy)]
enum Kind {
    /// This host.
    Host = 1,
    /// This host and those below it.
    Domain,
    /// The hosts below this one.
    Below,
    /// URLs that begin so.
    Prefix,
    /// That there are prefixes of this host and port.
    HasPrefixes,
}

/// Hosts, domains and URLs that are not requested.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct BlockList {
    /// In ascending order, each once.
    hashes: Vec<u64>,
    /// The file and the line of each.
    places: Vec<(u32, u32)>,
    files: Vec<String>,
}

/// The entry that blocks a URL.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Blocked<'a> {
    /// The file.
    pub file: &'a str,
    /// Number of the line, from 1.
    pub line: u32,
}

impl fmt::Display for Blocked<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}, line {}", self.file, self.line)
    }
}

/// Lines that are no entries.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "{}{}; write a host (example.org, which means those below it too; *.example.org, only those), \
     a line of a file of hosts (0.0.0.0 ads.example.org), or the beginning of URLs \
     (https://example.org/private/)",
    lines.join("; "),
    if *more > 0 { format!("; and {more} more lines") } else { String::new() }
)]
pub struct BlockListError {
    /// The first of them, each with its place.
    lines: Vec<String>,
    /// Number of the others.
    more: usize,
}

/// Reads lists, file by file.
#[derive(Debug, Default)]
pub struct BlockListReader {
    /// In the order of the files, so that the first entry of several is the one that is named.
    found: BTreeMap<u64, (u32, u32)>,
    files: Vec<String>,
    bad: Vec<String>,
    more: usize,
    line: u32,
}

impl BlockListReader {
    /// The lines that follow are those of this file.
    pub fn begin(&mut self, file: impl Into<String>) {
        self.files.push(file.into());
        self.line = 0;
    }

    /// Reads a line.
    pub fn line(&mut self, line: &[u8]) {
        self.line += 1;
        let text = std::str::from_utf8(line).ok();
        let is_read = text.is_some_and(|text| self.entries(without_comment(text)));
        if is_read {
            return;
        }
        if self.bad.len() < NAMED {
            let file = self.files.last().map_or("", String::as_str);
            let shown: String = String::from_utf8_lossy(line)
                .trim()
                .chars()
                .take(80)
                .collect();
            (self.bad).push(format!("{file}, line {}: {shown:?} is no entry", self.line));
        } else {
            self.more += 1;
        }
    }

    /// Returns the lists as one.
    pub fn finish(self) -> Result<BlockList, BlockListError> {
        if !self.bad.is_empty() {
            let (lines, more) = (self.bad, self.more);
            return Err(BlockListError { lines, more });
        }
        let mut list = BlockList {
            hashes: Vec::with_capacity(self.found.len()),
            places: Vec::with_capacity(self.found.len()),
            files: self.files,
        };
        for (hash, place) in self.found {
            list.hashes.push(hash);
            list.places.push(place);
        }
        Ok(list)
    }

    /// Reads what a line says. Returns `false` if that is nothing that can be understood.
    fn entries(&mut self, text: &str) -> bool {
        let mut words = text.split_whitespace();
        let Some(first) = words.next() else {
            return true;
        };
        let names: Vec<&str> = words.collect();
        if names.is_empty() {
            return self.entry(first);
        }
        // A file of hosts. `%` separates the interface of an address.
        let address = first.split('%').next().unwrap_or_default();
        let Ok(address) = address.parse::<IpAddr>() else {
            return false;
        };
        if !(address.is_unspecified() || address.is_loopback()) {
            // It says where a host is, not that it is to be blocked.
            return true;
        }
        names.into_iter().all(|name| {
            let Some(name) = host(name) else {
                return false;
            };
            if !is_of_this_machine(&name) {
                self.add(Kind::Host, &name);
            }
            true
        })
    }

    /// Reads an entry that stands alone.
    fn entry(&mut self, text: &str) -> bool {
        if let Some(below) = text.strip_prefix("*.") {
            let Some(name) = host(below) else {
                return false;
            };
            self.add(Kind::Below, &name);
            return true;
        }
        if let Some(name) = host(text) {
            self.add(Kind::Domain, &name);
            return true;
        }
        let (scheme, rest) = match text.split_once("://") {
            Some((scheme @ ("http" | "https"), rest)) => (scheme, rest),
            Some(_) => return false,
            None => ("http", text),
        };
        let Ok(url) = super::parse(&format!("{scheme}://{rest}")) else {
            return false;
        };
        let name = url.host_str().unwrap_or_default();
        if host(name.trim_matches(['[', ']'])).is_none() {
            return false;
        }
        // A fragment is never requested.
        if text.contains('#') {
            return false;
        }
        let site = site(&url);
        self.add(Kind::HasPrefixes, &site);
        self.add(Kind::Prefix, &(site + path(&url)));
        true
    }

    fn add(&mut self, kind: Kind, text: &str) {
        let file = self.files.len().saturating_sub(1) as u32;
        self.found
            .entry(hash(kind, text))
            .or_insert((file, self.line));
    }
}

impl BlockList {
    /// Returns `true` if nothing is blocked.
    pub fn is_empty(&self) -> bool {
        self.hashes.is_empty()
    }

    /// Returns the number of bytes that the list takes.
    pub fn bytes(&self) -> usize {
        self.hashes.capacity() * size_of::<u64>() + self.places.capacity() * size_of::<(u32, u32)>()
    }

    /// Returns the entry that blocks a URL, if one does: of its host first, then the most specific.
    pub fn find(&self, url: &Url) -> Option<Blocked<'_>> {
        if self.is_empty() {
            return None;
        }
        let name = url
            .host_str()?
            .trim_end_matches('.')
            .trim_matches(['[', ']']);
        let has = |kind, text: &str| self.at(hash(kind, text));
        let by_name = has(Kind::Host, name).or_else(|| has(Kind::Domain, name));
        if by_name.is_some() {
            return by_name;
        }
        let is_address = name.parse::<IpAddr>().is_ok();
        let mut above = name;
        while let Some((_, rest)) = above.split_once('.').filter(|_| !is_address) {
            above = rest;
            let found = has(Kind::Below, above).or_else(|| has(Kind::Domain, above));
            if found.is_some() {
                return found;
            }
        }
        let mut text = site(url);
        has(Kind::HasPrefixes, &text)?;
        let first = text.len();
        text.push_str(path(url));
        let bytes = text.as_bytes();
        let is_word = |at: usize| bytes.get(at).is_some_and(u8::is_ascii_alphanumeric);
        let ends = (first + 1..=bytes.len()).rev();
        // An entry does not end within a word: /private is not meant by /priv.
        let mut ends = ends.filter(|end| !(is_word(end - 1) && is_word(*end)));
        ends.find_map(|end| has(Kind::Prefix, text.get(..end)?))
    }

    /// Returns the entry that blocks all URLs of a host, if one does.
    pub fn find_host(&self, host: &HostKey) -> Option<Blocked<'_>> {
        if self.is_empty() {
            return None;
        }
        // Of prefixes, only the one that is no more than the host meets its root.
        self.find(&host.url())
    }

    fn at(&self, hash: u64) -> Option<Blocked<'_>> {
        let at = self.hashes.binary_search(&hash).ok()?;
        let (file, line) = *self.places.get(at)?;
        let file = self.files.get(file as usize)?;
        Some(Blocked { file, line })
    }
}

fn hash(kind: Kind, text: &str) -> u64 {
    xxh3_64_with_seed(text.as_bytes(), kind as u64)
}

/// The line up to a comment, which begins with `#` at its start or after a space.
fn without_comment(line: &str) -> &str {
    let mut before = ' ';
    let at = line.char_indices().find(|(_, letter)| {
        let is_comment = *letter == '#' && before.is_whitespace();
        before = *letter;
        is_comment
    });
    at.map_or(line, |(at, _)| &line[..at])
}

/// A host as URLs have it, if a text is one.
fn host(text: &str) -> Option<String> {
    let text = text.trim_end_matches('.');
    let inner = text.strip_prefix('[').and_then(|it| it.strip_suffix(']'));
    if let Ok(address) = inner.unwrap_or(text).parse::<IpAddr>() {
        return Some(address.to_string());
    }
    let is_name = |c: char| c.is_alphanumeric() || matches!(c, '.' | '-' | '_') || !c.is_ascii();
    if text.is_empty() || !text.chars().all(is_name) {
        return None;
    }
    ::url::Host::parse(text).ok().map(|host| host.to_string())
}

/// The names that files of hosts give to the machine that they are for.
fn is_of_this_machine(name: &str) -> bool {
    matches!(
        name,
        "localhost" | "localhost.localdomain" | "local" | "broadcasthost" | "0.0.0.0"
    ) || name.starts_with("ip6-")
}

/// The host of a URL, with its port if that is not the usual one of its scheme.
fn site(url: &Url) -> String {
    let name = url.host_str().unwrap_or_default().trim_end_matches('.');
    match url.port() {
        Some(port) => format!("{name}:{port}"),
        None => name.to_owned(),
    }
}

/// What of a URL is requested, as it is written.
fn path(url: &Url) -> &str {
    &url[::url::Position::BeforePath..::url::Position::AfterQuery]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::url::parse;

    fn list(text: &str) -> BlockList {
        let mut reader = BlockListReader::default();
        reader.begin("list.txt");
        text.lines().for_each(|line| reader.line(line.as_bytes()));
        reader.finish().unwrap()
    }

    /// What an entry leaves alone comes first.
    fn check(entry: &str, innocent: &[&str], blocked: &[&str]) {
        let list = list(&format!("# a comment\n\n{entry}"));
        for url in innocent {
            assert_eq!(list.find(&parse(url).unwrap()), None, "{entry} and {url}");
        }
        for url in blocked {
            let found = list.find(&parse(url).unwrap());
            let place = found.map(|it| it.to_string());
            assert_eq!(
                place.as_deref(),
                Some("list.txt, line 3"),
                "{entry} and {url}"
            );
        }
    }

    #[test]
    fn nothing_is_blocked_by_nothing() {
        check("", &["http://a.example/"], &[]);
        check("# a.example", &["http://a.example/"], &[]);
        assert!(list("").is_empty());
    }

    #[test]
    fn a_host_means_those_below_it() {
        check(
            "Ads.Example.org  # of the newspaper",
            &[
                "http://example.org/",
                "http://badads.example.org/",
                "http://ads.example.org.evil.example/",
                "http://www.example/ads.example.org",
            ],
            &[
                "http://ads.example.org/",
                "https://x.y.ads.example.org:8443/z",
                "http://ADS.example.org./",
            ],
        );
        check(
            "*.example.org",
            &["http://example.org/", "http://anexample.org/"],
            &["http://www.example.org/"],
        );
        check(
            "bücher.example",
            &["http://bcher.example/"],
            &["http://xn--bcher-kva.example/x"],
        );
        check(
            "127.0.0.2",
            &["http://127.0.0.1/", "http://0.2/"],
            &["http://127.0.0.2:81/"],
        );
        check("::2", &["http://[::1]/"], &["http://[::2]/"]);
    }

    #[test]
    fn a_file_of_hosts_means_the_hosts_alone() {
        let innocent = [
            "http://b.example/",
            "http://x.a.example/",
            "http://localhost/",
        ];
        check("0.0.0.0 a.example # ads", &innocent, &["http://a.example/"]);
        check(
            "127.0.0.1\tlocalhost a.example",
            &innocent,
            &["https://a.example/x"],
        );
        check(":: a.example c.example", &innocent, &["http://c.example/"]);
        // That a printer is there is no reason to block it.
        check(
            "192.0.2.7 a.example",
            &["http://a.example/", "http://192.0.2.7/"],
            &[],
        );
        check("fe80::1%lo0 localhost", &innocent, &[]);
        check("255.255.255.255 broadcasthost", &innocent, &[]);
    }

    #[test]
    fn the_beginning_of_urls_ends_with_a_word() {
        check(
            "https://example.org/private",
            &[
                "https://example.org/",
                "https://example.org/privateer",
                "https://example.org/x/private",
                "https://www.example.org/private",
                "https://example.org:8080/private",
            ],
            &[
                "https://example.org/private",
                "http://example.org/private/x?y",
                "https://example.org/private.html",
                "https://example.org/private?x",
            ],
        );
        check(
            "example.org/search?q=",
            &["http://example.org/search", "http://example.org/search?p=1"],
            &[
                "http://example.org/search?q=",
                "https://example.org/search?q=oaks&p=2",
            ],
        );
        check(
            "http://127.0.0.1:8080/",
            &["http://127.0.0.1/", "http://127.0.0.1:8081/"],
            &["http://127.0.0.1:8080/", "http://127.0.0.1:8080/x"],
        );
    }

    #[test]
    fn a_host_of_which_all_is_blocked_is_told() {
        let list = list("a.example\nhttp://b.example/\nhttp://c.example/x\n");
        let check = |host: &str, line| {
            let found = list.find_host(&HostKey::parse(host).unwrap());
            assert_eq!(found.map(|it| it.line), line, "{host}");
        };
        check("http://d.example", None);
        check("http://c.example", None);
        check("http://a.example", Some(1));
        check("http://b.example", Some(2));
    }

    #[test]
    fn bad_lines_are_named_with_what_may_stand_there() {
        let mut reader = BlockListReader::default();
        reader.begin("one.txt");
        reader.line(b"a.example");
        reader.begin("two.txt");
        for line in [
            &b"||ads.example^"[..],
            b"ftp://a.example/",
            b"\xff",
            b"a b",
            b"http://a.example/#x",
        ] {
            reader.line(line);
        }
        reader.line(b"^$");
        reader.line(b"also this");
        let error = reader.finish().unwrap_err().to_string();
        assert!(
            error.starts_with("two.txt, line 1: \"||ads.example^\" is no entry; two.txt, line 2")
        );
        assert!(
            error.contains("; and 2 more lines; write a host (example.org"),
            "{error}"
        );
    }

    /// A hundred thousand lines take far less than 20 MB, and the first of two that say the same
    /// is the one that is named.
    #[test]
    fn a_long_list_is_small() {
        let lines: Vec<String> = (0..100_000)
            .map(|number| match number % 3 {
                0 => format!("0.0.0.0 tracker{number}.ads-and-more.example"),
                1 => format!("tracker{number}.ads-and-more.example"),
                _ => format!("https://shop.example/private/{number}/"),
            })
            .chain(["tracker1.ads-and-more.example".to_owned()])
            .collect();
        let list = list(&lines.join("\n"));
        assert!(list.bytes() < 2_000_000, "{}", list.bytes());
        let line = |url: &str| list.find(&parse(url).unwrap()).map(|it| it.line);
        assert_eq!(line("http://tracker1.ads-and-more.example/"), Some(2));
        assert_eq!(
            line("http://tracker99999.ads-and-more.example/"),
            Some(100_000)
        );
        assert_eq!(line("https://shop.example/private/5/x"), Some(6));
        assert_eq!(line("https://shop.example/private/6/x"), None);
    }
}
