//! The counters of a crawl.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use strum::{IntoStaticStr, VariantArray};

use super::tally::{Named, Tally};
use super::visit_verdict::VisitVerdict;
use crate::dedup::Ineligible;
use crate::fetch::FailureClass;
use crate::frontier::{Admission, Finding};

/// What was done since the crawl began.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Counters {
    /// URLs queued.
    pub queued: u64,
    /// Queued URLs whose hosts are parked, or held by a person.
    #[serde(default)]
    pub parked: u64,
    /// Parked and held hosts with queued URLs.
    #[serde(default)]
    pub parked_hosts: u64,
    /// URLs given by the user.
    pub seeds: u64,
    /// URLs whose server responded.
    pub pages: u64,
    /// URLs given up without a response, except for robots.txt.
    pub failed: u64,
    /// URLs that robots.txt forbids.
    pub forbidden: u64,
    /// Responses to requests for robots.txt.
    pub robots: u64,
    /// Responses to requests for sitemaps.
    #[serde(default)]
    pub sitemaps: u64,
    /// Entries of these sitemaps.
    #[serde(default)]
    pub sitemap_entries: u64,
    /// Bytes of bodies received.
    pub bytes: u64,
    /// Attempts that will be repeated.
    pub retries: u64,
    /// Hosts with a row.
    pub hosts: u64,
    /// Pages by verdict.
    pub verdicts: Tally<VisitVerdict>,
    /// Pages that can be neither original nor duplicate, by reason.
    pub ineligible: Tally<Ineligible>,
    /// Pages by first digit of their status.
    pub statuses: BTreeMap<u16, u64>,
    /// URLs given up, by failure class.
    pub failures: Tally<FailureClass>,
    /// Links by admission.
    pub links: Tally<Admission>,
    /// How often a kind of a host's URLs was closed because its pages said nothing of their own.
    pub demoted: u64,
    /// Bytes of archive files.
    pub archived_bytes: u64,
    /// URLs known from earlier crawls.
    pub known: u64,
    /// Revisits by result. Pages, verdicts and statuses count first visits only, so that they are
    /// numbers of URLs. Beside them, pages that an earlier crawl had, by how their first visit
    /// compares ([`Compared`]).
    pub revisits: Tally<Finding>,
    /// Files that pages need to be shown. Nothing else counts them but the bytes received.
    #[serde(default)]
    pub requisites: RequisiteCounters,
}

/// What was done about the files that pages need to be shown.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct RequisiteCounters {
    /// Files whose server responded.
    pub fetched: u64,
    /// Number of these whose bytes were stored before.
    pub same: u64,
    /// Bytes of their bodies.
    pub bytes: u64,
    /// Files by first digit of their status.
    pub statuses: BTreeMap<u16, u64>,
    /// Files given up without a response.
    pub failed: u64,
    /// Files that robots.txt forbids.
    pub forbidden: u64,
    /// Files given up, by failure class.
    pub failures: Tally<FailureClass>,
    /// References to such files by admission, each once per document.
    pub named: Tally<Admission>,
}

/// How the first visit of a page compares with what an earlier crawl holds (`archive.since`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, IntoStaticStr, VariantArray)]
#[strum(serialize_all = "kebab-case")]
pub enum Compared {
    /// The page is the same: the archive refers to the earlier crawl's record.
    UnchangedSince,
    /// It is another one.
    ChangedSince,
    /// The server said that it is the same, and the earlier body could not be read, so that it was
    /// fetched whole.
    LostSince,
}

impl Named for Compared {
    fn name(&self) -> &'static str {
        self.into()
    }
}

impl Counters {
    /// Returns the number of pages that were visited again, whatever was found.
    pub fn revisited(&self) -> u64 {
        let compared: u64 = Compared::VARIANTS.iter().map(|it| self.compared(*it)).sum();
        self.revisits.values().sum::<u64>() - compared
    }

    /// Returns the number of pages whose first visit compares like that with an earlier crawl.
    pub fn compared(&self, how: Compared) -> u64 {
        self.revisits.get(how.name()).copied().unwrap_or(0)
    }

    /// Returns the number of URLs that are finished.
    pub fn done(&self) -> u64 {
        self.pages + self.failed + self.forbidden
    }

    /// Number of URLs that left their queues, whatever they were there for.
    pub fn left_queues(&self) -> u64 {
        let requisites = &self.requisites;
        let of_pages = requisites.fetched + requisites.failed + requisites.forbidden;
        self.done() + of_pages + self.sitemaps + self.revisits.values().sum::<u64>()
    }
}
