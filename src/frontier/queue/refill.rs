//! Reads the frontier back from disk: the next hosts, and the next URLs of one host.
//!
//! This runs off the reactor and sees committed rows only. The cursors of the schedule keep a URL
//! that is in progress from being read twice.

use std::time::Duration;

use super::host::{HostState, ROBOTS_TTL, RobotsRow, RobotsState, RobotsVerdict};
use super::place::{AGAIN, CLASSES, InBlock, REQUISITES};
use super::task::QueuedUrl;
use super::walk::walk;
use crate::frontier::{Forgotten, Moment, Pace, Remembrance, RobotsMode};
use crate::learn::{Spent, TrapPolicy};
use crate::robots::Rules;
use crate::store::{Result, Store, Table, decode, keys};
use crate::url::{self, BlockList, HostKey, Site, Url};

/// More than by which the end of a visit is rounded up: a robots.txt that was committed at once may
/// have been fetched after now.
const ROUNDED: Duration = Duration::from_secs(1);

/// Whether robots.txt is obeyed, and for which product token.
#[derive(Debug, Clone)]
pub enum RobotsPolicy {
    /// It is fetched and obeyed as this product token.
    Obey(String),
    /// It is neither fetched nor obeyed.
    Ignore,
}

impl RobotsPolicy {
    /// The policy for a host with this mode.
    pub fn new(mode: RobotsMode, product_token: &str) -> Self {
        match mode {
            RobotsMode::Obey => Self::Obey(product_token.to_owned()),
            RobotsMode::Ignore => Self::Ignore,
        }
    }
}

/// A request for the next URLs of a host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RefillRequest {
    /// The host.
    pub host: HostKey,
    /// For each class, the sequence to read from; everything below was read before.
    pub cursors: [u64; CLASSES as usize],
    /// Maximum number of URLs.
    pub limit: usize,
    /// How many of these are for pages to be visited again while new ones wait too.
    pub again: usize,
    /// How many of these are for requisites while others wait too.
    pub requisites: usize,
}

/// Why URLs of a queue are given up without a visit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SkipReason {
    /// Its robots.txt forbids them; the reason in words.
    Robots(String),
    /// Its robots.txt was not asked for, because the guard refused it for this reason: nor are
    /// they.
    Guard(String),
    /// The budget of its host or domain is exhausted; the name of the setting.
    Budget(&'static str),
    /// A person had them forgotten.
    Forgotten,
    /// A list blocks them; the place of the entry.
    Blocked(String),
}

/// The next URLs of a host.
#[derive(Debug)]
pub struct Refilled {
    /// The host.
    pub host: HostKey,
    /// Its pace as committed.
    pub pace: Pace,
    /// Whether the host ever answered.
    pub has_answered: bool,
    /// Whether its robots.txt must be fetched before anything else. If so, no URLs were read.
    pub needs_robots: bool,
    /// URLs to fetch: the new ones in order, those to be visited again in order, requisites in
    /// order.
    pub allowed: Vec<Waiting>,
    /// URLs to give up without a visit, each with the reason.
    pub forbidden: Vec<(Waiting, SkipReason)>,
    /// For each class, the sequence where the next read begins.
    pub cursors: [u64; CLASSES as usize],
    /// Whether there may be more URLs.
    pub more: bool,
}

/// A URL read from a queue.
#[derive(Debug, Clone)]
pub struct Waiting {
    /// Its priority class.
    pub class: u8,
    /// Its sequence.
    pub sequence: u64,
    /// Its position in its block.
    pub block: InBlock,
    /// The parsed URL.
    pub url: Url,
    /// The row as it was queued.
    pub queued: QueuedUrl,
}

