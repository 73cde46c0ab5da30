//! Maps a run file into memory. This is the only `unsafe` code of the library, kept apart so that
//! it stays the only one.

use std::fs::File;
use std::io;

use memmap2::Mmap;

/// Maps the whole file, read-only. A disk error under a mapped page ends the process with SIGBUS;
/// the next start reads the file in the ordinary way, finds the error and sets the file aside.
#[allow(unsafe_code)]
pub(super) fn map(file: &File) -> io::Result<Mmap> {
    // SAFETY: a mapping is undefined behaviour only if the file changes while it is mapped. Run
    // files are created with `create_new`, written and synced before they come here, and never
    // opened for writing again; merges and checkpoints create new files under new numbers and
    // unlink old ones, which leaves mapped pages intact. Other processes stay out because the data
    // directory is locked.
    unsafe { Mmap::map(file) }
}
