//! What a run depends on and what ends it: the rooms' own options, composed. Nothing here has a
//! default: that is the configuration's business.

use std::num::NonZeroU32;
use std::time::Duration;

use super::failpoint::Failpoint;
use crate::archive::StorePolicy;
use crate::dedup::{Features, Rules};
use crate::fetch::FetchOptions;
use crate::frontier::{Limits, Policies, RevisitPolicy, ScopeKind, SeenOptions};
use crate::page::PageOptions;
use crate::url::Canonicalizer;

/// Everything that a run depends on, composed of the rooms' own options.
#[derive(Debug, Clone)]
pub struct Options {
    /// Which URLs belong to the crawl.
    pub scope: ScopeKind,
    /// How far it goes.
    pub limits: Limits,
    /// How it treats each host.
    pub policies: Policies,
    /// When pages are visited again.
    pub revisit: RevisitPolicy,
    /// How URLs are told apart.
    pub canonicalizer: Canonicalizer,
    /// How many URLs are planned for.
    pub seen: SeenOptions,
    /// Hosts in memory at most.
    pub window: usize,
    /// URLs of one host in memory at most.
    pub buffer: usize,
    /// How a fetch is made.
    pub fetch: FetchOptions,
    /// Fetches at once.
    pub concurrency: usize,
    /// Requests a second across the crawl.
    pub max_rate: Option<NonZeroU32>,
    /// Bounds of one page.
    pub page: PageOptions,
    /// What fingerprints are made of.
    pub features: Features,
    /// What may be called a duplicate.
    pub rules: Rules,
    /// What is kept.
    pub archive: ArchiveOptions,
    /// Bytes of a log file before the next is begun.
    pub log_max_bytes: u64,
    /// Bytes of memory that caches and buffers are sized by.
    pub max_memory: u64,
    /// Bytes that are to be left free on the disk: no visits are made while less is. 0: nobody looks.
    pub disk_reserve: u64,
    /// Time between checkpoints.
    pub checkpoint_interval: Duration,
    /// How long nobody must have seen a document for it to leave the index; `None`: none does.
    pub expire_after: Option<Duration>,
    /// Where the process dies on purpose, in tests.
    pub failpoint: Option<Failpoint>,
}

/// What can be changed while a crawl runs.
#[derive(Debug, Clone)]
pub struct LiveOptions {
    /// Which URLs belong to the crawl.
    pub scope: ScopeKind,
    /// How far it goes.
    pub limits: Limits,
    /// How it treats each host.
    pub policies: Policies,
    /// Requests a second across the crawl.
    pub max_rate: Option<NonZeroU32>,
    /// When pages are visited again.
    pub revisit: RevisitPolicy,
    /// What may be called a duplicate.
    pub rules: Rules,
}

impl Options {
    /// Takes over what can be changed while a crawl runs.
    pub(super) fn take(&mut self, live: LiveOptions) {
        // Taken apart, so that none can be forgotten.
        let LiveOptions {
            scope,
            limits,
            policies,
            max_rate,
            revisit,
            rules,
        } = live;
        self.scope = scope;
        self.limits = limits;
        self.policies = policies;
        self.max_rate = max_rate;
        self.revisit = revisit;
        self.rules = rules;
    }
}

impl From<&Options> for LiveOptions {
    fn from(options: &Options) -> Self {
        Self {
            scope: options.scope,
            limits: options.limits.clone(),
            policies: options.policies.clone(),
            max_rate: options.max_rate,
            revisit: options.revisit.clone(),
            rules: options.rules.clone(),
        }
    }
}

/// What the archive keeps, and how.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ArchiveOptions {
    /// Which bodies are kept.
    pub store: StorePolicy,
    /// Whether bodies that are neither HTML nor text are kept.
    pub other_types: bool,
    /// Bytes of a file before the next is begun.
    pub max_segment_bytes: u64,
    /// gzip level, 0 to 9.
    pub compression: u32,
}

/// What ends a run.
#[derive(Debug, Clone, Copy, Default)]
pub struct RunLimits {
    /// An empty frontier does not: more may come, by a revisit or from outside.
    pub wait_for_more: bool,
    /// Pages fetched in this run.
    pub max_pages: Option<u64>,
    /// Time that this run may take.
    pub max_duration: Option<Duration>,
    /// Bytes of bodies received in this run.
    pub max_bytes: Option<u64>,
}