/// Reads the next URLs of a host and checks them against what is blocked, its robots.txt and its
/// budget.
pub fn refill(
    store: &dyn Store,
    request: &RefillRequest,
    policy: &RobotsPolicy,
    (budget, blocked): (&TrapPolicy, &BlockList),
    now: Moment,
) -> Result<Refilled> {
    let name = request.host.as_str().as_bytes();
    let state: HostState = match store.get(Table::Hosts, name)? {
        Some(row) => decode(Table::Hosts, &row)?,
        None => HostState::default(),
    };
    let mut refilled = Refilled {
        host: request.host.clone(),
        pace: state.pace(),
        has_answered: state.visits > 0,
        needs_robots: false,
        allowed: Vec::new(),
        forbidden: Vec::new(),
        cursors: request.cursors,
        more: true,
    };
    let spent_by = match state.spent().by_host(budget) {
        Some(by) => Some(by),
        None => domain_spent(store, &Site::of(&request.host.url()))?.by_domain(budget),
    };
    let forgotten = Forgotten::read(store)?;
    let mut because = SkipReason::Robots(String::new());
    let rules = match policy {
        // The budget is exhausted, so robots.txt is not needed.
        _ if spent_by.is_some() => Rules::disallow_all(),
        // Nor is it of a host that is not to be contacted.
        _ if blocked.find_host(&request.host).is_some()
            || forgotten.rules().has_host(&request.host) =>
        {
            Rules::disallow_all()
        }
        RobotsPolicy::Ignore => {
            refilled.pace.crawl_delay = None;
            Rules::allow_all()
        }
        RobotsPolicy::Obey(token) => match known_rules(store, name, &state, token, now)? {
            Some((rules, reason)) => {
                because = reason;
                rules
            }
            None => {
                // The rules of a host without URLs to fetch are not needed.
                refilled.needs_robots = state.queued > 0;
                refilled.more = state.queued > 0;
                return Ok(refilled);
            }
        },
    };
    if let Some(by) = spent_by {
        because = SkipReason::Budget(by);
    }
    let mut queue = Queue {
        store,
        host: &request.host,
        state: &state,
        cursors: request.cursors,
    };
    let limit = request.limit;
    let mut taken = queue.take_class(REQUISITES, request.requisites.min(limit))?;
    taken.extend(queue.take_class(AGAIN, request.again.min(limit - taken.len()))?);
    taken.extend(queue.take_new(limit - taken.len())?);
    // What new URLs leave free is for further ones of the others.
    taken.extend(queue.take_class(AGAIN, limit - taken.len())?);
    taken.extend(queue.take_class(REQUISITES, limit - taken.len())?);
    refilled.cursors = queue.cursors;
    refilled.more = taken.len() == request.limit;
    for (class, sequence, block, queued) in taken {
        let Ok(url) = url::parse(&queued.url) else {
            tracing::warn!(url = queued.url, "a queued URL no longer parses; skipped");
            continue;
        };
        let blocked = blocked.find(&url);
        let blocked = blocked.map(|by| SkipReason::Blocked(by.to_string()));
        let allowed = spent_by.is_none() && rules.allows(&path_and_query(&url));
        let skipped = match forgotten.of(&url, &[queued.id], store)? {
            Remembrance::Forgotten => Some(SkipReason::Forgotten),
            _ => blocked.or_else(|| (!allowed).then(|| because.clone())),
        };
        let waiting = Waiting {
            class,
            sequence,
            block,
            url,
            queued,
        };
        match skipped {
            None => refilled.allowed.push(waiting),
            Some(reason) => refilled.forbidden.push((waiting, reason)),
        }
    }
    Ok(refilled)
}

/// The queue of a host, read on from where the last read ended.
struct Queue<'a> {
    store: &'a dyn Store,
    host: &'a HostKey,
    state: &'a HostState,
    cursors: [u64; CLASSES as usize],
}

