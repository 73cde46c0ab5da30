//! What a run depends on and what ends it: the options of the rooms, composed. Their defaults
//! belong to the configuration.

use std::num::NonZeroU32;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use super::failpoint::Failpoint;
use super::lease::Lease;
use super::library::Library;
use super::messages::Opening;
use super::ring::converter::ConvertOptions;
use crate::archive::{DigestAlgorithm, DuplicateBodies, StorePolicy};
use crate::dedup::{Features, Rules};
use crate::fetch::{CookieFile, FetchOptions};
use crate::frontier::{Limits, Policies, RevisitPolicy, ScopeKind, SeenOptions, Shards};
use crate::handover::HandoverOptions;
use crate::page::PageOptions;
use crate::store::CommitLog;
use crate::url::{Canonicalizer, Secret};

/// Everything that a run depends on, composed of the rooms' own options.
///
/// [`Options::default`] has the defaults of `config/gleaner.toml`, which says what each is for;
/// change the fields that should differ. [`Config`](crate::config::Config) reads them from a file.
///
/// ```
/// use gleaner::{Options, ScopeKind};
///
/// let mut options = Options::default();
/// options.scope = ScopeKind::Host;
/// options.concurrency = 16;
/// options.fetch.user_agent = "my-crawler/1.0 (+https://example.org/bot)".to_owned();
/// ```
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Options {
    /// Which URLs belong to the crawl.
    pub scope: ScopeKind,
    /// How far the crawl goes.
    pub limits: Limits,
    /// How each host is treated.
    pub policies: Policies,
    /// When pages are visited again.
    pub revisit: RevisitPolicy,
    /// How the canonical form of URLs is made.
    pub canonicalizer: Canonicalizer,
    /// How many URLs are planned for.
    pub seen: SeenOptions,
    /// Maximum number of hosts in memory.
    pub window: usize,
    /// Maximum number of URLs in memory per host.
    pub buffer: usize,
    /// How requests are made.
    pub fetch: FetchOptions,
    /// Maximum number of concurrent fetches.
    pub concurrency: usize,
    /// Maximum number of requests per second across the crawl.
    pub max_rate: Option<NonZeroU32>,
    /// Bounds of one page.
    pub page: PageOptions,
    /// What makes text of documents.
    pub convert: ConvertOptions,
    /// What fingerprints are made of.
    pub features: Features,
    /// Whether the seed of `features` is drawn when the crawl begins, and kept by it from then on.
    pub draws_seed: bool,
    /// What counts as a duplicate.
    pub rules: Rules,
    /// What is archived.
    pub archive: ArchiveOptions,
    /// Size of a log file, in bytes, at which the next one is begun.
    pub log_max_bytes: u64,
    /// Memory for caches and buffers, in bytes.
    pub max_memory: u64,
    /// Bytes to be left free on the disk: no visits are made while less is free. 0 disables the
    /// check.
    pub disk_reserve: u64,
    /// Time between checkpoints.
    pub checkpoint_interval: Duration,
    /// Time after which a document that was not seen leaves the index; `None` for never.
    pub expire_after: Option<Duration>,
    /// The group that may read a new data directory, by name or number; `None` for nobody but its
    /// owner.
    pub group: Option<String>,
    /// Whether a store that lost commits is repaired as far as that is possible, or refused.
    pub repair: bool,
    /// How far the opening of the crawl is, and whether it goes on.
    pub opening: Opening,
    /// The log that commits go into first, if there is one.
    #[doc(hidden)]
    pub log: Option<Arc<dyn CommitLog>>,
    /// Without which no visit is made, where another worker may take the crawl over.
    #[doc(hidden)]
    pub lease: Option<Lease>,
    /// Which shard of a crawl this is, if it has several.
    #[doc(hidden)]
    pub shard: Option<ShardOptions>,
    /// The worker whose disk this is, where several share a crawl.
    #[doc(hidden)]
    pub keeper: Option<String>,
    /// Where the documents of other shards are looked up.
    #[doc(hidden)]
    pub library: Option<Arc<Library>>,
    /// Where the process kills itself, in tests.
    #[doc(hidden)]
    pub failpoint: Option<Failpoint>,
}

/// One shard of a crawl.
#[derive(Debug, Clone)]
pub struct ShardOptions {
    /// How many there are, and which it is.
    pub shards: Shards,
    /// The secret of the crawl: all shards have the same, so that a URL has one id.
    pub secret: Secret,
}

/// The options that can be changed while a crawl runs.
#[derive(Debug, Clone)]
pub struct LiveOptions {
    /// Which URLs belong to the crawl.
    pub scope: ScopeKind,
    /// How far the crawl goes.
    pub limits: Limits,
    /// How each host is treated.
    pub policies: Policies,
    /// Maximum number of requests per second across the crawl.
    pub max_rate: Option<NonZeroU32>,
    /// When pages are visited again.
    pub revisit: RevisitPolicy,
    /// What counts as a duplicate.
    pub rules: Rules,
    /// The cookies of the user's files.
    pub login: CookieFile,
}

impl Options {
    /// Replaces the options that can be changed while a crawl runs.
    pub(crate) fn take(&mut self, live: LiveOptions) {
        // Destructured, so that no field can be forgotten.
        let LiveOptions {
            scope,
            limits,
            policies,
            max_rate,
            revisit,
            rules,
            login,
        } = live;
        self.scope = scope;
        self.limits = limits;
        self.policies = policies;
        self.max_rate = max_rate;
        self.revisit = revisit;
        self.rules = rules;
        self.fetch.login = login;
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
            login: options.fetch.login.clone(),
        }
    }
}

/// What the archive keeps, and how.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ArchiveOptions {
    /// Which bodies are kept.
    pub store: StorePolicy,
    /// What is kept of the body of a duplicate in other bytes, if it is left out.
    pub duplicate_bodies: DuplicateBodies,
    /// Keeps bodies that are neither HTML nor text.
    pub other_types: bool,
    /// Size of a file, in bytes, at which the next one is begun.
    pub max_segment_bytes: u64,
    /// gzip level, 0 to 9.
    pub compression: u32,
    /// First part of the names of files.
    pub prefix: String,
    /// Age at which a file is closed, however small it is.
    pub max_age: Option<Duration>,
    /// What digests of blocks and payloads are made with.
    pub digest: DigestAlgorithm,
    /// What the first record of each file says besides software, user agent and robots.
    pub info: Vec<(String, String)>,
    /// Directories to which closed files are moved, where readers look for them.
    pub also_in: Vec<PathBuf>,
    /// Data directories of earlier crawls of the same sites, or directories of their WARC files:
    /// what has not changed since is not stored again.
    pub since: Vec<PathBuf>,
    /// How closed files leave.
    pub handover: HandoverOptions,
}

/// What ends a run.
#[derive(Debug, Clone, Copy, Default)]
pub struct RunLimits {
    /// Keeps the run going with an empty frontier: more may come, by a revisit or from outside.
    pub wait_for_more: bool,
    /// Maximum number of pages fetched in this run.
    pub max_pages: Option<u64>,
    /// Maximum duration of this run.
    pub max_duration: Option<Duration>,
    /// Maximum number of bytes of bodies received in this run.
    pub max_bytes: Option<u64>,
}
