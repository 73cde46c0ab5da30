//! Requeues URLs on a user's request: URLs that were given up, by failure class, hosts that are
//! parked for such failures, and URLs that are deferred.
//!
//! The rows are examined some at a time, outside the committer. Each part is committed by itself:
//! by the committer if a crawl runs, else by the command. What no longer applies when a part is
//! committed is left alone, so a URL is never queued twice.

use std::path::Path;
use std::sync::Arc;

use crate::archive::RecordKind;
use crate::engine::clock::Clock;
use crate::engine::commit::WriteSet;
use crate::engine::error::Error;
use crate::engine::learned::budgets::count_returned;
use crate::engine::learned::deferred::{self, Deferred};
use crate::engine::learned::requisites::reopened;
use crate::engine::open::{DataDirectory, open_store};
use crate::engine::requeue::{PutBack, Retried, RetryCursor, RetryFilter};
use crate::fetch::FailureClass;
use crate::frontier::{HeldHosts, HostState, Policies, Purpose, QueuedUrl, RequisiteOf, Trouble};
use crate::learn::Expectation;
use crate::rows::{Counters, CrawlState, DiskState, Fate, PageRecord, Reason, ReasonKind, Revisit};
use crate::store::{Durability, Store, Table, decode, keys};
use crate::url::{self, HostKey, UrlId};

/// Number of rows read per part.
const ROWS: usize = 2_000;

/// The class of deferred URLs, which were never tried.
const TRAP: &str = "trap";

/// Returns the classes of URLs that can be requeued: the failures for which a URL may be given up,
/// and the deferred.
pub fn retry_classes() -> impl Iterator<Item = &'static str> {
    let others = [
        FailureClass::Guard,
        FailureClass::Robots,
        FailureClass::Budget,
        FailureClass::Blocked,
        FailureClass::Dropped,
        FailureClass::LogsOut,
        FailureClass::Unwanted,
        FailureClass::Internal,
    ];
    let troubles = Trouble::ALL.iter().map(|it| it.name());
    let failures = troubles.chain(others.into_iter().map(FailureClass::name));
    failures.chain([TRAP])
}

/// Requeues failed URLs. No crawl may be running.
pub fn retry(path: &Path, filter: &RetryFilter) -> Result<Retried, Error> {
    let directory = DataDirectory::take_existing(path)?;
    let store = open_store(&directory)?;
    let mut state = CrawlState::read(&*store)?.unwrap_or_default();
    let mut disk = DiskState::read(&*store)?.unwrap_or_default();
    let held = Arc::new(HeldHosts::read(&*store)?);
    let mut done = Retried::default();
    loop {
        let part = find(&*store, filter, done.next.take())?;
        let now = Clock::start().now();
        let mut set = WriteSet::new(Arc::clone(&store), (state, disk), Arc::clone(&held), now);
        done.add(part.put_back(&mut set)?);
        set.state.sequence += 1;
        let prepared = set.prepare()?;
        store.commit(prepared.batch, Durability::Disk)?;
        (state, disk) = (prepared.state, prepared.disk);
        if done.next.is_none() {
            return Ok(done);
        }
    }
}