impl Queue<'_> {
    /// Takes up to `limit` URLs that were not visited, class after class.
    fn take_new(&mut self, limit: usize) -> Result<Vec<TakenUrl>> {
        // No block above the highest class that was ever read or completed was deleted. There are
        // no tombstones there, so all of these classes are read in one go.
        let is_touched = |class| self.state.head(class) > 0 || self.cursor(class) > 0;
        let untouched = (0..AGAIN)
            .rev()
            .find(|class| is_touched(*class))
            .map_or(0, |class| class + 1);
        let mut taken = Vec::new();
        for class in 0..untouched {
            taken.extend(self.take_class(class, limit - taken.len())?);
        }
        if untouched < AGAIN {
            let prefix = keys::queue_host(self.host.as_str());
            let limit = limit - taken.len();
            taken.extend(self.take(untouched, &prefix, |class| class < AGAIN, limit)?);
        }
        Ok(taken)
    }

    /// Takes up to `limit` URLs of one class.
    fn take_class(&mut self, class: u8, limit: usize) -> Result<Vec<TakenUrl>> {
        let prefix = keys::queue_class(self.host.as_str(), class);
        self.take(class, &prefix, |_| true, limit)
    }

    /// Takes up to `limit` URLs under a prefix in order, from the cursor of a class on: those of
    /// the classes that are meant.
    fn take(
        &mut self,
        class: u8,
        prefix: &[u8],
        is_meant: impl Fn(u8) -> bool,
        limit: usize,
    ) -> Result<Vec<TakenUrl>> {
        /// Number of blocks read at once. Most contain several URLs, some only one.
        const BLOCKS: usize = 8;
        let mut taken: Vec<TakenUrl> = Vec::new();
        if limit == 0 {
            return Ok(taken);
        }
        let cursor = self.cursor(class);
        let from = keys::queue(self.host.as_str(), class, cursor);
        walk(
            self.store,
            self.state,
            (prefix, from),
            BLOCKS,
            &mut |class, sequence, place, queued| {
                if sequence >= cursor && is_meant(class) {
                    taken.push((class, sequence, place, queued));
                }
                Ok(taken.len() < limit)
            },
        )?;
        for (class, sequence, ..) in &taken {
            if let Some(cursor) = self.cursors.get_mut(usize::from(*class)) {
                *cursor = sequence + 1;
            }
        }
        Ok(taken)
    }

    /// The lowest sequence of a class that can be waiting and was not read.
    fn cursor(&self, class: u8) -> u64 {
        self.cursors[usize::from(class)].max(self.state.head(class))
    }
}

/// A URL taken from its block: class, sequence, position, row.
type TakenUrl = (u8, u64, InBlock, QueuedUrl);

/// What was spent on a domain.
pub fn domain_spent(store: &dyn Store, domain: &Site) -> Result<Spent> {
    match store.get(Table::Learned, &keys::domain(domain.as_str()))? {
        Some(row) => decode(Table::Learned, &row),
        None => Ok(Spent::default()),
    }
}

/// The rules of the host and the reason for what they forbid; `None` if they are unknown or stale.
fn known_rules(
    store: &dyn Store,
    name: &[u8],
    state: &HostState,
    product_token: &str,
    now: Moment,
) -> Result<Option<(Rules, SkipReason)>> {
    match state.robots {
        // A clock that was ahead may have written a time that is further away.
        RobotsState::Until(until) if now < until && until <= now.plus(ROBOTS_TTL + ROUNDED) => {}
        _ => return Ok(None),
    }
    let Some(row) = store.get(Table::Robots, name)? else {
        return Ok(None);
    };
    let row: RobotsRow = decode(Table::Robots, &row)?;
    let reason = match &row.verdict {
        RobotsVerdict::DisallowAll(why) if is_refused(store, name)? => {
            SkipReason::Guard(why.clone())
        }
        verdict => SkipReason::Robots(verdict.reason()),
    };
    Ok(Some((row.verdict.rules(product_token), reason)))
}

/// Whether the robots.txt of a host was refused in the run that wrote its row.
fn is_refused(store: &dyn Store, name: &[u8]) -> Result<bool> {
    let key = [keys::meta::ROBOTS_REFUSED, name].concat();
    Ok(store.get(Table::Meta, &key)?.is_some())
}

