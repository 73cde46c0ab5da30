//! Configuration: every setting of every room in one place, with its default.
//!
//! The sections are the rooms' own policy structs, read as they are. To add a setting that hosts or
//! pages can have of their own, add a field to the struct and a line to `config/gleaner.toml`,
//! which shows each key with its unit and the reason for its default; everything else is derived,
//! and a test compares the two. `[[domain]]` overrides keys per host and `[[dedup.rule]]` per page.
//!
//! Defaults are polite and safe: a stranger's first run must not hurt a site or read an internal
//! network. Layers: defaults < what the data directory remembers < files < environment < flags;
//! [`load()`] reads them.

mod cluster;
mod console;
mod dedup;
mod domains;
mod effective;
mod error;
mod flat;
mod kept;
mod keys;
mod layers;
mod load;
mod origin;
mod remembered;
mod upload;
mod urls;
mod written;

use std::fs::File;
use std::io::{BufRead as _, BufReader};
use std::path::PathBuf;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

pub use cluster::{Unlike, joined, own, shared};
pub use console::ConsoleSettings;
pub use dedup::RuleSettings;
pub use domains::DomainSettings;
pub use effective::Effective;
pub use error::Error;
pub use flat::flatten;
pub use kept::kept;
use keys::URL_RULE;
pub use load::{Flag, Sources, load};
pub use origin::Origin;
pub use remembered::Remembered;
pub use upload::AfterUpload;
pub use urls::{UrlRuleSettings, UrlSettings};

pub use crate::units::{Size, Span};

use crate::dedup::Rule;
use crate::engine::{
    ArchiveOptions, ConvertOptions, DigestAlgorithm, DuplicateBodies, HandoverOptions, Opening,
    Options, StorePolicy,
};
use crate::fetch::{CookieFile, FetchOptions, FetchOverrides};
use crate::frontier::{
    CrawlPolicy, Limits, Policies, Policy, Politeness, RevisitMode, RevisitPolicy, SeenOptions,
};
use crate::learn::{LearnPolicy, TrapPolicy};
use crate::page::PageOptions;
use crate::page::language::is_recognized;
use crate::units::Checked;
use crate::url::{BlockList, BlockListReader};

/// Every setting.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// What is crawled.
    pub crawl: CrawlPolicy,
    /// What makes two URLs the same.
    pub url: UrlSettings,
    /// What counts as a trap.
    pub traps: TrapPolicy,
    /// What is learned about hosts.
    pub learn: LearnPolicy,
    /// How gently hosts are treated.
    pub politeness: Politeness,
    /// When pages are visited again.
    pub revisit: RevisitSettings,
    /// How requests are made.
    pub fetch: FetchOptions,
    /// Limits of one page.
    pub page: PageOptions,
    /// What makes text of documents.
    pub convert: ConvertOptions,
    /// What counts as a duplicate.
    pub dedup: Rule,
    /// What is archived.
    pub archive: ArchiveSettings,
    /// Memory, queues and checkpoints.
    pub state: StateSettings,
    /// Where a running crawl is watched and steered over HTTP.
    pub daemon: ConsoleSettings,
    /// The settings that some hosts have of their own. They win over the sections above, whichever
    /// layer set those.
    pub domain: Vec<DomainSettings>,
    /// The settings of `[dedup]` that some pages have of their own: `[[dedup.rule]]`. They are read
    /// apart from the section that they are in, which is a struct of the room that uses it.
    #[serde(skip)]
    pub dedup_rules: Vec<RuleSettings>,
}

/// When `gleaner daemon` visits pages again.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct RevisitSettings {
    /// How the interval between two visits of a page is chosen: off, fixed or adaptive.
    pub mode: RevisitMode,
    /// Time from the first visit to the second; with `fixed`, between all visits.
    pub interval: Span,
    /// Shortest adaptive interval.
    pub min_interval: Span,
    /// Longest adaptive interval, and the time until a page that is gone is visited again.
    pub max_interval: Span,
}

