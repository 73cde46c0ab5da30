//! `/metrics`: the figures of a crawl in the text format of Prometheus, which those like it scrape,
//! too. Everything is read at the scrape.
//!
//! No label has a value that grows with the crawl: no host, no URL. Values are names of fixed
//! lists, such as classes of failure.

mod process;
mod rising;
mod worker;

#[cfg(test)]
mod tests;

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use bytes::Bytes;
use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, MetricEncoder, NoLabelSet, text};
use prometheus_client::metrics::MetricType;
use prometheus_client::registry::Registry;

use self::process::Process;
use self::rising::Rising;
pub(super) use self::worker::text_of as text_of_worker;
use crate::engine::{Durations, Limit, Watch, free_bytes};

/// The content type of what [`Metrics::text`] returns.
pub(super) const CONTENT_TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";

/// The metrics of a crawl.
#[derive(Debug)]
struct Metrics(Registry);

impl Metrics {
    /// Creates the metrics of the crawl in a data directory.
    fn new(watch: Watch, data: &Path) -> Self {
        let mut registry = Registry::default();
        registry.register_collector(Box::new(Crawl {
            watch,
            data: data.to_owned(),
            rising: Mutex::default(),
        }));
        registry.register_collector(Box::new(Process));
        Self(registry)
    }

    /// Reads all of them. Reads no store.
    fn text(&self) -> String {
        let mut text = String::with_capacity(16 << 10);
        // Writing to a string cannot fail.
        let _ = text::encode_registry(&mut text, &self.0);
        as_plain(&text)
    }
}

/// Turns the text format of `OpenMetrics` into that of Prometheus, which more programs read: there,
/// the name of a counter has its suffix in all lines.
fn as_plain(text: &str) -> String {
    let mut plain = String::with_capacity(text.len() + 512);
    let mut help = None;
    for line in text.lines() {
        if let Some(rest) = line.strip_prefix("# HELP ") {
            help = rest.split_once(' ');
            continue;
        }
        let Some((name, kind)) = line
            .strip_prefix("# TYPE ")
            .and_then(|it| it.split_once(' '))
        else {
            plain.extend([line, "\n"]);
            continue;
        };
        let suffix = if kind == "counter" { "_total" } else { "" };
        if let Some((_, help)) = help.take() {
            plain.extend(["# HELP ", name, suffix, " ", help, "\n"]);
        }
        plain.extend(["# TYPE ", name, suffix, " ", kind, "\n"]);
    }
    plain
}

/// The metrics as they were last scraped. They are read once a second at most, however many ask.
#[derive(Debug, Default)]
pub(super) struct Scrapes(Mutex<Option<Scraped>>);

#[derive(Debug)]
struct Scraped {
    metrics: Metrics,
    text: Option<(Instant, Bytes)>,
}

impl Scrapes {
    /// Returns the metrics of a crawl, no more than a second old.
    pub(super) fn text(&self, watch: &Watch, data: &Path) -> Bytes {
        const AGE: Duration = Duration::from_secs(1);
        let mut scraped = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let scraped = scraped.get_or_insert_with(|| Scraped {
            metrics: Metrics::new(watch.clone(), data),
            text: None,
        });
        if let Some((read, text)) = &scraped.text
            && read.elapsed() < AGE
        {
            return text.clone();
        }
        let text = Bytes::from(scraped.metrics.text());
        scraped.text = Some((Instant::now(), text.clone()));
        text
    }
}

/// Values by the value of a label.
type ByLabel<'a, 'b> = &'a mut dyn Iterator<Item = (&'b str, u64)>;

/// Writes metrics one after the other.
struct Writer<'a> {
    encoder: DescriptorEncoder<'a>,
}

