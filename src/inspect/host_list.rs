//! The hosts of a crawl in any order, a part at a time. Each part reads all hosts, in bounded
//! memory.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use serde::{Deserialize, Serialize};

use super::{Error, HostNow};
use crate::frontier::{HeldHosts, HostState, Moment};
use crate::store::{Store, Table, decode, for_each};

/// Maximum number of hosts in an answer. Their names are short, unlike those of pages.
pub const MAX_HOSTS_LISTED: usize = 1_000;

/// By what hosts are sorted, greatest first.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize, schemars::JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum HostSort {
    /// URLs that wait.
    #[default]
    Queue,
    /// Failures, less the successes since.
    Failures,
    /// Answers received.
    Visits,
    /// Bytes of bodies received.
    Bytes,
    /// Duplicates.
    Duplicates,
    /// Time that its answers took.
    Time,
}

impl HostSort {
    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Queue => "queue",
            Self::Failures => "failures",
            Self::Visits => "visits",
            Self::Bytes => "bytes",
            Self::Duplicates => "duplicates",
            Self::Time => "time",
        }
    }
}

/// The place of a host in a list: what it is sorted by, and its name for those that are equal.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct HostPlace(u64, Reverse<String>);

impl HostPlace {
    /// Reads what [`Self::written`] has written.
    pub fn read(text: &str) -> Option<Self> {
        let (value, name) = text.split_once(' ')?;
        Some(Self(value.parse().ok()?, Reverse(name.to_owned())))
    }

    /// The place as text.
    pub fn written(&self) -> String {
        format!("{} {}", self.0, self.1.0)
    }
}

/// What a host is doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum HostDoing {
    /// It failed so often that it is left alone for a while.
    Parked,
    /// A person holds it.
    Held,
    /// URLs wait, and so does it: for its delay, or after a failure.
    Waiting,
    /// URLs wait, and it can be visited.
    Due,
    /// No URL waits.
    Idle,
}

/// A host in a list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct HostRow {
    /// Its state.
    #[serde(flatten)]
    pub host: HostNow,
    /// Bytes of bodies received.
    pub bytes: u64,
    /// Number of pages that are originals or duplicates.
    pub judged: u64,
    /// Number of these that are duplicates.
    pub duplicates: u64,
    /// Time that its answers took, in milliseconds.
    pub time_ms: u64,
    /// What it is doing.
    pub state: HostDoing,
}

/// Which hosts are listed.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct HostFilter {
    /// By what they are sorted.
    pub sort: HostSort,
    /// Part of their names.
    pub part: String,
    /// Number of hosts, at most [`MAX_HOSTS_LISTED`].
    pub limit: usize,
}

/// The greatest of the hosts that were asked for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct HostRows {
    /// The hosts, greatest first.
    pub hosts: Vec<HostRow>,
    /// Number of all that are meant.
    pub total: u64,
}

/// Lists the hosts that a filter takes.
pub(super) fn host_rows(store: &dyn Store, filter: &HostFilter) -> Result<HostRows, Error> {
    let most = filter.limit.min(MAX_HOSTS_LISTED);
    let list = list_hosts(store, filter.sort, &filter.part, None, most)?;
    Ok(HostRows {
        hosts: list.rows.into_iter().map(|(_, row)| row).collect(),
        total: list.total,
    })
}

/// A part of the hosts.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct HostList {
    /// The hosts with their places, greatest first.
    pub rows: Vec<(HostPlace, HostRow)>,
    /// Number of all hosts that were asked for, in this part or not.
    pub total: u64,
    /// Whether others follow.
    pub has_more: bool,
}

