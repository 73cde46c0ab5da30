//! Vetoes: signals other than the compared text that keep two pages from being called duplicates.
//!
//! A template or a mistake of extraction can make two different pages look alike. The signals that
//! tell them apart are sketches of the main text and of all visible text (where the two differ),
//! headline, host and language.
//!
//! A veto only ever keeps pages apart. A page that is kept apart wrongly costs space; one that is
//! merged wrongly is lost.

use serde::{Deserialize, Serialize};

use super::methods::minhash::{self, Permutations, WholeSketch};
use super::methods::short::SHORT_WORDS;
use super::text::{HOST, HintHashes, Text, page_hash};
use super::tier::Tier;
use crate::url::UrlId;

/// The least similarity of the texts that two duplicates are not judged by.
const OTHER_TEXT: f64 = 0.5;
/// The same where the own parts of the two are known and agree: then most of what differs beside
/// the text that both have is frame. Two frames of half of their pages each leave 0.3 in common
/// around an edited text, and the sketch errs by 0.08.
const OTHER_TEXT_IF_PROVED: f64 = 0.2;

/// The signals of one page.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Veto {
    /// Sketches of both texts; `None` if the main text is all of the visible text.
    texts: Option<Texts>,
    hints: HintHashes,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Texts {
    main: WholeSketch,
    whole: WholeSketch,
    /// Whether the page is judged by its visible text, because its main text is too small a part of
    /// it.
    is_over_trimmed: bool,
    /// Whether the main text is so short that it may be only a notice or an imprint.
    is_short: bool,
}

impl Veto {
    /// The signals of a page. `judged` is the sketch of the text that it is judged by, if that is
    /// known.
    pub(crate) fn of(
        text: &Text,
        permutations: &Permutations,
        judged: Option<WholeSketch>,
    ) -> Self {
        let sketch = |is_judged: bool, words: &[u64]| {
            let known = judged.filter(|_| is_judged);
            known.unwrap_or_else(|| minhash::whole_sketch(words, permutations))
        };
        let is_over_trimmed = text.is_over_trimmed();
        Self {
            texts: (!text.is_whole()).then(|| Texts {
                main: sketch(!is_over_trimmed, text.main_hashes()),
                whole: sketch(is_over_trimmed, text.visible_hashes()),
                is_over_trimmed,
                is_short: text.main_words() < SHORT_WORDS,
            }),
            hints: text.hints(),
        }
    }

    /// Whether the page has no signals.
    pub(crate) fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Whether the main text is too small a part of the page to represent it.
    pub(crate) fn is_over_trimmed(&self) -> bool {
        let texts = self.texts.as_ref();
        texts.is_some_and(|texts| texts.is_over_trimmed)
    }

    /// Whether both pages are from one host. True if either host is unknown.
    pub(crate) fn is_one_host(&self, other: &Self) -> bool {
        !differ(self.hints.place, other.hints.place)
    }

    /// Whether both pages are from one site: hosts of one registrable domain. True if either is
    /// unknown.
    pub(crate) fn is_one_site(&self, other: &Self) -> bool {
        let site = |veto: &Self| veto.hints.place.map(|place| place & !HOST);
        !differ(site(self), site(other))
    }

    /// Whether the two are versions of one page in different languages: both name the same
    /// versions.
    fn are_versions(&self, other: &Self) -> bool {
        self.hints.versions.is_some() && self.hints.versions == other.hints.versions
    }

    /// Whether the pages with these ids belong to one series: by their URLs, because one names the
    /// other as its next or previous page, or because both name the same one.
    pub(crate) fn are_one_series(&self, id: UrlId, other: &Self, others: UrlId) -> bool {
        let (id, others) = (page_hash(id), page_hash(others));
        let (a, b) = (&self.hints, &other.hints);
        let by_url = match (a.series, b.series) {
            (Some(a), Some(b)) => a == b,
            (Some(a), None) => a == others,
            (None, Some(b)) => b == id,
            (None, None) => false,
        };
        let mut named = a.neighbours.iter().flatten();
        let by_name = named.any(|named| *named == others || b.neighbours.contains(&Some(*named)))
            || b.neighbours.contains(&Some(id));
        self.is_one_site(other) && (by_url || by_name)
    }

    /// Whether two pages with the same visible text may be duplicates. Language versions may not.
    pub(crate) fn allows_normalized(&self, other: &Self) -> bool {
        !self.are_versions(other)
    }

    /// Whether two pages with the same words in their main texts may be duplicates.
    ///
    /// Their visible texts must be similar too. If the main text is a small part of either page,
    /// both must have the same known headline. Short main texts of one site must not have two known
    /// headlines, since they may be a shared notice or imprint. Language versions may not be
    /// duplicates.
    pub(crate) fn allows_content(&self, other: &Self) -> bool {
        self.allows_content_from(other, OTHER_TEXT)
    }

