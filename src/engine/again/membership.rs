//! Membership in clusters: the rows of a page in `Clusters`, and the counts of its host.

use crate::engine::Error;
use crate::engine::commit::WriteSet;
use crate::engine::visit::Judged;
use crate::frontier::Purpose;
use crate::rows::{Claim, Fate, Judgement, Merits, PageRecord, Rank, cluster_rows};
use crate::store::{Table, keys};
use crate::url::{HostKey, Identity, UrlId};

/// Completes what is kept of a duplicate with what was kept of it before.
pub(super) fn complete(
    judged: &Judged<'_>,
    previous: Option<&PageRecord>,
    page: &mut PageRecord,
    identity: &Identity,
) {
    let claim = Claim::of(identity, judged.analysed.fetched.task.queued.id, page);
    let before = previous.and_then(PageRecord::duplicate).copied();
    let Fate::Answered {
        judgement: Judgement::Duplicate(duplicate),
        ..
    } = &mut page.fate
    else {
        return;
    };
    let before = before.filter(|before| before.of == duplicate.of);
    duplicate.first_seen = before.map_or(page.time, |before| before.first_seen);
    duplicate.last_checked = page.time;
    let was_kept = before.is_some_and(|before| before.rank.is_kept());
    let fingerprints = judged.analysed.fingerprints.as_ref();
    duplicate.rank = Rank::of(&Merits {
        claim,
        url: &page.url,
        words: fingerprints.map_or(0, |fingerprints| fingerprints.words),
        is_kept: duplicate.rank.is_kept() || was_kept,
        first_seen: duplicate.first_seen,
    });
}

/// Files a page under its present cluster, and no longer under the previous one.
pub(super) fn file(
    (id, host): (UrlId, &HostKey),
    previous: Option<&PageRecord>,
    page: &PageRecord,
    identity: &Identity,
    set: &mut WriteSet,
) -> Result<(), Error> {
    let before = previous.map(|previous| cluster_rows(identity, id, previous));
    let before = before.unwrap_or_default();
    let now = cluster_rows(identity, id, page);
    for row in before.iter().filter(|row| !now.contains(row)) {
        set.batch.delete(Table::Clusters, row.clone());
        if let Some(former) = keys::canonical_vote_of_page(row) {
            set.batch.delete(Table::Clusters, former);
        }
    }
    for row in now.into_iter().filter(|row| !before.contains(row)) {
        set.batch.put(Table::Clusters, row, Vec::new());
    }
    let (was, is) = (previous.map(counted).unwrap_or_default(), counted(page));
    if was != is {
        let host = set.host(host)?;
        host.judged = (host.judged + is.0).saturating_sub(was.0);
        host.duplicates = (host.duplicates + is.1).saturating_sub(was.1);
    }
    Ok(())
}

/// Files a page whose record is removed nowhere.
pub(crate) fn file_gone(
    of: (UrlId, &HostKey),
    page: &PageRecord,
    identity: &Identity,
    set: &mut WriteSet,
) -> Result<(), Error> {
    let gone = PageRecord {
        fate: Fate::failed(Purpose::Page, "", String::new(), None),
        ..page.clone()
    };
    file(of, Some(page), &gone, identity, set)
}

/// Returns what a page adds to the counts of its host: judged, duplicates.
fn counted(page: &PageRecord) -> (u64, u64) {
    match &page.fate {
        Fate::Answered { judgement, .. } => match judgement {
            Judgement::Unique => (1, 0),
            Judgement::Duplicate(_) => (1, 1),
            Judgement::Ineligible(_) => (0, 0),
        },
        Fate::Failed { .. }
        | Fate::Sitemap { .. }
        | Fate::Known { .. }
        | Fate::Requisite { .. }
        | Fate::FailedRequisite { .. } => (0, 0),
    }
}
