//! What comes back of what this shard tells all others, and what these tell.

use super::{Collected, Committer};
use crate::dedup::Rules;
use crate::engine::again::{early, orphan};
use crate::engine::commit::Group;
use crate::engine::error::Error;
use crate::engine::exchange::Heard;
use crate::engine::library::{Told, told_documents};
use crate::engine::visit::Receipt;
use crate::frontier::Moment;
use crate::rows::{ForeignOriginal, Published, Raced};

/// Maximum number of notices whose return is one commit.
const MAX_RETURNED: u64 = 64;
/// Maximum number of things told that are heard in one commit.
const MAX_HEARD: usize = 64;

/// Compares documents that have come back with what stands before them, and takes in what
/// others tell.
pub(super) fn hear(
    committer: &mut Committer,
    heard: &Heard,
    now: Moment,
) -> Result<Vec<Receipt>, Error> {
    let mut receipts = Vec::new();
    if committer.exchange.publishing.documents.is_none() {
        return Ok(receipts);
    }
    let (sent, _) = committer.exchange.counts().told;
    let returned = heard.returned.min(sent);
    while committer.exchange.publishing.returned() < returned {
        let first = committer.exchange.publishing.returned() + 1;
        let through = returned.min(first + MAX_RETURNED - 1);
        let documents = told_documents(&*committer.store, first, through)?;
        receipts.extend(take_back(committer, &documents, through, now)?);
        committer.pulse.beat();
    }
    if !heard.told.is_empty() {
        receipts.extend(take_told(committer, heard, now)?);
    }
    Ok(receipts)
}

/// Compares documents that have come back, the last of which came with the notice `through`.
fn take_back(
    committer: &mut Committer,
    documents: &[Published],
    through: u64,
    now: Moment,
) -> Result<Vec<Receipt>, Error> {
    let collected = committer.guarded(now, |judge, group| {
        for published in documents {
            compare_returned(published, judge.rules, group)?;
        }
        Ok(())
    })?;
    let mut set = match collected {
        Collected::Changes(set) => *set,
        Collected::Panicked => {
            // It would again and again, and what comes behind it would wait for ever.
            tracing::error!(
                through,
                "comparing documents that were told to other shards panicked; it is left out"
            );
            committer.write_set(now)
        }
    };
    set.exchanged.telling.returned = Some(through);
    committer.write(set)
}

fn take_told(committer: &mut Committer, heard: &Heard, now: Moment) -> Result<Vec<Receipt>, Error> {
    let mut receipts = Vec::new();
    let mut parts = heard.told.chunks(MAX_HEARD).peekable();
    // Doing one of them twice is harmless, so only the last commit says how far it is.
    while let Some(part) = parts.next() {
        let mut set = committer.collect(now, |_, group| {
            for told in part {
                take_in(told, group)?;
            }
            group.set.end_receipt();
            Ok(())
        })?;
        if parts.peek().is_none() {
            set.exchanged.telling.heard = Some((heard.after, heard.through, heard.mark));
        }
        receipts.extend(committer.write(set)?);
        committer.pulse.beat();
    }
    Ok(receipts)
}

/// Notes what a document of this shard is the same as, if another shard had told of that before it:
/// both are stored.
fn compare_returned(
    published: &Published,
    rules: &Rules,
    group: &mut Group<'_>,
) -> Result<(), Error> {
    let document = &published.document;
    let page = group.set.committed_page(document.url_id)?;
    let original = page.as_ref().and_then(|page| page.original());
    // It may be another page by now, or none.
    if original.is_none_or(|it| it.id != document.id) {
        return Ok(());
    }
    let Some(repeat) = group.judge_returned(document, rules)? else {
        return Ok(());
    };
    tracing::debug!(
        url = document.url,
        original = repeat.original.url,
        "two shards have stored the same page at the same time"
    );
    let raced = Raced {
        document: document.id,
        of: repeat.original.id,
        original: repeat.original.url.clone(),
        tier: repeat.tier,
        distance: repeat.distance,
        similarity: repeat.similarity,
    };
    raced.put(document.url_id, &mut group.set.batch);
    Ok(())
}

/// Takes in what another shard tells, or this one.
fn take_in(told: &Told, group: &mut Group<'_>) -> Result<(), Error> {
    match told {
        Told::Settled(site) => early::judge_again_at(*site, group),
        Told::Gone(id) => {
            let set = &mut group.set;
            Raced::delete_with(*id, &*set.store, &mut set.batch)?;
            let original = ForeignOriginal::read(&*set.store, *id)?;
            if let Some(mut original) = original.filter(|it| !it.is_gone) {
                original.is_gone = true;
                original.put(&mut set.batch);
                orphan(*id, set);
            }
            Ok(())
        }
    }
}
