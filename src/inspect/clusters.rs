//! The clusters of duplicates of a crawl, read a few hundred members at a time.
//!
//! A crawl that goes on meanwhile may move a page from a part that was read to one that will be.

use serde::{Deserialize, Serialize};

use super::{Error, time_of};
use crate::archive::RecordKind;
use crate::dedup::{DocumentId, Similarity, Tier};
use crate::engine::View;
use crate::rows::cluster::Head;
use crate::rows::{Fate, PAGES, PageRecord};
use crate::store::{Store, Table, keys};
use crate::url::{Identity, UrlId};

/// Rows of the store that are read for one part.
const ROWS: usize = 250;
/// Bytes of URLs after which a part ends: it goes over the control socket in one line.
const MAX_BYTES: usize = 1 << 20;

/// Some of the clusters, in the order in which their originals were discovered.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Dups {
    /// Clusters; the first may go on one of the part before.
    pub clusters: Vec<Cluster>,
    /// Where the next part begins; `None` after the last.
    pub next: Option<Cursor>,
}

/// A place between two rows; hexadecimal.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cursor(String);

/// An original and pages that repeat it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cluster {
    /// The number of the original's document, which names the cluster.
    pub id: DocumentId,
    /// URL of the original.
    pub original: String,
    /// False if the original is gone or another page by now, and its duplicates wait for a visit.
    pub stands: bool,
    /// The URL that the cluster is best called by.
    pub canonical: String,
    /// Its duplicates, the best URL first.
    pub members: Vec<Member>,
}

/// A page that repeats an original.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Member {
    /// The URL as it was requested.
    pub url: String,
    /// By which tier.
    pub tier: Tier,
    /// Bits in which the two `SimHashes` differ; 0 for the exact tiers.
    pub distance: u8,
    /// How alike the two are, 0 to 1.
    pub similarity: Similarity,
    /// The visit that first found it so (RFC 3339).
    pub first_seen: String,
    /// The last visit that did (RFC 3339).
    pub last_checked: String,
    /// Bytes of its body that are not stored.
    pub saved: u64,
}

/// The clusters from a place on, as many as are read at once.
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

/// Adds a member to its cluster; the bytes that it takes.
fn add(
    store: &dyn Store,
    identity: &Identity,
    cluster: DocumentId,
    page: PageRecord,
    clusters: &mut Vec<Cluster>,
) -> Result<usize, Error> {
    // It may have moved since its row was read.
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

/// Bytes of a page's body that the archive does not have.
fn saved(page: &PageRecord) -> u64 {
    let is_stored = matches!(page.record, Some((RecordKind::Response, _)));
    match &page.fate {
        Fate::Answered { size, .. } if !is_stored => *size,
        _ => 0,
    }
}
