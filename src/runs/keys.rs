//! Keys of a structure as they are at one moment, to be read by a thread of their own.

use std::sync::Arc;

use super::file::RunFile;

/// What [`Runs::keys_since`](super::Runs::keys_since) gives. It stays as it is whatever is inserted,
/// merged or removed meanwhile: files do not change, and what was in memory is copied.
#[derive(Debug)]
pub struct KeysSince {
    pub(super) files: Vec<Arc<RunFile>>,
    pub(super) memory: Vec<u64>,
}

impl KeysSince {
    /// The keys, in no order, sequentially through each file.
    pub fn iter(&self) -> impl Iterator<Item = u64> {
        let files = self.files.iter().flat_map(|file| file.keys());
        let files = files.map(|key| u64::from_le_bytes(*key));
        files.chain(self.memory.iter().copied())
    }

    /// Bytes of the heap that the copy takes.
    pub fn memory_bytes(&self) -> u64 {
        (self.memory.capacity() * size_of::<u64>()) as u64
    }
}
