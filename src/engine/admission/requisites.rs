//! Requisites in a crawl: which of the files that a page needs are fetched.
//!
//! They are one hop beyond what a crawl follows: neither scope nor depth holds for them, but
//! `crawl.requisites` of the page's host. Patterns that exclude URLs, the length of a URL, budgets
//! and robots.txt hold as for pages. They are known under ids of their own, of the URL as it is
//! written, because a player of archives asks for that, and because a URL may be a page too: then
//! it is visited as one, whatever was fetched before.

use super::forgotten::comes_back;
use super::{Gate, extended};
use crate::engine::Error;
use crate::engine::commit::Group;
use crate::engine::learned::requisites::{begin, end, opened, room, sent, used_up};
use crate::fetch::Exchange;
use crate::frontier::{
    Admission, FetchTask, Purpose, QueuedUrl, Reading, Remembrance, RequisiteMode, RequisiteOf,
};
use crate::learn::{Trail, Trap, TrapPolicy};
use crate::page::{RequisiteKind, Requisites};
use crate::rows::{Reason, ReasonKind, SentLink, SentOrigin};
use crate::url::{self, HostKey, Url, UrlId};

/// Maximum number of style sheets and frames that lead to a requisite, one through the other.
const MAX_LEVEL: u8 = 8;

/// Who needs something: a page, or one of its requisites.
struct Needing<'a> {
    gate: &'a Gate,
    task: &'a FetchTask,
    /// The page that needs it in the end.
    page: UrlId,
    /// Its URL.
    url: Url,
    /// Its host.
    host: HostKey,
    mode: RequisiteMode,
    /// Maximum number of requisites of the page.
    most: u32,
    /// Number of requisites that led here.
    level: u8,
}

/// Something that is needed.
struct Needed {
    url: Url,
    id: UrlId,
    reading: Reading,
    /// Number of redirects in a row that led to it.
    hops: u8,
}

/// Queues what a page, or one of its requisites, needs.
pub(crate) fn follow_requisites(
    gate: &Gate,
    task: &FetchTask,
    requisites: &Requisites,
    group: &mut Group<'_>,
) -> Result<(), Error> {
    if requisites.list.is_empty() {
        return Ok(());
    }
    let level = match task.queued.purpose {
        Purpose::Requisite(of) => of.level.saturating_add(1),
        _ => 0,
    };
    let Some(needing) = Needing::new(gate, task, level, group)? else {
        return Ok(());
    };
    let is_page = !task.queued.purpose.is_requisite();
    if is_page {
        begin(needing.page, &mut group.set)?;
    }
    for requisite in &requisites.list {
        let Ok(url) = url::parse(&requisite.url) else {
            continue;
        };
        let needed = Needed {
            url,
            id: requisite.id,
            reading: match requisite.kind {
                RequisiteKind::File => Reading::Nothing,
                RequisiteKind::Style => Reading::Style,
                RequisiteKind::Document => Reading::Document,
            },
            hops: 0,
        };
        needing.need(&needed, group)?;
    }
    for _ in 0..requisites.more {
        let refused = Admission::TooManyRequisites;
        group.set.state.counters.requisites.named.add(&refused);
        leave_out(refused.name(), &task.queued.url, group);
    }
    if is_page {
        end(needing.page, &mut group.set)?;
    }
    Ok(())
}

/// Queues what a requisite redirects to.
pub(crate) fn follow_moved_requisite(
    gate: &Gate,
    task: &FetchTask,
    of: RequisiteOf,
    exchange: &Exchange,
    group: &mut Group<'_>,
) -> Result<(), Error> {
    let Some(url) = exchange.redirect_target(&task.url) else {
        return Ok(());
    };
    let Some(needing) = Needing::new(gate, task, of.level, group)? else {
        return Ok(());
    };
    let needed = Needed {
        id: gate.identity.as_written(&url),
        url,
        reading: of.reading,
        hops: task.queued.hops.saturating_add(1),
    };
    needing.need(&needed, group)
}

