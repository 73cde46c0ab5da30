//! What a crawl has done so far, in numbers.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// What was done since the crawl began.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counters {
    /// URLs waiting.
    pub queued: u64,
    /// Those of them whose hosts are parked.
    #[serde(default)]
    pub parked: u64,
    /// Hosts that are parked with URLs waiting.
    #[serde(default)]
    pub parked_hosts: u64,
    /// URLs given by the user.
    pub seeds: u64,
    /// URLs whose server answered.
    pub pages: u64,
    /// URLs given up without an answer, robots.txt aside.
    pub failed: u64,
    /// URLs that robots.txt forbids.
    pub forbidden: u64,
    /// Answers to requests for robots.txt.
    pub robots: u64,
    /// Answers to requests for sitemaps.
    #[serde(default)]
    pub sitemaps: u64,
    /// Entries that these had.
    #[serde(default)]
    pub sitemap_entries: u64,
    /// Bytes of bodies received.
    pub bytes: u64,
    /// Attempts that will be made again.
    pub retries: u64,
    /// Hosts with a row.
    pub hosts: u64,
    /// Pages by verdict.
    pub verdicts: BTreeMap<String, u64>,
    /// Pages that can be neither original nor duplicate, by reason.
    pub ineligible: BTreeMap<String, u64>,
    /// Pages by first digit of their status.
    pub statuses: BTreeMap<u16, u64>,
    /// URLs given up, by class of failure.
    pub failures: BTreeMap<String, u64>,
    /// Links by what admission said.
    pub links: BTreeMap<String, u64>,
    /// How often a host, or a pattern of its URLs, lost its budget for duplicates.
    pub demoted: u64,
    /// Bytes of archive files.
    pub archived_bytes: u64,
    /// URLs that are known from earlier crawls.
    pub known: u64,
    /// Further visits of pages, by what they found. Pages, verdicts and statuses count first
    /// visits only, so that they are numbers of URLs.
    pub revisits: BTreeMap<String, u64>,
}

impl Counters {
    /// URLs that are finished.
    pub fn done(&self) -> u64 {
        self.pages + self.failed + self.forbidden
    }
}