/// Finds a part of what is to be requeued. Reads the store, so it blocks.
pub(crate) fn find(
    store: &dyn Store,
    filter: &RetryFilter,
    from: Option<RetryCursor>,
) -> Result<PutBack, Error> {
    let mut found = PutBack {
        filter: filter.clone(),
        pages: Vec::new(),
        hosts: Vec::new(),
        deferred: Vec::new(),
        next: None,
        reply: None,
    };
    let behind = |key: &[u8]| [key, &[0]].concat();
    match from.unwrap_or(RetryCursor::Pages(Vec::new())) {
        RetryCursor::Pages(from) => {
            let rows = store.range(Table::Pages, &[], &from, ROWS)?;
            for (key, row) in &rows {
                let page: PageRecord = decode(Table::Pages, row)?;
                if filter.class_of(&page).is_some()
                    && let Ok(id) = key.as_slice().try_into()
                {
                    found.pages.push(UrlId::from_bytes(id));
                }
            }
            found.next = Some(match rows.last() {
                Some((last, _)) if rows.len() == ROWS => RetryCursor::Pages(behind(last)),
                _ => RetryCursor::Hosts(Vec::new()),
            });
        }
        RetryCursor::Hosts(from) => {
            let rows = store.range(Table::Hosts, &[], &from, ROWS)?;
            for (key, row) in &rows {
                let state: HostState = decode(Table::Hosts, row)?;
                let name = std::str::from_utf8(key).ok();
                if let Some(host) = name.and_then(HostKey::parse)
                    && filter.is_held_up(&host, &state)
                {
                    found.hosts.push(host);
                }
            }
            found.next = match rows.last() {
                Some((last, _)) if rows.len() == ROWS => Some(RetryCursor::Hosts(behind(last))),
                _ if filter.has_class(TRAP) => Some(RetryCursor::Deferred(Vec::new())),
                _ => None,
            };
        }
        RetryCursor::Deferred(from) => {
            let rows = store.range(Table::Deferred, &[], &from, ROWS)?;
            if let Some((last, _)) = rows.last().filter(|_| rows.len() == ROWS) {
                found.next = Some(RetryCursor::Deferred(behind(last)));
            }
            let is_meant = |key: &[u8]| {
                let host = keys::parse_deferred(key).and_then(|it| HostKey::parse(it.0));
                host.is_some_and(|host| filter.has_host(&host))
            };
            let keys = rows.into_iter().map(|(key, _)| key);
            found.deferred.extend(keys.filter(|key| is_meant(key)));
        }
    }
    Ok(found)
}

impl RetryFilter {
    fn has_class(&self, class: &str) -> bool {
        self.classes.iter().any(|it| it == class)
    }

    fn has_host(&self, host: &HostKey) -> bool {
        let mut pattern = self.host.iter();
        pattern.all(|pattern| pattern.matches(host))
    }

    /// Returns the class for which a page is requeued, or `None` if it is not.
    fn class_of(&self, page: &PageRecord) -> Option<String> {
        let class = match &page.fate {
            Fate::Failed {
                class, next: None, ..
            }
            | Fate::FailedRequisite {
                class, next: None, ..
            } => class,
            Fate::Answered { status, .. } | Fate::Requisite { status, .. } => match status {
                429 | 503 => Trouble::Overloaded.name(),
                500.. => Trouble::ServerError.name(),
                _ => return None,
            },
            _ => return None,
        };
        let url = url::parse(&page.url).ok()?;
        let is_wanted = self.has_class(class) && self.has_host(&HostKey::of(&url));
        is_wanted.then(|| class.to_owned())
    }

    /// Returns `true` if a host waits because of a failure of these classes.
    fn is_held_up(&self, host: &HostKey, state: &HostState) -> bool {
        let is_of_class = state.trouble.is_some_and(|it| self.has_class(it.name()));
        is_of_class && self.has_host(host)
    }
}

impl PutBack {
    /// Requeues a part, as far as it still applies.
    pub(crate) fn put_back(&self, set: &mut WriteSet) -> Result<Retried, Error> {
        let mut done = Retried {
            next: self.next.clone(),
            ..Retried::default()
        };
        for id in &self.pages {
            if let Some(class) = self.requeue(*id, &mut done, set)? {
                *done.urls.entry(class).or_default() += 1;
            }
        }
        for key in &self.deferred {
            if take_back(key, set)? {
                *done.urls.entry(TRAP.to_owned()).or_default() += 1;
            }
        }
        for host in &self.hosts {
            if end_waits(&self.filter, host, set)? {
                done.hosts += 1;
                let state = set.host(host)?;
                if state.queued > 0 {
                    let due = state.due;
                    set.receipt.queued.push((host.clone(), due));
                }
            }
        }
        Ok(done)
    }

