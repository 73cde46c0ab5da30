//! The shards of a crawl: each registrable domain belongs to one of them, whose data directory has
//! all that is known of its hosts.
//!
//! How many there are is fixed when the crawl is created, because every shard must agree with every
//! other about where a URL belongs. A crawl on a single machine is one shard, and keeps no row that
//! says so.

use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::xxh3_64;

use crate::store::{Result, Store, Table, decode, encode, keys};
use crate::url::{HostKey, Site};

/// Maximum number of shards of a crawl.
pub const MAX_SHARDS: u16 = 256;

/// How many shards a crawl has, and which of them this is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Shards {
    own: u16,
    count: u16,
}

/// The error returned for numbers that no crawl has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "there is no shard {own} of {count}: a crawl has 1 to {MAX_SHARDS} shards, which are counted \
     from 0"
)]
pub struct NoShard {
    own: u16,
    count: u16,
}

impl Shards {
    /// The only shard of a crawl on a single machine.
    pub const fn one() -> Self {
        Self { own: 0, count: 1 }
    }

    /// Shard `own` of `count`.
    ///
    /// # Errors
    ///
    /// [`NoShard`] if there is no such shard.
    pub fn new(own: u16, count: u16) -> std::result::Result<Self, NoShard> {
        match own < count && count <= MAX_SHARDS {
            true => Ok(Self { own, count }),
            false => Err(NoShard { own, count }),
        }
    }

    /// Number of the shard.
    pub fn own(self) -> u16 {
        self.own
    }

    /// Number of all shards.
    pub fn count(self) -> u16 {
        self.count
    }

    /// Returns `true` if there is no other shard.
    pub fn is_one(self) -> bool {
        self.count == 1
    }

    /// Returns `true` if there is a shard of this number besides this one.
    pub fn has_other(self, number: u16) -> bool {
        number < self.count && number != self.own
    }

    /// The numbers of the other shards.
    pub fn others(self) -> impl Iterator<Item = u16> {
        (0..self.count).filter(move |number| *number != self.own)
    }

    /// Returns `true` if a host belongs to this shard.
    pub fn is_own(self, host: &HostKey) -> bool {
        // Asked for every link, so a single machine does not look for the domain.
        self.is_one() || self.of(host) == self.own
    }

    /// Returns the shard that a host belongs to.
    pub fn of(self, host: &HostKey) -> u16 {
        let site = Site::of_name(host.name());
        let hash = xxh3_64(site.as_str().as_bytes());
        // The remainder is smaller than `count`.
        u16::try_from(hash % u64::from(self.count)).unwrap_or_default()
    }

    /// Reads which shard a store belongs to.
    pub fn read(store: &dyn Store) -> Result<Self> {
        let row = store.get(Table::Meta, keys::meta::SHARDS)?;
        row.map_or(Ok(Self::one()), |row| decode(Table::Meta, &row))
    }

    /// Returns the row of the shards.
    pub fn row(self) -> Vec<u8> {
        encode(&self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::{Batch, Durability, Memory};

    fn host(text: &str) -> HostKey {
        HostKey::parse(text).unwrap()
    }

    #[test]
    fn all_hosts_of_a_domain_belong_to_one_shard() {
        let shards = Shards::new(3, 16).unwrap();
        let of = |text: &str| shards.of(&host(text));
        let shard = of("https://example.co.uk");
        assert_eq!(of("http://www.example.co.uk:8080"), shard);
        assert_eq!(of("https://a.b.example.co.uk"), shard);
        assert_eq!(of("http://127.0.0.1"), of("http://127.0.0.1:8080"));
        // Written down in every directory of a crawl: it must never change.
        assert_eq!((shard, of("https://example.org")), (11, 5));
        assert_eq!((of("http://127.0.0.1"), of("http://[::1]")), (12, 12));
    }

    #[test]
    fn domains_are_spread_over_all_shards() {
        let shards = Shards::new(0, 16).unwrap();
        let mut counts = [0_u32; 16];
        for number in 0..16_000 {
            let host = host(&format!("https://domain{number}.example"));
            counts[usize::from(shards.of(&host))] += 1;
        }
        assert!(counts.iter().all(|count| (850..1_150).contains(count)));
    }

    #[test]
    fn a_store_says_which_shard_it_is() {
        let store = Memory::default();
        assert_eq!(Shards::read(&store).unwrap(), Shards::one());
        assert!(Shards::one().is_own(&host("http://a.example")));
        let shards = Shards::new(3, 16).unwrap();
        let mut batch = Batch::new();
        batch.put(Table::Meta, keys::meta::SHARDS, shards.row());
        store.commit(batch, Durability::Process).unwrap();
        assert_eq!(Shards::read(&store).unwrap(), shards);
        assert_eq!(shards.others().count(), 15);
        assert!(!shards.has_other(3) && shards.has_other(15) && !shards.has_other(16));
    }

    #[test]
    fn a_shard_that_there_is_not_is_refused() {
        for (own, count) in [(0, 0), (1, 1), (16, 16), (0, MAX_SHARDS + 1)] {
            let error = Shards::new(own, count).unwrap_err().to_string();
            assert!(
                error.contains(&format!("shard {own} of {count}")),
                "{error}"
            );
        }
    }
}
