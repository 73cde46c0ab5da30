//! Admission of seeds: URLs that a user gave, which enter as a visit without a fetch.

use super::sent::{is_news, tell_seed};
use super::{Gate, Origin, Source};
use crate::engine::Error;
use crate::engine::again::{forget_robots, let_in};
use crate::engine::commit::Group;
use crate::engine::messages::SeedsAdded;
use crate::engine::visit::Seeds;
use crate::fetch::{Authority, Guard};
use crate::frontier::{QueuedUrl, Remembrance, Seed};
use crate::rows::LostSeed;
use crate::store::{self, Table, keys};
use crate::url::{HostKey, Url, UrlId};

/// Admits seeds, whose scope was added before, and returns the reply for whoever waits. All shards
/// hear of those that are new, unless another one has told this one of them, or all read them.
pub(crate) fn admit_seeds(
    gate: &Gate,
    seeds: &Seeds,
    is_told: bool,
    group: &mut Group<'_>,
) -> Result<SeedsAdded, Error> {
    let mut added = SeedsAdded::default();
    let is_told = is_told || seeds.listed.is_some();
    if let Some(position) = seeds.listed {
        let row = store::encode(&position);
        group
            .set
            .batch
            .put(Table::Meta, keys::meta::SEEDS_THROUGH, row);
    }
    for seed in &seeds.seeds {
        let (id, host) = (gate.identity.id(&seed.url), HostKey::of(&seed.url));
        if !gate.shards.is_one() && !is_told {
            let before = group.set.seed_settings(id)?;
            if is_news(gate, seed, (id, before.as_deref()), group)? {
                tell_seed(gate, seed, seeds.consent, group);
            }
        }
        for authority in consents(seed).filter(|_| seeds.consent) {
            let key = [keys::meta::CONSENT, authority.as_str().as_bytes()].concat();
            group.set.batch.put(Table::Meta, key, Vec::new());
            let refused = keys::robots_refused(host.as_str());
            if group.set.store.get(Table::Meta, &refused)?.is_some() {
                forget_robots(&host, group)?;
            }
        }
        if !seed.settings.is_empty() {
            group.set.put_seed((id, &host), &seed.settings)?;
        }
        if !gate.shards.is_own(&host) {
            match group.see(id) {
                true => added.new += 1,
                false => added.known += 1,
            }
            continue;
        }
        let queued = QueuedUrl::new(seed.url.to_string(), id);
        let has_consent = seeds.consent && consents(seed).next().is_some();
        if gate.admit(queued, Origin::Seed, group)? || (has_consent && let_in(id, &mut group.set)?)
        {
            group.set.state.counters.seeds += 1;
            added.new += 1;
            if seed.is_bare {
                let key = keys::bare_seed(host.as_str(), id.as_bytes());
                let url = seed.url.as_str().as_bytes().to_vec();
                group.set.batch.put(Table::Meta, key, url);
            }
        } else if note_refused(gate, &seed.url, group)? {
            group.set.state.counters.seeds += 1;
            added.new += 1;
        } else {
            added.known += 1;
        }
    }
    group.set.end_receipt();
    Ok(added)
}

/// The consents that a seed implies that the user gave to the crawl.
pub(crate) fn consents(seed: &Seed) -> impl Iterator<Item = Authority> {
    let urls = [Some(seed.url.clone()), seed.over_http()];
    let urls = urls.into_iter().flatten();
    urls.filter_map(|url| Guard::consent_of(&url))
}

/// Returns the seed with settings to which a URL belongs: that of the page that leads to it, or
/// that of the host that names it as a sitemap.
pub(super) fn seed_of(
    queued: &QueuedUrl,
    origin: Origin,
    source: Source<'_>,
    group: &mut Group<'_>,
) -> Result<Option<UrlId>, Error> {
    match (queued.via, origin, source.host) {
        (Some(via), ..) => group.set.seed_of(via),
        (None, Origin::Seed, _) => group.set.seed_of(queued.id),
        (None, Origin::Manifest, Some(by)) => group.set.seed_of_host(by),
        _ => Ok(None),
    }
}

/// Notes that a seed is lost if it was not admitted although it is not known. Returns whether that
/// is new.
fn note_refused(gate: &Gate, seed: &Url, group: &mut Group<'_>) -> Result<bool, Error> {
    let id = gate.identity.id(seed);
    let remembrance = gate.forgotten.remembrance((id, seed), group)?;
    if remembrance == Remembrance::Forgotten {
        let lost = LostSeed {
            url: seed.to_string(),
            reason: "it is forgotten (gleaner forget)".to_owned(),
        };
        group.set.end_seed(id, Some(lost));
    } else if !group.is_seen(id) {
        let lost = LostSeed {
            url: seed.to_string(),
            reason: "it is too long (crawl.max_url_length)".to_owned(),
        };
        group.set.end_seed(id, Some(lost));
        let known = group.set.store.get(Table::Meta, &LostSeed::key(id))?;
        return Ok(known.is_none());
    }
    Ok(false)
}
