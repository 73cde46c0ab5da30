//! An event as readers are told of it, and as it is kept.

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::kind::EventKind;

/// Number of events that are kept.
pub const KEPT: usize = 10_000;

/// Maximum length of what an event says, in bytes.
pub(crate) const MAX_TEXT: usize = 500;

/// What a forgotten event says.
const FORGOTTEN: &str = "what this said was forgotten";

/// An event.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct CrawlEvent {
    /// Its number, higher than that of any before, those of earlier runs included. In JSON it is a
    /// string, because it has more digits than a number there.
    #[serde(serialize_with = "as_text", deserialize_with = "from_text")]
    #[schemars(with = "String")]
    pub id: u64,
    /// When it happened (RFC 3339).
    pub time: String,
    /// What kind of event it is.
    pub kind: EventKind,
    /// The host that it is about: scheme, name and port.
    pub host: Option<String>,
    /// What happened, in a sentence.
    pub text: String,
}

impl CrawlEvent {
    /// Returns the event without what it says.
    pub(super) fn forgotten(&self) -> Self {
        Self {
            host: None,
            text: FORGOTTEN.to_owned(),
            ..self.clone()
        }
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes references")]
pub(super) fn as_text<S: Serializer>(id: &u64, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(id)
}

pub(super) fn from_text<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u64, D::Error> {
    let text = String::deserialize(deserializer)?;
    text.parse().map_err(serde::de::Error::custom)
}
