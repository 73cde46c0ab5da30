//! The stored pages that are most like a page: every original is compared, so that none is missed
//! because an index does not lead to it. That takes a pass over the pages of the crawl, and no memory
//! but for the best.

use std::cmp::Reverse;

use serde::{Deserialize, Serialize};

use super::top::Top;
use super::{Error, MAX_LISTED};
use crate::dedup::{Comparison, Fingerprints, Similarity, Tier};
use crate::engine::View;
use crate::journal::RecordPlace;
use crate::rows::cluster::Head;
use crate::rows::{Fate, PAGES};
use crate::url::{Url, UrlId};

/// What stored pages are compared with.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Subject {
    /// A page of the crawl.
    Url(String),
    /// A page from elsewhere.
    Page(Box<Fingerprints>),
}

/// The stored pages that are most like a subject.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Similar {
    /// The original that a duplicate was compared by: its own body may not be stored.
    pub by: Option<Original>,
    /// The most similar first.
    pub pages: Vec<SimilarPage>,
}

/// What a duplicate repeats.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Original {
    /// Its URL.
    pub url: String,
    /// By which tier.
    pub tier: Tier,
    /// How alike the two are, 0 to 1.
    pub similarity: Similarity,
}

/// A stored page, and how like the subject it is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SimilarPage {
    /// The URL as it was requested.
    pub url: String,
    /// Title of the page.
    pub title: Option<String>,
    /// From 0 to 1.
    pub similarity: Similarity,
    /// Bits in which the `SimHashes` differ; `None` where one is too short for it.
    pub distance: Option<u8>,
    /// By which tier a crawl would call the two the same; `None` if by none.
    pub tier: Option<Tier>,
    /// Where its response is stored; `None` where an earlier crawl has it.
    pub record: Option<RecordPlace>,
}

/// What a subject is compared by.
struct Basis {
    /// The page that is not compared with itself.
    own: Option<UrlId>,
    fingerprints: Fingerprints,
    /// The original in whose place a duplicate asks, and how alike the two are.
    by: Option<(UrlId, Original, Comparison)>,
}

/// The `limit` stored pages that are most like the subject; `None` if it is a URL that is not stored
/// and repeats nothing that is.
pub(super) fn similar(
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
        // Equally similar ones in the order of their discovery, whatever the order of their keys.
        let distance = Reverse(found.distance.unwrap_or(0));
        let place = (found.similarity, distance, Reverse(document.id));
        top.offer_with(place, || {
            let title = match &page.fate {
                Fate::Answered { title, .. } => title.clone(),
                Fate::Failed { .. } | Fate::Sitemap { .. } | Fate::Known { .. } => None,
            };
            SimilarPage {
                url: page.url.clone(),
                title,
                similarity: found.similarity,
                distance: found.distance,
                tier: found.tier,
                record: RecordPlace::of_stored(&document.stored),
            }
        });
        Ok(())
    })?;
    Ok(Some(Similar {
        by: basis.by.map(|(_, original, _)| original),
        pages: top.into_sorted(),
    }))
}

/// What a page of the crawl is compared by: its own fingerprints, or those of its original.
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
