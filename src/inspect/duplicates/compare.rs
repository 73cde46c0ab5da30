//! What the texts of two pages have in common, and what each has alone.

use std::path::Path;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use similar::{ChangeTag, TextDiff};

use crate::dedup::Tier;
use crate::inspect::{Error, Shown};
use crate::journal::{Bodies, Texts};

/// Bytes of each text that are compared.
const MAX_TEXT: usize = 1 << 20;

/// Time after which a difference need not be the shortest.
const PATIENCE: Duration = Duration::from_secs(2);

/// Two pages beside each other.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Comparison {
    /// The first page.
    pub a: Side,
    /// The second page.
    pub b: Side,
    /// The visible texts of both, in parts.
    pub parts: Vec<Part>,
    /// Words that both have, in this order.
    pub both: usize,
}

/// One of two pages.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Side {
    /// Its URL as it was requested.
    pub url: String,
    /// Its title, if it has one.
    pub title: Option<String>,
    /// Number of words of its visible text.
    pub words: usize,
    /// The verdict on it.
    pub verdict: String,
    /// For a duplicate, URL of the original.
    pub original: Option<String>,
}

/// A part of two texts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Part {
    /// Both have it.
    Both(String),
    /// Only the first has it.
    A(String),
    /// Only the second has it.
    B(String),
}

/// Reads the title and the visible text of a page, a line for each block, from the archive in a
/// data directory. What a converter made of a document is its text.
///
/// # Errors
///
/// If its body was not kept, or cannot be read.
pub fn text_of(
    data: &Path,
    texts: &Texts,
    shown: &Shown,
) -> Result<(Option<String>, String), Error> {
    if let Some(place) = &shown.text {
        let record = texts.record(place).map_err(Error::Archive)?;
        let text = String::from_utf8_lossy(&record.block).into_owned();
        return Ok((None, text));
    }
    let Some(place) = &shown.body else {
        return Err(Error::NoBody {
            url: shown.url.clone(),
            reason: shown.reason.clone().unwrap_or_default(),
        });
    };
    let content = Bodies::of(data).read(place).map_err(|source| Error::Body {
        url: shown.url.clone(),
        source,
    })?;
    let page = texts.page(&shown.url, &content);
    Ok(page.map_or((None, String::new()), |page| (page.title, page.full_text)))
}

/// Compares the visible texts of two pages, word by word.
///
/// # Errors
///
/// Those of [`text_of`].
pub fn compare(data: &Path, texts: &Texts, a: &Shown, b: &Shown) -> Result<Comparison, Error> {
    let side = |shown: &Shown| {
        let (title, mut text) = text_of(data, texts, shown)?;
        text.truncate(text.floor_char_boundary(MAX_TEXT));
        let side = Side {
            url: shown.url.clone(),
            title,
            words: text.split_whitespace().count(),
            verdict: shown.verdict.clone(),
            original: shown.original.clone(),
        };
        Ok::<_, Error>((side, text))
    };
    let ((a, of_a), (b, of_b)) = (side(a)?, side(b)?);
    let parts = parts(&of_a, &of_b);
    let both = parts.iter().map(|part| match part {
        Part::Both(text) => text.split_whitespace().count(),
        Part::A(_) | Part::B(_) => 0,
    });
    Ok(Comparison {
        both: both.sum(),
        parts,
        a,
        b,
    })
}

/// The parts of two texts: together those of the first and of both are the first, those of the
/// second and of both are the second.
fn parts(a: &str, b: &str) -> Vec<Part> {
    let difference = TextDiff::configure().timeout(PATIENCE).diff_words(a, b);
    let mut parts: Vec<Part> = Vec::new();
    for change in difference.iter_all_changes() {
        let text = change.value();
        match (parts.last_mut(), change.tag()) {
            (Some(Part::Both(last)), ChangeTag::Equal)
            | (Some(Part::A(last)), ChangeTag::Delete)
            | (Some(Part::B(last)), ChangeTag::Insert) => last.push_str(text),
            (_, ChangeTag::Equal) => parts.push(Part::Both(text.to_owned())),
            (_, ChangeTag::Delete) => parts.push(Part::A(text.to_owned())),
            (_, ChangeTag::Insert) => parts.push(Part::B(text.to_owned())),
        }
    }
    parts
}

impl Comparison {
    /// Returns the tier for which one of them is a duplicate of the other; `None` if neither is.
    pub fn tier(&self) -> Option<Tier> {
        let of = |side: &Side, other: &Side| {
            let is_of_other = side.original.as_ref() == Some(&other.url);
            let mut tiers = Tier::ALL.into_iter();
            tiers.find(|tier| is_of_other && tier.name() == side.verdict)
        };
        of(&self.a, &self.b).or_else(|| of(&self.b, &self.a))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_parts_make_both_texts() {
        let both = |text: &str| Part::Both(text.to_owned());
        let (a, b) = (
            "The tide is low.\nGauge 7: 12 cm",
            "The tide is high.\nGauge 7: 31 cm",
        );
        let expected = [
            both("The tide is "),
            Part::A("low.".to_owned()),
            Part::B("high.".to_owned()),
            both("\nGauge 7: "),
            Part::A("12".to_owned()),
            Part::B("31".to_owned()),
            both(" cm"),
        ];
        assert_eq!(parts(a, b), expected);
        assert_eq!(parts(a, a), [both(a)]);
        assert_eq!(parts("", ""), []);
        assert_eq!(parts("", "x"), [Part::B("x".to_owned())]);
    }
}
