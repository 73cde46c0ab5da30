//! What is written to a package later than it is made. It waits in a file without a name, which
//! vanishes with the process.

use std::fs::{self, File};
use std::io::{self, BufReader, BufWriter, Seek as _, Write};
use std::path::Path;

/// Bytes that wait.
pub(super) struct Spool(BufWriter<File>);

impl Spool {
    /// Begins a file beside another.
    pub(super) fn beside(path: &Path, what: &str) -> io::Result<Self> {
        let mut name = path.as_os_str().to_owned();
        name.push(format!(".{what}"));
        let mut options = File::options();
        let options = options.read(true).write(true).create(true).truncate(true);
        let file = options.open(&name)?;
        fs::remove_file(&name)?;
        Ok(Self(BufWriter::new(file)))
    }

    /// Copies all to `out`.
    pub(super) fn copy_to(self, out: &mut impl Write) -> io::Result<()> {
        let mut file = self
            .0
            .into_inner()
            .map_err(io::IntoInnerError::into_error)?;
        file.rewind()?;
        io::copy(&mut BufReader::new(file), out)?;
        Ok(())
    }
}

impl Write for Spool {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}
