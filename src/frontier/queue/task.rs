//! What is to be fetched, and the row in which it waits.

use std::net::IpAddr;

use serde::{Deserialize, Serialize};

use super::place::{AGAIN, LAST, Place, REQUISITES, class_of};
use crate::frontier::{Moment, Pace};
use crate::learn::{Expectation, Trail};
use crate::url::{HostKey, Url, UrlId};

/// A URL that waits in its host's queue.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct QueuedUrl {
    /// The URL as first seen: what is requested and judged by robots.txt.
    pub url: String,
    /// Its id. Stored rather than computed again, so that a changed rule cannot separate a URL from
    /// the key under which it was admitted.
    pub id: UrlId,
    /// The page on which it was found.
    pub via: Option<UrlId>,
    /// Number of links followed from a seed.
    pub depth: u16,
    /// Number of redirects followed in a row.
    pub hops: u8,
    /// Number of attempts made so far.
    pub attempts: u8,
    /// One letter per hop from the seed: L link, R redirect, E embedded frame, I refresh or
    /// related, M named by robots.txt or a sitemap.
    pub path: String,
    /// Whether it was visited before. If so, the answer is compared with the previous one.
    pub revisit: bool,
    /// Why it is fetched.
    pub purpose: Purpose,
    /// How far it is into something that may be a trap.
    pub trail: Trail,
    /// Validators of the previous response, to be sent as conditions; `None` for an unconditional
    /// request.
    pub validators: Option<Validators>,
    /// What the visit is expected to yield.
    pub expectation: Expectation,
}

/// Validators of a response (RFC 9110, section 8.8): sent back, they make the server answer 304 if
/// the page is unchanged.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Validators {
    /// `ETag` as received, with its quotes.
    pub etag: Option<String>,
    /// `Last-Modified` as received.
    pub last_modified: Option<String>,
}

impl QueuedUrl {
    /// A page with depth 0 that was neither found on another page nor attempted, as a seed is
    /// queued.
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

    /// Its priority class: by depth and expectation, unless it was visited before or is a
    /// requisite.
    pub fn class(&self) -> u8 {
        if self.purpose.is_requisite() {
            return REQUISITES;
        }
        if self.revisit {
            return AGAIN;
        }
        self.expectation.class(class_of(self.depth), LAST)
    }
}

/// Why something is fetched.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Purpose {
    /// For its content and its links.
    Page,
    /// For the robots.txt rules of its host.
    Robots,
    /// For the URLs that it lists.
    Sitemap {
        /// Number of sitemap indexes that led to it.
        level: u8,
    },
    /// Because a page needs it to be shown.
    Requisite(RequisiteOf),
}

/// For which page a requisite is fetched, and what is read of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct RequisiteOf {
    /// The page that needs it, directly or through other requisites.
    pub page: UrlId,
    /// Number of requisites that led to it: style sheets, frames and redirects.
    pub level: u8,
    /// What is read of it.
    pub reading: Reading,
}

/// What is read of a requisite.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Reading {
    /// Nothing: it names no further files.
    Nothing,
    /// The files that a style sheet names.
    Style,
    /// The files that a page within the page, or a drawing, names.
    Document,
}

impl Purpose {
    /// Whether this is a sitemap.
    pub fn is_sitemap(self) -> bool {
        matches!(self, Self::Sitemap { .. })
    }

    /// Whether this is a requisite.
    pub fn is_requisite(self) -> bool {
        matches!(self, Self::Requisite(_))
    }
}

/// A visit to be made.
#[derive(Debug, Clone)]
pub struct FetchTask {
    /// The URL to request.
    pub url: Url,
    /// The host for which the visit is made. Differs from the host of `url` only if a robots.txt
    /// was redirected to another host.
    pub host: HostKey,
    /// The pace of `host` when the task was handed out. It is current, because a host has one visit
    /// at a time.
    pub pace: Pace,
    /// The redirect that is being followed, for a robots.txt.
    pub robots_redirect: Option<RobotsRedirect>,
    /// Where the task waits in the queue; `None` for a robots.txt, which is not queued.
    pub place: Option<Place>,
    /// The queued row; for a robots.txt a row made up for it.
    pub queued: QueuedUrl,
    /// The address that was kept free for the visit.
    pub held: HeldAddress,
}

/// The address at which a visit is made.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct HeldAddress {
    /// The address; `None` if it is not known or does not matter.
    pub ip: Option<IpAddr>,
    /// How often the visit was put back because an address accepted no connection.
    pub moves: u8,
}

/// The redirect of one host's robots.txt to another host, which is visited for it.
#[derive(Debug, Clone)]
pub struct RobotsRedirect {
    /// The host that is visited.
    pub at: HostKey,
    /// The pace of that host when the task was handed out.
    pub pace: Pace,
    /// Number of redirects followed so far.
    pub hops: u8,
    /// Set if a person holds that host: the visit is not made, and fails.
    pub is_at_held: bool,
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
    /// Whether the host answered.
    pub has_answered: bool,
    /// The address that answered; `None` if none did, or it is not known.
    pub address: Option<IpAddr>,
    /// The earliest time of the next visit to that address.
    pub address_free_from: Moment,
    /// The host for which the visit was made, if it is another one, and its pace from now on.
    pub for_host: Option<(HostKey, Pace)>,
    /// The visit that is made instead: the next hop of a redirected robots.txt, or the same visit
    /// at another address of its host.
    pub next_hop: Option<FetchTask>,
}
