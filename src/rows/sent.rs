//! What the shards of a crawl send one another: the rows of the outbox.

use serde::{Deserialize, Serialize};

use crate::frontier::{QueuedUrl, ScopeKind, SeedSettings};
use crate::store::{Result, Store, Table, keys};
use crate::url::UrlId;

/// Something that one shard tells another.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Sent {
    /// A URL of the receiver's, which the sender would have queued.
    Link(Box<SentLink>),
    /// A seed that was given to the sender. Every shard hears of it, because all of them have the
    /// same scope; the one that it belongs to queues it.
    Seed(Box<SentSeed>),
    /// Where a seed of the sender's has moved to. It is in scope from then on.
    Moved {
        /// The URL that redirects.
        from: String,
        /// Its target.
        to: String,
        /// The scope of the seed, if it has one of its own.
        own: Option<ScopeKind>,
    },
}

/// A URL that was found at another shard.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SentLink {
    /// The URL as it would have been queued.
    pub queued: QueuedUrl,
    /// How it was found.
    pub origin: SentOrigin,
    /// The host that leads to it.
    pub by: Option<String>,
    /// The URLs of the pages that the queued URL names by their ids: the receiver has no record of
    /// them.
    pub pages: Vec<(UrlId, String)>,
    /// The seed from which it was found, if that has settings of its own.
    pub seed: Option<(UrlId, SeedSettings)>,
}

/// How a URL was found that is sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum SentOrigin {
    /// A page links to it, or redirects there.
    Link,
    /// A sitemap lists it.
    Listed,
    /// It is a sitemap, and robots.txt names it.
    Manifest,
    /// A seed redirects there and takes the scope along.
    Moved,
    /// It is another form of a URL that was visited.
    OtherForm,
    /// A user gave it.
    Seed,
}

/// A seed as it was given to another shard.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SentSeed {
    /// The URL.
    pub url: String,
    /// Set if it was given without a scheme.
    pub is_bare: bool,
    /// What holds for all that is found from it.
    pub settings: SeedSettings,
    /// Set if the user consents to visits of the private address that it names.
    pub consent: bool,
}

/// Returns the URL of a page of another shard to which a row refers by its id.
pub fn foreign_page(store: &dyn Store, page: UrlId) -> Result<Option<String>> {
    let row = store.get(Table::Meta, &keys::foreign_page(page.as_bytes()))?;
    Ok(row.map(|row| String::from_utf8_lossy(&row).into_owned()))
}
