//! `gleaner report -o report.html`: the page of the console with what it shows inside, as one file.

use std::collections::BTreeMap;
use std::path::Path;

use jiff::Timestamp;
use serde::Serialize;
use serde_json::{Value, json};

use crate::cli::Failure;
use crate::cli::inspector::Inspector;
use crate::console::saved_page;
use crate::engine::whole_history;
use crate::inspect::{
    self, Answer, Cluster, HostFilter, HostRow, HostRows, HostSort, MAX_HOSTS_LISTED, MAX_LISTED,
    Member, Question, ReportOptions, StatusNow,
};

/// Maximum number of hosts, and of clusters.
const LISTED: usize = MAX_HOSTS_LISTED;
/// Maximum number of duplicates that are named in a cluster.
const MEMBERS: usize = 20;
/// Maximum size of the file.
const MAX_BYTES: usize = 2_000_000;

/// A cluster with some of its duplicates.
#[derive(Debug, Serialize)]
struct SavedCluster {
    #[serde(flatten)]
    cluster: Cluster,
    /// Number of its duplicates.
    duplicates: u64,
    /// Number of these that are not named.
    more: u64,
    /// Bytes of their bodies that did not have to be stored.
    saved: u64,
    /// Their number by tier.
    tiers: BTreeMap<&'static str, u64>,
}

impl SavedCluster {
    fn of(cluster: Cluster) -> Self {
        let mut saved = Self {
            cluster: Cluster {
                members: Vec::new(),
                ..cluster
            },
            duplicates: 0,
            more: 0,
            saved: 0,
            tiers: BTreeMap::new(),
        };
        saved.add(cluster.members);
        saved
    }

    fn add(&mut self, members: Vec<Member>) {
        for member in members {
            self.duplicates += 1;
            self.saved += member.saved;
            *self.tiers.entry(member.tier.name()).or_default() += 1;
            self.cluster.members.push(member);
        }
        self.cut(MEMBERS);
    }

    /// Names no more of its duplicates than these.
    fn cut(&mut self, most: usize) {
        self.cluster.members.truncate(most);
        self.more = self.duplicates - self.cluster.members.len() as u64;
    }
}

/// Writes the file as text.
pub(super) fn page(data_dir: &Path) -> Result<String, Failure> {
    // Before the inspector, which holds a crawl that does not run.
    let mut status = inspect::status(data_dir)?;
    let mut inspector = Inspector::open(data_dir)?;
    let report = Question::Report(ReportOptions {
        top: MAX_LISTED,
        min_pages: 1,
    });
    let Answer::Report(report) = inspector.ask(report)? else {
        return Err(Failure::other_answer());
    };
    status.omissions = Some(report.omissions.clone());
    let (mut hosts, total) = hosts(&mut inspector)?;
    let mut clusters = clusters(&mut inspector)?;
    let history = whole_history(data_dir).ok();
    let marks = inspect::marks(data_dir, &data_dir.to_string_lossy())?;
    let now = format!("{:.0}", Timestamp::now());
    let status = status_of(&status, data_dir, &now)?;
    let title = format!("gleaner: {}", data_dir.display());
    loop {
        let mut answers = json!({
            "status": status,
            "report": report,
            "left-out": report.omissions,
            "marks": marks,
            "hosts": { "hosts": hosts, "total": total, "as_of": now, "next": null },
            "clusters": { "clusters": clusters, "next": null },
        });
        if let Some(history) = &history {
            answers["history"] = serde_json::to_value(history).map_err(anyhow::Error::from)?;
        }
        let data = json!({ "made": now, "answers": answers }).to_string();
        let page = saved_page(&title, &data);
        if page.len() <= MAX_BYTES || clusters.is_empty() && hosts.is_empty() {
            return Ok(page);
        }
        // URLs may be long: the names of duplicates go first, then half of what is listed.
        let named = clusters.iter().map(|it| it.cluster.members.len()).max();
        match named {
            Some(named) if named > 1 => clusters.iter_mut().for_each(|it| it.cut(named / 2)),
            _ => {
                clusters.truncate(clusters.len() / 2);
                hosts.truncate(hosts.len() / 2);
            }
        }
    }
}

/// The state as the API tells it.
fn status_of(status: &StatusNow, data_dir: &Path, now: &str) -> Result<Value, Failure> {
    let mut value = serde_json::to_value(status).map_err(anyhow::Error::from)?;
    let limit = status.status.gauges.limit;
    let state = if status.status.running {
        "running"
    } else {
        "stopped"
    };
    value["state"] = json!(state);
    value["limit_text"] = json!(limit.meaning());
    value["server_time"] = json!(now);
    value["version"] = json!(env!("CARGO_PKG_VERSION"));
    value["data_dir"] = json!(data_dir.display().to_string());
    value["read_only"] = json!(true);
    // They are in an answer of their own.
    value["hosts"] = Value::Null;
    Ok(value)
}

/// The hosts with the most visits, and the number of all.
fn hosts(inspector: &mut Inspector) -> Result<(Vec<HostRow>, u64), Failure> {
    let filter = HostFilter {
        sort: HostSort::Visits,
        part: String::new(),
        limit: LISTED,
    };
    let Answer::HostList(HostRows { hosts, total }) = inspector.ask(Question::HostList(filter))?
    else {
        return Err(Failure::other_answer());
    };
    Ok((hosts, total))
}

/// The clusters with the most duplicates, most first.
fn clusters(inspector: &mut Inspector) -> Result<Vec<SavedCluster>, Failure> {
    let mut largest: Vec<SavedCluster> = Vec::new();
    let mut open: Option<SavedCluster> = None;
    let mut from = None;
    loop {
        let Answer::Dups(part) = inspector.ask(Question::Dups { from })? else {
            return Err(Failure::other_answer());
        };
        for cluster in part.clusters {
            match &mut open {
                Some(it) if it.cluster.id == cluster.id => it.add(cluster.members),
                _ => {
                    largest.extend(open.replace(SavedCluster::of(cluster)));
                    if largest.len() >= 2 * LISTED {
                        keep_largest(&mut largest);
                    }
                }
            }
        }
        from = part.next;
        if from.is_none() {
            break;
        }
    }
    largest.extend(open);
    keep_largest(&mut largest);
    Ok(largest)
}

fn keep_largest(clusters: &mut Vec<SavedCluster>) {
    clusters.sort_by(|a, b| {
        let by_size = b.duplicates.cmp(&a.duplicates);
        by_size.then(a.cluster.id.cmp(&b.cluster.id))
    });
    clusters.truncate(LISTED);
}
