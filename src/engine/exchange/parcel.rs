//! Parcels: consecutive messages of one shard for another, as they are carried.

use crate::engine::Error;
use crate::frontier::Shards;
use crate::rows::Sent;
use crate::store::{Broken, Store, Table, decode, encode, keys, seal, unseal};

/// Version of the form in which parcels are carried.
const VERSION: u8 = 2;
/// Maximum number of messages in a parcel.
const MAX_MESSAGES: usize = 1_000;

/// Consecutive messages of one shard for another.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Parcel {
    /// Number of the shard that sends it.
    pub from: u16,
    /// Number of the shard that it is for.
    pub to: u16,
    /// Number of the first message.
    pub first: u64,
    /// Up to which number messages are kept no more, because the receiver has said that it has
    /// them.
    pub gone: u64,
    /// The messages, as rows of the outbox.
    pub rows: Vec<Vec<u8>>,
}

/// What is wrong with a parcel.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ParcelError {
    /// It has another form.
    #[error(
        "a parcel of form {0} arrived, and this version of gleaner reads form {VERSION} only: all \
         workers of a crawl need the same version"
    )]
    Version(u8),
    /// It is not what was sent.
    #[error("a parcel was damaged on its way; it is sent again")]
    Damaged,
    /// It is for another shard, or of none of this crawl.
    #[error(
        "a parcel of shard {from} for shard {to} came to shard {} of {}: are these workers of one \
         crawl?", .own.own(), .own.count()
    )]
    Misdirected {
        /// The shard that sent it, by its own word.
        from: u16,
        /// The shard that it is for.
        to: u16,
        /// Where it arrived.
        own: Shards,
    },
    /// A message cannot be read.
    #[error(
        "message {number} of shard {from} cannot be read: all workers of a crawl need the same \
         version of gleaner"
    )]
    Message {
        /// The shard that sent it.
        from: u16,
        /// Its number.
        number: u64,
    },
}

impl Parcel {
    /// Returns the number of the last message.
    pub fn through(&self) -> u64 {
        (self.first + self.rows.len() as u64).saturating_sub(1)
    }

    /// Returns the parcel as bytes: the version, its parts, and a checksum (xxh3, little-endian).
    pub fn encode(&self) -> Vec<u8> {
        let mut bytes = vec![VERSION];
        bytes.extend(encode(&(
            self.from, self.to, self.first, self.gone, &self.rows,
        )));
        seal(bytes)
    }

    /// Reads what [`encode`](Self::encode) wrote.
    ///
    /// # Errors
    ///
    /// Whatever is damaged, or of another version, is an error.
    pub fn decode(bytes: &[u8]) -> Result<Self, ParcelError> {
        let body = unseal(VERSION, bytes).map_err(|broken| match broken {
            Broken::Version(other) => ParcelError::Version(other),
            Broken::Short | Broken::Checksum => ParcelError::Damaged,
        })?;
        let parts = decode(Table::Outbox, body);
        let (from, to, first, gone, rows) = parts.map_err(|_| ParcelError::Damaged)?;
        Ok(Self {
            from,
            to,
            first,
            gone,
            rows,
        })
    }

    /// Reads the messages, for the shard `own`.
    pub(crate) fn open(&self, own: Shards) -> Result<Vec<Sent>, ParcelError> {
        let (from, to) = (self.from, self.to);
        if to != own.own() || !own.has_other(from) || self.first == 0 {
            return Err(ParcelError::Misdirected { from, to, own });
        }
        let numbered = (self.first..).zip(&self.rows);
        let messages = numbered.map(|(number, row)| {
            decode(Table::Outbox, row).map_err(|_| ParcelError::Message { from, number })
        });
        messages.collect()
    }
}

/// Returns the messages that wait for the shard `to` behind number `after`, at most so many bytes
/// of them, but one at least if any waits. Where some before them are kept no more, that is said,
/// if need be without any.
pub(crate) fn waiting(
    store: &dyn Store,
    own: Shards,
    (to, after): (u16, u64),
    most_bytes: usize,
) -> Result<Option<Parcel>, Error> {
    let row = store.get(Table::Meta, &keys::sent(to))?;
    let row = row.map(|row| decode(Table::Meta, &row)).transpose()?;
    // Reading begins behind what has left, so that it does not walk over its tombstones.
    let (_, gone): (u64, u64) = row.unwrap_or_default();
    let from = keys::outbox(to, after.max(gone).saturating_add(1));
    let rows = store.range(Table::Outbox, &keys::outbox_to(to), &from, MAX_MESSAGES)?;
    let mut parcel: Option<Parcel> = None;
    let mut bytes = 0;
    for (key, row) in rows {
        let Some(number) = keys::parse_outbox(&key) else {
            continue;
        };
        bytes += row.len();
        match &mut parcel {
            None => {
                parcel = Some(Parcel {
                    from: own.own(),
                    to,
                    first: number,
                    gone,
                    rows: vec![row],
                });
            }
            // Nothing is missing between two rows; if it ever were, the receiver would refuse all.
            Some(parcel) if bytes > most_bytes || number != parcel.through() + 1 => break,
            Some(parcel) => parcel.rows.push(row),
        }
    }
    let told = (after < gone).then(|| Parcel {
        from: own.own(),
        to,
        first: gone + 1,
        gone,
        rows: Vec::new(),
    });
    Ok(parcel.or(told))
}
