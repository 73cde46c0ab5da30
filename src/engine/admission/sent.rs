//! URLs of other shards: what is found here and belongs there is sent, and what was found there and
//! belongs here is admitted.
//!
//! The sender judges by what all shards have in common: scope, patterns, depth, lengths. The
//! receiver judges by what it alone knows of the host: whether the URL is known or forgotten,
//! budgets, and what URLs like it have said. The sender takes a URL that it has sent for known, so
//! it sends it once.

use super::elsewhere::is_of_its_own;
use super::requisites::admit_sent_requisite;
use super::{Gate, Origin, Source, key_of};
use crate::engine::Error;
use crate::engine::commit::{Group, Moved, know_seed};
use crate::engine::learned::hearsay;
use crate::frontier::{Admission, Purpose, QueuedUrl, Seed, SeedSettings};
use crate::learn::Trail;
use crate::rows::{Sent, SentLink, SentOrigin, SentSeed};
use crate::store::Table;
use crate::url::{self, HostKey, UrlId};

/// Sends a URL that is admitted, with its trail, to the shard of its host. Returns `true`: as
/// far as can be said here, it is queued.
pub(super) fn send(
    gate: &Gate,
    (mut queued, trail): (QueuedUrl, Trail),
    origin: Origin,
    (source, seed): (Source<'_>, Option<UrlId>),
    host: &HostKey,
    group: &mut Group<'_>,
) -> Result<bool, Error> {
    let origin = match origin {
        Origin::Link | Origin::OwnLink => {
            queued.trail = trail;
            match source.page {
                Some(_) => SentOrigin::Link,
                None => SentOrigin::Listed,
            }
        }
        Origin::Manifest => SentOrigin::Manifest,
        Origin::Moved => SentOrigin::Moved,
        Origin::OtherForm => SentOrigin::OtherForm,
        Origin::Seed => SentOrigin::Seed,
    };
    group.set.count_link(&Admission::Sent, &queued.url);
    group.no_longer_refused(queued.id, &queued.url)?;
    group.see(key_of(&queued));
    let settings = match seed {
        Some(seed) => group.set.seed_settings(seed)?,
        None => None,
    };
    let mut pages = Vec::new();
    if let Some(via) = queued.via {
        let url = match source.via {
            Some(url) => Some(url.as_str().to_owned()),
            None => group.set.found_on(via)?.map(|(url, _)| url),
        };
        pages.extend(url.map(|url| (via, url)));
    }
    let link = SentLink {
        queued,
        origin,
        by: source.host.map(ToString::to_string),
        pages,
        seed: seed.zip(settings.as_deref().cloned()),
    };
    gate.send_link(link, host, group);
    Ok(true)
}

/// Tells all other shards of a seed that was given to this one.
pub(super) fn tell_seed(gate: &Gate, seed: &Seed, consent: bool, group: &mut Group<'_>) {
    let sent = Sent::Seed(Box::new(SentSeed {
        url: seed.url.to_string(),
        is_bare: seed.is_bare,
        settings: seed.settings.clone(),
        consent,
    }));
    group.set.exchanged.send(gate.shards.others(), &sent);
}

/// Tells all other shards where a seed has moved to.
pub(super) fn tell_moved(gate: &Gate, moved: &Moved, group: &mut Group<'_>) {
    let sent = Sent::Moved {
        from: moved.from.to_string(),
        to: moved.to.to_string(),
        own: moved.own,
    };
    group.set.exchanged.send(gate.shards.others(), &sent);
}

/// Takes in what another shard has sent, unless that is a seed: what seeds add to the scope has
/// to be known first.
pub(crate) fn take_in(gate: &Gate, sent: &Sent, group: &mut Group<'_>) -> Result<(), Error> {
    match sent {
        Sent::Link(link) => admit_sent(gate, link, group),
        Sent::Moved { from, to, own } => {
            if let (Ok(from), Ok(to)) = (url::parse(from), url::parse(to)) {
                let own = *own;
                group.set.widen_scope(&gate.scope, Moved { from, to, own });
            }
            Ok(())
        }
        Sent::Seed(_) => Ok(()),
    }
}

/// Queues a URL that was found at another shard, if it is admitted.
fn admit_sent(gate: &Gate, link: &SentLink, group: &mut Group<'_>) -> Result<(), Error> {
    let queued = &link.queued;
    // Both were true where it was found.
    let Some(url) = url::parse(&queued.url)
        .ok()
        .filter(|url| gate.shards.is_own(&HostKey::of(url)))
    else {
        tracing::warn!(
            url = queued.url,
            "was sent to the wrong shard and is left out"
        );
        return Ok(());
    };
    let host = HostKey::of(&url);
    // A requisite may come back to the shard of its page, which has that page's record.
    let is_own = |url: &str| {
        let url = url::parse(url);
        url.is_ok_and(|url| gate.shards.is_own(&HostKey::of(&url)))
    };
    for (id, url) in link.pages.iter().filter(|(_, url)| !is_own(url)) {
        let set = &mut group.set;
        let (store, batch) = (&*set.store, &mut set.batch);
        set.exchanged.note_page((*id, url), store, batch)?;
    }
    if let Purpose::Requisite(of) = queued.purpose {
        return admit_sent_requisite(gate, (queued, of), (url, &host), group);
    }
    let by = link.by.as_deref().and_then(HostKey::parse);
    if let Some((seed, settings)) = &link.seed {
        know_seed((*seed, settings), &mut group.set)?;
        match (queued.via, &by) {
            // The row by which the URL, and what it leads to, finds its seed.
            (Some(via), _) => group.set.note_seed_of(via, *seed)?,
            (None, Some(by)) => group.set.note_seed_of_host(by, *seed)?,
            (None, None) => group.set.note_seed_of(queued.id, *seed)?,
        }
    }
    let mut by = by;
    let origin = match link.origin {
        SentOrigin::Link => Origin::Link,
        SentOrigin::Listed => listed(gate, link, &host, &mut by, group)?,
        SentOrigin::Manifest => Origin::Manifest,
        SentOrigin::Moved => Origin::Moved,
        SentOrigin::OtherForm => Origin::OtherForm,
        SentOrigin::Seed => Origin::Seed,
    };
    let source = Source {
        host: by.as_ref(),
        is_sent: true,
        ..Source::default()
    };
    gate.admit_in(queued.class(), queued.clone(), origin, source, group)?;
    Ok(())
}

/// Returns how a URL counts that a sitemap of the host `by` lists. Only here it is known
/// whether the URL's own host named sitemaps there, so that they are its own word.
fn listed(
    gate: &Gate,
    link: &SentLink,
    host: &HostKey,
    by: &mut Option<HostKey>,
    group: &mut Group<'_>,
) -> Result<Origin, Error> {
    let queued = &link.queued;
    let is_own = match &by {
        Some(by) => hearsay::speaks_for(by, host, &mut group.set)?,
        None => false,
    };
    if !is_own || queued.purpose != Purpose::Page {
        return Ok(Origin::Link);
    }
    *by = None;
    let named = (queued.id, queued.url.as_str());
    let is_taken_up = gate.forgotten.is_known(named, group)? && is_of_its_own(host, named, group)?;
    Ok(match is_taken_up {
        true => Origin::OwnLink,
        false => Origin::Link,
    })
}

/// Returns `true` if a seed says something that other shards may not know yet.
pub(super) fn is_news(
    gate: &Gate,
    seed: &Seed,
    (id, before): (UrlId, Option<&SeedSettings>),
    group: &mut Group<'_>,
) -> Result<bool, Error> {
    let is_changed = !seed.settings.is_empty() && before != Some(&seed.settings);
    if is_changed || !group.is_seen(id) {
        return Ok(true);
    }
    // Known as a link, perhaps. Entries of other kinds of scopes are not held in memory.
    for entry in gate.scope.new_entries(&seed.url, seed.settings.scope) {
        if group.set.store.get(Table::Scope, &entry)?.is_none() {
            return Ok(true);
        }
    }
    Ok(false)
}
