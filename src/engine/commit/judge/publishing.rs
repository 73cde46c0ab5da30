//! What a visit makes others know of this shard and its documents, and what it makes this shard
//! keep of theirs. A crawl of one shard does neither.

use crate::dedup::{DocumentId, Verdict, shard_of};
use crate::engine::Error;
use crate::engine::admission::Gate;
use crate::engine::again::early;
use crate::engine::commit::group::Group;
use crate::engine::commit::write_set::{Offered, foreign_original};
use crate::engine::visit::{Fetched, Judged};
use crate::fetch::Exchange;
use crate::rows::{Notice, OwnPart};
use crate::sites::{SiteName, known, standings};
use crate::store::keys;

/// Documents of a site of which others are told anew when its template is known: more than it takes
/// to know it.
const MAX_TOLD_EARLY: usize = 4_096;

/// Has others told of the server that a visit was made to, if these do not know that this shard
/// visits it.
pub(super) fn tell_server(fetched: &Fetched, gate: &Gate, group: &mut Group<'_>) {
    let exchanged = &mut group.set.exchanged;
    let (Some(foreign), Some(held)) = (&exchanged.documents, fetched.task.held.ip) else {
        return;
    };
    let policy = gate.policies.load().of(fetched.task.visiting().0);
    if !fetched.was_handed_out || policy.politeness.address_delay().is_zero() {
        return;
    }
    let at = fetched.outcome.remote().unwrap_or(held);
    let Some((server, until)) = foreign.visits(at, fetched.finished) else {
        return;
    };
    let notices = &mut exchanged.telling.notices;
    let is_told =
        |it: &Notice| matches!(it, Notice::Visits { server: told, .. } if *told == server);
    if !notices.iter().any(is_told) {
        notices.push(Notice::Visits { server, until });
    }
}

/// Has others told of the document that a visit added, if it can be an original.
pub(super) fn offer(
    judged: &Judged<'_>,
    exchange: &Exchange,
    document: Option<DocumentId>,
    group: &mut Group<'_>,
) -> Result<(), Error> {
    let (Some(document), Verdict::Unique) = (document, &judged.verdict) else {
        return Ok(());
    };
    if group.set.exchanged.documents.is_none() {
        return Ok(());
    }
    let site = SiteName::of(&judged.analysed.fetched.task.url);
    let own = own_part(document, &site, group)?;
    if own.as_ref().is_some_and(|own| !own.is_settled()) {
        let key = keys::told_early(site.number(), document);
        group.set.set_grouped(key, Some(Vec::new()));
    }
    let may_be_referred_to = !exchange.body.is_empty() && !matches!(exchange.status, 300..400);
    let form = may_be_referred_to.then(|| exchange.replay_form());
    let offered = Offered { form, own };
    group.set.exchanged.offered.insert(document, offered);
    Ok(())
}

/// Returns what of a document is its own, by what is known of its site now.
fn own_part(
    document: DocumentId,
    site: &SiteName,
    group: &Group<'_>,
) -> Result<Option<OwnPart>, Error> {
    let Some(lines) = group.lines(document)? else {
        return Ok(None);
    };
    let template = group.template(site)?;
    let seen = template.seen();
    let of_site = (site.number(), seen.is_settled(lines.layout));
    let known = known(&lines, seen);
    let standings = standings(&lines, &known, true);
    Ok(Some(OwnPart::of(&lines, of_site, standings)))
}

/// Notes what a page that is judged means for what is known across shards.
pub(super) fn note(judged: &Judged<'_>, group: &mut Group<'_>) -> Result<(), Error> {
    if group.set.exchanged.documents.is_none() {
        return Ok(());
    }
    keep_original(judged, group)?;
    settle(judged, group)
}

/// Tells others what of the documents of the visited site is their own, if its template is known
/// with this visit: pages that were found to repeat one of them are judged again.
fn settle(judged: &Judged<'_>, group: &mut Group<'_>) -> Result<(), Error> {
    let Some(site) = early::comes_of_age(judged, group)? else {
        return Ok(());
    };
    let prefix = keys::told_early_at(site.number());
    for key in group.set.grouped_keys(&prefix, MAX_TOLD_EARLY)? {
        if let Some(document) = keys::parse_told_early(&key) {
            let own = own_part(document, &site, group)?;
            // Of one of this group others are told what is known when it is committed.
            match group.set.exchanged.offered.get_mut(&document) {
                Some(offered) => offered.own = own,
                None => {
                    let notice = Notice::Own(document, own);
                    group.set.exchanged.telling.notices.push(notice);
                }
            }
        }
        group.set.set_grouped(key, None);
    }
    let notice = Notice::Settled(site.number());
    group.set.exchanged.telling.notices.push(notice);
    Ok(())
}

/// Keeps what is known of the original of another shard that a page was found to repeat.
fn keep_original(judged: &Judged<'_>, group: &mut Group<'_>) -> Result<(), Error> {
    let Verdict::Duplicate(repeat) = &judged.verdict else {
        return Ok(());
    };
    if shard_of(repeat.original.id).is_some() {
        let original = foreign_original(&mut group.set, &repeat.original)?;
        original.is_gone = false;
    }
    Ok(())
}
