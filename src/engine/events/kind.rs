//! Kinds of events, by which readers choose.

use serde::{Deserialize, Serialize};
use strum::IntoStaticStr;

/// Kinds of events.
#[derive(
    Debug,
    Clone,
    Copy,
    PartialEq,
    Eq,
    Hash,
    Serialize,
    Deserialize,
    IntoStaticStr,
    schemars::JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
#[cfg_attr(test, derive(strum::VariantArray))]
pub enum EventKind {
    /// No visits are made any more.
    Pause,
    /// They are made again.
    Resume,
    /// Settings were read again.
    Reload,
    /// A host keeps failing and is left alone for a while.
    Parked,
    /// Such a host answers again, or is to be asked again.
    Unparked,
    /// A person holds a host.
    Held,
    /// A person lets it go on.
    Released,
    /// A kind of a host's URLs says nothing new: they are deferred.
    Demoted,
    /// A part of a host's URLs does not matter: variants of them are deferred.
    RuleLearned,
    /// URLs that were deferred matter after all.
    RuleTakenBack,
    /// A budget is used up.
    Budget,
    /// A file of the archive is closed.
    FileClosed,
    /// The disk is short of space, or has space again.
    Disk,
    /// Something failed on our side.
    Error,
    /// Seeds were added, or one has moved.
    Seeds,
    /// Everything so far is in sorted files.
    Checkpoint,
}

impl EventKind {
    /// Returns the name in JSON.
    pub fn name(self) -> &'static str {
        self.into()
    }
}
