//! How rules about a host are learned: the settings in `[learn]`.

use serde::{Deserialize, Serialize};
use struct_patch::Patch;

use crate::units::Checked;

/// How rules about a host are learned: `[learn]`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, Patch)]
#[serde(default, deny_unknown_fields)]
#[patch(
    name = "LearnOverrides",
    attribute(derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)),
    attribute(serde(default, deny_unknown_fields)),
    attribute(expect(missing_docs, reason = "each field is described at `LearnPolicy`"))
)]
pub struct LearnPolicy {
    /// Whether rules about parameters and paths are learned.
    pub parameters: bool,
    /// Which hosts may be taken for aliases of one another.
    pub aliases: AliasMode,
    /// Number of visits that must agree before a rule is learned.
    pub visits: u32,
}

impl Default for LearnPolicy {
    fn default() -> Self {
        Self {
            parameters: true,
            aliases: AliasMode::default(),
            visits: 12,
        }
    }
}

impl LearnPolicy {
    /// Refuses values out of their range.
    pub fn check(&self) -> Checked {
        match self.visits {
            0 => Err(("learn.visits", "at least 1")),
            _ => Ok(()),
        }
    }
}

/// Which hosts may be taken for aliases of one another.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum AliasMode {
    /// None.
    Off,
    /// Hosts that differ in the scheme or in a leading `www.` only.
    #[default]
    Names,
    /// Any hosts.
    Mirrors,
}