impl<'a> Needing<'a> {
    /// Returns who needs what a visit names; `None` if the requisites of its page are not fetched.
    fn new(
        gate: &'a Gate,
        task: &'a FetchTask,
        level: u8,
        group: &Group<'_>,
    ) -> Result<Option<Self>, Error> {
        let (page, url) = match task.queued.purpose {
            Purpose::Requisite(of) => {
                let found = group.set.found_on(of.page)?;
                let url = found.and_then(|(url, _)| url::parse(&url).ok());
                match url {
                    Some(url) => (of.page, url),
                    None => return Ok(None),
                }
            }
            _ => (task.queued.id, task.url.clone()),
        };
        let host = HostKey::of(&url);
        let policy = gate.policies.load().of(&host).crawl;
        Ok((policy.requisites != RequisiteMode::None).then_some(Self {
            gate,
            task,
            page,
            url,
            host,
            mode: policy.requisites,
            most: policy.max_requisites,
            level,
        }))
    }

    /// Queues something that is needed, if it is admitted.
    fn need(&self, needed: &Needed, group: &mut Group<'_>) -> Result<(), Error> {
        let (answer, setting) = self.judge(needed, group)?;
        let is_elsewhere =
            matches!(&answer, Admission::Admitted(_, host, _) if !self.gate.shards.is_own(host));
        let counted = match is_elsewhere {
            true => &Admission::Sent,
            false => &answer,
        };
        group.set.state.counters.requisites.named.add(counted);
        let Admission::Admitted(url, host, trail) = answer else {
            tell_refused((&answer, setting), needed.url.as_str(), group);
            return Ok(());
        };
        let from = &self.task.queued;
        let letter = if needed.hops > 0 { 'R' } else { 'E' };
        let queued = QueuedUrl {
            via: Some(from.id),
            depth: from.depth,
            hops: needed.hops,
            path: extended(&from.path, letter),
            purpose: Purpose::Requisite(RequisiteOf {
                page: self.page,
                level: self.level,
                reading: needed.reading,
            }),
            trail,
            ..QueuedUrl::new(url.into(), needed.id)
        };
        if !group.see(needed.id) {
            comes_back(needed.id, group);
        }
        if is_elsewhere {
            sent(self.page, &mut group.set)?;
            let page = (self.page, &self.url);
            let gate = self.gate;
            send_requisite(gate, queued, (page, &self.task.url), &host, group);
            return Ok(());
        }
        opened(self.page, needed.reading, &host, &mut group.set)?;
        group.set.queue(queued, host)
    }

    /// Decides about something that is needed; with the setting, if that is the reason.
    fn judge(
        &self,
        needed: &Needed,
        group: &mut Group<'_>,
    ) -> Result<(Admission, Option<&'static str>), Error> {
        let limits = &self.gate.limits;
        let refused = |answer| Ok((answer, None));
        let gate = self.gate;
        let remembrance = gate
            .forgotten
            .remembrance((needed.id, &needed.url), group)?;
        if remembrance == Remembrance::Forgotten {
            return refused(Admission::Forgotten);
        }
        if remembrance == Remembrance::Usual && self.is_at_hand(needed, group)? {
            return refused(Admission::Known);
        }
        let (url, host) = (&needed.url, HostKey::of(&needed.url));
        let is_within = match self.mode {
            RequisiteMode::None => false,
            RequisiteMode::SameHost => host == self.host,
            RequisiteMode::Scope => self.gate.scope.admits(url),
            RequisiteMode::All => true,
        };
        if !is_within {
            return refused(Admission::OutOfScope);
        }
        if needed.hops > limits.max_redirects {
            return refused(Admission::TooManyRedirects);
        }
        if url.as_str().len() > limits.max_url_length {
            return refused(Admission::Malformed);
        }
        let policy = self.gate.policies.load().of(&host);
        if policy.crawl.exclude.find(url.as_str()).is_some() {
            return refused(Admission::Excluded);
        }
        if self.level > MAX_LEVEL {
            return refused(Admission::TooManyRequisites);
        }
        let page = (self.page, self.most);
        by_budgets(page, (url.clone(), host), &policy.traps, group)
    }