/// Whether a row of `Robots` says nothing about the robots.txt of the host, because that was never
/// asked for. Versions before kept no note of that, and wrote that there is none.
pub fn was_never_asked(store: &dyn Store, host: &HostKey, row: &RobotsRow) -> Result<bool> {
    match &row.verdict {
        RobotsVerdict::DisallowAll(_) => is_refused(store, host.as_str().as_bytes()),
        RobotsVerdict::AllowAll if row.document.is_none() => {
            let is_searched = store.get(Table::Meta, keys::meta::ROBOTS_SEARCHED)?;
            Ok(is_searched.is_none())
        }
        _ => Ok(false),
    }
}

/// What robots.txt rules are matched against (RFC 9309, section 2.2.2).
pub fn path_and_query(url: &Url) -> String {
    match url.query() {
        Some(query) => format!("{}?{query}", url.path()),
        None => url.path().to_owned(),
    }
}

/// The value of a row in `Due` whose host is parked; otherwise it is empty.
pub const PARKED: &[u8] = b"p";

/// A request for the next hosts with URLs waiting.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LoadRequest {
    /// The key in `Due` to read from.
    pub from: Vec<u8>,
    /// Maximum number of hosts.
    pub limit: usize,
}

/// The next hosts with URLs waiting, by due time.
#[derive(Debug)]
pub struct Loaded {
    /// For each host, the earliest time of its next visit, and whether it is parked until then.
    pub hosts: Vec<(Moment, HostKey, bool)>,
    /// The key to continue from; `None` at the end of the table.
    pub next: Option<Vec<u8>>,
}

