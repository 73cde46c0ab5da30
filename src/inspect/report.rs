//! What deduplication did for a crawl: duplicates by tier, distance and host, the largest clusters.

use std::collections::BTreeMap;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};

use super::clusters::dups;
use super::top::Top;
use super::{Error, MAX_LISTED};
use crate::dedup::{DocumentId, Similarity, Tier};
use crate::engine::View;
use crate::frontier::HostState;
use crate::rows::CrawlState;
use crate::store::{Store, Table, decode, for_each};

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
    #[serde(deserialize_with = "with_numeric_keys")]
    pub distances: BTreeMap<u8, u64>,
    /// Near duplicates by similarity, in steps of a hundredth: 0.93 is from 0.93 to below 0.94.
    pub similarities: Vec<(Similarity, u64)>,
    /// The clusters with most duplicates, the largest first.
    pub largest: Vec<ClusterFigures>,
    /// The hosts with the highest share of duplicates, the highest first.
    pub hosts: Vec<HostDuplicates>,
}

/// Reads a map with numeric keys. JSON writes them as text, which serde does not turn back into
/// numbers within an internally tagged enum such as [`Answer`](super::Answer) (serde issue 1183).
fn with_numeric_keys<'de, D: Deserializer<'de>>(map: D) -> Result<BTreeMap<u8, u64>, D::Error> {
    let map = BTreeMap::<String, u64>::deserialize(map)?;
    map.into_iter()
        .map(|(key, value)| Ok((key.parse().map_err(D::Error::custom)?, value)))
        .collect()
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
pub(super) fn report(view: &View, shown: ReportOptions) -> Result<Report, Error> {
    let shown = ReportOptions {
        top: shown.top.min(MAX_LISTED),
        ..shown
    };
    let mut report = Report::default();
    let mut tiers: BTreeMap<Tier, (u64, u64)> = BTreeMap::new();
    let mut similarities: BTreeMap<u64, u64> = BTreeMap::new();
    let mut largest = Top::new(shown.top);
    let mut open: Option<(DocumentId, ClusterFigures)> = None;
    let mut from = None;
    loop {
        let part = dups(view, from.as_ref())?;
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
    hosts(view.store(), shown, &mut report)?;
    if let Some(state) = CrawlState::read(view.store())? {
        report.received = state.counters.bytes;
    }
    Ok(report)
}

/// Adds what the hosts' rows say.
fn hosts(store: &dyn Store, shown: ReportOptions, report: &mut Report) -> Result<(), Error> {
    let mut top = Top::new(shown.top);
    for_each(store, Table::Hosts, &[], &mut |key, row| {
        let host: HostState = decode(Table::Hosts, row)?;
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
