//! The clusters of a crawl, read some members at a time: what `gleaner dups` lists and `gleaner report`
//! sums up. Memory holds a few hundred members, however many there are.
//!
//! Reads the store only, like [`why`](mod@super::why), so it works on one that nobody else has open as well as
//! within the process that crawls; a crawl that goes on meanwhile may move a page from a part that was
//! read to one that will be.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::open::read_secret;
use super::why::time_of;
use super::{Error, Options};
use crate::archive::RecordKind;
use crate::dedup::{DocumentId, Similarity, Tier};
use crate::rows::cluster::Head;
use crate::rows::{CrawlState, Fate, PageRecord};
use crate::store::{Store, Table, decode, keys};
use crate::url::{Identity, UrlId};

/// Rows of the store that are read for one part.
const ROWS: usize = 250;
/// Bytes of URLs after which a part ends: it goes over the control socket in one line.
const MAX_BYTES: usize = 1 << 20;

/// Some of the clusters, in the order in which their originals were discovered.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Dups {
    /// Clusters; the first may go on one of the part before.
    pub clusters: Vec<Cluster>,
    /// Where the next part begins; `None` after the last.
    pub next: Option<Cursor>,
}

/// A place between two rows; hexadecimal.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cursor(String);

/// An original and pages that repeat it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cluster {
    /// The number of the original's document, which names the cluster.
    pub id: DocumentId,
    /// URL of the original.
    pub original: String,
    /// False if the original is gone or another page by now, and its duplicates wait for a visit.
    pub stands: bool,
    /// The URL that the cluster is best called by.
    pub canonical: String,
    /// Its duplicates, the best URL first.
    pub members: Vec<Member>,
}

/// A page that repeats an original.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Member {
    /// The URL as it was requested.
    pub url: String,
    /// By which tier.
    pub tier: Tier,
    /// Bits in which the two `SimHashes` differ; 0 for the exact tiers.
    pub distance: u8,
    /// How alike the two are, 0 to 1.
    pub similarity: Similarity,
    /// The visit that first found it so (RFC 3339).
    pub first_seen: String,
    /// The last visit that did (RFC 3339).
    pub last_checked: String,
    /// Bytes of its body that are not stored.
    pub saved: u64,
}

/// The clusters from a place on, as many as are read at once.
pub(super) fn dups(
    store: &dyn Store,
    options: &Options,
    from: Option<&Cursor>,
) -> Result<Dups, Error> {
    let identity = Identity::new(options.canonicalizer.clone(), read_secret(store)?);
    let from = from.and_then(|cursor| hex::decode(&cursor.0).ok());
    let rows = store.range(Table::Clusters, &[], &from.unwrap_or_default(), ROWS)?;
    let members: Vec<(DocumentId, UrlId)> = rows
        .iter()
        .filter_map(|(key, _)| keys::parse_member(key))
        .map(|(cluster, id)| (cluster, UrlId::from_bytes(id)))
        .collect();
    let ids: Vec<&[u8]> = members.iter().map(|(_, id)| &id.as_bytes()[..]).collect();
    let mut pages = store.get_many(Table::Pages, &ids)?.into_iter();
    let mut part = Dups::default();
    let mut bytes = 0;
    for (at, (key, _)) in rows.iter().enumerate() {
        if bytes > MAX_BYTES {
            part.next = Some(Cursor(hex::encode(key)));
            return Ok(part);
        }
        if let Some((cluster, _)) = keys::parse_member(key)
            && let Some(row) = pages.next().flatten()
        {
            let page: PageRecord = decode(Table::Pages, &row)?;
            bytes += add(store, &identity, cluster, page, &mut part.clusters)?;
        }
        if at + 1 == ROWS {
            part.next = Some(Cursor(hex::encode([key, &[0][..]].concat())));
        }
    }
    Ok(part)
}

