//! Shards of a crawl of several workers: who else has visited pages of a shard has what was sent,
//! and its lines of the log, in a directory of its own.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use super::inspector::Inspector;
use super::output::Screen;
use crate::cluster::worker_of;
use crate::inspect::{Answer, Question};

/// Says which workers have visited pages of the shards in these directories, and have directories
/// of their own that are not among them: what was read lacks these visits.
pub(super) fn tell(directories: &[PathBuf], screen: &Screen) {
    let mut shards: BTreeMap<&OsStr, Vec<(&Path, String)>> = BTreeMap::new();
    for directory in directories {
        if let (Some((_, called)), Some(shard)) = (worker_of(directory), directory.file_name()) {
            shards
                .entry(shard)
                .or_default()
                .push((directory, called.name));
        }
    }
    for (shard, copies) in shards {
        let read: BTreeSet<&String> = copies.iter().map(|(_, name)| name).collect();
        let keepers = copies.iter().find_map(|(directory, _)| keepers(directory));
        let mut others = keepers.unwrap_or_default();
        others.retain(|name| !read.contains(name));
        if !others.is_empty() {
            screen.say(&format!(
                "shard {} was others' too: pages that {} visited are in the directories of these \
                 workers (docs/cluster.md)",
                shard.display(),
                others.join(", ")
            ));
        }
    }
}

/// Returns the workers that have visited pages of a shard; `None` if a copy cannot be asked, as
/// one that a worker follows with at this moment.
fn keepers(directory: &Path) -> Option<Vec<String>> {
    let asked = Inspector::open_now(directory);
    match asked.and_then(|mut it| it.ask(Question::Keepers)) {
        Ok(Answer::Keepers { workers }) => Some(workers),
        Ok(_) => None,
        Err(_) => {
            tracing::debug!(directory = %directory.display(), "who else has visited pages of it is not known");
            None
        }
    }
}
