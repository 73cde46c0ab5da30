//! What a library is made of: the same fingerprints as those of all shards, and its bounds.

use xxhash_rust::xxh3::xxh3_64;

use crate::archive::Digest;
use crate::dedup::Features;
use crate::url::Secret;

/// Documents that are kept with all of their fingerprints, unless another number is set.
const MAX_DOCUMENTS: u64 = 100_000_000;

/// Memory for caches and buffers.
const MAX_MEMORY: u64 = 64 << 20;

/// What a library is.
#[derive(Debug, Clone)]
pub struct LibraryOptions {
    /// What the fingerprints of the crawl are made of.
    pub features: Features,
    /// Documents that are kept with all of their fingerprints. Of further ones there is the digest
    /// of their bytes, so that only a page with the same bytes is found to repeat one.
    pub max_documents: u64,
    /// Memory for its caches and buffers, in bytes.
    pub max_memory: u64,
}

impl LibraryOptions {
    /// Those of the crawl with this secret, whose shards have these features; each draws the seed
    /// of these from the secret if `draws_seed`.
    pub fn new(features: &Features, draws_seed: bool, secret: &Secret) -> Self {
        let mut features = features.clone();
        if draws_seed {
            features.seed = seed_of(secret);
        }
        Self {
            features,
            max_documents: MAX_DOCUMENTS,
            max_memory: MAX_MEMORY,
        }
    }
}

/// Returns the seed of the hash functions of all shards of a crawl. It tells nothing of the secret,
/// as far as hash functions do not.
pub(crate) fn seed_of(secret: &Secret) -> u64 {
    let digest = Digest::of(&[secret.as_bytes(), &b" features"[..]].concat());
    let first = digest.as_bytes().first_chunk().copied();
    u64::from_le_bytes(first.unwrap_or_default())
}

/// A number for what fingerprints are made of.
pub(super) fn number_of(features: &Features) -> u64 {
    xxh3_64(features.line().as_bytes())
}
