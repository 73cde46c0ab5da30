//! The figures of a worker: of the shards that it owns and the copies that it has, and how it sees
//! its cluster. Each worker is scraped by itself, so that sums over all are those of the crawl.

use std::fmt;
use std::sync::Arc;

use bytes::Bytes;
use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, NoLabelSet, text};
use prometheus_client::metrics::MetricType;
use prometheus_client::registry::Registry;

use super::process::Process;
use super::{Writer, as_plain, as_signed};
use crate::cluster::{ClusterStatus, ShardNow};

/// Reads the metrics of a worker, from how it saw its cluster last.
pub(in crate::console) fn text_of(
    worker: &str,
    now: Arc<ClusterStatus>,
    is_engine_away: bool,
) -> Bytes {
    let mut registry = Registry::default();
    registry.register_collector(Box::new(Worker {
        name: worker.to_owned(),
        now,
        is_engine_away,
    }));
    registry.register_collector(Box::new(Process));
    let mut text = String::with_capacity(8 << 10);
    // Writing to a string cannot fail.
    let _ = text::encode_registry(&mut text, &registry);
    as_plain(&text).into()
}

/// What a worker sees.
#[derive(Debug)]
struct Worker {
    name: String,
    now: Arc<ClusterStatus>,
    is_engine_away: bool,
}

/// A figure of a shard.
type Figure = fn(&ShardNow) -> u64;

/// Numbers of a shard that only rise. Another worker that takes it over goes on with them.
const COUNTERS: [(&str, &str, Figure); 7] = [
    (
        "gleaner_cluster_pages",
        "Pages whose server responded.",
        |it| it.figures.pages,
    ),
    ("gleaner_cluster_revisits", "Later visits of pages.", |it| {
        it.figures.revisits
    }),
    ("gleaner_cluster_unique", "Pages of their own.", |it| {
        it.figures.unique
    }),
    (
        "gleaner_cluster_failed",
        "URLs given up without a response.",
        |it| it.figures.failed,
    ),
    ("gleaner_cluster_bytes", "Bytes of bodies received.", |it| {
        it.figures.bytes
    }),
    (
        "gleaner_cluster_links_sent",
        "Links to other shards.",
        |it| it.links.sent,
    ),
    (
        "gleaner_cluster_links_received",
        "Links from other shards that were committed.",
        |it| it.links.received,
    ),
];

/// Numbers of a shard that rise and fall.
const GAUGES: [(&str, &str, Figure); 4] = [
    ("gleaner_cluster_queued", "URLs queued.", |it| {
        it.figures.queued
    }),
    (
        "gleaner_cluster_fetching",
        "Visits between hand-out and analysis.",
        |it| it.figures.fetching,
    ),
    (
        "gleaner_cluster_links_waiting",
        "Links to other shards that these have not committed.",
        |it| it.links.waiting,
    ),
    (
        "gleaner_cluster_epoch",
        "Owners that the shard has had.",
        |it| it.epoch,
    ),
];

impl Collector for Worker {
    fn encode(&self, encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let to = &mut Writer { encoder };
        let now = &self.now;
        let owned = |it: &&ShardNow| it.is_owned && it.owner.as_deref() == Some(&*self.name);
        let own = || now.shards.iter().filter(owned);
        for (name, help, figure) in COUNTERS {
            let mut metric = to.begin(name, help, MetricType::Counter)?;
            for shard in own() {
                metric
                    .encode_family(&self.labels(shard.shard))?
                    .encode_counter::<NoLabelSet, _, u64>(&figure(shard), None)?;
            }
        }
        for (name, help, figure) in GAUGES {
            let mut metric = to.begin(name, help, MetricType::Gauge)?;
            for shard in own() {
                metric
                    .encode_family(&self.labels(shard.shard))?
                    .encode_gauge(&as_signed(figure(shard)))?;
            }
        }
        let lag = "Entries of the log that the copy of this worker has not read.";
        let mut metric = to.begin("gleaner_cluster_copy_lag", lag, MetricType::Gauge)?;
        for shard in &now.shards {
            for copy in shard.copies.iter().filter(|it| it.worker == self.name) {
                metric
                    .encode_family(&self.labels(shard.shard))?
                    .encode_gauge(&as_signed(copy.lag))?;
            }
        }
        self.seen(to)
    }
}

impl Worker {
    fn labels(&self, shard: u16) -> [(&'static str, String); 2] {
        [
            ("shard", format!("{shard:02}")),
            ("worker", self.name.clone()),
        ]
    }

    /// How the worker sees its cluster.
    fn seen(&self, to: &mut Writer<'_>) -> fmt::Result {
        let now = &self.now;
        let mut gauge = |name, help, value: usize| to.gauge(name, help, value as u64);
        let alive = now.workers.iter().filter(|it| it.is_alive).count();
        gauge("gleaner_cluster_workers", "Workers that are alive.", alive)?;
        let unowned = now.shards.iter().filter(|it| !it.is_owned).count();
        gauge(
            "gleaner_cluster_unowned_shards",
            "Shards without an owner that is alive.",
            unowned,
        )?;
        gauge(
            "gleaner_cluster_attention",
            "What needs attention: the sentences of gleaner cluster status.",
            now.attention.len(),
        )?;
        gauge(
            "gleaner_cluster_engine_away",
            "1 while the engine does not answer this worker.",
            usize::from(self.is_engine_away),
        )?;
        let own = now.workers.iter().find(|it| it.name == self.name);
        to.counter(
            "gleaner_cluster_take_overs",
            "Shards that this worker took over from one that was gone, since its process began.",
            own.map_or(0, |it| it.take_overs),
        )?;
        to.gauges(
            "gleaner_build_info",
            "Version of gleaner; always 1.",
            "version",
            &mut [(env!("CARGO_PKG_VERSION"), 1)].into_iter(),
        )
    }
}
