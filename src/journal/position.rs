//! Places in the log that a reader can come back to.

use std::fmt;
use std::str::FromStr;

/// A place between two lines of the log: `FILE:BYTE`. It stays the same when files are renamed, so
/// a reader can come back to it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Position {
    /// Files before.
    pub file: u32,
    /// Bytes of this file before.
    pub byte: u64,
}

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.file, self.byte)
    }
}

impl FromStr for Position {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let parse = || {
            let (file, byte) = text.split_once(':')?;
            Some(Self {
                file: file.parse().ok()?,
                byte: byte.parse().ok()?,
            })
        };
        parse().ok_or("a position is two numbers such as 0:1234, as `position` of a line has it")
    }
}
