//! What a page asks of robots: by meta tags, by `X-Robots-Tag` and other response headers, and for
//! single links by `rel`. It is read as written; the engine decides what to obey.

use html5ever::local_name;
use serde::{Serialize, Serializer};

use crate::page::html::{Outline, attribute, has_token};

/// Something that a page asks of robots.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Wish {
    /// Do not keep the page in an index.
    Noindex,
    /// Do not follow its links.
    Nofollow,
    /// Do not keep a copy.
    Noarchive,
    /// Do not train models on it (a convention of image hosts since 2022, in no standard).
    Noai,
    /// Do not train models on its images.
    Noimageai,
    /// The rights of text and data mining are reserved (`TDMRep`, W3C community group, 2024).
    TdmReservation,
}

impl Wish {
    /// All wishes with their names, as pages write them.
    pub const ALL: [(Self, &'static str); 6] = [
        (Self::Noindex, "noindex"),
        (Self::Nofollow, "nofollow"),
        (Self::Noarchive, "noarchive"),
        (Self::Noai, "noai"),
        (Self::Noimageai, "noimageai"),
        (Self::TdmReservation, TDM_RESERVATION),
    ];
}

/// The name of the header and of the meta tag.
const TDM_RESERVATION: &str = "tdm-reservation";

/// A set of wishes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Wishes(u8);

impl Wishes {
    /// Reads the values of all `X-Robots-Tag` headers. A directive may be addressed to one crawler
    /// (`otherbot: noindex, nofollow`); those for crawlers other than `product_token` are ignored.
    pub fn from_header_values<'a>(
        values: impl IntoIterator<Item = &'a str>,
        product_token: &str,
    ) -> Self {
        let mut wishes = Self::default();
        for value in values {
            let mut addressed = true;
            for part in value.split(',') {
                let mut directive = part.trim();
                if let Some((name, rest)) = directive.split_once(':')
                    && !has_value(name.trim())
                {
                    addressed = name.trim().eq_ignore_ascii_case(product_token);
                    directive = rest.trim();
                }
                if addressed {
                    wishes.read(directive);
                }
            }
        }
        wishes
    }

    /// Reads the header `tdm-reservation`; `1` means reserved.
    pub fn from_tdm_reservation(value: Option<&str>) -> Self {
        let mut wishes = Self::default();
        if value.is_some_and(|value| value.trim() == "1") {
            wishes.add(Wish::TdmReservation);
        }
        wishes
    }

    /// Whether the set contains a wish.
    pub fn has(self, wish: Wish) -> bool {
        self.0 & (1 << wish as u8) != 0
    }

    /// The union of both sets.
    #[must_use]
    pub fn merge(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// The names of the wishes in the set.
    pub fn names(self) -> impl Iterator<Item = &'static str> {
        let all = Wish::ALL.into_iter();
        all.filter_map(move |(wish, name)| self.has(wish).then_some(name))
    }

    fn add(&mut self, wish: Wish) {
        self.0 |= 1 << wish as u8;
    }

    fn read(&mut self, directive: &str) {
        let is = |name: &str| directive.eq_ignore_ascii_case(name);
        for (wish, name) in Wish::ALL {
            // A reservation has a header and a meta tag of its own.
            if is(name) && wish != Wish::TdmReservation {
                self.add(wish);
            }
        }
        if is("none") {
            self.add(Wish::Noindex);
            self.add(Wish::Nofollow);
        }
        if is("nocache") {
            self.add(Wish::Noarchive);
        }
    }
}

impl Serialize for Wishes {
    /// Serializes each name with whether it is asked.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(Wish::ALL.map(|(wish, name)| (name, self.has(wish))))
    }
}

/// Directives with a value after a colon, so that the word before the colon is not the name of a
/// crawler.
fn has_value(name: &str) -> bool {
    [
        "unavailable_after",
        "max-snippet",
        "max-image-preview",
        "max-video-preview",
    ]
    .iter()
    .any(|known| name.eq_ignore_ascii_case(known))
}

/// The wishes in the meta tags named `robots` or like this crawler, by its product token, and in
/// the tag of the reservation.
pub(crate) fn of_page(outline: &Outline<'_>, product_token: &str) -> Wishes {
    let mut wishes = Wishes::default();
    for element in outline.metas() {
        let name = attribute(element, &local_name!("name"));
        let name = name.unwrap_or_default().trim();
        let content = || attribute(element, &local_name!("content")).unwrap_or_default();
        if name.eq_ignore_ascii_case("robots") || name.eq_ignore_ascii_case(product_token) {
            content()
                .split([',', ';', ' '])
                .for_each(|directive| wishes.read(directive.trim()));
        } else if name.eq_ignore_ascii_case(TDM_RESERVATION) {
            wishes = wishes.merge(Wishes::from_tdm_reservation(Some(content())));
        }
    }
    wishes
}

/// What a reference says about its target by `rel`: a set of the three words by which a site
/// declines to vouch for it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct Rel(u8);

impl Rel {
    /// The target is not vouched for.
    pub const NOFOLLOW: Self = Self(1);
    /// The reference was written by a visitor.
    pub const UGC: Self = Self(2);
    /// The reference was paid for.
    pub const SPONSORED: Self = Self(4);

    /// Reads the attribute.
    pub(super) fn read(rel: &str) -> Self {
        let words = [
            (Self::NOFOLLOW, "nofollow"),
            (Self::UGC, "ugc"),
            (Self::SPONSORED, "sponsored"),
        ];
        let said = words.into_iter().filter(|(_, word)| has_token(rel, word));
        said.fold(Self::default(), |all, (word, _)| all.with(word))
    }

    /// The union of both sets.
    #[must_use]
    pub fn with(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

/// What all references of a page to one target say about it: for each set of words, whether a
/// reference says exactly that.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rels(u8);

impl Rels {
    pub(super) fn of(rel: Rel) -> Self {
        Self(1 << rel.0)
    }

    pub(super) fn add(&mut self, rel: Rel) {
        self.0 |= 1 << rel.0;
    }

    /// Whether every reference contains one of these words. If one does not, the target is vouched
    /// for.
    pub fn all_say(self, obeyed: Rel) -> bool {
        (0..8).all(|said: u8| self.0 & (1 << said) == 0 || said & obeyed.0 != 0)
    }
}
