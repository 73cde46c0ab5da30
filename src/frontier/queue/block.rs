//! Blocks: how queued URLs are stored. The URLs that one commit queues for one host and class are
//! one row, so that the row, its key and what the URLs have in common are stored once.
//!
//! A block is not rewritten when one of its URLs leaves: the host's row, which is written at each
//! visit anyway, records which have left ([`super::place::Opened`]). The block is deleted with its
//! last URL.

use serde::{Deserialize, Serialize};

use super::place::{InBlock, bit};
use super::task::{Purpose, QueuedUrl, Validators};
use crate::learn::{Expectation, Trail};
use crate::store::{Result, Table, decode, encode, keys};
use crate::url::UrlId;

/// Maximum number of URLs in a block: one bit of a number records whether each has left.
pub const BLOCK: usize = u64::BITS as usize;

/// The URLs of one host and class that were queued by one commit, at most [`BLOCK`], in that order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Block {
    /// The URLs, each with its sequence, in ascending order.
    pub urls: Vec<(u64, QueuedUrl)>,
    /// URLs that were removed unvisited, one bit per position. They keep their positions, so that
    /// positions read earlier stay valid.
    pub removed: u64,
}

/// A block as it is stored.
#[derive(Serialize, Deserialize)]
struct BlockRow<'a> {
    #[serde(borrow)]
    shared: Vec<SharedParts<'a>>,
    #[serde(borrow)]
    urls: Vec<PackedUrl<'a>>,
    removed: u64,
}

/// What the URLs found on one page have in common.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
struct SharedParts<'a> {
    via: Option<UrlId>,
    depth: u16,
    hops: u8,
    attempts: u8,
    path: &'a str,
    revisit: bool,
    purpose: Purpose,
    trail: Trail,
    validators: Option<Validators>,
    expectation: Expectation,
}

/// What distinguishes a URL from the others.
#[derive(Serialize, Deserialize)]
struct PackedUrl<'a> {
    /// The sequence of the block minus the sequence of the URL.
    below: u64,
    /// Index of its shared part.
    shared: u8,
    id: UrlId,
    /// Length in bytes of the prefix that it shares with the previous URL.
    kept: u32,
    /// The URL after that prefix.
    rest: &'a str,
}

impl Block {
    /// The row of a block whose highest sequence is `last`, under which it is stored.
    pub fn encode(&self, last: u64) -> Vec<u8> {
        let mut row = BlockRow {
            shared: Vec::new(),
            urls: Vec::with_capacity(self.urls.len()),
            removed: self.removed,
        };
        let mut before = "";
        for (sequence, queued) in &self.urls {
            let shared = SharedParts::of(queued);
            // Links of one page are adjacent.
            let known = row.shared.iter().rposition(|it| *it == shared);
            let at = known.unwrap_or_else(|| {
                row.shared.push(shared);
                row.shared.len() - 1
            });
            let kept = common_prefix(before, &queued.url);
            row.urls.push(PackedUrl {
                below: last.saturating_sub(*sequence),
                shared: at as u8,
                id: queued.id,
                kept: kept as u32,
                rest: &queued.url[kept..],
            });
            before = &queued.url;
        }
        encode(&row)
    }

    /// Reads a block that is stored under the sequence `last`.
    pub fn decode(last: u64, row: &[u8]) -> Result<Self> {
        let row: BlockRow<'_> = decode(Table::Queue, row)?;
        let mut urls: Vec<(u64, QueuedUrl)> = Vec::with_capacity(row.urls.len());
        for entry in row.urls {
            let before = urls.last().map_or("", |(_, queued)| &queued.url);
            // Entries that `encode` cannot have written are skipped.
            let (Some(kept), Some(shared)) = (
                before.get(..entry.kept as usize),
                row.shared.get(usize::from(entry.shared)),
            ) else {
                continue;
            };
            let url = [kept, entry.rest].concat();
            let sequence = last.saturating_sub(entry.below);
            urls.push((sequence, shared.queued(url, entry.id)));
        }
        Ok(Self {
            urls,
            removed: row.removed,
        })
    }

    /// Reads a block from a key and a row of the store. Returns it with its class and the sequence
    /// under which it is stored, or `None` if the key does not belong to a queue.
    pub fn of_row(key: &[u8], row: &[u8]) -> Result<Option<(u8, u64, Self)>> {
        let Some((_, class, last)) = keys::parse_queue(key) else {
            return Ok(None);
        };
        Ok(Some((class, last, Self::decode(last, row)?)))
    }

    /// Removes a URL unvisited.
    pub fn remove(&mut self, place: InBlock) {
        self.removed |= bit(place.index);
    }

    /// Replaces a URL by another form of it.
    pub fn replace(&mut self, place: InBlock, queued: QueuedUrl) {
        if let Some((_, it)) = self.urls.get_mut(usize::from(place.index)) {
            *it = queued;
        }
    }

    /// Whether no URL waits, apart from those in `gone`, which have left.
    pub fn is_empty(&self, gone: u64) -> bool {
        let all = bit(self.urls.len() as u8).wrapping_sub(1);
        (gone | self.removed) & all == all
    }

