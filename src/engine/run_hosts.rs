//! The slowest hosts of this run and those that sent most, in bounded memory, for the summary. The
//! committer reports each response; nothing of this is kept after the run.

use std::collections::HashMap;
use std::time::Duration;

use serde::Serialize;

use crate::url::HostKey;

/// Number of hosts remembered for each of the two lists, which takes less than 1 MiB. With no more
/// hosts than these, the figures are exact.
const REMEMBERED: usize = 1_024;
/// Number of hosts in a list of the summary.
const SHOWN: usize = 5;

/// The hosts of a run.
///
/// `by_bytes` is a space-saving sketch (Metwally, Agrawal, El Abbadi: Efficient Computation of
/// Frequent and Top-k Elements in Data Streams, 2005): the host that sent least is replaced, and
/// the newcomer inherits its weight. A host that sent more than 1/1024 of all bytes is therefore
/// never missing, and what is shown for it, counted since it was last inserted, is never too much.
/// In `by_time` the fastest host is replaced: a host that is always among the 1,024 slowest is
/// never forgotten, and one that was forgotten begins anew.
#[derive(Debug, Default)]
pub(crate) struct RunHosts {
    by_bytes: HashMap<HostKey, Row>,
    by_time: HashMap<HostKey, Row>,
}

/// What one host did in a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct HostFigures {
    /// Scheme, name and port, if it is not the default port.
    pub host: String,
    /// Number of responses, including robots.txt.
    pub answers: u64,
    /// Bytes of the bodies received.
    pub bytes: u64,
    /// Mean time from the request to the last byte, in milliseconds.
    pub mean_ms: u64,
}

#[derive(Debug, Default, Clone, Copy)]
struct Row {
    answers: u64,
    bytes: u64,
    time: Duration,
    /// Upper bound of the bytes that it sent before it was inserted.
    before: u64,
}

impl Row {
    fn mean(&self) -> Duration {
        let answers = u32::try_from(self.answers).unwrap_or(u32::MAX);
        self.time.checked_div(answers).unwrap_or_default()
    }

    fn count(&mut self, time: Duration, bytes: u64) {
        self.answers += 1;
        self.bytes += bytes;
        self.time = self.time.saturating_add(time);
    }
}

impl RunHosts {
    /// Records a response of a host.
    pub(crate) fn answered(&mut self, host: &HostKey, time: Duration, bytes: u64) {
        let (row, gone) = take_in(&mut self.by_bytes, host, |row| row.before + row.bytes);
        if let Some(gone) = gone {
            row.before = gone.before + gone.bytes;
        }
        row.count(time, bytes);
        let (row, _) = take_in(&mut self.by_time, host, Row::mean);
        row.count(time, bytes);
    }

    /// Returns the hosts with the longest mean response time, slowest first.
    pub(crate) fn slowest(&self) -> Vec<HostFigures> {
        top(&self.by_time, Row::mean)
    }

    /// Returns the hosts with the most bytes, largest first.
    pub(crate) fn largest(&self) -> Vec<HostFigures> {
        top(&self.by_bytes, |row| row.bytes)
    }
}

/// Returns the entry of a host, inserting it if needed, and the entry that it replaced, if any: the
/// one with the least weight.
fn take_in<'a, W: Ord>(
    rows: &'a mut HashMap<HostKey, Row>,
    host: &HostKey,
    weight: impl Fn(&Row) -> W,
) -> (&'a mut Row, Option<Row>) {
    let mut gone = None;
    if rows.len() >= REMEMBERED && !rows.contains_key(host) {
        let least = rows.iter().min_by_key(|(_, row)| weight(row));
        if let Some(least) = least.map(|(host, _)| host.clone()) {
            gone = rows.remove(&least);
        }
    }
    (rows.entry(host.clone()).or_default(), gone)
}

fn top<W: Ord>(rows: &HashMap<HostKey, Row>, weight: impl Fn(&Row) -> W) -> Vec<HostFigures> {
    let mut sorted: Vec<_> = rows.iter().collect();
    // Equal weights are sorted by name, so that the same run shows the same list.
    sorted.sort_by(|(a, x), (b, y)| weight(y).cmp(&weight(x)).then_with(|| a.cmp(b)));
    sorted
        .into_iter()
        .take(SHOWN)
        .map(|(host, row)| HostFigures {
            host: host.to_string(),
            answers: row.answers,
            bytes: row.bytes,
            mean_ms: u64::try_from(row.mean().as_millis()).unwrap_or(u64::MAX),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::url::Url;

    fn host(number: usize) -> HostKey {
        HostKey::of(&Url::parse(&format!("http://host-{number}.test/")).unwrap())
    }

    fn names(figures: &[HostFigures]) -> Vec<&str> {
        figures.iter().map(|figures| &*figures.host).collect()
    }

    #[test]
    fn few_hosts_are_counted_exactly() {
        let mut hosts = RunHosts::default();
        for number in 0..7 {
            for answer in 1..=2 {
                let time = Duration::from_millis(10 * number as u64 * answer);
                hosts.answered(&host(number), time, 100 - number as u64);
            }
        }
        let slowest = hosts.slowest();
        assert_eq!(slowest.len(), SHOWN);
        let expected = HostFigures {
            host: "http://host-6.test".to_owned(),
            answers: 2,
            bytes: 188,
            mean_ms: 90,
        };
        assert_eq!(slowest[0], expected);
        assert_eq!(hosts.largest()[0].host, "http://host-0.test");
        assert_eq!(hosts.largest()[0].bytes, 200);
    }

    #[test]
    fn many_hosts_take_no_more_memory_and_hide_neither_the_large_nor_the_slow() {
        let mut hosts = RunHosts::default();
        let (large, slow) = (host(1_000_001), host(1_000_002));
        let mut sent = 0;
        for number in 0..4 * REMEMBERED {
            hosts.answered(&host(number), Duration::from_millis(5), 1_000);
            if number % 100 == 0 {
                hosts.answered(&large, Duration::from_millis(1), 20_000);
                hosts.answered(&slow, Duration::from_millis(900), 1);
                sent += 20_000;
            }
        }
        assert_eq!(hosts.by_bytes.len(), REMEMBERED);
        assert_eq!(hosts.by_time.len(), REMEMBERED);
        assert_eq!(names(&hosts.largest())[0], large.as_str());
        assert!(hosts.largest()[0].bytes <= sent);
        assert_eq!(names(&hosts.slowest())[0], slow.as_str());
        assert_eq!(hosts.slowest()[0].mean_ms, 900);
    }

    #[test]
    fn equals_come_by_name() {
        let mut hosts = RunHosts::default();
        for number in [3, 1, 2] {
            hosts.answered(&host(number), Duration::ZERO, 0);
        }
        let expected = [
            "http://host-1.test",
            "http://host-2.test",
            "http://host-3.test",
        ];
        assert_eq!(names(&hosts.largest()), expected);
        assert_eq!(names(&hosts.slowest()), expected);
    }

    #[test]
    fn a_run_without_answers_has_none() {
        assert_eq!(RunHosts::default().slowest(), []);
    }
}