impl Default for RevisitSettings {
    fn default() -> Self {
        Self {
            mode: RevisitMode::default(),
            interval: Span::seconds(24 * 3_600),
            min_interval: Span::seconds(3_600),
            max_interval: Span::seconds(30 * 24 * 3_600),
        }
    }
}

/// What is archived.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ArchiveSettings {
    /// Which bodies are stored: unique, exact-only or all.
    pub store: StorePolicy,
    /// What is kept of the body of a duplicate in other bytes, if it is left out: delta, text, none
    /// or full.
    pub duplicate_bodies: DuplicateBodies,
    /// Whether bodies that are neither HTML nor text are stored.
    pub other_types: bool,
    /// First part of the names of WARC files.
    pub prefix: String,
    /// Size at which a new WARC file is started.
    pub max_file: Size,
    /// Age at which a WARC file is closed, however small it is; `None` for never, and an hour for a
    /// daemon.
    pub max_age: Option<Span>,
    /// gzip level, 0 to 9.
    pub compression: u32,
    /// What the digests of blocks and payloads are made with: sha256 or sha1.
    pub digest: DigestAlgorithm,
    /// Who crawls, as each WARC file says.
    pub operator: Option<String>,
    /// The collection that the crawl is part of, as each WARC file says.
    pub collection: Option<String>,
    /// What the crawl is, as each WARC file says.
    pub description: Option<String>,
    /// Directories to which closed files are moved: readers look there for what they miss.
    pub also_in: Vec<PathBuf>,
    /// Earlier crawls of the same sites: what has not changed since is not stored again.
    pub since: Vec<PathBuf>,
    /// A command that is run for each closed file, with its path as the last argument.
    pub on_close: Vec<String>,
    /// Time after which that command is killed, and run again later.
    pub on_close_timeout: Span,
    /// Where each closed file is uploaded to: `s3://BUCKET` or `s3://BUCKET/PREFIX`.
    pub upload: Option<String>,
    /// The service that has the bucket; `None` for Amazon's of the region.
    pub upload_endpoint: Option<String>,
    /// The region that signatures name.
    pub upload_region: String,
    /// Whether the bucket is named in the path of URLs, and not in the host.
    pub upload_path_style: bool,
    /// A file with key and secret; `None` for the environment's.
    pub upload_credentials: Option<PathBuf>,
    /// What becomes of a file once the service has it: keep or delete.
    pub after_upload: AfterUpload,
    /// Size at which the log file is rotated.
    pub max_log: Size,
    /// Whether credentials from the configuration are hidden in recorded requests.
    pub hide_credentials: bool,
}

impl Default for ArchiveSettings {
    fn default() -> Self {
        Self {
            store: StorePolicy::default(),
            duplicate_bodies: DuplicateBodies::default(),
            other_types: true,
            prefix: "gleaner".to_owned(),
            max_file: Size(1_000_000_000),
            max_age: None,
            compression: 1,
            digest: DigestAlgorithm::default(),
            operator: None,
            collection: None,
            description: None,
            also_in: Vec::new(),
            since: Vec::new(),
            on_close: Vec::new(),
            on_close_timeout: Span(Duration::from_hours(1)),
            upload: None,
            upload_endpoint: None,
            upload_region: "us-east-1".to_owned(),
            upload_path_style: false,
            upload_credentials: None,
            after_upload: AfterUpload::default(),
            max_log: Size(100_000_000),
            hide_credentials: true,
        }
    }
}

/// Returns `true` if the names of files can begin with this. Those of texts begin with `texts`.
fn is_prefix(prefix: &str) -> bool {
    let allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    prefix.starts_with(|c: char| c.is_ascii_alphanumeric())
        && prefix.len() <= 100
        && prefix.chars().all(allowed)
        && prefix.split('-').next() != Some("texts")
}

