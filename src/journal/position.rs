//! Places in the log that a reader can come back to.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// A position between two lines of the log, `FILE:BYTE`. It stays valid when files are renamed, so
/// a reader can continue from it later.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Position {
    /// Number of log files before this one.
    pub file: u32,
    /// Offset in this file in bytes.
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
