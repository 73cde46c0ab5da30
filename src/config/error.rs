//! Why a configuration cannot be used. Messages say where, what, and what to do.

use std::io;
use std::path::PathBuf;

use super::origin::Origin;

/// Why a configuration cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// What signs uploads cannot be had.
    #[error(
        "archive.upload needs credentials, and {place} does not have them: {reason}; set \
         AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or name a file in archive.upload_credentials"
    )]
    Credentials {
        /// The file, or the environment.
        place: String,
        /// What is wrong with it.
        reason: String,
    },
    /// The file could not be read.
    #[error(
        "cannot read the configuration {path}: {source}; give a readable file of UTF-8 text with --config"
    )]
    Read {
        /// The file.
        path: PathBuf,
        /// The underlying error.
        source: io::Error,
    },
    /// A file of cookies cannot be used.
    #[error(
        "cannot use the cookies in {path}: {reason}; correct the file or the path (--cookies, fetch.cookie_files), or set fetch.cookie_files = []"
    )]
    CookieFile {
        /// The file.
        path: PathBuf,
        /// What is wrong with it, without what it holds.
        reason: String,
    },
    /// A list of what is not requested could not be read.
    #[error(
        "cannot read the block list {path}: {source}; correct the path (--block-list, crawl.block_lists), or set crawl.block_lists = []"
    )]
    BlockList {
        /// The file.
        path: PathBuf,
        /// The underlying error.
        source: io::Error,
    },
    /// Such a list has lines that are no entries.
    #[error("a block list cannot be used: {0}")]
    BlockListLines(#[from] crate::url::BlockListError),
    /// What a data directory remembers of its settings is not what gleaner writes.
    #[error(
        "the remembered settings {path} cannot be used: {reason}; correct the file, or forget it with --reset-settings"
    )]
    Remembered {
        /// The file.
        path: PathBuf,
        /// What went wrong.
        reason: String,
    },
    /// What a data directory remembers could not be read from its disk, or written to it.
    #[error("cannot read or write the remembered settings {path}: {source}")]
    Disk {
        /// The file.
        path: PathBuf,
        /// The underlying error.
        source: io::Error,
    },
    /// An earlier run had credentials, which are not remembered.
    #[error(
        "{what} of an earlier run held credentials, which are not remembered: give {again} again, or forget all with --reset-settings"
    )]
    Lacking {
        /// What held them.
        what: String,
        /// What gives them.
        again: String,
    },
    /// The file is not TOML, or a value has the wrong form.
    #[error("the configuration {path} is not valid: {reason}")]
    Syntax {
        /// The file.
        path: PathBuf,
        /// Where and what.
        reason: String,
    },
    /// An unknown key.
    #[error(
        "the configuration {origin} has an unknown key `{key}`{place}; did you mean `{nearest}`?"
    )]
    UnknownKey {
        /// What sets it.
        origin: Origin,
        /// The key.
        key: String,
        /// Where in the file, if it is in one.
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
        /// What sets it.
        origin: Origin,
        /// The key.
        key: String,
        /// The value as it was given; text is quoted.
        value: String,
        /// What it must be.
        reason: String,
    },
    /// An entry of `[[domain]]`, `[[dedup.rule]]` or `[[url.rule]]` that cannot be used.
    #[error("{entry}: {reason}")]
    Entry {
        /// Where it is: file and line if it has them, its number, its name.
        entry: String,
        /// What is wrong with it.
        reason: String,
    },
    /// A value out of its range, in a configuration that was not loaded.
    #[error("the setting `{key}` must be {expected}")]
    Value {
        /// The key.
        key: &'static str,
        /// What it must be.
        expected: &'static str,
    },
}

/// The message of the file's parser, which shows the place, with the names of Rust's types
/// replaced. A line that may hold a secret is not shown.
pub(super) fn file_error_in_words(error: &toml::de::Error) -> String {
    let text = error.to_string();
    // The parser shows the line below the place: `3 | key = value`.
    let shown = text.lines().filter_map(|line| {
        let (number, line) = line.split_once('|')?;
        number.trim().parse::<u32>().ok().map(|_| line)
    });
    let mut shown = shown.peekable();
    let place = text.lines().next().unwrap_or_default();
    if shown.peek().is_some() && shown.any(may_hold_secret) {
        return format!("{place}; the line is not shown, because it may hold a secret");
    }
    let mut text = text.replace("a nonzero u32", "a whole number, 1 or more");
    for (kind, words) in WHOLE_NUMBERS {
        text = text.replace(
            &format!("expected {kind}\n"),
            &format!("expected {words}\n"),
        );
        if let Some(start) = text.strip_suffix(&format!("expected {kind}")) {
            text = format!("{start}expected {words}");
        }
    }
    text
}

/// Rust's types of whole numbers, and the words for them.
pub(super) const WHOLE_NUMBERS: [(&str, &str); 5] = [
    ("u8", "0 to 255"),
    ("u16", "0 to 65535"),
    ("u32", "0 to 4294967295"),
    ("u64", "0 or more"),
    ("usize", "0 or more"),
];

/// Whether a line of a file may have a password or the like.
pub(super) fn may_hold_secret(line: &str) -> bool {
    const PARTS: [&str; 9] = [
        "auth", "cookie", "token", "key", "secret", "passw", "session", "header", "proxy",
    ];
    let line = line.to_ascii_lowercase();
    PARTS.iter().any(|part| line.contains(part))
}
