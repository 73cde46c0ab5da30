//! The rows of one host on which suspicion rests, as a group changes them.

use crate::engine::Error;
use crate::engine::commit::Group;
use crate::learn::{KindId, Ledger, Rows, Suspicions};
use crate::store::{Table, decode, encode, keys};
use crate::url::{HostKey, Identity, Url};

/// The rows of one host.
pub(crate) struct HostRows<'a, 'g> {
    pub(crate) host: &'a HostKey,
    pub(crate) identity: &'a Identity,
    pub(crate) group: &'a mut Group<'g>,
}

/// Returns the key of what is known of a kind.
pub(crate) fn kind_key(host: &HostKey, kind: KindId) -> Vec<u8> {
    keys::learned(host.as_str(), keys::learned::KIND, &kind.to_be_bytes())
}

impl Rows for HostRows<'_, '_> {
    type Error = Error;

    fn ledger(&mut self, kind: KindId) -> Result<Option<Ledger>, Error> {
        let row = self.group.set.learned(&kind_key(self.host, kind))?;
        Ok(row.map(|row| decode(Table::Learned, &row)).transpose()?)
    }

    fn write(&mut self, kind: KindId, ledger: &Ledger) {
        let key = kind_key(self.host, kind);
        self.group.set.learn(key, encode(ledger));
    }

    fn last_queued(&self) -> u64 {
        self.group.set.state.queue_sequence
    }

    fn suspicions(&mut self) -> Result<&mut Suspicions, Error> {
        Ok(&mut self.group.set.host(self.host)?.suspicions)
    }

    fn is_admitted(&mut self, url: &Url) -> bool {
        let id = self.identity.id(url);
        self.group.is_seen(id)
    }

    fn was_visited(&mut self, url: &Url) -> Result<bool, Error> {
        let id = self.identity.id(url);
        Ok(self.group.is_seen(id) && self.group.set.is_answered(id)?)
    }

    fn was_visited_before(&mut self, url: &Url, other: &Url) -> Result<bool, Error> {
        let (id, other) = (self.identity.id(url), self.identity.id(other));
        if !self.group.is_seen(id) {
            return Ok(false);
        }
        let before = self.group.set.answered_at(id)?;
        let after = self.group.set.answered_at(other)?;
        Ok(match (before, after) {
            (Some((before, _)), Some((after, is_original))) => is_original && before < after,
            _ => false,
        })
    }

    fn is_marked(&mut self, reduced: &Url, salt: u32) -> bool {
        let id = self.identity.id(reduced).salted(salt);
        self.group.is_seen(id)
    }

    fn mark(&mut self, reduced: &Url, salt: u32) -> bool {
        let id = self.identity.id(reduced).salted(salt);
        self.group.see(id)
    }
}
