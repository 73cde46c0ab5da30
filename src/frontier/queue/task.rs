//! What is to be fetched, and the row in which it waits.

use std::net::IpAddr;

use serde::{Deserialize, Serialize};

use super::place::{CLASSES, Place, class_of};
use crate::frontier::{Moment, Pace};
use crate::learn::Trail;
use crate::url::{HostKey, Url, UrlId};

/// What is expected of a URL.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Expectation {
    /// A page.
    #[default]
    Usual,
    /// Little: its host, or URLs like it, lost their budget. It is fetched after all others.
    Low,
    /// Nothing new, by what was learned: it is fetched after all others, to check that.
    Check,
}

/// A URL as it waits in its host's queue.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct QueuedUrl {
    /// The form in which it was first seen: what is requested and judged by robots.txt.
    pub url: String,
    /// Its identity. Kept rather than computed again, so that a changed rule cannot part a URL
    /// from the key under which it was admitted.
    pub id: UrlId,
    /// The page on which it was found; its record names the URL.
    pub via: Option<UrlId>,
    /// Links followed from a seed.
    pub depth: u16,
    /// Redirects followed in a row.
    pub hops: u8,
    /// Attempts made so far.
    pub attempts: u8,
    /// One letter a hop from the seed: L link, R redirect, E embedded frame, I refresh or related,
    /// M named by robots.txt or a sitemap.
    pub path: String,
    /// It was visited before, and is to be compared with what was found then.
    pub revisit: bool,
    /// Why it is fetched.
    pub purpose: Purpose,
    /// How far it is into something that may be a trap.
    pub trail: Trail,
    /// What its server named its last answer by, if it is to be asked whether that still holds.
    pub validators: Option<Validators>,
    /// What is expected of it.
    pub expectation: Expectation,
}

/// What a server named an answer by (RFC 9110, section 8.8): sent back, they make it answer 304 as
/// long as the page is the same.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Validators {
    /// `ETag` as it came, with its quotes.
    pub etag: Option<String>,
    /// `Last-Modified` as it came.
    pub last_modified: Option<String>,
}

impl QueuedUrl {
    /// A page that nobody links to and nobody has asked for yet, as a seed is queued.
    pub fn new(url: String, id: UrlId) -> Self {
        Self {
            url,
            id,
            via: None,
            depth: 0,
            hops: 0,
            attempts: 0,
            path: String::new(),
            revisit: false,
            purpose: Purpose::Page,
            trail: Trail::default(),
            validators: None,
            expectation: Expectation::Usual,
        }
    }

    /// Its priority class: by depth, and last what little is expected of.
    pub fn class(&self) -> u8 {
        match self.expectation {
            Expectation::Usual => class_of(self.depth),
            Expectation::Low | Expectation::Check => CLASSES - 1,
        }
    }
}

/// Why something is fetched.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Purpose {
    /// For its content and links.
    Page,
    /// For the rules of its host.
    Robots,
    /// For the URLs that it lists.
    Sitemap {
        /// Indexes that led to it.
        level: u8,
    },
}

impl Purpose {
    /// Whether it is a sitemap.
    pub fn is_sitemap(self) -> bool {
        matches!(self, Self::Sitemap { .. })
    }
}

/// One visit to be made.
#[derive(Debug, Clone)]
pub struct FetchTask {
    /// What to request.
    pub url: Url,
    /// The host that it is for: scheme, name, port. Its own, but where a robots.txt is elsewhere.
    pub host: HostKey,
    /// That host's pace when the task was handed out; exact, as a host has one visit at a time.
    pub pace: Pace,
    /// Where a robots.txt was redirected to.
    pub robots_redirect: Option<RobotsRedirect>,
    /// The queue row, for a page; a robots.txt waits in none.
    pub place: Option<Place>,
    /// The row itself; for a robots.txt one made up for it.
    pub queued: QueuedUrl,
}

/// A visit of one host for another: its robots.txt is there.
#[derive(Debug, Clone)]
pub struct RobotsRedirect {
    /// The host that is visited.
    pub at: HostKey,
    /// That one's pace when the task was handed out.
    pub pace: Pace,
    /// Redirects followed to it.
    pub hops: u8,
}

impl FetchTask {
    /// The host that is visited, and its pace.
    pub fn visiting(&self) -> (&HostKey, &Pace) {
        match &self.robots_redirect {
            Some(robots_redirect) => (&robots_redirect.at, &robots_redirect.pace),
            None => (&self.host, &self.pace),
        }
    }
}

/// A visit that ended, as far as the schedule is concerned.
#[derive(Debug, Clone)]
pub struct Visited {
    /// The host that was visited.
    pub host: HostKey,
    /// Its pace from now on.
    pub pace: Pace,
    /// The address that answered; `None` if none did.
    pub address: Option<IpAddr>,
    /// Nobody may visit that address before.
    pub address_free_from: Moment,
    /// The host for which it was, if that is another one, and the pace of that from now on.
    pub for_host: Option<(HostKey, Pace)>,
    /// Where to go on: a redirect of a robots.txt.
    pub next_hop: Option<FetchTask>,
}
