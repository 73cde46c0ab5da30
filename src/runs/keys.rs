//! A snapshot of the keys of a structure, which another thread can read.

use std::sync::Arc;

use super::file::RunFile;

/// Result of [`Runs::keys_since`](super::Runs::keys_since). It does not change when pairs are
/// inserted, merged or removed: files are immutable, and tables in memory were copied.
#[derive(Debug)]
pub struct KeysSince {
    pub(super) files: Vec<Arc<RunFile>>,
    pub(super) memory: Vec<u64>,
}

impl KeysSince {
    /// Iterates over the keys in no particular order, sequentially within each file.
    pub fn iter(&self) -> impl Iterator<Item = u64> {
        let files = self.files.iter().flat_map(|file| file.keys());
        let files = files.map(|key| u64::from_le_bytes(*key));
        files.chain(self.memory.iter().copied())
    }

    /// Returns the heap size of the copy, in bytes.
    pub fn memory_bytes(&self) -> u64 {
        (self.memory.capacity() * size_of::<u64>()) as u64
    }
}
