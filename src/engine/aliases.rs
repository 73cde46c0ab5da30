//! Hosts that are taken for others: by which visits, and what becomes of their URLs. The rules are the
//! frontier's (`aliases.rs`).

use serde::{Deserialize, Serialize};

use super::Error;
use super::committer::Committer;
use super::effects::Group;
use super::visit::{Judged, Receipt};
use crate::dedup::{Repeat, Tier, Verdict};
use crate::frontier::QueuedUrl;
use crate::learn::{Sweep, Twins, counterpart, is_preferred, is_sampled, may_be_one};
use crate::rows::{Fate, Judgement, PageRecord};
use crate::store::{Table, decode, encode, keys};
use crate::url::{self, HostKey, Url};

/// Under which name URLs of a host are left aside that is taken for another.
pub(super) const TAG: [u8; 8] = *b"as alias";

/// A host that is or was taken for another: its row in `Learned`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct AliasRow {
    pub(crate) host: String,
    pub(crate) of: String,
    /// Pages that were equal when it was learned.
    pub(crate) equal: u32,
    pub(crate) twins: Twins,
}

fn alias_key(host: &HostKey) -> Vec<u8> {
    [keys::learned::ALIASES, host.as_str().as_bytes()].concat()
}

impl Committer {
    /// Takes a page's first answer into account.
    pub(super) fn compare_hosts(
        &mut self,
        judged: &Judged,
        receipt: &mut Receipt,
        group: &mut Group,
    ) -> Result<(), Error> {
        let task = &judged.analysed.fetched.task;
        let (host, policy) = (&task.host, self.policies.load().of(&task.host).learn);
        if !matches!(judged.verdict, Verdict::Unique | Verdict::Duplicate(_)) {
            return Ok(());
        }
        let twin = twin(judged);
        let twins = &mut group.host(&*self.store, host)?.twins;
        twins.judged += 1;
        if let Some(of) = twins.alias_of.as_deref().and_then(HostKey::parse) {
            return self.check_alias(judged, &of, twin.as_ref() == Some(&of), receipt, group);
        }
        let Some(twin) = twin else {
            return Ok(());
        };
        twins.note_equal(&twin);
        let own = twins.clone();
        let others = &mut group.host(&*self.store, &twin)?.twins;
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
            (true, true) if here_first => self.take_for(&twin, host, group),
            (true, _) => self.take_for(host, &twin, group),
            (false, true) => self.take_for(&twin, host, group),
            (false, false) => Ok(()),
        }
    }

    /// From now on `of` is visited in place of `host`.
    fn take_for(&mut self, host: &HostKey, of: &HostKey, group: &mut Group) -> Result<(), Error> {
        let until = self.state.queue_sequence;
        let state = group.host(&*self.store, host)?;
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
        group.learn(alias_key(host), encode(&row));
        Ok(())
    }

    /// A visit of an alias: whether it is one still.
    fn check_alias(
        &mut self,
        judged: &Judged,
        of: &HostKey,
        is_equal: bool,
        receipt: &mut Receipt,
        group: &mut Group,
    ) -> Result<(), Error> {
        let task = &judged.analysed.fetched.task;
        if !is_equal && !self.is_other_there(judged, of)? {
            return Ok(());
        }
        let twins = &mut group.host(&*self.store, &task.host)?.twins;
        let is_none = twins.check(is_equal);
        if is_none {
            twins.take_back();
        }
        let twins = twins.clone();
        let key = alias_key(&task.host);
        if let Some(row) = group.learned(&*self.store, &key)? {
            let row: AliasRow = decode(Table::Learned, &row)?;
            group.learn(key, encode(&AliasRow { twins, ..row }));
        }
        if is_none {
            tracing::warn!("host {} is not {of} after all, by {}", task.host, task.url);
            self.unshelve(&task.host, TAG, receipt, group)?;
        }
        Ok(())
    }

    /// Whether the page at the same path of the other host is known, and is another one or none.
    fn is_other_there(&self, judged: &Judged, of: &HostKey) -> Result<bool, Error> {
        let Some(url) = counterpart(&judged.analysed.fetched.task.url, of) else {
            return Ok(false);
        };
        let id = self.identity.id(&url);
        let Some(row) = self.store.get(Table::Pages, id.as_bytes())? else {
            return Ok(false);
        };
        let record: PageRecord = decode(Table::Pages, &row)?;
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

    /// Where a URL is visited in place of its own host; `None` if it is visited there.
    pub(super) fn elsewhere(
        &self,
        url: &Url,
        queued: &QueuedUrl,
        host: &HostKey,
        group: &mut Group,
    ) -> Result<Option<QueuedUrl>, Error> {
        let state = group.known_host(&*self.store, host)?;
        let of = state
            .and_then(|it| it.twins.alias_of.as_deref())
            .and_then(HostKey::parse);
        let Some(other) = of.and_then(|of| counterpart(url, &of)) else {
            return Ok(None);
        };
        if is_sampled(queued.id.key()) || !self.scope.admits(&other) {
            return Ok(None);
        }
        Ok(Some(QueuedUrl {
            id: self.identity.id(&other),
            url: other.into(),
            validators: None,
            ..queued.clone()
        }))
    }
}

/// The other host on which the same page is, at the same path.
fn twin(judged: &Judged) -> Option<HostKey> {
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
