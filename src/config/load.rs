//! Merges the layers into one configuration: defaults < what the data directory remembers < files <
//! environment < flags.
//!
//! [`load`] is the only way in. It records where the value of each key comes from, refuses unknown
//! names and suggests the nearest known one, and names the layer of a value that cannot be used.
//! The environment is a parameter; the process's own is never read.

use std::ffi::OsString;
use std::fs;
use std::path::PathBuf;

use super::effective::Effective;
use super::layers::Layers;
use super::{Error, Origin, Remembered};

/// What is read besides the environment and flags.
#[derive(Debug, Clone, Default)]
pub struct Sources {
    /// What the data directory remembers.
    pub remembered: Remembered,
    /// Configuration files; each wins over those before it, and adds its entries to theirs. If
    /// there are any, those that are remembered do not count.
    pub files: Vec<PathBuf>,
}

impl Sources {
    /// One file alone.
    pub fn of(file: impl Into<PathBuf>) -> Self {
        Self {
            files: vec![file.into()],
            ..Self::default()
        }
    }
}

/// A command-line flag that sets a key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Flag {
    /// The flag, with its dashes.
    pub name: &'static str,
    /// The key, as `section.key`.
    pub key: String,
    /// The value, written as in an environment variable.
    pub value: String,
    /// Whether a list or table keeps what it has, and this is added.
    pub adds: bool,
}

/// Reads what is remembered, files, the variables of `environment` that begin with `GLEANER_`, and
/// flags, each over the layers before it.
pub fn load(
    sources: Sources,
    environment: impl IntoIterator<Item = (OsString, OsString)>,
    flags: impl IntoIterator<Item = Flag>,
) -> Result<Effective, Error> {
    let mut layers = Layers::new();
    layers.add_remembered(sources.remembered, sources.files.is_empty())?;
    for path in &sources.files {
        let text = fs::read_to_string(path).map_err(|source| Error::Read {
            path: path.clone(),
            source,
        })?;
        layers.add_file(&text, path, Origin::File)?;
    }
    layers.add_environment(environment)?;
    for Flag {
        name,
        key,
        value,
        adds,
    } in flags
    {
        let value = match adds {
            true => layers.added_to(&key, &value, name)?,
            false => value,
        };
        layers.set(&key, &value, Origin::Flag(name))?;
    }
    layers.finish()
}