    /// Queues a page again if it still is as it was found. Returns the class of its failure.
    fn requeue(
        &self,
        id: UrlId,
        done: &mut Retried,
        set: &mut WriteSet,
    ) -> Result<Option<String>, Error> {
        let now = set.now;
        let Some(page) = set.page(id)? else {
            return Ok(None);
        };
        let Some(class) = self.filter.class_of(page) else {
            return Ok(None);
        };
        let Ok(url) = url::parse(&page.url) else {
            return Ok(None);
        };
        let host = HostKey::of(&url);
        if let Purpose::Requisite(of) = page.purpose() {
            requeue_requisite(id, of, (&host, &class), set)?;
            done.hosts += u64::from(end_waits(&self.filter, &host, set)?);
            return Ok(Some(class));
        }
        let is_answered = matches!(page.fate, Fate::Answered { .. });
        if is_answered && page.revisit.is_some_and(|revisit| revisit.due <= now) {
            // It is queued, or a daemon is about to do that.
            return Ok(None);
        }
        let queued = QueuedUrl {
            via: page.via,
            depth: page.depth,
            revisit: is_answered,
            ..QueuedUrl::new(page.url.clone(), id)
        };
        let revisit = page.revisit;
        if is_answered {
            // Says that it is queued, as for a page whose time has come.
            let (interval, mark) = revisit.map_or((0, 0), |it| (it.interval, it.mark));
            page.revisit = Some(Revisit {
                due: now,
                interval,
                mark,
            });
        }
        if let Fate::Failed { next, message, .. } = &mut page.fate {
            *next = Some(now);
            let reason = retry_classes()
                .find(|name| *name == class)
                .map(|class| Reason::of_failure(class, message));
            no_longer_failed(&mut set.state.counters, &class);
            if let Some(reason) = reason {
                set.no_longer_left_out(reason, &queued.url);
            }
        }
        if let Some(revisit) = revisit {
            let key = keys::revisit(revisit.due.0, id.as_bytes());
            set.batch.delete(Table::Revisits, key);
        }
        done.hosts += u64::from(end_waits(&self.filter, &host, set)?);
        set.queue(queued, host)?;
        Ok(Some(class))
    }

    /// Requeues a part in a running crawl. A host whose failures are forgotten is still visited
    /// politely: what would be due now is due after its delay.
    pub(crate) fn put_back_politely(
        &self,
        policies: &Policies,
        set: &mut WriteSet,
    ) -> Result<Retried, Error> {
        let done = self.put_back(set)?;
        let mut receipt = std::mem::take(&mut set.receipt);
        for (host, due) in receipt.queued.iter_mut().chain(&mut receipt.relieved) {
            let state = set.host(host)?;
            let delay = policies.of(host).politeness.delay(state.pace().crawl_delay);
            state.due = state.due.max(state.last_visit.plus(delay));
            *due = state.due;
        }
        set.receipt = receipt;
        set.end_receipt();
        Ok(done)
    }
}

/// Queues a page as a seed that the guard refused, because a person has given its name since.
/// Returns `false` if the guard did not refuse it.
pub(crate) fn let_in(id: UrlId, set: &mut WriteSet) -> Result<bool, Error> {
    let part = PutBack {
        filter: RetryFilter {
            classes: vec![FailureClass::Guard.name().to_owned()],
            host: None,
        },
        pages: vec![id],
        hosts: Vec::new(),
        deferred: Vec::new(),
        next: None,
        reply: None,
    };
    let Some(page) = set.page(id)? else {
        return Ok(false);
    };
    if part.filter.class_of(page).is_none() || page.purpose() != Purpose::Page {
        return Ok(false);
    }
    (page.depth, page.via) = (0, None);
    Ok(!part.put_back(set)?.urls.is_empty())
}