/// Adds a member to its cluster; the bytes that it takes.
fn add(
    store: &dyn Store,
    identity: &Identity,
    cluster: DocumentId,
    page: PageRecord,
    clusters: &mut Vec<Cluster>,
) -> Result<usize, Error> {
    // It may have moved since its row was read.
    let Some(duplicate) = page.duplicate().filter(|it| it.of == cluster).copied() else {
        return Ok(0);
    };
    let mut bytes = page.url.len();
    if clusters.last().is_none_or(|last| last.id != cluster) {
        let head = Head::read(store, cluster, duplicate.page)?;
        let head = match &head {
            Some(head) => Cluster {
                id: cluster,
                original: head.page.url.clone(),
                stands: head.document().is_some(),
                canonical: head.canonical(store, identity)?,
                members: Vec::new(),
            },
            None => Cluster {
                id: cluster,
                original: page.url.clone(),
                stands: false,
                canonical: page.url.clone(),
                members: Vec::new(),
            },
        };
        bytes += head.original.len() + head.canonical.len();
        clusters.push(head);
    }
    if let Some(last) = clusters.last_mut() {
        last.members.push(Member {
            tier: duplicate.tier,
            distance: duplicate.distance,
            similarity: duplicate.similarity,
            first_seen: time_of(duplicate.first_seen),
            last_checked: time_of(duplicate.last_checked),
            saved: saved(&page),
            url: page.url,
        });
    }
    Ok(bytes)
}

/// Bytes of a page's body that the archive does not have.
fn saved(page: &PageRecord) -> u64 {
    let is_stored = matches!(page.record, Some((RecordKind::Response, _)));
    match &page.fate {
        Fate::Answered { size, .. } if !is_stored => *size,
        _ => 0,
    }
}

/// What deduplication did for a crawl so far.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Report {
    /// Pages that are originals or duplicates.
    pub judged: u64,
    /// Those that are duplicates.
    pub duplicates: u64,
    /// Bytes of their bodies that are not stored.
    pub saved: u64,
    /// Bytes of bodies received in all.
    pub received: u64,
    /// Originals that have duplicates.
    pub clusters: u64,
    /// The same by tier, cheapest first.
    pub tiers: Vec<TierFigures>,
    /// Near duplicates by the bits in which their `SimHashes` differ.
    pub distances: BTreeMap<u8, u64>,
    /// Near duplicates by similarity, in steps of a hundredth: 0.93 is from 0.93 to below 0.94.
    pub similarities: Vec<(Similarity, u64)>,
    /// The clusters with most duplicates, the largest first.
    pub largest: Vec<ClusterFigures>,
    /// The hosts with the highest share of duplicates, the highest first.
    pub hosts: Vec<HostDuplicates>,
}

/// What one tier found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TierFigures {
    /// The tier.
    pub tier: Tier,
    /// Duplicates.
    pub pages: u64,
    /// Bytes of their bodies that are not stored.
    pub saved: u64,
}

/// A cluster in short.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClusterFigures {
    /// URL of the original.
    pub original: String,
    /// The URL that the cluster is best called by.
    pub canonical: String,
    /// Duplicates.
    pub duplicates: u64,
    /// Bytes of their bodies that are not stored.
    pub saved: u64,
}

/// How much of a host is duplicates.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct HostDuplicates {
    /// Scheme, name and port.
    pub host: String,
    /// Pages that are originals or duplicates.
    pub judged: u64,
    /// Those that are duplicates.
    pub duplicates: u64,
    /// The latter by the former.
    pub rate: f64,
}

/// What a report shows of what there may be much of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReportOptions {
    /// Clusters and hosts that are listed.
    pub top: usize,
    /// Pages that a host must have to be listed: one of one page that is a duplicate says nothing.
    pub min_pages: u64,
}

