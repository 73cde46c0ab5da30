//! Pages that were called duplicates before it was known what is template of their site: they are
//! judged again when it is. A verdict changes from duplicate to page of its own, never the other
//! way, since what is an original stays one.
//!
//! Their bodies are requested again: what a page says now is what counts, and what it was found to
//! repeat stays in the archive meanwhile.

use super::queue::{Asking, ROWS_PER_COMMIT, queue_page};
use crate::dedup::Tier;
use crate::engine::Error;
use crate::engine::commit::{Group, WriteSet};
use crate::engine::learned::restless;
use crate::engine::visit::Judged;
use crate::sites::SiteName;
use crate::store::{Table, keys};
use crate::url::UrlId;

/// Notes a page that was called a duplicate by likeness while the template of its site, or that of
/// the original's, was not known.
pub(crate) fn note(judged: &Judged<'_>, group: &mut Group<'_>) -> Result<(), Error> {
    let Some(repeat) = judged.verdict.repeats() else {
        return Ok(());
    };
    let Some(own) = &judged.own.lines else {
        return Ok(());
    };
    if !matches!(repeat.tier, Tier::Content | Tier::Near) {
        return Ok(());
    }
    let other = group.own_lines(&repeat.original)?;
    let sides = [Some(own), other.as_ref()];
    let young: Vec<u64> = sides
        .into_iter()
        .flatten()
        .filter(|side| !side.is_settled)
        .map(|side| side.site)
        .collect();
    let id = judged.analysed.fetched.task.queued.id;
    for site in young {
        let key = keys::judged_early(site, id.as_bytes());
        group.set.set_grouped(key, Some(Vec::new()));
    }
    Ok(())
}

/// Has the pages of the visited site judged again that were called duplicates before its template
/// was known, if that is known with this visit: at most [`ROWS_PER_COMMIT`] of them at a time.
pub(crate) fn judge_again(judged: &Judged<'_>, group: &mut Group<'_>) -> Result<(), Error> {
    match comes_of_age(judged, group)? {
        Some(site) => judge_again_at(site.number(), group),
        None => Ok(()),
    }
}

/// Returns the visited site, if its template is known with this visit.
pub(crate) fn comes_of_age(
    judged: &Judged<'_>,
    group: &Group<'_>,
) -> Result<Option<SiteName>, Error> {
    let site = SiteName::of(&judged.analysed.fetched.task.url);
    let template = group.template(&site)?;
    let age = template
        .change
        .and_then(|it| it.came_of_age(&template.base));
    Ok(age.is_some().then_some(site))
}

/// Has the pages judged again that were called duplicates before the template of the site with this
/// number was known: at most [`ROWS_PER_COMMIT`] of them at a time.
pub(crate) fn judge_again_at(site: u64, group: &mut Group<'_>) -> Result<(), Error> {
    let prefix = keys::judged_early_at(site);
    for key in group.set.grouped_keys(&prefix, ROWS_PER_COMMIT)? {
        if let Some(id) = keys::parse_judged_early(&key) {
            let id = UrlId::from_bytes(id);
            let page = group.set.page(id)?;
            if page.is_some_and(|page| page.duplicate().is_some()) {
                visit_again(id, Asking::Always, &mut group.set)?;
            }
        }
        group.set.set_grouped(key, None);
    }
    Ok(())
}

/// Has pages that were judged unique visited again at once, if that may prove them to be
/// duplicates: what keeps them apart may change with each fetch.
pub(crate) fn examine(judged: &Judged<'_>, group: &mut Group<'_>) -> Result<(), Error> {
    for id in restless::take_in(judged, group)? {
        visit_again(id, Asking::Now, &mut group.set)?;
    }
    Ok(())
}

/// Queues the next visit of a page now, unless it is queued already.
fn visit_again(id: UrlId, asking: Asking, set: &mut WriteSet) -> Result<(), Error> {
    let Some(page) = set.page(id)? else {
        return Ok(());
    };
    let page = page.clone();
    if let Some(revisit) = page.revisit {
        let row = keys::revisit(revisit.due.0, id.as_bytes());
        let committed = set.committed_page(id)?.and_then(|page| page.revisit);
        let is_scheduled_now = committed != Some(revisit);
        if !is_scheduled_now && set.store.get(Table::Revisits, &row)?.is_none() {
            return Ok(());
        }
        set.batch.delete(Table::Revisits, row);
    }
    queue_page(id, page, asking, set)
}
