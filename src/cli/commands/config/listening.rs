//! The flags of the console, which are settings.

use std::path::{Path, PathBuf};

use clap::Args;

use crate::cli::help;
use crate::config::Flag;

/// The flags of the console.
#[derive(Debug, Clone, Args)]
pub(super) struct ConsoleFlags {
    /// Let the crawl be watched and steered over HTTP here: ADDRESS:PORT, such as 127.0.0.1:7979,
    /// or unix:PATH [default: none]
    #[arg(help_heading = help::SETTINGS, long, value_name = "ADDRESS")]
    listen: Option<String>,
    /// File with the secret that clients of --listen send, which only its owner can read; needed
    /// where other machines can connect [default: none]
    #[arg(help_heading = help::SETTINGS, long, value_name = "FILE")]
    token_file: Option<PathBuf>,
}

impl ConsoleFlags {
    /// Those that were given.
    pub(super) fn flags(&self) -> impl Iterator<Item = Flag> {
        // The next run may be started elsewhere.
        let anywhere = |path: &Path| {
            let path = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
            path.display().to_string()
        };
        let token = self.token_file.as_deref().map(anywhere);
        let listen = self.listen.as_ref().map(|listen| {
            match listen.strip_prefix("unix:").filter(|path| !path.is_empty()) {
                Some(path) => format!("unix:{}", anywhere(Path::new(path))),
                None => listen.clone(),
            }
        });
        let given = [
            ("--listen", "daemon.listen", listen),
            ("--token-file", "daemon.token_file", token),
        ];
        given.into_iter().filter_map(|(name, key, value)| {
            Some(Flag {
                name,
                key: key.to_owned(),
                value: value?,
                adds: false,
            })
        })
    }
}