/// Queues a requisite again that failed, or that its server refused, and takes back what was
/// counted of it.
fn requeue_requisite(
    id: UrlId,
    of: RequisiteOf,
    (host, class): (&HostKey, &str),
    set: &mut WriteSet,
) -> Result<(), Error> {
    let now = set.now;
    let Some(page) = set.page(id)? else {
        return Ok(());
    };
    let queued = QueuedUrl {
        via: page.via,
        depth: page.depth,
        purpose: Purpose::Requisite(of),
        ..QueuedUrl::new(page.url.clone(), id)
    };
    // Says that it is queued.
    let failed = Fate::failed(queued.purpose, class, String::new(), Some(now));
    let before = std::mem::replace(&mut page.fate, failed);
    let was_same = matches!(page.record, Some((RecordKind::Revisit, _)));
    let class = retry_classes().find(|name| *name == class);
    let counters = &mut set.state.counters.requisites;
    let reason = match before {
        Fate::Requisite { status, size, .. } => {
            counters.fetched = counters.fetched.saturating_sub(1);
            counters.same = counters.same.saturating_sub(u64::from(was_same));
            counters.bytes = counters.bytes.saturating_sub(size);
            if let Some(count) = counters.statuses.get_mut(&(status / 100)) {
                *count = count.saturating_sub(1);
            }
            class.map(|name| (ReasonKind::RefusedRequisite, name))
        }
        Fate::FailedRequisite { message, .. } => {
            if class == Some(FailureClass::Robots.name()) {
                counters.forbidden = counters.forbidden.saturating_sub(1);
            } else {
                counters.failed = counters.failed.saturating_sub(1);
                if let Some(class) = class {
                    counters.failures.take_back(class);
                }
            }
            let name = class.map(|class| Reason::of_failure(class, &message).name);
            name.map(|name| (ReasonKind::FailedRequisite, name))
        }
        _ => None,
    };
    if let Some((kind, name)) = reason {
        set.no_longer_left_out(Reason { kind, name }, &queued.url);
    }
    reopened(of.page, of.reading, set)?;
    set.queue(queued, host.clone())
}

/// Queues a deferred URL. Returns `false` if it is not deferred any more, or was visited.
fn take_back(key: &[u8], set: &mut WriteSet) -> Result<bool, Error> {
    let Some((host, kind, shelf)) = keys::parse_deferred(key) else {
        return Ok(false);
    };
    let Some(host) = HostKey::parse(host) else {
        return Ok(false);
    };
    let rows = set.deferred_rows(key, key, 1)?;
    let Some((key, row)) = rows.into_iter().next() else {
        return Ok(false);
    };
    let deferred: Deferred = decode(Table::Deferred, &row)?;
    set.remove_deferred(key)?;
    deferred::leave(&host, kind, shelf, set)?;
    if deferred.was_queued && set.is_answered(deferred.queued.id)? {
        return Ok(false);
    }
    if !deferred.was_queued {
        count_returned(&deferred.queued, &host, set)?;
    }
    let queued = QueuedUrl {
        expectation: Expectation::Returned,
        ..deferred.queued
    };
    set.queue(queued, host)?;
    Ok(true)
}

fn no_longer_failed(counters: &mut Counters, class: &str) {
    if class == FailureClass::Robots.name() {
        counters.forbidden = counters.forbidden.saturating_sub(1);
        return;
    }
    counters.failed = counters.failed.saturating_sub(1);
    counters.failures.take_back(class);
}

