//! `show`: where the body of a page is, from its rows. Whoever asks reads the files, which are
//! complete up to what is committed.

use serde::{Deserialize, Serialize};

use super::Error;
use crate::engine::{View, body_place};
use crate::journal::{BodyPlace, RecordPlace};
use crate::rows::cluster::Head;
use crate::rows::{ArchiveNames, Converted, Fate, Judgement, PAGES, PageRecord};
use crate::store::Store;
use crate::url::{self, UrlId};

/// A page, and where its body is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Shown {
    /// The URL as it was requested.
    pub url: String,
    /// The verdict on the page.
    pub verdict: String,
    /// For a duplicate, URL of the original.
    pub original: Option<String>,
    /// Where its body is; `None` if it was not kept.
    pub body: Option<BodyPlace>,
    /// If it was not, why.
    pub reason: Option<String>,
    /// If a converter made a text of its body, where that is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<RecordPlace>,
    /// If a converter could not, why.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub converter: Option<String>,
}

/// Finds the body of a page; `None` if the URL was never visited.
pub(super) fn shown(view: &View, url: &str) -> Result<Option<Shown>, Error> {
    let parsed = url::parse(url).map_err(|source| Error::Url {
        url: url.to_owned(),
        source,
    })?;
    let store = view.store();
    let identity = view.identity()?;
    // A page, or a file that a page needs.
    for id in [identity.id(&parsed), identity.as_written(&parsed)] {
        if let Some(page) = PAGES.get(store, id.as_bytes())? {
            return Ok(Some(of_page(store, id, page)?));
        }
    }
    Ok(None)
}

/// Finds the body of a page by its record.
pub(super) fn of_page(store: &dyn Store, id: UrlId, page: PageRecord) -> Result<Shown, Error> {
    let body = body_place(store, id, &page)?;
    let (text, converter) = match Converted::of(store, id)? {
        Some(Converted::Text(place)) => {
            let names = ArchiveNames::read(store)?;
            (Some(RecordPlace::of_text(&names, &place)), None)
        }
        Some(Converted::Failed(reason)) => (None, Some(reason)),
        None => (None, None),
    };
    let original = match page.duplicate() {
        Some(duplicate) => Head::read(store, duplicate.of, duplicate.page)?,
        None => None,
    };
    Ok(Shown {
        verdict: verdict(&page).to_owned(),
        original: original.map(|original| original.page.url),
        reason: body.is_none().then(|| reason(&page)),
        body,
        url: page.url,
        text,
        converter,
    })
}

fn verdict(page: &PageRecord) -> &'static str {
    match &page.fate {
        Fate::Answered { judgement, .. } => match judgement {
            Judgement::Unique => "unique",
            Judgement::Duplicate(duplicate) => duplicate.tier.name(),
            Judgement::Ineligible(_) => "ineligible",
        },
        Fate::Sitemap { .. } => "sitemap",
        Fate::Requisite { .. } => "requisite",
        Fate::Failed { .. } | Fate::FailedRequisite { .. } => "failed",
        Fate::Known { .. } => "known",
    }
}

/// Returns why the body of a page is not in the archives of the crawl.
fn reason(page: &PageRecord) -> String {
    match &page.fate {
        Fate::Failed { class, message, .. } | Fate::FailedRequisite { class, message, .. } => {
            format!("there was no response: {class}: {message}")
        }
        Fate::Known { archive, .. } => {
            format!("the response is in {archive}, in the archive of an earlier crawl")
        }
        Fate::Sitemap { .. } | Fate::Requisite { .. } => {
            "the response is not in the archive".to_owned()
        }
        Fate::Answered { .. } if page.duplicate().is_some() => {
            "only its verdict was kept: archive.duplicate_bodies was not \"delta\" when it was \
             visited"
                .to_owned()
        }
        Fate::Answered { .. } => "the response is not in the archive of this crawl".to_owned(),
    }
}