    /// Returns `true` if a URL was asked for, or will be, exactly as it is written.
    fn is_at_hand(&self, needed: &Needed, group: &mut Group<'_>) -> Result<bool, Error> {
        if group.is_seen(needed.id) {
            return Ok(true);
        }
        // Pages are marked since requisites are fetched; those before have their records.
        let page = self.gate.identity.id(&needed.url);
        if !group.is_seen(page) {
            return Ok(false);
        }
        let visited = group.set.found_on(page)?;
        Ok(visited.is_some_and(|(url, _)| url == needed.url.as_str()))
    }
}

/// Sends a requisite of a page, which has this URL, to the shard of its host.
fn send_requisite(
    gate: &Gate,
    queued: QueuedUrl,
    (page, via): ((UrlId, &Url), &Url),
    host: &HostKey,
    group: &mut Group<'_>,
) {
    let mut pages = vec![(page.0, page.1.to_string())];
    if let Some(id) = queued.via.filter(|id| *id != page.0) {
        pages.push((id, via.to_string()));
    }
    let link = SentLink {
        queued,
        origin: SentOrigin::Link,
        by: None,
        pages,
        seed: None,
    };
    gate.send_link(link, host, group);
}

/// Queues a requisite that was found at another shard, if it is admitted. The maximum of a page
/// holds in each shard.
pub(super) fn admit_sent_requisite(
    gate: &Gate,
    (queued, of): (&QueuedUrl, RequisiteOf),
    (url, host): (Url, &HostKey),
    group: &mut Group<'_>,
) -> Result<(), Error> {
    let page = group.set.found_on(of.page)?;
    let Some(page) = page.and_then(|(page, _)| url::parse(&page).ok()) else {
        return Ok(());
    };
    let policies = gate.policies.load();
    let most = policies.of(&HostKey::of(&page)).crawl.max_requisites;
    let traps = policies.of(host).traps;
    let remembrance = gate.forgotten.remembrance((queued.id, &url), group)?;
    let is_known = remembrance == Remembrance::Usual && group.is_seen(queued.id);
    let (answer, setting) = match remembrance {
        Remembrance::Forgotten => (Admission::Forgotten, None),
        _ if is_known => (Admission::Known, None),
        _ => by_budgets((of.page, most), (url, host.clone()), &traps, group)?,
    };
    group.set.state.counters.requisites.named.add(&answer);
    if !matches!(answer, Admission::Admitted(..)) {
        tell_refused((&answer, setting), &queued.url, group);
        return Ok(());
    }
    if !group.see(queued.id) {
        comes_back(queued.id, group);
    }
    opened(of.page, of.reading, host, &mut group.set)?;
    group.set.queue(queued.clone(), host.clone())
}

/// Decides about a requisite by what its page and its host have room for; with the setting, if that
/// is the reason.
fn by_budgets(
    (page, most): (UrlId, u32),
    (url, host): (Url, HostKey),
    traps: &TrapPolicy,
    group: &mut Group<'_>,
) -> Result<(Admission, Option<&'static str>), Error> {
    if room(page, most, &mut group.set)? == 0 {
        return Ok((Admission::TooManyRequisites, None));
    }
    Ok(match used_up(&host, traps, &mut group.set)? {
        Some(setting) => (Admission::Trapped(Trap::HostBudget), Some(setting)),
        None => (Admission::Admitted(url, host, Trail::default()), None),
    })
}

/// Notes that a requisite is not fetched, unless it is at hand.
fn tell_refused(
    (answer, setting): (&Admission, Option<&'static str>),
    url: &str,
    group: &mut Group<'_>,
) {
    if *answer != Admission::Known {
        leave_out(setting.unwrap_or(answer.name()), url, group);
    }
}

fn leave_out(name: &'static str, url: &str, group: &mut Group<'_>) {
    let kind = ReasonKind::NamedRequisite;
    group.set.leave_out(Reason { kind, name }, url);
}
