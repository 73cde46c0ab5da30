//! `dups`: the clusters of duplicates of a crawl, read a few hundred members at a time.
//!
//! While the crawl runs, a page may move from one part to another between two reads, so that it is
//! listed twice or not at all.

use serde::{Deserialize, Serialize};

use crate::dedup::{DocumentId, Similarity, Tier};
use crate::engine::View;
use crate::inspect::{Error, MAX_LISTED, time_of};
use crate::rows::cluster::Head;
use crate::rows::{PAGES, PageRecord, saved_by};
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

impl Cluster {
    /// Bytes of its URLs.
    fn bytes(&self) -> usize {
        let members: usize = self.members.iter().map(|it| it.url.len()).sum();
        members + self.original.len() + self.canonical.len()
    }
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

/// Which clusters are listed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ClusterFilter {
    /// The least number of duplicates.
    pub min: usize,
    /// A tier by which one of the duplicates at least was found.
    pub tier: Option<Tier>,
}

impl ClusterFilter {
    /// Whether a cluster, with all of its members, is listed.
    pub fn takes(self, cluster: &Cluster) -> bool {
        let is_of = |tier| cluster.members.iter().any(|it| it.tier == tier);
        cluster.members.len() >= self.min && self.tier.is_none_or(is_of)
    }
}

impl Cursor {
    /// Where a cluster begins.
    pub fn of(cluster: DocumentId) -> Self {
        Self(hex::encode(keys::members(cluster)))
    }

    /// Reads what [`Self::as_str`] gave.
    pub fn read(text: &str) -> Option<Self> {
        hex::decode(text).is_ok().then(|| Self(text.to_owned()))
    }

    /// The position as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// Lists clusters from a position on, those that are taken alone. Reads a bounded number of rows: a
/// list may be empty and not at its end.
pub(crate) fn clusters(
    view: &View,
    from: Option<&Cursor>,
    filter: ClusterFilter,
) -> Result<Dups, Error> {
    /// Parts that are read for a list.
    const PARTS: usize = 20;
    let mut list = Dups {
        next: from.cloned(),
        ..Dups::default()
    };
    for _ in 0..PARTS {
        let part = dups(view, list.next.as_ref())?;
        join(&mut list.clusters, part.clusters);
        list.next = part.next;
        let bytes: usize = list.clusters.iter().map(Cluster::bytes).sum();
        if list.next.is_none() || bytes > MAX_BYTES {
            break;
        }
        // The last may go on in the next part.
        let last = list.clusters.pop();
        list.clusters.retain(|it| filter.takes(it));
        let is_enough = list.clusters.len() >= MAX_LISTED;
        list.clusters.extend(last);
        if is_enough {
            break;
        }
    }
    // One that goes on is listed whole by who goes on, unless it is all that there is.
    if list.next.is_some() && list.clusters.len() > 1 {
        let last = list.clusters.pop();
        list.next = last.map(|it| Cursor::of(it.id));
    }
    list.clusters.retain(|it| filter.takes(it));
    Ok(list)
}

/// Adds what follows; the first cluster may go on with the last one's members.
pub fn join(clusters: &mut Vec<Cluster>, more: Vec<Cluster>) {
    let mut more = more.into_iter().peekable();
    if let (Some(last), Some(first)) = (clusters.last_mut(), more.peek_mut())
        && last.id == first.id
    {
        last.members.append(&mut first.members);
        more.next();
    }
    clusters.extend(more);
}

/// Reads a cluster, a part of its members at a time; `None` if there is no such cluster.
pub(crate) fn cluster(
    view: &View,
    id: DocumentId,
    from: Option<&Cursor>,
) -> Result<Option<(Cluster, Option<Cursor>)>, Error> {
    let part = part(view, &keys::members(id), from)?;
    let next = part.next;
    let found = part.clusters.into_iter().find(|it| it.id == id);
    Ok(found.map(|cluster| (cluster, next)))
}

/// Reads the part of the clusters that begins at `from`.
pub(in crate::inspect) fn dups(view: &View, from: Option<&Cursor>) -> Result<Dups, Error> {
    part(view, &[], from)
}

/// Reads the part of the rows with a prefix that begins at `from`.
fn part(view: &View, prefix: &[u8], from: Option<&Cursor>) -> Result<Dups, Error> {
    let store = view.store();
    let identity = view.identity()?;
    let from = from.and_then(|cursor| hex::decode(&cursor.0).ok());
    let from = from.unwrap_or_default().max(prefix.to_vec());
    let rows = store.range(Table::Clusters, prefix, &from, ROWS)?;
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
pub(super) fn add(
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
            saved: saved_by(&page),
            url: page.url,
        });
    }
    Ok(bytes)
}
