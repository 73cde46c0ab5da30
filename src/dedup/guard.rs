//! What has a say beside the text that two pages are judged by, so that nothing unique is left out
//! for what a site's template or an extraction's mistake make alike: a sketch of the main text and
//! one of all visible text, where these differ; headline, host and language.
//!
//! It only ever forbids: a page that is kept apart wrongly costs space, one that is merged wrongly
//! is lost.

use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::xxh3_64;

use super::minhash::{self, Permutations, WholeSketch};
use super::short::SHORT_WORDS;
use super::{Text, words};
use crate::url::UrlId;

/// Two pages are not the same if the texts that they are not judged by are less alike than this.
const OTHER_TEXT: f64 = 0.5;

/// What a page says of itself beside its text. What is unknown forbids nothing.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Heading {
    /// The host that it is from.
    pub host: Option<String>,
    /// Its title.
    pub title: Option<String>,
    /// Its first `<h1>`.
    pub h1: Option<String>,
    /// The language that its main text is in, as far as that is sure.
    pub language: Option<&'static str>,
    /// The language that it says it is in; counts where the text does not tell.
    pub declared_language: Option<String>,
    /// The same page in all its languages, itself among them, where there are several.
    pub versions: Vec<UrlId>,
    /// The pages that it names as next and previous, two at most.
    pub neighbours: Vec<UrlId>,
    /// The first page of the list that it is a page of by its URL, such as `/list` for
    /// `/list?page=2`.
    pub series: Option<UrlId>,
}

/// What of a page forbids that it is the same as another.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Guard {
    /// Where the main text is a part of the visible text.
    texts: Option<Texts>,
    names: Names,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Texts {
    main: WholeSketch,
    whole: WholeSketch,
    /// Whether the page is judged by its whole text, as the main text is too little of it.
    is_over_trimmed: bool,
    /// Whether the main text is so short that a notice or an imprint may be all of it.
    is_short: bool,
}

/// Hashes of 32 bits: two that are equal by chance forbid nothing.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Names {
    host: Option<u32>,
    headline: Option<u32>,
    language: Option<u32>,
    versions: Option<u32>,
    neighbours: [Option<u32>; 2],
    series: Option<u32>,
}

impl Guard {
    /// The guard of a page.
    pub(crate) fn of(text: &Text, permutations: &Permutations) -> Self {
        let sketch = |words: &[u64]| minhash::whole_sketch(words, permutations);
        Self {
            texts: (!text.is_whole()).then(|| Texts {
                main: sketch(text.main_hashes()),
                whole: sketch(text.visible_hashes()),
                is_over_trimmed: text.is_over_trimmed(),
                is_short: text.main_words() < SHORT_WORDS,
            }),
            names: text.names(),
        }
    }

    /// Whether it says anything.
    pub(crate) fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Whether the main text is too little of the page to stand for it.
    pub(super) fn is_over_trimmed(&self) -> bool {
        let texts = self.texts.as_ref();
        texts.is_some_and(|texts| texts.is_over_trimmed)
    }

    /// Whether both are from one host, as far as is known.
    pub(super) fn is_one_host(&self, other: &Self) -> bool {
        !differ(self.names.host, other.names.host)
    }

    /// Whether both are one page in several languages. Each names the same ones.
    fn are_versions(&self, other: &Self) -> bool {
        self.names.versions.is_some() && self.names.versions == other.names.versions
    }

    /// Whether the two pages with these ids are of one series: by their URLs, or because one names
    /// the other as next or previous, or both the same one.
    pub(super) fn are_one_series(&self, id: UrlId, other: &Self, others: UrlId) -> bool {
        let (id, others) = (short(id), short(others));
        let (a, b) = (&self.names, &other.names);
        let by_url = match (a.series, b.series) {
            (Some(a), Some(b)) => a == b,
            (Some(a), None) => a == others,
            (None, Some(b)) => b == id,
            (None, None) => false,
        };
        let mut named = a.neighbours.iter().flatten();
        let by_name = named.any(|named| *named == others || b.neighbours.contains(&Some(*named)))
            || b.neighbours.contains(&Some(id));
        self.is_one_host(other) && (by_url || by_name)
    }

    /// Whether two pages with the same visible text may be the same: one page in two languages is
    /// not.
    pub(super) fn allows_normalized(&self, other: &Self) -> bool {
        !self.are_versions(other)
    }

    /// Whether two pages whose main texts have the same words may be the same: their whole texts
    /// must be alike too, and where the main text is little of one, both must be known to have the
    /// same headline. Short ones of one host must not be known to have two: what they share may be
    /// a notice or an imprint. Pages in two languages never are.
    pub(crate) fn allows_content(&self, other: &Self) -> bool {
        let wholes_are_alike = match (&self.texts, &other.texts) {
            (Some(a), Some(b)) => is_alike(&a.whole, &b.whole),
            _ => !self.is_over_trimmed() && !other.is_over_trimmed(),
        };
        let is_little = self.is_over_trimmed() || other.is_over_trimmed();
        let (own, others) = (self.names.headline, other.names.headline);
        wholes_are_alike
            && (!is_little || own.is_some() && own == others)
            && !(self.is_short() && self.is_one_host(other) && differ(own, others))
            && self.are_one_language(other)
    }