impl Writer<'_> {
    /// Writes a number that only rises; its name gets the suffix `_total`.
    fn counter(&mut self, name: &str, help: &str, value: u64) -> fmt::Result {
        let mut metric = self.begin(name, help, MetricType::Counter)?;
        metric.encode_counter::<NoLabelSet, _, u64>(&value, None)
    }

    fn counters(
        &mut self,
        name: &str,
        help: &str,
        label: &str,
        values: ByLabel<'_, '_>,
    ) -> fmt::Result {
        let mut metric = self.begin(name, help, MetricType::Counter)?;
        for (value_of_label, value) in values {
            metric
                .encode_family(&[(label, value_of_label)])?
                .encode_counter::<NoLabelSet, _, u64>(&value, None)?;
        }
        Ok(())
    }

    fn gauge(&mut self, name: &str, help: &str, value: u64) -> fmt::Result {
        self.begin(name, help, MetricType::Gauge)?
            .encode_gauge(&as_signed(value))
    }

    fn gauges(
        &mut self,
        name: &str,
        help: &str,
        label: &str,
        values: ByLabel<'_, '_>,
    ) -> fmt::Result {
        let mut metric = self.begin(name, help, MetricType::Gauge)?;
        for (value_of_label, value) in values {
            metric
                .encode_family(&[(label, value_of_label)])?
                .encode_gauge(&as_signed(value))?;
        }
        Ok(())
    }

    fn histogram(&mut self, name: &str, help: &str, durations: &Durations) -> fmt::Result {
        let buckets = durations.buckets.iter();
        let buckets = buckets
            .map(|(most, count)| (most.map_or(f64::INFINITY, |it| it.as_secs_f64()), *count));
        let buckets: Vec<_> = buckets.collect();
        let count = buckets.iter().map(|(_, count)| count).sum();
        let mut metric = self.begin(name, help, MetricType::Histogram)?;
        metric.encode_histogram::<NoLabelSet>(durations.sum.as_secs_f64(), count, &buckets, None)
    }

    fn begin<'s>(
        &'s mut self,
        name: &'s str,
        help: &str,
        kind: MetricType,
    ) -> Result<MetricEncoder<'s>, fmt::Error> {
        self.encoder.encode_descriptor(name, help, None, kind)
    }
}

/// What gauges are written as. No figure of a crawl comes near the end of these numbers.
fn as_signed(value: u64) -> i64 {
    i64::try_from(value).unwrap_or(i64::MAX)
}

/// The figures of a crawl.
#[derive(Debug)]
struct Crawl {
    watch: Watch,
    data: PathBuf,
    /// What was told of counters of which some is taken back now and then.
    rising: Mutex<Rising>,
}

impl Collector for Crawl {
    fn encode(&self, encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let to = &mut Writer { encoder };
        self.counters(to)?;
        self.gauges(to)?;
        self.durations(to)?;
        to.gauges(
            "gleaner_build_info",
            "Version of gleaner; always 1.",
            "version",
            &mut [(env!("CARGO_PKG_VERSION"), 1)].into_iter(),
        )
    }
}

