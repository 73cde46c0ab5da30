//! Where the body of a page is, by its rows.

use crate::archive::RecordKind;
use crate::dedup::Tier;
use crate::engine::Error;
use crate::journal::{BodyPlace, RecordPlace};
use crate::rows::cluster::Head;
use crate::rows::{KEPT, PageRecord};
use crate::store::{Store, Table, keys};
use crate::url::UrlId;

/// Returns where the body of a page is; `None` if it was not kept in the archives of this crawl.
pub fn body_place(
    store: &dyn Store,
    id: UrlId,
    page: &PageRecord,
) -> Result<Option<BodyPlace>, Error> {
    let record = page.record.as_ref();
    let own = record.map(|(kind, location)| (*kind, RecordPlace::of(*kind, location)));
    let response = |response, revisit| Some(BodyPlace::Response { response, revisit });
    let revisit = match own {
        Some((RecordKind::Response, own)) => return Ok(response(own, None)),
        Some((RecordKind::Revisit, own)) => Some(own),
        _ => None,
    };
    let duplicate = page.duplicate();
    if duplicate.is_some()
        && let Some(kept) = kept(store, id)?
    {
        return Ok(Some(kept));
    }
    let stored = page.document.as_ref();
    if let Some(stored) = stored.and_then(|it| RecordPlace::of_stored(&it.stored)) {
        return Ok(response(stored, revisit));
    }
    let Some(revisit) = revisit else {
        return Ok(None);
    };
    // A copy of its original, byte for byte.
    if let Some(duplicate) = duplicate.filter(|it| it.tier == Tier::Raw)
        && let Some(head) = Head::read(store, duplicate.of, duplicate.page)?
        && let Some(document) = head.document()
        && let Some(original) = RecordPlace::of_stored(&document.stored)
    {
        return Ok(response(original, Some(revisit)));
    }
    Ok(Some(BodyPlace::Revisit { revisit }))
}

/// Returns where the body of a duplicate is kept beside its original's.
fn kept(store: &dyn Store, id: UrlId) -> Result<Option<BodyPlace>, Error> {
    let Some(row) = KEPT.get(store, id.as_bytes())? else {
        return Ok(None);
    };
    let base = row.base;
    let base = base.map(|base| RecordPlace::of(RecordKind::Response, &base));
    if let Some((location, number)) = row.pack {
        let pack = RecordPlace {
            kind: RecordKind::Metadata,
            ..RecordPlace::of_text(&location)
        };
        return Ok(Some(BodyPlace::Pack { pack, number, base }));
    }
    let pack = store.get(Table::Meta, &keys::unpacked(id.as_bytes()))?;
    Ok(pack.map(|pack| BodyPlace::Waiting {
        pack: hex::encode(pack),
        base,
    }))
}
