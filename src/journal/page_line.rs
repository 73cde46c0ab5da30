//! The part of a log line that describes an answered page: its identity, its verdict and its place
//! in the archive. It is made while the visit is judged; the places are filled in when its records
//! are appended. `gleaner pages` reads it back.

use serde::{Deserialize, Serialize};

use crate::archive::{Location, RecordKind};
use crate::dedup::{Fingerprints, Signature, Similarity, Stored, Tier};
use crate::rows::ArchiveNames;

/// An answered page. Fields without a value are left out of the line.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PageLine {
    /// Canonical form of the URL, if it differs from the URL.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub canonical: Option<String>,
    /// The URL that the page names as canonical.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub canonical_hint: Option<String>,
    /// Title of the page.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// Language as declared.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub language: Option<String>,
    /// Language as detected, and its score in thousandths. Lines of earlier versions have none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detected: Option<(String, u16)>,
    /// What the page and its headers ask of robots: `noindex`, `nofollow`, `noarchive`, `noai`,
    /// `noimageai`, `tdm-reservation`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub robots: Vec<String>,
    /// Tag of the seed from which the page was found.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tag: Option<String>,
    /// Number of words of the text that was compared.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub words: Option<u32>,
    /// SHA-256 for each exact tier, in hexadecimal.
    #[serde(default, skip_serializing_if = "Digests::is_empty")]
    pub digests: Digests,
    /// SimHash-64, 16 hexadecimal digits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub simhash: Option<String>,
    /// Number of bits in which its `SimHash` and the original's differ; 0 for the exact tiers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub distance: Option<u8>,
    /// Similarity to its original, 0 to 1; 1 for the exact tiers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub similarity: Option<Similarity>,
    /// The original that the page resembles, although it is a page of its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub group: Option<PageGroup>,
    /// The record of the earlier visit whose line this one replaces: it called the page a
    /// duplicate.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub supersedes: Option<RecordPlace>,
    /// The record of the visit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub record: Option<RecordPlace>,
    /// The record from which the main text can be read: a conversion, or a response with its body.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<RecordPlace>,
    /// Date of the record of an earlier crawl since which the page is unchanged.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unchanged_since: Option<String>,
}

/// The group of a page of its own.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PageGroup {
    /// URL of the original that names the group.
    pub url: String,
    /// The tier of the likeness.
    pub tier: Tier,
    /// Similarity of the whole texts, 0 to 1.
    pub similarity: Similarity,
    /// Set if the main texts differ in digits only, so that the text is given out once.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub digits_only: bool,
}

/// SHA-256 for each exact tier, in hexadecimal; a page that is too short for a tier has none.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Digests {
    /// Digest of the decoded body.
    pub raw: Option<String>,
    /// Digest of the visible text, with case and white space folded.
    pub normalized: Option<String>,
    /// Digest of the words of the main text.
    pub content: Option<String>,
}

/// The place of a record in the archive.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct RecordPlace {
    /// Kind of the record.
    #[serde(rename = "type")]
    pub kind: RecordKind,
    /// Name of the WARC file; while it is written, it has `.open` behind it.
    pub file: String,
    /// Offset of its gzip member.
    pub offset: u64,
    /// Length of its gzip member, in bytes.
    pub length: u64,
}

impl RecordPlace {
    /// Returns the place of a record among the pages.
    pub fn of(names: &ArchiveNames, kind: RecordKind, location: &Location) -> Self {
        Self {
            kind,
            file: names.pages.name(location.segment),
            offset: location.offset,
            length: location.length,
        }
    }

    /// Returns the place of a main text in the archive of texts.
    pub fn of_text(names: &ArchiveNames, location: &Location) -> Self {
        Self {
            file: names.texts.name(location.segment),
            ..Self::of(names, RecordKind::Conversion, location)
        }
    }

    /// Returns the place of a document's response, if it is in this archive.
    pub fn of_stored(names: &ArchiveNames, stored: &Stored) -> Option<Self> {
        if stored.is_elsewhere() {
            return None;
        }
        Some(Self::of(names, RecordKind::Response, &stored.into()))
    }
}

impl Digests {
    fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Returns the digests among a page's fingerprints.
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
