//! Host aliases: which visits lead to one, and what becomes of its URLs. The rules are pure
//! (`learn/host_aliases.rs`).

use serde::{Deserialize, Serialize};

use super::Learning;
use crate::dedup::{Repeat, Tier, Verdict};
use crate::engine::Error;
use crate::engine::commit::{Group, WriteSet};
use crate::engine::visit::Judged;
use crate::learn::{Sweep, Twins, counterpart, is_preferred, is_sampled, may_be_one};
use crate::rows::{Fate, Judgement};
use crate::store::{Table, decode, encode, keys};
use crate::url::{self, HostKey, Url, UrlId};

/// Tag of the deferred URLs of a host that is an alias.
pub(crate) const TAG: [u8; 8] = *b"as alias";

/// A host that is or was an alias of another: its row in `Learned`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct AliasRow {
    pub(crate) host: String,
    pub(crate) of: String,
    /// Number of pages that were equal when it was learned.
    pub(crate) equal: u32,
    pub(crate) twins: Twins,
}

fn alias_key(host: &HostKey) -> Vec<u8> {
    [keys::learned::ALIASES, host.as_str().as_bytes()].concat()
}

impl Learning<'_> {
    /// Counts a page's first response for its host and for the host that has the same page, which
    /// may make one an alias of the other.
    pub(crate) fn compare_hosts(
        &self,
        judged: &Judged<'_>,
        group: &mut Group<'_>,
    ) -> Result<(), Error> {
        let task = &judged.analysed.fetched.task;
        let (host, policy) = (&task.host, self.policies.of(&task.host).learn);
        if !matches!(judged.verdict, Verdict::Unique | Verdict::Duplicate(_)) {
            return Ok(());
        }
        let twin = twin(judged);
        let twins = &mut group.set.host(host)?.twins;
        twins.judged += 1;
        if let Some(of) = twins.alias_of.as_deref().and_then(HostKey::parse) {
            return self.check_alias(judged, &of, twin.as_ref() == Some(&of), group);
        }
        let Some(twin) = twin else {
            return Ok(());
        };
        twins.note_equal(&twin);
        let own = twins.clone();
        let others = &mut group.set.host(&twin)?.twins;
        others.note_equal(host);
        let others = others.clone();
        if !may_be_one(host, &twin, policy.aliases) {
            return Ok(());
        }
        let may = |twins: &Twins, of: &Twins, of_host: &HostKey| {
            twins.is_like(of_host, policy) && !twins.is_own && of.alias_of.is_none()
        };
        let is_free = others.alias_of.is_none();
        let (here, there) = (
            may(&own, &others, &twin),
            may(&others, &own, host) && is_free,
        );
        let here_first = is_preferred((host, own.judged), (&twin, others.judged));
        match (here, there) {
            (true, true) if here_first => take_for(&twin, host, group),
            (true, _) => take_for(host, &twin, group),
            (false, true) => take_for(&twin, host, group),
            (false, false) => Ok(()),
        }
    }

    /// Checks, after a visit of an alias, whether it still is one.
    fn check_alias(
        &self,
        judged: &Judged<'_>,
        of: &HostKey,
        is_equal: bool,
        group: &mut Group<'_>,
    ) -> Result<(), Error> {
        let task = &judged.analysed.fetched.task;
        if !is_equal && !self.is_other_there(judged, of, group)? {
            return Ok(());
        }
        let twins = &mut group.set.host(&task.host)?.twins;
        let is_none = twins.check(is_equal);
        if is_none {
            twins.take_back();
        }
        let twins = twins.clone();
        let key = alias_key(&task.host);
        if let Some(row) = group.set.learned(&key)? {
            let row: AliasRow = decode(Table::Learned, &row)?;
            group.set.learn(key, encode(&AliasRow { twins, ..row }));
        }
        if is_none {
            tracing::warn!("host {} is not {of} after all, by {}", task.host, task.url);
            group.set.reopened.push((task.host.clone(), TAG));
        }
        Ok(())
    }

    /// Returns `true` if the page at the same path of the other host is known, and is another page
    /// or none.
    fn is_other_there(
        &self,
        judged: &Judged<'_>,
        of: &HostKey,
        group: &Group<'_>,
    ) -> Result<bool, Error> {
        let Some(url) = counterpart(&judged.analysed.fetched.task.url, of) else {
            return Ok(false);
        };
        let id = self.identity.id(&url);
        let Some(record) = group.set.committed_page(id)? else {
            return Ok(false);
        };
        let Fate::Answered {
            judgement, status, ..
        } = record.fate
        else {
            return Ok(false);
        };
        let original = match judgement {
            Judgement::Unique => record.document.map(|document| document.id),
            Judgement::Duplicate(duplicate) => Some(duplicate.of),
            Judgement::Ineligible(_) if status >= 500 => return Ok(false),
            Judgement::Ineligible(_) => None,
        };
        Ok(match &judged.verdict {
            Verdict::Duplicate(repeat) => original != Some(repeat.original.id),
            _ => true,
        })
    }
}

/// Returns where a page is under the other host's name, if its host is an alias. A sample of its
/// pages is visited under their own name nevertheless.
pub(crate) fn elsewhere(
    url: &Url,
    id: UrlId,
    host: &HostKey,
    set: &mut WriteSet,
) -> Result<Option<Url>, Error> {
    let state = set.known_host(host)?;
    let of = state
        .and_then(|it| it.twins.alias_of.as_deref())
        .and_then(HostKey::parse);
    let other = of.and_then(|of| counterpart(url, &of));
    Ok(other.filter(|_| !is_sampled(id.key())))
}

/// Makes `host` an alias: from now on `of` is visited instead.
fn take_for(host: &HostKey, of: &HostKey, group: &mut Group<'_>) -> Result<(), Error> {
    let until = group.set.state.queue_sequence;
    let state = group.set.host(host)?;
    state.twins.alias_of = Some(of.as_str().to_owned());
    state.learned_rules.sweep = Some(Sweep {
        class: 0,
        sequence: 0,
        until,
    });
    let equal = state.twins.equal_to(of);
    let row = AliasRow {
        host: host.as_str().to_owned(),
        of: of.as_str().to_owned(),
        equal,
        twins: state.twins.clone(),
    };
    tracing::info!("host {host} is taken for {of}: {equal} pages are equal");
    group.set.learn(alias_key(host), encode(&row));
    Ok(())
}

/// Returns the other host that has the same page at the same path.
fn twin(judged: &Judged<'_>) -> Option<HostKey> {
    let task = &judged.analysed.fetched.task;
    match &judged.verdict {
        Verdict::Duplicate(Repeat { original, tier, .. }) if *tier != Tier::Near => {
            let url = url::parse(&original.url).ok()?;
            let host = HostKey::of(&url);
            let is_same = url.path() == task.url.path() && url.query() == task.url.query();
            (is_same && host != task.host).then_some(host)
        }
        _ => None,
    }
}
