//! Failpoints: the process kills itself at a given step, so that tests kill the same binary that
//! ships.

use std::str::FromStr;

use serde::{Deserialize, Serialize};
use strum::{IntoStaticStr, VariantArray};

/// The steps of a commit, of a checkpoint and of a start, in order. The process can be made to die
/// after each.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, IntoStaticStr, VariantArray,
)]
#[strum(serialize_all = "kebab-case")]
pub enum Step {
    /// The visits of a group are judged.
    Judged,
    /// Their records are appended.
    Appended,
    /// The archive is synced.
    Synced,
    /// The store has committed.
    Committed,
    /// The schedule has the receipts.
    Applied,
    /// A checkpoint has written the documents.
    DocumentsWritten,
    /// A checkpoint has installed the manifest of the runs.
    RunsInstalled,
    /// A checkpoint has removed the deltas that it covers.
    DeltasRemoved,
    /// A file of the archive is closed, and the store does not know yet.
    FileClosed,
    /// A commit was appended to the log that it goes into first.
    LogAppended,
    /// Links were sent to another shard.
    LinksSent,
    /// A worker owns a shard, and its log says so.
    Owned,
    /// A part of a copy was read for another worker.
    CopyGiven,
    /// A part of a copy of another worker's was committed.
    CopyTaken,
    /// At the start, the fingerprints of pages were recomputed.
    Refingerprinted,
    /// At the start, documents and runs were rebuilt from new fingerprints.
    Rebuilt,
    /// At the start, a data directory of an older format was closed to older versions.
    VersionRaised,
    /// At the start, a step from one format to the next was committed.
    Migrated,
}

impl Step {
    /// All steps, in order. Of the last ten, the first is reached when a run ends or a file is old,
    /// the next five only where there is a log, and the others only if fingerprints are recomputed
    /// or a data directory of an older format is opened.
    pub const ALL: &[Self] = Self::VARIANTS;

    /// Returns the step's name on the command line.
    pub fn name(self) -> &'static str {
        self.into()
    }
}

/// Where the process dies: at the n-th time that a step is reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Failpoint {
    step: Step,
    remaining: u64,
}

impl Failpoint {
    /// Reports that a step is reached. Does not return if it is the one at which to die.
    pub(crate) fn reach(failpoint: &mut Option<Self>, step: Step) {
        let Some(failpoint) = failpoint else {
            return;
        };
        if failpoint.step == step {
            failpoint.remaining = failpoint.remaining.saturating_sub(1);
            if failpoint.remaining == 0 {
                // Same as `kill -9`: no destructor runs, no buffer is flushed.
                let own = rustix::process::getpid();
                let _ = rustix::process::kill_process(own, rustix::process::Signal::KILL);
                std::process::abort();
            }
        }
    }
}

impl FromStr for Failpoint {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (name, times) = text.split_once(':').unwrap_or((text, "1"));
        let step = Step::ALL.iter().find(|step| step.name() == name);
        let step = *step.ok_or_else(|| {
            let names: Vec<_> = Step::ALL.iter().map(|step| step.name()).collect();
            format!("no step `{name}`; the steps are {}", names.join(", "))
        })?;
        let remaining = times
            .parse()
            .map_err(|_| format!("`{times}` is not a number of times"))?;
        Ok(Self { step, remaining })
    }
}
