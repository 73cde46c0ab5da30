//! Where a running crawl is watched and steered over HTTP.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// Where a running crawl is watched and steered over HTTP.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ConsoleSettings {
    /// Where it listens: `ADDRESS:PORT`, `unix:PATH` or `none`.
    pub listen: String,
    /// A file with the token that clients have to send, or `none`.
    pub token_file: String,
    /// Names under which it is reached beside those of loopback.
    pub hosts: Vec<String>,
}

impl Default for ConsoleSettings {
    fn default() -> Self {
        Self {
            listen: NONE.to_owned(),
            token_file: NONE.to_owned(),
            hosts: Vec::new(),
        }
    }
}

/// How it is said that there is none.
const NONE: &str = "none";

impl ConsoleSettings {
    /// Where it listens, if it does.
    pub fn address(&self) -> Option<&str> {
        Some(self.listen.as_str()).filter(|it| *it != NONE)
    }

    /// The file with the token, if there is one.
    pub fn token_path(&self) -> Option<PathBuf> {
        (self.token_file != NONE).then(|| PathBuf::from(&self.token_file))
    }
}
