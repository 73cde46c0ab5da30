//! What a shard tells all others of its documents and visits: rows of the outbox that are for
//! everybody.

use std::net::IpAddr;

use serde::{Deserialize, Serialize};

use crate::dedup::own::{Lines, OwnLines, Standing};
use crate::dedup::{Document, DocumentId};
use crate::frontier::Moment;

/// Standings in a byte.
const PER_BYTE: usize = 4;

/// Something that a shard tells all others.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Notice {
    /// A document is committed, and can be an original.
    Document(Box<Published>),
    /// What of a document is its own, by what is known of its site now.
    Own(DocumentId, Option<OwnPart>),
    /// The template of the site of this number is known from now on. What is known of its documents
    /// was told before.
    Settled(u64),
    /// A document is no original any more: its page is gone, or another one now, or it was not seen
    /// for too long.
    Gone(DocumentId),
    /// The shard visits a server.
    Visits {
        /// Its address, as the frontier tells servers apart.
        server: IpAddr,
        /// Until when it counts there, unless it says so again.
        until: Moment,
    },
}

/// A document as other shards have it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Published {
    /// The document, under the number that it has in its shard.
    pub document: Document,
    /// What players of archives take from the head of its response, if a revisit record may refer
    /// to that.
    pub form: Option<u64>,
    /// What of it is its own; `None` if its page has no lines.
    pub own: Option<OwnPart>,
}

/// What of a page is its own, as its shard knows: lines, and what each of them is on the site.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OwnPart {
    site: u64,
    is_settled: bool,
    /// [`Lines::encode`].
    lines: Vec<u8>,
    /// Two bits for each line, the first in the lowest.
    standings: Vec<u8>,
}

impl OwnPart {
    /// Takes the lines of a page of the site with this number, and says whether its template is
    /// known.
    pub fn of(
        lines: &Lines,
        (site, is_settled): (u64, bool),
        standings: impl IntoIterator<Item = Standing>,
    ) -> Self {
        let mut packed = vec![0; lines.lines.len().div_ceil(PER_BYTE)];
        for (at, standing) in standings.into_iter().enumerate() {
            let code: u8 = match standing {
                Standing::Own => 0,
                Standing::Common => 1,
                Standing::Template => 2,
                Standing::Ignored => 3,
            };
            if let Some(byte) = packed.get_mut(at / PER_BYTE) {
                *byte |= code << (at % PER_BYTE * 2);
            }
        }
        Self {
            site,
            is_settled,
            lines: lines.encode(),
            standings: packed,
        }
    }

    /// Whether the template of the site is known, so that this stays as it is.
    pub fn is_settled(&self) -> bool {
        self.is_settled
    }

    /// Returns the lines with what they are; `None` if they are damaged.
    pub fn read(&self) -> Option<OwnLines> {
        let lines = Lines::decode(&self.lines)?;
        if self.standings.len() != lines.lines.len().div_ceil(PER_BYTE) {
            return None;
        }
        let bytes = self.standings.iter();
        let standings = bytes.flat_map(|byte| {
            (0..PER_BYTE).map(move |at| match byte >> (at * 2) & 3 {
                0 => Standing::Own,
                1 => Standing::Common,
                2 => Standing::Template,
                _ => Standing::Ignored,
            })
        });
        Some(OwnLines::new(
            &lines,
            (self.site, self.is_settled),
            standings,
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dedup::own::{Kind, Line};

    #[test]
    fn own_parts_are_read_as_they_were() {
        let standings = [
            Standing::Own,
            Standing::Common,
            Standing::Template,
            Standing::Ignored,
            Standing::Own,
            Standing::Template,
        ];
        for count in 0..=standings.len() {
            let mut lines = Lines::default();
            for hash in 0..count as u32 {
                let line = Line {
                    hash,
                    masked: hash,
                    letters: hash / 2,
                    words: 7,
                    kind: Kind::Main,
                };
                lines.push(line, hash.into());
            }
            let standings = || standings.into_iter().take(count);
            let site = (9, count % 2 == 0);
            let part = OwnPart::of(&lines, site, standings());
            assert_eq!(part.read(), Some(OwnLines::new(&lines, site, standings())));
            assert_eq!(part.is_settled(), site.1);
        }
        let broken = OwnPart {
            site: 1,
            is_settled: true,
            lines: Lines::default().encode(),
            standings: vec![0],
        };
        assert_eq!(broken.read(), None);
    }
}
