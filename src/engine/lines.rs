//! Files of lines beside the store, without which a crawl goes on: its history and its events.
//! Nothing in them decides anything, so what a kill or a full disk has left of a line is no damage.

use std::fs::File;
use std::io::{self, BufRead as _, BufReader, Read as _};
use std::path::Path;

/// Maximum length of a line, in bytes. A longer one is read in pieces, none of which is a line.
pub(super) const MAX_LINE: u64 = 16 << 10;

/// Reads a file line by line, each with its end, which only the last may lack. A file that is not
/// there has none.
pub(super) fn read(path: &Path, each: &mut dyn FnMut(&[u8])) -> io::Result<()> {
    let file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(error),
    };
    let mut reader = BufReader::new(file);
    let mut line = Vec::new();
    loop {
        line.clear();
        if (&mut reader).take(MAX_LINE).read_until(b'\n', &mut line)? == 0 {
            return Ok(());
        }
        each(&line);
    }
}
