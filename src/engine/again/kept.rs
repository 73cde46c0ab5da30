//! Where the body of a page is, by its rows.

use super::earlier::{confirmed_place, document_place};
use crate::archive::RecordKind;
use crate::dedup::Tier;
use crate::engine::Error;
use crate::journal::{BodyPlace, RecordPlace};
use crate::rows::cluster::Head;
use crate::rows::{ArchiveNames, KEPT, PageRecord};
use crate::store::{Store, Table, keys};
use crate::url::UrlId;

/// Returns where the body of a page is; `None` if it was not kept in the archives of this crawl.
pub fn body_place(
    store: &dyn Store,
    id: UrlId,
    page: &PageRecord,
) -> Result<Option<BodyPlace>, Error> {
    let names = &ArchiveNames::read(store)?;
    let record = page.record.as_ref();
    let own = record.map(|(kind, location)| (*kind, RecordPlace::of(names, *kind, location)));
    let response = |response, revisit| Some(BodyPlace::Response { response, revisit });
    let revisit = match own {
        Some((RecordKind::Response, own)) => return Ok(response(own, None)),
        Some((RecordKind::Revisit, own)) => Some(own),
        _ => None,
    };
    if revisit.is_some()
        && let Some(earlier) = confirmed_place(store, page)?
    {
        return Ok(response(earlier, revisit));
    }
    let duplicate = page.duplicate();
    let is_of_metadata = matches!(record, Some((RecordKind::Metadata, _)));
    if (duplicate.is_some() || is_of_metadata)
        && let Some(kept) = kept(store, names, id)?
    {
        return Ok(Some(kept));
    }
    let stored = page.document.as_ref();
    if let Some(stored) = stored {
        let place = match RecordPlace::of_stored(names, &stored.stored) {
            None => document_place(store, stored)?,
            own => own,
        };
        if let Some(place) = place {
            return Ok(response(place, revisit));
        }
    }
    let Some(revisit) = revisit else {
        return Ok(None);
    };
    // A copy of its original, byte for byte.
    if let Some(duplicate) = duplicate.filter(|it| it.tier == Tier::Raw)
        && let Some(head) = Head::read(store, duplicate.of, duplicate.page)?
        && let Some(document) = head.document()
    {
        let original = match RecordPlace::of_stored(names, &document.stored) {
            None => document_place(store, document)?,
            own => own,
        };
        if let Some(original) = original {
            return Ok(response(original, Some(revisit)));
        }
    }
    Ok(Some(BodyPlace::Revisit { revisit }))
}

/// Returns where the body of a duplicate is kept beside its original's.
fn kept(store: &dyn Store, names: &ArchiveNames, id: UrlId) -> Result<Option<BodyPlace>, Error> {
    let Some(row) = KEPT.get(store, id.as_bytes())? else {
        return Ok(None);
    };
    let base = row.base;
    let base = base.map(|base| RecordPlace::of(names, RecordKind::Response, &base));
    if let Some((location, number)) = row.pack {
        let pack = RecordPlace {
            kind: RecordKind::Metadata,
            ..RecordPlace::of_text(names, &location)
        };
        return Ok(Some(BodyPlace::Pack { pack, number, base }));
    }
    let pack = store.get(Table::Meta, &keys::unpacked(id.as_bytes()))?;
    Ok(pack.map(|pack| BodyPlace::Waiting {
        pack: hex::encode(pack),
        base,
    }))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::engine::options::Options;
    use crate::engine::testing::*;
    use crate::frontier::RevisitPolicy;
    use crate::journal::Bodies;

    const DUPLICATE: &str = "http://d.example/";

    /// The body that is given back of a page.
    #[track_caller]
    fn body(world: &World, url: &str) -> String {
        let page = world.page(url);
        let place = body_place(&*world.store(), world.id(url), &page).unwrap();
        let place = place.unwrap_or_else(|| panic!("nothing is kept: {page:?}"));
        let data = world.place.path().join("data");
        let content = Bodies::of(&data).read(&place).unwrap();
        String::from_utf8(content.body().to_vec()).unwrap()
    }

    fn text(answer: &Answer) -> &str {
        match answer {
            Answer::Page(html) => html,
            _ => "",
        }
    }

    fn near(by: usize) -> Answer {
        html("", &edited(&words(1), 2, by))
    }

    /// What a delta refers to stays where it is, whatever becomes of the page.
    #[test]
    fn a_body_outlives_its_original() {
        let mut world = three();
        world.visit(DUPLICATE, &near(0));
        assert_eq!(world.original(DUPLICATE), ORIGINAL);
        assert_eq!(body(&world, DUPLICATE), text(&near(0)));
        // A start finds it, waiting or packed.
        world.restart();
        assert_eq!(body(&world, DUPLICATE), text(&near(0)));
        let now = crate::frontier::Moment(world.now);
        world.committer().pack(now).unwrap();
        assert_eq!(body(&world, DUPLICATE), text(&near(0)));
        world.restart();

        // The original becomes another page.
        world.wait(1_000);
        world.revisit(ORIGINAL, &html("", &words(7)));
        assert_eq!(body(&world, ORIGINAL), text(&html("", &words(7))));
        assert_eq!(body(&world, DUPLICATE), text(&near(0)));
        // A server's word that it is the same changes nothing.
        world.revisit(DUPLICATE, &Answer::Same);
        assert_eq!(body(&world, DUPLICATE), text(&near(0)));
        // It takes over, or is another page: then it is stored, and nothing else is kept.
        world.wait(1_000);
        world.revisit(DUPLICATE, &html("", &words(8)));
        assert_eq!(body(&world, DUPLICATE), text(&html("", &words(8))));
        let id = world.id(DUPLICATE);
        assert_eq!(KEPT.get(&*world.store(), id.as_bytes()).unwrap(), None);
    }

    #[test]
    fn a_duplicate_that_changes_is_given_back_as_it_is() {
        let mut world = three();
        world.visit(DUPLICATE, &near(0));
        for (by, packs) in [(20, false), (40, true), (60, false)] {
            world.wait(1_000);
            let answer = html("", &edited(&words(1), 2, by));
            world.revisit(DUPLICATE, &answer);
            assert_eq!(body(&world, DUPLICATE), text(&answer), "{by}");
            if packs {
                let now = crate::frontier::Moment(world.now);
                world.committer().pack(now).unwrap();
            }
        }
    }

    /// Pages that are judged as one group, and originals that have left the index.
    #[test]
    fn a_base_may_be_of_the_same_group_or_forgotten() {
        let options = options();
        let mut world = World::with(Options {
            expire_after: Some(Duration::from_millis(100 * DAY)),
            revisit: RevisitPolicy {
                interval: Duration::from_millis(100_000 * DAY),
                max_interval: Duration::from_millis(100_000 * DAY),
                ..options.revisit.clone()
            },
            ..options
        });
        world.visit_together(&[(ORIGINAL, html("", &words(1))), (DUPLICATE, near(0))]);
        assert_eq!(world.original(DUPLICATE), ORIGINAL);
        assert_eq!(body(&world, DUPLICATE), text(&near(0)));
        world.committer().checkpoint().unwrap();
        world.wait(1_000);
        assert_eq!(world.page(ORIGINAL).document, None, "it has expired");
        assert_eq!(body(&world, DUPLICATE), text(&near(0)));
        assert_eq!(body(&world, ORIGINAL), text(&html("", &words(1))));
    }
}