/// Memory, queues and checkpoints.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct StateSettings {
    /// Memory that caches and buffers are sized for.
    pub max_memory: Size,
    /// Maximum number of hosts in memory; the others wait on disk.
    pub hosts_in_memory: usize,
    /// Maximum number of URLs of one host in memory; the others wait on disk.
    pub urls_in_memory: usize,
    /// Free disk space to leave: nothing is fetched while less is free. 0 for none.
    pub disk_reserve: Size,
    /// Time between checkpoints.
    pub checkpoint_interval: Span,
    /// Time after which a page leaves the index if neither it nor a duplicate of it was seen;
    /// `None` for never.
    pub expire_after: Option<Span>,
    /// The group that may read a new data directory, by name or number; `None` for nobody but its
    /// owner.
    pub group: Option<String>,
}

impl Default for StateSettings {
    fn default() -> Self {
        Self {
            max_memory: Size::mebibytes(1_024),
            hosts_in_memory: 10_000,
            urls_in_memory: 32,
            disk_reserve: Size(1 << 30),
            checkpoint_interval: Span::seconds(30),
            expire_after: None,
            group: None,
        }
    }
}

impl Default for Options {
    /// The options of a configuration that changes nothing: polite, and safe for a first run.
    fn default() -> Self {
        Config::default()
            .options()
            .expect("a test composes the options of the defaults")
    }
}

impl Config {
    /// Checks what types cannot, and composes the options of a crawl.
    pub fn options(&self) -> Result<Options, Error> {
        self.check()
            .map_err(|(key, expected)| Error::Value { key, expected })?;
        let refuse = |entry, reason| Error::Entry { entry, reason };
        domains::check(self).map_err(|(at, why)| refuse(domains::label(&self.domain, at), why))?;
        urls::check_entries(&self.url)
            .map_err(|(at, why)| refuse(keys::label(URL_RULE, at, None), why))?;
        dedup::check(self).map_err(|(at, why)| refuse(dedup::label(&self.dedup_rules, at), why))?;
        let crawl = &self.crawl;
        Ok(Options {
            scope: crawl.scope,
            limits: Limits {
                extra_hops: crawl.extra_hops,
                moved_seeds: crawl.moved_seeds,
                max_redirects: crawl.max_redirects,
                max_url_length: crawl.max_url_length,
                max_sitemaps: crawl.max_sitemaps,
                max_deferred: crawl.max_deferred,
            },
            policies: self.policies(),
            revisit: RevisitPolicy {
                mode: self.revisit.mode,
                interval: self.revisit.interval.0,
                min_interval: self.revisit.min_interval.0,
                max_interval: self.revisit.max_interval.0,
            },
            canonicalizer: self.url.canonicalizer(),
            seen: SeenOptions {
                expected_urls: crawl.expected_urls,
            },
            window: self.state.hosts_in_memory,
            buffer: self.state.urls_in_memory,
            fetch: self.fetch_options(),
            concurrency: self.fetch.concurrency,
            max_rate: self.politeness.max_rate,
            page: self.page.clone(),
            convert: self.convert.clone(),
            features: self.dedup.features(),
            draws_seed: self.dedup.seed.is_none(),
            rules: dedup::rules(self.dedup, &self.dedup_rules),
            archive: ArchiveOptions {
                store: self.archive.store,
                duplicate_bodies: self.archive.duplicate_bodies,
                other_types: self.archive.other_types,
                max_segment_bytes: self.archive.max_file.0,
                compression: self.archive.compression,
                prefix: self.archive.prefix.clone(),
                max_age: self.archive.max_age.map(|age| age.0),
                digest: self.archive.digest,
                info: self.warcinfo(),
                also_in: self.archive.also_in.clone(),
                since: self.archive.since.clone(),
                handover: HandoverOptions {
                    command: self.archive.on_close.clone(),
                    max_duration: self.archive.on_close_timeout.0,
                    upload: self.upload_options()?,
                },
            },
            log_max_bytes: self.archive.max_log.0,
            max_memory: self.state.max_memory.0,
            disk_reserve: self.state.disk_reserve.0,
            checkpoint_interval: self.state.checkpoint_interval.0,
            expire_after: self.state.expire_after.map(|span| span.0),
            group: self.state.group.clone(),
            repair: false,
            opening: Opening::default(),
            log: None,
            lease: None,
            shard: None,
            keeper: None,
            library: None,
            failpoint: None,
        })
    }

