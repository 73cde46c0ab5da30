//! The archive of texts, which is beside that of the pages: main texts of duplicates, and packs of
//! their bodies.
//!
//! A record's header is larger than most deltas, so bodies wait in rows of `Meta` until a pack is
//! full. A body is in its row or in its pack, by the same commit that says so.

use jiff::Timestamp;

use super::placing::Placing;
use super::write_set::WriteSet;
use crate::archive::{Archive, Location, MAX_PACKED, PackedBody, Record, Tail, pack, unpack};
use crate::engine::error::Error;
use crate::frontier::Moment;
use crate::rows::{KEPT, Kept};
use crate::store::{self, Batch, Store, Table, decode, encode, for_each, keys};
use crate::url::UrlId;

/// Bytes of waiting bodies at which they are packed although there are few.
const MAX_WAITING: usize = 64 << 10;

/// A body that waits for its pack.
#[derive(Debug, Clone)]
struct Waiting {
    page: UrlId,
    body: PackedBody,
    base: Option<Location>,
}

/// The archive of texts, and the bodies that wait for it.
pub(crate) struct Shelf {
    archive: Box<dyn Archive>,
    waiting: Vec<Waiting>,
    /// The end that was last given to the store.
    end: Tail,
}

/// What a group adds to the archive of texts.
pub(super) struct Shelved {
    /// Places of the main texts, in order.
    pub(super) texts: Vec<Location>,
    /// Length of everything that was appended, in bytes.
    pub(super) bytes: u64,
    waiting: Vec<Waiting>,
}

/// Reads the end of the archive of texts; the beginning before the first commit that wrote to it.
pub(crate) fn end_of_texts(store: &dyn Store) -> Result<Tail, Error> {
    let row = store.get(Table::Meta, keys::meta::TEXTS)?;
    Ok(row.map_or(Ok(Tail::default()), |row| decode(Table::Meta, &row))?)
}

impl Shelf {
    /// Opens the shelf, with the bodies that waited when the last run ended.
    pub(crate) fn open(archive: Box<dyn Archive>, store: &dyn Store) -> Result<Self, Error> {
        let mut waiting = Vec::new();
        for_each(store, Table::Meta, keys::meta::UNPACKED, &mut |key, row| {
            let id = key.get(keys::meta::UNPACKED.len()..).unwrap_or_default();
            let body = unpack(row).ok().and_then(|mut bodies| bodies.pop());
            let (Ok(id), Some(body)) = (id.try_into(), body) else {
                return Err(store::Error::Row {
                    table: Table::Meta.name(),
                    source: postcard::Error::DeserializeBadEncoding,
                });
            };
            let page = UrlId::from_bytes(id);
            let kept = KEPT.get(store, page.as_bytes())?;
            waiting.push(Waiting {
                page,
                body,
                base: kept.and_then(|kept| kept.base),
            });
            Ok(())
        })?;
        Ok(Self {
            archive,
            waiting,
            end: end_of_texts(store)?,
        })
    }

    /// Appends what a group adds, and adds its rows to the group's batch. `at_end` packs what waits
    /// although the pack is not full. Nothing in memory changes before [`Shelf::committed`].
    pub(super) fn add(
        &mut self,
        set: &mut WriteSet,
        placing: &Placing,
        at_end: bool,
    ) -> Result<Shelved, Error> {
        let mut waiting = self.waiting.clone();
        for page in set.unkept.drain(..) {
            waiting.retain(|it| it.page != page);
            set.batch.delete(Table::Kept, *page.as_bytes());
            set.batch
                .delete(Table::Meta, keys::unpacked(page.as_bytes()));
        }
        for (page, kept) in std::mem::take(&mut set.kept) {
            waiting.retain(|it| it.page != page);
            let base = kept.base.map(|base| placing.stored(&base));
            let waits = Waiting {
                page,
                body: kept.packed,
                base: base.as_ref().map(Location::from),
            };
            waits.put(None, &mut set.batch);
            let row = pack(std::slice::from_ref(&waits.body));
            set.batch
                .put(Table::Meta, keys::unpacked(page.as_bytes()), row);
            waiting.push(waits);
        }
        let mut records = std::mem::take(&mut set.texts);
        let texts = records.len();
        let mut packs = Vec::new();
        let bytes: usize = waiting.iter().map(|it| it.body.data.len()).sum();
        let packs_all = at_end || bytes >= MAX_WAITING;
        while waiting.len() >= MAX_PACKED || (packs_all && !waiting.is_empty()) {
            let rest = waiting.split_off(waiting.len().min(MAX_PACKED));
            let full = std::mem::replace(&mut waiting, rest);
            let bodies: Vec<PackedBody> = full.iter().map(|it| it.body.clone()).collect();
            records.push(Record::of_pack(date(set.now), pack(&bodies)));
            packs.push(full);
        }
        let mut locations = match records.is_empty() {
            true => Vec::new(),
            false => self.archive.append(&records)?,
        };
        let of_packs = locations.split_off(texts.min(locations.len()));
        for (full, location) in packs.iter().zip(&of_packs) {
            for (number, it) in (0..).zip(full) {
                it.put(Some((*location, number)), &mut set.batch);
                set.batch
                    .delete(Table::Meta, keys::unpacked(it.page.as_bytes()));
            }
        }
        let all = locations.iter().chain(&of_packs);
        Ok(Shelved {
            bytes: all.map(|location| location.length).sum(),
            texts: locations,
            waiting,
        })
    }

    /// Makes durable what a group added, before it is committed.
    pub(super) fn sync(&mut self, shelved: &Shelved, batch: &mut Batch) -> Result<(), Error> {
        if shelved.bytes > 0 {
            self.end = self.archive.sync()?;
            batch.put(Table::Meta, keys::meta::TEXTS, encode(&self.end));
        }
        Ok(())
    }

    /// Returns when the current file was begun, if it has records.
    pub(super) fn begun(&self) -> Option<Timestamp> {
        self.archive.begun()
    }

    /// Ends the current file, and returns the end of the archive.
    pub(super) fn close(&mut self) -> Result<Tail, Error> {
        self.archive.close()?;
        self.end = self.archive.sync()?;
        Ok(self.end)
    }

    /// Returns the end that was last given to the store.
    pub(crate) fn end(&self) -> Tail {
        self.end
    }

    /// Takes over what was committed.
    pub(super) fn committed(&mut self, shelved: Shelved) {
        self.waiting = shelved.waiting;
    }

    /// Returns `true` if bodies wait for a pack.
    pub(super) fn has_waiting(&self) -> bool {
        !self.waiting.is_empty()
    }
}

impl Waiting {
    fn put(&self, pack: Option<(Location, u8)>, batch: &mut Batch) {
        let row = Kept {
            pack,
            base: self.base,
        };
        KEPT.put(batch, *self.page.as_bytes(), &row);
    }
}

fn date(now: Moment) -> Timestamp {
    let millis = i64::try_from(now.0).unwrap_or(i64::MAX);
    Timestamp::from_millisecond(millis).unwrap_or_default()
}
