//! What `why` tells of a URL.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use crate::dedup::Similarity;
use crate::frontier::ScopeKind;
use crate::inspect::refused::{BudgetNow, RefusedNow};
use crate::inspect::{HostNow, LearnedKind};
use crate::journal::RecordPlace;

/// What happened to a URL.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Why {
    /// The URL that was asked about.
    pub url: String,
    /// Its canonical form, which identifies it in the crawl.
    pub canonical: String,
    /// Whether it is queued, done or unknown.
    pub state: UrlState,
    /// Its last completed visit.
    pub visit: Option<Visited>,
    /// Its place in the queue, if it is queued.
    pub queued: Option<QueuedNow>,
    /// If it is a requisite, the page that needs it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub needed_by: Option<String>,
    /// If a person had it forgotten, since when; empty if it is by host or prefix and it was never
    /// visited.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub forgotten: Option<String>,
    /// Its first link that was refused, if it was never admitted and the reason was noted.
    #[serde(default)]
    pub refused: Option<RefusedNow>,
    /// A page with more links than are read, if there is one and the URL was never admitted: such a
    /// page may link to it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub links_cut: Option<LinksCut>,
    /// Whether a link to it would be followed now.
    pub admission: AdmissionNow,
    /// Whether robots.txt of its host allows it.
    pub robots: RobotsNow,
    /// Since when a person holds its host, if one does (RFC 3339).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub held: Option<String>,
    /// State of its host, if the crawl knows the host.
    pub host: Option<HostNow>,
}

/// What a crawl knows of a URL.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum UrlState {
    /// Queued, or being fetched.
    Queued,
    /// Visited: answered, failed or forbidden.
    Done,
    /// Never admitted.
    Unknown,
    /// Found, and kept for later.
    Deferred,
}

/// Pages with more links than are read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct LinksCut {
    /// Number of such pages.
    pub pages: u64,
    /// One of them.
    pub example: Option<String>,
}

/// The last completed visit of a URL.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Visited {
    /// The form of the URL that was requested.
    pub url: String,
    /// Time of the visit (RFC 3339).
    pub time: String,
    /// Number of attempts made.
    pub attempts: u8,
    /// Number of links from a seed.
    pub depth: u16,
    /// The page on which the URL was found.
    pub via: Option<String>,
    /// `unique`, a tier, `ineligible`, `sitemap`, `requisite`, `failed`, `forbidden`, or `known`
    /// from an earlier crawl.
    pub verdict: String,
    /// If ineligible, why the page can be neither original nor duplicate.
    pub reason: Option<String>,
    /// HTTP status; 0 if there was no answer, or the earlier crawl did not record it.
    pub status: u16,
    /// Number of entries of a sitemap.
    #[serde(default)]
    pub entries: Option<u32>,
    /// Class and message of the failure.
    pub failure: Option<String>,
    /// Time before which a failed URL is not retried; `None` if it is not retried (RFC 3339).
    #[serde(default)]
    pub next_attempt: Option<String>,
    /// Declared media type.
    pub mime: Option<String>,
    /// If a converter was run on it: where the text is that it made.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text_record: Option<RecordPlace>,
    /// If a converter was run on it and failed: why.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub converter: Option<String>,
    /// Title of the page.
    pub title: Option<String>,
    /// The canonical URL that the page declares.
    pub canonical_hint: Option<String>,
    /// Number of bits in which its `SimHash` differs from that of its original.
    pub distance: Option<u8>,
    /// Similarity to its original, 0 to 1.
    pub similarity: Option<Similarity>,
    /// Time of the visit that first found it a duplicate (RFC 3339).
    pub first_seen: Option<String>,
    /// Time of the last visit that confirmed it (RFC 3339).
    pub last_checked: Option<String>,
    /// URL of its original.
    pub original: Option<String>,
    /// Preferred URL of its cluster.
    pub cluster_canonical: Option<String>,
    /// Where the original's response is stored.
    pub original_record: Option<RecordPlace>,
    /// If its original is another shard's, what is known of that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub original_elsewhere: Option<OriginalElsewhere>,
    /// URL of the page of another shard that is the same, if both were stored because neither shard
    /// could know.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub raced: Option<String>,
    /// Time of the next revisit, if there will be one (RFC 3339).
    pub next_visit: Option<String>,
    /// Where its own record is stored.
    pub record: Option<RecordPlace>,
    /// Of a redirect, where it led, as the archive has it; `None` where that is not at hand.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub led_to: Option<String>,
    /// WARC file of the earlier crawl from which the URL is known.
    pub archive: Option<String>,
    /// Time of the record of an earlier crawl since which the page is unchanged (RFC 3339).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unchanged_since: Option<String>,
}

/// An original that another shard has stored.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct OriginalElsewhere {
    /// Number of the shard.
    pub shard: u16,
    /// Time of its response (RFC 3339).
    pub time: String,
    /// Id of the record with its response: a UUID.
    pub record: String,
    /// SHA-256 of its payload, in hexadecimal.
    pub payload: String,
}

/// The place of a URL in its queue.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct QueuedNow {
    /// The form of the URL that will be requested.
    pub url: String,
    /// The page on which the URL was found.
    pub via: Option<String>,
    /// Number of links from a seed.
    pub depth: u16,
    /// Number of attempts made.
    pub attempts: u8,
    /// Priority class; class 0 is served first.
    pub class: u8,
    /// Number of URLs of its host that are served before it.
    pub ahead: u64,
}

/// Whether a link to a URL would be followed now.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct AdmissionNow {
    /// `admitted`, `out-of-scope`, `excluded`, `not-included`, `malformed` (too long),
    /// `host-budget`, `domain-budget`, `deferred`, or the form for which it is suspected.
    pub answer: Cow<'static, str>,
    /// The place of the entry of a block list that names the URL.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub blocked: Option<String>,
    /// The pattern that excludes the URL.
    #[serde(default)]
    pub pattern: Option<String>,
    /// What a URL must share with a seed.
    pub scope: ScopeKind,
    /// What it shares with a seed that has a scope of its own, if it is in scope by that only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seed_scope: Option<ScopeKind>,
    /// Maximum number of links from a seed.
    pub max_depth: Option<u16>,
    /// The kind of URLs for which it is deferred.
    #[serde(default)]
    pub kind: Option<LearnedKind>,
    /// Maximum length of a URL.
    pub max_url_length: usize,
    /// The budget of its host or domain that is used up, if one is.
    #[serde(default)]
    pub budget: Option<BudgetNow>,
}

/// Whether robots.txt allows a URL.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct RobotsNow {
    /// What robots.txt says about the URL.
    pub answer: RobotsAnswer,
    /// Number of the line that decides, starting at 1.
    pub line: Option<u32>,
    /// Text of that line.
    pub rule: Option<String>,
    /// Why no line decides: for example, there is no robots.txt, or it could not be fetched.
    pub reason: Option<String>,
    /// Time after which robots.txt is fetched again (RFC 3339).
    pub until: Option<String>,
}

/// What robots.txt says about a URL.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum RobotsAnswer {
    /// The URL may be visited.
    Allowed,
    /// The URL may not be visited.
    Forbidden,
    /// robots.txt was not fetched yet.
    #[default]
    Unknown,
    /// robots.txt is ignored by configuration.
    Ignored,
}