    /// What the first record of each file of the archive says of the crawl: whose it is, which
    /// bodies it keeps, and a digest of all settings, to tell files that were written by others.
    fn warcinfo(&self) -> Vec<(String, String)> {
        let archive = &self.archive;
        let word = |value: serde_json::Result<serde_json::Value>| match value {
            Ok(serde_json::Value::String(word)) => word,
            _ => String::new(),
        };
        let policy = format!(
            "bodies {}, of duplicates {}, of other types {}",
            word(serde_json::to_value(archive.store)),
            word(serde_json::to_value(archive.duplicate_bodies)),
            if archive.other_types {
                "kept"
            } else {
                "left out"
            },
        );
        // Secrets are hidden in it.
        let settings = flatten(self).into_iter();
        let settings = settings.map(|(key, value)| format!("{key} = {value}\n"));
        let digest = Sha256::digest(settings.collect::<String>());
        let own = |name, value: &Option<String>| (name, value.clone());
        let fields = [
            own("operator", &archive.operator),
            own("isPartOf", &archive.collection),
            own("description", &archive.description),
            ("policy", Some(policy)),
            (
                "settings-digest",
                Some(format!("sha256:{}", hex::encode(digest))),
            ),
        ];
        let fields = fields.into_iter();
        fields
            .filter_map(|(name, value)| Some((name.to_owned(), value?)))
            .collect()
    }

    /// How hosts are treated that have no settings of their own.
    fn policy(&self) -> Policy {
        Policy {
            crawl: self.crawl.clone(),
            politeness: self.politeness.clone(),
            traps: self.traps,
            learn: self.learn,
        }
    }

    /// How each host is treated.
    fn policies(&self) -> Policies {
        let entries = self.domain.iter().flat_map(|entry| {
            let hosts = entry.hosts.iter().cloned();
            hosts.map(|pattern| (pattern, entry.overrides()))
        });
        Policies::new(self.policy(), entries)
    }

    /// Reads the files of `crawl.block_lists` as one list.
    ///
    /// # Errors
    ///
    /// [`Error::BlockList`] if a file cannot be read, [`Error::BlockListLines`] if it has lines
    /// that are no entries.
    pub fn read_block_lists(&self) -> Result<BlockList, Error> {
        let mut reader = BlockListReader::default();
        for path in &self.crawl.block_lists {
            let cannot = |source| {
                let path = path.clone();
                Error::BlockList { path, source }
            };
            reader.begin(path.display().to_string());
            let file = File::open(path).map_err(cannot)?;
            for line in BufReader::new(file).split(b'\n') {
                reader.line(&line.map_err(cannot)?);
            }
        }
        Ok(reader.finish()?)
    }

    /// Reads the files of `fetch.cookie_files`.
    ///
    /// # Errors
    ///
    /// [`Error::CookieFile`] if a file cannot be read, or has a line that is no cookie.
    pub fn read_cookie_files(&self) -> Result<CookieFile, Error> {
        let mut login = CookieFile::default();
        for path in &self.fetch.cookie_files {
            let cannot = |reason: String| {
                let path = path.clone();
                Error::CookieFile { path, reason }
            };
            let read = std::fs::read_to_string(path).map_err(|it| cannot(it.to_string()))?;
            let cookies = CookieFile::parse(&read).map_err(|it| cannot(it.to_string()))?;
            login = login.with(&cookies);
        }
        Ok(login)
    }

    /// How requests to each host are made.
    fn fetch_options(&self) -> FetchOptions {
        let own = self.domain.iter().flat_map(|entry| {
            let is_set = entry.fetch != FetchOverrides::default();
            let hosts = entry.hosts.iter().filter(move |_| is_set);
            hosts.map(|pattern| (pattern.clone(), entry.fetch.clone()))
        });
        FetchOptions {
            own: own.collect(),
            hide_credentials: self.archive.hide_credentials,
            ..self.fetch.clone()
        }
    }

