//! URL ids: the xxh3-128 hash of the canonical form, keyed by a secret that is drawn per crawl, so
//! that nobody can publish two URLs that collide in every crawl.

use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::{xxh3_128, xxh3_128_with_secret};

/// The key of every [`UrlId`] of a crawl, drawn once and kept in the store.
#[derive(Clone)]
pub struct Secret([u8; Self::LEN]);

impl Secret {
    /// Length of a secret in bytes. xxh3 needs at least 136; its own default secret has 192.
    pub const LEN: usize = 192;

    /// Creates a secret from stored or freshly drawn random bytes.
    pub fn from_bytes(bytes: [u8; Self::LEN]) -> Self {
        Self(bytes)
    }

    /// Returns the bytes, to be stored.
    pub fn as_bytes(&self) -> &[u8; Self::LEN] {
        &self.0
    }
}

impl std::fmt::Debug for Secret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Secret(..)")
    }
}

/// The identity of a canonical URL within one crawl.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct UrlId([u8; 16]);

impl UrlId {
    pub(super) fn of(canonical: &str, secret: &Secret) -> Self {
        Self(xxh3_128_with_secret(canonical.as_bytes(), &secret.0).to_be_bytes())
    }

    /// Returns a derived key for the same URL in a given generation. It never equals the id of a
    /// URL.
    #[must_use]
    pub fn salted(self, generation: u32) -> Self {
        let text = [&self.0[..], &generation.to_be_bytes()].concat();
        Self(xxh3_128(&text).to_be_bytes())
    }

    /// Returns the id as a row key.
    pub fn as_bytes(&self) -> &[u8; 16] {
        &self.0
    }

    /// Creates an id from a row key.
    pub fn from_bytes(bytes: [u8; 16]) -> Self {
        Self(bytes)
    }

    /// Returns the upper 64 bits, which are the key in the runs of URLs seen. Some two of n URLs
    /// share a key with probability n²/2⁶⁵ (0.03 at a billion).
    pub fn key(&self) -> u64 {
        (u128::from_be_bytes(self.0) >> 64) as u64
    }
}

impl std::fmt::Display for UrlId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&hex::encode(self.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns a secret of many different bytes: xxh3 uses differences of words of its secret,
    /// which are all zero in a secret of equal bytes.
    fn secret(seed: u64) -> Secret {
        let mut state = seed;
        Secret::from_bytes(std::array::from_fn(|_| {
            state = state.wrapping_mul(0x5851_F42D_4C95_7F2D).wrapping_add(1);
            (state >> 56) as u8
        }))
    }

    #[test]
    fn an_id_depends_on_text_and_secret() {
        let id = UrlId::of("http://a.example/", &secret(1));
        assert_eq!(id, UrlId::of("http://a.example/", &secret(1)));
        assert_ne!(id, UrlId::of("http://a.example/x", &secret(1)));
        assert_ne!(id, UrlId::of("http://a.example/", &secret(2)));
    }

    #[test]
    fn long_texts_depend_on_the_secret_too() {
        // xxh3 takes different paths up to 16, 128, 240 bytes and beyond.
        for length in [1, 16, 17, 128, 129, 240, 241, 5000] {
            let text = "x".repeat(length);
            assert_ne!(
                UrlId::of(&text, &secret(1)),
                UrlId::of(&text, &secret(2)),
                "{length}"
            );
        }
    }

    #[test]
    fn the_key_is_the_upper_half_in_row_order() {
        let mut bytes = [0; 16];
        bytes[..8].copy_from_slice(&0x0102_0304_0506_0708_u64.to_be_bytes());
        let id = UrlId::from_bytes(bytes);
        assert_eq!(id.key(), 0x0102_0304_0506_0708);
        assert_eq!(id.as_bytes(), &bytes);
        assert_eq!(id.to_string(), "01020304050607080000000000000000");
        bytes[0] = 2;
        assert!(UrlId::from_bytes(bytes) > id && UrlId::from_bytes(bytes).key() > id.key());
    }

    #[test]
    fn a_secret_is_kept_but_not_shown() {
        let kept = Secret::from_bytes(*secret(9).as_bytes());
        assert_eq!(UrlId::of("x", &kept), UrlId::of("x", &secret(9)));
        assert_eq!(format!("{kept:?}"), "Secret(..)");
    }
}
