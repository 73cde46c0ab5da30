//! What deduplication did for a crawl: duplicates by tier, distance and host, the largest clusters.

use std::collections::{BTreeMap, HashSet};

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};

use super::duplicates::dups;
use super::top::Top;
use super::{Error, MAX_LISTED};
use crate::dedup::{DocumentId, Similarity, Tier};
use crate::engine::{Omissions, View};
use crate::frontier::HostState;
use crate::rows::{Compared, Counters, CrawlState, EARLIER, Raced, RequisiteCounters};
use crate::store::{Store, Table, decode, for_each};

/// What deduplication did for a crawl since it began.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Report {
    /// Number of pages that are originals or duplicates.
    pub judged: u64,
    /// Number of duplicates.
    pub duplicates: u64,
    /// Bytes of their bodies that did not have to be stored.
    pub saved: u64,
    /// Bytes of all bodies received.
    pub received: u64,
    /// Number of originals that have duplicates.
    pub clusters: u64,
    /// Pages of their own that another shard of the crawl had stored too, at the same time.
    #[serde(default, skip_serializing_if = "is_none")]
    pub raced: u64,
    /// Duplicates by tier, cheapest tier first.
    pub tiers: Vec<TierFigures>,
    /// Near duplicates by the number of bits in which the `SimHashes` differ.
    #[serde(deserialize_with = "with_numeric_keys")]
    pub distances: BTreeMap<u8, u64>,
    /// Near duplicates by similarity, in steps of 0.01: 0.93 counts those from 0.93 to below 0.94.
    pub similarities: Vec<(Similarity, u64)>,
    /// Files that were fetched because pages need them. They are no pages.
    #[serde(default)]
    pub requisites: RequisiteCounters,
    /// What earlier crawls spared this one, if it asks by what they got (`archive.since`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since: Option<SinceFigures>,
    /// The clusters with the most duplicates, largest first.
    pub largest: Vec<ClusterFigures>,
    /// The hosts with the highest share of duplicates, highest first.
    pub hosts: Vec<HostDuplicates>,
    /// What was left out, and the seeds that gave nothing.
    #[serde(flatten)]
    pub omissions: Omissions,
}

/// Whether there is none of something.
#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde passes a reference"
)]
fn is_none(count: &u64) -> bool {
    *count == 0
}

/// Reads a map with numeric keys. JSON writes them as text, which serde does not turn back into
/// numbers within an internally tagged enum such as [`Answer`](super::Answer) (serde issue 1183).
fn with_numeric_keys<'de, D: Deserializer<'de>>(map: D) -> Result<BTreeMap<u8, u64>, D::Error> {
    let map = BTreeMap::<String, u64>::deserialize(map)?;
    map.into_iter()
        .map(|(key, value)| Ok((key.parse().map_err(D::Error::custom)?, value)))
        .collect()
}

/// The duplicates that one tier found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct TierFigures {
    /// The tier.
    pub tier: Tier,
    /// Number of duplicates.
    pub pages: u64,
    /// Bytes of their bodies that did not have to be stored.
    pub saved: u64,
}

/// What earlier crawls of the same sites spared one.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct SinceFigures {
    /// Pages that are as an earlier crawl stored them.
    pub unchanged: u64,
    /// Pages of an earlier crawl that are others now.
    pub changed: u64,
    /// Responses of earlier crawls, of pages and of what these need, to which records refer.
    pub records: u64,
    /// Bytes of those responses in the earlier archives, which were not stored again.
    pub saved: u64,
}

/// Figures of one cluster.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct ClusterFigures {
    /// URL of the original.
    pub original: String,
    /// Preferred URL of the cluster.
    pub canonical: String,
    /// Number of duplicates.
    pub duplicates: u64,
    /// Bytes of their bodies that did not have to be stored.
    pub saved: u64,
}

/// Duplicates of one host.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct HostDuplicates {
    /// Scheme, name and port.
    pub host: String,
    /// Number of pages that are originals or duplicates.
    pub judged: u64,
    /// Number of duplicates.
    pub duplicates: u64,
    /// `duplicates / judged`.
    pub rate: f64,
}

/// Bounds on the lists of a report.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReportOptions {
    /// Number of clusters and hosts to list, at most [`MAX_LISTED`].
    pub top: usize,
    /// Minimum number of pages of a listed host: that the only page of a host is a duplicate says
    /// little.
    pub min_pages: u64,
}

/// Summarizes deduplication. Reads the record of every duplicate and the row of every host.
pub(crate) fn report(view: &View, shown: ReportOptions) -> Result<Report, Error> {
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
    report.raced = Raced::count(view.store())?;
    report.omissions = Omissions::read(view.store(), false)?;
    if let Some(state) = CrawlState::read(view.store())? {
        report.received = state.counters.bytes;
        report.since = since(view.store(), &state.counters)?;
        report.requisites = state.counters.requisites;
    }
    Ok(report)
}

/// The figures of earlier crawls; `None` if nothing was compared with any. A response that has the
/// bytes of several URLs counts once.
fn since(store: &dyn Store, counters: &Counters) -> Result<Option<SinceFigures>, Error> {
    let mut figures = SinceFigures {
        unchanged: counters.compared(Compared::UnchangedSince),
        changed: counters.compared(Compared::ChangedSince),
        ..SinceFigures::default()
    };
    let mut places = HashSet::new();
    for_each(store, Table::Earlier, &[], &mut |_, row| {
        let page = EARLIER.decode(row)?;
        if page.confirmed.is_some() && places.insert((page.file, page.offset)) {
            figures.records += 1;
            figures.saved += page.length;
        }
        Ok(())
    })?;
    Ok((figures != SinceFigures::default()).then_some(figures))
}

/// Adds the figures of the hosts.
fn hosts(store: &dyn Store, shown: ReportOptions, report: &mut Report) -> Result<(), Error> {
    let mut top = Top::new(shown.top);
    for_each(store, Table::Hosts, &[], &mut |key, row| {
        let host: HostState = decode(Table::Hosts, row)?;
        report.judged += host.judged;
        if host.duplicates > 0 && host.judged >= shown.min_pages.max(1) {
            let rate = host.duplicates as f64 / host.judged as f64;
            // Millionths have the order of the rates, and are `Ord`, unlike `f64`.
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