    fn allows_content_from(&self, other: &Self, least: f64) -> bool {
        let is_little = self.is_over_trimmed() || other.is_over_trimmed();
        let are_compared = self.texts.is_some() && other.texts.is_some();
        let (own, others) = (self.hints.headline, other.hints.headline);
        self.have_whole_texts_alike(other, least)
            && (!is_little || are_compared && own.is_some() && own == others)
            && !(self.is_short() && self.is_one_site(other) && differ(own, others))
            && self.are_one_language(other)
    }

    /// Whether the main text is a short part of the page.
    fn is_short(&self) -> bool {
        self.texts.as_ref().is_some_and(|texts| texts.is_short)
    }

    fn are_one_language(&self, other: &Self) -> bool {
        !self.are_versions(other) && !differ(self.hints.language, other.hints.language)
    }

    /// Whether two pages with nearly the same judged text are alike, one page or not: their whole
    /// texts are similar too, and in one language.
    pub(crate) fn allows_alike(&self, other: &Self) -> bool {
        self.have_whole_texts_alike(other, OTHER_TEXT) && self.are_one_language(other)
    }

    /// Whether the whole texts are similar, as far as they are known.
    fn have_whole_texts_alike(&self, other: &Self, least: f64) -> bool {
        match (&self.texts, &other.texts) {
            (Some(a), Some(b)) => minhash::sketch_similarity(&a.whole, &b.whole) >= least,
            _ => true,
        }
    }

    /// Whether two pages have headlines that differ.
    pub(crate) fn have_two_headlines(&self, other: &Self) -> bool {
        differ(self.hints.headline, other.hints.headline)
    }

    /// Whether two pages with nearly the same judged text may be duplicates.
    ///
    /// The texts that they are not judged by must be similar too. Pages of one site, where the
    /// similarity may come from its template, must have the same headline. Language versions may
    /// not be duplicates.
    pub(crate) fn allows_near(&self, other: &Self) -> bool {
        self.allows_near_from(other, OTHER_TEXT)
    }

    fn allows_near_from(&self, other: &Self, least: f64) -> bool {
        let mains_are_alike = match (&self.texts, &other.texts) {
            (Some(a), Some(b)) if a.is_over_trimmed || b.is_over_trimmed => {
                minhash::sketch_similarity(&a.main, &b.main) >= OTHER_TEXT
            }
            _ => true,
        };
        mains_are_alike
            && self.have_whole_texts_alike(other, least)
            && self.are_one_language(other)
            && !(self.is_one_site(other) && self.have_two_headlines(other))
    }

    /// Whether two pages that match at a tier may be duplicates.
    pub(crate) fn allows(&self, other: &Self, tier: Tier) -> bool {
        match tier {
            Tier::Raw => true,
            Tier::Normalized => self.allows_normalized(other),
            Tier::Content => self.allows_content(other),
            Tier::Near => self.allows_near(other),
        }
    }

    /// Whether two pages that match at a tier may be duplicates if their own parts agree: as above,
    /// with less of their whole texts in common.
    pub(crate) fn allows_if_proved(&self, other: &Self, tier: Tier) -> bool {
        match tier {
            Tier::Raw => true,
            Tier::Normalized => self.allows_normalized(other),
            Tier::Content => self.allows_content_from(other, OTHER_TEXT_IF_PROVED),
            Tier::Near => self.allows_near_from(other, OTHER_TEXT_IF_PROVED),
        }
    }
}