    /// Whether the main text is a short part of the page.
    fn is_short(&self) -> bool {
        self.texts.as_ref().is_some_and(|texts| texts.is_short)
    }

    fn are_one_language(&self, other: &Self) -> bool {
        !self.are_versions(other) && !differ(self.names.language, other.names.language)
    }

    /// Whether two pages whose judged texts are almost the same may be the same: the texts that
    /// they are not judged by must be alike too, and where one host's template may be what is
    /// alike, the headline must be the same. Pages in two languages never are.
    pub(crate) fn allows_near(&self, other: &Self) -> bool {
        let texts_are_alike = match (&self.texts, &other.texts) {
            (Some(a), Some(b)) => {
                let is_little = a.is_over_trimmed || b.is_over_trimmed;
                is_alike(&a.whole, &b.whole) && (!is_little || is_alike(&a.main, &b.main))
            }
            _ => true,
        };
        texts_are_alike
            && self.are_one_language(other)
            && !(self.is_one_host(other) && differ(self.names.headline, other.names.headline))
    }
}

fn is_alike(a: &WholeSketch, b: &WholeSketch) -> bool {
    minhash::sketch_similarity(a, b) >= OTHER_TEXT
}

/// Whether both are known, and not the same.
fn differ(a: Option<u32>, b: Option<u32>) -> bool {
    a.is_some() && b.is_some() && a != b
}

impl Names {
    /// What a heading is compared by.
    pub(super) fn of(heading: &Heading) -> Self {
        let hash = |text: &str| (xxh3_64(text.as_bytes()) >> 32) as u32;
        Self {
            host: heading.host.as_deref().map(hash),
            headline: headline(heading).map(|words| hash(&words.join(" "))),
            language: heading
                .language
                .or(heading.declared_language.as_deref().map(primary))
                .map(hash),
            versions: (heading.versions.len() > 1).then(|| all_of(&heading.versions)),
            neighbours: [0, 1].map(|at| heading.neighbours.get(at).copied().map(short)),
            series: heading.series.map(short),
        }
    }
}

/// The language of a tag such as `pt-br`, without what follows.
fn primary(tag: &str) -> &str {
    tag.split(['-', '_']).next().unwrap_or(tag)
}

/// A page by 32 bits of its id.
fn short(id: UrlId) -> u32 {
    (id.key() >> 32) as u32
}

/// A set of pages by 32 bits, whatever their order.
fn all_of(pages: &[UrlId]) -> u32 {
    let mut keys: Vec<u64> = pages.iter().map(UrlId::key).collect();
    keys.sort_unstable();
    keys.dedup();
    let bytes: Vec<u8> = keys.into_iter().flat_map(u64::to_be_bytes).collect();
    (xxh3_64(&bytes) >> 32) as u32
}

