//! Maps a run file into memory: the only `unsafe` of gleaner, kept apart so that it stays the only one.

use std::fs::File;
use std::io;

use memmap2::Mmap;

/// The whole file, read-only. An error of the disk under a mapped page ends the process with
/// SIGBUS; the next start reads the file the ordinary way, finds the error and sets the file aside.
#[allow(unsafe_code)]
pub(super) fn map(file: &File) -> io::Result<Mmap> {
    // SAFETY: undefined behaviour needs a file that changes while it is mapped. Run files are
    // created with `create_new`, written and synced before they come here, and never opened for
    // writing again; merges and checkpoints make new files under new numbers and unlink old ones,
    // which leaves mapped pages intact. Other processes stay out: the data directory is locked.
    unsafe { Mmap::map(file) }
}