/// Forgets the failures of a host, so that it can be visited as usual. Returns `false` if it had
/// none of these.
fn end_waits(filter: &RetryFilter, host: &HostKey, set: &mut WriteSet) -> Result<bool, Error> {
    let now = set.now;
    let state = set.host(host)?;
    if !filter.is_held_up(host, state) {
        return Ok(false);
    }
    let crawl_delay = state.pace().crawl_delay.unwrap_or_default();
    state.failures = 0;
    state.trouble = None;
    state.parked = false;
    state.due = state.due.min(now.max(state.last_visit.plus(crawl_delay)));
    let due = state.due;
    set.receipt.relieved.push((host.clone(), due));
    Ok(true)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::requeue::RetryHosts;
    use crate::frontier::Moment;

    fn page(url: &str, fate: Fate) -> PageRecord {
        PageRecord {
            url: url.to_owned(),
            via: None,
            depth: 1,
            time: 0,
            last_seen: 0,
            attempts: 3,
            fate,
            revisit: None,
            validators: None,
            document: None,
            record: None,
            stored_members: 0,
        }
    }

    fn failed(class: &str, next: Option<Moment>) -> Fate {
        Fate::Failed {
            class: class.to_owned(),
            message: String::new(),
            next,
        }
    }

    fn filter(classes: &[&str], host: Option<&str>) -> RetryFilter {
        RetryFilter {
            classes: classes.iter().map(|it| (*it).to_owned()).collect(),
            host: host.map(|it| it.parse().unwrap()),
        }
    }

    #[test]
    fn what_is_put_back_is_what_was_given_up_for_the_class_at_the_host() {
        let check = |filter: &RetryFilter, url: &str, fate: Fate, expected: Option<&str>| {
            assert_eq!(
                filter.class_of(&page(url, fate)).as_deref(),
                expected,
                "{url}"
            );
        };
        let all = filter(&["dns", "timeout"], None);
        check(&all, "http://a.example/", failed("dns", None), Some("dns"));
        check(&all, "http://a.example/", failed("tls", None), None);
        check(
            &all,
            "http://a.example/",
            failed("dns", Some(Moment(5))),
            None,
        );
        let one = filter(&["dns"], Some("a.example"));
        check(
            &one,
            "http://www.a.example/x",
            failed("dns", None),
            Some("dns"),
        );
        check(&one, "http://b.example/x", failed("dns", None), None);
        // A host that has a scheme is meant alone.
        let alone = filter(&["dns"], Some("http://a.example"));
        let dns = || failed("dns", None);
        check(&alone, "http://a.example/x", dns(), Some("dns"));
        for other in [
            "http://www.a.example/",
            "https://a.example/",
            "http://a.example:81/",
        ] {
            check(&alone, other, dns(), None);
        }
        for wrong in ["http://", "http://a.example/x", "ftp://a.example"] {
            assert!(wrong.parse::<RetryHosts>().is_err(), "{wrong}");
        }
        assert_eq!(String::from(alone.host.unwrap()), "http://a.example");
    }

    #[test]
    fn a_page_that_was_answered_is_queued_once_however_often_it_is_put_back() {
        use crate::engine::testing::{Answer, World, options};
        use crate::engine::visit::Entry;
        use crate::frontier::RevisitPolicy;

        const PAGE: &str = "http://a.example/";
        let mut options = options();
        options.revisit = RevisitPolicy::off();
        let mut world = World::with(options);
        world.visit(PAGE, &Answer::Status(500));
        let again = filter(&["server-error"], None);
        let put_back = |world: &mut World| {
            for _ in 0..3 {
                let part = find(&*world.store(), &again, None).unwrap();
                world.commit(vec![Entry::PutBack(Box::new(part))]);
            }
        };
        put_back(&mut world);
        assert_eq!(world.waiting().len(), 1);
        world.restart();
        put_back(&mut world);
        assert_eq!(world.waiting().len(), 1);
        // Once it was visited it may be put back again.
        world.revisit(PAGE, &Answer::Status(500));
        assert!(world.waiting().is_empty());
        put_back(&mut world);
        assert_eq!(world.waiting().len(), 1);
        world.revisit(PAGE, &Answer::Silence);
        put_back(&mut world);
        assert_eq!(world.waiting().len(), 1);
    }

    #[test]
    fn every_class_of_failure_can_be_named() {
        let names: Vec<&str> = retry_classes().collect();
        for class in [
            FailureClass::Dns,
            FailureClass::Connect,
            FailureClass::Tls,
            FailureClass::Timeout,
            FailureClass::Disconnect,
            FailureClass::Protocol,
            FailureClass::Guard,
            FailureClass::Robots,
            FailureClass::Budget,
            FailureClass::Blocked,
            FailureClass::Dropped,
            FailureClass::LogsOut,
            FailureClass::Session,
            FailureClass::Unwanted,
            FailureClass::Internal,
        ] {
            assert!(names.contains(&class.name()), "{class:?}");
        }
    }
}