impl Crawl {
    fn counters(&self, to: &mut Writer<'_>) -> fmt::Result {
        let counters = self.watch.counters();
        let mut rising = self.rising.lock().unwrap_or_else(PoisonError::into_inner);
        let mut tally = |name: &'static str,
                         help: &str,
                         label: &str,
                         counts: &mut dyn Iterator<Item = (String, u64)>| {
            let counts: Vec<_> = counts
                .map(|(of, count)| {
                    let count = rising.of(name, &of, count);
                    (of, count)
                })
                .collect();
            let mut counts = counts.iter().map(|(of, count)| (of.as_str(), *count));
            to.counters(name, help, label, &mut counts)
        };
        let named = |(name, count): (&String, &u64)| (name.clone(), *count);
        tally(
            "gleaner_pages",
            "Pages whose server responded, by verdict.",
            "verdict",
            &mut counters.verdicts.iter().map(named),
        )?;
        tally(
            "gleaner_statuses",
            "Pages whose server responded, by class of status.",
            "class",
            &mut counters
                .statuses
                .iter()
                .map(|(class, count)| (format!("{class}xx"), *count)),
        )?;
        tally(
            "gleaner_failures",
            "URLs given up without a response, by class of failure.",
            "class",
            &mut counters.failures.iter().map(named),
        )?;
        tally(
            "gleaner_links",
            "Links, by what was decided about them.",
            "admission",
            &mut counters.links.iter().map(named),
        )?;
        tally(
            "gleaner_revisits",
            "Revisits, by what was found.",
            "finding",
            &mut counters.revisits.iter().map(named),
        )?;
        tally(
            "gleaner_saved_bytes",
            "Bytes of bodies of duplicates that were not stored, by tier.",
            "tier",
            &mut self.watch.saved().iter().map(named),
        )?;
        let mut single = |name: &'static str, help: &str, count: u64| {
            let count = rising.of(name, "", count);
            to.counter(name, help, count)
        };
        single(
            "gleaner_visits",
            "URLs that left their queues.",
            counters.left_queues(),
        )?;
        let retries = counters.retries;
        single("gleaner_retries", "Attempts that were repeated.", retries)?;
        single(
            "gleaner_forbidden",
            "URLs that robots.txt forbids.",
            counters.forbidden,
        )?;
        single(
            "gleaner_robots",
            "Responses to requests for robots.txt.",
            counters.robots,
        )?;
        single(
            "gleaner_requisites",
            "Files fetched that pages need to be shown.",
            counters.requisites.fetched,
        )?;
        single(
            "gleaner_demoted",
            "Kinds of URLs closed because they said nothing new.",
            counters.demoted,
        )?;
        single("gleaner_bytes", "Bytes of bodies received.", counters.bytes)?;
        single(
            "gleaner_archived_bytes",
            "Bytes written to the archive.",
            counters.archived_bytes,
        )?;
        let commits = self.watch.meters().sequence();
        single("gleaner_commits", "Commits.", commits)
    }

    fn gauges(&self, to: &mut Writer<'_>) -> fmt::Result {
        let counters = self.watch.counters();
        let (gauges, memory) = (self.watch.gauges(), self.watch.memory());
        to.gauge("gleaner_queued", "URLs queued.", counters.queued)?;
        to.gauge(
            "gleaner_deferred",
            "URLs that are kept for later because their like said nothing new.",
            self.watch.deferred(),
        )?;
        to.gauge(
            "gleaner_parked_urls",
            "URLs queued at hosts that are parked or held.",
            counters.parked,
        )?;
        to.gauge(
            "gleaner_parked_hosts",
            "Hosts with queued URLs that are parked or held.",
            counters.parked_hosts,
        )?;
        to.gauge(
            "gleaner_held_hosts",
            "Hosts that a person holds.",
            self.watch.held().len() as u64,
        )?;
        to.gauge("gleaner_hosts", "Hosts known.", counters.hosts)?;
        to.gauge(
            "gleaner_fetching",
            "Visits between hand-out and analysis.",
            gauges.fetching as u64,
        )?;
        to.gauge(
            "gleaner_hosts_in_memory",
            "Hosts in the working set.",
            gauges.hosts_in_window as u64,
        )?;
        let limits = Limit::names().into_iter();
        to.gauges(
            "gleaner_limit",
            "What limits the speed of the crawl: 1 for the one that does, 0 for the others.",
            "reason",
            &mut limits.map(|name| (name, u64::from(name == gauges.limit.name()))),
        )?;
        let structures = [
            ("window", memory.window),
            ("urls_seen", memory.urls_seen),
            ("new_keys", memory.new_keys),
        ];
        to.gauges(
            "gleaner_memory_bytes",
            "Approximate size of bounded structures.",
            "structure",
            &mut structures.into_iter(),
        )?;
        if let Ok(free) = free_bytes(&self.data) {
            to.gauge(
                "gleaner_disk_free_bytes",
                "Bytes free on the disk of the data directory.",
                free,
            )?;
        }
        let handover = self.watch.handover();
        if !handover.is_empty() {
            let waiting = handover
                .iter()
                .map(|way| (way.setting.as_str(), way.waiting));
            to.gauges(
                "gleaner_handover_waiting_files",
                "Closed files that are still to leave, by the setting that asks for it.",
                "setting",
                &mut { waiting },
            )?;
            let failures = handover
                .iter()
                .map(|way| (way.setting.as_str(), u64::from(way.failures)));
            to.gauges(
                "gleaner_handover_failures",
                "Times in a row that a closed file failed to leave.",
                "setting",
                &mut { failures },
            )?;
        }
        if let Some(last) = self.watch.meters().last_commit() {
            to.gauge(
                "gleaner_last_commit_timestamp_seconds",
                "When this run last committed something.",
                last.0 / 1_000,
            )?;
        }
        Ok(())
    }

    fn durations(&self, to: &mut Writer<'_>) -> fmt::Result {
        let meters = self.watch.meters();
        to.histogram(
            "gleaner_commit_seconds",
            "Time that commits took, from the first write to the store.",
            &meters.commits().read(),
        )?;
        to.histogram(
            "gleaner_fetch_seconds",
            "Time that fetches took, from the request to the last byte or the failure.",
            &meters.fetches().read(),
        )
    }
}
