//! `dups`: the clusters of duplicates of a crawl, read a few hundred members at a time.
//!
//! While the crawl runs, a page may move from one part to another between two reads, so that it is
//! listed twice or not at all.

use serde::{Deserialize, Serialize};

use super::{Error, time_of};
use crate::archive::RecordKind;
use crate::dedup::{DocumentId, Similarity, Tier};
use crate::engine::View;
use crate::rows::cluster::Head;
use crate::rows::{Fate, PAGES, PageRecord};
use crate::store::{Store, Table, keys};
use crate::url::{Identity, UrlId};

/// Number of rows read for one part.
const ROWS: usize = 250;
/// Bytes of URLs after which a part ends, because a part is one line on the control socket.
const MAX_BYTES: usize = 1 << 20;

/// A part of the clusters, in the order in which their originals were discovered.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Dups {
    /// Clusters. The first may continue the last cluster of the previous part.
    pub clusters: Vec<Cluster>,
    /// Where the next part begins; `None` after the last part.
    pub next: Option<Cursor>,
}

/// A position between two rows, in hexadecimal.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Cursor(String);

/// An original and its duplicates.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Cluster {
    /// Number of the original's document, which identifies the cluster.
    pub id: DocumentId,
    /// URL of the original.
    pub original: String,
    /// False if the original is gone or has changed since, and its duplicates wait for a revisit.
    pub stands: bool,
    /// Preferred URL of the cluster.
    pub canonical: String,
    /// The duplicates, best URL first.
    pub members: Vec<Member>,
}

/// A duplicate.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Member {
    /// The URL as it was requested.
    pub url: String,
    /// The tier that found it.
    pub tier: Tier,
    /// Number of bits in which the two `SimHashes` differ; 0 for the exact tiers.
    pub distance: u8,
    /// Similarity of the two pages, 0 to 1.
    pub similarity: Similarity,
    /// Time of the visit that first found the duplicate (RFC 3339).
    pub first_seen: String,
    /// Time of the last visit that confirmed it (RFC 3339).
    pub last_checked: String,
    /// Bytes of its body that did not have to be stored.
    pub saved: u64,
}

/// Reads the part of the clusters that begins at `from`.
pub(super) fn dups(view: &View, from: Option<&Cursor>) -> Result<Dups, Error> {
    let store = view.store();
    let identity = view.identity()?;
    let from = from.and_then(|cursor| hex::decode(&cursor.0).ok());
    let rows = store.range(Table::Clusters, &[], &from.unwrap_or_default(), ROWS)?;
    let members: Vec<(DocumentId, UrlId)> = rows
        .iter()
        .filter_map(|(key, _)| keys::parse_member(key))
        .map(|(cluster, id)| (cluster, UrlId::from_bytes(id)))
        .collect();
    let ids: Vec<&[u8]> = members.iter().map(|(_, id)| &id.as_bytes()[..]).collect();
    let mut pages = store.get_many(Table::Pages, &ids)?.into_iter();
    let mut part = Dups::default();
    let mut bytes = 0;
    for (at, (key, _)) in rows.iter().enumerate() {
        if bytes > MAX_BYTES {
            part.next = Some(Cursor(hex::encode(key)));
            return Ok(part);
        }
        if let Some((cluster, _)) = keys::parse_member(key)
            && let Some(row) = pages.next().flatten()
        {
            let page = PAGES.decode(&row)?;
            bytes += add(store, &identity, cluster, page, &mut part.clusters)?;
        }
        if at + 1 == ROWS {
            part.next = Some(Cursor(hex::encode([key, &[0][..]].concat())));
        }
    }
    Ok(part)
}

/// Adds a member to its cluster. Returns the bytes of the URLs added.
fn add(
    store: &dyn Store,
    identity: &Identity,
    cluster: DocumentId,
    page: PageRecord,
    clusters: &mut Vec<Cluster>,
) -> Result<usize, Error> {
    // The page may have left the cluster since its key was read.
    let Some(duplicate) = page.duplicate().filter(|it| it.of == cluster).copied() else {
        return Ok(0);
    };
    let mut bytes = page.url.len();
    if clusters.last().is_none_or(|last| last.id != cluster) {
        let head = Head::read(store, cluster, duplicate.page)?;
        let head = match &head {
            Some(head) => Cluster {
                id: cluster,
                original: head.page.url.clone(),
                stands: head.document().is_some(),
                canonical: head.canonical(store, identity)?,
                members: Vec::new(),
            },
            None => Cluster {
                id: cluster,
                original: page.url.clone(),
                stands: false,
                canonical: page.url.clone(),
                members: Vec::new(),
            },
        };
        bytes += head.original.len() + head.canonical.len();
        clusters.push(head);
    }
    if let Some(last) = clusters.last_mut() {
        last.members.push(Member {
            tier: duplicate.tier,
            distance: duplicate.distance,
            similarity: duplicate.similarity,
            first_seen: time_of(duplicate.first_seen),
            last_checked: time_of(duplicate.last_checked),
            saved: saved(&page),
            url: page.url,
        });
    }
    Ok(bytes)
}

/// Bytes of a page's body that are not in the archive.
fn saved(page: &PageRecord) -> u64 {
    let is_stored = matches!(page.record, Some((RecordKind::Response, _)));
    match &page.fate {
        Fate::Answered { size, .. } if !is_stored => *size,
        _ => 0,
    }
}
