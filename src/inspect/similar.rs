//! `similar`: the stored pages that are most similar to a page.
//!
//! Every original is compared, so that none is missed because an index does not find it. This reads
//! all pages of the crawl, and keeps only the best in memory.

use std::cmp::Reverse;

use serde::{Deserialize, Serialize};

use super::top::Top;
use super::{Error, MAX_LISTED};
use crate::dedup::{Comparison, Fingerprints, Similarity, Tier};
use crate::engine::View;
use crate::journal::RecordPlace;
use crate::rows::cluster::Head;
use crate::rows::{ArchiveNames, Fate, PAGES};
use crate::url::{Url, UrlId};

/// The page with which stored pages are compared.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Subject {
    /// A page of the crawl, in any form of its URL.
    Url(String),
    /// The fingerprints of any other page.
    Page(Box<Fingerprints>),
}

/// The stored pages that are most similar to a subject.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Similar {
    /// If the subject is a duplicate, the original that was compared instead, because the body of
    /// the duplicate may not be stored.
    pub by: Option<Original>,
    /// The pages, most similar first.
    pub pages: Vec<SimilarPage>,
}

/// The original of a duplicate.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Original {
    /// Its URL.
    pub url: String,
    /// The tier that found the duplicate.
    pub tier: Tier,
    /// Similarity of the two pages, 0 to 1.
    pub similarity: Similarity,
}

/// A stored page, and how similar it is to the subject.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct SimilarPage {
    /// The URL as it was requested.
    pub url: String,
    /// Title of the page.
    pub title: Option<String>,
    /// Similarity to the subject, 0 to 1.
    pub similarity: Similarity,
    /// Number of bits in which the `SimHashes` differ; `None` if one page is too short for a
    /// `SimHash`.
    pub distance: Option<u8>,
    /// The tier by which a crawl would call the two pages duplicates, if any.
    pub tier: Option<Tier>,
    /// Where its response is stored; `None` if it is in the archive of an earlier crawl.
    pub record: Option<RecordPlace>,
}

/// The fingerprints to compare with, and what they stand for.
struct Basis {
    /// The page itself, to be left out.
    own: Option<UrlId>,
    fingerprints: Fingerprints,
    /// If the subject is a duplicate: its original, and how the two compare.
    by: Option<(UrlId, Original, Comparison)>,
}

/// The `limit` stored pages that are most similar to the subject; `None` if the subject is a URL
/// that is neither stored nor a duplicate of a stored page.
pub(crate) fn similar(
    view: &View,
    subject: &Subject,
    limit: usize,
) -> Result<Option<Similar>, Error> {
    let basis = match subject {
        Subject::Page(fingerprints) => Basis {
            own: None,
            fingerprints: (**fingerprints).clone(),
            by: None,
        },
        Subject::Url(url) => {
            let Ok(url) = crate::url::parse(url) else {
                return Ok(None);
            };
            match stored(view, &url)? {
                Some(basis) => basis,
                None => return Ok(None),
            }
        }
    };
    let names = &ArchiveNames::read(view.store())?;
    let mut top = Top::new(limit.min(MAX_LISTED));
    PAGES.for_each(view.store(), &[], &mut |key, page| {
        if basis.own.is_some_and(|own| own.as_bytes() == key) {
            return Ok(());
        }
        let Some(document) = page.original() else {
            return Ok(());
        };
        let by = basis.by.as_ref();
        let found = match by.filter(|(id, ..)| id.as_bytes() == key) {
            Some((_, _, found)) => Some(*found),
            None => basis.fingerprints.compare(&document.fingerprints),
        };
        let Some(found) = found.filter(|found| found.similarity > Similarity::default()) else {
            return Ok(());
        };
        // Equally similar pages are listed in the order of their discovery, not that of their keys.
        let distance = Reverse(found.distance.unwrap_or(0));
        let place = (found.similarity, distance, Reverse(document.id));
        top.offer_with(place, || {
            let title = match &page.fate {
                Fate::Answered { title, .. } => title.clone(),
                _ => None,
            };
            SimilarPage {
                url: page.url.clone(),
                title,
                similarity: found.similarity,
                distance: found.distance,
                tier: found.tier,
                record: RecordPlace::of_stored(names, &document.stored),
            }
        });
        Ok(())
    })?;
    Ok(Some(Similar {
        by: basis.by.map(|(_, original, _)| original),
        pages: top.into_sorted(),
    }))
}

/// The fingerprints of a page of the crawl, or of its original if it is a duplicate.
fn stored(view: &View, url: &Url) -> Result<Option<Basis>, Error> {
    let store = view.store();
    let id = view.identity()?.id(url);
    let Some(found) = PAGES.get(store, id.as_bytes())? else {
        return Ok(None);
    };
    if let Some(document) = found.original() {
        return Ok(Some(Basis {
            own: Some(id),
            fingerprints: document.fingerprints.clone(),
            by: None,
        }));
    }
    let Some(duplicate) = found.duplicate() else {
        return Ok(None);
    };
    let Some(head) = Head::read(store, duplicate.of, duplicate.page)? else {
        return Ok(None);
    };
    Ok(head.document().map(|document| Basis {
        own: None,
        fingerprints: document.fingerprints.clone(),
        by: Some({
            let original = Original {
                url: head.page.url.clone(),
                tier: duplicate.tier,
                similarity: duplicate.similarity,
            };
            let found = Comparison {
                tier: Some(duplicate.tier),
                distance: Some(duplicate.distance),
                similarity: duplicate.similarity,
            };
            (head.id, original, found)
        }),
    }))
}
