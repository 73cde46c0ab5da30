//! What earlier crawls hold of pages (`archive.since`): taken in from their files, confirmed when a
//! page is found unchanged, and given up where the body is not at hand.

use std::collections::BTreeMap;

use crate::archive::RecordKind;
use crate::dedup::{Document, Fingerprints, Stored, StoredFor};
use crate::engine::Error;
use crate::engine::admission::ForgottenNow;
use crate::engine::commit::Group;
use crate::engine::visit::{Analysed, EarlierCapture, EarlierPart, Held, Judged, Since};
use crate::fetch::Outcome;
use crate::frontier::Purpose;
use crate::journal::RecordPlace;
use crate::rows::{Compared, EARLIER, EarlierFile, EarlierPage, PageRecord};
use crate::store::{self, Store, Table};
use crate::url::{Identity, UrlId};

/// Takes in what a part of an earlier crawl's archive holds. The latest answer to a URL counts; a
/// page that this crawl has found unchanged keeps the record that it refers to. What was forgotten
/// is not taken in, nor what would be known by its URL.
pub(crate) fn remember(
    part: EarlierPart,
    forgotten: &ForgottenNow,
    group: &mut Group<'_>,
) -> Result<(), Error> {
    let mut rows: BTreeMap<UrlId, EarlierPage> = BTreeMap::new();
    for capture in part.captures {
        let is_named = match &capture.held {
            Held::ReferredTo { url: (id, url), .. } => forgotten.has((*id, url), group)?,
            Held::Here(_) | Held::Nowhere => false,
        };
        if is_named || forgotten.has((capture.id, &capture.url), group)? {
            continue;
        }
        let store = &*group.set.store;
        let row = |id: &UrlId| -> Result<Option<EarlierPage>, Error> {
            match rows.get(id) {
                Some(row) => Ok(Some(row.clone())),
                None => Ok(EARLIER.get(store, id.as_bytes())?),
            }
        };
        let own = row(&capture.id)?;
        let is_settled = |own: &EarlierPage| own.confirmed.is_some() || own.seen > capture.seen;
        if own.as_ref().is_some_and(is_settled) {
            continue;
        }
        if let Some(page) = held(&capture, own, row)? {
            rows.insert(capture.id, page);
        }
    }
    for (id, page) in rows {
        EARLIER.put(&mut group.set.batch, *id.as_bytes(), &page);
    }
    part.file.put(&part.name, &mut group.set.batch);
    Ok(())
}

/// Takes a page for changed that is the same as what was forgotten since it was asked for: no
/// record may name that.
pub(crate) fn settle_since(
    visit: &mut Analysed,
    forgotten: &ForgottenNow,
    identity: &Identity,
    store: &dyn Store,
) -> Result<(), Error> {
    let Some(url) = visit.unchanged_since().and_then(|it| it.url.as_deref()) else {
        return Ok(());
    };
    if forgotten.names(url, identity, store)? {
        visit.since = Some(Since::Changed);
    }
    Ok(())
}

/// Returns what is held of a page according to one more answer to it; `None` if its body is not at
/// hand.
fn held(
    capture: &EarlierCapture,
    own: Option<EarlierPage>,
    row: impl Fn(&UrlId) -> Result<Option<EarlierPage>, Error>,
) -> Result<Option<EarlierPage>, Error> {
    let (record, url, date) = match &capture.held {
        Held::Here(page) => return Ok(Some(page.clone())),
        Held::Nowhere => return Ok(None),
        Held::ReferredTo { record, url, date } => (record, url, date),
    };
    let is_it = |page: &EarlierPage| match *record {
        record if record != [0; 16] => page.record == record,
        _ => page.date == *date,
    };
    let own = own.filter(is_it);
    let validators = own.as_ref().and_then(|own| own.validators.clone());
    let held = match own {
        Some(own) => Some(own),
        None => row(&url.0)?.filter(is_it),
    };
    Ok(held.map(|held| EarlierPage {
        url: (url.1 != capture.url).then(|| url.1.clone()),
        seen: capture.seen,
        // Those of another URL say nothing of this one.
        validators: capture.validators.clone().or(validators),
        confirmed: None,
        ..held
    }))
}

/// Returns the response of an earlier crawl that has the payload of this visit, as a document.
pub(crate) fn document_of(page: &EarlierPage, judged: &Judged<'_>) -> Document {
    let queued = &judged.analysed.fetched.task.queued;
    let url = page.url.as_ref().unwrap_or(&queued.url);
    Document {
        id: 0,
        url_id: queued.id,
        url: queued.url.clone(),
        fetched: page.date,
        stored: Stored {
            record: page.record,
            segment: Stored::ELSEWHERE,
            ..Stored::default()
        },
        stored_for: Some(Box::new(StoredFor {
            url: url.clone(),
            fetched: page.date,
        })),
        payload: page.payload,
        fingerprints: Fingerprints::default(),
    }
}

/// Notes what a first visit, now over, found of a page that an earlier crawl had.
pub(crate) fn note_since(analysed: &Analysed, identity: &Identity, group: &mut Group<'_>) {
    let Some(since) = &analysed.since else {
        return;
    };
    let task = &analysed.fetched.task;
    let compared = match since {
        Since::Unchanged { page, .. } => {
            let confirmed = EarlierPage {
                confirmed: Some(analysed.micros()),
                ..(**page).clone()
            };
            let id = identity.as_written(&task.url);
            EARLIER.put(&mut group.set.batch, *id.as_bytes(), &confirmed);
            Compared::UnchangedSince
        }
        Since::Changed | Since::Lost => Compared::ChangedSince,
    };
    if task.queued.purpose == Purpose::Page
        && matches!(analysed.fetched.outcome, Outcome::Exchange(_))
    {
        group.set.state.counters.revisits.add_named(&compared);
    }
}

/// Gives up what an earlier crawl holds of a page, since its body is not at hand: the page is asked
/// for whole.
pub(crate) fn forget_since(analysed: &Analysed, identity: &Identity, group: &mut Group<'_>) {
    let task = &analysed.fetched.task;
    let id = identity.as_written(&task.url);
    group.set.batch.delete(Table::Earlier, *id.as_bytes());
    group
        .set
        .state
        .counters
        .revisits
        .add_named(&Compared::LostSince);
}

/// Returns the place of a response in the archive of an earlier crawl.
pub(crate) fn earlier_place(
    store: &dyn Store,
    page: &EarlierPage,
) -> Result<Option<RecordPlace>, store::Error> {
    let name = EarlierFile::name(store, page.file)?;
    Ok(name.map(|file| RecordPlace {
        kind: RecordKind::Response,
        file,
        offset: page.offset,
        length: page.length,
    }))
}

/// Returns where the earlier crawl has the body to which a page's own revisit record refers.
pub(crate) fn confirmed_place(
    store: &dyn Store,
    page: &PageRecord,
) -> Result<Option<RecordPlace>, store::Error> {
    let row = EarlierPage::of(store, &page.url)?;
    match row.filter(|row| row.confirmed.is_some()) {
        Some(row) => earlier_place(store, &row),
        None => Ok(None),
    }
}

/// Returns where an earlier crawl has the response of a document, if it is there and known.
pub(crate) fn document_place(
    store: &dyn Store,
    document: &Document,
) -> Result<Option<RecordPlace>, store::Error> {
    match EarlierPage::of_document(store, document)? {
        Some(row) => earlier_place(store, &row),
        None => Ok(None),
    }
}
