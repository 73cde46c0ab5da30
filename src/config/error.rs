//! Why a configuration cannot be used, in words that say where, what, and what to do.

use std::io;
use std::path::PathBuf;

use super::load::Origin;

/// Why a configuration cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The file could not be read.
    #[error(
        "cannot read the configuration {path}: {source}; give a readable file of UTF-8 text with --config"
    )]
    Read {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The file is not TOML, or a value has the wrong form.
    #[error("the configuration {path} is not valid: {reason}")]
    Syntax {
        /// The file.
        path: PathBuf,
        /// Where and what.
        reason: String,
    },
    /// A key that does not exist.
    #[error(
        "the configuration {origin} has an unknown key `{key}`{place}; did you mean `{nearest}`?"
    )]
    UnknownKey {
        /// Who sets it.
        origin: Origin,
        /// The key.
        key: String,
        /// Where, if it is in a file.
        place: String,
        /// The nearest known one.
        nearest: String,
    },
    /// An environment variable that sets no key.
    #[error(
        "the environment has {name}, which is no setting; did you mean {nearest}? \
         Names that begin with GLEANER_ are taken as settings: correct it or unset it"
    )]
    UnknownVariable {
        /// The variable.
        name: String,
        /// The nearest known one.
        nearest: String,
    },
    /// A value that cannot be used.
    #[error("{origin} sets `{key}` to {value}: {reason}")]
    Refused {
        /// Who sets it.
        origin: Origin,
        /// The key.
        key: String,
        /// The value as it was given, in quotes if it is a text.
        value: String,
        /// What it must be.
        reason: String,
    },
    /// An entry of `[[domain]]` or `[[url.rule]]` that cannot be used.
    #[error("{entry}: {reason}")]
    Domain {
        /// Its place: file and line if it has them, its number, its name.
        entry: String,
        /// What is wrong with it.
        reason: String,
    },
    /// A value that makes no sense, in a configuration that was not loaded.
    #[error("the setting `{key}` must be {expected}")]
    Value {
        /// The key.
        key: &'static str,
        /// What it may be.
        expected: &'static str,
    },
}
