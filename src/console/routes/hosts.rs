//! Hosts, sorted, a part at a time.
//!
//! To sort them is to read all of them, so a thousand are read at once and kept, and whoever goes
//! on is given from those.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use axum::extract::State;
use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::steer::host_of;
use crate::console::Shared;
use crate::console::answer::{Asked, Failed, Json, Listed, Named, command};
use crate::console::kept::Kept;
use crate::inspect::{
    self, HostList, HostPlace, HostRow, HostSort, HostStory, MAX_LISTED, list_hosts,
};

/// Number of hosts that are read and kept at once.
const CHUNK: usize = 1_000;
/// Number of chunks of which it is known where they begin.
const CHUNKS: usize = 8;

/// Which hosts are asked for.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::console) struct HostsOf {
    /// By what they are sorted, greatest first.
    #[serde(default)]
    sort: HostSort,
    /// Number of hosts, at most 100.
    #[serde(default = "hundred")]
    limit: usize,
    /// Part of their names.
    #[serde(default)]
    q: String,
    /// The `next` of the answer after which this one goes on.
    after: Option<String>,
}

fn hundred() -> usize {
    MAX_LISTED
}

/// Some of the hosts.
#[derive(Debug, Serialize, JsonSchema)]
pub(in crate::console) struct HostsAnswer {
    /// The hosts, greatest first.
    hosts: Vec<HostRow>,
    /// Number of all hosts that are meant.
    total: u64,
    /// When they were read (RFC 3339).
    as_of: String,
    /// Where the next answer goes on; null at the end.
    next: Option<String>,
}

/// A part that was read.
struct Chunk {
    list: HostList,
    as_of: Timestamp,
}

/// What a chunk is of: the order, the part of the names, and the place behind which it begins.
type Of = (HostSort, String, Option<String>);

/// Chunks that are kept.
pub(super) struct Chunks {
    kept: Kept<Of, Chunk>,
    /// The latest that were read, latest last, until when they are kept.
    known: Mutex<Vec<(Of, Arc<Chunk>, Instant)>>,
    least: Duration,
}

impl Chunks {
    pub(super) fn new(least: Duration, most: usize) -> Self {
        Self {
            kept: Kept::new(least, most),
            known: Mutex::default(),
            least,
        }
    }

    /// The rows behind a place, at most `limit`, if a chunk that is kept has them.
    fn find(&self, of: &Of, limit: usize) -> Option<(Arc<Chunk>, usize)> {
        let after = HostPlace::read(of.2.as_deref()?)?;
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        known.retain(|(_, _, until)| Instant::now() < *until);
        known.iter().rev().find_map(|(its, chunk, _)| {
            let rows = &chunk.list.rows;
            let at = rows.iter().position(|(place, _)| *place == after)? + 1;
            let has_enough = at + limit <= rows.len() || !chunk.list.has_more;
            let is_same = (its.0, &its.1) == (of.0, &of.1);
            (is_same && has_enough).then(|| (Arc::clone(chunk), at))
        })
    }

    /// Notes a chunk that was read.
    fn note(&self, of: Of, chunk: &Arc<Chunk>) {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if known.iter().any(|(_, other, _)| Arc::ptr_eq(other, chunk)) {
            return;
        }
        known.retain(|(its, ..)| *its != of);
        if known.len() >= CHUNKS {
            known.remove(0);
        }
        // Whoever pages through them takes a while.
        let until = Instant::now() + 6 * self.least;
        known.push((of, Arc::clone(chunk), until));
    }
}

pub(in crate::console) async fn hosts(
    State(shared): State<Shared>,
    Asked(asked): Asked<HostsOf>,
) -> Result<Json<Listed<HostsAnswer>>, Failed> {
    let limit = asked.limit.clamp(1, MAX_LISTED);
    let shown = limit.to_string();
    let mut words = vec![
        "status",
        "--hosts",
        asked.sort.name(),
        "--limit",
        &shown,
        "--json",
    ];
    if !asked.q.is_empty() {
        words.extend(["--match", &asked.q]);
    }
    let command = command(&words, &shared.crawl()?.directory);
    let after = asked.after.as_deref().map(|text| {
        HostPlace::read(text).ok_or_else(|| {
            Failed::bad("the query: after is to be the `next` of an answer of this path")
        })
    });
    let after = after.transpose()?;
    let of: Of = (asked.sort, asked.q, asked.after);
    let (chunk, from) = match shared.kept.hosts.find(&of, limit) {
        Some(found) => found,
        None => {
            let _place = shared.long_place()?;
            let reader = Shared::clone(&shared);
            let (sort, part) = (of.0, of.1.clone());
            let kept = &shared.kept.hosts.kept;
            let chunk = kept.get(of.clone(), shared.long_turn(), |turn| async move {
                let list = reader.read_in(turn, move |view| {
                    list_hosts(view.store(), sort, &part, after.as_ref(), CHUNK)
                });
                Ok(Chunk {
                    list: list.await?,
                    as_of: Timestamp::now(),
                })
            });
            let chunk = chunk.await?;
            shared.kept.hosts.note(of, &chunk);
            (chunk, 0)
        }
    };
    let list = &chunk.list;
    let rows = list.rows.iter().skip(from).take(limit);
    let hosts: Vec<HostRow> = rows.map(|(_, row)| row.clone()).collect();
    let end = from + hosts.len();
    let last = list.rows.get(end.wrapping_sub(1)).map(|(place, _)| place);
    let has_more = end < list.rows.len() || list.has_more;
    Ok(Json(Listed {
        list: HostsAnswer {
            hosts,
            total: list.total,
            as_of: format!("{:.3}", chunk.as_of),
            next: last.filter(|_| has_more).map(HostPlace::written),
        },
        command,
    }))
}

pub(in crate::console) async fn host(
    State(shared): State<Shared>,
    Named(name): Named,
) -> Result<Json<Listed<HostStory>>, Failed> {
    let host = host_of(&name)?;
    let crawl = shared.crawl()?;
    let words = [
        "status",
        "--hosts",
        "queue",
        "--match",
        host.as_str(),
        "--json",
    ];
    let command = command(&words, &crawl.directory);
    let story = shared.read(move |view| inspect::host_story(view, &crawl.directory, &host));
    let list = story.await?;
    let list = list.ok_or_else(|| Failed::not_found(format!("the crawl has not met {name}")))?;
    Ok(Json(Listed { list, command }))
}