/// Lists the `most` greatest of the hosts behind `after` whose names contain `part`.
pub fn list_hosts(
    store: &dyn Store,
    sort: HostSort,
    part: &str,
    after: Option<&HostPlace>,
    most: usize,
) -> Result<HostList, Error> {
    let part = part.to_ascii_lowercase();
    let now = Moment::of_micros(jiff::Timestamp::now().as_microsecond());
    let held = HeldHosts::read(store)?;
    let mut list = HostList::default();
    let mut greatest = BinaryHeap::new();
    for_each(store, Table::Hosts, &[], &mut |key, row| {
        let name = String::from_utf8_lossy(key);
        if !name.contains(&part) {
            return Ok(());
        }
        list.total += 1;
        let state: HostState = decode(Table::Hosts, row)?;
        let value = value(sort, &state);
        let is_less = |it: &Kept| {
            let HostPlace(least, Reverse(last)) = &it.0.0;
            value < *least || (value == *least && *name > **last)
        };
        if greatest.len() > most && greatest.peek().is_some_and(is_less) {
            return Ok(());
        }
        let place = HostPlace(value, Reverse(name.clone().into_owned()));
        if after.is_none_or(|after| place < *after) {
            greatest.push(Kept(Reverse(place), state));
            if greatest.len() > most + 1 {
                greatest.pop();
            }
        }
        Ok(())
    })?;
    list.has_more = greatest.len() > most;
    let sorted = greatest.into_sorted_vec().into_iter().take(most);
    list.rows = sorted
        .map(|Kept(Reverse(place), state)| {
            let row = row_of(&place.1.0, &state, now, &held);
            (place, row)
        })
        .collect();
    Ok(list)
}

/// A host among the greatest, ordered by its place.
struct Kept(Reverse<HostPlace>, HostState);

impl PartialEq for Kept {
    fn eq(&self, other: &Self) -> bool {
        self.0 == other.0
    }
}

impl Eq for Kept {}

impl PartialOrd for Kept {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Kept {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.0.cmp(&other.0)
    }
}

fn value(sort: HostSort, state: &HostState) -> u64 {
    match sort {
        HostSort::Queue => state.queued,
        HostSort::Failures => u64::from(state.failures),
        HostSort::Visits => state.visits,
        HostSort::Bytes => state.bytes,
        HostSort::Duplicates => state.duplicates,
        HostSort::Time => state.millis,
    }
}

/// The row of one host.
pub(super) fn row_now(store: &dyn Store, name: &str, state: &HostState) -> Result<HostRow, Error> {
    let now = Moment::of_micros(jiff::Timestamp::now().as_microsecond());
    Ok(row_of(name, state, now, &HeldHosts::read(store)?))
}

fn row_of(name: &str, state: &HostState, now: Moment, held: &HeldHosts) -> HostRow {
    let host = HostNow::of(name, state).with_held(held);
    HostRow {
        bytes: state.bytes,
        judged: state.judged,
        duplicates: state.duplicates,
        time_ms: state.millis,
        state: match state.parked {
            _ if host.held.is_some() => HostDoing::Held,
            true => HostDoing::Parked,
            false if state.queued == 0 => HostDoing::Idle,
            false if state.due > now => HostDoing::Waiting,
            false => HostDoing::Due,
        },
        host,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::{Batch, Durability, Memory, encode};

    #[test]
    fn parts_follow_one_another_and_nothing_is_left_out_or_twice() {
        let store = Memory::default();
        let mut batch = Batch::new();
        for number in 0..1_234_u64 {
            let state = HostState {
                queued: number % 7,
                visits: number,
                ..HostState::default()
            };
            let name = format!("http://h{number:04}.example");
            batch.put(Table::Hosts, name.as_str(), encode(&state));
        }
        store.commit(batch, Durability::Process).unwrap();
        let mut names = Vec::new();
        let mut after = None;
        loop {
            let list = list_hosts(&store, HostSort::Queue, "", after.as_ref(), 100).unwrap();
            assert_eq!(list.total, 1_234);
            names.extend(list.rows.iter().map(|(_, row)| row.host.host.clone()));
            after = list.rows.last().map(|(place, _)| place.clone());
            let written = after.as_ref().map(HostPlace::written);
            let read = written.and_then(|it| HostPlace::read(&it));
            assert_eq!(read, after);
            if !list.has_more {
                break;
            }
        }
        assert_eq!(names.len(), 1_234);
        assert_eq!(
            names[0], "http://h0006.example",
            "of equals the first by name"
        );
        let unique: std::collections::BTreeSet<_> = names.iter().collect();
        assert_eq!(unique.len(), 1_234);
        let list = list_hosts(&store, HostSort::Visits, "H12", None, 5).unwrap();
        let visits: Vec<u64> = list.rows.iter().map(|(_, row)| row.host.visits).collect();
        assert_eq!(visits, [1_233, 1_232, 1_231, 1_230, 1_229]);
        assert_eq!((list.total, list.has_more), (34, true));
        let list = list_hosts(&store, HostSort::Visits, "none", None, 5).unwrap();
        assert_eq!(list, HostList::default());
    }
}
