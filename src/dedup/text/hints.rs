//! Hints: what a page says about itself besides its text, and the hashes of it that are compared.

use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::xxh3_64;

use super::scan::words;
use crate::url::{Site, UrlId};

/// What a page says about itself besides its text. Unknown values never veto a match.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PageHints {
    /// The host.
    pub host: Option<String>,
    /// The title.
    pub title: Option<String>,
    /// The first `<h1>`.
    pub h1: Option<String>,
    /// The detected language of the main text, if the detection is sure.
    pub language: Option<&'static str>,
    /// The declared language, used if none was detected.
    pub declared_language: Option<String>,
    /// All language versions of the page, including itself, if there is more than one.
    pub versions: Vec<UrlId>,
    /// The pages that it names as next and previous, at most two.
    pub neighbours: Vec<UrlId>,
    /// The first page of the list that the page belongs to by its URL, such as `/list` for
    /// `/list?page=2`.
    pub series: Option<UrlId>,
}

/// The bits of a place that belong to its host.
pub(crate) const HOST: u32 = 0xffff;

/// Hashes of the hints, 32 bits each. Values that are equal by chance do not veto.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct HintHashes {
    /// The registrable domain in the upper 16 bits, the host in the lower ones.
    pub(crate) place: Option<u32>,
    pub(crate) headline: Option<u32>,
    pub(crate) language: Option<u32>,
    pub(crate) versions: Option<u32>,
    pub(crate) neighbours: [Option<u32>; 2],
    pub(crate) series: Option<u32>,
}

impl HintHashes {
    /// Hashes the hints of a page.
    pub(crate) fn of(hints: &PageHints) -> Self {
        let hash = |text: &str| (xxh3_64(text.as_bytes()) >> 32) as u32;
        Self {
            place: hints.host.as_deref().map(|host| {
                let site = Site::of_name(host);
                hash(site.as_str()) & !HOST | hash(host) & HOST
            }),
            headline: headline(hints).map(|words| hash(&words.join(" "))),
            language: hints
                .language
                .or(hints.declared_language.as_deref().map(primary))
                .map(hash),
            versions: (hints.versions.len() > 1).then(|| all_of(&hints.versions)),
            neighbours: [0, 1].map(|at| hints.neighbours.get(at).copied().map(page_hash)),
            series: hints.series.map(page_hash),
        }
    }
}

/// The primary subtag of a language tag: `pt` for `pt-br`.
fn primary(tag: &str) -> &str {
    tag.split(['-', '_']).next().unwrap_or(tag)
}

/// The hash of a page: 32 bits of its id.
pub(crate) fn page_hash(id: UrlId) -> u32 {
    (id.key() >> 32) as u32
}

/// The hash of a set of pages, in any order.
fn all_of(pages: &[UrlId]) -> u32 {
    let mut keys: Vec<u64> = pages.iter().map(UrlId::key).collect();
    keys.sort_unstable();
    keys.dedup();
    let bytes: Vec<u8> = keys.into_iter().flat_map(u64::to_be_bytes).collect();
    (xxh3_64(&bytes) >> 32) as u32
}

/// The headline of a page: the words of its title or, if the title begins with the `<h1>` and that
/// is most of it, of the `<h1>`, since the rest is the site's name. Digits are left out, because
/// they are versions, dates and counters.
fn headline(hints: &PageHints) -> Option<Vec<String>> {
    let title = hints.title.as_deref().map(letters).unwrap_or_default();
    let h1 = hints.h1.as_deref().map(letters).unwrap_or_default();
    let is_most = title.starts_with(&h1) && h1.len() * 2 >= title.len();
    let headline = if is_most || title.is_empty() {
        h1
    } else {
        title
    };
    (!headline.is_empty()).then_some(headline)
}

/// The words of a text without their digits.
fn letters(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    words(text, |word| {
        let word: String = word.chars().filter(|c| !c.is_numeric()).collect();
        if !word.is_empty() {
            found.push(word);
        }
    });
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_headline_is_the_title_without_digits_and_site() {
        let check = |title: &str, h1: &str, expected: &str| {
            let found = headline(&PageHints {
                title: Some(title.to_owned()),
                h1: Some(h1.to_owned()),
                ..PageHints::default()
            })
            .unwrap_or_default();
            assert_eq!(found.join(" "), expected, "{title} / {h1}");
        };
        check("Setup — Manual 3.2", "Manual 3.2", "setup manual");
        check("Setup — Manual 4", "", "setup manual");
        check("A long story | Site", "A long story", "a long story");
        check("Site: A long story", "Site", "site a long story");
        check("", "Setup", "setup");
        check("404", "", "");
    }
}
