//! The exact tiers: SHA-256 of the decoded body, of the visible text, and of the main text's words.

use sha2::{Digest, Sha256};

use super::{Key, Method, Signature};
use crate::dedup::features::{Features, Hashing};
use crate::dedup::text::MIN_WORDS;
use crate::dedup::{Match, Text, Tier};

/// The method of a tier that compares one digest.
pub(crate) struct Exact {
    tier: Tier,
    structures: &'static [&'static str; 1],
    digest: fn(raw: Raw<'_>, text: &Text) -> Option<[u8; 32]>,
}

/// The bytes of a body.
#[derive(Debug, Clone, Copy, Default)]
pub struct Raw<'a> {
    /// After content decoding.
    pub bytes: &'a [u8],
    /// Their SHA-256, if it is known.
    pub sha256: Option<[u8; 32]>,
}

/// The same bytes after content decoding.
pub(crate) const RAW: Exact = Exact {
    tier: Tier::Raw,
    structures: &["raw"],
    digest: |raw, _| {
        let computed = || Sha256::digest(raw.bytes).into();
        let is_blank = raw.bytes.trim_ascii().is_empty();
        (!is_blank).then(|| raw.sha256.unwrap_or_else(computed))
    },
};

/// The same visible text, ignoring case and runs of white space.
pub(crate) const NORMALIZED: Exact = Exact {
    tier: Tier::Normalized,
    structures: &["normalized"],
    digest: |_, text| {
        text.normalized()
            .filter(|_| text.visible_words() >= MIN_WORDS)
    },
};

/// The same sequence of words in the main text.
pub(crate) const CONTENT: Exact = Exact {
    tier: Tier::Content,
    structures: &["content"],
    digest: |_, text| text.content().filter(|_| text.main_words() >= MIN_WORDS),
};

/// The key of a digest: its upper 64 bits. `measure` compares the rest.
pub(crate) fn key_of(digest: &[u8; 32]) -> u64 {
    let [a, b, c, d, e, f, g, h, ..] = *digest;
    u64::from_be_bytes([a, b, c, d, e, f, g, h])
}

impl Method for Exact {
    fn tier(&self) -> Tier {
        self.tier
    }

    fn structures(&self) -> &'static [&'static str] {
        self.structures
    }

    fn sign(&self, raw: Raw<'_>, text: &Text, _: &Hashing) -> Option<Signature> {
        (self.digest)(raw, text).map(Signature::Digest)
    }

    fn keys(&self, signature: &Signature, _: &Features, out: &mut Vec<Key>) {
        if let Signature::Digest(digest) = signature {
            let [structure] = *self.structures;
            out.push(Key::exact(structure, key_of(digest)));
        }
    }

    fn measure(&self, a: &Signature, b: &Signature) -> Option<Match> {
        (a == b).then_some(Match::EXACT)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sign(tier: &Exact, bytes: &[u8], text: &Text) -> Option<Signature> {
        let raw = Raw {
            bytes,
            ..Raw::default()
        };
        tier.sign(raw, text, &Hashing::new(Features::default()))
    }

    #[test]
    fn short_texts_are_judged_by_their_bytes_only() {
        let text = Text::new("not found here", "not found here");
        assert!(sign(&RAW, b"<p>not found here", &text).is_some());
        assert!(sign(&NORMALIZED, b"", &text).is_none());
        assert!(sign(&CONTENT, b"", &text).is_none());
        assert!(
            sign(&RAW, b"", &text).is_none(),
            "an empty body is like every other"
        );
    }

    #[test]
    fn a_digest_is_found_where_it_is_posted_and_verified_whole() {
        let text = Text::default();
        let a = sign(&RAW, b"a", &text).unwrap();
        let b = sign(&RAW, b"b", &text).unwrap();
        let mut keys = Vec::new();
        RAW.keys(&a, &Features::default(), &mut keys);
        assert_eq!(keys.len(), 1);
        assert_eq!((keys[0].low, keys[0].high), (keys[0].value, keys[0].value));
        assert_eq!(RAW.measure(&a, &a), Some(Match::EXACT));
        assert_eq!(RAW.measure(&a, &b), None);
    }
}