    /// Refuses values that would stall or break a crawl: the key, and what it must be.
    fn check(&self) -> Checked {
        self.policy().check()?;
        check_languages(&self.crawl)?;
        self.fetch.check()?;
        self.dedup.check()?;
        self.convert.check()?;
        let refuse = |key, expected| Err((key, expected));
        match self {
            _ if self.fetch.headers.has_secret() => refuse(
                "fetch.headers",
                "without credentials, which every server would get; give them in a [[domain]]",
            ),
            _ if self.state.hosts_in_memory == 0 => refuse("state.hosts_in_memory", "at least 1"),
            _ if self.state.expire_after == Some(Span::ZERO) => {
                refuse("state.expire_after", "more than 0")
            }
            _ if self.state.urls_in_memory == 0 => refuse("state.urls_in_memory", "at least 1"),
            _ if self.archive.compression > 9 => refuse("archive.compression", "0 to 9"),
            _ if !is_prefix(&self.archive.prefix) => refuse(
                "archive.prefix",
                "1 to 100 letters, digits, `-`, `_` or `.`, the first of them a letter or digit, and not `texts`",
            ),
            _ if self.archive.max_age == Some(Span::ZERO) => {
                refuse("archive.max_age", "more than 0")
            }
            _ if self.archive.on_close_timeout == Span::ZERO => {
                refuse("archive.on_close_timeout", "more than 0")
            }
            _ if self.archive.on_close.first().is_some_and(String::is_empty) => refuse(
                "archive.on_close",
                "a command and its arguments, as [\"command\", \"argument\"]",
            ),
            _ if self.archive.also_in.iter().any(|it| !it.is_absolute()) => {
                refuse("archive.also_in", "absolute paths of directories")
            }
            _ if self.archive.since.iter().any(|it| !it.is_absolute()) => {
                refuse("archive.since", "absolute paths of data directories")
            }
            _ if !upload::is_without(&self.archive) && self.archive.upload.is_none() => {
                refuse("archive.upload", "set, as other settings of the upload are")
            }
            _ if self.revisit.interval == Span::ZERO => refuse("revisit.interval", "more than 0"),
            _ if self.revisit.min_interval == Span::ZERO => {
                refuse("revisit.min_interval", "more than 0")
            }
            _ if self.revisit.max_interval < self.revisit.min_interval => {
                refuse("revisit.max_interval", "at least revisit.min_interval")
            }
            _ if self.state.max_memory < Size::mebibytes(64) => {
                refuse("state.max_memory", "at least 64 MiB")
            }
            _ => urls::check(&self.url),
        }
    }
}

/// Refuses languages that no page is told to be in: all would be other languages.
fn check_languages(crawl: &CrawlPolicy) -> Checked {
    match crawl.languages.iter().all(|it| is_recognized(it)) {
        true => Ok(()),
        false => Err((
            "crawl.languages",
            "codes of languages that can be told apart, such as de, pt or nb; docs/extraction.md has them",
        )),
    }
}

/// Whether a setting, named as by [`flatten`], can change while a crawl runs: how gently, how far
/// and how often it visits, but not how it is built.
pub fn is_live(key: &str) -> bool {
    const CRAWL_WIDE: [&str; 10] = [
        "revisit.",
        "politeness.max_rate",
        "crawl.scope",
        "crawl.max_redirects",
        "crawl.max_url_length",
        "crawl.max_sitemaps",
        "crawl.max_deferred",
        "crawl.block_lists",
        "crawl.extra_hops",
        "crawl.moved_seeds",
    ];
    let (key, is_own) = match key.split_once(" at ") {
        Some((key, _)) => (key, true),
        None => (key, false),
    };
    match key.split_once('.') {
        Some(("fetch", name)) => name == "cookie_files",
        // What fingerprints are made of cannot change; how single pages use them can.
        Some(("dedup", "method")) => is_own,
        Some(("dedup", name)) => dedup::keys().iter().any(|it| it == name),
        _ => {
            domains::keys().iter().any(|it| it == key)
                || CRAWL_WIDE.iter().any(|live| key.starts_with(live))
        }
    }
}