    /// The URLs that wait, apart from those in `gone`, each with its sequence and position.
    pub fn waiting(self, last: u64, gone: u64) -> impl Iterator<Item = (u64, InBlock, QueuedUrl)> {
        let (count, gone) = (self.urls.len() as u8, gone | self.removed);
        let urls = self.urls.into_iter().enumerate();
        urls.filter_map(move |(index, (sequence, queued))| {
            let index = index as u8;
            let place = InBlock { last, index, count };
            (gone & bit(index) == 0).then_some((sequence, place, queued))
        })
    }
}

impl<'a> SharedParts<'a> {
    fn of(queued: &'a QueuedUrl) -> Self {
        Self {
            via: queued.via,
            depth: queued.depth,
            hops: queued.hops,
            attempts: queued.attempts,
            path: &queued.path,
            revisit: queued.revisit,
            purpose: queued.purpose,
            trail: queued.trail,
            validators: queued.validators.clone(),
            expectation: queued.expectation,
        }
    }

    fn queued(&self, url: String, id: UrlId) -> QueuedUrl {
        QueuedUrl {
            url,
            id,
            via: self.via,
            depth: self.depth,
            hops: self.hops,
            attempts: self.attempts,
            path: self.path.to_owned(),
            revisit: self.revisit,
            purpose: self.purpose,
            trail: self.trail,
            validators: self.validators.clone(),
            expectation: self.expectation,
        }
    }
}

/// Length in bytes of the common prefix, ending at a character boundary.
fn common_prefix(one: &str, other: &str) -> usize {
    let pairs = one.bytes().zip(other.bytes());
    let same = pairs.take_while(|(one, other)| one == other).count();
    (0..=same)
        .rev()
        .find(|&at| other.is_char_boundary(at) && one.is_char_boundary(at))
        .unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::frontier::{Reading, RequisiteOf};

    fn queued() -> impl Strategy<Value = QueuedUrl> {
        let parts = (
            "(http://[ab]\\.example/)?\\PC{0,6}",
            any::<[u8; 16]>(),
            prop::option::of(0..3_u8),
            0..3_u16,
            "L{0,2}",
            0..3_u8,
        );
        parts.prop_map(|(url, id, via, depth, path, kind)| QueuedUrl {
            url,
            id: UrlId::from_bytes(id),
            via: via.map(|via| UrlId::from_bytes([via; 16])),
            depth,
            hops: kind,
            attempts: kind / 2,
            path,
            revisit: kind == 1,
            purpose: match kind {
                2 => Purpose::Sitemap { level: 1 },
                1 if depth == 1 => Purpose::Requisite(RequisiteOf {
                    page: UrlId::from_bytes([kind; 16]),
                    level: kind,
                    reading: Reading::Style,
                }),
                _ => Purpose::Page,
            },
            trail: Trail {
                growth: kind,
                walk: depth,
            },
            validators: (kind == 1).then(|| Validators {
                etag: Some("\"x\"".to_owned()),
                last_modified: None,
            }),
            expectation: match kind {
                0 => Expectation::Usual,
                1 => Expectation::Returned,
                _ => Expectation::Doubtful {
                    silent: kind,
                    sampled: 7,
                },
            },
        })
    }

    proptest! {
        /// A block reads back as it was written, without the URLs that have left.
        #[test]
        fn blocks_round_trip(
            gaps in prop::collection::vec((1..1_000_u64, queued()), 1..=BLOCK),
            gone in any::<u64>(), removed in any::<u64>(),
        ) {
            let mut sequence = 0;
            let mut urls = Vec::new();
            for (gap, queued) in gaps {
                sequence += gap;
                urls.push((sequence, queued));
            }
            let (block, last) = (Block { urls, removed }, sequence);
            let row = block.encode(last);
            let read = Block::decode(last, &row).unwrap();
            prop_assert_eq!(&read, &block);
            let count = block.urls.len();
            let waiting: Vec<_> = read.waiting(last, gone).collect();
            let left = (0..count).filter(|index| (gone | removed) >> index & 1 == 1).count();
            prop_assert_eq!(waiting.len(), count - left);
            prop_assert_eq!(block.is_empty(gone), waiting.is_empty());
            for (sequence, place, queued) in waiting {
                prop_assert_eq!((place.last, usize::from(place.count)), (last, count));
                prop_assert_eq!(&block.urls[usize::from(place.index)], &(sequence, queued));
                prop_assert_eq!((gone | removed) >> place.index & 1, 0);
            }
        }

        /// No bytes cause a panic.
        #[test]
        fn anything_may_be_read(row in prop::collection::vec(any::<u8>(), 0..200), last in any::<u64>()) {
            let _ = Block::decode(last, &row);
        }
    }

    #[test]
    fn what_urls_share_is_written_once() {
        let link = |number: u64| QueuedUrl {
            via: Some(UrlId::from_bytes([9; 16])),
            depth: 3,
            path: "LLL".to_owned(),
            ..QueuedUrl::new(
                format!("https://www.host.example/section/{number}-a-title-of-words.html"),
                UrlId::from_bytes([7; 16]),
            )
        };
        let urls = (0..20)
            .map(|number| (number, link(100_000 + number)))
            .collect();
        let block = Block { urls, removed: 0 };
        let row = block.encode(19);
        // 16 bytes are the id, 3 the counts, some 22 the new part of the URL.
        assert!(row.len() < 20 * 45 + 80, "{}", row.len());
    }
}