/// Sums up what deduplication did. Reads every duplicate's record and every host's row.
pub(super) fn report(
    store: &dyn Store,
    options: &Options,
    shown: ReportOptions,
) -> Result<Report, Error> {
    let mut report = Report::default();
    let mut tiers: BTreeMap<Tier, (u64, u64)> = BTreeMap::new();
    let mut similarities: BTreeMap<u64, u64> = BTreeMap::new();
    let mut largest = Top::new(shown.top);
    let mut open: Option<(DocumentId, ClusterFigures)> = None;
    let mut from = None;
    loop {
        let part = dups(store, options, from.as_ref())?;
        for cluster in part.clusters {
            if open.as_ref().is_none_or(|(id, _)| *id != cluster.id) {
                report.clusters += 1;
                let figures = ClusterFigures {
                    original: cluster.original,
                    canonical: cluster.canonical,
                    duplicates: 0,
                    saved: 0,
                };
                if let Some((id, done)) = open.replace((cluster.id, figures)) {
                    largest.offer((done.duplicates, u64::MAX - id), done);
                }
            }
            for member in &cluster.members {
                report.duplicates += 1;
                report.saved += member.saved;
                let tier = tiers.entry(member.tier).or_default();
                *tier = (tier.0 + 1, tier.1 + member.saved);
                if member.tier == Tier::Near {
                    *report.distances.entry(member.distance).or_default() += 1;
                    let hundredth = (member.similarity.share() * 100.0 + 1e-6).floor() as u64;
                    *similarities.entry(hundredth).or_default() += 1;
                }
                if let Some((_, figures)) = &mut open {
                    figures.duplicates += 1;
                    figures.saved += member.saved;
                }
            }
        }
        from = part.next;
        if from.is_none() {
            break;
        }
    }
    if let Some((id, done)) = open {
        largest.offer((done.duplicates, u64::MAX - id), done);
    }
    report.largest = largest.into_sorted();
    let tier = |tier| {
        let (pages, saved) = tiers.get(&tier).copied().unwrap_or_default();
        TierFigures { tier, pages, saved }
    };
    report.tiers = Tier::ALL.map(tier).into();
    let step = |(hundredth, pages)| (Similarity::of(hundredth as f64 / 100.0), pages);
    report.similarities = similarities.into_iter().map(step).collect();
    hosts(store, shown, &mut report)?;
    if let Some(state) = CrawlState::read(store)? {
        report.received = state.counters.bytes;
    }
    Ok(report)
}

/// Adds what the hosts' rows say.
fn hosts(store: &dyn Store, shown: ReportOptions, report: &mut Report) -> Result<(), Error> {
    let mut top = Top::new(shown.top);
    crate::store::for_each(store, Table::Hosts, &[], &mut |key, row| {
        let host: crate::frontier::HostState = decode(Table::Hosts, row)?;
        report.judged += host.judged;
        if host.duplicates > 0 && host.judged >= shown.min_pages.max(1) {
            let rate = host.duplicates as f64 / host.judged as f64;
            // Millionths order as the rates do, and so do not need floating point.
            let place = ((rate * 1e6) as u64, host.duplicates);
            let figures = HostDuplicates {
                host: String::from_utf8_lossy(key).into_owned(),
                judged: host.judged,
                duplicates: host.duplicates,
                rate,
            };
            top.offer(place, figures);
        }
        Ok(())
    })?;
    report.hosts = top.into_sorted();
    Ok(())
}

/// The greatest of what is offered, a bounded number of them; of equal ones the earlier.
pub(super) struct Top<P, T> {
    room: usize,
    items: Vec<(P, T)>,
}

impl<P: Ord, T> Top<P, T> {
    pub(super) fn new(room: usize) -> Self {
        Self {
            room,
            items: Vec::new(),
        }
    }

    /// Whether there is room for something of this place.
    pub(super) fn has_room_for(&self, place: &P) -> bool {
        let is_full = self.items.len() >= self.room;
        self.room > 0 && !(is_full && self.items.last().is_some_and(|(last, _)| last >= place))
    }

    pub(super) fn offer(&mut self, place: P, item: T) {
        if self.has_room_for(&place) {
            let at = self.items.partition_point(|(other, _)| *other >= place);
            self.items.insert(at, (place, item));
            self.items.truncate(self.room);
        }
    }

    pub(super) fn into_sorted(self) -> Vec<T> {
        self.items.into_iter().map(|(_, item)| item).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_greatest_are_kept_in_order() {
        let mut top = Top::new(3);
        for (place, name) in [(1, "a"), (5, "b"), (3, "c"), (5, "d"), (2, "e"), (3, "f")] {
            top.offer(place, name);
        }
        assert!(!top.has_room_for(&3) && top.has_room_for(&4));
        assert_eq!(top.into_sorted(), ["b", "d", "c"]);
        let mut none = Top::new(0);
        none.offer(1, "a");
        assert!(none.into_sorted().is_empty());
    }
}
