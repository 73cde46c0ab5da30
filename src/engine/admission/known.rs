//! Admission of what earlier crawls know: each URL becomes seen and gets a page record that says
//! so; a page unlike all others becomes a document whose response is elsewhere.

use crate::dedup::{Document, DocumentId, Fingerprints, Ineligible, Rules, Stored, Verdict};
use crate::engine::Error;
use crate::engine::commit::Group;
use crate::engine::visit::{KnownBody, KnownPage, KnownPages};
use crate::rows::{Fate, PAGES, PageRecord};
use crate::store::{Store, Table, encode};
use crate::url::UrlId;

/// Admits what a part of an earlier crawl's archive knows.
pub(crate) fn know(known: KnownPages, rules: &Rules, group: &mut Group<'_>) -> Result<(), Error> {
    for page in known.pages {
        let is_new = group.see(page.id);
        if !is_new {
            let before = group.set.page(page.id)?;
            let is_better = page.body.is_some() && matches!(page.status, 200..300);
            if !is_better || !before.is_some_and(|before| has_no_page(before)) {
                continue;
            }
        }
        group.set.state.counters.known += u64::from(is_new);
        let document = match &page.body {
            Some(body) => known_document(&page, body, rules, group)?,
            None => None,
        };
        let record = PageRecord {
            validators: None,
            url: page.url,
            via: None,
            depth: 0,
            time: page.time,
            attempts: 0,
            fate: Fate::Known {
                status: page.status,
                mime: page.mime,
                archive: known.archive.clone(),
            },
            revisit: None,
            document: None,
            record: None,
            stored_members: 0,
            // Seen now by this crawl, however long ago the earlier one was there.
            last_seen: group.set.now.micros(),
        };
        group.set.put_page(page.id, record, document);
    }
    let through = encode(&known.through);
    group.set.batch.put(Table::Meta, known.progress, through);
    Ok(())
}

/// Returns `true` if all that earlier crawls know of a URL are answers without a page: redirects,
/// errors, unchanged pages.
pub(crate) fn is_without_page(store: &dyn Store, id: UrlId) -> Result<bool, Error> {
    let row = PAGES.get(store, id.as_bytes())?;
    Ok(row.as_ref().is_some_and(has_no_page))
}

fn has_no_page(row: &PageRecord) -> bool {
    matches!(row.fate, Fate::Known { status, .. } if !matches!(status, 200..300))
}

/// Adds the document of a known page, unless it repeats one.
fn known_document(
    page: &KnownPage,
    body: &KnownBody,
    rules: &Rules,
    group: &mut Group<'_>,
) -> Result<Option<DocumentId>, Error> {
    let is_page = !body.is_refusal || !rules.of(&page.url).refusals;
    let verdict = match body.fingerprints.as_ref().filter(|_| is_page) {
        Some(fingerprints) => {
            let page = (page.id, page.url.as_str());
            group.judge(page, fingerprints, None, rules)?.verdict
        }
        None => Verdict::Ineligible(Ineligible::Status),
    };
    let fingerprints = match (&verdict, &body.fingerprints) {
        (Verdict::Unique, Some(fingerprints)) => fingerprints.clone(),
        _ if !group.find_payload(&body.payload, 1)?.is_empty() => return Ok(None),
        _ => Fingerprints::default(),
    };
    Ok(Some(group.add_document(Document {
        id: 0,
        url_id: page.id,
        url: page.url.clone(),
        fetched: page.time,
        stored: Stored {
            record: body.record,
            segment: Stored::ELSEWHERE,
            ..Stored::default()
        },
        stored_for: None,
        payload: body.payload,
        fingerprints,
    })))
}