/// Reads the next hosts with URLs waiting.
pub fn load(store: &dyn Store, request: &LoadRequest) -> Result<Loaded> {
    let rows = store.range(Table::Due, &[], &request.from, request.limit)?;
    let next = match rows.last() {
        Some((key, _)) if rows.len() == request.limit => Some([key, &[0][..]].concat()),
        _ => None,
    };
    let hosts = rows
        .iter()
        .filter_map(|(key, value)| {
            let (due, host) = keys::parse_due(key)?;
            Some((Moment(due), HostKey::parse(host)?, value == PARKED))
        })
        .collect();
    Ok(Loaded { hosts, next })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::frontier::{Block, Opened};
    use crate::store::{Batch, Durability, Memory, encode};
    use crate::url::UrlId;

    fn queued(number: u64) -> QueuedUrl {
        QueuedUrl::new(
            format!("http://a.example/{number}"),
            UrlId::from_bytes([0; 16]),
        )
    }

    fn put(host: &str, class: u8, sequences: &[u64], batch: &mut Batch) {
        let urls = sequences
            .iter()
            .map(|sequence| (*sequence, queued(*sequence)));
        let block = Block {
            urls: urls.collect(),
            removed: 0,
        };
        let last = sequences.last().copied().unwrap_or(0);
        batch.put(
            Table::Queue,
            keys::queue(host, class, last),
            block.encode(last),
        );
    }

    /// The end of a visit is rounded up, so its commit may come before it.
    #[test]
    fn rules_are_known_as_soon_as_they_are_committed() {
        let now = Moment(1 << 40);
        let (host, store) = ("http://a.example", Memory::default());
        let row = RobotsRow {
            verdict: RobotsVerdict::AllowAll,
            document: None,
        };
        let mut batch = Batch::new();
        batch.put(Table::Robots, host, encode(&row));
        store.commit(batch, Durability::Process).unwrap();
        let is_known = |until: Moment| {
            let state = HostState {
                robots: RobotsState::Until(until),
                ..HostState::default()
            };
            let rules = known_rules(&store, host.as_bytes(), &state, "gleaner", now);
            rules.unwrap().is_some()
        };
        let finished = now.plus(Duration::from_millis(1));
        assert!(is_known(finished.plus(ROBOTS_TTL)));
        assert!(is_known(now.plus(Duration::from_millis(1))));
        assert!(!is_known(now));
        assert!(!is_known(now.plus(ROBOTS_TTL * 2)));
    }

    proptest! {
        /// Reads class after class, each from the later of its head and its cursor; never more than
        /// requested, nothing of another host, and nothing that has left.
        #[test]
        fn the_next_urls_are_read_in_their_order(
            rows in prop::collection::btree_set((0..CLASSES, 0..30_u64), 0..60),
            heads in prop::collection::vec(0..20_u64, 0..usize::from(CLASSES)),
            reads in prop::collection::vec(1..20_usize, 1..8),
            size in 1..6_usize, pattern in any::<u64>(),
        ) {
            let store = Memory::default();
            let host = HostKey::parse("http://a.example").unwrap();
            let head = |class: u8| heads.get(usize::from(class)).copied().unwrap_or(0);
            let mut batch = Batch::new();
            for other in ["http://a.exampl", "http://a.example:81", "http://b.example"] {
                put(other, 3, &[3], &mut batch);
            }
            let (mut expected, mut again, mut requisites) = (Vec::new(), Vec::new(), Vec::new());
            let mut state = HostState { heads: heads.clone(), ..HostState::default() };
            for class in 0..CLASSES {
                let of_class: Vec<u64> = rows.iter().filter(|row| row.0 == class).map(|row| row.1).collect();
                for sequences in of_class.chunks(size) {
                    let last = sequences[sequences.len() - 1];
                    // Blocks below the head were deleted.
                    if last < head(class) {
                        continue;
                    }
                    put(host.as_str(), class, sequences, &mut batch);
                    // Some URLs of the others have left, but not the last one.
                    let gone = pattern.rotate_left(last as u32) & ((1 << (sequences.len() - 1)) - 1);
                    state.opened.extend((gone != 0).then_some(Opened { class, last, gone }));
                    let waiting = sequences.iter().enumerate().filter(|(index, sequence)| {
                        **sequence >= head(class) && gone >> index & 1 == 0
                    });
                    let waiting = waiting.map(|(_, sequence)| (class, *sequence));
                    match class {
                        AGAIN => again.extend(waiting),
                        REQUISITES => requisites.extend(waiting),
                        _ => expected.extend(waiting),
                    }
                }
            }
            batch.put(Table::Hosts, host.as_str(), encode(&state));
            store.commit(batch, Durability::Process).unwrap();

            let (mut found, mut found_again, mut found_requisites) = (Vec::new(), Vec::new(), Vec::new());
            let mut cursors = [0; CLASSES as usize];
            for limit in reads {
                let (share, third) = (limit / 2, limit / 3);
                let request = RefillRequest { host: host.clone(), cursors, limit, again: share, requisites: third };
                let now = Moment(0);
                let refilled = refill(&store, &request, &RobotsPolicy::Ignore, (&TrapPolicy::default(), &BlockList::default()), now).unwrap();
                prop_assert!(refilled.allowed.len() <= limit);
                let left = (expected.len() - found.len(), again.len() - found_again.len());
                let left_requisites = requisites.len() - found_requisites.len();
                let read = refilled.allowed.iter().map(|it| (it.class, it.sequence));
                let (third_line, read): (Vec<_>, Vec<_>) = read.partition(|(class, _)| *class == REQUISITES);
                let (second, first): (Vec<_>, Vec<_>) = read.into_iter().partition(|(class, _)| *class == AGAIN);
                // None keeps the others out of its share.
                let taken = third.min(left_requisites);
                prop_assert!(third_line.len() >= taken);
                prop_assert!(second.len() >= share.min(left.1));
                prop_assert!(first.len() >= (limit - taken - share).min(left.0));
                let all = first.len() + second.len() + third_line.len();
                prop_assert_eq!(all, limit.min(left.0 + left.1 + left_requisites));
                found.extend(first);
                found_again.extend(second);
                found_requisites.extend(third_line);
                let is_all = found.len() == expected.len() && found_again.len() == again.len()
                    && found_requisites.len() == requisites.len();
                prop_assert!(refilled.more || is_all);
                cursors = refilled.cursors;
            }
            prop_assert_eq!(&found[..], &expected[..found.len()]);
            prop_assert_eq!(&found_again[..], &again[..found_again.len()]);
            prop_assert_eq!(&found_requisites[..], &requisites[..found_requisites.len()]);
        }
    }
}
