//! Bulletins: what a shard tells all others of its documents, as it is carried: consecutive notices
//! out of its outbox.

use crate::rows::{Notice, Published};
use crate::store::{self, Broken, Store, Table, decode, encode, keys, seal, unseal};

/// Version of the form in which bulletins are carried.
const VERSION: u8 = 1;
/// Maximum number of notices in a bulletin.
pub(super) const MAX_NOTICES: usize = 500;

/// Consecutive notices of one shard.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Bulletin {
    /// Number of the shard.
    pub from: u16,
    /// Number of the last notice that is no longer in its outbox: whoever does not have those up to
    /// there will not get them any more.
    pub gone: u64,
    /// Number of the first notice.
    pub first: u64,
    /// A number for what the fingerprints are made of: those of others cannot be compared.
    pub features: u64,
    /// The notices, as rows of the outbox.
    pub rows: Vec<Vec<u8>>,
}

/// Why a bulletin cannot be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum BulletinError {
    /// It has another form.
    #[error(
        "what another shard tells of its documents has form {0}, and this version of gleaner reads \
         form {VERSION} only: all workers of a crawl need the same version"
    )]
    Version(u8),
    /// It is not what was sent.
    #[error("what another shard tells of its documents was damaged on its way; it is sent again")]
    Damaged,
}

impl Bulletin {
    /// Returns the number of the last notice.
    pub fn through(&self) -> u64 {
        (self.first + self.rows.len() as u64).saturating_sub(1)
    }

    /// Returns the bulletin as bytes: the version, its parts, and a checksum.
    pub fn encode(&self) -> Vec<u8> {
        let Self {
            from,
            gone,
            first,
            features,
            rows,
        } = self;
        let mut bytes = vec![VERSION];
        bytes.extend(encode(&(from, gone, first, features, rows)));
        seal(bytes)
    }

    /// Reads what [`encode`](Self::encode) wrote.
    ///
    /// # Errors
    ///
    /// Whatever is damaged, or of another version, is an error.
    pub fn decode(bytes: &[u8]) -> Result<Self, BulletinError> {
        let body = unseal(VERSION, bytes).map_err(|broken| match broken {
            Broken::Version(other) => BulletinError::Version(other),
            Broken::Short | Broken::Checksum => BulletinError::Damaged,
        })?;
        let parts = decode(Table::Outbox, body);
        let (from, gone, first, features, rows) = parts.map_err(|_| BulletinError::Damaged)?;
        Ok(Self {
            from,
            gone,
            first,
            features,
            rows,
        })
    }
}

/// Returns the notices that wait behind number `after`, at most so many bytes of them, but one at
/// least if any waits. `own` is the shard, with the number of what its fingerprints are made of.
pub(crate) fn waiting_notices(
    store: &dyn Store,
    own: (u16, u64),
    after: u64,
    most_bytes: usize,
) -> store::Result<Option<Bulletin>> {
    let (from, features) = own;
    let (_, gone) = sent_to_all(store)?;
    // Reading begins behind what has left, so that it does not walk over its tombstones.
    let mut bulletin = Bulletin {
        from,
        gone,
        first: after.max(gone) + 1,
        features,
        rows: Vec::new(),
    };
    let mut bytes = 0;
    let key = keys::outbox(keys::ALL, bulletin.first);
    let prefix = keys::outbox_to(keys::ALL);
    for (key, row) in store.range(Table::Outbox, &prefix, &key, MAX_NOTICES)? {
        let is_next = keys::parse_outbox(&key) == Some(bulletin.through() + 1);
        bytes += row.len();
        if !is_next || bytes > most_bytes && !bulletin.rows.is_empty() {
            break;
        }
        bulletin.rows.push(row);
    }
    Ok((!bulletin.rows.is_empty()).then_some(bulletin))
}

/// Returns the number of the last notice, and of the last one that is no longer in the outbox.
pub(crate) fn sent_to_all(store: &dyn Store) -> store::Result<(u64, u64)> {
    let row = store.get(Table::Meta, &keys::sent(keys::ALL))?;
    let row = row.map(|row| decode(Table::Meta, &row)).transpose()?;
    Ok(row.unwrap_or_default())
}

/// Returns the documents that the notices from `first` to `through` tell of.
pub(crate) fn told_documents(
    store: &dyn Store,
    first: u64,
    through: u64,
) -> store::Result<Vec<Published>> {
    let most = usize::try_from(through.saturating_sub(first) + 1).unwrap_or(usize::MAX);
    let (prefix, from) = (keys::outbox_to(keys::ALL), keys::outbox(keys::ALL, first));
    let mut documents = Vec::new();
    for (_, row) in store.range(Table::Outbox, &prefix, &from, most)? {
        if let Notice::Document(published) = decode(Table::Outbox, &row)? {
            documents.push(*published);
        }
    }
    Ok(documents)
}
