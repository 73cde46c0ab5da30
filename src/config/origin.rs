//! Where a value of the configuration comes from.

use std::fmt;
use std::path::PathBuf;

/// Where a value comes from. Later variants win.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Origin {
    /// Nothing set it.
    Default,
    /// An earlier run, whose settings the data directory remembers: the file that set it, if it was
    /// one.
    Remembered(Option<PathBuf>),
    /// A configuration file.
    File(PathBuf),
    /// An environment variable, by its name.
    Environment(String),
    /// A flag, with its dashes.
    Flag(&'static str),
    /// An entry of `[[domain]]` or `[[dedup.rule]]`: the file, the entry's number and name, and the
    /// pattern that matches the host.
    Entry(String),
}

impl Origin {
    /// The layer: `default`, `remembered`, `file`, `environment`, `flag` or `domain`.
    pub fn layer(&self) -> &'static str {
        match self {
            Self::Default => "default",
            Self::Remembered(_) => "remembered",
            Self::File(_) => "file",
            Self::Environment(_) => "environment",
            Self::Flag(_) => "flag",
            Self::Entry(_) => "domain",
        }
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Default => f.write_str("default"),
            Self::Remembered(None) => f.write_str("an earlier run"),
            Self::Remembered(Some(path)) => {
                write!(f, "{}, as an earlier run read it", path.display())
            }
            Self::File(path) => write!(f, "{}", path.display()),
            Self::Environment(name) => f.write_str(name),
            Self::Flag(name) => f.write_str(name),
            Self::Entry(place) => f.write_str(place),
        }
    }
}