/// Whether both values are known and differ.
fn differ(a: Option<u32>, b: Option<u32>) -> bool {
    a.is_some() && b.is_some() && a != b
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dedup::PageHints;

    fn hints(host: &str, title: &str, h1: &str) -> PageHints {
        let known = |text: &str| (!text.is_empty()).then(|| text.to_owned());
        PageHints {
            host: known(host),
            title: known(title),
            h1: known(h1),
            ..PageHints::default()
        }
    }

    fn veto(main: &str, visible: &str, hints: &PageHints) -> Veto {
        let text = Text::new(main, visible).with_hints(hints);
        Veto::of(&text, &Permutations::new(0), None)
    }

    fn words_of(name: &str, count: usize) -> String {
        let words: Vec<_> = (0..count).map(|n| format!("{name}{n}")).collect();
        words.join(" ")
    }

    #[test]
    fn one_site_s_pages_need_one_headline_to_be_near() {
        let near = |a: &PageHints, b: &PageHints| {
            let text = words_of("w", 100);
            veto(&text, &text, a).allows_near(&veto(&text, &text, b))
        };
        let (one, two) = (
            hints("a.example", "Bar line", ""),
            hints("a.example", "Simile", ""),
        );
        assert!(near(&one, &one));
        assert!(!near(&one, &two));
        assert!(near(&one, &hints("b.example", "Simile", "")));
        assert!(
            !near(
                &hints("www.a.example", "Bar line", ""),
                &hints("shop.a.example", "Simile", "")
            ),
            "subdomains of one site"
        );
        assert!(!near(&one, &hints("", "Simile", "")), "hosts not known");
        assert!(near(&one, &PageHints::default()));
        let german = PageHints {
            language: Some("de"),
            ..one.clone()
        };
        let english = PageHints {
            language: Some("en"),
            ..one.clone()
        };
        assert!(!near(&german, &english));
        assert!(near(&german, &one));
    }

    fn id(n: u64) -> UrlId {
        UrlId::from_bytes((u128::from(n) << 96).to_be_bytes())
    }

    fn of_hints(hints: &PageHints) -> Veto {
        let text = words_of("w", 100);
        veto(&text, &text, hints)
    }

    #[test]
    fn a_page_in_two_languages_is_two_pages() {
        let versions = |ids: &[u64]| {
            of_hints(&PageHints {
                versions: ids.iter().copied().map(id).collect(),
                ..hints("a.example", "Home", "")
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
            of_hints(&PageHints {
                language,
                declared_language: Some(declared.to_owned()),
                ..PageHints::default()
            })
        };
        let (english, german) = (declared(None, "en-gb"), declared(None, "de"));
        assert!(!english.allows_content(&german) && !english.allows_near(&german));
        assert!(english.allows_near(&declared(None, "en")));
        // The language of the text wins over the declared one.
        assert!(english.allows_near(&declared(Some("en"), "de")));
    }

    #[test]
    fn pages_of_a_series_know_each_other() {
        let page = |host: &str, series: Option<u64>, neighbours: &[u64]| {
            of_hints(&PageHints {
                series: series.map(id),
                neighbours: neighbours.iter().copied().map(id).collect(),
                ..hints(host, "List", "")
            })
        };
        let check = |a: &Veto, own: u64, b: &Veto, other: u64, expected: bool| {
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
        let page = |main: &str| veto(main, &format!("{frame} {main}"), &PageHints::default());
        let (one, two) = (words_of("one", 60), words_of("two", 60));
        assert!(page(&one).is_over_trimmed());
        assert!(!page(&one).allows_near(&page(&two)));
        assert!(page(&one).allows_near(&page(&one)));
    }

    #[test]
    fn frames_of_two_sites_count_less_where_own_parts_agree() {
        let main = words_of("main", 200);
        let page = |host: &str, rest: usize| {
            let text = format!("{main} {}", words_of(&host[..1], rest));
            veto(&main, &text, &hints(host, "Report", ""))
        };
        let (one, two) = (page("a.example", 110), page("b.example", 110));
        assert!(!one.allows_near(&two) && !one.allows_content(&two));
        for tier in Tier::ALL {
            assert!(one.allows_if_proved(&two, tier), "{tier:?}");
        }
        // What was left out is most of both: a table, perhaps.
        let (one, two) = (page("a.example", 550), page("b.example", 550));
        assert!(!one.allows_if_proved(&two, Tier::Content));
        assert!(!one.allows_if_proved(&two, Tier::Near));
    }

    #[test]
    fn little_main_text_is_borne_out_by_the_headline() {
        let named = hints("", "Opening hours", "");
        let frame = words_of("frame", 90);
        let notice = "please note that this page is old";
        let page = |rest: &str, hints: &PageHints| {
            veto(notice, &format!("{frame} {notice} {rest}"), hints)
        };
        let (one, two) = (page("one", &named), page("two", &named));
        assert!(one.allows_content(&two));
        assert!(!one.allows_content(&page("two", &PageHints::default())));
        let other = page(&words_of("table", 200), &named);
        assert!(!one.allows_content(&other));
    }

    #[test]
    fn one_host_s_short_texts_under_two_headlines_are_two_pages() {
        let imprint = words_of("imprint", 30);
        let page = |host: &str, title: &str| {
            let hints = hints(host, title, "");
            veto(
                &imprint,
                &format!("{title} {imprint} {}", words_of("frame", 50)),
                &hints,
            )
        };
        let page_of = page("one.example", "Constructors");
        assert!(!page_of.is_over_trimmed());
        assert!(page_of.allows_content(&page("one.example", "Constructors")));
        assert!(!page_of.allows_content(&page("one.example", "Mixins")));
        // Mirrors put their own names into titles.
        assert!(page_of.allows_content(&page("two.example", "Constructors at two")));
    }
}