/// The words of the title; only those of the `<h1>` where the title begins with them and they are
/// most of it, for what follows then is the site's name. Digits do not count: they are versions,
/// dates and counters.
fn headline(heading: &Heading) -> Option<Vec<String>> {
    let title = heading.title.as_deref().map(letters).unwrap_or_default();
    let h1 = heading.h1.as_deref().map(letters).unwrap_or_default();
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

    fn heading(host: &str, title: &str, h1: &str) -> Heading {
        let known = |text: &str| (!text.is_empty()).then(|| text.to_owned());
        Heading {
            host: known(host),
            title: known(title),
            h1: known(h1),
            ..Heading::default()
        }
    }

    fn guard(main: &str, visible: &str, heading: &Heading) -> Guard {
        let text = Text::new(main, visible).with_heading(heading);
        Guard::of(&text, &Permutations::new(0))
    }

    fn words_of(name: &str, count: usize) -> String {
        let words: Vec<_> = (0..count).map(|n| format!("{name}{n}")).collect();
        words.join(" ")
    }

    #[test]
    fn a_headline_is_the_title_without_digits_and_site() {
        let check = |title: &str, h1: &str, expected: &str| {
            let found = headline(&heading("", title, h1)).unwrap_or_default();
            assert_eq!(found.join(" "), expected, "{title} / {h1}");
        };
        check("Setup — Manual 3.2", "Manual 3.2", "setup manual");
        check("Setup — Manual 4", "", "setup manual");
        check("A long story | Site", "A long story", "a long story");
        check("Site: A long story", "Site", "site a long story");
        check("", "Setup", "setup");
        check("404", "", "");
    }

    #[test]
    fn one_host_s_pages_need_one_headline_to_be_near() {
        let near = |a: &Heading, b: &Heading| {
            let text = words_of("w", 100);
            guard(&text, &text, a).allows_near(&guard(&text, &text, b))
        };
        let (one, two) = (
            heading("a.example", "Bar line", ""),
            heading("a.example", "Simile", ""),
        );
        assert!(near(&one, &one));
        assert!(!near(&one, &two));
        assert!(near(&one, &heading("b.example", "Simile", "")));
        assert!(!near(&one, &heading("", "Simile", "")), "hosts not known");
        assert!(near(&one, &Heading::default()));
        let german = Heading {
            language: Some("de"),
            ..one.clone()
        };
        let english = Heading {
            language: Some("en"),
            ..one.clone()
        };
        assert!(!near(&german, &english));
        assert!(near(&german, &one));
    }

    fn id(n: u64) -> UrlId {
        UrlId::from_bytes((u128::from(n) << 96).to_be_bytes())
    }

    fn of_heading(heading: &Heading) -> Guard {
        let text = words_of("w", 100);
        guard(&text, &text, heading)
    }

    #[test]
    fn a_page_in_two_languages_is_two_pages() {
        let versions = |ids: &[u64]| {
            of_heading(&Heading {
                versions: ids.iter().copied().map(id).collect(),
                ..heading("a.example", "Home", "")
            })
        };
        let (one, other) = (versions(&[1, 2, 3]), versions(&[3, 1, 1, 2]));
        assert!(!one.allows_normalized(&other));
        assert!(!one.allows_content(&other) && !one.allows_near(&other));
        let copy = versions(&[1, 2, 4]);
        assert!(one.allows_normalized(&copy) && one.allows_near(&copy));
        let none = versions(&[]);
        assert!(none.allows_near(&none));
        let declared = |language: Option<&'static str>, declared: &str| {
            of_heading(&Heading {
                language,
                declared_language: Some(declared.to_owned()),
                ..Heading::default()
            })
        };
        let (english, german) = (declared(None, "en-gb"), declared(None, "de"));
        assert!(!english.allows_content(&german) && !english.allows_near(&german));
        assert!(english.allows_near(&declared(None, "en")));
        // The text knows better than the page.
        assert!(english.allows_near(&declared(Some("en"), "de")));
    }

    #[test]
    fn pages_of_a_series_know_each_other() {
        let page = |host: &str, series: Option<u64>, neighbours: &[u64]| {
            of_heading(&Heading {
                series: series.map(id),
                neighbours: neighbours.iter().copied().map(id).collect(),
                ..heading(host, "List", "")
            })
        };
        let check = |a: &Guard, own: u64, b: &Guard, other: u64, expected: bool| {
            assert_eq!(a.are_one_series(id(own), b, id(other)), expected);
            assert_eq!(b.are_one_series(id(other), a, id(own)), expected);
        };
        let first = page("a.example", None, &[]);
        let second = page("a.example", Some(1), &[]);
        check(&first, 1, &second, 2, true);
        check(&second, 2, &page("a.example", Some(1), &[]), 3, true);
        check(&second, 2, &page("a.example", Some(7), &[]), 3, false);
        check(&second, 2, &page("b.example", Some(1), &[]), 3, false);
        check(&first, 1, &page("a.example", None, &[]), 2, false);
        let named = page("a.example", None, &[4, 6]);
        check(&named, 5, &first, 6, true);
        check(&named, 5, &page("a.example", None, &[6, 8]), 7, true);
        check(&named, 5, &first, 8, false);
    }

    #[test]
    fn a_frame_around_little_makes_nothing_the_same() {
        let frame = words_of("frame", 900);
        let page = |main: &str| guard(main, &format!("{frame} {main}"), &Heading::default());
        let (one, two) = (words_of("one", 60), words_of("two", 60));
        assert!(page(&one).is_over_trimmed());
        assert!(!page(&one).allows_near(&page(&two)));
        assert!(page(&one).allows_near(&page(&one)));
    }

    #[test]
    fn little_main_text_is_borne_out_by_the_headline() {
        let named = heading("", "Opening hours", "");
        let frame = words_of("frame", 90);
        let notice = "please note that this page is old";
        let page = |rest: &str, heading: &Heading| {
            guard(notice, &format!("{frame} {notice} {rest}"), heading)
        };
        let (one, two) = (page("one", &named), page("two", &named));
        assert!(one.allows_content(&two));
        assert!(!one.allows_content(&page("two", &Heading::default())));
        let other = page(&words_of("table", 200), &named);
        assert!(!one.allows_content(&other));
    }

    #[test]
    fn one_host_s_short_texts_under_two_headlines_are_two_pages() {
        let imprint = words_of("imprint", 30);
        let page = |host: &str, title: &str| {
            let heading = heading(host, title, "");
            guard(
                &imprint,
                &format!("{title} {imprint} {}", words_of("frame", 50)),
                &heading,
            )
        };
        let page_of = page("one.example", "Constructors");
        assert!(!page_of.is_over_trimmed());
        assert!(page_of.allows_content(&page("one.example", "Constructors")));
        assert!(!page_of.allows_content(&page("one.example", "Mixins")));
        // Mirrors put their own name there.
        assert!(page_of.allows_content(&page("two.example", "Constructors at two")));
    }
}
