//! What a line of the fetch log says of an answered page besides its visit: who it is, how it was
//! judged and where it stands in the archive. Made while the visit is judged; the places are filled
//! in when its records are appended. `gleaner pages` reads it back.

use serde::{Deserialize, Serialize};

use crate::archive::{Location, RecordKind, WarcOptions};
use crate::dedup::{Fingerprints, Signature, Similarity, Stored, Tier};

/// An answered page. What it does not have is left out of the line.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PageLine {
    /// The canonical form of the URL, if it differs from the URL.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub canonical: Option<String>,
    /// What the page calls its canonical URL.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub canonical_hint: Option<String>,
    /// Title of the page.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// Language as declared.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub language: Option<String>,
    /// What the page and its headers ask of robots: `noindex`, `nofollow`, `noarchive`, `noai`,
    /// `noimageai`, `tdm-reservation`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub robots: Vec<String>,
    /// Words of the text that the page was judged by.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub words: Option<u32>,
    /// SHA-256 for each exact tier, in hexadecimal.
    #[serde(default, skip_serializing_if = "Digests::is_empty")]
    pub digests: Digests,
    /// SimHash-64, 16 hexadecimal digits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub simhash: Option<String>,
    /// Bits in which its `SimHash` and the original's differ; 0 for the exact tiers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub distance: Option<u8>,
    /// How alike it and its original are, 0 to 1; 1 for the exact tiers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub similarity: Option<Similarity>,
    /// The record that stands for the visit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub record: Option<RecordPlace>,
    /// The record that the main text can be had from: a conversion, or a response with its body.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<RecordPlace>,
}

/// SHA-256 for each exact tier, in hexadecimal; a page that is too short for a tier has none.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Digests {
    /// Of the decoded body.
    pub raw: Option<String>,
    /// Of the visible text, case and white space folded.
    pub normalized: Option<String>,
    /// Of the words of the main text.
    pub content: Option<String>,
}

/// Where a record stands in the archive.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RecordPlace {
    /// Its kind.
    #[serde(rename = "type")]
    pub kind: RecordKind,
    /// Name of the WARC file.
    pub file: String,
    /// First byte of its gzip member.
    pub offset: u64,
    /// Bytes of its gzip member.
    pub length: u64,
}

impl RecordPlace {
    /// The place of a record of this kind.
    pub fn of(kind: RecordKind, location: &Location) -> Self {
        Self {
            kind,
            file: WarcOptions::new("").segment_name(location.segment),
            offset: location.offset,
            length: location.length,
        }
    }

    /// The place of a document's response, if it is in this archive.
    pub fn of_stored(stored: &Stored) -> Option<Self> {
        if stored.is_elsewhere() {
            return None;
        }
        let location = Location {
            segment: stored.segment,
            offset: stored.offset,
            length: stored.length,
        };
        Some(Self::of(RecordKind::Response, &location))
    }
}

impl Digests {
    fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// The digests among a page's fingerprints.
    pub fn of(fingerprints: &Fingerprints) -> Self {
        let digest = |kind| match fingerprints.get(kind) {
            Some(Signature::Digest(digest)) => Some(hex::encode(digest)),
            _ => None,
        };
        Self {
            raw: digest(Tier::Raw),
            normalized: digest(Tier::Normalized),
            content: digest(Tier::Content),
        }
    }
}
